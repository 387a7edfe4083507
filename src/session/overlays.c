/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From a session's record to descriptors: which overlay a path means, and the folders of each.  The mounted
 * overlay is reached by /proc/PID/root of the session's pid 1. */
#include "overlays.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "base/beneath.h"
#include "base/degraded.h"
#include "base/path.h"
#include "base/sys.h"
#include "session.h"

#define OVERLAYFS_MAGIC 0x794c7630UL /* defined in <linux/magic.h> */

void asking_clear(struct asking *a) {
        for (size_t i = 0; i < a->n; i++)
                strv_free(a->chosen[i].paths);
        free(a->chosen);
        close_fdp(&a->rundir);
        close_fdp(&a->root);
        close_fdp(&a->init);
        record_clear(&a->record);
        records_close(&a->folder);
}

/* Opens pid 1's root by its pid.  The pidfd is asked afterwards whether pid 1 still lives: the
 * number was pid 1's all the time then. */
static int open_root(struct asking *a) {
        char path[64];
        int r;

        a->init = record_open_process(&a->record.init);
        (void)snprintf(path, sizeof(path), "/proc/%d/root", (int)a->record.init.pid);
        r = a->init < 0 ? a->init : sys_open(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
        if (r >= 0) {
                a->root = r;
                r = sys_pidfd_send_signal(a->init, 0);
        }
        if (r < 0)
                return error_set(a->err, NSRUN_STAGE_SUPERVISE, r, a->record.id,
                                 r == -ESRCH ? "the session has ended" : "the session can't be looked into",
                                 NULL);
        return 0;
}

static int layers_open_rundir(struct asking *a) {
        const char *path = a->record.rundir;

        if (!path || a->record.plan->backing != POLICY_BACKING_DISK)
                return error_set(a->err, NSRUN_STAGE_POLICY, -EOPNOTSUPP, a->record.id,
                                 "the session's overlays are not on disk",
                                 "start it with --overlay PATH, and without --overlay-backing=tmpfs");
        a->rundir = sys_openat2(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, RESOLVE_NO_SYMLINKS);
        if (a->rundir == -ENOSYS)
                a->rundir = sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (a->rundir < 0)
                return error_set(a->err, NSRUN_STAGE_WORKSPACE, a->rundir, path,
                                 "the session's folder can't be opened", NULL);
        return 0;
}

static struct chosen *find_chosen(struct asking *a, const struct plan_op *op) {
        for (size_t i = 0; i < a->n; i++)
                if (a->chosen[i].op == op)
                        return &a->chosen[i];
        a->chosen[a->n] = (struct chosen){.op = op};
        return &a->chosen[a->n++];
}

/* The innermost of the plan's overlays that holds `path`, absolute and normalised; NULL: none does. */
static const struct plan_op *find_overlay(const struct nsrun_plan *plan, const char *path) {
        const struct plan_op *best = NULL;

        for (size_t i = 0; i < plan->n_ops; i++) {
                const struct plan_op *op = &plan->ops[i];

                if (op->kind == PLAN_OVERLAY && path_is_beneath(path, op->target) &&
                    (!best || strlen(op->target) > strlen(best->target)))
                        best = op;
        }
        return best;
}

/* Whether a default cache has its changes elsewhere, or none: what the record says of its place. */
static bool is_degraded_at(const struct nsrun_plan *plan, const char *target) {
        STRV_FOREACH (entry, plan->degraded) {
                const char *path = NULL;

                if (degraded_read(*entry, &path) && path && streq(path, target))
                        return true;
        }
        return false;
}

static int choose_path(struct asking *a, const char *given) {
        const struct nsrun_plan *plan = a->record.plan;
        _cleanup_free_ char *path = path_join(plan->project ? plan->project : POLICY_NO_PROJECT_DIR, given);
        const struct plan_op *op;
        struct chosen *chosen;
        const char *below;

        if (!path)
                return error_oom(a->err);
        /* An empty path most likely comes of a shell variable that was not set: it must not mean
         * everything. */
        if (!*given)
                return error_set(a->err, NSRUN_STAGE_USAGE, -ENOENT, NULL, "an empty path names nothing",
                                 "the whole project is '.'");
        op = find_overlay(plan, path);
        if (!op)
                return error_set(a->err, NSRUN_STAGE_USAGE, -ENOENT, path,
                                 "no overlay of the session holds this path",
                                 "start the session with --overlay to have one there");
        if (is_degraded_at(plan, op->target))
                return error_set(a->err, NSRUN_STAGE_POLICY, -EOPNOTSUPP, op->target,
                                 "this cache has no overlay on disk", "'nsrun session show' says why");
        chosen = find_chosen(a, op);
        below = path_below(path, op->target);
        if (!*below)
                chosen->is_whole = true;
        else if (strv_add(&chosen->paths, below) < 0)
                return error_oom(a->err);
        return 0;
}

static int compare_chosen(const void *a, const void *b) {
        const struct chosen *x = a, *y = b;

        return x->op < y->op ? -1 : x->op > y->op;
}

/* Chooses the overlays that the caller's paths mean, in the plan's order, in which several are locked.
 * Without paths those that the user named are chosen; overlays of nsrun's own lists are caches, whose
 * changes nobody wants to see. */
static int layers_choose(struct asking *a, const char *const *paths) {
        const struct nsrun_plan *plan = a->record.plan;
        int r = 0;

        a->chosen = calloc(plan->n_ops + 1, sizeof(*a->chosen));
        if (!a->chosen)
                return error_oom(a->err);
        for (size_t i = 0; paths && paths[i] && r >= 0; i++)
                r = choose_path(a, paths[i]);
        for (size_t i = 0; i < a->n; i++)
                if (a->chosen[i].is_whole)
                        strv_free(TAKE_PTR(a->chosen[i].paths));
        if (a->n > 1)
                qsort(a->chosen, a->n, sizeof(*a->chosen), compare_chosen);
        if (paths && paths[0])
                return r;
        for (size_t i = 0; i < plan->n_ops; i++)
                if (plan->ops[i].kind == PLAN_OVERLAY && plan->ops[i].was_asked_for)
                        (void)find_chosen(a, &plan->ops[i]);
        if (a->n == 0)
                return error_set(a->err, NSRUN_STAGE_POLICY, UNSAID(-ENOENT), a->record.id,
                                 "the session was started without an --overlay",
                                 "name a path in one of its overlays, or start one with --overlay PROJECT");
        return 0;
}

int asking_begin(struct asking *a, const char *id, const char *const *paths) {
        int r = session_read(id, &a->folder, &a->record, a->err);

        if (r >= 0)
                r = layers_choose(a, paths);
        if (r >= 0)
                r = layers_open_rundir(a);
        return r < 0 ? r : open_root(a);
}

void layer_close(struct layer_fds *f) {
        close_fdp(&f->layer);
        close_fdp(&f->upper);
        close_fdp(&f->base);
        close_fdp(&f->merged);
}

/* Whether `fd`, reached by path in the session, is the overlay that the session began with.  A
 * command may rename a folder above a mount point, mount and all, and make another folder of the
 * old name. */
static bool is_overlay(int fd, const struct plan_op *op) {
        struct statfs fs;
        struct stat st;

        return fstatfs(fd, &fs) == 0 && (unsigned long)fs.f_type == OVERLAYFS_MAGIC &&
               sys_fstat(fd, &st) >= 0 && st.st_dev == op->merged_dev && st.st_ino == op->merged_ino;
}

int layer_open(const struct asking *a, const struct plan_op *op, struct layer_fds *f,
               struct changes_layer *ret) {
        _cleanup_close_ int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        int r = host < 0 ? -errno : 0;
        struct stat st;

        if (r >= 0)
                r = f->layer = beneath_open(a->rundir, op->text, O_RDONLY | O_DIRECTORY, 0);
        if (r >= 0)
                r = f->upper = beneath_open(f->layer, "upper", O_RDONLY | O_DIRECTORY, 0);
        if (r >= 0)
                r = f->base = beneath_open(host, op->source + 1, O_RDONLY | O_DIRECTORY, 0);
        if (r >= 0)
                r = f->merged = beneath_open(a->root, op->target + 1, O_RDONLY | O_DIRECTORY, 0);
        if (r < 0)
                return error_set(a->err, NSRUN_STAGE_OVERLAY, r, op->target, "the overlay can't be opened",
                                 NULL);
        if (sys_fstat(f->base, &st) < 0 || st.st_dev != op->base_dev || st.st_ino != op->base_ino)
                return error_set(a->err, NSRUN_STAGE_OVERLAY, UNSAID(-ESTALE), op->source,
                                 "another folder is there than the one that the session began with",
                                 "move that one back to its place");
        if (!is_overlay(f->merged, op))
                return error_set(
                        a->err, NSRUN_STAGE_OVERLAY, -ESTALE, op->target,
                        "another folder is there in the session than its overlay",
                        "a command of the session has moved a folder above it: move that one back, by "
                        "another command");
        *ret = (struct changes_layer){
                .upper_fd = f->upper,
                .base_fd = f->base,
                .merged_fd = f->merged,
                .record_fd = f->layer,
                .since = {.tv_sec = (time_t)a->record.base_s, .tv_nsec = (long)a->record.base_ns}};
        return 0;
}

static bool is_missing_in(int folder, const char *path) {
        _cleanup_close_ int fd = beneath_open(folder, path, O_PATH | O_NOFOLLOW, 0);

        return fd == -ENOENT || fd == -ENOTDIR;
}

int layer_find_globs(struct chosen *chosen, const struct changes_layer *layer) {
        for (char **path = chosen->paths; path && *path; path++) {
                char *glob;

                if (**path == '/' || !strpbrk(*path, "*?[") || !is_missing_in(layer->base_fd, *path) ||
                    !is_missing_in(layer->merged_fd, *path))
                        continue;
                glob = str_format("/%s", *path);
                if (!glob)
                        return -ENOMEM;
                free(*path);
                *path = glob;
        }
        return 0;
}

static int enter_and_forget(const struct asking *a, const int *merged, size_t n) {
        int r = sys_setns(a->init, CLONE_NEWUSER | CLONE_NEWNS);

        if (r == -EINVAL) /* root's session without a user namespace of its own */
                r = sys_setns(a->init, CLONE_NEWNS);
        for (size_t i = 0; i < n && r >= 0; i++)
                r = sys_remount_same(merged[i]);
        return r;
}

void layers_look_anew(const struct asking *a, const int *merged, size_t n) {
        _cleanup_close_ int pidfd = -EBADF;
        siginfo_t info;
        int r = n == 0 ? -EBADF : sys_fork_to_enter(0, &pidfd);

        if (r == 0)
                _exit(enter_and_forget(a, merged, n) < 0);
        if (r > 0)
                (void)sys_waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED);
}
