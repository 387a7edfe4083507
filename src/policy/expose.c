/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists of expose paths: normalised, merged by target, validated.  Looks at no file of the host. */
#include "expose.h"

#include "base/array.h"
#include "base/path.h"

/* The paths that every isolated command is given: picoclaw's list. */
static const char *const defaults[] = {
        "/usr",
        "/bin",
        "/sbin",
        "/lib",
        "/lib64",
        "/etc/resolv.conf",
        "/etc/alternatives",
        "/etc/localtime",
        "/usr/share/zoneinfo",
        "/etc/ssl/certs",
        "/etc/pki",
        "/etc/ca-certificates",
};

static char *normalised(const char *path) {
        return path_is_absolute(path) ? path_normalise(path) : strdup(path);
}

static void clear_rule(struct expose_rule *rule) {
        free(rule->source);
        free(rule->target);
        free(rule->mode);
        *rule = (struct expose_rule){0};
}

int expose_add(struct expose_list *list, const char *source, const char *target, const char *mode,
               const char *label) {
        struct expose_rule rule = {.label = label};

        rule.source = normalised(source ? source : "");
        rule.target = normalised(target && *target ? target : source ? source : "");
        rule.mode = strdup(mode ? mode : "");
        if (!rule.source || !rule.target || !rule.mode || ARRAY_GROW(list->items, list->n) < 0) {
                clear_rule(&rule);
                return -ENOMEM;
        }
        list->items[list->n++] = rule;
        return 0;
}

int expose_add_all(struct expose_list *list, const struct nsrun_expose_path *items, size_t n,
                   const char *label) {
        int r = 0;

        for (size_t i = 0; i < n && r >= 0; i++)
                r = expose_add(list, items[i].source, items[i].target, items[i].mode, label);
        return r;
}

int expose_add_defaults(struct expose_list *list, const char *root) {
        int r = root ? expose_add(list, root, NULL, "rw", "the instance") : 0;

        for (size_t i = 0; i < ARRAY_SIZE(defaults) && r >= 0; i++)
                r = expose_add(list, defaults[i], NULL, "ro", "the system");
        return r;
}

/* Sorts by target; two rules for one target stay in the order of the list. */
static int compare_targets(const void *a, const void *b) {
        const struct expose_rule *x = *(struct expose_rule *const *)a, *y = *(struct expose_rule *const *)b;
        int c = strcmp(x->target, y->target);

        return c != 0 ? c : x < y ? -1 : x > y;
}

static struct expose_rule **sorted_by_target(const struct expose_list *list) {
        struct expose_rule **sorted = calloc(list->n + 1, sizeof(struct expose_rule *));

        for (size_t i = 0; sorted && i < list->n; i++)
                sorted[i] = &list->items[i];
        if (sorted)
                qsort(sorted, list->n, sizeof(*sorted), compare_targets);
        return sorted;
}

int expose_merge(struct expose_list *list) {
        _cleanup_free_ struct expose_rule **sorted = sorted_by_target(list);
        size_t kept = 0;

        if (!sorted)
                return -ENOMEM;
        for (size_t i = 0, j; i < list->n; i = j)
                for (j = i + 1; j < list->n && streq(sorted[i]->target, sorted[j]->target); j++) {
                        struct expose_rule later = *sorted[j];

                        *sorted[j] = (struct expose_rule){0};
                        clear_rule(sorted[i]);
                        *sorted[i] = later;
                }
        for (size_t i = 0; i < list->n; i++)
                if (list->items[i].source)
                        list->items[kept++] = list->items[i];
        list->n = kept;
        return 0;
}

static int expose_refuse_rule(const struct expose_rule *rule, const char *path, const char *what,
                              const char *hint, struct nsrun_error *err) {
        return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), path, hint, "%s: %s", rule->label, what);
}

int expose_check(const struct expose_rule *rule, struct nsrun_error *err) {
        if (!*rule->source)
                return expose_refuse_rule(rule, NULL, "no source", NULL, err);
        if (!path_is_absolute(rule->source))
                return expose_refuse_rule(rule, rule->source, "the source is no absolute path", NULL, err);
        if (!path_is_absolute(rule->target))
                return expose_refuse_rule(rule, rule->target, "the target is no absolute path", NULL, err);
        if (!streq(rule->mode, "ro") && !streq(rule->mode, "rw"))
                return expose_refuse_rule(rule, *rule->mode ? rule->mode : NULL,
                                          *rule->mode ? "the mode is neither ro nor rw" : "no mode",
                                          "choose ro or rw", err);
        return 0;
}

int expose_check_all(const struct expose_list *list, struct nsrun_error *err) {
        _cleanup_free_ struct expose_rule **sorted = NULL;
        int r = 0;

        for (size_t i = 0; i < list->n && r >= 0; i++)
                r = expose_check(&list->items[i], err);
        if (r < 0)
                return r;
        sorted = sorted_by_target(list);
        if (!sorted)
                return error_oom(err);
        for (size_t i = 1; i < list->n; i++)
                if (streq(sorted[i - 1]->target, sorted[i]->target))
                        return expose_refuse_rule(sorted[i], sorted[i]->target, "two rules for one target",
                                                  "keep one of them, or merge the lists first", err);
        return 0;
}

static char *pack_text(char **to, const char *text) {
        char *start = *to;

        *to = stpcpy(start, text) + 1;
        return start;
}

int expose_pack(const struct expose_list *list, struct nsrun_expose_path **ret, size_t *ret_n) {
        size_t size = (list->n + 1) * sizeof(struct nsrun_expose_path);
        struct nsrun_expose_path *packed;
        char *to;

        for (size_t i = 0; i < list->n; i++)
                size += strlen(list->items[i].source) + strlen(list->items[i].target) +
                        strlen(list->items[i].mode) + 3;
        packed = calloc(1, size);
        if (!packed)
                return -ENOMEM;
        to = (char *)&packed[list->n + 1];
        for (size_t i = 0; i < list->n; i++) {
                packed[i].source = pack_text(&to, list->items[i].source);
                packed[i].target = pack_text(&to, list->items[i].target);
                packed[i].mode = pack_text(&to, list->items[i].mode);
        }
        *ret = packed;
        *ret_n = list->n;
        return 0;
}

void expose_clear(struct expose_list *list) {
        for (size_t i = 0; i < list->n; i++)
                clear_rule(&list->items[i]);
        free(list->items);
        *list = (struct expose_list){0};
}
