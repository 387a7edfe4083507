/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A Model Context Protocol server for one client: its session, its messages, its calls. */
#pragma once

#include "policy/policy.h"
#include "questions.h"
#include "terms.h"

/* Who decides about commits and discards. */
enum mcp_commits {
        MCP_COMMITS_NEVER,  /* the tools are not there */
        MCP_COMMITS_ASKED,  /* the client's user, by an elicitation */
        MCP_COMMITS_ALLOWED /* the model */
};

/* What the host chose.  Nothing that a client says changes it. */
struct mcp_settings {
        const struct nsrun_policy *policy; /* of the session to start, or with "session", of one to join */
        struct nsrun_session_options session;
        int timeout; /* the default for a bash command, in seconds */
        enum mcp_commits commits;
        bool asks_files;             /* --ask: what a command leaves behind ends with it; */
        bool is_http;                /* no client is asked: nobody knows who it is */
        struct questions *questions; /* that servers share; NULL: each has its own */
        int anew_fd; /* that servers share: an eventfd, counted up when a session took another's place; 0:
                        none */
};

enum {
        SUBSCRIPTIONS_MOST = 16 /* are open */
};

struct call;

struct mcp_server {
        const struct mcp_settings *settings;
        struct message_writer writer;
        struct line_reader reader;
        char *session;
        bool owns_session, has_overlays;
        const struct nsrun_policy *policy; /* of the commands: they join the session */
        struct nsrun_policy *own_policy;   /* that, where the session is the server's own; else NULL */
        struct nsrun_workspace *files;     /* what the session's commands see */
        char *bash_text, *bash_schema;     /* bash's description and its parameters, as JSON */
        struct mcp_terms terms;            /* of requests that have none of their own */
        bool client_has_roots;
        struct questions *questions;
        char *subscriptions[SUBSCRIPTIONS_MOST]; /* the requests' ids, as JSON */
        size_t n_subscriptions;
        int wake_fd;         /* an eventfd: a call has ended */
        atomic_bool is_deaf; /* the client's input has ended */

        pthread_mutex_t lock; /* of what follows */
        struct call *calls;   /* those that run or wait, the oldest first */
        size_t n_calls, n_bytes;
        unsigned long long n_asked; /* numbers the server's own requests */
};

/* Starts a session that ends with this process, and makes the policy of those that join it.  What was made
 * is the caller's, if it failed as well. */
int mcp_session_start(const struct mcp_settings *settings, char **ret_session,
                      struct nsrun_policy **ret_policy, struct nsrun_error *err);
/* Starts the session, serves one client until its input ends or a signal comes, and ends the session. */
int mcp_serve(const struct mcp_settings *settings, int input, int output, struct nsrun_error *err);

/* protocol.c: takes one line from the client. */
void mcp_take_line(struct mcp_server *s, const char *line, size_t n);
/* Refuses a line that is too long, of which this has come. */
void mcp_refuse_long(struct mcp_server *s, const char *line, size_t n);

/* Tells the client's log, if it wants to be told of that level. */
void mcp_log(struct mcp_server *s, const struct mcp_terms *terms, enum mcp_level level, const char *text);
