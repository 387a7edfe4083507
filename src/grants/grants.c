/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of grants, and what their finders share. */
#include "grants.h"

#include <stdarg.h>

#include "base/array.h"
#include "base/path.h"
#include "policy/agents.h"

#include "policy/withheld.h"
#include "rules/refuse.h"
#include "seccomp/load.h"

int grant_refuse(const struct granting *g, const char *path, const char *what, const char *hint) {
        return error_setf(g->err, NSRUN_STAGE_POLICY, UNSAID(-ENOENT), path, hint, "%s: %s", g->option,
                          what);
}

int grant_show(const struct granting *g, enum shown_kind kind, const char *source, const char *target,
               const char *text) {
        struct resolved_grants *to = g->to;
        struct resolved_shown shown = {.kind = kind};

        shown.target = strdup(target);
        shown.source = source ? strdup(source) : NULL;
        shown.text = text ? strdup(text) : NULL;
        if (!shown.target || (source && !shown.source) || (text && !shown.text) ||
            ARRAY_GROW(to->shown, to->n_shown) < 0) {
                resolved_shown_clear(&shown);
                return error_oom(g->err);
        }
        to->shown[to->n_shown++] = shown;
        return 0;
}

int grant_set(const struct granting *g, const char *name, const char *value) {
        return strv_consume(&g->to->variables, str_concat(name, "=", value)) < 0 ? error_oom(g->err) : 0;
}

int grant_say(const struct granting *g, const char *format, ...) {
        _cleanup_free_ char *text = NULL;
        char *line;
        va_list ap;
        int n;

        va_start(ap, format);
        n = vasprintf(&text, format, ap);
        va_end(ap);
        if (n < 0)
                text = NULL;
        line = text ? str_concat(g->option, ": ", text) : NULL;
        return !line || strv_consume(&g->to->gives, line) < 0 ? error_oom(g->err) : 0;
}

const char *grant_variable(const struct granting *g, const char *name) {
        const char *value = environment_get(environment_inherited(g->s->policy), name);

        return value && *value ? value : NULL;
}

bool grant_can_open(const char *path) {
        struct stat st;

        return lstat(path, &st) == 0 && S_ISCHR(st.st_mode) && access(path, R_OK | W_OK) == 0;
}

/* Shows a device node; refuses one that isn't there, or that the user can't open. */
static int grant_device(const struct granting *g, const char *path, const char *module) {
        struct stat st;

        if (lstat(path, &st) < 0 || !S_ISCHR(st.st_mode)) {
                char hint[sizeof(g->err->hint)];

                (void)snprintf(hint, sizeof(hint),
                               "as root: modprobe %s; in a container: pass it the device", module);
                return grant_refuse(g, path, "the host has no such device", hint);
        }
        if (!grant_can_open(path))
                return grant_refuse(g, path, "this user may not open the host's device",
                                    st.st_mode & S_IWGRP && st.st_gid != 0
                                            ? "add the user to the device's group (ls -l names it), and log "
                                              "in again"
                                            : "its mode (ls -l) lets root alone do so");
        return grant_show(g, SHOWN_DEVICE, path, path, NULL);
}

int grant_runtime_path(const struct granting *g, const char *name, char **ret) {
        char folder[48];
        int r = 0;

        (void)snprintf(folder, sizeof(folder), "/run/user/%u", (unsigned)g->s->inner_uid);
        if (!environment_get(g->to->variables, "XDG_RUNTIME_DIR")) {
                r = grant_show(g, SHOWN_OWN_FOLDER, NULL, folder, NULL);
                if (r >= 0)
                        r = grant_set(g, "XDG_RUNTIME_DIR", folder);
        }
        if (r < 0)
                return r;
        *ret = path_join(folder, name);
        return *ret ? 0 : error_oom(g->err);
}

/* Refuses what a command may have put there, a link on the way to it, and a container engine's socket. */
static int grant_judge(const struct granting *g, struct resolved_rule *rule, const char *spelled) {
        const struct trust trust = resolved_trust(g->s);
        char what[64];
        int r = refuse_source(rule, g->s->sockets, g->err);

        if (r < 0)
                return r;
        rule->spelled = strdup(spelled);
        if (!rule->spelled)
                return error_oom(g->err);
        (void)snprintf(what, sizeof(what), "what %s would show", g->option);
        return refuse_changeable(&trust, rule, what, g->err);
}

int grant_find(const struct granting *g, const char *path, unsigned type, char **ret) {
        _cleanup_(resolved_rule_clear) struct resolved_rule rule = {.access = POLICY_RO,
                                                                    .option = g->option};
        unsigned mode = 0;
        int r;

        if (!path_is_absolute(path))
                return 0;
        r = path_canonical(path, &rule.source, &mode);
        if (r == -ENOMEM)
                return error_oom(g->err);
        if (r < 0 || (mode & S_IFMT) != type)
                return 0;
        r = grant_judge(g, &rule, path);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(rule.source);
        return 1;
}

int grant_place(const struct granting *g, enum shown_kind kind, const char *source, const char *name,
                const char *text, const char *variable, const char *prefix) {
        _cleanup_free_ char *target = NULL, *value = NULL;
        int r = grant_runtime_path(g, name, &target);

        if (r >= 0)
                r = grant_show(g, kind, source, target, text);
        if (r < 0 || !variable)
                return r;
        value = str_concat(prefix, target, "");
        return value ? grant_set(g, variable, value) : error_oom(g->err);
}

int grant_bind(const struct granting *g, const char *path, unsigned type, const char *name,
               const char *variable, const char *prefix) {
        _cleanup_free_ char *source = NULL;
        int r = grant_find(g, path, type, &source);

        if (r > 0)
                r = grant_place(g, SHOWN_FILE, source, name, NULL, variable, prefix);
        return r < 0 ? r : source != NULL;
}

static int grant_kvm(const struct granting *g) {
        int r = grant_device(g, "/dev/kvm", "kvm_intel (or kvm_amd)");

        return r < 0 ? r
                     : grant_say(g, "virtual machines (/dev/kvm), and with them the kernel's code that "
                                    "runs these");
}

/* fusermount is setuid, which is nothing in a sandbox: what mounts is the command itself, in a user
 * namespace of its own (FUSE may be mounted there since 4.18). */
static int grant_fuse(const struct granting *g) {
        const char *seccomp = agent_seccomp(g->s->policy);
        const struct seccomp_shipped *shipped = seccomp_find_shipped(seccomp ? seccomp : "default", NULL);
        int r;

        if (shipped && !streq(shipped->name, "nested"))
                return grant_refuse(g, NULL, "no command can mount under this seccomp policy",
                                    "add --seccomp=nested: it may then do so in namespaces of its own "
                                    "(unshare -Urm), and needs no fusermount, which is setuid and gets no "
                                    "rights inside");
        r = grant_device(g, "/dev/fuse", "fuse");
        return r < 0 ? r
                     : grant_say(g, "file systems of the command's own (/dev/fuse) in namespaces of its own "
                                    "(unshare -Urm), and the kernel's code for these; fusermount, which is "
                                    "setuid, gets no rights inside");
}

static int (*const finders[GRANTS_COUNT])(const struct granting *g) = {
        [GRANT_KVM] = grant_kvm,
        [GRANT_FUSE] = grant_fuse,
        [GRANT_GPU] = grant_gpu,
        [GRANT_SOUND] = grant_sound,
        [GRANT_DISPLAY] = grant_display,
        [GRANT_SSH_AGENT] = grant_ssh_agent,
        [GRANT_GPG_AGENT] = grant_gpg_agent,
        [GRANT_DBUS] = grant_dbus,
        [GRANT_BROWSER] = grant_browser,
};

int grants_resolve(const struct resolved *s, struct resolved_grants *to, struct nsrun_error *err) {
        for (unsigned i = 0; i < GRANTS_COUNT; i++) {
                char option[32];
                const struct granting g = {.s = s, .to = to, .option = option, .err = err};
                int r;

                if (!(s->policy->grants & (1U << i)))
                        continue;
                (void)snprintf(option, sizeof(option), "--%s", policy_grants[i]);
                r = finders[i](&g);
                if (r < 0)
                        return r;
        }
        return 0;
}
