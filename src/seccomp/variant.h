/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A shipped policy with calls more or less: "default+perf_event_open-kcmp". */
#pragma once

#include "base/error.h"

/* Whether `changes`, what follows the policy's name, may be such, and not the rest of a file's name: it
 * begins with + or -, and has no letter that a call's name hasn't. */
static inline bool variant_has_changes(const char *changes) {
        return (*changes == '+' || *changes == '-') &&
               !changes[strspn(changes, "abcdefghijklmnopqrstuvwxyz0123456789_+-")];
}

/* Whether the policy of that name is a shipped one from which calls are taken. */
static inline bool variant_takes_calls(const char *name) {
        const char *changes = name + strcspn(name, "+-");

        return variant_has_changes(changes) && strchr(changes, '-');
}

/* Makes the policy's text `json` one in which each +CALL is allowed whatever its arguments, and each -CALL
 * gets EPERM.  Whose calls were taken away runs no 32-bit programs: these have other names for the same
 * calls, and calls that are several as one.  `name` is all of the policy's name, for messages.  The caller
 * frees *ret.
 *
 * -EINVAL: no call has that name, or it is named twice. -ENOMEM.  Stage POLICY. */
int variant_make(const char *name, const char *json, const char *changes, char **ret,
                 struct nsrun_error *err);
