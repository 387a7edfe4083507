/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A run with a person at its terminal, who answers nsrun's questions. */
#pragma once

#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <termios.h>

#include "harness.h"

/* nsrun, and its terminal, which is none of its standard streams. */
struct talk {
        void (*stage)(void *data); /* makes nsrun's host of this one; or NULL */
        void *data;
        struct running running;
        int master, slave;
        int in;           /* the writing end of its standard input, which start_talk_with_input() makes */
        bool is_behind;   /* another process has the foreground, until it gets SIGUSR1 */
        bool has_streams; /* the terminal is its standard streams, too */
        char text[64 * 1024]; /* all that was printed there */
        size_t n, seen;
};

static int terminal_of_other;

static inline void give_back_terminal(int signal) {
        (void)signal;
        (void)tcsetpgrp(terminal_of_other, getpgid(getppid()));
}

/* Gives the terminal to another process of the session, which ends with this one. */
static inline void stand_behind(int slave) {
        pid_t parent = getpid(), pid = fork();

        if (pid == 0) {
                if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                        _exit(1);
                terminal_of_other = slave;
                (void)signal(SIGUSR1, give_back_terminal);
                for (int fd = 0; fd < 256; fd++)
                        if (fd != slave)
                                (void)close(fd);
                for (;;)
                        (void)pause();
        }
        if (pid < 0 || setpgid(pid, pid) < 0 || tcsetpgrp(slave, pid) < 0)
                _exit(119);
}

static inline void on_its_terminal(void *data) {
        const struct talk *t = data;

        if (setsid() < 0 || ioctl(t->slave, TIOCSCTTY, 0) < 0)
                _exit(119);
        if (t->is_behind)
                stand_behind(t->slave);
        for (int fd = 0; fd <= 2 && t->has_streams; fd++)
                (void)dup2(t->slave, fd);
        if (t->stage)
                t->stage(t->data);
}

/* Starts argv.  The caller fills in what of *t is said above to be chosen. */
static inline void start_talk_with(struct talk *t, const char *cwd, const char *const *argv, int input) {
        assert_int_equal(openpty(&t->master, &t->slave, NULL, NULL, NULL), 0);
        assert_int_equal(fcntl(t->master, F_SETFD, FD_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv,
                                .cwd = cwd,
                                .standard_input = input,
                                .in_child = on_its_terminal,
                                .data = t},
              &t->running);
        assert_int_equal(fcntl(t->slave, F_SETFD, FD_CLOEXEC), 0);
}

static inline void start_talk(struct talk *t, const char *cwd, const char *const *argv) {
        start_talk_with(t, cwd, argv, 0);
}

static inline void start_talk_with_input(struct talk *t, const char *cwd, const char *const *argv) {
        int ends[2];

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        start_talk_with(t, cwd, argv, ends[0]);
        close_fdp(&ends[0]);
        t->in = ends[1];
}

static inline bool read_more(struct talk *t, int timeout) {
        struct pollfd more = {.fd = t->master, .events = POLLIN};
        ssize_t n;

        if (poll(&more, 1, timeout) != 1)
                return false;
        n = read(t->master, t->text + t->n, sizeof(t->text) - 1 - t->n);
        if (n <= 0)
                return false;
        t->n += (size_t)n;
        t->text[t->n] = '\0';
        return true;
}

static inline void await(struct talk *t, const char *text) {
        const char *at;

        while (!(at = strstr(t->text + t->seen, text)))
                if (!read_more(t, deadline_seconds * 500))
                        fail_msg("%s doesn't come after: %s", text, t->text + t->seen);
        t->seen = (size_t)(at - t->text) + strlen(text);
}

static inline void type(const struct talk *t, const char *text) {
        assert_int_equal(write(t->master, text, strlen(text)), (ssize_t)strlen(text));
}

/* `nsrun run --project PROJECT ARGUMENT…` there. */
static inline void talk_begin(struct talk *t, const struct site *s, const char *const *arguments) {
        _cleanup_free_ const char **argv = nsrun_argv(s, arguments);

        *t = (struct talk){0};
        start_talk(t, s->root, argv);
}

/* What a yes to the question is, in a line. */
static inline void await_code(struct talk *t, char code[5]) {
        await(t, " for yes, n for no, q to be asked no more] ");
        assert_int_equal(sscanf(strstr(t->text + t->seen - 60, "[type y"), "[type %3[y0-9]", code), 1);
        (void)strcat(code, "\n");
}

/* Awaits a question that begins with that text, and answers it; `with` NULL: says yes. */
static inline void talk_answer_to(struct talk *t, const char *question, const char *with) {
        char code[8] = "";

        await(t, question);
        await_code(t, code);
        type(t, with ? with : code);
}

/* Others may go on. */
static inline void end_talk_alone(struct talk *t, struct outcome *ret) {
        outcome_clear(ret);
        finish(&t->running, ret);
        while (read_more(t, 0))
                ;
        (void)close(t->master);
        (void)close(t->slave);
}

static inline void end_talk(struct talk *t, struct outcome *ret) {
        end_talk_alone(t, ret);
        collect_orphans();
}
