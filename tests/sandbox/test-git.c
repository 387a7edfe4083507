/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* git inside: in a worktree and in a submodule, whose repositories lie outside the
 * project, commits work and reach the host, while nothing that git on the host would
 * execute can be planted; and a .git file that lies shows nobody's repository. */
#include "harness.h"

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

#define NEED_GIT()                                                \
        do {                                                      \
                if (!has_program("git"))                          \
                        skip_because("skipped: there is no git"); \
        } while (0)

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

static void a_commit_inside_reaches_the_host(void **state) {
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

static void the_daily_commands_work_in_a_worktree(void **state) {
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

/* Packing takes branches out of refs/: into a file that must not be the sandbox's own. */
static void no_branch_is_lost_with_the_sandbox(void **state) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        for (size_t i = 0; i < 2; i++) {
                run_in(s, &o, projects[i],
                       "git commit -q --allow-empty -m kept; git pack-refs --all; git gc -q --prune=now; true");
                expect_status(&o, 0);
                expect_in(o.err, "packed-refs: Device or resource busy");
                expect_host(s, projects[i], "git log -1 --format=%s; git for-each-ref | wc -l | tr -d ' '",
                            i == 0 ? "kept\n3\n" : "kept\n4\n");
        }
}

/* Each line: where, as the shell has it, and the error it must meet. */
static void nothing_that_the_host_would_run_can_be_planted(void **state) {
        static const char plant[] =
                "common=$(cd \"$(git rev-parse --git-common-dir)\" && pwd)\n"
                "mine=$(cd \"$(git rev-parse --git-dir)\" && pwd)\n"
                "try() { \"$@\" 2>&1 | sed \"s,.*: ,,\"; }\n"
                "try sh -c \"echo x >'$common/hooks/pre-commit'\"\n"
                "try sh -c \"echo x >>'$common/config'\"\n"
                "try sh -c \"echo x >.git\"\n"
                "try rm \"$common/config\"; try mv \"$common/config\" \"$common/x\"\n"
                "try rmdir \"$common/hooks\"; try rm .git; try git config core.fsmonitor x\n"
                "try mkdir \"$common/hooks/x\"\n";
        static const char refused[] = "Read-only file system\nRead-only file system\nRead-only file system\n"
                                      "Device or resource busy\nDevice or resource busy\n"
                                      "Device or resource busy\nDevice or resource busy\n"
                                      "Device or resource busy\nRead-only file system\n";
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

/* What is made beside them in a worktree's repository is gone with the sandbox. */
static void names_that_git_obeys_do_not_outlive_the_sandbox(void **state) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        run_in(s, &o, "work",
               "set -e; cd \"$ROOT/main/.git\"; touch config.worktree; mkdir modules; echo x >rr-cache\n"
               "ls -d config.worktree modules rr-cache; touch packed-refs.lock; rm packed-refs.lock\n"
               "echo \"$ROOT/work\" >commondir");
        expect_status(&o, 0);
        expect_out(&o, "config.worktree\nmodules\nrr-cache\n");
        expect_host(
                s, "main/.git",
                "ls -d commondir config.worktree modules rr-cache 2>/dev/null; cd ..; git status --short",
                "");
        /* The worktree's own pointers stay. */
        run_in(s, &o, "work",
               "cd \"$ROOT/main/.git/worktrees/work\"; echo >commondir; echo >gitdir; rm commondir; echo >../other/HEAD");
        expect_in(o.err, "cannot create commondir: Read-only file system");
        expect_in(o.err, "cannot create gitdir: Read-only file system");
        expect_in(o.err, "cannot remove 'commondir': Device or resource busy");
        expect_in(o.err, "cannot create ../other/HEAD: Read-only file system");
        expect_host(s, "other", "git symbolic-ref --short HEAD", "other\n");
}

/* Nothing of the main checkout but its repository's parts is seen. */
static void a_worktree_shows_no_other_checkout(void **state) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        run_in(s, &o, "work", "ls -A \"$ROOT\" \"$ROOT/main\"; ls \"$ROOT/main/file1\" \"$ROOT/other\"");
        expect_in(o.out, "main:\n.git\n");
        expect_not_in(o.out, "file1");
        expect_in(o.err, "main/file1': No such file or directory");
        expect_in(o.err, "other': No such file or directory");
        expect_host(s, "main", "ls file1", "file1\n");
}

#define DOUBT "nsrun: the project's .git file can't be believed: "
#define REPAIR                                                                                           \
        "; if the folder was moved run 'git worktree repair' there, else remove the file; a git dir of " \
        "another kind agrees with 'git config core.worktree FOLDER'"

static void a_git_file_that_lies_is_refused(void **state) {
        static const struct {
                const char *leads_to; /* below the root */
                const char *why;
        } lies[] = {
                {"main/.git", "it leads to a repository that names no work tree"},
                {"main/.git/worktrees/other", "it leads to the git dir of another worktree"},
                {"super/.git/modules/sub", "it leads to the repository of another work tree"},
                {"outside", "it leads to no repository"},
                {"none", "it leads nowhere"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
                _cleanup_free_ char *text = text_of("gitdir: %s/%s\n", s->root, lies[i].leads_to);
                _cleanup_free_ char *line = text_of(DOUBT "%s: %s/.git" REPAIR, lies[i].why, s->project);
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

/* What a command can write on one run does not open another repository to the next. */
static void a_worktree_cannot_lead_the_next_run_astray(void **state) {
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

static void the_identity_is_the_hosts(void **state) {
        static const char show[] = "env | grep '^GIT_[AC]' | sort";
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, site_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_commit_inside_reaches_the_host),
                TEST(the_daily_commands_work_in_a_worktree),
                TEST(no_branch_is_lost_with_the_sandbox),
                TEST(nothing_that_the_host_would_run_can_be_planted),
                TEST(names_that_git_obeys_do_not_outlive_the_sandbox),
                TEST(a_worktree_shows_no_other_checkout),
                TEST(a_git_file_that_lies_is_refused),
                TEST(a_worktree_cannot_lead_the_next_run_astray),
                TEST(the_identity_is_the_hosts),
        };

        return cmocka_run_group_tests_name("git inside", tests, NULL, NULL);
}
