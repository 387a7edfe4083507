/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lines of `nsrun ps`: what is known of each sandbox, and how a person reads it. */
#pragma once

#include "base/json.h"
#include "running/sandboxes.h"
#include "widen/widen.h"

struct ps_row {
        const struct sandbox_process *process;
        char *id;
        const char *kind;
        char *project, *net; /* NULL: unknown */
        bool is_guessed;     /* the project is where the process stands that waits for it */
        char *const *command;
};

/* What the records say of the sessions: each is read once, however many sandboxes are listed. */
struct known_session;
struct known_sessions {
        struct known_session *items;
        size_t n;
};
int known_sessions_read(struct known_sessions *ret, struct nsrun_error *err);
void known_sessions_free(struct known_sessions *known);

/* The number that stands for a sandbox which is no session's: of the process that waits for it, and where
 * that is another program's, which may have any number of them, of its pid 1. */
pid_t ps_number(const struct sandbox_process *p);

/* ps.c: opens the sandbox of that id, none of nsrun-bwrap's, for one command. */
int ps_open(const char *id, struct widened *ret, struct nsrun_error *err);

/* -ENOMEM; *row is to be cleared in any case. */
int ps_row_fill(struct ps_row *row, const struct known_sessions *known);
void ps_row_clear(struct ps_row *row);

/* The last columns, and their heads.  NULL: no memory. */
#define PS_ROW_HEADS "PROJECT  COMMAND"
char *ps_row_words(const struct ps_row *row);
