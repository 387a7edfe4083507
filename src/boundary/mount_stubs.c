/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A writable folder of the host in which some names can't be made, with nothing of theirs on the host
 * (--protect=strict).  The folder is an overlay's upper layer, so that what is written reaches it; the lower
 * one has stubs on a tmpfs, which is all that the overlay takes from there.  Each stub's place is covered by
 * a read-only bind: a mount point can't be replaced, renamed or removed.  Then the stubs are deleted from
 * the lower layer, so that no listing has them (a mount keeps its mount point's dentry, and tmpfs never has
 * one looked up again), and so is the overlay's work folder: without it the overlay can copy nothing up and
 * leave no whiteout. */
#include <fcntl.h>
#include <limits.h>
#include <sys/mount.h>

#include "base/beneath.h"
#include "decimal.h"
#include "mount.h"

/* What is bound over the stubs. */
#define COVER_EMPTY      "empty"
#define COVER_UNREADABLE "unreadable"
#define COVER_COMMONDIR  "commondir"
#define COVER_FOLDER     "folder" /* in which there is nothing */
#define COVER_CLOSED     "closed" /* in which nothing can be looked for */

static int stubs_fail(struct mounting *m, const struct plan_op *op, int r, const char *what,
                      const char *hint) {
        return error_set(m->error, NSRUN_STAGE_OVERLAY, r, op->target, what, hint);
}

static int make_file(int folder, const char *name, mode_t mode, const char *text) {
        _cleanup_close_ int fd = sys_open(folder, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, mode);
        ssize_t n = fd < 0 || !*text ? fd : sys_write(fd, text, strlen(text));

        return n < 0 ? (int)n : 0;
}

/* The tmpfs for all stubs of the plan.  It lies in the run directory, by the old root, with which it goes;
 * what is bound of it, and the overlays, hold on to it.  A commondir that says "." is what git makes of
 * none. */
static int open_stubs(struct mounting *m) {
        _cleanup_close_ int place = -EBADF;
        int r = mount_open_rundir(m);

        if (r < 0 || m->stubs_fd >= 0)
                return r;
        r = sys_mkdirat(m->rundir_fd, "stubs", 0700);
        if (r >= 0)
                r = place = beneath_open(m->rundir_fd, "stubs", O_PATH | O_DIRECTORY, 0);
        if (r >= 0)
                r = mount_filesystem(AT(place), "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755");
        if (r >= 0)
                r = m->stubs_fd = beneath_open(m->rundir_fd, "stubs", O_RDONLY | O_DIRECTORY, 0);
        if (r >= 0)
                r = make_file(m->stubs_fd, COVER_EMPTY, 0444, "");
        if (r >= 0)
                r = make_file(m->stubs_fd, COVER_UNREADABLE, 0, "");
        if (r >= 0)
                r = make_file(m->stubs_fd, COVER_COMMONDIR, 0444, ".\n");
        if (r >= 0)
                r = sys_mkdirat(m->stubs_fd, COVER_FOLDER, 0555);
        return r < 0 ? r : sys_mkdirat(m->stubs_fd, COVER_CLOSED, 0444);
}

/* The stub's name, without the slash of a folder's. */
static size_t split(const char *stub, char name[NAME_MAX + 1], bool *ret_is_folder) {
        size_t n = strlen(stub);

        *ret_is_folder = n > 0 && stub[n - 1] == '/';
        n -= *ret_is_folder;
        if (n == 0 || n > NAME_MAX)
                return 0;
        memcpy(name, stub, n);
        name[n] = '\0';
        return n;
}

static int make_stubs(int lower, char *const *stubs) {
        int r = 0;

        STRV_FOREACH (stub, stubs) {
                char name[NAME_MAX + 1];
                bool is_folder;

                if (split(*stub, name, &is_folder) == 0)
                        return -ENAMETOOLONG;
                r = is_folder ? sys_mkdirat(lower, name, 0555) : make_file(lower, name, 0444, "");
                if (r < 0)
                        return r;
        }
        return r;
}

static int remove_stubs(int lower, char *const *stubs) {
        STRV_FOREACH (stub, stubs) {
                char name[NAME_MAX + 1];
                bool is_folder;
                int r = split(*stub, name, &is_folder) == 0 ? -ENAMETOOLONG
                        : is_folder                         ? sys_rmdirat(lower, name)
                                                            : sys_unlinkat(lower, name);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* git would commit an empty file in the place of one that it tracks, and take what isn't in an empty folder
 * for deleted; what it can't look at it leaves as it is.  In a git dir it tracks nothing, and warns of what
 * it can't open.  Nor may agents stop at a folder of theirs, which they look into themselves. */
static const char *choose_cover(const struct plan_op *op, const char *name, bool is_folder) {
        static const char *const agents[] = {".agents", ".claude", ".codex", ".cursor", ".gemini"};

        if (!is_folder && !op->is_git_dir)
                return COVER_UNREADABLE;
        if (!is_folder)
                return strcmp(name, COVER_COMMONDIR) == 0 ? COVER_COMMONDIR : COVER_EMPTY;
        for (size_t i = 0; i < ARRAY_SIZE(agents); i++)
                if (strcmp(agents[i], name) == 0)
                        return COVER_FOLDER;
        return op->is_git_dir ? COVER_FOLDER : COVER_CLOSED;
}

static int cover_stub(struct mounting *m, const struct plan_op *op, int merged, const char *stub) {
        _cleanup_close_ int cover = -EBADF, target = -EBADF;
        char name[NAME_MAX + 1] = "";
        bool is_folder;

        (void)split(stub, name, &is_folder);
        cover = beneath_open(m->stubs_fd, choose_cover(op, name, is_folder), O_PATH, 0);
        target = cover < 0 ? cover : beneath_open(merged, name, O_PATH | (is_folder ? O_DIRECTORY : 0), 0);
        if (target < 0)
                return stubs_fail(
                        m, op, target,
                        "a protected name was made while the sandbox was being built, so that it can't be "
                        "kept free",
                        "look who made it, and start again");
        return mount_attach(m, op, cover, AT(target),
                            MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, false);
}

/* "uuid=null" (6.6) keeps the overlay from writing its id into the folder; older kernels write none.  Not
 * "volatile": what the command syncs is the host's. */
static int mount_layers(const struct mount_place *at, int lower, int upper, int work, unsigned long flags) {
        char options[128], number[24];
        int r;

        strcpy(options, "userxattr,lowerdir=");
        strcat(options, number_format(number, (uint64_t)lower));
        strcat(options, ",upperdir=");
        strcat(options, number_format(number, (uint64_t)upper));
        strcat(options, ",workdir=");
        strcat(options, number_format(number, (uint64_t)work));
        strcat(options, ",uuid=null");
        r = mount_filesystem(at, "overlay", flags, options);
        if (r != -EINVAL)
                return r;
        options[strlen(options) - strlen(",uuid=null")] = '\0';
        return mount_filesystem(at, "overlay", flags, options);
}

/* With a work folder in the run directory, which is deleted at once. */
static int mount_upper(struct mounting *m, const struct mount_place *at, int lower, int upper) {
        static const char name[] = "stubs-work";
        _cleanup_close_ int work = -EBADF;
        unsigned long flags = 0;
        int r = sys_mount_flags(upper, NULL, &flags);

        if (r >= 0)
                r = sys_mkdirat(m->rundir_fd, name, 0700);
        if (r >= 0)
                r = work = beneath_open(m->rundir_fd, name, O_RDONLY | O_DIRECTORY, 0);
        if (r >= 0)
                r = mount_layers(at, lower, upper, work, MS_NOSUID | MS_NODEV | (flags & MS_NOEXEC));
        if (r >= 0)
                r = sys_rmdirat(work, "work");
        return r < 0 ? r : sys_rmdirat(m->rundir_fd, name);
}

static int fail_overlay(struct mounting *m, const struct plan_op *op, int r) {
        static const char leave[] = "leave --protect=strict out";

        if (r == -ENODEV)
                return stubs_fail(m, op, r, "--protect=strict needs overlayfs, which the kernel hasn't",
                                  "load the module: sudo modprobe overlay (CONFIG_OVERLAY_FS)");
        if (r == -EPERM)
                return stubs_fail(
                        m, op, r,
                        "--protect=strict needs overlays in a user namespace, which the kernel refuses",
                        "Linux before 5.11 does, or AppArmor or SELinux (see the kernel log): leave "
                        "--protect=strict out");
        if (r == -EINVAL || r == -EOPNOTSUPP)
                return stubs_fail(
                        m, op, r,
                        "--protect=strict can't hold in this folder: its file system can't be an overlay's "
                        "upper layer, or another is mounted in it",
                        leave);
        return stubs_fail(m, op, r, "--protect=strict: the folder's overlay can't be mounted", leave);
}

int mount_with_stubs(struct mounting *m, const struct plan_op *op) {
        _cleanup_close_ int upper = -EBADF, lower = -EBADF, merged = -EBADF;
        _cleanup_place_ struct mount_place at = PLACE_NONE;
        unsigned long flags = MS_RDONLY;
        char number[24];
        int r = open_stubs(m);

        if (r < 0)
                return error_set(m->error, NSRUN_STAGE_OVERLAY, r, m->b->rundir_path,
                                 "the stubs for protected names can't be made", NULL);
        upper = beneath_open(m->old_root, op->source + 1, O_PATH | O_DIRECTORY, 0);
        if (upper < 0)
                return error_set(m->error, NSRUN_STAGE_OVERLAY, upper, op->source,
                                 "the source can't be opened", NULL);
        r = mount_point(m, op, &at);
        if (r < 0)
                return r;
        /* Each overlay's lower folder is named by a number that is in use for this operation alone. */
        (void)number_format(number, (uint64_t)(op - m->b->ops));
        r = sys_mkdirat(m->stubs_fd, number, 0700);
        if (r >= 0)
                r = lower = beneath_open(m->stubs_fd, number, O_RDONLY | O_DIRECTORY, 0);
        if (r >= 0)
                r = make_stubs(lower, op->stubs);
        if (r < 0)
                return stubs_fail(m, op, r, "the stubs for protected names can't be made", NULL);
        r = mount_upper(m, &at, lower, upper);
        if (r < 0)
                return fail_overlay(m, op, r);
        merged = beneath_open(m->new_root, op->target + 1, O_PATH | O_DIRECTORY, 0);
        r = merged < 0 ? merged : sys_mount_flags(merged, NULL, &flags);
        if (r < 0 || (flags & MS_RDONLY))
                return fail_overlay(m, op, r < 0 ? r : -EROFS);
        STRV_FOREACH (stub, op->stubs)
                if ((r = cover_stub(m, op, merged, *stub)) < 0)
                        return r;
        r = remove_stubs(lower, op->stubs);
        return r < 0 ? stubs_fail(m, op, r, "the stubs for protected names can't be hidden", NULL) : 0;
}
