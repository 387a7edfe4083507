/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See protect_kept.h.  The list is nsrun's own, but a command chose what is on it: names of files, which an
 * empty folder would break on the host, are left out. */
#include "protect_kept.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/path.h"
#include "host/walk.h"
#include "kept/kept.h"
#include "protect_find.h"
#include "protect_names.h"
#include "protect_rules.h"

/* Whether a glob of --hide may name one of the path's parts. */
static bool is_hidden_by(const char *glob, const char *below) {
        _cleanup_free_ char *normal = NULL, *rest = strdup(below);
        size_t n, start;

        if (!rest || walk_normalise(glob, &normal) < 0)
                return true;
        n = strlen(normal) - (normal[strlen(normal) - 1] == '/');
        for (start = n; start > 0 && normal[start - 1] != '/'; start--)
                ;
        for (char *part = rest, *end; part; part = end) {
                end = strchr(part, '/');
                if (end)
                        *end++ = '\0';
                if (walk_part_matches(normal + start, n - start, part))
                        return true;
        }
        return false;
}

/* Whether something else may lie there, `below` a writable folder, that says nothing of what isn't there. */
static bool is_kept_covered(const struct resolved *s, const char *target, const char *below) {
        for (size_t i = 0; i < s->files.n_tmpfs; i++)
                if (path_is_beneath(target, s->files.tmpfs[i].path))
                        return true;
        STRV_FOREACH (glob, s->policy->hide)
                if (is_hidden_by(*glob, below))
                        return true;
        return false;
}

/* Adds a rule at the first place that shows where the folder would be: a layer is one overlay's. */
static int add_kept_rule(struct resolved *s, const char *path) {
        size_t n = s->files.n_rules;

        for (size_t i = 0; i < n && s->files.n_rules == n; i++) {
                const struct resolved_rule *rule = &s->files.rules[i];
                const char *below = rule->access == POLICY_RW ? path_below(path, rule->source) : NULL;
                _cleanup_free_ char *target = below && *below ? path_join(rule->target, below) : NULL;

                if (!below || !*below)
                        continue;
                if (!target || (!is_kept_covered(s, target, below) &&
                                protect_add_rule(s, POLICY_RO, path, target, true) < 0))
                        return -ENOMEM;
        }
        return s->files.n_rules > n;
}

/* A folder that the host hasn't, of which something is kept aside: the command has its version of it
 * (carry/private_folder.h). */
static int protect_kept(struct resolved *s, const char *path) {
        const char *name = path_basename(path), *known = protect_name_of(s->protection.names, path);
        _cleanup_close_ int parent = known && protect_is_folder(known) ? beneath_open_parent(path) : -ENOENT;
        struct stat st;
        int r;

        if (parent < 0 || (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                           !protect_is_placeholder(parent, name, NULL)))
                return parent == -ENOMEM ? parent : 0;
        r = add_kept_rule(s, path);
        if (r > 0 && (strv_add(&s->protection.private, path) < 0 || strv_add(&s->protection.kept, path) < 0))
                return -ENOMEM;
        return r;
}

int protect_add_kept(struct resolved *s) {
        struct kept *list = NULL;
        size_t n = 0;
        int r = s->project && s->own[OWN_RUNDIRS] && kept_has(s->project) ? kept_list(s->project, &list, &n)
                                                                          : 0;

        for (size_t i = 0; i < n && r >= 0; i++)
                if (list[i].is_folder && streq(list[i].reason, KEPT_PROTECTED) && !kept_is_old(&list[i]) &&
                    strv_length(s->protection.private) < PROTECT_PRIVATE_MOST &&
                    !strv_contains(s->protection.private, list[i].path))
                        r = protect_kept(s, list[i].path);
        kept_free(list, n);
        return r == -ENOMEM ? r : 0;
}
