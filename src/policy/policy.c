/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* struct nsrun_policy as an object: made, filled, freed.  Only values of single options are checked
 * here; where they lead on the host is checked by resolve.c. */
#include "policy.h"

#include "base/array.h"
#include "desktop/ssh_agent.h"
#include "net/proxy.h"

#define DEFAULT_TMPFS_SIZE (UINT64_C(2) << 30)
#define DEFAULT_HOSTNAME   "nsrun"

nsrun_public int nsrun_policy_new(struct nsrun_policy **ret) {
        struct nsrun_policy *p = calloc(1, sizeof(*p));

        if (!p)
                return -ENOMEM;
        p->tmpfs_size = DEFAULT_TMPFS_SIZE;
        p->uid = p->gid = POLICY_SAME_ID;
        p->backing = POLICY_BACKING_AUTO;
        p->new_session = true;
        *ret = p;
        return 0;
}

static void clear_agent(struct policy_agent *agent) {
        free(agent->name);
        for (size_t i = 0; i < agent->n_folders; i++)
                free((char *)(uintptr_t)agent->folders[i].path);
        free(agent->folders);
        strv_free(agent->keys);
        strv_free(agent->hosts);
}

nsrun_public struct nsrun_policy *nsrun_policy_free(struct nsrun_policy *p) {
        if (!p)
                return NULL;
        for (size_t i = 0; i < p->n_rules; i++)
                policy_clear_rule(&p->rules[i]);
        free(p->rules);
        for (size_t i = 0; i < p->n_links; i++)
                policy_clear_link(&p->links[i]);
        free(p->links);
        for (size_t i = 0; i < p->n_tmpfs; i++)
                free(p->tmpfs[i].path);
        free(p->tmpfs);
        for (size_t i = 0; i < p->n_toolchains; i++) {
                free(p->toolchains[i].path);
                free(p->toolchains[i].variable);
        }
        free(p->toolchains);
        for (size_t i = 0; i < p->n_agents; i++)
                clear_agent(&p->agents[i]);
        free(p->agents);
        free(p->agent);
        free(p->project);
        free(p->tmp);
        free(p->hostname);
        free(p->own_home);
        free(p->chdir);
        free(p->seccomp);
        free(p->config);
        free(p->config_spelled);
        free(p->config_project);
        strv_free(p->profiles);
        for (size_t i = 0; i < p->n_said; i++) {
                free(p->said[i].key);
                free(p->said[i].value);
                free(p->said[i].from);
        }
        free(p->said);
        for (size_t i = 0; i < p->n_labels; i++)
                free(p->labels[i]);
        free(p->labels);
        free(p->instance);
        free(p->instance_workspace);
        expose_clear(&p->expose);
        variables_clear(&p->env);
        variables_clear(&p->unset);
        strv_free(p->argv);
        strv_free(p->given);
        strv_free(p->protect);
        strv_free(p->no_protect);
        strv_free(p->hide);
        strv_free(p->ssh_agent);
        strv_free(p->dbus);
        strv_free(p->network);
        strv_free(p->network_config);
        secret_forget(&p->net_via);
        strv_free(p->keys);
        strv_free(p->key_uses);
        free(p->session);
        strv_free(p->host_environ);
        strv_free(p->workspace_env);
        free(p);
        return NULL;
}

void policy_set_for_agent(struct nsrun_policy *p) {
        p->is_for_agent = true;
}

int policy_note(struct nsrun_policy *p, const char *key, const char *value, const char *from) {
        struct policy_said said;

        if (!p->keeps_said)
                return 0;
        said = (struct policy_said){strdup(key), strdup(value ? value : ""), strdup(from)};
        /* It is shown. */
        if (said.value && streq(key, "net-via"))
                net_proxy_hide(said.value);
        if (!said.key || !said.value || !said.from || ARRAY_GROW(p->said, p->n_said) < 0) {
                free(said.key);
                free(said.value);
                free(said.from);
                return -ENOMEM;
        }
        p->said[p->n_said++] = said;
        return 0;
}

nsrun_public int nsrun_policy_set_command(struct nsrun_policy *p, const char *const *argv,
                                          struct nsrun_error *err) {
        _cleanup_strv_ char **copy = NULL;

        if (!argv || !argv[0] || !argv[0][0])
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL, "no command", NULL);
        if (strv_copy((char *const *)(uintptr_t)argv, &copy) < 0)
                return error_oom(err);
        strv_free(p->argv);
        p->argv = TAKE_PTR(copy);
        return 0;
}

nsrun_public int nsrun_policy_set_environ(struct nsrun_policy *p, const char *const *environment) {
        _cleanup_strv_ char **copy = NULL;
        int r;

        /* An empty environment becomes an empty vector, not NULL, which would mean environ. */
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

const char *policy_keep_label(struct nsrun_policy *p, char *label) {
        if (!label || ARRAY_GROW(p->labels, p->n_labels) < 0) {
                free(label);
                return NULL;
        }
        p->labels[p->n_labels++] = label;
        return label;
}

void policy_clear_rule(struct policy_rule *rule) {
        free(rule->source);
        free(rule->target);
        *rule = (struct policy_rule){0};
}

void policy_clear_link(struct policy_link *link) {
        free(link->text);
        free(link->path);
        *link = (struct policy_link){0};
}

int policy_add_copy(struct nsrun_policy *p, const struct policy_rule *rule) {
        struct policy_rule copy = *rule;

        copy.source = strdup(rule->source);
        copy.target = rule->target ? strdup(rule->target) : NULL;
        copy.rank = p->config_rank;
        if (!copy.source || (rule->target && !copy.target) || ARRAY_GROW(p->rules, p->n_rules) < 0) {
                policy_clear_rule(&copy);
                return -ENOMEM;
        }
        p->rules[p->n_rules++] = copy;
        return 0;
}

int policy_add_rule(struct nsrun_policy *p, enum policy_origin origin, enum policy_access access,
                    const char *source, const char *target, const char *option) {
        const struct policy_rule rule = {.access = access,
                                         .origin = origin,
                                         .source = (char *)(uintptr_t)source,
                                         .target = (char *)(uintptr_t)target,
                                         .option = option};

        return policy_add_copy(p, &rule);
}

int policy_add_toolchain(struct nsrun_policy *p, const char *path, const char *variable, bool is_cache,
                         const char *label) {
        struct policy_toolchain t = {.path = strdup(path), .is_cache = is_cache, .label = label};

        if (variable)
                t.variable = strdup(variable);
        if (!t.path || (variable && !t.variable) || ARRAY_GROW(p->toolchains, p->n_toolchains) < 0) {
                free(t.path);
                free(t.variable);
                return -ENOMEM;
        }
        p->toolchains[p->n_toolchains++] = t;
        return 0;
}

struct policy_agent *policy_add_agent(struct nsrun_policy *p, const char *name) {
        char *copy = strdup(name);

        if (!copy || ARRAY_GROW(p->agents, p->n_agents) < 0) {
                free(copy);
                return NULL;
        }
        p->agents[p->n_agents] = (struct policy_agent){
                .name = copy, .entry = {.name = copy, .what = "of the configuration", .is_of_config = true}};
        return &p->agents[p->n_agents++];
}

int policy_add_agent_folder(struct policy_agent *agent, enum policy_access access, char *path) {
        struct agent_folder *grown = reallocarray(agent->folders, agent->n_folders + 2, sizeof(*grown));

        if (!grown) {
                free(path);
                return -ENOMEM;
        }
        grown[agent->n_folders++] = (struct agent_folder){.access = access, .path = path};
        grown[agent->n_folders] = (struct agent_folder){.path = NULL};
        agent->entry.folders = agent->folders = grown;
        return 0;
}

int policy_add_link(struct nsrun_policy *p, const char *text, const char *path) {
        _cleanup_free_ char *text_copy = strdup(text);
        _cleanup_free_ char *path_copy = strdup(path);

        if (!text_copy || !path_copy || ARRAY_GROW(p->links, p->n_links) < 0)
                return -ENOMEM;
        p->links[p->n_links++] = (struct policy_link){TAKE_PTR(text_copy), TAKE_PTR(path_copy)};
        return 0;
}

int policy_add_tmpfs(struct nsrun_policy *p, const char *path, uint64_t size) {
        _cleanup_free_ char *copy = strdup(path);

        if (!copy || ARRAY_GROW(p->tmpfs, p->n_tmpfs) < 0)
                return -ENOMEM;
        p->tmpfs[p->n_tmpfs++] = (struct policy_tmpfs){TAKE_PTR(copy), size};
        return 0;
}

void policy_set_instance(struct nsrun_policy *p, char *root, char *workspace, struct expose_list *expose) {
        free(p->instance);
        p->instance = root;
        free(p->instance_workspace);
        p->instance_workspace = workspace;
        p->profile = POLICY_PROFILE_INSTANCE;
        p->isolation = POLICY_ISOLATION_ON;
        expose_clear(&p->expose);
        p->expose = *expose;
        *expose = (struct expose_list){0};
}

bool policy_asks(const struct nsrun_policy *p) {
        return !policy_is_plain(p) && !p->no_sandbox && !p->session && p->new_session &&
               ((p->net == POLICY_NET_ALLOW && p->net_asks) || strv_contains(p->ssh_agent, SSH_AGENT_ASKS) ||
                (p->grants & 1U << GRANT_BROWSER));
}
