/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun itself does with a repository before anything runs in the sandbox: it starts no git,
 * opens nothing that the repository names, and waits for nobody; and what it tells of HEAD afterwards. */
#include <sys/inotify.h>

#include "faults.h"
#include "repository.h"
#include "session.h"

static int setup(void **state) {
        const struct site *s;

        if (site_setup(state) != 0)
                return -1;
        s = *state;
        make_file(s->home, ".gitconfig", "[user]\nname=Jo Doe\nemail=jo@example.org\n");
        make_folder(s->project, ".git/objects");
        make_folder(s->project, ".git/refs");
        make_file(s->project, ".git/HEAD", "ref: refs/heads/main\n");
        make_file(s->project, ".git/config", "[core]\nbare=false\n");
        return 0;
}

/* The folder of the project's that stands first in PATH, for the child. */
static void put_first_in_path(void *data) {
        _cleanup_free_ char *path = text_of("%s/.venv/bin:%s", (const char *)data, getenv("PATH"));

        if (setenv("PATH", path, 1) < 0)
                _exit(119);
}

static void run_with_path(const struct site *s, struct outcome *o, const char *const *argv) {
        outcome_clear(o);
        run(
                &(struct request){
                        .argv = argv, .cwd = s->project, .in_child = put_first_in_path, .data = s->project},
                o);
}

/* An executable of the project's that says so in `marker`, which no sandbox shows. */
static void plant(const struct site *s, const char *name, const char *marker) {
        _cleanup_free_ char *text = text_of("#!/bin/sh\ntouch '%s' 2>/dev/null\nexit 0\n", marker);
        _cleanup_free_ char *file = text_of(".venv/bin/%s", name), *path = path_of(s->project, file);

        make_file(s->project, file, text);
        assert_int_equal(chmod(path, 0755), 0);
}

TEST_WITH(no_program_of_the_projects_is_executed, setup, site_teardown) {
        static const char *const planted[] = {"git",  "sh",    "bash",       "true",
                                              "less", "pager", "nsrun-init", "nsrun-monitor"};
        const struct site *s = *state;
        const char *const commands[][9] = {
                {program(), "run", "--", "/bin/true", NULL},
                {program(), "run", "--overlay", ".", "--", "/bin/true", NULL},
                {program(), "run", "--ro", ".", "--", "/bin/true", NULL},
                {program(), "run", "--no-project", "--", "/bin/true", NULL},
                {program(), "bash", "--overlay", ".", "--confirm=true", ":", NULL},
                {program(), "bash", "--no-sandbox", "--confirm=true", ":", NULL},
                {program(), "plan", "--", "/bin/true", NULL},
                {program(), "plan", "--overlay", ".", "--", "/bin/true", NULL},
                {program(), "session", "start", "--overlay", ".", NULL},
        };
        _cleanup_free_ char *marker = path_of(s->outside, "marker"), *id = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->project, ".venv/bin");
        /* Where the files don't tell all by themselves, too. */
        make_file(s->home, ".gitconfig",
                  "[user]\nname=Jo Doe\nemail=jo@example.org\n[include]\npath=none\n");
        for (size_t i = 0; i < ARRAY_SIZE(planted); i++)
                plant(s, planted[i], marker);
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
                run_with_path(s, &o, commands[i]);
                expect_status(&o, 0);
                if (access(marker, F_OK) == 0)
                        fail_msg("the project's program was executed by %s %s", commands[i][1],
                                 commands[i][2]);
        }
        id = strndup(o.out, strcspn(o.out, "\n"));
        run_with_path(s, &o, OPTIONS(program(), "session", "stop", id));
        expect_status(&o, 0);
        collect_orphans();
        /* The probe works: whoever looks for git in PATH starts it. */
        run_with_path(s, &o, OPTIONS("git", "status"));
        expect_status(&o, 0);
        assert_int_equal(access(marker, F_OK), 0);
}

/* Who commits, as a command sees it. */
static void expect_name(const struct site *s, const char *name) {
        static const char show[] = "echo \"$GIT_AUTHOR_NAME\"";
        _cleanup_free_ char *line = text_of("%s\n", name);
        _cleanup_outcome_ struct outcome o = {0};

        run_inside(s, &o, show);
        expect_status(&o, 0);
        expect_out(&o, line);
}

/* What a repository's configuration includes is a file of the host's that the command names: it is looked at
 * for what is to be protected, and of a pipe it is seen that it is one. */
TEST_WITH(nothing_that_a_repository_includes_reaches_a_command, setup, site_teardown) {
        static const char *const forms[] = {
                "[user]\nname=Repo\n[include]\npath=%s\n",
                "[user]\nname=Repo\n[includeIf \"gitdir:/\"]\npath=%s\n",
                "[user]\nname=Repo\n[include]\npath=fifo\n[include]\npath=%s\n",
        };
        const struct site *s = *state;
        _cleanup_free_ char *secret = path_of(s->outside, "secret"),
                            *fifo = path_of(s->project, ".git/fifo");
        _cleanup_close_ int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        _cleanup_outcome_ struct outcome o = {0};
        char events[4096];

        NEED_GIT();
        make_file(s->outside, "secret", "[user]\nname=Secret\n");
        assert_int_equal(mkfifo(fifo, 0600), 0);
        assert_true(watch >= 0);
        assert_true(inotify_add_watch(watch, fifo, IN_OPEN | IN_ACCESS) >= 0);
        for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
                _cleanup_free_ char *text = replaced(forms[i], "%s", secret);

                make_file(s->project, ".git/config", text);
                expect_name(s, "Repo");
                assert_int_equal(read(watch, events, sizeof(events)), -1);
                assert_int_equal(errno, EAGAIN);
        }
        /* The probe works: git takes it. */
        {
                _cleanup_free_ char *text = replaced(forms[0], "%s", secret);
                _cleanup_free_ char *script = text_of("cd '%s' && git config user.name", s->project);

                make_file(s->project, ".git/config", text);
                run_outside(s, &o, script);
                expect_out(&o, "Secret\n");
        }
}

/* Today's test of that needs no clock: a reader that waits is one that has no answer. */
TEST_WITH(a_repository_without_a_plain_configuration_holds_nobody_up, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *config = path_of(s->project, ".git/config");

        make_file(s->outside, "other", "[user]\nname=Other\n");
        expect_name(s, "Jo Doe");
        assert_int_equal(unlink(config), 0);
        assert_int_equal(mkfifo(config, 0600), 0);
        expect_name(s, "Jo Doe");
        assert_int_equal(unlink(config), 0);
        make_folder(s->project, ".git/config");
        expect_name(s, "Jo Doe");
        assert_int_equal(rmdir(config), 0);
        make_link(s->project, ".git/config", "../../outside/other");
        expect_name(s, "Jo Doe");
        assert_int_equal(unlink(config), 0);
        make_link(s->project, ".git/config", "/dev/zero");
        expect_name(s, "Jo Doe");
        /* And one that is plain counts. */
        assert_int_equal(unlink(config), 0);
        make_file(s->project, ".git/config", "[user]\nname=Repo\n");
        expect_name(s, "Repo");
}

/* A file of the user's that lies in the project is the command's to write. */
TEST_WITH(what_the_command_may_write_includes_nothing, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *real = path_of(s->project, "gitconfig"), *link = path_of(s->home, ".gitconfig");
        _cleanup_free_ char *text = text_of("[user]\nname=Mine\n[include]\npath=%s/more\n", s->outside);

        make_file(s->outside, "more", "[user]\nname=More\n");
        make_file(s->home, ".gitconfig", text);
        expect_name(s, "More");
        assert_int_equal(unlink(link), 0);
        make_file(s->project, "gitconfig", text);
        make_link(s->home, ".gitconfig", real);
        expect_name(s, "Mine");
}

/* The user's settings that can do no harm are git's inside, and nothing else of them. */
TEST_WITH(the_users_harmless_settings_are_gits_inside, setup, site_teardown) {
        static const char wanted[] =
                "# Made by nsrun of the user's configuration: what names no program, file or secret.\n"
                "[alias]\n\tst = \"status --short\"\n[diff]\n\talgorithm = \"histogram\"\n[pull]\n\trebase = \"true\"\n"
                "[color \"status\"]\n\tadded = \"green\"\n[format]\n\tpretty = \"%h \\\"b\\\" \\\\x\"\n[pull]\n\trebase = \"false\"\n"
                "[core]\n\texcludesFile = /etc/gitignore\n*.swp\n!a\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *evil = text_of("[core]\nexcludesFile=%s/secret\n[alias]\nok=log\n", s->outside),
                            *include = text_of("[include]\npath=%s/conf\n", s->project);

        make_file(s->home, "ign", "*.swp\n!a\n");
        make_file(s->home, "more", "[pull]\nrebase\n");
        make_file(
                s->home, ".gitconfig",
                "[alias]\nst=status --short\nx=!echo secret\n[core]\npager=secret\nexcludesFile=~/ign\n"
                "[diff]\nalgorithm=histogram\nexternal=secret\n[diff \"x\"]\ncommand=secret\n"
                "[url \"https://secret@x/\"]\ninsteadOf=y\n[credential]\nhelper=secret\n[http]\nextraHeader=secret\n"
                "[commit]\ntemplate=secret\n[pull]\nrebase=true\n[color \"status\"]\nadded=green\n[format]\npretty=\"%h \\\"b\\\" \\\\x\"\n"
                "[pull]\nrebase=false\n");
        RUN(s, &o, "--", "cat", "/etc/gitconfig", "/etc/gitignore");
        expect_status(&o, 0);
        expect_out(&o, wanted);
        if (has_program("git")) {
                RUN(s, &o, "--", "sh", "-c",
                    "git config format.pretty; git config alias.st; git config pull.rebase; >x.swp; >y; git st; rm x.swp y; "
                    "git config --global a.b c && cat ~/.gitconfig; echo >>/etc/gitconfig");
                expect_out(&o, "%h \"b\" \\x\nstatus --short\nfalse\n?? y\n[a]\n\tb = c\n");
                expect_in(o.err, "cannot create /etc/gitconfig: ");
        }
        /* What may hold a secret in its value. */
        make_file(s->home, ".gitconfig",
                  "[alias]\na=-c http.extraHeader=secret push\nb=push -c x=secret\nc=push u:secret@h\n"
                  "[advice]\nx=u@secret\n[core]\nexcludesFile=~/link\n[log]\ndate=format:%Y-%m\n");
        make_link(s->home, "link", "secret");
        make_file(s->home, "secret", "secret\n");
        RUN(s, &o, "--", "sh", "-c", "cat /etc/gitconfig; cat /etc/gitignore");
        expect_in(o.out, "date = \"format:%Y-%m\"");
        expect_not_in(o.out, "secret\n");
        expect_not_in(o.out, "alias");
        /* A file that a command could have written may not say what of the host is read. */
        make_file(s->outside, "secret", "secret\n");
        make_file(s->project, "conf", evil);
        make_file(s->home, ".gitconfig", include);
        RUN(s, &o, "--", "sh", "-c", "cat /etc/gitconfig; ls /etc/gitignore");
        expect_in(o.out, "\tok = \"log\"\n");
        expect_not_in(o.out, "ignore");
        RUN(s, &o, "--clean-env", "--", "ls", "/etc/gitconfig");
        expect_status(&o, 2);
}

/* What core.excludesFile names is opened without openat2(2), too, and then through no link either. */
TEST_WITH(without_openat2_what_git_ignores_is_read_through_no_link, setup, site_teardown) {
        static const char *const errors[] = {"38" /* ENOSYS */, "1" /* EPERM */};
        const struct site *s = *state;
        _cleanup_free_ char *deny = helper_path("deny");

        make_file(s->home, "ign", "*.swp\n");
        make_link(s->home, "link", "ign");
        make_folder(s->home, "folder");
        make_file(s->home, "folder/ign", "*.swp\n");
        make_link(s->home, "way", "folder");
        for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
                static const char *const names[] = {"ign", "link", "way/ign"};

                for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
                        _cleanup_outcome_ struct outcome o = {0};
                        _cleanup_free_ char *config = text_of("[core]\nexcludesFile=~/%s\n", names[k]);
                        const char *argv[] = {deny,
                                              errors[i],
                                              "openat2",
                                              program(),
                                              "run",
                                              "--project",
                                              s->project,
                                              "--",
                                              "sh",
                                              "-c",
                                              "cat /etc/gitignore 2>/dev/null || echo none",
                                              NULL};

                        make_file(s->home, ".gitconfig", config);
                        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
                        expect_status(&o, 0);
                        expect_out(&o, k == 0 ? "*.swp\n" : "none\n");
                }
        }
}

/* Addresses for others, and that the project's owner may be another: for no other folder. */
TEST_WITH(addresses_and_a_safe_folder_are_gits_inside, setup, site_teardown) {
        static const char *const good[] = {"git@github.com:", "https://mirror.example/",
                                           "ssh://git@h.example/x", "file:///srv/git/",
                                           "git://h.example:9418/"};
        static const char *const bad[] = {"ext::sh -c x",
                                          "https://token@h/",
                                          "http://u:p@h/",
                                          "ssh://u:p@h/",
                                          "-oProxyCommand=x:",
                                          "ssh://-oProxyCommand=x/",
                                          "ssh://u@-x/",
                                          "x@-y:",
                                          "fd::3",
                                          "/tmp/x",
                                          "https://h/?t=\\\"x",
                                          "u:p@h:"};
        static const char *const safe[] = {"%s", "*", "%s/../project", "%r/*"}, *const unsafe[] = {
                                                                                        "%s/sub", "/",
                                                                                        "*\"\ndirectory=\""};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *text = strdup(""),
                            *is_safe = text_of("[safe]\n\tdirectory = \"%s\"\n", s->project);

        for (size_t i = 0; i < ARRAY_SIZE(good) + ARRAY_SIZE(bad); i++) {
                bool is_good = i < ARRAY_SIZE(good);
                char *more = text_of("%s[url \"%s\"]\ninsteadOf=v%zu:\npushInsteadOf = p:%zu/\n", text,
                                     is_good ? good[i] : bad[i - ARRAY_SIZE(good)], i, i);

                free(text);
                text = more;
        }
        make_file(s->home, ".gitconfig", text);
        RUN(s, &o, "--", "cat", "/etc/gitconfig");
        for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
                _cleanup_free_ char *line = text_of(
                        "[url \"%s\"]\n\tinsteadof = \"v%zu:\"\n[url \"%s\"]\n\tpushinsteadof = \"p:%zu/\"\n",
                        good[i], i, good[i], i);

                expect_in(o.out, line);
        }
        for (size_t i = ARRAY_SIZE(good); i < ARRAY_SIZE(good) + ARRAY_SIZE(bad); i++) {
                _cleanup_free_ char *line = text_of("v%zu:", i);

                expect_not_in(o.out, line);
        }
        for (size_t i = 0; i < ARRAY_SIZE(safe) + ARRAY_SIZE(unsafe); i++) {
                bool is_good = i < ARRAY_SIZE(safe);
                _cleanup_free_ char *named = replaced(is_good ? safe[i] : unsafe[i - ARRAY_SIZE(safe)], "%s",
                                                      s->project),
                                    *value = replaced(named, "%r", s->root),
                                    *config = text_of("[safe]\ndirectory=\"%s\"\n", value);

                make_file(s->home, ".gitconfig", config);
                RUN(s, &o, "--", "sh", "-c", "cat /etc/gitconfig; true");
                (is_good ? expect_in : expect_not_in)(o.out, is_good ? is_safe : "directory");
                if (!has_program("git"))
                        continue;
                RUN(s, &o, "--env", "GIT_TEST_ASSUME_DIFFERENT_OWNER=1", "--", "sh", "-c",
                    "git init -q sub 2>/dev/null; git rev-parse --is-inside-work-tree; git -C sub status");
                (is_good ? expect_in : expect_not_in)(o.out, "true");
                expect_in(o.err, "dubious ownership in repository at ");
                expect_in(o.err, "/sub'");
        }
}

/* The folder of hooks that the user's configuration names is shown; what else is named isn't, and that is
 * told. */
TEST_WITH(the_users_hooks_run_inside, setup, site_teardown) {
        static const char commit[] =
                "git commit -q --allow-empty -m x; ls ~/.githooks ~/.ssh ~/docs; echo x >~/.githooks/pre-commit";
        static const struct {
                const char *users, *repositorys; /* core.hooksPath; %s is the home */
                const char *option;              /* --ro this */
                const char *note;
                bool runs;
        } cases[] = {
                {"~/.githooks", NULL, NULL, NULL, true},
                {"%s/.githooks", NULL, NULL, NULL, true},
                {"~/docs", "~/.githooks", NULL, "%s/.githooks, which isn't shown\n", false},
                {"~/docs", "~/.githooks", ".githooks", NULL, true},
                {NULL, "%s/docs", NULL, "%s/docs, which isn't shown\n", false},
                {NULL, "%s/.ssh", NULL, "%s/.ssh, which isn't shown\n", false},
                {NULL, "%s/.ssh\\n", NULL, "%s/.ssh\\x0a, which isn't shown\n", false},
                {"~/link", NULL, NULL, "%s/link: --ro %s/link\n", false},
                {"~/link", NULL, "link", NULL, true},
                {"~/.ssh/hooks", NULL, NULL, "%s/.ssh/hooks, which isn't shown\n", false},
                {"~/", NULL, NULL, "%s, which isn't shown\n", false},
                {"/", NULL, NULL, "/, which isn't shown\n", false},
                {"~/none", NULL, NULL, NULL, false},
                {".githooks", NULL, NULL, NULL, false},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *hook = path_of(s->home, ".githooks/pre-commit"),
                            *dot_git = path_of(s->project, ".git");

        NEED_GIT();
        make_folder(s->home, ".ssh/hooks");
        make_file(s->home, "docs/secret", "");
        make_file(s->home, ".ssh/secret", "");
        make_link(s->home, "link", ".githooks");
        make_file(s->home, ".githooks/pre-commit", "#!/bin/sh\necho refused by the hook\nexit 1\n");
        assert_int_equal(chmod(hook, 0755), 0);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *users = replaced(cases[i].users ? cases[i].users : "", "%s", s->home),
                                    *own = replaced(cases[i].repositorys ? cases[i].repositorys : "", "%s",
                                                    s->home),
                                    *option = path_of(s->home, cases[i].option ? cases[i].option : ""),
                                    *noted = replaced(cases[i].note ? cases[i].note : "", "%s", s->home),
                                    *note = text_of(
                                            "nsrun: note: hooks are not run here: core.hooksPath names %s",
                                            noted),
                                    *global = text_of("[user]\nname=J\nemail=j@x\n%s%s%s",
                                                      *users ? "[core]\nhooksPath=\"" : "", users,
                                                      *users ? "\"\n" : ""),
                                    *local = text_of("[core]\nbare=false\n%s%s%s",
                                                     *own ? "hooksPath=\"" : "", own, *own ? "\"\n" : "");

                make_file(s->home, ".gitconfig", global);
                make_file(dot_git, "config", local);
                if (cases[i].option)
                        RUN(s, &o, "--ro", option, "--", "sh", "-c", commit);
                else
                        RUN(s, &o, "--", "sh", "-c", commit);
                (cases[i].runs ? expect_in : expect_not_in)(o.err, "refused by the hook");
                (cases[i].note ? expect_in : expect_not_in)(o.err, cases[i].note ? note : "nsrun:");
                expect_not_in(o.out, "secret");
                if (cases[i].runs)
                        expect_in(o.err, "githooks/pre-commit: Read-only file system");
        }
        /* Without a repository it is nobody's business. */
        make_file(s->home, ".gitconfig", "[core]\nhooksPath=~/docs\n");
        RUN(s, &o, "--no-project", "--", "ls", s->home);
        assert_string_equal(o.err, "");
        expect_not_in(o.out, "docs");
}

#define MOVED                                                                                \
        "nsrun: note: HEAD moved, and %s stayed on the host: a commit would take back what " \
        "HEAD has; git checkout HEAD -- "

/* git goes on where it can't unlink a file. */
TEST(protected_files_that_a_moved_head_has_otherwise_are_told) {
        const struct site *s = *state;
        _cleanup_free_ char *two = replaced(MOVED ".claude/skills/a .mcp.json\n", "%s", "2 protected files");
        _cleanup_outcome_ struct outcome o = {0};

        if (!has_program("git"))
                skip_because("skipped: git is not installed");
        make_repository(
                s, "git init -q -b main .; git config user.name J; git config user.email j@example.org\n"
                   "mkdir -p .claude/skills; echo 1 >.claude/skills/a; echo 1 >.envrc; echo 1 >f\n"
                   "git add -A; git commit -qm 1; git checkout -q -b two; echo 2 >.claude/skills/a\n"
                   "echo 2 >.mcp.json; echo 2 >f; git add -A; git commit -qm 2; git checkout -q main");
        /* .mcp.json is new: it is there first, and then kept aside. */
        RUN(s, &o, "--", "sh", "-c", "git checkout -q two 2>/dev/null; git log --format=%s -1");
        expect_out(&o, "2\n");
        expect_in(o.err, "/.mcp.json; --no-protect .mcp.json lets it stay\n");
        expect_in(o.err, two);
        make_repository(s, "git checkout HEAD -- .claude/skills/a .mcp.json; "
                           "[ -z \"$(git status --porcelain)\" ] && git checkout -q main");
        /* The same from another worktree, and from a session. */
        make_repository(s, "git worktree add -q ../wt; cd ../wt && git reset -q --hard main");
        RUN(s, &o, "--project", "wt", "--", "sh", "-c", "git checkout -q --detach two 2>/dev/null; true");
        expect_in(o.err, two);
        {
                _cleanup_free_ char *id = START_PLAIN(s);

                JOIN_SCRIPT(s, id, &o, "git merge -q --ff-only two 2>/dev/null; git reset -q --soft two");
                expect_in(o.err, ".claude/skills/a");
                end_session(s, id, "stop");
        }
        make_repository(s, "git reset -q --hard main");
        /* What the user has changed is none of HEAD's, nor is what the command commits beside it. */
        make_repository(s, "echo mine >.envrc; echo mine >.claude/skills/a");
        RUN(s, &o, "--", "sh", "-c", "echo 3 >f; git commit -qm 3 f; git checkout -q two 2>/dev/null; true");
        assert_string_equal(o.err, "");
}

/* Whatever it makes of its own version. */
TEST_WITH(a_version_that_is_no_file_leaves_the_hosts_as_it_was, setup, site_teardown) {
        static const struct {
                const char *script, *said;
        } cases[] = {
                {"ln -s /etc/passwd", "is no plain file"},
                {"mkfifo", "is no plain file"},
                {"mkdir", "is no plain file"},
                {"truncate -s 70M", "has more than 1 MiB"},
                {"echo '[evil' | tee", "git can't read the command's version of it"},
        };
        const struct site *s = *state;
        _cleanup_free_ char *config = path_of(s->project, ".git/config"), *before = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        before = file_text(config);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *after = NULL,
                                    *script = text_of("f=$(readlink .git/config) && rm $f && %s $f",
                                                      cases[i].script);

                RUN(s, &o, "--", "sh", "-c", script);
                expect_status(&o, 0);
                expect_in(o.err, cases[i].said);
                expect_in(o.err, ": nothing of it is carried: ");
                after = file_text(config);
                assert_string_equal(after, before);
        }
        /* A hard link is a file. */
        RUN(s, &o, "--", "sh", "-c", "f=$(readlink .git/config); ln $f $f.2; git config user.name Linked");
        assert_string_equal(o.err, "");
        run_outside(s, &o, "git config user.name");
        expect_out(&o, "Linked\n");
}

int main(void) {
        return run_all_tests();
}
