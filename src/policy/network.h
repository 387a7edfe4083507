/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --allow, --deny and --publish: their values, and what they come to. */
#pragma once

#include "net/rules.h"
#include "options.h"
#include "resolved.h"

int network_apply_option(void *target, const struct option_spec *spec, const char *value,
                         struct nsrun_error *err);
/* Refuses ports of the sandbox's loopback that are published and that a rule takes there.  -EINVAL. */
int network_refuse_taken(const struct net_rules *rules, struct nsrun_error *err);
/* Fills s->network.  -EINVAL, -EPERM: rules without their network, or that contradict; -E2BIG. */
int network_resolve(struct resolved *s, struct nsrun_error *err);
