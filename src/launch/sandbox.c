/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox of its own, or a session's: what boundary/build.c is told, and the clone. */
#include <sched.h>

#include "child.h"
#include "host/userns.h"

static int own_clone(struct child *c, int *ret_pidfd, struct nsrun_error *err) {
        struct boundary_facts *f = &c->b.facts;
        uint64_t namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
                              (c->plan->net != POLICY_NET_HOST ? CLONE_NEWNET : 0U);
        sigset_t own;
        int r, pid;

        r = child_block_signals(c, &own, err);
        if (r < 0)
                return r;
        /* A cgroup namespace can't be had from a kernel without cgroups (EINVAL), nor inside of another
         * nsrun sandbox, which forbids them (ENOSPC): neither has one that could be misused. */
        f->namespaces = namespaces | CLONE_NEWCGROUP;
        pid = child_clone(c, ret_pidfd);
        if (pid == -EINVAL || pid == -ENOSPC) {
                f->namespaces = namespaces;
                f->is_within = pid == -ENOSPC && userns_is_nsruns();
                pid = child_clone(c, ret_pidfd);
        }
        (void)sys_sigmask(SIG_SETMASK, &own, NULL);
        /* ENODEV: the cgroup is gone; EBUSY: it has children with controllers; EOPNOTSUPP: it is no domain,
         * since processes were put into the one above it. */
        if (c->params->cgroup && !f->joins_cgroup &&
            (pid == -EACCES || pid == -ENODEV || pid == -EBUSY || pid == -EOPNOTSUPP))
                return error_set(err, NSRUN_STAGE_NAMESPACE, pid, NULL,
                                 "the sandbox can't be started in its cgroup", NULL);
        return pid < 0 ? launch_explain_namespaces(pid, err) : pid;
}

static void own_describe_network(struct child *c) {
        const struct launch_network *network = c->params->network;
        struct boundary_facts *f = &c->b.facts;

        if (!network)
                return;
        f->network_socket = network->socket;
        f->network_own[0] = net_index_address(NET_INDEX_OWN, false);
        f->network_own[1] = net_index_address(NET_INDEX_OWN, true);
        c->b.routes = network->layout->routes;
        c->b.n_routes = network->layout->n_routes;
        c->b.sockets = network->layout->sockets;
        c->b.n_sockets = network->layout->n_sockets;
}

static void describe_own(struct child *c) {
        const struct nsrun_plan *plan = c->plan;
        const struct launch_params *params = c->params;
        struct boundary_facts *f = &c->b.facts;

        f->life = BOUNDARY_SANDBOX;
        (void)snprintf(f->uid_map, sizeof(f->uid_map), "%u %u 1\n", plan->uid, plan->host_uid);
        (void)snprintf(f->gid_map, sizeof(f->gid_map), "%u %u 1\n", plan->gid, plan->host_gid);
        f->init.has_command = !plan->is_session;
        f->init.terminal = child_terminal(c);
        f->init.leftovers = params->lingers ? INIT_LEFTOVERS_LINGER : INIT_LEFTOVERS_KILL;
        f->init.home_files = plan->home_files;
        f->init.refuses_magic_links = true;
        f->init.runs_scripts = true;
        f->is_session = plan->is_session;
        f->is_strict = plan->is_strict;
        f->layers_on_disk = plan->backing == POLICY_BACKING_DISK;
        /* A session's pid 1 must be able to signal the commands that join, each of which has a
         * domain of its own. */
        f->scopes_init = plan->is_scoped && !plan->is_session;
        f->root_size = plan->root_size;
        f->ssh_socket = plan->ssh_agent ? params->desktop_socket : -EBADF;
        f->display_socket = plan->wayland ? params->display_socket : -EBADF;
        f->browser_socket = plan->browser ? params->browser_socket : -EBADF;
        f->dbus_socket = plan->dbus ? params->dbus_socket : -EBADF;
        if (params->cgroup) {
                f->cgroup_procs_fd = params->cgroup->procs_fd;
                f->cgroup_dev = params->cgroup->dev;
                f->cgroup_inode = params->cgroup->inode;
                c->b.cgroup_path = params->cgroup->path;
        }
        c->b.home = plan->home;
        c->b.rundir = plan->rundir;
        own_describe_network(c);
}

int own_start(struct child *c, struct launch *l, struct nsrun_error *err) {
        int r;

        r = child_refuse_folders(c, err);
        if (r >= 0)
                r = child_open_control(c, l, err);
        if (r >= 0)
                r = child_open_listener(c, l, err);
        if (r >= 0)
                r = child_prepare(c, 1, err);
        if (r < 0)
                return r;
        describe_own(c);
        r = child_write(c, err);
        if (r >= 0)
                r = own_clone(c, &l->pidfd, err);
        if (r < 0)
                return r;
        l->pid = r;
        l->namespaces = c->b.facts.namespaces;
        return 0;
}
