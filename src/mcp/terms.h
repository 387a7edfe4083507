/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* On what terms a request is answered: by which version of the protocol, and for a client that can do what.
 * Until 2025-11-25 a client says so once, in a handshake; since 2026-07-28 each request says it for itself,
 * and nothing is inferred from another. */
#pragma once

#include <stdatomic.h>

#include "message.h"

/* What differs between versions of the protocol. */
struct mcp_version {
        const char *name;
        bool is_stateless; /* each request has its own terms */
        bool has_batches;
        bool has_titles;
        bool has_messages; /* of progress */
        bool has_elicitation;
};

/* As in RFC 5424, from the least to the most important. */
enum mcp_level {
        MCP_DEBUG,
        MCP_INFO,
        MCP_NOTICE,
        MCP_WARNING,
        MCP_ERROR,
        MCP_CRITICAL,
        MCP_ALERT,
        MCP_EMERGENCY,
        N_MCP_LEVELS
};

struct mcp_terms {
        const struct mcp_version *version; /* NULL: not initialised */
        bool client_elicits;
        atomic_int level; /* the least important that the client wants to be told; N_MCP_LEVELS: nothing */
};

/* A request's answer, or why there is none: a code, words, and `data` as JSON or NULL. */
struct reply {
        char *result, *data;
        int code;
        const char *why;
};
void reply_clear(struct reply *r);
/* Returns the code. */
int reply_refuse(struct reply *r, int code, const char *why);

/* The names of levels, in their order. */
extern const char *const mcp_level_names[N_MCP_LEVELS];
/* -1: there is no such level. */
int mcp_level_find(const char *name);

/* Whether there is such a version, one that begins with a handshake. */
bool terms_have_handshake(const char *version);
/* Takes what a client wanted in its handshake, and can do. */
void terms_initialise(struct mcp_terms *t, const char *wanted, const struct json_value *capabilities);
/* Whether a request has terms of its own, or should. */
bool terms_are_own(const struct message *m);
/* Reads them.  0; or the code of a refusal. */
int terms_read(const struct message *m, struct mcp_terms *ret, struct reply *refusal);
/* The versions whose requests have terms of their own. */
void terms_add_versions(struct json_document *d, struct json_value *array);

/* How long a client may keep a list that is the same for as long as this server runs. */
void terms_add_caching(struct json_document *d);

/* A response with a result, which is an object as JSON; NULL for want of memory. */
char *terms_response(const struct mcp_terms *t, const char *id, const char *result, bool asks_for_input);
