/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Refusals that need to look at one path alone.  Those that compare two rules are in resolve.c. */
#include "refuse.h"

#include "base/path.h"
#include "host/project.h"

/* Folders that nsrun makes in every sandbox. */
static const char *const own_trees[] = {"/proc", "/dev"};
static const char *const own_files[] = {"/etc/passwd", "/etc/group", "/etc/hostname"};

static int refuse_socket(const struct resolved_rule *rule, const char *socket, struct nsrun_error *err) {
        _cleanup_free_ char *visible = str_visible(socket);
        char hint[sizeof(err->hint)];

        if (!visible)
                return error_oom(err);
        if (streq(rule->source, socket))
                return policy_refuse(err, rule->source,
                                     "whoever can connect to it is as good as root on this machine",
                                     "%s would expose a container engine's control socket", rule->option);
        (void)snprintf(
                hint, sizeof(hint),
                "whoever can connect to %s is as good as root on this machine; name the folders below "
                "that the command needs",
                visible);
        return policy_refuse(err, rule->source, hint, "%s would expose a container engine's control socket",
                             rule->option);
}

int refuse_source(const struct resolved_rule *rule, char *const *sockets, struct nsrun_error *err) {
        const char *reason;

        if (streq(rule->source, "/"))
                return policy_refuse(err, "/", "name the folders that the command needs",
                                     "%s would expose the whole file system", rule->option);
        for (size_t i = 0; i < ARRAY_SIZE(own_trees); i++)
                if (path_is_beneath(rule->source, own_trees[i]))
                        return policy_refuse(err, rule->source,
                                             "the sandbox has a /proc and a /dev of its own",
                                             "%s would expose the host's %s", rule->option, own_trees[i]);
        reason = rule->access == POLICY_RW ? writable_denied(rule->source) : NULL;
        if (reason)
                return policy_refuse(
                        err, rule->source,
                        access(rule->source, W_OK) == 0
                                ? "expose it with --ro, or use --overlay to throw away what is written"
                                : "expose it with --ro: the user may not write there on the host either",
                        "%s would make %s writable", rule->option, reason);
        STRV_FOREACH (socket, sockets)
                if (path_is_beneath(*socket, rule->source))
                        return refuse_socket(rule, *socket, err);
        return 0;
}

bool refuse_is_own(const char *target) {
        for (size_t i = 0; i < ARRAY_SIZE(own_trees); i++)
                if (path_is_beneath(target, own_trees[i]) || path_is_beneath(own_trees[i], target))
                        return true;
        for (size_t i = 0; i < ARRAY_SIZE(own_files); i++)
                if (path_is_beneath(target, own_files[i]) || path_is_beneath(own_files[i], target))
                        return true;
        return false;
}

int refuse_target(const struct nsrun_policy *p, const char *target, const char *option,
                  struct nsrun_error *err) {
        if (streq(target, "/"))
                return policy_refuse(err, target, "name a path below it",
                                     "%s would replace the sandbox's root", option);
        if (streq(target, "/etc"))
                return policy_refuse(err, target, "name the files in it that the command needs",
                                     "%s would replace the sandbox's own /etc", option);
        if (refuse_is_own(target))
                return policy_refuse(err, target,
                                     streq(option, "--tmpfs") ? "choose another path"
                                                              : "choose another target with --bind SRC:DEST",
                                     "%s would replace what nsrun makes itself", option);
        if (streq(target, "/tmp"))
                return policy_refuse(err, target, "choose what /tmp is with --tmp=DIR",
                                     "%s would replace the sandbox's /tmp", option);
        if (p->no_project && streq(target, POLICY_NO_PROJECT_DIR))
                return policy_refuse(err, target, "choose another target, or name a project",
                                     "%s would replace the folder of --no-project", option);
        return 0;
}
