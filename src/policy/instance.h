/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The instance profile: a root folder of an agent host's own, a home within it for what
 * runs, and the paths that a command line names.  The behaviour is that of picoclaw's
 * pkg/isolation, less what it gives away of homes and system folders. */
#pragma once

#include "policy.h"

/* Below the root; the command's HOME is the fifth. */
enum {
        INSTANCE_N_DIRS = 12
};
#define INSTANCE_HOME "runtime-user-env/home"
const char *instance_dir(size_t i);

/* The root that --instance, $NSRUN_HOME or the home folder gives: canonical, as it is or will
 * be.  -EINVAL, -EPERM with *err filled: relative, a home or a system folder.  *ret_spelled
 * (may be NULL): as it was named. */
int instance_find_root(const struct nsrun_policy *p, char **ret, char **ret_spelled,
                       struct nsrun_error *err);
/* "NAME=VALUE" for the five variables that point into `root`. */
int instance_environment(const char *root, char ***ret);
/* Makes the folders, 0755 less the umask.  Follows no symlink, so that none that a command
 * planted leads out of the root.  -ELOOP, -ENOTDIR and what else the kernel says, with *err filled. */
int instance_make_dirs(const char *root, struct nsrun_error *err);

/* The root's rule and the expose paths'; to be resolved like those that the user gave. */
int instance_add_rules(struct nsrun_policy *p, struct nsrun_error *err);
/* The executable and the arguments, once all other rules are canonical; `cwd` may be NULL. */
int instance_add_command(struct nsrun_policy *p, const char *cwd, struct nsrun_error *err);
