/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The mounts that are not one call: the scratch folder, and /proc, which a container may refuse. */
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/un.h>

#include "base/beneath.h"
#include "base/causes.h"
#include "base/path.h"
#include "decimal.h"
#include "mount.h"

#define SOCKET_BACKLOG 64

/* The run directory, opened anew: the caller's descriptor belongs to a mount of the
 * caller's namespace, and overlayfs takes layers from its own alone, as a bind does
 * its source.  It must still be the folder that the caller locked. */
int mount_open_rundir(struct mounting *m) {
        _cleanup_close_ int fd = -EBADF;
        struct stat given, found;
        int r;

        if (m->rundir_fd >= 0)
                return m->rundir_fd;
        /* Default caches go without one where none can be made. */
        if (!m->b->rundir_path)
                return -ENOENT;
        fd = beneath_open(m->old_root, m->b->rundir_path + 1, O_RDONLY | O_DIRECTORY, 0);
        r = fd < 0 ? fd : sys_fstat(m->b->facts.rundir_fd, &given);
        if (r >= 0)
                r = sys_fstat(fd, &found);
        if (r >= 0 && (given.st_dev != found.st_dev || given.st_ino != found.st_ino))
                r = -ESTALE;
        return r < 0 ? r : (m->rundir_fd = TAKE_FD(fd));
}

/* The plan is older than the run directory: puts its name where the plan has one of the
 * same length.  The record is the child's own. */
int mount_name_rundir(struct mounting *m) {
        const char *planned = m->b->rundir, *path = m->b->rundir_path;
        size_t n = planned ? strlen(planned) : 0,
               named = planned ? (size_t)(path_basename(planned) - planned) : 0;

        if (!planned || !path)
                return 0;
        if (strlen(path) != n || memcmp(path, planned, named) != 0)
                return error_set(m->error, NSRUN_STAGE_WORKSPACE, -ESTALE, planned,
                                 "the cache folder is not where it was when the plan was made",
                                 "make the plan anew");
        for (size_t i = 0; i < m->b->n_ops; i++) {
                const struct plan_op *op = &m->b->ops[i];

                if (path_is_beneath(op->target, planned))
                        memcpy(op->target + named, path + named, n - named);
                if (op->is_in_rundir)
                        memcpy(op->source + named, path + named, n - named);
        }
        /* nsrun-init opens the record again. */
        memcpy(m->b->rundir + named, path + named, n - named);
        return 0;
}

int mount_open_scratch(struct mounting *m, const struct plan_op *op) {
        bool is_new = mount_is_in_memory(m) && strcmp(op->target, PLAN_PRIVATE) == 0;
        int parent = is_new ? mount_open_versions(m, op) : mount_open_rundir(m), r = parent;
        const char *name = path_basename(op->source);

        if (r >= 0 && is_new)
                r = sys_mkdirat(parent, name, 0700);
        return r < 0 ? r : beneath_open(parent, name, O_PATH | O_DIRECTORY, 0);
}

static int proc_new(const struct mount_place *at, const char *options) {
        return mount_filesystem(at, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, options);
}

static int proc_host(struct mounting *m, const struct plan_op *op, const struct mount_place *at) {
        _cleanup_close_ int source = -EBADF;

        source = beneath_open(m->old_root, "proc", O_PATH | O_DIRECTORY, 0);
        if (source < 0)
                return source;
        /* Read-only: the files of the host's own processes are there to write to. */
        return mount_attach(m, op, source, at,
                            MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
                            true);
}

int mount_proc(struct mounting *m, const struct plan_op *op) {
        _cleanup_place_ struct mount_place at = PLACE_NONE;
        int r = mount_point(m, op, &at);

        if (r < 0 || op->proc == POLICY_PROC_NONE)
                return r;
        r = op->proc == POLICY_PROC_BIND ? proc_host(m, op, &at) : -EPERM;
        if (op->proc == POLICY_PROC_NEW || op->proc == POLICY_PROC_AUTO)
                r = proc_new(&at, NULL);
        if (op->proc == POLICY_PROC_SUBSET || (op->proc == POLICY_PROC_AUTO && r < 0)) {
                r = proc_new(&at, "subset=pid");
                m->proc_is_subset = r >= 0;
        }
        if (op->proc == POLICY_PROC_AUTO && (r < 0 || m->proc_is_subset))
                return report_degraded(m->report_fd, m->b->facts.init.refuses_degraded,
                                       r < 0 ? DEGRADED_PROC_NONE : DEGRADED_PROC_SUBSET, op->target, NULL,
                                       m->error);
        if (r == -EPERM)
                /* mount_too_revealing(): a masked /proc outside forbids a full one inside. */
                return error_cause(m->error,
                                   m->b->facts.is_within ? NSRUN_ERROR_OUTER_PROC : NSRUN_ERROR_PROC_MASKED,
                                   r, op->target);
        if (r < 0 && op->proc == POLICY_PROC_SUBSET)
                return error_cause(m->error, NSRUN_ERROR_NO_PROC_SUBSET, r, op->target);
        if (r < 0)
                return error_cause_with(m->error, NSRUN_ERROR_NO_PROC_SUBSET, r, op->target, NULL);
        return 0;
}

/* xdg-dbus-proxy makes the socket, and says when it listens (desktop/dbus_proxy.h). */
static int await_proxy(const struct mounting *m, const struct plan_op *op) {
        _cleanup_close_ int folder = -EBADF;
        unsigned char byte = 0;
        char path[108];
        ssize_t n;
        int r;

        if (strlen(op->target) >= sizeof(path))
                return -ENAMETOOLONG;
        strcpy(path, op->target + 1);
        *strrchr(path, '/') = '\0';
        r = folder = beneath_open(m->new_root, path, O_PATH | O_DIRECTORY, 0);
        if (r >= 0)
                r = sys_send_fds(m->b->facts.dbus_socket, &byte, sizeof(byte), (const int[]){folder}, 1);
        if (r < 0)
                return r;
        do
                n = sys_read(m->b->facts.dbus_socket, &byte, sizeof(byte));
        while (n == -EINTR);
        return n < 0                      ? (int)n
               : n == 0                   ? -EPIPE
               : byte == DBUS_PROXY_READY ? 0
               : byte == 0                ? -EPROTO
                                          : -(int)byte;
}

static int mount_bus(const struct mounting *m, const struct plan_op *op) {
        int r = await_proxy(m, op);

        return r < 0 ? error_set(m->error, NSRUN_STAGE_MOUNT, r, op->target,
                                 "xdg-dbus-proxy doesn't listen at the sandbox's socket", NULL)
                     : 0;
}

/* Where a socket's descriptor goes. */
static int socket_taker(const struct mounting *m, const struct plan_op *op) {
        return strcmp(op->text, PLAN_SOCKET_WAYLAND) == 0   ? m->b->facts.display_socket
               : strcmp(op->text, PLAN_SOCKET_BROWSER) == 0 ? m->b->facts.browser_socket
                                                            : m->b->facts.ssh_socket;
}

/* Bound by a number as its path, as what is mounted is (mount_filesystem()): a descriptor of the new root,
 * and what lies beneath.  It is on a tmpfs of the plan's own, where no command has ever been. */
static int mount_listener(struct mounting *m, const struct plan_op *op) {
        _cleanup_close_ int fd = sys_socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        static const char byte = 0;
        char number[24];
        int r = fd < 0 ? fd : 0;

        if (strlen(op->target) + sizeof(number) > sizeof(at.sun_path))
                r = -ENAMETOOLONG;
        strcat(at.sun_path, number_format(number, (uint64_t)m->new_root));
        if (r >= 0) {
                strcat(at.sun_path, op->target);
                r = sys_bind(fd, (const struct sockaddr *)&at, sizeof(at));
        }
        if (r >= 0)
                r = sys_listen(fd, SOCKET_BACKLOG);
        if (r >= 0)
                r = sys_send_fds(socket_taker(m, op), &byte, sizeof(byte), (const int[]){fd}, 1);
        if (r < 0)
                return error_set(m->error, NSRUN_STAGE_MOUNT, r, op->target,
                                 "a socket of the sandbox can't be made", NULL);
        return 0;
}

int mount_socket(struct mounting *m, const struct plan_op *op) {
        return strcmp(op->text, PLAN_SOCKET_DBUS) == 0 ? mount_bus(m, op) : mount_listener(m, op);
}
