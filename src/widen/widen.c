/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See widen.h. */
#include "widen.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/vfs.h>

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
#include "widen_mount.h"
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

        for (unsigned i = 0; i < TRIES && fd < 0 && g->mount && w->inside.root >= 0; i++) {
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

/* Whether another grant lies in the mount of that one. */
static bool has_others(const struct widened *w, const struct granted *g) {
        for (size_t i = 0; i < w->granted.n; i++)
                if (&w->granted.items[i] != g && w->granted.items[i].is_live &&
                    path_is_beneath(w->granted.items[i].path, g->shown))
                        return true;
        return false;
}

static int find_live(struct widened *w) {
        int r;

        granted_clear(&w->granted);
        r = granted_read(w->file, &w->granted);
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

/* What is to be taken back of a grant.  Of one whose folder on the way has others in it that is what lies at
 * its own path; and the folders on the way that have nothing in them then. */
static int open_away(const struct widened *w, const struct granted *g, struct widen_away *away,
                     char **ret_path) {
        _cleanup_close_ int tree = open_tree_of(w, g, ret_path), below = -EBADF;
        struct sys_mount mount;

        away->path = *ret_path ? *ret_path : g->shown;
        if (tree < 0 || !has_others(w, g)) {
                away->tree = TAKE_FD(tree);
                away->made = path_basename(g->shown);
                away->around = g->makes ? widen_place_made(w->inside.root, g->shown) : -EBADF;
                return 0;
        }
        away->made = path_below(g->path, g->shown);
        below = beneath_open(tree, away->made, O_PATH, 0);
        if (below < 0 || sys_mount_of(below, &mount) < 0 || !mount.is_root)
                return -ENOENT;
        away->path = g->path;
        away->held = 0;
        away->tree = TAKE_FD(below);
        away->around = TAKE_FD(tree);
        return 0;
}

/* 1: who holds some of it still may write there. */
static int take_back(struct widened *w, struct granted *g, struct nsrun_error *err) {
        _cleanup_free_ char *path = NULL;
        struct widen_away away = {.file = w->file, .tree = -EBADF, .around = -EBADF, .held = g->held};
        int r = open_away(w, g, &away, &path);

        if (r >= 0 && (away.tree >= 0 || (g->mount && away.around >= 0)))
                r = widen_detach(&w->inside, &away);
        /* Of what has gone meanwhile somebody may hold some. */
        if (r >= 0)
                r = r || (away.tree < 0 && g->held) || widen_has_namespaces(w->plan);
        close_fdp(&away.tree);
        close_fdp(&away.around);
        return r < 0 ? widen_fail(err, r, g->path, "it can't be taken back", NULL) : r;
}

static int say_ended(const struct widened *w, struct granted *g, bool has_writers, struct nsrun_error *err) {
        if (granted_say(w->file, GRANTED_ENDED, g, has_writers) < 0)
                return widen_fail(err, -EIO, g->path, "it is taken back, but that can't be written down",
                                  NULL);
        g->has_ended = true;
        g->is_live = false;
        return 0;
}

/* What holds the place of something is left where that was taken away and the process then killed. */
static void take_held(const struct widened *w, struct granted *g) {
        _cleanup_free_ char *path = NULL;
        struct granted held = *g;

        held.mount = g->held;
        held.held = 0;
        held.is_shown = false;
        if (inside_find(&w->inside, w->pid, held.mount, &path) < 0)
                return;
        held.shown = path;
        (void)take_back((struct widened *)(uintptr_t)w, &held, NULL);
}

/* Folders on the way whose grant has ended, once no other lies in them.  They lie in nothing of the host's,
 * and so where they were made, or where they are put to be taken back. */
static void take_ways(struct widened *w) {
        for (size_t i = 0; i < w->granted.n; i++) {
                struct granted *g = &w->granted.items[i];
                struct granted revoked = *g;
                _cleanup_close_ int tree = -EBADF;

                if (!g->has_ended || !g->mount || streq(g->shown, g->path) || has_others(w, g))
                        continue;
                revoked.shown = (char[]){WIDEN_REVOKED};
                tree = granted_open(g, &w->inside);
                if (tree < 0)
                        tree = granted_open(&revoked, &w->inside);
                if (tree >= 0)
                        (void)take_back(w, g, NULL);
        }
}

/* Ends what a process has begun that was killed: it is gone, since it had the lock. */
static int widen_repair(struct widened *w) {
        for (size_t i = 0; i < w->granted.n; i++) {
                struct granted *g = &w->granted.items[i];
                int r;

                if (g->has_ended || (g->is_shown && !g->is_ending))
                        continue;
                r = take_back(w, g, NULL);
                g->is_live = false;
                if (g->held)
                        take_held(w, g);
                if (r >= 0)
                        (void)say_ended(w, g, r, NULL);
        }
        take_ways(w);
        return find_live(w);
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
        if (r >= 0 && waits)
                r = widen_repair(&w);
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

/* What of the plan is of use to who looks after it. */
static int store_part(struct nsrun_plan *plan, struct granted *g) {
        struct nsrun_plan part = *plan;

        part.env = part.exposes = NULL;
        part.seccomp = (struct seccomp_loaded){0};
        return plan_store(&part, &g->plan, &g->plan_size);
}

/* Whether the tree shows the very folder or file, or an overlay. */
static bool shows_path(const struct granted *g, int tree) {
        const char *below = path_below(g->path, g->shown);
        _cleanup_close_ int fd =
                *below ? beneath_open(tree, below, O_PATH, 0) : fcntl(tree, F_DUPFD_CLOEXEC, 3);
        struct statfs fs;
        struct stat built, st;

        if (sys_fstatfs(fd, &fs) < 0 || sys_fstat(fd, &built) < 0 || sys_stat(g->path, &st) < 0)
                return false;
        return fs.f_type == OVERLAYFS_SUPER_MAGIC ||
               (built.st_dev == st.st_dev && built.st_ino == st.st_ino);
}

/* What was looked through before is what was built: else it has changed meanwhile. */
static int widen_check(const struct widened *w, const struct granted *g, const char *typed, int tree,
                       struct nsrun_error *err) {
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        _cleanup_free_ char *path = NULL;
        struct granted again = {0};
        int r = widen_plan(w->plan, &w->granted, g->option, typed, &plan, &path, err);

        if (r < 0)
                return r;
        if (store_part(plan, &again) < 0)
                return error_oom(err);
        if (again.plan_size != g->plan_size || memcmp(again.plan, g->plan, g->plan_size) != 0 ||
            !shows_path(g, tree))
                r = widen_fail(err, UNSAID(-ESTALE), g->path, "what lies there has changed at this moment",
                               "try again");
        free(again.plan);
        return r;
}

/* The tree, which nobody else sees. */
static int widen_build(const struct nsrun_plan *plan, const struct launch_grant *grant, char ***notes,
                       struct nsrun_error *err) {
        const struct launch_params params = {
                .rundir_fd = -EBADF, .lock_fd = -EBADF, .terminal_fd = -1, .grant = grant};
        _cleanup_(launch_close) struct launch l = LAUNCH_INIT;
        struct launch_report report;
        int r = launch_start(plan, &params, &l, err), tree;

        if (r < 0)
                return r;
        while ((r = launch_read_report(&l, &report)) > 0) {
                if (report.kind == LAUNCH_FAILED)
                        *err = report.error;
                else if (report.kind == LAUNCH_NOTE && *report.error.what)
                        (void)strv_consume(notes, nsrun_error_format(&report.error));
        }
        (void)launch_wait(&l);
        tree = launch_receive_versions(&l);
        if (tree >= 0 || err->stage)
                return tree;
        return widen_fail(err, r < 0 ? r : -EIO, NULL, "the process that builds it was killed", NULL);
}

/* Written down before it is attached. */
static int widen_mount(struct widened *w, struct granted *g, int folder, int tree, struct nsrun_error *err) {
        struct sys_mount mount = {0};
        int r = sys_mount_of(tree, &mount);

        g->mount = mount.id;
        /* Linux before 5.8 has no ids. */
        if (r >= 0)
                r = g->mount ? granted_say(w->file, GRANTED_MADE, g, g->mount) : -EOPNOTSUPP;
        if (r < 0)
                return widen_fail(err, r, g->path, "it can't be written down, and so isn't granted", NULL);
        r = widen_attach(&w->inside, w->file, g, folder, tree);
        if (r >= 0)
                return 0;
        return r == -ELOOP    ? error_set(err, NSRUN_STAGE_MOUNT, r, g->shown,
                                          "a symlink stands in the way of a mount point",
                                          "the command may have made it")
               : r == -ESTALE ? error_set(err, NSRUN_STAGE_MOUNT, r, g->shown,
                                          "the command has moved the mount point away", "try again")
                              : error_set(err, NSRUN_STAGE_MOUNT, r, g->shown,
                                          "it can't be mounted in the sandbox", NULL);
}

static int widen_show(struct widened *w, const struct nsrun_plan *plan, const char *typed, int folder,
                      struct granted *g, char ***notes, struct nsrun_error *err) {
        const struct launch_grant grant = {.user = w->inside.user, .target = g->shown};
        _cleanup_close_ int tree = -EBADF;
        int r = granted_ask(w->file, g);

        if (r < 0)
                return widen_fail(err, r, g->path, "it can't be written down, and so isn't granted", NULL);
        r = g->needs_keeping ? await_kept(w, g, err) : 0;
        if (r >= 0)
                r = tree = widen_build(plan, &grant, notes, err);
        if (r >= 0)
                r = widen_check(w, g, typed, tree, err);
        if (r >= 0)
                r = widen_mount(w, g, folder, tree, err);
        /* What there is of it goes. */
        if (r < 0 && (find_live(w) < 0 || widen_repair(w) < 0))
                (void)strv_consume(notes,
                                   strdup("what was begun can't be taken back now; the next grant does"));
        return r;
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
                r = widen_place_find(w->inside.root, g.path, widen_has_namespaces(w->plan), &place, err);
        if (r >= 0)
                r = exposed_add(plan->exposes, err);
        if (r >= 0 && store_part(plan, &g) < 0)
                r = error_oom(err);
        g.shown = place.shown;
        g.makes = place.makes;
        g.needs_keeping = r >= 0 && widen_plan_needs_keeping(plan, g.path);
        if (r >= 0)
                r = widen_show(w, plan, path, place.folder, &g, notes, err);
        close_fdp(&place.folder);
        free(place.shown);
        free(g.path);
        free(g.plan);
        return r;
}

int widen_revoke(struct widened *w, struct granted *g, bool *ret_has_writers, struct nsrun_error *err) {
        bool is_kept = g->is_kept;
        int has_writers, r = granted_say(w->file, GRANTED_ENDING, g, 0);

        if (r < 0)
                return widen_fail(err, r, g->path, "it can't be written down, and so isn't taken back",
                                  NULL);
        r = has_writers = take_back(w, g, err);
        if (r >= 0)
                r = say_ended(w, g, has_writers, err);
        if (r < 0)
                return r;
        take_ways(w);
        /* Else the sandbox's end does it. */
        if (is_kept && !has_writers)
                (void)await_keeping(w, g->id, &(int){0});
        *ret_has_writers |= has_writers;
        return 0;
}
