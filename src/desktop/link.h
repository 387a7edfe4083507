/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Links that a command wants opened on the host: which may be asked about at all.  Pure. */
#pragma once

#include <sys/socket.h>

#include "base/macro.h"

#define LINK_MOST      2048U /* bytes */
#define LINK_HOST_MOST 253U

/* Whether it is a link of http or https of printable ASCII, in which no program can see an option, a
 * quote or what a shell obeys ($, parentheses, ; ! *; but & is in every query), with a host and nobody's
 * name and password before it; an address of IPv4 is one of four decimal numbers.  `host` gets the host, in
 * small letters, and the port. */
bool link_is_openable(const char *link, char host[LINK_HOST_MOST + 1]);

/* Whether such a host is the machine itself, by a name that every machine has or by `machine`, its own name
 * (gethostname(2)) whole, short or with .local, or by an address of loopback: what listens there is the
 * user's own. */
bool link_is_of_this_machine(const char *host, const char *machine);

/* Whether such a host is written as this address of an interface. */
bool link_is_at(const char *host, const struct sockaddr *address);
