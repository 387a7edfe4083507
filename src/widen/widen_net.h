/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A running sandbox's network that is given more, or less again.  All of it fails with -errno and *err. */
#pragma once

#include "widen.h"

/* What "allow" or "publish" does at a start; a list's hosts one by one, all or none.  *ret_text (may be
 * NULL) is the value as nsrun inspect has it, for free(3) in any case. */
int widen_net_grant(struct widened *w, const char *option, const char *value, char **ret_text,
                    struct nsrun_error *err);
/* Takes that back.  -ENOENT: it wasn't granted. */
int widen_net_revoke(struct widened *w, const char *option, const char *value, char **ret_text,
                     struct nsrun_error *err);
/* Takes back one of w->granted.  1: that isn't written down. */
int widen_net_take(const struct widened *w, struct granted *g, struct nsrun_error *err);
