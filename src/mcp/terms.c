/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The versions of the protocol, and what wraps a request and its answer in each. */
#include "terms.h"

#include "base/str.h"

#define META "io.modelcontextprotocol/"

/* The newest first, those with a handshake after those without. */
static const struct mcp_version versions[] = {
        {"2026-07-28", true, false, true, true, true},     {"2025-11-25", false, false, true, true, true},
        {"2025-06-18", false, false, true, true, true},    {"2025-03-26", false, true, false, true, false},
        {"2024-11-05", false, false, false, false, false},
};

const char *const mcp_level_names[N_MCP_LEVELS] = {"debug", "info",     "notice", "warning",
                                                   "error", "critical", "alert",  "emergency"};

void reply_clear(struct reply *r) {
        free(r->result);
        free(r->data);
        *r = (struct reply){.code = 0};
}

int reply_refuse(struct reply *r, int code, const char *why) {
        r->code = code;
        r->why = why;
        return code;
}

int mcp_level_find(const char *name) {
        for (int i = 0; name && i < N_MCP_LEVELS; i++)
                if (streq(mcp_level_names[i], name))
                        return i;
        return -1;
}

/* A client that says of URLs alone that it can ask can't show a form. */
static void take_capabilities(struct mcp_terms *t, const struct json_value *capabilities) {
        const struct json_value *elicitation = json_get(capabilities, "elicitation");

        t->client_elicits = t->version->has_elicitation && json_kind(elicitation) == JSON_OBJECT &&
                            (json_has(elicitation, "form") || !json_has(elicitation, "url"));
}

void terms_initialise(struct mcp_terms *t, const char *wanted, const struct json_value *capabilities) {
        t->version = NULL;
        for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
                if (!versions[i].is_stateless && (!t->version || streq(versions[i].name, wanted)))
                        t->version = &versions[i];
        take_capabilities(t, capabilities);
}

bool terms_have_handshake(const char *version) {
        for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
                if (streq(versions[i].name, version))
                        return !versions[i].is_stateless;
        return false;
}

bool terms_are_own(const struct message *m) {
        const struct json_value *meta = json_get(m->params, "_meta");

        return json_has(meta, META "protocolVersion") || json_has(meta, META "clientCapabilities") ||
               streq(m->method, "server/discover");
}

void terms_add_versions(struct json_document *d, struct json_value *array) {
        for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
                if (versions[i].is_stateless)
                        json_add_string(d, array, NULL, versions[i].name);
}

static int refuse_version(const char *wanted, struct reply *refusal) {
        _cleanup_json_ struct json_document d = json_begin();

        terms_add_versions(&d, json_add_array(&d, d.root, "supported"));
        json_add_string(&d, d.root, "requested", wanted);
        refusal->data = json_line(&d);
        return reply_refuse(refusal, MESSAGE_NO_VERSION, "requests of this version are not served");
}

int terms_read(const struct message *m, struct mcp_terms *ret, struct reply *refusal) {
        const struct json_value *meta = json_get(m->params, "_meta"),
                                *capabilities = json_get(meta, META "clientCapabilities");
        const char *wanted = json_text(json_get(meta, META "protocolVersion"));
        int level = N_MCP_LEVELS;

        if (!wanted)
                return reply_refuse(refusal, MESSAGE_BAD_PARAMS,
                                    "_meta: " META "protocolVersion is missing, or no text");
        ret->version = NULL;
        for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
                if (versions[i].is_stateless && streq(versions[i].name, wanted))
                        ret->version = &versions[i];
        if (!ret->version)
                return refuse_version(wanted, refusal);
        if (json_kind(capabilities) != JSON_OBJECT)
                return reply_refuse(refusal, MESSAGE_BAD_PARAMS,
                                    "_meta: " META "clientCapabilities is missing, or no object");
        if (json_has(meta, META "logLevel"))
                level = mcp_level_find(json_text(json_get(meta, META "logLevel")));
        if (level < 0)
                return reply_refuse(refusal, MESSAGE_BAD_PARAMS, "_meta: there is no such level");
        ret->level = level;
        take_capabilities(ret, capabilities);
        return 0;
}

void terms_add_caching(struct json_document *d) {
        json_add_number(d, d->root, "ttlMs", 60000);
        json_add_string(d, d->root, "cacheScope", "private");
}

char *terms_response(const struct mcp_terms *t, const char *id, const char *result, bool asks_for_input) {
        _cleanup_strbuf_ struct strbuf b = {0};

        if (!t->version->is_stateless)
                return message_result(id, result);
        strbuf_addf(&b,
                    "{\"resultType\":\"%s\",\"_meta\":{\"" META
                    "serverInfo\":{\"name\":\"nsrun\",\"version\":\"%s\"}},%s",
                    asks_for_input ? "input_required" : "complete", nsrun_version(), result + 1);
        return b.has_failed ? NULL : message_result(id, b.text);
}
