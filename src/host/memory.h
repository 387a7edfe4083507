/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How much memory there is, and what a tmpfs can keep. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The bytes that a program started here can take: the machine's memory, or the least that a cgroup around
 * this process allows (a container's, a unit's). */
uint64_t memory_find_allowed(void);

/* Whether a tmpfs keeps "user." attributes (Linux 6.6): without them an overlay whose layers are there can't
 * replace a folder of the lower one. */
bool memory_keeps_attributes(void);
