/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who commits here, as git on the host would say: for the environment of a
 * sandbox that has no ~/.gitconfig.  Executes nothing that a repository names. */
#pragma once

#include "base/macro.h"

/* NULL: git would have none. */
struct identity {
        char *author_name, *author_email;
        char *committer_name, *committer_email;
};

struct identity_request {
        const char *project;    /* canonical: where git would be asked */
        const char *common_dir; /* of a believed .git file (gitdir.h); NULL: look for a .git folder */
        char *const *environ;   /* the host's: HOME, XDG_CONFIG_HOME, PATH, GIT_CONFIG… */
        char *const *untrusted; /* canonical folders that the command may write to: no git is run there */
};

/* Reads git's configuration files where they are plain, which nearly all are: some
 * 30 microseconds.  Where they include others, or are not where git looks by itself,
 * runs `git config`, 2 milliseconds, and waits for it two seconds at most.  No git
 * in PATH, no identity, a broken configuration: 0 with an empty *ret.  -ENOMEM. */
int identity_find(const struct identity_request *request, struct identity *ret);
void identity_clear(struct identity *id);

#define IDENTITY_N_VARIABLES 4
extern const char *const identity_variables[IDENTITY_N_VARIABLES];
/* Adds "GIT_AUTHOR_NAME=…" and so on, of what there is, to *v.  -ENOMEM. */
int identity_to_environment(const struct identity *id, char ***v);
#define _cleanup_identity_ _cleanup_(identity_clear)

/* The two ways on their own, for the test that they agree.  -EAGAIN: the files
 * don't tell all.  `git` is absolute. */
int identity_read(const struct identity_request *request, struct identity *ret);
int identity_ask(const struct identity_request *request, const char *git, struct identity *ret);
