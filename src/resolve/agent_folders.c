/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --agent NAME: a row of the table, the configuration's or the shipped one, becomes rules.  Every rule is
 * one of nsrun's own: an option or a configuration that names the same folder decides. */
#include "agent_folders.h"

#include "base/path.h"
#include "policy/agents.h"
#include "policy/withheld.h"
#include "rules/refuse.h"
#include "rules/rules.h"

static const char of_agent[] = "--agent";

/* Where a folder is: a variable's place, if the command gets that variable.  A value
 * that is no absolute path moves nothing.  1: *ret; 0: nobody knows the home; -ENOMEM. */
static int place_folder(const struct resolved *s, const struct agent_folder *folder, char **ret) {
        for (size_t i = 0; i < AGENT_MOVES_MOST && folder->moved[i].variable; i++) {
                const char *base = environment_passed(s->policy, folder->moved[i].variable);

                if (!base || !path_is_absolute(base))
                        continue;
                *ret = *folder->moved[i].below ? path_join(base, folder->moved[i].below) : strdup(base);
                return *ret ? 1 : -ENOMEM;
        }
        if (folder->path[0] != '~')
                *ret = strdup(folder->path);
        else if (s->home)
                *ret = path_join(s->home, folder->path + 2);
        else
                return 0;
        return *ret ? 1 : -ENOMEM;
}

/* Adds a rule, and remembers the folder for what is protected in it. */
static int agent_add_rule(struct resolved *s, enum plan_origin of_readable, enum policy_access access,
                          const char *path, struct nsrun_error *err) {
        _cleanup_free_ char *canonical = NULL;
        int r = resolve_default(s, access == POLICY_RW ? PLAN_BY_AGENT : of_readable, access, path, of_agent,
                                err);

        if (r < 0 || access != POLICY_RW)
                return r;
        if (path_canonical(path, &canonical, NULL) == -ENOMEM)
                return error_oom(err);
        return canonical && strv_add(&s->agent_folders, canonical) < 0 ? error_oom(err) : 0;
}

int agent_add_rules(struct resolved *s, struct nsrun_error *err) {
        const struct agent_entry *agent = agent_chosen(s->policy);
        const struct agent_folder *folder = agent ? agent->folders : NULL;

        if (agent && policy_is_instance(s->policy))
                return policy_refuse(
                        err, NULL, "leave one of the two out",
                        "--agent can't be had with the instance profile, which has a home of its own");
        for (; folder && folder->path; folder++) {
                _cleanup_free_ char *path = NULL;
                int r = place_folder(s, folder, &path);

                if (r < 0)
                        return error_oom(err);
                r = r > 0 ? agent_add_rule(s, agent->is_of_config ? PLAN_BY_READABLE : PLAN_BY_TABLE,
                                           folder->access, path, err)
                          : 0;
                if (r < 0)
                        return r;
        }
        return 0;
}
