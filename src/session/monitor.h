/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-monitor: the process behind a session, on the host's side.  It makes the sandbox
 * from a plan that it reads, writes the record, and stays until the session's end: by
 * order, for idleness, with its owner, or with pid 1; then it removes all that there was.  What it
 * and whoever started it say to each other. */
#pragma once

#include "base/error.h"

/* The arguments, each a number in decimal but the last. */
enum {
        MONITOR_ARG_NAME,
        MONITOR_ARG_IDLE_TIMEOUT, /* seconds; 0: none */
        MONITOR_ARG_OWNER,        /* its pid, 0: none; MONITOR_FD_OWNER is its pidfd */
        MONITOR_ARG_SESSION,      /* its name, "": one is made up */
        MONITOR_N_ARGS
};

/* The descriptors that it is given. */
enum {
        MONITOR_FD_PLAN = 3,   /* plan_store()'s bytes, in a file */
        MONITOR_FD_ANSWER = 4, /* a pipe, for struct monitor_answers */
        MONITOR_FD_OWNER = 5,
        MONITOR_FD_FIRST_OTHER
};

enum monitor_answer_kind {
        MONITOR_NOTE = 1,
        MONITOR_FAILED,
        MONITOR_STARTED
};

/* One write each; after FAILED and STARTED comes no more. */
struct monitor_answer {
        enum monitor_answer_kind kind;
        char id[72];              /* STARTED */
        struct nsrun_error error; /* the others */
};

/* What a monitor and a session's pid 1 do when they are told to stop: SIGTERM to all, and after so long
 * SIGKILL. */
#define MONITOR_GRACE_MS 5000
/* How often it looks whether all but pid 1's last breath is done. */
#define MONITOR_LOOK_MS 50

int monitor_main(int argc, char **argv);
