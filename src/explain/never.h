/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What no reason proposes to expose, to make writable or to uncover, whatever a command fails for. */
#pragma once

#include "plan/plan.h"

/* Of a path (absolute, normalised) in a folder of keys, of a secret's name, of an agent's folder, of the
 * system's state, or that the repository's configuration names, or to write what the host's programs obey of
 * a home: *ret is what is said instead; NULL: it may be proposed.  Of a secret it is the same whether it
 * exists or not.  -ENOMEM. */
int explain_never(const struct nsrun_plan *plan, const char *path, bool to_write, char **ret);
/* Whether the file of a key of --key's lies there, by the names that were given. */
bool explain_has_key_file(const struct nsrun_plan *plan, const char *path);
/* The same of a path in the host's /tmp where programs keep tickets, sockets of agents and what else stands
 * for a login.  -ENOMEM. */
int explain_never_of_tmp(const char *path, char **ret);
/* Whether all of one of the system's folders lies there; and whether the path lies in one. */
bool explain_is_whole_system(const char *path);
bool explain_is_in_system(const char *path);
/* Whether the user may write at a path on the host, or make it. */
bool explain_may_write(const char *path);

/* Whether the configuration of the project's repository names the path, what it lies in, or what lies in it:
 * whoever made the repository has chosen it, and a command of git's asks for it.  1: *ret_key, for the
 * caller to free, does; 0; -ENOMEM. */
int explain_repository_names(const struct nsrun_plan *plan, const char *path, char **ret_key);
