/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What went wrong, as bubblewrap says it: scripts and agents look for these words. */
#include "build.h"

static char *namespace_message(const struct nsrun_error *failure) {
        switch (failure->error) {
        case EINVAL:
                return str_format(
                        "Creating new namespace failed, likely because the kernel does not support user "
                        "namespaces.");
        case EPERM:
                return str_format(
                        "No permissions to create a new namespace, likely because the kernel does not allow "
                        "non-privileged user namespaces. See /proc/sys/kernel/unprivileged_userns_clone, "
                        "/proc/sys/user/max_user_namespaces and, on Ubuntu, "
                        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns.");
        case ENOSPC:
        case EUSERS:
                return str_format(
                        "Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces "
                        "exceeded (ENOSPC)");
        }
        return str_format("Creating new namespace failed: %s", error_words(failure->error));
}

/* Whether the failure's path lies in the new root: bubblewrap names it by its place before the last pivot,
 * "/newroot/…". */
static bool is_named_in_new_root(const struct nsrun_error *failure) {
        return failure->id == NSRUN_ERROR_MOUNT_IN_ROOT;
}

/* Whether it is boundary/mount.c's, which knows nothing of bubblewrap's words. */
static bool is_of_bind(const struct plan_op *op, const struct nsrun_error *failure) {
        if (failure->id == NSRUN_ERROR_MOUNT_POINT_KIND)
                return op->kind == PLAN_DATA || op->kind == PLAN_BIND;
        return op->kind == PLAN_BIND &&
               (failure->id == NSRUN_ERROR_BIND || failure->id == NSRUN_ERROR_FILTER_MOVE);
}

/* mount(2) says EINVAL of a loop of mount namespaces, move_mount(2) ELOOP. */
static char *bind_message(const struct plan_op *op, const struct nsrun_error *failure) {
        if (failure->error == ENOTDIR)
                return str_format("Can't create file at %s: %s", op->target, error_words(EISDIR));
        return str_format(
                "Can't bind mount /oldroot%s on /newroot%s%s: Unable to mount source on destination: %s",
                op->source, op->target[0] == '/' ? "" : "/", op->target,
                error_words(failure->error == ELOOP ? EINVAL : failure->error));
}

static char *remount_message(const struct nsrun_error *failure) {
        const char *slash = failure->path[0] == '/' ? "" : "/";

        if (failure->error == EINVAL)
                return str_format("%s /newroot%s%s: Unable to find \"/newroot%s%s\" in mount table",
                                  failure->what, slash, failure->path, slash, failure->path);
        return str_format("%s /newroot%s%s: realpath(destination): %s", failure->what, slash, failure->path,
                          error_words(failure->error));
}

/* `op`: what failed; NULL if it was none of the plan's operations. */
static char *mount_message(const struct plan_op *op, const struct nsrun_error *failure) {
        const char *error = error_words(failure->error);

        if (op && is_of_bind(op, failure))
                return bind_message(op, failure);
        if (op && op->kind == PLAN_REMOUNT_RO)
                return remount_message(failure);
        if (op && op->kind == PLAN_CHMOD)
                return str_format("%s %#o %s: %s", failure->what, op->mode, failure->path, error);

        if (failure->id == NSRUN_ERROR_SYMLINK)
                return str_format("%s %s: existing destination is %s", failure->what, failure->path,
                                  failure->hint);
        if (!failure->path[0])
                return str_format("%s: %s", failure->what, error);
        if (is_named_in_new_root(failure))
                return str_format("%s /newroot%s%s: %s", failure->what, failure->path[0] == '/' ? "" : "/",
                                  failure->path, error);
        return str_format("%s %s: %s", failure->what, failure->path, error);
}

static char *map_message(const struct nsrun_error *failure) {
        const char *error = error_words(failure->error);

        if (strstr(failure->path, "uid_map"))
                return str_format("setting up uid map: %s", error);
        if (strstr(failure->path, "gid_map"))
                return str_format("setting up gid map: %s", error);
        if (strstr(failure->path, "setgroups"))
                return str_format("error writing to setgroups: %s", error);
        if (failure->id == NSRUN_ERROR_USERNS_LEFT)
                return str_format("%s", failure->what);
        if (failure->id == NSRUN_ERROR_IDS)
                return str_format("%s %s: %s", failure->what, failure->path, error);
        return str_format("%s: %s", failure->what, error);
}

static char *filter_message(const struct nsrun_error *failure) {
        if (failure->error == EINVAL)
                return str_format(
                        "Unable to set up system call filtering as requested: prctl(PR_SET_SECCOMP) reported EINVAL. (Hint: this requires a kernel configured with CONFIG_SECCOMP and CONFIG_SECCOMP_FILTER.)");
        if (failure->error == EBUSY)
                return str_format(
                        "Can't hear of denied calls: a sandbox around this one does (leave --report out)");
        return str_format("prctl(PR_SET_SECCOMP): %s", error_words(failure->error));
}

char *bwrap_message(const struct nsrun_plan *plan, const struct nsrun_error *failure, int operation) {
        /* The number is the sandbox's, whose command may have written it (boundary/report.c). */
        const struct plan_op *op =
                operation >= 0 && (size_t)operation < plan->n_ops ? &plan->ops[operation] : NULL;
        const char *error = error_words(failure->error);

        switch (failure->stage) {
        case NSRUN_STAGE_NAMESPACE:
                if (failure->id == NSRUN_ERROR_NAMESPACES_UNUSABLE)
                        return str_format("Failed to make / slave: %s", error);
                return namespace_message(failure);
        case NSRUN_STAGE_USAGE:
                if (failure->id == NSRUN_ERROR_HOSTNAME)
                        return str_format("Can't set hostname to %s: %s", failure->path, error);
                return mount_message(op, failure);
        case NSRUN_STAGE_IDMAP:
                return map_message(failure);
        case NSRUN_STAGE_NETWORK:
                /* bubblewrap sets loopback's address first, so it is that step which fails with EPERM. */
                return str_format("loopback: Failed %s: %s",
                                  failure->error == EPERM ? "RTM_NEWADDR" : "RTM_NEWLINK", error);
        case NSRUN_STAGE_HARDENING:
                if (failure->id == NSRUN_ERROR_NO_SECCOMP || failure->id == NSRUN_ERROR_FILTER_SECCOMP)
                        return filter_message(failure);
                return mount_message(op, failure);
        case NSRUN_STAGE_EXEC:
                return str_format("execvp %s: %s", plan->raw->file, error);
        default:
                return mount_message(op, failure);
        }
}
