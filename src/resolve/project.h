/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The home folder, and the folder that is the project. */
#pragma once

#include "rules/resolved.h"

/* Where the home folder lies that `named`, the value of HOME, gives, else the user's: canonical; NULL where
 * the sandbox can't have a tmpfs at that path.  *ret_link, which may be NULL, is the path as it was named,
 * if that is another.  -ENOMEM. */
int policy_find_home(const char *named, char **ret, char **ret_link);
/* Fills s->guarded; s->home is known.  -ENOMEM. */
int home_guard(struct resolved *s);

/* Fills s->project. */
int resolve_project(struct resolved *s, struct nsrun_error *err);
/* Refuses another project than the one whose sections the configuration had: they would be the wrong ones.
 */
int project_refuse_other(const struct resolved *s, struct nsrun_error *err);
/* Finds the folder that was the project of the working directory before, below the one that is it now: its
 * .git is gone.  1: there is one, *ret; 0: there is none; -ENOMEM. */
int project_find_former(const struct resolved *s, char **ret);
