/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The filter's loop: clients of the sandbox on the one side, nsrun and with it a person on the other, one
 * question at a time. */
#include "browser.h"

#include "base/str.h"
#include "base/sys.h"
#include "net/confine.h"
#include "net/question.h"

#define CLIENTS_MOST \
        16 /* beyond, the one that has waited for longest, and about which nobody is asked, goes */

struct link_client {
        int fd; /* -1: there is none */
        char line[LINK_MOST + 1];
        size_t n;
        bool waits; /* the line is a link */
        uint64_t turn;
};

struct link_filter {
        struct link_client clients[CLIENTS_MOST];
        int listener;
        uint64_t turns;
        bool is_asking, is_never;
        struct link_client *current; /* about whose link; NULL: it has gone meanwhile */
        uint32_t n_questions;
};

static void link_client_end(struct link_filter *f, struct link_client *c) {
        if (f->current == c)
                f->current = NULL;
        (void)close(c->fd);
        c->fd = -1;
}

static void link_client_answer(struct link_filter *f, struct link_client *c, char answer) {
        (void)send(c->fd, &answer, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        link_client_end(f, c);
}

static void link_client_accept(struct link_filter *f) {
        int fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        struct link_client *room = NULL;

        if (fd < 0)
                return;
        for (size_t i = 0; i < CLIENTS_MOST && (!room || room->fd >= 0); i++) {
                struct link_client *c = &f->clients[i];

                if (c != f->current && (c->fd < 0 || !room || c->turn < room->turn))
                        room = c;
        }
        if (room->fd >= 0)
                link_client_end(f, room);
        room->fd = fd;
        room->n = 0;
        room->waits = false;
        room->turn = ++f->turns;
}

static void link_client_read(struct link_filter *f, struct link_client *c) {
        ssize_t n = recv(c->fd, c->line + c->n, sizeof(c->line) - c->n, MSG_DONTWAIT);
        char host[LINK_HOST_MOST + 1], *end;

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n <= 0) {
                link_client_end(f, c);
                return;
        }
        c->n += (size_t)n;
        end = memchr(c->line, '\n', c->n);
        if (!end && c->n < sizeof(c->line))
                return;
        if (!end || end != c->line + c->n - 1 || memchr(c->line, '\0', c->n)) {
                link_client_answer(f, c, BROWSER_REFUSED);
                return;
        }
        *end = '\0';
        if (f->is_never || !link_is_openable(c->line, host))
                link_client_answer(f, c, BROWSER_REFUSED);
        else
                c->waits = true;
}

/* Asks about the link that has waited for longest. */
static void link_ask(struct link_filter *f) {
        struct link_question q = {.number = f->n_questions};
        struct link_client *next = NULL;

        for (size_t i = 0; i < CLIENTS_MOST; i++) {
                struct link_client *c = &f->clients[i];

                if (c->fd >= 0 && c->waits && (!next || c->turn < next->turn))
                        next = c;
        }
        if (!next)
                return;
        if (f->is_never) {
                link_client_answer(f, next, BROWSER_REFUSED);
                return;
        }
        memcpy(q.link, next->line, sizeof(q.link));
        if (send(BROWSER_FD_LIFE, &q, sizeof(q), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
                link_client_answer(f, next, BROWSER_REFUSED);
                return;
        }
        f->n_questions++;
        f->is_asking = true;
        f->current = next;
        next->waits = false;
}

/* False: nobody is there any more. */
static bool link_take_verdict(struct link_filter *f) {
        struct net_answer a;
        ssize_t n = recv(BROWSER_FD_LIFE, &a, sizeof(a), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return true;
        if (n != (ssize_t)sizeof(a))
                return false;
        if (!f->is_asking || a.number != f->n_questions - 1)
                return true;
        f->is_asking = false;
        f->is_never |= a.verdict == NET_VERDICT_NEVER;
        if (f->current)
                link_client_answer(f, f->current,
                                   a.verdict == NET_VERDICT_YES ? BROWSER_OPENED : BROWSER_REFUSED);
        return true;
}

static _Noreturn void link_serve(struct link_filter *f) {
        for (;;) {
                struct pollfd fds[CLIENTS_MOST + 2] = {{BROWSER_FD_LIFE, POLLIN, 0},
                                                       {f->listener, POLLIN, 0}};

                for (size_t i = 0; i < CLIENTS_MOST; i++) {
                        const struct link_client *c = &f->clients[i];

                        fds[2 + i] = (struct pollfd){c->fd, c->waits || c == f->current ? 0 : POLLIN, 0};
                }
                if (sys_poll(fds, ARRAY_SIZE(fds), -1) < 0)
                        continue;
                if (fds[0].revents && !link_take_verdict(f))
                        _exit(0);
                for (size_t i = 0; i < CLIENTS_MOST; i++) {
                        struct link_client *c = &f->clients[i];

                        if (c->fd < 0 || c->fd != fds[2 + i].fd || !fds[2 + i].revents)
                                continue;
                        if (fds[2 + i].revents & POLLIN)
                                link_client_read(f, c);
                        else
                                link_client_end(f, c);
                }
                if (fds[1].revents)
                        link_client_accept(f);
                if (!f->is_asking)
                        link_ask(f);
        }
}

_Noreturn void browser_main(void) {
        static struct link_filter f = {.listener = -1};
        int32_t answer;

        for (size_t i = 0; i < CLIENTS_MOST; i++)
                f.clients[i].fd = -1;
        (void)sys_close_range(BROWSER_FD_LIFE + 1, ~0U);
        answer = confine_agent();
        (void)send(BROWSER_FD_SANDBOX, &answer, sizeof(answer), MSG_NOSIGNAL);
        f.listener = answer < 0 ? answer : sys_receive_fd(BROWSER_FD_SANDBOX);
        if (f.listener < 0)
                _exit(125);
        (void)close(BROWSER_FD_SANDBOX);
        link_serve(&f);
}
