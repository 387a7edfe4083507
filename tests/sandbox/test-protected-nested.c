/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Protected names below the top: repositories in sub-folders, git dirs elsewhere in the project, and the
 * folders and files that a repository's configuration names. */
#include "bash.h"
#include "repository.h"
#include "session.h"

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
        "  [ -L $f ] && continue; case $f in */x) echo evil >$f; continue; esac; { echo evil >>$f; } 2>/dev/null && echo \"wrote $f\"\n"
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

                with_git(s, before, &o);
                RUN(s, &o, "--", "sh", "-c", script);
                if (o.status != 0 || (!is_worktree && *o.out))
                        fail_msg("%s: %s%s", repositories[i].name, o.out, o.err);
                expect_in(o.err, "/.envrc");
                expect_in(o.err, "/config.worktree");
                expect_in(o.err, "a symlink that the command left in a git dir is removed: ");
                with_git(
                        s,
                        "! [ -e r/.envrc ]; ! [ -e r/.vscode/x ]; find . -path '*hooks/x'; git -C r status --short --ignore-submodules -uno",
                        &o);
                expect_out(&o, "");
                /* What is left open can be written. */
                RUN(s, &o, "--no-protect", "*", "--", "sh", "-c",
                    "cd \"$(readlink -f r)\"; echo x >>.vscode/x; echo x >.envrc; rm -rf .git; echo x >.git");
                expect_status(&o, 0);
                assert_string_equal(o.err, "");
        }
}

/* An agent that is started in the folder below obeys them. */
TEST(a_name_that_gits_index_has_is_protected_at_any_depth) {
        static const char script[] =
                "cd a/b; { echo x >.mcp.json; echo x >.claude/settings.json; } 2>/dev/null; "
                "mv ../b ../c 2>/dev/null; echo x >.envrc; echo x >file; cat .mcp.json";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        with_git(
                s,
                "git init -q .; mkdir -p a/b/.claude; cd a/b; echo 1 >.mcp.json; echo 1 >.claude/settings.json; "
                "echo 1 >file; git add .",
                &o);
        RUN(s, &o, "--", "sh", "-c", script);
        expect_out(&o, "1\n");
        expect_in(o.err, "/a/b/.envrc; --no-protect a/b/.envrc lets it stay");
        with_git(s, "cat a/b/.claude/settings.json a/b/file; git rm -qf --cached a/b/.mcp.json", &o);
        expect_out(&o, "1\nx\n");
        /* Left open by its name, and by its folder's. */
        RUN(s, &o, "--no-protect", ".claude", "--", "sh", "-c", script);
        expect_in(o.err, "/a/b/.envrc; ");
        with_git(s, "cat a/b/.claude/settings.json a/b/.mcp.json; git rm -qfr --cached a", &o);
        expect_out(&o, "x\n1\n");
        /* The control: neither is in the index any more. */
        RUN(s, &o, "--", "sh", "-c", script);
        assert_string_equal(o.err, "");
        with_git(s, "cat a/c/.mcp.json", &o);
        expect_out(&o, "x\n");
        /* Many are no refusal. */
        with_git(s, "for i in $(seq 600); do mkdir -p p/$i; echo 1 >p/$i/.npmrc; done; git add p", &o);
        RUN(s, &o, "--", "sh", "-c", "echo 2 >p/1/.npmrc; echo 2 >p/99/.npmrc");
        expect_in(o.err, "cannot create p/1/.npmrc: Read-only file system");
        with_git(s, "cat p/99/.npmrc", &o);
        expect_out(&o, "2\n");
}

TEST(a_folder_is_left_open_by_its_name) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *before = text_of("%sgit clone -q ../lib a; git clone -q ../lib b", lib);

        with_git(s, before, &o);
        RUN(s, &o, "--no-protect", "a", "--", "sh", "-c",
            "echo '#' >>a/.git/config; echo >a/.envrc; echo '#' >>b/.git/config");
        assert_string_equal(o.err, "");
        with_git(s, "grep -l '#' ?/.git/config", &o);
        expect_out(&o, "a/.git/config\n");
        RUN(s, &o, "--no-protect", "b/.envrc", "--no-protect", ".git", "--", "sh", "-c",
            "echo >a/.envrc.x; echo >b/.envrc; echo '#' >>b/.git/config; echo >b/.npmrc");
        expect_in(o.err, "/b/.npmrc; --no-protect b/.npmrc lets it stay\n");
        expect_not_in(o.err, "envrc");
        expect_not_in(o.err, "config");
        /* That advice, followed: it lets that file stay and no other. */
        RUN(s, &o, "--no-protect", "b/.npmrc", "--", "sh", "-c", "echo >b/.npmrc; echo >a/.npmrc");
        expect_in(o.err, "/a/.npmrc; --no-protect a/.npmrc lets it stay\n");
        expect_not_in(o.err, "b/.npmrc");
        with_git(s, "ls a/.npmrc b/.npmrc 2>/dev/null || true", &o);
        expect_out(&o, "b/.npmrc\n");
}

TEST_WITH(a_sessions_commands_find_them_protected, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *before = text_of("%sgit clone -q ../lib r", lib), *id = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        with_git(s, before, &o);
        id = START_PLAIN(s);
        JOIN_SCRIPT(s, id, &o, "echo evil >r/.git/config");
        expect_in(o.err, " is kept aside: ");
        JOIN_SCRIPT(s, id, &o, "echo evil >r/.envrc; ln -s /etc/x r/.git/MERGE_MSG");
        expect_in(o.err, "/r/.envrc");
        expect_in(o.err, "/r/.git/MERGE_MSG\n");
        /* What a process made behind the commands' backs is found by the next one. */
        JOIN_SCRIPT(
                s, id, &o,
                "setsid sh -c 'until [ -e go ]; do sleep 0.01; done; ln -s /etc/x r/.git/MERGE_MSG; >made' "
                ">/dev/null 2>&1 </dev/null &");
        with_git(s, ">go; until [ -e made ]; do sleep 0.01; done", &o);
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
                 "echo evil >tools/hooks/pre-commit", " is kept aside: "},
                {"git config core.hooksPath \"$PWD/t/h\"; mkdir -p t/h", "mv t u",
                 "'u': Device or resource busy"},
                {"git config core.hooksPath t/h", "mkdir -p t/h; echo evil >t/h/pre-commit", "/t/h; "},
                {"git config core.hooksPath 'a[b]*'; mkdir 'a[b]*' ab",
                 "echo good >ab/x; echo evil >'a[b]*/x'", "/a[b]*\n"},
                {"git config core.hooksPath ':(optional)h'; mkdir h", "echo evil >h/x", "/h\n"},
                {"git config core.hooksPath :\\(optional\\)h; mkdir :\\(optional\\)h", ">:\\(optional\\)h/x",
                 "l)h\n"},
                {"git config gpg.program ':(optional)t/x'; mkdir t; >t/x", ">>t/x", "t/x: Read-only"},
                {"git config delta.d.pager t/x; mkdir t; >t/x", "echo evil >t/x", "t/x: Read-only"},
                {"git config gitflow.path.hooks t/h; mkdir -p t/h", "echo evil >t/h/x", "/t/h\n"},
                {"git config include.path ../conf/git; mkdir conf; >conf/git", "echo evil >conf/git",
                 "conf/git: Read-only file system"},
                {"git config includeIf.onbranch:main.path ../conf/git", "mkdir -p conf; echo evil >conf/git",
                 "/conf/git; "},
                {"git config core.fsmonitor ./tools/x", "mkdir -p tools; echo evil >tools/x", "/tools/x; "},
                {"git config alias.a '!sh -c \"exec ./x\" <README'; >t; ln -s t x; >README",
                 "echo good >README; echo evil >t", "t: Read-only file system"},
                {"git init -q r; git -C r config core.hooksPath ../shared; mkdir shared",
                 "echo evil >shared/pre-commit", "/shared\n"},
                {"git config --global diff.d.textconv t/x; mkdir t; >t/x", "rm -f t/x",
                 "'t/x': Device or resource busy"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *before =
                        text_of("rm -rf .git *; git init -q -b main .; %s", cases[i].before);

                with_git(s, before, &o);
                RUN(s, &o, "--", "sh", "-c", cases[i].script);
                expect_in(o.err, cases[i].said);
                expect_not_in(o.err, "good");
                RUN(s, &o, "--no-protect", "*", "--", "sh", "-c", cases[i].script);
                expect_status(&o, 0);
                assert_string_equal(o.err, "");
        }
        /* A folder around the project is no folder of hooks to close. */
        with_git(s, "rm -rf .git *; git init -q .; git config core.hooksPath ..", &o);
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
                "echo evil >gd/hooks/x; for f in gd/config; do [ -L $f ] || ! { echo evil >>$f; } 2>/dev/null || echo \"wrote $f\"; done\n"
                "mv gd g2 2>/dev/null && echo moved; echo evil >gd/commondir; echo evil >gd/objects/info/alternates\n"
                "ln -s /etc/x gd/MERGE_MSG; true\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(befores); i++) {
                _cleanup_free_ char *before = text_of("rm -rf .git *; %s; mkdir -p gd/hooks", befores[i]);

                with_git(s, before, &o);
                RUN(s, &o, "--", "sh", "-c", script);
                expect_status(&o, 0);
                expect_out(&o, "");
                expect_in(o.err, "/gd/commondir");
                expect_in(o.err, "/gd/objects/info/alternates");
                expect_in(o.err, "/gd/MERGE_MSG\n");
                with_git(s, "! [ -e gd/hooks/x ]", &o);
                RUN(s, &o, "--no-protect", "*", "--", "sh", "-c",
                    "echo x >>gd/config; echo x >gd/hooks/x; mv gd g2");
                expect_status(&o, 0);
                assert_string_equal(o.err, "");
        }
}

/* One line for each that carries what git obeys, when it comes to carry it. */
TEST(repositories_that_a_command_makes_are_told) {
        static const char note[] = "nsrun: note: the command made or changed a git repository with";
        const struct site *s = *state;
        _cleanup_free_ char *hooks =
                text_of("%s hooks, which is moved aside there: %s/a/.git\n", note, s->project);
        _cleanup_free_ char *program =
                text_of("%s configuration that names a program, which is moved aside there: %s/b/.git\n",
                        note, s->project);
        _cleanup_free_ char *both =
                text_of("%s hooks and configuration that names a program, which git obeys: %s/b/.git\n",
                        note, s->project);
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/probe:ro", self);
        _cleanup_free_ char *id = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        with_git(s, "git init -q .", &o);
        RUN(s, &o, "--", "sh", "-c",
            "git init -q a; git init -q b; git init -q c; git -C c config alias.st status");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        with_git(s, "rm -rf a b", &o);
        RUN(s, &o, "--", "sh", "-c",
            "git init -q a; echo x >a/.git/hooks/pre-commit; git init -q b; git -C b config core.fsmonitor ./x");
        expect_in(o.err, hooks);
        expect_in(o.err, program);
        await_tick();
        RUN(s, &o, "--", "true");
        assert_string_equal(o.err, "");
        /* The next run's they are not: they are as the user's. */
        with_git(s, "mkdir a/.git/hooks; git -C b config core.fsmonitor ./x", &o);
        RUN(s, &o, "--no-protect", "b", "--", "sh", "-c",
            "echo x >b/.git/hooks/x; git -C b config x.y z; echo x >a/.git/hooks/y");
        expect_in(o.err, "a/.git/hooks\n");
        expect_in(o.err, both);
        with_git(s, "rm -rf a b", &o);
        id = START(s, "--bind", bind);
        /* What was made in the very tick in which the look began may have come behind it, and is told again.
         */
        JOIN_SCRIPT(s, id, &o, "git init -q a; echo x >a/.git/hooks/pre-commit; /probe tick");
        assert_string_equal(o.err, hooks);
        JOIN_SCRIPT(s, id, &o, "true");
        assert_string_equal(o.err, "");
        end_session(s, id, "stop");
}

/* Ways of having the host's git take something for a repository, each with a program that it names. */
#define LINKED "symlinks or pipes in its git dir, which is moved aside there: "
static const struct {
        const char *name, *before;
        const char *noted; /* NULL: that it names a program */
        const char *script;
} planted[] = {
        {"a sub-folder that is bare", "mkdir src; echo a >src/a; git add .; git commit -qm a",
         "and configuration that names a work tree, which is moved aside there: ",
         "git init -q --bare e; mv e/* src; cd src; git config core.bare false; git config core.worktree /; "
         "git config core.fsmonitor /prog"},
        {"a new .git that is a symlink", "true", NULL,
         "git init -q .e; git -C .e config core.fsmonitor /prog; mkdir n; ln -s ../.e/.git n/.git"},
        {"a git dir with a commondir", "true", NULL,
         "git init -q .e; mkdir .g n; echo ../.e/.git >.g/commondir; cp .e/.git/HEAD .g; "
         "git -C .e config core.fsmonitor /prog; echo 'gitdir: ../.g' >n/.git"},
        {"a .git file with much behind its line", "true", NULL,
         "git init -q .e; git -C .e config core.fsmonitor /prog; mkdir n; "
         "{ echo 'gitdir: ../.e/.git'; yes '' | head -n 20000; } >n/.git"},
        {"a .git file that goes by a symlink", "true", NULL,
         "mkdir -p x/y n; git init -q x/e; ln -s x/y l; git -C x/e config core.fsmonitor /prog; "
         "echo 'gitdir: ../l/../e/.git' >n/.git"},
        {"one with a name of 5,000 bytes in the index before it", "true", NULL,
         "git init -q d/r; git -C d/r commit -q --allow-empty -m x; git -C d/r config core.fsmonitor /prog; "
         "long=$(printf '%05000d' 0 | sed 's:....................:&/:g'); "
         "git update-index --add --cacheinfo 100644,$(git hash-object -w --stdin </dev/null),${long}x; "
         "git add d/r 2>/dev/null; true"},
        {"one in the shared part of a split index", "true", NULL,
         "git init -q d/r; git -C d/r commit -q --allow-empty -m x; git -C d/r config core.fsmonitor /prog; "
         "git add d/r 2>/dev/null; git update-index --split-index"},
        {"one in a repository in a repository", "true", NULL,
         "git init -q n; git init -q n/a/b; cd n; git -C a/b commit -q --allow-empty -m x; git add a/b 2>/dev/null; "
         "git -C a/b config core.fsmonitor /prog"},
        {"one in an index with an empty extension", "true", NULL,
         "git init -q d/r; git -C d/r commit -q --allow-empty -m x; git -C d/r config core.fsmonitor /prog; "
         "git add d/r 2>/dev/null; { head -c -20 .git/index; printf 'REUC\\0\\0\\0\\0'; "
         "head -c 20 /dev/zero; } >i; mv i .git/index"},
        {"a .git file with a NUL", "true", "a git dir elsewhere, which is moved aside there: ",
         "git init -q .e; mkdir n; printf 'gitdir: ../.e/.git\\0x\\n' >n/.git"},
        {"another work tree than its own, by a .git file", "true",
         "configuration that names a work tree, which is moved aside there: ",
         "git init -q .e; mkdir n; git -C .e config core.worktree /; echo 'gitdir: ../.e/.git' >n/.git"},
        {"an alias that sets what it likes", "true", NULL,
         "git init -q n; git -C n config alias.st '-c a.b=/prog status'"},
        {"a tool that is a path", "true", NULL, "git init -q n; git -C n config diff.tool ../../../prog"},
        {"cookies", "true", NULL, "git init -q n; git -C n config http.https://a/.cookieFile /prog"},
        {"a rebase", "true", "a rebase to be continued, which is moved aside there: ",
         "git init -q n; mkdir n/.git/rebase-merge; echo 'exec x' >n/.git/rebase-merge/git-rebase-todo"},
        {"a symlink in its git dir", "true", LINKED,
         "git init -q n; ln -s ../../../precious n/.git/COMMIT_EDITMSG"},
        {"a symlink for its objects", "true", LINKED,
         "git init -q n; ln -s /precious n/.git/objects/info/alternates"},
        {"one that leads to what isn't there yet", "true",
         "a git dir elsewhere, which is moved aside there: ", "mkdir n; ln -s later/HEAD n/.git"},
        {"one by a file that leads to nothing yet", "true",
         "a git dir elsewhere, which is moved aside there: ", "mkdir n; echo 'gitdir: ../later' >n/.git"},
        {"one outside of what a command can write", "true",
         "a git dir elsewhere, which is moved aside there: ",
         "mkdir n; echo 'gitdir: /usr/share/e' >n/.git"},
        {"one that lets an address be a command", "true", NULL,
         "git init -q n; git -C n config protocol.ext.allow always; git -C n remote add o 'ext::sh -c x'"},
};

TEST(whatever_git_takes_for_a_repository_is_told) {
        static const char note[] = "nsrun: note: the command made or changed a git repository with ";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(planted); i++) {
                _cleanup_free_ char *told = NULL, *line = NULL;
                const char *cut;

                with_git(s, "rm -rf ..?* .[!.]* *; git init -q .", &o);
                with_git(s, planted[i].before, &o);
                RUN(s, &o, "--", "sh", "-c", planted[i].script);
                expect_status(&o, 0);
                told = text_of("%s%s",
                               planted[i].noted
                                       ? planted[i].noted
                                       : "configuration that names a program, which is moved aside there: ",
                               s->project);
                if (!strstr(o.err, note) || !strstr(o.err, told))
                        fail_msg("%s: said %s", planted[i].name, o.err);
                /* And it is told once. */
                cut = strstr(o.err, told);
                line = strndup(cut, strcspn(cut, "\n") + 1);
                assert_null(strstr(cut + 1, line));
                /* Git on the host starts nothing. */
                with_git(s,
                         "git status >/dev/null 2>&1; "
                         "for f in . src n d/r .e; do git -C $f config --list 2>&1 || true; done",
                         &o);
                if (strstr(o.out, "/prog") || strstr(o.out, "protocol.ext") || strstr(o.out, "ext::"))
                        fail_msg("%s: %s", planted[i].name, o.out);
        }
}

/* The rest of the configuration stays. */
TEST(what_repositories_carry_is_taken_away) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        with_git(s, "rm -rf ..?* .[!.]* *; git init -q .", &o);
        RUN(s, &o, "--", "sh", "-c",
            "git init -q n; cd n; echo x >.git/hooks/pre-commit; git config a.'b \"c\\\\ d'.e '  x; \"y\" #z'; "
            "git config core.pager evil; git config --list >../before; git commit -q --allow-empty -m x; true");
        expect_in(o.err, "hooks and configuration that names a program, which is moved aside there: ");
        with_git(
                s,
                "cd n; git config --list >../after; diff ../before ../after || true; ls .git | grep aside; git log --format=%s",
                &o);
        expect_in(o.out, "< core.pager=evil\nconfig.aside-0\nhooks.aside-0\n");
}

/* What a session's process makes between two commands is the second one's to find. */
TEST_WITH(a_repository_made_between_a_sessions_commands_is_found, site_setup, site_teardown) {
        static const char *const modes[] = {"--landlock=auto", "--protect=strict"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
                _cleanup_free_ char *id = NULL;

                with_git(s, "rm -rf ..?* .[!.]* *; git init -q .; mkdir d", &o);
                id = START(s, modes[i]);
                JOIN_SCRIPT(s, id, &o,
                            "setsid sh -c 'until [ -e d/go ]; do sleep 0.01; done; git init -q n; "
                            "echo x >n/.git/hooks/pre-commit; git -C n config core.pager evil; >d/made' "
                            ">/dev/null 2>&1 </dev/null &");
                expect_status(&o, 0);
                /* Somebody on the host may read what nsrun keeps. */
                with_git(s, ">d/go; until [ -e d/made ]; do sleep 0.01; done", &o);
                await_tick();
                with_git(s, "touch -a \"$XDG_RUNTIME_DIR\"/nsrun/sessions/*/activity", &o);
                expect_status(&o, 0);
                JOIN_SCRIPT(s, id, &o, "true");
                expect_in(o.err,
                          "with hooks and configuration that names a program, which is moved aside there: ");
                /* And it is told once. */
                JOIN_SCRIPT(s, id, &o, "true");
                assert_string_equal(o.err, "");
                end_session(s, id, "stop");
        }
        with_git(s, "ls n/.git | grep aside; git -C n config core.pager || true", &o);
        expect_out(&o, "config.aside-0\nhooks.aside-0\n");
}

/* Neither a folder that is closed nor names that are taken keep it there. */
TEST(strict_is_not_kept_from_moving_aside) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        with_git(s, "git init -q .", &o);
        RUN(s, &o, "--protect", "strict", "--", "sh", "-c",
            "git init -q n; cd n/.git; echo x >hooks/pre-commit; i=0; "
            "while [ $i -lt 1100 ]; do >hooks.aside-$i; i=$((i+1)); done; chmod 555 .");
        expect_in(o.err, "with hooks, which is moved aside there: ");
        with_git(s, "[ -d n/.git ] && ! [ -e n/.git/hooks ] && cat n/.git/hooks.aside-*/pre-commit", &o);
        expect_out(&o, "x\n");
}

TEST(strict_leaves_the_users_own_alone) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        with_git(s, "git init -q .; echo x >.git/hooks/pre-commit; git config core.pager less", &o);
        RUN(s, &o, "--protect", "strict", "--no-protect", ".git/config", "--", "git", "config", "a.b", "c");
        expect_status(&o, 0);
        expect_in(o.err, "with hooks and configuration that names a program, which git obeys: ");
        with_git(
                s,
                "cat .git/hooks/pre-commit; git config core.pager; git config a.b; ls .git | grep aside || true",
                &o);
        expect_out(&o, "x\nless\nc\n");
}

/* Also where the index alone leads to it, through harmless ones. */
TEST(git_status_starts_nothing_of_a_command_s_repository) {
        static const char *const orders[] = {"core.fsmonitor 'echo x >&2; true'", "include.path ../inc"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < 4; i++) {
                _cleanup_free_ char *script = text_of(
                        "d=1/2/3/4/5/6/7/8/9/10/11/sub; mkdir -p $d; "
                        "i=0; while [ $i -lt 210 ]; do git init -q a$i; i=$((i+1)); done; "
                        "git init -q%s $d; git -C $d commit -q --allow-empty -m i; "
                        "git -C $d config --file=\"$PWD/.git/inc\" core.fsmonitor 'echo x >&2; true'; "
                        "cp .git/inc .g/inc 2>/dev/null; git -C $d config %s; git add $d 2>/dev/null",
                        i % 2 == 0 ? "" : " --separate-git-dir=$PWD/.g", orders[i / 2]);

                with_git(s, "rm -rf ..?* .[!.]* *; git init -q .", &o);
                RUN(s, &o, "--", "sh", "-c", script);
                expect_in(o.err, "configuration that names a program, which is moved aside there: ");
                expect_not_in(o.err, "more git repositories");
                with_git(s, "git status >/dev/null; git -C 1/2/3/4/5/6/7/8/9/10/11/sub log --format=%s", &o);
                expect_out(&o, "i\n");
                assert_string_equal(o.err, "");
        }
}

TEST(many_repositories_are_no_hiding_place) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        with_git(s, "git init -q .", &o);
        RUN(s, &o, "--", "sh", "-c",
            "for i in $(seq 12); do git init -q r$i; git -C r$i config core.pager evil; done");
        expect_in(o.err, "made or changed 2 more git repositories of that kind, which are treated alike: ");
        with_git(s, "cat r*/.git/config | grep -c evil || true", &o);
        expect_out(&o, "0\n");
}

/* The project's own .git is broken, and what lies beside it is a bare repository. */
TEST(the_project_does_not_become_a_bare_repository) {
        const struct site *s = *state;
        _cleanup_free_ char *note = text_of(
                "nsrun: note: a protected name that came to be is kept aside (nsrun review --project %s --accept 1 puts it back): "
                "%s/HEAD; --no-protect HEAD lets it stay\n",
                s->project, s->project);
        _cleanup_outcome_ struct outcome o = {0};

        with_git(s, "git init -q .; echo a >a; git add a; git commit -qm a", &o);
        RUN(s, &o, "--", "sh", "-c",
            "mv .git/HEAD .; mkdir refs objects; printf '[core]\nbare=false\nworktree=.\nfsmonitor=touch ../ran\n' "
            ">config");
        expect_status(&o, 0);
        expect_in(o.err, note);
        with_git(s, "git status 2>&1 || true; ! [ -e ../ran ] && ! [ -e HEAD ]", &o);
        /* A file of that name is any file. */
        with_git(s, "mv \"$XDG_STATE_HOME\"/nsrun/kept/*/*/entry .git/HEAD; rm -r refs objects config", &o);
        RUN(s, &o, "--", "sh", "-c", "echo x >HEAD");
        assert_string_equal(o.err, "");
        /* And a user's bare repository stays one. */
        with_git(s, "rm -rf .git *; git init -q --bare .", &o);
        RUN(s, &o, "--", "sh", "-c", "git symbolic-ref HEAD refs/heads/other");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        with_git(s, "cat HEAD; git init -q --bare b.git", &o);
        expect_out(&o, "ref: refs/heads/other\n");
        /* Its configuration and its hooks are protected, and so are those of one below it. */
        RUN(s, &o, "--", "sh", "-c",
            "echo x >hooks/x; echo x >b.git/hooks/x; for f in config b.git/config; do ! [ -L $f ] && { echo >>$f; } 2>/dev/null && echo $f; done; "
            "rm -r b.git 2>/dev/null; mkdir -p remotes; echo >remotes/origin; git -C b.git symbolic-ref HEAD refs/heads/o");
        expect_out(&o, "");
        expect_in(o.err, "/remotes");
        with_git(s, "! [ -e hooks/x ] && ! [ -e b.git/hooks/x ]", &o);
}

/* What was made in a folder that nothing names, by one command, and moved to its place by the next. */
TEST(a_repository_that_is_moved_into_its_place_is_told) {
        const struct site *s = *state;
        _cleanup_free_ char *told =
                text_of("nsrun: note: the command made or changed a git repository with hooks, "
                        "which is moved aside there: %s/r/.git\n",
                        s->project);
        _cleanup_outcome_ struct outcome o = {0};

        with_git(s, "git init -q .", &o);
        RUN(s, &o, "--", "sh", "-c",
            "mkdir -p deep/er; git init -q deep/er/r; echo x >deep/er/r/.git/hooks/pre-commit");
        assert_string_equal(o.err, "");
        await_tick();
        RUN(s, &o, "--", "mv", "deep/er/r", "r");
        assert_string_equal(o.err, told);
}

/* Or a git dir that a .git file of the user's has named before it was there. */
TEST(a_git_dir_that_is_moved_into_its_place_is_told) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        with_git(s, "git init -q .; mkdir n; echo 'gitdir: ../.b/g' >n/.git", &o);
        RUN(s, &o, "--", "sh", "-c",
            "git init -q x; mkdir .a; mv x/.git .a/g; git --git-dir=.a/g config core.fsmonitor /x");
        assert_string_equal(o.err, "");
        await_tick();
        RUN(s, &o, "--", "mv", ".a", ".b");
        expect_in(o.err, "configuration that names a program, which is moved aside there: ");
        expect_in(o.err, "/n/.git\n");
}

/* So is a rebase, where git keeps those of worktrees, too. */
TEST(a_rebase_that_is_moved_into_its_place_is_told) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        with_git(s, "git init -q .", &o);
        RUN(s, &o, "--", "sh", "-c",
            "mkdir -p m .git/worktrees/w; echo 'exec evil' >m/git-rebase-todo; cp -r m n");
        assert_string_equal(o.err, "");
        await_tick();
        RUN(s, &o, "--", "sh", "-c", "mv m .git/rebase-merge; mv n .git/worktrees/w/rebase-merge");
        expect_in(o.err, "/.git/rebase-merge/git-rebase-todo\n");
        expect_in(o.err, "/.git/worktrees/w/rebase-merge/git-rebase-todo\n");
        await_tick();
        RUN(s, &o, "--", "true");
        assert_string_equal(o.err, "");
}

/* What --no-protect leaves open is told when it was changed, once. */
TEST(what_was_left_open_and_is_changed_is_told) {
        const struct site *s = *state;
        _cleanup_free_ char *told = text_of("nsrun: note: the command made or changed a git repository with "
                                            "configuration that names a program, which git obeys: %s/.git\n",
                                            s->project),
                            *nested = text_of(
                                    "nsrun: note: the command made or changed a git repository with "
                                    "configuration that names a program, which git obeys: %s/n/.git\n",
                                    s->project);
        _cleanup_outcome_ struct outcome o = {0};

        with_git(s, "git init -q .; git init -q n", &o);
        RUN(s, &o, "--no-protect", ".git/config", "--", "sh", "-c", "git config core.fsmonitor /x");
        assert_string_equal(o.err, told);
        await_tick();
        RUN(s, &o, "--no-protect", ".git/config", "--", "sh", "-c",
            "git commit -q --allow-empty -m x 2>&1; true");
        assert_string_equal(o.err, "");
        with_git(s, "git config --unset core.fsmonitor", &o);
        await_tick();
        RUN(s, &o, "--no-protect", "n/.git", "--", "sh", "-c", "git -C n config core.fsmonitor /x");
        assert_string_equal(o.err, nested);
}

/* What nobody tells nsrun of is the command's to write, as the page says. */
TEST(a_repository_that_nothing_names_is_not_found) {
        const struct site *s = *state;
        _cleanup_free_ char *before =
                text_of("%smkdir -p a/b; git clone -q ../lib a/b/r; echo a >.gitignore", lib);
        _cleanup_outcome_ struct outcome o = {0};

        with_git(s, before, &o);
        RUN(s, &o, "--", "sh", "-c", "echo '#' >>a/b/r/.git/config");
        expect_status(&o, 0);
        RUN(s, &o, "--protect", "a/b/r/.git/config", "--", "sh", "-c", "echo '#' >>a/b/r/.git/config");
        expect_in(o.err, "a/b/r/.git/config: Read-only file system");
}

TEST(too_many_repositories_are_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *line = text_of(
                "nsrun: there are too many repositories, git dirs and symlinks of protected folders in it to "
                "protect them: %s; look who made them; --no-protect GLOB leaves folders "
                "open, --no-protect .git/modules those of submodules",
                s->project);
        _cleanup_outcome_ struct outcome o = {0};

        with_git(s, "i=0; while [ $i -le 500 ]; do mkdir -p r$i/.git; i=$((i+1)); done", &o);
        RUN(s, &o, "--", "true");
        expect_refusal(&o, 125, line);
        RUN(s, &o, "--no-protect", "r1*", "--", "true");
        expect_status(&o, 0);
}

int main(int argc, char **argv) {
        if (argc == 2 && streq(argv[1], "tick")) {
                await_tick();
                return 0;
        }
        return run_all_tests();
}
