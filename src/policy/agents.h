/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of agents that people run whole in a sandbox (--agent NAME): which folders are theirs, which key
 * they need, which hosts, and what of their settings a command must not write.  agents.inc is the shipped
 * table; a configuration adds rows of its own. */
#pragma once

#include "resolved.h"

#define AGENT_FOLDERS_MOST 8
#define AGENT_MOVES_MOST   2

/* A variable that names another place: the folder is `below` its value ("": the value itself). */
struct agent_move {
        const char *variable, *below;
};

/* A folder or file of an agent's.  One that is missing is left out. */
struct agent_folder {
        enum policy_access access;
        const char *path; /* absolute, or "~/…" */
        struct agent_move moved[AGENT_MOVES_MOST];
};

/* A row of the shipped table.  Lists end with NULL, or are NULL. */
struct agent_entry {
        const char *name, *what;
        struct agent_folder folders[AGENT_FOLDERS_MOST]; /* the first without a path ends them */
        const char *const *protect; /* globs at the top of its writable folders that are read-only */
        const char *const *keys;    /* the first of these variables that is set is passed */
        const char *const *hosts;   /* what --net=allow lets be reached beside the rules given */
        bool is_nested;             /* it brings a sandbox of its own: --seccomp=nested unless said */
};

extern const struct agent_entry agent_entries[];
extern const size_t n_agent_entries;

/* Finds a row: the configuration's, else the shipped one.  Of the two at most one is set. */
struct agent_row {
        const struct policy_agent *own;
        const struct agent_entry *shipped;
};
bool agent_find(const struct nsrun_policy *p, const char *name, struct agent_row *ret);

/* --agent: refuses a name that there is no row of. */
struct option_spec;
int agent_apply_option(void *target, const struct option_spec *spec, const char *value,
                       struct nsrun_error *err);

/* Adds rules for the agent's folders, and fills s->agent_folders.  Nothing without --agent. */
int agent_add_rules(struct resolved *s, struct nsrun_error *err);
/* Decides s->agent_key: which variable is passed although it holds a key; NULL: none. */
void agent_choose_key(struct resolved *s);
/* The agent's hosts, as --allow takes them; NULL: none. */
const char *const *agent_hosts(const struct nsrun_policy *p);
/* Globs that are protected at the top of the writable folder `path`; NULL: none. */
const char *const *agent_protected(const struct resolved *s, const char *path);
/* The policy's --seccomp, or what an agent with a sandbox of its own needs; NULL: nobody says. */
const char *agent_seccomp(const struct nsrun_policy *p);
