/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The folders on the way from the home, or from a /tmp in memory, to the project.  In these nothing is shown
 * but what rules show, and a file that a command wrote beside the project would be gone at the end without
 * a word: so they are read-only.  The home itself, its hidden folders, and folders in which toolchains are
 * shown stay writable, since programs need them. */
#include "base/path.h"
#include "build.h"

/* Whether programs have something of their own at `folder` or below. */
static bool is_programs(const struct resolved *s, const char *folder) {
        for (size_t i = 0; i < s->files.n_rules; i++)
                if ((s->files.rules[i].origin == POLICY_BY_TOOLCHAINS ||
                     s->files.rules[i].origin == POLICY_BY_READABLE) &&
                    path_is_beneath(s->files.rules[i].target, folder))
                        return true;
        STRV_FOREACH (ephemeral, s->files.ephemeral)
                if (path_is_beneath(*ephemeral, folder))
                        return true;
        return false;
}

/* Makes the uppermost folder between `base` and `target`, both excluded, read-only. */
static void close_way(struct entries *e, const struct resolved *s, const char *base, const char *target) {
        const char *name = path_below(target, base), *slash = name;

        if (!name || *name == '.')
                return;
        while ((slash = strchr(slash, '/'))) {
                _cleanup_free_ char *folder = strndup(target, (size_t)(slash - target));

                if (!folder) {
                        e->has_failed = true;
                        return;
                }
                if (!is_programs(s, folder)) {
                        entries_add_tmpfs(e, ENTRY_OWN, folder, 0755, s->policy->tmpfs_size);
                        e->items[e->n - 1].op.is_read_only = true;
                        return;
                }
                slash++;
        }
}

void collect_beside(struct entries *e, const struct resolved *s) {
        for (size_t i = 0; i < s->files.n_rules && !e->has_failed; i++) {
                const struct resolved_rule *rule = &s->files.rules[i];

                if (rule->origin == POLICY_BY_TOOLCHAINS || rule->origin == POLICY_BY_READABLE)
                        continue;
                if (s->home)
                        close_way(e, s, s->home, rule->target);
                if (!s->files.has_scratch && !s->files.tmp.source &&
                    !(s->home && path_is_beneath(s->home, "/tmp")))
                        close_way(e, s, "/tmp", rule->target);
        }
}
