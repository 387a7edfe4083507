/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "loop.h"

#include "sys.h"

void loop_add(struct loop *l, int fd, short events, int (*ready)(void *data, short revents)) {
        if (fd < 0)
                return;
        if (l->n < LOOP_MOST) {
                l->fds[l->n] = (struct pollfd){.fd = fd, .events = events};
                l->ready[l->n] = ready;
        }
        l->n++;
}

int loop_run(int (*tell)(struct loop *l, void *data), void *data) {
        for (;;) {
                struct loop l = {.patience_ms = -1};
                int r = tell(&l, data), n;

                if (r == 0 && l.n > LOOP_MOST)
                        r = -E2BIG;
                if (r != 0)
                        return r;
                n = sys_poll(l.fds, l.n, l.patience_ms);
                if (n < 0 && n != -EINTR)
                        return n;
                for (size_t i = 0; n > 0 && i < l.n; i++) {
                        r = l.fds[i].revents ? l.ready[i](data, l.fds[i].revents) : 0;
                        if (r != 0)
                                return r;
                }
        }
}

int loop_await(int fd, short events, int timeout_ms) {
        struct pollfd one = {.fd = fd, .events = events};
        int r;

        do
                r = sys_poll(&one, 1, timeout_ms);
        while (r == -EINTR);
        return r;
}

sigset_t signals_of(const int *signals) {
        sigset_t set;

        (void)sigemptyset(&set);
        for (; *signals != 0; signals++)
                (void)sigaddset(&set, *signals);
        return set;
}

int signals_open(sigset_t set, struct nsrun_error *err) {
        int r = sys_sigmask(SIG_BLOCK, &set, NULL);

        if (r >= 0)
                r = sys_signalfd(&set);
        return r < 0 ? error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "no signalfd",
                                 FILTER_HINT_FOR(r, "signalfd4"))
                     : r;
}
