/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* git inside: in a worktree and in a submodule, whose repositories lie outside the
 * project, commits work and reach the host, while nothing that git on the host would
 * execute can be planted; and a .git file that lies shows nobody's repository. */
#include "repository.h"
#include "session.h"

/* root/main with its worktree root/work, a bare repository with a worktree within
 * it, and root/super with its submodule. */
static const char prepare[] =
        "set -e\n"
        "git config --global user.name 'Jo Doe'; git config --global user.email jo@example.org\n"
        "git config --global protocol.file.allow always; git config --global init.defaultBranch main\n"
        "git init -q main; cd main; mkdir -p .git/hooks\n"
        "for i in 1 2 3; do echo $i >file$i; git add file$i; git commit -qm $i; done\n"
        "git worktree add -q -b topic ../work 2>/dev/null; git worktree add -q -b other ../other 2>/dev/null\n"
        "cd ..; git clone -q --bare main bare.git; mkdir -p bare.git/hooks\n"
        "git -C bare.git worktree add -q -b within within 2>/dev/null\n"
        "git init -q super; cd super; git submodule --quiet add ../main sub 2>/dev/null; git commit -qm s\n"
        "mkdir -p .git/modules/sub/hooks\n";

static int setup(void **state) {
        _cleanup_outcome_ struct outcome o = {0};
        struct site *s;

        if (site_setup(state) != 0)
                return -1;
        s = *state;
        if (has_program("git")) {
                const char *argv[] = {"sh", "-c", prepare, NULL};

                run(&(struct request){.argv = argv, .cwd = s->root}, &o);
                expect_status(&o, 0);
        }
        return 0;
}

/* A script in the sandbox of the project root/NAME, whose environment names the
 * site's root as $ROOT. */
static void run_in(const struct site *s, struct outcome *o, const char *name, const char *script) {
        _cleanup_free_ char *folder = path_of(s->root, name), *root = text_of("ROOT=%s", s->root);
        const char *argv[] = {program(), "run", "--env", root, "--", "sh", "-c", script, NULL};

        outcome_clear(o);
        run(&(struct request){.argv = argv, .cwd = folder}, o);
}

/* What the host's git says of root/NAME. */
static void expect_host(const struct site *s, const char *name, const char *command, const char *out) {
        _cleanup_free_ char *script = text_of("cd '%s/%s' && %s", s->root, name, command);
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, script);
        expect_status(&o, 0);
        expect_out(&o, out);
}

static const char *const projects[] = {"work", "bare.git/within", "super/sub"};

TEST_WITH(a_commit_inside_reaches_the_host, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        for (size_t i = 0; i < ARRAY_SIZE(projects); i++) {
                run_in(s, &o, projects[i],
                       "set -e; echo new >new; git add new; git commit -qm inside; git status --short");
                expect_status(&o, 0);
                expect_out(&o, "");
                expect_host(s, projects[i], "git log -1 --format='%an <%ae> %cn <%ce> %s'",
                            "Jo Doe <jo@example.org> Jo Doe <jo@example.org> inside\n");
                expect_host(s, projects[i],
                            "git status --short; git fsck --strict 2>&1 | grep -v '^dangling'; true", "");
        }
}

TEST_WITH(the_daily_commands_work_in_a_worktree, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        for (size_t i = 0; i < 2; i++) {
                run_in(s, &o, projects[i],
                       "set -e; branch=$(git symbolic-ref --short HEAD)\n"
                       "echo a >>file1; git stash -q; git stash pop -q; git commit -qam a\n"
                       "git checkout -q -b side HEAD~1; echo b >b; git add b; git commit -qm b\n"
                       "git cherry-pick $branch >/dev/null; git checkout -q $branch; git merge -q -m m side\n"
                       "git reset -q --hard HEAD~1; git rebase -q -f HEAD~2;\n"
                       "git worktree list | wc -l; test ! -e \"$(git rev-parse --git-dir)/CHERRY_PICK_HEAD\"");
                expect_status(&o, 0);
                expect_host(s, projects[i], "git status --short; git log -1 --format=%s side", "a\n");
        }
}

TEST_WITH(a_submodule_is_a_repository_to_work_in, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        run_in(s, &o, "super/sub",
               "set -e; git checkout -q -b side; echo a >>file1; git stash -q; git stash pop -q; git commit -qam a\n"
               "git rebase -q -f HEAD~2; git gc -q --prune=now; git clone -q --bare . local.git\n"
               "git fetch -q ./local.git side; git worktree add -q tree HEAD 2>/dev/null; cd tree\n"
               "git commit -q --allow-empty -m there; cd ..; git worktree list | wc -l | tr -d ' '\n"
               "git worktree remove tree; rm -r local.git; git status --short");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        expect_out(&o, "2\n");
        expect_host(s, "super/sub",
                    "git fsck 2>&1 | grep -v '^dangling'; git log -1 --format=%s; git status --short",
                    "a\n");
        expect_host(s, "super", "git submodule --quiet update; git -C sub log -1 --format=%s", "3\n");
}

/* The repository of a worktree is as writable as a plain one's folder is. */
TEST_WITH(a_worktree_packs_and_deletes, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        for (size_t i = 0; i < 2; i++) {
                run_in(s, &o, projects[i],
                       "set -e; git commit -q --allow-empty -m kept; git tag t; git tag u; git branch gone\n"
                       "git pack-refs --all; git tag -d t >/dev/null; git branch -q -D gone; git gc -q --prune=now");
                expect_status(&o, 0);
                expect_not_in(o.err, "packed-refs");
                expect_host(
                        s, projects[i],
                        "git log -1 --format=%s; git tag; git for-each-ref | wc -l | tr -d ' '; git fsck",
                        i == 0 ? "kept\nu\n4\n" : "kept\nu\n5\n");
        }
}

/* Its git dir lies in the worktree's; and where the command is to write to that alone, by an option. */
TEST_WITH(a_submodule_of_a_worktree_can_be_committed_in, setup, site_teardown) {
        static const char *const plants[] = {
                "rmdir hooks",       "! [ -L config ]",         "rm -r hooks",
                "mv config c",       "echo x >info/attributes", "mv ../sub ../x",
                "mv ../../modules x"};
        const struct site *s = *state;
        _cleanup_free_ char *git_dir = path_of(s->root, "super/.git/worktrees/tree/modules/sub"),
                            *tree = path_of(s->root, "tree");
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        expect_host(
                s, "super",
                "git worktree add -q ../tree 2>/dev/null; cd ../tree; git submodule --quiet update --init\n"
                "cd \"$(git -C sub rev-parse --git-dir)\"; touch info/attributes; mkdir -p hooks; pwd | sed 's,.*/super,,'",
                "/.git/worktrees/tree/modules/sub\n");
        run_in(s, &o, "tree",
               "set -e; cd sub; git commit -q --allow-empty -m inside; git status --short; cd ..; git add sub; git commit -qm top");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        expect_host(s, "tree", "git log -1 --format=%s; git -C sub log -1 --format=%s; git status --short",
                    "top\ninside\n");
        for (size_t i = 0; i < 2 * ARRAY_SIZE(plants); i++) {
                _cleanup_free_ char *script =
                        text_of("cd '%s' && %s && echo planted", git_dir, plants[i / 2]);

                if (i % 2 == 0)
                        run_in(s, &o, "tree", script);
                else
                        RUN(s, &o, "--project", tree, "--rw", git_dir, "--", "sh", "-c", script);
                expect_status(&o, o.status);
                assert_int_not_equal(o.status, 0);
                assert_string_equal(o.out, "");
        }
        expect_host(s, "tree",
                    "cd sub && git commit -q --allow-empty -m outside && git config core.fsmonitor; true",
                    "");
}

/* Siblings that aren't shown, those in /tmp and those that a command made up. */
TEST_WITH(no_sibling_looks_deleted, setup, site_teardown) {
        static const char plant[] =
                "set -e; git worktree add -q ../deep/er/third; cd .git/worktrees\n"
                "for i in 1 2 3 4 5 6 7 8 9; do mkdir h$i; done\n"
                "echo /etc/evil/.git >h1/gitdir; echo \"$HOME/.ssh/id_x/.git\" >h2/gitdir\n"
                "printf '/evil/a\\nb/.git\\n' >h3/gitdir; echo /etc/passwd/.git >h4/gitdir\n"
                "head -c 1000000 /dev/zero | tr '\\0' x >h5/gitdir\n"
                "ln -s \"$HOME/leads\" h7/gitdir; echo /evil/leads/.git >\"$HOME/leads\"\n"
                "echo ../../../../rela/../sibling/.git >h8/gitdir; echo /usr/evil/.git >h9/gitdir\n"
                "cp -a . ../../../saved";
        static const char tidy[] =
                "set -e; git worktree prune; git -c gc.reflogExpire=never -c gc.reflogExpireUnreachable=never gc -q\n"
                "git worktree list | grep -cE '/(work|other|third) '; cat ../other/.git\n"
                "echo x >../other/.git || ls -d ../rela* ../sib* /evil /etc/evil /usr/evil";
        static const char same[] =
                "for w in work other third; do diff -r .git/worktrees/$w ../saved/$w; done";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *made = NULL;

        NEED_GIT();
        make_folder(s->home, ".ssh");
        made = text_of("cd '%s/main'; %s", s->root, plant);
        run_outside(s, &o, made);
        expect_status(&o, 0);
        run_in(s, &o, "main", tidy);
        expect_in(o.out, "3\n../sibling\n");
        expect_not_in(o.out, "evil");
        expect_in(o.err, "cannot create ../other/.git: ");
        expect_host(s, "main", same, "");
        expect_host(s, "home", "ls -A .ssh; ls -d ../sibling 2>/dev/null; true", "");
        run_in(s, &o, "work", tidy);
        expect_host(s, "main", same, "");
        RUN(s, &o, "--no-protect", "*", "--project", "main", "--", "sh", "-c", tidy);
        expect_host(s, "main", same, "");
        /* In the place of what is hidden nothing can stand. */
        expect_host(s, "main", "git worktree add -q in 2>/dev/null; cp -a .git/worktrees/in ../saved", "");
        RUN(s, &o, "--hide", "/in", "--project", "main", "--", "sh", "-c",
            "ls -A in; git worktree prune; echo x >.git/worktrees/in/HEAD");
        expect_out(&o, "");
        expect_in(o.err, "cannot create .git/worktrees/in/HEAD: Read-only file system");
        expect_host(s, "main", "diff -r .git/worktrees/in ../saved/in; git worktree remove in", "");
        /* A sibling that is gone is stale, to git on the host. */
        expect_host(s, "main", "rm -r ../other; git worktree prune -v 2>&1 | grep other",
                    "Removing worktrees/other: gitdir file points to non-existent location\n");
        expect_host(s, "main", "mkdir .git/worktrees/h6; mkfifo .git/worktrees/h6/gitdir", "");
        run_in(s, &o, "main", "true");
        expect_status(&o, 0);
        /* So many would be the next start's to make. */
        run_in(s, &o, "main",
               "cd .git/worktrees; for i in $(seq 40); do mkdir n$i\n"
               "printf \"/evil/$i%02000d/.git\" 0 | sed 's,0\\{99\\},&/,g' >n$i/gitdir; done");
        run_in(s, &o, "main", "true");
        expect_status(&o, 125);
        expect_in(o.err,
                  "there are too many linked worktrees for all to be kept from looking deleted inside");
}

/* Each line: where, as the shell has it, and the error it must meet. */
TEST_WITH(nothing_that_the_host_would_run_can_be_planted, setup, site_teardown) {
        static const char plant[] =
                "common=$(cd \"$(git rev-parse --git-common-dir)\" && pwd)\n"
                "mine=$(cd \"$(git rev-parse --git-dir)\" && pwd)\n"
                "try() { \"$@\" 2>&1 | sed \"s,.*: ,,\"; }\n"
                "try sh -c \"echo x >'$common/hooks/pre-commit'\"\n"
                "try sh -c \"echo x >.git\"\n"
                "try rm \"$common/config\"; try mv \"$common/config\" \"$common/x\"\n"
                "try rmdir \"$common/hooks\"; try rm .git; try git config core.fsmonitor x\n"
                "try mkdir \"$common/hooks/x\"\n";
        static const char refused[] = "Read-only file system\n"
                                      "Device or resource busy\nDevice or resource busy\n"
                                      "Device or resource busy\nDevice or resource busy\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        for (size_t i = 0; i < ARRAY_SIZE(projects); i++) {
                run_in(s, &o, projects[i], plant);
                expect_status(&o, 0);
                expect_out(&o, refused);
                expect_host(
                        s, projects[i],
                        "git config core.fsmonitor; ls \"$(git rev-parse --git-common-dir)/hooks\" | grep -v sample; true",
                        "");
        }
        /* And the probe works where nothing stands in the way. */
        expect_host(
                s, "work",
                "echo '#!/bin/sh' >../main/.git/hooks/x && git config core.fsmonitor false && ls ../main/.git/hooks | grep -v sample",
                "x\n");
}

/* Of what is made in the repository of a worktree. */
TEST_WITH(names_that_git_obeys_do_not_outlive_the_sandbox, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        run_in(s, &o, "work",
               "set -e; cd \"$ROOT/main/.git\"; touch config.worktree; mkdir modules\n"
               "echo \"$ROOT/work\" >commondir; echo '* diff=x' >info/attributes");
        expect_status(&o, 0);
        expect_in(o.err, "main/.git/commondir");
        expect_host(
                s, "main/.git",
                "ls -d commondir config.worktree info/attributes modules 2>/dev/null; rmdir modules; cd ..; git status --short",
                "modules\n");
        /* The worktrees' own pointers stay. */
        run_in(s, &o, "work",
               "cd \"$ROOT/main/.git/worktrees/work\"; echo >commondir; echo >gitdir; rm commondir; echo >../other/gitdir");
        expect_in(o.err, "cannot create commondir: Read-only file system");
        expect_in(o.err, "cannot create gitdir: Read-only file system");
        expect_in(o.err, "cannot remove 'commondir': Device or resource busy");
        expect_in(o.err, "cannot create ../other/gitdir: Read-only file system");
        /* What the option leaves open is open. */
        _cleanup_free_ char *work = path_of(s->root, "work");
        RUN(s, &o, "--project", work, "--no-protect", ".git/config", "--", "sh", "-c",
            "cd ../work; git config x.y z; git config x.y; git config --worktree x.y z; echo x >../main/.git/hooks/x");
        expect_out(&o, "z\n");
        expect_in(o.err, "main/.git/hooks\n");
        expect_host(s, "main", "git config x.y; ls .git/hooks | grep -v sample; true", "z\n");
}

/* A worktree's own configuration is a name as it is in a plain repository: kept aside, or left by the
 * option that is named; and the next run starts. */
TEST_WITH(a_worktree_has_a_configuration_of_its_own, setup, site_teardown) {
        static const char option[] = "--no-protect .git/worktrees/work/config.worktree lets it stay\n";
        const struct site *s = *state;
        _cleanup_free_ char *work = path_of(s->root, "work");
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        expect_host(s, "work", "git config extensions.worktreeConfig true", "");
        run_in(s, &o, "work", "git config --worktree a.b c");
        expect_status(&o, 0);
        expect_in(o.err, option);
        RUN(s, &o, "--project", work, "--no-protect", ".git/worktrees/work/config.worktree", "--", "sh",
            "-c", "git -C ../work config --worktree a.b c");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        expect_host(s, "work", "git config a.b", "c\n");
        RUN(s, &o, "--project", work, "--explain", "--", "sh", "-c", "echo x >../work/.git");
        expect_in(o.err, "programs on the host obey it: --no-protect .git lifts that\n");
        RUN(s, &o, "--project", work, "--no-protect", ".git/hooks", "--", "sh", "-c",
            "echo x >../main/.git/hooks/x");
        expect_status(&o, 0);
        expect_host(s, "main", "cat .git/hooks/x; rm .git/hooks/x", "x\n");
}

/* Nothing of the main checkout but its repository is seen, nor of those that lie in the repository. */
TEST_WITH(a_worktree_shows_no_other_checkout, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        run_in(s, &o, "work", "ls -A \"$ROOT\" \"$ROOT/main\" \"$ROOT/other\"; ls \"$ROOT/main/file1\"");
        expect_in(o.out, "main:\n.git\n");
        expect_in(o.out, "other:\n.git\n");
        expect_not_in(o.out, "file1");
        expect_in(o.err, "main/file1': No such file or directory");
        expect_host(s, "main", "ls file1", "file1\n");

        expect_host(s, "bare.git",
                    "git worktree add -q a/beside 2>/dev/null; ls a/beside/file1; ls worktrees",
                    "a/beside/file1\nbeside\nwithin\n");
        run_in(s, &o, "bare.git/within",
               "ln -s file1 link; ls -A ../a/beside; echo x >../a/beside/.git; echo x >../a/beside/new; mv ../a ../b\n"
               "git worktree prune; git worktree list | wc -l | tr -d ' '");
        expect_out(&o, ".git\n3\n");
        expect_in(o.err, "cannot create ../a/beside/.git: Permission denied");
        expect_in(o.err, "cannot move '../a' to '../b': Device or resource busy");
        expect_not_in(o.err, "nsrun:");
        expect_host(s, "bare.git/within", "ls link; ls -A ../a/beside; git -C ../a/beside status --short",
                    "link\n.git\nfile1\nfile2\nfile3\n");
}

/* Each plants something that git on the host would obey or write through, and is `said` afterwards; `probe`,
 * on the host, would make root/outside/marker. */
TEST_WITH(what_git_never_made_is_gone_before_git_sees_it, setup, site_teardown) {
        static const char evil[] =
                "mkdir -p evil/objects evil/refs evil/hooks; cp \"$mine/HEAD\" evil\n"
                "printf '[core]\\nfsmonitor=touch %s/outside/marker; false\\n' \"$ROOT\" >evil/config\n"
                "echo \"$PWD/evil\" >\"$mine/commondir\"\n";
        static const char commit[] = "git commit -q --allow-empty -m next; true";
        static const struct {
                const char *project, *plant, *probe, *said;
        } cases[] = {
                {"super/sub", evil, "git status", " aside: "},
                {"super/sub", evil, "cd .. && git status", " aside: "},
                {"super/sub", "ln -sf \"$ROOT/outside/marker\" \"$mine/logs/HEAD\"", commit,
                 "a symlink that the command left in a git dir is removed: "},
                {"super/sub", "ln -sf \"$ROOT/outside/marker\" \"$mine/COMMIT_EDITMSG\"", commit,
                 "is removed: "},
                {"super/sub",
                 "ln -sf \"$ROOT/outside/marker\" \"$mine/logs/HEAD\"; chmod 300 \"$mine/logs\"", commit,
                 "is removed: "},
                /* A reference leads to refs/, and nowhere else; a branch may be called hooks/x. */
                {"super/sub",
                 "ln -sf \"refs/../../../../../../../../../../../../..$ROOT/outside/marker\" "
                 "\"$mine/COMMIT_EDITMSG\"",
                 commit, "is removed: "},
                {"super/sub",
                 "mkdir -p \"$mine/logs/refs/heads/hooks\"\n"
                 "ln -sf \"$ROOT/outside/marker\" \"$mine/logs/refs/heads/hooks/x\"",
                 "echo x >>\"$(git rev-parse --git-dir)/logs/refs/heads/hooks/x\"", "is removed: "},
                {"work", "ln -sf \"$ROOT/outside/marker\" \"$mine/logs/HEAD\"", commit, "is removed: "},
                {"work", "ln -sf \"$ROOT/outside/marker\" \"$mine/MERGE_RR\"",
                 "echo x >>\"$(git rev-parse --git-dir)/MERGE_RR\"", "is removed: "},
                {"work",
                 "common=$(git rev-parse --git-common-dir)\n"
                 "ln -sf \"$ROOT/outside/marker\" \"$common/logs/refs/heads/topic\"",
                 commit, "is removed: "},
        };
        const struct site *s = *state;
        _cleanup_free_ char *marker = path_of(s->outside, "marker");
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *plant =
                        text_of("mine=$(cd \"$(git rev-parse --git-dir)\" && pwd)\n%s", cases[i].plant);
                _cleanup_free_ char *by_hand = text_of("export ROOT='%s'; cd '%s/%s'\n%s\n%s", s->root,
                                                       s->root, cases[i].project, plant, cases[i].probe);
                _cleanup_free_ char *probe =
                        text_of("cd '%s/%s'\n%s", s->root, cases[i].project, cases[i].probe);
                _cleanup_free_ char *clean =
                        text_of("cd '%s' && chmod 755 super/.git/modules/sub/logs; find . -type l -delete; "
                                "rm -f super/.git/modules/sub/commondir",
                                s->root);

                run_in(s, &o, cases[i].project, plant);
                expect_status(&o, 0);
                expect_in(o.err, "nsrun: note: ");
                expect_in(o.err, cases[i].said);
                run_outside(s, &o, probe);
                if (access(marker, F_OK) == 0)
                        fail_msg("case %zu: git on the host obeyed: %s", i, cases[i].plant);
                /* A second run has nothing to say. */
                run_in(s, &o, cases[i].project, "git status --short");
                expect_status(&o, 0);
                assert_string_equal(o.err, "");
                /* The probe works: by hand on the host the same is obeyed. */
                run_outside(s, &o, by_hand);
                if (unlink(marker) < 0)
                        fail_msg("case %zu: git did not obey: %s; %s%s", i, cases[i].plant, o.out, o.err);
                run_outside(s, &o, clean);
        }
}

/* A process that a command left behind plants it when the session ends: after the last command. */
TEST_WITH(what_git_never_made_is_gone_with_a_session_too, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *work = path_of(s->root, "work"), *id = NULL,
                            *logs = path_of(s->root, "main/.git/worktrees/work/logs"),
                            *link = path_of(logs, "HEAD"), *marker = path_of(logs, "planted");
        _cleanup_outcome_ struct outcome o = {0};
        struct stat st;

        NEED_GIT();
        SESSION(s, &o, "start", "--project", work);
        expect_status(&o, 0);
        id = strndup(o.out, strcspn(o.out, "\n"));
        JOIN_SCRIPT(
                s, id, &o,
                "logs=$(cd \"$(git rev-parse --git-dir)/logs\" && pwd) || exit 1\n"
                "(trap 'ln -sf /outside \"$logs/HEAD\"; : >\"$logs/planted\"; exit' TERM; echo ready >/tmp/ready;"
                " while :; do sleep 1; done) >/dev/null 2>&1 &\n"
                "while ! [ -e /tmp/ready ]; do :; done");
        expect_status(&o, 0);
        SESSION(s, &o, "stop", id);
        expect_status(&o, 0);
        collect_orphans();
        /* It was there. */
        assert_int_equal(unlink(marker), 0);
        assert_true(lstat(link, &st) < 0 || !S_ISLNK(st.st_mode));
}

/* A rebase that stopped goes on on the host, and what it would run is told. */
TEST_WITH(a_rebase_that_would_run_a_command_is_told, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        for (size_t i = 0; i < 2; i++) {
                run_in(s, &o, projects[i],
                       "GIT_SEQUENCE_EDITOR='sed -i s/^pick/edit/' git rebase -q -i HEAD~2; true");
                expect_status(&o, 0);
                expect_not_in(o.err, "nsrun:");
                expect_host(
                        s, projects[i],
                        "git rebase --continue >/dev/null 2>&1; git rebase --continue >/dev/null 2>&1; git status --short",
                        "");
                run_in(s, &o, projects[i], "git rebase -q -x false HEAD~2 2>/dev/null; true");
                expect_status(&o, 0);
                expect_in(o.err,
                          "nsrun: note: git rebase --continue would run commands that the command left: ");
                expect_in(o.err, "/rebase-merge/git-rebase-todo\n");
                expect_host(s, projects[i], "git rebase --abort; git status --short", "");
        }
}

#define DOUBT  "nsrun: the project's .git can't be believed: "
#define REPAIR "if the folder was moved run 'git worktree repair' there, else remove the file"

TEST_WITH(a_git_file_that_lies_is_refused, setup, site_teardown) {
        static const struct {
                const char *leads_to; /* below the root */
                const char *why;
                bool is_exposable;
        } lies[] = {
                {"main/.git", "it leads to a repository that names no work tree", true},
                {"$(x) y/.git", "it leads to a repository that names no work tree", true},
                {"main/.git/worktrees/other", "it leads to the git dir of another worktree", false},
                {"super/.git/modules/sub", "it leads to the repository of another work tree", true},
                {"outside", "it leads to no repository", false},
                {"none", "it leads nowhere", false},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        expect_host(s, ".", "cp -a main '$(x) y'", "");
        for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
                _cleanup_free_ char *text = text_of("gitdir: %s/%s\n", s->root, lies[i].leads_to);
                const char *quote = strchr(lies[i].leads_to, ' ') ? "'" : "";
                _cleanup_free_ char *expose =
                        text_of("if it is the project's own, expose it: --rw %s%s/%s%s", quote, s->root,
                                lies[i].leads_to, quote);
                _cleanup_free_ char *line = text_of(DOUBT "%s: %s/.git; %s", lies[i].why, s->project,
                                                    lies[i].is_exposable ? expose : REPAIR);
                char *before;

                make_file(s->project, ".git", text);
                before = snapshot(s->root);
                RUN(s, &o, "true");
                expect_refusal(&o, 125, line);
                expect_unchanged(s->root, before);
        }
        /* The same file in the worktree that git made it for. */
        run_in(s, &o, "other", "git status --short; cat .git | wc -l | tr -d ' '");
        expect_status(&o, 0);
        expect_out(&o, "1\n");
}

/* As --separate-git-dir makes one, and Android's repo: exposed by itself if it names the project, else by an
 * option; and protected as one in the project. */
TEST_WITH(a_git_dir_elsewhere_is_found_or_asked_for, setup, site_teardown) {
        static const char *const makes[] = {
                "mkdir obj; git init -q --separate-git-dir sep p",
                "rm -rf sep p; git init -q p; mv p/.git sep; ln -s ../sep p/.git",
                "rm -rf sep p obj; git init -q p; mv p/.git sep; ln -s ../sep p/.git; mv sep/objects obj; ln -s ../obj sep/objects",
        };
        static const char work[] =
                "git commit -q --allow-empty -m inside && git config core.hooksPath; echo x >hooks/pre-commit\n"
                "echo x >\"$(git rev-parse --git-dir)/hooks/x\"; git config core.fsmonitor x";
        const struct site *s = *state;
        _cleanup_free_ char *project = path_of(s->root, "p"), *git_dir = path_of(s->root, "sep"),
                            *objects = path_of(s->root, "obj"),
                            *line = text_of(DOUBT
                                            "%%s: %s/.git; if it is the project's own, expose it: --rw %s",
                                            project, git_dir);
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        for (size_t i = 0; i < ARRAY_SIZE(makes); i++) {
                _cleanup_free_ char *refused =
                        replaced(line, "%s",
                                 i == 2 ? "it leads to no repository"
                                        : "it leads to a repository that names no work tree");

                expect_host(s, ".", makes[i], "");
                expect_host(s, "p", "mkdir hooks; git config core.hooksPath hooks; mkdir -p ../sep/hooks",
                            "");
                RUN(s, &o, "--project", project, "--", "true");
                expect_refusal(&o, 125, refused);
                for (unsigned j = 0; j < 2; j++) {
                        if (j == 0)
                                RUN(s, &o, "--project", project, "--rw", git_dir, "--rw", objects, "--",
                                    "sh", "-c", work);
                        else
                                run_in(s, &o, "p", work);
                        expect_out(&o, "hooks\n");
                        expect_host(
                                s, "p",
                                "git log -1 --format=%s; git config core.fsmonitor; ls -d hooks/* ../sep/hooks/x 2>/dev/null; true",
                                "inside\n");
                        /* Then it names the project. */
                        if (i == 2)
                                break;
                        expect_host(s, "p", "git config core.worktree \"$PWD\"", "");
                }
        }
        /* A symlink to what is no git dir is left alone. */
        expect_host(s, "p", "ln -sfn ../home .git", "");
        run_in(s, &o, "p", "ls .git/");
        assert_int_not_equal(o.status, 125);
}

/* What a command can write on one run does not open another repository to the next. */
TEST_WITH(a_worktree_cannot_lead_the_next_run_astray, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        run_in(s, &o, "super/sub",
               "rm -rf \"$ROOT/super/.git/modules/sub/objects\"; ln -s \"$ROOT/home\" \"$ROOT/super/.git/modules/sub/objects\"");
        expect_status(&o, 0);
        run_in(s, &o, "super/sub", "true");
        expect_status(&o, 125);
        expect_in(o.err, DOUBT "it leads to no repository: ");
}

TEST_WITH(the_identity_is_the_hosts, setup, site_teardown) {
        static const char show[] = "env | grep -E '^GIT_(AUTHOR|COMMITTER)' | sort";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *script =
                text_of("git config --global 'includeIf.gitdir:%s/work/.path' work; git config --global "
                        "'includeIf.gitdir:%s/main/.git/worktrees/work.path' work\n"
                        "printf '[user]\\nname=Work\\nemail=w@x\\n' >\"$HOME/work\"",
                        s->root, s->root);

        NEED_GIT();
        run_in(s, &o, "main", show);
        expect_out(&o, "GIT_AUTHOR_EMAIL=jo@example.org\nGIT_AUTHOR_NAME=Jo Doe\n"
                       "GIT_COMMITTER_EMAIL=jo@example.org\nGIT_COMMITTER_NAME=Jo Doe\n");
        run_outside(s, &o, script);
        expect_status(&o, 0);
        run_in(s, &o, "work", show);
        expect_out(&o, "GIT_AUTHOR_EMAIL=w@x\nGIT_AUTHOR_NAME=Work\n"
                       "GIT_COMMITTER_EMAIL=w@x\nGIT_COMMITTER_NAME=Work\n");
        run_in(s, &o, "main", "git var GIT_AUTHOR_IDENT | sed 's/ [0-9].*//'; ls -A \"$HOME\"");
        expect_out(&o, "Jo Doe <jo@example.org>\n");
        /* An explicit environment is left alone. */
        RUN(s, &o, "--env", "GIT_AUTHOR_NAME=Bot", "--", "sh", "-c", show);
        expect_out(&o, "GIT_AUTHOR_NAME=Bot\n");
        RUN(s, &o, "--unsetenv", "GIT_AUTHOR_NAME", "--", "sh", "-c", show);
        expect_out(&o, "");
        RUN(s, &o, "--clean-env", "--", "sh", "-c", show);
        expect_out(&o, "");
}

int main(void) {
        return run_all_tests();
}
