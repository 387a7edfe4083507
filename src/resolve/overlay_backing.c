/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/tmpfs.h"

#include "overlay_backing.h"

/* Of the memory that a program can take here overlays get this part, and less than so much is too little for
 * what a package manager downloads. */
#define MEMORY_PART  4
#define MEMORY_LEAST (UINT64_C(1) << 30)

/* Whether toolchains' caches are all that has overlays.  Those of a build that the user asked for may become
 * large. */
static bool has_caches_alone(const struct resolved *s) {
        size_t n = 0;

        for (size_t i = 0; i < s->n_rules; i++) {
                if (s->rules[i].access != POLICY_OVERLAY)
                        continue;
                if (s->rules[i].origin != POLICY_BY_TOOLCHAINS)
                        return false;
                n++;
        }
        return n > 0;
}

/* Bytes of memory for the overlays of this run, of which nothing is kept; 0: they are to be on disk.  A
 * bound for the run's own memory would have to hold them, too. */
static uint64_t memory_for_caches(const struct resolved *s) {
        uint64_t size;

        if (s->is_session || s->policy->limits.memory || !has_caches_alone(s) || !tmpfs_keeps_attributes())
                return 0;
        if (strv_contains(s->policy->given, "tmpfs-size"))
                return s->policy->tmpfs_size;
        size = tmpfs_find_memory() / MEMORY_PART;
        return size >= MEMORY_LEAST ? size : 0;
}

int resolve_backing(struct resolved *s, nsrun_unused struct nsrun_error *err) {
        s->backing = s->policy->backing;
        s->overlay_size = s->policy->tmpfs_size;
        if (s->backing != POLICY_BACKING_AUTO)
                return 0;
        s->overlay_size = memory_for_caches(s);
        s->backing = s->overlay_size ? POLICY_BACKING_TMPFS : POLICY_BACKING_DISK;
        if (!s->overlay_size)
                s->overlay_size = s->policy->tmpfs_size;
        return 0;
}
