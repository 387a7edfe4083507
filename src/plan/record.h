/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session as those who join it need to know it: its plan, and where it runs.  Kept in
 * a file of the host that no command sees; and the way a plan travels to another process. */
#pragma once

#include <time.h>

#include "base/store.h"
#include "plan.h"

struct plan_record {
        char *id;
        struct nsrun_plan *plan;
        struct record_process monitor;
        struct record_process init;   /* pid 1 inside */
        uint64_t namespaces;          /* CLONE_NEW* that were made */
        uint64_t namespace_inodes[6]; /* user, mnt, pid, ipc, uts, net */
        bool is_nested;               /* commands in pid namespaces of their own: there is no Landlock */
        int64_t started_s;            /* CLOCK_REALTIME */
        int64_t base_s;               /* from when on a change of an overlay's base counts as one */
        uint64_t base_ns;
        uint64_t idle_timeout; /* seconds; 0: none */
        pid_t owner;           /* 0: none */
        char *rundir;          /* NULL: none */
        char *cgroup;          /* the folder of the session's; NULL: none */
        uint64_t n_processes;  /* what RLIMIT_NPROC bounds; 0: nothing */
};

/* *ret is the caller's.  -ENOMEM. */
int plan_store(const struct nsrun_plan *plan, char **ret, size_t *ret_n);
int plan_restore(const void *bytes, size_t n, struct nsrun_plan **ret, struct nsrun_error *err);
int record_store(const struct plan_record *record, char **ret, size_t *ret_n);
/* -EBADMSG: no record, or another version's.  Stage SUPERVISE.  The plan's operations are the last and
 * longest part: who has no use for them leaves them out. */
int record_restore(const void *bytes, size_t n, bool with_operations, struct plan_record *ret,
                   struct nsrun_error *err);
void record_clear(struct plan_record *record);
#define _cleanup_record_ _cleanup_(record_clear)

/* What can be told of a process that lives: 0 or -errno. */
int record_identify(pid_t pid, int pidfd, struct record_process *ret);
/* A pidfd of the process that was identified; -ESRCH where it is gone. */
int record_open_process(const struct record_process *process);
/* Whether it has exited, though its end may be nobody's to see yet. */
bool record_has_exited(pid_t pid);
