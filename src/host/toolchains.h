/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The curated lists of toolchain folders: which are read as they are, and which
 * get a layer that a session throws away.  Makes no mounts and no policy. */
#pragma once

#include "base/macro.h"

enum toolchain_access {
        TOOLCHAIN_READABLE,
        TOOLCHAIN_OVERLAY
};

struct toolchain_entry {
        enum toolchain_access access;
        const char *path;   /* absolute, or "~/…" */
        const char *unless; /* a file in it that must not be shown: where it exists, the entry is left out */
};

extern const struct toolchain_entry toolchain_entries[];
extern const size_t n_toolchain_entries;

/* Whether the entry at `path` is reached through a symlink below the home folder, so that it leads to
 * `canonical` elsewhere: a command of a run that could write there may have planted it. */
bool toolchains_is_linked(const char *home, const char *path, const char *canonical);

/* Calls `found` for each entry that is an existing directory, in table order,
 * with its absolute path.  `home` may be NULL: "~/" entries are skipped.
 * Stops at the first non-zero return and hands it back; -ENOMEM. */
int toolchains_each(const char *home,
                    int (*found)(void *data, const struct toolchain_entry *entry, const char *path),
                    void *data);
