/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --log and `nsrun log`: what was run is written down as it happens, where no command reaches it, and a line
 * that is missing is seen. */
#include "bash.h"
#include "repository.h"
#include "session.h"

#define LOG "\"$XDG_STATE_HOME\"/nsrun/log/"

#define UNCHANGED                                                                                                   \
        "nsrun: note: no line of the log was changed or taken out; calls that were refused are in it of runs with " \
        "--explain or --report\n"

static void print_log(const struct site *s, struct outcome *o, const char *options) {
        _cleanup_free_ char *text = text_of("%s log %s", program(), options);

        run_outside(s, o, text);
}

TEST(a_run_is_written_down_from_begin_to_end) {
        static const char script[] = "echo out; mkdir .vscode; echo a >.vscode/a; exit 3";
        const struct site *s = *state;
        _cleanup_free_ char *begin = text_of("  begin sh -c '%s'; cwd %s\n", script, s->project),
                            *kept = text_of("puts it back): %s/.vscode\n", s->project);
        _cleanup_outcome_ struct outcome o = {0}, log = {0};

        print_log(s, &log, "");
        expect_status(&log, 125);
        assert_string_equal(log.err, "nsrun: nothing was written down yet; --log, or \"log\": true in the "
                                     "configuration, does so\n");
        RUN(s, &o, "--", "true");
        print_log(s, &log, "");
        expect_status(&log, 125);
        RUN(s, &o, "--log", "--", "sh", "-c", script);
        expect_status(&o, 3);
        RUN(s, &o, "--log", "--", "/nonexistent");
        expect_status(&o, 127);
        print_log(s, &log, "");
        expect_status(&log, 0);
        expect_in(log.out, begin);
        expect_in(log.out, kept);
        expect_in(log.out, "  exited code 3\n");
        expect_in(log.out, "  begin /nonexistent; cwd ");
        expect_in(log.out, "  failed command not found in the sandbox: /nonexistent");
        assert_string_equal(log.err, UNCHANGED);
        print_log(s, &log, "--project / --json");
        expect_status(&log, 0);
        expect_out(&log, "");
}

/* Whoever starts commands otherwise; and the plan is the one that is printed. */
TEST(commands_of_every_kind_are_written_down) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0}, log = {0};
        _cleanup_free_ char *id = NULL, *options = NULL, *joined = NULL, *same = NULL, *grants = NULL;

        BASH(s, &o, "--log", "--", "echo of bash; exit 4");
        id = START(s, "--log");
        JOIN_SCRIPT(s, id, &o, "echo of a session");
        grants = text_of("%s grant %s --ro %s; %s revoke %s", program(), id, s->outside, program(), id);
        run_outside(s, &o, grants);
        SESSION(s, &o, "stop", id);
        collect_orphans();
        print_log(s, &log, "");
        expect_in(log.out, "  begin bash -c -- 'echo of bash; exit 4' bash; cwd ");
        expect_in(log.out, "  exited code 4\n");
        expect_in(log.out, "  -  granted ");
        expect_in(log.out, "  -  revoked sandbox ");
        options = text_of("--session %s", id);
        joined = text_of("session %s\n", id);
        print_log(s, &log, options);
        expect_in(log.out, "  begin a session; cwd ");
        /* Its own, and the command's. */
        assert_non_null(strstr(strstr(log.out, "  exited ") + 1, "  exited "));
        print_log(s, &log, options);
        expect_in(log.out, "echo of a session");
        expect_in(log.out, joined);
        expect_not_in(log.out, "of bash");
        on_host(s,
                "mkdir -p \"$HOME\"/.config/nsrun; echo '{\"log\":true}' >\"$HOME\"/.config/nsrun/config.json",
                &o);
        same = text_of(
                "cd %s; %s run -- echo by configuration\n"
                "grep -c \"$(%s plan --format=json -- echo by configuration | sha256sum | grep -o '^[0-9a-f]*')\" " LOG
                "current",
                s->project, program(), program());
        run_outside(s, &o, same);
        expect_out(&o, "by configuration\n1\n");
        print_log(s, &log, "");
        expect_in(log.out, "  begin echo by configuration; cwd ");
}

/* What a person takes over, and that a command had no more time. */
TEST(the_log_tells_of_commits_and_of_deadlines) {
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL, *told = NULL;
        _cleanup_outcome_ struct outcome o = {0}, log = {0};

        RUN(s, &o, "--log", "--timeout=1", "--", "sleep", "1000");
        expect_status(&o, 124);
        print_log(s, &log, "");
        expect_in(log.out, "  exited signal 15, timed_out\n");
        /* What didn't start didn't end. */
        told = text_of("rm " LOG
                       "current; XDG_CACHE_HOME=/proc/nsrun %s run --log --project %s --overlay %s "
                       "--overlay-backing=disk -- true",
                       program(), s->project, s->project);
        run_outside(s, &o, told);
        free(told);
        told = NULL;
        print_log(s, &log, "");
        expect_in(log.out, "  failed ");
        expect_not_in(log.out, "exited");
        id = START(s, "--overlay", s->project, NULL);
        JOIN_SCRIPT(s, id, &o, "echo x >a; echo x >b");
        NSRUN(s, &o, "session", "commit", id);
        expect_status(&o, 0);
        told = text_of("  -  committed 2 paths: session %s\n", id);
        print_log(s, &log, "");
        expect_in(log.out, told);
        end_session(s, id, "stop");
}

/* Each line has the digest of the one before, also where many write at once, one was killed, or a line was
 * cut. */
TEST(a_line_that_is_missing_is_seen) {
        static const char many[] =
                "for i in 1 2 3 4 5 6 7 8; do %s run --log -- echo $i & done >/dev/null 2>&1; wait\n"
                "%s run --log -- sh -c '>ready; exec sleep 1000' & p=$!\n"
                "until [ -e ready ]; do :; done; kill -9 $p; wait $p; rm ready; %s run --log -- true",
                          *const changes[] = {"sed -i 3d", "sed -i '2s/echo/exec/'", "sed -i '1!G;h;$!d'",
                                              "sed -i 1d", "sed -i 1,5d"},
                          *const ends[] = {"sed -i '$d'", "sed -i '$s/code 0/code 1/;$s/:0}/:1}/'",
                                           "truncate -s 0"};
        const struct site *s = *state;
        _cleanup_free_ char *text = text_of(many, program(), program(), program());
        _cleanup_outcome_ struct outcome o = {0}, log = {0};

        run_outside(s, &o, text);
        collect_orphans();
        print_log(s, &log, "--json");
        expect_status(&log, 0);
        assert_string_equal(log.err, "");
        on_host(s,
                "grep -c '\"event\":\"begin\"' " LOG "current; grep -c '\"event\":\"exited\"' " LOG
                "current; cp " LOG "current " LOG "whole",
                &o);
        expect_out(&o, "10\n9\n");
        for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
                _cleanup_free_ char *change =
                        text_of("cp " LOG "whole " LOG "current; %s " LOG "current", changes[i]);

                on_host(s, change, &o);
                print_log(s, &log, "");
                expect_status(&log, 1);
                expect_in(log.err,
                          "nsrun: the line before the next was changed, or lines there were taken out\n");
        }
        /* Of the last line the digest is written down, and what comes later hides no change of it. */
        for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
                _cleanup_free_ char *change =
                        text_of("rm " LOG "current; cp " LOG "whole " LOG "current; %s " LOG
                                "current; cp " LOG "last " LOG "end",
                                ends[i]);

                on_host(s, change, &o);
                print_log(s, &log, "");
                expect_status(&log, 1);
                expect_in(log.err, "nsrun: the last line was changed, or lines behind it were taken out\n");
                RUN(s, &o, "--log", "--", "true");
                expect_status(&o, 0);
                print_log(s, &log, "");
                expect_status(&log, 1);
                expect_in(log.err,
                          "nsrun: the line before the next was changed, or lines there were taken out\n");
                on_host(s, "mv " LOG "end " LOG "last", &o);
        }
}

/* A file is full with 16 MiB; its last line is in the next one's chain. */
TEST(a_full_log_is_kept_beside_a_new_one) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0}, log = {0};

        RUN(s, &o, "--log", "--", "true");
        on_host(s,
                "head -c 17000000 /dev/zero | tr '\\0' ' ' | fold -w 60000 >>" LOG "current; echo >>" LOG
                "current",
                &o);
        RUN(s, &o, "--log", "--", "echo", "new");
        RUN(s, &o, "--log", "--", "echo", "newer");
        on_host(s, "ls " LOG "; grep -c . <" LOG "current", &o);
        expect_in(o.out, "current\nlast\nlock\nprevious\n4\n");
        print_log(s, &log, "");
        expect_status(&log, 1); /* the blanks aren't chained, and the rest is */
        on_host(s, "rm " LOG "previous", &o);
        print_log(s, &log, "");
        expect_status(&log, 1);
        expect_in(log.out, "  begin echo new; cwd ");
        expect_in(log.out, "  begin echo newer; cwd ");
}

/* No command starts that should be written down and can't be; none reaches the log. */
TEST_IF(geteuid() != 0, what_can_not_be_written_down_is_not_run, site_setup, site_teardown) {
        static const char refused[] =
                "nsrun: the run can't be written to the log, as --log asks for: Permission denied; "
                "look at $XDG_STATE_HOME/nsrun/log, or leave --log out\n";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *log = text_of("%s/nsrun/log", s->state);

        RUN(s, &o, "--log", "--", "true");
        expect_status(&o, 0);
        on_host(s, "chmod 0 " LOG "current", &o);
        RUN(s, &o, "--log", "--", "sh", "-c", "echo ran >ran");
        expect_status(&o, 125);
        assert_string_equal(o.err, refused);
        on_host(s, "ls; chmod 600 " LOG "current", &o);
        expect_out(&o, "");
        RUN(s, &o, "--log", "--rw", log, "--", "true");
        expect_status(&o, 125);
        RUN(s, &o, "--log", "--", "ls", log);
        expect_in(o.err, "No such file or directory");
}

/* What doesn't go into a line is said to be cut; who has the lock, and keeps it, stops nobody for ever. */
TEST(a_long_command_is_cut_and_says_so) {
        static const char many[] =
                "%s run --log -- true $(seq 30000); %s run --log -- sh -c \": $(head -c 9000 /dev/zero "
                "| tr '\\0' x); true\"; %s log | grep -c '  begin .* \\.\\.\\.; cwd '; %s log --project . | grep -c .";
        const struct site *s = *state;
        _cleanup_free_ char *text = text_of(many, program(), program(), program(), program());
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, text);
        assert_string_equal(o.err, UNCHANGED UNCHANGED);
        expect_out(&o, "2\n4\n");
        on_host(s,
                "(flock 9; >ready; exec sleep 1000) 9>>" LOG
                "lock >/dev/null 2>&1 & echo $! >pid; until [ -e ready ]; do :; done",
                &o);
        RUN(s, &o, "--log", "--", "true");
        expect_status(&o, 125);
        expect_in(
                o.err,
                "nsrun: the run can't be written to the log, as --log asks for: Device or resource busy; ");
        on_host(s, "kill $(cat pid); rm " LOG "lock " LOG "current", &o);
        collect_orphans();
        print_log(s, &o, "");
        expect_status(&o, 1);
        assert_string_equal(o.err, "nsrun: the last line was changed, or lines behind it were taken out\n");
        on_host(s, "rm " LOG "last", &o);
        print_log(s, &o, "");
        expect_status(&o, 125);
}

int main(void) {
        return run_all_tests();
}
