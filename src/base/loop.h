/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The one loop of whoever waits for several things: descriptors (a child's is its pidfd, a deadline's a
 * timerfd, a signal's a signalfd), each with what is done when it is ready, and a time to wait at most.
 * Allocates nothing, and but for signals_open() touches no signal, so that the library may use it in any
 * thread. */
#pragma once

#include <poll.h>

#include <signal.h>

#include "error.h"

#define LOOP_MOST 12

/* What one round waits for, told anew for each. */
struct loop {
        struct pollfd fds[LOOP_MOST];
        int (*ready[LOOP_MOST])(void *data, short revents);
        size_t n;
        int patience_ms; /* -1: for ever */
};

/* Adds a descriptor; one below 0 is left out.  `ready` gets poll(2)'s events, and returns 0 where the wait
 * goes on. */
void loop_add(struct loop *l, int fd, short events, int (*ready)(void *data, short revents));

/* Has `tell` fill in a round, waits, and calls what is ready, in the order in which it was added; a signal
 * that was handled, and the end of patience, begin another round.  A function whose
 * descriptor another one closes in the same round is called still, if it was ready.  Returns what `tell` or
 * one that was called returned, once that isn't 0; -errno where the kernel refuses the wait. */
int loop_run(int (*tell)(struct loop *l, void *data), void *data);

/* Waits for one descriptor, whatever signals are handled meanwhile.  1; 0: it wasn't ready within
 * `timeout_ms`
 * (-1: for ever); -errno. */
int loop_await(int fd, short events, int timeout_ms);

/* The set of some signals, a 0 behind them. */
sigset_t signals_of(const int *signals);
#define SIGNALS(...) signals_of((const int[]){__VA_ARGS__, 0})
/* Blocks them.  A signalfd of them; -errno with *err filled. */
int signals_open(sigset_t set, struct nsrun_error *err);
