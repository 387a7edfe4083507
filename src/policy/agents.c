/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agents.h"

#include "withheld.h"

#define LIST(...)     ((const char *const[]){__VA_ARGS__, NULL})
#define FOLDERS(...)  ((const struct agent_folder[]){__VA_ARGS__, {.path = NULL}})
#define WRITABLE(...) AGENT_FOLDER(POLICY_RW, NULL, __VA_ARGS__, {NULL, NULL})
#define OVERLAY(...)  AGENT_FOLDER(POLICY_OVERLAY, NULL, __VA_ARGS__, {NULL, NULL})
#define READABLE(...) AGENT_FOLDER(POLICY_RO, NULL, __VA_ARGS__, {NULL, NULL})
/* The file's members come last. */
#define MIXED(where, move, ...) AGENT_FOLDER(POLICY_RW, LIST(__VA_ARGS__), where, AGENT_MOVED move)
#define AGENT_MOVED(variable, below) \
        { variable, below }
#define AGENT_FOLDER(how, which, where, ...)                                                   \
        {                                                                                      \
                .access = (how), .path = (where), .members = (which), .moved = { __VA_ARGS__ } \
        }

/* clang-format off */
const struct agent_shipped agent_entries[] = {
#include "agents.inc"
};
/* clang-format on */
const size_t n_agent_entries = ARRAY_SIZE(agent_entries);

const struct agent_entry *agent_find(const struct nsrun_policy *p, const char *name) {
        for (size_t i = 0; i < p->n_agents; i++)
                if (streq(p->agents[i].name, name))
                        return &p->agents[i].entry;
        for (size_t i = 0; i < n_agent_entries; i++)
                if (streq(agent_entries[i].entry.name, name))
                        return &agent_entries[i].entry;
        return NULL;
}

const struct agent_entry *agent_chosen(const struct nsrun_policy *p) {
        return p->agent ? agent_find(p, p->agent) : NULL;
}

bool agent_is_of_project(const struct agent_folder *folder) {
        return strstr(folder->path, "/@/") || strstr(folder->path, "/@-");
}

/* A key that --env or --unsetenv names is the user's choice, and no other is passed then. */
const char *agent_key(const struct nsrun_policy *p) {
        const struct agent_entry *agent = agent_chosen(p);
        const char *const *keys = agent ? agent->keys : NULL, *found = NULL;

        for (; keys && *keys; keys++) {
                const char *value = environment_get(environment_inherited(p), *keys);

                if (policy_sets(p, *keys))
                        return NULL;
                if (!found && value && *value && !policy_unsets(p, *keys))
                        found = *keys;
        }
        return found;
}

const char *agent_seccomp(const struct nsrun_policy *p) {
        const struct agent_entry *agent = agent_chosen(p);

        return p->seccomp ? p->seccomp : agent && agent->is_nested ? "nested" : NULL;
}
