/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The one error idiom: a function returns 0 or a negative errno and, where a
 * person will need to know more, fills struct nsrun_error once, where the
 * failure is understood.  Nobody on the way up overwrites it; main prints it. */
#pragma once

#include "macro.h"
#include "nsrun.h"

/* Fills *err (may be NULL; left alone when it is already filled) and returns r,
 * a negative errno; 0 where strerror(3) has nothing to add to the words: that returns -EIO, never
 * success, and the caller returns what it means itself.  `what` says what failed, `path` on which path (may
 * be NULL), `hint` what to do about it (may be NULL).  Copies by hand: safe between clone and exec. */
int error_set(struct nsrun_error *err, enum nsrun_stage stage, int r, const char *path, const char *what,
              const char *hint);

/* The same with a formatted `what`.  Not for the child of a clone. */
int error_setf(struct nsrun_error *err, enum nsrun_stage stage, int r, const char *path, const char *hint,
               const char *what, ...) nsrun_printf(6, 7);

/* -ENOMEM with *err filled. */
int error_oom(struct nsrun_error *err);
