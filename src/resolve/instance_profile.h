/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The instance profile: a root folder of an agent host's own, a home within it for what runs, and
 * the paths that a command line names.  The behaviour is that of picoclaw's pkg/isolation, but that
 * homes and system folders which picoclaw would expose stay hidden. */
#pragma once

#include "rules/resolved.h"

/* Finds the instance root, and adds the rules for it, its workspace and the expose paths. */
int instance_add_rules(struct resolved *s, struct nsrun_error *err);
/* Adds rules for the executable and the paths that the command line names, unless another rule
 * shows them.  All other rules must be known. */
int instance_add_command(struct resolved *s, struct nsrun_error *err);
