/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a sandbox that runs is shown besides, or no more; this process is gone when that is done.  It is in
 * the sandbox's user and mount namespaces and in no other of it, so that nothing in there has a number for
 * it.  A tree is built as a start builds one, where nobody else is, and attached whole: nothing of it is to
 * be seen before all that lies over it is there. */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include "base/beneath.h"
#include "builder.h"
#include "harden.h"
#include "mount.h"
#include "report.h"

static int grant_fail(struct builder *b, int r, const char *what, const char *hint) {
        return error_set(&b->reaper.error, NSRUN_STAGE_MOUNT, r, b->b.grant, what, hint);
}

static int is_folder(int fd) {
        struct stat st;
        int r = sys_fstat(fd, &st);

        return r < 0 ? r : S_ISDIR(st.st_mode);
}

static bool is_same_mount(int a, int b) {
        struct sys_mount one, other;

        return sys_mount_of(a, &one) >= 0 && sys_mount_of(b, &other) >= 0 && one.id == other.id;
}

/* A folder by a mount of its own, which nobody else sees and which isn't read-only. */
static int open_writable(int folder) {
        _cleanup_close_ int copy =
                sys_open_tree(folder, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
        int r = copy < 0 ? copy : sys_mount_let_write(copy);

        return r < 0 ? r : TAKE_FD(copy);
}

/* One that is there does as well. */
static int make_point(int folder, const char *name, bool makes_folder) {
        int r = makes_folder ? sys_mkdirat(folder, name, 0755) : sys_mknodat(folder, name, 0444);

        return r == -EEXIST ? 0 : r;
}

static int remove_point(int folder, const char *name, bool is_a_folder) {
        return is_a_folder ? sys_rmdirat(folder, name) : sys_unlinkat(folder, name);
}

static const char *point_name(const struct builder *b) {
        return strrchr(b->b.grant, '/') + 1;
}

/* Whether the path leads to the mount. */
static bool leads_to(const struct builder *b, int root, int mount) {
        _cleanup_close_ int there = beneath_open(root, b->b.grant + 1, O_PATH, 0);

        return is_same_mount(there, mount);
}

/* Detached by umount2(2) it would let go of what lies over its parts, for whoever has a folder of it open.
 * The kernel keeps them together when the mount point is removed (UMOUNT_CONNECTED), which must be no mount
 * point where that is done: in a copy of the namespace, which is left without it.  Before that
 * it becomes read-only, unless something is open for writing there, which an empty note says. */
static int grant_take_away(struct builder *b, int tree) {
        const struct boundary_facts *f = &b->b.facts;
        _cleanup_close_ int root = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0), own = -EBADF,
                            place = -EBADF, at = -EBADF,
                            around = f->grant_makes ? open_writable(f->grant_folder_fd) : -EBADF;
        int folder = is_folder(tree), r = root < 0 ? root : folder;
        const char *name = folder > 0 ? PLAN_REVOKED_FOLDER : PLAN_REVOKED_FILE;
        bool had_place;

        if (r >= 0)
                r = own = open_writable(root);
        if (r >= 0)
                r = make_point(own, name, folder);
        if (r >= 0)
                r = place = beneath_open(root, name, O_PATH, 0);
        if (r >= 0)
                (void)sys_mount_setattr(tree, AT_RECURSIVE, MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOSYMFOLLOW);
        if (r >= 0 && sys_mount_setattr(tree, AT_RECURSIVE, MOUNT_ATTR_RDONLY) < 0)
                report_note(b->reaper.init.report_fd, "", NULL);
        had_place = tree == f->grant_tree_fd && leads_to(b, root, tree);
        if (r >= 0 && !is_same_mount(tree, place))
                r = sys_move_mount(tree, place, "");
        /* What has held its place goes with it. */
        at = r >= 0 && had_place ? beneath_open(root, b->b.grant + 1, O_PATH, 0) : -EBADF;
        if (at >= 0)
                (void)sys_move_mount(at, tree, "");
        if (r >= 0)
                r = sys_unshare(CLONE_NEWNS);
        if (r >= 0)
                r = sys_chdir("/");
        if (r < 0)
                return grant_fail(b, r, "it can't be taken back", NULL);
        while ((r = sys_umount(name, MNT_DETACH | UMOUNT_NOFOLLOW)) >= 0)
                ;
        r = r == -EINVAL ? remove_point(own, name, folder) : r;
        /* What the command has put there stays. */
        if (r >= 0 && around >= 0)
                (void)remove_point(around, point_name(b), folder);
        return r < 0 ? grant_fail(b, r, "it can't be taken back", NULL) : 0;
}

/* A folder on the way to what is shown is read-only, as at a start. */
static int build_tree(struct builder *b) {
        const struct plan_op *op = b->b.ops;
        struct mounting m = MOUNTING_INIT;
        int tree, r = 0;

        m.b = &b->b;
        m.error = &b->reaper.error;
        m.report_fd = b->reaper.init.report_fd;
        tree = mount_beside(&m);
        while (!streq(op->target, b->b.grant))
                op++;
        if (tree >= 0)
                tree = mount_clone(&m, op, m.new_root, op->target + 1, 0, AT_RECURSIVE);
        if (tree >= 0 && op->kind == PLAN_DIR)
                r = sys_mount_setattr(tree, 0, ATTRIBUTES_BIND | MOUNT_ATTR_RDONLY);
        if (r < 0)
                close_fdp(&tree);
        if (tree >= 0)
                return tree;
        return m.error->stage ? tree
                              : grant_fail(b, r < 0 ? r : tree, "what was built can't be opened", NULL);
}

/* The process that this is done for has written it down when it says so, or it has ended. */
static void await_word(struct builder *b, int tree) {
        const struct init *init = &b->reaper.init;
        struct launch_report report = {.kind = LAUNCH_BUILT};
        struct pollfd fds[] = {{.fd = init->control_fd, .events = POLLIN},
                               {.fd = init->supervisor_fd, .events = POLLIN}};
        struct sys_mount mount;

        (void)sys_mount_of(tree, &mount);
        report.mount = mount.id;
        (void)report_send(init->report_fd, &report);
        while (sys_poll(fds, ARRAY_SIZE(fds), -1) <= 0)
                ;
        if (!fds[0].revents)
                _exit(0);
}

/* The mount point is mounted over itself first: it can't be renamed then, and where the command has done
 * that before, nothing of the host's was there. */
static int attach(struct builder *b, int tree) {
        const struct boundary_facts *f = &b->b.facts;
        const char *name = point_name(b);
        _cleanup_close_ int own = -EBADF, point = -EBADF, held = -EBADF,
                            root = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
        int folder = is_folder(tree), r = folder;

        if (r >= 0 && f->grant_makes)
                r = own = open_writable(f->grant_folder_fd);
        if (r >= 0 && f->grant_makes)
                r = make_point(own, name, folder);
        if (r >= 0)
                r = point = beneath_open(f->grant_folder_fd, name, O_PATH | (folder ? O_DIRECTORY : 0), 0);
        if (r == -ELOOP)
                return grant_fail(b, r, "a symlink stands in the way of a mount point",
                                  "the command may have made it");
        if (r >= 0)
                r = held = sys_open_tree(point, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
        if (r >= 0)
                r = sys_mount_setattr(held, 0, MOUNT_ATTR_RDONLY);
        if (r >= 0)
                r = sys_move_mount(held, point, "");
        if (r < 0)
                return grant_fail(b, r, "it can't be mounted in the sandbox", NULL);
        r = leads_to(b, root, held) ? sys_move_mount(tree, held, "") : -ESTALE;
        if (r >= 0 || grant_take_away(b, held) < 0)
                return r;
        return r == -ESTALE ? grant_fail(b, r, "the command has moved the mount point away", "try again")
                            : grant_fail(b, r, "it can't be mounted in the sandbox", NULL);
}

/* All above 2 but what is needed. */
static int close_others(struct builder *b, int tree) {
        const struct boundary_facts *f = &b->b.facts;
        const struct init *init = &b->reaper.init;
        const int own[] = {init->report_fd,   init->supervisor_fd, init->control_fd, f->grant_user_fd,
                           f->grant_mount_fd, f->grant_folder_fd,  f->grant_tree_fd, tree};

        return BUILDER_CLOSE_DESCRIPTORS(b, own);
}

/* The kernel lets others look at whoever has entered one. */
static int grant_enter(int fd, uint64_t kind) {
        int r = sys_setns(fd, kind);

        return r < 0 ? r : sys_prctl(PR_SET_DUMPABLE, 0, 0);
}

static int grant(struct builder *b) {
        const struct boundary_facts *f = &b->b.facts;
        const struct init *init = &b->reaper.init;
        struct nsrun_error *err = &b->reaper.error;
        _cleanup_close_ int tree = -EBADF;
        int r = harden_die_with(init->supervisor_fd, err);

        (void)umask(0);
        (void)sys_setsid();
        if (r >= 0)
                r = close_others(b, -EBADF);
        /* Before it is where others have capabilities. */
        if (r >= 0)
                r = harden_process(err);
        if (r < 0)
                return r;
        r = grant_enter(f->grant_user_fd, CLONE_NEWUSER);
        /* EINVAL: it is the caller's. */
        if (r >= 0 || r == -EINVAL)
                r = f->grant_tree_fd < 0 ? sys_unshare(CLONE_NEWNS) : 0;
        if (r < 0)
                return grant_fail(b, r, "the sandbox can't be entered", NULL);
        if (f->grant_tree_fd < 0) {
                r = tree = build_tree(b);
                if (r < 0)
                        return r;
                await_word(b, tree);
        }
        /* Nothing of the host's goes where the command is. */
        r = close_others(b, tree);
        for (int fd = 0; fd <= 2; fd++)
                (void)sys_close(fd);
        if (r >= 0)
                r = grant_enter(f->grant_mount_fd, CLONE_NEWNS);
        if (r < 0)
                return grant_fail(b, r, "the sandbox can't be entered", NULL);
        return tree < 0 ? grant_take_away(b, f->grant_tree_fd) : attach(b, tree);
}

nsrun_no_asan _Noreturn void grant_run(struct builder *b) {
        struct launch_report report = {.kind = LAUNCH_STARTED};

        if (grant(b) < 0)
                report_failure(b->reaper.init.report_fd, -1, &b->reaper.error);
        (void)report_send(b->reaper.init.report_fd, &report);
        _exit(0);
}
