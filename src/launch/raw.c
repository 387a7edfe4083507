/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The child's life under a raw plan (plan.h): what bubblewrap's callers expect, in
 * its order.  What is not particular to it is in the files that nsrun's own plans go through. */
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "internal.h"

/* Waits until there is something to read, or the other end is closed; then it is of no
 * more use. */
static int wait_for(struct launch_child *c, int fd, const char *what) {
        char byte;
        ssize_t n;

        if (fd < 0)
                return 0;
        do
                n = sys_read(fd, &byte, 1);
        while (n == -EINTR);
        (void)sys_close(fd);
        if (n < 0)
                return error_set(&c->error, NSRUN_STAGE_SUPERVISE, (int)n, NULL, what, NULL);
        return 0;
}

static int map_ids(struct launch_child *c) {
        const struct plan_raw *raw = c->plan->raw;

        if (!(c->namespaces_made & CLONE_NEWUSER))
                return 0;
        if (raw->userns_block_fd >= 0)
                return wait_for(c, raw->userns_block_fd, "the block fd of the user namespace can't be read");
        return child_map_ids(c, AT_FDCWD, "/proc/self/", c->uid_map, c->gid_map);
}

/* A limit of one in this namespace, and that one used up (4.9).  Before the host's /proc is let
 * go of: *ret_self is our folder in it. */
static int limit_userns(struct launch_child *c, int *ret_self) {
        _cleanup_close_ int limit = -EBADF;
        ssize_t n;

        if (!c->plan->raw->disables_userns)
                return 0;
        limit = sys_open(c->old_root, "proc/sys/user/max_user_namespaces", O_WRONLY, 0);
        n = limit < 0 ? limit : sys_write(limit, "1", 1);
        if (n < 0)
                return error_set(&c->error, NSRUN_STAGE_IDMAP, (int)n, "/proc/sys/user/max_user_namespaces",
                                 "user namespaces can't be disabled", NULL);
        /* The working directory is the host's /proc/self/fd. */
        *ret_self = sys_open(c->descriptors, "..", O_PATH | O_DIRECTORY, 0);
        if (*ret_self < 0)
                return error_set(&c->error, NSRUN_STAGE_IDMAP, *ret_self, "/proc/self", "it can't be opened",
                                 NULL);
        return 0;
}

/* After the last pivot: the kernel gives no user namespace to a process whose root isn't its
 * mount namespace's. */
static int enter_userns(struct launch_child *c, int self) {
        const struct plan_raw *raw = c->plan->raw;
        int r = 0;

        if (raw->disables_userns) {
                r = sys_unshare(CLONE_NEWUSER);
                if (r < 0)
                        return error_set(&c->error, NSRUN_STAGE_IDMAP, r, NULL,
                                         "the last user namespace can't be made", NULL);
                r = child_map_ids(c, self, "", c->inner_uid_map, c->inner_gid_map);
        }
        if (r >= 0 && raw->userns2_fd >= 0) {
                r = sys_setns(raw->userns2_fd, CLONE_NEWUSER);
                (void)sys_close(raw->userns2_fd);
                if (r < 0)
                        return error_set(&c->error, NSRUN_STAGE_IDMAP, r, NULL, "Setting userns2 failed",
                                         NULL);
        }
        return r;
}

/* Where it could be made the sandbox isn't what was asked for, and ends here. */
static int assert_no_userns(struct launch_child *c) {
        if (c->plan->raw->asserts_no_userns && sys_unshare(CLONE_NEWUSER) >= 0)
                return error_set(&c->error, NSRUN_STAGE_IDMAP, -EPERM, NULL,
                                 "creation of new user namespaces was not disabled as requested", NULL);
        return 0;
}

static int set_capabilities(struct launch_child *c) {
        const struct plan_raw *raw = c->plan->raw;

        if (raw->keeps_capabilities)
                return 0;
        return raw->capabilities
                       ? harden_keep_capabilities(raw->capabilities, raw->keeps_through_exec, &c->error)
                       : harden_capabilities(&c->error);
}

static int lock_files(struct launch_child *c) {
        STRV_FOREACH (path, c->plan->raw->lock_files) {
                int fd = sys_open(AT_FDCWD, *path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
                int r = fd < 0 ? fd : sys_lock_shared(fd);

                if (r < 0)
                        return error_set(&c->error, NSRUN_STAGE_SUPERVISE, r, *path, "Unable to lock file",
                                         NULL);
        }
        return 0;
}

/* The working directory is the host's /proc/self/fd by now. */
static int raw_label_files(struct launch_child *c) {
        return exec_set_label(c, "../attr/fscreate", c->plan->raw->file_label);
}

static int build(struct launch_child *c) {
        const struct plan_raw *raw = c->plan->raw;
        _cleanup_close_ int self = -EBADF;
        int r;

        r = child_die_with_supervisor(c);
        if (r >= 0)
                r = wait_for(c, raw->start_fd, "the supervisor's word can't be read");
        if (r >= 0)
                r = map_ids(c);
        if (r >= 0 && (c->namespaces_made & CLONE_NEWNET))
                r = network_loopback(&c->error);
        if (r >= 0)
                r = child_set_hostname(c);
        if (r >= 0)
                r = raw_mount_root(c);
        if (r >= 0)
                r = raw_label_files(c);
        if (r >= 0)
                r = raw_mount_operations(c);
        if (r >= 0)
                r = limit_userns(c, &self);
        if (r >= 0)
                r = raw_mount_seal(c);
        if (r >= 0)
                r = enter_userns(c, self);
        if (r >= 0)
                r = assert_no_userns(c);
        if (r >= 0)
                r = set_capabilities(c);
        if (r >= 0)
                r = harden_no_new_privileges(&c->error);
        /* New credentials have cleared the signal of the supervisor's death. */
        if (r >= 0)
                r = child_die_with_supervisor(c);
        if (r >= 0 && c->plan->new_session && (r = sys_setsid()) < 0)
                return error_set(&c->error, NSRUN_STAGE_HARDENING, r, NULL, "setsid", NULL);
        if (r >= 0)
                r = wait_for(c, raw->block_fd, "the block fd can't be read");
        if (r >= 0)
                r = exec_set_label(c, "/proc/self/attr/exec", raw->exec_label);
        return r;
}

/* Only the set-up has to die with the supervisor where the caller didn't ask for more. */
static int outlive_supervisor(struct launch_child *c) {
        int r = c->params->dies_with_thread ? 0 : sys_prctl(PR_SET_PDEATHSIG, 0, 0);

        if (r < 0)
                return error_set(&c->error, NSRUN_STAGE_HARDENING, r, NULL,
                                 "the parent-death signal can't be cleared", NULL);
        return 0;
}

/* The command has the reaper's uid: only this keeps it out of the reaper's memory, which no
 * filter holds, its descriptors, its environment, and the program's file behind /proc/1/exe. */
static int hide_reaper(struct launch_child *c) {
        int r = sys_prctl(PR_SET_DUMPABLE, 0, 0);

        if (r < 0)
                return error_set(&c->error, NSRUN_STAGE_HARDENING, r, NULL,
                                 "the reaper can't be made undumpable", NULL);
        return 0;
}

_Noreturn void raw_run(struct launch_child *c) {
        struct launch_report built = {.kind = LAUNCH_BUILT};
        int r;

        c->umask = umask(0);
        r = build(c);
        if (r >= 0)
                r = report_send(c->report_fd, &built);
        if (r >= 0)
                r = outlive_supervisor(c);
        if (r < 0)
                child_fail(c);
        c->operation = -1;
        if (!c->plan->raw->has_reaper) {
                exec_directly(c);
                child_fail(c);
        }
        if (lock_files(c) < 0 || hide_reaper(c) < 0)
                child_fail(c);
        if (c->params->command_line)
                memset(c->params->command_line, 0, c->params->command_line_size);
        child_finish(c);
}

bool raw_has_others(void) {
        siginfo_t info;
        int r = 0;

        do {
                info.si_pid = 0;
                r = sys_waitid(P_ALL, 0, &info, WEXITED | WNOHANG);
        } while (r >= 0 && info.si_pid > 0);
        return r >= 0;
}

/* The reaper stays until nobody is left, as bubblewrap's does. */
void raw_reap_the_rest(void) {
        siginfo_t info;

        while (sys_waitid(P_ALL, 0, &info, WEXITED) >= 0)
                ;
}
