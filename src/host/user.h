/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The user's and the group's names for the synthetic /etc/passwd and /etc/group,
 * read from the host's files.  No NSS: it loads shared objects into a program
 * that must start in a millisecond; names that only a directory service knows
 * come from $USER/$LOGNAME, else are "user"/"group". */
#pragma once

#include <sys/types.h>

#include "base/error.h"

struct user {
        char *name;
        char *group;
        char *home;  /* from passwd, or NULL */
        char *shell; /* never NULL: passwd, $SHELL, /bin/sh */
};

/* What `named`, the value of HOME, says where that is absolute, else the home of the user in passwd,
 * normalised; NULL: neither says one.  -ENOMEM. */
int user_find_home(const char *named, char **ret);
int user_find(uid_t uid, gid_t gid, struct user *ret);
void user_clear(struct user *u);
