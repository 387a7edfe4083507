/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tracked.h"

#include "base/array.h"
#include "base/str.h"
#include "host/gitindex.h"

/* Of the file, and of what it comes to: version 4 has names of kilobytes in entries of 64 bytes. */
#define TRACKED_INDEX_MAX ((size_t)256 << 20)
#define TRACKED_MAX       ((size_t)256 << 20)

static int take_tracked(void *data, const char *path, nsrun_unused bool is_repository) {
        struct tracked *t = data;

        /* With what malloc() adds. */
        t->size += strlen(path) + 4 * sizeof(char *);
        if (t->size > TRACKED_MAX)
                return -EFBIG;
        if (ARRAY_GROW(t->paths, t->n) < 0)
                return -ENOMEM;
        t->paths[t->n] = strdup(path);
        return t->paths[t->n++] ? 0 : -ENOMEM;
}

int tracked_read(struct tracked *t, int git_dir) {
        char shared[GITINDEX_SHARED_SIZE];
        int r = gitindex_read(git_dir, "index", TRACKED_INDEX_MAX, take_tracked, t, shared);

        if (r == -ENOENT)
                return 0;
        /* Of a split index the rest, some of which may not be tracked any more. */
        return r < 0 || !*shared ? r
                                 : gitindex_read(git_dir, shared, TRACKED_INDEX_MAX, take_tracked, t, NULL);
}

void tracked_clear(struct tracked *t) {
        for (size_t i = 0; i < t->n; i++)
                free(t->paths[i]);
        free(t->paths);
        *t = (struct tracked){0};
}

bool tracked_has(const struct tracked *t, const char *path) {
        const size_t n = strlen(path);
        char *part = t->n > 0 ? malloc(n + 2) : NULL;
        bool is_found = false;

        if (t->n == 0)
                return false;
        if (!part)
                return true; /* in doubt it is */
        memcpy(part, path, n + 1);
        /* Each folder above it, which is tracked where it is a repository, or where the index is sparse. */
        for (size_t at = 1; at <= n && !is_found; at++) {
                const char *found;

                if (path[at] != '/' && path[at] != '\0')
                        continue;
                part[at] = '\0';
                found = str_first_from((const char *const *)t->paths, t->n, part, strcmp);
                is_found = found && streq(found, part);
                part[at] = '/';
                part[at + 1] = '\0';
                found = is_found ? NULL : str_first_from((const char *const *)t->paths, t->n, part, strcmp);
                is_found |= found && (at == n ? startswith(found, part) != NULL : streq(found, part));
                if (at < n)
                        part[at + 1] = path[at + 1];
        }
        free(part);
        return is_found;
}
