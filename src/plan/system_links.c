/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way to a file of the system's by symlinks that lead out of what is shown (/bin -> bin2 -> bin3, a
 * certificate's file in another folder than /etc): what it leads to, and the links. */
#include <limits.h>
#include <sys/stat.h>

#include "base/path.h"
#include "build.h"
#include "disk/reach.h"

/* Whether what the host has at `path` is shown there. */
static bool way_is_shown(const struct entries *e, const struct resolved *s, const char *path) {
        for (size_t i = 0; i < e->n; i++) {
                const struct plan_op *op = &e->items[i].op;

                if (op->kind == PLAN_BIND && op->target &&
                    (op->is_directory ? path_is_beneath(path, op->target) : streq(path, op->target)))
                        return true;
        }
        for (size_t i = 0; i < s->files.n_rules; i++)
                if (path_is_beneath(path, s->files.rules[i].target))
                        return true;
        return false;
}

struct way {
        struct entries *entries;
        const struct resolved *resolved;
};

static int add_link_on_way(void *data, const char *link) {
        const struct way *w = data;
        char text[PATH_MAX];
        ssize_t n = readlink(link, text, sizeof(text) - 1);

        if (n < 0 || way_is_shown(w->entries, w->resolved, link))
                return 0;
        text[n] = '\0';
        entries_add_symlink(w->entries, ENTRY_OWN, text, link);
        return 0;
}

/* What nothing may lead to: the home, or what holds it; nsrun's own; the host's temporary files. */
static bool is_private(const struct resolved *s, const char *path) {
        return streq(path, "/") || path_is_beneath(path, "/proc") || path_is_beneath(path, "/dev") ||
               path_is_beneath(path, "/tmp") || path_is_beneath(path, "/etc") ||
               (s->guarded && (path_is_beneath(path, s->guarded) || path_is_beneath(s->guarded, path)));
}

int entries_add_way(struct entries *e, const struct resolved *s, const char *path) {
        _cleanup_free_ char *end = NULL;
        unsigned mode;
        int r = path_canonical(path, &end, &mode);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        if ((!S_ISDIR(mode) && !S_ISREG(mode)) || (!way_is_shown(e, s, end) && is_private(s, end)))
                return 0;
        r = reach_each_link(path, end, add_link_on_way, &(struct way){e, s});
        if (r == 0 && !way_is_shown(e, s, end))
                entries_add_shown(e, strdup(end), mode, end);
        return r == -ENOMEM ? r : 0;
}
