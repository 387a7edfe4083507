/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Protected names that weren't there when a command began: nothing keeps it from making them, so they are
 * kept aside soon after they appear, and looked for when it has ended.  protect/protect.c has the names,
 * and makes those that are there read-only. */
#pragma once

#include "appearing.h"
#include "carry/killed.h"
#include "covers.h"

struct protected_folder;
struct protected_aside;

struct protected_names {
        struct kept_by *kept_by; /* the caller's */
        struct protected_folder *folders;
        size_t n;
        char *project;         /* what --no-protect names is named below it; NULL: there is none */
        char *git_dir;         /* where it has ".git" for one that lies elsewhere; NULL: none does */
        char **private;        /* canonical paths: a command has its own version of these */
        char **git_dirs;       /* canonical paths: those whose parts are protected */
        char **no_protect;     /* the policy's: names that come to be, too */
        struct timespec since; /* when the run began */
        struct appearing *appearing;
        struct protected_aside *asides; /* what protected_take() has renamed; at most KEPT_MOST_NEW */
        size_t n_asides;
        struct killed *killed; /* the caller's; NULL: there is none yet */
        /* Makes that, when something is first taken away while the command runs. */
        void (*make_killed)(void *data);
        void *data;
        char **links;         /* what it has removed */
        size_t n_others;      /* what is renamed, and isn't kept: it is too much */
        size_t n_repeated;    /* what has gone between the first and the last of a name */
        struct inside inside; /* the sandbox, once it is known (has_inside) */
        bool may_enter, has_inside;
        struct covers *covers;
        bool lacks_covers;            /* what the host replaces isn't covered again */
        struct nsrun_error uncovered; /* why one of these is gone for good */
};

/* Remembers what is there of the plan's protected names.  -ENOMEM. */
int protected_begin(const struct nsrun_plan *plan, struct kept_by *kept_by, struct protected_names *ret);
/* For whoever waits for the command: a descriptor to poll, or -EBADF, and what is to be done when it is
 * readable: names that have come to be are kept aside, but for those that a wildcard stands for, and what
 * the host has replaced is covered again.  protected_end() tells.  `init` is the sandbox's pid 1, in a
 * session the monitor's alone.  -errno: what can't be covered can't be protected, and the sandbox is to be
 * ended. */
int protected_fd(const struct protected_names *names);
int protected_take(struct protected_names *names, pid_t init);
/* The second part alone: a descriptor to poll for POLLPRI, and what is to be done then (`has_changed`), or
 * at the first time that protected_fd()'s is readable. */
int protected_covers_fd(const struct protected_names *names);
int protected_cover(struct protected_names *names, pid_t init, bool has_changed);
/* Keeps aside what has come to be since then; puts a symlink back that was replaced; and finds what was
 * changed, by whomever, and repositories made meanwhile that carry orders. Calls `found` for each: 0 or
 * -errno.  Once; one that is zero has nothing to look at.  `versions`: struct repositories'. */
int protected_end(struct protected_names *names, int versions,
                  int (*found)(void *data, const struct nsrun_error *note), void *data);
void protected_clear(struct protected_names *names);
