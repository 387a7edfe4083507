/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of agents that people run whole in a sandbox (--agent NAME): which folders are theirs, which key
 * they need, which hosts, and what of what they write comes to the host.  agents.inc is the shipped table; a
 * configuration adds rows of its own. */
#pragma once

#include "policy.h"

/* A shipped row, and by which release of the agent scripts/check-agents has seen it to be whole; NULL: by
 * none, since no registry that it uses has the agent. */
struct agent_shipped {
        struct agent_entry entry;
        const char *version, *date;
        const char *login; /* the options and the command by which one logs in inside; NULL: as outside */
};
extern const struct agent_shipped agent_entries[];
extern const size_t n_agent_entries;

/* Finds a row: the configuration's, else the shipped one; NULL: there is none. */
const struct agent_entry *agent_find(const struct nsrun_policy *p, const char *name);
/* The row that --agent names. */
const struct agent_entry *agent_chosen(const struct nsrun_policy *p);

/* Whether a part of the path is "@", or begins with "@-": the project's name to the agent. */
bool agent_is_of_project(const struct agent_folder *folder);

/* The variable that is passed although it holds the agent's key; NULL: none. */
const char *agent_key(const struct nsrun_policy *p);
/* The policy's --seccomp, or what an agent with a sandbox of its own needs; NULL: nobody says. */
const char *agent_seccomp(const struct nsrun_policy *p);
