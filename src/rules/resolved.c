/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frees what a policy came to. */
#include "resolved.h"

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
        for (size_t i = 0; i < s->files.n_rules; i++)
                resolved_rule_clear(&s->files.rules[i]);
        free(s->files.rules);
        for (size_t i = 0; i < s->files.n_links; i++)
                policy_clear_link(&s->files.links[i]);
        free(s->files.links);
        strv_free(s->files.folders);
        for (size_t i = 0; i < s->files.n_tmpfs; i++)
                free(s->files.tmpfs[i].path);
        free(s->files.tmpfs);
        resolved_rule_clear(&s->files.tmp);
        free(s->plain);
        free(s->cwd);
        strv_free(s->sockets);
        free(s->home);
        free(s->home_link);
        free(s->guarded);
        name_list_clear(&s->home_names);
        free(s->project);
        for (size_t i = 0; i < OWN_FOLDERS; i++)
                free(s->own[i]);
        strv_free(s->files.writable);
        for (size_t i = 0; i < s->tools.n_toolchains; i++)
                resolved_toolchain_clear(&s->tools.toolchains[i]);
        free(s->tools.toolchains);
        strv_free(s->tools.unseen);
        exposed_clear(&s->known);
        strv_free(s->files.exposes);
        for (size_t i = 0; i < s->grants.n_shown; i++)
                resolved_shown_clear(&s->grants.shown[i]);
        free(s->grants.shown);
        strv_free(s->grants.variables);
        strv_free(s->grants.gives);
        free(s->grants.ssh_agent);
        strv_free(s->grants.dbus);
        free(s->grants.browser);
        free(s->grants.programs_first);
        free(s->grants.wayland);
        strv_free(s->files.carried);
        strv_free(s->net.rules);
        secret_forget(&s->net.via);
        strv_free(s->net.keys);
        strv_free(s->net.key_uses);
        secret_forget(&s->net.key_values);
        strv_free(s->net.key_copies);
        strv_free(s->net.lacks);
        strv_free(s->net.key_variables);
        strv_free(s->net.git_addresses);
        free(s->seccomp);
        variables_clear(&s->environment.variables);
        strv_free(s->environment.left_out);
        strv_free(s->environment.secrets);
        strv_free(s->git.identity);
        strv_free(s->git.worktrees);
        strv_free(s->git.trees);
        free(s->git.hooks);
        free(s->git.repositorys_hooks);
        strv_free(s->git.included);
        strv_free(s->git.programs);
        free(s->git.settings);
        strv_free(s->git.lacks);
        free(s->git.ignores);
        for (size_t i = 0; i < s->tools.n_settings; i++) {
                free(s->tools.settings[i].path);
                free(s->tools.settings[i].text);
        }
        free(s->tools.settings);
        strv_free(s->files.ephemeral);
        for (size_t i = 0; i < s->files.n_hidden; i++)
                free(s->files.hidden[i].path);
        free(s->files.hidden);
        strv_free(s->protection.names);
        strv_free(s->protection.present);
        strv_free(s->protection.private);
        strv_free(s->protection.kept);
        strv_free(s->protection.git_dirs);
        strv_free(s->protection.git_links);
        free(s->git.dir);
        free(s->git.common_dir);
        free(s->instance.root);
        free(s->instance.workspace);
        strv_free(s->instance.variables);
        *s = (struct resolved){0};
}
