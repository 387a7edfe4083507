/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether nsrun works on this host, found out by trying: each step that a host may refuse, alone
 * (launch_try()), and real runs.  Nothing is told from a version.  What is said of a failure are the words
 * in which a run refuses, as the code that says them is the same. */
#pragma once

#include "plan/plan.h"

enum doctor_state {
        DOCTOR_OK,
        DOCTOR_DEGRADED, /* something can't be had, and `nsrun run` goes on without */
        DOCTOR_NO,       /* `nsrun run` doesn't work with this */
};

struct doctor_line {
        char *check;
        enum doctor_state state;
        char *text; /* what was found, or the cause */
        char *fix;  /* what mends it; NULL: nothing is to be mended, or nobody knows how */
};

/* Options of a run that are judged alone. */
struct doctor_asked {
        /* Applies them to a new policy and reads the configuration, as a run with them would. */
        int (*apply)(void *data, struct nsrun_policy *policy, struct nsrun_error *err);
        void *data;
};

struct doctor {
        struct doctor_line *lines;
        size_t n_lines;
        const struct doctor_asked *asked; /* NULL: it is found out which options a run needs here */
        struct nsrun_plan *plan; /* of a run as it is asked for; NULL: it is refused before it has one */
        char **options;          /* "--proc=subset": what `nsrun run` needs on this host; NULL: nothing */
        bool works;              /* `nsrun run` works here, with these options */
        bool has_project; /* false: this folder can't be the project, and --no-project is first of these */
        bool is_weaker;   /* one of them leaves out something that protects */
        bool has_failed;  /* memory has run out */
};

/* Examines this host for the calling process's user, folder and environment; `asked` may be NULL.  -ENOMEM.
 */
int doctor_examine(const struct doctor_asked *asked, struct doctor *ret, struct nsrun_error *err);
/* What of this folder and home may surprise in such a run, which isn't made. */
int doctor_examine_here(const struct doctor_asked *asked, struct doctor *ret, struct nsrun_error *err);
void doctor_clear(struct doctor *d);
#define _cleanup_doctor_ _cleanup_(doctor_clear)
/* "ok", "degraded", "no". */
const char *doctor_state_name(enum doctor_state state);

/* For the files of doctor_*.c.  The first for what is found to be well. */
void doctor_say(struct doctor *d, const char *check, const char *text, ...) nsrun_printf(3, 4);
void doctor_add(struct doctor *d, const char *check, enum doctor_state state, const char *text,
                const char *fix);
/* A line with an error's words.  Returns it, or NULL. */
struct doctor_line *doctor_add_error(struct doctor *d, const char *check, enum doctor_state state,
                                     const struct nsrun_error *error);
/* doctor_host.c, doctor_caller.c: what can be seen without a run. */
void doctor_look_at_host(struct doctor *d);
void doctor_look_at_caller(struct doctor *d);
void doctor_look_at_modules(struct doctor *d);
/* doctor_here.c; the latter: root that hasn't become the owner can write nothing there. */
void doctor_look_here(struct doctor *d);
void doctor_say_owner(struct doctor *d, const char *project);
/* doctor_runs.c: real runs, and what they are to be. */
void doctor_make_plan(struct doctor *d);
void doctor_run(struct doctor *d);
