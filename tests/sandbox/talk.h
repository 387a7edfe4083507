/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A run with a person at its terminal, who answers nsrun's questions. */
#pragma once

#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>

#include "harness.h"

struct talk {
        struct running running;
        int master, slave;
        char text[16384];
        size_t n, seen;
};

static void on_its_terminal(void *data) {
        const struct talk *t = data;

        if (setsid() < 0 || ioctl(t->slave, TIOCSCTTY, 0) < 0)
                _exit(119);
}

static void talk_begin(struct talk *t, const struct site *s, const char *const *arguments) {
        const char **argv = nsrun_argv(s, arguments);

        *t = (struct talk){.n = 0};
        assert_int_equal(openpty(&t->master, &t->slave, NULL, NULL, NULL), 0);
        assert_int_equal(fcntl(t->master, F_SETFD, FD_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv, .cwd = s->root, .in_child = on_its_terminal, .data = t},
              &t->running);
        assert_int_equal(fcntl(t->slave, F_SETFD, FD_CLOEXEC), 0);
        free(argv);
}

static void talk_await(struct talk *t, const char *text) {
        const char *at;

        while (!(at = strstr(t->text + t->seen, text))) {
                struct pollfd more = {.fd = t->master, .events = POLLIN};
                ssize_t n = poll(&more, 1, deadline_seconds * 500) == 1
                                    ? read(t->master, t->text + t->n, sizeof(t->text) - 1 - t->n)
                                    : -1;

                if (n <= 0)
                        fail_msg("%s doesn't come after: %s", text, t->text + t->seen);
                t->n += (size_t)n;
                t->text[t->n] = '\0';
        }
        t->seen = (size_t)(at - t->text) + strlen(text);
}

/* Awaits a question that begins with that text, and answers it; `with` NULL: says yes. */
static void talk_answer_to(struct talk *t, const char *question, const char *with) {
        char code[8] = "";

        talk_await(t, question);
        talk_await(t, " for yes, n for no, q to be asked no more] ");
        assert_int_equal(sscanf(strstr(t->text + t->seen - 60, "[type y"), "[type %3[y0-9]", code), 1);
        (void)strcat(code, "\n");
        if (!with)
                with = code;
        assert_int_equal(write(t->master, with, strlen(with)), (ssize_t)strlen(with));
}

static void talk_end(struct talk *t, struct outcome *ret) {
        finish(&t->running, ret);
        (void)close(t->master);
        (void)close(t->slave);
}
