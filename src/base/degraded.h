/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a run has in a lesser way where the host denies it: one table, in which each such thing is entered
 * that nsrun goes on without, and of which causes.awk makes a part of nsrun-hosts(7).  --strict refuses all
 * of them.  What protects and was asked for is in none: its lack is a refusal (causes.h). */
#pragma once

#include "error.h"

enum degraded_id {
        DEGRADED_LANDLOCK,
        DEGRADED_CGROUP_NAMESPACE,
        DEGRADED_COUNTERS,
        DEGRADED_PROC_SUBSET,
        DEGRADED_PROC_NONE,
        DEGRADED_CACHE_IN_MEMORY,
        DEGRADED_CACHE_READ_ONLY,
        DEGRADED_CACHE_EMPTY,
        DEGRADED_GIT_CONFIG,
        DEGRADED_PIDS,
        DEGRADED_LEFTOVERS,
        N_DEGRADED
};

struct degraded {
        enum nsrun_error_id error;
        const char *name;    /* for programs */
        const char *when;    /* what is so on such a host, for the man page: a sentence */
        const char *lack;    /* what can't be had: the words of --strict's refusal */
        const char *instead; /* what is had: after those words, a note's */
        const char *fix;  /* what mends it; where that depends on more, the refusal has a fix of its own */
        const char *test; /* the test that makes such a host */
        bool is_quiet;    /* printed with --verbose alone: nothing that the command does changes by it */
        bool is_no_note;  /* and in no list of notes */
};

extern const struct degraded degraded[N_DEGRADED];

/* Fills *ret with the note of a row.  Safe between clone and exec, as the next. */
void degraded_note(struct nsrun_error *ret, enum degraded_id id, const char *path);
/* -EOPNOTSUPP with *err filled, for --strict.  `hint`: NULL, or what mends it instead of the row's fix. */
int degraded_refuse(struct nsrun_error *err, enum degraded_id id, const char *path, const char *hint);
/* Whether an error is such a refusal. */
bool degraded_is_refusal(const struct nsrun_error *err);
/* The row whose note this is; NULL: it is another note. */
const struct degraded *degraded_find(const struct nsrun_error *note);

/* A list of what is degraded has an entry for each: "NAME", or "NAME PATH"; nsrun_degraded_format() has it
 * in words.  The path may hold any byte. Adds one, once.  -ENOMEM. */
int degraded_add(char ***list, const struct degraded *row, const char *path);
/* An entry's row, and its path or NULL; NULL: the name is none of the table's. */
const struct degraded *degraded_read(const char *entry, const char **ret_path);
