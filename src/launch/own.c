/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The life of a sandbox of its own, or of a session's: from the clone to pid 1, a walk over ready data. */
#include <fcntl.h>
#include <sched.h>

#include "child.h"
#include "counters.h"
#include "harden.h"
#include "host/userns.h"
#include "init_exec.h"
#include "mount.h"
#include "report.h"

struct own {
        struct child *child;
        struct mounting mount;
        char uid_map[48], gid_map[48];
        bool scopes_init; /* whether pid 1 is in the Landlock domain, too, so that all here share one */
};

static int learn_namespaces(struct child *c) {
        struct launch_namespaces *n = &c->reaper.init.namespaces;
        const struct {
                const char *path;
                uint64_t *to;
        } all[] = {
                {"/proc/self/ns/user", &n->user}, {"/proc/self/ns/mnt", &n->mnt},
                {"/proc/self/ns/pid", &n->pid},   {"/proc/self/ns/ipc", &n->ipc},
                {"/proc/self/ns/uts", &n->uts},   {"/proc/self/ns/net", &n->net},
        };

        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
                struct stat st;
                int r = sys_stat(all[i].path, &st);

                if (r < 0)
                        return error_set(&c->reaper.error, NSRUN_STAGE_NAMESPACE, r, all[i].path,
                                         "a namespace can't be told apart", NULL);
                *all[i].to = st.st_ino;
        }
        return 0;
}

/* The cgroup namespace was made outside of the cgroup: another one has it as its root, as one has where the
 * child is born in it. */
static int own_enter_cgroup(struct child *c) {
        int r = child_join_cgroup(c);

        if (r < 0 || !(c->namespaces & CLONE_NEWCGROUP))
                return r;
        r = sys_unshare(CLONE_NEWCGROUP);
        if (r < 0)
                return error_set(&c->reaper.error, NSRUN_STAGE_NAMESPACE, r, NULL,
                                 "the cgroup namespace can't be made", NULL);
        return 0;
}

static int build(struct own *o) {
        struct child *c = o->child;
        const struct launch_params *params = c->params;
        struct init *init = &c->reaper.init;
        struct nsrun_error *err = &c->reaper.error;
        const int own[] = {init->report_fd,
                           init->supervisor_fd,
                           init->control_fd,
                           init->listener_socket,
                           init->lock_fd,
                           params->rundir_fd,
                           c->init_fd,
                           c->init_data_fd,
                           params->network ? params->network->socket : -EBADF,
                           c->plan->ssh_agent ? params->desktop_socket : -EBADF,
                           c->plan->wayland ? params->display_socket : -EBADF,
                           c->plan->browser ? params->browser_socket : -EBADF,
                           c->plan->dbus ? params->dbus_socket : -EBADF};
        int namespaces = -EBADF;
        int r = params->dies_with_thread ? harden_die_with(init->supervisor_fd, err) : 0;

        if (r >= 0 && c->joins_cgroup)
                r = own_enter_cgroup(c);
        if (r >= 0)
                r = CHILD_CLOSE_DESCRIPTORS(c, own);
        if (r >= 0)
                r = identity_map(AT_FDCWD, "/proc/self/", o->uid_map, o->gid_map, err);
        if (r >= 0 && !(c->namespaces & CLONE_NEWCGROUP))
                r = report_degraded(init->report_fd, c->plan->refuses_degraded, DEGRADED_CGROUP_NAMESPACE,
                                    NULL, NULL, err);
        if (r >= 0)
                r = counters_bound(c);
        if (r >= 0)
                r = counters_open_mount_namespaces(c, &namespaces);
        if (r >= 0 && params->wants_started)
                r = learn_namespaces(c);
        if (r >= 0 && (c->namespaces & CLONE_NEWNET))
                r = network_loopback(err);
        if (r >= 0 && params->network)
                r = network_hand_over(params->network, err);
        if (r >= 0)
                r = child_set_hostname(c);
        if (r >= 0)
                r = mount_tree(&o->mount);
        /* For advice that a cache's overlay, which is in memory for want of a disk, has no use for. */
        if (c->plan->backing == POLICY_BACKING_TMPFS)
                init->layers_fd = TAKE_FD(o->mount.overlay_fd);
        close_fdp(&o->mount.overlay_fd);
        init->home_fd = TAKE_FD(o->mount.home_fd);
        if (r >= 0)
                r = counters_forbid_mount_namespaces(c, namespaces);
        close_fdp(&namespaces);
        if (r >= 0)
                r = harden_capabilities(err);
        if (r >= 0)
                r = limits_check_processes(c);
        if (r >= 0)
                r = harden_process(err);
        if (r >= 0 && o->scopes_init)
                r = harden_scope(HARDEN_SCOPE_ALL, err);
        if (r >= 0 && params->network)
                r = network_await(params->network, err);
        if (params->network)
                (void)sys_close(params->network->socket);
        if (c->plan->ssh_agent)
                (void)sys_close(params->desktop_socket);
        if (c->plan->wayland)
                (void)sys_close(params->display_socket);
        if (c->plan->browser)
                (void)sys_close(params->browser_socket);
        if (c->plan->dbus)
                (void)sys_close(params->dbus_socket);
        return r;
}

nsrun_no_asan static _Noreturn void own_run(struct own *o) {
        struct child *c = o->child;
        int r = child_take_descriptors(c);

        c->reaper.init.umask = umask(0);
        if (r >= 0)
                r = build(o);
        if (r >= 0 && c->init_fd >= 0)
                r = init_exec(c);
        if (r < 0)
                report_failure(c->reaper.init.report_fd, -1, &c->reaper.error);
        child_wipe_command_line(c);
        init_finish(&c->reaper);
}

static int own_clone(struct own *o, int *ret_pidfd, struct nsrun_error *err) {
        struct child *c = o->child;
        uint64_t namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
                              (c->plan->net != POLICY_NET_HOST ? CLONE_NEWNET : 0U);
        sigset_t own;
        int r, pid;

        r = child_block_signals(c, &own, err);
        if (r < 0)
                return r;
        /* A cgroup namespace can't be had from a kernel without cgroups (EINVAL), nor inside of another
         * nsrun sandbox, which forbids them (ENOSPC): neither has one that could be misused. */
        c->namespaces = namespaces | CLONE_NEWCGROUP;
        pid = child_clone(c, ret_pidfd);
        if (pid == -EINVAL || pid == -ENOSPC) {
                c->namespaces = namespaces;
                c->is_within = o->mount.is_within = pid == -ENOSPC && userns_is_nsruns();
                pid = child_clone(c, ret_pidfd);
        }
        if (pid == 0)
                own_run(o);
        (void)sys_sigmask(SIG_SETMASK, &own, NULL);
        /* ENODEV: the cgroup is gone; EBUSY: it has children with controllers; EOPNOTSUPP: it is no domain,
         * since processes were put into the one above it. */
        if (c->params->cgroup && !c->joins_cgroup &&
            (pid == -EACCES || pid == -ENODEV || pid == -EBUSY || pid == -EOPNOTSUPP))
                return error_set(err, NSRUN_STAGE_NAMESPACE, pid, NULL,
                                 "the sandbox can't be started in its cgroup", NULL);
        return pid < 0 ? launch_explain_namespaces(pid, err) : pid;
}

/* Fills what pid 1 does, as the plan says. */
static void describe_own(const struct child *c, struct init *init) {
        const struct nsrun_plan *plan = c->plan;

        init->has_command = !plan->is_session;
        init->terminal = child_terminal(c);
        init->leftovers = c->params->lingers ? INIT_LEFTOVERS_LINGER : INIT_LEFTOVERS_KILL;
        init->home_files = plan->home_files;
        init->refuses_magic_links = true;
        init->runs_scripts = true;
}

int own_start(struct child *c, struct launch *l, struct nsrun_error *err) {
        const struct nsrun_plan *plan = c->plan;
        struct own o = {
                .child = c,
                .mount = MOUNTING_INIT,
                /* A session's pid 1 must be able to signal the commands that join, each of which has a
                 * domain of its own. */
                .scopes_init = plan->is_scoped && !plan->is_session,
        };
        int r;

        o.mount.plan = plan;
        o.mount.params = c->params;
        o.mount.error = &c->reaper.error;
        (void)snprintf(o.uid_map, sizeof(o.uid_map), "%u %u 1\n", plan->uid, plan->host_uid);
        (void)snprintf(o.gid_map, sizeof(o.gid_map), "%u %u 1\n", plan->gid, plan->host_gid);
        r = child_refuse_folders(c, err);
        if (r >= 0)
                r = child_open_control(c, l, err);
        if (r >= 0)
                r = child_open_listener(c, l, err);
        if (r >= 0)
                r = child_prepare(c, 1, err);
        if (r >= 0)
                r = legacy_prepare(&o.mount, err);
        describe_own(c, &c->reaper.init);
        o.mount.report_fd = c->reaper.init.report_fd;
        if (r >= 0)
                r = own_clone(&o, &l->pidfd, err);
        legacy_free(&o.mount);
        if (r < 0)
                return r;
        l->pid = r;
        l->namespaces = c->namespaces;
        return 0;
}
