/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who commits here, as git on the host would say: for the environment of a sandbox that has no
 * ~/.gitconfig.  Reads git's configuration files itself and starts no program. */
#pragma once

#include "base/macro.h"

/* NULL: git would have none. */
struct identity {
        char *author_name, *author_email;
        char *committer_name, *committer_email;
};

struct identity_request {
        const char *project;  /* canonical: where git would be asked */
        char *const *environ; /* the host's: HOME, XDG_CONFIG_HOME, GIT_CONFIG_…, PWD */
        char *const
                *untrusted; /* canonical folders that the command may write to: a file there includes none */
};

/* user.*, author.* and committer.* (name and email) of the system's file, of the user's files and what
 * they include, of the project's repository, and of GIT_CONFIG_COUNT's variables.  A repository is read as
 * plain values: nothing that it includes is opened, its files count only where they are plain ones and
 * where git would not doubt their owner (safe.directory).  What git would not read, or what crosses a
 * bound: 0 with an empty *ret.  -ENOMEM. */
int identity_find(const struct identity_request *request, struct identity *ret);
void identity_clear(struct identity *id);
#define _cleanup_identity_ _cleanup_(identity_clear)

#define IDENTITY_N_VARIABLES 4
extern const char *const identity_variables[IDENTITY_N_VARIABLES];
/* Adds "GIT_AUTHOR_NAME=…" and so on, of what there is, to *v.  -ENOMEM. */
int identity_to_environment(const struct identity *id, char ***v);
