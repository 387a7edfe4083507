/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --net-via: the user's own proxy, as it was named or as the environment has it. */
#pragma once

#include "net/rules.h"
#include "options.h"
#include "resolved.h"

int proxy_apply_option(void *target, const struct option_spec *spec, const char *value,
                       struct nsrun_error *err);
/* Whether a variable of that name says which proxy programs use, and is therefore kept from a command whose
 * network goes through one. */
bool proxy_withholds(const struct nsrun_policy *p, const char *name);
/* Adds the lines of the proxy to s->network, and fills s->via.  -EINVAL: the environment's is none. */
int proxy_resolve(struct resolved *s, struct nsrun_error *err);
/* Refuses rules that would let the command talk to the proxy itself, which reaches anything, and a published
 * port that would be the proxy. */
int proxy_refuse(const struct net_rules *rules, struct nsrun_error *err);
