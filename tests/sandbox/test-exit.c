/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a run ends and what it is told on the way: exit statuses, orphans, signals,
 * stops, the lines of --status-fd. */
#include "harness.h"

#include <dirent.h>
#include <json-c/json.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

TEST(the_exit_status_is_the_commands_own) {
        static const struct {
                const char *script;
                int status;
        } cases[] = {
                {"exit 0", 0},          {"exit 7", 7},
                {"exit 255", 255},      {"kill -KILL $$", 137},
                {"kill -TERM $$", 143}, {"kill -SEGV $$", 139},
                {"kill -HUP $$", 129},  {"(kill -KILL $$)", 137},
                {"exit 125", 125},      {"trap '' TERM; kill $$; exit 3", 3},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                run_inside(s, &o, cases[i].script);
                expect_status(&o, cases[i].status);
                assert_string_equal(o.err, "");
        }
}

#define NOT_FOUND "nsrun: command not found in the sandbox: "
#define EXPOSE    ": No such file or directory; it, or the interpreter it names, is not exposed: add --ro"
#define NOT_EXEC  "nsrun: command not executable: "
#define NEEDS_X   ": Permission denied; it needs the x permission, and must not be a folder"

static void make_program(const char *folder, const char *name, const char *text, mode_t mode) {
        _cleanup_free_ char *path = path_of(folder, name);

        make_file(folder, name, text);
        assert_int_equal(chmod(path, mode), 0);
}

TEST(a_command_that_can_not_be_run_is_127_or_126) {
        static const struct {
                const char *command;
                int status;
                const char *line;
        } cases[] = {
                {"no-such-command", 127,
                 NOT_FOUND
                 "no-such-command: No such file or directory; it is in no folder of the sandbox's PATH: add "
                 "--ro, or install it"},
                {"./none", 127, NOT_FOUND "./none" EXPOSE},
                {"./lost", 127, NOT_FOUND "./lost" EXPOSE},
                {"../outside/tool", 127, NOT_FOUND "../outside/tool" EXPOSE},
                {"./plain/x", 127,
                 NOT_FOUND
                 "./plain/x: Not a directory; it, or the interpreter it names, is not exposed: add --ro"},
                {"./plain", 126, NOT_EXEC "./plain" NEEDS_X},
                {".", 126, NOT_EXEC "." NEEDS_X},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_program(s->outside, "tool", "#!/bin/sh\necho $1\n", 0755);
        make_program(s->project, "lost", "#!/no/such/interpreter\n", 0755);
        make_program(s->project, "plain", "#!/bin/sh\n", 0644);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                RUN(s, &o, "--", cases[i].command);
                expect_refusal(&o, cases[i].status, cases[i].line);
        }
        RUN(s, &o, "--ro", s->outside, "--", "../outside/tool", "shown");
        expect_status(&o, 0);
        expect_out(&o, "shown\n");
}

/* In PATH, where the sandbox hasn't got it: its folder is named. */
TEST(the_hosts_program_of_that_name_is_named) {
        const struct site *s = *state;
        _cleanup_free_ char *path = text_of("PATH=%s:%s", s->outside, getenv("PATH")),
                            *line = text_of(
                                    NOT_FOUND
                                    "tool: No such file or directory; the host's is %s/tool, which the "
                                    "sandbox hasn't got: --ro %s/tool exposes it",
                                    s->outside, s->outside),
                            *tool = path_of(s->outside, "tool"),
                            *whole = text_of(NOT_FOUND
                                             "%s: No such file or directory; the host's is %s, which the "
                                             "sandbox hasn't got: --ro %s exposes it",
                                             tool, tool, tool);
        _cleanup_outcome_ struct outcome o = {0};

        make_program(s->outside, "tool", "#!/bin/sh\necho $1\n", 0755);
        RUN(s, &o, "--env", path, "--", "tool");
        expect_refusal(&o, 127, line);
        RUN(s, &o, "--", tool);
        expect_refusal(&o, 127, whole);
        RUN(s, &o, "--env", path, "--ro", tool, "--", "tool", "shown");
        expect_out(&o, "shown\n");
}

TEST(a_hidden_program_is_not_to_be_exposed) {
        const struct site *s = *state;
        _cleanup_free_ char *tool = path_of(s->project, "tool"), *folder = path_of(s->project, "bin"),
                            *path = text_of("PATH=%s:%s:%s", s->project, folder, getenv("PATH")),
                            *denied = text_of(NOT_EXEC
                                              "%s: Permission denied; %s is hidden: a --hide names it",
                                              tool, tool),
                            *absent = text_of(
                                    NOT_FOUND
                                    "other: No such file or directory; %s is hidden: a --hide names it",
                                    folder);
        _cleanup_outcome_ struct outcome o = {0};

        make_program(s->project, "tool", "#!/bin/sh\necho $1\n", 0755);
        make_folder(s->project, "bin");
        make_program(folder, "other", "#!/bin/sh\necho $1\n", 0755);
        RUN(s, &o, "--hide", "tool", "--", tool);
        expect_refusal(&o, 126, denied);
        RUN(s, &o, "--hide", "bin", "--env", path, "--", "other");
        expect_refusal(&o, 127, absent);
        RUN(s, &o, "--env", path, "--", "other", "shown");
        expect_out(&o, "shown\n");
}

TEST(the_command_is_found_as_execvp_finds_it) {
        const struct site *s = *state;
        _cleanup_free_ char *folder = path_of(s->project, "bin");
        _cleanup_free_ char *path =
                text_of("PATH=%s:/nowhere:%s/file:%s", folder, s->project, getenv("PATH"));
        _cleanup_outcome_ struct outcome o = {0};

        make_folder(s->project, "bin");
        make_file(s->project, "file", "");
        make_program(folder, "env", "echo not executable\n", 0644);
        make_program(folder, "bare", "echo \"$0 $1 $#\"\n", 0755);
        RUN(s, &o, "--env", path, "--", "env", "printf", "%s", "found");
        expect_status(&o, 0);
        expect_out(&o, "found");
        /* No "#!": a shell script, as for every shell. */
        RUN(s, &o, "--env", path, "--", "bare", "one", "two words");
        expect_status(&o, 0);
        expect_in(o.out, "/bin/bare one 2\n");
}

TEST(orphans_are_reaped_and_belong_to_pid_1) {
        static const char script[] =
                "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "
                "sh -c 'sh -c \"echo \\$\\$ >>/tmp/pids\" & '; done; "
                "while [ $(wc -l </tmp/pids) -lt 20 ]; do :; done; "
                "for pid in $(cat /tmp/pids); do while [ -e /proc/$pid ]; do :; done; done; "
                "sh -c 'sleep 1000 & echo $! >/tmp/sleeper'; "
                "grep PPid /proc/$(cat /tmp/sleeper)/status; grep -l '^State:.Z' /proc/[0-9]*/status; "
                "exit 5";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        run_inside(s, &o, script);
        expect_status(&o, 5);
        expect_out(&o, "PPid:\t1\n");
}

/* Whether any process of this machine is `sleep word`. */
static bool is_running(const char *word) {
        _cleanup_free_ char *expected = text_of("sleep%c%s", '\n', word);
        DIR *folder = opendir("/proc");
        bool found = false;

        assert_non_null(folder);
        for (struct dirent *entry; !found && (entry = readdir(folder));) {
                _cleanup_free_ char *path = text_of("/proc/%s/cmdline", entry->d_name);
                _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
                char line[64] = "";
                ssize_t n = fd < 0 ? fd : read(fd, line, sizeof(line) - 1);

                for (ssize_t i = 0; i + 1 < n; i++)
                        if (line[i] == '\0')
                                line[i] = '\n';
                found = streq(line, expected);
        }
        (void)closedir(folder);
        return found;
}

TEST(what_is_left_in_the_background_is_dead_when_nsrun_returns) {
        const struct site *s = *state;
        _cleanup_free_ char *word = text_of("31%06d", getpid());
        _cleanup_free_ char *script =
                text_of("sleep %s & setsid sleep %s </dev/null >/dev/null 2>&1 & "
                        "(trap '' TERM HUP INT; setsid sh -c ': >/tmp/up; sleep %s; :') & "
                        "while [ ! -e /tmp/up ]; do :; done; exit 3",
                        word, word, word);
        _cleanup_outcome_ struct outcome o = {0};
        const char *const argv[] = {"sleep", word, NULL};
        struct running sleeper;

        run_inside(s, &o, script);
        expect_status(&o, 3);
        assert_false(is_running(word));
        /* The search finds what there is to find. */
        spawn(&(struct request){.argv = argv}, &sleeper);
        while (!is_running(word))
                ;
        assert_int_equal(kill(sleeper.pid, SIGKILL), 0);
        outcome_clear(&o);
        finish(&sleeper, &o);
        expect_status(&o, 1000 + SIGKILL);
}

/* ----------------------------------------------------------------- signals */

static void start(const struct site *s, const char *option, const char *script, const struct request *as,
                  struct running *ret) {
        _cleanup_free_ const char **argv = nsrun_argv(s, OPTIONS(option, "--", "sh", "-c", script));
        struct request request = *as;

        request.argv = argv;
        spawn(&request, ret);
        await_line(ret->out, "ready\n");
}

TEST(signals_sent_to_nsrun_reach_the_command) {
        static const struct {
                const char *name;
                int signal;
        } signals[] = {{"TERM", SIGTERM}, {"INT", SIGINT},   {"HUP", SIGHUP},     {"QUIT", SIGQUIT},
                       {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"WINCH", SIGWINCH}, {"ALRM", SIGALRM}};
        static const char *const options[] = {"--new-session", "--no-new-session"};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
                for (size_t j = 0; j < ARRAY_SIZE(options); j++) {
                        _cleanup_free_ char *script =
                                text_of("trap 'echo got; exit 9' %s; echo ready; sleep 1000 & wait; wait",
                                        signals[i].name);
                        _cleanup_outcome_ struct outcome o = {0};
                        struct running running;

                        start(s, options[j], script, &(struct request){0}, &running);
                        assert_int_equal(kill(running.pid, signals[i].signal), 0);
                        finish(&running, &o);
                        expect_status(&o, 9);
                        expect_out(&o, "got\n");
                }
}

TEST(a_signal_ends_the_command_and_nsrun_says_which) {
        static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
                _cleanup_outcome_ struct outcome o = {0};
                struct running running;

                start(s, "--new-session", "echo ready; exec sleep 1000", &(struct request){0}, &running);
                assert_int_equal(kill(running.pid, signals[i]), 0);
                finish(&running, &o);
                expect_status(&o, 128 + signals[i]);
        }
}

TEST(the_sandbox_dies_with_nsrun) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        start(s, "--new-session",
              "trap '' TERM HUP INT; setsid sleep 1000 & echo ready; sleep 1000; sleep 1000",
              &(struct request){0}, &running);
        assert_int_equal(kill(running.pid, SIGKILL), 0);
        /* The ends of its outputs tell that every process is gone. */
        finish(&running, &o);
        expect_status(&o, 1000 + SIGKILL);
        collect_orphans();
}

static void take_terminal(void *data) {
        const int *terminal = data;

        if (setsid() < 0 || ioctl(*terminal, TIOCSCTTY, 0) < 0)
                _exit(123);
}

TEST(control_c_reaches_the_command_once) {
        static const char *const options[] = {"--new-session", "--no-new-session"};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                int master, slave;
                _cleanup_outcome_ struct outcome o = {0};
                struct running running;

                assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
                start(s, options[i],
                      "trap 'echo interrupted' INT; trap 'echo end; exit 4' TERM; echo ready; sleep 1000 & "
                      "while :; do wait; done",
                      &(struct request){.standard_input = slave, .in_child = take_terminal, .data = &slave},
                      &running);
                assert_int_equal(write(master, "\003", 1), 1);
                await_line(running.out, "interrupted\n");
                assert_int_equal(kill(running.pid, SIGTERM), 0);
                finish(&running, &o);
                expect_status(&o, 4);
                expect_out(&o, "end\n");
                (void)close(master);
                (void)close(slave);
        }
}

static void expect_stopped(const struct running *running) {
        siginfo_t info = {.si_pid = 0};

        assert_int_equal(waitid(P_PID, (id_t)running->pid, &info, WSTOPPED | WEXITED), 0);
        assert_int_equal(info.si_code, CLD_STOPPED);
}

/* The command's echo of a line shows that it runs. */
static void expect_echo(const struct running *running, int input) {
        _cleanup_free_ char *line = NULL;

        assert_int_equal(write(input, "hello\n", 6), 6);
        line = read_line(running->out);
        assert_string_equal(line, "hello\n");
}

/* In an orphaned process group, such as a test runner's may be, the kernel ignores
 * SIGTSTP. */
static void lead_a_group(nsrun_unused void *data) {
        if (setpgid(0, 0) < 0)
                _exit(123);
}

TEST(a_stop_that_is_asked_for_stops_both) {
        static const char *const options[] = {"--new-session", "--no-new-session"};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                int ends[2];
                _cleanup_outcome_ struct outcome o = {0};
                struct running running;

                assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
                start(s, options[i], "echo ready; exec cat",
                      &(struct request){.standard_input = ends[0], .in_child = lead_a_group}, &running);
                expect_echo(&running, ends[1]);
                for (int again = 0; again < 2; again++) {
                        assert_int_equal(kill(running.pid, SIGTSTP), 0);
                        expect_stopped(&running);
                        assert_int_equal(kill(running.pid, SIGCONT), 0);
                        expect_echo(&running, ends[1]);
                }
                (void)close(ends[1]);
                (void)close(ends[0]);
                finish(&running, &o);
                expect_status(&o, 0);
        }
}

/* test-terminal.c has a shell; here nobody could say "fg", and the kernel would ignore ^Z. */
TEST(control_z_without_a_shell_stops_nothing) {
        static const char *const options[] = {"--new-session", "--no-new-session"};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                int master, slave;
                _cleanup_outcome_ struct outcome o = {0};
                struct running running;

                assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
                start(s, options[i], "echo ready; exec cat",
                      &(struct request){.standard_input = slave, .in_child = take_terminal, .data = &slave},
                      &running);
                expect_echo(&running, master);
                for (int again = 0; again < 2; again++) {
                        assert_int_equal(write(master, "\032", 1), 1);
                        expect_echo(&running, master);
                }
                assert_int_equal(write(master, "\004", 1), 1);
                finish(&running, &o);
                expect_status(&o, 0);
                (void)close(master);
                (void)close(slave);
        }
}

/* Else a command could keep nsrun, and with it a caller's signals, waiting. */
TEST(a_command_that_stops_itself_does_not_stop_nsrun) {
        static const char *const options[] = {"--new-session", "--no-new-session"};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                _cleanup_outcome_ struct outcome o = {0};
                struct pollfd output = {.events = POLLIN};
                siginfo_t info = {.si_pid = 0};
                struct running running;

                start(s, options[i], "echo ready; kill -STOP $$; echo awake", &(struct request){0},
                      &running);
                output.fd = running.out;
                /* One that comes before the stop is lost. */
                do {
                        assert_int_equal(waitid(P_PID, (id_t)running.pid, &info, WSTOPPED | WNOHANG), 0);
                        assert_int_equal(info.si_pid, 0);
                        assert_int_equal(kill(running.pid, SIGCONT), 0);
                } while (poll(&output, 1, 20) == 0);
                finish(&running, &o);
                expect_status(&o, 0);
                expect_out(&o, "awake\n");
        }
}

/* ------------------------------------------------------------ --status-fd */

enum {
        STATUS_FD = 9
};

static void give_status_fd(void *data) {
        const int *fd = data;

        if (dup2(*fd, STATUS_FD) < 0)
                _exit(123);
}

/* The next line, whose "event" is checked; free with json_object_put(). */
static struct json_object *read_event(int fd, const char *event) {
        _cleanup_free_ char *line = read_line(fd);
        struct json_object *object = json_tokener_parse(line);

        if (!object)
                fail_msg("no JSON: %s", line);
        assert_string_equal(json_object_get_string(json_object_object_get(object, "event")), event);
        return object;
}

static int64_t number_of(struct json_object *object, const char *key) {
        struct json_object *value = NULL;

        if (!json_object_object_get_ex(object, key, &value) || !json_object_is_type(value, json_type_int))
                fail_msg("no number %s in %s", key, json_object_to_json_string(object));
        return json_object_get_int64(value);
}

static void expect_no_more(int fd) {
        char byte;

        assert_int_equal(read(fd, &byte, 1), 0);
}

TEST(status_lines_tell_of_start_and_end) {
        static const char *const names[] = {"user", "mnt", "pid", "ipc", "uts", "net"};
        const struct site *s = *state;
        _cleanup_free_ const char **argv = nsrun_argv(
                s, OPTIONS("--status-fd", "9", "--", "sh", "-c",
                           "cd /proc/self/ns; stat -L -c %i user mnt pid ipc uts net; cat; sleep 1000"));
        int status[2], input[2];
        _cleanup_outcome_ struct outcome o = {0};
        struct json_object *started, *exited;
        struct running running;

        assert_int_equal(pipe2(status, O_CLOEXEC), 0);
        assert_int_equal(pipe2(input, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv,
                                .standard_input = input[0],
                                .in_child = give_status_fd,
                                .data = &status[1]},
              &running);
        (void)close(status[1]);
        started = read_event(status[0], "started");
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_free_ char *line = read_line(running.out);
                _cleanup_free_ char *expected =
                        text_of("%jd\n", (intmax_t)number_of(json_object_object_get(started, "namespaces"),
                                                             names[i]));

                assert_string_equal(line, expected);
        }
        assert_int_equal(kill((pid_t)number_of(started, "init_pid"), 0), 0);
        assert_int_equal(kill((pid_t)number_of(started, "command_pid"), SIGTERM), 0);
        exited = read_event(status[0], "exited");
        assert_int_equal(number_of(exited, "signal"), SIGTERM);
        assert_false(json_object_object_get_ex(exited, "code", NULL));
        expect_no_more(status[0]);
        (void)close(status[0]);
        (void)close(input[0]);
        (void)close(input[1]);
        finish(&running, &o);
        expect_status(&o, 128 + SIGTERM);
        json_object_put(started);
        json_object_put(exited);
}

/* One run whose only line is `event`. */
static struct json_object *run_for_event(const struct site *s, const char *const *arguments,
                                         const char *event, int expected) {
        _cleanup_free_ const char **argv = nsrun_argv(s, arguments);
        _cleanup_outcome_ struct outcome o = {0};
        struct json_object *object;
        struct running running;
        int status[2];

        assert_int_equal(pipe2(status, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv, .in_child = give_status_fd, .data = &status[1]}, &running);
        (void)close(status[1]);
        finish(&running, &o);
        expect_status(&o, expected);
        object = read_event(status[0], event);
        expect_no_more(status[0]);
        (void)close(status[0]);
        return object;
}

#define TIMED_OUT "nsrun: command timed out after %ss (sent SIGTERM%s)\n"

static void expect_timed_out(const struct site *s, const char *const *arguments, int expected,
                             bool is_late) {
        _cleanup_free_ const char **argv = nsrun_argv(s, arguments);
        _cleanup_outcome_ struct outcome o = {0};
        struct json_object *exited, *late = NULL;
        struct running running;
        int status[2];

        assert_int_equal(pipe2(status, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv, .in_child = give_status_fd, .data = &status[1]}, &running);
        (void)close(status[1]);
        json_object_put(read_event(status[0], "started"));
        exited = read_event(status[0], "exited");
        (void)json_object_object_get_ex(exited, "timed_out", &late);
        assert_int_equal(json_object_get_boolean(late), is_late);
        json_object_put(exited);
        (void)close(status[0]);
        finish(&running, &o);
        expect_status(&o, expected);
}

TEST(a_deadline_ends_a_run_whatever_it_does) {
        static const struct {
                const char *script, *out, *killed;
        } cases[] = {
                {"echo a; sleep 1000", "a\n", ""},
                {"trap 'echo bye; exit 3' TERM; sleep 1000 & wait", "bye\n", ""},
                {"kill -STOP $$", "", ""},
                {"trap '' TERM; echo on; setsid sleep 1000 & while :; do sleep 1000; done", "on\n",
                 ", then SIGKILL"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome in_time = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *told = NULL;
                _cleanup_outcome_ struct outcome o = {0};
                size_t n = 0;

                do
                        RUN(s, &o, "--timeout", deadlines[n], "--", "bash", "-c", cases[i].script);
                while (was_too_short(o.out, cases[i].out, &n));
                told = text_of(TIMED_OUT, deadlines[n], cases[i].killed);
                expect_status(&o, 124);
                expect_out(&o, cases[i].out);
                assert_string_equal(o.err, told);
        }
        RUN(s, &in_time, "--timeout", "600000", "--", "sh", "-c", "exit 5");
        expect_status(&in_time, 5);
        assert_string_equal(in_time.err, "");
        expect_timed_out(s, OPTIONS("--timeout=1", "--status-fd=9", "--", "sleep", "1000"), 124, true);
        expect_timed_out(s, OPTIONS("--timeout=600", "--status-fd=9", "--", "true"), 0, false);
}

TEST(a_deadline_that_is_none_is_refused) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome zero = {0}, word = {0};

        RUN(s, &zero, "--timeout=0", "--", "true");
        expect_refusal(&zero, 125, "nsrun: timeout must be >= 1, got 0; see 'nsrun run --help'");
        RUN(s, &word, "--timeout=1h", "--", "true");
        expect_refusal(&word, 125,
                       "nsrun: --timeout: not a whole number of seconds: 1h; see 'nsrun run --help'");
}

TEST(status_lines_tell_of_failures) {
        static const struct {
                const char *arguments[6];
                int status, error;
                const char *stage, *path;
        } cases[] = {
                {{"--status-fd", "9", "--", "no-such"}, 127, ENOENT, "exec", "no-such"},
                {{"--status-fd", "9", "--", "."}, 126, EACCES, "exec", "."},
                {{"--status-fd", "9", "--rw", "/usr", "true"}, 125, 0, "policy", "/usr"},
                {{"--status-fd", "9", "--net", "x", "true"}, 125, 0, "usage", "x"},
                {{"--status-fd", "9", "--bind", "/usr:/usr/nowhere:ro", "true"},
                 125,
                 ENOENT,
                 "mount",
                 "/usr/nowhere"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct json_object *failed =
                        run_for_event(*state, cases[i].arguments, "failed", cases[i].status);

                assert_int_equal(number_of(failed, "errno"), cases[i].error);
                assert_string_equal(json_object_get_string(json_object_object_get(failed, "stage")),
                                    cases[i].stage);
                assert_string_equal(json_object_get_string(json_object_object_get(failed, "path")),
                                    cases[i].path);
                assert_true(json_object_get_string_len(json_object_object_get(failed, "message")) > 0);
                json_object_put(failed);
        }
}

int main(void) {
        return run_all_tests();
}
