/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A workspace that the command filled on an earlier run: whatever is planted in it,
 * no option makes or changes anything on the host outside the roots, and nothing
 * from there shows inside. */
#include "harness.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/* What "evil" is.  %s: the site's root. */
static const char *const evils[] = {
        "/",
        "/oldroot",
        "../../..",
        "/proc/self/root",
        "/proc/self/cwd",
        "/proc/1/root",
        "/proc/self/fd/3",
        "../outside",
        "%s/outside",
        "%s",
        "..",
        ".",
        "evil",
        "two",
        "missing",
        "%s/outside/fifo",
        "/dev/full",
        "/tmp",
        "/usr",
        "%s/home",
};

/* Option lists; "@" stands for the project, "#" for a folder of sources. */
static const char *const attacks[][5] = {
        {"--new-session"},
        {"--no-new-session", "--net=none"},
        {"--rw", "@/folder"},
        {"--ro", "@/folder"},
        {"--overlay", "@/folder"},
        {"--overlay", "@"},
        {"--overlay", "@", "--overlay-backing=tmpfs"},
        {"--tmp=@"},
        {"--tmp=@/folder"},
        {"--chdir", "folder"},
        {"--bind", "@/folder:/inside"},
        {"--bind", "@/folder:/oldroot"},
        {"--bind", "@:/oldroot/outside"},
        {"--bind", "#/file:@/evil"},
        {"--bind", "#/file:@/evil/y"},
        {"--bind", "#/folder:@/evil/y:ro"},
        {"--bind", "#/folder:@/evil"},
        {"--bind", "#/folder:@/evil/outside/folder:ro"},
        {"--bind", "#/file:@/evil/outside/file:ro"},
        {"--bind", "#/file:@/evil/file:ro"},
        {"--bind", "@:@/evil/folder"},
        {"--bind", "@/folder:@/evil/folder/deeper"},
        {"--symlink", "x:@/evil"},
        {"--symlink", "x:@/evil/y"},
        {"--symlink", "x:@/evil/outside/y"},
        {"--overlay", "@/folder", "--bind", "#/file:@/folder/evil/y"},
        {"--bind", "#/file:@/folder/evil"},
        {"--ro", "@/folder", "--bind", "#/folder:@/folder/evil/z"},
        {"--tmp=@", "--bind", "#/file:/tmp/evil/y"},
        {"--tmp=@/folder", "--bind", "#/folder:/tmp/evil"},
        {"--tmp=@/evil", "--bind", "#/file:/tmp/y"},
        {"--bind", "@/folder:/inside:rw", "--bind", "#/folder:/inside/evil/y"},
        {"--overlay", "@", "--symlink", "x:@/evil/y"},
        {"--overlay", "@", "--bind", "#/file:@/evil/y"},
};

static void plant(const struct site *s, const char *text) {
        _cleanup_free_ char *target = replaced(text, "%s", s->root);
        _cleanup_free_ char *folder = path_of(s->project, "folder");

        make_link(s->project, "evil", target);
        make_link(s->project, "two", "evil");
        make_link(folder, "evil", target);
}

static void pull_out(const struct site *s) {
        static const char *const names[] = {"evil", "two", "folder/evil"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_free_ char *path = path_of(s->project, names[i]);

                assert_int_equal(unlink(path), 0);
        }
}

static void fill(const struct site *s) {
        _cleanup_free_ char *fifo = path_of(s->outside, "fifo");

        make_file(s->root, "sources/file", "source\n");
        make_folder(s->root, "sources/folder");
        make_folder(s->project, "folder");
        make_file(s->outside, "file", "outside\n");
        make_file(s->outside, "folder/file", "outside\n");
        assert_int_equal(mkfifo(fifo, 0600), 0);
}

/* The host's own top level: no new name in it, as root too. */
static char *top_level(void) {
        const char *const argv[] = {"sh", "-c", "LC_ALL=C ls -A / /usr /usr/bin /oldroot 2>/dev/null", NULL};
        struct outcome o = {0};

        run(&(struct request){.argv = argv}, &o);
        free(o.err);
        return o.out;
}

/* The command does its worst through the link, from where it may write. */
static const char worst[] =
        "for d in evil folder/evil; do (: >$d/made; mkdir $d/made-folder; echo x >>$d/file; "
        "echo x >>$d/outside/file; rm -f $d/outside/file) 2>/dev/null; done; "
        "cat evil/outside/file evil/file evil/secret 2>/dev/null; "
        "cat /oldroot/etc/hostname /../etc/shadow 2>/dev/null; :";

/* Whether the command ran; else it was refused in a line. */
static bool attack(const struct site *s, const char *evil, const char *const *options, size_t n) {
        _cleanup_free_ char *sources = path_of(s->root, "sources");
        _cleanup_outcome_ struct outcome o = {0};
        const char *argv[16];
        char *expanded[8] = {NULL};
        size_t used = 0;

        for (; used < n && options[used]; used++) {
                _cleanup_free_ char *half = replaced(options[used], "@", s->project);

                argv[used] = expanded[used] = replaced(half, "#", sources);
        }
        argv[used] = "--";
        argv[used + 1] = "sh";
        argv[used + 2] = "-c";
        argv[used + 3] = worst;
        argv[used + 4] = NULL;
        run_nsrun(s, &o, argv);
        if (strstr(o.out, "outside"))
                fail_msg("with evil -> %s and %s %s the command reads: %s", evil, argv[0], argv[1], o.out);
        if (o.status != 0 && (o.status != 125 || strncmp(o.err, "nsrun: ", 7) != 0))
                fail_msg("with evil -> %s and %s %s: status %d, %s", evil, argv[0], argv[1], o.status,
                         o.err);
        for (size_t i = 0; i < used; i++)
                free(expanded[i]);
        return o.status == 0;
}

TEST(a_planted_symlink_never_leads_out_of_the_roots) {
        const struct site *s = *state;
        _cleanup_free_ char *before_top = top_level(), *after_top = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        size_t n_ran = 0, n = 0, step = takes_samples() ? 3 : 1;

        fill(s);
        for (size_t i = 0; i < ARRAY_SIZE(evils); i++) {
                char *outside = snapshot(s->outside), *home = snapshot(s->home);

                plant(s, evils[i]);
                for (size_t j = i % step; j < ARRAY_SIZE(attacks); j += step, n++)
                        n_ran += attack(s, evils[i], attacks[j], ARRAY_SIZE(attacks[j]));
                expect_unchanged(s->outside, outside);
                expect_unchanged(s->home, home);
                pull_out(s);
                /* Only what the command wrote itself, beneath the project. */
                run_outside(s, &o, "rm -rf made made-folder file folder/*; ls -A . folder");
                expect_out(&o, ".:\nfolder\n\nfolder:\n");
        }
        assert_true(n_ran >= n / 4 && n_ran < n);
        after_top = top_level();
        assert_string_equal(before_top, after_top);

        /* The same script does its worst where nothing holds it. */
        plant(s, "%s/outside");
        run_outside(s, &o, worst);
        expect_in(o.out, "outside\n");
        run_outside(s, &o, "ls ../outside");
        expect_in(o.out, "made\n");
}

TEST(a_mount_point_that_is_a_symlink_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *bind = text_of("/usr/bin/env:%s/evil:ro", s->project);
        _cleanup_free_ char *line = text_of(
                "nsrun: a symlink stands in the way of a mount point: %s/evil: Too many levels of symbolic "
                "links; nsrun follows none there: name the real path, or remove the link",
                s->project);
        _cleanup_free_ char *evil = path_of(s->project, "evil");
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        fill(s);
        make_link(s->project, "evil", "../outside/file");
        before = snapshot(s->root);
        RUN(s, &o, "--bind", bind, "--", "true");
        expect_refusal(&o, 125, line);
        expect_unchanged(s->root, before);
        /* The same bind over a real file works, and leaves it as it was. */
        assert_int_equal(unlink(evil), 0);
        make_file(s->project, "evil", "mine\n");
        before = snapshot(s->root);
        RUN(s, &o, "--bind", bind, "--", "cmp", evil, "/usr/bin/env");
        expect_status(&o, 0);
        expect_unchanged(s->root, before);
}

TEST(no_ghost_mount_point_is_made_in_a_folder_of_the_host) {
        const struct site *s = *state;
        _cleanup_free_ char *bind = text_of("/usr/bin:%s/new:ro", s->project);
        _cleanup_free_ char *line = text_of(
                "nsrun: the mount point does not exist: %s/new: No such file or directory; make it on the "
                "host first: nsrun leaves no ghost files in your folders",
                s->project);
        _cleanup_outcome_ struct outcome o = {0};
        char *before = snapshot(s->root);

        RUN(s, &o, "--bind", bind, "--", "true");
        expect_refusal(&o, 125, line);
        expect_unchanged(s->root, before);
        make_folder(s->project, "new");
        RUN(s, &o, "--bind", bind, "--", "test", "-x", "new/env");
        expect_status(&o, 0);
}

/* What a symlink that the command could have made leads to is nobody's wish. */
TEST(a_planted_symlink_is_no_way_to_a_source) {
        static const char *const options[] = {"--ro", "--rw", "--overlay", "--tmp"};
        const struct site *s = *state;
        _cleanup_free_ char *evil = path_of(s->project, "evil");
        _cleanup_free_ char *deep = path_of(evil, "folder");
        _cleanup_free_ char *bind = text_of("%s:/x:ro", evil);
        _cleanup_free_ char *hint =
                text_of("it leads to %s, and a command in the sandbox may have planted it: name the "
                        "real path",
                        s->outside);
        _cleanup_outcome_ struct outcome o = {0};

        fill(s);
        make_link(s->project, "evil", "../outside");
        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                _cleanup_free_ char *line =
                        text_of("nsrun: %s goes through a symlink in a writable folder: %s; %s", options[i],
                                evil, hint);

                RUN(s, &o, options[i], evil, "--", "true");
                expect_refusal(&o, 125, line);
                RUN(s, &o, options[i], deep, "--", "true");
                expect_status(&o, 125);
                expect_in(o.err, "goes through a symlink in a writable folder");
                RUN(s, &o, options[i], s->outside, "--", "true");
                expect_status(&o, 0);
        }
        RUN(s, &o, "--bind", bind, "--", "true");
        expect_status(&o, 125);
        expect_in(o.err, "--bind goes through a symlink in a writable folder");
        /* One that stays where the command may write anyway opens nothing; but it is no
         * way to protect what it leads to. */
        assert_int_equal(unlink(evil), 0);
        make_link(s->project, "evil", "folder");
        RUN(s, &o, "--rw", evil, "--", "true");
        expect_status(&o, 0);
        RUN(s, &o, "--ro", evil, "--", "true");
        expect_status(&o, 125);
        expect_in(o.err, "--ro goes through a symlink in a writable folder");
}

/* What the link leads to is a writable root once it is taken, and the link in it. */
TEST(a_planted_symlink_does_not_vouch_for_itself) {
        const struct site *s = *state;
        _cleanup_free_ char *root = path_of(s->outside, "root"), *evil = path_of(root, "evil"),
                            *tmp = text_of("--tmp=%s", evil);
        _cleanup_free_ char *line = text_of(
                "--rw goes through a symlink in a writable folder: %s; it leads to %s, and a command in the "
                "sandbox may have planted it: name the real path\n",
                evil, s->outside);
        _cleanup_outcome_ struct outcome o = {0};

        make_link(s->outside, "root/evil", "..");
        RUN(s, &o, "--rw", root, "--rw", evil, "--", "true");
        expect_status(&o, 125);
        expect_in(o.err, line);
        RUN(s, &o, "--rw", evil, "--rw", root, "--", "true");
        expect_status(&o, 125);
        expect_in(o.err, line);
        RUN(s, &o, tmp, "--rw", root, "--", "true");
        expect_status(&o, 125);
        expect_in(o.err, line + 4);
        RUN(s, &o, "--rw", root, "--rw", s->outside, "--", "true");
        expect_status(&o, 0);
}

TEST(a_planted_symlink_is_no_way_to_a_refused_project) {
        const struct site *s = *state;
        _cleanup_free_ char *evil = path_of(s->project, "evil");
        _cleanup_free_ char *home = path_of(s->project, "home");
        _cleanup_outcome_ struct outcome o = {0};

        make_link(s->project, "evil", "/");
        make_link(s->project, "home", s->home);
        RUN(s, &o, "--project", evil, "--", "true");
        expect_refusal(
                &o, 125,
                "nsrun: a system root can't be the project: /; choose a folder with --project DIR, or use "
                "--no-project");
        RUN(s, &o, "--project", home, "--", "true");
        expect_status(&o, 125);
        expect_in(o.err, "a home folder can't be the project");
        RUN(s, &o, "--project", s->outside, "--", "true");
        expect_status(&o, 0);
}

TEST(chdir_does_not_leave_the_sandbox) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_link(s->project, "evil", "../outside");
        make_link(s->project, "root", "/");
        RUN(s, &o, "--chdir", "evil", "--", "true");
        expect_status(&o, 125);
        expect_in(o.err, "the working directory can't be entered");
        RUN(s, &o, "--chdir", "root", "--", "sh", "-c",
            "ls -A . | grep -c -x -e boot -e run -e srv; pwd -P");
        expect_out(&o, "0\n/\n");
}

/* ------------------------------------------------------------------- races */

/* Swaps the folder "sub" and the symlink "link" as fast as it can, until it is
 * killed. */
static pid_t start_swapping(const char *folder) {
        pid_t pid;

        (void)fflush(NULL);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (;;)
                        (void)exchange_names(fd, "sub", fd, "link");
        }
        return pid;
}

static void stop_swapping(pid_t pid) {
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Runs `options` again and again for some seconds, and on until it has been both
 * carried out and refused: a race in which one side always wins proves nothing. */
static void race(const struct site *s, const char *const *options, const char *expected) {
        time_t begin = time(NULL);
        unsigned n_shown = 0, n_refused = 0;

        while (time(NULL) < begin + 3 || (!(n_shown && n_refused) && time(NULL) < begin + 100)) {
                _cleanup_outcome_ struct outcome o = {0};

                run_nsrun(s, &o, options);
                if (o.status == 0) {
                        expect_out(&o, expected);
                        n_shown++;
                } else {
                        expect_status(&o, 125);
                        expect_out(&o, "");
                        expect_in(o.err, "nsrun: ");
                        n_refused++;
                }
        }
        assert_true(n_shown > 0 && n_refused > 0);
}

/* The folder may be shown, or the link be refused; never what was checked in one
 * form be mounted in the other. */
TEST(a_source_swapped_for_a_symlink_shows_nothing_else) {
        static const char *const leads_to[] = {"/", "../outside"};
        const struct site *s = *state;
        _cleanup_free_ char *bind = text_of("%s/sub:/view:ro", s->project);
        _cleanup_free_ char *tmp = text_of("--tmp=%s/sub", s->project);
        const char *const binding[] = {"--bind", bind, "--", "ls", "-A", "/view", NULL};
        const char *const at_tmp[] = {tmp, "--", "ls", "-A", "/tmp", NULL};

        make_file(s->outside, "secret", "");
        for (size_t i = 0; i < ARRAY_SIZE(leads_to); i++) {
                _cleanup_outcome_ struct outcome o = {0};
                pid_t pid;

                make_file(s->project, "sub/inside", "");
                make_link(s->project, "link", leads_to[i]);
                pid = start_swapping(s->project);
                race(s, i == 0 ? binding : at_tmp, "inside\n");
                stop_swapping(pid);
                run_outside(s, &o, "rm -rf sub link");
                expect_status(&o, 0);
        }
}

TEST(a_mount_point_swapped_for_a_symlink_moves_no_mount) {
        const struct site *s = *state;
        _cleanup_free_ char *bind = text_of("%s:%s/sub:ro", s->outside, s->project);
        const char *const options[] = {"--bind", bind, "--", "sh", "-c", "ls -A other", NULL};
        pid_t pid;

        make_file(s->outside, "shown", "");
        make_folder(s->project, "sub");
        make_file(s->project, "other/own", "");
        make_link(s->project, "link", "other");
        pid = start_swapping(s->project);
        race(s, options, "own\n");
        stop_swapping(pid);
}

/* What nsrun starts outside is no command's to write, unless the user is told. */
TEST(a_program_of_nsruns_own_that_can_be_replaced_is_told) {
        const struct site *s = *state;
        _cleanup_free_ char *mine = path_of(s->project, "d/nsrun-net"), *folder = path_of(s->project, "d"),
                            *before = getenv("NSRUN_NET") ? strdup(getenv("NSRUN_NET")) : NULL,
                            *note = text_of(
                                    "nsrun: note: the command may replace nsrun's own program, which runs "
                                    "outside the sandbox (install nsrun where no command may write): %s\n",
                                    mine);
        const char *const rows[][2] = {
                {"--net", "host"}, {"--ro", folder}, {"--overlay", s->project}, {"--hide", mine}};
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->project, "d/nsrun-net", "");
        assert_int_equal(setenv("NSRUN_NET", mine, 1), 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                RUN(s, &o, rows[i][0], rows[i][1], "--", "true");
                assert_string_equal(o.err, i == 0 ? note : "");
                expect_status(&o, 0);
        }
        assert_int_equal(before ? setenv("NSRUN_NET", before, 1) : unsetenv("NSRUN_NET"), 0);
}

static void in_project(const struct site *s, const char *script, struct outcome *o) {
        _cleanup_free_ char *text = text_of("cd '%s'\n%s", s->project, script);

        run_outside(s, o, text);
        expect_status(o, 0);
}

/* What --no-protect names needn't be there yet. */
TEST(a_repository_that_comes_to_be_where_it_is_left_open_keeps_its_hooks) {
        static const struct {
                const char *glob;
                bool is_open;
        } cases[] = {{"n", true}, {"[n]", true}, {"n/.git", true}, {"other", false}};
        static const char script[] = "git init -q n; echo '#!/bin/sh' >n/.git/hooks/pre-commit; "
                                     "chmod +x n/.git/hooks/pre-commit";
        const struct site *s = *state;
        _cleanup_free_ char *hook = path_of(s->project, "n/.git/hooks/pre-commit");
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                in_project(s, "rm -rf .git *; git init -q .", &o);
                RUN(s, &o, "--no-protect", cases[i].glob, "--", "sh", "-c", script);
                expect_status(&o, 0);
                expect_in(o.err, cases[i].is_open ? "with hooks, which git obeys: "
                                                  : "with hooks, which is moved aside there: ");
                if (cases[i].is_open != (access(hook, F_OK) == 0))
                        fail_msg("%s: %s", cases[i].glob, o.err);
        }
}

/* git reads them wherever they lie, and whether a condition holds. */
TEST(hooks_that_a_file_outside_names_are_protected) {
        static const char *const befores[] = {
                "git config -f ../shared.inc core.hooksPath \"$PWD/h0\"; git config include.path ../../shared.inc",
                ("git config -f ../shared.inc core.hooksPath h1; git config -f ../first.inc "
                 "includeIf.onbranch:none.path shared.inc; git config include.path ../../first.inc"),
                "git config core.hooksPath none"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(befores); i++) {
                _cleanup_free_ char *before =
                                            text_of("rm -rf .git h*; git init -q -b main .; mkdir h%zu; %s",
                                                    i, befores[i]),
                                    *script = text_of("echo evil >h%zu/pre-commit", i),
                                    *hook = text_of("%s/h%zu/pre-commit", s->project, i);
                bool is_named = i < 2;

                in_project(s, before, &o);
                RUN(s, &o, "--", "sh", "-c", script);
                expect_status(&o, 0);
                assert_true(is_named == (strstr(o.err, " is kept aside: ") != NULL));
                assert_true(is_named == (access(hook, F_OK) < 0));
        }
}

/* What is kept there is the root's. */
TEST(without_a_project_as_much_is_kept_aside) {
        const struct site *s = *state;
        _cleanup_free_ char *
                script = text_of("cd %s; echo evil >.envrc; echo evil >.git/hooks/pre-commit", s->outside),
               *made = text_of("cd %s && git init -q .", s->outside),
               *notes = text_of(
                       "nsrun: note: a protected name that came to be is kept aside (nsrun review "
                       "--project / --accept 1 puts it back): %s/.envrc; --no-protect .envrc lets "
                       "it stay\nnsrun: note: what the command changed in this folder is kept "
                       "aside: %s/.git/hooks\nnsrun: note: 2 kept aside: nsrun review --project / (--accept N takes one over)\n",
                       s->outside, s->outside);
        const char *const argv[] = {program(), "run", "--no-project", "--rw", s->outside,
                                    "--",      "sh",  "-c",           script, NULL},
                          *const review[] = {program(), "review", "--project", "/", NULL};
        _cleanup_outcome_ struct outcome o = {0}, reviewed = {0};

        in_project(s, made, &o);
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_status(&o, 0);
        assert_string_equal(o.err, notes);
        run(&(struct request){.argv = review, .cwd = s->root}, &reviewed);
        expect_status(&reviewed, 0);
        expect_in(reviewed.out, "/.git/hooks/pre-commit\n");
}

/* The first may be the user's, the last is what the command was done with. */
TEST(of_a_name_that_comes_again_and_again_the_first_and_the_last_are_kept) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--", "sh", "-c",
            "for i in $(seq 300); do echo $i >.envrc; while [ -e .envrc ]; do :; done; done");
        expect_in(
                o.err,
                "nsrun: note: 298 more of protected names that came to be again and again are gone: of each "
                "the first and the last are kept aside\nnsrun: note: 2 kept aside: ");
        in_project(s, "ls -A; cat \"$XDG_STATE_HOME\"/nsrun/kept/*/*/entry", &o);
        expect_out(&o, "1\n300\n");
}

int main(void) {
        return run_all_tests();
}
