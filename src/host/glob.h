/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names below a folder, by globs.  A command may own all that lies there: no symlink is followed. */
#pragma once

#include <sys/stat.h>

#include "base/macro.h"

/* Whether `glob` can be expanded: relative, no empty component, none that is "." or "..". */
bool glob_is_expandable(const char *glob);

/* A glob that names just `name`, for the caller to free; NULL for want of memory. */
char *glob_escape(const char *name);

struct glob_search {
        /* An entry that is there, with its path relative to the folder. */
        int (*found)(void *data, const char *name, const struct stat *st);
        /* An entry that can't be opened for want of rights: 1 has it tried again, 0 goes on without it.  Or
         * a folder that can be read and not entered, and has a name that is asked for: 1 has that tried
         * again, 0 ends the search.  NULL: -EACCES ends it. */
        int (*closed)(void *data, const char *name);
        /* Before a mount below the folder is entered: below 0 ends the search.  NULL: none is asked. */
        int (*crosses)(void *data, const char *name);
        bool wants_type;    /* of *st only the type of st_mode is needed */
        const char *unread; /* with that, a glob: nobody reads plain files of these names, nor what is
                               mounted on them; NULL: none */
        void *data;
};

/* Tells each entry below `folder` (a descriptor, which may be O_PATH) that one of `globs` names, once where
 * several do.  The wildcards are fnmatch(3)'s, component by component; a name that begins with a dot is no
 * exception.  Of a path with a symlink in it the link is what is found.  A folder of which many names are
 * asked for is read once.  Ends with the first result of a callback that is not 0 (`closed`, `crosses`:
 * below 0), and returns that; -E2BIG: there is more than can be looked through; -ENOMEM and what else
 * openat2(2) has. */
int glob_find(int folder, char *const *globs, const struct glob_search *search);
