/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-keys: has the keys of --key on the host's side.  A sandbox's programs speak plain HTTP to a port of
 * their loopback; nsrun-keys asks the key's host the same by TLS, with the key in it. */
#include <event2/listener.h>
#include <malloc.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/str.h"
#include "net/confine.h"
#include "server.h"
#include "wire.h"

enum {
        HEADERS_MOST = 64 * 1024, /* bytes */
        BODY_MOST = 64 * 1024 * 1024,
        AUTHORITIES_MOST = 16 * 1024 * 1024,
};
#define MEMORY_MOST (UINT64_C(2) << 30) /* bytes, whatever a sandbox sends at once */

static struct key_port *server_find_port(struct key_server *s, unsigned long number) {
        for (size_t i = 0; i < s->n_ports; i++)
                if (s->ports[i].number == number)
                        return &s->ports[i];
        return NULL;
}

static int take_use(struct key_server *s, const char *text) {
        struct key_port *port;
        struct key_use use;
        char *rest;
        unsigned long number = strtoul(text, &rest, 10);

        if (number == 0 || number > UINT16_MAX || *rest != ' ' || key_use_read(rest + 1, &use))
                return -EBADMSG;
        port = server_find_port(s, number);
        if (!port) {
                if (s->n_ports == KEY_USES_MOST)
                        return -EBADMSG;
                port = &s->ports[s->n_ports++];
                port->server = s;
                port->number = (uint16_t)number;
        }
        if (port->n_uses == KEY_USES_MOST)
                return -EBADMSG;
        port->uses[port->n_uses++] = use;
        return 0;
}

/* Of all ports of that name. */
static int keys_take_value(struct key_server *s, const char *text) {
        const char *blank = strchr(text, ' ');
        size_t n = blank ? (size_t)(blank - text) : 0;

        if (n == 0 || key_value_judge(blank + 1))
                return -EBADMSG;
        for (size_t i = 0; i < s->n_ports; i++) {
                const char *rest = startswith(text, s->ports[i].uses[0].name);

                if (rest == blank && !(s->ports[i].value = strdup(blank + 1)))
                        return -ENOMEM;
        }
        return 0;
}

/* Names with a port, which curl has none of, are reached by the proxy. */
static int take_direct(struct key_server *s, const char *name) {
        char *both = str_concat(s->directs ? s->directs : "", s->directs ? "," : "", name);

        free(s->directs);
        s->directs = both;
        return both ? 0 : -ENOMEM;
}

static int take_authorities(struct key_server *s, const char *path) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        char *text = NULL;
        int r = fd < 0 ? -errno : read_small_fd(fd, AUTHORITIES_MOST, &text);

        if (r >= 0)
                s->authorities = (struct curl_blob){.data = text, .len = strlen(text)};
        return r;
}

static int keys_take_line(struct key_server *s, const char *line) {
        const char *rest;

        if ((rest = startswith(line, KEYS_USE)))
                return take_use(s, rest);
        if ((rest = startswith(line, KEYS_VALUE)))
                return keys_take_value(s, rest);
        if ((rest = startswith(line, KEYS_DIRECT)))
                return take_direct(s, rest);
        if ((rest = startswith(line, KEYS_CA)))
                return take_authorities(s, rest);
        if (!(rest = startswith(line, KEYS_VIA)))
                return -EBADMSG;
        s->via = strdup(rest);
        return s->via ? 0 : -ENOMEM;
}

static int keys_read_lines(struct key_server *s) {
        char *text = calloc(1, KEYS_MOST + 1), *rest = NULL;
        uint32_t length = 0;
        size_t n = 0;
        int r = text ? read_full(KEYS_FD_NSRUN, (char *)&length, sizeof(length), &n) : -ENOMEM;

        if (r >= 0)
                r = n == sizeof(length) && length <= KEYS_MOST ? read_full(KEYS_FD_NSRUN, text, length, &n)
                                                               : -EBADMSG;
        for (char *line = r < 0 ? NULL : strtok_r(text, "\n", &rest); line && r >= 0;
             line = strtok_r(NULL, "\n", &rest))
                r = keys_take_line(s, line);
        if (text)
                explicit_bzero(text, KEYS_MOST);
        free(text);
        return r;
}

static int prepare_port(struct key_port *port) {
        int r = port->value ? credential_spellings(port) : -EBADMSG;

        if (r < 0)
                return r;
        port->http = evhttp_new(port->server->base);
        if (!port->http)
                return -ENOMEM;
        evhttp_set_timeout(port->http, CONNECTION_IDLE_S);
        evhttp_set_default_content_type(port->http, NULL); /* an answer's is the host's */
        evhttp_set_max_headers_size(port->http, HEADERS_MOST);
        evhttp_set_max_body_size(port->http, BODY_MOST);
        evhttp_set_allowed_methods(port->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST |
                                                       EVHTTP_REQ_PUT | EVHTTP_REQ_PATCH |
                                                       EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS);
        bodies_bound(port->http);
        evhttp_set_gencb(port->http, exchange_take, port);
        return 0;
}

static void accept_again(nsrun_unused evutil_socket_t fd, nsrun_unused short what, void *listener) {
        (void)evconnlistener_enable(listener);
}

/* There are too many connections. */
static void accept_later(struct evconnlistener *listener, nsrun_unused void *evhttps_own) {
        static const struct timeval pause = {.tv_usec = 100 * 1000};

        (void)evconnlistener_disable(listener);
        (void)event_base_once(evconnlistener_get_base(listener), -1, EV_TIMEOUT, accept_again, listener,
                              &pause);
}

/* A socket of the sandbox's. */
static void socket_came(nsrun_unused evutil_socket_t fd, nsrun_unused short what, void *data) {
        struct key_server *s = data;
        struct evhttp_bound_socket *bound = NULL;
        struct key_port *port;
        uint16_t number = 0;
        int listening = -EBADF;
        size_t n = 0;
        ssize_t got = sys_receive_fds(KEYS_FD_SOCKETS, &number, sizeof(number), &listening, 1, &n);

        if (got == -EAGAIN || got == -EINTR)
                return;
        if (got <= 0)
                _exit(0); /* nsrun-net has ended, and the sandbox with it */
        port = server_find_port(s, number);
        if (n == 0)
                return;
        if (port && evutil_make_socket_nonblocking(listening) == 0)
                bound = evhttp_accept_socket_with_handle(port->http, listening);
        if (bound)
                evconnlistener_set_error_cb(evhttp_bound_socket_get_listener(bound), accept_later);
        else
                (void)close(listening);
}

static void nsrun_ended(nsrun_unused evutil_socket_t fd, nsrun_unused short what, nsrun_unused void *data) {
        _exit(0);
}

static int prepare(struct key_server *s) {
        const struct rlimit files = {DESCRIPTORS_MOST, DESCRIPTORS_MOST},
                            memory = {MEMORY_MOST, MEMORY_MOST}, core = {0, 0};
        struct event *sockets, *life;
        struct rlimit now;
        int r = keys_read_lines(s);

        if (r >= 0 && getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_max >= DESCRIPTORS_MOST)
                (void)setrlimit(RLIMIT_NOFILE, &files);
        if (r >= 0 && (setrlimit(RLIMIT_DATA, &memory) < 0 || setrlimit(RLIMIT_CORE, &core) < 0))
                r = -errno;
        if (r < 0)
                return r;
        s->base = event_base_new();
        r = s->base ? upstream_start(s) : -ENOMEM;
        for (size_t i = 0; i < s->n_ports && r >= 0; i++)
                r = prepare_port(&s->ports[i]);
        if (r < 0)
                return r;
        sockets = event_new(s->base, KEYS_FD_SOCKETS, EV_READ | EV_PERSIST, socket_came, s);
        life = event_new(s->base, KEYS_FD_NSRUN, EV_READ, nsrun_ended, NULL);
        if (!sockets || !life || event_add(sockets, NULL) < 0 || event_add(life, NULL) < 0)
                return -ENOMEM;
        return confine();
}

int main(void) {
        static struct key_server s;
        struct stat st;
        int32_t answer;

        if (fstat(KEYS_FD_NSRUN, &st) < 0 || !S_ISSOCK(st.st_mode)) {
                (void)fputs("nsrun-keys: started by nsrun, not by people\n", stderr);
                return 125;
        }
        (void)signal(SIGPIPE, SIG_IGN);
        (void)umask(077);
#ifdef __GLIBC__
        /* What a request had is given back when it ends. */
        (void)mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif
        answer = prepare(&s);
        (void)send(KEYS_FD_NSRUN, &answer, sizeof(answer), MSG_NOSIGNAL);
        if (answer < 0)
                return 125;
        (void)event_base_dispatch(s.base);
        return 125;
}
