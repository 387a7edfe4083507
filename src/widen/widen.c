/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See widen.h. */
#include "widen.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/path.h"
#include "base/str.h"
#include "base/sys.h"
#include "disk/exposed.h"
#include "launch/launch.h"
#include "plan/record.h"
#include "running/plan_shown.h"
#include "seccomp/simulate.h"
#include "seccomp/syscalls.h"
#include "widen_place.h"
#include "widen_plan.h"

enum {
        GRANTS_MOST = 256, /* of a sandbox at once */
        ANSWER_MS = 5000,  /* of who waits for a sandbox, who looks twice a second at least */
        LOCK_MS = 5000,
        LOOK_MS = 10,
        TRIES = 5, /* of a mount that is moved at this moment */
};

static int widen_fail(struct nsrun_error *err, int r, const char *path, const char *what, const char *hint) {
        return error_set(err, NSRUN_STAGE_SUPERVISE, r, path, what, hint);
}

void widen_close(struct widened *w) {
        inside_close(&w->inside);
        close_fdp(&w->file);
        close_fdp(&w->pidfd);
        plan_free(w->plan);
        granted_clear(&w->granted);
        *w = (struct widened)WIDENED_INIT;
}

/* What a grant has mounted: at its place, or where that has been moved: by whoever else has the host's
 * folder that it lies in, or while it is taken back.  *ret_shown is the path then. */
static int open_tree_of(const struct widened *w, const struct granted *g, char **ret_shown) {
        int fd = granted_open(g, &w->inside);

        for (unsigned i = 0; i < TRIES && fd < 0 && w->inside.root >= 0; i++) {
                _cleanup_free_ char *shown = NULL;
                struct granted moved = *g;

                if (inside_find(&w->inside, w->pid, g->mount, &shown) < 0)
                        continue;
                moved.shown = shown;
                fd = granted_open(&moved, &w->inside);
                if (fd >= 0 && ret_shown)
                        *ret_shown = TAKE_PTR(shown);
        }
        return fd;
}

static int find_live(struct widened *w) {
        int r = granted_read(w->file, &w->granted);

        for (size_t i = 0; i < w->granted.n && r >= 0; i++) {
                struct granted *g = &w->granted.items[i];
                _cleanup_close_ int fd = g->mount && !g->has_ended ? open_tree_of(w, g, NULL) : -EBADF;

                /* Of one that can't be entered nobody knows better. */
                g->is_live = fd >= 0 || (w->inside.root < 0 && g->mount && !g->has_ended);
        }
        return r;
}

static int widen_lock(const struct widened *w, struct nsrun_error *err) {
        for (int waited = 0; flock(w->file, LOCK_EX | LOCK_NB) < 0; waited += LOOK_MS) {
                if (errno != EWOULDBLOCK)
                        return widen_fail(err, -errno, NULL, "the sandbox can't be locked", NULL);
                if (waited >= LOCK_MS)
                        return widen_fail(err, UNSAID(-EBUSY), NULL,
                                          "another nsrun grant or revoke has the sandbox", NULL);
                if (loop_await(w->pidfd, POLLIN, LOOK_MS) != 0)
                        return widen_fail(err, -ESRCH, NULL, "the sandbox has ended", NULL);
        }
        return 0;
}

int widen_open(pid_t waiter, pid_t init, int pidfd, bool waits, struct widened *ret,
               struct nsrun_error *err) {
        _cleanup_widened_ struct widened w = WIDENED_INIT;
        _cleanup_strv_ char **lacks = NULL;
        int r = w.file = shown_open(waiter, init, err);

        w.pidfd = pidfd;
        if (r < 0)
                return r;
        r = waits ? widen_lock(&w, err) : 0;
        if (r >= 0)
                r = shown_read_open(w.file, &w.plan, &lacks, err);
        if (r < 0)
                return r;
        r = w.pid = inside_open(init, &w.inside);
        if (r < 0 && waits)
                return widen_fail(err, r, NULL, "the sandbox can't be entered",
                                  "it is being started, or its command is in namespaces of its own");
        r = find_live(&w);
        /* All of that was of this sandbox, if it is there still. */
        if (r >= 0)
                r = sys_pidfd_send_signal(pidfd, 0);
        if (r < 0)
                return widen_fail(
                        err, r, NULL,
                        r == -ESRCH ? "the sandbox has ended" : "what it was granted can't be read", NULL);
        *ret = w;
        w = (struct widened)WIDENED_INIT;
        return 0;
}

/* Waits until who waits for the sandbox has said of the grant that it looks after it, or when it has ended
 * that this is done. */
static int await_keeping(const struct widened *w, uint64_t id, int *ret_why_not) {
        for (int waited = 0; waited < ANSWER_MS; waited += LOOK_MS) {
                _cleanup_granted_ struct granted_list list = {0};
                int r = granted_read(w->file, &list);

                for (size_t i = 0; i < list.n; i++) {
                        const struct granted *g = &list.items[i];

                        if (g->id != id || !(g->has_ended ? g->is_swept : g->is_kept))
                                continue;
                        *ret_why_not = g->why_not;
                        return 0;
                }
                if (r < 0 || loop_await(w->pidfd, POLLIN, LOOK_MS) != 0)
                        return r < 0 ? r : -ESRCH;
        }
        return -ETIMEDOUT;
}

static int await_kept(const struct widened *w, const struct granted *g, struct nsrun_error *err) {
        int why_not = 0, r = await_keeping(w, g->id, &why_not);

        if (why_not)
                return widen_fail(err, -why_not, g->path, "who waits for the sandbox can't look after it",
                                  NULL);
        if (r == -ETIMEDOUT)
                return widen_fail(
                        err, UNSAID(r), g->path,
                        "who waits for the sandbox doesn't look after what this shows",
                        "it is stopped, or a program with the library that waits for something else");
        return r < 0 ? widen_fail(err, r, NULL, "the sandbox has ended", NULL) : 0;
}

struct widen_reports {
        const struct widened *w;
        char ***notes;           /* gets lines; or NULL */
        bool *has_writers;       /* else: what boundary/grant.c notes of what it takes back */
        struct granted *granted; /* which is written down before it is attached; or NULL */
};

/* Until the process is gone. */
static int take_reports(const struct launch *l, const struct widen_reports *reports,
                        struct nsrun_error *err) {
        struct granted *g = reports->granted;
        _cleanup_close_ int there = -EBADF;
        struct launch_report report;
        int r;

        while ((r = launch_read_report(l, &report)) > 0) {
                if (report.kind == LAUNCH_FAILED) {
                        *err = report.error;
                        return report.error.error > 0 ? -report.error.error : -EIO;
                }
                if (report.kind == LAUNCH_STARTED)
                        return 0;
                if (report.kind == LAUNCH_NOTE && !reports->notes)
                        *reports->has_writers = true;
                else if (report.kind == LAUNCH_NOTE && *report.error.what)
                        (void)strv_consume(reports->notes, nsrun_error_format(&report.error));
                if (report.kind != LAUNCH_BUILT || !g)
                        continue;
                g->mount = report.mount;
                /* Linux before 5.8 has no ids. */
                r = g->mount ? granted_say(reports->w->file, GRANTED_MADE, g, g->mount) : -EOPNOTSUPP;
                if (r < 0)
                        return widen_fail(err, r, g->path, "it can't be written down, and so isn't granted",
                                          NULL);
                (void)launch_end_when_empty(l);
        }
        /* It may have been attached still. */
        there = r == 0 && g && g->mount ? granted_open(g, &reports->w->inside) : -EBADF;
        return there >= 0 ? 0
                          : widen_fail(err, r < 0 ? r : -EIO, NULL, "the process that mounts it was killed",
                                       NULL);
}

static int widen_launch(const struct nsrun_plan *plan, const struct launch_grant *grant,
                        const struct widen_reports *reports, struct nsrun_error *err) {
        const struct launch_params params = {
                .rundir_fd = -EBADF, .lock_fd = -EBADF, .terminal_fd = -1, .grant = grant};
        _cleanup_(launch_close) struct launch l = LAUNCH_INIT;
        int r = launch_start(plan, &params, &l, err);

        if (r < 0)
                return r;
        r = take_reports(&l, reports, err);
        if (r < 0)
                (void)sys_pidfd_send_signal(l.pidfd, SIGKILL);
        (void)launch_wait(&l);
        return r;
}

static int widen_show(struct widened *w, const struct nsrun_plan *plan, const struct widen_place *place,
                      struct granted *g, char ***notes, struct nsrun_error *err) {
        const struct launch_grant grant = {.user = w->inside.user,
                                           .mount_namespace = w->inside.mount_namespace,
                                           .folder = place->folder,
                                           .tree = -EBADF,
                                           .makes = place->makes,
                                           .target = g->shown};
        const struct widen_reports reports = {.w = w, .notes = notes, .granted = g};
        int r = granted_ask(w->file, g);

        if (r < 0)
                return widen_fail(err, r, g->path, "it can't be written down, and so isn't granted", NULL);
        r = g->needs_keeping ? await_kept(w, g, err) : 0;
        if (r >= 0)
                r = widen_launch(plan, &grant, &reports, err);
        if (r < 0 && granted_say(w->file, GRANTED_ENDED, g, 0) < 0)
                (void)strv_consume(notes, strdup("that it wasn't granted can't be written down"));
        return r;
}

/* What of the plan is of use to who looks after it. */
static int store_part(struct nsrun_plan *plan, struct granted *g) {
        struct nsrun_plan part = *plan;

        part.env = NULL;
        part.seccomp = (struct seccomp_loaded){0};
        return plan_store(&part, &g->plan, &g->plan_size);
}

/* Whether the command can have made mount namespaces of its own. */
static bool can_have_namespaces(const struct nsrun_plan *plan) {
        static const char *const calls[] = {"unshare", "clone", "clone3"};

        for (size_t i = 0; i < ARRAY_SIZE(calls) && plan->seccomp.code; i++) {
                /* The flags of clone(2) are its second argument on some machines. */
                const struct seccomp_data data = {.nr = syscall_number(SYSCALL_ARCH_NATIVE, calls[i]),
                                                  .arch = syscall_arch_audit(SYSCALL_ARCH_NATIVE),
                                                  .args = {CLONE_NEWUSER, CLONE_NEWUSER}};
                uint32_t answer = seccomp_simulate(plan->seccomp.code, plan->seccomp.n, &data) &
                                  SECCOMP_RET_ACTION_FULL;

                if (answer != SECCOMP_RET_ERRNO && answer != SECCOMP_RET_KILL_THREAD &&
                    answer != SECCOMP_RET_KILL_PROCESS)
                        return true;
        }
        return !plan->seccomp.code;
}

int widen_grant(struct widened *w, const char *option, const char *path, char ***notes,
                struct nsrun_error *err) {
        struct granted g = {.option = (char *)(uintptr_t)option};
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        struct widen_place place = {.folder = -EBADF};
        size_t n = 0;
        int r = widen_plan(w->plan, &w->granted, option, path, &plan, &g.path, err);

        for (size_t i = 0; i < w->granted.n; i++)
                n += !w->granted.items[i].has_ended;
        if (r >= 0 && n >= GRANTS_MOST)
                r = widen_fail(err, UNSAID(-E2BIG), NULL, "the sandbox was granted too much already",
                               "start it with the options");
        if (r >= 0)
                r = widen_place_find(w->inside.root, g.path, can_have_namespaces(w->plan), &place, err);
        if (r >= 0)
                r = exposed_add(plan->exposes, err);
        if (r >= 0 && store_part(plan, &g) < 0)
                r = error_oom(err);
        g.shown = place.shown;
        g.makes = place.makes;
        g.needs_keeping = r >= 0 && widen_plan_needs_keeping(plan, g.path);
        if (r >= 0)
                r = widen_show(w, plan, &place, &g, notes, err);
        close_fdp(&place.folder);
        free(place.shown);
        free(g.path);
        free(g.plan);
        return r;
}

/* What is to be taken back of a grant: of a folder on the way, in which others lie, what lies at its own
 * path. */
static int open_revoked(const struct widened *w, const struct granted *g, char **ret_shown) {
        _cleanup_close_ int tree = open_tree_of(w, g, ret_shown), below = -EBADF;
        const char *rest = path_below(g->path, g->shown);
        struct sys_mount mount;
        bool has_others = false;

        for (size_t i = 0; i < w->granted.n; i++) {
                const struct granted *other = &w->granted.items[i];

                has_others |= other != g && other->is_live && path_is_beneath(other->path, g->shown);
        }
        if (tree < 0 || !has_others)
                return TAKE_FD(tree);
        below = beneath_open(tree, rest, O_PATH, 0);
        return below >= 0 && sys_mount_of(below, &mount) >= 0 && mount.is_root ? TAKE_FD(below) : -ENOENT;
}

int widen_revoke(struct widened *w, const struct granted *g, bool *ret_has_writers,
                 struct nsrun_error *err) {
        _cleanup_free_ char *moved = NULL;
        _cleanup_close_ int tree = open_revoked(w, g, &moved),
                            folder = g->makes ? widen_place_made(w->inside.root, g->shown) : -EBADF;
        const struct nsrun_plan nothing = {.cwd = (char[]){"/"}};
        const struct launch_grant grant = {.user = w->inside.user,
                                           .mount_namespace = w->inside.mount_namespace,
                                           .folder = folder,
                                           .tree = tree,
                                           .makes = folder >= 0,
                                           .target = moved ? moved : g->shown};
        bool has_writers = can_have_namespaces(w->plan);
        const struct widen_reports reports = {.w = w, .has_writers = &has_writers};
        int r = tree < 0 ? widen_fail(err, tree, g->path, "it isn't there any more", NULL)
                         : widen_launch(&nothing, &grant, &reports, err);

        if (r >= 0 && granted_say(w->file, GRANTED_ENDED, g, has_writers) < 0)
                r = widen_fail(err, -EIO, g->path, "it is taken back, but that can't be written down", NULL);
        /* Else the sandbox's end does it. */
        if (r >= 0 && g->is_kept && !has_writers)
                (void)await_keeping(w, g->id, &(int){0});
        *ret_has_writers |= has_writers;
        return r;
}
