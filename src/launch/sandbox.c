/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sandbox of its own, or a session's: what boundary/build.c is told, and the clone. */
#include <sched.h>

#include "child.h"
#include "host/userns.h"

static int own_make(struct child *c, struct launch *l, nsrun_unused struct nsrun_error *err) {
        struct boundary_facts *f = &c->b.facts;
        uint64_t namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
                              (c->plan->net != POLICY_NET_HOST ? CLONE_NEWNET : 0U);
        int r;

        /* A cgroup namespace can't be had from a kernel without cgroups (EINVAL), nor inside of another
         * nsrun sandbox, which forbids them (ENOSPC): neither has one that could be misused. */
        f->namespaces = namespaces | CLONE_NEWCGROUP;
        r = child_clone(c, l);
        if (r == -EINVAL || r == -ENOSPC) {
                f->namespaces = namespaces;
                f->is_within = r == -ENOSPC && userns_is_nsruns();
                r = child_clone(c, l);
        }
        return r;
}

static int own_explain(const struct child *c, int r, struct nsrun_error *err) {
        /* ENODEV: the cgroup is gone; EBUSY: it has children with controllers; EOPNOTSUPP: it is no domain,
         * since processes were put into the one above it. */
        if (c->params->cgroup && !c->b.facts.joins_cgroup &&
            (r == -EACCES || r == -ENODEV || r == -EBUSY || r == -EOPNOTSUPP))
                return error_set(err, NSRUN_STAGE_NAMESPACE, r, NULL,
                                 "the sandbox can't be started in its cgroup", NULL);
        return launch_explain_namespaces(r, err);
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

static int own_describe(struct child *c, nsrun_unused struct launch *l,
                        nsrun_unused struct nsrun_error *err) {
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
        c->b.home = plan->home_files > 0 ? plan->home : NULL;
        c->b.rundir = plan->rundir;
        own_describe_network(c);
        return 0;
}

const struct child_life own_life = {.refuses_folders = true,
                                    .has_control = true,
                                    .has_listener = true,
                                    .n_ours = 1,
                                    .describe = own_describe,
                                    .make = own_make,
                                    .explain = own_explain};
