/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "learned.h"

#include <limits.h>

#include "base/array.h"
#include "base/path.h"
#include "never.h"
#include "path.h"
#include "protect/learn_view.h"

/* So many used paths of one folder stand for the folder. */
#define GATHERED 3
/* What was asked for and not given is told of so many paths. */
#define NOT_GIVEN_MOST 50

struct learning {
        const struct nsrun_plan *plan, *wide;
        char *around; /* the folder around the project; or NULL */
        struct learned_rule *rules;
        size_t n;
};

/* ------------------------------------------------------------------- what a rule may be */

/* Folders that hold those of many programs.  No rule is made of one. */
static bool is_shared(const struct learning *l, const char *path) {
        static const char *const shared[] = {"",       ".cache",       ".config",
                                             ".local", ".local/share", ".local/state"};
        const char *below = l->plan->home ? path_below(path, l->plan->home) : NULL;

        for (size_t i = 0; below && i < ARRAY_SIZE(shared); i++)
                if (streq(below, shared[i]))
                        return true;
        if (l->plan->home && path_is_beneath(l->plan->home, path))
                return true;
        return l->plan->project ? path_is_beneath(l->plan->project, path) : streq(path, "/");
}

/* Whether the path lies where the wide view shows folders: in the home, or beside the project. */
static bool is_in_view(const struct learning *l, const char *path) {
        return (l->plan->home && path_is_beneath(path, l->plan->home)) ||
               (l->around && !streq(l->around, "/") && path_is_beneath(path, l->around));
}

/* Whether the wide view shows the host's file or folder that a path leads to.  A command can make anything
 * in the sandbox's own home, at the path of whatever of the host's isn't shown, and links that lead there.
 */
static int host_is_shown(const struct learning *l, const char *path, char **ret_canonical) {
        const struct plan_op *found = NULL;
        int r = path_canonical(path, ret_canonical, NULL);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        for (size_t i = 0; i < l->wide->n_ops; i++) {
                const struct plan_op *op = &l->wide->ops[i];

                if (!op->source || !path_is_beneath(*ret_canonical, op->source))
                        continue;
                if (op->kind == PLAN_HIDE)
                        return 0;
                if (!found || strlen(op->source) > strlen(found->source))
                        found = op;
        }
        return found && (found->kind == PLAN_BIND || found->kind == PLAN_OVERLAY);
}

static int add_program(struct learned_rule *rule, const char *program) {
        return !*program || strv_contains(rule->programs, program) ||
                               strv_length(rule->programs) >= LEARNED_PROGRAMS
                       ? 0
                       : strv_add(&rule->programs, program);
}

static int learned_add(struct learning *l, const char *path, bool is_folder, bool is_written,
                       const char *program) {
        struct learned_rule *rule;

        if (ARRAY_GROW(l->rules, l->n) < 0)
                return -ENOMEM;
        rule = &l->rules[l->n];
        *rule = (struct learned_rule){
                .path = strdup(path), .is_folder = is_folder, .is_written = is_written, .n_files = 1};
        if (!rule->path)
                return -ENOMEM;
        l->n++;
        return add_program(rule, program);
}

static void learned_clear_rule(struct learned_rule *rule) {
        free(TAKE_PTR(rule->path));
        strv_free(TAKE_PTR(rule->programs));
}

/* ----------------------------------------------------------------- from calls to rules */

/* Something was made, changed or removed: an overlay of the folder around it does for that.  What is made
 * right in the home, or in a folder of many programs, needs none: it is made in the sandbox's own home. */
static int use_written(struct learning *l, const struct asked *a) {
        _cleanup_free_ char *folder = path_parent(a->path), *canonical = NULL;
        int r;

        while (folder && access(folder, F_OK) < 0 && !is_shared(l, folder)) {
                char *parent = path_parent(folder);

                free(folder);
                folder = parent;
        }
        if (!folder)
                return -ENOMEM;
        r = is_shared(l, folder) ? 0 : host_is_shown(l, folder, &canonical);
        if (r <= 0 || is_shared(l, canonical))
                return r < 0 ? r : 0;
        /* The project's own are writable already, or protected. */
        return l->plan->project && path_is_beneath(canonical, l->plan->project)
                       ? 0
                       : learned_add(l, folder, true, true, a->program);
}

/* A path that was found; and what it leads to, if it is a symlink or is reached through one. */
static int use_read(struct learning *l, const struct asked *a) {
        _cleanup_free_ char *canonical = NULL;
        int r;

        /* That a folder is there is asked on the way to what is in it. */
        if (is_shared(l, a->path) || (a->is_folder && a->how == WATCHED_LOOK))
                return 0;
        r = host_is_shown(l, a->path, &canonical);
        if (r <= 0 || is_shared(l, canonical))
                return r < 0 ? r : 0;
        r = learned_add(l, a->path, a->is_folder, false, a->program);
        if (r >= 0 && !streq(canonical, a->path) && is_in_view(l, canonical) &&
            asked_is_of_interest(l->plan, canonical, WATCHED_READ))
                r = learned_add(l, canonical, a->is_folder, false, a->program);
        return r;
}

static int not_given(const struct asked *a, const char *why, char ***ret) {
        _cleanup_free_ char *line = NULL;

        if (strv_length(*ret) >= NOT_GIVEN_MOST)
                return 0;
        line = str_format("%s: asked for by %s, not given: %s", a->path, *a->program ? a->program : "?",
                          why);
        if (!line)
                return -ENOMEM;
        return strv_contains(*ret, line) ? 0 : strv_add(ret, line);
}

static int use(struct learning *l, const struct asked *a, char ***ret_not_given) {
        bool is_change = a->how == WATCHED_MAKE || a->how == WATCHED_WRITE || a->how == WATCHED_REMOVE;
        _cleanup_free_ char *key = NULL;
        int named;

        if (path_is_beneath(a->path, "/tmp") && !is_in_view(l, a->path))
                return 0;
        /* Whether a secret exists is nobody's business: what is told is that it was asked for. */
        if (wide_is_secret(a->path, l->plan->home) && is_in_view(l, a->path))
                return a->how == WATCHED_LOOK ? 0 : not_given(a, "it may hold a secret", ret_not_given);
        if (!is_in_view(l, a->path) || (!a->is_there && !is_change) || a->how == WATCHED_CONNECT) {
                _cleanup_free_ char *reason = NULL;
                int r;

                if (a->how == WATCHED_LOOK || is_change || a->is_there)
                        return 0;
                r = explain_path(l->plan, a->path, REFUSED_ABSENT, &reason);
                return r < 0 || !reason || access(a->path, F_OK) < 0
                               ? r
                               : not_given(a, "nothing of it is shown while learning", ret_not_given);
        }
        named = l->plan->project && path_is_beneath(a->path, l->plan->project)
                        ? 0
                        : explain_repository_names(l->plan, a->path, &key);
        if (named != 0)
                return named < 0 ? named
                                 : not_given(a, "the repository's configuration names it", ret_not_given);
        if (!is_change)
                return use_read(l, a);
        if (a->how == WATCHED_MAKE && a->is_folder)
                return 0; /* mkdir(2) of what is there */
        if (l->plan->project && path_is_beneath(a->path, l->plan->project))
                return not_given(a, "it is protected, since programs on the host obey it", ret_not_given);
        return use_written(l, a);
}

/* ----------------------------------------------------------------------------- gathering */

static int compare_learned(const void *a, const void *b) {
        const struct learned_rule *x = a, *y = b;
        int c = path_compare(x->path, y->path);

        return c != 0 ? c : y->is_written - x->is_written;
}

static int merge_into(struct learned_rule *to, struct learned_rule *from) {
        int r = 0;

        to->n_files += from->n_files;
        to->is_written |= from->is_written;
        STRV_FOREACH (program, from->programs)
                if (r >= 0)
                        r = add_program(to, *program);
        learned_clear_rule(from);
        return r;
}

/* The rule that holds another one already: one of those around it. */
static struct learned_rule *find_holder(const struct learning *l, const size_t *around, size_t n_around,
                                        const struct learned_rule *rule) {
        for (size_t k = n_around; k > 0; k--) {
                struct learned_rule *other = &l->rules[around[k - 1]];

                if (other->is_written || other->is_written == rule->is_written ||
                    streq(rule->path, other->path))
                        return other;
        }
        return NULL;
}

/* Sorts the rules and takes out those within another: what is read in a folder that is written, and what
 * lies in a folder of its own kind. */
static int sort_learned(struct learning *l) {
        size_t around[PATH_MAX / 2]; /* indices of the rules that the last one lies in, and its own */
        size_t kept = 0, n_around = 0;
        int r = 0;

        if (l->n > 0)
                qsort(l->rules, l->n, sizeof(*l->rules), compare_learned);
        for (size_t i = 0; i < l->n; i++) {
                struct learned_rule *rule = &l->rules[i], *holder;

                while (n_around > 0 && !path_is_beneath(rule->path, l->rules[around[n_around - 1]].path))
                        n_around--;
                holder = find_holder(l, around, n_around, rule);
                if (holder && r >= 0)
                        r = merge_into(holder, rule);
                else if (holder)
                        learned_clear_rule(rule);
                else if (n_around < ARRAY_SIZE(around)) {
                        around[n_around++] = kept;
                        l->rules[kept++] = *rule;
                } else {
                        learned_clear_rule(rule); /* no path has so many parts */
                }
        }
        l->n = kept;
        return r;
}

/* The folder that a path is right in, and how deep that lies. */
static size_t folder_length(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash == path ? 1 : (size_t)(slash - path);
}

static size_t folder_depth(const char *path) {
        size_t n = 0;

        for (size_t i = 0; i < folder_length(path); i++)
                n += path[i] == '/';
        return n;
}

/* Rules right in one folder, of one kind, come to stand together, the deepest first. */
static int compare_folders_of_rules(const void *a, const void *b) {
        const struct learned_rule *x = a, *y = b;
        size_t n = folder_length(x->path), m = folder_length(y->path);
        size_t depth = folder_depth(x->path), other = folder_depth(y->path);
        int c = depth != other ? (depth < other ? 1 : -1) : memcmp(x->path, y->path, n < m ? n : m);

        return c != 0 ? c : n != m ? (n < m ? -1 : 1) : x->is_written - y->is_written;
}

/* The folders that hold enough of the rules become rules themselves, the deepest of them at once: no one of
 * these lies in another.  1: there were some. */
static int gather_once(struct learning *l) {
        size_t n = l->n, deepest = 0, first = 0;
        bool has_gathered = false;
        int r = 0;

        if (n > 0)
                qsort(l->rules, n, sizeof(*l->rules), compare_folders_of_rules);
        for (size_t i = 0; i < n && folder_depth(l->rules[i].path) >= deepest; i++) {
                _cleanup_free_ char *folder = NULL;

                if (compare_folders_of_rules(&l->rules[i], &l->rules[first]) != 0)
                        first = i;
                if (i - first + 1 != GATHERED)
                        continue;
                folder = path_parent(l->rules[i].path);
                if (!folder)
                        return -ENOMEM;
                if (is_shared(l, folder))
                        continue;
                deepest = folder_depth(l->rules[i].path);
                r = learned_add(l, folder, true, l->rules[i].is_written, "");
                if (r < 0)
                        return r;
                l->rules[l->n - 1].n_files = 0;
                has_gathered = true;
        }
        return sort_learned(l) < 0 ? -ENOMEM : has_gathered;
}

/* ------------------------------------------------------------------------- what stays hidden */

/* What the wide view hid in folders that rules show now: a folder stands for what was used of it, and not
 * for the keys in it. */
static int keep_hidden(const struct learning *l, char ***ret) {
        int r = 0;

        for (size_t i = 0; i < l->n && r >= 0; i++) {
                _cleanup_free_ char *canonical = NULL;

                if (l->rules[i].is_folder && host_is_shown(l, l->rules[i].path, &canonical) == -ENOMEM)
                        return -ENOMEM;
                for (size_t k = 0; canonical && k < l->wide->n_ops && r >= 0; k++) {
                        const struct plan_op *op = &l->wide->ops[k];

                        if (op->kind == PLAN_HIDE && op->source && path_is_beneath(op->source, canonical) &&
                            !strv_contains(*ret, op->source))
                                r = strv_add(ret, op->source);
                }
        }
        return r;
}

int learned_make(const struct asked_list *list, const struct nsrun_plan *wide, struct learned *ret) {
        struct learning l = {.plan = list->plan, .wide = wide};
        struct learned learned = {.rules = NULL};
        int r = 0;

        if (list->plan->project && !(l.around = path_parent(list->plan->project)))
                return -ENOMEM;
        for (size_t i = 0; i < list->n && r >= 0; i++)
                r = use(&l, &list->items[i], &learned.not_given);
        if (r >= 0)
                r = sort_learned(&l);
        do
                r = r < 0 ? r : gather_once(&l);
        while (r > 0);
        if (r >= 0)
                r = keep_hidden(&l, &learned.hidden);
        free(l.around);
        learned.rules = l.rules;
        learned.n_rules = l.n;
        if (r < 0)
                learned_clear(&learned);
        else
                *ret = learned;
        return r;
}

void learned_clear(struct learned *l) {
        for (size_t i = 0; i < l->n_rules; i++)
                learned_clear_rule(&l->rules[i]);
        free(l->rules);
        strv_free(l->hidden);
        strv_free(l->not_given);
        *l = (struct learned){.rules = NULL};
}
