/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Grants: devices and services of the host's desktop, each shown by one word (--kvm, --gpu ...) that says
 * what it gives away.  What a grant needs of the host is found here, and refused in one line where it isn't
 * there; plan/granted.c makes entries of it. */
#pragma once

#include "rules/resolved.h"

/* What all finders of grants work on. */
struct granting {
        const struct resolved *s;
        struct resolved_grants *to;
        const char *option; /* "--kvm" */
        struct nsrun_error *err;
};

/* What the words that were given show.  The writable folders are known. */
int grants_resolve(const struct resolved *s, struct resolved_grants *to, struct nsrun_error *err);

/* ------------------------------------------- for the files of this folder */

/* Refuses a grant: "OPTION: what: path; hint". */
int grant_refuse(const struct granting *g, const char *path, const char *what, const char *hint);
/* Adds what is shown.  `source` and `text` may be NULL.  -ENOMEM with *g->err filled. */
int grant_show(const struct granting *g, enum shown_kind kind, const char *source, const char *target,
               const char *text);
/* Sets a variable of the command's. */
int grant_set(const struct granting *g, const char *name, const char *value);
/* Shows something as `name` in the sandbox's own XDG_RUNTIME_DIR; a variable (or NULL) is set to `prefix`
 * and its path there. */
int grant_place(const struct granting *g, enum shown_kind kind, const char *source, const char *name,
                const char *text, const char *variable, const char *prefix);
/* Says what is given away. */
int grant_say(const struct granting *g, const char *format, ...) nsrun_printf(2, 3);
/* Whether the path is a device node that this user can open for reading and writing. */
bool grant_can_open(const char *path);
/* Shows what the host has at `path`, if it is of this type (S_IFSOCK, S_IFREG): 1; 0: there is none.
 * Refuses what a command may have put there. */
int grant_bind(const struct granting *g, const char *path, unsigned type, const char *name,
               const char *variable, const char *prefix);
/* A path in the sandbox's own XDG_RUNTIME_DIR, which is made with the first grant that needs it, for the
 * caller to free. */
int grant_runtime_path(const struct granting *g, const char *name, char **ret);
/* The caller's variable, if it has a value. */
const char *grant_variable(const struct granting *g, const char *name);

/* The canonical path of what the host has at `path`, if it is of that type and no command may have put it
 * there: 1; 0: there is none. */
int grant_find(const struct granting *g, const char *path, unsigned type, char **ret);

/* Each of a word: finds what it shows, in the file WORD.c. */
int grant_gpu(const struct granting *g);
int grant_sound(const struct granting *g);
int grant_ssh_agent(const struct granting *g);
int grant_gpg_agent(const struct granting *g);
int grant_browser(const struct granting *g);
int grant_dbus(const struct granting *g);
int grant_display(const struct granting *g);
