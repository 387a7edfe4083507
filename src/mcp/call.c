/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls of tools: their threads, their turns, their cancelling, their progress. */
#include "call.h"

#include "agent/command.h"
#include "base/sys.h"
#include "tool.h"

#define STACK ((size_t)1024 * 1024) /* musl gives a thread far less */

static void wake(int fd) {
        static const uint64_t one = 1;

        (void)sys_write(fd, &one, sizeof(one));
}

static void call_free(struct call *c) {
        free(c->id);
        free(c->progress_token);
        free(c->question);
        free(c->reply);
        free(c->input);
        json_close(&c->arguments);
        close_fdp(&c->cancel_fd);
        (void)pthread_mutex_destroy(&c->lock);
        (void)pthread_cond_destroy(&c->changed);
        free(c);
}

void batch_add(struct mcp_server *s, struct batch *b, const char *text) {
        bool is_whole;

        (void)pthread_mutex_lock(&s->lock);
        if (text) {
                strbuf_add(b->texts, b->texts->length == 0 ? "[" : ",");
                strbuf_add(b->texts, text);
        }
        is_whole = --b->n_missing == 0;
        (void)pthread_mutex_unlock(&s->lock);
        if (!is_whole)
                return;
        if (b->texts->length > 0) {
                strbuf_add(b->texts, "]");
                writer_send(&s->writer, b->texts->has_failed ? NULL : b->texts->text);
        }
        strbuf_clear(b->texts);
        free(b->texts);
        free(b);
}

/* Sends a call's answer, unless it was cancelled: MCP has none then. */
static void call_answer(struct call *c, const char *result) {
        _cleanup_free_ char *text = NULL;

        if (!c->is_cancelled)
                text = result ? terms_response(c->terms, c->id, result, c->asks_for_input)
                              : message_error(c->id, MESSAGE_FAILED, "out of memory", NULL);
        (void)pthread_mutex_lock(&c->lock);
        c->is_answered = true;
        (void)pthread_mutex_unlock(&c->lock);
        if (c->batch)
                batch_add(c->server, TAKE_PTR(c->batch), text);
        else
                writer_send(&c->server->writer, text);
}

static void *call_thread(void *data) {
        struct call *c = data;
        _cleanup_free_ char *result = NULL;

        /* A thread's capabilities are its own.  A root's file tools reach what a command's rights reach,
         * which has none, and no more. */
        if (c->tool->lane != LANE_FILES || sys_capset(0, 0) >= 0)
                result = tool_answer(c);
        call_answer(c, result);
        c->has_ended = true;
        wake(c->server->wake_fd);
        return NULL;
}

static int call_start(struct call *c) {
        pthread_attr_t attributes;
        int r;

        if (pthread_attr_init(&attributes) != 0)
                return -ENOMEM;
        (void)pthread_attr_setstacksize(&attributes, STACK);
        c->begun_ms = sys_now_ms();
        r = pthread_create(&c->thread, &attributes, call_thread, c);
        (void)pthread_attr_destroy(&attributes);
        c->is_running = r == 0;
        return -r;
}

/* Frees what has ended.  The main thread alone adds calls and takes them away. */
static void calls_reap(struct mcp_server *s) {
        for (struct call **at = &s->calls; *at;) {
                struct call *c = *at;

                if (!c->has_ended) {
                        at = &c->next;
                        continue;
                }
                if (c->is_running)
                        (void)pthread_join(c->thread, NULL);
                (void)pthread_mutex_lock(&s->lock);
                *at = c->next;
                s->n_calls--;
                s->n_bytes -= c->n_bytes;
                (void)pthread_mutex_unlock(&s->lock);
                call_free(c);
        }
}

void calls_go_on(struct mcp_server *s) {
        static const size_t most[N_LANES] = {[LANE_COMMANDS] = CALLS_COMMANDS_MOST, [LANE_FILES] = 1};
        size_t n[N_LANES] = {0};

        calls_reap(s);
        for (const struct call *c = s->calls; c; c = c->next)
                n[c->tool->lane] += c->is_running;
        for (struct call *c = s->calls; c; c = c->next) {
                if (c->is_running || c->has_ended || n[c->tool->lane] >= most[c->tool->lane])
                        continue;
                if (call_start(c) < 0) {
                        /* It is tried again when another call has ended; there may be none. */
                        call_answer(c, NULL);
                        c->has_ended = true;
                        wake(s->wake_fd);
                } else {
                        n[c->tool->lane]++;
                }
        }
}

bool calls_have(struct mcp_server *s, const char *id) {
        for (const struct call *c = s->calls; c; c = c->next)
                if (!c->has_ended && streq(c->id, id))
                        return true;
        return false;
}

bool calls_are_none(struct mcp_server *s) {
        return !s->calls;
}

static char *find_progress_token(const struct message *m) {
        const struct json_value *token = json_get(json_get(m->params, "_meta"), "progressToken");

        return json_kind(token) == JSON_STRING || json_kind(token) == JSON_NUMBER ? json_spell(token) : NULL;
}

static int call_new(const struct message *m, struct call **ret) {
        const struct json_value *arguments = json_get(m->params, "arguments"),
                                *input = json_get(m->params, "inputResponses");
        struct call *c = calloc(1, sizeof(*c));
        _cleanup_free_ char *text = arguments ? json_spell(arguments) : strdup("{}");
        pthread_condattr_t attributes;

        if (!c)
                return -ENOMEM;
        (void)pthread_mutex_init(&c->lock, NULL);
        if (pthread_condattr_init(&attributes) != 0) {
                free(c);
                return -ENOMEM;
        }
        (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        (void)pthread_cond_init(&c->changed, &attributes);
        (void)pthread_condattr_destroy(&attributes);
        c->cancel_fd = sys_eventfd();
        c->id = strdup(m->id);
        c->progress_token = find_progress_token(m);
        c->input = input ? json_spell(input) : NULL;
        if (!text || !c->id || c->cancel_fd < 0 ||
            json_parse(&c->arguments, text, strlen(text), NULL, NULL) < 0) {
                call_free(c);
                return -ENOMEM;
        }
        c->n_bytes = strlen(text);
        *ret = c;
        return 0;
}

/* A retry has the state of a question that waits for its answer, and takes it. */
static bool take_state(struct call *c, const struct message *m) {
        c->is_retry = c->terms->version->is_stateless && json_has(m->params, "requestState");
        return !c->is_retry || (c->tool->is_of_commits &&
                                questions_take(c->server->questions,
                                               json_text(json_get(m->params, "requestState")), c->asked));
}

static void take_terms(struct call *c, const struct mcp_terms *terms) {
        c->terms = terms;
        if (!terms->version->is_stateless)
                return;
        c->own_terms.version = terms->version;
        c->own_terms.client_elicits = terms->client_elicits;
        c->own_terms.level = terms->level;
        c->terms = &c->own_terms;
}

int call_begin(struct mcp_server *s, const struct mcp_terms *terms, const struct tool *tool,
               const struct message *m, struct batch *batch, struct reply *refusal) {
        struct call *c = NULL;

        if (call_new(m, &c) < 0)
                return reply_refuse(refusal, MESSAGE_FAILED, "out of memory");
        if (s->n_calls >= CALLS_MOST || s->n_bytes + c->n_bytes > CALLS_BYTES_MOST) {
                call_free(c);
                return reply_refuse(refusal, MESSAGE_FAILED, "too many calls wait for their turn");
        }
        c->server = s;
        c->tool = tool;
        c->batch = batch;
        take_terms(c, terms);
        if (!take_state(c, m)) {
                call_free(c);
                return reply_refuse(refusal, MESSAGE_BAD_PARAMS,
                                    "requestState is of no question of this call that waits for its answer");
        }
        (void)pthread_mutex_lock(&s->lock);
        s->n_calls++;
        s->n_bytes += c->n_bytes;
        for (struct call **at = &s->calls;; at = &(*at)->next)
                if (!*at) {
                        *at = c;
                        break;
                }
        (void)pthread_mutex_unlock(&s->lock);
        calls_go_on(s);
        return 0;
}

/* ------------------------------------------------------------------- cancelling */

static void call_cancel(struct call *c) {
        c->is_cancelled = true;
        wake(c->cancel_fd);
        (void)pthread_mutex_lock(&c->lock);
        (void)pthread_cond_broadcast(&c->changed);
        (void)pthread_mutex_unlock(&c->lock);
        if (!c->is_running && !c->has_ended) {
                call_answer(c, NULL);
                c->has_ended = true;
                wake(c->server->wake_fd);
        }
}

void calls_cancel(struct mcp_server *s, const char *id) {
        for (struct call *c = s->calls; c; c = c->next)
                if (!c->has_ended && streq(c->id, id))
                        call_cancel(c);
}

void calls_hear_no_more(struct mcp_server *s) {
        s->is_deaf = true;
        for (struct call *c = s->calls; c; c = c->next) {
                (void)pthread_mutex_lock(&c->lock);
                (void)pthread_cond_broadcast(&c->changed);
                (void)pthread_mutex_unlock(&c->lock);
        }
}

void calls_end(struct mcp_server *s) {
        for (struct call *c = s->calls; c; c = c->next)
                call_cancel(c);
        while (s->calls) {
                struct pollfd woken = {.fd = s->wake_fd, .events = POLLIN};
                uint64_t n;

                calls_reap(s);
                if (!s->calls)
                        break;
                (void)sys_poll(&woken, 1, -1);
                (void)sys_read(s->wake_fd, &n, sizeof(n));
        }
}

/* --------------------------------------------------------------------- progress */

void call_note_output(struct call *c, const char *bytes, size_t n) {
        if (!c->progress_token)
                return;
        (void)pthread_mutex_lock(&c->lock);
        for (size_t i = 0; i < n; i++) {
                if (bytes[i] == '\n') {
                        c->last_has_ended = true;
                        continue;
                }
                if (c->last_has_ended)
                        c->n_last = 0;
                c->last_has_ended = false;
                if (c->n_last < sizeof(c->last) - 1 && bytes[i] != '\0')
                        c->last[c->n_last++] = bytes[i];
                c->last[c->n_last] = '\0';
        }
        (void)pthread_mutex_unlock(&c->lock);
}

/* Seconds of those that the command has. */
static char *progress_params(const struct call *c) {
        _cleanup_json_ struct json_document d = json_begin();

        json_add_json(&d, d.root, "progressToken", c->progress_token);
        json_add_number(&d, d.root, "progress", (sys_now_ms() - c->begun_ms) / 1000);
        if (c->timeout > 0)
                json_add_number(&d, d.root, "total", c->timeout);
        if (c->terms->version->has_messages && c->n_last > 0)
                json_add_string(&d, d.root, "message", c->last);
        return json_line(&d);
}

bool calls_tell_progress(struct mcp_server *s) {
        bool are_any = false;

        for (struct call *c = s->calls; c; c = c->next) {
                _cleanup_free_ char *params = NULL, *text = NULL;

                if (!c->is_running || !c->progress_token)
                        continue;
                /* Nothing follows the answer: it waits until this is sent. */
                (void)pthread_mutex_lock(&c->lock);
                if (!c->is_answered) {
                        uint64_t second = (sys_now_ms() - c->begun_ms) / 1000;

                        are_any = true;
                        if (second > c->told_s && (params = progress_params(c)) &&
                            (text = message_request(NULL, "notifications/progress", params))) {
                                c->told_s = second;
                                writer_send(&s->writer, text);
                        }
                }
                (void)pthread_mutex_unlock(&c->lock);
        }
        return are_any;
}

/* ------------------------------------------------------- questions to the client */

/* A question that nobody waits for any more. */
static void take_question_back(struct call *c, const char *id) {
        _cleanup_free_ char *params = str_format("{\"requestId\":%s}", id),
                            *text = params ? message_request(NULL, "notifications/cancelled", params) : NULL;

        if (text)
                writer_send(&c->server->writer, text);
}

int call_ask(struct call *c, const char *params, uint64_t until_ms, struct run *run, char **ret) {
        _cleanup_free_ char *id = NULL, *text = NULL;
        int r;

        (void)pthread_mutex_lock(&c->server->lock);
        id = str_format("\"nsrun-%llu\"", ++c->server->n_asked);
        (void)pthread_mutex_unlock(&c->server->lock);
        if (!id)
                return -ENOMEM;
        text = message_request(id, "elicitation/create", params);
        (void)pthread_mutex_lock(&c->lock);
        c->question = TAKE_PTR(id);
        (void)pthread_mutex_unlock(&c->lock);
        if (!text || !c->question)
                return -ENOMEM;
        writer_send(&c->server->writer, text);
        (void)pthread_mutex_lock(&c->lock);
        while (!c->has_reply && !c->is_cancelled && !c->server->is_deaf &&
               (!run || sys_now_ms() < until_ms)) {
                bool is_wanted;

                if (!run) {
                        (void)pthread_cond_wait(&c->changed, &c->lock);
                        continue;
                }
                (void)pthread_mutex_unlock(&c->lock);
                is_wanted = run_waits_for_file(run);
                (void)pthread_mutex_lock(&c->lock);
                if (!is_wanted)
                        break;
        }
        *ret = TAKE_PTR(c->reply);
        r = c->is_cancelled || (c->server->is_deaf && !c->has_reply) ? -ECANCELED
            : *ret                                                   ? 0
            : c->has_reply                                           ? -EPROTO
                                                                     : -ETIMEDOUT;
        c->has_reply = false;
        id = TAKE_PTR(c->question);
        (void)pthread_mutex_unlock(&c->lock);
        if (r == -ETIMEDOUT)
                take_question_back(c, id);
        return r;
}

void calls_take_response(struct mcp_server *s, const struct message *m) {
        for (struct call *c = s->calls; c; c = c->next) {
                (void)pthread_mutex_lock(&c->lock);
                if (c->question && !c->has_reply && streq(c->question, m->id)) {
                        c->reply = m->result ? json_spell(m->result) : NULL;
                        c->has_reply = true;
                        (void)pthread_cond_broadcast(&c->changed);
                }
                (void)pthread_mutex_unlock(&c->lock);
        }
}
