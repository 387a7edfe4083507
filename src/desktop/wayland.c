/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See wayland.h.  A message is the object's id, a word of its size and what is asked, and arguments of 32
 * bits or strings that are padded to that. */
#include "wayland.h"

#include <sys/socket.h>

#include "base/sys.h"

#define MANAGER       "wp_security_context_manager_v1"
#define ANSWER_MS     5000
#define MESSAGE_MOST  65535U /* the size of one has 16 bits */
#define MESSAGES_MOST 2000   /* that are read until an answer comes */

enum {
        DISPLAY = 1,
        REGISTRY,
        FIRST_SYNC,
        CONTEXTS,
        CONTEXT,
        LAST_SYNC
};
enum {
        DISPLAY_SYNC,
        DISPLAY_GET_REGISTRY
};
enum {
        REGISTRY_BIND
};
enum {
        CONTEXTS_DESTROY,
        CONTEXTS_CREATE_LISTENER
};
enum {
        CONTEXT_DESTROY,
        CONTEXT_SET_ENGINE,
        CONTEXT_SET_APP,
        CONTEXT_SET_INSTANCE,
        CONTEXT_COMMIT
};

/* Requests that are sent together. */
struct requests {
        uint32_t words[128];
        size_t n, begin;
};

static void request_open(struct requests *q, uint32_t object, uint32_t what) {
        q->begin = q->n;
        q->words[q->n++] = object;
        q->words[q->n++] = what;
}

static void request_add(struct requests *q, uint32_t word) {
        q->words[q->n++] = word;
}

/* Its length with the NUL, its bytes, zeros. */
static void request_add_text(struct requests *q, const char *text) {
        size_t n = strlen(text) + 1;

        q->words[q->n++] = (uint32_t)n;
        q->words[q->n + (n - 1) / 4] = 0;
        memcpy(&q->words[q->n], text, n);
        q->n += (n + 3) / 4;
}

static void request_close(struct requests *q) {
        q->words[q->begin + 1] |= (uint32_t)((q->n - q->begin) * 4) << 16;
}

static void request_text(struct requests *q, uint32_t object, uint32_t what, const char *text) {
        request_open(q, object, what);
        request_add_text(q, text);
        request_close(q);
}

static void request_new(struct requests *q, uint32_t object, uint32_t what, uint32_t id) {
        request_open(q, object, what);
        request_add(q, id);
        request_close(q);
}

static int wayland_read(int fd, void *to, size_t n) {
        for (size_t at = 0; at < n;) {
                struct pollfd wait = {.fd = fd, .events = POLLIN};
                ssize_t got;
                int r = sys_poll(&wait, 1, ANSWER_MS);

                if (r == -EINTR)
                        continue;
                if (r <= 0)
                        return r < 0 ? r : -ETIMEDOUT;
                got = recv(fd, (char *)to + at, n - at, MSG_DONTWAIT);
                if (got < 0 && errno == EAGAIN)
                        continue;
                if (got <= 0)
                        return got < 0 ? -errno : -EPIPE;
                at += (size_t)got;
        }
        return 0;
}

/* Whether registry.global's arguments name the manager: its name, a string, a version. */
static bool is_manager(const uint32_t *words, size_t n) {
        return n > 2 && words[1] == sizeof(MANAGER) && 2 + (sizeof(MANAGER) + 3) / 4 < n &&
               memcmp(&words[2], MANAGER, sizeof(MANAGER)) == 0;
}

/* Reads what the compositor says until the callback `sync` comes. */
static int wayland_await(int fd, uint32_t sync, uint32_t *ret_name) {
        _cleanup_free_ uint32_t *body = malloc(MESSAGE_MOST);

        if (!body)
                return -ENOMEM;
        for (int i = 0; i < MESSAGES_MOST; i++) {
                uint32_t head[2];
                size_t size;
                int r = wayland_read(fd, head, sizeof(head));

                size = r < 0 ? 0 : head[1] >> 16;
                if (r >= 0 && (size < sizeof(head) || size % 4))
                        r = -EBADMSG;
                if (r >= 0)
                        r = wayland_read(fd, body, size - sizeof(head));
                if (r < 0)
                        return r;
                if (head[0] == sync)
                        return 0;
                if (head[0] == DISPLAY && (head[1] & 0xffff) == 0) /* wl_display.error */
                        return -EPROTO;
                if (head[0] == REGISTRY && (head[1] & 0xffff) == 0 &&
                    is_manager(body, (size - sizeof(head)) / 4))
                        *ret_name = body[0];
        }
        return -EBADMSG;
}

int wayland_find_contexts(int fd, uint32_t *ret_name) {
        struct requests q = {.n = 0};
        uint32_t name = UINT32_MAX;
        int r;

        request_new(&q, DISPLAY, DISPLAY_GET_REGISTRY, REGISTRY);
        request_new(&q, DISPLAY, DISPLAY_SYNC, FIRST_SYNC);
        if (send(fd, q.words, q.n * 4, MSG_NOSIGNAL) < 0)
                return -errno;
        r = wayland_await(fd, FIRST_SYNC, &name);
        if (r < 0 || name == UINT32_MAX)
                return r;
        *ret_name = name;
        return 1;
}

int wayland_make_context(int fd, uint32_t name, int listener, int close_fd) {
        struct requests q = {.n = 0};
        char instance[32];
        uint32_t other;
        int r;

        request_open(&q, REGISTRY, REGISTRY_BIND);
        request_add(&q, name);
        request_add_text(&q, MANAGER);
        request_add(&q, 1);
        request_add(&q, CONTEXTS);
        request_close(&q);
        request_new(&q, CONTEXTS, CONTEXTS_CREATE_LISTENER, CONTEXT);
        request_text(&q, CONTEXT, CONTEXT_SET_ENGINE, "nsrun");
        request_text(&q, CONTEXT, CONTEXT_SET_APP, "nsrun");
        (void)snprintf(instance, sizeof(instance), "%d", (int)getpid());
        request_text(&q, CONTEXT, CONTEXT_SET_INSTANCE, instance);
        request_open(&q, CONTEXT, CONTEXT_COMMIT);
        request_close(&q);
        request_new(&q, DISPLAY, DISPLAY_SYNC, LAST_SYNC);
        r = sys_send_fds(fd, q.words, q.n * 4, (const int[]){listener, close_fd}, 2);
        return r < 0 ? r : wayland_await(fd, LAST_SYNC, &other);
}
