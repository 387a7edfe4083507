/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compiled filters of policy files, kept in a folder of the user's: one file each,
 * named by a digest of all that it was made from, and sealed by one of all that is in it.  What
 * is not whole, not ours or not sealed is as good as missing. */
#pragma once

#include "compile.h"
#include "sha256.h"

struct cache_entry {
        struct seccomp_filter filter;
        uint32_t flags; /* SECCOMP_FILTER_FLAG_* that the policy asks for */
};

/* The name of what is made from this text: a digest of it, of nsrun's version and its
 * table's size, the kernel's release and the architecture. */
int cache_key(const char *text, size_t n, unsigned char ret[SHA256_SIZE]);
/* -ENOENT: there is none that can be trusted.  -ENOMEM. */
int cache_load(const char *folder, const unsigned char key[SHA256_SIZE], struct cache_entry *ret);
/* Makes the folder and those above it (0700) where they are missing; keeps at most 64 entries, the newest.
 * Atomic: a reader sees a whole one or none. */
int cache_store(const char *folder, const unsigned char key[SHA256_SIZE], const struct cache_entry *entry);
