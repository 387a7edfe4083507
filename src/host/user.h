/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The user's and the group's names for the sandbox's own /etc/passwd and /etc/group, read from the
 * host's files.  Without NSS, which loads shared objects into a program that must start in a
 * millisecond.  Names that only a directory service knows come from $USER or $LOGNAME, else they
 * are "user" and "group". */
#pragma once

#include <sys/stat.h>

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
/* What git 2.52 passes over before a path of its configuration that needn't be there. */
#define GIT_OPTIONAL ":(optional)"

/* A path as git and a shell take it: "~/" begins the home's (`home`, which may be NULL), "~NAME/" that of
 * passwd's user, and GIT_OPTIONAL says nothing.  *ret, for the caller to free; NULL: there is no such home.
 * -ENOMEM. */
int user_expand(const char *home, const char *path, char **ret);
int user_find(uid_t uid, gid_t gid, struct user *ret);
/* The home that the text of a passwd file, anybody's, has for a uid.  1: *ret, for the caller to free; 0;
 * -ENOMEM. */
int user_home_in(const char *text, uid_t uid, char **ret);
/* 1: the group that a process of the user has by rights: passwd's, and of one who isn't there, or says none,
 * that with the uid's number where no group has it.  0: none is known; -ENOMEM. */
int user_find_group(uid_t uid, gid_t *ret);
void user_clear(struct user *u);
#define USER_WRITERS_SIZE 64
/* Who besides its owner and root may write to the file or folder `fd`, which may be O_PATH and of which
 * fstat(2) said `st`, in words for a message: "others", or "the group NAME" (in `words`).  NULL: nobody; a
 * group that has this user alone, or nobody, is none, as far as /etc/passwd and /etc/group know: so is what
 * umask 002 leaves.  Others are a group that only a directory service knows, and whom an access list names.
 */
const char *user_writers(int fd, const struct stat *st, char words[USER_WRITERS_SIZE]);
/* Whether others can look a name up in the folder at `fd`. */
bool user_lets_others_in(int fd, const struct stat *st);
