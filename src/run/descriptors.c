/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Judges descriptors before a command gets them. */
#include "descriptors.h"

#include <sys/un.h>

#include "base/closed_streams.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sys.h"
#include "host/engine_sockets.h"

/* Container engines as /proc/PID/comm names them, for a socket whose address doesn't tell: one that
 * was bound to a path relative to its server's working directory. */
static const char *const engines[] = {
        "dockerd", "containerd", "crio",      "podman", "buildkitd",
        "k3s",     "libvirtd",   "virtqemud", "lxd",    "incusd",
};

/* Whether two paths lead to one file. */
static bool is_same_file(const char *a, const char *b) {
        struct stat x, y;

        return streq(a, b) ||
               (stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* Whether a socket's address is the control socket of a container engine, running or not; -ENOMEM.
 * Abstract and relative names are taken as no engine's. */
static int is_engine_address(const struct sockaddr_un *address, socklen_t size) {
        _cleanup_strv_ char **sockets = NULL;
        char path[sizeof(address->sun_path) + 1] = "";
        int r;

        if (address->sun_family != AF_UNIX || size <= offsetof(struct sockaddr_un, sun_path))
                return 0;
        memcpy(path, address->sun_path, size - offsetof(struct sockaddr_un, sun_path));
        if (!path_is_absolute(path))
                return 0;
        r = sockets_list(environ, getenv("HOME"), NULL, &sockets);
        STRV_FOREACH (socket, sockets)
                if (r >= 0 && is_same_file(path, *socket))
                        return 1;
        return r;
}

static bool is_engine_process(int fd) {
        struct ucred peer;
        socklen_t size = sizeof(peer);
        char text[32];

        /* SO_PEERCRED gives pid 0 for a process of a pid namespace that this one doesn't see. */
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.pid <= 0 ||
            peer.pid == getpid())
                return false;
        read_process_name(peer.pid, text, sizeof(text));
        return STR_IS_ANY(text, engines);
}

/* Whether a socket is a container engine's, or is connected to one; -ENOMEM. */
static int is_engine_socket(int fd) {
        struct sockaddr_un address = {0};
        socklen_t size = sizeof(address);
        int r = 0;

        if (getsockname(fd, (struct sockaddr *)&address, &size) == 0)
                r = is_engine_address(&address, size);
        memset(&address, 0, sizeof(address));
        size = sizeof(address);
        if (r == 0 && getpeername(fd, (struct sockaddr *)&address, &size) == 0)
                r = is_engine_address(&address, size);
        return r != 0 ? r : is_engine_process(fd);
}

static int refuse_closed(int r, const char *name, struct nsrun_error *err) {
        return error_setf(err, NSRUN_STAGE_USAGE, r, NULL, NULL, "%s is not open", name);
}

/* Judges one descriptor, which messages call `name`. */
static int check_one(int fd, const struct stat *st, int flags, const char *name, bool is_plain,
                     struct nsrun_error *err) {
        int r;

        if (is_plain)
                return 0;
        if (S_ISDIR(st->st_mode))
                return error_setf(err, NSRUN_STAGE_POLICY, -EISDIR, NULL, "pass a file, a pipe or a socket",
                                  "%s is a folder, through which the command could leave the sandbox", name);
        if (flags >= 0 && (flags & O_PATH))
                return error_setf(err, NSRUN_STAGE_POLICY, -EPERM, NULL,
                                  "open the file for what the command needs",
                                  "%s was opened with O_PATH: the command could open the file anew", name);
        r = S_ISSOCK(st->st_mode) ? is_engine_socket(fd) : 0;
        if (r < 0)
                return error_oom(err);
        if (r > 0)
                return error_setf(err, NSRUN_STAGE_POLICY, -EPERM, NULL,
                                  "whoever can talk to it is as good as root on this machine",
                                  "%s is a container engine's control socket", name);
        return 0;
}

static int stream_flags(int fd, bool is_plain) {
        int flags = is_plain ? 0 : fcntl(fd, F_GETFL);

        return flags < 0 ? -errno : flags;
}

int descriptors_check(const struct launch_params *params, bool is_plain, struct stream_seen ret[3],
                      struct nsrun_error *err) {
        static const char *const names[] = {"standard input", "standard output", "standard error"};
        char name[40];
        struct stat st;
        int r = 0;

        for (int i = 0; i <= 2 && r >= 0; i++) {
                bool is_given = params->stdio && params->stdio[i] >= 0;
                int fd = is_given ? params->stdio[i] : i;

                r = closed_streams_has(fd) ? -EBADF : sys_fstat(fd, &ret[i].st);
                ret[i].flags = r < 0 ? r : stream_flags(fd, is_plain);
                /* The caller may have closed it.  (A folder is refused by launch/, with a message
                 * of its own.) */
                if (r < 0)
                        r = is_given ? refuse_closed(r, names[i], err) : 0;
                else if (!S_ISDIR(ret[i].st.st_mode))
                        r = check_one(fd, &ret[i].st, ret[i].flags, names[i], is_plain, err);
        }
        for (size_t i = 0; i < params->n_pass_fds && r >= 0; i++) {
                int fd = params->pass_fds[i];

                (void)snprintf(name, sizeof(name), "descriptor %d", fd);
                if (fd <= 2)
                        return error_setf(err, NSRUN_STAGE_USAGE, -EINVAL, NULL,
                                          "the command has descriptors 0, 1 and 2 anyway",
                                          "%s can't be passed beside the standard streams", name);
                r = sys_fstat(fd, &st);
                r = r < 0 ? refuse_closed(r, name, err)
                          : check_one(fd, &st, stream_flags(fd, is_plain), name, is_plain, err);
        }
        return r;
}
