/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is mounted in a running sandbox, and taken away: in processes that nothing in there can look at,
 * which have the lock for as long as they live. */
#pragma once

#include "running/granted.h"

/* Attaches the tree at g->shown, in that folder, and says so with each step.  -ELOOP: a symlink stands
 * there; -ESTALE: the command has moved it away; another -errno. */
int widen_attach(const struct inside *inside, int file, const struct granted *g, int folder, int tree);

/* Where a folder lies while it is taken back. */
#define WIDEN_REVOKED "/.nsrun-revoked"

struct widen_away {
        int file;         /* the plan's, which has the lock */
        int tree;         /* what is taken away; or -EBADF: nothing was attached */
        const char *path; /* where it is */
        uint64_t held;    /* the mount that holds its place */
        int around;       /* beneath which its mount point was made; or -EBADF: it was there before */
        const char *made; /* as this path */
};
/* 1: something is open for writing there. */
int widen_detach(const struct inside *inside, const struct widen_away *away);
