/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The protocol: which message is answered how. */
#include "base/path.h"
#include "subscription.h"
#include "tool.h"

/* ------------------------------------------------ the client's roots */

/* The folders that a client says it works in.  They change nothing of what the sandbox has, which is the
 * host's to say: the client's log is told of those that the sandbox hasn't got. */

#define ROOTS_ID "\"nsrun-roots\""

enum {
        ROOTS_MOST = 64 /* are looked at */
};

/* Asks the client for its roots. */
static void roots_ask(struct mcp_server *s) {
        _cleanup_free_ char *text = message_request(ROOTS_ID, "roots/list", "{}");

        writer_send(&s->writer, text);
}

/* The path of a file: URI; NULL: it is none. */
static char *path_of_uri(const char *uri) {
        const char *from = uri ? startswith(uri, "file://") : NULL;
        char *path, *to;

        if (from && startswith(from, "localhost/"))
                from += strlen("localhost");
        if (!from || *from != '/')
                return NULL;
        path = to = strdup(from);
        if (!path)
                return NULL;
        for (; *from; from++) {
                if (*from == '%' && str_hex_digit(from[1]) >= 0 && str_hex_digit(from[2]) >= 0) {
                        *to++ = (char)(str_hex_digit(from[1]) << 4 | str_hex_digit(from[2]));
                        from += 2;
                } else {
                        *to++ = *from;
                }
        }
        *to = '\0';
        return path;
}

/* Whether the sandbox has the path. */
static bool sandbox_has(const struct mcp_server *s, const char *path) {
        struct stat st;

        return nsrun_workspace_stat(s->files, path, 1, &st, NULL) >= 0;
}

static void tell_missing(struct mcp_server *s, const char *path) {
        _cleanup_free_ char *visible = str_visible(path), *text = NULL;

        if (visible)
                text = str_format("the sandbox hasn't got the client's root %s: start nsrun mcp there, or "
                                  "with --project or --rw",
                                  visible);
        if (text)
                mcp_log(s, &s->terms, MCP_WARNING, text);
}

/* Takes the answer.  False: the response is another's. */
static bool roots_take(struct mcp_server *s, const struct message *m) {
        const struct json_value *list;

        if (!streq(m->id, ROOTS_ID))
                return false;
        list = json_get(m->result, "roots");
        for (size_t i = 0; i < json_length(list) && i < ROOTS_MOST; i++) {
                _cleanup_free_ char *path = path_of_uri(json_text(json_get(json_at(list, i), "uri")));

                if (path && !sandbox_has(s, path))
                        tell_missing(s, path);
        }
        return true;
}

static void respond(struct mcp_server *s, struct batch *batch, const char *text) {
        if (batch)
                batch_add(s, batch, text);
        else
                writer_send(&s->writer, text);
}

static void respond_error(struct mcp_server *s, struct batch *batch, const char *id, int code,
                          const char *why) {
        _cleanup_free_ char *text = message_error(id, code, why, NULL);

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

void mcp_log(struct mcp_server *s, const struct mcp_terms *terms, enum mcp_level level, const char *text) {
        _cleanup_json_ struct json_document d = json_begin();
        _cleanup_free_ char *params = NULL, *message = NULL;

        if ((int)level < terms->level || !terms->version)
                return;
        json_add_string(&d, d.root, "level", mcp_level_names[level]);
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

static void describe_server(struct json_document *d) {
        struct json_value *o = json_add_object(d, d->root, "capabilities");

        json_add_bool(d, json_add_object(d, o, "tools"), "listChanged", false);
        (void)json_add_object(d, o, "logging");
        json_add_string(d, d->root, "instructions", instructions);
}

static int take_initialize(struct mcp_server *s, nsrun_unused const struct mcp_terms *terms,
                           const struct message *m, struct reply *ret) {
        const char *wanted = json_text(json_get(m->params, "protocolVersion"));
        const struct json_value *client = json_get(m->params, "capabilities");
        _cleanup_json_ struct json_document d = json_begin();
        struct json_value *o;

        if (s->terms.version)
                return reply_refuse(ret, MESSAGE_BAD_REQUEST, "the client is initialised already");
        if (!wanted)
                return reply_refuse(ret, MESSAGE_BAD_PARAMS, "protocolVersion is no text");
        if (json_kind(client) != JSON_OBJECT)
                return reply_refuse(ret, MESSAGE_BAD_PARAMS, "capabilities is no object");
        terms_initialise(&s->terms, wanted, client);
        s->client_has_roots = json_kind(json_get(client, "roots")) == JSON_OBJECT;
        json_add_string(&d, d.root, "protocolVersion", s->terms.version->name);
        describe_server(&d);
        o = json_add_object(&d, d.root, "serverInfo");
        json_add_string(&d, o, "name", "nsrun");
        if (s->terms.version->has_titles)
                json_add_string(&d, o, "title", "nsrun: commands and files in a sandbox");
        json_add_string(&d, o, "version", nsrun_version());
        ret->result = json_line(&d);
        return 0;
}

static int take_discover(nsrun_unused struct mcp_server *s, nsrun_unused const struct mcp_terms *terms,
                         nsrun_unused const struct message *m, struct reply *ret) {
        _cleanup_json_ struct json_document d = json_begin();

        terms_add_versions(&d, json_add_array(&d, d.root, "supportedVersions"));
        describe_server(&d);
        terms_add_caching(&d);
        ret->result = json_line(&d);
        return 0;
}

/* -------------------------------------------------------------------- requests */

static int take_ping(nsrun_unused struct mcp_server *s, nsrun_unused const struct mcp_terms *terms,
                     nsrun_unused const struct message *m, struct reply *ret) {
        ret->result = strdup("{}");
        return 0;
}

static int take_level(struct mcp_server *s, nsrun_unused const struct mcp_terms *terms,
                      const struct message *m, struct reply *ret) {
        int level = mcp_level_find(json_text(json_get(m->params, "level")));

        if (level < 0)
                return reply_refuse(ret, MESSAGE_BAD_PARAMS, "there is no such level");
        s->terms.level = level;
        ret->result = strdup("{}");
        return 0;
}

static int take_list(struct mcp_server *s, const struct mcp_terms *terms, const struct message *m,
                     struct reply *ret) {
        if (json_has(m->params, "cursor"))
                return reply_refuse(ret, MESSAGE_BAD_PARAMS, "the list has one page: no cursor is known");
        ret->result = tools_list(s, terms);
        return 0;
}

static const struct {
        const char *method;
        bool has_handshake, is_stateless; /* which versions have it */
        int (*take)(struct mcp_server *s, const struct mcp_terms *terms, const struct message *m,
                    struct reply *ret);
} requests[] = {
        {"ping", true, false, take_ping},
        {"initialize", true, false, take_initialize},
        {"logging/setLevel", true, false, take_level},
        {"server/discover", false, true, take_discover},
        {"tools/list", true, true, take_list},
};

/* Its answer comes later. */
static int take_call(struct mcp_server *s, const struct mcp_terms *terms, const struct message *m,
                     struct batch *batch, struct reply *ret) {
        const char *name = json_text(json_get(m->params, "name"));
        const struct tool *tool = name ? tool_find(s, terms, name) : NULL;

        if (!tool)
                return reply_refuse(ret, MESSAGE_BAD_PARAMS,
                                    name ? "there is no such tool" : "the tool's name is no text");
        if (tool_lacks_elicitation(s, terms, tool)) {
                ret->data = strdup("{\"requiredCapabilities\":{\"elicitation\":{\"form\":{}}}}");
                return reply_refuse(ret, MESSAGE_NO_CAPABILITY, "the client can't ask its user");
        }
        if (json_has(m->params, "arguments") && json_kind(json_get(m->params, "arguments")) != JSON_OBJECT)
                return reply_refuse(ret, MESSAGE_BAD_PARAMS, "the arguments are no object");
        return call_begin(s, terms, tool, m, batch, ret);
}

/* Answers a request whose terms are good: 0, with a result unless that comes later. */
static int answer_request(struct mcp_server *s, const struct mcp_terms *terms, const struct message *m,
                          struct batch *batch, struct reply *ret) {
        bool is_stateless = terms->version && terms->version->is_stateless;

        if (calls_have(s, m->id) || subscriptions_have(s, m->id))
                return reply_refuse(ret, MESSAGE_BAD_REQUEST, "a request of this id has no answer yet");
        if (streq(m->method, "tools/call"))
                return take_call(s, terms, m, batch, ret);
        if (is_stateless && streq(m->method, "subscriptions/listen"))
                return subscription_begin(s, m, ret);
        for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
                if ((is_stateless ? requests[i].is_stateless : requests[i].has_handshake) &&
                    streq(requests[i].method, m->method)) {
                        int r = requests[i].take(s, terms, m, ret);

                        return r < 0 || ret->result ? r : reply_refuse(ret, MESSAGE_FAILED, "out of memory");
                }
        return reply_refuse(ret, MESSAGE_NO_METHOD, "there is no such method");
}

static void take_request(struct mcp_server *s, const struct message *m, struct batch *batch) {
        bool needs_none = streq(m->method, "initialize") || streq(m->method, "ping");
        const struct mcp_terms *terms = &s->terms;
        struct reply reply = {.why = NULL};
        _cleanup_free_ char *text = NULL;
        struct mcp_terms own = {.version = NULL};
        int r = 0;

        if (terms_are_own(m)) {
                terms = &own;
                r = terms_read(m, &own, &reply);
        } else if (!s->terms.version && !needs_none) {
                r = reply_refuse(&reply, MESSAGE_BAD_PARAMS,
                                 "_meta has no io.modelcontextprotocol/protocolVersion, and no initialize "
                                 "came before");
        } else if (batch && streq(m->method, "initialize")) {
                r = reply_refuse(&reply, MESSAGE_BAD_REQUEST, "initialize can't be in a batch");
        }
        if (r == 0)
                r = answer_request(s, terms, m, batch, &reply);
        if (r < 0)
                text = message_error(m->id, reply.code, reply.why, reply.data);
        else if (reply.result)
                text = terms->version ? terms_response(terms, m->id, reply.result, false)
                                      : message_result(m->id, reply.result);
        if (r < 0 || reply.result)
                respond(s, batch, text);
        reply_clear(&reply);
}

/* ---------------------------------------------------------------- notifications */

static void take_notification(struct mcp_server *s, const struct message *m) {
        _cleanup_free_ char *id = NULL;

        if (streq(m->method, "notifications/cancelled")) {
                const struct json_value *request = json_get(m->params, "requestId");

                id = request ? json_spell(request) : NULL;
                if (id) {
                        calls_cancel(s, id);
                        subscriptions_cancel(s, id);
                }
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
        } else if (!s->terms.version || !s->terms.version->has_batches) {
                refuse_line(s, d.root, MESSAGE_BAD_REQUEST, "this version of the protocol has no batches");
        } else if (json_length(d.root) == 0) {
                refuse_line(s, NULL, MESSAGE_BAD_REQUEST, "the batch is empty");
        } else {
                take_batch(s, d.root);
        }
}
