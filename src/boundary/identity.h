/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What raw/ alone needs: when it goes on and into which namespaces, and as whom its command runs, the last
 * user namespace, ids and capabilities of the process that built the sandbox.  Plain data and system calls,
 * so that nsrun-init can take the identity as well. */
#pragma once

#include "base/error.h"

/* Descriptors are negative where there is nothing to wait for. */
struct boundary_raw {
        int start_fd;        /* once it is readable the set-up begins */
        int userns_block_fd; /* once it is readable somebody else has written the id maps */
        int exec_fd;    /* once it is readable the command, which was found, is executed: waited for last of
                           all, and the launch's caller may be gone */
        int join_pidfd; /* a process whose namespaces the command enters: nothing is mounted */
        uint64_t join_namespaces; /* CLONE_NEW*: which of them */
        int console_socket;       /* gets the master of a terminal that is made for the command */
        unsigned short console_rows, console_columns; /* 0: not said */
        unsigned uid;
        bool is_private;   /* nothing shows in the binds that is mounted on the host later */
        bool becomes_root; /* of the user namespace that somebody else has mapped, to build as its root */
        bool has_root_outside; /* the host's root made the user namespace */
        bool has_reaper;       /* the command's parent is nsrun's reaper; else there is none */
        bool needs_first_directory;
        bool disables_userns; /* no process inside may make a user namespace */
};

/* The most supplementary groups that a command gets. */
#define PLAN_GROUPS_MAX 64

struct plan_raw_groups {
        bool is_set; /* the supplementary groups become these */
        size_t n;
        gid_t ids[PLAN_GROUPS_MAX];
};

struct init_identity {
        bool is_late;              /* nsrun-init takes it: executed in the namespace around it */
        bool makes_userns;         /* a user namespace with the maps below */
        bool needs_no_userns;      /* none can be made afterwards */
        bool takes_uid, takes_gid; /* the ids are taken in a user namespace that was given */
        bool keeps_capabilities;   /* all; else `capabilities` */
        bool keeps_through_exec;   /* made ambient: a command that isn't root keeps them, too */
        bool new_session;
        unsigned uid, gid;
        uint64_t capabilities; /* bit n stands for CAP_n */
        bool has_sets; /* `capabilities` are permitted and effective, and the sets below are the others */
        uint64_t bounding, inheritable, ambient;
        struct plan_raw_groups groups;
        int self_fd;   /* the host's /proc/self, closed here; or -EBADF */
        int userns_fd; /* a user namespace to enter then, closed here; or negative */
        int block_fd;  /* waited for at the end, and closed; or negative */
        char uid_map[48], gid_map[48];
};

/* The end of what needs capabilities.  `supervisor_fd`: with whom this process dies.  0, or -errno with
 * *err.
 */
int identity_take(struct init_identity *id, int supervisor_fd, struct nsrun_error *err);
/* Waits until `fd` can be read or its other end is closed, and closes it.  `what`: that it couldn't be. */
int identity_await(int fd, const char *what, struct nsrun_error *err);
/* Lets this process live on when the supervisor dies. */
int identity_outlive(struct nsrun_error *err);
/* Writes setgroups and both maps, one line each, which a process may do for its own namespace without any
 * privilege outside; `dir` and `prefix` say where they are. */
int identity_map(int dir, const char *prefix, const char *uid_map, const char *gid_map,
                 struct nsrun_error *err);
