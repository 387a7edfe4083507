/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The user's and the group's names for the sandbox's own /etc/passwd and /etc/group, read from the
 * host's files.  Without NSS, which loads shared objects into a program that must start in a
 * millisecond.  Names that only a directory service knows come from $USER or $LOGNAME, else they
 * are "user" and "group". */
#pragma once

#include <sys/types.h>

#include "base/error.h"

struct user {
        char *name;
        char *group;
        char *home;  /* from passwd, or NULL */
        char *shell; /* from passwd, else $SHELL, else /bin/sh; never NULL */
};

/* The home folder: `named`, the value of HOME, if that is absolute, else the user's of passwd;
 * normalised.  NULL if neither gives one.  -ENOMEM. */
int user_find_home(const char *named, char **ret);
/* A folder of the XDG specification: what its variable names, if that is absolute, else `below` the home.
 * -ENOENT: there is no home; -ENOMEM. */
int user_find_folder(const char *variable, const char *below, char **ret);
int user_find(uid_t uid, gid_t gid, struct user *ret);
void user_clear(struct user *u);
/* Whether no user but this one and root is in the group, as far as /etc/passwd and /etc/group know: a
 * user's own group, or an empty one.  False for a group that only a directory service knows. */
bool user_is_alone_in_group(gid_t gid);
