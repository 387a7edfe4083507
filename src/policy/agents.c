/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See agents.h. */
#include "agents.h"

#include "withheld.h"

#define LIST(...)     ((const char *const[]){__VA_ARGS__, NULL})
#define WRITABLE(...) AGENT_FOLDER(POLICY_RW, __VA_ARGS__, {NULL, NULL})
#define OVERLAY(...)  AGENT_FOLDER(POLICY_OVERLAY, __VA_ARGS__, {NULL, NULL})
#define READABLE(...) AGENT_FOLDER(POLICY_RO, __VA_ARGS__, {NULL, NULL})
#define AGENT_FOLDER(how, where, ...)                                      \
        {                                                                  \
                .access = (how), .path = (where), .moved = { __VA_ARGS__ } \
        }

/* clang-format off */
const struct agent_entry agent_entries[] = {
#include "agents.inc"
};
/* clang-format on */
const size_t n_agent_entries = ARRAY_SIZE(agent_entries);

bool agent_find(const struct nsrun_policy *p, const char *name, struct agent_row *ret) {
        *ret = (struct agent_row){0};
        for (size_t i = 0; i < p->n_agents; i++)
                if (streq(p->agents[i].name, name)) {
                        ret->own = &p->agents[i];
                        return true;
                }
        for (size_t i = 0; i < n_agent_entries; i++)
                if (streq(agent_entries[i].name, name)) {
                        ret->shipped = &agent_entries[i];
                        return true;
                }
        return false;
}

bool agent_find_chosen(const struct nsrun_policy *p, struct agent_row *ret) {
        return p->agent && agent_find(p, p->agent, ret);
}

static const char *const *list_of(char *const *own) {
        return (const char *const *)own;
}

/* A key that --env or --unsetenv names is the user's choice, and no other is passed then. */
const char *agent_key(const struct nsrun_policy *p) {
        const char *const *keys, *found = NULL;
        struct agent_row row;

        if (!agent_find_chosen(p, &row))
                return NULL;
        keys = row.own ? list_of(row.own->keys) : row.shipped->keys;
        for (; keys && *keys; keys++) {
                const char *value = environment_get(environment_inherited(p), *keys);

                if (policy_sets(p, *keys))
                        return NULL;
                if (!found && value && *value && !policy_unsets(p, *keys))
                        found = *keys;
        }
        return found;
}

const char *const *agent_hosts(const struct nsrun_policy *p) {
        struct agent_row row;

        return !agent_find_chosen(p, &row) ? NULL : row.own ? list_of(row.own->hosts) : row.shipped->hosts;
}

const char *const *agent_protected(const struct nsrun_policy *p) {
        struct agent_row row;

        return !agent_find_chosen(p, &row) ? NULL
               : row.own                   ? list_of(row.own->protect)
                                           : row.shipped->protect;
}

const char *agent_seccomp(const struct nsrun_policy *p) {
        struct agent_row row;

        if (p->seccomp || !agent_find_chosen(p, &row))
                return p->seccomp;
        return (row.own ? row.own->is_nested : row.shipped->is_nested) ? "nested" : NULL;
}
