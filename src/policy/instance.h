/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The instance profile: a root folder of an agent host's own, a home within it for what
 * runs, and the paths that a command line names.  The behaviour is that of picoclaw's
 * pkg/isolation, less what it gives away of homes and system folders. */
#pragma once

#include "resolved.h"

/* Below the root; the command's HOME is the fifth. */
enum {
        INSTANCE_N_DIRS = 12
};
#define INSTANCE_HOME "runtime-user-env/home"
const char *instance_dir(size_t i);

/* The root that was `asked` for, else $NSRUN_HOME of `environment`, else ~/.nsrun: canonical, as it is or
 * will be.  `asked` and `home` may be NULL.  -EINVAL, -EPERM with *err filled: relative, a home or a
 * system folder.  *ret_spelled (may be NULL): as it was named. */
int instance_find_root(const char *asked, char *const *environment, const char *home, char **ret,
                       char **ret_spelled, struct nsrun_error *err);
/* "NAME=VALUE" for the five variables that point into `root`. */
int instance_environment(const char *root, char ***ret);
/* Makes the folders, 0755 less the umask.  Follows no symlink, so that none that a command
 * planted leads out of the root.  -ELOOP, -ENOTDIR and what else the kernel says, with *err filled. */
int instance_make_dirs(const char *root, struct nsrun_error *err);

/* Finds the root, and adds its rule and the expose paths'. */
int instance_add_rules(struct resolved *s, struct nsrun_error *err);
/* What the executable and the arguments name, but for what all other rules, which are known by now,
 * show already. */
int instance_add_command(struct resolved *s, struct nsrun_error *err);
