/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* JSON-RPC messages, a line each. */
#include "message.h"

#include <limits.h>

#include "base/file.h"
#include "base/str.h"
#include "base/sys.h"

/* ------------------------------------------------------------------------ lines */

int reader_add(struct line_reader *r, const char *bytes, size_t n) {
        if (r->taken > 0) {
                memmove(r->bytes, r->bytes + r->taken, r->n - r->taken);
                r->n -= r->taken;
                r->taken = 0;
        }
        if (n > r->capacity - r->n) {
                size_t capacity = r->capacity > 0 ? r->capacity : 4096;
                char *grown;

                while (capacity - r->n < n)
                        capacity *= 2;
                grown = realloc(r->bytes, capacity);
                if (!grown)
                        return -ENOMEM;
                r->bytes = grown;
                r->capacity = capacity;
        }
        if (n > 0)
                memcpy(r->bytes + r->n, bytes, n);
        r->n += n;
        return 0;
}

/* Forgets what came of a line that is too long.  True: its end has come. */
static bool skip_line(struct line_reader *r) {
        const char *end = memchr(r->bytes + r->taken, '\n', r->n - r->taken);

        r->taken = end ? (size_t)(end + 1 - r->bytes) : r->n;
        r->skips = !end;
        return end != NULL;
}

int reader_next(struct line_reader *r, bool is_last, const char **ret, size_t *ret_n) {
        const char *start, *end;
        size_t n;

        if (r->n == r->taken || (r->skips && !skip_line(r)) || r->n == r->taken)
                return 0;
        start = r->bytes + r->taken;
        end = memchr(start, '\n', r->n - r->taken);
        n = end ? (size_t)(end - start) : r->n - r->taken;
        *ret = start;
        *ret_n = n;
        if (n > MESSAGE_MOST) {
                (void)skip_line(r);
                return -EMSGSIZE;
        }
        if (!end && !is_last)
                return 0;
        r->taken += end ? n + 1 : n;
        return 1;
}

void reader_clear(struct line_reader *r) {
        free(r->bytes);
        *r = (struct line_reader){0};
}

/* --------------------------------------------------------------------- messages */

char *message_id(const struct json_value *value) {
        const struct json_value *id = json_get(value, "id");
        enum json_kind kind = json_kind(id);

        return kind == JSON_STRING || kind == JSON_NUMBER || kind == JSON_REAL ? json_spell(id) : NULL;
}

/* A text or a whole number.  MCP has no null.  What is refused for its id is answered with that id as well,
 * as far as JSON-RPC has such ids: the client waits for that. */
static int take_id(const struct json_value *object, struct message *m, const char **ret_why) {
        enum json_kind kind = json_kind(json_get(object, "id"));

        m->id = message_id(object);
        if (kind != JSON_STRING && kind != JSON_NUMBER) {
                *ret_why = "the id is neither a text nor a whole number";
                return MESSAGE_BAD_REQUEST;
        }
        if (!m->id) {
                *ret_why = "out of memory";
                return MESSAGE_FAILED;
        }
        if (strlen(m->id) > MESSAGE_ID_MOST) {
                *ret_why = "the id is too long";
                return MESSAGE_BAD_REQUEST;
        }
        return 0;
}

static int judge_response(const struct json_value *value, struct message *m, const char **ret_why) {
        const struct json_value *result = json_get(value, "result"), *error = json_get(value, "error");

        m->kind = MESSAGE_RESPONSE;
        if (!m->id || (json_kind(result) != JSON_OBJECT) == (json_kind(error) != JSON_OBJECT)) {
                *ret_why = "neither a request nor a response: it has no method, and not one result or error";
                return MESSAGE_BAD_REQUEST;
        }
        m->result = json_kind(result) == JSON_OBJECT ? result : NULL;
        return 0;
}

int message_read(const struct json_value *value, struct message *ret, const char **ret_why) {
        const struct json_value *params;
        const char *version;
        int r;

        *ret = (struct message){.kind = MESSAGE_NOTIFICATION};
        if (json_kind(value) != JSON_OBJECT) {
                *ret_why = "a message is an object";
                return MESSAGE_BAD_REQUEST;
        }
        if (json_has(value, "id")) {
                ret->kind = MESSAGE_REQUEST;
                r = take_id(value, ret, ret_why);
                if (r < 0)
                        return r;
        }
        version = json_text(json_get(value, "jsonrpc"));
        if (!version || !streq(version, "2.0")) {
                *ret_why = "jsonrpc is not \"2.0\"";
                return MESSAGE_BAD_REQUEST;
        }
        if (!json_has(value, "method"))
                return judge_response(value, ret, ret_why);
        ret->method = json_text(json_get(value, "method"));
        params = json_get(value, "params");
        if (!ret->method) {
                *ret_why = "the method is no text";
                return MESSAGE_BAD_REQUEST;
        }
        if (json_has(value, "params") && json_kind(params) != JSON_OBJECT) {
                *ret_why = "the params are no object";
                return MESSAGE_BAD_PARAMS;
        }
        ret->params = params;
        return 0;
}

void message_clear(struct message *m) {
        free(m->id);
        *m = (struct message){0};
}

/* ------------------------------------------------------------------------ texts */

char *message_result(const char *id, const char *result) {
        struct strbuf b = {0};

        strbuf_add(&b, "{\"jsonrpc\":\"2.0\",\"id\":");
        strbuf_add(&b, id);
        strbuf_add(&b, ",\"result\":");
        strbuf_add(&b, result);
        strbuf_add(&b, "}");
        return strbuf_finish(&b);
}

char *message_error(const char *id, int code, const char *why, const char *data) {
        _cleanup_json_ struct json_document d = json_begin();
        _cleanup_free_ char *text = NULL;
        struct strbuf b = {0};

        json_add_string(&d, d.root, "message", why);
        if (data)
                json_add_json(&d, d.root, "data", data);
        if (!(text = json_line(&d)))
                return NULL;
        strbuf_addf(&b, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,", id ? id : "null", code);
        strbuf_add(&b, text + 1);
        strbuf_add(&b, "}");
        return strbuf_finish(&b);
}

char *message_request(const char *id, const char *method, const char *params) {
        struct strbuf b = {0};

        strbuf_add(&b, "{\"jsonrpc\":\"2.0\",");
        if (id)
                strbuf_addf(&b, "\"id\":%s,", id);
        strbuf_addf(&b, "\"method\":\"%s\",\"params\":", method);
        strbuf_add(&b, params);
        strbuf_add(&b, "}");
        return strbuf_finish(&b);
}

/* ---------------------------------------------------------------------- writing */

/* Of a pipe or socket that polls as writable a write of so much doesn't wait. */
static int writer_put(const struct message_writer *w, const char *at, size_t n) {
        while (n > 0) {
                struct pollfd fds[] = {{.fd = w->fd, .events = POLLOUT},
                                       {.fd = w->stop_fd, .events = POLLIN}};
                int r = sys_poll(fds, ARRAY_SIZE(fds), -1);
                ssize_t put = 0;

                if (r >= 0 && fds[1].revents)
                        return -ECANCELED;
                if (r >= 0)
                        put = sys_write(w->fd, at, n < PIPE_BUF ? n : PIPE_BUF);
                if (r < 0 || put < 0)
                        r = r < 0 ? r : (int)put;
                if (r < 0 && r != -EINTR && r != -EAGAIN)
                        return r;
                at += put > 0 ? put : 0;
                n -= put > 0 ? (size_t)put : 0;
        }
        return 0;
}

void writer_send(struct message_writer *w, const char *text) {
        _cleanup_strbuf_ struct strbuf b = {0};

        if (!text)
                return;
        strbuf_add(&b, text);
        strbuf_add(&b, "\n");
        (void)pthread_mutex_lock(&w->lock);
        if (!w->has_failed && (b.has_failed || writer_put(w, b.text, b.length) < 0))
                w->has_failed = true;
        (void)pthread_mutex_unlock(&w->lock);
}

bool writer_has_failed(struct message_writer *w) {
        bool has_failed;

        (void)pthread_mutex_lock(&w->lock);
        has_failed = w->has_failed;
        (void)pthread_mutex_unlock(&w->lock);
        return has_failed;
}
