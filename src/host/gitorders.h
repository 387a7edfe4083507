/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What of a repository's configuration is an order to git: keys that name a program, another folder of hooks
 * or another file of configuration.  And whether there are hooks. */
#pragma once

#include "gitconfig.h"

/* Whether an entry names a program, or what may name one. */
bool gitorders_names_program(const struct gitconfig_entry *entry);

/* Whether an entry's value is the path of what git takes hooks, attributes or a new git dir's files from. */
bool gitorders_names_path(const struct gitconfig_entry *entry);

/* Whether an entry is one of those that a sandbox gets of the user's own: by name those that say how git
 * works and prints, and addresses for others (url.*.insteadOf).  None names a program, a file or a secret.
 */
bool gitorders_is_harmless(const struct gitconfig_entry *entry);

/* Calls `found` for each entry of the git dir's own files (config, and config.worktree) in order.
 * `found`'s first result that is not 0, or -errno: a file can't be read, or git would not read it. */
int gitorders_read(int git_dir, int (*found)(void *data, const struct gitconfig_entry *entry), void *data);

/* Whether a rebase or a cherry-pick that is to be continued in a git dir has a merge strategy that isn't
 * git's own, or nobody can read which: git runs git-merge-STRATEGY, which is a file of the work tree where
 * that has a slash, or lies in PATH. */
bool gitorders_has_rebase_strategy(int git_dir); /* by rebase-merge/strategy */
bool gitorders_has_pick_strategy(int git_dir);   /* by sequencer/opts */

/* What a git dir carries: of these, those it has. */
enum {
        GITORDERS_HOOKS = 1 << 0,
        GITORDERS_PROGRAM = 1 << 1,  /* configuration that names a program, or can't be read */
        GITORDERS_WORKTREE = 1 << 2, /* configuration that says where the work tree is */
        GITORDERS_REBASE = 1 << 4,   /* a rebase that is to be continued */
        GITORDERS_STRATEGY = 1 << 5, /* a cherry-pick that is to be continued, by a strategy not git's own */
        GITORDERS_LINKS = 1 << 3,    /* symlinks or pipes (gitdir.h); or too much to look at */
};
unsigned gitorders_carried(int git_dir);
