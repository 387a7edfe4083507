/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Containment: where a path that an untrusted agent wrote really leads, and
 * whether a workspace allows it.  Paths mean what they mean inside the sandbox. */
#pragma once

#include <limits.h>

#include "roots.h"

/* Finds what `path` leads to, and the root that allows it: workspace_resolve() without a copy. */
int workspace_find(const struct workspace *w, enum workspace_access access, const char *path,
                   char host[PATH_MAX], const struct workspace_root **ret_root, struct nsrun_error *err);

/* An entry of a folder by its name, which is to be renamed, removed or made itself, whatever it
 * leads to. */
struct workspace_entry {
        char folder[PATH_MAX]; /* the folder's canonical host path, beneath root's path unless is_root */
        char name[NAME_MAX + 1];
        const struct workspace_root *root; /* the innermost root that holds the entry */
        bool is_root;                      /* the entry is that root */
        bool holds_root;                   /* another root, or a hidden place, lies beneath the entry */
        bool holds_hidden; /* a hidden name, which would be none elsewhere, may lie beneath it */
};
/* Finds the folder as workspace_resolve() does, and judges the entry in it.  -EINVAL: the path ends
 * with "." or "..", or is "/".  Other errors are workspace_resolve()'s. */
int workspace_find_entry(const struct workspace *w, enum workspace_access access, const char *path,
                         struct workspace_entry *ret, struct nsrun_error *err);

/* The canonical host path that `path` leads to.  Relative ones begin at the
 * project.  It need not exist: existence is the caller's concern, so a missing tail
 * is kept, and ".." in it is taken by its letters.  Reading is allowed in every
 * root and writing in the writable ones; of nested roots the innermost decides.
 * -EPERM: it leads out of them.  -ELOOP, -ENAMETOOLONG, -EACCES: the kernel would
 * say so too.  -ENOENT: an empty path.  Stage POLICY.
 *
 * The answer is a string, and a process in the sandbox may plant a symlink in the
 * next instant: use workspace_open() for whatever is to be opened. */
int workspace_resolve(const struct workspace *w, enum workspace_access access, const char *path, char **ret,
                      struct nsrun_error *err);

/* Opens what workspace_resolve() answers, from the root's own descriptor, in one
 * walk that follows no symlink: it can't be led out by what happens meanwhile.
 * `flags` are open(2)'s; O_CLOEXEC and O_NOCTTY are added, and O_NONBLOCK, so that
 * a planted fifo holds nobody up.  -EINVAL: flags that write, with WORKSPACE_READ.
 * -EAGAIN: the path kept changing.  Errors as above, and open(2)'s. */
int workspace_open(const struct workspace *w, enum workspace_access access, const char *path, int flags,
                   mode_t mode, int *ret_fd, struct nsrun_error *err);
