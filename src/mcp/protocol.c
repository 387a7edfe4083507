/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The protocol: which message is answered how, and what depends on its version. */
#include "call.h"
#include "roots.h"
#include "tool.h"

/* The newest first. */
static const struct mcp_version versions[] = {
        {"2025-11-25", false, true, true, true},
        {"2025-06-18", false, true, true, true},
        {"2025-03-26", true, false, true, false},
        {"2024-11-05", false, false, false, false},
};

static const char *const level_names[N_MCP_LEVELS] = {"debug", "info",     "notice", "warning",
                                                      "error", "critical", "alert",  "emergency"};

/* A request's answer, or why there is none: a code, and words. */
struct reply {
        char *result;
        int code;
        const char *why;
};

static int refuse_method(struct reply *ret, int code, const char *why) {
        ret->code = code;
        ret->why = why;
        return code;
}

static void respond(struct mcp_server *s, struct batch *batch, const char *text) {
        if (batch)
                batch_add(s, batch, text);
        else
                writer_send(&s->writer, text);
}

static void respond_error(struct mcp_server *s, struct batch *batch, const char *id, int code,
                          const char *why) {
        _cleanup_free_ char *text = message_error(id, code, why);

        respond(s, batch, text);
}

/* Refuses a line, of which this could be read.  The error goes to whom it names: to the request, or to each
 * of a batch; a response is nobody's request. */
static void refuse_line(struct mcp_server *s, const struct json_value *read, int code, const char *why) {
        bool is_batch = json_kind(read) == JSON_ARRAY, is_answered = false;
        size_t n = is_batch ? json_length(read) : 1;

        for (size_t i = 0; i < n; i++) {
                const struct json_value *value = is_batch ? json_at(read, i) : read;
                bool is_response = json_has(value, "result") || json_has(value, "error");
                _cleanup_free_ char *id = is_response ? NULL : message_id(value);

                if (!id)
                        continue;
                respond_error(s, NULL, id, code, why);
                is_answered = true;
        }
        if (!is_answered)
                respond_error(s, NULL, NULL, code, why);
}

void mcp_refuse_long(struct mcp_server *s, const char *line, size_t n) {
        _cleanup_json_ struct json_document d = {0};
        struct json_trouble trouble;

        (void)json_read(&d, line, n, JSON_REPAIRED, &trouble);
        refuse_line(s, d.root, MESSAGE_BAD_REQUEST, "the line is longer than 4 MiB");
}

void mcp_log(struct mcp_server *s, enum mcp_level level, const char *text) {
        _cleanup_json_ struct json_document d = json_begin();
        _cleanup_free_ char *params = NULL, *message = NULL;

        if ((int)level < s->level || !s->version)
                return;
        json_add_string(&d, d.root, "level", level_names[level]);
        json_add_string(&d, d.root, "logger", "nsrun");
        json_add_string(&d, d.root, "data", text);
        if ((params = json_line(&d)) && (message = message_request(NULL, "notifications/message", params)))
                writer_send(&s->writer, message);
}

/* ------------------------------------------------------------------ initialisation */

static const char instructions[] =
        "Commands (bash) and file tools work in one sandbox and see the same files at the same paths. What "
        "the sandbox hasn't got can't be reached by another tool of this server either. Shell state doesn't "
        "last from one command to the next; files, /tmp and background processes do, until the client "
        "ends.";

static char *describe_server(const struct mcp_server *s) {
        _cleanup_json_ struct json_document d = json_begin();
        struct json_value *o, *tools_can;

        json_add_string(&d, d.root, "protocolVersion", s->version->name);
        o = json_add_object(&d, d.root, "capabilities");
        tools_can = json_add_object(&d, o, "tools");
        json_add_bool(&d, tools_can, "listChanged", false);
        (void)json_add_object(&d, o, "logging");
        o = json_add_object(&d, d.root, "serverInfo");
        json_add_string(&d, o, "name", "nsrun");
        if (s->version->has_titles)
                json_add_string(&d, o, "title", "nsrun: commands and files in a sandbox");
        json_add_string(&d, o, "version", nsrun_version());
        json_add_string(&d, d.root, "instructions", instructions);
        return json_line(&d);
}

static int take_initialize(struct mcp_server *s, const struct message *m, struct reply *ret) {
        const char *wanted = json_text(json_get(m->params, "protocolVersion"));
        const struct json_value *client = json_get(m->params, "capabilities"), *elicitation;

        if (s->version)
                return refuse_method(ret, MESSAGE_BAD_REQUEST, "the client is initialised already");
        if (!wanted)
                return refuse_method(ret, MESSAGE_BAD_PARAMS, "protocolVersion is no text");
        if (json_kind(client) != JSON_OBJECT)
                return refuse_method(ret, MESSAGE_BAD_PARAMS, "capabilities is no object");
        s->version = &versions[0];
        for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
                if (streq(versions[i].name, wanted))
                        s->version = &versions[i];
        elicitation = json_get(client, "elicitation");
        /* A client that says of URLs alone that it can ask can't show a form. */
        s->client_elicits = s->version->has_elicitation && json_kind(elicitation) == JSON_OBJECT &&
                            (json_has(elicitation, "form") || !json_has(elicitation, "url"));
        s->client_has_roots = json_kind(json_get(client, "roots")) == JSON_OBJECT;
        ret->result = describe_server(s);
        return 0;
}

/* -------------------------------------------------------------------- requests */

static int take_ping(nsrun_unused struct mcp_server *s, nsrun_unused const struct message *m,
                     struct reply *ret) {
        ret->result = strdup("{}");
        return 0;
}

static int take_level(struct mcp_server *s, const struct message *m, struct reply *ret) {
        const char *name = json_text(json_get(m->params, "level"));

        for (int i = 0; name && i < N_MCP_LEVELS; i++)
                if (streq(level_names[i], name)) {
                        s->level = i;
                        ret->result = strdup("{}");
                        return 0;
                }
        return refuse_method(ret, MESSAGE_BAD_PARAMS, "there is no such level");
}

static int take_list(struct mcp_server *s, const struct message *m, struct reply *ret) {
        if (json_has(m->params, "cursor"))
                return refuse_method(ret, MESSAGE_BAD_PARAMS, "the list has one page: no cursor is known");
        ret->result = tools_list(s);
        return 0;
}

static const struct {
        const char *method;
        int (*take)(struct mcp_server *s, const struct message *m, struct reply *ret);
} requests[] = {
        {"ping", take_ping},
        {"initialize", take_initialize},
        {"logging/setLevel", take_level},
        {"tools/list", take_list},
};

/* Its answer comes later. */
static int take_call(struct mcp_server *s, const struct message *m, struct batch *batch, struct reply *ret) {
        const char *name = json_text(json_get(m->params, "name"));
        const struct json_value *arguments = json_get(m->params, "arguments");
        const struct tool *tool = name ? tool_find(s, name) : NULL;
        int r;

        if (!tool)
                return refuse_method(ret, MESSAGE_BAD_PARAMS,
                                     name ? "there is no such tool" : "the tool's name is no text");
        if (json_has(m->params, "arguments") && json_kind(arguments) != JSON_OBJECT)
                return refuse_method(ret, MESSAGE_BAD_PARAMS, "the arguments are no object");
        r = call_begin(s, tool, m, arguments, batch, &ret->why);
        ret->code = r;
        return r;
}

static void take_request(struct mcp_server *s, const struct message *m, struct batch *batch) {
        bool is_first = streq(m->method, "initialize") || streq(m->method, "ping");
        struct reply reply = {.why = NULL};
        _cleanup_free_ char *text = NULL;
        int r;

        if (!s->version && !is_first)
                r = refuse_method(&reply, MESSAGE_BAD_REQUEST, "the first request is initialize");
        else if (batch && streq(m->method, "initialize"))
                r = refuse_method(&reply, MESSAGE_BAD_REQUEST, "initialize can't be in a batch");
        else if (calls_have(s, m->id))
                r = refuse_method(&reply, MESSAGE_BAD_REQUEST, "a request of this id has no answer yet");
        else
                r = refuse_method(&reply, MESSAGE_NO_METHOD, "there is no such method");
        if (r == MESSAGE_NO_METHOD && streq(m->method, "tools/call")) {
                r = take_call(s, m, batch, &reply);
                if (r == 0)
                        return;
        }
        for (size_t i = 0; i < ARRAY_SIZE(requests) && r == MESSAGE_NO_METHOD; i++)
                if (streq(requests[i].method, m->method)) {
                        r = requests[i].take(s, m, &reply);
                        break;
                }
        if (r == 0)
                text = reply.result ? message_result(m->id, reply.result)
                                    : message_error(m->id, MESSAGE_FAILED, "out of memory");
        else
                text = message_error(m->id, reply.code, reply.why);
        free(reply.result);
        respond(s, batch, text);
}

/* ---------------------------------------------------------------- notifications */

static void take_notification(struct mcp_server *s, const struct message *m) {
        _cleanup_free_ char *id = NULL;

        if (!s->version)
                return;
        if (streq(m->method, "notifications/cancelled")) {
                const struct json_value *request = json_get(m->params, "requestId");

                id = request ? json_spell(request) : NULL;
                if (id)
                        calls_cancel(s, id);
        } else if (s->client_has_roots && (streq(m->method, "notifications/initialized") ||
                                           streq(m->method, "notifications/roots/list_changed"))) {
                roots_ask(s);
        }
}

/* ------------------------------------------------------------------------ lines */

static void take_message(struct mcp_server *s, const struct json_value *value, struct batch *batch) {
        struct message m = {.id = NULL};
        const char *why = NULL;
        int r = message_read(value, &m, &why);

        if (batch && (r < 0 || m.kind == MESSAGE_REQUEST)) {
                (void)pthread_mutex_lock(&s->lock);
                batch->n_missing++;
                (void)pthread_mutex_unlock(&s->lock);
        }
        if (r < 0)
                respond_error(s, batch, m.id, r, why);
        else if (m.kind == MESSAGE_REQUEST)
                take_request(s, &m, batch);
        else if (m.kind == MESSAGE_NOTIFICATION)
                take_notification(s, &m);
        else if (!roots_take(s, &m))
                calls_take_response(s, &m);
        message_clear(&m);
}

static void take_batch(struct mcp_server *s, const struct json_value *array) {
        struct batch *batch = calloc(1, sizeof(*batch));

        if (batch)
                batch->texts = calloc(1, sizeof(*batch->texts));
        if (!batch || !batch->texts) {
                free(batch);
                refuse_line(s, array, MESSAGE_FAILED, "out of memory");
                return;
        }
        batch->n_missing = 1; /* this function */
        for (size_t i = 0; i < json_length(array); i++)
                take_message(s, json_at(array, i), batch);
        batch_add(s, batch, NULL);
}

void mcp_take_line(struct mcp_server *s, const char *line, size_t n) {
        _cleanup_json_ struct json_document d = {0};
        struct json_trouble trouble;
        size_t blank = 0;
        int r;

        while (blank < n && (line[blank] == ' ' || line[blank] == '\t' || line[blank] == '\r'))
                blank++;
        if (blank == n)
                return;
        r = json_read(&d, line, n, JSON_REPAIRED, &trouble);
        if (r == -EINVAL) {
                char text[128];

                (void)snprintf(text, sizeof(text), "no JSON: %s, at byte %zu", trouble.why, trouble.at);
                refuse_line(s, d.root, MESSAGE_NO_JSON, text);
        } else if (r < 0) {
                refuse_line(s, NULL, MESSAGE_FAILED, "out of memory");
        } else if (json_kind(d.root) != JSON_ARRAY) {
                take_message(s, d.root, NULL);
        } else if (!s->version || !s->version->has_batches) {
                refuse_line(s, d.root, MESSAGE_BAD_REQUEST, "this version of the protocol has no batches");
        } else if (json_length(d.root) == 0) {
                refuse_line(s, NULL, MESSAGE_BAD_REQUEST, "the batch is empty");
        } else {
                take_batch(s, d.root);
        }
}
