/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Overlays, each with upper and work folders of its own; and what takes the place of a default cache's
 * overlay where none can be made. */
#include <fcntl.h>
#include <limits.h>
#include <sys/mount.h>

#include "base/beneath.h"
#include "base/causes.h"
#include "base/path.h"
#include "decimal.h"
#include "mount.h"

/* Where overlays in memory keep the upper layers: a tmpfs laid over the old root's /proc, which nothing
 * needs any more (the descriptors folder is already the working directory) and which goes when the old root
 * goes. The overlays hold on to it. */
static int overlay_tmpfs(struct mounting *m, const struct plan_op *op) {
        _cleanup_close_ int place = beneath_open(m->old_root, "proc", O_PATH | O_DIRECTORY, 0);
        char data[64] = "mode=0700,size=", number[24];
        int r;

        if (place < 0)
                return place;
        strcat(data, number_format(number, op->size));
        r = mount_filesystem(AT(place), "tmpfs", MS_NOSUID | MS_NODEV, data);
        if (r < 0)
                return r;
        return beneath_open(m->old_root, "proc", O_RDONLY | O_DIRECTORY, 0);
}

/* Where layers are kept: the run directory, or the tmpfs instead of it.  The descriptor is m's. */
static int overlay_folder(struct mounting *m, const struct plan_op *op, bool is_disk) {
        if (is_disk)
                return mount_open_rundir(m);
        if (m->overlay_fd < 0)
                m->overlay_fd = overlay_tmpfs(m, op);
        return m->overlay_fd;
}

int mount_open_versions(struct mounting *m, const struct plan_op *op) {
        return overlay_folder(m, op, !mount_is_in_memory(m));
}

/* The upper folder's mode is what the merged root shows. */
static int open_own_layer(int parent, const char *name, mode_t mode) {
        _cleanup_close_ int fd = beneath_open(parent, name, O_RDONLY | O_DIRECTORY, 0);
        int r = fd < 0 ? fd : sys_fchmod(fd, mode);

        return r < 0 ? r : TAKE_FD(fd);
}

static int make_own_layer(int parent, const char *name, mode_t mode) {
        int r = sys_mkdirat(parent, name, 0700);

        return r < 0 && r != -EEXIST ? r : open_own_layer(parent, name, mode);
}

/* An overlay's upper and work folder as its options name them: relative to the working directory
 * (place_path()). */
struct layers {
        int folder, upper; /* on disk: open */
        char options[96];
};

static void layers_close(struct layers *l) {
        close_fdp(&l->folder);
        close_fdp(&l->upper);
}

/* In a folder called `name`, where the end of the run looks for them. */
static int make_named_layers(struct layers *l, int parent, const char *name, mode_t mode) {
        _cleanup_close_ int work = -EBADF;
        char number[24];
        int r;

        l->folder = make_own_layer(parent, name, 0700);
        l->upper = l->folder < 0 ? l->folder : make_own_layer(l->folder, "upper", mode);
        r = l->upper < 0 ? l->upper : sys_mkdirat(l->folder, "work", 0700);
        if (r == -EEXIST)
                r = work = beneath_open(l->folder, "work", O_PATH | O_DIRECTORY, 0);
        if (r < 0)
                return r;
        strcat(strcpy(l->options, ",upperdir="), number_format(number, (uint64_t)l->upper));
        strcat(strcat(l->options, ",workdir="), number_format(number, (uint64_t)l->folder));
        strcat(l->options, "/work");
        return 0;
}

/* On the tmpfs of all overlays, "7u" and "7w" for the operation of that number. */
static int make_memory_layers(struct layers *l, int parent, uint64_t number, mode_t mode) {
        char name[32], text[24];
        int r;

        strcat(strcpy(l->options, ",upperdir="), number_format(text, (uint64_t)parent));
        strcat(strcpy(name, "/"), number_format(text, number));
        strcat(strcat(strcat(l->options, name), "u,workdir="), number_format(text, (uint64_t)parent));
        strcat(strcat(l->options, name), "w");
        r = sys_mkdirat(parent, strcat(name, "u") + 1, mode);
        /* mkdir(2) sets no other bits. */
        if (r >= 0 && (mode & ~01777U)) {
                l->upper = open_own_layer(parent, name + 1, mode);
                r = l->upper < 0 ? l->upper : 0;
        }
        name[strlen(name) - 1] = 'w';
        return r < 0 ? r : sys_mkdirat(parent, name + 1, 0700);
}

/* Lays op's overlay over `lower`, and over `kept` if that is none below 0, with layers of its own below
 * `parent`.  The options are descriptors, or names beneath one: no path to escape, none to walk again, none
 * to see in the sandbox's mountinfo.  "volatile" (5.10): what is written is thrown away, and without it the
 * end of every run would sync the cache folder's whole disk. */
static int lay_overlay(struct mounting *m, const struct plan_op *op, const struct mount_place *at, int lower,
                       int kept, int parent) {
        _cleanup_(layers_close) struct layers l = {-EBADF, -EBADF, ""};
        char options[192] = "userxattr,volatile,lowerdir=", number[24];
        struct stat st;
        int r = sys_fstat(lower, &st);

        if (r >= 0 && op->base_ino != 0 && (st.st_dev != op->base_dev || st.st_ino != op->base_ino))
                r = -ESTALE;
        if (r >= 0)
                r = parent == m->overlay_fd && op->kind == PLAN_OVERLAY
                            ? make_memory_layers(&l, parent, (uint64_t)(op - m->b->ops), st.st_mode & 07777)
                            : make_named_layers(&l, parent, op->text, st.st_mode & 07777);
        if (r < 0)
                return r;
        if (kept >= 0)
                strcat(strcat(options, number_format(number, (uint64_t)kept)), ":");
        strcat(options, number_format(number, (uint64_t)lower));
        return mount_filesystem(at, "overlay", MS_NOSUID | MS_NODEV, strcat(options, l.options));
}

/* The flags of what lies at an operation's mount point by now. */
static int flags_of(const struct mounting *m, const struct plan_op *op, unsigned long *ret) {
        _cleanup_place_ struct mount_place at = PLACE_NONE;
        char path[PLACE_PATH_MAX];
        int r = mount_point_again(m, op, &at);

        if (r >= 0)
                r = place_path(&at, path);
        return r < 0 ? r : sys_mount_flags(-EBADF, path, ret);
}

/* Why overlayfs couldn't make a folder of its own in the work folder, of which it says nothing but that the
 * mount is read-only: a disk without room refuses that of everybody, a file system that lacks what overlayfs
 * needs (FUSE's can) of overlayfs alone. */
static int explain_read_only(int parent) {
        int r = sys_mkdirat(parent, "trial", 0700);

        (void)sys_rmdirat(parent, "trial");
        return r < 0 ? r : -EINVAL;
}

static int overlay_try(struct mounting *m, const struct plan_op *op, const struct mount_place *at, int lower,
                       bool is_disk) {
        _cleanup_close_ int kept = -EBADF;
        unsigned long flags = MS_RDONLY;
        int r, parent = overlay_folder(m, op, is_disk);

        if (op->layers)
                kept = beneath_open(m->old_root, op->layers[0] + 1, O_PATH | O_DIRECTORY, 0);
        r = parent < 0 ? parent : lay_overlay(m, op, at, lower, kept, parent);
        if (r < 0)
                return r;
        /* Unable to make its work folder, overlayfs mounts all the same, read-only: that won't do. */
        r = flags_of(m, op, &flags);
        return r < 0 ? r : flags & MS_RDONLY ? explain_read_only(parent) : 0;
}

/* Whether something is mounted below the folder, which overlayfs doesn't take and a bind of the one mount
 * neither, since a user namespace shall not see what such mounts hide. */
static bool has_submounts(int lower) {
        _cleanup_close_ int tree =
                sys_open_tree(lower, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);

        return tree == -EINVAL;
}

/* Whether the kernel lays overlays over `lower` at all: tried read-only, with an empty folder in memory as
 * the other layer, so that nothing else can be at fault. */
static bool can_be_below(struct mounting *m, const struct plan_op *op, int lower) {
        _cleanup_place_ struct mount_place at = PLACE_NONE;
        char options[128] = "userxattr,lowerdir=", number[24];
        _cleanup_close_ int empty = -EBADF;
        int r = mount_point_again(m, op, &at);

        r = r < 0 ? r : overlay_folder(m, op, false);
        empty = r < 0 ? r : make_own_layer(r, "empty", 0700);
        if (empty < 0)
                return true;
        strcat(options, number_format(number, (uint64_t)lower));
        strcat(strcat(options, ":"), number_format(number, (uint64_t)empty));
        return mount_filesystem(&at, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, options) >= 0;
}

/* The folder of all run directories; `to` has PATH_MAX bytes.  A run's own is gone when a user reads of it.
 */
static const char *rundirs_of(const struct mounting *m, char *to) {
        const char *path = m->b->rundir_path;
        size_t n = path ? (size_t)(path_basename(path) - path) : 0;

        if (n < 2 || n >= PATH_MAX)
                return path;
        memcpy(to, path, n - 1);
        to[n - 1] = '\0';
        return to;
}

static int overlay_fail(struct mounting *m, const struct plan_op *op, int lower, int r) {
        bool is_disk = m->b->facts.layers_on_disk;
        char path[PATH_MAX];

        if (r == -ENODEV)
                return error_cause(m->error, NSRUN_ERROR_NO_OVERLAYFS, r, op->target);
        if (r == -EPERM)
                return error_cause(m->error, NSRUN_ERROR_OVERLAY_REFUSED, r, op->target);
        if ((r == -EINVAL || r == -EOPNOTSUPP) && !can_be_below(m, op, lower))
                return error_cause(m->error,
                                   has_submounts(lower) ? NSRUN_ERROR_OVERLAY_OVER_MOUNTS
                                                        : NSRUN_ERROR_OVERLAY_OVER_OVERLAYS,
                                   r, op->source);
        /* A tmpfs carries them on every kernel that has overlays in user namespaces. */
        if ((r == -EINVAL || r == -EOPNOTSUPP) && is_disk)
                return error_cause(m->error, NSRUN_ERROR_OVERLAY_IN_CACHE, r, rundirs_of(m, path));
        if ((r == -ENOSPC || r == -EDQUOT) && is_disk)
                return error_cause(m->error, NSRUN_ERROR_OVERLAY_DISK_FULL, r, rundirs_of(m, path));
        if (r == -ENOSPC || r == -EDQUOT)
                return error_cause_with(m->error, NSRUN_ERROR_OVERLAY_DISK_FULL, r, op->target,
                                        "raise --tmpfs-size");
        return error_set(m->error, NSRUN_STAGE_OVERLAY, r, op->target, "the overlay can't be mounted", NULL);
}

/* Appends as much of a text as there is room for; `to` has n bytes. */
static void overlay_append(char *to, size_t n, const char *text) {
        size_t used = strlen(to), more = strlen(text);

        if (more > n - 1 - used)
                more = n - 1 - used;
        memcpy(to + used, text, more);
        to[used + more] = '\0';
}

/* What mends a default cache's overlay: what is in its way, and the fix, as a refusal of one that was asked
 * for has them. */
static void overlay_explain(struct mounting *m, const struct plan_op *op, int lower, int r, char *to,
                            size_t n) {
        struct nsrun_error why = {0}, *err = m->error;

        m->error = &why;
        (void)overlay_fail(m, op, lower, r);
        m->error = err;
        to[0] = '\0';
        overlay_append(to, n, why.what);
        overlay_append(to, n, why.hint[0] ? ": " : "");
        overlay_append(to, n, why.hint);
}

/* Puts in the place of a default cache's overlay, which failed with `error`, the best that can be had:
 * layers in memory, the folder itself read-only, or an empty folder.  None of them writes to the host. */
static int cache_degrade(struct mounting *m, const struct plan_op *op, int lower, int error) {
        bool is_disk = m->b->facts.layers_on_disk, is_refused = m->b->facts.init.refuses_degraded;
        _cleanup_place_ struct mount_place at = PLACE_NONE;
        char hint[sizeof(m->error->hint)];
        int r;

        if (lower >= 0 && is_refused) {
                overlay_explain(m, op, lower, error, hint, sizeof(hint));
                return report_degraded(m->report_fd, true,
                                       is_disk ? DEGRADED_CACHE_IN_MEMORY : DEGRADED_CACHE_READ_ONLY,
                                       op->target, hint, m->error);
        }
        r = lower < 0 ? lower : mount_point_again(m, op, &at);
        if (r >= 0 && is_disk && overlay_try(m, op, &at, lower, false) >= 0)
                return report_degraded(m->report_fd, false, DEGRADED_CACHE_IN_MEMORY, op->target, NULL,
                                       m->error);
        place_close(&at);
        r = r < 0 ? r : mount_point_again(m, op, &at);
        if (r >= 0)
                r = mount_attach(m, op, lower, &at, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
                                 true);
        if (r >= 0)
                return report_degraded(m->report_fd, false, DEGRADED_CACHE_READ_ONLY, op->target, NULL,
                                       m->error);
        if (!op->can_be_empty)
                return r;
        m->error->stage = NSRUN_STAGE_NONE;
        return report_degraded(m->report_fd, is_refused, DEGRADED_CACHE_EMPTY, op->target, NULL, m->error);
}

int mount_overlay(struct mounting *m, const struct plan_op *op) {
        _cleanup_place_ struct mount_place at = PLACE_NONE;
        bool is_disk = m->b->facts.layers_on_disk;
        _cleanup_close_ int lower = -EBADF;
        int r = mount_point(m, op, &at);

        if (r < 0)
                return r;
        lower = beneath_open(m->old_root, op->source + 1, O_PATH | O_DIRECTORY, 0);
        if (lower < 0 && (lower != -EACCES || !op->can_be_empty))
                return error_set(m->error, NSRUN_STAGE_OVERLAY, lower, op->source,
                                 lower == -ELOOP ? "the lower folder was replaced by a symlink while the "
                                                   "sandbox was being built"
                                                 : "the lower folder can't be opened",
                                 NULL);
        r = lower < 0 ? lower : overlay_folder(m, op, is_disk);
        if (r < 0 && lower >= 0 && op->was_asked_for)
                return error_set(m->error, NSRUN_STAGE_OVERLAY, r, is_disk ? m->b->rundir_path : op->target,
                                 is_disk ? "the run directory can't be opened"
                                         : "the tmpfs for the upper layers can't be mounted",
                                 NULL);
        if (r >= 0)
                r = overlay_try(m, op, &at, lower, is_disk);
        if (r >= 0)
                return 0;
        return op->was_asked_for ? overlay_fail(m, op, lower, r) : cache_degrade(m, op, lower, r);
}

static bool is_sample(void *data, nsrun_unused int folder, const char *name) {
        size_t n = strlen(name), ending = strlen(".sample");
        bool *has_others = data;

        *has_others = n < ending || !streq(name + n - ending, ".sample");
        return !*has_others;
}

static bool take_any(void *data, nsrun_unused int folder, nsrun_unused const char *name) {
        *(bool *)data = true;
        return false;
}

/* Where the host's folder has nothing, or is a git dir's and has its hooks' samples alone, an empty folder
 * does what an overlay would, at a tenth of its price: the layer, if nothing of an earlier run is in it.  1,
 * 0 or -errno. */
static int bind_layer(struct mounting *m, const struct plan_op *op, int lower,
                      const struct mount_place *at) {
        _cleanup_close_ int names = beneath_open(lower, "", O_RDONLY | O_DIRECTORY, 0), layer = -EBADF;
        _cleanup_close_ int upper = -EBADF;
        bool has_others = false,
             is_hooks = strstr(op->source, "/.git/") && streq(path_basename(op->source), "hooks");
        struct stat st;
        int parent, r;

        if (names < 0 || names_each(names, is_hooks ? is_sample : take_any, &has_others) < 0 || has_others)
                return 0;
        r = parent = mount_open_versions(m, op);
        if (r >= 0)
                r = sys_mkdirat(parent, op->text, 0700);
        if (r >= 0)
                r = sys_fstat(lower, &st);
        if (r < 0)
                return r == -EEXIST ? 0 : r;
        layer = open_own_layer(parent, op->text, 0700);
        upper = layer < 0 ? layer : make_own_layer(layer, "upper", st.st_mode & 0777);
        r = upper < 0 ? upper : mount_attach(m, op, upper, at, ATTRIBUTES_BIND, false);
        return r < 0 ? r : 1;
}

int mount_private_folder(struct mounting *m, const struct plan_op *op) {
        _cleanup_place_ struct mount_place at = PLACE_NONE;
        _cleanup_close_ int lower = -EBADF, layer = -EBADF;
        int r = !op->can_be_empty ? 0 : mount_has_versions(m) ? mount_open_versions(m, op) : -ENOENT;

        if (op->can_be_empty && r >= 0)
                r = layer = beneath_open(r, op->text, O_PATH | O_DIRECTORY, 0);
        if (r >= 0)
                r = lower = beneath_open(m->old_root, op->source + 1, O_PATH | O_DIRECTORY, 0);
        if (r < 0)
                return op->can_be_empty;
        r = mount_point(m, op, &at);
        if (r < 0 && !op->can_be_empty)
                return r;
        if (r >= 0)
                r = bind_layer(m, op, lower, &at);
        if (r == 0)
                r = overlay_try(m, op, &at, lower, !mount_is_in_memory(m));
        /* Whoever has the folder, too, has removed it meanwhile. */
        if (op->can_be_empty && (r == -ENOENT || r == -ENOTDIR || r == -ELOOP)) {
                m->error->stage = NSRUN_STAGE_NONE;
                return 1;
        }
        return r >= 0 ? 1
                      : report_degraded(m->report_fd, m->b->facts.init.refuses_degraded, DEGRADED_GIT_CONFIG,
                                        op->target, NULL, m->error);
}
