/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One launch with all that is around it: its run directory, its cgroup, the watch for OOM kills, the
 * questions about denied calls, its reports.  The nsrun program (supervise.c), the library
 * (sandbox.c), an agent's command (agent/contained.c) and a session's monitor stand on it.  Touches no
 * signals and no globals. */
#pragma once

#include "denials.h"
#include "disk.h"
#include "gitdirs.h"
#include "oom.h"

struct run_params {
        /* What the caller decides of the launch; the run directory, the cgroup and the limit of
         * processes are filled in by run_begin(). */
        struct launch_params launch;
        bool owns_pass_fds;      /* what is passed is closed here as soon as the command has its own */
        bool may_move;           /* as cgroup_prepare() */
        bool watches_all_memory; /* OOM kills are watched for outside a cgroup of the run's own, too */
        /* Gets what was left to be decided during the start and how that came out: 0 or -errno.  NULL: the
         * lines are kept in struct run's `notes`. */
        int (*note)(void *data, const struct nsrun_error *note);
        void *data;
};

struct run {
        struct launch launch;
        struct rundir rundir;
        struct cgroup cgroup;
        struct oom_watch memory;
        struct gitdirs gitdirs;
        uint64_t n_processes; /* what RLIMIT_NPROC bounds; 0: nothing */
        struct denials *denials;
        int listener; /* the kernel's questions about denied calls; or -EBADF */
        char **notes; /* one line each, as nsrun_error_format() makes it; NULL: none */
        int (*note)(void *data, const struct nsrun_error *note);
        void *data;
        struct record_process session; /* pid 1 of the session that was joined, where a killed reaper is the
                                          end of it; pid 0: none */
        bool has_exited;               /* the command */
        bool is_gone;                  /* the sandbox, or in a session the command's reaper */
        int status;                    /* wait(2)'s, of the command */
};

#define RUN_INIT                                                                                       \
        (struct run) {                                                                                 \
                .launch = LAUNCH_INIT, .rundir = RUNDIR_INIT, .cgroup = CGROUP_INIT,                   \
                .gitdirs = GITDIRS_INIT, .memory = OOM_WATCH_INIT, .listener = -EBADF, .is_gone = true \
        }

/* Makes what the plan needs on disk and of cgroups, and launches it.  What goes wrong in the child
 * comes from run_take_report().  After a failure nothing is left, and nothing is to be ended. */
int run_begin(const struct nsrun_plan *plan, const struct run_params *params, struct run *ret,
              struct nsrun_error *err);

/* Reads one report, and waits for it.  1: got one, which is no failure; 0: pid 1 is gone and said nothing
 * more; -errno with *err filled: the launch has failed, or its reports can't be read. */
int run_take_report(struct run *run, struct launch_report *ret, struct nsrun_error *err);

/* Waits until the command has been exec'ed, or a session's sandbox is built: *ret (which may be NULL) is the
 * report of that.  Needs launch_params' wants_started. */
int run_await_start(struct run *run, struct launch_report *ret, struct nsrun_error *err);

/* What is to be polled for questions about denied calls, or -1; and what is to be done with poll(2)'s
 * events. */
int run_denials_fd(const struct run *run);
void run_take_denial(struct run *run, int events);

/* Whether the kernel killed somebody of the run for want of memory, asked once, before run_end().  A
 * count that others share says so only of a command that SIGKILL has ended: `was_killed`. */
bool run_ran_out_of_memory(struct run *run, bool was_killed);

/* Waits until the sandbox is gone; in a session, unless the command's reaper stays for what the command
 * left behind.  Returns pid 1's wait(2) status; 0 where nobody can tell. */
int run_wait(struct run *run);

/* Kills what still runs, waits for it, and removes what the run had on disk and of cgroups.  Does nothing to
 * a RUN_INIT, which it leaves behind. */
void run_end(struct run *run);
