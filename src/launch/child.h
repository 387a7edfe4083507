/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the four lives of a launch's child have in common: own.c (a sandbox of its own), join.c (a command
 * that joins a session), plain.c (no sandbox) and raw/raw.c (bubblewrap's operations).  All that the child
 * needs is in struct child before the clone: after it nothing is allocated, formatted or looked up. */
#pragma once

#include "init.h"

/* The stacks of processes that share their parent's memory until they exec or end. */
enum child_stack {
        CHILD_STACK_COMMAND,
        CHILD_STACK_INNER, /* enter.c's */
        CHILD_STACK_OUTER,
        CHILD_STACKS,
};
#define CHILD_STACK_SIZE 65536U

struct child {
        const struct nsrun_plan *plan;
        const struct launch_params *params;
        struct reaper reaper; /* what the child goes on as when everything is built; its error is the
                                 child's, too */
        int stdio[3];         /* the descriptors that become 0, 1 and 2; -EBADF: the caller's stay */
        int lifted[2];        /* copies of the run directory's descriptors, if they had numbers 0, 1 or 2 */
        int *keep;            /* room for harden_descriptors()'s list of what stays open */
        int init_fd;          /* O_PATH of nsrun-init; -EBADF: the child stays this program */
        int init_data_fd;     /* a memfd with the struct init for nsrun-init */
        struct init_message *message;
        size_t n_held_most; /* the room of reaper.held: for what the child opens, too */
        char *stacks;
        struct sock_filter *owned_filter;
        struct sock_fprog filter;
        struct sock_fprog *filters; /* a raw plan's own, and `filter` after them */
        uint64_t namespaces;        /* CLONE_NEW*: the namespaces that the clone makes */
        bool is_within;             /* an nsrun around this one bounds what commands use up */
        bool joins_cgroup; /* the child joins the cgroup itself, since it couldn't be started in it */
};

#define CHILD_INIT                                                                                \
        {                                                                                         \
                .reaper = {.init = {.size = sizeof(struct init),                                  \
                                    .version = INIT_VERSION,                                      \
                                    .report_fd = -EBADF,                                          \
                                    .supervisor_fd = -EBADF,                                      \
                                    .control_fd = -EBADF,                                         \
                                    .lock_fd = -EBADF,                                            \
                                    .layers_fd = -EBADF,                                          \
                                    .home_fd = -EBADF,                                            \
                                    .listener_socket = -EBADF,                                    \
                                    .session_fd = -EBADF,                                         \
                                    .reaper_socket = -EBADF,                                      \
                                    .proc_fd = -EBADF,                                            \
                                    .identity = {.self_fd = -EBADF,                               \
                                                 .userns_fd = -EBADF,                             \
                                                 .block_fd = -EBADF}},                            \
                           .signal_fd = -EBADF,                                                   \
                           .listener = -EBADF},                                                   \
                .stdio = {-EBADF, -EBADF, -EBADF}, .lifted = {-EBADF, -EBADF}, .init_fd = -EBADF, \
                .init_data_fd = -EBADF,                                                           \
        }

/* The top of one of the stacks. */
static inline char *child_stack_top(const struct child *c, enum child_stack which) {
        return c->stacks + (which + 1) * CHILD_STACK_SIZE;
}

/* The lives: each prepares the rest of the child, makes it and fills *l.  0, or -errno with *err. */
int own_start(struct child *c, struct launch *l, struct nsrun_error *err);
int join_start(struct child *c, struct launch *l, struct nsrun_error *err);
int plain_start(struct child *c, struct launch *l, struct nsrun_error *err);
int raw_start(struct child *c, struct launch *l, struct nsrun_error *err);

/* Before the clone: refuses a folder as stream 0, 1 or 2, which would be a way out of the root:
 * openat(0, "../..") walks the host's tree from there. */
int child_refuse_folders(const struct child *c, struct nsrun_error *err);
/* Makes the control channel, with one descriptor for either side. */
int child_open_control(struct child *c, struct launch *l, struct nsrun_error *err);
/* Makes the sockets by which the listener of denied calls is sent, if params->wants_denials. */
int child_open_listener(struct child *c, struct launch *l, struct nsrun_error *err);
/* Makes a socket to the supervisor, by which the child sends a descriptor. */
int child_open_socket(int *ret_own, int *ret_child, struct nsrun_error *err);
/* Prepares what every life needs.  `n_ours`: how many of the sandbox's processes are nsrun's and
 * not the command's. */
int child_prepare(struct child *c, unsigned n_ours, struct nsrun_error *err);
void child_free(struct child *c);
/* Which terminal the command has, as the plan and the launch's params say. */
enum init_terminal child_terminal(const struct child *c);
/* Blocks all signals, so that none runs a host's handler in the child, and takes note of the command's mask.
 */
int child_block_signals(struct child *c, sigset_t *ret_own, struct nsrun_error *err);
/* Clones into c->namespaces, and into the cgroup if there is one: by clone3(2), or by the child's
 * first steps. */
int child_clone(struct child *c, int *ret_pidfd);
/* filter.c: the command's filter, with denials turned into questions where they are wanted. */
int filter_prepare(struct child *c, struct nsrun_error *err);
/* limits.c: the rlimits of the plan and of c->params. */
void limits_prepare(struct child *c, unsigned n_ours);

/* In the child: moves the command's streams to 0, 1 and 2, and keeps what is passed to it open. */
int child_take_descriptors(struct child *c);
/* Closes all but own[n] and what the command gets; n: CHILD_OWN_MAX at most. */
int child_close_descriptors(struct child *c, const int *own, size_t n);
#define CHILD_OWN_MAX 13
/* That, of an array whose size is judged by the compiler. */
#define CHILD_CLOSE_DESCRIPTORS(c, own)                                                            \
        ({                                                                                         \
                _Static_assert(ARRAY_SIZE(own) <= CHILD_OWN_MAX, "there is room for all of them"); \
                child_close_descriptors(c, own, ARRAY_SIZE(own));                                  \
        })
int child_join_cgroup(struct child *c);
int child_set_hostname(struct child *c);
/* limits.c: that RLIMIT_NPROC holds for this user, and in this namespace alone. */
int limits_check_processes(struct child *c);
/* The program's own command line is readable by all in /proc: it is not for the sandbox. */
void child_wipe_command_line(const struct child *c);
