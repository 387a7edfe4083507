/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command with a terminal of its own (--pty, `nsrun shell`, `nsrun session enter`): job control, sizes,
 * what is typed and printed; and the caller's terminal, which nothing inside can reach. */
#include <sys/prctl.h>
#include <utmp.h>

#include "probe.h"
#include "terminal.h"

/* `$nsrun --pty -- sh -c SCRIPT`, until it has printed that it runs. */
static void start_with_pty(struct terminal *t, const char *script) {
        _cleanup_free_ char *line = text_of("$nsrun --pty -- sh -c \"$ready; %s\"", script);

        type_line(t, line);
        expect_text(t, "ready.\n");
}

static void expect_modes_unchanged(const struct terminal *t, const struct termios *before) {
        struct termios after = {0};

        assert_int_equal(tcgetattr(t->fd, &after), 0);
        assert_memory_equal(before, &after, sizeof(after));
}

/* ------------------------------------------------------------------ job control */

TEST_EVERYWHERE(control_z_stops_nsrun_and_fg_goes_on) {
        struct terminal t;

        open_terminal(*state, &t);
        start_with_pty(&t, "while read x; do echo got-\\$x.; done; exit 7");
        for (int j = 0; j < 3; j++) {
                type(&t, "\032");
                expect_text(&t, "Stopped");
                expect_text(&t, PROMPT);
                expect_typing_works(&t);
                type_line(&t, "fg");
                expect_text(&t, "exit 7");
                type_line(&t, "hello");
                expect_text(&t, "got-hello.\n");
        }
        type(&t, "\004");
        expect_text(&t, PROMPT);
        expect_last_status(&t, 7);
        close_terminal(&t);
}

/* A program that has the whole screen gives it back, and stops then. */
TEST(what_is_printed_before_a_stop_is_shown_before_it) {
        struct terminal t;

        open_terminal(*state, &t);
        for (int j = 0; j < 4; j++) {
                size_t from;

                start_with_pty(&t, "trap 'for i in 1 2 3; do echo part-\\$i; done; echo last-\\$((40+2)).; "
                                   "kill -STOP \\$\\$' TSTP; echo set-\\$((6*7)).; sleep 1000 & wait");
                expect_text(&t, "set-42.\n");
                from = t.seen;
                type(&t, "\032");
                expect_text(&t, "Stopped");
                if (!strstr(t.text + from, "last-42.") ||
                    strstr(t.text + from, "last-42.") > strstr(t.text + from, "Stopped"))
                        fail_msg("stopped with something left to show: %s", t.text + from);
                expect_text(&t, PROMPT);
                type_line(&t, "kill -9 %%; fg; echo gone-$((40+2)).");
                expect_text(&t, "gone-42.\n");
                expect_text(&t, PROMPT);
        }
        close_terminal(&t);
        collect_orphans();
}

TEST_EVERYWHERE(control_c_is_for_the_command_alone) {
        struct terminal t;

        open_terminal(*state, &t);
        start_with_pty(&t, "exec sleep 1000");
        type(&t, "\003");
        expect_text(&t, PROMPT);
        expect_last_status(&t, 130);
        start_with_pty(&t, "trap 'echo cau''ght.; c=1' INT; echo set-\\$((6*7)).; " UNTIL_CAUGHT
                           "; read x; exit 9");
        expect_text(&t, "set-42.\n");
        type(&t, "\003");
        expect_text(&t, "caught.\n");
        type(&t, "\n");
        expect_text(&t, PROMPT);
        expect_last_status(&t, 9);
        close_terminal(&t);
}

/* A pipeline is one job to the shell, and stops as one. */
TEST(all_of_a_pipeline_is_stopped) {
        struct terminal t;

        open_terminal(*state, &t);
        type_line(&t, "$nsrun --pty -- sh -c \"$ready; read x; echo got-\\$x.\" | cat");
        expect_text(&t, "ready.\n");
        type(&t, "\032");
        expect_text(&t, "Stopped");
        expect_text(&t, PROMPT);
        type_line(&t, "fg");
        expect_text(&t, "| cat");
        type_line(&t, "hello");
        expect_text(&t, "got-hello.\n");
        expect_text(&t, PROMPT);
        close_terminal(&t);
}

static void start_shell(struct terminal *t, const char *prompt) {
        if (session) {
                _cleanup_free_ char *line =
                        text_of("SHELL=/bin/bash ${nsrun%%%% *} session enter %s", session);

                type_line(t, line);
        } else {
                type_line(t, "SHELL=/bin/bash ${nsrun/ run / shell }");
        }
        expect_text(t, prompt);
}

TEST_EVERYWHERE(a_shell_says_where_one_is_and_has_job_control) {
        _cleanup_free_ char *prompt = session ? text_of("[nsrun %s] ", session) : strdup("[nsrun] ");
        struct terminal t;

        open_terminal(*state, &t);
        start_shell(&t, prompt);
        type_line(&t, "sh -c 'echo re''ady.; read x; echo got-$x.; exec sleep 1000'");
        expect_text(&t, "ready.\n");
        type(&t, "\032");
        expect_text(&t, "Stopped");
        expect_text(&t, prompt);
        type_line(&t, "fg");
        expect_text(&t, "exec sleep 1000");
        type_line(&t, "hello");
        expect_text(&t, "got-hello.\n");
        type(&t, "\003");
        expect_text(&t, prompt);
        type_line(&t, "echo last=$?.; test -t 0 && echo terminal-$((40+2)).");
        expect_text(&t, "last=130.\n");
        expect_text(&t, "terminal-42.\n");
        expect_text(&t, prompt);
        type_line(&t, "suspend");
        expect_text(&t, "Stopped");
        expect_text(&t, PROMPT);
        expect_typing_works(&t);
        type_line(&t, "fg");
        expect_text(&t, prompt);
        type_line(&t, "exit 7");
        expect_text(&t, PROMPT);
        expect_last_status(&t, 7);
        expect_typing_works(&t);
        close_terminal(&t);
}

TEST(the_terminal_has_a_name_inside) {
        struct terminal t;

        open_terminal(*state, &t);
        start_with_pty(&t, "tty");
        expect_text(&t, "/dev/console\n");
        expect_text(&t, PROMPT);
        close_terminal(&t);
}

/* As git does it, and whoever asks for a password. */
TEST(a_terminal_that_could_not_be_opened_is_told) {
        struct terminal t;

        open_terminal(*state, &t);
        type_line(&t, "$nsrun --explain -- sh -c 'echo x >/dev/tty'");
        expect_text(
                &t,
                "\nnsrun: reason: the command has no terminal that /dev/tty opens: nsrun run --pty gives it "
                "one of its own\n");
        expect_text(&t, PROMPT);
        type_line(&t, "$nsrun --explain --pty -- sh -c 'echo got-$((40+2)). >/dev/tty'");
        expect_text(&t, "got-42.\n");
        expect_text(&t, PROMPT);
        expect_last_status(&t, 0);
        close_terminal(&t);
}

TEST_EVERYWHERE(the_command_sees_the_callers_size) {
        struct winsize size = {.ws_row = 31, .ws_col = 93};
        struct terminal t;

        open_terminal(*state, &t);
        assert_int_equal(ioctl(t.fd, TIOCSWINSZ, &size), 0);
        start_with_pty(&t, "stty size; trap 'stty size; c=1' WINCH; echo set-\\$((6*7)).; " UNTIL_CAUGHT
                           "; read x");
        expect_text(&t, "31 93\n");
        expect_text(&t, "set-42.\n");
        size.ws_row = 47;
        assert_int_equal(ioctl(t.fd, TIOCSWINSZ, &size), 0);
        expect_text(&t, "47 93\n");
        type(&t, "\n");
        expect_text(&t, PROMPT);
        close_terminal(&t);
}

/* ------------------------------------------------------- what is typed and printed */

TEST_EVERYWHERE(a_password_is_not_shown) {
        struct terminal t;

        open_terminal(*state, &t);
        start_with_pty(&t, "stty -echo </dev/tty; echo ask-\\$((40+2)).; read x </dev/tty; stty echo "
                           "</dev/tty; echo got-\\${#x}.");
        expect_text(&t, "ask-42.\n");
        type_line(&t, "se"
                      "cret-word");
        expect_text(&t, "got-11.\n");
        expect_text(&t, PROMPT);
        assert_null(strstr(t.text, "secret-word"));
        expect_typing_works(&t);
        close_terminal(&t);
}

/* Standard input and output need not be terminals, and all that was printed comes out. */
TEST_EVERYWHERE(streams_that_are_no_terminal) {
        struct terminal t;

        open_terminal(*state, &t);
        type_line(&t, "echo hello | $nsrun --pty -- sh -c 'read x; echo got-$x.; cat; exit 5'");
        expect_text(&t, "got-hello.\n");
        expect_text(&t, PROMPT);
        expect_last_status(&t, 5);
        type_line(&t, "$nsrun --pty -- seq 100000 </dev/null | tr -d '\\r' | cksum; seq 100000 | cksum");
        expect_text(&t, "2052179976 588895\n");
        expect_text(&t, "2052179976 588895\n");
        expect_text(&t, PROMPT);
        type_line(&t, "$nsrun --pty -- yes | head -1");
        expect_text(&t, "y\n");
        expect_text(&t, PROMPT);
        close_terminal(&t);
}

TEST(the_deadline_ends_it) {
        struct terminal t;

        open_terminal(*state, &t);
        type_line(&t, "$nsrun --pty --timeout 1 -- sleep 1000");
        expect_text(&t, "timed out");
        expect_text(&t, PROMPT);
        expect_last_status(&t, 124);
        expect_typing_works(&t);
        close_terminal(&t);
}

/* -------------------------------------------------------- the caller's terminal */

TEST_EVERYWHERE(the_callers_terminal_is_as_it_was) {
        static const char *const ends[][2] = {{"stty raw -echo; exit 3", "3"},
                                              {"kill -9 \\$\\$", "137"},
                                              {"exec no-such-command", "127"},
                                              {"kill -9 0", "137"}};
        struct termios before = {0};
        struct terminal t;

        open_terminal(*state, &t);
        assert_int_equal(tcgetattr(t.fd, &before), 0);
        for (size_t j = 0; j < ARRAY_SIZE(ends); j++) {
                start_with_pty(&t, ends[j][0]);
                expect_text(&t, PROMPT);
                expect_modes_unchanged(&t, &before);
                expect_last_status(&t, atoi(ends[j][1]));
                expect_typing_works(&t);
        }
        close_terminal(&t);
}

/* The modes of the emulator that a command leaves: another screen, no cursor, the mouse's reports. */
TEST(the_emulator_is_as_it_was) {
        struct terminal t;

        open_terminal(*state, &t);
        start_with_pty(&t,
                       "printf '\\\\033[?1049h\\\\033[?25l\\\\033[?1003;1006h\\\\033(0left.\\\\n'; exit 3");
        expect_text(&t, "left.\n");
        expect_text(&t, "\033[?1049h\033[?1049l");
        expect_text(&t, ";1003;1004;1005;1006;1015;1016l");
        expect_text(&t, "\033[?7;25h");
        expect_text(&t, "\033(B");
        expect_text(&t, PROMPT);
        close_terminal(&t);
}

/* Where a command prints nothing but text the terminal gets nothing else. */
TEST(plain_text_is_all_that_is_shown) {
        const char *first;
        struct terminal t;

        open_terminal(*state, &t);
        start_with_pty(&t, "echo left-$((40+2)).; exit 3");
        expect_text(&t, "left-42.\n");
        first = t.text + t.seen;
        expect_text(&t, PROMPT);
        assert_string_equal(first, PROMPT);
        close_terminal(&t);
}

/* The text of a command's result has the notes; on a terminal nothing says them a second time. */
TEST(notes_are_said_once_at_a_terminal) {
        const char *first;
        struct terminal t;

        open_terminal(*state, &t);
        type_line(&t, "export BENCH_TO''KEN=1");
        expect_text(&t, PROMPT);
        type_line(&t, "${nsrun/ run / bash } 'echo ran-$((40+2)).; false'");
        expect_text(&t, "ran-42.\n");
        expect_text(&t, PROMPT);
        first = strstr(t.text, "BENCH_TOKEN\n");
        assert_non_null(first);
        assert_null(strstr(first + 1, "BENCH_TOKEN\n"));
        close_terminal(&t);
}

/* A question comes whenever the command asks for a name: its answer is typed in lines, and what comes after
 * it is the command's again. */
TEST(a_question_has_the_terminal_to_itself) {
        struct termios modes = {0};
        struct terminal t;

        if (!has_program("getent"))
                skip_because("getent is missing: nobody asks for a name");
        open_terminal(*state, &t);
        type_line(&t,
                  "$nsrun --pty --net=ask -- sh -c 'getent hosts host.example; echo got-$?.; read x; echo "
                  "$x-$((40+2)).'");
        expect_text(&t, "asked no more] ");
        assert_int_equal(tcgetattr(t.fd, &modes), 0);
        assert_int_equal(modes.c_lflag & (ICANON | ECHO), ICANON | ECHO);
        type(&t, "n\n");
        expect_text(&t, "is refused");
        expect_text(&t, "got-2.\n");
        assert_int_equal(tcgetattr(t.fd, &modes), 0);
        assert_int_equal(modes.c_lflag & (ICANON | ECHO), 0);
        type_line(&t, "hello");
        expect_text(&t, "hello-42.\n");
        expect_text(&t, PROMPT);
        close_terminal(&t);
}

/* nsrun itself, on a terminal that no shell puts right. */
struct alone {
        int master;
        pid_t nsrun;
        struct termios before;
};

static void launch_alone(const struct site *s, struct alone *a, const char *script) {
        (void)fflush(NULL);
        a->nsrun = forkpty(&a->master, NULL, NULL, NULL);
        assert_true(a->nsrun >= 0);
        if (a->nsrun == 0) {
                (void)execl(program(), program(), "run", "--project", s->project, "--pty", "--", "sh", "-c",
                            script, (char *)NULL);
                _exit(122);
        }
        assert_int_equal(fcntl(a->master, F_SETFD, FD_CLOEXEC), 0);
}

static void start_alone(const struct site *s, struct alone *a, const char *script) {
        char text[4096] = "";
        size_t n = 0;

        launch_alone(s, a, script);
        while (!strstr(text, "ready.")) {
                ssize_t more = read(a->master, text + n, sizeof(text) - 1 - n);

                assert_true(more > 0);
                n += (size_t)more;
        }
}

static void wait_microseconds(long n) {
        assert_int_equal(nanosleep(&(struct timespec){.tv_nsec = 1000 * n}, NULL), 0);
}

/* The first child, or 0. */
static pid_t child_of(pid_t parent) {
        _cleanup_free_ char *path = text_of("/proc/%d/task/%d/children", (int)parent, (int)parent);
        _cleanup_free_ char *children = file_text(path);

        return (pid_t)strtol(children, NULL, 10);
}

/* Whoever sees that the command runs may type a password: by then the terminal has no echo.  Pid 1 is
 * stopped for a while, at some time of its start, and reports it late. */
TEST(what_is_printed_is_shown_when_the_terminal_is_the_commands) {
        const struct site *s = *state;
        _cleanup_free_ char *started = path_of(s->project, "started");
        _cleanup_free_ char *script = text_of("echo ready.; touch '%s'; exec sleep 1000", started);
        unsigned n_late = 0;

        if (in_a_session() || by_the_library())
                skip_because("pid 1 itself is to be stopped");
        for (long delay = 0; delay <= 4000; delay += 100) {
                struct termios modes = {0};
                struct alone a = {0};
                char text[64] = "";
                pid_t init;

                launch_alone(s, &a, script);
                /* The first child may be one that is gone soon. */
                do {
                        while ((init = child_of(a.nsrun)) == 0)
                                ;
                        wait_microseconds(delay);
                } while (kill(init, SIGSTOP) < 0);
                for (int k = 0; k < 20 && access(started, F_OK) < 0; k++)
                        wait_microseconds(1000);
                n_late += access(started, F_OK) == 0 && tcgetattr(a.master, &modes) == 0 &&
                          (modes.c_lflag & ECHO);
                if (poll(&(struct pollfd){.fd = a.master, .events = POLLIN}, 1, 2) == 0)
                        assert_int_equal(kill(init, SIGCONT), 0);
                assert_true(read(a.master, text, sizeof(text) - 1) > 0);
                assert_int_equal(tcgetattr(a.master, &modes), 0);
                assert_int_equal(modes.c_lflag & (ICANON | ECHO), 0);
                (void)kill(init, SIGCONT);
                (void)close(a.master);
                assert_int_equal(waitpid(a.nsrun, NULL, 0), a.nsrun);
                (void)unlink(started);
        }
        (void)printf("%u times the start was told of late\n", n_late);
        collect_orphans();
}

/* Ended by nobody's will: a process that is left sets the terminal back. */
TEST(the_terminal_is_set_back_when_nsrun_is_killed) {
        char text[4096] = "";
        struct termios modes = {0};
        struct alone a = {0};
        size_t n = 0;
        ssize_t more;

        if (in_a_session() || by_the_library())
                skip_because("nsrun itself is to be killed");
        start_alone(*state, &a, "printf '\\033[?1049h'; stty raw; echo ready.; exec sleep 1000");
        assert_int_equal(tcgetattr(a.master, &modes), 0);
        assert_int_equal(modes.c_lflag & (ICANON | ECHO | ISIG), 0);
        assert_int_equal(kill(a.nsrun, SIGKILL), 0);
        assert_int_equal(waitpid(a.nsrun, NULL, 0), a.nsrun);
        /* The last that has it open is the process that sets it back. */
        while ((more = read(a.master, text + n, sizeof(text) - 1 - n)) > 0)
                n += (size_t)more;
        expect_in(text, "\033[?1049l");
        assert_int_equal(tcgetattr(a.master, &modes), 0);
        assert_int_equal(modes.c_lflag & (ICANON | ECHO | ISIG), ICANON | ECHO | ISIG);
        (void)close(a.master);
        collect_orphans();
}

/* What the terminal is asked for, answered in turn, and only when nsrun has asked, too, or has ended. */
static void answer_late(int master, pid_t nsrun) {
        char text[4096] = "", answers[256] = "\033[?62;22c";
        size_t n = 0;
        unsigned row, column;
        bool is_over = false;

        while (!is_over) {
                const char *question = strstr(text, "done.");

                question = question ? strstr(question, "\033[6n") : NULL;
                if (question) {
                        while (strncmp(question, "\0337", 2) != 0)
                                question--;
                        assert_int_equal(sscanf(question, "\0337\033[%u;%uH", &row, &column), 2);
                        (void)snprintf(answers + strlen(answers), 64, "\033[%u;%uR", row, column);
                        break;
                }
                is_over = waitpid(nsrun, NULL, WNOHANG) == nsrun;
                if (poll(&(struct pollfd){.fd = master, .events = POLLIN}, 1, 10) > 0) {
                        ssize_t more = read(master, text + n, sizeof(text) - 1 - n);

                        assert_true(more > 0);
                        n += (size_t)more;
                }
        }
        assert_int_equal(write(master, answers, strlen(answers)), strlen(answers));
        if (!is_over)
                assert_int_equal(waitpid(nsrun, NULL, 0), nsrun);
}

/* A terminal's answer comes when the command that asked has ended: the shell doesn't read it as typed. */
TEST(late_answers_are_not_typed_into_the_callers_shell) {
        const struct site *s = *state;
        struct termios before = {0}, after = {0};
        int master = -1, slave = -1, n = -1;
        pid_t nsrun;

        assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
        assert_int_equal(tcgetattr(slave, &before), 0);
        (void)fflush(NULL);
        nsrun = fork();
        if (nsrun == 0) {
                if (login_tty(slave) < 0)
                        _exit(122);
                (void)execl(program(), program(), "run", "--project", s->project, "--pty", "--", "printf",
                            "\\033[cdone.", (char *)NULL);
                _exit(122);
        }
        answer_late(master, nsrun);
        assert_int_equal(tcgetattr(slave, &after), 0);
        assert_memory_equal(&before, &after, sizeof(after));
        after.c_lflag &= ~(tcflag_t)ICANON;
        assert_int_equal(tcsetattr(slave, TCSANOW, &after), 0);
        assert_int_equal(ioctl(slave, FIONREAD, &n), 0);
        assert_int_equal(n, 0);
        (void)close(slave);
        (void)close(master);
}

/* As when its window is closed. */
TEST(the_command_ends_with_the_callers_terminal) {
        struct alone a = {0};
        int status = 0;

        start_alone(*state, &a, "echo ready.; exec sleep 1000");
        (void)close(a.master);
        assert_int_equal(waitpid(a.nsrun, &status, 0), a.nsrun);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 128 + SIGHUP);
}

/* --------------------------------------------------------------- hostile programs */

/* What a program may do to the terminal that it has: each of it to its own. */
static void be_hostile(void) {
        static const char typed[] = "echo sto''len.\n";
        int discipline = 2; /* N_MOUSE */
        struct termios raw;
        int r = 0;

        for (const char *c = typed; *c && r == 0; c++)
                r = ioctl(0, TIOCSTI, c);
        (void)printf("tiocsti-%s.\n", r == 0 ? "done" : strerror(errno));
        (void)printf("session-%d.\n", setsid() >= 0 && ioctl(0, TIOCSCTTY, 1) == 0);
        assert_int_equal(tcgetattr(0, &raw), 0);
        cfmakeraw(&raw);
        assert_int_equal(tcsetattr(0, TCSANOW, &raw), 0);
        (void)printf("hostile.\r\n");
        (void)fflush(NULL);
        (void)ioctl(0, TIOCSETD, &discipline);
        _exit(6);
}

TEST(a_hostile_program_reaches_its_own_terminal_alone) {
        static const char *const filters[] = {"default", "none"};
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL);
        struct termios before = {0};
        struct terminal t;

        open_terminal(*state, &t);
        assert_int_equal(tcgetattr(t.fd, &before), 0);
        for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
                _cleanup_free_ char *line = text_of(
                        "$nsrun --pty --seccomp=%s --bind %s:/probe:ro -- /probe hostile", filters[i], self);

                type_line(&t, line);
                expect_text(&t, "hostile.\n");
                expect_text(&t, PROMPT);
                expect_modes_unchanged(&t, &before);
                expect_last_status(&t, 6);
                expect_typing_works(&t);
        }
        assert_null(strstr(t.text, "stolen.\n"));
        close_terminal(&t);
}

/* A program that wakes itself goes on, and reads nothing that is typed for others meanwhile. */
TEST(who_wakes_itself_reads_nothing_of_the_callers) {
        struct terminal t;

        open_terminal(*state, &t);
        start_with_pty(&t,
                       "mkfifo a b; setsid sh -c 'echo apart-\\$((6*7)).; read x <a; kill -CONT -1; echo "
                       "woken >b' & while read x; do echo got-\\$x.; done");
        /* In a session of its own it isn't stopped with the others. */
        expect_text(&t, "apart-42.\n");
        type(&t, "\032");
        expect_text(&t, "Stopped");
        expect_text(&t, PROMPT);
        type_line(&t, "echo >project/a; cat project/b");
        expect_text(&t, "woken\n");
        for (int k = 0; k < 3; k++)
                expect_typing_works(&t);
        type_line(&t, "fg; rm project/a project/b");
        expect_text(&t, "done");
        type_line(&t, "hello");
        expect_text(&t, "got-hello.\n");
        type(&t, "\003");
        expect_text(&t, PROMPT);
        assert_null(strstr(t.text, "got-echo"));
        close_terminal(&t);
}

/* A program that takes every key for itself has no say in this. */
TEST_EVERYWHERE(a_person_ends_what_ignores_everything) {
        struct terminal t;

        open_terminal(*state, &t);
        start_with_pty(
                &t,
                "trap '' INT QUIT TSTP HUP TERM; stty raw -echo; echo deaf-\\$((6*7)).; while :; do read x; done");
        expect_text(&t, "deaf-42.");
        type(&t, "\003\032\035\035x\035\035\035");
        expect_text(&t, PROMPT);
        expect_last_status(&t, 137);
        expect_typing_works(&t);
        close_terminal(&t);
}

int main(int argc, char **argv) {
        if (argc == 2 && streq(argv[1], "hostile"))
                be_hostile();
        return run_all_tests();
}
