/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Refusals of which the host is the cause, and not what was asked for: one table, by which whoever finds
 * such a cause refuses, and of which causes.awk makes nsrun-hosts(7). */
#pragma once

#include "error.h"

/* What a refusal by a filter says besides where parts of /proc are masked, which would be the next one. */
#define PROC_MASKED_TOO                                                                                      \
        "; parts of its /proc are masked, too: add docker's --security-opt systempaths=unconfined (podman: " \
        "unmask=ALL; Kubernetes: procMount: Unmasked), or choose --proc=bind (which shows the host's processes) or --proc=none"

/* Bytes of stack for NSRUN_ERROR_SMALL_STACK; with two thirds of it nsrun ran into its end every other time.
 */
#define STACK_LEAST ((rlim_t)96 * 1024)

struct cause {
        enum nsrun_stage stage;
        const char *when; /* what is so on such a host: a sentence, in the man page if another row has the
                             same words */
        const char *what; /* the refusal's words */
        const char *fix;  /* what mends it; where that depends on more, the refusal has a fix of its own */
        const char
                *test; /* the test that makes such a host; NULL: no test can, where the kernel isn't such */
};

/* NSRUN_ERROR_MAX_USER's is "max-user": the build makes them of nsrun.h. */
extern const char *const error_names[NSRUN_ERROR_COUNT];

/* A row without words: the identifier is no host's cause. */
extern const struct cause causes[NSRUN_ERROR_COUNT];

/* error_set() with the row's stage and words: safe where that is. */
int error_cause(struct nsrun_error *err, enum nsrun_error_id id, int r, const char *path);
/* The same with another fix than the row's, or none. */
int error_cause_with(struct nsrun_error *err, enum nsrun_error_id id, int r, const char *path,
                     const char *fix);
/* error_set() of a path that was to be looked at: -ETIMEDOUT says that what is mounted there doesn't answer.
 */
int error_looked_at(struct nsrun_error *err, enum nsrun_stage stage, int r, const char *path,
                    const char *what, const char *hint);
/* The row of the error's identifier; NULL: the host isn't the cause. */
const struct cause *error_find_cause(const struct nsrun_error *err);
