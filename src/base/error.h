/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The one error idiom: a function returns 0 or a negative errno and, where a
 * person will need to know more, fills struct nsrun_error once, where the
 * failure is understood.  Nobody on the way up overwrites it; main prints it. */
#pragma once

#include "macro.h"
#include "nsrun.h"

/* For the `r` of both: the function returns the errno all the same, but the error has none, since
 * error_words() would add nothing to the words. */
#define UNSAID(r) ((r)-ERROR_UNSAID)
enum {
        ERROR_UNSAID = 4096 /* the kernel's errnos are smaller */
};

/* What mends a seccomp filter that refuses something; causes.awk has the words, too. */
#define ALLOWED_BY_FILTER                                                                            \
        "start the container with a profile that allows it (docker, podman: --security-opt "         \
        "seccomp=unconfined; Kubernetes: a seccompProfile of type Unconfined), or the service with " \
        "it in SystemCallFilter="
/* The hint for a call that the kernel itself wouldn't refuse so. */
#define FILTER_HINT(call) \
        "a seccomp filter, as containers and services have one, refuses " call ": " ALLOWED_BY_FILTER
/* The same where the call failed as one that a filter refuses; elsewhere NULL. */
#define FILTER_HINT_FOR(r, call) (error_is_filtered(r) ? FILTER_HINT(call) : NULL)
/* Whether this process has a seccomp filter. */
bool error_is_behind_filter(void);
static inline bool error_is_filtered(int r) {
        return r == -EPERM || r == -ENOSYS;
}

/* How the hint begins where a command is in a folder that PATH doesn't name. */
#define PATH_HINT "PATH "

/* The words of an errno, glibc's in every C library; of one that nobody has the next call may change them.
 * Safe between clone and exec. */
const char *error_words(int error);

/* Fills *err (may be NULL; left alone when it is already filled) and returns r,
 * a negative errno: the return is always the error's.  (Of a note, which is no failure, r is 0.)
 * `what` says what failed, `path` on which path (may be NULL), `hint` what to do about it (may be
 * NULL).  Copies by hand: safe between clone and exec. */
nsrun_cold int error_set(struct nsrun_error *err, enum nsrun_stage stage, int r, const char *path,
                         const char *what, const char *hint);

/* The same of a failure that has an identifier. */
nsrun_cold int error_set_id(struct nsrun_error *err, enum nsrun_error_id id, enum nsrun_stage stage, int r,
                            const char *path, const char *what, const char *hint);

/* Gives an identifier to an error without one; returns r. */
int error_identify(struct nsrun_error *err, enum nsrun_error_id id, int r);

/* error_set() with a formatted `what`.  Not for the child of a clone. */
nsrun_cold int error_setf(struct nsrun_error *err, enum nsrun_stage stage, int r, const char *path,
                          const char *hint, const char *what, ...) nsrun_printf(6, 7);

/* What raises a resource limit (RLIMIT_*) to so much and more: ulimit(1p), or root where the hard limit is
 * below.  Safe between clone and exec. */
const char *error_limit_hint(int resource, uint64_t least);

/* -ENOMEM with *err filled. */
nsrun_cold int error_oom(struct nsrun_error *err);
