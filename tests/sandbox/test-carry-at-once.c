/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* git's configuration where several commands, and the host, write it at once. */
#include "repository.h"

/* Four at once, and the host, too.  Who doesn't get the lock for seconds keeps its key aside. */
TEST_WITH(whoever_writes_at_once_loses_no_key, repository_setup, site_teardown) {
        static const char inside[] =
                "git config branch.r$0.description x; : >ready$0; until [ -e go ]; do :; done";
        const struct site *s = *state;
        struct running running[4];
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        for (size_t i = 0; i < ARRAY_SIZE(running); i++) {
                char name[] = {(char)('0' + i), '\0'};
                const char **argv = nsrun_argv(s, OPTIONS("--", "sh", "-c", inside, name));

                spawn(&(struct request){.argv = argv, .cwd = s->project}, &running[i]);
                free(argv);
        }
        on_host(s,
                "for i in 0 1 2 3; do until [ -e ready$i ]; do :; done; done; : >go\n"
                "for i in $(seq 20); do until git config branch.h$i.description x 2>/dev/null; do :; done; done",
                &o);
        for (size_t i = 0; i < ARRAY_SIZE(running); i++) {
                _cleanup_outcome_ struct outcome end = {0};

                finish(&running[i], &end);
                expect_status(&end, 0);
        }
        on_host(s,
                "{ git config --get-regexp 'branch.[rh][0-9]*.description'; cat \"$XDG_STATE_HOME\"/nsrun/kept/*/*/entry; } 2>/dev/null |\n"
                "grep -c description; ls .git/*.lock 2>/dev/null || true",
                &o);
        expect_out(&o, "24\n");
}

/* Each case is what another run does meanwhile, to what is kept of an earlier one.  A value may be too long
 * for a parser of ours. */
TEST_WITH(what_another_run_keeps_meanwhile_stays, repository_setup, site_teardown) {
        static const struct {
                const char *script, *said, *kept;
        } cases[] = {{"git config alias.long $(printf %020000d 0)", "is kept aside: alias.long: ",
                      "[alias]\n\tother = \"x\"\n[nsrun]\n\tunset = \"alias.old\"\n"
                      "[alias]\n\tfirst = \"x\"\n[alias]\n\tlong = \"00000000000\n"},
                     {"git config --unset alias.first", "",
                      "[alias]\n\tother = \"x\"\n[nsrun]\n\tunset = \"alias.old\"\n"}};
        const struct site *s = *state;

        NEED_GIT();
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *script =
                        text_of("%s; >ready; until [ -e go ]; do :; done", cases[i].script);
                const char **argv = nsrun_argv(s, OPTIONS("--", "sh", "-c", script));
                struct running running;
                _cleanup_outcome_ struct outcome o = {0}, end = {0};

                on_host(s, "rm -rf go ready \"$XDG_STATE_HOME\"/nsrun/kept; git config alias.old x", &o);
                RUN(s, &o, "--", "git", "config", "alias.first", "x");
                spawn(&(struct request){.argv = argv, .cwd = s->project}, &running);
                free(argv);
                on_host(s, "until [ -e ready ]; do :; done", &o);
                RUN(s, &o, "--", "sh", "-c", "git config alias.other x; git config --unset alias.old");
                expect_in(o.err, "is kept aside: alias.old, alias.other: ");
                on_host(s, ">go", &o);
                finish(&running, &end);
                expect_in(end.err, cases[i].said);
                on_host(s, "cut -c 1-20 \"$XDG_STATE_HOME\"/nsrun/kept/*/*/entry", &o);
                expect_out(&o, cases[i].kept);
        }
}

/* Each key looked for among all others would take minutes, of whoever waits for the run's end. */
TEST_WITH(many_keys_of_two_runs_are_told_apart_at_once, repository_setup, site_teardown) {
        static const char inside[] = "cat one >>.git/config; >ready; until [ -e go ]; do :; done";
        const struct site *s = *state;
        const char **argv;
        struct running running;
        _cleanup_outcome_ struct outcome o = {0}, end = {0};

        NEED_GIT();
        on_host(s,
                "rm -rf go ready \"$XDG_STATE_HOME\"/nsrun/kept\n"
                "for n in one other; do { echo [$n]; seq -f k%.0f 50000; } >$n; done",
                &o);
        argv = nsrun_argv(s, OPTIONS("--", "sh", "-c", inside));
        spawn(&(struct request){.argv = argv, .cwd = s->project}, &running);
        free(argv);
        on_host(s, "until [ -e ready ]; do :; done", &o);
        RUN(s, &o, "--", "sh", "-c", "cat other >>.git/config; >go");
        expect_in(o.err, "is kept aside: other.k1, ");
        finish(&running, &end);
        expect_in(end.err, "is kept aside: one.k1, ");
        on_host(s, "grep -c k \"$XDG_STATE_HOME\"/nsrun/kept/*/*/entry", &o);
        expect_out(&o, "100000\n");
}

/* Whose versions are in memory has no run directory, and what is in them at the end is carried or kept as
 * ever; where one is needed for more they are there. */
TEST_WITH(versions_are_in_memory_where_there_is_no_run_directory, repository_setup, site_teardown) {
        static const struct {
                const char *option, *folders;
        } cases[] = {{"--tmp=tmpfs", "0\n"}, {"--tmp=scratch", "1\n"}};
        static const char inside[] =
                "git config branch.x.description $0; git config alias.x y; ls .git/hooks; echo x >.git/hooks/x; "
                ">ready; until [ -e go ]; do :; done";
        const struct site *s = *state;

        NEED_GIT();
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const char **argv =
                        nsrun_argv(s, OPTIONS(cases[i].option, "--", "sh", "-c", inside, cases[i].option));
                _cleanup_free_ char *out = text_of("%s\nx\n2\n", cases[i].option);
                _cleanup_outcome_ struct outcome o = {0}, end = {0};
                struct running running;

                on_host(s, "rm -rf go ready \"$XDG_STATE_HOME\"/nsrun/kept", &o);
                spawn(&(struct request){.argv = argv, .cwd = s->project}, &running);
                free(argv);
                on_host(s,
                        "until [ -e ready ]; do :; done; ls -d \"$XDG_CACHE_HOME\"/nsrun/workspace-* 2>/dev/null | wc -l",
                        &o);
                expect_out(&o, cases[i].folders);
                on_host(s, ">go", &o);
                finish(&running, &end);
                expect_out(&end, "");
                expect_in(end.err, "is kept aside: alias.x: ");
                expect_in(end.err, "what the command changed in this folder is kept aside: ");
                on_host(s,
                        "git config branch.x.description; cat \"$XDG_STATE_HOME\"/nsrun/kept/*/*/entry/x; ls \"$XDG_STATE_HOME\"/nsrun/kept/* | wc -l; ls .git/hooks/x 2>/dev/null || true",
                        &o);
                expect_out(&o, out);
        }
}

/* In memory there is nothing to be renamed to the store; and the folder of versions is the command's to
 * close. */
TEST_WITH(much_of_what_is_in_memory_is_kept_too, repository_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        on_host(s, "mkdir .claude; echo u >.claude/u", &o);
        RUN(s, &o, "--", "sh", "-c",
            "git config branch.x.description y; chmod 0 /.nsrun; head -c 20000000 /dev/zero >.claude/x");
        expect_status(&o, 0);
        expect_in(o.err, "what the command changed in this folder is kept aside: ");
        on_host(s,
                "git config branch.x.description; stat -c %s \"$XDG_STATE_HOME\"/nsrun/kept/*/1/entry/x; ls .claude",
                &o);
        expect_out(&o, "y\n20000000\nu\n");
}

/* Before there is a sandbox there are no versions to speak of, and one that is full takes nothing from the
 * host's. */
TEST_WITH(what_is_not_built_or_has_no_room_changes_nothing, repository_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        NEED_GIT();
        RUN(s, &o, "--chdir", "/nowhere", "--", "true");
        expect_refusal(&o, 125,
                       "nsrun: the working directory can't be entered: /nowhere: No such file or directory; "
                       "--chdir names a folder that the sandbox has");
        on_host(s, "cp .git/config before", &o);
        RUN(s, &o, "--tmpfs-size", "64K", "--", "sh", "-c",
            "head -c 100000 /dev/zero >.git/hooks/x 2>/dev/null; git config branch.x.description y 2>/dev/null");
        assert_int_not_equal(o.status, 0);
        on_host(s, "cmp .git/config before; ls .git/hooks | grep -v sample || true", &o);
        expect_out(&o, "");
}

int main(void) {
        return run_all_tests();
}
