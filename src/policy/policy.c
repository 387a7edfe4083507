/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* struct nsrun_policy as an object: made, filled, freed.  Checks nothing but
 * single option values; see resolve.c for the rest. */
#include "policy.h"

#include "environment.h"
#include "options.h"

#define DEFAULT_TMPFS_SIZE (UINT64_C(2) << 30)
#define DEFAULT_HOSTNAME   "nsrun"

nsrun_public int nsrun_policy_new(struct nsrun_policy **ret) {
        struct nsrun_policy *p = calloc(1, sizeof(*p));

        if (!p)
                return -ENOMEM;
        p->tmpfs_size = DEFAULT_TMPFS_SIZE;
        p->new_session = true;
        *ret = p;
        return 0;
}

nsrun_public struct nsrun_policy *nsrun_policy_free(struct nsrun_policy *p) {
        if (!p)
                return NULL;
        for (size_t i = 0; i < p->n_rules; i++)
                policy_clear_rule(&p->rules[i]);
        free(p->rules);
        for (size_t i = 0; i < p->n_links; i++) {
                free(p->links[i].text);
                free(p->links[i].path);
        }
        free(p->links);
        free(p->project);
        free(p->project_alias);
        free(p->tmp);
        free(p->tmp_alias);
        free(p->hostname);
        free(p->chdir);
        free(p->seccomp);
        free(p->home);
        free(p->config);
        free(p->config_spelled);
        for (size_t i = 0; i < p->n_labels; i++)
                free(p->labels[i]);
        free(p->labels);
        free(p->instance);
        free(p->instance_root);
        strv_free(p->instance_env);
        expose_clear(&p->expose);
        strv_free(p->env);
        strv_free(p->unset);
        strv_free(p->argv);
        strv_free(p->given);
        free(p->session);
        strv_free(p->host_environ);
        strv_free(p->workspace_env);
        strv_free(p->final_env);
        strv_free(p->left_out);
        strv_free(p->identity);
        strv_free(p->ephemeral);
        strv_free(p->held);
        free(p);
        return NULL;
}

int policy_apply_option(struct nsrun_policy *p, const struct option_spec *spec, const char *value,
                        struct nsrun_error *err) {
        int r = spec->apply(p, spec, value, err);

        if (r < 0 || strv_contains(p->given, spec->name))
                return r;
        return strv_add(&p->given, spec->name) < 0 ? error_oom(err) : r;
}

nsrun_public int nsrun_policy_set(struct nsrun_policy *p, const char *option, const char *value,
                                  struct nsrun_error *err) {
        for (size_t i = 0; i < n_policy_options; i++) {
                const struct option_spec *spec = &policy_options[i];

                if (!streq(spec->name, option))
                        continue;
                if (!value != !spec->argument) {
                        (void)error_set(err, NSRUN_STAGE_USAGE, 0, option,
                                        value ? "this option takes no value" : "this option needs a value",
                                        NULL);
                        return -EINVAL;
                }
                return policy_apply_option(p, spec, value, err);
        }
        (void)error_set(err, NSRUN_STAGE_USAGE, 0, option, "unknown option", NULL);
        return -EINVAL;
}

nsrun_public int nsrun_policy_set_command(struct nsrun_policy *p, const char *const *argv,
                                          struct nsrun_error *err) {
        _cleanup_strv_ char **copy = NULL;

        if (!argv || !argv[0] || !argv[0][0]) {
                (void)error_set(err, NSRUN_STAGE_USAGE, 0, NULL, "no command", NULL);
                return -EINVAL;
        }
        if (strv_copy((char *const *)(uintptr_t)argv, &copy) < 0)
                return error_oom(err);
        strv_free(p->argv);
        p->argv = TAKE_PTR(copy);
        return 0;
}

nsrun_public int nsrun_policy_set_environ(struct nsrun_policy *p, const char *const *environment) {
        _cleanup_strv_ char **copy = NULL;
        int r;

        /* An empty environment is one, too: not NULL, which would mean environ. */
        if (environment[0])
                r = strv_copy((char *const *)(uintptr_t)environment, &copy);
        else
                r = (copy = calloc(1, sizeof(*copy))) ? 0 : -ENOMEM;
        if (r < 0)
                return r;
        strv_free(p->host_environ);
        p->host_environ = TAKE_PTR(copy);
        return 0;
}

/* Room for one more of `size` bytes each: the capacity is the next power of two. */
static int make_room(void **items, size_t n, size_t size) {
        void *grown;

        if (n > 0 && (n & (n - 1)) != 0)
                return 0;
        grown = reallocarray(*items, n > 0 ? 2 * n : 1, size);
        if (!grown)
                return -ENOMEM;
        *items = grown;
        return 0;
}

const char *policy_keep_label(struct nsrun_policy *p, char *label) {
        void *items = p->labels;

        if (!label || make_room(&items, p->n_labels, sizeof(*p->labels)) < 0) {
                free(label);
                return NULL;
        }
        p->labels = items;
        p->labels[p->n_labels++] = label;
        return label;
}

void policy_clear_rule(struct policy_rule *rule) {
        free(rule->source);
        free(rule->target);
        free(rule->alias);
        free(rule->spelled);
        *rule = (struct policy_rule){0};
}

int policy_add_rule(struct nsrun_policy *p, enum policy_access access, const char *source,
                    const char *target, const char *option) {
        _cleanup_free_ char *source_copy = strdup(source);
        _cleanup_free_ char *target_copy = target ? strdup(target) : NULL;
        void *items = p->rules;

        if (!source_copy || (target && !target_copy) || make_room(&items, p->n_rules, sizeof(*p->rules)) < 0)
                return -ENOMEM;
        p->rules = items;
        p->rules[p->n_rules++] = (struct policy_rule){
                .access = access,
                .source = TAKE_PTR(source_copy),
                .target = TAKE_PTR(target_copy),
                .option = option,
        };
        return 0;
}

int policy_add_default(struct nsrun_policy *p, enum policy_access access, const char *source,
                       const char *option) {
        int r;

        r = policy_add_rule(p, access, source, NULL, option);
        if (r < 0)
                return r;
        p->rules[p->n_rules - 1].is_default = true;
        return 0;
}

int policy_add_link(struct nsrun_policy *p, const char *text, const char *path) {
        _cleanup_free_ char *text_copy = strdup(text);
        _cleanup_free_ char *path_copy = strdup(path);
        void *items = p->links;

        if (!text_copy || !path_copy || make_room(&items, p->n_links, sizeof(*p->links)) < 0)
                return -ENOMEM;
        p->links = items;
        p->links[p->n_links++] = (struct policy_link){TAKE_PTR(text_copy), TAKE_PTR(path_copy)};
        return 0;
}
