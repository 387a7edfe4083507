/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lists of toolchain folders: those that are shown read-only, and those that get an overlay,
 * whose changes are thrown away with the session.  Makes no mounts and no policy. */
#pragma once

#include "base/macro.h"

enum toolchain_access {
        TOOLCHAIN_READABLE,
        TOOLCHAIN_OVERLAY
};

struct toolchain_entry {
        enum toolchain_access access;
        const char *path;   /* absolute, or "~/…" */
        const char *unless; /* the name of a file in it that must not be shown: if it exists the entry is
                               left out */
};

extern const struct toolchain_entry toolchain_entries[];
extern const size_t n_toolchain_entries;

/* Whether the entry at `path` leads to `canonical` through a symlink below the home folder, which a
 * command of an earlier run may have planted. */
bool toolchains_is_linked(const char *home, const char *path, const char *canonical);

/* Calls `found` for each entry that is an existing directory, in the table's order, with its
 * absolute path.  `home` may be NULL: "~/" entries are skipped.  If `found` returns non-zero it
 * stops and returns that; -ENOMEM. */
int toolchains_each(const char *home,
                    int (*found)(void *data, const struct toolchain_entry *entry, const char *path),
                    void *data);
