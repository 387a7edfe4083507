/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the session's user publishes while the session lives, and who can be asked about names.  The socket's
 * file is in a folder of the user's own, so that who asks is the user. */
#include "control.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "ask.h"
#include "base/array.h"
#include "base/sys.h"
#include "helper.h"

static bool listens(int fd) {
        int value = 0, type = 0;
        socklen_t length = sizeof(value);

        return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) == 0 && value == 1 &&
               getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

/* Takes over the listening socket. */
static int control_publish(struct helper *h, const struct net_publish *p, int *fd) {
        int r;

        if (h->ends_at > 0)
                return -ESRCH;
        if (h->rules.n_publishes >= NET_PUBLISHES_MOST)
                return -E2BIG;
        if (*fd < 0 || !listens(*fd) || fcntl(*fd, F_SETFL, O_NONBLOCK) < 0)
                return -EBADMSG;
        if (ARRAY_GROW(h->rules.publishes, h->rules.n_publishes) < 0)
                return -ENOMEM;
        r = relay_publish(h, *fd);
        if (r < 0)
                return r;
        *fd = -EBADF;
        h->rules.publishes[h->rules.n_publishes++] = *p;
        return 0;
}

static bool is_packets(int fd) {
        int value = 0;
        socklen_t length = sizeof(value);

        return getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &length) == 0 && value == SOCK_SEQPACKET;
}

static void control_answer(const struct helper *h, int fd, int error, uint32_t index) {
        struct net_control_answer a = {.error = error, .n = (uint32_t)h->rules.n_publishes};
        bool is_allowed = false;

        a.n_decided = ask_decided(index, a.name, &is_allowed);
        a.is_allowed = is_allowed;

        for (size_t i = 0; i < h->rules.n_publishes && i < NET_PUBLISHES_MOST; i++)
                a.publishes[i] = h->rules.publishes[i];
        (void)send(fd, &a, sizeof(a), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void control_ready(struct helper *h, struct watch *w, nsrun_unused uint32_t events) {
        int fds[NET_HANDED_AT_ONCE];
        struct net_control q;
        size_t n_fds = 0;
        ssize_t n = sys_receive_fds(w->fd, &q, sizeof(q), fds, ARRAY_SIZE(fds), &n_fds);

        if (n == (ssize_t)sizeof(q) && n_fds > 0 && n_fds <= NET_CONTROL_FDS_MOST) {
                int none = -EBADF, r = 0;

                if (q.kind == NET_CONTROL_ASK && n_fds == 1 && h->ends_at == 0 && is_packets(fds[0])) {
                        if (ask_join(h, fds[0]) < 0)
                                close_fdp(&fds[0]);
                        return;
                }
                if (q.kind == NET_CONTROL_PUBLISH)
                        r = control_publish(h, &q.publish, n_fds > 1 ? &fds[1] : &none);
                else if (q.kind != NET_CONTROL_LIST)
                        r = -EOPNOTSUPP;
                control_answer(h, fds[0], r, q.index);
        }
        for (size_t i = 0; i < n_fds; i++)
                close_fdp(&fds[i]);
}

int control_start(struct helper *h, int fd) {
        static struct watch control;

        control = (struct watch){fd, control_ready};
        return helper_watch(h, &control, EPOLLIN);
}
