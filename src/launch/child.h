/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A launch's child before it is cloned: what the lives of boundary/ have in common on the caller's
 * side. Each of sandbox.c, join.c, no_sandbox.c, raw.c and grant.c fills in the record's fixed part, by
 * which its life goes; the rest is written by child_write(). */
#pragma once

#include "boundary/boundary.h"
#include "launch.h"

struct child {
        const struct nsrun_plan *plan;
        const struct launch_params *params;
        struct blueprint b; /* what the child is told */
        int socket;         /* this side's end of a join's reaper_socket */
        int *held;          /* b.held's memory */
        struct sock_filter *owned_filter;
        struct sock_fprog filter;
        struct sock_fprog *filters; /* a raw plan's own, and `filter` after them */
        struct plan_op *ops;        /* the plan's, and `params->files` after them; or NULL */
        char *bytes;                /* the record; NULL: not written yet */
        size_t n_bytes;
};

#define CHILD_INIT                                                              \
        {                                                                       \
                .b = {.facts = {.init = {.size = sizeof(struct boundary_facts), \
                                         .version = INIT_VERSION,               \
                                         .report_fd = -EBADF,                   \
                                         .supervisor_fd = -EBADF,               \
                                         .control_fd = -EBADF,                  \
                                         .lock_fd = -EBADF,                     \
                                         .layers_fd = -EBADF,                   \
                                         .home_fd = -EBADF,                     \
                                         .listener_socket = -EBADF,             \
                                         .session_fd = -EBADF,                  \
                                         .reaper_socket = -EBADF,               \
                                         .proc_fd = -EBADF,                     \
                                         .identity = {.self_fd = -EBADF,        \
                                                      .userns_fd = -EBADF,      \
                                                      .block_fd = -EBADF}},     \
                                .stdio = {-EBADF, -EBADF, -EBADF},              \
                                .init_fd = -EBADF,                              \
                                .init_data_fd = -EBADF,                         \
                                .rundir_fd = -EBADF,                            \
                                .cgroup_procs_fd = -EBADF,                      \
                                .network_socket = -EBADF,                       \
                                .ssh_socket = -EBADF,                           \
                                .display_socket = -EBADF,                       \
                                .browser_socket = -EBADF,                       \
                                .dbus_socket = -EBADF,                          \
                                .versions_socket = -EBADF,                      \
                                .grant_user_fd = -EBADF,                        \
                                .grant_socket = -EBADF,                         \
                                .raw = {.start_fd = -EBADF,                     \
                                        .userns_block_fd = -EBADF,              \
                                        .exec_fd = -EBADF,                      \
                                        .join_pidfd = -EBADF,                   \
                                        .console_socket = -EBADF}}},            \
                .socket = -EBADF,                                               \
        }

/* What is one life's own; launch_start() has what all do.  Each function returns -errno with *err. */
struct child_life {
        bool refuses_folders, has_control, has_listener; /* child_refuse_folders() and the two after it */
        unsigned n_ours; /* how many of the sandbox's processes are nsrun's and not the command's */
        /* Fills in the record's fixed part. */
        int (*describe)(struct child *c, struct launch *l, struct nsrun_error *err);
        /* Makes the child, with all signals blocked, and fills *l.  Of one with explain() -errno alone. */
        int (*make)(struct child *c, struct launch *l, struct nsrun_error *err);
        int (*explain)(const struct child *c, int r, struct nsrun_error *err);
};
extern const struct child_life own_life, join_life, plain_life, raw_life, grant_life;

/* Refuses a folder as stream 0, 1 or 2, which would be a way out of the root: openat(0, "../..") walks the
 * host's tree from there. */
int child_refuse_folders(const struct child *c, struct nsrun_error *err);
/* Makes the control channel, with one descriptor for either side. */
int child_open_control(struct child *c, struct launch *l, struct nsrun_error *err);
/* Makes the sockets by which the listener of denied calls is sent, if params->wants_denials. */
int child_open_listener(struct child *c, struct launch *l, struct nsrun_error *err);
/* Makes those by which the folder of the command's versions is sent, if params->has_versions. */
int child_open_versions(struct child *c, struct launch *l, struct nsrun_error *err);
/* Makes a socket to the supervisor, by which the child sends a descriptor. */
int child_open_socket(int *ret_own, int *ret_child, struct nsrun_error *err);
/* Prepares what every life needs. */
int child_prepare(struct child *c, unsigned n_ours, struct nsrun_error *err);
void child_free(struct child *c);
/* Which terminal the command has, as the plan and the launch's params say. */
enum init_terminal child_terminal(const struct child *c);
/* Blocks all signals, so that none runs a host's handler in the child, and takes note of the command's mask.
 */
int child_block_signals(struct child *c, sigset_t *ret_own, struct nsrun_error *err);
/* blueprint.c: the bytes of *b, for free(3), and in its fixed part how much they take when they are opened.
 * 0; -ENOMEM; -E2BIG. */
int blueprint_write(struct blueprint *b, char **ret, size_t *ret_n);
/* Writes the record, when all but what the clone decides is filled in. */
int child_write(struct child *c, struct nsrun_error *err);
/* What the child has of this process's memory that isn't for the sandbox. */
struct boundary_own child_own(const struct child *c);
/* Clones into b.facts.namespaces, and into the cgroup if there is one: by clone3(2), or by the child's
 * first steps.  The child begins at the boundary's door.  0 with *l filled, or -errno. */
int child_clone(struct child *c, struct launch *l);
/* filter.c: the command's filter, with denials turned into questions where they are wanted. */
int filter_prepare(struct child *c, struct nsrun_error *err);
/* limits.c: the rlimits of the plan and of c->params. */
void limits_prepare(struct child *c, unsigned n_ours);
