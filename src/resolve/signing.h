/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commits that an agent signs. */
#pragma once

#include "host/git_author.h"
#include "rules/resolved.h"

/* Adds to git->settings what git needs to have commits signed by the agent of --ssh-agent or --gpg-agent:
 * the key's public half, and that they are signed; else to git->lacks that they aren't, if the user has them
 * signed.  -ENOMEM. */
int git_find_signing(const struct resolved *s, const struct identity *id, struct resolved_git *git);
