/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "widen.h"

#include <sys/file.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/path.h"
#include "base/responds.h"
#include "base/sys.h"
#include "launch/launch.h"
#include "running/plan_shown.h"
#include "widen_mount.h"
#include "widen_net.h"
#include "widen_place.h"
#include "widen_plan.h"

enum {
        LOCK_MS = 5000,
        LOOK_MS = 10,
        TRIES = 5, /* of a mount that is moved at this moment */
};

static int widen_fail(struct nsrun_error *err, int r, const char *path, const char *what, const char *hint) {
        return error_set(err, NSRUN_STAGE_SUPERVISE, r, path, what, hint);
}

static int fail_to_enter(int r, struct nsrun_error *err) {
        return widen_fail(err, r, NULL, "the sandbox can't be entered",
                          "it is being started, or its command is in namespaces of its own");
}

static int widen_changed(const char *path, struct nsrun_error *err) {
        return widen_fail(err, UNSAID(-ESTALE), path, "what lies there has changed at this moment",
                          "try again");
}

void widen_close(struct widened *w) {
        inside_close(&w->inside);
        close_fdp(&w->file);
        close_fdp(&w->pidfd);
        plan_free(w->plan);
        granted_clear(&w->granted);
        *w = (struct widened)WIDENED_INIT;
}

/* What the sandbox has at the path, if it is that mount; else a negative value. */
static int open_mount(const struct widened *w, const char *path, uint64_t id) {
        _cleanup_close_ int fd = id ? beneath_open(w->inside.root, path + 1, O_PATH, 0) : -ENOENT;
        struct sys_mount mount;

        if (fd < 0 || sys_mount_of(fd, &mount) < 0 || mount.id != id || !mount.is_root)
                return -ENOENT;
        return TAKE_FD(fd);
}

/* What a grant has mounted: at its place, or where that has been moved: by the command, or while it is taken
 * back.  -ENOENT: it is nowhere; else it isn't known. */
static int open_tree_of(const struct widened *w, const struct granted *g) {
        int fd = w->inside.root < 0 ? -EAGAIN : open_mount(w, g->path, g->mount);

        for (unsigned i = 0; i < TRIES && fd < 0 && w->inside.root >= 0; i++)
                fd = inside_find(&w->inside, w->init, g->mount);
        return fd;
}

int widen_find_live(struct widened *w) {
        int r;

        granted_clear(&w->granted);
        r = granted_read(w->file, &w->granted);
        for (size_t i = 0; i < w->granted.n && r >= 0; i++) {
                struct granted *g = &w->granted.items[i];

                g->tree = g->has_ended || granted_is_network(g) ? -ENOENT : open_tree_of(w, g);
                g->is_live = granted_is_network(g) ? g->is_shown && !g->has_ended : g->tree != -ENOENT;
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

/* Removes the mount point that was made. */
static void remove_point(const struct widened *w, const char *path, bool is_mounted) {
        _cleanup_close_ int folder = widen_place_made(w->inside.root, path);

        if (folder >= 0)
                (void)widen_remove_point(&w->inside, w->file, folder, path, is_mounted);
}

/* Removes folders on the way of grants that have ended; not those that others lie in, or somebody stands in.
 */
static void take_ways(const struct widened *w) {
        for (size_t i = 0; i < w->granted.n; i++) {
                const struct granted *g = &w->granted.items[i];
                int fd = g->has_ended ? open_mount(w, g->shown, g->way) : -EBADF;
                bool is_there = fd >= 0;

                close_fdp(&fd);
                if (is_there)
                        remove_point(w, g->shown, true);
        }
}

static bool is_mounted(const struct widened *w, const char *path) {
        _cleanup_close_ int fd = beneath_open(w->inside.root, path + 1, O_PATH, 0);
        struct sys_mount mount = {0};

        return fd >= 0 && (sys_mount_of(fd, &mount) < 0 || mount.is_root);
}

static int take_back(struct widened *w, struct granted *g, struct nsrun_error *err) {
        int r;

        if (granted_is_network(g))
                return widen_net_take(w, g, err);
        /* What lay over it may have been taken back. */
        if (g->tree < 0 && g->tree != -ENOENT)
                g->tree = open_tree_of(w, g);
        r = g->tree == -ENOENT ? 0 : g->tree < 0 ? g->tree : widen_detach(&w->inside, w->file, g->tree);
        if (r == -EAGAIN)
                return widen_fail(err, UNSAID(r), g->path, "it is being moved, or lies under another grant",
                                  "try again, or take that back first");
        if (r < 0)
                return widen_fail(err, r, g->path, "it can't be taken back", NULL);
        /* The folder on the way, where that is a mount, is take_ways()'s. */
        if (g->makes)
                remove_point(w, is_mounted(w, g->shown) ? g->path : g->shown, false);
        g->has_ended = true;
        g->is_live = false;
        take_ways(w);
        return granted_say(w->file, GRANTED_ENDED, g) < 0;
}

/* Ends what a process has begun that was killed (it is gone, since it had the lock), and what was taken back
 * by one that couldn't say so. */
static int widen_repair(struct widened *w) {
        int r = 0;

        for (size_t i = 0; i < w->granted.n; i++) {
                struct granted *g = &w->granted.items[i];
                bool is_whole = g->has_ended || (g->is_shown && !g->is_ending && g->is_live);
                int taken = is_whole ? 0 : take_back(w, g, NULL);

                g->is_repaired = !is_whole && taken >= 0;
                r = taken < 0 ? taken : r;
        }
        take_ways(w);
        return r;
}

int widen_open(pid_t waiter, pid_t init, int pidfd, bool waits, struct widened *ret,
               struct nsrun_error *err) {
        _cleanup_widened_ struct widened w = WIDENED_INIT;
        _cleanup_strv_ char **lacks = NULL;
        int r = w.file = shown_open(waiter, init, err);

        w.pidfd = pidfd;
        w.waiter = waiter;
        w.init = init;
        if (r < 0)
                return r;
        r = waits ? widen_lock(&w, err) : 0;
        if (r >= 0)
                r = shown_read_open(w.file, &w.plan, &lacks, err);
        if (r < 0)
                return r;
        r = granted_read(w.file, &w.granted);
        if (r >= 0)
                r = inside_open(waiter, &w.granted.by.held, init, &w.inside);
        if (r < 0 && waits)
                return fail_to_enter(r, err);
        r = widen_find_live(&w);
        /* What can't be taken back now is by the next one. */
        if (r >= 0 && waits)
                (void)widen_repair(&w);
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

/* What is mounted at the path in the tree is what `source` is, which the plan was made of; an overlay was
 * compared where it was laid. */
static int check_tree(const struct stat *source, const struct plan_op *op, struct granted *g, int tree) {
        const char *below = path_below(g->path, g->shown);
        _cleanup_close_ int fd =
                *below ? beneath_open(tree, below, O_PATH, 0) : fcntl(tree, F_DUPFD_CLOEXEC, 3);
        struct sys_mount mount = {0}, way = {0};
        struct stat st;
        int r = fd < 0 ? fd : sys_fstat(fd, &st);

        if (r >= 0 && op->kind == PLAN_BIND && (st.st_dev != source->st_dev || st.st_ino != source->st_ino))
                r = -ESTALE;
        if (r >= 0)
                r = sys_mount_of(fd, &mount);
        if (r >= 0 && *below)
                r = sys_mount_of(tree, &way);
        g->mount = mount.id;
        g->way = way.id;
        /* Linux before 5.8 has no ids. */
        return r < 0 ? r : g->mount ? 0 : -EOPNOTSUPP;
}

static int widen_attach_tree(struct widened *w, const struct granted *g, int folder, int tree,
                             struct nsrun_error *err) {
        int r = widen_attach(&w->inside, w->file, g, folder, tree);

        return r >= 0         ? 0
               : r == -ELOOP  ? error_set(err, NSRUN_STAGE_MOUNT, r, g->shown,
                                          "a symlink stands in the way of a mount point",
                                          "the command may have made it")
               : r == -ESTALE ? error_set(err, NSRUN_STAGE_MOUNT, r, g->shown,
                                          "the command has moved the mount point away", "try again")
                              : error_set(err, NSRUN_STAGE_MOUNT, r, g->shown,
                                          "it can't be mounted in the sandbox", NULL);
}

/* Builds it, writes it down, and attaches it. */
static int widen_show(struct widened *w, const struct nsrun_plan *plan, const struct stat *source,
                      int folder, struct granted *g, char ***notes, struct nsrun_error *err) {
        const struct launch_grant grant = {.user = w->inside.user, .target = g->shown};
        _cleanup_close_ int tree = widen_build(plan, &grant, notes, err);
        int r = tree < 0 ? tree : check_tree(source, &plan->ops[plan->n_ops - 1], g, tree);

        if (r == -ESTALE) {
                *err = (struct nsrun_error){0};
                return widen_changed(g->path, err);
        }
        if (tree < 0)
                return r;
        /* As before a start. */
        if (r >= 0 && exposed_add(plan->exposes, err) < 0)
                return -EIO;
        if (r >= 0)
                r = granted_ask(w->file, g);
        if (r < 0)
                return widen_fail(err, r, g->path, "it can't be written down, and so isn't granted", NULL);
        r = widen_attach_tree(w, g, folder, tree, err);
        /* What there is of it goes. */
        if (r < 0) {
                _cleanup_close_ int there = open_tree_of(w, g);

                g->tree = there < 0 && there != -ENOENT ? tree : there;
                if (take_back(w, g, NULL) < 0)
                        (void)strv_consume(
                                notes,
                                strdup("what was begun can't be taken back now; the next grant does"));
        }
        return r;
}

/* What would be shown, and where. */
struct judged {
        int source; /* held, so that its number is nobody else's */
        struct stat st;
        struct nsrun_plan *plan;
        char *path;
        struct widen_place place;
};

static void judged_clear(struct judged *j) {
        close_fdp(&j->source);
        close_fdp(&j->place.folder);
        plan_free(j->plan);
        free(j->path);
        free(j->place.shown);
}

static int widen_look(struct widened *w, const char *option, const char *path, const struct stat *is,
                      struct judged *ret, struct nsrun_error *err) {
        size_t n = 0;
        int r;

        *ret = (struct judged){.source = -EBADF, .place.folder = -EBADF};
        r = responds_in_time(AT_FDCWD, path, NULL, err);
        if (r < 0)
                return r;
        ret->source = sys_open(AT_FDCWD, path, O_PATH, 0);
        /* What can't be opened the plan refuses. */
        r = ret->source < 0 ? 0 : sys_fstat(ret->source, &ret->st);
        if (r < 0)
                return widen_fail(err, r, path, "it can't be looked at", NULL);
        if (is && (ret->st.st_dev != is->st_dev || ret->st.st_ino != is->st_ino))
                return widen_changed(path, err);
        r = widen_plan(w->plan, &w->granted, option, path, &ret->st, &ret->plan, &ret->path, err);
        if (r >= 0 && is && !streq(ret->path, path))
                return widen_changed(path, err);
        for (size_t i = 0; i < w->granted.n; i++)
                n += !w->granted.items[i].has_ended;
        if (r >= 0 && n >= GRANTS_MOST)
                r = widen_fail(err, UNSAID(-E2BIG), NULL, "the sandbox was granted too much already",
                               "start it with the options");
        return r < 0 ? r : widen_place_find(w->inside.root, ret->path, &ret->place, err);
}

int widen_judge(struct widened *w, const char *option, const char *path, const struct stat *is,
                struct nsrun_error *err) {
        _cleanup_(judged_clear) struct judged j;

        return widen_look(w, option, path, is, &j, err);
}

/* A command in namespaces of its own sees nothing of what is mounted in the sandbox's. */
static int refuse_unseeing(const struct widened *w, struct nsrun_error *err) {
        struct inside seen = INSIDE_INIT;
        int r = inside_open(0, NULL, w->init, &seen);

        inside_close(&seen);
        return r < 0 ? fail_to_enter(r, err) : 0;
}

int widen_grant(struct widened *w, const char *option, const char *path, const struct stat *is,
                char ***notes, char **ret_path, struct nsrun_error *err) {
        _cleanup_(judged_clear) struct judged j;
        struct granted g = {.option = (char *)(uintptr_t)option};
        int r = widen_look(w, option, path, is, &j, err);

        g.path = j.path;
        g.shown = j.place.shown;
        g.makes = j.place.makes;
        if (r >= 0)
                r = refuse_unseeing(w, err);
        if (r >= 0)
                r = widen_show(w, j.plan, &j.st, j.place.folder, &g, notes, err);
        if (r >= 0 && ret_path)
                *ret_path = TAKE_PTR(j.path);
        return r;
}

static int widen_revoke(struct widened *w, struct granted *g, char ***notes, struct nsrun_error *err) {
        int r;

        (void)granted_say(w->file, GRANTED_ENDING, g);
        r = take_back(w, g, err);
        if (r > 0) {
                _cleanup_free_ char *visible = str_visible(g->path);

                (void)strv_consume(notes, str_format("it is taken back, but that isn't written down: %s",
                                                     visible ? visible : "?"));
        }
        return r < 0 ? r : 0;
}

/* Whether something was granted at that very path. */
static bool is_granted(const struct widened *w, const char *path) {
        bool is = false;

        for (size_t k = 0; k < w->granted.n; k++)
                is |= streq(w->granted.items[k].path, path) && !granted_is_network(&w->granted.items[k]) &&
                      (w->granted.items[k].is_repaired || !w->granted.items[k].has_ended);
        return is;
}

int widen_revoke_path(struct widened *w, const char *path, char ***notes, struct nsrun_error *err) {
        _cleanup_free_ char *canonical = NULL;
        size_t taken = 0;
        int r = 0, q;

        /* What lies there now may lead elsewhere. */
        if (path && !is_granted(w, path) && path_canonical(path, &canonical, NULL) >= 0)
                path = canonical;
        /* What was granted later may lie over what was before; what can't be taken back keeps nothing else.
         */
        for (size_t k = w->granted.n; k-- > 0;) {
                struct granted *g = &w->granted.items[k];

                if (path && (granted_is_network(g) || !streq(g->path, path)))
                        continue;
                taken += g->is_live || g->is_repaired;
                if (g->is_live && (q = widen_revoke(w, g, notes, r < 0 ? NULL : err)) < 0)
                        r = r < 0 ? r : q;
        }
        return r < 0 || taken > 0 ? r
                                  : widen_fail(err, UNSAID(-ENOENT), path, "nothing of that was granted",
                                               "'nsrun inspect' lists it");
}
