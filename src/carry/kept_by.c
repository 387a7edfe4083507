/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "kept_by.h"

#include "base/path.h"
#include "host/project.h"
#include "kept/kept_copy.h"

enum {
        COMMAND_MOST = 4096,
        PROJECT_MOST = 400, /* struct nsrun_error has no room for longer ones */
};

static char *quote_command(char *const *argv) {
        _cleanup_strbuf_ struct strbuf b = {0};

        strbuf_add(&b, "");
        STRV_FOREACH (word, argv) {
                _cleanup_free_ char *quoted = str_shell_quote(*word),
                                    *visible = quoted ? str_visible_text(quoted) : NULL;
                size_t n = visible ? strnlen(visible, COMMAND_MOST) : 0;

                if (!visible)
                        return NULL;
                /* No part of a character. */
                while ((visible[n] & 0xc0) == 0x80)
                        n--;
                strbuf_add(&b, word == argv ? "" : " ");
                strbuf_add_bytes(&b, visible, n);
                if (b.length > COMMAND_MOST)
                        break;
        }
        return strbuf_finish(&b);
}

int kept_by_new(const struct nsrun_plan *plan, struct kept_by **ret) {
        struct kept_by *k;

        if (!plan->protected && !plan->private)
                return 0;
        k = calloc(1, sizeof(*k));
        if (!k)
                return -ENOMEM;
        k->project = strdup(plan->project ? plan->project : "/");
        k->command = quote_command(plan->argv);
        k->session = plan->join ? strdup(plan->join->folder.id) : NULL;
        if (!k->project || !k->command || (plan->join && !k->session)) {
                (void)kept_by_free(k);
                return -ENOMEM;
        }
        *ret = k;
        return 0;
}

struct kept_by *kept_by_free(struct kept_by *kept_by) {
        if (kept_by) {
                free(kept_by->project);
                free(kept_by->command);
                free(kept_by->session);
        }
        free(kept_by);
        return NULL;
}

/* Whether all of an entry is in that one that was kept, of the same path; `equals`: and nothing else. */
static bool is_in_kept(const struct kept_by *kept_by, const char *path, unsigned number, bool equals,
                       int parent, const char *name) {
        struct kept k = {0};
        _cleanup_close_ int fd = kept_open(kept_by->project, number, &k);
        bool is = fd >= 0 && streq(k.path, path) && kept_is_within(parent, name, fd, KEPT_ENTRY) &&
                  (!equals || kept_is_within(fd, KEPT_ENTRY, parent, name));

        kept_clear(&k);
        return is;
}

bool kept_by_has(const struct kept_by *kept_by, const char *path, int parent, const char *name) {
        struct kept *list = NULL;
        size_t n = 0;
        bool has = false;

        (void)kept_list(kept_by->project, &list, &n);
        for (size_t i = 0; i < n && !has; i++)
                has = is_in_kept(kept_by, path, list[i].number, true, parent, name);
        kept_free(list, n);
        return has;
}

int kept_by_put(struct kept_by *kept_by, const struct kept *what, int parent, const char *name) {
        const char *dot = strrchr(name, '.');
        struct kept about = *what;
        int r;

        if (dot && streq(dot, KEPT_BY_COPY)) {
                if (kept_by->last > 0 && is_in_kept(kept_by, what->path, kept_by->last, false, parent, name))
                        return 1;
                about.reason = (char *)(uintptr_t)KEPT_FIRST;
        }
        about.command = kept_by->command;
        about.run = kept_by->session;
        r = kept_put(kept_by->project, &about, parent, name, &kept_by->last);
        kept_by->n += r >= 0;
        return r;
}

char *kept_by_review(const char *kept) {
        _cleanup_free_ char *start = NULL, *home = NULL, *project = NULL, *quoted = NULL;

        if (getenv("HOME"))
                (void)path_canonical(getenv("HOME"), &home, NULL);
        if (path_canonical(".", &start, NULL) >= 0 && project_find(start, home, &project) >= 0 &&
            streq(project, kept))
                return strdup("nsrun review");
        quoted = str_shell_quote(kept);
        return !quoted                         ? NULL
               : strlen(quoted) > PROJECT_MOST ? strdup("nsrun review --all")
                                               : str_concat("nsrun review --project ", quoted, "");
}

int kept_by_tell(const struct kept_by *kept_by, int (*found)(void *data, const struct nsrun_error *note),
                 void *data) {
        _cleanup_free_ char *review = NULL;
        struct nsrun_error note = {0};
        struct kept *list = NULL;
        size_t n = 0;
        int r = kept_by && kept_by->n > 0 ? kept_list(kept_by->project, &list, &n) : 0;

        kept_free(list, n);
        if (r < 0 || n == 0)
                return r;
        review = kept_by_review(kept_by->project);
        if (!review)
                return -ENOMEM;
        (void)error_setf(&note, NSRUN_STAGE_SUPERVISE, 0, NULL, NULL,
                         "%zu kept aside: %s (--accept N takes one over)", n, review);
        return found(data, &note);
}
