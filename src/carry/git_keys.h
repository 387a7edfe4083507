/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which keys of a repository's configuration may come out of a sandbox: those of a table, with values that
 * name no program, no file and no way to a place that a command can write. */
#pragma once

#include "base/macro.h"

/* Whether the host's configuration may have this value for a key, which is as git prints it; a key without
 * "=" is NULL. */
bool git_key_is_carried(const char *key, const char *value);
/* Whether a key may be taken out: a branch's or a submodule's, as both are. */
bool git_key_can_go(const char *key);
/* Whether the key says which remote and which branch of it a branch follows, or is pushed to. */
bool git_key_leads(const char *key);
/* Whether the key says where a remote is, where what is pushed to it goes, or what is fetched of it;
 * *ret_name is the remote's name, *ret_n bytes long. */
bool git_key_is_of_remote(const char *key, const char **ret_name, size_t *ret_n);
