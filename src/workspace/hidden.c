/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names that a workspace hides, by the globs of --hide.  Judged by the place that a path leads to, whether
 * anything is there or not: so what is made later counts, too. */
#include <limits.h>

#include "base/path.h"
#include "base/str.h"
#include "host/gitignore.h"
#include "host/walk.h"
#include "roots.h"

int workspace_hide_names(struct workspace *w, const char *glob, struct nsrun_error *err) {
        _cleanup_free_ char *normal = NULL;
        int r = walk_normalise(glob, &normal);

        if (r == -EINVAL)
                return error_set(err, NSRUN_STAGE_POLICY, r, glob, "not a glob of names to hide",
                                 "it has no empty part, '.' or '..', and doesn't begin with '!'");
        if (r >= 0)
                r = strv_add(&w->hide, glob);
        if (r >= 0)
                r = strv_consume(&w->hidden_names, TAKE_PTR(normal));
        return r < 0 ? error_oom(err) : 0;
}

/* The length of a glob's or a path's first part. */
static size_t part_length(const char *text) {
        return strcspn(text, "/");
}

static bool part_matches(const char *glob, size_t n, const char *text, size_t m) {
        char part[PATH_MAX];

        if (m >= sizeof(part))
                return true;
        (void)snprintf(part, sizeof(part), "%.*s", (int)m, text);
        return gitignore_glob(glob, n, part, false);
}

/* Whether what the glob names would be named no more if `path` had another name: a part of the glob, not the
 * last, is one of the path's. */
static bool leads_into(const char *glob, const char *path) {
        const char *base = path_basename(path);
        size_t n = part_length(glob);

        if (startswith(glob, "**/")) {
                for (glob += 3; glob[n = part_length(glob)] && glob[n + 1]; glob += n + 1)
                        if (part_matches(glob, n, base, strlen(base)) || (n == 2 && startswith(glob, "**")))
                                return true;
                return false;
        }
        for (; *path; glob += n + 1) {
                size_t m = part_length(path);

                n = part_length(glob);
                /* Whatever it is, it may hold some. */
                if (n == 2 && startswith(glob, "**"))
                        return true;
                if (!part_matches(glob, n, path, m) || !glob[n] || !glob[n + 1])
                        return false;
                path += m + (path[m] == '/');
        }
        return true;
}

/* Whether `test` says so of a glob and the path below a root. */
static bool any(const struct workspace *w, const char *host,
                bool (*test)(const char *glob, const char *path)) {
        for (size_t i = 0; w->hidden_names && i < w->n_roots; i++) {
                const char *below = w->roots[i].path ? path_below(host, w->roots[i].path) : NULL;

                STRV_FOREACH (glob, w->hidden_names)
                        if (below && *below && test(*glob, below))
                                return true;
        }
        return false;
}

bool workspace_hides(const struct workspace *w, const char *host) {
        STRV_FOREACH (glob, w->hide)
                if (path_is_absolute(*glob) && path_is_beneath(host, *glob))
                        return true;
        return any(w, host, walk_covers);
}

bool workspace_holds_hidden(const struct workspace *w, const char *host) {
        STRV_FOREACH (glob, w->hide)
                if (path_is_absolute(*glob) && path_is_beneath(*glob, host))
                        return true;
        return any(w, host, leads_into);
}
