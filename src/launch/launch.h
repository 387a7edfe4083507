/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan becomes a running process.  Knows nothing of workspaces or JSON. */
#pragma once

#include <signal.h>

#include "boundary/report.h"
#include "held.h"
#include "net/layout.h"
#include "plan/plan.h"

/* A cgroup (v2): its folder, and its cgroup.procs, used if clone3(2) is refused. */
struct launch_cgroup {
        int fd;
        int procs_fd;
        /* For a sandbox that is built: the folder's canonical path, and what stat(2) says of it. */
        char *path;
        uint64_t dev, inode;
};

/* The network of a sandbox with --net=allow: what pid 1 makes of it, and a socket to nsrun-net, to which it
 * hands the sockets. */
struct launch_network {
        const struct net_layout *layout;
        int socket;
};

/* What a running sandbox is to be shown besides: what the plan has at `target`, which is only built, and
 * received with launch_receive_versions(). */
struct launch_grant {
        int user; /* the sandbox's user namespace, the caller's descriptor */
        char *target;
};

struct launch_params {
        const int *stdio;    /* three descriptors that become the command's 0, 1 and 2, each -1 for the
                                caller's; the caller keeps its own.  NULL: the caller's, all of them */
        const int *pass_fds; /* further descriptors of the caller's, from 3 on, which the command gets under
                                the same numbers and pid 1 closes when the command has them */
        size_t n_pass_fds;
        int rundir_fd; /* where overlay-<slug>/{upper,work} are made, and a scratch folder waits; or -1 */
        const char *rundir_path; /* its canonical path */
        int lock_fd; /* the run directory's lock, which pid 1 keeps open for as long as the mounts live; or
                        -1 */
        bool has_versions; /* the command's private versions are in memory: launch_receive_versions() */
        const struct plan_op *files; /* PLAN_FILEs besides the plan's, of such versions */
        size_t n_files;
        int terminal_fd;                      /* 0, 1 or 2: handed to the command's process group; or -1 */
        bool has_own_terminal;                /* terminal_fd is the command's alone (terminal/pty.h) */
        const struct launch_cgroup *cgroup;   /* pid 1 is born in it; or NULL */
        const struct launch_network *network; /* or NULL */
        const struct launch_grant *grant;     /* of a plan that is verified; or NULL */
        int desktop_socket; /* where the descriptor of the PLAN_SOCKET goes whose text is PLAN_SOCKET_SSH, */
        int display_socket; /* that of PLAN_SOCKET_WAYLAND, */
        int browser_socket; /* that of PLAN_SOCKET_BROWSER, */
        int dbus_socket; /* and the folder of PLAN_SOCKET_DBUS; each is read of a plan with that one alone */
        uint64_t
                n_processes; /* the bound of RLIMIT_NPROC, refused if the kernel wouldn't keep it; 0: none */
        const char *processes_hint; /* for that refusal: what else could bound processes */
        bool wants_started;         /* the start is reported (LAUNCH_STARTED) */
        bool wants_denials;         /* the kernel asks about denied calls: launch_receive_listener() */
        bool watches; /* and about allowed calls that name a file (seccomp/watch.h).  Whoever waits for the
                         start must answer meanwhile. */
        unsigned watched_prints;  /* and about writes to these descriptors, a bit each */
        bool lingers;             /* what the command leaves behind lives on: see LAUNCH_EXITED */
        bool dies_with_thread;    /* PR_SET_PDEATHSIG; a library's host with passing threads leaves it off */
        struct launch_held *held; /* filled of a sandbox that is built; or NULL */
        bool holds_network;       /* of that, too, for who can be asked to open more of it */
        const char *init_path;    /* nsrun-init, for a host whose memory pid 1 must not keep; NULL: stay */
        char *command_line;       /* the memory of the program's argv, wiped in pid 1; or NULL */
        size_t command_line_size;
};

struct launch {
        pid_t pid;           /* pid 1's, in the caller's pid namespace; 0: not known */
        int pidfd;           /* pid 1's; never -1 while the launch is open */
        int report_fd;       /* read end */
        int listener_socket; /* where pid 1 sends the listener of denied calls; or -1 */
        int versions_socket; /* where it sends the folder of the command's versions; or -1 */
        int control_fd;      /* the control channel (CONTROL_* in init.h); of a raw plan -1 */
        int activity_fd;     /* the lock on the joined session's record (disk/records.h); or -1 */
        uint64_t namespaces; /* CLONE_NEW*: the namespaces that were made */
        bool is_join;        /* the command joined a session: pid is its own reaper's */
        bool is_plain;       /* there is no sandbox: pid is the command's reaper's */
        bool is_nested;      /* the reaper may outlive the command, and is not the caller's child then */
};

#define LAUNCH_INIT                                                                                    \
        (struct launch) {                                                                              \
                .pidfd = -EBADF, .report_fd = -EBADF, .listener_socket = -EBADF, .control_fd = -EBADF, \
                .versions_socket = -EBADF, .activity_fd = -EBADF                                       \
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

/* Says that the command has ended and nobody waits for its leftovers: ends the sandbox, or in a
 * session treats them as the plan says. */
void launch_release(const struct launch *l);

/* Makes a session's pid 1 end, and the session with it, as soon as no other process is in it. */
int launch_end_when_empty(const struct launch *l);

/* Has init send a SIGTERM to every process of the sandbox but itself, and then SIGCONT, since a stopped
 * process would not get the first.  Asked for before the command has started, it is done when it has.  Not
 * for raw plans. */
int launch_terminate_all(const struct launch *l);

/* Receives the listener, once listener_socket is readable; of a watched launch first a descriptor of the
 * sandbox's root folder.  Its holder must answer questions
 * (explain/denials.h); until it does, and after it is closed, the calls fail as without a listener.
 * -EPIPE: the command was never started. */
int launch_receive_listener(const struct launch *l);
/* Likewise the folder of the command's versions, once the sandbox is built or gone.  -ENOENT: they are
 * elsewhere; -EPIPE: it was never built. */
int launch_receive_versions(const struct launch *l);

/* Waits until pid 1 is gone.  Returns its wait(2) status, or 0 if it is another process's child. */
int launch_wait(const struct launch *l);

/* Reads one report.  1: got one; 0: pid 1 is gone, and no report follows; -errno. */
int launch_read_report(const struct launch *l, struct launch_report *ret);

/* why_refused.c: why no user namespace can be had, by probing.  Fills *err, returns r. */
int launch_explain_namespaces(int r, struct nsrun_error *err);
/* Puts into *err, which says that the id map can't be written, why it can't if that can be told. */
int launch_explain_ids(struct nsrun_error *err);
/* Puts into the hint of an overlay over a folder in which something is mounted what that is. */
void launch_explain_submounts(struct nsrun_error *err);
/* The same of namespaces of these kinds alone (CLONE_NEW*). */
int launch_explain_kinds(int r, uint64_t kinds, struct nsrun_error *err);

/* host_trials.c: the steps of a launch that a host may refuse, each carried out as a launch does it, in a
 * child that does nothing else. */
struct launch_ids;
struct launch_trial {
        const char *name;
        uint64_t namespaces; /* CLONE_NEW*: which the child has */
        /* What the child does in them; or NULL. */
        int (*attempt)(const struct launch_ids *ids, struct nsrun_error *err);
};
extern const struct launch_trial launch_trials[];
extern const size_t n_launch_trials;
/* 0; or -errno with *err filled as a launch fills it. */
int launch_try(const struct launch_trial *trial, struct nsrun_error *err);
/* Binds: whether the kernel has the calls for them.  0, or -errno with *err filled. */
int launch_try_binds(struct nsrun_error *err);
