/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The life of a sandbox of its own, or of a session's: from the clone to pid 1, a walk over ready data. */
#include <fcntl.h>
#include <sched.h>

#include "harden.h"
#include "init_handover.h"
#include "mount.h"
#include "user_counters.h"

#define LOOKS_MS 2000 /* then who has cloned it has none of its namespaces */

static int learn_namespaces(struct builder *b) {
        struct launch_namespaces *n = &b->reaper.init.namespaces;
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
                        return error_set(&b->reaper.error, NSRUN_STAGE_NAMESPACE, r, all[i].path,
                                         "a namespace can't be told apart", NULL);
                *all[i].to = st.st_ino;
        }
        return 0;
}

/* The cgroup namespace was made outside of the cgroup: another one has it as its root, as one has where the
 * child is born in it. */
static int build_enter_cgroup(struct builder *b) {
        int r = builder_join_cgroup(b);

        if (r < 0 || !(b->b.facts.namespaces & CLONE_NEWCGROUP))
                return r;
        r = sys_unshare(CLONE_NEWCGROUP);
        if (r < 0)
                return error_set(&b->reaper.error, NSRUN_STAGE_NAMESPACE, r, NULL,
                                 "the cgroup namespace can't be made", NULL);
        return 0;
}

static struct boundary_network network_of(const struct blueprint *b) {
        return (struct boundary_network){.socket = b->facts.network_socket,
                                         .own = {b->facts.network_own[0], b->facts.network_own[1]},
                                         .routes = b->routes,
                                         .n_routes = b->n_routes,
                                         .sockets = b->sockets,
                                         .n_sockets = b->n_sockets};
}

/* The folder of the command's private versions, to who is to look at them when it has ended. */
static int hand_over_versions(int socket, int folder, struct nsrun_error *err) {
        int r = folder < 0 ? folder : sys_send_fd(socket, folder);

        (void)sys_close(socket);
        return r < 0 ? error_set(err, NSRUN_STAGE_MOUNT, r, PLAN_PRIVATE,
                                 "the folder of the command's versions can't be handed over", NULL)
                     : 0;
}

static int build(struct builder *b) {
        const struct boundary_facts *f = &b->b.facts;
        const struct boundary_network network = network_of(&b->b);
        struct mounting m = MOUNTING_INIT;
        struct init *init = &b->reaper.init;
        struct nsrun_error *err = &b->reaper.error;
        const int sockets[] = {f->network_socket, f->ssh_socket, f->display_socket, f->browser_socket,
                               f->dbus_socket};
        const int own[] = {init->report_fd, init->supervisor_fd, init->control_fd, init->listener_socket,
                           init->lock_fd,   f->rundir_fd,        f->init_fd,       f->init_data_fd,
                           sockets[0],      sockets[1],          sockets[2],       sockets[3],
                           sockets[4],      f->versions_socket};
        int namespaces = -EBADF;
        int r = f->dies_with_thread ? harden_die_with(init->supervisor_fd, err) : 0;

        m.b = &b->b;
        m.error = err;
        m.report_fd = init->report_fd;
        if (r >= 0 && f->joins_cgroup)
                r = build_enter_cgroup(b);
        if (r >= 0)
                r = BUILDER_CLOSE_DESCRIPTORS(b, own);
        if (r >= 0)
                r = identity_map(AT_FDCWD, "/proc/self/", f->uid_map, f->gid_map, err);
        if (r >= 0 && !(f->namespaces & CLONE_NEWCGROUP))
                r = report_degraded(init->report_fd, init->refuses_degraded, DEGRADED_CGROUP_NAMESPACE, NULL,
                                    NULL, err);
        if (r >= 0)
                r = counters_bound(b);
        if (r >= 0)
                r = counters_open_mount_namespaces(b, &namespaces);
        if (r >= 0 && init->wants_started)
                r = learn_namespaces(b);
        if (r >= 0 && (f->namespaces & CLONE_NEWNET))
                r = network_loopback(err);
        if (r >= 0 && network.socket >= 0)
                r = network_hand_over(&network, err);
        if (r >= 0)
                r = builder_set_hostname(b);
        if (r >= 0)
                r = mount_tree(&m);
        if (r >= 0 && f->versions_socket >= 0)
                r = hand_over_versions(f->versions_socket, m.overlay_fd, err);
        /* For advice that a cache's overlay, which is in memory for want of a disk, has no use for. */
        if (!f->layers_on_disk)
                init->layers_fd = TAKE_FD(m.overlay_fd);
        close_fdp(&m.overlay_fd);
        init->home_fd = TAKE_FD(m.home_fd);
        if (r >= 0)
                r = counters_forbid_mount_namespaces(b, namespaces);
        close_fdp(&namespaces);
        if (r >= 0)
                r = harden_capabilities(err);
        if (r >= 0)
                r = limits_check_processes(b);
        if (b->own.looks)
                (void)sys_await_gone(b->own.looks, NULL, 0, LOOKS_MS);
        if (r >= 0)
                r = harden_process(err);
        if (r >= 0 && f->scopes_init)
                r = harden_scope(HARDEN_SCOPE_ALL, err);
        if (r >= 0 && network.socket >= 0)
                r = network_await(&network, err);
        for (size_t i = 0; i < ARRAY_SIZE(sockets); i++)
                if (sockets[i] >= 0)
                        (void)sys_close(sockets[i]);
        return r;
}

nsrun_no_asan _Noreturn void build_run(struct builder *b) {
        int r = builder_take_descriptors(b);

        b->reaper.init.umask = umask(0);
        if (r >= 0)
                r = build(b);
        if (r >= 0 && b->b.facts.init_fd >= 0)
                r = init_exec(b);
        if (r < 0)
                report_failure(b->reaper.init.report_fd, -1, &b->reaper.error);
        builder_wipe_command_line(b);
        init_finish(&b->reaper);
}
