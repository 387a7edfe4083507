/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What --key and --key-use come to. */
#pragma once

#include "rules/resolved.h"

/* Adds to the network's rules a port for each host of a key, and fills in what has to do with keys; of the
 * values those that the caller's environment has.  -EINVAL: a key without a use or without a value, a use
 * without a key, or a contradiction; -E2BIG. */
int keys_resolve(const struct resolved *s, struct resolved_net *net, struct nsrun_error *err);
