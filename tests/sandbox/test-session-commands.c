/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands of a session: many at once, each with its own status, output, signals and
 * descriptors, as in a run of its own; all on the same overlay and the same /tmp. */
#include <json-c/json.h>

#include "session.h"

enum {
        AT_ONCE = 64,
};

/* Writes its own files in the overlay and /tmp, reads back what it wrote, what was there, and what its
 * neighbour of the last round wrote, and exits with its own number. */
static char *script_of(const char *layered, int i) {
        return text_of("cd '%s' && echo %d >>own-%d && echo %d >/tmp/own-%d && echo changed %d >>base-%d && "
                       "mkdir -p dir-%d && mv own-%d dir-%d/ && "
                       "read a <dir-%d/own-%d && read b </tmp/own-%d && read c <base-%d && "
                       "[ $a = %d ] && [ $b = %d ] && [ \"$c\" = base ] && "
                       "{ [ %d -lt %d ] || [ \"$(cat /tmp/own-%d)\" = %d ]; } && "
                       "echo out-%d && echo err-%d >&2 && exit %d",
                       layered, i, i, i, i, i, i % AT_ONCE, i, i, i, i, i, i, i % AT_ONCE, i, i, i, AT_ONCE,
                       i - AT_ONCE, i - AT_ONCE, i, i, i % 251);
}

static void expect_own_end(int i, struct running *r) {
        _cleanup_free_ char *out = text_of("out-%d\n", i), *err = text_of("err-%d\n", i);
        struct outcome o = {0};

        finish(r, &o);
        if (o.status != i % 251 || !streq(o.out, out) || !streq(o.err, err))
                fail_msg("command %d: status %d, out: %s, err: %s", i, o.status, o.out, o.err);
        outcome_clear(&o);
}

/* Every file of every command is there, with what it wrote. */
static void expect_all_files(const struct site *s, const char *id, const char *layered, int n) {
        _cleanup_free_ char *script =
                text_of("cd '%s' || exit 1; i=0; while [ $i -lt %d ]; do "
                        "read a <dir-$i/own-$i && read b </tmp/own-$i && [ $a$b = $i$i ] || echo lost $i; "
                        "i=$((i+1)); done; cat base-* | grep -c changed; ls -A /tmp | wc -l; "
                        "ls -A | grep -vc '^\\(base-\\|dir-\\)'",
                        layered, n);
        _cleanup_free_ char *expected = text_of("%d\n%d\n0\n", n, n);
        _cleanup_outcome_ struct outcome o = {0};

        JOIN_SCRIPT(s, id, &o, script);
        expect_out(&o, expected);
}

TEST_OF_SESSIONS(many_commands_at_once_lose_nothing) {
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered"), *id = NULL, *before = NULL;
        int n = size_of_test(200, 1000);
        struct running running[AT_ONCE];
        struct timespec from, to;

        make_folder(s->root, "layered");
        for (int i = 0; i < AT_ONCE; i++) {
                _cleanup_free_ char *name = text_of("base-%d", i);

                make_file(layered, name, "base\n");
        }
        before = snapshot(layered);
        id = START(s, "--overlay", layered);
        (void)clock_gettime(CLOCK_MONOTONIC, &from);
        for (int i = 0; i < n + AT_ONCE; i++) {
                _cleanup_free_ char *script = i < n ? script_of(layered, i) : NULL;

                if (i >= AT_ONCE && i - AT_ONCE < n)
                        expect_own_end(i - AT_ONCE, &running[i % AT_ONCE]);
                if (script)
                        SPAWN_JOINED(s, id, &running[i % AT_ONCE], "--", "sh", "-c", script);
        }
        (void)clock_gettime(CLOCK_MONOTONIC, &to);
        expect_all_files(s, id, layered, n);
        /* The monitor is still ours; nothing else is. */
        end_session(s, id, "stop");
        expect_unchanged(layered, TAKE_PTR(before));
        print_message("%d commands, %d at once, in %.1f s\n", n, AT_ONCE,
                      (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9);
}

TEST_OF_SESSIONS(exits_are_those_of_a_run) {
        static const struct {
                const char *script;
                int status;
        } cases[] = {
                {"exit 0", 0},          {"exit 7", 7},
                {"exit 255", 255},      {"kill -KILL $$", 137},
                {"kill -TERM $$", 143}, {"kill -SEGV $$", 139},
                {"exit 125", 125},      {"trap '' TERM; kill $$; exit 3", 3},
        };
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                JOIN_SCRIPT(s, id, &o, cases[i].script);
                expect_status(&o, cases[i].status);
                assert_string_equal(o.err, "");
        }
        JOIN(s, id, &o, "--", "no-such-command");
        expect_refusal(
                &o, 127,
                "nsrun: command not found in the sandbox: no-such-command: No such file or directory; "
                "it is in no folder of the sandbox's PATH: add --ro, or install it");
        make_file(s->project, "plain", "");
        JOIN(s, id, &o, "--", "./plain");
        expect_refusal(
                &o, 126,
                "nsrun: command not executable: ./plain: Permission denied; it needs the x permission, "
                "and must not be a folder");
        JOIN(s, id, &o, "--chdir=/no/where", "--", "true");
        expect_refusal(
                &o, 125,
                "nsrun: the working directory can't be entered: /no/where: No such file or directory; "
                "--chdir names a folder that the sandbox has");
        expect_good_join(s, id, "echo alive", "alive\n");
        end_session(s, id, "stop");
}

TEST_IN_BOTH_MODES(the_environment_is_the_sessions_with_changes) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--env=ONE=1", "--env=TWO=2"), *sub = path_of(s->project, "sub"),
                            *expected = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->project, "sub");
        assert_int_equal(setenv("LATER", "host's", 1), 0);
        JOIN(s, id, &o, "--env=TWO=two", "--unsetenv=ONE", "--env=THREE=3", "--chdir=sub", "--", "sh", "-c",
             "echo ${ONE-none} $TWO $THREE ${LATER-none} $PWD; pwd");
        expect_status(&o, 0);
        expected = text_of("none two 3 none %s\n%s\n", sub, sub);
        expect_out(&o, expected);
        JOIN(s, id, &o, "--env=LATER", "--", "sh", "-c", "echo $ONE $TWO ${THREE-none} $LATER");
        expect_out(&o, "1 2 none host's\n");
        assert_int_equal(unsetenv("LATER"), 0);
        end_session(s, id, "stop");
}

TEST_OF_SESSIONS(a_joining_command_starts_where_its_caller_stands) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *sub = path_of(s->project, "sub"),
                            *expected = text_of("%s/sub\n%s/sub\n", s->project, s->project),
                            *top = text_of("%s\n", s->project);
        const char *const argv[] = {program(), "run", "--session",      id,  "--",
                                    "sh",      "-c",  "pwd; echo $PWD", NULL};
        const char *const away[] = {program(), "run", "--session", id, "--", "pwd", NULL};
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->project, "sub");
        run(&(struct request){.argv = argv, .cwd = sub}, &o);
        expect_status(&o, 0);
        expect_out(&o, expected);
        outcome_clear(&o);
        run(&(struct request){.argv = away, .cwd = s->outside}, &o);
        expect_status(&o, 0);
        expect_out(&o, top);
        end_session(s, id, "stop");
}

TEST_OF_SESSIONS(standard_input_is_passed_through) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        const char *const argv[] = {program(), "run", "--session", id, "--", "cat", NULL};
        _cleanup_outcome_ struct outcome o = {0};
        int ends[2];

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        assert_int_equal(write(ends[1], "words\n", 6), 6);
        (void)close(ends[1]);
        run(&(struct request){.argv = argv, .standard_input = ends[0]}, &o);
        (void)close(ends[0]);
        expect_status(&o, 0);
        expect_out(&o, "words\n");
        end_session(s, id, "stop");
}

static const char noting[] = "trap 'echo TERM; exit 4' TERM; trap 'echo INT; exit 5' INT; "
                             "trap 'echo HUP; exit 6' HUP; echo ready; exec 2>/dev/null; "
                             "while :; do sleep 0.02; done";

TEST_IN_BOTH_MODES(signals_reach_the_one_command) {
        static const struct {
                int signal, status;
                const char *said;
        } cases[] = {{SIGTERM, 4, "TERM\n"}, {SIGINT, 5, "INT\n"}, {SIGHUP, 6, "HUP\n"}};
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};
        struct running neighbour;

        SPAWN_JOINED(s, id, &neighbour, "--", "sh", "-c", noting);
        free(read_line(neighbour.out));
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct running r;

                SPAWN_JOINED(s, id, &r, "--", "sh", "-c", noting);
                free(read_line(r.out));
                send_signal(r.pidfd, cases[i].signal);
                outcome_clear(&o);
                finish(&r, &o);
                expect_status(&o, cases[i].status);
                expect_out(&o, cases[i].said);
                assert_false(has_ended(neighbour.pidfd));
        }
        send_signal(neighbour.pidfd, SIGTERM);
        outcome_clear(&o);
        finish(&neighbour, &o);
        expect_status(&o, 4);
        end_session(s, id, "stop");
}

TEST_IN_BOTH_MODES(a_stopped_nsrun_stops_its_command_alone) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};
        struct running r, neighbour;
        siginfo_t info = {.si_pid = 0};

        SPAWN_JOINED(s, id, &neighbour, "--", "sh", "-c", noting);
        free(read_line(neighbour.out));
        SPAWN_JOINED(s, id, &r, "--", "sh", "-c", noting);
        free(read_line(r.out));
        send_signal(r.pidfd, SIGTSTP);
        assert_int_equal(waitid(P_PID, (id_t)r.pid, &info, WSTOPPED | WEXITED | WNOWAIT), 0);
        assert_int_equal(info.si_code, CLD_STOPPED);
        /* The neighbour goes on and answers. */
        send_signal(neighbour.pidfd, SIGTERM);
        finish(&neighbour, &o);
        expect_status(&o, 4);
        send_signal(r.pidfd, SIGCONT);
        send_signal(r.pidfd, SIGTERM);
        outcome_clear(&o);
        finish(&r, &o);
        expect_status(&o, 4);
        expect_out(&o, "TERM\n");
        end_session(s, id, "stop");
}

static json_object *event_in(char *text, const char *name) {
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
                json_object *parsed = json_tokener_parse(line), *event;

                if (!parsed)
                        fail_msg("no JSON: %s", line);
                if (json_object_object_get_ex(parsed, "event", &event) &&
                    streq(json_object_get_string(event), name))
                        return parsed;
                json_object_put(parsed);
        }
        fail_msg("no event %s", name);
        return NULL;
}

TEST_IN_BOTH_MODES(a_deadline_ends_its_own_command_alone) {
        static const char stubborn[] =
                "trap '' TERM; echo on; (trap '' TERM; exec sleep 1000) & sleep 1000 & wait; wait";
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome late = {0}, other = {0};
        _cleanup_free_ char *told = NULL;
        struct running running;
        size_t i = 0;

        SPAWN_JOINED(s, id, &running, "--", "sh", "-c", "mkfifo f; echo ready; read line <f; echo $line");
        await_line(running.out, "ready\n");
        do
                JOIN(s, id, &late, "--timeout", deadlines[i], "--", "sh", "-c", stubborn);
        while (was_too_short(late.out, "on\n", &i));
        expect_status(&late, 124);
        told = text_of("nsrun: command timed out after %ss (sent SIGTERM, then SIGKILL)\n", deadlines[i]);
        assert_string_equal(late.err, told);
        expect_good_join(s, id, "echo alive >f", "");
        finish(&running, &other);
        expect_status(&other, 0);
        expect_out(&other, "alive\n");
        end_session(s, id, "stop");
}

static void block_all_signals(nsrun_unused void *data) {
        sigset_t all;

        (void)sigfillset(&all);
        (void)sigprocmask(SIG_SETMASK, &all, NULL);
}

/* A command with SIGTERM blocked would hear nothing, and be killed five seconds later. */
TEST_OF_SESSIONS(what_the_caller_blocks_outlives_no_deadline) {
        static const char command[] = "trap 'echo told; exit 3' TERM; sleep 1000 & wait",
                          script[] = "\"$0\" run --project \"$1\" --timeout $4 -- sh -c \"$3\"; echo $?;"
                                     "\"$0\" run --session \"$2\" --timeout $4 -- sh -c \"$3\"; echo $?;"
                                     "\"$0\" bash --project \"$1\" --timeout $4 --json \"$3\" |"
                                     " grep -o '\"status\":[^,]*'",
                          expected[] = "told\n124\ntold\n124\n\"status\":3\n";
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *told = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        size_t i = 0;

        do {
                const char *const argv[] = {"sh", "-c",    script,       program(), s->project,
                                            id,   command, deadlines[i], NULL};

                outcome_clear(&o);
                run(&(struct request){.argv = argv, .in_child = block_all_signals}, &o);
        } while (was_too_short(o.out, "told", &i));
        expect_out(&o, expected);
        told = text_of("nsrun: command timed out after %ss (sent SIGTERM)\n"
                       "nsrun: command timed out after %ss (sent SIGTERM)\n",
                       deadlines[i], deadlines[i]);
        assert_string_equal(o.err, told);
        end_session(s, id, "stop");
}

TEST_IN_BOTH_MODES(status_lines_tell_of_the_sessions_namespaces) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *copy = NULL, *expected = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        json_object *event, *namespaces, *value;

        JOIN(s, id, &o, "--status-fd=2", "--", "sh", "-c", "readlink /proc/self/ns/mnt; exit 9");
        expect_status(&o, 9);
        copy = strdup(o.err);
        assert_non_null(copy);
        event = event_in(copy, "started");
        assert_true(json_object_object_get_ex(event, "namespaces", &namespaces));
        assert_true(json_object_object_get_ex(namespaces, "mnt", &value));
        expected = text_of("mnt:[%s]\n", json_object_get_string(value));
        expect_out(&o, expected);
        json_object_put(event);
        event = event_in(o.err, "exited");
        assert_true(json_object_object_get_ex(event, "code", &value) ||
                    json_object_object_get_ex(event, "status", &value));
        assert_int_equal(json_object_get_int(value), 9);
        json_object_put(event);
        end_session(s, id, "stop");
}

TEST_OF_SESSIONS(a_report_tells_of_the_one_commands_denials) {
        const struct site *s = *state;
        _cleanup_free_ char *report = path_of(s->outside, "report"),
                            *option = text_of("--report=%s", report),
                            *policy = text_of("--seccomp=%s/own.json", s->outside), *text = NULL, *id = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->outside, "own.json",
                  "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [{\"names\": [\"sethostname\", "
                  "\"uname\"], \"action\": \"SCMP_ACT_ERRNO\"}]}");
        id = START(s, policy);
        JOIN(s, id, &o, option, "--", "sh", "-c", "uname; exit 8");
        expect_status(&o, 8);
        text = file_text(report);
        assert_non_null(text);
        expect_in(text, "\"uname\"");
        free(text);
        JOIN(s, id, &o, option, "--", "sh", "-c", "exit 8");
        expect_status(&o, 8);
        text = file_text(report);
        assert_non_null(text);
        expect_not_in(text, "\"uname\"");
        end_session(s, id, "stop");
}

int main(void) {
        return run_all_tests();
}
