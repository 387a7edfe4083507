/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the options about files do: binds, overlays, tmpfs, links, odd names.  What
 * they must not do is in test-planted.c and test-refusals.c. */
#include "harness.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include "probe.h"

TEST(binds_are_read_only_or_writable_as_asked) {
        const struct site *s = *state;
        _cleanup_free_ char *writable = path_of(s->root, "writable");
        _cleanup_free_ char *script = text_of("cat %s/note; echo x >%s/note; echo y >%s/note; cat %s/note",
                                              s->outside, s->outside, writable, writable);
        _cleanup_free_ char *note = path_of(writable, "note");
        _cleanup_free_ char *text = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        make_file(s->outside, "note", "seen\n");
        make_folder(s->root, "writable");
        before = snapshot(s->outside);
        RUN(s, &o, "--ro", s->outside, "--rw", writable, "--", "sh", "-c", script);
        expect_status(&o, 0);
        expect_out(&o, "seen\ny\n");
        expect_in(o.err, "/outside/note: Read-only file system\n");
        expect_unchanged(s->outside, before);
        text = file_text(note);
        assert_string_equal(text, "y\n");
        run_outside(s, &o, "echo x >>../outside/note");
        expect_status(&o, 0);
}

TEST(a_bind_puts_a_source_at_another_place) {
        const struct site *s = *state;
        _cleanup_free_ char *read_only = text_of("%s:/data:ro", s->outside);
        _cleanup_free_ char *writable = text_of("%s:/srv/deep/er:rw", s->outside);
        _cleanup_free_ char *plain = text_of("%s/file:/data/file", s->outside);
        _cleanup_free_ char *file = text_of("%s/file:/etc/one", s->outside);
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "file", "content\n");
        RUN(s, &o, "--bind", read_only, "--bind", writable, "--bind", file, "--", "sh", "-c",
            "cat /data/file /srv/deep/er/file /etc/one; : >/srv/deep/er/new; : >/data/new");
        expect_out(&o, "content\ncontent\ncontent\n");
        expect_in(o.err, "/data/new: Read-only file system\n");
        /* A writable file in a read-only folder, in whatever order they were given. */
        RUN(s, &o, "--bind", plain, "--bind", read_only, "--", "sh", "-c", "echo more >>/data/file");
        expect_status(&o, 0);
        run_outside(s, &o, "cat ../outside/file; ls ../outside");
        expect_out(&o, "content\nmore\nfile\nnew\n");
}

TEST(a_rule_inside_another_rule_decides_there) {
        const struct site *s = *state;
        _cleanup_free_ char *git = path_of(s->project, ".git");
        _cleanup_free_ char *build = path_of(git, "build");
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->project, ".git");
        make_folder(git, "build");
        RUN(s, &o, "--rw", build, "--ro", git, "--", "sh", "-c", ": >a && : >.git/build/b; : >.git/c");
        expect_in(o.err, ".git/c: Read-only file system\n");
        run_outside(s, &o, "ls -A . .git .git/build; : >.git/c");
        expect_out(&o, ".:\n.git\na\n\n.git:\nbuild\n\n.git/build:\nb\n");
}

/* The command's own mount namespace has a file system below the source. */
static void enter_with_a_mount(void *data) {
        _cleanup_free_ char *uid_map = text_of("%u %u 1", geteuid(), geteuid());
        _cleanup_free_ char *gid_map = text_of("%u %u 1", getegid(), getegid());
        const struct {
                const char *path, *text;
        } files[] = {{"/proc/self/setgroups", "deny"},
                     {"/proc/self/uid_map", uid_map},
                     {"/proc/self/gid_map", gid_map}};

        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
                _exit(123);
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                int fd = open(files[i].path, O_WRONLY | O_CLOEXEC);

                if (fd < 0 || write(fd, files[i].text, strlen(files[i].text)) < 0)
                        _exit(124);
                (void)close(fd);
        }
        if (mount("none", data, "tmpfs", 0, "mode=0777") < 0)
                _exit(125);
}

TEST(a_mount_below_a_read_only_source_is_read_only_too) {
        const struct site *s = *state;
        _cleanup_free_ char *sub = path_of(s->outside, "sub");
        _cleanup_free_ char *script = text_of("grep -c ' %s ' /proc/self/mounts; : >%s/x", sub, sub);
        _cleanup_free_ const char **argv =
                nsrun_argv(s, OPTIONS("--ro", s->outside, "--", "sh", "-c", script));
        const char *const control[] = {"sh", "-c", script, NULL};
        struct request request = {.argv = argv, .in_child = enter_with_a_mount, .data = sub};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->outside, "sub");
        run(&request, &o);
        expect_in(o.err, "/sub/x: Read-only file system\n");
        expect_out(&o, "1\n");
        outcome_clear(&o);
        request.argv = control;
        run(&request, &o);
        expect_status(&o, 0);
        expect_out(&o, "1\n");
}

/* ---------------------------------------------------------------- overlays */

static void overlay_writes_are_gone_after(const struct site *s, const char *option) {
        _cleanup_free_ char *script =
                text_of("cd %s && echo new >made && echo changed >kept && rm removed && mkdir -p d/e && "
                        "echo >>d/deep && mv d/deep d/e/ && cat kept && ls && ls d/e && chmod 700 .",
                        s->outside);
        _cleanup_free_ char *again = text_of("cd %s && cat kept removed d/deep && ls", s->outside);
        _cleanup_free_ char *folder = path_of(s->outside, "d");
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        make_file(s->outside, "kept", "as it was\n");
        make_file(s->outside, "removed", "still there\n");
        make_folder(s->outside, "d");
        make_file(folder, "deep", "deep\n");
        before = snapshot(s->outside);
        RUN(s, &o, option, "--overlay", s->outside, "--", "sh", "-c", script);
        assert_string_equal(o.err, "");
        expect_status(&o, 0);
        expect_out(&o, "changed\nd\nkept\nmade\ndeep\n");
        RUN(s, &o, option, "--overlay", s->outside, "--", "sh", "-c", again);
        expect_out(&o, "as it was\nstill there\ndeep\nd\nkept\nremoved\n");
        expect_unchanged(s->outside, before);
}

TEST(overlay_writes_are_seen_inside_and_thrown_away) {
        overlay_writes_are_gone_after(*state, "--overlay-backing=disk");
}

TEST(overlays_in_memory_do_the_same) {
        overlay_writes_are_gone_after(*state, "--overlay-backing=tmpfs");
}

TEST(several_overlays_each_have_a_layer_of_their_own) {
        const struct site *s = *state;
        _cleanup_free_ char *a = path_of(s->outside, "a");
        _cleanup_free_ char *b = path_of(s->outside, "b");
        _cleanup_free_ char *c = path_of(s->project, "c");
        _cleanup_free_ char *script =
                text_of("echo 1 >%s/x; echo 2 >%s/x; echo 3 >c/x; cat %s/x %s/x c/x", a, b, a, b);
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        make_folder(s->outside, "a");
        make_folder(s->outside, "b");
        make_folder(s->project, "c");
        before = snapshot(s->outside);
        RUN(s, &o, "--overlay", a, "--overlay", b, "--overlay", c, "--", "sh", "-c", script);
        expect_status(&o, 0);
        expect_out(&o, "1\n2\n3\n");
        expect_unchanged(s->outside, before);
        assert_int_equal(rmdir(c), 0);
}

TEST(what_is_mounted_in_a_folder_stays_there_where_a_later_bind_pins_the_folder) {
        const struct site *s = *state;
        _cleanup_free_ char *sub = path_of(s->project, "sub"), *a = path_of(sub, "a"),
                            *b = path_of(sub, "b"), *file = path_of(a, "file"), *text = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->project, "sub");
        make_folder(sub, "a");
        make_folder(sub, "b");
        make_file(a, "file", "host\n");
        RUN(s, &o, "--overlay", a, "--ro", b, "--", "sh", "-c", "echo inside >sub/a/file && cat sub/a/file");
        expect_out(&o, "inside\n");
        text = file_text(file);
        assert_string_equal(text, "host\n");
        RUN(s, &o, "--tmpfs", a, "--ro", b, "--", "ls", "sub/a");
        expect_status(&o, 0);
        expect_out(&o, "");
        outcome_clear(&o);
        /* The folder can't be moved away, either way. */
        RUN(s, &o, "--overlay", a, "--ro", b, "--", "mv", "sub", "other");
        assert_int_not_equal(o.status, 0);
        expect_in(o.err, "busy");
}

/* A tmpfs in a writable folder, on which another folder lies with a name that is protected. */
TEST(a_protected_name_on_a_tmpfs_stays_where_it_is) {
        const struct site *s = *state;
        _cleanup_free_ char *y = path_of(s->project, "x/y"), *z = path_of(y, "z");
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, "mkdir -p x/y/z && echo host >x/y/z/.bashrc");
        expect_status(&o, 0);
        RUN(s, &o, "--rw", z, "--tmpfs", y, "--", "sh", "-c",
            "mv x other; echo evil >x/y/z/.bashrc; echo more >x/y/more; cat x/y/z/.bashrc x/y/more");
        expect_out(&o, "host\nmore\n");
        expect_in(o.err, "mv: cannot move 'x' to 'other': Device or resource busy\n");
        expect_in(o.err, "cannot create x/y/z/.bashrc: Read-only file system\n");
}

TEST(caches_of_toolchains_are_overlays_by_default) {
        const struct site *s = *state;
        _cleanup_free_ char *npm = path_of(s->home, ".npm");
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        make_folder(s->home, ".npm");
        make_file(npm, "index", "cached\n");
        make_file(s->home, ".npmrc", "//registry/:_authToken=secret\n");
        before = snapshot(s->home);
        RUN(s, &o, "--", "sh", "-c",
            "cat ~/.npm/index && echo x >~/.npm/index && cat ~/.npm/index && ls -A ~");
        expect_status(&o, 0);
        expect_out(&o, "cached\nx\n.npm\n");
        expect_unchanged(s->home, before);
        /* What was asked for goes before what nsrun has by itself. */
        RUN(s, &o, "--ro", npm, "--", "sh", "-c", "echo x >~/.npm/index");
        expect_in(o.err, "Read-only file system");
}

/* ---------------------------------------------------------------- odd names */

static const char *const odd_names[] = {
        "a:b",         "comma,comma", "back\\slash", "two words",    "new\nline",
        "quote\"'",    "tab\there",   "\\040",       "%41",          "lowerdir=x,upperdir=y:z\\",
        "caf\xc3\xa9", "\xff\xfe",    "-dash",       "$(reboot)`x`",
};

TEST(odd_names_are_only_names) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(odd_names); i++) {
                _cleanup_free_ char *project = path_of(s->project, odd_names[i]);
                _cleanup_free_ char *layer = path_of(s->outside, odd_names[i]);
                _cleanup_free_ char *made = path_of(project, "made"), *kept = path_of(layer, "file");
                _cleanup_free_ char *text = NULL, *kept_text = NULL;

                make_folder(s->project, odd_names[i]);
                make_folder(s->outside, odd_names[i]);
                make_file(layer, "file", "content\n");
                NSRUN_IN(s->root, &o, "run", "--project", project, "--overlay", layer, "--", "sh", "-c",
                         "pwd >made && cat \"$1/file\" && echo changed >\"$1/file\" && cat \"$1/file\"",
                         "sh", layer);
                expect_status(&o, 0);
                expect_out(&o, "content\nchanged\n");
                text = file_text(made);
                assert_non_null(text);
                assert_int_equal(strncmp(text, project, strlen(project)), 0);
                kept_text = file_text(kept);
                assert_string_equal(kept_text, "content\n");
        }
}

TEST(colons_in_a_bind_are_escaped) {
        const struct site *s = *state;
        _cleanup_free_ char *bind = text_of("%s/a\\:b:/c\\:d\\\\e:ro", s->outside);
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "a:b", "content\n");
        RUN(s, &o, "--bind", bind, "--", "cat", "/c:d\\e");
        expect_status(&o, 0);
        expect_out(&o, "content\n");
}

/* ------------------------------------------------------------ tmpfs and /tmp */

TEST(tmp_is_empty_and_gone_after_or_a_folder_of_the_host) {
        const struct site *s = *state;
        _cleanup_free_ char *option = text_of("--tmp=%s", s->outside);
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--", "sh", "-c", "ls -A /tmp; stat -c %a /tmp; echo x >/tmp/file");
        expect_status(&o, 0);
        expect_out(&o, "1777\n");
        RUN(s, &o, "--", "ls", "-A", "/tmp");
        expect_out(&o, "");
        RUN(s, &o, option, "--", "sh", "-c", "echo kept >/tmp/file");
        expect_status(&o, 0);
        RUN(s, &o, option, "--", "cat", "/tmp/file");
        expect_out(&o, "kept\n");
        run_outside(s, &o, "cat ../outside/file");
        expect_out(&o, "kept\n");
}

TEST(tmp_is_one_folder_by_both_its_names) {
        const struct site *s = *state;
        _cleanup_free_ char *option = text_of("--tmp=%s", s->outside), *file = path_of(s->outside, "made");
        const char *const resolve[] = {program(), "resolve",   "--project", s->project, option,
                                       "--write", "/tmp/made", file,        NULL};
        _cleanup_free_ char *both = text_of("%s\n%s\n", file, file);
        _cleanup_outcome_ struct outcome o = {0};

        /* Without the option the folder is nowhere. */
        RUN(s, &o, "--", "sh", "-c", "ls \"$1\"", "sh", s->outside);
        assert_int_not_equal(o.status, 0);
        RUN(s, &o, option, "--", "sh", "-c",
            "echo x >/tmp/made && cat \"$1\" && echo y >>\"$1\" && test /tmp/made -ef \"$1\" && cat /tmp/made",
            "sh", file);
        expect_status(&o, 0);
        expect_out(&o, "x\nx\ny\n");
        outcome_clear(&o);
        run(&(struct request){.argv = resolve, .cwd = s->project}, &o);
        expect_status(&o, 0);
        expect_out(&o, both);
        /* What the user says of that path goes before. */
        RUN(s, &o, option, "--ro", s->outside, "--", "sh", "-c",
            "echo z >>/tmp/made; echo z >>\"$1\"; tail -n 1 \"$1\"", "sh", file);
        expect_out(&o, "z\n");
        expect_in(o.err, "Read-only file system");
}

TEST(a_tmpfs_ends_at_its_bound) {
        static const char script[] =
                "for d in /tmp /dev/shm ~; do head -c $1 /dev/zero >$d/x || echo $d full; rm $d/x; done; "
                "i=0; while true >/tmp/$i; do i=$((i+1)); done 2>/dev/null; test $i -lt 100000 && echo bounded";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *full = text_of("/tmp full\n/dev/shm full\n%s full\nbounded\n", s->home);

        RUN(s, &o, "--tmpfs-size=1M", "--", "sh", "-c", script, "sh", "1500000");
        expect_out(&o, full);
        expect_in(o.err, "No space left on device\n");
        RUN(s, &o, "--tmpfs-size=2M", "--", "sh", "-c", script, "sh", "1500000");
        expect_out(&o, "bounded\n");
}

/* ------------------------------------------------- the project, links, chdir */

TEST(the_project_is_the_git_top_level) {
        const struct site *s = *state;
        _cleanup_free_ char *deep = path_of(s->project, "a/b");
        _cleanup_free_ char *expected = text_of("%s\n%s\n.git\na\n", deep, deep);
        const char *const argv[] = {program(), "run", "--", "sh", "-c", "pwd; echo $PWD; ls -A ../..", NULL};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->project, ".git");
        make_folder(s->project, "a/b");
        run(&(struct request){.argv = argv, .cwd = deep}, &o);
        expect_status(&o, 0);
        expect_out(&o, expected);
}

TEST(without_a_project_there_is_an_empty_folder) {
        const struct site *s = *state;
        const char *const *argv = OPTIONS(program(), "run", "--no-project", "--", "sh", "-c",
                                          "pwd; ls -A; echo x >file && cat file; ls $1", "sh", s->project);
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        make_file(s->project, "file", "host");
        before = snapshot(s->project);
        run(&(struct request){.argv = argv, .cwd = s->project}, &o);
        expect_out(&o, "/workspace\nx\n");
        expect_in(o.err, "No such file or directory");
        expect_unchanged(s->project, before);
}

TEST(links_are_made_as_asked) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--symlink", "/usr/bin:/tools", "--symlink", "nowhere:/x/dangling", "--", "sh", "-c",
            "readlink /tools /x/dangling; test -x /tools/env");
        expect_status(&o, 0);
        expect_out(&o, "/usr/bin\nnowhere\n");
}

TEST(a_path_works_as_the_user_spelled_it) {
        const struct site *s = *state;
        _cleanup_free_ char *spelled = path_of(s->root, "alias/sub");
        _cleanup_free_ char *script = text_of("cat %s/file %s/sub/file; readlink %s/alias || readlink %s",
                                              spelled, s->outside, s->root, spelled);
        _cleanup_outcome_ struct outcome o = {0};

        make_link(s->root, "alias", s->outside);
        make_file(s->outside, "sub/file", "content\n");
        RUN(s, &o, "--ro", spelled, "--", "sh", "-c", script);
        expect_status(&o, 0);
        expect_in(o.out, "content\ncontent\n");
        /* Only what it leads to is there: not what lies beside it. */
        make_file(s->outside, "beside", "secret\n");
        RUN(s, &o, "--ro", spelled, "--", "sh", "-c", "cat $1/../beside; ls -A $2", "sh", spelled,
            s->outside);
        expect_not_in(o.out, "secret");
        expect_out(&o, "sub\n");
}

TEST(the_command_starts_where_chdir_says) {
        const struct site *s = *state;
        _cleanup_free_ char *expected = text_of("%s/sub\n", s->project);
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->project, "sub");
        RUN(s, &o, "--chdir", "sub", "--", "pwd");
        expect_out(&o, expected);
        RUN(s, &o, "--chdir", "/usr/bin", "--", "sh", "-c", "pwd; echo $PWD");
        expect_out(&o, "/usr/bin\n/usr/bin\n");
}

/* From a folder of the project, where a relative path means the same to the caller and to the command. */
TEST(the_command_starts_where_the_caller_stands) {
        const struct site *s = *state;
        _cleanup_free_ char *sub = path_of(s->project, "sub"), *expected = text_of("%s/sub\n", s->project),
                            *top = text_of("%s\n", s->project),
                            *plan = text_of("directory   %s/sub\n", s->project);
        _cleanup_outcome_ struct outcome o = {0};
        const struct {
                const char *cwd, *words[6], *out;
        } cases[] = {
                {sub, {"run", "--", "sh", "-c", "pwd"}, expected},
                {sub, {"run", "--", "printenv", "PWD"}, expected},
                {sub, {"run", "--chdir=.", "--", "pwd"}, top},
                {sub, {"run", "--no-sandbox", "--", "pwd"}, expected},
                {s->project, {"run", "--", "pwd"}, top},
                {s->root, {"run", "--", "pwd"}, top},
                {sub, {"bash", "pwd"}, top},
                {sub, {"plan"}, plan},
                {sub, {"plan", "--", "true"}, plan},
        };

        make_folder(s->project, "sub");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const char *argv[10] = {program(), cases[i].words[0], "--project", s->project};

                for (size_t j = 1; cases[i].words[j]; j++)
                        argv[3 + j] = cases[i].words[j];
                outcome_clear(&o);
                run(&(struct request){.argv = argv, .cwd = cases[i].cwd}, &o);
                expect_status(&o, 0);
                expect_in(o.out, cases[i].out);
        }
}

TEST(a_device_file_in_a_project_opens_nothing) {
        const struct site *s = *state;
        _cleanup_free_ char *node = path_of(s->project, "node");
        _cleanup_outcome_ struct outcome o = {0};

        /* An ordinary user's disk can hold one too: of a stick, of a container's layer. */
        if (geteuid() != 0) {
                assert_int_equal(mknod(node, S_IFCHR | 0666, makedev(1, 3)), -1);
                return;
        }
        assert_int_equal(mknod(node, S_IFCHR | 0666, makedev(1, 3)), 0);
        RUN(s, &o, "--", "sh", "-c", "echo x >node");
        expect_in(o.err, "Permission denied");
        run_outside(s, &o, "echo x >node");
        expect_status(&o, 0);
}

int main(int argc, char **argv) {
        probe_main(argc, argv);
        return run_all_tests();
}
