/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Protected names that the command made: renamed at once, kept aside when it has ended.  protected.c finds
 * them. */
#pragma once

#include <sys/stat.h>

#include "protected.h"

/* What was there. */
struct protected_name {
        char *name;
        char *link; /* a symlink's text; NULL: it was none */
        struct stat st;
        int fd;       /* of it, so that its inode is no other file's; or -EBADF */
        bool is_gone; /* the host has removed it since, or renamed it */
        /* protected_links.h's: another run says what the link said; or may have made it, and nobody puts it
         * back. */
        bool is_known, is_unsure;
};

struct protected_folder {
        char *path; /* for messages */
        int fd;     /* O_PATH: what the path leads to may be another folder by the end */
        char **globs;
        struct protected_name *names;
        size_t n_names;
        bool has_new; /* something has appeared */
};

/* What is elsewhere until the command has ended: where it was it may write there still. */
struct protected_aside {
        size_t folder;
        char *name, *aside; /* aside: with no folder */
        bool is_away;       /* in the run directory, else where it was */
        bool was_link;      /* a symlink was there, which is put back */
        bool is_shown;      /* the command goes on with it */
        bool is_copy;       /* of that */
};

struct look {
        struct protected_folder *folder;
        struct protected_names *all;
        int (*found)(void *data, const struct nsrun_error *note);
        void *data;
        char *last_closed; /* a folder that was opened to its owner */
        bool is_early;     /* the command runs still */
        bool has_replaced; /* something is another file than was there */
};

struct protected_name *protected_find_name(const struct protected_folder *f, const char *name);
/* `link`: the text of a symlink, if that was there; NULL: what it says now.  -ENOMEM. */
int protected_remember(struct protected_folder *f, const char *name, const struct stat *st,
                       const char *link);
/* The text of a symlink; NULL: there is none, or no memory. */
char *protected_read_link(int folder, const char *name);
/* Whether two looks saw one file with the same contents, as far as the time of its last change tells. */
bool is_same_entry(const struct stat *a, const struct stat *b);
/* Tells of what lies at `name` in the folder. */
int look_say(const struct look *l, const char *name, const char *what, const char *hint);
/* The folder that `name` is in, and its path, which may be NULL. */
int open_folder_of(const struct look *l, const char *name, char **ret_path);
/* `was` is the symlink that stood there, or NULL: nothing did. */
int look_put_aside(const struct look *l, const char *name, const struct protected_name *was);
/* Whether a name in an agent's worktree, which a wildcard stands for, is as the project's own. */
bool look_is_checked_out(const struct look *l, const char *name);
/* Whether it is a placeholder: another run's, or the session's; of a killed one it is removed. */
bool look_end_placeholder(const struct look *l, const char *name);
/* At the end: what was done while the command ran; and how much isn't kept. */
int asides_end(struct protected_names *names, int (*found)(void *data, const struct nsrun_error *note),
               void *data);
int asides_tell_others(const struct protected_names *names,
                       int (*found)(void *data, const struct nsrun_error *note), void *data);
