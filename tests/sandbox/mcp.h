/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A client of `nsrun mcp`: lines sent, lines read, by a parser that is not nsrun's. */
#pragma once

#include <json-c/json.h>

#include "session.h"

struct client {
        struct running running;
        int in;
        unsigned n;                  /* requests sent */
        struct json_object *notices; /* an array: what came while an answer was waited for */
};

static inline void client_write(const struct client *c, const char *bytes, size_t n) {
        while (n > 0) {
                ssize_t r = write(c->in, bytes, n);

                if (r <= 0)
                        fail_msg("the server takes no more: %s", strerror(errno));
                bytes += r;
                n -= (size_t)r;
        }
}

static inline void client_send(const struct client *c, const char *line) {
        _cleanup_free_ char *text = text_of("%s\n", line);

        client_write(c, text, strlen(text));
}

/* Sends a request; the number of its id. */
static inline unsigned client_request(struct client *c, const char *method, const char *params) {
        _cleanup_free_ char *line = text_of(
                "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":%s}", ++c->n, method, params);

        client_send(c, line);
        return c->n;
}

static inline void client_notify(const struct client *c, const char *method, const char *params) {
        _cleanup_free_ char *line =
                text_of("{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":%s}", method, params);

        client_send(c, line);
}

/* The next message, for the caller to put. */
static inline struct json_object *client_read(const struct client *c) {
        _cleanup_free_ char *line = read_line(c->running.out);
        struct json_object *o = line ? json_tokener_parse(line) : NULL;

        if (!o)
                fail_msg("no JSON: %s", line ? line : "(nothing)");
        return o;
}

/* The answer to a request, whatever comes before it. */
static inline struct json_object *client_answer(struct client *c, unsigned id) {
        for (;;) {
                struct json_object *o = client_read(c), *value = NULL;

                if (json_object_object_get_ex(o, "id", &value) && !json_object_object_get(o, "method") &&
                    json_object_get_int64(value) == (int64_t)id)
                        return o;
                (void)json_object_array_add(c->notices, o);
        }
}

/* A member by its path, "result.content.0.text"; NULL: there is none. */
static inline struct json_object *member_of(struct json_object *o, const char *path) {
        _cleanup_free_ char *copy = strdup(path);
        char *rest = copy, *name;

        while (o && (name = strsep(&rest, ".")))
                if (json_object_is_type(o, json_type_array))
                        o = json_object_array_get_idx(o, (size_t)atol(name));
                else
                        o = json_object_object_get(o, name);
        return o;
}

static inline const char *text_at(struct json_object *o, const char *path) {
        struct json_object *value = member_of(o, path);

        if (!json_object_is_type(value, json_type_string))
                fail_msg("no text %s in %s", path, json_object_to_json_string(o));
        return json_object_get_string(value);
}

static inline void expect_at(struct json_object *o, const char *path, const char *json) {
        struct json_object *value = member_of(o, path);

        if (!streq(json_object_to_json_string_ext(value,
                                                  JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
                   json))
                fail_msg("%s is not %s in %s", path, json, json_object_to_json_string(o));
}

/* Starts a server with more options than --project. */
static inline void client_start(const struct site *s, struct client *c, const char *const *options) {
        const char *const begin[] = {program(), "mcp", "--project", s->project, NULL};
        _cleanup_free_ const char **argv = words_of(begin, options);
        int ends[2];

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        *c = (struct client){.in = ends[1], .notices = json_object_new_array()};
        spawn(&(struct request){.argv = argv, .cwd = s->root, .standard_input = ends[0]}, &c->running);
        (void)close(ends[0]);
}

#define CAPABILITIES_NONE "{}"
/* Initialises: the answer, for the caller to put. */
static inline struct json_object *client_initialize(struct client *c, const char *version,
                                                    const char *capabilities) {
        _cleanup_free_ char *params = text_of("{\"protocolVersion\":\"%s\",\"capabilities\":%s,"
                                              "\"clientInfo\":{\"name\":\"test\",\"version\":\"1\"}}",
                                              version, capabilities);
        struct json_object *o = client_answer(c, client_request(c, "initialize", params));

        client_notify(c, "notifications/initialized", "{}");
        return o;
}

static inline void client_open_with(const struct site *s, struct client *c, const char *const *options) {
        client_start(s, c, options);
        (void)json_object_put(client_initialize(c, "2025-06-18", CAPABILITIES_NONE));
}
#define CLIENT_OPEN(site, client, ...)  client_open_with(site, client, OPTIONS(__VA_ARGS__))
#define CLIENT_OPEN_PLAIN(site, client) client_open_with(site, client, (const char *const[]){NULL})

/* Ends the input, and expects the server's good end with nothing more on its outputs than `rest`. */
static inline void client_end(struct client *c, const char *rest) {
        _cleanup_outcome_ struct outcome o = {0};

        (void)close(c->in);
        finish(&c->running, &o);
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        expect_out(&o, rest);
        (void)json_object_put(c->notices);
}

/* That of a test's last client. */
static inline void client_close(struct client *c, const char *rest) {
        client_end(c, rest);
        collect_orphans();
}

/* Calls a tool with arguments as JSON: the answer, for the caller to put. */
static inline unsigned client_begin(struct client *c, const char *tool, const char *arguments) {
        _cleanup_free_ char *params = text_of("{\"name\":\"%s\",\"arguments\":%s}", tool, arguments);

        return client_request(c, "tools/call", params);
}

static inline struct json_object *client_call(struct client *c, const char *tool, const char *arguments) {
        return client_answer(c, client_begin(c, tool, arguments));
}

/* What a command of one line printed that ended with 0. */
static inline void expect_output(struct json_object *o, const char *output) {
        const char *text = strchr(text_at(o, "result.content.0.text"), '\n');
        _cleanup_free_ char *all = text_of("\n%s\n\nexit status: 0", output);

        assert_non_null(text);
        assert_string_equal(text, all);
}

/* Calls a tool, and expects its text and whether that is an error. */
static inline void expect_call(struct client *c, const char *tool, const char *arguments, const char *text,
                               bool is_error) {
        struct json_object *o = client_call(c, tool, arguments);

        if (!streq(text_at(o, "result.content.0.text"), text))
                fail_msg("%s %s: not \"%s\" but \"%s\"", tool, arguments, text,
                         text_at(o, "result.content.0.text"));
        expect_at(o, "result.isError", is_error ? "true" : "false");
        (void)json_object_put(o);
}
