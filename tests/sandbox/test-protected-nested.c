/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Protected names below the top: repositories in sub-folders, git dirs elsewhere in the project, and the
 * folders and files that a repository's configuration names. */
#include "bash.h"
#include "session.h"

static void on_host(const struct site *s, const char *script, struct outcome *o) {
        _cleanup_free_ char *text = text_of(
                "set -e; cd /; git config --global user.name J; git config --global user.email j@example.org\n"
                "git config --global protocol.file.allow always; cd '%s'\n%s",
                s->project, script);

        run_outside(s, o, text);
        expect_status(o, 0);
}

static const char lib[] =
        "git init -q ../lib; (cd ../lib; echo l >f; git add f; git commit -qm lib); git init -q .\n";

/* One repository below the top, and how nsrun learns of it. */
static const struct {
        const char *name, *before, *git_dir;
} repositories[] = {
        {"a clone at the top", "git clone -q ../lib r", "r/.git"},
        {"a submodule", "git submodule --quiet add ../lib deep/er/r; git commit -qm s; ln -s deep/er/r r",
         ".git/modules/deep/er/r"},
        {"a repository in the index",
         "mkdir -p deep; git clone -q ../lib deep/r; git add deep 2>&1; ln -s deep/r r", "deep/r/.git"},
        {"one in an index of version 4",
         "git config index.version 4; mkdir -p deep; git clone -q ../lib deep/r; git add deep 2>&1; ln -s deep/r r",
         "deep/r/.git"},
        {"one with hashes of 32 bytes",
         "rm -rf .git; git init -q --object-format=sha256 .; git init -q --object-format=sha256 deep/r\n"
         "(cd deep/r; echo x >f; git add f; git commit -qm x); git add deep 2>&1; ln -s deep/r r",
         "deep/r/.git"},
        {"a submodule that .gitmodules alone knows",
         "git submodule --quiet add ../lib deep/r; git rm -q --cached deep/r; git commit -qm s; ln -s deep/r r",
         ".git/modules/deep/r"},
        {"a clone in a clone", "git clone -q ../lib top; git clone -q ../lib top/r; ln -s top/r r",
         "top/r/.git"},
        {"a linked worktree", "git commit -q --allow-empty -m one; git worktree add -q r",
         ".git/worktrees/r"},
};

/* Inside: what could make git or an editor obey, and what it says where that worked. */
static const char attack[] =
        "cd \"$(readlink -f r)\"; top=$PWD; git rev-parse --absolute-git-dir >/dev/null || exit 1\n"
        "dir=$(git rev-parse --absolute-git-dir)\n"
        "for f in .git \"$dir/config\" \"$dir/hooks/x\" .vscode/x; do\n"
        "  { echo evil >>$f; } 2>/dev/null && echo \"wrote $f\"\n"
        "done\n"
        "cd ..; mv \"$top\" moved 2>/dev/null && echo moved; rm \"$top/.git\" 2>/dev/null && echo removed\n"
        "cd \"$top\"; echo evil >.envrc; echo evil >\"$dir/config.worktree\"; ln -s /etc/x \"$dir/MERGE_MSG\"; true\n";

TEST(repositories_below_the_top_are_protected) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(repositories); i++) {
                _cleanup_free_ char *before = text_of(
                        "rm -rf ../lib .git .gitmodules *; %s%s\nmkdir r/.vscode; mkdir -p '%s/hooks'", lib,
                        repositories[i].before, repositories[i].git_dir);
                _cleanup_free_ char *script = text_of("%s", attack);
                bool is_worktree = startswith(repositories[i].git_dir, ".git/worktrees") != NULL;

                on_host(s, before, &o);
                RUN(s, &o, "--", "sh", "-c", script);
                if (o.status != 0 || (!is_worktree && *o.out))
                        fail_msg("%s: %s%s", repositories[i].name, o.out, o.err);
                expect_in(o.err, "/.envrc.aside-0\n");
                expect_in(o.err, "/config.worktree.aside-0\n");
                expect_in(o.err, "a symlink that the command left in a git dir is removed: ");
                on_host(s, "! [ -e r/.envrc ]; git -C r status --short --ignore-submodules -uno", &o);
                expect_out(&o, "");
                /* What is left open can be written. */
                RUN(s, &o, "--no-protect", "*", "--", "sh", "-c",
                    "cd \"$(readlink -f r)\"; echo x >>.vscode/x; echo x >.envrc; rm -rf .git; echo x >.git");
                expect_status(&o, 0);
                assert_string_equal(o.err, "");
        }
}

TEST(a_folder_is_left_open_by_its_name) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *before = text_of("%sgit clone -q ../lib a; git clone -q ../lib b", lib);

        on_host(s, before, &o);
        RUN(s, &o, "--no-protect", "a", "--", "sh", "-c",
            "echo '#' >>a/.git/config; echo >a/.envrc; echo '#' >>b/.git/config");
        assert_string_equal(o.err, "sh: 1: cannot create b/.git/config: Read-only file system\n");
        RUN(s, &o, "--no-protect", "b/.envrc", "--no-protect", ".git", "--", "sh", "-c",
            "echo >a/.envrc.x; echo >b/.envrc; echo '#' >>b/.git/config; echo >b/.npmrc");
        expect_in(o.err, "/b/.npmrc.aside-0\n");
        expect_not_in(o.err, "envrc");
        expect_not_in(o.err, "config");
}

TEST_WITH(a_sessions_commands_find_them_protected, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *before = text_of("%sgit clone -q ../lib r", lib), *id = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s, before, &o);
        id = START_PLAIN(s);
        JOIN_SCRIPT(s, id, &o, "echo evil >r/.git/config");
        expect_in(o.err, "r/.git/config: Read-only file system");
        JOIN_SCRIPT(s, id, &o, "echo evil >r/.envrc; ln -s /etc/x r/.git/MERGE_MSG");
        expect_in(o.err, "/r/.envrc.aside-0\n");
        expect_in(o.err, "/r/.git/MERGE_MSG\n");
        /* What a process made behind the commands' backs is found by the next one. */
        JOIN_SCRIPT(
                s, id, &o,
                "setsid sh -c 'until [ -e go ]; do sleep 0.01; done; ln -s /etc/x r/.git/MERGE_MSG; >made' "
                ">/dev/null 2>&1 </dev/null &");
        on_host(s, ">go; until [ -e made ]; do sleep 0.01; done", &o);
        JOIN_SCRIPT(s, id, &o, "true");
        expect_in(o.err, "/r/.git/MERGE_MSG\n");
        end_session(s, id, "stop");
}

/* What the configuration names, in the project: hooks elsewhere, and more configuration. */
TEST(what_a_repositorys_configuration_names_is_protected) {
        static const struct {
                const char *before, *script, *said;
        } cases[] = {
                {"git config core.hooksPath tools/hooks; mkdir -p tools/hooks",
                 "echo evil >tools/hooks/pre-commit", "tools/hooks/pre-commit: Read-only file system"},
                {"git config core.hooksPath \"$PWD/tools/hooks\"; mkdir -p tools/hooks", "mv tools t",
                 "cannot move 'tools' to 't': Device or resource busy"},
                {"git config core.hooksPath tools/hooks",
                 "mkdir -p tools/hooks; echo evil >tools/hooks/pre-commit", "/tools/hooks.aside-0\n"},
                {"git config core.hooksPath 'a[b]*'; mkdir 'a[b]*' ab",
                 "echo good >ab/x; echo evil >'a[b]*/x'", "a[b]*/x: Read-only file system"},
                {"git config include.path ../conf/git; mkdir conf; >conf/git", "echo evil >conf/git",
                 "conf/git: Read-only file system"},
                {"git config includeIf.onbranch:main.path ../conf/git", "mkdir -p conf; echo evil >conf/git",
                 "/conf/git.aside-0\n"},
                {"git init -q r; git -C r config core.hooksPath ../shared; mkdir shared",
                 "echo evil >shared/pre-commit", "shared/pre-commit: Read-only file system"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *before =
                        text_of("rm -rf .git *; git init -q -b main .; %s", cases[i].before);

                on_host(s, before, &o);
                RUN(s, &o, "--", "sh", "-c", cases[i].script);
                expect_in(o.err, cases[i].said);
                expect_not_in(o.err, "good");
                RUN(s, &o, "--no-protect", "*", "--", "sh", "-c", cases[i].script);
                expect_status(&o, 0);
                assert_string_equal(o.err, "");
        }
        /* A folder around the project is no folder of hooks to close. */
        on_host(s, "rm -rf .git *; git init -q .; git config core.hooksPath ..", &o);
        RUN(s, &o, "--", "sh", "-c", "echo x >file");
        expect_status(&o, 0);
}

TEST(a_git_dir_under_another_name_is_protected) {
        static const char *const befores[] = {
                "git init -q --separate-git-dir gd .",
                "git init -q --separate-git-dir gd r",
                "git init -q --separate-git-dir gd x; mkdir r; printf 'gitdir: ../gd\\n' >r/.git",
                "git init -q gd; mv gd/.git g; rmdir gd; mv g gd; ln -s gd .git",
        };
        static const char script[] =
                "for f in gd/config gd/hooks/x; do { echo evil >>$f; } 2>/dev/null && echo \"wrote $f\"; done\n"
                "mv gd g2 2>/dev/null && echo moved; echo evil >gd/commondir; echo evil >gd/objects/info/alternates\n"
                "ln -s /etc/x gd/MERGE_MSG; true\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(befores); i++) {
                _cleanup_free_ char *before = text_of("rm -rf .git *; %s; mkdir -p gd/hooks", befores[i]);

                on_host(s, before, &o);
                RUN(s, &o, "--", "sh", "-c", script);
                expect_status(&o, 0);
                expect_out(&o, "");
                expect_in(o.err, "/gd/commondir.aside-0\n");
                expect_in(o.err, "/gd/objects/info/alternates.aside-0\n");
                expect_in(o.err, "/gd/MERGE_MSG\n");
                RUN(s, &o, "--no-protect", "*", "--", "sh", "-c",
                    "echo x >>gd/config; echo x >gd/hooks/x; mv gd g2");
                expect_status(&o, 0);
                assert_string_equal(o.err, "");
        }
}

/* Until the clock by which the kernel stamps files has gone on: what was written in the tick in which a run
 * begins is taken for that run's. */
static void await_tick(void) {
        struct timespec begun, now;

        assert_int_equal(clock_gettime(CLOCK_REALTIME_COARSE, &begun), 0);
        do
                assert_int_equal(clock_gettime(CLOCK_REALTIME_COARSE, &now), 0);
        while (now.tv_sec == begun.tv_sec && now.tv_nsec == begun.tv_nsec);
}

/* One line for each that carries what git obeys, when it comes to carry it. */
TEST(repositories_that_a_command_makes_are_told) {
        static const char note[] = "nsrun: note: the command made or changed a git repository with";
        const struct site *s = *state;
        _cleanup_free_ char *hooks = text_of("%s hooks, which git obeys: %s/a/.git\n", note, s->project);
        _cleanup_free_ char *program = text_of(
                "%s configuration that names a program, which git obeys: %s/b/.git\n", note, s->project);
        _cleanup_free_ char *both =
                text_of("%s hooks and configuration that names a program, which git obeys: %s/b/.git\n",
                        note, s->project);
        _cleanup_free_ char *id = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s, "git init -q .", &o);
        RUN(s, &o, "--", "sh", "-c",
            "git init -q a; git init -q b; git init -q c; git -C c config alias.st status");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        on_host(s, "rm -rf a b", &o);
        RUN(s, &o, "--", "sh", "-c",
            "git init -q a; echo x >a/.git/hooks/pre-commit; git init -q b; git -C b config core.fsmonitor ./x");
        expect_in(o.err, hooks);
        expect_in(o.err, program);
        await_tick();
        RUN(s, &o, "--", "true");
        assert_string_equal(o.err, "");
        /* The next run's they are not: they are as the user's. */
        RUN(s, &o, "--no-protect", "b", "--", "sh", "-c",
            "echo x >b/.git/hooks/x; git -C b config x.y z; echo x >a/.git/hooks/y");
        expect_in(o.err, "a/.git/hooks/y: Read-only file system");
        expect_in(o.err, both);
        on_host(s, "rm -rf a b", &o);
        id = START_PLAIN(s);
        JOIN_SCRIPT(s, id, &o, "git init -q a; echo x >a/.git/hooks/pre-commit");
        assert_string_equal(o.err, hooks);
        await_tick();
        JOIN_SCRIPT(s, id, &o, "true");
        assert_string_equal(o.err, "");
        end_session(s, id, "stop");
}

/* What nobody tells nsrun of is the command's to write, as the page says. */
TEST(a_repository_that_nothing_names_is_not_found) {
        const struct site *s = *state;
        _cleanup_free_ char *before =
                text_of("%smkdir -p a/b; git clone -q ../lib a/b/r; echo a >.gitignore", lib);
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s, before, &o);
        RUN(s, &o, "--", "sh", "-c", "echo '#' >>a/b/r/.git/config");
        expect_status(&o, 0);
        RUN(s, &o, "--protect", "a/b/r/.git/config", "--", "sh", "-c", "echo '#' >>a/b/r/.git/config");
        expect_in(o.err, "a/b/r/.git/config: Read-only file system");
}

TEST(too_many_repositories_are_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *line = text_of(
                "nsrun: there are too many repositories and git dirs in it to protect them: %s: Argument list too "
                "long; look who made them; --no-protect GLOB leaves folders open, --no-protect .git/modules those "
                "of submodules",
                s->project);
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s, "i=0; while [ $i -le 500 ]; do mkdir -p r$i/.git; i=$((i+1)); done", &o);
        RUN(s, &o, "--", "true");
        expect_refusal(&o, 125, line);
        RUN(s, &o, "--no-protect", "r1*", "--", "true");
        expect_status(&o, 0);
}

int main(void) {
        return run_all_tests();
}
