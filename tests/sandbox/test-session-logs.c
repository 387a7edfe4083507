/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands that a session runs in the background: their logs, and how they end. */
#include "detach.h"

/* --------------------------------------------------------------------- logs */

TEST_IN_ALL_MODES(a_log_is_read_while_the_command_runs_and_later) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        const char *const follow[] = {program(), "session", "logs", "--follow", id, "job1", NULL};
        _cleanup_outcome_ struct outcome o = {0}, followed = {0};
        struct running running;

        DETACH(s, id, &o, "--until", "one",
               "echo one; echo two >&2; " UNTIL_GO("begun") "echo three; exit 4");
        expect_status(&o, 0);
        await_log(s, id, "job1", "two\n");
        spawn(&(struct request){.argv = follow, .cwd = s->root}, &running);
        for (const char *const *line = OPTIONS("one\n", "two\n"); *line; line++) {
                await_line(running.out, *line);
        }
        assert_false(has_ended(running.pidfd));
        SESSION(s, &o, "logs", id);
        expect_in(o.out, " running ");
        expect_in(o.out, " echo one; ");
        make_file(s->project, "go", "");
        finish(&running, &followed);
        expect_status(&followed, 0);
        expect_out(&followed, "three\n");
        expect_log(s, id, "job1", "one\ntwo\nthree\n");
        SESSION(s, &o, "logs", id);
        expect_in(o.out, "NAME         PID STATE      STARTED              COMMAND\njob1 ");
        expect_in(o.out, " exit 4 ");
        SESSION(s, &o, "logs", "--json", id);
        expect_in(o.out, "\"running\":false,\"status\":4,\"signal\":null,\"open\":false,");
        expect_in(o.out, "\"bytes_total\":14,\"command\":\"echo one; ");
        end_session(s, id, "stop");
}

TEST(a_log_keeps_the_end_of_any_output) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *file = path_of(s->runtime, "nsrun/sessions/"),
                            *log = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct stat before, after;

        DETACH(s, id, &o, "--until", "begin",
               "echo begin; until [ -e go ]; do sleep 0.01; done; seq 1 200000");
        expect_status(&o, 0);
        log = text_of("%s%s/log-job1", file, id);
        assert_int_equal(stat(log, &before), 0);
        assert_int_equal(before.st_mode & 07777, 0600);
        make_file(s->project, "go", "");
        SESSION(s, &o, "logs", "--follow", id, "job1");
        SESSION(s, &o, "logs", id, "job1");
        assert_int_equal(stat(log, &after), 0);
        assert_int_equal(after.st_size, before.st_size);
        assert_int_equal(after.st_size, 4096 + 256 * 1024);
        /* 6 bytes, and the numbers with their newlines. */
        assert_true(startswith(o.out, "\n... [1026757 bytes omitted] ...\n"));
        expect_in(o.out, "\n199999\n200000\n");
        assert_int_equal(strlen(o.out), strlen("\n... [1026757 bytes omitted] ...\n") + 256 * 1024);
        end_session(s, id, "stop");
}

TEST_IN_ALL_MODES(nothing_inside_changes_what_was_printed) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s),
                            *log = text_of("%s/nsrun/sessions/%s/log-job1", s->runtime, id),
                            *script = text_of("echo before; : >/dev/stdout; truncate -s 0 /proc/$$/fd/1; "
                                              "rm -rf %s; [ -p /proc/$$/fd/1 ] && echo pipe; "
                                              "[ ! -e %s ] && echo unseen; echo after",
                                              log, log);
        _cleanup_outcome_ struct outcome o = {0};

        DETACH(s, id, &o, "--until", "after", script);
        expect_status(&o, 0);
        SESSION(s, &o, "logs", "--follow", id, "job1");
        expect_in(o.out, "before\n");
        /* With a pid namespace of its own it isn't in /proc. */
        expect_in(o.out, is_nested ? "unseen\nafter\n" : "pipe\nunseen\nafter\n");
        assert_int_equal(access(log, F_OK), 0);
        end_session(s, id, "stop");
}

TEST(old_logs_make_room_and_running_commands_dont) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};

        DETACH(s, id, &o, "--until", "first", "echo first; exec sleep 1000");
        expect_status(&o, 0);
        for (int i = 0; i < 32; i++) {
                DETACH(s, id, &o, "--until", "x", "echo x");
                expect_status(&o, 0);
                /* Its keeper may be about to end. */
                SESSION(s, &o, "logs", id);
                while (strstr(o.out, " running ") != strrchr(o.out, '\n') &&
                       strstr(strstr(o.out, "job2"), "running"))
                        SESSION(s, &o, "logs", id);
        }
        expect_not_in(o.out, "job2 ");
        expect_in(o.out, "job33 ");
        expect_log(s, id, "job1", "first\n");
        for (int i = 0; i < 31; i++) {
                DETACH(s, id, &o, "exec sleep 1000");
                expect_status(&o, 0);
        }
        DETACH(s, id, &o, "exec sleep 1000");
        expect_status(&o, 125);
        expect_in(o.out, "Error: 32 detached commands run in the session, and no more can: ");
        end_session(s, id, "stop");
}

/* ---------------------------------------------------------------------- end */

TEST_IN_ALL_MODES(a_command_survives_whoever_waited_for_it) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        SPAWN_DETACH(s, id, &running, "--until", "later", UNTIL_GO("begun") "echo later; exec sleep 1000");
        await_file(s, "begun");
        send_signal(running.pidfd, SIGKILL);
        finish(&running, &o);
        expect_status(&o, 1000 + SIGKILL);
        make_file(s->project, "go", "");
        await_log(s, id, "job1", "later\n");
        SESSION(s, &o, "logs", id);
        expect_in(o.out, " running ");
        end_session(s, id, "stop");
}

TEST_IN_ALL_MODES(who_gives_up_waiting_ends_the_command) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *number = own_sleep(),
                            *script = text_of("touch begun; sleep %s & sleep %s", number, number);
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        SPAWN_DETACH(s, id, &running, "--until", "never", script);
        await_file(s, "begun");
        send_signal(running.pidfd, SIGTERM);
        finish(&running, &o);
        expect_status(&o, 1000 + SIGTERM);
        assert_false(is_argument_alive(number));
        end_session(s, id, "stop");
}

TEST_IN_ALL_MODES(a_command_is_ended_by_its_name) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *number = own_sleep(),
                            *script = text_of("echo up; setsid sleep %s & sleep %s", number, number);
        _cleanup_outcome_ struct outcome o = {0};

        DETACH(s, id, &o, "--until", "up", script);
        expect_status(&o, 0);
        DETACH(s, id, &o, "--until", "up", "echo up; exec sleep 1000");
        expect_status(&o, 0);
        SESSION(s, &o, "kill", id, "job1");
        expect_status(&o, 0);
        expect_out(&o, "");
        assert_string_equal(o.err, "");
        assert_false(is_argument_alive(number));
        SESSION(s, &o, "kill", id, "job1");
        expect_refusal(&o, 125, "nsrun: the command has ended: job1: No such process");
        SESSION(s, &o, "kill", id, "job3");
        expect_refusal(&o, 125,
                       "nsrun: no such log: job3: No such file or directory; 'nsrun session logs ID' shows "
                       "those there are");
        expect_log(s, id, "job1", "up\n");
        SESSION(s, &o, "logs", id);
        expect_in(o.out, " running ");
        end_session(s, id, "stop");
}

TEST_IN_ALL_MODES(a_keeper_that_is_killed_takes_the_command_with_it) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *number = own_sleep(),
                            *script = text_of("echo up; sleep %s & exec sleep %s", number, number);
        _cleanup_outcome_ struct outcome o = {0};
        DIR *proc;

        DETACH(s, id, &o, "--until", "up", script);
        expect_status(&o, 0);
        for (int64_t since = 0; !is_argument_alive(number);)
                assert_true(keep_waiting(&since));
        proc = opendir("/proc");
        assert_non_null(proc);
        for (const struct dirent *entry; (entry = readdir(proc));) {
                _cleanup_free_ char *path = text_of("/proc/%s/cmdline", entry->d_name),
                                    *text = file_text(path);

                if (text && streq(text, "nsrun-detached") && streq(text + strlen(text) + 1, id))
                        assert_int_equal(kill(atoi(entry->d_name), SIGKILL), 0);
        }
        (void)closedir(proc);
        for (int64_t since = 0; is_argument_alive(number);)
                assert_true(keep_waiting(&since));
        SESSION(s, &o, "logs", id);
        expect_in(o.out, " killed ");
        expect_log(s, id, "job1", "up\n");
        /* The dead reaper is this program's to collect, a stop would wait for that. */
        SESSION(s, &o, "kill", id);
        collect_orphans();
}

TEST_IN_ALL_MODES(the_sessions_end_is_the_commands_and_the_logs) {
        const struct site *s = *state;

        for (size_t i = 0; i < 2; i++) {
                const char *how = i == 0 ? "stop" : "kill";
                _cleanup_free_ char *id = START_PLAIN(s), *number = own_sleep(),
                                    *script = text_of("echo up; setsid sleep %s & exec sleep %s", number,
                                                      number),
                                    *log = text_of("%s/nsrun/sessions/%s/log-job1", s->runtime, id);
                const char *const follow[] = {program(), "session", "logs", "--follow", id, "job1", NULL};
                _cleanup_outcome_ struct outcome o = {0};
                struct running running;

                DETACH(s, id, &o, "--until", "up", script);
                expect_status(&o, 0);
                spawn(&(struct request){.argv = follow, .cwd = s->root}, &running);
                await_line(running.out, "up\n");
                assert_int_equal(access(log, F_OK), 0);
                SESSION(s, &o, how, id);
                expect_status(&o, 0);
                assert_false(is_argument_alive(number));
                assert_true(access(log, F_OK) < 0);
                outcome_clear(&o);
                finish(&running, &o);
                expect_status(&o, 0);
                collect_orphans();
                SESSION(s, &o, "logs", id);
                expect_status(&o, 125);
                expect_in(o.err, "no such session");
        }
}

TEST(a_command_that_is_no_more_leaves_what_it_started_and_its_log_open) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};

        DETACH(s, id, &o, "--until", "up", "echo up; { " UNTIL_GO("begun") "echo last; } &");
        expect_status(&o, 0);
        await_file(s, "begun");
        SESSION(s, &o, "logs", "--json", id);
        while (!strstr(o.out, "\"status\":0"))
                SESSION(s, &o, "logs", "--json", id);
        expect_in(o.out, "\"open\":true");
        make_file(s->project, "go", "");
        SESSION(s, &o, "logs", "--follow", id, "job1");
        expect_out(&o, "up\nlast\n");
        end_session(s, id, "stop");
}

/* ----------------------------------------------------------------- refusals */

TEST(logs_refuse_what_makes_no_sense) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--name=x");
        _cleanup_outcome_ struct outcome o = {0};

        SESSION(s, &o, "logs", "y");
        expect_refusal(&o, 125, NO_SESSION("y"));
        SESSION(s, &o, "logs", id, "job1");
        expect_refusal(&o, 125,
                       "nsrun: no such log: job1: No such file or directory; 'nsrun session logs ID' shows "
                       "those there are");
        SESSION(s, &o, "logs", id, "../record");
        expect_status(&o, 125);
        expect_in(o.err, "no such log");
        SESSION(s, &o, "logs", "--follow", id);
        expect_refusal(
                &o, 125,
                "nsrun: --follow needs the NAME of a log; 'nsrun session logs ID' shows those there are");
        SESSION(s, &o, "logs", "--json", id, "job1");
        expect_refusal(
                &o, 125,
                "nsrun: --json is for the list of logs: one of them is printed as it is: job1; leave it "
                "out");
        SESSION(s, &o, "list", "--follow");
        expect_status(&o, 125);
        expect_in(o.err, "--follow is for logs alone");
        SESSION(s, &o, "logs", "--json", id);
        expect_out(&o, "{\"logs\":[]}\n");
        end_session(s, id, "stop");
}

int main(void) {
        return run_all_tests();
}
