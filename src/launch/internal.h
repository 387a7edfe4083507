/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of launch/ share.  Everything the child needs is in struct
 * launch_child before the clone: after it nothing is allocated, formatted or
 * looked up. */
#pragma once

#include <signal.h>

#include "base/sys.h"
#include "launch.h"

/* legacy.c: a mount that a recursive bind brings along, on kernels without
 * mount_setattr(2). */
struct legacy_mount {
        char *below;         /* relative to the bind's source, "" for the source itself */
        unsigned long flags; /* the MS_* flags it has and must keep */
};

struct legacy_binds {
        struct legacy_mount *mounts;
        size_t n_mounts;
};

/* One of the command's rlimits. */
struct limit {
        int resource;
        struct sys_rlimit value;
};

struct launch_child {
        const struct nsrun_plan *plan;
        const struct launch_params *params;
        int report_fd;                    /* write end */
        int stdio[3];                     /* what becomes 0, 1 and 2; -EBADF: they stay */
        int lifted[2];                    /* the umbrella's descriptors, where they were in the way */
        int supervisor_fd;                /* pidfd of the process that asked */
        int order_fd;                     /* ORDER_*; of a raw plan -EBADF */
        int init_fd;                      /* O_PATH of nsrun-init, or -EBADF */
        int listener_socket;              /* write end, where denied calls are asked about; else -EBADF */
        int filter_fd;                    /* the filter in a file, where nsrun-init needs one; else -EBADF */
        const struct sock_filter *filter; /* what the command gets; NULL: none */
        size_t n_filter;
        unsigned filter_flags;
        struct sock_filter *owned_filter;
        char uid_map[48];
        char gid_map[48];
        char inner_uid_map[48]; /* a raw plan's second user namespace maps them onto themselves */
        char inner_gid_map[48];
        struct limit limits[RLIMITS_COUNT]; /* set right before the exec */
        size_t n_limits;
        bool joins_cgroup; /* it wasn't born there */
        sigset_t mask;     /* the caller's, for the command */
        mode_t umask;      /* the caller's, for the command */
        bool has_hostname;
        struct legacy_binds *legacy; /* one per operation, or NULL where the kernel is new enough */

        /* The child's own. */
        int old_root;
        int new_root;
        int base_root;            /* of a raw plan: the first tmpfs, in which the new root is a folder */
        bool covers_root;         /* what a raw operation has mounted may lie on the new root */
        uint64_t namespaces_made; /* what the clone was asked for */
        int operation;            /* the one that is carried out, for a failure's report; or -1 */
        int descriptors;          /* the host's /proc/self/fd, the working directory while mounting */
        int umbrella_fd;          /* the umbrella by a mount of the child's own */
        int overlay_fd;           /* the tmpfs that stands in for it with --overlay-backing=tmpfs */
        int signal_fd;            /* init's */
        struct launch_namespaces namespaces;
        int session;      /* a pidfd of the pid 1 whose session is joined; else -EBADF */
        int joined_pidfd; /* of the reaper there, once it is made */
        pid_t joined_pid;
        char *inner_stack;    /* of who goes there in two steps */
        bool was_told_to_end; /* init: what is left behind is to end, too; a session's: when it is alone */
        char *stack_top;      /* the command's, between vfork and exec */
        struct init_exec *init_exec; /* nsrun-init's arguments, where it is asked for */
        char **shell_argv;           /* room for "/bin/sh", a script and argv[1…] */
        int exec_error;              /* what the vforked child says */
        int listener;                /* and the number it got there, in the shared table; or -EBADF */
        char exec_path[4096];
        struct nsrun_error error;
};

/* child.c: the whole life of pid 1.  Never returns. */
_Noreturn void child_run(struct launch_child *c);
/* The same under a raw plan: raw.c, raw_mount.c. */
_Noreturn void raw_run(struct launch_child *c);
/* Whether the command has left somebody behind; and until it has not. */
bool raw_has_others(void);
void raw_reap_the_rest(void);
int raw_mount_root(struct launch_child *c);
int raw_mount_operations(struct launch_child *c);
int raw_mount_seal(struct launch_child *c);
/* Steps that several have. */
int child_take_stdio(struct launch_child *c);
int child_join_cgroup(struct launch_child *c);
int child_die_with_supervisor(struct launch_child *c);
/* Writes setgroups and both maps; `dir` and `prefix` say where they are. */
int child_map_ids(struct launch_child *c, int dir, const char *prefix, const char *uid_map,
                  const char *gid_map);
int child_set_hostname(struct launch_child *c);
/* Reports c->error and ends. */
_Noreturn void child_fail(struct launch_child *c);
/* Its last part, when everything is built: the command, the reaping, the report. */
_Noreturn void child_finish(struct launch_child *c);
/* report.c: one report over the pipe, in one write. */
int report_send(int fd, const struct launch_report *report);
/* Tells of a choice that was left to the launch. */
void child_note(struct launch_child *c, const char *what, const char *path);

/* mount.c */
int mount_private_root(struct launch_child *c);
int mount_operations(struct launch_child *c);
int mount_seal(struct launch_child *c);
/* Mounts a new file system at an open folder. */
int mount_filesystem(struct launch_child *c, int target, const char *type, unsigned long flags,
                     const char *data);
/* mount_special.c: what lies in the umbrella, and /proc */
int mount_name_umbrella(struct launch_child *c);
int mount_open_playground(struct launch_child *c, const struct plan_op *op);
int mount_overlay(struct launch_child *c, const struct plan_op *op);
int mount_proc(struct launch_child *c, const struct plan_op *op);
/* The mount point of op, opened; made first where the plan says so. */
int mount_point(struct launch_child *c, const struct plan_op *op);
/* Attaches a copy of the tree at `source` to the open `target`. `attributes`: MOUNT_ATTR_*. */
int mount_attach(struct launch_child *c, const struct plan_op *op, int source, int target,
                 uint64_t attributes, bool is_recursive);

/* legacy.c */
int legacy_prepare(struct launch_child *c, struct nsrun_error *err);
void legacy_free(struct launch_child *c);
int legacy_attach(struct launch_child *c, const struct plan_op *op, int source, int target,
                  uint64_t attributes, bool is_recursive);
int legacy_seal(struct launch_child *c);

/* harden.c: what pid 1 and everything after it lives without. */
int harden_capabilities(struct nsrun_error *err);
/* Keeps `capabilities` and drops the others; through_exec: inheritable and ambient, too. */
int harden_keep_capabilities(uint64_t capabilities, bool through_exec, struct nsrun_error *err);
int harden_no_new_privileges(struct nsrun_error *err);
int harden_process(struct nsrun_error *err);
/* Closes every descriptor above 2 but those in keep[n], which it sorts; -1s in it are skipped. */
int harden_descriptors(int *keep, size_t n, struct nsrun_error *err);

/* Landlock: no abstract socket and no process outside of this domain can be reached from it. */
int harden_scope(struct nsrun_error *err);

/* filter.c: the command's filter, with denials turned into questions where they are wanted,
 * and in a file for nsrun-init.  Before the clone. */
int filter_prepare(struct launch_child *c, struct nsrun_error *err);
/* In the vforked child, right before its exec. */
int filter_install(struct launch_child *c);
/* nsrun-init's side of filter_fd. */
int filter_receive(struct launch_child *c, int fd, size_t n);

/* limits.c: the rlimits of the plan and of `params`, before the clone. */
void limits_prepare(struct launch_child *c);
/* In the vforked child, right before its exec: from there on they hold. */
int limits_set(struct launch_child *c);
/* In pid 1: that RLIMIT_NPROC holds for this user, and in this namespace alone. */
int limits_check_processes(struct launch_child *c);
/* As nsrun-init's argument, and back.  Room for all of them. */
#define LIMITS_TEXT_SIZE (RLIMITS_COUNT * 48)
void limits_format(const struct launch_child *c, char text[LIMITS_TEXT_SIZE]);
int limits_parse(struct launch_child *c, const char *text);

/* network.c: brings loopback up in a network namespace of our own. */
int network_loopback(struct nsrun_error *err);

/* number.c: decimal text without stdio; to[24]. */
char *number_format(char to[24], uint64_t n);
/* How the mounted /proc calls the process of a pidfd; -ENOENT: there is no /proc; -ESRCH. */
pid_t number_of_pidfd(int pidfd);
/* Every entry that has a number for its name, of /proc or of /proc/self/fd, open as `folder`.
 * 0, or getdents64(2)'s -errno. */
int number_each(int folder, void (*take)(void *data, int number), void *data);

/* stop.c: SIGSTOP for all that runs here; returns when none of them can read from the terminal any
 * more, or after a second.  `command` is a child. */
void stop_all(const struct launch_child *c, pid_t command);

/* join.c: the reaper of a command in a session, from its first instruction to its last. */
_Noreturn void join_run(struct launch_child *c);
/* Makes it: its pid (0: it has ended already), or -errno with *err. */
int launch_join(struct launch_child *c, int *ret_pidfd, struct nsrun_error *err);

/* What is counted up in order_fd: for a joined command's reaper, all that the command started is to end;
 * for all, everybody is to get a SIGTERM; for a joined command's reaper, the caller waits for it no more;
 * for a session's pid 1, it is to end when it is alone.  No signals: from inside these can be sent to a
 * reaper that is pid 1 of its namespace, and where the user's queue is full nothing tells who sent them, or
 * none gets through that has a value; any command may fill it (RLIMIT_SIGPENDING). */
#define ORDER_END       UINT64_C(1)
#define ORDER_TERMINATE (UINT64_C(1) << 16)
#define ORDER_RELEASE   (UINT64_C(1) << 32)

/* init.c: starts the command and reaps until it and all others are gone.
 * Returns wait(2)'s status of the command, or a negative errno with c->error. */
int init_run(struct launch_child *c);
/* The caller waits no more: ends, or where others would end with it, forgets the caller. */
void init_leave(struct launch_child *c);
/* Reaps and passes on until nobody is left.  Where it fails all of them end with init, and before their
 * time: the supervisor is to know. */
int init_linger(struct launch_child *c);
/* Whether `path` leads to the program that runs here, by the mount that it runs
 * from.  A command called /proc/self/exe, or a script for it, names whoever
 * executes it: the host's nsrun, which such a process could open, and where the
 * user owns it write.  The same file by a mount of the sandbox is another matter:
 * nsrun in nsrun is fine. */
bool init_is_own_program(const char *path);

/* init_exec.c: replaces this process by nsrun-init, which goes on with
 * child_finish().  Returns only on failure. */
int init_exec_prepare(struct launch_child *c);
int init_exec(struct launch_child *c);

/* exec.c: runs in the vforked child.  Returns 127 or 126 through _exit, c->exec_error set. */
int exec_command(void *launch_child);
/* A raw plan's command in place of this process.  Returns on failure, with c->error. */
void exec_directly(struct launch_child *c);
/* SELinux' label of the next exec, or of files that are made: written to an attribute of
 * /proc/self/attr.  NULL: none is asked for. */
int exec_set_label(struct launch_child *c, const char *path, const char *label);
/* c->error for what exec said. */
int init_fail_exec(struct launch_child *c);
