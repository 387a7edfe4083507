/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What --allow, --deny, --publish and --net-via come to. */
#pragma once

#include "net/rules.h"
#include "rules/resolved.h"

/* Refuses lines of rules that can't be had together.  -EINVAL, -E2BIG. */
int network_refuse(char *const *lines, struct nsrun_error *err);
/* Refuses a rule that nothing can come of, since another one of the same origin denies all that it allows.
 */
int network_refuse_contradiction(char *const *lines, struct nsrun_error *err);
/* A policy's lines, with those of its lists. */
int network_add_lines(char *const *lines, struct resolved_net *net);
/* What of the network can be reached.  -EINVAL, -EPERM: rules without their network, or that contradict;
 * -E2BIG. */
int network_resolve(const struct resolved *s, struct resolved_net *net, struct nsrun_error *err);
