/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hidden names: what --hide names can't be read by a command, whichever option shows the folder, whatever
 * the command does to it, and nothing of it changes on the host. */
#include "bash.h"
#include "session.h"

/* In the project: names to hide at several depths, and one beside each that stays. */
static void make_tree(const char *folder) {
        make_file(folder, ".env", "secret\n");
        make_file(folder, "env", "open\n");
        make_file(folder, "sub/.env", "secret\n");
        make_file(folder, "sub/x.pem", "secret\n");
        make_file(folder, "sub/x.txt", "open\n");
        make_file(folder, "secrets/a", "secret\n");
        make_file(folder, "sub/secrets/b", "secret\n");
}

static int setup(void **state) {
        const struct site *s;

        if (site_setup(state) != 0)
                return -1;
        s = *state;
        make_tree(s->project);
        return 0;
}

#define HIDE "--hide", ".env", "--hide=*.pem", "--hide", "secrets/"

/* Inside, at the top of such a tree: each file with its contents. */
static const char read_all[] = "find . -path ./.git -prune -o -type f -print | sort | while read -r f; do\n"
                               "  printf '%s ' $f; cat $f 2>/dev/null || echo no\n"
                               "done; ls -A secrets sub/secrets | grep . | tr '\\n' ' '";
static const char all[] = "./.env secret\n./env open\n./secrets/a secret\n./sub/.env secret\n"
                          "./sub/secrets/b secret\n./sub/x.pem secret\n./sub/x.txt open\n"
                          "secrets: a sub/secrets: b ";
static const char hidden[] = "./.env no\n./env open\n./sub/.env no\n./sub/x.pem no\n./sub/x.txt open\n"
                             "secrets: sub/secrets: ";

/* On the host, after a command. */
static void expect_kept(const char *folder) {
        static const char *const names[] = {".env", "sub/.env", "sub/x.pem", "secrets/a", "sub/secrets/b"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_free_ char *path = path_of(folder, names[i]), *text = file_text(path);
                struct stat st;

                assert_non_null(text);
                assert_string_equal(text, "secret\n");
                assert_int_equal(lstat(path, &st), 0);
                assert_int_equal(st.st_mode & 07777, 0644);
        }
}

TEST_WITH(whichever_option_shows_it_what_is_hidden_can_not_be_read, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *other = path_of(s->root, "other"), *alias = text_of("%s:/elsewhere", other),
                            *alias_rw = text_of("%s:/mnt/deep/elsewhere:rw", other),
                            *tmp = text_of("--tmp=%s", other);
        const struct {
                const char *option, *value, *where;
        } ways[] = {
                {"--ro", other, other},
                {"--rw", other, other},
                {"--overlay", other, other},
                {"--bind", alias, "/elsewhere"},
                {"--bind", alias_rw, "/mnt/deep/elsewhere"},
                {tmp, "--unsetenv=X", "/tmp"},
                {"--overlay", s->project, s->project},
                {"--ro", s->project, s->project},
                {"--unsetenv=X", "--unsetenv=Y", s->project},
        };
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->root, "other");
        make_tree(other);
        for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
                RUN(s, &o, ways[i].option, ways[i].value, "--chdir", ways[i].where, "--", "sh", "-c",
                    read_all);
                expect_status(&o, 0);
                expect_out(&o, all);
                RUN(s, &o, HIDE, ways[i].option, ways[i].value, "--chdir", ways[i].where, "--", "sh", "-c",
                    read_all);
                expect_status(&o, 0);
                expect_out(&o, hidden);
                assert_string_equal(o.err, "");
        }
        expect_kept(other);
        expect_kept(s->project);
}

/* Each line is one that must fail. */
static const char attack[] =
        "cat .env; chmod 644 .env; echo x >.env; : >.env; rm -f .env; mv .env e; mv env .env; ln .env e; ln -f env .env\n"
        "cp env .env; truncate -s 0 .env; mv sub moved; mv secrets moved; rmdir secrets; touch secrets/n\n"
        "chmod 755 secrets; mv sub/secrets s; cat /proc/self/root$PWD/.env; cat /proc/self/cwd/.env\n"
        "cat /proc/1/root$PWD/.env; exec 3<.env && cat <&3; mkdir secrets/d; mv -T env secrets; umount .env\n"
        "mount --bind . /tmp";

TEST_WITH(no_command_takes_it_away, setup, site_teardown) {
        static const char loop[] = "IFS=';\n'; for line in $ATTACK; do unset IFS\n"
                                   "  sh -c \"$line\" >/tmp/out 2>/dev/null && { echo \"worked: $line\"; }\n"
                                   "  grep -q secret /tmp/out && echo \"read: $line\"\n"
                                   "  IFS=';\n'\ndone; true";
        const struct site *s = *state;
        _cleanup_free_ char *variable = text_of("ATTACK=%s", attack);
        _cleanup_outcome_ struct outcome o = {0};

        for (int i = 0; i < 2; i++) {
                RUN(s, &o, HIDE, "--env", variable, i == 0 ? "--unsetenv=X" : "--overlay",
                    i == 0 ? "--unsetenv=Y" : s->project, "--", "sh", "-c", loop);
                expect_status(&o, 0);
                if (i == 0)
                        expect_out(&o, "");
                /* What an overlay holds is moved by copies, of which the hidden part is none. */
                expect_not_in(o.out, "read:");
                expect_not_in(o.out, ".env\n");
                expect_kept(s->project);
        }
        /* The control: without it the first line reads. */
        RUN(s, &o, "--env", "ATTACK=cat .env;chmod 644 .env", "--", "sh", "-c", loop);
        expect_out(&o, "worked: cat .env\nread: cat .env\nworked: chmod 644 .env\n");
}

/* In a user namespace of its own a command may mount, but what was there is locked (MNT_LOCKED). */
TEST_WITH(a_nested_namespace_does_not_uncover_it, setup, site_teardown) {
        static const char format[] =
                "%s sh -c 'umount .env; umount -l .env; umount secrets; mkdir /tmp/m; mount --bind . /tmp/m; "
                "mount --rbind . /tmp/m; umount /tmp/m/.env; umount -l /tmp/m/.env; mount -o remount,bind,rw .env; "
                "mount --move .env /tmp/m/env; "
                "mount -t overlay -o lowerdir=.:/tmp,userxattr o /tmp/m; "
                "chmod 644 .env /tmp/m/.env; cat .env secrets/* /tmp/m/.env /tmp/m/secrets/*; cat env' 2>/dev/null";
        const struct site *s = *state;
        /* Root's own id can't be mapped again. */
        _cleanup_free_ char *script =
                text_of(format, geteuid() == 0 ? "unshare -Um --keep-caps" : "unshare -Urm");
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--seccomp=nested", "--", "sh", "-c", script);
        expect_in(o.out, "secret\n");
        RUN(s, &o, HIDE, "--seccomp=nested", "--", "sh", "-c", script);
        expect_out(&o, "open\n");
}

TEST_WITH(what_a_link_of_that_name_leads_to_is_hidden_and_so_are_hard_links, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->project, "sub/x.pem"), *hard = path_of(s->project, "hard"),
                            *far = path_of(s->root, "far");
        _cleanup_outcome_ struct outcome o = {0};
        const char *const script =
                "cat config loop/env hard link to sub/secrets/b 2>/dev/null; echo; readlink .env.local; ls loop";

        make_file(s->project, "config", "secret\n");
        make_link(s->project, ".env.local", "config");
        make_link(s->project, "loop", ".");
        make_link(s->project, "link", "sub/x.pem");
        make_link(s->project, "to", "secrets/a");
        assert_int_equal(link(file, hard), 0);
        RUN(s, &o, "--", "sh", "-c", "cat config hard link to");
        expect_out(&o, "secret\nsecret\nsecret\nsecret\n");
        /* "loop" leads to what holds everything. */
        RUN(s, &o, HIDE, "--hide=.env.*", "--hide=loop", "--", "sh", "-c", script);
        expect_status(&o, 0);
        expect_in(o.out, "open\n\nconfig\n");
        expect_not_in(o.out, "secret\n");
        /* A name outside of what is shown is told of. */
        assert_int_equal(rename(hard, far), 0);
        {
                _cleanup_free_ const char **argv = nsrun_argv(s, OPTIONS(HIDE, "--", "true"));

                argv[1] = "plan";
                outcome_clear(&o);
                run(&(struct request){.argv = argv, .cwd = s->root}, &o);
                expect_in(o.out, "\nhidden      .env *.pem secrets/\n");
                expect_in(o.out, "  an unreadable file, 1 other name of the file not found\n");
                expect_in(o.out, "  an empty folder\n");
        }
}

TEST_WITH(a_name_at_the_top_does_not_hide_the_systems_folder, setup, site_teardown) {
        static const char *const globs[] = {"--hide=/lib", "--hide=/lib/", "--hide=/lib/**"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->project, "lib/a", "secret\n");
        RUN(s, &o, "--hide=/env", "--", "cat", "lib/a");
        expect_out(&o, "secret\n");
        for (size_t i = 0; i < ARRAY_SIZE(globs); i++) {
                RUN(s, &o, globs[i], "--", "sh", "-c", "cat lib/a 2>/dev/null; cat env");
                expect_status(&o, 0);
                expect_out(&o, "open\n");
        }
}

/* At the top of the sandbox nsrun keeps a file of its own while it builds. */
TEST_WITH(a_mount_point_may_have_any_name_beside_hidden_ones, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *first = text_of("%s/env:/.nsrun-hidden:ro", s->project),
                            *second = text_of("%s/env:/.nsrun-hidden-1/x:ro", s->project);
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, HIDE, "--bind", first, "--bind", second, "--", "sh", "-c",
            "cat /.nsrun-hidden /.nsrun-hidden-1/x; cat .env 2>/dev/null; ls -A / | grep -c nsrun");
        expect_status(&o, 0);
        expect_out(&o, "open\nopen\n2\n");
}

TEST_WITH(a_hard_link_to_a_file_in_a_hidden_folder_is_hidden, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->project, "secrets/deep/b"),
                            *hard = path_of(s->project, "hard"),
                            *other = path_of(s->project, "secrets/again"),
                            *open = path_of(s->project, "env"), *open_hard = path_of(s->project, "env2");
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->project, "secrets/deep/b", "secret\n");
        assert_int_equal(link(file, hard), 0);
        assert_int_equal(link(file, other), 0);
        assert_int_equal(link(open, open_hard), 0);
        RUN(s, &o, "--", "cat", "hard", "env2");
        expect_out(&o, "secret\nopen\n");
        RUN(s, &o, "--hide=secrets/", "--", "sh", "-c", "cat hard 2>/dev/null; ls -A secrets; cat env2");
        expect_status(&o, 0);
        expect_out(&o, "open\n");
        /* All three names are found. */
        {
                _cleanup_free_ const char **argv = nsrun_argv(s, OPTIONS("--hide=secrets/", "--", "true"));

                argv[1] = "plan";
                outcome_clear(&o);
                run(&(struct request){.argv = argv, .cwd = s->root}, &o);
                expect_in(o.out, "/hard");
                expect_not_in(o.out, "of the file not found");
        }
}

/* A glob for folders takes a symlink for what it leads to. */
TEST_WITH(a_link_to_a_folder_is_hidden_as_a_folder, setup, site_teardown) {
        static const char *const globs[] = {"--hide=keys/", "--hide=keys/**", "--hide=/keys/"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->project, "real/a", "secret\n");
        make_link(s->project, "keys", "real");
        make_link(s->project, "sub/keys", "../env");
        RUN(s, &o, "--", "cat", "keys/a", "real/a", "sub/keys");
        expect_out(&o, "secret\nsecret\nopen\n");
        for (size_t i = 0; i < ARRAY_SIZE(globs); i++) {
                RUN(s, &o, globs[i], "--", "sh", "-c", "cat keys/a real/a sub/keys 2>/dev/null; true");
                expect_status(&o, 0);
                expect_out(&o, "open\n");
        }
}

/* Moved from where it is covered to where another rule shows it. */
TEST_WITH(it_is_not_moved_to_where_another_rule_would_show_it, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *alias = text_of("%s/shown:/shown", s->project);
        _cleanup_outcome_ struct outcome o = {0};
        const char *const script = "mv sub shown/sub 2>/dev/null; cat shown/sub/x.pem /shown/sub/x.pem; "
                                   "cat /shown/.env; mv env shown/ && cat /shown/env";

        make_file(s->project, "shown/.env", "secret\n");
        RUN(s, &o, HIDE, "--bind", alias, "--", "sh", "-c", script);
        expect_not_in(o.out, "secret\n");
        expect_out(&o, "open\n");
}

TEST_WITH(it_wins_over_every_exposure_and_a_path_is_hidden_anywhere, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->project, "sub/x.pem"),
                            *folder = path_of(s->project, "secrets"),
                            *elsewhere = text_of("%s/secrets/a:/elsewhere", s->project),
                            *fake = text_of("%s/fake:%s/.env", s->root, s->project),
                            *below = text_of("%s:%s/secrets/d:ro", s->outside, s->project),
                            *line = text_of(
                                    "nsrun: the target lies in a folder that --hide hides: %s/secrets/d: "
                                    "Operation not permitted; choose another place for it, or hide less",
                                    s->project),
                            *absolute = text_of("--hide=%s/su*/*.pem", s->project);
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, HIDE, "--ro", file, "--rw", folder, "--bind", elsewhere, "--", "sh", "-c",
            "cat sub/x.pem secrets/a /elsewhere; ls -A secrets; stat -c %A /elsewhere");
        expect_out(&o, "----------\n");
        /* A path of the system's own. */
        RUN(s, &o, "--hide=/usr/bin/env", "--hide=/etc/ld.so.c*", "--", "sh", "-c",
            "stat -c '%A %s' /usr/bin/env; /usr/bin/env || echo $?; cat /etc/ld.so.cache 2>&1");
        expect_out(&o, "---------- 0\n126\ncat: /etc/ld.so.cache: Permission denied\n");
        RUN(s, &o, absolute, "--hide=/sub/.env", "--", "sh", "-c",
            "cat sub/x.pem sub/.env 2>/dev/null; cat .env sub/x.txt");
        expect_out(&o, "secret\nopen\n");
        /* Something else in its place is the user's own choice. */
        make_file(s->root, "fake", "fake\n");
        RUN(s, &o, HIDE, "--bind", fake, "--", "cat", ".env");
        expect_out(&o, "fake\n");
        RUN(s, &o, HIDE, "--bind", below, "--", "true");
        expect_refusal(&o, 125, line);
}

TEST(what_is_no_glob_is_refused) {
        static const char hint[] = "; it has no empty part, '.' or '..', and doesn't begin with '!'";
        static const char *const globs[] = {"", "/", "./.env", "a/../b", "!a", "a//b", "a\\"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(globs); i++) {
                _cleanup_free_ char *line =
                        text_of("nsrun: --hide: not a glob of names to hide%s%s%s; see 'nsrun run --help'",
                                *globs[i] ? ": " : "", globs[i], hint);

                RUN(s, &o, "--hide", globs[i], "--", "true");
                expect_refusal(&o, 125, line);
        }
        RUN(s, &o, "--no-sandbox", "--hide", ".env", "--", "true");
        assert_int_equal(o.status, 125);
        expect_in(o.err, "--hide");
}

/* What can't be looked through may hold what is named. */
TEST_IF(geteuid() != 0, a_folder_that_can_not_be_looked_through_is_hidden, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *closed = path_of(s->project, "sub");
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(chmod(closed, 0), 0);
        RUN(s, &o, HIDE, "--", "sh", "-c",
            "chmod 755 sub 2>/dev/null; cat sub/.env 2>/dev/null; ls -A sub; echo end");
        expect_out(&o, "end\n");
        /* It can be opened, where nothing is asked of what is in it. */
        RUN(s, &o, "--hide=/secrets", "--", "sh", "-c", "chmod 755 sub && cat sub/.env");
        expect_out(&o, "secret\n");
}

/* What is said by its letters can be looked for without a list. */
TEST_IF(geteuid() != 0, in_a_folder_that_can_not_be_listed_a_path_is_hidden, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *closed = path_of(s->project, "sub"), *a = text_of("%s/a\\[1]", s->outside),
                            *line = text_of(
                                    "nsrun: the folder can't be looked through for names to hide: %s: "
                                    "Permission denied",
                                    s->outside);
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "a[1]", "secret\n");
        make_file(s->outside, "b", "open\n");
        assert_int_equal(chmod(closed, 0311) | chmod(s->outside, 0311), 0);
        RUN(s, &o, "--hide=/sub/.env", "--ro", s->outside, "--hide", a, "--", "sh", "-c",
            "cat sub/.env \"$0/a[1]\"; cat sub/x.pem \"$0/b\"", s->outside);
        expect_out(&o, "secret\nopen\n");
        RUN(s, &o, "--ro", s->outside, "--hide=*.pem", "--", "true");
        assert_int_equal(chmod(closed, 0755) | chmod(s->outside, 0755), 0);
        expect_refusal(&o, 125, line);
}

TEST_WITH(bash_and_a_configuration_hide_too, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *config = path_of(s->root, "config.json"),
                            *option = text_of("--config=%s", config);
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->root, "config.json", "{\"hide\": [\".env\", \"secrets/**\"]}");
        assert_int_equal(chmod(config, 0600), 0);
        BASH(s, &o, HIDE, "cat .env sub/x.pem; ls -A secrets; cat env");
        expect_in(o.out, "open\n");
        expect_not_in(o.out, "secret\n");
        RUN(s, &o, option, "--", "sh", "-c", "cat .env secrets/a sub/.env; cat sub/x.pem");
        expect_out(&o, "secret\n");
        make_file(s->root, "config.json", "{\"hide\": \".env\"}");
        RUN(s, &o, option, "--", "true");
        assert_int_equal(o.status, 125);
        expect_in(o.err, "an array of globs");
}

static void set_home(void *home) {
        (void)setenv("HOME", home, 1);
}

/* Of the home folder, whose own path has bytes that a glob takes for wildcards. */
TEST_WITH(a_configuration_hides_below_the_home_folder, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *home = path_of(s->root, "h[o]*"), *shown = path_of(home, "t"),
                            *config = path_of(s->root, "config.json"),
                            *option = text_of("--config=%s", config);
        _cleanup_free_ const char **argv =
                nsrun_argv(s, OPTIONS(option, "--ro", shown, "--chdir", shown, "--", "sh", "-c",
                                      "cat netrc s/a b.key other 2>/dev/null; true"));
        const struct request request = {.argv = argv, .cwd = s->root, .in_child = set_home, .data = home};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->root, "h[o]*");
        make_folder(home, "t");
        make_file(shown, "netrc", "secret\n");
        make_file(shown, "s/a", "secret\n");
        make_file(shown, "b.key", "secret\n");
        make_file(shown, "other", "open\n");
        make_file(s->root, "config.json", "{\"hide\": []}");
        assert_int_equal(chmod(config, 0600), 0);
        run(&request, &o);
        expect_out(&o, "secret\nsecret\nsecret\nopen\n");
        make_file(s->root, "config.json", "{\"hide\": [\"~/t/netrc\", \"~/t/s/\", \"~/t/*.key\"]}");
        outcome_clear(&o);
        run(&request, &o);
        expect_status(&o, 0);
        expect_out(&o, "open\n");
}

TEST(a_tilde_that_no_shell_has_read_is_refused) {
        static const char *const globs[] = {"~", "~/.netrc"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(globs); i++) {
                _cleanup_free_ char *line =
                        text_of("nsrun: --hide: no shell has made a path of '~': %s; write the path, or "
                                "'\\~' for a name that begins so; see 'nsrun run --help'",
                                globs[i]);

                RUN(s, &o, "--hide", globs[i], "--", "true");
                expect_refusal(&o, 125, line);
        }
        make_file(s->project, "~", "secret\n");
        RUN(s, &o, "--hide=\\~", "--", "cat", "~");
        assert_int_equal(o.status, 1);
        assert_string_equal(o.out, "");
}

/* What an option names is hidden by that name, too: through a link, a folder, and the name inside. */
TEST_WITH(what_an_option_shows_is_hidden_by_its_own_name, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *other = path_of(s->root, "other"), *file = path_of(other, "real"),
                            *file_link = path_of(other, ".env"),
                            *folder_link = path_of(other, "link/secrets"),
                            *folder = path_of(other, "secrets"),
                            *elsewhere = text_of("%s:/elsewhere:ro", folder),
                            *renamed = text_of("%s/plain:/secrets:ro", other),
                            *file_renamed = text_of("%s:/x.pem", file);
        const struct {
                const char *option, *value, *path;
        } ways[] = {
                {"--ro", file_link, file_link},     {"--rw", file_link, file},
                {"--ro", folder_link, folder_link}, {"--ro", folder, folder},
                {"--overlay", folder, folder},      {"--bind", elsewhere, "/elsewhere"},
                {"--bind", renamed, "/secrets"},    {"--bind", file_renamed, "/x.pem"},
        };
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->root, "other");
        make_file(other, "real", "secret\n");
        make_file(other, "secrets/a", "secret\n");
        make_file(other, "plain/a", "secret\n");
        make_link(other, ".env", "real");
        make_link(other, "link/secrets", "../plain");
        for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
                _cleanup_free_ char *script =
                        text_of("cat %s %s/a 2>/dev/null; true", ways[i].path, ways[i].path);

                RUN(s, &o, ways[i].option, ways[i].value, "--", "sh", "-c", script);
                expect_out(&o, "secret\n");
                RUN(s, &o, HIDE, ways[i].option, ways[i].value, "--", "sh", "-c", script);
                expect_status(&o, 0);
                expect_out(&o, "");
        }
        /* A path from the top of an exposed folder isn't that folder. */
        {
                _cleanup_free_ char *inside = path_of(folder, "a");

                RUN(s, &o, "--hide=/secrets", "--ro", folder, "--", "cat", inside);
                expect_out(&o, "secret\n");
        }
}

TEST_WITH(a_project_that_is_hidden_itself_is_refused, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *name = text_of("--hide=%s/", strrchr(s->project, '/') + 1),
                            *top = text_of("--hide=/%s", strrchr(s->project, '/') + 1),
                            *line = text_of("nsrun: --hide hides the project itself: %s; hide less, or name "
                                            "what is in it by a path (/NAME)",
                                            s->project);
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, name, "--", "true");
        expect_refusal(&o, 125, line);
        RUN(s, &o, top, "--", "cat", "env");
        expect_out(&o, "open\n");
}

TEST_WITH(a_resolved_path_knows_what_is_hidden, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *path = path_of(s->project, "sub/x.pem");
        _cleanup_free_ const char **argv = nsrun_argv(s, OPTIONS(HIDE, "--read", path));
        _cleanup_free_ const char **control = nsrun_argv(s, OPTIONS("--read", path));

        argv[1] = control[1] = "resolve";
        run(&(struct request){.argv = control, .cwd = s->root}, &o);
        expect_status(&o, 0);
        outcome_clear(&o);
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        assert_int_equal(o.status, 1);
        expect_in(o.err, "nsrun: the path is hidden: ");
}

/* ---------------------------------------------------------------------- sessions */

TEST_WITH(a_session_neither_shows_nor_commits_it, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, HIDE, "--overlay", s->project),
                            *env = path_of(s->project, "sub/.env"), *kept = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        JOIN_SCRIPT(
                s, id, &o,
                "cat .env; echo x >.env; rm -rf sub secrets; mkdir -p sub; echo new >sub/new; cat sub/.env");
        expect_out(&o, "");
        SESSION(s, &o, "diff", "--patch", id);
        expect_status(&o, 0);
        expect_in(o.out, "new");
        expect_not_in(o.out, "secret\n");
        expect_not_in(o.out, ".env");
        expect_not_in(o.out, ".pem");
        SESSION(s, &o, "commit", id);
        expect_status(&o, 0);
        kept = file_text(env);
        assert_string_equal(kept, "secret\n");
        end_session(s, id, "stop");
}

/* An editor that saves by a rename: the cover goes with the old file. */
TEST_WITH(a_session_whose_hidden_file_was_replaced_takes_no_more_commands, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char
                *id = START(s, HIDE),
                *new = path_of(s->project, "new"), *env = path_of(s->project, ".env"),
                *line = text_of("nsrun: a hidden name was replaced on the host, so that the session shows "
                                "it: %s: Stale file handle; stop the session and start another one",
                                env);
        _cleanup_outcome_ struct outcome o = {0};

        expect_good_join(s, id, "cat .env 2>/dev/null || echo no", "no\n");
        /* Written in place it stays hidden. */
        make_file(s->project, ".env", "secret two\n");
        expect_good_join(s, id, "cat .env 2>/dev/null || echo no", "no\n");
        make_file(s->project, "new", "secret three\n");
        assert_int_equal(rename(new, env), 0);
        JOIN_SCRIPT(s, id, &o, "cat .env");
        expect_refusal(&o, 125, line);
        end_session(s, id, "stop");
}

TEST_WITH(a_run_says_that_a_hidden_file_was_replaced, setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *new = path_of(s->root, "new"), *env = path_of(s->project, ".env"),
                            *go = path_of(s->project, "go"),
                            *line = text_of(
                                    "nsrun: note: a hidden name was replaced on the host while the command "
                                    "ran, which could read what is there now: %s\n",
                                    env);
        const char **argv = nsrun_argv(
                s, OPTIONS(HIDE, "--", "sh", "-c", "echo ready; while [ ! -e go ]; do sleep 0.02; done"));
        struct running r;
        struct outcome o = {0};

        make_file(s->root, "new", "secret\n");
        spawn(&(struct request){.argv = argv, .cwd = s->root}, &r);
        free(argv);
        free(read_line(r.out));
        assert_int_equal(rename(new, env), 0);
        make_file(s->project, "go", "");
        finish(&r, &o);
        expect_status(&o, 0);
        assert_string_equal(o.err, line);
        outcome_clear(&o);
        (void)go;
}

/* In an overlay the cover stays where it is, and the file is seen under its new name. */
TEST_WITH(a_hidden_file_that_is_moved_below_an_overlay_is_told_of, setup, site_teardown) {
        static const char *const ways[][2] = {{"--overlay", NULL}, {"--protect", "strict"}};
        const struct site *s = *state;
        _cleanup_free_ char
                *moved = path_of(s->project, "moved"),
                *env = path_of(s->project, ".env"),
                *refusal =
                        text_of("nsrun: a hidden name was moved or removed on the host, so that the session "
                                "may show it under another one: %s: Stale file handle; stop the session and "
                                "start another one",
                                env),
                *note = text_of("nsrun: note: a hidden name was moved or removed on the host while the "
                                "command ran, which could read it under another one: %s\n",
                                env);
        for (size_t i = 0; i < 3; i++) {
                const char *option = i < 2 ? ways[i][0] : "--unsetenv", *value = i < 2 ? ways[i][1] : "X";
                _cleanup_free_ const char **argv = NULL;
                _cleanup_free_ char *id = NULL;
                _cleanup_outcome_ struct outcome o = {0};
                struct running r;
                int ends[2];

                value = value ? value : s->project;
                argv = nsrun_argv(s, OPTIONS(HIDE, option, value, "--", "sh", "-c",
                                             "echo ready; read -r line || true"));
                id = START(s, HIDE, option, value);
                expect_good_join(s, id, "cat .env 2>/dev/null || echo no", "no\n");
                assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
                spawn(&(struct request){.argv = argv, .cwd = s->root, .standard_input = ends[0]}, &r);
                (void)close(ends[0]);
                free(read_line(r.out));
                assert_int_equal(rename(env, moved), 0);
                (void)close(ends[1]);
                finish(&r, &o);
                expect_status(&o, 0);
                /* The control: in a bind the cover goes along. */
                assert_string_equal(o.err, i < 2 ? note : "");
                JOIN_SCRIPT(s, id, &o, "cat moved 2>/dev/null || echo no");
                if (i < 2)
                        expect_refusal(&o, 125, refusal);
                else
                        expect_out(&o, "no\n");
                end_session(s, id, "stop");
                assert_int_equal(rename(moved, env), 0);
        }
}

int main(void) {
        return run_all_tests();
}
