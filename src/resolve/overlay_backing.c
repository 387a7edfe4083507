/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "host/tmpfs.h"

#include "policy/refusal.h"
#include "steps.h"

/* Of the memory that a program can take here overlays get this part, and less than so much is too little for
 * what a package manager downloads. */
#define MEMORY_PART  4
#define MEMORY_LEAST (UINT64_C(1) << 30)

/* Whether toolchains' caches are all that has overlays.  Those of a build that the user asked for may become
 * large. */
static bool has_caches_alone(const struct resolved *s) {
        size_t n = 0;

        for (size_t i = 0; i < s->files.n_rules; i++) {
                if (s->files.rules[i].access != POLICY_OVERLAY)
                        continue;
                if (s->files.rules[i].origin != POLICY_BY_TOOLCHAINS)
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

/* What is carried to the host at the end is on disk until then. */
static int refuse_lost_state(const struct resolved *s, struct nsrun_error *err) {
        for (size_t i = 0; i < s->files.n_rules; i++)
                if (s->files.rules[i].giver == PLAN_BY_AGENT && s->files.rules[i].access == POLICY_OVERLAY)
                        return policy_refuse(err, s->files.rules[i].source, "leave one of the two out",
                                             "--overlay-backing=tmpfs would lose the state of --agent's");
        return 0;
}

int resolve_backing(struct resolved *s, struct nsrun_error *err) {
        s->files.backing = s->policy->backing;
        if (s->files.backing == POLICY_BACKING_TMPFS)
                return refuse_lost_state(s, err);
        s->files.overlay_size = s->policy->tmpfs_size;
        if (s->files.backing != POLICY_BACKING_AUTO)
                return 0;
        s->files.overlay_size = memory_for_caches(s);
        s->files.backing = s->files.overlay_size ? POLICY_BACKING_TMPFS : POLICY_BACKING_DISK;
        if (!s->files.overlay_size)
                s->files.overlay_size = s->policy->tmpfs_size;
        return 0;
}
