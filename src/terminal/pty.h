/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A terminal of the command's own: nsrun has the other end of it, and passes on what is typed and what is
 * printed.  Of the caller's terminal the command has no descriptor: it can type nothing into it, change none
 * of its modes, and read nothing once nsrun is stopped or has ended. */
#pragma once

#include <termios.h>

#include "base/error.h"
#include "screen.h"

#define PTY_BUFFER 8192

struct pty_buffer {
        char bytes[PTY_BUFFER];
        size_t from, to;
};

struct pty {
        int master; /* nsrun's end, non-blocking */
        int slave;  /* the command's; open here, too, so that no end of the command's hangs it up */
        char path[64];
        int stdio[3];       /* what become the command's streams: the slave, or -1 for the caller's */
        bool is_for_asking; /* of the streams those alone are it that are nsrun's controlling terminal */
        int input;         /* the caller's standard input and output, by descriptions of nsrun's own where */
        int output;        /* they can be had, so that these need not block */
        bool has_terminal; /* the input is the caller's terminal */
        bool is_active;    /* what is typed is passed on */
        bool is_raw;       /* the caller's terminal has the modes `raw` */
        bool has_input_ended, has_output_ended;
        bool is_shell; /* a last line that nothing ends is one, too, as in a script */
        char last_typed;
        bool keeps_end;      /* the input has ended: whoever reads on is to find its end */
        uint64_t end_due_ms; /* when it is next looked whether somebody has taken the end, */
        int end_wait_ms;     /* and how long before that the last look was */
        unsigned n_enough;   /* how many PTY_ENOUGH were typed in a row, */
        uint64_t enough_ms;  /* and when the first of them was */
        struct termios before, raw;
        struct pty_buffer typed, printed;
        struct screen screen;
        pid_t watcher; /* 0: there is none */
        int watched;   /* the watcher sees its end, and that nsrun is dead */
};

#define PTY_INIT                                                                                        \
        (struct pty) {                                                                                  \
                .master = -EBADF, .slave = -EBADF, .input = -EBADF, .output = -EBADF, .watched = -EBADF \
        }

/* Makes the terminal, with the size and the modes of the caller's.  Where the caller's input is a terminal
 * and nsrun in its background, nsrun is stopped until it is in the foreground. */
int pty_open(struct pty *p, struct nsrun_error *err);
/* Makes one, unless there is one, where a standard stream is nsrun's controlling terminal, on which it asks:
 * a command that has that could draw over a question.  Streams that lead elsewhere stay the command's. */
int pty_open_for_asking(struct pty *p, struct nsrun_error *err);
/* The command runs, or goes on: the caller's terminal passes on every key.  A process that outlives nsrun
 * sets it back if nsrun is killed. */
void pty_take_terminal(struct pty *p);
/* The caller's terminal is as it was; what was typed and not read is forgotten. */
void pty_leave_terminal(struct pty *p);
/* What is to be waited for: the input; the output, to be written to; poll(2)'s events of `master`. */
struct pty_events {
        bool input, output;
        short master;
};
struct pty_events pty_wanted(const struct pty *p);
/* Each when that is ready.  0, or a signal for the command: SIGHUP when nobody reads or types any more,
 * SIGKILL when a person has had enough of it: PTY_ENOUGH thrice within a second, whatever the command makes
 * of its terminal. */
#define PTY_ENOUGH '\035' /* ^] */
int pty_take_input(struct pty *p);
int pty_put_output(struct pty *p);
void pty_exchange(struct pty *p, short revents);
/* How long to poll at most, in milliseconds; -1: for ever.  A file's end is there for each read, a
 * terminal's for one: whenever a reader has taken it, or lost it with a change of the terminal's modes,
 * pty_keep_end() types it again. */
void pty_end_input(struct pty *p);
int pty_patience(const struct pty *p);
/* Made for asking, it isn't read for in the background: it is looked whether nsrun has come to the
 * foreground. */
bool pty_waits_behind(const struct pty *p);
void pty_keep_end(struct pty *p);
/* The command's terminal gets the size of the caller's. */
void pty_resize(struct pty *p);
/* Passes on what the command has printed before it ended or was stopped. */
void pty_drain(struct pty *p);
/* The same, and leaves the terminal. */
void pty_finish(struct pty *p);
void pty_close(struct pty *p);
#define _cleanup_pty_ _cleanup_(pty_close)
