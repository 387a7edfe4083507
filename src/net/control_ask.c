/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See control.h. */
#include <sys/un.h>

#include "base/loop.h"
#include "base/sys.h"
#include "control.h"

#define ANSWER_MS 10000

static int connect_control(int socket) {
        _cleanup_close_ int to = sys_socket(AF_UNIX, SOCK_DGRAM, 0);
        struct sockaddr_un address = {.sun_family = AF_UNIX};

        if (to < 0)
                return to;
        (void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", socket);
        if (connect(to, (const struct sockaddr *)&address, sizeof(address)) < 0)
                return -errno;
        return TAKE_FD(to);
}

int control_submit(int socket, const struct net_control *question, const int *fds, size_t n) {
        _cleanup_close_ int to = connect_control(socket);

        return to < 0 ? to : sys_send_fds(to, question, sizeof(*question), fds, n);
}

static int receive_control_answer(int fd, void *ret, size_t size) {
        int r = loop_await(fd, POLLIN, ANSWER_MS);

        if (r <= 0)
                return r < 0 ? r : -ETIMEDOUT;
        return recv(fd, ret, size, 0) == (ssize_t)size ? 0 : -EPIPE;
}

/* The answer comes by a descriptor, from whatever network namespace. */
static int ask_by_descriptor(int socket, const struct net_control *question, const int *fds, size_t n,
                             void *ret, size_t size) {
        _cleanup_close_ int mine = -EBADF, other = -EBADF;
        int all[NET_CONTROL_FDS_MOST], pair[2], r = sys_socketpair(pair);

        if (r < 0)
                return r;
        mine = pair[0];
        other = all[0] = pair[1];
        for (size_t i = 0; i < n; i++)
                all[1 + i] = fds[i];
        r = control_submit(socket, question, all, 1 + n);
        close_fdp(&other);
        return r < 0 ? r : receive_control_answer(mine, ret, size);
}

/* The answer comes to an abstract address, of the kernel's choice.  The socket is connected before it has
 * one: the kernel lets nobody but its peer send there. */
static int ask_by_address(int socket, const struct net_control *question, void *ret, size_t size) {
        const struct sockaddr any = {.sa_family = AF_UNIX};
        _cleanup_close_ int to = connect_control(socket);
        int r = to < 0 ? to : sys_bind(to, &any, sizeof(any.sa_family));

        if (r >= 0)
                r = sys_send_fds(to, question, sizeof(*question), NULL, 0);
        return r < 0 ? r : receive_control_answer(to, ret, size);
}

int control_ask(int socket, const struct net_control *question, const int *fds, size_t n, void *ret,
                size_t size) {
        int r = ask_by_descriptor(socket, question, fds, n, ret, size);

        /* A command can have so many descriptors on their way that the user may send no other, and so many
         * connections that nsrun-net can take none: it has dropped the question then. */
        return n == 0 && (r == -ETOOMANYREFS || r == -EPIPE) ? ask_by_address(socket, question, ret, size)
                                                             : r;
}

/* A port is taken by the process that asks, so that a refusal is the kernel's to it. */
static int listen_at(const struct net_publish *p) {
        _cleanup_close_ int fd =
                sys_socket(p->address.is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        union net_sockaddr address;
        socklen_t length = net_address_to(&p->address, p->port, &address);
        int r = fd < 0 ? fd : sys_setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, 1);

        if (r >= 0 && p->address.is_v6)
                r = sys_setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
        if (r >= 0)
                r = sys_bind(fd, &address.any, length);
        if (r >= 0)
                r = sys_listen(fd, 128);
        return r < 0 ? r : TAKE_FD(fd);
}

int network_listen(const struct net_publish *p, const char *asked_by, struct nsrun_error *err) {
        int r = listen_at(p);
        _cleanup_free_ char *line = r < 0 ? net_publish_format(p) : NULL;

        return r < 0 ? error_setf(err, NSRUN_STAGE_NETWORK, r, NULL, "choose another PORT, with PORT:INSIDE",
                                  "the host's port can't be had: %s%.100s", asked_by,
                                  line ? line : "publish")
                     : r;
}
