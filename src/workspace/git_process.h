/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Running the host's git over a repository that nobody trusts: one reading
 * subcommand, no shell, a deadline.  For nothing that writes. */
#pragma once

#include "base/macro.h"

/* The value of a variable in a vector of "NAME=VALUE", or NULL. */
const char *git_process_variable(char *const *environment, const char *name);

/* The first executable `git` in PATH's absolute folders whose file does not lie
 * beneath one of `untrusted`, as PATH spells it.  -ENOENT; -ENOMEM. */
int git_process_find(char *const *environment, char *const *untrusted, char **ret);

/* `git config --null --get-regexp PATTERN` in `folder`: its output, of *ret_length
 * bytes and a NUL.  `git config` reads files and, unlike most of git, starts no
 * program that they name.  -ETIME: it took longer than two seconds, and is dead;
 * -EFBIG: it had too much to say; -ENODATA: it failed, or found nothing; -ENOMEM. */
int git_process_config(const char *git, const char *folder, char *const *environment, const char *pattern,
                       char **ret, size_t *ret_length);
