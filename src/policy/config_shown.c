/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is in force and who said so: the lines of `nsrun config show`. */
#include "base/array.h"
#include "config.h"

/* What holds for options with one value where nobody said anything. */
static const char by_default[] = "default";
#define BY_DEFAULT(key, value) \
        { (char *)(uintptr_t)(key), (char *)(uintptr_t)(value), (char *)(uintptr_t)by_default }
static const struct policy_said defaults[] = {
        BY_DEFAULT("profile", "code"),         BY_DEFAULT("net", "host"),
        BY_DEFAULT("seccomp", "default"),      BY_DEFAULT("landlock", "auto"),
        BY_DEFAULT("overlay-backing", "auto"), BY_DEFAULT("tmpfs-size", "2G"),
};

bool config_has_one_value(const char *key) {
        static const char *const single[] = {
                "config",
                "instance",
                "instance-workspace",
                "project",
                "chdir",
                "home",
                "tmp",
                "tmpfs-size",
                "net",
                "net-via",
                "proc",
                "overlay-backing",
                "hostname",
                "seccomp",
                "landlock",
                "uid",
                "gid",
                "session",
                "isolation.enabled",
        };

        return STR_IS_ANY(key, single);
}

/* What a thing that was said is about: two that are about the same thing take each other's place.  Of a
 * variable or a limit it is the name, of what has one value the option, else all of it. */
struct subject {
        const struct policy_said *said;
        const char *key;
        size_t length; /* of what of the value belongs to it */
};

static struct subject subject_of(const struct policy_said *said) {
        bool is_env = streq(said->key, "env") || streq(said->key, "unsetenv");
        bool is_named = is_env || streq(said->key, "limit");

        return (struct subject){said, is_env ? "env" : said->key,
                                config_has_one_value(said->key) ? 0
                                : is_named                      ? strcspn(said->value, "=")
                                                                : strlen(said->value)};
}

/* By subject; of one subject in the order in which it was said. */
static int compare_subjects(const void *a, const void *b) {
        const struct subject *x = a, *y = b;
        size_t n = x->length < y->length ? x->length : y->length;
        int c = strcmp(x->key, y->key);

        if (c == 0)
                c = memcmp(x->said->value, y->said->value, n);
        if (c == 0 && x->length != y->length)
                c = x->length < y->length ? -1 : 1;
        return c != 0 ? c : (x->said > y->said) - (x->said < y->said);
}

static bool is_same_subject(const struct subject *x, const struct subject *y) {
        return streq(x->key, y->key) && x->length == y->length &&
               memcmp(x->said->value, y->said->value, x->length) == 0;
}

/* Marks in `holds`, by index, the last of each subject. */
static int find_last(const struct nsrun_policy *p, bool *holds) {
        _cleanup_free_ struct subject *subjects = calloc(p->n_said + 1, sizeof(*subjects));

        if (!subjects)
                return -ENOMEM;
        for (size_t i = 0; i < p->n_said; i++)
                subjects[i] = subject_of(&p->said[i]);
        qsort(subjects, p->n_said, sizeof(*subjects), compare_subjects);
        for (size_t i = 0; i < p->n_said; i++)
                holds[subjects[i].said - p->said] =
                        i + 1 == p->n_said || !is_same_subject(&subjects[i], &subjects[i + 1]);
        return 0;
}

static int add(struct policy_said **to, size_t *n, const struct policy_said *said) {
        if (ARRAY_GROW(*to, *n) < 0)
                return -ENOMEM;
        (*to)[(*n)++] = *said;
        return 0;
}

static int add_defaults(const struct nsrun_policy *p, struct policy_said **to, size_t *n) {
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(defaults) && r >= 0; i++) {
                bool is_said = false;

                for (size_t k = 0; k < p->n_said; k++)
                        is_said |= streq(p->said[k].key, defaults[i].key);
                if (!is_said)
                        r = add(to, n, &defaults[i]);
        }
        return r;
}

int config_list_shown(const struct nsrun_policy *p, struct policy_said **ret, size_t *ret_n) {
        _cleanup_free_ bool *holds = calloc(p->n_said + 1, sizeof(*holds));
        struct policy_said *list = NULL;
        size_t n = 0;
        int r = holds ? find_last(p, holds) : -ENOMEM;

        for (size_t i = 0; i < p->n_said && r >= 0; i++)
                if (holds[i])
                        r = add(&list, &n, &p->said[i]);
        if (r >= 0)
                r = add_defaults(p, &list, &n);
        if (r < 0) {
                free(list);
                return r;
        }
        *ret = list;
        *ret_n = n;
        return 0;
}
