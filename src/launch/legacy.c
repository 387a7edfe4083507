/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Binds on kernels without mount_setattr(2) (before 5.12) or behind a filter that refuses it: bind first,
 * then remount each mount that came along.  libmount's table says where these are.  Slower, and never taken
 * where the newer calls work. */
#include <fcntl.h>
#include <sys/mount.h>

#include "base/beneath.h"
#include "base/causes.h"
#include "base/dl.h"
#include "base/path.h"
#include "mount.h"
#include "number.h"

#include <libmount/libmount.h>

struct libmount {
        __typeof__(mnt_new_table_from_file) *new_table_from_file;
        __typeof__(mnt_unref_table) *unref_table;
        __typeof__(mnt_new_iter) *new_iter;
        __typeof__(mnt_free_iter) *free_iter;
        __typeof__(mnt_table_next_fs) *table_next_fs;
        __typeof__(mnt_fs_get_target) *fs_get_target;
};

DL_NOTE(libmount_note, "legacy-binds", "Recursive binds on Linux before 5.12", "suggested", "libmount.so.1");

static int load_libmount(struct libmount *m) {
        const struct dl_symbol symbols[] = {
                {"mnt_new_table_from_file", &m->new_table_from_file},
                {"mnt_unref_table", &m->unref_table},
                {"mnt_new_iter", &m->new_iter},
                {"mnt_free_iter", &m->free_iter},
                {"mnt_table_next_fs", &m->table_next_fs},
                {"mnt_fs_get_target", &m->fs_get_target},
        };

        return dl_load("libmount.so.1", symbols, ARRAY_SIZE(symbols));
}

/* Drops those submounts that a later mount at `below` ("": above them all) covers. */
static void forget_covered(char **submounts, const char *below) {
        size_t n = 0;

        for (size_t i = 0; submounts && submounts[i]; i++)
                if (!*below || path_is_beneath(submounts[i], below))
                        free(submounts[i]);
                else
                        submounts[n++] = submounts[i];
        if (submounts)
                submounts[n] = NULL;
}

/* Takes note of one mount of the host for one bind: it lies beneath the source, or covers it from above. The
 * table has parents before children and the covered before what covers it. */
static int note_mount(char ***submounts, const char *source, const char *mount) {
        const char *below = path_below(mount, source);

        if (below && *below) {
                forget_covered(*submounts, below);
                return strv_add(submounts, below);
        }
        if (path_is_beneath(source, mount))
                forget_covered(*submounts, "");
        return 0;
}

/* The source of a bind that takes along all that is mounted below it; NULL for any other operation. */
static const char *recursive_source(const struct plan_op *op) {
        return op->kind == PLAN_BIND || op->kind == PLAN_OVERLAY ? op->source
               : op->kind == PLAN_PROC                           ? "/proc"
                                                                 : NULL;
}

static int read_table(struct mounting *m, const struct libmount *libmount) {
        struct libmnt_table *table = libmount->new_table_from_file("/proc/self/mountinfo");
        struct libmnt_iter *iterator = libmount->new_iter(MNT_ITER_FORWARD);
        struct libmnt_fs *fs;
        int r = table && iterator ? 0 : -EIO;

        while (r >= 0 && libmount->table_next_fs(table, iterator, &fs) == 0) {
                const char *mount = libmount->fs_get_target(fs);

                for (size_t i = 0; mount && i < m->plan->n_ops && r >= 0; i++) {
                        const char *source = recursive_source(&m->plan->ops[i]);

                        r = source ? note_mount(&m->submounts[i], source, mount) : 0;
                }
        }
        if (iterator)
                libmount->free_iter(iterator);
        if (table)
                libmount->unref_table(table);
        if (r < 0 && r != -ENOMEM)
                (void)error_set(&m->legacy_error, NSRUN_STAGE_MOUNT, r, "/proc/self/mountinfo",
                                "the mount table can't be read", NULL);
        return r == -ENOMEM ? r : 0;
}

int legacy_prepare(struct mounting *m, struct nsrun_error *err) {
        struct libmount libmount;
        int found = sys_find_mount_calls(), r;

        if (found >= 0)
                return 0;
        m->is_legacy = true;
        r = load_libmount(&libmount);
        if (r < 0) {
                (void)error_cause(&m->legacy_error,
                                  found == -EPERM ? CAUSE_FILTER_MOUNT_CALLS : CAUSE_NO_MOUNT_CALLS,
                                  found == -EPERM ? found : r, NULL);
                return 0;
        }
        m->submounts = calloc(m->plan->n_ops + 1, sizeof(*m->submounts));
        return m->submounts && read_table(m, &libmount) >= 0 ? 0 : error_oom(err);
}

int legacy_check(struct mounting *m) {
        if (m->legacy_error.stage == NSRUN_STAGE_NONE)
                return 0;
        *m->error = m->legacy_error;
        return -m->error->error;
}

void legacy_free(struct mounting *m) {
        for (size_t i = 0; m->submounts && i < m->plan->n_ops; i++)
                strv_free(m->submounts[i]);
        free(m->submounts);
        m->submounts = NULL;
}

/* A user namespace may add to the flags that a mount came with, and take none away. */
int legacy_restrict(int fd, uint64_t attributes) {
        unsigned long flags;
        char number[24];
        int r = sys_mount_flags(fd, &flags);

        if (r < 0)
                return r;
        flags |= (attributes & MOUNT_ATTR_RDONLY ? MS_RDONLY : 0UL) |
                 (attributes & MOUNT_ATTR_NOSUID ? MS_NOSUID : 0UL) |
                 (attributes & MOUNT_ATTR_NODEV ? MS_NODEV : 0UL) |
                 (attributes & MOUNT_ATTR_NOEXEC ? MS_NOEXEC : 0UL);
        return sys_mount(NULL, number_format(number, (uint64_t)fd), NULL, MS_REMOUNT | MS_BIND | flags,
                         NULL);
}

/* The submounts that came along with a bind of the plan; none for an operation that isn't in the
 * plan's list. */
static char *const *submounts_of(const struct mounting *m, const struct plan_op *op) {
        static char *const none[] = {NULL};
        bool is_in_plan = op >= m->plan->ops && op < m->plan->ops + m->plan->n_ops;
        char *const *submounts = is_in_plan ? m->submounts[op - m->plan->ops] : NULL;

        return submounts ? submounts : none;
}

int legacy_attach(struct mounting *m, const struct plan_op *op, int source, int target, uint64_t attributes,
                  bool is_recursive) {
        _cleanup_close_ int top = -EBADF;
        char from[24], to[24];
        int r;

        r = sys_mount(number_format(from, (uint64_t)source), number_format(to, (uint64_t)target), NULL,
                      MS_BIND | (is_recursive ? MS_REC : 0UL), NULL);
        if (r < 0)
                return error_set(m->error, NSRUN_STAGE_MOUNT, r, op->target, "the bind can't be attached",
                                 NULL);
        /* `target` is what the bind covers; the same path now leads to what it shows. */
        top = m->open_again(m, op);
        r = top < 0 ? top : legacy_restrict(top, attributes);
        for (char *const *below = submounts_of(m, op); is_recursive && *below && r >= 0; below++) {
                _cleanup_close_ int fd = beneath_open(top, *below, O_PATH, 0);

                /* ENOENT: the submount is covered by another one, or gone since the table was read. */
                if (fd != -ENOENT)
                        r = fd < 0 ? fd : legacy_restrict(fd, attributes);
        }
        if (r < 0)
                return error_set(m->error, NSRUN_STAGE_MOUNT, r, op->target, "the bind's flags can't be set",
                                 NULL);
        return 0;
}
