/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session as the programs that join it need to know it: its plan, and the process and namespaces
 * that it runs in.  The bytes lie in a file of the host that no command sees; by the same bytes a
 * plan travels to nsrun-monitor. */
#pragma once

#include "plan.h"
#include "store.h"

struct plan_record {
        char *id;
        struct nsrun_plan *plan;
        struct record_process monitor;
        struct record_process init;   /* the session's pid 1 */
        uint64_t namespaces;          /* CLONE_NEW*: the namespaces that were made for the session */
        uint64_t namespace_inodes[6]; /* of its user, mnt, pid, ipc, uts and net namespaces */
        bool is_nested; /* each command gets a pid namespace of its own, since commands are isolated and the
                           kernel has no Landlock scopes */
        int64_t started_s; /* CLOCK_REALTIME, seconds */
        int64_t base_s;    /* a change of an overlay's base after this time counts as a conflict */
        uint64_t base_ns;
        uint64_t idle_timeout; /* seconds without a command after which the session ends; 0: never */
        pid_t owner;           /* the session ends when this process does; 0: it has no owner */
        char *rundir;          /* the path of the session's run directory; NULL: it has none */
        char *cgroup;          /* the path of the session's cgroup folder; NULL: it has none */
        uint64_t n_processes;  /* the session's bound on processes (RLIMIT_NPROC); 0: none */
};

/* Stores a plan as bytes.  The caller frees *ret.  -ENOMEM. */
int plan_store(const struct nsrun_plan *plan, char **ret, size_t *ret_n);
/* The same behind what a writer has. */
struct store;
void plan_store_in(const struct nsrun_plan *plan, struct store *s);
int plan_restore(const void *bytes, size_t n, struct nsrun_plan **ret, struct nsrun_error *err);
int record_store(const struct plan_record *record, char **ret, size_t *ret_n);
/* Restores a record.  The operations are its last and longest part; without with_operations they
 * aren't read.  -EBADMSG: the bytes are no record, or another version's.  Stage SUPERVISE. */
int record_restore(const void *bytes, size_t n, bool with_operations, struct plan_record *ret,
                   struct nsrun_error *err);
void record_clear(struct plan_record *record);
#define _cleanup_record_ _cleanup_(record_clear)

/* Fills in what identifies a living process.  0 or -errno; -ESRCH also where /proc is another pid
 * namespace's. */
int record_identify(pid_t pid, int pidfd, struct record_process *ret);
/* A pidfd of the process that record_identify() saw; -ESRCH if it is gone. */
int record_open_process(const struct record_process *process);
/* Whether a process has exited, be it that its parent hasn't collected its status yet. */
bool record_has_exited(pid_t pid);
