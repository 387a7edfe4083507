/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Repositories in sub-folders: those at the top of a folder, and those that git knows, by .gitmodules and by
 * its index; and folders with names that are asked for, as the index has them.  No tree is walked. */
#pragma once

#include "base/macro.h"

struct nested_places {
        int folder;         /* may be O_PATH */
        int git_dir;        /* the folder's own git dir, with the index; or -1 */
        size_t index_limit; /* a longer index isn't read */
        int *ret_unread;    /* or NULL: becomes -errno where there is an index that can't be read */
        bool takes_closed;  /* folders at the top that can't be entered, too */
        /* The length of the folder of a path of the index that is to be found for what is in it, 0: none is;
         * or NULL.  The first 100 are: who made the index may leave any out. */
        size_t (*folder_of)(const char *path);
        /* Before a mount below the folder is entered: below 0 ends the search.  NULL: none is asked. */
        int (*crosses)(void *data, const char *name);
        void *data;
};

/* *ret: the paths of all these below the folder that have a .git or are bare repositories or folder_of()'s,
 * which no symlink leads to.  What can't be read holds none.  *ret_is_cut (which may be NULL) becomes true
 * where more are named than are looked at, or more folders lie at the top; where it is NULL, the latter is
 * -E2BIG.  -ENOMEM, crosses()'s. */
int nested_find(const struct nested_places *places, char ***ret, bool *ret_is_cut);

/* Whether a folder has an entry of that name, a symlink or not. */
bool nested_has(int folder, const char *name);

/* Whether git takes a folder for a repository without a .git: it has a HEAD, objects and refs. */
bool nested_is_bare(int folder);
