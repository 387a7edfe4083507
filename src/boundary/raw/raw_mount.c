/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The mount tree of a raw plan: operations in any order, one on top of another, on "/" too. */
#include <sys/mount.h>

#include "base/beneath.h"
#include "base/file.h"
#include "beneath_root.h"
#include "boundary/decimal.h"
#include "raw.h"

/* Names on the first tmpfs: of the file that PLAN_DATA binds elsewhere, and of the new root's
 * folder. */
#define DATA_NAME "data"
#define ROOT_NAME "newroot"

/* Opens the new root anew.  It is a folder of the first tmpfs, since an operation may mount
 * something on the new root's "/", which only a fresh look-up of the folder's name finds. */
static int open_new_root(struct raw *w) {
        close_fdp(&w->mount.new_root);
        w->mount.new_root = sys_open(w->base_root, ROOT_NAME, O_PATH | O_DIRECTORY, 0);
        if (w->mount.new_root < 0)
                return error_set(w->mount.error, NSRUN_STAGE_MOUNT, w->mount.new_root, "/newroot",
                                 "the new root can't be opened", NULL);
        return 0;
}

/* Opens an operation's mount point, and notes whether a mount there may cover the new root: only a
 * mount point that was made just now is certainly another place, since the root has many spellings,
 * and more by symlinks in bound folders. */
static int open_mount_point(struct raw *w, const struct plan_op *op, bool is_folder, mode_t mode) {
        bool is_new;
        int fd = late_mount_point(w->mount.new_root, w->base_root, op->target, is_folder, mode,
                                  op->parent_mode, &is_new);

        w->covers_root = !is_new;
        return fd;
}

/* Stands for the bind of the new root onto itself, which is no operation of the plan. */
static const struct plan_op bind_of_root = {.kind = PLAN_BIND};

/* Makes the new root: a folder of the first tmpfs, bound onto itself. */
int raw_mount_root(struct raw *w) {
        _cleanup_close_ int folder = -EBADF;
        int r;

        /* MS_SLAVE, as bubblewrap has it: what is mounted on the host later shows in the binds. */
        r = mount_private_root(&w->mount, w->asked->is_private ? MS_PRIVATE : MS_SLAVE, NULL);
        if (r < 0)
                return r;
        w->base_root = TAKE_FD(w->mount.new_root);
        r = sys_mkdirat(w->base_root, ROOT_NAME, 0755);
        folder = r < 0 ? r : sys_open(w->base_root, ROOT_NAME, O_PATH | O_DIRECTORY, 0);
        if (folder < 0)
                return error_set(w->mount.error, NSRUN_STAGE_MOUNT, folder, "/newroot", "setting up newroot",
                                 NULL);
        r = mount_attach(&w->mount, &bind_of_root, folder, AT(folder), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
                         false);
        return r < 0 ? r : open_new_root(w);
}

/* ------------------------------------------------------------------- binds */

static int open_source(struct raw *w, const struct plan_op *op) {
        /* A magic link can't be resolved beneath a folder.  What it leads to is this process's own. */
        int fd = op->is_own_link ? sys_open(w->mount.old_root, op->source + 1, O_PATH, 0)
                                 : beneath_open(w->mount.old_root, op->source + 1, O_PATH, 0);
        struct stat given, found;
        int r;

        if (fd < 0 || !op->has_source_fd)
                return fd;
        r = sys_fstat(op->source_fd, &given);
        if (r >= 0)
                r = sys_fstat(fd, &found);
        if (r >= 0 && (given.st_dev != found.st_dev || given.st_ino != found.st_ino))
                r = -ESTALE;
        if (r < 0)
                (void)sys_close(fd);
        return r < 0 ? r : fd;
}

/* Closes the descriptors of sources.  The command can reach the reaper's by /proc/1/fd, where a
 * folder of the host's would be a way out. */
static void close_sources(const struct blueprint *b) {
        for (size_t i = 0; i < b->n_ops; i++)
                if (b->ops[i].has_source_fd)
                        (void)sys_close(b->ops[i].source_fd);
}

int raw_mount_fail(struct raw *w, int r, const char *path, const char *what) {
        return error_set(w->mount.error, NSRUN_STAGE_MOUNT, r, path, what, NULL);
}

static uint64_t attributes_of(const struct plan_op *op) {
        return MOUNT_ATTR_NOSUID | (op->is_device ? 0 : MOUNT_ATTR_NODEV) |
               (op->is_read_only ? MOUNT_ATTR_RDONLY : 0);
}

static int raw_bind(struct raw *w, const struct plan_op *op) {
        _cleanup_close_ int source = -EBADF, target = -EBADF;
        struct stat st;
        int r;

        source = open_source(w, op);
        r = source < 0 ? source : sys_fstat(source, &st);
        if (r < 0)
                return raw_mount_fail(w, r, op->source, "Can't find source path");
        target = open_mount_point(w, op, S_ISDIR(st.st_mode), S_ISDIR(st.st_mode) ? 0755 : 0444);
        if (target < 0)
                return raw_mount_fail(w, target, op->target,
                                      S_ISDIR(st.st_mode) ? "Can't mkdir" : "Can't create file at");
        r = mount_attach(&w->mount, op, source, AT(target), attributes_of(op) | op->attributes,
                         !op->is_shallow);
        return r < 0 || !op->propagation ? r : raw_propagate(w, op);
}

/* PLAN_DATA: writes a file on the first tmpfs, binds it, and unlinks it. */
static int raw_data(struct raw *w, const struct plan_op *op) {
        _cleanup_close_ int file = -EBADF, target = -EBADF;
        int r;

        file = sys_open(w->base_root, DATA_NAME, O_CREAT | O_EXCL | O_RDWR, op->mode);
        r = file < 0 ? file : write_full(file, op->text, op->size);
        if (r < 0)
                return raw_mount_fail(w, r, op->target, "Can't write data to file");
        target = open_mount_point(w, op, false, 0444);
        if (target < 0)
                return raw_mount_fail(w, target, op->target, "Can't create file at");
        r = mount_attach(&w->mount, op, file, AT(target), attributes_of(op), false);
        if (r >= 0 && (r = sys_unlinkat(w->base_root, DATA_NAME)) < 0)
                return raw_mount_fail(w, r, op->target, "Can't unlink the data's own file");
        return r;
}

/* ------------------------------------------------------- files and folders */

static int raw_file(struct raw *w, const struct plan_op *op) {
        _cleanup_close_ int parent = -EBADF, fd = -EBADF;
        size_t n = strlen(op->target);
        char name[256], after;
        int r;

        /* "--file FD /a/b/" makes the file /a/b.  The record is opened again by nsrun-init: the text stays.
         */
        while (n > 1 && op->target[n - 1] == '/')
                n--;
        after = op->target[n];
        op->target[n] = '\0';
        parent = late_parent(w->mount.new_root, op->target, op->parent_mode, name);
        /* O_NONBLOCK: a fifo that a command left at the target must not make the launch wait.  O_NOFOLLOW:
         * nor may a link that it left lead the text into another file, which would be emptied. */
        fd = parent < 0 ? parent
                        : late_open(w->mount.new_root, op->target,
                                    O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW,
                                    op->mode);
        r = fd < 0 ? fd : write_full(fd, op->text, op->size);
        if (r < 0)
                r = raw_mount_fail(w, r, op->target,
                                   fd < 0 ? "Can't create file" : "Can't write data to file");
        op->target[n] = after;
        return r;
}

static int raw_folder(struct raw *w, const struct plan_op *op) {
        bool is_new;
        _cleanup_close_ int fd = late_mount_point(w->mount.new_root, w->base_root, op->target, true,
                                                  op->mode, op->parent_mode, &is_new);

        return fd < 0 ? raw_mount_fail(w, fd, op->target, "Can't mkdir") : 0;
}

/* PLAN_SYMLINK: one that is there and says the same is as good as a new one. */
static int raw_symlink(struct raw *w, const struct plan_op *op) {
        _cleanup_close_ int parent = -EBADF;
        char name[256], text[4096];
        ssize_t n;
        int r;

        parent = late_parent(w->mount.new_root, op->target, op->parent_mode, name);
        r = parent < 0 ? parent : name[0] ? sys_symlinkat(op->text, parent, name) : -EEXIST;
        if (r != -EEXIST)
                return r < 0 ? raw_mount_fail(w, r, op->target, "Can't make symlink at") : 0;
        n = name[0] ? sys_readlinkat(parent, name, text, sizeof(text) - 1) : -EINVAL;
        if (n < 0)
                return raw_mount_fail(w, -EEXIST, op->target, "Can't make symlink at");
        text[n] = '\0';
        if (streq(text, op->text))
                return 0;
        return error_set_id(w->mount.error, NSRUN_ERROR_SYMLINK, NSRUN_STAGE_MOUNT, -EEXIST, op->target,
                            "Can't make symlink at", text);
}

/* fchmod(2) takes no O_PATH descriptor, so the file is named by its number in the working
 * directory, the host's /proc/self/fd. */
static int raw_chmod(struct raw *w, const struct plan_op *op) {
        _cleanup_close_ int fd = late_open(w->mount.new_root, op->target, O_PATH, 0);
        char number[24];
        int r = fd < 0 ? fd : sys_chmod(number_format(number, (uint64_t)fd), op->mode);

        return r < 0 ? raw_mount_fail(w, r, op->target, "Can't chmod") : 0;
}

/* ---------------------------------------------------------- file systems */

static int raw_filesystem(struct raw *w, const struct plan_op *op, const char *type, unsigned long flags,
                          const char *data, const char *what) {
        _cleanup_close_ int target = open_mount_point(w, op, true, 0755);
        int r;

        if (target < 0)
                return raw_mount_fail(w, target, op->target, "Can't mkdir");
        r = mount_filesystem(AT(target), type, flags, data);
        return r < 0 ? error_set_id(w->mount.error, NSRUN_ERROR_MOUNT_IN_ROOT, NSRUN_STAGE_MOUNT, r,
                                    op->target, what, NULL)
                     : 0;
}

static int raw_proc(struct raw *w, const struct plan_op *op) {
        _cleanup_close_ int target = -EBADF, host = -EBADF;
        int r;

        target = open_mount_point(w, op, true, 0755);
        if (target < 0)
                return raw_mount_fail(w, target, op->target, "Can't mkdir");
        if (op->proc == POLICY_PROC_BIND) {
                host = beneath_open(w->mount.old_root, "proc", O_PATH | O_DIRECTORY, 0);
                if (host < 0)
                        return raw_mount_fail(w, host, op->target, "Can't find source path");
                return mount_attach(&w->mount, op, host, AT(target), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
                                    true);
        }
        r = mount_filesystem(AT(target), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
        if (r < 0)
                return error_set_id(w->mount.error, NSRUN_ERROR_MOUNT_IN_ROOT, NSRUN_STAGE_PROC, r,
                                    op->target, "Can't mount proc on", NULL);
        return 0;
}

/* PLAN_COVER: makes the target read-only in place; skips one that doesn't exist. */
static int raw_cover(struct raw *w, const struct plan_op *op) {
        _cleanup_close_ int here = late_open(w->mount.new_root, op->target, O_PATH, 0);
        char number[24];

        if (here == -ENOENT)
                return 0;
        if (here < 0)
                return raw_mount_fail(w, here, op->target, "Can't open");
        if (op->is_optional && sys_access(number_format(number, (uint64_t)here), W_OK) < 0)
                return 0;
        w->covers_root = true;
        return mount_attach(&w->mount, op, here, AT(here),
                            MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, false);
}

/* As in bubblewrap the mount gets what every read-only bind has: what --dev-bind shows, too. */
static int raw_remount(struct raw *w, const struct plan_op *op) {
        _cleanup_close_ int fd = late_open(w->mount.new_root, op->target, O_PATH, 0);
        int r = fd < 0 ? fd
                       : sys_mount_setattr(fd, 0, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);

        return r < 0 ? raw_mount_fail(w, r, op->target, "Can't remount readonly on") : 0;
}

/* Adds the lower folders to overlayfs's options, "A:B", the uppermost first. */
static int add_layers(struct raw *w, const struct plan_op *op, char *options, size_t size, int *layers,
                      size_t n) {
        strcat(options, ",lowerdir=");
        for (size_t i = n; i-- > 0;) {
                char number[24];

                layers[i] = beneath_open(w->mount.old_root, op->layers[i] + 1, O_PATH | O_DIRECTORY, 0);
                if (layers[i] < 0)
                        return raw_mount_fail(w, layers[i], op->layers[i], "Can't find source path");
                if (strlen(options) + sizeof(number) + 2 > size)
                        return raw_mount_fail(w, -E2BIG, op->target, "too many overlay sources for");
                strcat(options, number_format(number, (uint64_t)layers[i]));
                strcat(options, i > 0 ? ":" : "");
        }
        return 0;
}

static int raw_mount_add_option(char *options, const char *name, int fd) {
        char number[24];

        if (fd < 0)
                return fd;
        strcat(options, name);
        strcat(options, number_format(number, (uint64_t)fd));
        return 0;
}

/* Makes --tmp-overlay's upper and work folder, on a tmpfs that nothing else shows. */
static int make_tmp_layers(struct raw *w, int *ret_upper, int *ret_work) {
        _cleanup_close_ int place = -EBADF;
        int r;

        r = sys_mkdirat(w->base_root, "overlay", 0755);
        place = r < 0 && r != -EEXIST ? r : sys_open(w->base_root, "overlay", O_PATH | O_DIRECTORY, 0);
        r = place < 0 ? place : mount_filesystem(AT(place), "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755");
        if (r < 0)
                return r;
        close_fdp(&place);
        place = sys_open(w->base_root, "overlay", O_PATH | O_DIRECTORY, 0);
        r = place < 0 ? place : sys_mkdirat(place, "upper", 0755);
        if (r >= 0)
                r = sys_mkdirat(place, "work", 0755);
        if (r >= 0)
                r = *ret_upper = sys_open(place, "upper", O_PATH | O_DIRECTORY, 0);
        if (r >= 0)
                r = *ret_work = sys_open(place, "work", O_PATH | O_DIRECTORY, 0);
        return r;
}

#define LAYERS_MAX 500 /* the most lower folders that overlayfs takes */

static int raw_overlay(struct raw *w, const struct plan_op *op) {
        static char options[4096];
        static int layers[LAYERS_MAX];
        int upper = -EBADF, work = -EBADF;
        size_t n = strv_length(op->layers);
        int r;

        if (n > LAYERS_MAX)
                return raw_mount_fail(w, -E2BIG, op->target, "too many overlay sources for");
        strcpy(options, "userxattr");
        if (op->text) {
                strcat(options, ",");
                strncat(options, op->text, sizeof(options) / 2);
        }
        memset(layers, 0xff, sizeof(layers));
        r = add_layers(w, op, options, sizeof(options), layers, n);
        if (r >= 0 && op->is_ephemeral) {
                r = make_tmp_layers(w, &upper, &work);
        } else if (r >= 0 && op->source) {
                upper = beneath_open(w->mount.old_root, op->source + 1, O_PATH | O_DIRECTORY, 0);
                work = beneath_open(w->mount.old_root, op->work + 1, O_PATH | O_DIRECTORY, 0);
                r = upper < 0 ? upper : work < 0 ? work : 0;
        }
        if (r >= 0 && upper >= 0 && sizeof(options) - strlen(options) > 64) {
                r = raw_mount_add_option(options, ",upperdir=", upper);
                if (r >= 0)
                        r = raw_mount_add_option(options, ",workdir=", work);
        }
        if (r < 0)
                r = error_set(w->mount.error, NSRUN_STAGE_OVERLAY, r, op->target,
                              "Can't open the overlay's layers of", NULL);
        else
                r = raw_filesystem(w, op, "overlay", MS_NOSUID | MS_NODEV, options,
                                   "Can't make overlay mount on");
        for (size_t i = 0; i < n; i++)
                close_fdp(&layers[i]);
        close_fdp(&upper);
        close_fdp(&work);
        return r;
}

static int raw_operation(struct raw *w, const struct plan_op *op) {
        switch (op->kind) {
        case PLAN_BIND:
                return raw_bind(w, op);
        case PLAN_DATA:
                return raw_data(w, op);
        case PLAN_FILE:
                return raw_file(w, op);
        case PLAN_DIR:
                return raw_folder(w, op);
        case PLAN_SYMLINK:
                return raw_symlink(w, op);
        case PLAN_CHMOD:
                return raw_chmod(w, op);
        case PLAN_TMPFS:
                return raw_filesystem(w, op, "tmpfs", MS_NOSUID | MS_NODEV, op->text,
                                      "Can't mount tmpfs on");
        case PLAN_DEVPTS:
                return raw_filesystem(w, op, "devpts", MS_NOSUID | MS_NOEXEC, op->text,
                                      "Can't mount devpts on");
        case PLAN_MQUEUE:
                return raw_filesystem(w, op, "mqueue", 0, NULL, "Can't mount mqueue on");
        case PLAN_PROC:
                return raw_proc(w, op);
        case PLAN_CGROUP:
        case PLAN_SOCKET:
                break; /* nsrun's own plans alone have it */
        case PLAN_FILESYSTEM:
                return raw_filesystem(w, op, op->source, op->mount_flags, op->text, "it can't be mounted");
        case PLAN_MASK:
                return raw_mask(w, op);
        case PLAN_SYSCTL:
                return raw_sysctl(w, op);
        case PLAN_HIDE:
                return raw_hide(w, op);
        case PLAN_PROTECT:
                return raw_protect(w, op);
        case PLAN_COVER:
                return raw_cover(w, op);
        case PLAN_REMOUNT_RO:
                return raw_remount(w, op);
        case PLAN_OVERLAY:
                return raw_overlay(w, op);
        }
        return raw_mount_fail(w, -EINVAL, op->target, "the plan holds an unknown operation");
}

int raw_mount_operations(struct raw *w) {
        for (size_t i = 0; i < w->mount.b->n_ops; i++) {
                int r;

                w->operation = (int)i;
                w->covers_root = false;
                r = raw_operation(w, &w->mount.b->ops[i]);
                if (r >= 0 && w->covers_root)
                        r = open_new_root(w);
                if (r < 0)
                        return r;
        }
        w->operation = -1;
        close_sources(w->mount.b);
        return 0;
}

/* ------------------------------------------------------------------ the end */

int raw_mount_enter_directory(struct raw *w) {
        const struct blueprint *b = w->mount.b;
        int r = -ENOENT;

        for (size_t i = 0; b->directories[i]; i++) {
                _cleanup_close_ int fd =
                        late_open(w->mount.new_root, b->directories[i], O_PATH | O_DIRECTORY, 0);

                r = fd < 0 ? fd : sys_fchdir(fd);
                if (r >= 0) {
                        if (b->pwd)
                                b->env[strv_length(b->env) - 1] = b->pwd[i];
                        return 0;
                }
                if (w->asked->needs_first_directory)
                        return raw_mount_fail(w, r, b->directories[i], "Can't chdir to");
        }
        return raw_mount_fail(w, r, "/", "Can't chdir to");
}

/* Detaches the host's tree and the first tmpfs; what lies on top at the new root's place becomes
 * "/". */
int raw_mount_seal(struct raw *w) {
        int r;

        r = sys_fchdir(w->mount.old_root);
        if (r >= 0)
                r = sys_umount(".", MNT_DETACH);
        if (r >= 0)
                r = sys_fchdir(w->mount.new_root);
        if (r >= 0)
                r = sys_pivot_root(".", ".");
        if (r >= 0)
                r = sys_umount(".", MNT_DETACH);
        if (r >= 0)
                r = sys_chdir("/");
        if (r < 0)
                return raw_mount_fail(w, r, "/", "pivot_root to the new root failed");
        close_fdp(&w->mount.old_root);
        close_fdp(&w->mount.descriptors);
        close_fdp(&w->base_root);
        close_fdp(&w->mount.new_root);
        w->mount.new_root = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
        if (w->mount.new_root < 0)
                return raw_mount_fail(w, w->mount.new_root, "/", "the new root can't be opened");
        r = raw_mount_enter_directory(w);
        close_fdp(&w->mount.new_root);
        return r;
}
