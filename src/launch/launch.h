/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan becomes a running process.  Knows nothing of workspaces or JSON. */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "plan/plan.h"

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
        LAUNCH_BUILT /* raw plans: all but the exec is done */
};

struct launch_report {
        enum launch_report_kind kind;
        int status;    /* STOPPED: the signal; EXITED: wait(2)'s status of the command */
        int operation; /* FAILED: the index of the plan's operation, or -1; EXITED: 1 where others live on */
        struct nsrun_error error;            /* FAILED; NOTE: something the plan left to the launch */
        struct launch_namespaces namespaces; /* STARTED */
};

/* A cgroup (v2): its folder, and its cgroup.procs for where clone3(2) is refused. */
struct launch_cgroup {
        int fd;
        int procs_fd;
};

struct launch_params {
        const int *stdio;    /* three descriptors that become the command's 0, 1 and 2, each -1 for the
                                caller's; the caller keeps its own.  NULL: the caller's, all of them */
        const int *pass_fds; /* further descriptors of the caller's, from 3 on, which the command gets under
                                the same numbers and pid 1 closes when the command has them */
        size_t n_pass_fds;
        int rundir_fd; /* where overlay-<slug>/{upper,work} are made, and a scratch folder waits; or -1 */
        const char *rundir_path; /* its canonical path */
        int lock_fd;             /* kept open by init for as long as the mounts live; or -1 */
        int terminal_fd; /* 0, 1 or 2: handed to the command's process group without a session of its own; or
                            -1 */
        const struct launch_cgroup *cgroup; /* pid 1 is born in it; or NULL */
        uint64_t n_processes; /* what RLIMIT_NPROC bounds, which is refused where it can't; 0: it needn't */
        const char *processes_hint; /* what else could bound them */
        bool wants_started;         /* report STARTED */
        bool wants_denials;         /* denied calls are asked about: launch_receive_listener() */
        bool lingers;               /* what the command leaves behind lives on: see LAUNCH_EXITED */
        bool dies_with_thread; /* PR_SET_PDEATHSIG; a library's host with passing threads leaves it off */
        const char *init_path; /* nsrun-init, for a host whose memory pid 1 must not keep; NULL: stay */
        const sigset_t *mask;  /* the command's signal mask; NULL: the calling thread's */
        char *command_line;    /* the program's own argv area, wiped in pid 1; or NULL */
        size_t command_line_size;
};

struct launch {
        pid_t pid;           /* init's, in the caller's pid namespace; 0: nobody knows any more */
        int pidfd;           /* always one */
        int report_fd;       /* read end */
        int listener_socket; /* where pid 1 sends the listener of denied calls; or -1 */
        int control_fd;      /* what no signal can say: CONTROL_* in init.h; of a raw plan -1 */
        int activity_fd;     /* of the session that was joined; see workspace/records.h */
        uint64_t namespaces; /* CLONE_NEW*: the namespaces that were made */
        bool is_join;        /* in a session: pid is that of the command's own reaper there */
        bool is_plain;       /* no sandbox: pid is that of the command's reaper */
        bool is_nested;      /* it may outlive the command, and is not the caller's child then */
};

#define LAUNCH_INIT                                                                                    \
        (struct launch) {                                                                              \
                .pidfd = -EBADF, .report_fd = -EBADF, .listener_socket = -EBADF, .control_fd = -EBADF, \
                .activity_fd = -EBADF                                                                  \
        }
/* Closes what is open. */
void launch_close(struct launch *l);

/* Makes the namespaces and starts building.  0 with *ret filled; what goes wrong
 * after that comes as LAUNCH_FAILED. */
int launch_start(const struct nsrun_plan *plan, const struct launch_params *params, struct launch *ret,
                 struct nsrun_error *err);

/* Sends a signal to init, which passes it on; SIGKILL ends the sandbox.  By pidfd,
 * or by pid where a filter refuses that: init is the caller's child and not yet reaped. */
int launch_signal(const struct launch *l, int signal);

/* The command has ended, and nobody waits for what it left behind any more: ends the sandbox,
 * or in a session what the plan says of leftovers. */
void launch_release(const struct launch *l);

/* A session's pid 1 ends, and the session with it, as soon as nobody else is there. */
int launch_end_when_empty(const struct launch *l);

/* Has init send a SIGTERM to every process of the sandbox but itself, and then SIGCONT, since a stopped
 * process would not get the first.  Asked for before the command has started, it is done when it has.  Not
 * for raw plans. */
int launch_terminate_all(const struct launch *l);

/* The listener, once listener_socket is readable.  Whoever has it must answer (denials.h in
 * run/): until then, and when it is closed, the calls fail as if there were none.  -EPIPE: the
 * command never came to it. */
int launch_receive_listener(const struct launch *l);

/* Waits until init is gone.  Its wait(2) status, or 0 where it is somebody else's child. */
int launch_wait(const struct launch *l);

/* Reads one report.  1: got one; 0: init is gone and said nothing more; -errno. */
int launch_read_report(const struct launch *l, struct launch_report *ret);

/* probe.c: why no user namespace can be had, by probing.  Fills *err, returns r. */
int launch_explain_namespaces(int r, struct nsrun_error *err);
