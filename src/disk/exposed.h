/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun remembers of earlier runs of this user: the folders that commands could write, and those
 * that were projects because of their .git.  One text file, $XDG_STATE_HOME/nsrun/exposed (else
 * ~/.local/state/nsrun), a line each: "w PATH", "p PATH", and "n PATH" for one that is no project any
 * more; of "p" and "n" the last one counts.  No command may write it (rules/own_folders.c).
 *
 * A line is on disk before the command starts that may write the folder.  So whoever finds no line knows
 * that no command could, if the file can be believed at all. */
#pragma once

#include "base/error.h"

enum exposed_state {
        EXPOSED_NOTHING, /* there is no file: nothing was exposed, or the file was removed */
        EXPOSED_KNOWN,
        EXPOSED_UNKNOWN, /* there is one, and it is damaged, full, or others may write to it */
        EXPOSED_NOWHERE, /* this user has no folder for it */
};

struct exposed {
        enum exposed_state state;
        char *text; /* the file's whole lines; NULL: none */
};

/* The canonical path of the folder in which the file lies, which need not exist.  -ENOENT: the
 * environment names none.  exposed_find_state_home() gives the folder of all programs' states, as the
 * environment spells it. */
int exposed_find_base(char **ret, struct nsrun_error *err);
int exposed_find_state_home(char **ret, struct nsrun_error *err);

/* Reads the file.  -ENOMEM alone is a failure; all else is a state. */
int exposed_read(struct exposed *ret);
/* The same of the one in that folder; NULL: there is none. */
int exposed_read_in(const char *base, struct exposed *ret);
void exposed_clear(struct exposed *known);
#define _cleanup_exposed_ _cleanup_(exposed_clear)

/* The next folder that a command could write and in which `path` (canonical) lies, or which it is:
 * *at is NULL at first, and where to go on.  1: *ret is its path, to be freed; 0: no other one;
 * -ENOMEM. */
int exposed_next(const struct exposed *known, const char *path, const char **at, char **ret);
/* Whether a command could write `path`, or a folder that it lies in. */
bool exposed_is_known(const struct exposed *known, const char *path);
/* Whether this very folder was a project because of its .git. */
bool exposed_was_project(const struct exposed *known, const char *path);

/* Writes lines "w PATH" and so on, those that the file has not.  0 also where this user can have no such
 * file; what can't be written down for want of space, or for any other reason, is an error, with which no
 * command should start. */
int exposed_add(char *const *lines, struct nsrun_error *err);
/* Whether exposed_add() would refuse these lines, with its words; nothing is written down. */
int exposed_try(char *const *lines, struct nsrun_error *err);
/* Makes the folder, if this user can have one: -EACCES, -EROFS and their like if not.  And opens it. */
int exposed_make_base(void);
int exposed_open_base(void);
