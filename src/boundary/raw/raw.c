/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The child's life under a raw plan: what bubblewrap's callers expect, in bubblewrap's
 * order. */
#include "raw.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>

#include "boundary/decimal.h"
#include "boundary/exec.h"
#include "boundary/harden.h"
#include "boundary/init_handover.h"

static int await_maps(struct raw *w) {
        int r = identity_await(w->asked->userns_block_fd, "the block fd of the user namespace can't be read",
                               &w->builder->reaper.error);

        return r < 0 ? r : raw_become_root(w);
}

static int map_ids(struct raw *w) {
        const struct boundary_raw *raw = w->asked;

        if (!(w->builder->b.facts.namespaces & CLONE_NEWUSER))
                return 0;
        if (raw->userns_block_fd >= 0)
                return await_maps(w);
        return identity_map(AT_FDCWD, "/proc/self/", w->builder->b.facts.uid_map,
                            w->builder->b.facts.gid_map, &w->builder->reaper.error);
}

/* Makes user namespaces impossible inside: this one may have one child (max_user_namespaces, 4.9), which
 * identity_take() makes.  Called while the host's /proc is still there. */
static int limit_userns(struct raw *w) {
        _cleanup_close_ int limit = -EBADF;
        ssize_t n;

        if (!w->asked->disables_userns)
                return 0;
        limit = sys_open(w->mount.old_root, "proc/sys/user/max_user_namespaces", O_WRONLY, 0);
        n = limit < 0 ? limit : sys_write(limit, "1", 1);
        if (n < 0)
                return error_set(&w->builder->reaper.error, NSRUN_STAGE_IDMAP, (int)n,
                                 "/proc/sys/user/max_user_namespaces", "user namespaces can't be disabled",
                                 NULL);
        return 0;
}

/* The host's /proc/self, for the maps of the last user namespace, while it is still there: mount.descriptors
 * is the "fd" in it. */
static int open_self(struct raw *w) {
        struct init_identity *id = &w->builder->reaper.init.identity;

        if (!id->makes_userns)
                return 0;
        id->self_fd = sys_open(w->mount.descriptors, "..", O_PATH | O_DIRECTORY, 0);
        if (id->self_fd < 0)
                return error_set(&w->builder->reaper.error, NSRUN_STAGE_IDMAP, id->self_fd, "/proc/self",
                                 "it can't be opened", NULL);
        return 0;
}

static bool has_covers(const struct blueprint *b) {
        for (size_t i = 0; i < b->n_ops; i++)
                if (b->ops[i].kind == PLAN_PROTECT || b->ops[i].kind == PLAN_HIDE)
                        return true;
        return false;
}

/* That a mount point can't be renamed or removed is so in its own mount namespace alone: from another one,
 * which any command can make in a user namespace, the folder that holds it can be changed.  The bound counts
 * for all user namespaces beneath this one, too.  Called while the host's /proc is still there. */
static int forbid_mount_namespaces(struct raw *w) {
        struct nsrun_error *err = &w->builder->reaper.error;
        _cleanup_close_ int bound = -EBADF;
        ssize_t n;

        if (!has_covers(&w->builder->b) || w->asked->disables_userns)
                return 0;
        if (!(w->builder->b.facts.namespaces & CLONE_NEWUSER))
                return error_set(err, NSRUN_STAGE_MOUNT, -EPERM, NULL,
                                 "Can't protect or hide without --unshare-user, or --disable-userns", NULL);
        bound = sys_open(w->mount.old_root, "proc/sys/user/max_mnt_namespaces", O_WRONLY, 0);
        n = bound < 0 ? bound : sys_write(bound, "0", 1);
        if (n < 0)
                return error_set(err, NSRUN_STAGE_MOUNT, (int)n, NULL,
                                 "Can't protect or hide: nested mount namespaces can't be forbidden", NULL);
        return 0;
}

static int lock_files(struct raw *w) {
        STRV_FOREACH (path, w->builder->b.lock_files) {
                int fd = sys_open(AT_FDCWD, *path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
                int r = fd < 0 ? fd : sys_lock_shared(fd);

                if (r < 0)
                        return error_set(&w->builder->reaper.error, NSRUN_STAGE_SUPERVISE, r, *path,
                                         "Unable to lock file", NULL);
                w->builder->reaper.held[w->builder->reaper.n_held++] = fd;
        }
        return 0;
}

/* Sets an SELinux label, of the next exec or of files that are made, by writing it to `path`, an
 * attribute of /proc/self/attr, beneath `folder`.  A `label` of NULL: none was asked for. */
static int set_label(struct raw *w, int folder, const char *path, const char *label) {
        _cleanup_close_ int fd = -EBADF;
        ssize_t n;

        if (!label)
                return 0;
        fd = sys_open(folder, path, O_WRONLY, 0);
        n = fd < 0 ? fd : sys_write(fd, label, strlen(label) + 1);
        if (n < 0)
                return error_set(&w->builder->reaper.error, NSRUN_STAGE_HARDENING, (int)n, label,
                                 "Can't set the label", NULL);
        return 0;
}

/* The host's /proc/self, for the command's label, while it is still there: what lies at /proc inside may be
 * an image's or another command's, and a label that was written into a file of theirs would not be set.  The
 * attribute itself is opened when all else is done: the kernel takes no label by a descriptor of a process
 * that had other credentials. */
static int open_label(struct raw *w) {
        if (!w->builder->b.exec_label)
                return 0;
        w->label_self = sys_open(AT_FDCWD, "/proc/self", O_PATH | O_DIRECTORY, 0);
        if (w->label_self < 0)
                return error_set(&w->builder->reaper.error, NSRUN_STAGE_HARDENING, w->label_self,
                                 "/proc/self", "Can't set the label", NULL);
        return 0;
}

static int label_exec(struct raw *w) {
        int r = set_label(w, w->label_self, "attr/exec", w->builder->b.exec_label);

        close_fdp(&w->label_self);
        return r;
}

/* The path is relative to the working directory, which is the host's /proc/self/fd by now. */
static int raw_label_files(struct raw *w) {
        return set_label(w, AT_FDCWD, "../attr/fscreate", w->builder->b.file_label);
}

/* The command of a container that runs already. */
static int raw_join(struct raw *w) {
        struct init *init = &w->builder->reaper.init;
        int r = harden_die_with(init->supervisor_fd, &w->builder->reaper.error);

        if (r >= 0)
                r = open_label(w);
        if (r >= 0)
                r = raw_enter_namespaces(w);
        if (r >= 0)
                r = raw_become_root(w);
        if (r >= 0)
                r = raw_mount_enter_directory(w);
        if (r >= 0)
                r = raw_open_console(w);
        close_fdp(&w->mount.new_root);
        if (r >= 0)
                r = identity_take(&init->identity, init->supervisor_fd, &w->builder->reaper.error);
        if (r >= 0)
                r = label_exec(w);
        return r < 0 ? r : raw_take_console(w);
}

static int raw_build(struct raw *w) {
        const struct boundary_raw *raw = w->asked;
        struct init *init = &w->builder->reaper.init;
        int r;

        r = harden_die_with(init->supervisor_fd, &w->builder->reaper.error);
        if (r >= 0)
                r = identity_await(raw->start_fd, "the supervisor's word can't be read",
                                   &w->builder->reaper.error);
        if (r >= 0)
                r = map_ids(w);
        if (r >= 0)
                r = open_label(w);
        if (r >= 0 && (w->builder->b.facts.namespaces & CLONE_NEWNET))
                r = network_loopback(&w->builder->reaper.error);
        if (r >= 0)
                r = builder_set_hostname(w->builder);
        if (r >= 0)
                r = raw_mount_root(w);
        if (r >= 0)
                r = raw_label_files(w);
        if (r >= 0)
                r = raw_mount_operations(w);
        if (r >= 0)
                r = raw_open_console(w);
        if (r >= 0)
                r = limit_userns(w);
        if (r >= 0)
                r = open_self(w);
        if (r >= 0)
                r = forbid_mount_namespaces(w);
        if (r >= 0)
                r = raw_mount_seal(w);
        if (r >= 0 && init->identity.is_late && init->identity.block_fd >= 0 &&
            fcntl(init->identity.block_fd, F_GETFD) < 0)
                return error_set(&w->builder->reaper.error, NSRUN_STAGE_SUPERVISE, -errno, NULL,
                                 "the block fd can't be read", NULL);
        if (r >= 0 && !init->identity.is_late)
                r = identity_take(&init->identity, init->supervisor_fd, &w->builder->reaper.error);
        if (r >= 0)
                r = label_exec(w);
        return r < 0 ? r : raw_take_console(w);
}

/* The command is found before the launch's caller is told that all is well, and executed when it may be
 * gone.
 */
static int raw_await_start(struct raw *w) {
        struct reaper *p = &w->builder->reaper;
        int r = exec_look(p);

        if (r >= 0)
                r = identity_outlive(&p->error);
        return r < 0 ? r : report_send(p->init.report_fd, &(struct launch_report){.kind = LAUNCH_BUILT});
}

/* Makes the reaper non-dumpable.  The command has the same uid, and a raw plan's filters needn't
 * deny ptrace: only this keeps it out of the reaper's memory, descriptors and environment, and from
 * /proc/1/exe. */
static int hide_reaper(struct raw *w) {
        int r = sys_prctl(PR_SET_DUMPABLE, 0, 0);

        if (r < 0)
                return error_set(&w->builder->reaper.error, NSRUN_STAGE_HARDENING, r, NULL,
                                 "the reaper can't be made undumpable", NULL);
        return 0;
}

/* Of a failure after the word to start the launch's caller doesn't hear. */
static _Noreturn void raw_tell_late(const struct nsrun_error *err) {
        const char *const parts[] = {err->what, ": ", err->path, ": ", error_words(err->error), "\n"};

        for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
                if (parts[i])
                        (void)sys_write(STDERR_FILENO, parts[i], strlen(parts[i]));
        _exit(err->error == ENOENT ? 127 : 126);
}

static _Noreturn void raw_live(struct raw *w) {
        static const struct launch_report built = {.kind = LAUNCH_BUILT};
        struct reaper *p = &w->builder->reaper;
        int r = builder_take_descriptors(w->builder);

        p->init.umask = umask(0);
        if (r >= 0)
                r = w->asked->join_pidfd >= 0 ? raw_join(w) : raw_build(w);
        if (r >= 0)
                r = w->asked->exec_fd >= 0 ? raw_await_start(w) : report_send(p->init.report_fd, &built);
        if (r >= 0)
                r = identity_await(w->asked->exec_fd, "the word to start can't be read", &p->error);
        /* Without --die-with-parent the supervisor's death ends only the set-up. */
        if (r >= 0 && p->init.outlives_supervisor && !p->init.identity.is_late)
                r = identity_outlive(&p->error);
        if (r >= 0 && !w->asked->has_reaper) {
                exec_directly(p);
                if (w->asked->exec_fd >= 0)
                        raw_tell_late(&p->error);
                report_failure(p->init.report_fd, -1, &p->error);
        }
        if (r >= 0)
                r = lock_files(w);
        if (r >= 0 && w->builder->b.facts.init_fd >= 0)
                r = init_exec(w->builder);
        if (r >= 0)
                r = hide_reaper(w);
        if (r < 0)
                report_failure(p->init.report_fd, w->operation, &p->error);
        builder_wipe_command_line(w->builder);
        init_finish(p);
}

_Noreturn void raw_run(struct builder *b) {
        struct raw w = {.builder = b,
                        .asked = &b->b.facts.raw,
                        .mount = MOUNTING_INIT,
                        .base_root = -EBADF,
                        .console = -EBADF,
                        .label_self = -EBADF,
                        .operation = -1};

        w.mount.b = &b->b;
        w.mount.error = &b->reaper.error;
        w.mount.report_fd = b->reaper.init.report_fd;
        raw_live(&w);
}
