/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The user namespace that this process is in: whether it is of a sandbox that another nsrun has made.  What
 * that is for is to say so, and to choose what works there: nothing that protects depends on it. */
#pragma once

#include "base/macro.h"

/* By the bound that boundary/user_counters.c sets in each sandbox's user namespace: no cgroup namespaces. */
bool userns_is_nsruns(void);

/* Whether the namespace leaves some of the host's users without an id. */
bool userns_has_unmapped(void);

/* Whether this process is an ordinary user for the kernel's files in /proc, whatever its ids are here: the
 * host's root, whose files these are, is neither this user nor one of its groups. */
bool userns_has_ordinary_user(void);
