/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --net=ask: nsrun-net's questions read, shown at a terminal, and answered.  The process that was started by
 * the person asks; nothing of the sandbox's is believed but that it wants the name. */
#pragma once

#include <termios.h>

#include "launch/launch.h"
#include "net/question.h"

#define QUESTION_PROGRAM_MOST 64 /* bytes of what question_program() writes */

/* Whether a plan needs somebody to ask. */
bool plan_asks(const struct nsrun_plan *plan);
/* 1 with a question whose name is one; 0: there is none now; -errno: there will be none any more. */
int question_read(int fd, struct net_question *ret);
void question_answer(int fd, uint32_t number, enum net_verdict verdict);
/* "NAME (pid N)" of the process inside whose socket asks, as it calls itself, fit to print; else "a
 * program". `init` is the sandbox's pid 1. */
void question_program(pid_t init, uint16_t port, char to[QUESTION_PROGRAM_MOST]);

struct asking {
        int tty;
        bool has_ended; /* nsrun-net asks nothing any more */
        bool is_open;   /* a question is shown */
        struct net_question question;
        char code[3]; /* two digits, which only who sees the terminal knows */
        char line[8];
        size_t n;
        struct termios before;
        bool has_before;
};
#define ASKING_INIT           \
        (struct asking) {     \
                .tty = -EBADF \
        }

/* Opens nsrun's terminal.  Refuses where there is none. */
int question_begin(struct asking *a, struct nsrun_error *err);
/* nsrun-net has something to ask. */
void question_show(struct asking *a, int fd, pid_t init);
/* The person has typed. */
void question_take_line(struct asking *a, int fd);
void question_end(struct asking *a);
