/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See protect_kept.h.  The list is nsrun's own, but a command chose what is on it: names of files, which an
 * empty folder would break on the host, are left out. */
#include "protect_kept.h"

#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "host/walk.h"
#include "kept/kept.h"
#include "protect_find.h"
#include "protect_names.h"
#include "protect_rules.h"

/* Whether --hide may name the path, `below` a writable folder; of what is kept of it carry/ asks. */
static bool is_kept_hidden(const struct resolved *s, const char *path, const char *below) {
        STRV_FOREACH (glob, s->policy->hide) {
                _cleanup_free_ char *normal = NULL;

                if (path_is_beneath(path, *glob) || walk_normalise(*glob, &normal) < 0 ||
                    walk_covers(normal, below))
                        return true;
        }
        return false;
}

static bool is_on_tmpfs(const struct resolved *s, const char *target) {
        for (size_t i = 0; i < s->files.n_tmpfs; i++)
                if (path_is_beneath(target, s->files.tmpfs[i].path))
                        return true;
        return false;
}

/* Adds a rule at one place that shows where the folder would be, its own if it can be: a layer is one
 * overlay's.  1, 0: there is none. */
static int add_kept_rule(struct resolved *s, const struct kept *k, bool *ret_is_hidden) {
        size_t n = s->files.n_rules;

        for (size_t i = 0; i < 2 * n && s->files.n_rules == n; i++) {
                const struct resolved_rule *rule = &s->files.rules[i % n];
                const char *below = rule->access == POLICY_RW ? path_below(k->path, rule->source) : NULL;
                _cleanup_free_ char *target = below && *below ? path_join(rule->target, below) : NULL;

                if (!below || !*below || (i < n && !streq(rule->source, rule->target)))
                        continue;
                if (!target)
                        return -ENOMEM;
                if (is_on_tmpfs(s, target))
                        continue;
                *ret_is_hidden = is_kept_hidden(s, k->path, below);
                if (*ret_is_hidden)
                        return 0;
                if (protect_add_rule(s, POLICY_RO, k->path, target, true) < 0)
                        return -ENOMEM;
        }
        return s->files.n_rules > n;
}

/* Says what of it the command doesn't find. */
static int say_of_kept(struct resolved *s, const char *what, const char *path, const char *why) {
        _cleanup_free_ char *visible = str_visible(path);

        return visible ? strv_consume(&s->git.lacks, str_format("%s%s%s", what, visible, why)) : -ENOMEM;
}

/* A folder that the host hasn't, and of which this is the last that is kept aside, `has_others` for those
 * that are older: the command has its version of it (carry/private_folder.h). */
static int protect_kept(struct resolved *s, const struct kept *k, bool has_others) {
        const char *name = path_basename(k->path), *known = protect_name_of(s->protection.names, k->path);
        _cleanup_close_ int parent =
                known && protect_is_folder(known) ? beneath_open_parent(k->path) : -ENOENT;
        bool is_hidden = false;
        struct stat st;
        int r;

        if (parent < 0 || (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                           !protect_is_placeholder(parent, name, NULL)))
                return parent == -ENOMEM ? parent : 0;
        if (k->is_moved)
                return say_of_kept(s, "what is kept aside of ", k->path,
                                   " is too large to be there ('nsrun review')");
        r = add_kept_rule(s, k, &is_hidden);
        if (is_hidden)
                return say_of_kept(s, "what is kept aside of ", k->path, " isn't there: --hide names it");
        if (r > 0 &&
            (strv_add(&s->protection.private, k->path) < 0 || strv_add(&s->protection.kept, k->path) < 0))
                return -ENOMEM;
        return r > 0 && has_others ? say_of_kept(s, "more is kept aside of ", k->path,
                                                 " than the last, which is there ('nsrun review')")
                                   : r;
}

/* Whether one is kept of a folder as it was made. */
static bool is_made_folder(const struct kept *k) {
        return (k->is_folder || k->is_moved) && streq(k->reason, KEPT_PROTECTED) && !kept_is_old(k);
}

int protect_add_kept(struct resolved *s) {
        struct kept *list = NULL;
        size_t n = 0;
        int r = s->project && s->own[OWN_RUNDIRS] && kept_has(s->project) ? kept_list(s->project, &list, &n)
                                                                          : 0;

        for (size_t i = n; i-- > 0 && r >= 0;) {
                bool is_last = is_made_folder(&list[i]), has_others = false;

                for (size_t j = 0; j < n && is_last; j++) {
                        bool is_other =
                                j != i && streq(list[j].path, list[i].path) && is_made_folder(&list[j]);

                        is_last = !is_other || j < i;
                        has_others |= is_other;
                }
                if (is_last && strv_length(s->protection.private) < PROTECT_PRIVATE_MOST &&
                    !strv_contains(s->protection.private, list[i].path))
                        r = protect_kept(s, &list[i], has_others);
        }
        kept_free(list, n);
        return r == -ENOMEM ? r : 0;
}
