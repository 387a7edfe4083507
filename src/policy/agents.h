/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of agents that people run whole in a sandbox (--agent NAME): which folders are theirs, which key
 * they need, which hosts, and what of their settings a command must not write.  agents.inc is the shipped
 * table; a configuration adds rows of its own. */
#pragma once

#include "policy.h"

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

/* The row that --agent names. */
bool agent_find_chosen(const struct nsrun_policy *p, struct agent_row *ret);

/* The variable that is passed although it holds the agent's key; NULL: none. */
const char *agent_key(const struct nsrun_policy *p);
/* The agent's hosts, as --allow takes them; NULL: none. */
const char *const *agent_hosts(const struct nsrun_policy *p);
/* Globs that are protected at the top of its writable folders; NULL: none. */
const char *const *agent_protected(const struct nsrun_policy *p);
/* The policy's --seccomp, or what an agent with a sandbox of its own needs; NULL: nobody says. */
const char *agent_seccomp(const struct nsrun_policy *p);
