/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The processes of a session, seen from outside of it. */
#pragma once

#include "plan/record.h"
#include "running/process_files.h"

/* A /proc in which the session's processes are listed, by numbers that need not be the session's. */
struct process_view {
        struct record_folder folder;
        struct plan_record record;
        int init;           /* pidfd of the session's pid 1 */
        int pid_namespace;  /* held open, so that its inode is no other namespace's */
        int proc;           /* the session's own, else the host's */
        bool is_own;        /* whether nothing else is listed there */
        pid_t init_number;  /* pid 1's there */
        size_t level;       /* which of the numbers of "NSpid:" is the session's */
        uint64_t user, uts; /* the inodes of pid 1's namespaces */
};

#define PROCESS_VIEW_INIT                                                                             \
        (struct process_view) {                                                                       \
                .folder = RECORD_FOLDER_INIT, .init = -EBADF, .pid_namespace = -EBADF, .proc = -EBADF \
        }
/* -ENOENT: no session has that id; -ESRCH: it has ended meanwhile. */
int processes_open(const char *id, struct process_view *v, struct nsrun_error *err);
void processes_close(struct process_view *v);
#define _cleanup_process_view_ _cleanup_(processes_close)

struct process {
        pid_t number; /* in the view's /proc, as the parent's in `stat`, which is 0 where it isn't the
                         session's */
        struct process_stat stat;
        pid_t pid;       /* in the session's pid namespace */
        pid_t innermost; /* in its own */
        size_t depth;    /* how far below the session's pid namespace its own is */
        pid_t thread; /* where the first thread has ended, one that lives, of which the state and the memory
                       * are; else 0 */
        uint64_t memory;
        uint64_t mark; /* the same for all that one command started; 0: unknown */
};

/* Calls `each` for every process of the session's pid namespace and of those below, nsrun's own among them.
 * `folder` is its folder in /proc, which never becomes another process's, and by which it can be sent a
 * signal (pidfd_send_signal(2)).  Another value than 0 ends it and is returned; -errno. */
int processes_each(const struct process_view *v,
                   int (*each)(void *data, int folder, const struct process *process), void *data);
/* Whether it is the session's pid 1, a command's reaper, or what makes one. */
bool process_is_nsruns(const struct process_view *v, const struct process *process);
/* What /proc has as its command line: at most 4095 bytes, NULs made spaces.  "": it has none. */
int process_command_line(int folder, const struct process *process, char **ret);
/* Whether the kernel's name for it or, of its argv[0], what follows the last slash is exactly `name`. */
bool process_has_name(int folder, const struct process *process, const char *name);
