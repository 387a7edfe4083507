/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "protect_answer.h"

#include <fnmatch.h>
#include <limits.h>

#include "base/path.h"
#include "protect.h"
#include "protect_names.h"
#include "protect_stubs.h"

static int compare_folded(const void *a, const void *b) {
        return strcasecmp(*(const char *const *)a, *(const char *const *)b);
}

/* Takes "FOLDER//GLOB" of the protected names: a path where it is a name, else as it is.  What git obeys
 * below .git has names of its own. */
static int answer_take(struct protect_answer *a, const char *entry) {
        const char *glob = strstr(entry, "//") + 2;
        _cleanup_free_ char *folder = strndup(entry, (size_t)(glob - 2 - entry)), *name = NULL;
        int r = folder ? strict_unescape(glob, &name) : -ENOMEM;

        if (name && streq(name, ".git"))
                return 0;
        if (r == -EINVAL)
                return strv_add(&a->globs, entry);
        return r < 0 ? r : strv_consume(&a->paths, str_concat(folder, "/", name));
}

int protect_answer(struct resolved *s, struct protect_answer *ret, struct nsrun_error *err) {
        struct protect_answer a = {.top = strdup(s->files.rules[0].source)};
        int r = a.top ? protect_add_rules(s, err) : error_oom(err), oom = 0;

        STRV_FOREACH (entry, s->protection.names)
                if (r >= 0 && oom >= 0)
                        oom = answer_take(&a, *entry);
        /* What a symlink of a protected name leads to has no name there, but a rule. */
        for (size_t i = 0; i < s->files.n_rules && r >= 0 && oom >= 0; i++)
                if (s->files.rules[i].giver == PLAN_BY_PROTECTED)
                        oom = strv_add(&a.paths, s->files.rules[i].source);
        if (r >= 0 && oom < 0)
                r = error_oom(err);
        if (r < 0) {
                protect_answer_clear(&a);
                return r;
        }
        a.n = strv_length(a.paths);
        if (a.n > 0)
                qsort(a.paths, a.n, sizeof(*a.paths), compare_folded);
        *ret = a;
        return 0;
}

void protect_answer_clear(struct protect_answer *a) {
        free(a->top);
        strv_free(a->paths);
        strv_free(a->globs);
        *a = (struct protect_answer){0};
}

/* The first of the paths that isn't before `key`; NULL: all are. */
static const char *answer_find(const struct protect_answer *a, const char *key) {
        return str_first_from((const char *const *)a->paths, a->n, key, strcasecmp);
}

/* Whether `path` or what it lies in, or with `is_link` what would lie below it, is one of the paths.  `path`
 * comes back as it was. */
static bool is_among_paths(const struct protect_answer *a, char *path, size_t n, bool is_link) {
        const char *found;
        bool is = false;

        path[n] = '/';
        path[n + 1] = '\0';
        found = is_link ? answer_find(a, path) : NULL;
        is = found && strncasecmp(found, path, n + 1) == 0;
        for (size_t at = n; at > 0 && !is; at--) {
                if (path[at] != '/')
                        continue;
                path[at] = '\0';
                found = answer_find(a, path);
                is = found && strcasecmp(found, path) == 0;
                path[at] = '/';
        }
        return is;
}

/* The same of a glob: its components and the path's, as many as the shorter has. */
static bool is_of_glob(const char *entry, const char *path, bool is_link) {
        const char *glob = strstr(entry, "//") + 2, *g = glob, *p = path + (glob - 2 - entry);
        char one[PATH_MAX], other[PATH_MAX];

        if (strncasecmp(path, entry, (size_t)(glob - 2 - entry)) != 0 || *p++ != '/')
                return false;
        for (;;) {
                size_t n = strcspn(g, "/"), m = strcspn(p, "/");

                if (n >= sizeof(one) || m >= sizeof(other))
                        return true;
                *(char *)mempcpy(one, g, n) = *(char *)mempcpy(other, p, m) = '\0';
                if (fnmatch(one, other, FNM_CASEFOLD) != 0)
                        return false;
                g += n;
                p += m;
                if (!*g || !*p)
                        return !*g || is_link;
                g++;
                p++;
        }
}

bool protect_answers(const struct protect_answer *a, const char *path, bool is_link) {
        const char *below = path_below(path, a->top);
        size_t n = strlen(path);
        char copy[PATH_MAX];
        bool is;

        /* No program reaches it by that path. */
        if (n + 2 > sizeof(copy))
                return true;
        memcpy(copy, path, n);
        is = (below && (protect_covers(below) || (is_link && protect_is_above(below)))) ||
             is_among_paths(a, copy, n, is_link);
        STRV_FOREACH (entry, a->globs)
                is = is || is_of_glob(*entry, path, is_link);
        return is;
}
