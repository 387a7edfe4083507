/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The instance profile: a root folder of an agent host's own, a home within it for what runs, and
 * the paths that a command line names.  The behaviour is that of picoclaw's pkg/isolation, but that
 * homes and system folders which picoclaw would expose stay hidden. */
#pragma once

#include "rules/resolved.h"

/* Number of an instance's folders, its root among them; and the one of them that is the command's HOME. */
enum {
        INSTANCE_N_DIRS = 12
};
#define INSTANCE_HOME "runtime-user-env/home"
const char *instance_dir(size_t i);

/* Finds the instance root: `asked`, else $NSRUN_HOME of `environment`, else ~/.nsrun.  *ret is the
 * canonical path that it has, or will have once it is made; *ret_spelled (may be NULL) is as it was
 * named.  `asked` and `home` may be NULL.  -EINVAL, -EPERM with *err filled: it is relative, a home
 * or a system folder. */
int instance_find_root(const char *asked, char *const *environment, const char *home, char **ret,
                       char **ret_spelled, struct nsrun_error *err);
/* Finds the workspace, if the policy names one; errors as the root's. */
int instance_find_workspace(struct resolved *s, struct nsrun_error *err);
/* The working directory where no project is given: the workspace that is named; the current folder, if none
 * is named or it lies in that one.  -errno. */
int instance_find_start(const struct resolved *s, char **ret);
/* The five variables ("NAME=VALUE") that point into the instance's `root`. */
int instance_environment(const char *root, char ***ret);
/* Makes the folder, or the empty file, `path` and the folders on the way, 0755 and 0644 less the umask.
 * Follows no symlink, so that none that a command planted leads out of the instance.  `what` names it
 * in messages.  -ELOOP, -ENOTDIR and mkdir(2)'s and open(2)'s errors, with *err filled. */
int instance_make(const char *path, bool is_folder, const char *what, struct nsrun_error *err);
/* instance_make() for all folders of an instance; `workspace` is the one that is named, or NULL. */
int instance_make_dirs(const char *root, const char *workspace, struct nsrun_error *err);

/* Finds the instance root, and adds the rules for it, its workspace and the expose paths. */
int instance_add_rules(struct resolved *s, struct nsrun_error *err);
/* Adds rules for the executable and the paths that the command line names, unless another rule
 * shows them.  All other rules must be known. */
int instance_add_command(struct resolved *s, struct nsrun_error *err);
