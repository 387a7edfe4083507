/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A JSON text laid out as people write one: what is short stands on one line. */
#pragma once

#include "error.h"
#include "macro.h"

/* Lays out a JSON text: the root's members a line each, and whatever else has at most LAYOUT_WIDTH columns
 * on one line.  The caller frees *ret, which ends in a newline.  -EINVAL: it is no JSON; -EOPNOTSUPP;
 * -ENOMEM. */
int json_layout(const char *text, char **ret);
#define LAYOUT_WIDTH 100
