/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frees what a policy came to. */
#include "resolved.h"

#include "net/proxy.h"

void resolved_rule_clear(struct resolved_rule *rule) {
        free(rule->source);
        free(rule->target);
        strv_free(rule->aliases);
        free(rule->spelled);
        strv_free(rule->stubs);
        *rule = (struct resolved_rule){0};
}

void resolved_toolchain_clear(struct resolved_toolchain *t) {
        free(t->path);
        free(t->why);
        *t = (struct resolved_toolchain){0};
}

void resolved_shown_clear(struct resolved_shown *shown) {
        free(shown->source);
        free(shown->target);
        free(shown->text);
        *shown = (struct resolved_shown){.source = NULL};
}

void resolved_clear(struct resolved *s) {
        for (size_t i = 0; i < s->n_rules; i++)
                resolved_rule_clear(&s->rules[i]);
        free(s->rules);
        for (size_t i = 0; i < s->n_links; i++)
                policy_clear_link(&s->links[i]);
        free(s->links);
        for (size_t i = 0; i < s->n_tmpfs; i++)
                free(s->tmpfs[i].path);
        free(s->tmpfs);
        resolved_rule_clear(&s->tmp);
        free(s->plain);
        free(s->cwd);
        strv_free(s->sockets);
        free(s->home);
        free(s->project);
        strv_free(s->writable);
        for (size_t i = 0; i < s->n_toolchains; i++)
                resolved_toolchain_clear(&s->toolchains[i]);
        free(s->toolchains);
        strv_free(s->unseen);
        exposed_clear(&s->known);
        strv_free(s->exposes);
        for (size_t i = 0; i < s->n_shown; i++)
                resolved_shown_clear(&s->shown[i]);
        free(s->shown);
        strv_free(s->granted);
        strv_free(s->gives);
        free(s->ssh_agent);
        strv_free(s->dbus);
        free(s->browser);
        free(s->programs_first);
        free(s->wayland);
        strv_free(s->agent_folders);
        strv_free(s->network);
        net_proxy_forget(&s->via);
        free(s->seccomp);
        variables_clear(&s->env);
        strv_free(s->left_out);
        strv_free(s->secrets);
        strv_free(s->identity);
        free(s->git_settings);
        free(s->git_ignores);
        for (size_t i = 0; i < s->n_settings; i++) {
                free(s->settings[i].path);
                free(s->settings[i].text);
        }
        free(s->settings);
        strv_free(s->ephemeral);
        strv_free(s->reserved);
        for (size_t i = 0; i < s->n_hidden; i++)
                free(s->hidden[i].path);
        free(s->hidden);
        strv_free(s->protected);
        strv_free(s->present);
        strv_free(s->git_dirs);
        strv_free(s->git_links);
        free(s->git_dir);
        free(s->git_common_dir);
        free(s->instance_root);
        free(s->instance_workspace);
        strv_free(s->instance_env);
        *s = (struct resolved){0};
}
