/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Protected names: what git, editors, shells and other agents on the host obey can't be changed by a
 * command, and what it makes of it is gone from its name when nsrun returns; git works as before. */
#include "bash.h"
#include "repository.h"
#include "session.h"

/* On the host: one line for each of nsrun's own names, "NAME" alone. */
static const char list_names[] =
        "\"$NSRUN\" plan --format=json --project . -- true | jq -r '.protected[] | select(.folder == $pwd and .name != \".git\") | .name' "
        "--arg pwd \"$PWD\" | grep -v '[*]'";

/* A repository with all names, as a folder where git and editors have one. */
static const char make_all[] =
        "set -e; git init -q .; git config user.name J; git config user.email j@example.org\n"
        "git commit -q --allow-empty -m first\n"
        "while read -r name; do\n"
        "  case $name in\n"
        "    */*) mkdir -p ${name%/*} ;;\n"
        "  esac\n"
        "  case $name in\n"
        "    .git/config) continue ;;\n"
        "    .git/branches|.git/hooks|.git/remotes|.vscode|.idea|.husky|.devcontainer|.claude|.codex|.cursor|.gemini|.agents|.zed|.yarn/*)\n"
        "      mkdir -p $name; echo real >$name/file ;;\n"
        "    .git/commondir|.git/config.worktree|.git/objects/info/alternates) : >$name ;;\n"
        "    *) echo real >$name ;;\n"
        "  esac\n"
        "done <../names; cp ../names ../all\n";

/* On the host: all that there is of the names. */
static const char list_all[] =
        "while read -r name; do\n"
        "  find $name -printf '%p %y %m %i %T@ ' -type f -exec cat {} + -o -printf '\\n' 2>/dev/null\n"
        "done <../all; true\n";

/* Inside: all that could change a name, which it says where it worked and not in a folder of its own.  The
 * symlinks are to the command's own versions (test-carry). */
static const char attack[] =
        "private() { [ -d $n ] && [ -z \"$OPEN\" ]; }\n"
        "while read -r n; do\n"
        "  [ -L $n ] && continue; { echo evil >>$n; } 2>/dev/null && echo \"wrote $n\"\n"
        "  { echo evil >$n/evil; } 2>/dev/null && ! private && echo \"wrote in $n\"\n"
        "  rm -rf $n/file 2>/dev/null; [ ! -d $n ] || [ -e $n/file ] || private || echo \"emptied $n\"\n"
        "  chmod 777 $n 2>/dev/null && ! private && echo \"changed the mode of $n\"\n"
        "  mv $n moved 2>/dev/null && echo \"moved $n\" && mv moved $n\n"
        "  ln $n hard 2>/dev/null && echo \"linked $n\" && rm hard\n"
        "  echo evil >fresh; mv -f fresh $n 2>/dev/null; [ ! -e fresh ] && ! private && echo \"replaced $n\"\n"
        "  rm -rf fresh $n 2>/dev/null; [ -e $n ] || echo \"removed $n\"\n"
        "done <\"$ROOT/names\"\n"
        "for n in .git .git/info .git/objects .git/objects/info; do\n"
        "  mv $n moved 2>/dev/null && echo \"moved $n\" && mv moved $n\n"
        "done; true\n";

/* Inside: all names that can be made. */
static const char plant[] =
        "while read -r n; do mkdir -p \"$(dirname $n)\"; echo evil >$n || echo \"not $n\"\n"
        "done <\"$ROOT/names\"; true";

static int setup(void **state) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *script = NULL;
        const struct site *s;

        if (site_setup(state) != 0)
                return -1;
        s = *state;
        script = text_of("cd '%s' && mkdir .git && %s >'%s/names' && rmdir .git", s->project, list_names,
                         s->root);
        run_outside(s, &o, script);
        expect_status(&o, 0);
        return 0;
}

enum way {
        BY_RUN,
        BY_BASH,
        BY_SESSION,
        N_WAYS
};

/* `script` in a sandbox of the project, started in one of the ways; *ret is what nsrun printed.  It is a
 * file, as `nsrun bash` prints the command. */
static void run_by(const struct site *s, enum way way, const char *script, struct outcome *ret) {
        _cleanup_free_ char *root = text_of("ROOT=%s", s->root), *names = path_of(s->root, "names");
        _cleanup_free_ char *file = path_of(s->root, "script"), *command = text_of(". '%s'", file);

        make_file(s->root, "script", script);
        if (way == BY_RUN)
                RUN(s, ret, "--env", root, "--ro", names, "--ro", file, "--", "sh", "-c", command);
        if (way == BY_BASH) {
                outcome_clear(ret);
                BASH(s, ret, "--env", root, "--ro", names, "--ro", file, "--", command);
        }
        if (way == BY_SESSION) {
                _cleanup_free_ char *id = START(s, "--env", root, "--ro", names, "--ro", file);

                JOIN_SCRIPT(s, id, ret, command);
                end_session(s, id, "stop");
        }
}

/* By run all of them, by the others a third each, and git's hooks; commondir's look in the end, where a
 * short command has ended before, moves it aside. */
static void take_names(const struct site *s, enum way way) {
        _cleanup_free_ char *some =
                text_of("sed -n '/commondir$/d;%d~3p;/^.git.hooks$/p' ../all | sort -u >../names", (int)way);

        if (way != BY_RUN)
                make_repository(s, some);
}

TEST_WITH(what_is_there_can_not_be_changed, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *names = path_of(s->root, "names"), *text = file_text(names);
        _cleanup_free_ char *root = text_of("ROOT=%s", s->root);

        /* All of them, or little is tried. */
        for (size_t i = 0; i < 3; i++)
                expect_in(text, ((const char *const[]){".git/hooks\n", ".envrc\n", ".vscode\n"})[i]);
        make_repository(s, make_all);
        /* The run makes it, and removes it where nothing is in it. */
        make_folder(s->project, ".claude/worktrees");
        for (enum way way = BY_RUN; way < N_WAYS; way++) {
                _cleanup_outcome_ struct outcome before = {0}, after = {0};

                take_names(s, way);
                on_host(s, list_all, &before);
                expect_in(before.out, ".vscode/file f ");
                run_by(s, way, attack, &o);
                expect_status(&o, 0);
                if (strstr(o.out, "wrote") || strstr(o.out, "moved") || strstr(o.out, "removed") ||
                    strstr(o.out, "linked") || strstr(o.out, "replaced") || strstr(o.out, "emptied") ||
                    strstr(o.out, "mode"))
                        fail_msg("%d: %s", way, o.out);
                if (way == BY_RUN)
                        expect_in(o.err, "what the command changed in this folder is kept aside: ");
                on_host(s, list_all, &after);
                assert_string_equal(after.out, before.out);
        }
        /* The same without protection. */
        make_repository(s, "grep -x -e .git/config -e .git/hooks -e .envrc -e .vscode ../all >../names");
        RUN(s, &o, "--no-protect", "*", "--ro", names, "--env", root, "--env", "OPEN=1", "--", "sh", "-c",
            attack);
        expect_in(o.out, "wrote .git/config\n");
        expect_in(o.out, "wrote in .git/hooks\n");
        expect_in(o.out, "replaced .envrc\n");
        expect_in(o.out, "removed .vscode\n");
        expect_in(o.out, "moved .git\n");
}

TEST_WITH(what_is_made_is_kept_aside, setup, site_teardown) {
        static const char host_sees[] =
                "while read -r n; do [ ! -e $n ] || echo \"$n\"; grep -qs \"/$n\\\"\" \"$XDG_STATE_HOME\"/nsrun/kept/*/*/about.json || echo \"not $n kept\"\n"
                "done <../names; cat \"$XDG_STATE_HOME\"/nsrun/kept/*/*/entry | sort -u; rm -r \"$XDG_STATE_HOME\"/nsrun/kept\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_repository(
                s,
                "git init -q . && rm -rf .git/branches .git/config .git/hooks .git/info && cp ../names ../all");
        for (enum way way = BY_RUN; way < N_WAYS; way++) {
                take_names(s, way);
                run_by(s, way, plant, &o);
                expect_not_in(o.out, "not ");
                expect_in(o.err,
                          "note: a protected name that came to be is kept aside (nsrun review --project ");
                expect_in(o.err, "/.git/hooks; ");
                expect_in(o.err, "; --no-protect .git/hooks lets it stay\n");
                on_host(s, host_sees, &o);
                expect_out(&o, "evil\n");
        }
}

TEST(what_agents_execute_of_a_repository_is_kept_aside) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--", "sh", "-c",
            "mkdir -p .clinerules/hooks .github/copilot .github/extensions/x; for f in .clinerules/hooks/x "
            ".github/copilot/settings.json .github/extensions/x/extension.mjs .github/lsp.json .github/mcp.json "
            ".github/copilot-instructions.md; do echo evil >$f; done");
        run_outside(s, &o, "find .clinerules .github -type f");
        expect_out(&o, ".github/copilot-instructions.md\n");
}

/* A name that is renamed since it can't be kept: here a pipe. */
TEST(what_is_renamed_is_no_protected_name_or_the_note_says_so) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->project, "skills");
        make_folder(s->project, "conf.d");
        RUN(s, &o, "--protect=skills/[!.]*", "--protect=conf.d/*", "--protect=conf.d/.*", "--", "sh", "-c",
            "mkfifo skills/evil conf.d/evil");
        expect_status(&o, 0);
        expect_in(o.err, "note: a protected name that came to be can't be kept aside, and is renamed: ");
        expect_in(o.err, "/skills/.evil.aside-");
        expect_in(o.err, "note: a protected name that came to be can't be kept aside, and programs on "
                         "the host may obey what it is called now: ");
        expect_in(o.err, "/conf.d/.evil.aside-");
        on_host(s, "ls -A skills conf.d | sed 's/aside-.*/aside-N/'", &o);
        expect_out(&o, "conf.d:\n.evil.aside-N\n\nskills:\n.evil.aside-N\n");
}

TEST(a_symlink_on_the_way_is_no_way_around) {
        static const struct {
                const char *before, *script, *said, *after;
        } cases[] = {
                {"mkdir evil .git/info; echo evil >evil/attributes",
                 "rm -r .git/info; ln -s ../evil .git/info",
                 "a symlink that the command left in a git dir is removed: %s/.git/info",
                 "[ ! -L .git/info ] && echo ../evil"},
                {"mkdir docs evil; echo evil >evil/a.md", "rmdir docs; ln -s ../evil docs",
                 "a protected name that came to be is kept aside (nsrun review --project %s --accept 1 puts it back): %s/docs; --no-protect docs lets it stay",
                 "[ ! -e docs ] && readlink \"$XDG_STATE_HOME\"/nsrun/kept/*/*/entry"},
                /* It leads to nothing yet. */
                {"rm -rf evil docs*", "ln -s ../evil docs",
                 "a protected name that came to be is kept aside (nsrun review --project %s --accept 1 puts it back): %s/docs; --no-protect docs lets it stay",
                 "[ ! -L docs ] && readlink \"$XDG_STATE_HOME\"/nsrun/kept/*/*/entry"},
                /* The link is put back at once, too. */
                {"ln -s ../evil .vscode", "until rm -f .vscode && mkdir .vscode 2>/dev/null; do :; done",
                 "a protected symlink is put back; what the command made of it is kept aside: %s/.vscode",
                 "[ -d \"$XDG_STATE_HOME\"/nsrun/kept/*/*/entry ] && readlink .vscode"},
                {"ln -s ../evil .vscode", "ln -s ../other new; mv -T new .vscode",
                 "a protected symlink is put back; what the command made of it is kept aside: %s/.vscode",
                 "readlink \"$XDG_STATE_HOME\"/nsrun/kept/*/*/entry >/dev/null && readlink .vscode"},
                {"ln -s ../evil .vscode", "true", NULL, "readlink .vscode"},
                /* Nobody but the command reads a folder that it has closed. */
                {"mkdir sub", "echo evil >sub/.envrc; echo evil >.envrc; chmod 500 .",
                 "a protected name that came to be is kept aside (nsrun review --project %s --accept 1 puts it back): %s/.envrc; --no-protect .envrc lets it stay",
                 "echo ../evil"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                make_repository(
                        s,
                        "chmod 700 .; rm -rf .git .vscode* .envrc* evil sub docs* \"$XDG_STATE_HOME\"/nsrun/kept; git init -q .");
                make_repository(s, cases[i].before);
                RUN(s, &o, "--protect", "docs/a.md", "--", "sh", "-c", cases[i].script);
                expect_status(&o, 0);
                if (cases[i].said) {
                        _cleanup_free_ char *path = replaced(cases[i].said, "%s", s->project);
                        _cleanup_free_ char *count = text_of(
                                "nsrun: note: 1 kept aside: nsrun review --project %s (--accept N takes one over)\n",
                                s->project);
                        _cleanup_free_ char *line = text_of("nsrun: note: %s\n%s", path,
                                                            strstr(path, "kept aside") ? count : "");

                        assert_string_equal(o.err, line);
                } else {
                        assert_string_equal(o.err, "");
                }
                on_host(s, cases[i].after, &o);
                expect_out(&o, "../evil\n");
        }
}

TEST(what_is_protected_is_the_users_to_say) {
        const struct site *s = *state;
        _cleanup_free_ char *envrc = path_of(s->project, ".envrc");
        _cleanup_free_ char *config = path_of(s->root, "c.json");
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->project, "Makefile", "all:\n");
        make_file(s->project, "docs/a.md", "a");
        RUN(s, &o, "--protect", "Makefile", "--protect", "docs/*.md", "--", "sh", "-c",
            "echo x >Makefile; echo x >docs/a.md; echo x >docs/b.md; echo x >docs/c.txt; mv docs d; true");
        expect_in(o.err, "cannot create Makefile: Read-only file system");
        expect_in(o.err, "cannot create docs/a.md: Read-only file system");
        expect_in(o.err, "'docs' to 'd': Device or resource busy");
        expect_in(o.err, "/docs/b.md");
        expect_not_in(o.err, "c.txt");
        RUN(s, &o, "--no-protect", ".envrc", "--", "sh", "-c", ">.envrc; >.npmrc");
        expect_in(o.err, "/.npmrc");
        expect_not_in(o.err, ".envrc");
        RUN(s, &o, "--no-protect", "*", "--", "sh", "-c",
            "rm .envrc; mkdir -p .git/hooks; >.git/hooks/x; >.npmrc");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        on_host(s, "rm -r .npmrc .git", &o);
        assert_int_equal(access(envrc, F_OK), -1);

        make_file(s->root, "c.json", "{\"protect\": [\"docs/c.txt\"], \"no_protect\": [\".npmrc\"]}");
        RUN(s, &o, "--config", config, "--", "sh", "-c", "echo x >docs/c.txt; >.npmrc");
        expect_in(o.err, "cannot create docs/c.txt: Read-only file system");
        expect_not_in(o.err, "note");
}

TEST(a_glob_that_names_nothing_below_a_folder_is_refused) {
        static const char *const globs[] = {"/etc", "../x", "a//b", "a/", "."};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < 2 * ARRAY_SIZE(globs); i++) {
                const char *option = i % 2 ? "--protect" : "--no-protect", *glob = globs[i / 2];
                _cleanup_free_ char *line = text_of(
                        "nsrun: %s: not a name below a writable folder: %s; such a name is relative, "
                        "without '.', '..' and empty parts; see 'nsrun run --help'",
                        option, glob);

                RUN(s, &o, option, glob, "--", "true");
                expect_refusal(&o, 125, line);
        }
}

/* What is a glob elsewhere, and would match nothing here. */
TEST(wildcards_of_others_are_refused) {
        static const char strict[] = "'strict' stands alone: %s; give the option twice",
                          tree[] = "no tree is searched for such names: %s; name the folder, as in "
                                   "'src/*.conf'; a '*' matches in one folder",
                          braces[] = "braces are no wildcards here: %s; give the option once for each name";
        static const struct {
                const char *option, *glob, *said;
        } cases[] = {
                {"--protect", "strict,x", strict},  {"--protect", "**/.envrc", tree},
                {"--no-protect", "a/**", tree},     {"--protect", "{a,b}", braces},
                {"--no-protect", "x{a,b}", braces}, {"--hide", "{a,b}.pem", braces},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const char *cut = strstr(cases[i].said, "%s");
                _cleanup_free_ char *line =
                        text_of("nsrun: %s: %.*s%s%s; see 'nsrun run --help'", cases[i].option,
                                (int)(cut - cases[i].said), cases[i].said, cases[i].glob, cut + 2);

                RUN(s, &o, cases[i].option, cases[i].glob, "--", "true");
                expect_refusal(&o, 125, line);
        }
        RUN(s, &o, "--protect", "{a}", "--hide", "{a", "--hide", "**/b,c}", "--", "true");
        expect_status(&o, 0);
}

/* The daily work of git, which makes and moves files in .git all the time. */
TEST(git_works_as_before) {
        static const char script[] =
                "set -e\n"
                "echo 1 >f; git add f; git commit -qm one; echo 2 >f; git commit -qam two\n"
                "git branch side HEAD~1; git checkout -q side; echo s >g; git add g; git commit -qm side\n"
                "git checkout -q main; git merge -q -m merged side; git tag -a -m t v1; git rebase -q HEAD~1\n"
                "git stash list; echo 3 >f; git stash -q; git stash pop -q; git reset -q --hard\n"
                "git worktree add -q wt side; git -C wt log --oneline | wc -l; git worktree remove wt\n"
                "git -C sub log --oneline | wc -l\n"
                "echo 4 >sub/f; git -C sub commit -qam four; git add sub; git commit -qm sub\n"
                "git gc -q; git fsck --no-dangling; git status --short; git log --oneline | wc -l\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_repository(s, "set -e; git init -q -b main ../lib; cd ../lib; git config user.name J\n"
                           "git config user.email j@example.org; echo l >f; git add f; git commit -qm lib\n"
                           "cd -; git init -q -b main .; git config user.name J\n"
                           "git config user.email j@example.org\n"
                           "git -c protocol.file.allow=always submodule --quiet add ../lib sub\n"
                           "git -C sub config user.name J; git -C sub config user.email j@example.org\n"
                           "git commit -qm first\n"
                           "git checkout -q -b editor; mkdir .vscode; echo 1 >.vscode/x; git add .\n"
                           "git commit -qm editor; git checkout -q main\n"
                           "rmdir .vscode 2>/dev/null || true");
        RUN(s, &o, "--", "sh", "-c", script);
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        expect_out(&o, "3\n1\n5\n");
        /* A branch that changes what is protected is taken inside. */
        on_host(s, "git checkout -q editor", &o);
        expect_status(&o, 0);
        RUN(s, &o, "--", "git", "checkout", "-q", "main");
        expect_status(&o, 0);
        expect_in(o.err, "what the command changed in this folder is kept aside: ");
        on_host(s, "git log -1 --format=%s; cat .vscode/x", &o);
        expect_out(&o, "sub\n1\n");
}

/* Two commands of a session, and what one leaves behind: what wasn't there when the session began is
 * nobody's. */
TEST_WITH(a_session_knows_what_was_there_when_it_began, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};

        JOIN_SCRIPT(s, id, &o,
                    "setsid sh -c 'until [ -e go ]; do sleep 0.01; done; echo evil >.envrc; >made' "
                    ">/dev/null 2>&1 </dev/null &");
        on_host(s, ">go; until [ -e made ]; do sleep 0.01; done", &o);
        JOIN_SCRIPT(s, id, &o, "true");
        /* Told by the next command, or, where the monitor was first, when the session ends. */
        _cleanup_free_ char *said = strdup(o.err);
        on_host(s, "[ ! -e .envrc ]", &o);
        expect_status(&o, 0);
        SESSION(s, &o, "stop", id);
        expect_status(&o, 0);
        collect_orphans();
        _cleanup_free_ char *all = text_of("%s%s", said, o.err);
        expect_in(all, "/.envrc");
}

/* A symlink's target in the folder, a git dir by another name, and what is neither file nor folder. */
TEST(what_a_name_leads_to_is_protected) {
        static const struct {
                const char *before, *script, *said;
        } cases[] = {
                {"rm -r .git/hooks; mkdir githooks; ln -s ../githooks .git/hooks",
                 "echo evil >githooks/pre-commit", "githooks/pre-commit: Read-only file system"},
                {"mkdir etc; echo x >etc/npmrc; ln -s etc/npmrc .npmrc", "echo evil >etc/npmrc",
                 "etc/npmrc: Read-only file system"},
                {"mkdir etc; ln -s etc/npmrc .npmrc", "echo evil >etc/npmrc", "/etc/npmrc; "},
                {"mkdir -p tools .husky; >tools/x; ln -s ../tools/x .husky/pre-commit", "echo evil >tools/x",
                 "tools/x: Read-only file system"},
                {"mkdir -p .ai/skills .claude/a; ln -s ../../.ai/skills .claude/a/b",
                 "echo evil >.ai/skills/x", ".ai/skills/x: Read-only file system"},
                {"mkdir -p .claude .ai/s lib; ln -s ../.ai/s .claude/skills; ln -s ../../lib .ai/s/x",
                 "echo evil >lib/x", "lib/x: Read-only file system"},
                {"mkdir s; >s/x; ln s/x .git/hooks/pre-commit", "echo evil >s/x",
                 "nsrun: note: a protected name was changed while the command ran, by it or by others: "},
                {"mkdir -p .claude .agents/skills; ln -s ../.agents/skills .claude/skills",
                 "echo evil >.claude/skills/x && echo evil >.agents/skills/y", " is kept aside: "},
                {"mv .git rg; ln -s rg .git; git status", "echo evil >rg/config", " is kept aside: "},
                {"mv .git rg; ln -s rg .git", "rm .git; echo 'gitdir: evil' >.git", "/.git"},
                {"rm -rf .git; mkdir .git", "rmdir .git; echo 'gitdir: evil' >.git", "/.git; "},
                {"mkfifo .envrc", "rm .envrc; echo evil >.envrc", "/.envrc; "},
                {"true", "for i in $(seq 0 100); do >.envrc.aside-$i; done; echo evil >.envrc", "/.envrc; "},
                {"true", "echo evil >.envrc; chmod 000 .", "/.envrc; "},
                {"true", "mkdir -p .git/info; echo evil >.git/info/attributes; chmod 000 .git/info",
                 "/.git/info/attributes; "},
                /* To be read, and not entered. */
                {"true", "echo evil >.envrc; chmod 444 .git", "/.envrc; "},
                {"true", "echo evil >.envrc; chmod 444 .", "/.envrc; "},
                {"true", "mkdir -p .git/info; echo evil >.git/info/attributes; chmod 444 .git/info .git",
                 "/.git/info/attributes; "},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                make_repository(s, "chmod 700 .; rm -rf .[!.]* *; git init -q .");
                make_repository(s, cases[i].before);
                RUN(s, &o, "--", "sh", "-c", cases[i].script);
                expect_in(o.err, cases[i].said);
        }
        make_repository(s, "mkdir tools; >tools/x; ln -s ../../tools/x .git/hooks/pre-commit");
        RUN(s, &o, "--", "sh", "-c", "echo evil >tools/x");
        expect_in(o.err, "tools/x: Read-only file system");
        RUN(s, &o, "--no-protect", "tools/x", "--", "sh", "-c",
            "echo good >tools/x; cat .git/hooks/pre-commit");
        expect_out(&o, "good\n");
}

/* Two runs: what the first has moved away for a while is protected in the second all the same. */
TEST(a_git_dir_without_a_head_is_one) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_repository(
                s, "git init -q .; mkdir -p .git/modules/sub; cp .git/HEAD .git/config .git/modules/sub");
        RUN(s, &o, "--", "mv", ".git/modules/sub/HEAD", ".git/modules/sub/H");
        expect_status(&o, 0);
        RUN(s, &o, "--", "sh", "-c", "echo evil >.git/modules/sub/config");
        expect_in(o.err, " is kept aside: ");
}

TEST(another_place_and_another_root_are_no_way_around) {
        const struct site *s = *state;
        _cleanup_free_ char *work = path_of(s->root, "work"), *bind = text_of("%s:/mnt/work", work);
        _cleanup_free_ char *project = path_of(work, "a/p");
        const char *const argv[] = {
                program(),   "run",
                "--project", project,
                "--rw",      work,
                "--bind",    bind,
                "--env",     NULL,
                "--",        "sh",
                "-c",        "cd \"$WORK\"; mv a b; echo evil >a/p/.npmrc; echo evil >/mnt/work/a/p/.npmrc",
                NULL};
        const char *given[ARRAY_SIZE(argv)];
        _cleanup_free_ char *variable = text_of("WORK=%s", work);
        _cleanup_outcome_ struct outcome o = {0};

        make_repository(s, "mkdir -p ../work/a/p; echo x >../work/a/p/.npmrc");
        for (size_t i = 0; i < ARRAY_SIZE(argv); i++)
                given[i] = i == 9 ? variable : argv[i];
        run(&(struct request){.argv = given, .cwd = s->root}, &o);
        expect_in(o.err, "mv: cannot move 'a' to 'b': Device or resource busy");
        expect_in(o.err, "cannot create a/p/.npmrc: Read-only file system");
        expect_in(o.err, "cannot create /mnt/work/a/p/.npmrc: Read-only file system");
}

/* A writable folder that is shown twice, with another one between the two. */
TEST(a_folder_that_is_shown_twice_is_looked_at_once) {
        const struct site *s = *state;
        _cleanup_free_ char *sub = path_of(s->project, "sub"), *bind = text_of("%s:/mnt/x", s->project);
        _cleanup_outcome_ struct outcome o = {0};

        make_repository(s, "git init -q .; mkdir sub");
        RUN(s, &o, "--rw", sub, "--bind", bind, "--", "true");
        assert_string_equal(o.err, "");
        on_host(s, "git status --short; ls .git/config", &o);
        expect_out(&o, ".git/config\n");
}

/* Through a symlink that git writes to the user's git would write anywhere. */
TEST(a_symlink_in_the_projects_git_dir_is_removed) {
        static const char *const names[] = {"COMMIT_EDITMSG", "logs/HEAD"};
        const struct site *s = *state;
        _cleanup_free_ char *victim = path_of(s->outside, "victim");
        _cleanup_outcome_ struct outcome o = {0};

        make_repository(s, "git init -q .; git config user.name J; git config user.email j@example.org\n"
                           "git commit -q --allow-empty -m one");
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_free_ char *script = text_of("ln -sf '%s' .git/%s", victim, names[i]);
                _cleanup_free_ char *line = text_of(
                        "nsrun: note: a symlink that the command left in a git dir is removed: %s/.git/%s\n",
                        s->project, names[i]);

                RUN(s, &o, "--", "sh", "-c", script);
                assert_string_equal(o.err, line);
                on_host(s, "git commit -q --allow-empty -m two", &o);
                expect_status(&o, 0);
                assert_int_equal(access(victim, F_OK), -1);
                on_host(s, script, &o);
                on_host(s, "git commit -q --allow-empty -m two", &o);
                assert_int_equal(access(victim, F_OK), 0);
                on_host(s, "rm -f ../outside/victim .git/COMMIT_EDITMSG .git/logs/HEAD", &o);
        }
}

TEST(a_folder_that_is_opened_keeps_the_rights_of_others) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_repository(s, "chmod 755 .");
        RUN(s, &o, "--", "sh", "-c", "mkdir t; echo evil >t/hgrc; chmod 555 t; mv t .hg");
        expect_in(o.err, "/.hg/hgrc");
        on_host(s, "stat -c %a .hg", &o);
        /* Root needs no right to rename. */
        expect_out(&o, geteuid() == 0 ? "555\n" : "755\n");
}

TEST(a_folder_that_the_user_has_closed_stays_closed) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_repository(s, "rm -rf .git; chmod 100 .");
        await_tick();
        RUN(s, &o, "--", "true");
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        /* Nor by who looks again and again while a command runs. */
        RUN(s, &o, "--rw", s->outside, "--", "sh", "-c",
            "cd ../outside; for i in 1 2 3; do echo x >.envrc; while [ -e .envrc ]; do :; done; done");
        expect_status(&o, 0);
        expect_in(o.err, "/outside/.envrc; ");
        on_host(s, "stat -c %a .; chmod 700 .", &o);
        expect_out(&o, "100\n");
}

TEST(a_session_outlives_the_repository_it_began_in) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_repository(s, "git init -q .");
        id = START_PLAIN(s);
        on_host(s, "mv .git ../elsewhere", &o);
        expect_status(&o, 0);
        expect_good_join(s, id, "echo ran", "ran\n");
        end_session(s, id, "stop");
}

TEST(a_notes_path_is_fit_to_print) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--protect", "*.md", "--", "sh", "-c", ">$(printf 'a\\nnsrun: \\033[2A.md')");
        expect_in(o.err, "/a\\x0ansrun: \\x1b[2A.md\n");
        RUN(s, &o, "--protect", "*.md", "--", "sh", "-c", ">\"$(printf '\\033c b.md')\"");
        expect_in(o.err, "/\\x1bc b.md\n");
        expect_not_in(o.err, "\033");
        /* What lets a pattern stay lets others stay, too. */
        RUN(s, &o, "--protect", "*.md", "--", "sh", "-c", ">'*.md'");
        expect_in(o.err, "/*.md\n");
}

TEST(a_repository_that_a_command_makes_is_told) {
        const struct site *s = *state;
        _cleanup_free_ char *line =
                text_of("nsrun: note: the command made or changed a git repository with hooks, which is "
                        "moved aside there: %s/.git\n",
                        s->project);
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--", "sh", "-c", "git init -q . && echo x >.git/hooks/post-commit && git config a.b c");
        expect_status(&o, 0);
        assert_string_equal(o.err, line);
        RUN(s, &o, "--", "sh", "-c",
            "git status --short; mkdir -p .git/hooks; echo y >.git/hooks/post-commit");
        expect_in(o.err, "/.git/hooks; --no-protect .git/hooks lets it stay\nnsrun: note: 1 kept aside: ");
}

/* The configuration of a submodule's and of a linked worktree's git dir is where the project's .git is. */
TEST(git_dirs_within_git_are_protected) {
        static const char script[] =
                "for f in .git/modules/sub/config '.git/modules/libs/a[b]*/config' "
                ".git/worktrees/wt/commondir "
                ".git/worktrees/wt/gitdir; do\n"
                "  [ -L \"$f\" ] && continue; { echo evil >>\"$f\"; } 2>/dev/null && echo \"wrote $f\"\n"
                "done\n"
                "echo evil >.git/modules/sub/hooks/x; echo evil >.git/modules/sub/commondir; echo evil >.git/worktrees/wt/config.worktree\n"
                "mv .git/modules/sub .git/modules/x 2>&1; true\n";
        const struct site *s = *state;
        _cleanup_free_ char *planted = path_of(s->project, ".git/modules/sub/hooks/x");
        _cleanup_outcome_ struct outcome o = {0};

        make_repository(
                s,
                "set -e; git init -q ../lib; cd ../lib; git config user.name J\n"
                "git config user.email j@example.org; git commit -q --allow-empty -m lib; cd -\n"
                "git init -q .; git config user.name J; git config user.email j@example.org\n"
                "git -c protocol.file.allow=always submodule --quiet add ../lib sub\n"
                "git -c protocol.file.allow=always submodule --quiet add --name 'libs/a[b]*' ../lib deep\n"
                "git commit -qm first; git worktree add -q wt 2>/dev/null; mkdir -p .git/modules/sub/hooks");
        RUN(s, &o, "--", "sh", "-c", script);
        expect_status(&o, 0);
        expect_out(&o, "mv: cannot move '.git/modules/sub' to '.git/modules/x': Device or resource busy\n");
        assert_int_equal(access(planted, F_OK), -1);
        expect_in(o.err, "/.git/modules/sub/commondir");
        expect_in(o.err, "/.git/worktrees/wt/config.worktree");
        on_host(s, "git -C sub status --short; git -C wt status --short", &o);
        expect_out(&o, "");
        RUN(s, &o, "--no-protect", ".git", "--", "sh", "-c", script);
        expect_in(o.out, "wrote .git/modules/sub/config\n");
        expect_in(o.out, "wrote .git/modules/libs/a[b]*/config\n");
        expect_in(o.out, "wrote .git/worktrees/wt/gitdir\n");
}

int main(void) {
        return run_all_tests();
}
