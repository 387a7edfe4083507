/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A person at a terminal: an interactive shell with job control, and what is typed there while nsrun is in
 * its foreground. */
#include <pthread.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include "bwrap-run.h"
#include "probe.h"
#include "stage.h"
#include "terminal.h"

#define INNER_PROMPT "inner> "

static const char *const session_options[] = {"--new-session", "--no-new-session"};

/* A session that is to have the second way was started with it, and may not be told so again. */
static const char *session_option(size_t i) {
        return session && i == 1 ? "" : session_options[i];
}

/* `$nsrun OPTION -- sh -c SCRIPT`, until it has printed that it runs. */
static void start_script(struct terminal *t, const char *option, const char *script) {
        _cleanup_free_ char *line = text_of("$nsrun %s -- sh -c \"$ready; %s\"", option, script);

        type_line(t, line);
        expect_text(t, "ready.\n");
}

/* ---------------------------------------------------------------- in the foreground */

TEST_EVERYWHERE(control_c_ends_the_command_with_130) {
        for (size_t i = 0; i < ARRAY_SIZE(session_options); i++) {
                struct terminal t;

                open_terminal(*state, &t);
                start_script(&t, session_option(i), "exec sleep 1000");
                type(&t, "\003");
                expect_text(&t, PROMPT);
                expect_last_status(&t, 130);
                expect_typing_works(&t);
                close_terminal(&t);
        }
}

TEST_EVERYWHERE(control_c_is_the_commands_to_catch) {
        for (size_t i = 0; i < ARRAY_SIZE(session_options); i++) {
                struct terminal t;

                open_terminal(*state, &t);
                start_script(&t, session_option(i),
                             "trap 'echo cau''ght.; c=1' INT; echo set-$((6*7)).; " UNTIL_CAUGHT
                             "; read x; exit 9");
                expect_text(&t, "set-42.\n");
                type(&t, "\003");
                expect_text(&t, "caught.\n");
                type(&t, "\n");
                expect_text(&t, PROMPT);
                expect_last_status(&t, 9);
                close_terminal(&t);
        }
}

TEST_EVERYWHERE(control_z_stops_the_job_and_fg_goes_on) {
        for (size_t i = 0; i < ARRAY_SIZE(session_options); i++) {
                struct terminal t;

                open_terminal(*state, &t);
                start_script(&t, session_option(i), "while read x; do echo got-\\$x.; done; exit 7");
                for (int j = 0; j < 3; j++) {
                        type(&t, "\032");
                        expect_text(&t, "Stopped");
                        expect_text(&t, PROMPT);
                        expect_typing_works(&t);
                        type_line(&t, "jobs; echo end-$((40+2)).");
                        expect_text(&t, "Stopped");
                        expect_text(&t, "end-42.\n");
                        expect_text(&t, PROMPT);
                        type_line(&t, "fg");
                        expect_text(&t, "exit 7");
                        type_line(&t, "hello");
                        expect_text(&t, "got-hello.\n");
                }
                type(&t, "\004");
                expect_text(&t, PROMPT);
                expect_last_status(&t, 7);
                expect_typing_works(&t);
                close_terminal(&t);
        }
}

/* As many as there are processors, and everybody who runs with SCHED_IDLE has to wait. */
static void keep_busy(pid_t *pids, size_t n) {
        for (size_t i = 0; i < n; i++) {
                pids[i] = fork();
                assert_true(pids[i] >= 0);
                if (pids[i] == 0) {
                        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                        for (;;)
                                ;
                }
        }
}

/* Who has not noticed yet that it is stopped reads what is typed at the prompt. */
TEST_EVERYWHERE(a_slow_job_is_stopped_before_the_prompt) {
        pid_t busy[1024];
        size_t n = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
        struct terminal t;

        if (!has_program("chrt"))
                skip_because("chrt is missing: nobody to be slow");
        assert_between(n, 1, ARRAY_SIZE(busy));
        open_terminal(*state, &t);
        type_line(
                &t,
                "$nsrun --new-session -- chrt -i 0 sh -c \"$ready; while read x; do echo got-\\$x.; done\"");
        expect_text(&t, "ready.\n");
        keep_busy(busy, n);
        for (int i = 0; i < 20; i++) {
                type(&t, "\032");
                expect_text(&t, PROMPT);
                expect_typing_works(&t);
                type_line(&t, "fg");
                expect_text(&t, "done");
                type_line(&t, "hello");
                expect_text(&t, "got-hello.\n");
        }
        for (size_t i = 0; i < n; i++) {
                assert_int_equal(kill(busy[i], SIGKILL), 0);
                assert_int_equal(waitpid(busy[i], NULL, 0), busy[i]);
        }
        type(&t, "\004");
        expect_text(&t, PROMPT);
        close_terminal(&t);
}

/* Processes that wake each other, and a reader; with `has_threads` all of it beside first threads that have
 * ended. */
static _Noreturn void *wake_others(void *nothing) {
        (void)nothing;
        for (;;)
                (void)kill(0, SIGCONT);
}

static _Noreturn void *read_on(void *nothing) {
        char line[256];
        ssize_t n;

        (void)nothing;
        (void)puts("ready.");
        (void)fflush(NULL);
        while ((n = read(0, line, sizeof(line))) > 0) {
                (void)printf("got-%.*s", (int)n, line);
                (void)fflush(stdout);
        }
        _exit(0);
}

static void do_it(void *(*what)(void *), bool in_thread) {
        pthread_t thread;

        if (!in_thread)
                (void)what(NULL);
        if (pthread_create(&thread, NULL, what, NULL) != 0)
                _exit(97);
        pthread_exit(NULL);
}

static void stay_awake(bool has_threads) {
        for (int i = 0; i < 3; i++)
                if (fork() == 0) {
                        (void)alarm(60);
                        do_it(wake_others, has_threads);
                }
        do_it(read_on, has_threads);
}

/* A command that says it is stopped reads nothing that is typed at the prompt. */
TEST(nobody_wakes_a_stopped_job) {
        static const char *const kinds[] = {"processes", "threads"};
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL);

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
                _cleanup_free_ char *line =
                        text_of("$nsrun --bind %s:/probe:ro -- /probe %s", self, kinds[i]);
                struct terminal t;

                open_terminal(*state, &t);
                type_line(&t, line);
                expect_text(&t, "ready.\n");
                for (int j = 0; j < 5; j++) {
                        type(&t, "\032");
                        expect_text(&t, PROMPT);
                        for (int k = 0; k < 3; k++)
                                expect_typing_works(&t);
                        type_line(&t, "fg");
                        expect_text(&t, kinds[i]);
                        /* Before it has the terminal again a ^Z would be nobody's. */
                        type_line(&t, "hello");
                        expect_text(&t, "got-hello\n");
                }
                type(&t, "\003");
                expect_text(&t, PROMPT);
                assert_null(strstr(t.text, "got-echo"));
                close_terminal(&t);
        }
}

/* A job that is stopped ends as any other is ended, and goes on in the background. */
TEST_EVERYWHERE(a_stopped_job_goes_on_in_the_background) {
        for (size_t i = 0; i < ARRAY_SIZE(session_options); i++) {
                struct terminal t;

                open_terminal(*state, &t);
                start_script(&t, session_option(i),
                             "mkfifo fifo; echo made-$((6*7)).; read x <fifo; echo got-\\$x.; exit 6");
                expect_text(&t, "made-42.\n");
                type(&t, "\032");
                expect_text(&t, "Stopped");
                expect_text(&t, PROMPT);
                type_line(&t, "bg; echo hello >project/fifo; wait %1; echo last=$?.; rm project/fifo");
                expect_text(&t, "got-hello.\n");
                expect_text(&t, "last=6.\n");
                expect_text(&t, PROMPT);
                expect_typing_works(&t);
                close_terminal(&t);
        }
}

TEST_EVERYWHERE(the_terminal_is_back_however_the_run_ends) {
        static const char *const ends[][2] = {{"exit 3", "3"},
                                              {"kill -9 \\$\\$", "137"},
                                              {"kill -SEGV \\$\\$", "139"},
                                              {"exec no-such-command", "127"},
                                              {"kill -9 0", "137"}};
        for (size_t i = 0; i < ARRAY_SIZE(session_options); i++) {
                struct terminal t;

                open_terminal(*state, &t);
                for (size_t j = 0; j < ARRAY_SIZE(ends); j++) {
                        start_script(&t, session_option(i), ends[j][0]);
                        expect_text(&t, PROMPT);
                        expect_last_status(&t, atoi(ends[j][1]));
                        expect_typing_works(&t);
                }
                /* Refused before there is a sandbox, and at its last step. */
                type_line(&t, "$nsrun --no-such-option true");
                expect_text(&t, PROMPT);
                expect_last_status(&t, 125);
                type_line(&t, "$nsrun no-such-command");
                expect_text(&t, PROMPT);
                expect_last_status(&t, 127);
                expect_typing_works(&t);
                close_terminal(&t);
        }
}

/* A script has no job control to put things right: the next command in it must find
 * the terminal usable, or it would be stopped by SIGTTOU or SIGTTIN. */
TEST_EVERYWHERE(a_scripts_next_command_has_the_terminal) {
        for (size_t i = 0; i < ARRAY_SIZE(session_options); i++) {
                _cleanup_free_ char *line =
                        text_of("sh -c '$nsrun %s -- true; $nsrun %s no-such; stty tostop; read x; echo "
                                "got-$x.; stty -tostop; exit 4'",
                                session_option(i), session_option(i));
                struct terminal t;

                open_terminal(*state, &t);
                type_line(&t, line);
                expect_text(&t, "no-such");
                expect_text(&t, "No such file or directory");
                type_line(&t, "hello");
                expect_text(&t, "got-hello.\n");
                expect_text(&t, PROMPT);
                expect_last_status(&t, 4);
                close_terminal(&t);
        }
}

/* ---------------------------------------------------------------------- a shell inside */

static void start_shell(struct terminal *t) {
        _cleanup_free_ char *line =
                text_of("$nsrun %s -- sh -c \"PS1='in''ner> ' exec bash --norc --noprofile --noediting -i\"",
                        session_option(1));

        type_line(t, line);
        expect_text(t, INNER_PROMPT);
}

TEST_EVERYWHERE(a_shell_inside_has_job_control) {
        struct terminal t;

        open_terminal(*state, &t);
        start_shell(&t);
        type_line(&t, "sh -c 'echo re''ady.; read x; echo got-$x.; exec sleep 1000'");
        expect_text(&t, "ready.\n");
        type(&t, "\032");
        expect_text(&t, "Stopped");
        expect_text(&t, INNER_PROMPT);
        type_line(&t, "fg");
        expect_text(&t, "exec sleep 1000");
        type_line(&t, "hello");
        expect_text(&t, "got-hello.\n");
        type(&t, "\003");
        expect_text(&t, INNER_PROMPT);
        type_line(&t, "echo last=$?.");
        expect_text(&t, "last=130.\n");
        expect_text(&t, INNER_PROMPT);
        type_line(&t, "exit 7");
        expect_text(&t, PROMPT);
        expect_last_status(&t, 7);
        expect_typing_works(&t);
        close_terminal(&t);
}

TEST_EVERYWHERE(a_shell_inside_can_be_suspended) {
        struct terminal t;

        open_terminal(*state, &t);
        start_shell(&t);
        type_line(&t, "suspend");
        expect_text(&t, "Stopped");
        expect_text(&t, PROMPT);
        expect_typing_works(&t);
        type_line(&t, "fg");
        expect_text(&t, INNER_PROMPT);
        type_line(&t, "exit 7");
        expect_text(&t, PROMPT);
        expect_last_status(&t, 7);
        close_terminal(&t);
}

/* In a pid namespace it can't name the group that was in the foreground before it. */
TEST(a_script_goes_on_after_a_shell_inside) {
        const struct site *s = *state;
        _cleanup_free_ char *bwrap =
                text_of("%s --ro-bind / / --dev /dev --proc /proc --unshare-pid", our_bwrap());
        const char *const ways[] = {"$nsrun --no-new-session --", bwrap};

        for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
                _cleanup_free_ char *line = text_of(
                        "sh -c \"%s sh -c \\\"PS1='in''ner> ' exec bash --norc --noprofile --noediting -i\\\"; "
                        "read x; echo got-\\$x.; exit 4\"",
                        ways[i]);
                struct terminal t;

                open_terminal(s, &t);
                type_line(&t, line);
                expect_text(&t, INNER_PROMPT);
                type_line(&t, "sh -c 'exit 3'");
                expect_text(&t, INNER_PROMPT);
                type_line(&t, "exit 7");
                type_line(&t, "hello");
                expect_text(&t, "got-hello.\n");
                expect_text(&t, PROMPT);
                expect_last_status(&t, 4);
                close_terminal(&t);
        }
}

/* ------------------------------------------------------------------- what it may not */

static void try_to_type(void) {
        char byte = 'x';
        int r = ioctl(0, TIOCSTI, &byte);

        (void)printf("tiocsti-%s.\n", r == 0 ? "done" : strerror(errno));
        _exit(0);
}

/* In a session of its own the terminal isn't the command's to type into: EPERM, or
 * EIO where the kernel lets nobody (dev.tty.legacy_tiocsti=0, 6.2). */
/* By a command that has the terminal as a descriptor alone, and one that shares it. */
TEST(the_terminal_and_its_descriptors_are_as_before) {
        static const char spoil[] =
                "stty -echo -icanon min 7; stty -a | grep -q -e '-icanon' && "
                "python3 -c 'import os; os.set_blocking(0, False); os.set_blocking(1, False)'; "
                "exit 7";
        const struct site *s = *state;

        for (size_t i = 0; i <= ARRAY_SIZE(session_options); i++) {
                const char *const inside[] = {
                        program(), "run", session_options[i % 2], "--project", s->project, "--", "sh", "-c",
                        spoil,     NULL};
                const char *const outside[] = {"sh", "-c", spoil, NULL};
                bool is_control = i == ARRAY_SIZE(session_options);
                _cleanup_outcome_ struct outcome o = {0};
                struct termios before = {0}, after = {0};
                int master, slave;

                assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
                assert_int_equal(tcgetattr(slave, &before), 0);
                run(&(struct request){.argv = is_control ? outside : inside,
                                      .cwd = s->root,
                                      .standard_input = slave},
                    &o);
                expect_status(&o, 7);
                assert_int_equal(tcgetattr(slave, &after), 0);
                assert_int_equal(memcmp(&before, &after, sizeof(before)) != 0, is_control);
                assert_int_equal((fcntl(slave, F_GETFL) & O_NONBLOCK) != 0, is_control);
                (void)close(master);
                (void)close(slave);
        }
}

TEST(nothing_is_typed_into_the_callers_terminal) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL),
                            *inside = text_of("$nsrun --bind %s:/probe:ro -- /probe tiocsti", self),
                            *outside = text_of("%s tiocsti", self);
        struct terminal t;
        bool is_possible;

        open_terminal(*state, &t);
        type_line(&t, inside);
        expect_text(&t, "tiocsti-");
        expect_text(&t, "ed.\n"); /* "not permitted", "error": */
        expect_text(&t, PROMPT);
        expect_typing_works(&t);
        type_line(&t, outside);
        expect_text(&t, "tiocsti-");
        expect_text(&t, ".\n");
        is_possible = strstr(t.text, "tiocsti-done.\n");
        expect_text(&t, PROMPT);
        type(&t, "\025"); /* takes away what was typed so */
        close_terminal(&t);
        if (!is_possible)
                skip_because("this kernel lets an ordinary user type into no terminal (legacy_tiocsti)");
}

/* ------------------------------------------------------------------ where it has a name */

enum named {
        NAMED_THERE,   /* the terminal has a path */
        NAMED_NOWHERE, /* the path that the kernel tells of it leads to nothing */
        NAMED_ANOTHER, /* or to another terminal: as of the caller of a container */
};

static int make_terminal(void) {
        int master, unlocked = 0, slave;

        if (mount("devpts", "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666,mode=0620") < 0)
                stage_fail("devpts");
        /* Is open beyond exec: who closes it hangs up. */
        master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY); /* NOLINT(android-cloexec-open) */
        if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0)
                stage_fail("ptmx");
        slave = open("/dev/pts/0", O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (slave < 0)
                stage_fail("/dev/pts/0");
        return slave;
}

static void stage_named(void *data) {
        enum named named = *(const enum named *)data;
        int slave;

        stage_enter();
        slave = make_terminal();
        if (dup2(slave, 1) < 0)
                stage_fail("dup2");
        if (named == NAMED_ANOTHER)
                (void)make_terminal();
        if (named == NAMED_NOWHERE)
                stage_tmpfs("/dev/pts", 0);
}

TEST(a_terminal_without_a_name_is_no_console_and_what_has_its_name_is_another) {
        static const char script[] = "test -c /dev/console && exit 3; test -e /dev/console || exit 4";
        const struct site *s = *state;
        const char *const as_bwrap[] = {our_bwrap(), "--ro-bind", "/",  "/",  "--dev", "/dev", "--proc",
                                        "/proc",     "--",        "sh", "-c", script,  NULL};
        const char *const as_run[] = {program(), "run", "--project", s->project, "--",
                                      "sh",      "-c",  script,      NULL};

        for (enum named named = NAMED_THERE; named <= NAMED_ANOTHER; named++)
                for (int i = 0; i < 2; i++) {
                        _cleanup_outcome_ struct outcome o = {0};

                        run(&(struct request){.argv = i == 0 ? as_run : as_bwrap,
                                              .cwd = s->root,
                                              .in_child = stage_named,
                                              .data = &named},
                            &o);
                        assert_string_equal(o.err, "");
                        expect_status(&o, named == NAMED_THERE ? 3 : 4);
                }
}

int main(int argc, char **argv) {
        if (argc == 2 && streq(argv[1], "tiocsti"))
                try_to_type();
        if (argc == 2)
                stay_awake(streq(argv[1], "threads"));
        return run_all_tests();
}
