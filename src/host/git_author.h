/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who commits here, as git on the host would say: for the environment of a sandbox that has no
 * ~/.gitconfig.  Reads git's configuration files itself and starts no program. */
#pragma once

#include "base/macro.h"

#define IDENTITY_N_VARIABLES 4
extern const char *const identity_variables[IDENTITY_N_VARIABLES]; /* GIT_AUTHOR_NAME and so on */

/* How the user's files have commits signed.  What the repository's say is git's to read inside, but for a
 * commit.gpgSign that is false. */
struct identity_signing {
        char *key, *format; /* user.signingKey, gpg.format; or NULL */
        bool commits, tags; /* commit.gpgSign, tag.gpgSign */
};

/* What git would use. */
struct identity {
        char *values[IDENTITY_N_VARIABLES]; /* of these; NULL where git would have none */
        char *settings; /* the user's harmless ones (gitorders.h), as a file of configuration; or NULL */
        char *hooks;    /* what the user's files have for core.hooksPath; or NULL */
        bool hooks_are_users;    /* the file that says so is no command's */
        char *repositorys_hooks; /* what the repository's have; or NULL */
        char **included;         /* paths of what they include, under any condition, and of what git takes
                                     attributes and templates from; absolute */
        char **programs;         /* values of their keys that name a program by a path, as they stand */
        char *overfull;          /* the file of theirs that names more than these two hold; or NULL */
        struct identity_signing signing;
        bool has_repository; /* the project is in one */
        char *ignores; /* the text of core.excludesFile, or of the file that git reads without it; or NULL */
};

struct identity_request {
        const char *project;    /* the folder, canonical, in which git would be asked; NULL: of none */
        bool has_plain_git;     /* its .git is known to be a folder; false: that is looked at */
        bool has_no_git;        /* likewise: there is none, nor in a folder above */
        char *const *environ;   /* the caller's: HOME, XDG_CONFIG_HOME, GIT_CONFIG_…, PWD count */
        char *const *untrusted; /* canonical folders that a command may write to: a file there may not
                                   include another */
};

/* Finds the name and email of user.*, author.* and committer.* in the system's file, in the user's
 * files and what they include, in the project's repository, and in GIT_CONFIG_COUNT's variables.
 * Of includeIf gitdir and hasconfig are followed.  Of a repository only plain files count, and nothing that
 * they include is opened.  Where git would fail to read a file, or a bound is crossed: 0, and nothing but
 * `hooks`, `included`, `programs` and `overfull` in *ret.  -ENOMEM. */
int identity_find(const struct identity_request *request, struct identity *ret);
void identity_clear(struct identity *id);
#define _cleanup_identity_ _cleanup_(identity_clear)

/* Adds "GIT_AUTHOR_NAME=…" and so on to *v, for those of `id` that aren't NULL.  -ENOMEM. */
int identity_to_environment(const struct identity *id, char ***v);
