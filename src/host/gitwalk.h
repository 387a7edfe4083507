/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The symlinks of a git dir.  Git makes none but references; through others it would write elsewhere. */
#pragma once

#include "base/macro.h"

struct gitwalk {
        /* A symlink: its folder, its name there, its path.  0 or -errno, which ends the walk. */
        int (*link)(void *data, int folder, const char *name, const char *path);
        /* Opens a folder for reading that nsrun can't read.  A descriptor or -errno; may be NULL. */
        int (*closed)(void *data, int parent, const char *name);
        void *data;
        unsigned n_entries; /* of all walks so far */
        bool is_cut;        /* a walk is not complete: there was too much, or something can't be read */
};

/* Goes through the folder `name` (or ".") of `parent`, a descriptor that may be O_PATH; `path` is the
 * folder's, for `link`.  With is_top it is a git dir itself: what git names by its content there, other
 * repositories, and hooks are left out.  0 or -errno, `link`'s too. */
int gitwalk(struct gitwalk *w, int parent, const char *name, const char *path, bool is_top);

/* Whether a symlink is a reference: with core.preferSymlinkRefs git makes HEAD and its like links to
 * refs/…. */
bool gitwalk_is_reference(int folder, const char *name);

/* "PATH -> TEXT"; NULL: the symlink is gone, or for want of memory. */
char *gitwalk_describe(int folder, const char *name, const char *path);
