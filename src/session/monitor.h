/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-monitor: the process behind a session, on the host's side.  It makes the sandbox of a plan
 * that it reads, writes the record, and stays until the session ends: on a signal, for idleness,
 * with its owner, or with pid 1.  Then it removes all that the session had on the host.  Here is
 * the protocol between it and the process that starts it. */
#pragma once

#include "base/error.h"

/* The monitor's arguments: decimal numbers, but for the last. */
enum {
        MONITOR_ARG_NAME,
        MONITOR_ARG_IDLE_TIMEOUT, /* seconds without a command after which the session ends; 0: never */
        MONITOR_ARG_OWNER,        /* the owner's pid, of which MONITOR_FD_OWNER is a pidfd; 0: no owner */
        MONITOR_ARG_SESSION,      /* the session's name; "": the monitor makes one up */
        MONITOR_N_ARGS
};

/* The descriptors that the monitor is started with. */
enum {
        MONITOR_FD_PLAN = 3,   /* a file with the bytes of plan_store() */
        MONITOR_FD_ANSWER = 4, /* a pipe, to which it writes struct monitor_answer */
        MONITOR_FD_OWNER = 5,
        MONITOR_FD_FIRST_OTHER
};

enum monitor_answer_kind {
        MONITOR_NOTE = 1,
        MONITOR_FAILED,
        MONITOR_STARTED
};

/* An answer, which is one write(2).  After FAILED and STARTED no other follows. */
struct monitor_answer {
        enum monitor_answer_kind kind;
        char id[72];              /* of a session that has STARTED */
        struct nsrun_error error; /* of any other kind of answer */
};

/* When a session is stopped its processes get SIGTERM, and this many milliseconds later SIGKILL. */
#define MONITOR_GRACE_MS 5000
/* Milliseconds between two looks whether pid 1 has exited. */
#define MONITOR_LOOK_MS 50

/* The plan behind MONITOR_FD_PLAN, which is closed.  -EBADMSG: nobody of nsrun's started this process. */
int monitor_read_plan(struct nsrun_plan **ret, struct nsrun_error *err);
int monitor_main(int argc, char **argv);
