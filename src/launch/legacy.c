/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Binds on kernels without mount_setattr(2) (before 5.12) or behind a filter that
 * refuses it: bind first, then remount each mount that came along, with the
 * flags that libmount's table says it had.  Slower, and never taken where the
 * new calls work. */
#include <fcntl.h>
#include <sys/mount.h>

#include "base/beneath.h"
#include "base/dl.h"
#include "base/path.h"
#include "internal.h"

#include <libmount/libmount.h>

struct libmount {
        __typeof__(mnt_new_table_from_file) *new_table_from_file;
        __typeof__(mnt_unref_table) *unref_table;
        __typeof__(mnt_new_iter) *new_iter;
        __typeof__(mnt_free_iter) *free_iter;
        __typeof__(mnt_table_next_fs) *table_next_fs;
        __typeof__(mnt_fs_get_target) *fs_get_target;
        __typeof__(mnt_fs_get_vfs_options) *fs_get_vfs_options;
        __typeof__(mnt_optstr_get_flags) *optstr_get_flags;
        __typeof__(mnt_get_builtin_optmap) *get_builtin_optmap;
};

#ifdef NSRUN_STATIC_LIBMOUNT
static int load_libmount(struct libmount *m) {
        *m = (struct libmount){
                mnt_new_table_from_file, mnt_unref_table,      mnt_new_iter,
                mnt_free_iter,           mnt_table_next_fs,    mnt_fs_get_target,
                mnt_fs_get_vfs_options,  mnt_optstr_get_flags, mnt_get_builtin_optmap,
        };
        return 0;
}
#else
DL_NOTE(libmount_note, "legacy-binds", "Recursive binds on Linux before 5.12", "suggested", "libmount.so.1");

static int load_libmount(struct libmount *m) {
        const struct dl_symbol symbols[] = {
                {"mnt_new_table_from_file", &m->new_table_from_file},
                {"mnt_unref_table", &m->unref_table},
                {"mnt_new_iter", &m->new_iter},
                {"mnt_free_iter", &m->free_iter},
                {"mnt_table_next_fs", &m->table_next_fs},
                {"mnt_fs_get_target", &m->fs_get_target},
                {"mnt_fs_get_vfs_options", &m->fs_get_vfs_options},
                {"mnt_optstr_get_flags", &m->optstr_get_flags},
                {"mnt_get_builtin_optmap", &m->get_builtin_optmap},
        };

        return dl_load("libmount.so.1", symbols, ARRAY_SIZE(symbols));
}
#endif

static int add_mount(struct legacy_binds *b, const char *below, unsigned long flags) {
        struct legacy_mount *more;

        more = reallocarray(b->mounts, b->n_mounts + 1, sizeof(*more));
        if (!more)
                return -ENOMEM;
        b->mounts = more;
        more[b->n_mounts].below = strdup(below);
        more[b->n_mounts].flags = flags;
        if (!more[b->n_mounts].below)
                return -ENOMEM;
        b->n_mounts++;
        return 0;
}

/* Forgets the submounts that a later mount at `below` ("": above them all) covers. */
static void forget_covered(struct legacy_binds *b, const char *below) {
        size_t kept = 1;

        for (size_t i = 1; i < b->n_mounts; i++)
                if (!*below || path_is_beneath(b->mounts[i].below, below))
                        free(b->mounts[i].below);
                else
                        b->mounts[kept++] = b->mounts[i];
        b->n_mounts = kept;
}

/* Takes note of one mount of the host for one bind: it lies beneath the source,
 * or it is the source's own (the deepest above it).  The table has parents before
 * children and the covered before what covers it. */
static int note_mount(struct legacy_binds *b, const char *source, const char *mount, unsigned long flags) {
        const char *below = path_below(mount, source);

        if (below && *below) {
                forget_covered(b, below);
                return add_mount(b, below, flags);
        }
        if (path_is_beneath(source, mount)) {
                forget_covered(b, "");
                b->mounts[0].flags = flags;
        }
        return 0;
}

static int note_mount_everywhere(struct launch_child *c, const char *mount, unsigned long flags) {
        int r = 0;

        for (size_t i = 0; i < c->plan->n_ops && r >= 0; i++)
                if (c->plan->ops[i].kind == PLAN_BIND)
                        r = note_mount(&c->legacy[i], c->plan->ops[i].source, mount, flags);
        return r;
}

static int read_table(struct launch_child *c, const struct libmount *m, struct nsrun_error *err) {
        struct libmnt_table *table = m->new_table_from_file("/proc/self/mountinfo");
        struct libmnt_iter *iterator = m->new_iter(MNT_ITER_FORWARD);
        struct libmnt_fs *fs;
        int r = table && iterator ? 0 : -EIO;

        while (r >= 0 && m->table_next_fs(table, iterator, &fs) == 0) {
                const char *target = m->fs_get_target(fs), *options = m->fs_get_vfs_options(fs);
                unsigned long flags = 0;

                if (!target)
                        continue;
                if (options)
                        r = m->optstr_get_flags(options, &flags, m->get_builtin_optmap(MNT_LINUX_MAP));
                if (r >= 0)
                        r = note_mount_everywhere(c, target, flags);
        }
        if (iterator)
                m->free_iter(iterator);
        if (table)
                m->unref_table(table);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_MOUNT, r, "/proc/self/mountinfo",
                                 "the mount table can't be read", NULL);
        return 0;
}

int legacy_prepare(struct launch_child *c, struct nsrun_error *err) {
        struct libmount m;
        int r;

        r = load_libmount(&m);
        if (r < 0)
                return error_set(
                        err, NSRUN_STAGE_MOUNT, r, NULL,
                        "this kernel or its seccomp filter lacks mount_setattr, and libmount is missing",
                        "install libmount, which a static nsrun can't load (configure --disable-static-program); or "
                        "use Linux 5.12 or later");
        c->legacy = calloc(c->plan->n_ops + 1, sizeof(*c->legacy));
        if (!c->legacy)
                return error_oom(err);
        for (size_t i = 0; i < c->plan->n_ops; i++)
                if (c->plan->ops[i].kind == PLAN_BIND && add_mount(&c->legacy[i], "", 0) < 0)
                        return error_oom(err);
        return read_table(c, &m, err);
}

void legacy_free(struct launch_child *c) {
        for (size_t i = 0; c->legacy && i < c->plan->n_ops; i++) {
                for (size_t j = 0; j < c->legacy[i].n_mounts; j++)
                        free(c->legacy[i].mounts[j].below);
                free(c->legacy[i].mounts);
        }
        free(c->legacy);
        c->legacy = NULL;
}

static unsigned long mount_flags(uint64_t attributes) {
        return (attributes & MOUNT_ATTR_RDONLY ? MS_RDONLY : 0UL) |
               (attributes & MOUNT_ATTR_NOSUID ? MS_NOSUID : 0UL) |
               (attributes & MOUNT_ATTR_NODEV ? MS_NODEV : 0UL) |
               (attributes & MOUNT_ATTR_NOEXEC ? MS_NOEXEC : 0UL);
}

static int remount(int fd, unsigned long flags) {
        char number[24];

        return sys_mount(NULL, number_format(number, (uint64_t)fd), NULL, MS_REMOUNT | MS_BIND | flags,
                         NULL);
}

int legacy_attach(struct launch_child *c, const struct plan_op *op, int source, int target,
                  uint64_t attributes, bool is_recursive) {
        const struct legacy_binds *b = &c->legacy[op - c->plan->ops];
        _cleanup_close_ int top = -EBADF;
        char from[24], to[24];
        int r;

        r = sys_mount(number_format(from, (uint64_t)source), number_format(to, (uint64_t)target), NULL,
                      MS_BIND | (is_recursive ? MS_REC : 0UL), NULL);
        if (r < 0)
                return error_set(&c->error, NSRUN_STAGE_MOUNT, r, op->target, "the bind can't be attached",
                                 NULL);
        /* `target` is what the bind covers; the same path now leads to what it shows. */
        top = beneath_open(c->new_root, op->target + 1, O_PATH, 0);
        r = top < 0 ? top : 0;
        if (r >= 0 && b->n_mounts == 0)
                r = remount(top, mount_flags(attributes));
        for (size_t i = 0; i < b->n_mounts && r >= 0; i++) {
                unsigned long flags = b->mounts[i].flags | mount_flags(attributes);
                _cleanup_close_ int fd = -EBADF;

                /* The first is the source's own, which may be a file. */
                if (!*b->mounts[i].below) {
                        r = remount(top, flags);
                        continue;
                }
                fd = beneath_open(top, b->mounts[i].below, O_PATH, 0);
                /* Covered by another mount, or gone since the table was read. */
                if (fd == -ENOENT)
                        continue;
                r = fd < 0 ? fd : remount(fd, flags);
        }
        if (r < 0)
                return error_set(&c->error, NSRUN_STAGE_MOUNT, r, op->target,
                                 "the bind's flags can't be set", NULL);
        return 0;
}

int legacy_seal(struct launch_child *c) {
        (void)c;
        return sys_mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL);
}
