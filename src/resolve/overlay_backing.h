/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where overlays keep what is written during a run. */
#pragma once

#include "rules/resolved.h"

/* Fills s->backing and s->overlay_size, once all rules are known. */
int resolve_backing(struct resolved *s, struct nsrun_error *err);
