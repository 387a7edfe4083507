/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "kept_hidden.h"

#include "base/file.h"
#include "base/path.h"
#include "host/walk.h"
#include "kept/kept.h"

struct kept_names {
        const struct nsrun_plan *plan;
        const char *path; /* of the folder that is looked at */
        char **globs;     /* as walk_normalise() has them */
};

/* Globs are of each folder that is shown. */
static bool is_named_hidden(const struct kept_names *n, const char *path) {
        STRV_FOREACH (glob, n->plan->hide)
                if (path_is_beneath(path, *glob))
                        return true;
        for (size_t i = 0; i < n->plan->n_ops; i++) {
                const struct plan_op *op = &n->plan->ops[i];
                const char *below = (op->kind == PLAN_BIND || op->kind == PLAN_OVERLAY) && op->is_directory
                                            ? path_below(path, op->source)
                                            : NULL;

                STRV_FOREACH (glob, n->globs)
                        if (below && *below && walk_covers(*glob, below))
                                return true;
        }
        return false;
}

/* 1: something is hidden. */
static int look_at_name(void *data, int folder, const struct dirent *entry) {
        const struct kept_names *n = data;
        _cleanup_free_ char *path = path_join(n->path, entry->d_name);
        struct kept_names below = *n;
        _cleanup_close_ int fd = -EBADF;

        if (!path)
                return -ENOMEM;
        if (is_named_hidden(n, path))
                return -ESTALE;
        below.path = path;
        fd = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? 0 : folder_each(fd, look_at_name, &below);
}

bool kept_has_hidden(const struct nsrun_plan *plan, const char *path, int kept, char *const *removed) {
        struct kept_names n = {.plan = plan, .path = path};
        _cleanup_close_ int entry = -EBADF;
        int r = 0;

        STRV_FOREACH (glob, plan->hide) {
                char *normal = NULL;

                if (r >= 0)
                        r = walk_normalise(*glob, &normal);
                if (r >= 0)
                        r = strv_consume(&n.globs, normal);
        }
        STRV_FOREACH (name, removed) {
                _cleanup_free_ char *gone = path_join(path, *name);

                if (!gone || (n.globs && is_named_hidden(&n, gone)))
                        r = -ESTALE;
        }
        if (n.globs && r >= 0) {
                r = entry = openat(kept, KEPT_ENTRY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (r >= 0)
                        r = folder_each(entry, look_at_name, &n);
        }
        strv_free(n.globs);
        return r < 0;
}
