/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a tmpfs can hold here: so much memory, and attributes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The bytes that a program started here can take: the machine's memory, or the least that a cgroup around
 * this process allows (a container's, a unit's). */
uint64_t tmpfs_find_memory(void);

/* Whether a tmpfs keeps "user." attributes (Linux 6.6): without them an overlay whose layers are there can't
 * replace a folder of the lower one. */
bool tmpfs_keeps_attributes(void);
