/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* JSON-RPC 2.0 as the Model Context Protocol has it: one message a line.  Lines from bytes, messages from
 * lines, and messages written.  Knows no method. */
#pragma once

#include <pthread.h>

#include "base/json.h"

enum {
        MESSAGE_MOST = 4 * 1024 * 1024, /* bytes of a line */
        MESSAGE_ID_MOST = 1024,         /* bytes of a request's id, as JSON */
};

/* Numbers of errors. */
enum message_error {
        MESSAGE_NO_JSON = -32700,
        MESSAGE_BAD_REQUEST = -32600,
        MESSAGE_NO_METHOD = -32601,
        MESSAGE_BAD_PARAMS = -32602,
        MESSAGE_FAILED = -32603,
        /* The protocol's own, since 2026-07-28. */
        MESSAGE_OTHER_HEADER = -32020, /* of HTTP's, than the message says */
        MESSAGE_NO_CAPABILITY = -32021,
        MESSAGE_NO_VERSION = -32022,
};

/* Lines from bytes that come in parts.  To be zero-initialised. */
struct line_reader {
        char *bytes;
        size_t n, capacity, taken; /* taken: bytes of lines that reader_next() gave */
        bool skips;                /* the rest of a line that was too long */
};

/* -ENOMEM. */
int reader_add(struct line_reader *r, const char *bytes, size_t n);
/* The next line, without its newline: *ret is the reader's until the next call of either.  1; 0: there is no
 * whole line yet; -EMSGSIZE: the line is longer than MESSAGE_MOST, *ret is what has come of it, and the rest
 * is skipped.  With is_last a line needs no newline. */
int reader_next(struct line_reader *r, bool is_last, const char **ret, size_t *ret_n);
void reader_clear(struct line_reader *r);

enum message_kind {
        MESSAGE_REQUEST,
        MESSAGE_NOTIFICATION,
        MESSAGE_RESPONSE
};

/* A message of a document that was parsed; but for `id` all is the document's. */
struct message {
        enum message_kind kind;
        char *id;                        /* as JSON; NULL: a notification, or unknown */
        const char *method;              /* NULL: a response */
        const struct json_value *params; /* an object, or NULL */
        const struct json_value *result; /* of a response; NULL: it is an error */
};

/* Judges a value.  0; or a number of enum message_error with *ret_why, static, and with the id, if it has
 * one.  message_clear() in any case. */
int message_read(const struct json_value *value, struct message *ret, const char **ret_why);
void message_clear(struct message *m);
/* The id in a value that may be no message, as JSON, for the caller to free: a text or a number.  NULL: it
 * has none. */
char *message_id(const struct json_value *value);

/* Texts of messages, for the caller to free; NULL for want of memory.  `id`, `result` and `data` are JSON;
 * `id` and `data` may be NULL. */
char *message_result(const char *id, const char *result);
char *message_error(const char *id, int code, const char *why, const char *data);
char *message_request(const char *id, const char *method, const char *params);

/* Where messages go, from any thread. */
struct message_writer {
        int fd;
        int stop_fd; /* readable: nobody waits any longer for a client that doesn't read */
        pthread_mutex_t lock;
        bool has_failed; /* nobody reads any more */
};

/* Writes a message and a newline, whole, unless an earlier write has failed. */
void writer_send(struct message_writer *w, const char *text);
bool writer_has_failed(struct message_writer *w);
