/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way to a file of the system's by symlinks that lead out of what is shown (/bin -> bin2 -> bin3, a
 * certificate's file in another folder than /etc): what it leads to, and the links. */
#include <limits.h>
#include <sys/stat.h>

#include "base/path.h"
#include "build.h"

enum {
        MOST_LINKS = 40 /* the kernel's own end */
};

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
        char *done; /* the folder that has been reached, without a link in it; "": the root */
        char *rest; /* what is left of the path */
        unsigned n_links;
};

/* Puts a link's text in front of the rest. */
static int way_follow(struct way *w, const char *text, const char *rest) {
        char *whole = NULL;

        if (asprintf(&whole, "%s/%s", text, rest) < 0)
                return -ENOMEM;
        free(w->rest);
        w->rest = whole;
        if (path_is_absolute(text))
                w->done[0] = '\0';
        return 0;
}

/* Goes on by the component `name`.  1: it is there; 0: it isn't, or there are too many links. */
static int way_step(struct way *w, const char *name, const char *rest) {
        _cleanup_free_ char *place = NULL;
        char text[PATH_MAX];
        ssize_t n;

        if (asprintf(&place, "%s/%s", w->done, name) < 0) {
                place = NULL;
                return -ENOMEM;
        }
        n = readlink(place, text, sizeof(text) - 1);
        if (n < 0 && errno != EINVAL)
                return 0;
        if (n < 0) {
                char *left = strdup(rest);

                if (!left)
                        return -ENOMEM;
                free(w->rest);
                w->rest = left;
                free(w->done);
                w->done = TAKE_PTR(place);
                return 1;
        }
        if (++w->n_links > MOST_LINKS)
                return 0;
        text[n] = '\0';
        if (!way_is_shown(w->entries, w->resolved, place))
                entries_add_symlink(w->entries, ENTRY_OWN, text, place);
        return way_follow(w, text, rest) < 0 ? -ENOMEM : 1;
}

/* Walks to the end.  1: w->done is it; 0: the way ends before. */
static int way_walk(struct way *w) {
        int r = 1;

        while (r > 0) {
                const char *from = w->rest + strspn(w->rest, "/");
                size_t n = strcspn(from, "/");
                _cleanup_free_ char *name = strndup(from, n), *rest = strdup(from + n);

                if (!name || !rest)
                        return -ENOMEM;
                if (n == 0)
                        return 1;
                if (streq(name, "..")) {
                        char *slash = strrchr(w->done, '/');

                        if (slash)
                                *slash = '\0';
                }
                if (!streq(name, "..") && !streq(name, "."))
                        r = way_step(w, name, rest);
                else if (way_follow(w, "", rest) < 0)
                        r = -ENOMEM;
        }
        return r;
}

/* What nothing may lead to: the home, or what holds it; nsrun's own; the host's temporary files. */
static bool is_private(const struct resolved *s, const char *path) {
        return streq(path, "/") || path_is_beneath(path, "/proc") || path_is_beneath(path, "/dev") ||
               path_is_beneath(path, "/tmp") || path_is_beneath(path, "/etc") ||
               (s->home && (path_is_beneath(path, s->home) || path_is_beneath(s->home, path)));
}

int entries_add_way(struct entries *e, const struct resolved *s, const char *path) {
        struct way w = {.entries = e, .resolved = s};
        _cleanup_free_ char *end = NULL;
        unsigned mode;
        int r;

        r = path_canonical(path, &end, &mode);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        if ((!S_ISDIR(mode) && !S_ISREG(mode)) || (!way_is_shown(e, s, end) && is_private(s, end)))
                return 0;
        w.done = calloc(1, 1);
        w.rest = strdup(path);
        r = w.done && w.rest ? way_walk(&w) : -ENOMEM;
        if (r > 0 && streq(w.done, end) && !way_is_shown(e, s, end))
                entries_add_present(e, end);
        free(w.done);
        free(w.rest);
        return r < 0 ? r : 0;
}
