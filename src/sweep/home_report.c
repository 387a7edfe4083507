/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The supervisor's half of boundary/home_leftovers.c: leaves out what the plan made, and says the rest in a
 * line.
 */
#include "home_report.h"

#include "base/path.h"

/* A line names no more. */
#define MOST_TOLD 4

int dropped_begin(const struct nsrun_plan *plan, struct dropped *d) {
        if (plan->home_files == 0 || plan->is_session || plan->join)
                return 0;
        d->home = strdup(plan->home);
        if (!d->home)
                return -ENOMEM;
        for (size_t i = 0; i < plan->n_ops; i++) {
                const char *below = path_below(plan->ops[i].target, plan->home);

                if (below && *below && strv_add(&d->made, below) < 0)
                        return -ENOMEM;
        }
        return 0;
}

void dropped_clear(struct dropped *d) {
        free(d->home);
        strv_free(d->made);
        strv_free(d->paths);
        *d = (struct dropped){0};
}

/* Whether one of the paths that are told already has `path` in it. */
static bool is_told(const struct dropped *d, const char *path) {
        STRV_FOREACH (told, d->paths)
                if (path_is_beneath(path, *told))
                        return true;
        return false;
}

/* Takes one name of the list, of `n` bytes. */
static int take_dropped_name(struct dropped *d, const char *name, size_t n) {
        _cleanup_free_ char *relative = strndup(name, n), *path = NULL;

        if (!relative)
                return -ENOMEM;
        if (!n || strv_contains(d->made, relative))
                return 0;
        path = str_concat(d->home, "/", relative);
        if (!path)
                return -ENOMEM;
        return is_told(d, path) ? 0 : strv_add(&d->paths, path);
}

int dropped_take(struct dropped *d, const char *list, struct nsrun_error *ret_note) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *text = NULL;
        size_t n = 0;
        bool is_cut = false;

        if (!d->home)
                return 0;
        for (const char *end; *list; list = end + (*end ? 2 : 0)) {
                end = strstr(list, "//");
                end = end ? end : list + strlen(list);
                is_cut = *end && !end[2];
                if (take_dropped_name(d, list, (size_t)(end - list)) < 0)
                        return -ENOMEM;
        }
        STRV_FOREACH (path, d->paths)
                if (++n <= MOST_TOLD)
                        strbuf_addf(&b, "%s~/%s", n > 1 ? ", " : "", path_below(*path, d->home));
        if (n == 0)
                return 0;
        if (n > MOST_TOLD || is_cut)
                strbuf_add(&b, " and more");
        text = strbuf_finish(&b);
        if (!text)
                return -ENOMEM;
        *ret_note = (struct nsrun_error){0};
        (void)error_set(
                ret_note, NSRUN_STAGE_SUPERVISE, 0, text,
                "what the command left in the sandbox's own home is gone (--rw exposes a folder of yours)",
                NULL);
        return 1;
}
