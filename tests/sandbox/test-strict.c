/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --protect=strict: a protected name that doesn't exist can't be made, and nothing of it is on the host;
 * what people's tools do in such a folder works, or fails with a message of theirs. */
#include <sys/xattr.h>

#include "bash.h"
#include "session.h"

/* Inside: every name, all ways to make one; it says which worked. */
static const char plant[] =
        "for n in .envrc .npmrc .vscode .bashrc .claude .git/commondir .git/config.worktree \\\n"
        "  .git/info/attributes .git/objects/info/alternates; do\n"
        "  { echo evil >$n; } 2>/dev/null && echo \"wrote $n\"\n"
        "  { echo evil >$n/evil; } 2>/dev/null && echo \"wrote in $n\"\n"
        "  mkdir $n 2>/dev/null && echo \"made $n\"\n"
        "  ln -s x $n 2>/dev/null && echo \"linked $n\"\n"
        "  mkfifo $n 2>/dev/null && echo \"made $n\"\n"
        "  echo evil >fresh; mv -fT fresh $n 2>/dev/null && echo \"renamed $n\"\n"
        "  ln -f fresh $n 2>/dev/null && echo \"hard-linked $n\"\n"
        "  mv -T $n moved 2>/dev/null && echo \"moved $n\"\n"
        "  rm -rf $n 2>/dev/null && echo \"removed $n\"\n"
        "done; rm -rf fresh moved\n";

static const char make_repository[] =
        "set -e; git init -q -b main .; git config user.name J; git config user.email j@example.org\n"
        "mkdir -p src; echo 1 >src/f; echo all: >Makefile; git add .; git commit -qm first\n";

static int setup(void **state) {
        _cleanup_outcome_ struct outcome o = {0};

        if (site_setup(state) != 0)
                return -1;
        run_outside(*state, &o, make_repository);
        expect_status(&o, 0);
        return 0;
}

#undef TEST
#define TEST(name) TEST_WITH(name, setup, site_teardown)

/* All names below the project, with their kinds. */
static char *names(const struct site *s) {
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, "find . -printf '%p %y\\n' | sort");
        return strdup(o.out);
}

TEST(what_is_not_there_can_not_be_made) {
        const struct site *s = *state;
        _cleanup_free_ char *before = names(s);
        _cleanup_outcome_ struct outcome o = {0};

        for (int way = 0; way < 3; way++) {
                _cleanup_free_ char *after = NULL;

                if (way == 0)
                        RUN(s, &o, "--protect=strict", "--", "sh", "-c", plant);
                if (way == 1) {
                        BASH(s, &o, "--protect=strict", "--", plant);
                }
                if (way == 2) {
                        _cleanup_free_ char *id = START(s, "--protect=strict");

                        JOIN_SCRIPT(s, id, &o, plant);
                        end_session(s, id, "stop");
                }
                expect_status(&o, 0);
                if (way != 1)
                        expect_out(&o, "");
                expect_not_in(o.out, "evil\n");
                expect_not_in(o.err, "note");
                after = names(s);
                assert_string_equal(after, before);
        }
        /* Without strict each way works: one try a name, since what appears there is taken away at once. */
        RUN(s, &o, "--", "sh", "-c",
            "set -e; echo evil >fresh; echo evil >.envrc; mv -T fresh .git/info/attributes; mkdir .vscode; echo all");
        expect_out(&o, "all\n");
}

/* Nor does anything inside look as if it were there, but for who names it. */
TEST(what_is_not_there_is_not_listed) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--protect=strict", "--", "sh", "-c",
            "ls -A . .git/info; git status --short; git add -A; git commit -qm same; git clean -nfdx; echo .*\n"
            "cat .npmrc; ls -A .vscode; git rev-parse --show-toplevel; git log --oneline | wc -l");
        _cleanup_free_ char *text = text_of(".:\n.git\nMakefile\nsrc\n\n.git/info:\nexclude\n"
                                            "On branch main\nnothing to commit, working tree clean\n"
                                            ". .. .git\n%s\n1\n",
                                            s->project);
        expect_out(&o, text);
        assert_string_equal(o.err, "cat: .npmrc: Permission denied\n");
        RUN(s, &o, "--protect=strict", "--", "sh", "-c",
            "git submodule status; git diff; git ls-files; ls -A .claude; cat .claude/settings.json");
        expect_out(&o, "Makefile\nsrc/f\n");
        assert_string_equal(o.err, "cat: .claude/settings.json: No such file or directory\n");
}

/* A tracked name that isn't there is neither emptied nor deleted by a commit: git says that it can't be
 * looked at. */
TEST(git_loses_nothing_that_is_not_there) {
        static const char *const scripts[] = {
                "echo 9 >Makefile; git commit -qam work",
                "echo 9 >Makefile; git add -A",
                "echo 9 >Makefile; git stash",
        };
        static const char unreadable[] = "error: open(\".npmrc\"): Permission denied\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(
                s, &o,
                "set -e; git checkout -qb editor; mkdir .vscode; echo s >.vscode/settings.json; git add .\n"
                "git commit -qm editor; git checkout -qb both; echo registry=x >.npmrc; git add .\n"
                "git commit -qm both; rm .npmrc");
        expect_status(&o, 0);
        for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
                RUN(s, &o, "--protect=strict", "--", "sh", "-c", scripts[i]);
                expect_status(&o, i < 2 ? 128 : 1);
                expect_in(o.err, unreadable);
                run_outside(s, &o, "git show both:.npmrc; git show :.npmrc; git log -1 --format=%s");
                expect_out(&o, "registry=x\nregistry=x\nboth\n");
        }
        /* What is asked for by name is done. */
        RUN(s, &o, "--protect=strict", "--", "sh", "-c",
            "git rm -q --cached .npmrc && git commit -qm gone && git show --format= --name-status");
        expect_out(&o, "D\t.npmrc\n");
        run_outside(s, &o, "git reset -q --hard main");
        RUN(s, &o, "--protect=strict", "--", "git", "checkout", "editor");
        expect_status(&o, 1);
        assert_string_equal(o.err, "error: cannot stat '.vscode/settings.json': Permission denied\n");
        RUN(s, &o, "--protect=strict", "--", "sh", "-c",
            "git checkout -qf editor && echo whole; echo 9 >Makefile; git commit -qam work; git show --format= "
            "--name-only");
        expect_out(&o, "Makefile\n");
        expect_in(o.err, "error: unable to create file .vscode/settings.json: Permission denied\n");
        run_outside(s, &o, "git checkout -q -- .; cat .vscode/settings.json");
        expect_out(&o, "s\n");
        /* Without strict it is git's as ever. */
        run_outside(s, &o, "rm -r .vscode");
        RUN(s, &o, "--", "sh", "-c", "git commit -qam work && git show --format= --name-status");
        expect_out(&o, "D\t.vscode/settings.json\n");
}

TEST(git_works_in_it) {
        static const char script[] =
                "set -e\n"
                "echo 1 >f; git add f; git commit -qm one; echo 2 >f; git commit -qam two\n"
                "git branch side HEAD~1; git checkout -q side; echo s >g; git add g; git commit -qm side\n"
                "git checkout -q main; git merge -q -m merged side; git tag -a -m t v1; git rebase -q HEAD~1\n"
                "git stash list; echo 3 >f; git stash -q; git stash pop -q; git reset -q --hard\n"
                "git worktree add -q wt side; git -C wt log --oneline | wc -l; git worktree remove wt\n"
                "git -C sub log --oneline | wc -l\n"
                "echo 4 >sub/f; git -C sub commit -qam four; git add sub; git commit -qm sub\n"
                "git gc -q; git fsck --no-dangling; git status --short\n"
                "git log --oneline | wc -l\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(
                s, &o,
                "set -e; git init -q -b main ../lib; cd ../lib; git config user.name J\n"
                "git config user.email j@example.org; echo l >f; git add f; git commit -qm lib; cd -\n"
                "git -c protocol.file.allow=always submodule --quiet add ../lib sub\n"
                "git -C sub config user.name J; git -C sub config user.email j@example.org\n"
                "git commit -qm sub\n"
                "git checkout -q -b editor; mkdir .vscode; echo 1 >.vscode/x; echo 1 >.npmrc; git add .\n"
                "git commit -qm editor; git checkout -q main");
        expect_status(&o, 0);
        RUN(s, &o, "--protect=strict", "--", "sh", "-c", script);
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        expect_out(&o, "4\n1\n6\n");
        run_outside(s, &o, "git fsck --no-dangling; git status --short; git log --oneline | wc -l; ls -A");
        expect_out(&o, "6\n.git\n.gitmodules\nMakefile\nf\ng\nsrc\nsub\n");
        /* What brings a protected name can't be had, and git says why. */
        RUN(s, &o, "--protect=strict", "--", "git", "checkout", "-q", "editor");
        expect_status(&o, 1);
        expect_in(o.err, "overwritten by checkout:\n\t.npmrc\n");
}

/* What a program does to one file stays in one folder; what it moves to another one may be copied. */
TEST(editors_and_mv_work_in_it) {
        static const char script[] =
                "set -e\n"
                "sed -i s/all/ALL/ Makefile; cat Makefile\n"
                /* As vim saves: the old one renamed, a new one written, the old one removed. */
                "mv Makefile Makefile~; echo vim: >Makefile; rm Makefile~; cat Makefile\n"
                "echo new >.Makefile.swp; mv .Makefile.swp Makefile; cat Makefile\n"
                "mv Makefile src/moved; cat src/moved; mv src/moved Makefile\n"
                "mkdir -p new/er; echo 1 >new/er/f; mv new newer; ln newer/er/f newer/g; cat newer/g\n"
                "ln Makefile src/link 2>&1 || mv src other 2>&1 || rmdir src 2>&1 || rm -r src 2>&1 || ls src\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--protect=strict", "--", "sh", "-c", script);
        expect_status(&o, 0);
        expect_out(&o, "ALL:\nvim:\nnew\nnew\n1\n"
                       "ln: failed to create hard link 'src/link' => 'Makefile': Invalid cross-device link\n"
                       "mv: cannot move 'src' to 'other': Device or resource busy\n"
                       "rmdir: failed to remove 'src': Device or resource busy\n"
                       "rm: cannot remove 'src': Device or resource busy\n");
        run_outside(s, &o, "cat Makefile newer/g; ls -A src");
        expect_out(&o, "new\n1\n");
        RUN(s, &o, "--", "sh", "-c", "mkdir src; ln Makefile src/link; mv src other");
        expect_status(&o, 0);
}

/* overlayfs marks a folder that is renamed; the user's own marks stay. */
TEST(no_mark_of_an_overlay_stays) {
        static const char name[] = "user.overlay.opaque";
        const struct site *s = *state;
        const char *const *arguments = OPTIONS(
                "--protect=strict", "--", "sh", "-c",
                "mkdir a; mv a b; mv b/../Makefile b; echo ready; until [ -e src/go ]; do sleep 0.01; done");
        _cleanup_free_ char *made = path_of(s->project, "b"), *src = path_of(s->project, "src");
        const char **argv = nsrun_argv(s, arguments);
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        if (setxattr(src, name, "n", 1, 0) < 0)
                skip_because("no extended attributes can be set here");
        spawn(&(struct request){.argv = argv, .cwd = s->root}, &running);
        free(argv);
        free(read_line(running.out));
        assert_int_equal(getxattr(made, name, NULL, 0), 1);
        make_file(s->project, "src/go", "");
        finish(&running, &o);
        expect_status(&o, 0);
        assert_int_equal(listxattr(made, NULL, 0), 0);
        assert_int_equal(listxattr(s->project, NULL, 0), 0);
        assert_int_equal(getxattr(src, name, NULL, 0), 1);
}

/* Folders that were there, but for which the plan has no bind. */
TEST(a_mark_of_the_users_own_stays) {
        static const char name[] = "user.overlay.opaque";
        static const char *const folders[] = {"hidden", "layered", "src"};
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->project, "layered");
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, "mkdir hidden layered");
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                _cleanup_free_ char *path = path_of(s->project, folders[i]);

                if (setxattr(path, name, "y", 1, 0) < 0)
                        skip_because("no extended attributes can be set here");
        }
        RUN(s, &o, "--protect=strict", "--hide", "hidden", "--overlay", layered, "--", "sh", "-c",
            "mkdir a; mv a b");
        expect_status(&o, 0);
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                _cleanup_free_ char *path = path_of(s->project, folders[i]);

                if (getxattr(path, name, NULL, 0) != 1)
                        fail_msg("%s has lost its mark", folders[i]);
        }
        _cleanup_free_ char *made = path_of(s->project, "b");

        assert_int_equal(listxattr(made, NULL, 0), 0);
}

TEST(a_namespace_of_its_own_is_no_way_around) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--protect=strict", "--seccomp=nested", "--", "sh", "-c",
            "unshare -Um true; unshare -U echo user");
        expect_out(&o, "user\n");
        assert_string_equal(o.err, "unshare: unshare failed: No space left on device\n");
        RUN(s, &o, "--seccomp=nested", "--", "unshare", "-Um", "echo", "made");
        expect_out(&o, "made\n");
        /* Root's id can't be mapped to itself in there. */
        if (geteuid() == 0)
                return;
        RUN(s, &o, "--protect=strict", "--seccomp=nested", "--", "sh", "-c",
            "unshare -Ur umount .envrc; unshare -Ur mount --bind src src");
        expect_in(o.err, ".envrc: must be superuser to unmount");
        expect_in(o.err, "/src: permission denied");
}

/* Symlinks are mount points, too, and what they lead to is read-only. */
TEST(a_symlink_stays_where_it_is) {
        static const struct {
                const char *before, *refusal;
        } refused[] = {
                {"ln -s nothing .npmrc",
                 "nsrun: a protected symlink leads to nothing that is there: %s/.npmrc; make it a file or a "
                 "folder, or name it with --no-protect"},
                {"ln -sf etc2/npmrc .npmrc; ln -s etc etc2",
                 "nsrun: a protected symlink leads on through another one: %s/.npmrc; make it a file or a "
                 "folder, or name it with --no-protect"},
                {"rm .npmrc; ln -s . .vscode",
                 "nsrun: a protected symlink leads to a writable folder as a whole: %s/.vscode; make it a "
                 "folder, or name it with --no-protect"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o,
                    "mkdir etc; echo mine >etc/npmrc; ln -s etc/npmrc .npmrc; ln -s /etc/hostname .envrc\n"
                    "rm -r .git/hooks; mkdir hooks; ln -s ../hooks .git/hooks");
        RUN(s, &o, "--protect=strict", "--", "sh", "-c",
            "rm .npmrc; ln -sfT x .npmrc; mv .npmrc x; rm .git/hooks .envrc; mv etc e\n"
            "{ echo evil >etc/npmrc; } 2>/dev/null || echo kept\n"
            "{ echo evil >hooks/pre-commit; } 2>/dev/null || echo kept; cat .npmrc");
        expect_out(&o, "kept\nkept\nmine\n");
        assert_string_equal(o.err, "rm: cannot remove '.npmrc': Device or resource busy\n"
                                   "ln: failed to create symbolic link '.npmrc': Device or resource busy\n"
                                   "mv: cannot move '.npmrc' to 'x': Device or resource busy\n"
                                   "rm: cannot remove '.git/hooks': Device or resource busy\n"
                                   "rm: cannot remove '.envrc': Device or resource busy\n"
                                   "mv: cannot move 'etc' to 'e': Device or resource busy\n");
        run_outside(s, &o, "rm .npmrc");
        for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
                _cleanup_free_ char *line = replaced(refused[i].refusal, "%s", s->project);

                run_outside(s, &o, refused[i].before);
                RUN(s, &o, "--protect=strict", "--", "true");
                expect_refusal(&o, 125, line);
        }
        RUN(s, &o, "--protect=strict", "--no-protect", ".vscode", "--", "echo", "ran");
        expect_out(&o, "ran\n");
}

TEST(every_place_where_a_folder_is_shown_is_the_same) {
        const struct site *s = *state;
        _cleanup_free_ char *sub = path_of(s->project, "src"), *whole = text_of("%s:/mnt/x", s->project);
        _cleanup_free_ char *part = text_of("%s:/mnt/src", sub), *before = NULL, *after = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        before = names(s);
        RUN(s, &o, "--protect=strict", "--rw", sub, "--bind", whole, "--bind", part, "--", "sh", "-c",
            "for d in . src /mnt/x /mnt/x/src /mnt/src; do\n"
            "  { echo evil >$d/.envrc; } 2>/dev/null || echo \"not $d\"; mkdir $d/.vscode 2>/dev/null\n"
            "  mkdir -p $d/m && rmdir $d/m\n"
            "done");
        expect_out(&o, "not .\nnot src\nnot /mnt/x\nnot /mnt/x/src\nnot /mnt/src\n");
        assert_string_equal(o.err, "");
        after = names(s);
        assert_string_equal(after, before);
}

/* Of a linked worktree and a submodule the git dir lies elsewhere. */
TEST(a_git_dir_elsewhere_is_kept_too) {
        static const char *const places[] = {"wt", "sub"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(
                s, &o,
                "set -e; git worktree add -q ../wt; git init -q ../lib; cd ../lib\n"
                "git config user.name J; git config user.email j@example.org; git commit -q --allow-empty -m l\n"
                "cd -; git -c protocol.file.allow=always submodule --quiet add ../lib sub");
        expect_status(&o, 0);
        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                _cleanup_free_ char *place = path_of(i == 0 ? s->root : s->project, places[i]);
                const char *const argv[] = {
                        program(),
                        "run",
                        "--protect=strict",
                        "--",
                        "sh",
                        "-c",
                        "for n in config.worktree commondir hooks/x info/attributes; do f=$(git rev-parse --git-path $n)\n"
                        "{ mkdir -p ${f%/*}; echo evil >$f; } 2>/dev/null && echo $n; done\n"
                        "git -c user.name=J -c user.email=j@x commit -q --allow-empty -m x && echo done",
                        NULL};

                run(&(struct request){.argv = argv, .cwd = place}, &o);
                expect_out(&o, "done\n");
                assert_string_equal(o.err, "");
        }
        run_outside(s, &o,
                    "find . -name config.worktree -o -name '*.aside-*'; cat .git/modules/sub/commondir");
        expect_out(&o, "");
}

TEST(where_it_can_not_be_had_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *other = text_of(
                "nsrun: --protect=strict can't hold in a folder that lies on another mount than the cache folder: "
                "%s; let XDG_CACHE_HOME name a folder on the same one, outside of it; or leave strict out\n",
                s->project);
        _cleanup_free_ char *tmp = text_of(
                "nsrun: --protect=strict can't hold in a folder that is /tmp, too: %s; choose another "
                "folder for --tmp",
                s->outside);
        _cleanup_free_ char *script = text_of(
                "XDG_CACHE_HOME=/dev/shm/nsrun-test-$$ '%s' run --project '%s' --protect=strict -- true",
                program(), s->project);
        _cleanup_free_ char *option = text_of("--tmp=%s", s->outside), *config = path_of(s->root, "c.json");
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--protect=strict", "--protect", "docs/*.md", "--", "true");
        expect_refusal(
                &o, 125,
                "nsrun: --protect=strict can't keep names free that a wildcard stands for: docs/*.md; "
                "name each, or leave strict out");
        RUN(s, &o, "--protect=strict", option, "--rw", s->outside, "--", "true");
        expect_refusal(&o, 125, tmp);
        RUN(s, &o, "--protect=strict", "--profile=instance", "--", "true");
        expect_refusal(
                &o, 125,
                "nsrun: the instance profile protects no names: --protect=strict can't be had with it; "
                "leave one of the two out");
        run_outside(s, &o, script);
        expect_status(&o, 125);
        assert_string_equal(o.err, other);
        make_file(s->root, "c.json", "{\"protect\": \"lax\"}");
        RUN(s, &o, "--config", config, "--", "true");
        expect_status(&o, 125);
        expect_in(o.err, "an array of globs, or \"strict\" is expected here: protect");
}

TEST(the_plan_and_a_configuration_know_it) {
        const struct site *s = *state;
        _cleanup_free_ char *config = path_of(s->root, "c.json");
        _cleanup_free_ char *json =
                text_of("'%s' plan --project . --config ../c.json --format=json -- true", program());
        _cleanup_free_ char *strict = text_of("'%s' plan --project . --config ../c.json -- true", program());
        _cleanup_free_ char *usual = text_of("'%s' plan --project . -- true", program());
        _cleanup_free_ char *bwrap =
                text_of("'%s' plan --project . --protect=strict --format=bwrap -- true", program());
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->root, "c.json", "{\"protect\": [\"strict\", \"docs/a\"]}");
        run_outside(s, &o, json);
        expect_status(&o, 0);
        expect_in(o.out, "\"name\": \".envrc\",\n      \"absent\": \"kept free\"");
        expect_in(o.out, "\"name\": \".git\",\n      \"absent\": \"noted\"");
        expect_in(o.out, "\".vscode/\"");
        expect_in(o.out, "\"docs/\"");
        expect_in(o.out, "\"git_dir\": true");
        run_outside(s, &o, strict);
        expect_in(o.out, " names: read-only where they are, can't be made where they aren't (strict)\n");
        expect_in(o.out, " names in it can't be made\n");
        run_outside(s, &o, usual);
        expect_in(o.out, "read-only where they are, kept aside where they are made\n");
        expect_not_in(o.out, "can't be made");
        run_outside(s, &o, bwrap);
        expect_refusal(&o, 125,
                       "nsrun: bubblewrap has nothing for --protect=strict: Invalid argument; leave it out");
        make_file(s->root, "c.json", "{\"protect\": \"strict\"}");
        RUN(s, &o, "--config", config, "--", "sh", "-c", "echo evil >.envrc");
        expect_in(o.err, "cannot create .envrc: Read-only file system");
}

int main(void) {
        return run_all_tests();
}
