/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a sandbox that runs is shown besides is built here, as a start builds it: in a mount namespace of its
 * own, of the sandbox's user namespace, where nothing of the sandbox's is.  It is handed over whole, and
 * this process ends; widen/ attaches it. */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include "builder.h"
#include "harden.h"
#include "mount.h"

static int grant_fail(struct builder *b, int r, const char *what) {
        return b->reaper.error.stage
                       ? r
                       : error_set(&b->reaper.error, NSRUN_STAGE_MOUNT, r, b->b.grant, what, NULL);
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
        return r < 0 ? r : tree;
}

static int grant(struct builder *b) {
        const struct boundary_facts *f = &b->b.facts;
        const struct init *init = &b->reaper.init;
        const int own[] = {init->report_fd, init->supervisor_fd, f->grant_user_fd, f->grant_socket};
        struct nsrun_error *err = &b->reaper.error;
        _cleanup_close_ int tree = -EBADF;
        int r = harden_die_with(init->supervisor_fd, err);

        (void)umask(0);
        (void)sys_setsid();
        if (r >= 0)
                r = BUILDER_CLOSE_DESCRIPTORS(b, own);
        /* Before it is where others have capabilities. */
        if (r >= 0)
                r = harden_process(err);
        if (r < 0)
                return r;
        r = sys_setns(f->grant_user_fd, CLONE_NEWUSER);
        /* EINVAL: it is the caller's.  The kernel lets others look at whoever has entered one, and may have
         * forgotten with whom that dies. */
        if (r >= 0 || r == -EINVAL)
                r = sys_prctl(PR_SET_DUMPABLE, 0, 0);
        if (r >= 0)
                r = harden_die_with(init->supervisor_fd, err);
        if (r >= 0)
                r = sys_unshare(CLONE_NEWNS);
        if (r < 0)
                return grant_fail(b, r, "the sandbox can't be entered");
        r = tree = build_tree(b);
        if (r >= 0)
                r = sys_send_fd(f->grant_socket, tree);
        return r < 0 ? grant_fail(b, r, "what was built can't be handed over") : 0;
}

nsrun_no_asan _Noreturn void grant_run(struct builder *b) {
        if (grant(b) < 0)
                report_failure(b->reaper.init.report_fd, -1, &b->reaper.error);
        _exit(0);
}
