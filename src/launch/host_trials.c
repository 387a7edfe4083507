/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The steps of a launch that a host may refuse, one by one, for whoever wants to know which of them it is. A
 * real launch goes through all of them; here nothing is left of any. */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "base/causes.h"
#include "boundary/builder.h"
#include "boundary/exec.h"
#include "boundary/harden.h"
#include "boundary/mount.h"
#include "launch.h"

/* Made before the clone: a child in a user namespace doesn't know its ids. */
struct launch_ids {
        char uid_map[48], gid_map[48];
};

static int try_maps(const struct launch_ids *ids, struct nsrun_error *err) {
        return identity_map(AT_FDCWD, "/proc/self/", ids->uid_map, ids->gid_map, err);
}

static int try_root(nsrun_unused const struct launch_ids *ids, struct nsrun_error *err) {
        struct mounting m = MOUNTING_INIT;

        m.error = err;
        return mount_private_root(&m, MS_PRIVATE, NULL);
}

static int try_network(nsrun_unused const struct launch_ids *ids, struct nsrun_error *err) {
        return network_loopback(err);
}

static int try_scopes(nsrun_unused const struct launch_ids *ids, struct nsrun_error *err) {
        int r = harden_no_new_privileges(err);

        return r < 0 || sys_landlock_abi() < LANDLOCK_ABI_SCOPES ? r : harden_scope(HARDEN_SCOPE_ALL, err);
}

static int try_filter(nsrun_unused const struct launch_ids *ids, struct nsrun_error *err) {
        struct sock_filter allow = {.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW};
        struct sock_fprog program = {.len = 1, .filter = &allow};
        struct reaper p = {.init = {.listener_socket = -EBADF},
                           .filters = &program,
                           .n_filters = 1,
                           .signal_fd = -EBADF,
                           .listener = -EBADF};
        int r = harden_no_new_privileges(err);

        if (r >= 0)
                r = filter_install(&p);
        if (p.error.stage != NSRUN_STAGE_NONE)
                *err = p.error;
        return r;
}

const struct launch_trial launch_trials[] = {
        {"user namespace", CLONE_NEWUSER, NULL},
        {"mount namespace", CLONE_NEWUSER | CLONE_NEWNS, NULL},
        {"pid namespace", CLONE_NEWUSER | CLONE_NEWPID, NULL},
        {"ipc namespace", CLONE_NEWUSER | CLONE_NEWIPC, NULL},
        {"uts namespace", CLONE_NEWUSER | CLONE_NEWUTS, NULL},
        {"network namespace", CLONE_NEWUSER | CLONE_NEWNET, try_network},
        {"id maps", CLONE_NEWUSER, try_maps},
        {"mounts", CLONE_NEWUSER | CLONE_NEWNS, try_root},
        {"landlock", 0, try_scopes},
        {"seccomp filter", 0, try_filter},
};
const size_t n_launch_trials = ARRAY_SIZE(launch_trials);

nsrun_no_asan static _Noreturn void attempt_and_exit(const struct launch_trial *trial,
                                                     const struct launch_ids *ids, int to) {
        struct nsrun_error why = {0};
        int r = trial->attempt ? trial->attempt(ids, &why) : 0;

        if (r < 0 && why.stage == NSRUN_STAGE_NONE)
                (void)error_set(&why, NSRUN_STAGE_NAMESPACE, r, NULL, "the trial failed", NULL);
        if (r < 0)
                (void)sys_write(to, &why, sizeof(why));
        _exit(r < 0);
}

/* What the child said.  One that said nothing, and didn't end well, was killed by a filter, or by a bound on
 * what it may use. */
static int take_answer(const struct launch_trial *trial, int from, int pidfd, struct nsrun_error *err) {
        struct nsrun_error why = {0};
        siginfo_t info = {.si_status = 0};
        ssize_t n = sys_read(from, &why, sizeof(why));
        int r = sys_waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED);

        if (n != (ssize_t)sizeof(why) && r >= 0 && info.si_status == 0)
                return 0;
        if (n != (ssize_t)sizeof(why))
                return error_set(err, NSRUN_STAGE_SUPERVISE, -EIO, NULL,
                                 "the trial's process was killed: a filter or a limit ended it", NULL);
        if (why.stage == NSRUN_STAGE_NAMESPACE)
                return launch_explain_kinds(-why.error, trial->namespaces, err);
        if (why.stage == NSRUN_STAGE_IDMAP)
                (void)launch_explain_ids(&why);
        *err = why;
        return -why.error;
}

int launch_try(const struct launch_trial *trial, struct nsrun_error *err) {
        _cleanup_close_ int read_end = -EBADF, write_end = -EBADF, pidfd = -EBADF;
        struct launch_ids ids;
        int ends[2], r;

        (void)snprintf(ids.uid_map, sizeof(ids.uid_map), "%u %u 1\n", geteuid(), geteuid());
        (void)snprintf(ids.gid_map, sizeof(ids.gid_map), "%u %u 1\n", getegid(), getegid());
        r = sys_pipe(ends);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "no pipe for a trial", NULL);
        read_end = ends[0];
        write_end = ends[1];
        r = sys_clone_namespaces(trial->namespaces, &pidfd);
        if (r == 0)
                attempt_and_exit(trial, &ids, write_end);
        if (r < 0)
                return launch_explain_kinds(r, trial->namespaces, err);
        close_fdp(&write_end);
        return take_answer(trial, read_end, pidfd, err);
}

int launch_try_binds(struct nsrun_error *err) {
        int r = sys_find_mount_calls();

        return r >= 0 ? 0
                      : error_cause(err,
                                    r == -EPERM ? NSRUN_ERROR_FILTER_MOUNT_CALLS
                                                : NSRUN_ERROR_NO_MOUNT_CALLS,
                                    r, NULL);
}
