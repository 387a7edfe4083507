/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The mounts that are not one call: an overlay with its own upper and work folders, the scratch
 * folder, and /proc, which a container may refuse. */
#include <fcntl.h>
#include <sys/mount.h>

#include "base/beneath.h"
#include "base/path.h"
#include "mount.h"
#include "number.h"
#include "report.h"

/* Where --overlay-backing=tmpfs keeps the upper layers: a tmpfs laid over the
 * old root's /proc, which nothing needs any more (the descriptors folder is
 * already the working directory) and which goes when the old root goes.  The overlays hold on to it. */
static int overlay_tmpfs(struct mounting *m, const struct plan_op *op) {
        _cleanup_close_ int place = -EBADF;
        char data[64] = "mode=0700,size=", number[24];
        int r;

        place = beneath_open(m->old_root, "proc", O_PATH | O_DIRECTORY, 0);
        if (place < 0)
                return place;
        strcat(data, number_format(number, op->size));
        r = mount_filesystem(place, "tmpfs", MS_NOSUID | MS_NODEV, data);
        if (r < 0)
                return r;
        return beneath_open(m->old_root, "proc", O_RDONLY | O_DIRECTORY, 0);
}

/* The run directory, opened anew: the caller's descriptor belongs to a mount of the
 * caller's namespace, and overlayfs takes layers from its own alone, as a bind does
 * its source.  It must still be the folder that the caller locked. */
int mount_open_rundir(struct mounting *m) {
        _cleanup_close_ int fd = -EBADF;
        struct stat given, found;
        int r;

        if (m->rundir_fd >= 0)
                return 0;
        fd = beneath_open(m->old_root, m->params->rundir_path + 1, O_RDONLY | O_DIRECTORY, 0);
        r = fd < 0 ? fd : sys_fstat(m->params->rundir_fd, &given);
        if (r >= 0)
                r = sys_fstat(fd, &found);
        if (r >= 0 && (given.st_dev != found.st_dev || given.st_ino != found.st_ino))
                r = -ESTALE;
        if (r < 0)
                return r;
        m->rundir_fd = TAKE_FD(fd);
        return 0;
}

/* The plan is older than the run directory: puts its name where the plan has one of the
 * same length.  The plan's strings are the child's own copies by now. */
int mount_name_rundir(struct mounting *m) {
        const char *planned = m->plan->rundir, *path = m->params->rundir_path;
        size_t n = planned ? strlen(planned) : 0,
               named = planned ? (size_t)(path_basename(planned) - planned) : 0;

        if (!planned)
                return 0;
        if (!path || strlen(path) != n || memcmp(path, planned, named) != 0)
                return error_set(m->error, NSRUN_STAGE_WORKSPACE, -ESTALE, planned,
                                 "the cache folder is not where it was when the plan was made",
                                 "make the plan anew");
        for (size_t i = 0; i < m->plan->n_ops; i++) {
                const struct plan_op *op = &m->plan->ops[i];

                if (path_is_beneath(op->target, planned))
                        memcpy(op->target + named, path + named, n - named);
                if (op->is_in_rundir)
                        memcpy(op->source + named, path + named, n - named);
        }
        return 0;
}

int mount_open_scratch(struct mounting *m, const struct plan_op *op) {
        int r = mount_open_rundir(m);

        return r < 0 ? r : beneath_open(m->rundir_fd, path_basename(op->source), O_PATH | O_DIRECTORY, 0);
}

/* Where the layers are kept: the run directory, or the tmpfs instead of it. */
static int overlay_folder(struct mounting *m, const struct plan_op *op) {
        bool is_disk = m->plan->backing == POLICY_BACKING_DISK;
        int r = 0;

        if (is_disk)
                r = mount_open_rundir(m);
        else if (m->overlay_fd < 0)
                r = m->overlay_fd = overlay_tmpfs(m, op);
        if (r < 0)
                return error_set(m->error, NSRUN_STAGE_OVERLAY, r,
                                 is_disk ? m->params->rundir_path : op->target,
                                 is_disk ? "the run directory can't be opened"
                                         : "the tmpfs for the upper layers can't be mounted",
                                 NULL);
        return is_disk ? m->rundir_fd : m->overlay_fd;
}

static int make_layer(int parent, const char *name, mode_t mode) {
        int fd, r;

        r = sys_mkdirat(parent, name, 0700);
        if (r < 0 && r != -EEXIST)
                return r;
        fd = beneath_open(parent, name, O_RDONLY | O_DIRECTORY, 0);
        if (fd < 0)
                return fd;
        /* The upper folder's mode is what the merged root shows. */
        r = sys_fchmod(fd, mode);
        if (r < 0) {
                (void)sys_close(fd);
                return r;
        }
        return fd;
}

/* "lowerdir=N,upperdir=N,workdir=N" in descriptors, relative to the working
 * directory: no path to escape, none to walk again, none to see in the
 * sandbox's mountinfo.  "volatile" (5.10): what is written is thrown away, and
 * without it the end of every run would sync the cache folder's whole disk. */
static void overlay_options(char to[128], int lower, int upper, int work) {
        char number[24];

        strcpy(to, "userxattr,volatile,lowerdir=");
        strcat(to, number_format(number, (uint64_t)lower));
        strcat(to, ",upperdir=");
        strcat(to, number_format(number, (uint64_t)upper));
        strcat(to, ",workdir=");
        strcat(to, number_format(number, (uint64_t)work));
}

/* Whether `folder`'s file system carries an overlay of an ordinary folder: then it is the lower folder that
 * can't be one.  With layers of its own: a failed mount may have left its mark in the others ("volatile").
 */
static bool carries_another(int target, int folder) {
        static const char *const names[] = {"lower", "upper", "work"};
        _cleanup_close_ int probe = make_layer(folder, "probe", 0700);
        int layers[ARRAY_SIZE(names)] = {-EBADF, -EBADF, -EBADF};
        char options[128];
        int r = probe;

        for (size_t i = 0; i < ARRAY_SIZE(names) && r >= 0; i++)
                r = layers[i] = make_layer(probe, names[i], 0700);
        if (r >= 0) {
                overlay_options(options, layers[0], layers[1], layers[2]);
                r = mount_filesystem(target, "overlay", MS_NOSUID | MS_NODEV, options);
        }
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                close_fdp(&layers[i]);
        return r >= 0;
}

static int overlay_fail(struct mounting *m, const struct plan_op *op, int r) {
        if (r == -EINVAL || r == -EOPNOTSUPP)
                return error_set(
                        m->error, NSRUN_STAGE_OVERLAY, r, op->target,
                        m->plan->backing == POLICY_BACKING_DISK
                                ? "the cache folder's file system can't carry an overlay's upper layer"
                                : "a tmpfs can't carry an overlay's upper layer on this kernel",
                        m->plan->backing == POLICY_BACKING_DISK
                                ? "use --overlay-backing=tmpfs, or point XDG_CACHE_HOME at a local disk"
                                : "use --overlay-backing=disk");
        if (r == -ENODEV)
                return error_set(m->error, NSRUN_STAGE_OVERLAY, r, op->target, "the kernel has no overlayfs",
                                 "load the module: modprobe overlay (CONFIG_OVERLAY_FS)");
        if (r == -EPERM)
                return error_set(
                        m->error, NSRUN_STAGE_OVERLAY, r, op->target,
                        "the kernel refuses overlays in a user namespace",
                        "Linux before 5.11 does, or AppArmor or SELinux (see the kernel log): use --ro "
                        "or --rw for this folder, which takes the overlay's place");
        if (r == -ENOSPC || r == -EDQUOT)
                return error_set(m->error, NSRUN_STAGE_OVERLAY, r, op->target,
                                 "there is no room for the overlay's layers",
                                 m->plan->backing == POLICY_BACKING_DISK
                                         ? "the cache folder's disk is full: make room, or use "
                                           "--overlay-backing=tmpfs"
                                         : "raise --tmpfs-size");
        return error_set(m->error, NSRUN_STAGE_OVERLAY, r, op->target, "the overlay can't be mounted", NULL);
}

int mount_overlay(struct mounting *m, const struct plan_op *op) {
        _cleanup_close_ int lower = -EBADF, folder = -EBADF, upper = -EBADF, work = -EBADF, target = -EBADF;
        char options[128];
        unsigned long flags = MS_RDONLY;
        struct stat st;
        int layers, r;

        layers = overlay_folder(m, op);
        if (layers < 0)
                return layers;
        lower = beneath_open(m->old_root, op->source + 1, O_PATH | O_DIRECTORY, 0);
        r = lower < 0 ? lower : sys_fstat(lower, &st);
        if (r < 0)
                return error_set(m->error, NSRUN_STAGE_OVERLAY, r, op->source,
                                 "the lower folder can't be opened", NULL);
        folder = make_layer(layers, op->text, 0700);
        upper = folder < 0 ? folder : make_layer(folder, "upper", st.st_mode & 07777);
        work = upper < 0 ? upper : make_layer(folder, "work", 0700);
        if (work < 0)
                return overlay_fail(m, op, work);
        target = mount_point(m, op);
        if (target < 0)
                return target;
        overlay_options(options, lower, upper, work);
        r = mount_filesystem(target, "overlay", MS_NOSUID | MS_NODEV, options);
        if (r == -EINVAL && carries_another(target, folder))
                return error_set(
                        m->error, NSRUN_STAGE_OVERLAY, r, op->source,
                        "the folder's file system can't be below an overlay",
                        "one that is made of overlays on overlays can't, nor one that folds case: use "
                        "--ro or --rw for it, which takes the overlay's place");
        if (r < 0)
                return overlay_fail(m, op, r);
        /* Unable to make its work folder, overlayfs mounts all the same, read-only: that is
         * refused. */
        close_fdp(&target);
        target = beneath_open(m->new_root, op->target + 1, O_PATH | O_DIRECTORY, 0);
        r = target < 0 ? target : sys_mount_flags(target, &flags);
        if (r < 0 || (flags & MS_RDONLY))
                return overlay_fail(m, op, r < 0 ? r : -ENOSPC);
        return 0;
}

static int proc_new(int target, const char *options) {
        return mount_filesystem(target, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, options);
}

static int proc_host(struct mounting *m, const struct plan_op *op, int target) {
        _cleanup_close_ int source = -EBADF;

        source = beneath_open(m->old_root, "proc", O_PATH | O_DIRECTORY, 0);
        if (source < 0)
                return source;
        /* Read-only: the files of the host's own processes are there to write to. */
        return mount_attach(m, op, source, target,
                            MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
                            true);
}

int mount_proc(struct mounting *m, const struct plan_op *op) {
        _cleanup_close_ int target = -EBADF;
        int r = -EPERM;

        target = mount_point(m, op);
        if (target < 0)
                return target;
        if (op->proc == POLICY_PROC_NONE)
                return 0;
        if (op->proc == POLICY_PROC_BIND)
                r = proc_host(m, op, target);
        if (op->proc == POLICY_PROC_NEW || op->proc == POLICY_PROC_AUTO)
                r = proc_new(target, NULL);
        if (op->proc == POLICY_PROC_SUBSET || (op->proc == POLICY_PROC_AUTO && r < 0)) {
                r = proc_new(target, "subset=pid");
                if (r >= 0 && op->proc == POLICY_PROC_AUTO)
                        report_note(m->report_fd, "a full /proc is refused here: mounted with subset=pid",
                                    op->target);
        }
        if (r < 0 && op->proc == POLICY_PROC_AUTO) {
                report_note(m->report_fd, "no /proc can be mounted here: the sandbox has none", op->target);
                return 0;
        }
        if (r == -EPERM)
                /* mount_too_revealing(): a masked /proc outside forbids a full one inside. */
                return error_set(
                        m->error, NSRUN_STAGE_PROC, r, op->target, "a new /proc can't be mounted",
                        "a container masks parts of /proc; run it with an unmasked one, or choose "
                        "--proc=auto, --proc=none, or --proc=bind (which shows the host's processes)");
        if (r < 0)
                return error_set(m->error, NSRUN_STAGE_PROC, r, op->target, "/proc can't be mounted",
                                 op->proc == POLICY_PROC_SUBSET ? "subset=pid needs Linux 5.8; see --proc"
                                                                : NULL);
        return 0;
}
