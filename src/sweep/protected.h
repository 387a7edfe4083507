/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Protected names that weren't there when a command began: nothing keeps it from making them, so they are
 * moved aside soon after they appear, and looked for when it has ended.  protect/protect.c has the names,
 * and makes those that are there read-only. */
#pragma once

#include <time.h>

#include "appearing.h"
#include "plan/plan.h"

struct protected_folder;

struct protected_names {
        struct protected_folder *folders;
        size_t n;
        char *project;         /* what --no-protect names is named below it; NULL: there is none */
        char *git_dir;         /* where it has ".git" for one that lies elsewhere; NULL: none does */
        char **private;        /* canonical paths: a command has its own version of these */
        char **git_dirs;       /* canonical paths: those whose parts are protected */
        bool is_strict;        /* what repositories carry is taken away */
        struct timespec since; /* when the run began */
        struct appearing *appearing;
        struct nsrun_error *moved; /* what protected_take() did; at most MOVED_MAX are kept */
        size_t n_moved;
};

/* Remembers what is there of the plan's protected names.  -ENOMEM. */
int protected_begin(const struct nsrun_plan *plan, struct protected_names *ret);
/* For whoever waits for the command: a descriptor to poll, or -EBADF, and what is to be done when it is
 * readable: names that have come to be are moved aside, but for those that a wildcard stands for.
 * protected_end() tells. */
int protected_fd(const struct protected_names *names);
void protected_take(struct protected_names *names);
/* Renames what has come to be since then to NAME.aside-N, where nothing obeys it; puts a symlink back that
 * was replaced; and finds what was changed, by whomever, and repositories made meanwhile that carry orders.
 * Calls `found` for each: 0 or -errno.  Once; one that is zero has nothing to look at. */
int protected_end(struct protected_names *names, int (*found)(void *data, const struct nsrun_error *note),
                  void *data);
void protected_clear(struct protected_names *names);
