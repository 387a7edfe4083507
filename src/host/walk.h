/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names at any depth below a folder, by globs in the syntax of .gitignore: one walk for all of them.  A
 * command may own all that lies there: no symlink is followed, and all work is bounded. */
#pragma once

#include <sys/stat.h>

#include "base/macro.h"

/* Makes of a glob as a user writes it one as the walk takes it, for the caller to free:
 *
 *     NAME    "** /NAME": no slash but at its end: at any depth
 *     /A, A/B  "A", "A/B": at the top of the folder
 *     A/      "A/": folders alone
 *     A/ **   "A/": all that is in a folder is the folder
 *
 * (without the spaces).  -EINVAL: it is empty, begins with "!", or has a part that is empty, "." or "..", or
 * a backslash with nothing after it.  -ENOMEM. */
int walk_normalise(const char *glob, char **ret);

struct walk_entry {
        const char *path; /* below the folder */
        int folder;       /* the folder that it lies in */
        const char *name; /* its last part */
        struct stat st;   /* of itself, not of what a symlink leads to */
        bool is_closed;   /* no glob names it: a folder that can't be listed where a glob has a wildcard, or
                             whose depth or path is over the bounds below */
        bool is_link_to_folder; /* a symlink which globs for folders alone name: if it leads to one */
};

struct walk {
        char *const *globs;  /* as walk_normalise() makes them */
        const ino_t *inodes; /* sorted; files of one of these numbers are found, too, whatever their names */
        size_t n_inodes;
        bool is_for_all;      /* every file is found; globs and inodes count for nothing */
        unsigned entries_max; /* more are not looked at */
        /* Returns 0; another value ends the walk.  What lies below a folder that was found is not looked
         * at. */
        int (*found)(void *data, const struct walk_entry *entry);
        /* Before a mount is entered, the folder that it lies in and its name there: below 0 ends the walk.
         * NULL: none is asked. */
        int (*crosses)(void *data, int folder, const char *name);
        void *data;
};

enum {
        WALK_DEPTH_MAX = 100,
        WALK_PATH_MAX = 2048, /* bytes; half of PATH_MAX, so that the folder's own path fits before it */
};

/* Walks through what lies below a folder, a descriptor, as far as the globs lead.  -E2BIG: there are more
 * than entries_max; -EACCES: the folder itself can't be listed, or entered; `found`'s;
 * -ENOMEM; openat(2)'s. */
int walk_names(const struct walk *walk, int folder);
/* Whether the first `n` bytes of `part`, a part of a glob, name `name`. */
bool walk_part_matches(const char *part, size_t n, const char *name);
/* Whether a glob, which may be for folders alone, names a path below the folder, or a folder that it is in:
 * something needn't be there. */
bool walk_covers(const char *glob, const char *path);
/* Whether one of the globs names an entry `name` at the top of a folder. */
bool walk_matches(char *const *globs, const char *name, bool is_directory);
