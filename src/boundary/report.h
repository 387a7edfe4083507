/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reports from the child of a launch to the supervisor, over a pipe; launch/ has the other end. */
#pragma once

#include "base/degraded.h"

/* Namespaces as their inode numbers, as stat(2) on /proc/PID/ns/x tells. */
struct launch_namespaces {
        uint64_t user, mnt, pid, ipc, uts, net;
};

/* What init reports over its pipe, in this order: at most one FAILED; or STARTED
 * (if asked for), any number of STOPPED, one EXITED.  With EXITED all that the command
 * started is gone, but where the launch lingers: then init stays until it is, or until
 * it gets a SIGKILL, and a FAILED may follow. */
enum launch_report_kind {
        LAUNCH_FAILED = 1,
        LAUNCH_STARTED,
        LAUNCH_STOPPED,
        LAUNCH_EXITED,
        LAUNCH_NOTE,
        LAUNCH_DROPPED, /* error.path: names in the home, by home_leftovers.c */
        LAUNCH_BUILT    /* raw plans: all is built, the exec follows */
};

struct launch_report {
        enum launch_report_kind kind;
        int status;    /* STARTED: the command's pid, as its reaper sees it; STOPPED: the signal; EXITED:
                          wait(2)'s status of the command */
        int operation; /* FAILED: index of the plan's operation, or -1; EXITED: 1 if leftovers live on */
        bool is_alone; /* EXITED: no process of the sandbox but its pid 1 is alive, for sure */
        struct nsrun_error error;            /* FAILED; NOTE: a choice that the plan left to the launch */
        struct launch_namespaces namespaces; /* STARTED */
};

/* Sends one report, in one write(2). */
int report_send(int fd, const struct launch_report *report);
/* Reports a choice that the plan left to the launch. */
void report_note(int fd, const char *what, const char *path);
/* Reports that something is had in a lesser way, or refuses it, for --strict: 0, or -EOPNOTSUPP with *err
 * filled.  `hint`: NULL, or what mends it here. */
int report_degraded(int fd, bool is_refused, enum degraded_id id, const char *path, const char *hint,
                    struct nsrun_error *err);
/* Reports the failure of a plan's operation (-1: of no operation) and ends the process. */
_Noreturn void report_failure(int fd, int operation, const struct nsrun_error *error);
