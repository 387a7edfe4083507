/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls of tools: each in a thread of its own, so that the client is heard meanwhile. */
#pragma once

#include "server.h"

/* Where calls wait for one another: commands run side by side, file tools one after the other. */
enum call_lane {
        LANE_COMMANDS,
        LANE_FILES,
        N_LANES
};

enum {
        CALLS_COMMANDS_MOST = 8,             /* commands that run at once */
        CALLS_MOST = 1024,                   /* calls that run or wait */
        CALLS_BYTES_MOST = 16 * 1024 * 1024, /* of their arguments */
};

struct tool;

/* The responses of a batch, which are sent together. */
struct batch {
        size_t n_missing;
        struct strbuf *texts;
};

struct call {
        struct call *next;
        struct mcp_server *server;
        const struct tool *tool;
        char *id;
        const struct mcp_terms *terms; /* its own, or the server's */
        struct mcp_terms own_terms;
        bool is_retry;                    /* of a call whose result was a question */
        bool asks_for_input;              /* its result is a question */
        unsigned char asked[SHA256_SIZE]; /* a retry's question */
        char *input;                      /* a retry's answers, as JSON; NULL: none */
        struct batch *batch;
        struct json_document arguments;
        size_t n_bytes;
        char *progress_token; /* as JSON; NULL: none */
        int cancel_fd;        /* an eventfd: the call is to end */
        pthread_t thread;
        bool is_running;
        atomic_bool is_cancelled, has_ended;

        pthread_mutex_t lock; /* of what follows */
        pthread_cond_t changed;
        bool is_answered;
        uint64_t begun_ms;
        unsigned timeout; /* seconds; 0: none */
        uint64_t told_s;  /* the second of the last progress notification */
        char last[160];   /* the last line of output, or what there is of it */
        size_t n_last;
        bool last_has_ended;
        char *question; /* the id of an own request whose answer is waited for; NULL: none */
        char *reply;    /* its result as JSON; NULL: an error, or none yet */
        bool has_reply;
};

/* Takes a call: starts it, or has it wait for its turn.  0; or the code of a refusal. */
int call_begin(struct mcp_server *s, const struct mcp_terms *terms, const struct tool *tool,
               const struct message *m, struct batch *batch, struct reply *refusal);
/* Ends the call of a request that the client cancels; its answer is not sent. */
void calls_cancel(struct mcp_server *s, const char *id);
/* Whether a request of that id is being answered. */
bool calls_have(struct mcp_server *s, const char *id);
/* Frees calls that have ended, and starts those whose turn it is. */
void calls_go_on(struct mcp_server *s);
/* Tells the client of those that want it how far they are.  True: there are such. */
bool calls_tell_progress(struct mcp_server *s);
/* Hands a response to the call that waits for it. */
void calls_take_response(struct mcp_server *s, const struct message *m);
/* The client's input has ended: nobody waits for its responses any more. */
void calls_hear_no_more(struct mcp_server *s);
/* Ends all calls, and waits for their end. */
void calls_end(struct mcp_server *s);
bool calls_are_none(struct mcp_server *s);

struct run;
/* For a tool, in its thread: asks the client's user (elicitation/create), and waits; where there is a run
 * until that time (of sys_now_ms()), and while run_waits_for_file().  *ret is the result as
 * JSON, for the caller to free.  -ECANCELED: the call was cancelled, or the client has gone; -EPROTO: the
 * client refused to ask; -ETIMEDOUT. */
int call_ask(struct call *c, const char *params, uint64_t until_ms, struct run *run, char **ret);
/* Notes output, for progress messages. */
void call_note_output(struct call *c, const char *bytes, size_t n);

void batch_add(struct mcp_server *s, struct batch *b, const char *text);
