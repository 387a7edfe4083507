/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What --allow, --deny, --publish and --net-via come to. */
#pragma once

#include "net/rules.h"
#include "rules/resolved.h"

/* Refuses ports of the sandbox's loopback that are published and that a rule takes there.  -EINVAL. */
int network_refuse_taken(const struct net_rules *rules, struct nsrun_error *err);
/* Fills s->network and s->via.  -EINVAL, -EPERM: rules without their network, or that contradict; -E2BIG. */
int network_resolve(struct resolved *s, struct nsrun_error *err);
