/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What commands wrote that programs on the host would obey, kept aside until a person has looked at it:
 * $XDG_STATE_HOME/nsrun/kept/PROJECT/N, with a copy of it as "entry" and what is known of it as
 * "about.json" (a path that is no UTF-8 in a symlink beside).  PROJECT is path_slug() of a folder, most
 * often the project's; both are taken for `project`. */
#pragma once

#include <time.h>

#include "base/error.h"

#define KEPT_ENTRY     "entry"
#define KEPT_PROTECTED "protected" /* a reason: programs on the host would obey it */
#define KEPT_FIRST     "first" /* a reason: it was so before the command went on with it; no command has it */
#define KEPT_DAYS      30      /* after these it is dropped */
#define KEPT_FILES     4096    /* bounds of one entry: files, folders and links, */
#define KEPT_BYTES     (16U << 20) /* what they hold, */
#define KEPT_DEPTH     32          /* and levels of folders */
#define KEPT_MOST      256         /* entries of one project, */
#define KEPT_MOST_NEW  160         /* and of them those that one run may add for protected names */

struct kept {
        unsigned number;
        char *path;    /* of the host's: where it would be */
        char *reason;  /* why it isn't there: a word of whoever kept it */
        char *command; /* what wrote it, quoted for a shell */
        char *run;     /* in which session; "": in a run of its own */
        time_t time;
        char **removed; /* of a folder: paths in it that are taken away */
        bool adds;      /* kept_put()'s */
        bool is_whole;  /* likewise: it may be the user's own; what a copy would leave out, or is too large,
                           is left where it is, and no other one of the path is replaced */
        const int *earlier; /* likewise, may be NULL: which one it is to replace, kept_find()'s folder, and
                               no other; or a negative number: none */
        bool is_moved;      /* more than the bounds: no copy, and nobody's to take over but by hand */
        bool is_folder;     /* a copied folder with something in it, or of which something is removed */
};

/* Whether there may be any of a project. */
bool kept_has(const char *project);

/* Copies the entry `name` of the folder `parent` into the store, as about->path, ->reason, ->command and
 * ->run say: a plain file, a symlink, or a folder with such in it; others in it are left out, and the owner
 * may read and write.  An earlier one of the same path and
 * reason is replaced, or with `adds` a folder laid over an earlier folder.  *ret (may be NULL): its
 * number.  All is written under a hidden name first; what is known of it, and a single file, is on disk when
 * it gets its own.  What is more than the bounds, or has more removed names than
 * can be noted, is moved there, as it is.  -EFBIG: it lies on another file system; -ENOSPC: as many are kept
 * already; -EAGAIN: another one than `earlier` is kept by now; -EINVAL: it is nothing that can be kept;
 * -EILSEQ: a removed name is no UTF-8; -EACCES and its like: this user has no such folder; -ENOENT: there is
 * no such entry. */
int kept_put(const char *project, const struct kept *about, int parent, const char *name, unsigned *ret);

/* Puts an entry, whose open folder is `fd`, on the host, as kept_copy.h says, through no symlink, with the
 * folders that are missing on the way.  Of modes there stays what is in `mode`. */
int kept_give(int fd, const struct kept *kept, mode_t mode);

/* All of a project, by their numbers; *ret_n of them, for kept_free().  None is no failure. */
int kept_list(const char *project, struct kept **ret, size_t *ret_n);
void kept_free(struct kept *list, size_t n);

/* The folder of the last entry of a path and reason, open for reading, in which KEPT_ENTRY is; *ret (may be
 * NULL) for kept_clear().  -ENOENT: none is kept. */
int kept_find(const char *project, const char *path, const char *reason, struct kept *ret);
/* The same of those that are is_folder. */
int kept_find_folder(const char *project, const char *path, const char *reason, struct kept *ret);
/* The same by its number. */
int kept_open(const char *project, unsigned number, struct kept *ret);
void kept_clear(struct kept *k);

/* Whether it has been there for more than KEPT_DAYS. */
bool kept_is_old(const struct kept *k);
/* Removes one, `that` which was found, or any of the number (-1); 0 also where there is none. */
int kept_drop(const char *project, unsigned number, int that);
/* Removes those that are older than KEPT_DAYS; `dropped` (may be NULL) is called for each. */
int kept_drop_old(const char *project, void (*dropped)(void *data, const struct kept *k), void *data);

/* The projects that have entries, as path_slug() has them. */
int kept_projects(char ***ret);
