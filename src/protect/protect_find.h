/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Protected names of one folder are looked for: what is there becomes read-only, or the command's own
 * version. */
#pragma once

#include "rules/resolved.h"

enum {
        PROTECT_REPOSITORIES_MAX = 500, /* with submodules' git dirs, and symlinks */
        PROTECT_PRIVATE_MOST =
                64, /* files and folders of which the command has its own version: the rest are */
        PROTECT_PRIVATE_SIZE = 1 << 20, /* read-only, and so are larger ones */
};

/* A repository, or a writable folder that is none. */
struct protecting {
        struct resolved *resolved;
        const char *top;   /* the writable folder */
        int top_fd;        /* O_PATH */
        const char *below; /* the repository's path in it, "" for the folder itself */
        bool is_git_dir;  /* the folder is the project's git dir, of a worktree the common one: its names are
                             ".git/…" to --no-protect */
        const char *path; /* of the repository */
        int fd;           /* O_PATH */
        char **globs;     /* names that protect_find() is to look for */
        char **found;     /* for --protect=strict: those of them that are there */
        char *git_dir;    /* where its git dir is, if that is known; or NULL */
        int git_fd;       /* of that, O_PATH; or -EBADF */
        unsigned *n_repositories;
        char ***repositories; /* paths of those below the writable folder that have had their turn */
        char ***worktrees;    /* git dirs of linked worktrees in it */
        char ***targets;  /* what symlinks of the home, and of such names, and git's configuration lead to in
                             any writable folder: it has its turn when all folders have had theirs */
        unsigned n_links; /* of protected names and in their folders, that led here: what they lead to is
                             read-only, also a folder */
        unsigned n_watched; /* of files that have other names */
        struct nsrun_error *err;
};

/* Whether --no-protect names `name`, a path in the repository. */
bool protect_is_left_open(const struct protecting *p, const char *name);
/* Adds a name or glob, unless it is left open; and looks for all that were added: what is there
 * becomes read-only.  -E2BIG, -ENOMEM. */
int protect_name(struct protecting *p, const char *glob);
int protect_find(struct protecting *p);
/* For glob_find() and nested_find(): a mount is entered that answers, below the repository. */
int protect_crosses(void *data, const char *name);
/* For glob_find(): what is closed to the caller is closed to the command. */
int protect_leave_closed(void *data, const char *name);
/* The writable folder itself, of what lies in it. */
struct protecting protect_top_of(const struct protecting *p);
/* Adds `name` in the folder around, unless that was done. */
int protect_in_top(struct protecting *top, const char *name);
/* Protects a path that lies in the folder around, and not around the repository.  -E2BIG, -ENOMEM. */
int protect_target(const struct protecting *p, const char *path);
