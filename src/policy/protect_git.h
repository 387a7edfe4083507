/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Protected names of git dirs: a repository's own, those in it, and one elsewhere in the writable folder. */
#pragma once

#include "protect.h"

/* A repository, or a writable folder that is none. */
struct protecting {
        struct resolved *resolved;
        const char *top;   /* the writable folder */
        int top_fd;        /* O_PATH */
        const char *below; /* the repository's path in it, "" for the folder itself */
        const char *path;  /* of the repository */
        int fd;            /* O_PATH */
        char **globs;      /* names that protect_find() is to look for */
        char **found;      /* for --protect=strict: those of them that are there */
        char *git_dir;     /* where its git dir is, if that is known; or NULL */
        int git_fd;        /* of that, O_PATH; or -EBADF */
        unsigned *n_repositories;
        const char *users_hooks; /* protect_find_users_hooks()'s */
        struct nsrun_error *err;
};

/* protect.c: whether --no-protect names `name`, a path in the repository. */
bool protect_is_left_open(const struct protecting *p, const char *name);
/* protect.c: adds a name or glob, unless it is left open; and looks for all that were added: what is there
 * becomes read-only.  -E2BIG, -ENOMEM. */
int protect_name(struct protecting *p, const char *glob);
int protect_find(struct protecting *p);
/* protect.c, for glob_find(): what is closed to the caller is closed to the command. */
int protect_leave_closed(void *data, const char *name);

/* Adds the names of the git dir that .git is or leads to, and fills p->git_dir and p->git_fd.  -E2BIG,
 * -ENOMEM. */
int protect_git(struct protecting *p);
/* Protects the folder of hooks and the files that its configuration names, and what these name in turn; and
 * the folder of hooks that the user's own configuration names.  -ENOMEM. */
int protect_git_orders(const struct protecting *p);
/* What the user's own configuration in `home` names as core.hooksPath, for the caller to free; NULL:
 * nothing. What it includes is not looked at.  -ENOMEM. */
int protect_find_users_hooks(const char *home, char **ret);
/* Lists the symlinks of all git dirs that are swept when the command has ended. */
int protect_list_links(struct resolved *s, struct nsrun_error *err);
