/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of toolchain folders: those that are shown read-only, and those that get an overlay,
 * whose changes are thrown away with the session; and which of them are on this host, with what a
 * variable of the environment moves.  Makes no mounts and no policy. */
#pragma once

#include "base/name_list.h"

enum toolchain_access {
        TOOLCHAIN_READABLE,
        TOOLCHAIN_OVERLAY
};

#define TOOLCHAIN_MOVES 4

/* A variable that names another place: the row's folder is `below` its value ("": the value itself). */
struct toolchain_move {
        const char *variable;
        const char *below;
};

struct toolchain_entry {
        const char *tool;
        enum toolchain_access access;
        const char *path; /* absolute, or "~/…", with a star perhaps in the last component; NULL: the row has
                             no place until a variable names one */
        struct toolchain_move moved[TOOLCHAIN_MOVES]; /* the first variable that is set decides */
        const char *needs;  /* a name that the folder must hold, or it isn't what the variable promises */
        const char *unless; /* names (globs) that must not be shown, with spaces between: if one exists in
                               the folder the entry is left out */
        bool is_file;       /* the row is a file, else a folder */
        const char *beside; /* "~/FILE …": what lies near and stays out: for the tests */
};

/* The table, row by row: the first where *at is NULL.  False: there is no further one. */
bool toolchains_next(const char **at, struct toolchain_entry *ret);

enum toolchain_state {
        TOOLCHAIN_FOUND,
        TOOLCHAIN_NOWHERE,      /* a variable promises a place where nothing is */
        TOOLCHAIN_NOT_ABSOLUTE, /* a variable's value is no absolute path */
        TOOLCHAIN_NOT_A_FOLDER,
        TOOLCHAIN_NOT_ITSELF, /* `detail`, by which the folder is known, isn't in it */
        TOOLCHAIN_HOLDS,      /* `detail`, which must not be shown, is in it */
        TOOLCHAIN_UNREADABLE, /* it can't be looked at */
        TOOLCHAIN_SILENT,     /* what is mounted there doesn't answer */
};

/* Where a row of the table is on this host. */
struct toolchain_place {
        const struct toolchain_entry *entry;
        const char *path;     /* absolute */
        bool is_canonical;    /* so is known of the path, and that the row's file or folder is there */
        const char *variable; /* that moved the row here; or NULL */
        const char *base;     /* the variable's value; or NULL */
        enum toolchain_state state;
        const char *detail;
};

/* Whom and what to ask about a host. */
struct toolchain_host {
        const char *home;                   /* NULL: only the system's rows, at their places of the table */
        const struct name_list *home_names; /* what lies there, if that is known; or NULL */
        /* The value of a variable, or NULL. */
        const char *(*variable)(const void *data, const char *name);
        const void *data;
};

/* Whether the entry at `path` leads to `canonical` through a symlink below the home folder, which a
 * command of an earlier run may have planted. */
bool toolchains_is_linked(const char *home, const char *path, const char *canonical);

/* Calls `found` for each row that is there or that a variable promises, in the table's order.  If
 * `found` returns non-zero it stops and returns that; -ENOMEM. */
int toolchains_each(const struct toolchain_host *host,
                    int (*found)(void *data, const struct toolchain_place *place), void *data);

/* The same for one row, which need not be of the table. */
int toolchains_find(const struct toolchain_host *host, const struct toolchain_entry *entry,
                    int (*found)(void *data, const struct toolchain_place *place), void *data);
