/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values of options that have a grammar of their own: hosts and ports, a proxy, globs, what a grant lets
 * through, an agent.  Looks at values alone, never at the host. */
#include "values.h"

#include "agents.h"
#include "desktop/dbus.h"
#include "host/glob.h"
#include "host/walk.h"
#include "keys/use.h"

#define MOST_BYTES 1000 /* of a key's name, or a rule of --dbus */

static int apply_list(struct nsrun_policy *p, const struct option_spec *spec, const char *value,
                      struct nsrun_error *err) {
        if (!net_list_find(value + 1))
                return option_refuse(spec, value, "no list of that name", "'nsrun net list' has them all",
                                     err);
        return strv_add(p->config_label ? &p->network_config : &p->network, value) < 0 ? error_oom(err) : 0;
}

int network_apply_option(void *target, const struct option_spec *spec, const char *value,
                         struct nsrun_error *err) {
        bool is_deny = streq(spec->name, "deny"), is_publish = streq(spec->name, "publish");
        struct nsrun_policy *p = target;
        struct net_publish publish;
        struct net_rule rule;
        const char *why;
        char *line;

        if (!is_deny && !is_publish && value[0] == '@')
                return apply_list(p, spec, value, err);
        why = is_publish ? net_publish_parse(value, &publish) : net_rule_parse(value, is_deny, &rule);
        if (why)
                return option_refuse(
                        spec, value, why,
                        is_publish ? "write PORT, PORT:INSIDE or ADDRESS:PORT:INSIDE"
                        : is_deny  ? "write a name, *.NAME, an address or ADDRESS/BITS"
                                   : "write a name, *.NAME, an address, ADDRESS/BITS, localhost or "
                                     "@LIST, and :PORT,PORT after it",
                        err);
        line = is_publish ? net_publish_format(&publish) : net_rule_format(&rule);
        if (!line || strv_consume(p->config_label ? &p->network_config : &p->network, line) < 0)
                return error_oom(err);
        return 0;
}

int key_apply_option(void *target, const struct option_spec *spec, const char *value,
                     struct nsrun_error *err) {
        struct nsrun_policy *p = target;
        bool is_use = streq(spec->name, "key-use");
        char ***to = is_use ? &p->key_uses : &p->keys, name[KEY_NAME_MOST + 1];
        enum key_source_kind kind;
        struct key_use use;
        const char *what,
                *why = is_use ? key_use_read(value, &use) : key_source_read(value, name, &kind, &what);

        /* It may be the key itself: not a word of it. */
        if (why)
                return option_refuse(spec, NULL, why,
                                     is_use ? "write NAME=https://HOST/PATH, and fields behind commas: "
                                              "header=x-api-key: *, variable=X_BASE_URL"
                                            : "write NAME, NAME=env:OTHER, NAME=file:PATH or "
                                              "NAME=command:TEXT",
                                     err);
        return strv_contains(*to, value) || strv_add(to, value) >= 0 ? 0 : error_oom(err);
}

static const char proxy_hint[] = "write http://HOST:PORT, socks5://HOST:PORT or socks5h://HOST:PORT, with "
                                 "USER:PASSWORD@ before HOST where it wants that; env; or none";

int proxy_apply_option(void *target, const struct option_spec *spec, const char *value,
                       struct nsrun_error *err) {
        struct nsrun_policy *p = target;
        struct net_proxy proxy;
        char *copy = strdup(value);
        const char *why;
        int r;

        if (!copy)
                return error_oom(err);
        why = !*value ? "an empty value" : streq(value, "env") ? NULL : net_proxy_parse(value, &proxy);
        if (!why) {
                explicit_bzero(&proxy, sizeof(proxy));
                secret_forget(&p->net_via);
                p->net_via = copy;
                return 0;
        }
        net_proxy_hide(copy);
        r = option_refuse(spec, *copy ? copy : NULL, why, proxy_hint, err);
        free(copy);
        return r;
}

int protect_apply_option(void *target, const struct option_spec *spec, const char *value,
                         struct nsrun_error *err) {
        struct nsrun_policy *p = target;
        int r = option_refuse_braces(spec, value, err);

        if (r < 0)
                return r;
        if (streq(spec->name, "protect") && streq(value, "strict")) {
                p->protects_strictly = true;
                return 0;
        }
        if (startswith(value, "strict,"))
                return option_refuse(spec, value, "'strict' stands alone", "give the option twice", err);
        if (strstr(value, "**"))
                return option_refuse(spec, value, "no tree is searched for such names",
                                     "name the folder, as in 'src/*.conf'; a '*' matches in one folder",
                                     err);
        if (!glob_is_expandable(value))
                return option_refuse(spec, value, "not a name below a writable folder",
                                     "such a name is relative, without '.', '..' and empty parts", err);
        return strv_add(streq(spec->name, "protect") ? &p->protect : &p->no_protect, value) < 0
                       ? error_oom(err)
                       : 0;
}

int hide_apply_option(void *target, const struct option_spec *spec, const char *value,
                      struct nsrun_error *err) {
        struct nsrun_policy *p = target;
        _cleanup_free_ char *normal = NULL;
        int r = walk_normalise(value, &normal);

        /* A shell leaves it as it is in --hide=~/NAME and in quotes; it would name nothing. */
        if (value[0] == '~' && (!value[1] || value[1] == '/'))
                return option_refuse(spec, value, "no shell has made a path of '~'",
                                     "write the path, or '\\~' for a name that begins so", err);
        if (r == -EINVAL)
                return option_refuse(spec, value, "not a glob of names to hide",
                                     "it has no empty part, '.' or '..', and doesn't begin with '!'", err);
        if (r >= 0 && option_refuse_braces(spec, value, err) < 0)
                return -EINVAL;
        return r < 0 || strv_add(&p->hide, value) < 0 ? error_oom(err) : 0;
}

const char *const policy_grants[GRANTS_COUNT] = {
        [GRANT_KVM] = "kvm",
        [GRANT_FUSE] = "fuse",
        [GRANT_GPU] = "gpu",
        [GRANT_SOUND] = "sound",
        [GRANT_DISPLAY] = "display",
        [GRANT_SSH_AGENT] = "ssh-agent",
        [GRANT_GPG_AGENT] = "gpg-agent",
        [GRANT_DBUS] = "dbus",
        [GRANT_BROWSER] = "browser",
};

int grant_apply_option(void *target, const struct option_spec *spec, nsrun_unused const char *value,
                       nsrun_unused struct nsrun_error *err) {
        struct nsrun_policy *p = target;

        for (unsigned i = 0; i < GRANTS_COUNT; i++)
                if (streq(policy_grants[i], spec->name))
                        p->grants |= 1U << i;
        return 0;
}

int grant_ssh_apply(void *target, const struct option_spec *spec, const char *value,
                    struct nsrun_error *err) {
        struct nsrun_policy *p = target;

        if (!*value || strlen(value) > MOST_BYTES || strchr(value, '\n'))
                return option_refuse(
                        spec, value, "not a key",
                        "give SHA256:... as 'ssh-add -l' prints it, a key's comment, ask or all", err);
        if (!strv_contains(p->ssh_agent, value) && strv_add(&p->ssh_agent, value) < 0)
                return error_oom(err);
        return grant_apply_option(target, spec, value, err);
}

int grant_dbus_apply(void *target, const struct option_spec *spec, const char *value,
                     struct nsrun_error *err) {
        struct nsrun_policy *p = target;
        struct dbus_rule rule;
        int r = strlen(value) > MOST_BYTES ? -EINVAL : dbus_rule_read(value, &rule);

        if (r == -EPERM)
                return option_refuse(spec, value, "the bus itself",
                                     "name the services; what a client needs of the bus it always has", err);
        if (r < 0)
                return option_refuse(spec, value, "not a rule",
                                     "give a name of the bus (org.example.Name, org.example.*), own=NAME, "
                                     "see=NAME, call=NAME=INTERFACE.METHOD@/PATH or broadcast=NAME=...",
                                     err);
        if (!strv_contains(p->dbus, value) && strv_add(&p->dbus, value) < 0)
                return error_oom(err);
        return grant_apply_option(target, spec, value, err);
}

int agent_apply_option(void *target, const struct option_spec *spec, const char *value,
                       struct nsrun_error *err) {
        struct nsrun_policy *p = target;
        char *copy;

        if (!agent_find(p, value))
                return option_refuse(spec, value, "no agent of that name",
                                     "'nsrun agents' has them all; a configuration adds one", err);
        copy = strdup(value);
        if (!copy)
                return error_oom(err);
        free(p->agent);
        p->agent = copy;
        return 0;
}
