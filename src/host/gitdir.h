/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the git dir of a project is.  A .git that is a file (in a linked worktree or a submodule) or a
 * symlink is the command's to write.  So it is believed only if the git dir that it names, which the command
 * can't write, names the project in turn. */
#pragma once

#include "gitconfig.h"

struct gitdir {
        char *dot_git; /* the project's .git, file or folder */
        char *git_dir; /* canonical; NULL: .git is missing, or a symlink to what is none or in the project */
        char *common_dir; /* canonical; NULL: the git dir is a whole repository */
        bool is_link;     /* .git is a symlink */
};

/* Looks at `project` (canonical) and fills *ret.  1: .git leads to git dirs outside the project, which nsrun
 * must expose; 0: it doesn't.  -EPERM: .git isn't believed, and *ret has what it leads to as far as that is
 * known; *ret_why and *ret_hint (static) say why and what to do; no hint: the user may expose what it leads
 * to.  -ENOMEM. */
int gitdir_find(const char *project, struct gitdir *ret, const char **ret_why, const char **ret_hint);
/* Calls `found` for each entry of a plain file of configuration in a folder, bounded: gitconfig_parse()'s
 * result, or read_small_file()'s. */
int gitdir_read_config(int dir, const char *name,
                       int (*found)(void *data, const struct gitconfig_entry *entry), void *data);
/* Reads a file of one line that holds `prefix` and a path, which is relative to `base`: *ret, not
 * normalised.  -EBADMSG: it holds something else; -EFBIG, -ENOMEM, open(2)'s. */
int gitdir_read_pointer(int dir, const char *name, const char *prefix, const char *base, char **ret);
/* Where such a file of `folder`, a descriptor of the folder at `base`, leads to; canonical, for the caller
 * to free.  Nothing outside `within` is opened: -EXDEV.  And gitdir_read_pointer()'s. */
int gitdir_follow_within(int folder, const char *name, const char *prefix, const char *base,
                         const char *within, char **ret);
void gitdir_clear(struct gitdir *g);
#define _cleanup_gitdir_ _cleanup_(gitdir_clear)

/* The symlinks and pipes of a git dir.  Git makes none but references; through others it would write
 * elsewhere, or wait for ever. */
struct gitwalk {
        /* One of these: its folder, its name there, its path.  0 or -errno, which ends the walk. */
        int (*link)(void *data, int folder, const char *name, const char *path);
        /* Opens a folder for reading that nsrun can't read.  A descriptor or -errno; may be NULL. */
        int (*closed)(void *data, int parent, const char *name);
        char *const *left_out; /* folders in a git dir that aren't git's, by their paths; may be NULL */
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

/* "PATH -> TEXT", and of a pipe "PATH |"; NULL: it is gone, or for want of memory. */
char *gitwalk_describe(int folder, const char *name, const char *path);
