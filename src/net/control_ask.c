/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See control.h. */
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/loop.h"
#include "base/sys.h"
#include "control.h"

#define ANSWER_MS 10000

int control_submit(int socket, const struct net_control *question, const int *fds, size_t n) {
        _cleanup_close_ int to = sys_socket(AF_UNIX, SOCK_DGRAM, 0);
        struct sockaddr_un address = {.sun_family = AF_UNIX};

        if (to < 0)
                return to;
        (void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", socket);
        if (connect(to, (const struct sockaddr *)&address, sizeof(address)) < 0)
                return -errno;
        return sys_send_fds(to, question, sizeof(*question), fds, n);
}

int control_ask(int socket, const struct net_control *question, const int *fds, size_t n, void *ret,
                size_t size) {
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
        if (r >= 0)
                r = loop_await(mine, POLLIN, ANSWER_MS);
        if (r <= 0)
                return r < 0 ? r : -ETIMEDOUT;
        return recv(mine, ret, size, 0) == (ssize_t)size ? 0 : -EPIPE;
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
