/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun bash`: what a command of an agent gets, how it ends, and what is told of it.  Deadlines are
 * real seconds here, but which one came first is never measured. */
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "bash.h"
#include "faults.h"

/* -------------------------------------------------------------------- the text */

TEST(the_text_is_the_references_byte_for_byte) {
        static const struct {
                const char *command;
                int status;
                const char *expected;
        } cases[] = {
                {"echo hi", 0, "$ echo hi\nhi\n\n\nexit status: 0"},
                {"printf hi", 0, "$ printf hi\nhi\n\nexit status: 0"},
                {"exit 3", 3, "$ exit 3\n\n\nexit status: 3"},
                {"echo a\necho b >&2; echo c", 0,
                 "$ echo a\necho b >&2; echo c\na\nb\nc\n\n\nexit status: 0"},
                {"printf '\\033[31m\\377'", 0, "$ printf '\\033[31m\\377'\n\033[31m\377\n\nexit status: 0"},
                {"printf %s \"\033[2K\r\"", 0, "$ printf %s \"\\x1b[2K\\x0d\"\n\033[2K\r\n\nexit status: 0"},
                {"kill -9 $$", 137, "$ kill -9 $$\n\n\nexit status: 137"},
                {"exit 124", 124, "$ exit 124\n\n\nexit status: 124"},
                {"exit 125", 125, "$ exit 125\n\n\nexit status: 125"},
                {"(exit 137)", 137, "$ (exit 137)\n\n\nexit status: 137"},
                {"cat; echo $?", 0, "$ cat; echo $?\n0\n\n\nexit status: 0"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_outcome_ struct outcome o = {0};

                BASH(*state, &o, cases[i].command);
                expect_out(&o, cases[i].expected);
                expect_status(&o, cases[i].status);
                assert_string_equal(o.err, "");
        }
}

TEST(a_refusal_is_the_result_and_nothing_ran) {
        const struct site *s = *state;
        static const struct {
                const char *option, *command, *expected;
        } cases[] = {
                {"--timeout=10", "", "Error: empty bash command."},
                {"--timeout=0", " \n", "Error: empty bash command."},
                {"--timeout=0", "touch ran", "Error: timeout must be >= 1, got 0"},
                {"--timeout=-5", "touch ran", "Error: timeout must be >= 1, got -5"},
                {"--timeout=601", "touch ran", "Error: timeout must be <= 600, got 601"},
                {"--confirm=false", "touch ran", "Error: user declined the bash command."},
                {"--confirm=/nonexistent/x", "touch ran",
                 "Error: nobody can be asked to confirm the command: /nonexistent/x: No such file or directory"},
                {"--chdir=/usr", "touch ran",
                 "Error: --chdir is not for bash: its commands begin at the project's root: Invalid argument; "
                 "use cd in the command"},
                {"--ro=/nonexistent", "touch ran",
                 "Error: this path is not there: /nonexistent: No such file or directory"},
        };
        _cleanup_free_ char *ran = path_of(s->project, "ran");
        _cleanup_outcome_ struct outcome good = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_outcome_ struct outcome o = {0};
                _cleanup_told_ struct told t = {0};
                _cleanup_free_ char *word = NULL;

                BASH(s, &o, cases[i].option, cases[i].command);
                if (startswith(cases[i].option, "--ro="))
                        expect_in(o.out, "/nonexistent: No such file or directory");
                else
                        expect_out(&o, cases[i].expected);
                expect_status(&o, 125);
                TOLD(s, &t, cases[i].option, cases[i].command);
                expect_status(&t.outcome, 125);
                word = text_of("%s", o.out + strlen("Error: "));
                assert_string_equal(json_object_get_string(json_object_object_get(t.object, "error")), word);
                assert_int_equal(access(ran, F_OK), -1);
        }
        BASH(s, &good, "--timeout=600", "--confirm=true", "touch ran");
        expect_status(&good, 0);
        assert_int_equal(access(ran, F_OK), 0);
}

TEST(what_is_no_command_line_is_told_on_stderr) {
        _cleanup_outcome_ struct outcome none = {0}, two = {0}, words = {0}, report = {0};

        BASH(*state, &none, "--confirm=never");
        expect_refusal(&none, 125, "nsrun: no command; see 'nsrun bash --help'");
        BASH(*state, &two, "ls", "-l");
        expect_refusal(&two, 125,
                       "nsrun: one command string is enough, quoted for the shell: -l; see 'nsrun bash "
                       "--help'");
        BASH(*state, &words, "--timeout=soon", "true");
        expect_refusal(&words, 125,
                       "nsrun: --timeout: not a whole number of seconds: soon; see 'nsrun bash --help'");
        BASH(*state, &report, "--report", "true");
        expect_refusal(&report, 125,
                       "nsrun: only --json has room for it: --report; see 'nsrun bash --help'");
}

/* ---------------------------------------------------------------- where it runs */

TEST(each_command_begins_at_the_project) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome first = {0}, second = {0};
        _cleanup_free_ char *expected = text_of("$ pwd\n%s\n\n\nexit status: 0", s->project);

        make_folder(s->project, "sub");
        BASH(s, &first, "cd sub && pwd");
        expect_in(first.out, "/project/sub\n");
        BASH(s, &second, "pwd");
        expect_out(&second, expected);
}

TEST(no_startup_file_is_read) {
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->project, "rc");
        _cleanup_outcome_ struct outcome inside = {0}, set = {0}, outside = {0};

        make_file(s->project, "rc", "echo from-rc\n");
        make_file(s->home, ".bashrc", "echo from-rc\n");
        make_file(s->home, ".bash_profile", "echo from-rc\n");
        assert_int_equal(setenv("BASH_ENV", file, 1), 0);
        run_outside(s, &outside, "bash -c true");
        BASH(s, &inside, "echo \"${BASH_ENV-none}\"; shopt login_shell");
        BASH(s, &set, "--env=BASH_ENV=rc", "echo done");
        assert_int_equal(unsetenv("BASH_ENV"), 0);
        expect_out(&outside, "from-rc\n");
        expect_not_in(inside.out, "from-rc");
        expect_in(inside.out, "\nnone\nlogin_shell");
        expect_in(inside.out, "off\n");
        expect_out(&set, "$ echo done\ndone\n\n\nexit status: 0");
}

TEST(a_secret_that_is_withheld_is_said_where_the_command_fails) {
        static const char note[] =
                "variables that look like secrets are withheld from the command (--env NAME "
                "passes one): MY_TOKEN, POSTGRES_URL";
        const struct site *s = *state;
        _cleanup_free_ char *text = text_of("$ echo $MY_TOKEN; false\n\n\n\nexit status: 1\nnote: %s", note),
                            *err = text_of("nsrun: note: %s\n", note), *json = text_of("[\"%s\"]", note);
        _cleanup_outcome_ struct outcome o = {0}, passed = {0}, good = {0};
        _cleanup_told_ struct told told = {0}, fine = {0};

        assert_int_equal(setenv("MY_TOKEN", "t", 1), 0);
        assert_int_equal(setenv("POSTGRES_URL", "postgres://u:p@h/d", 1), 0);
        BASH(s, &o, "echo $MY_TOKEN; false");
        BASH(s, &passed, "--env=MY_TOKEN", "--env=POSTGRES_URL", "echo $MY_TOKEN; false");
        BASH(s, &good, "echo $MY_TOKEN");
        TOLD(s, &told, "kill -9 $$");
        TOLD(s, &fine, "true");
        assert_int_equal(unsetenv("MY_TOKEN"), 0);
        assert_int_equal(unsetenv("POSTGRES_URL"), 0);
        expect_out(&o, text);
        assert_string_equal(o.err, err);
        expect_out(&passed, "$ echo $MY_TOKEN; false\nt\n\n\nexit status: 1");
        assert_string_equal(passed.err, "");
        expect_member(&told, "notes", json);
        /* Of what succeeded nothing is said: an agent reads it with each command. */
        expect_out(&good, "$ echo $MY_TOKEN\n\n\n\nexit status: 0");
        assert_string_equal(good.err, "");
        expect_member(&fine, "notes", "[]");
}

TEST(a_command_that_begins_with_a_dash_is_one) {
        _cleanup_outcome_ struct outcome o = {0};

        BASH(*state, &o, "--", "-l() { echo ran; }; -l");
        expect_out(&o, "$ -l() { echo ran; }; -l\nran\n\n\nexit status: 0");
}

TEST(it_is_in_a_sandbox) {
        const struct site *s = *state;
        _cleanup_free_ char *command = text_of("cat %s/secret", s->outside);
        _cleanup_outcome_ struct outcome inside = {0}, outside = {0};

        make_file(s->outside, "secret", "the key\n");
        run_outside(s, &outside, command);
        expect_out(&outside, "the key\n");
        BASH(s, &inside, command);
        expect_status(&inside, 1);
        expect_not_in(inside.out, "the key");
}

/* -------------------------------------------------------------------- how it ends */

TEST(a_deadline_ends_whatever_runs) {
        static const char *const commands[] = {
                "echo a; sleep 1000",
                "echo a; while :; do :; done",
                /* Holds on to the pipe from a session of its own, ignoring everything. */
                ("echo a; (trap '' HUP INT TERM; setsid bash -c '(trap \"\" HUP INT TERM; sleep 1000) & disown') &"
                 " wait; sleep 1000"),
                "trap '' TERM INT HUP; echo a; while :; do sleep 1000; done",
                "echo a; kill -STOP $$",
        };

        for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
                _cleanup_free_ char *expected = NULL;
                _cleanup_outcome_ struct outcome o = {0};
                size_t n = 0;

                do
                        BASH(*state, &o, "--timeout", deadlines[n], commands[i]);
                while (was_too_short(o.out, "\na\n", &n));
                expected = text_of("Error: command timed out after %ss (sent SIGTERM, then "
                                   "SIGKILL).\n\n$ %s\na\n",
                                   deadlines[n], commands[i]);
                expect_status(&o, 124);
                expect_out(&o, expected);
        }
}

TEST(what_holds_the_output_beyond_the_command_is_said) {
        static const char command[] = "sleep 1000 & echo ready";
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *expected = NULL;
        size_t i = 0;

        do
                BASH(*state, &o, "--timeout", deadlines[i], command);
        while (was_too_short(o.out, "\nready\n", &i));
        expect_status(&o, 124);
        expected = text_of(
                "Error: command timed out after %ss (sent SIGTERM, then SIGKILL).\n\n$ sleep 1000 & echo "
                "ready\nready\n\n\nnote: the command had ended, but a background process still held its "
                "output: start one as 'COMMAND >FILE 2>&1 &'",
                deadlines[i]);
        expect_out(&o, expected);
        BASH(*state, &o, "--timeout=60", "sleep 1000 >log 2>&1 & echo ready");
        expect_status(&o, 0);
        expect_out(&o, "$ sleep 1000 >log 2>&1 & echo ready\nready\n\n\nexit status: 0");
}

/* No pager, editor or prompt waits for a person. */
TEST(programs_are_told_that_nobody_is_there) {
        static const char *const usual[] = {"TERM=dumb",
                                            "PAGER=cat",
                                            "GIT_PAGER=cat",
                                            "MANPAGER=cat",
                                            "SYSTEMD_PAGER=cat",
                                            "EDITOR=true",
                                            "VISUAL=true",
                                            "GIT_EDITOR=true",
                                            "GIT_SEQUENCE_EDITOR=true",
                                            "GIT_TERMINAL_PROMPT=0",
                                            "NO_COLOR=1",
                                            "DEBIAN_FRONTEND=noninteractive",
                                            "PIP_NO_INPUT=1"};
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(setenv("TERM", "xterm-256color", 1), 0);
        assert_int_equal(setenv("EDITOR", "vim", 1), 0);
        BASH(*state, &o, "--timeout=60", "env");
        expect_status(&o, 0);
        for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
                _cleanup_free_ char *line = text_of("\n%s\n", usual[i]);

                expect_in(o.out, line);
        }
        /* Each is taken back by what the policy says of it. */
        BASH(*state, &o, "--timeout=60", "--env=TERM", "--env=EDITOR=ed", "--unsetenv=NO_COLOR",
             "echo $TERM $EDITOR ${NO_COLOR-none} $PAGER");
        expect_out(
                &o,
                "$ echo $TERM $EDITOR ${NO_COLOR-none} $PAGER\nxterm-256color ed none cat\n\n\nexit status: 0");
        /* Not for a person's own command. */
        RUN(*state, &o, "--", "sh", "-c", "echo $TERM $EDITOR ${PAGER-none}");
        expect_out(&o, "xterm-256color vim none\n");
}

TEST(everybody_gets_sigterm_first) {
        const struct site *s = *state;
        _cleanup_told_ struct told polite = {0}, stopped = {0}, stubborn = {0};
        _cleanup_free_ char *path = path_of(s->project, "other"), *other = NULL;

        /* Also one in a session of its own that nobody waits for. */
        TOLD_IN_TIME(
                s, &polite, "on",
                "trap 'until [ -s other ]; do read -t 0.1 <> <(:); done; echo bye; exit 5' TERM; rm -f on; "
                "setsid bash -c 'trap \"echo told >other; exit\" TERM; >on; while :; do read -t 1 <> <(:); "
                "done' >/dev/null 2>&1 & until [ -e on ]; do read -t 0.1 <> <(:); done; echo on; "
                "while :; do read -t 1 <> <(:); done");
        expect_end(&polite, "5", "null", "true");
        expect_member(&polite, "output", "\"on\\nbye\\n\"");
        expect_status(&polite.outcome, 124);
        other = file_text(path);
        assert_string_equal(other, "told\n");

        TOLD_IN_TIME(s, &stopped, "on",
                     "trap 'echo woken; exit 6' TERM; echo on; kill -STOP $$; while :; do :; done");
        expect_end(&stopped, "6", "null", "true");
        expect_member(&stopped, "output", "\"on\\nwoken\\n\"");

        TOLD_IN_TIME(s, &stubborn, "on", "trap '' TERM; echo on; while :; do :; done");
        expect_end(&stubborn, "null", "9", "true");
        expect_member(&stubborn, "oom_killed", "false");
}

TEST(ends_are_told_apart) {
        static const struct {
                const char *command;
                int exit_status;
                const char *status, *signal;
        } cases[] = {
                {"exit 124", 124, "124", "null"},     {"kill -KILL $$", 137, "null", "9"},
                {"kill -TERM $$", 143, "null", "15"}, {"(exit 137)", 137, "137", "null"},
                {"kill -SEGV $$", 139, "null", "11"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_told_ struct told t = {0};

                TOLD(*state, &t, cases[i].command);
                expect_end(&t, cases[i].status, cases[i].signal, "false");
                expect_member(&t, "oom_killed", "false");
                expect_status(&t.outcome, cases[i].exit_status);
        }
}

TEST(who_holds_the_output_is_waited_for) {
        _cleanup_told_ struct told held = {0}, short_one = {0}, redirected = {0}, closed = {0};

        TOLD_IN_TIME(*state, &held, "started", "sleep 1000 & echo started");
        expect_end(&held, "0", "null", "true");
        expect_member(&held, "output", "\"started\\n\"");
        expect_status(&held.outcome, 124);
        /* Until it ends. */
        TOLD(*state, &short_one, "(read -t 0.2 <> <(:); echo late) & echo early");
        expect_end(&short_one, "0", "null", "false");
        expect_member(&short_one, "output", "\"early\\nlate\\n\"");
        TOLD(*state, &redirected, "sleep 1000 >/dev/null 2>&1 & echo started");
        expect_end(&redirected, "0", "null", "false");
        expect_status(&redirected.outcome, 0);
        /* And one that closes its own outputs is waited for all the same. */
        TOLD(*state, &closed, "exec >/dev/null 2>&1; read -t 0.2 <> <(:); exit 4");
        expect_end(&closed, "4", "null", "false");
}

/* ------------------------------------------------------------------------ limits */

TEST(a_fork_bomb_ends_at_its_deadline) {
        static const char bomb[] = "b() { b | b & }; b >/dev/null 2>&1; echo lit; sleep 1000";
        const struct site *s = *state;
        _cleanup_told_ struct told t = {0}, after = {0};

        TOLD(s, &t, "--limit=pids=50", "--timeout=1", bomb);
        /* The host's root is bounded by a cgroup or not at all. */
        if (geteuid() == 0 && t.outcome.status == 125) {
                expect_in(t.outcome.out, "--limit pids: the kernel doesn't count this user's processes");
                return;
        }
        expect_member(&t, "timed_out", "true");
        expect_status(&t.outcome, 124);
        TOLD(s, &after, "--limit=pids=50", "echo well");
        expect_member(&after, "output", "\"well\\n\"");
        expect_status(&after.outcome, 0);
}

static const char eat[] = "exec python3 -c 'x = bytearray(400 << 20); print(len(x))'";

static void enter_cgroup(void *data) {
        int fd = open(data, O_WRONLY | O_CLOEXEC);

        if (fd < 0 || write(fd, "0", 1) != 1)
                _exit(119);
}

/* In a cgroup of the caller's, as a container is: the count isn't the sandbox's own then.  Needs root,
 * and a memory controller of either version. */
TEST(the_callers_cgroup_counts_too) {
        static const char *const places[][3] = {
                {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "67108864"},
                {"/sys/fs/cgroup", "memory.max", "67108864"},
        };
        const char **argv = bash_argv(*state, OPTIONS("--json", eat));
        _cleanup_told_ struct told in = {0}, out = {0};

        TOLD(*state, &out, eat);
        expect_member(&out, "output", "\"419430400\\n\"");
        expect_member(&out, "oom_killed", "false");
        for (size_t i = 0; i < ARRAY_SIZE(places) && !in.object; i++) {
                _cleanup_free_ char *name = text_of("nsrun-test-%d", getpid()),
                                    *folder = path_of(places[i][0], name),
                                    *limit = path_of(folder, places[i][1]),
                                    *procs = path_of(folder, "cgroup.procs");
                const struct request request = {.argv = argv, .in_child = enter_cgroup, .data = procs};
                int fd;

                if (mkdir(folder, 0755) < 0)
                        continue;
                fd = open(limit, O_WRONLY | O_CLOEXEC);
                if (fd >= 0 && write(fd, places[i][2], strlen(places[i][2])) > 0) {
                        run(&request, &in.outcome);
                        parse(&in);
                }
                if (fd >= 0)
                        (void)close(fd);
                assert_int_equal(rmdir(folder), 0);
        }
        free(argv);
        if (!in.object)
                return;
        expect_end(&in, "null", "9", "false");
        expect_member(&in, "oom_killed", "true");
        expect_status(&in.outcome, 137);
}

/* An OOM kill, a SIGKILL and a deadline that needed one end alike, and are told apart. */
TEST(an_oom_kill_is_told_from_other_ends) {
        const struct site *s = *state;
        _cleanup_told_ struct told eaten = {0}, enough = {0}, killed = {0}, late = {0};

        TOLD(s, &killed, "kill -9 $$");
        expect_end(&killed, "null", "9", "false");
        expect_member(&killed, "oom_killed", "false");
        TOLD(s, &eaten, "--limit=memory=64M", eat);
        if (eaten.outcome.status == 125) {
                expect_in(eaten.outcome.out, "{\"error\":\"--limit memory: no cgroup");
                return;
        }
        expect_end(&eaten, "null", "9", "false");
        expect_member(&eaten, "oom_killed", "true");
        TOLD(s, &enough, eat);
        expect_member(&enough, "output", "\"419430400\\n\"");
        expect_member(&enough, "oom_killed", "false");
        TOLD_IN_TIME(s, &late, "on", "--limit=memory=64M", "trap '' TERM; echo on; while :; do :; done");
        expect_end(&late, "null", "9", "true");
        expect_member(&late, "oom_killed", "false");
}

/* ------------------------------------------------------------------------ output */

/* The most memory that nsrun, pid 1 and the command had, each for itself: KiB. */
static long run_measured(const struct site *s, const char *command, const char *expected) {
        const char **argv = bash_argv(s, OPTIONS("--json", command));
        char text[400000];
        struct rusage usage;
        int ends[2], status;
        size_t n = 0;
        ssize_t part;
        pid_t pid;

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                if (dup2(ends[1], 1) == 1)
                        (void)execv(argv[0], (char *const *)(uintptr_t)argv);
                _exit(127);
        }
        (void)close(ends[1]);
        while ((part = read(ends[0], text + n, sizeof(text) - 1 - n)) > 0)
                n += (size_t)part;
        (void)close(ends[0]);
        text[n] = '\0';
        assert_int_equal(wait4(pid, &status, 0, &usage), pid);
        assert_int_equal(status, 0);
        if (!strstr(text, expected))
                fail_msg("no %s in ...%s", expected, n > 200 ? text + n - 200 : text);
        free(argv);
        return usage.ru_maxrss;
}

TEST(output_of_any_size_is_held_in_constant_memory) {
        bool all = is_long();
        long without = run_measured(*state, "true", "\"bytes_total\":0,\"bytes_omitted\":0,");
        long with = run_measured(*state, all ? "head -c 10G /dev/zero" : "head -c 1G /dev/zero",
                                 all ? "\"bytes_total\":10737418240,\"bytes_omitted\":10737387520,"
                                     : "\"bytes_total\":1073741824,\"bytes_omitted\":1073711104,");

        print_message("%ld KiB without output, %ld with\n", without, with);
        /* AddressSanitizer's shadow of what was touched grows a little, too. */
        assert_true(with < without + (IS_SANITIZED ? 16384 : 512));
}

TEST(both_ends_of_the_output_and_a_marker_are_told) {
        _cleanup_outcome_ struct outcome o = {0};
        const char *marker;

        BASH(*state, &o, "echo begin; head -c 40000 /dev/zero | tr '\\0' x; echo end");
        expect_status(&o, 0);
        marker = strstr(o.out, "xx\n... [9290 bytes omitted, 40010 bytes total] ...\nxx");
        assert_non_null(marker);
        assert_int_equal(marker + 2 - (strstr(o.out, "\nbegin") + 1), 15 * 1024);
        expect_in(o.out, "xxend\n\n\nexit status: 0");
}

TEST(many_commands_in_a_row_leave_nothing) {
        int n = is_long() ? 10000 : 200;
        long first = 0, most = 0;

        for (int i = 0; i < n; i++) {
                long used = run_measured(*state, "echo x", "\"output\":\"x\\n\",");

                if (i == 0)
                        first = used;
                if (used > most)
                        most = used;
        }
        print_message("%d commands: %ld KiB the first, %ld at most\n", n, first, most);
        assert_true(most < first + 1024);
}

/* ---------------------------------------------------------------------- the rest */

TEST(a_signal_to_nsrun_ends_the_command_and_nsrun) {
        static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGKILL};
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->project, "fifo");

        assert_int_equal(mkfifo(path, 0600), 0);
        for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
                const char **argv = bash_argv(s, OPTIONS("echo ready >fifo; exec sleep 1000"));
                const struct request request = {.argv = argv};
                _cleanup_outcome_ struct outcome o = {0};
                _cleanup_close_ int fifo = open(path, O_RDWR | O_CLOEXEC);
                struct running running;

                spawn(&request, &running);
                await_line(fifo, "ready\n");
                assert_int_equal(kill(running.pid, signals[i]), 0);
                finish(&running, &o);
                expect_status(&o, 1000 + signals[i]);
                expect_out(&o, "");
                if (signals[i] == SIGKILL)
                        collect_orphans();
                free(argv);
        }
}

/* nsrun is behind: all that the command wrote lies in a pipe which it made larger. */
TEST(output_is_whole_however_large_the_pipe_is) {
        const struct site *s = *state;
        _cleanup_free_ char *ready = path_of(s->project, "ready"), *go = path_of(s->project, "go"),
                            *children_path = NULL, *children = NULL, *line = NULL;
        const char **argv =
                bash_argv(s, OPTIONS("--json", "exec perl -e 'fcntl(STDOUT, 1031, 1 << 20) or die; "
                                               "open(R, \">ready\"); print R \"ready\\n\"; close(R); "
                                               "open(G, \"<go\"); <G>; syswrite(STDOUT, \"a\" x 1000000)'"));
        const struct request request = {.argv = argv};
        _cleanup_close_ int is_ready = -EBADF, may_go = -EBADF, reaper = -EBADF;
        struct pollfd end = {.events = POLLIN};
        _cleanup_told_ struct told told = {0};
        struct running running;
        siginfo_t info;

        assert_int_equal(mkfifo(ready, 0600), 0);
        assert_int_equal(mkfifo(go, 0600), 0);
        is_ready = open(ready, O_RDWR | O_CLOEXEC);
        may_go = open(go, O_RDWR | O_CLOEXEC);
        spawn(&request, &running);
        free(argv);
        line = read_line(is_ready);
        children_path = text_of("/proc/%d/task/%d/children", running.pid, running.pid);
        children = file_text(children_path);
        reaper = end.fd = (int)syscall(SYS_pidfd_open, atoi(children), 0);
        assert_true(reaper >= 0);
        assert_int_equal(kill(running.pid, SIGSTOP), 0);
        assert_int_equal(waitid(P_PID, (id_t)running.pid, &info, WSTOPPED), 0);
        assert_int_equal(write(may_go, "\n", 1), 1);
        assert_int_equal(poll(&end, 1, deadline_seconds * 1000), 1);
        assert_int_equal(kill(running.pid, SIGCONT), 0);
        finish(&running, &told.outcome);
        parse(&told);
        expect_status(&told.outcome, 0);
        expect_member(&told, "bytes_total", "1000000");
}

TEST(denied_calls_are_reported_where_asked_for) {
        _cleanup_told_ struct told with = {0}, none = {0}, without = {0};
        struct json_object *report;

        TOLD(*state, &with, "--report", "unshare -U true; unshare -U true");
        report = json_object_object_get(with.object, "report");
        assert_int_equal(json_object_array_length(report), 1);
        report = json_object_array_get_idx(report, 0);
        assert_string_equal(json_object_get_string(json_object_object_get(report, "syscall")), "unshare");
        assert_int_equal(json_object_get_int(json_object_object_get(report, "count")), 2);
        TOLD(*state, &none, "--report", "true");
        expect_member(&none, "report", "[]");
        TOLD(*state, &without, "unshare -U true");
        expect_member(&without, "report", "null");
}

int main(void) {
        return run_all_tests();
}
