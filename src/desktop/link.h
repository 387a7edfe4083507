/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Links that a command wants opened on the host: which may be asked about at all.  Pure. */
#pragma once

#include "base/macro.h"

#define LINK_MOST      2048U /* bytes */
#define LINK_HOST_MOST 253U

/* Whether it is a link of http or https of printable ASCII, in which no program can see an option, a
 * quote or what a shell obeys ($, parentheses, ; ! *; but & is in every query), with a host and nobody's
 * name and password before it; `host` gets the host and the port. */
bool link_is_openable(const char *link, char host[LINK_HOST_MOST + 1]);
