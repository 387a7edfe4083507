/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The filter's loop: clients of the sandbox on the one side, the agent on the other, one request at a time.
 */
#include "ssh_agent.h"

#include "base/file.h"
#include "base/str.h"
#include "base/sys.h"
#include "net/confine.h"
#include "net/question.h"
#include "ssh.h"

#define CLIENTS_MOST 64 /* beyond, the one that has been idle for longest is let go */
#define KEYS_MOST    (64U * 1024)

/* A message on its way, in or out: 4 bytes of length, then the rest. */
struct message {
        uint8_t *bytes; /* NULL while the length isn't known */
        uint8_t head[4];
        size_t n, at; /* bytes in all, and of these done */
};

struct client {
        int fd; /* -1: there is none */
        struct message in, out;
        bool waits;    /* `in` is a whole request */
        uint64_t turn; /* of its last request */
};

enum step {
        STEP_NONE,
        STEP_KEYS,      /* the agent is asked for its keys, */
        STEP_QUESTION,  /* a person whether one may be used, */
        STEP_SIGNATURE, /* the agent for a signature */
};

struct filter {
        struct client clients[CLIENTS_MOST];
        int listener;
        uint64_t turns;
        enum step step;
        struct client *current; /* whose request it is; NULL: it has gone meanwhile */
        struct message request; /* taken over from it */
        struct message up, down;
        bool is_agent_gone, asks, is_never;
        uint32_t n_questions;
        char **wanted;
};

static void message_drop(struct message *m) {
        free(m->bytes);
        *m = (struct message){.bytes = NULL};
}

/* A message of this type and body, to be sent. */
static bool message_make(struct message *m, const uint8_t *body, size_t n) {
        message_drop(m);
        m->bytes = malloc(4 + n);
        if (!m->bytes)
                return false;
        for (int i = 0; i < 4; i++)
                m->bytes[i] = (uint8_t)(n >> (24 - 8 * i));
        memcpy(m->bytes + 4, body, n);
        m->n = 4 + n;
        return true;
}

/* 1: the message is whole; 0: more is to come; -errno: nothing will. */
static int message_receive(struct message *m, int fd) {
        for (;;) {
                uint8_t *to = m->bytes ? m->bytes + m->at : m->head + m->at;
                size_t wanted = (m->bytes ? m->n : sizeof(m->head)) - m->at;
                ssize_t n = recv(fd, to, wanted, MSG_DONTWAIT);
                uint32_t length = 0;

                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        return 0;
                if (n <= 0)
                        return n < 0 ? -errno : -EPIPE;
                m->at += (size_t)n;
                if ((size_t)n < wanted)
                        continue;
                if (m->bytes)
                        return 1;
                for (int i = 0; i < 4; i++)
                        length = length << 8 | m->head[i];
                if (length == 0 || length > SSH_MESSAGE_MOST)
                        return -EMSGSIZE;
                m->bytes = malloc(4 + length);
                if (!m->bytes)
                        return -ENOMEM;
                memcpy(m->bytes, m->head, 4);
                m->n = 4 + length;
        }
}

/* 1: it is sent; 0: more is to go; -errno. */
static int message_send(struct message *m, int fd) {
        while (m->at < m->n) {
                ssize_t n = send(fd, m->bytes + m->at, m->n - m->at, MSG_DONTWAIT | MSG_NOSIGNAL);

                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        return 0;
                if (n < 0)
                        return -errno;
                m->at += (size_t)n;
        }
        message_drop(m);
        return 1;
}

/* ------------------------------------------------------------------- clients */

static void client_end(struct filter *f, struct client *c) {
        if (f->current == c)
                f->current = NULL;
        (void)close(c->fd);
        message_drop(&c->in);
        message_drop(&c->out);
        *c = (struct client){.fd = -1};
}

static void client_answer(struct filter *f, struct client *c, const uint8_t *body, size_t n) {
        if (!c)
                return;
        c->turn = ++f->turns;
        if (!message_make(&c->out, body, n) || message_send(&c->out, c->fd) < 0)
                client_end(f, c);
}

static void client_refuse(struct filter *f, struct client *c) {
        static const uint8_t failure = SSH_FAILURE;

        client_answer(f, c, &failure, 1);
}

/* Room for one more: a free place, or that of the client that has had nothing to ask for longest. */
static struct client *client_room(struct filter *f) {
        struct client *oldest = NULL;

        for (size_t i = 0; i < CLIENTS_MOST; i++) {
                struct client *c = &f->clients[i];

                if (c->fd < 0)
                        return c;
                if (!c->waits && c != f->current && (!oldest || c->turn < oldest->turn))
                        oldest = c;
        }
        if (oldest)
                client_end(f, oldest);
        return oldest;
}

static void client_accept(struct filter *f) {
        int fd = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        struct client *c = fd < 0 ? NULL : client_room(f);

        if (c)
                *c = (struct client){.fd = fd, .turn = ++f->turns};
        else if (fd >= 0)
                (void)close(fd);
}

static void client_read(struct filter *f, struct client *c) {
        int r = message_receive(&c->in, c->fd);

        if (r < 0)
                client_end(f, c);
        else if (r > 0)
                c->waits = true;
}

/* ------------------------------------------------------------------ a request */

static void request_end(struct filter *f) {
        message_drop(&f->request);
        f->current = NULL;
        f->step = STEP_NONE;
}

static void request_refuse(struct filter *f) {
        client_refuse(f, f->current);
        request_end(f);
}

/* No other connection is made: an agent that has ended is gone for good. */
static void agent_is_gone(struct filter *f) {
        f->is_agent_gone = true;
        message_drop(&f->up);
        message_drop(&f->down);
        if (f->step == STEP_KEYS || f->step == STEP_SIGNATURE)
                request_refuse(f);
}

static void ask_agent(struct filter *f, enum step step, const uint8_t *body, size_t n) {
        f->step = step;
        if (f->is_agent_gone || !message_make(&f->up, body, n)) {
                request_refuse(f);
                return;
        }
        if (message_send(&f->up, SSH_FD_AGENT) < 0)
                agent_is_gone(f);
}

static void sign(struct filter *f) {
        ask_agent(f, STEP_SIGNATURE, f->request.bytes + 4, f->request.n - 4);
}

/* Takes the oldest of the requests that wait; false: there is none. */
static bool request_begin(struct filter *f) {
        static const uint8_t list = SSH_REQUEST_IDENTITIES;
        struct client *next = NULL;
        struct ssh_bytes key;

        for (size_t i = 0; i < CLIENTS_MOST; i++) {
                struct client *c = &f->clients[i];

                if (c->fd >= 0 && c->waits && (!next || c->turn < next->turn))
                        next = c;
        }
        if (!next)
                return false;
        f->request = next->in;
        next->in = (struct message){.bytes = NULL};
        next->waits = false;
        f->current = next;
        if (ssh_read_request(f->request.bytes + 4, f->request.n - 4, &key) == SSH_WANTS_OTHER)
                request_refuse(f);
        else
                ask_agent(f, STEP_KEYS, &list, 1);
        return true;
}

/* The agent's keys are here. */
static void take_keys(struct filter *f, const uint8_t *answer, size_t n) {
        struct net_question q = {.number = f->n_questions, .kind = NET_QUESTION_PERSON};
        _cleanup_free_ uint8_t *filtered = NULL;
        char shown[SSH_SHOWN_MOST + 1];
        struct ssh_bytes key = {NULL, 0};

        if (ssh_read_request(f->request.bytes + 4, f->request.n - 4, &key) == SSH_WANTS_KEYS) {
                size_t length = 0;

                filtered = malloc(n);
                if (filtered && ssh_filter_keys(f->wanted, answer, n, filtered, &length) >= 0)
                        client_answer(f, f->current, filtered, length);
                else
                        client_refuse(f, f->current);
                request_end(f);
                return;
        }
        if (!f->current || !ssh_has_key(f->wanted, answer, n, key, shown) || (f->asks && f->is_never)) {
                request_refuse(f);
                return;
        }
        if (!f->asks) {
                sign(f);
                return;
        }
        (void)snprintf(q.name, sizeof(q.name), "%s", shown);
        f->step = STEP_QUESTION;
        if (send(SSH_FD_LIFE, &q, sizeof(q), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
                request_refuse(f);
        f->n_questions++;
}

/* False: nobody is there any more. */
static bool filter_take_verdict(struct filter *f) {
        struct net_answer a;
        ssize_t n = recv(SSH_FD_LIFE, &a, sizeof(a), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return true;
        if (n != (ssize_t)sizeof(a))
                return false;
        if (f->step != STEP_QUESTION || a.number != f->n_questions - 1)
                return true;
        f->is_never |= a.verdict == NET_VERDICT_NEVER;
        if (a.verdict == NET_VERDICT_YES && f->current)
                sign(f);
        else
                request_refuse(f);
        return true;
}

static void agent_read(struct filter *f) {
        int r = message_receive(&f->down, SSH_FD_AGENT);
        struct message m;

        if (r == 0)
                return;
        /* What nobody asked for is no answer. */
        if (r < 0 || f->up.bytes || (f->step != STEP_KEYS && f->step != STEP_SIGNATURE)) {
                agent_is_gone(f);
                return;
        }
        m = f->down;
        f->down = (struct message){.bytes = NULL};
        if (f->step == STEP_KEYS)
                take_keys(f, m.bytes + 4, m.n - 4);
        else {
                if (m.bytes[4] == SSH_SIGN_RESPONSE)
                        client_answer(f, f->current, m.bytes + 4, m.n - 4);
                else
                        client_refuse(f, f->current);
                request_end(f);
        }
        message_drop(&m);
}

/* ----------------------------------------------------------------- its life */

static int read_keys(struct filter *f) {
        _cleanup_free_ char *text = NULL;
        char *rest = NULL;
        int r = read_small_fd(SSH_FD_KEYS, KEYS_MOST, &text);

        (void)close(SSH_FD_KEYS);
        for (char *line = r < 0 ? NULL : strtok_r(text, "\n", &rest); line && r >= 0;
             line = strtok_r(NULL, "\n", &rest)) {
                f->asks |= streq(line, SSH_AGENT_ASKS);
                if (!streq(line, SSH_AGENT_ASKS) && !streq(line, SSH_AGENT_ALL))
                        r = strv_add(&f->wanted, line);
        }
        return r;
}

/* Asks the agent once before anything is promised: that it is one, and has the keys. */
static int try_agent(const struct filter *f) {
        static const uint8_t list[] = {0, 0, 0, 1, SSH_REQUEST_IDENTITIES};
        struct message m = {.bytes = NULL};
        int r = send(SSH_FD_AGENT, list, sizeof(list), MSG_NOSIGNAL) < 0 ? -errno : 0;

        while (r == 0) {
                struct pollfd wait = {.fd = SSH_FD_AGENT, .events = POLLIN};

                r = sys_poll(&wait, 1, 10 * 1000);
                r = r < 0 ? r : r == 0 ? -ETIMEDOUT : message_receive(&m, SSH_FD_AGENT);
        }
        if (r > 0)
                r = m.bytes[4] != SSH_IDENTITIES_ANSWER
                            ? -EBADMSG
                            : 1 + ssh_find_missing(f->wanted, m.bytes + 4, m.n - 4);
        message_drop(&m);
        return r;
}

static _Noreturn void filter_serve(struct filter *f) {
        for (;;) {
                struct pollfd fds[CLIENTS_MOST + 3] = {{SSH_FD_LIFE, POLLIN, 0},
                                                       {f->listener, POLLIN, 0},
                                                       {f->is_agent_gone ? -1 : SSH_FD_AGENT, POLLIN, 0}};

                if (f->up.bytes)
                        fds[2].events |= POLLOUT;
                for (size_t i = 0; i < CLIENTS_MOST; i++) {
                        const struct client *c = &f->clients[i];

                        fds[3 + i] = (struct pollfd){c->fd,
                                                     (short)(c->out.bytes                  ? POLLOUT
                                                             : c->waits || f->current == c ? 0
                                                                                           : POLLIN),
                                                     0};
                }
                if (sys_poll(fds, ARRAY_SIZE(fds), -1) < 0)
                        continue;
                if (fds[0].revents && !filter_take_verdict(f))
                        _exit(0);
                if (fds[2].revents & POLLOUT && f->up.bytes && message_send(&f->up, SSH_FD_AGENT) < 0)
                        agent_is_gone(f);
                if (fds[2].revents & ~POLLOUT && !f->is_agent_gone)
                        agent_read(f);
                for (size_t i = 0; i < CLIENTS_MOST; i++) {
                        struct client *c = &f->clients[i];

                        if (c->fd < 0 || c->fd != fds[3 + i].fd || !fds[3 + i].revents)
                                continue;
                        if (c->out.bytes ? message_send(&c->out, c->fd) < 0
                                         : (fds[3 + i].revents & (POLLHUP | POLLERR)) &&
                                                   !(fds[3 + i].revents & POLLIN))
                                client_end(f, c);
                        else if (!c->out.bytes && fds[3 + i].revents & POLLIN)
                                client_read(f, c);
                }
                if (fds[1].revents)
                        client_accept(f);
                while (f->step == STEP_NONE && request_begin(f))
                        ;
        }
}

_Noreturn void ssh_agent_main(void) {
        static struct filter f = {.listener = -1};
        int fds[1] = {-1};
        size_t n_fds = 0;
        int32_t answer;
        char byte;

        for (size_t i = 0; i < CLIENTS_MOST; i++)
                f.clients[i].fd = -1;
        (void)sys_close_range(SSH_FD_AGENT + 1, ~0U);
        answer = read_keys(&f);
        if (answer >= 0)
                answer = confine_agent();
        if (answer >= 0)
                answer = try_agent(&f);
        (void)send(SSH_FD_SANDBOX, &answer, sizeof(answer), MSG_NOSIGNAL);
        if (answer != 0 || sys_receive_fds(SSH_FD_SANDBOX, &byte, sizeof(byte), fds, 1, &n_fds) != 1 ||
            n_fds != 1)
                _exit(125);
        (void)close(SSH_FD_SANDBOX);
        f.listener = fds[0];
        filter_serve(&f);
}
