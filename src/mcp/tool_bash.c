/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tools bash, bash_output and bash_kill: commands in the client's session, waited for or in its
 * background. */
#include <sys/wait.h>

#include "agent/bash.h"
#include "base/programs.h"
#include "session/log.h"
#include "terminal/file_asker.h"
#include "tool.h"

static void note_output(const char *bytes, size_t n, void *data) {
        call_note_output(data, bytes, n);
}

/* A timeout that is out of bounds is nsrun_bash()'s to refuse. */
static void fill_options(struct call *c, struct nsrun_bash_options *o) {
        o->timeout = (int)argument_number(c, "timeout", (uint64_t)c->server->settings->timeout);
        o->detaches = argument_is_true(c, TOOL_IN_BACKGROUND);
        o->description = argument_text(c, "description");
        o->output = note_output;
        o->data = c;
        (void)pthread_mutex_lock(&c->lock);
        c->timeout = o->timeout > 0 ? (unsigned)o->timeout : 0;
        (void)pthread_mutex_unlock(&c->lock);
}

/* ------------------------------------------------------------ questions about files */

static char *spell_file_question(const struct file_question *q) {
        _cleanup_free_ char *words = file_question_words(q), *message = NULL, *all = NULL, *rest = NULL,
                            *folder = *q->folder ? file_question_path(q->folder) : NULL;
        const char *choices[][2] = {{"no", "no"},
                                    {"yes", "yes"},
                                    {"never", "no, and ask no more of this command"},
                                    {NULL, NULL},
                                    {NULL, NULL}},
                   *const access[][2] = {
                           {"ro", "read-only"},
                           {q->is_folder ? "overlay" : "rw",
                            q->is_folder ? "to be written, and thrown away" : "this file, to be written"},
                           {*q->folder ? "overlay" : NULL,
                            "all of the folder, to be written, and thrown away"},
                           {NULL, NULL}};

        if (!words || (*q->folder && !folder) ||
            !(message = str_format("%s. Show it, read-only, until the session ends?", words)))
                return NULL;
        if (folder) {
                choices[0][1] = rest = str_concat("no, and nothing else in ", folder, "");
                choices[1][1] = "yes, this file";
                choices[3][0] = "folder";
                choices[3][1] = all = str_concat("yes, all of ", folder, "");
        }
        if (folder && (!rest || !all))
                return NULL;
        return tool_spell_elicitation(message, "Show it", choices, access);
}

/* What isn't one of the answers is a no. */
static enum file_answer read_file_answer(const struct json_value *reply, const struct file_question *q,
                                         struct file_wish *wish) {
        static const char *const options[] = {"ro", "rw", "overlay"};
        const struct json_value *content = json_get(reply, "content");
        const char *action = json_text(json_get(reply, "action")),
                   *answer = json_text(json_get(content, TOOL_QUESTION)),
                   *access = json_has(content, "access") ? json_text(json_get(content, "access")) : "ro";

        if (action && streq(action, "cancel"))
                return FILE_NOT_NOW;
        if (!action || !streq(action, "accept") || !answer || !access || !STR_IS_ANY(access, options))
                return FILE_NO;
        (void)snprintf(wish->option, sizeof(wish->option), "%s", access);
        wish->is_always = json_is_true(json_get(content, "always"));
        if (streq(answer, "folder"))
                memcpy(wish->path, q->folder, sizeof(wish->path));
        return streq(answer, "yes") || *wish->path ? FILE_YES
               : streq(answer, "never")            ? FILE_NEVER
                                                   : FILE_NO;
}

/* A request of a version whose requests stand for themselves can't wait for an answer; and who speaks HTTP
 * may be anybody who has the token. */
static enum file_answer ask_client(struct run *run, const struct file_question *q, struct file_wish *wish,
                                   void *data) {
        struct call *c = data;
        _cleanup_free_ char *params = NULL, *reply = NULL;
        _cleanup_json_ struct json_document d = {0};
        const uint64_t until = c->begun_ms + (uint64_t)c->timeout * 1000;
        int r;

        if (!c->terms->client_elicits || c->terms->version->is_stateless || c->server->settings->is_http)
                return FILE_UNASKED;
        if (c->is_cancelled || sys_now_ms() >= until)
                return FILE_NOT_NOW;
        params = spell_file_question(q);
        r = params ? call_ask(c, params, until, run, &reply) : -ENOMEM;
        if (r >= 0)
                r = json_parse(&d, reply, strlen(reply), NULL, NULL);
        return r >= 0 ? read_file_answer(d.root, q, wish) : r == -EPROTO ? FILE_UNASKED : FILE_NOT_NOW;
}

int tool_run_bash(struct call *c, struct tool_answer *ret, struct nsrun_error *err) {
        struct nsrun_bash_options options = NSRUN_BASH_OPTIONS_INIT;
        const struct bash_params params = {.options = &options,
                                           .start = {.launch = {.init_path = program_init()},
                                                     .asks_files = c->server->settings->asks_files,
                                                     .ask_file = ask_client,
                                                     .ask_data = c},
                                           .cancel_fd = c->cancel_fd};
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        _cleanup_free_ char *text = NULL, *name = NULL;
        size_t n = 0;
        int r;

        fill_options(c, &options);
        r = bash_run(c->server->policy, argument_text(c, "command"), &params, &result, err);
        if (r < 0)
                return r;
        /* How a person ends it, at a terminal, is nothing for a model. */
        name = TAKE_PTR(result.detached);
        if (name && result.is_running && c->is_cancelled)
                (void)nsrun_session_end_detached(c->server->session, name, NULL);
        r = nsrun_bash_format(&result, NULL, NSRUN_FORMAT_TEXT, &text, &n, err);
        if (r >= 0)
                strbuf_add_bytes(&ret->text, text, n);
        if (r >= 0 && name && result.is_running)
                strbuf_addf(
                        &ret->text,
                        "\n\nruns in the background as %s: bash_output has what it prints, bash_kill ends it",
                        name);
        ret->is_error = result.timed_out;
        STRV_FOREACH (note, result.notes)
                mcp_log(c->server, c->terms, MCP_NOTICE, *note);
        nsrun_bash_result_clear(&result);
        return r;
}

/* How a command in the background is. */
static int look_at_background(const struct call *c, const char *name, struct log_state *ret,
                              bool *ret_is_kept, struct nsrun_error *err) {
        _cleanup_records_ struct record_folder folder = RECORD_FOLDER_INIT;
        _cleanup_log_ struct log log = LOG_INIT;
        int r = records_open(c->server->session, &folder, err);

        if (r < 0)
                return r;
        if (log_open(&folder, name, &log, NULL) < 0)
                return tool_refuse(err, name, "no command in the background is called so", NULL);
        *ret = log.state;
        *ret_is_kept = log_is_kept(&log);
        return 0;
}

/* What nsrun says of one that has ended: how, what of it was kept aside, and why it failed. */
static void tell_end(const struct call *c, struct log_state *state, struct nsrun_bash_result *result,
                     struct strbuf *to) {
        char *line, *next = state->notes;

        if (WIFSIGNALED(state->status))
                result->signal = WTERMSIG(state->status);
        result->status = WIFSIGNALED(state->status) ? -1 : WEXITSTATUS(state->status);
        strbuf_addf(to, "exit status: %d", result->signal > 0 ? 128 + result->signal : result->status);
        while ((line = strsep(&next, "\n")) && *line)
                strbuf_addf(to, "\nnote: %s", line);
        (void)bash_explain(c->server->policy, result, NULL);
        STRV_FOREACH (reason, result->reasons) {
                _cleanup_free_ char *visible = str_visible(*reason);

                strbuf_addf(to, "\nreason: %s", visible ? visible : "?");
        }
}

int tool_bash_output(struct call *c, struct tool_answer *ret, struct nsrun_error *err) {
        const char *name = argument_text(c, "bash_id");
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        _cleanup_close_ int fd = sys_memfd("output");
        struct log_state state;
        bool is_kept = false;
        int r = fd < 0 ? error_set(err, NSRUN_STAGE_SUPERVISE, fd, NULL, "no memory for the output", NULL)
                       : look_at_background(c, name, &state, &is_kept, err);

        /* What it prints after it was asked how it is follows in the next call. */
        if (r >= 0)
                r = nsrun_session_log(c->server->session, name, 0, fd, err);
        if (r >= 0)
                r = tool_read_captured(fd, &result.output, &result.output_size, err);
        if (r < 0)
                return r;
        strbuf_add_bytes(&ret->text, result.output, result.output_size);
        strbuf_add(&ret->text, result.output_size > 0 ? "\n\n" : "");
        if (state.has_ended)
                tell_end(c, &state, &result, &ret->text);
        else
                strbuf_add(&ret->text, is_kept ? "it runs" : "it was killed");
        nsrun_bash_result_clear(&result);
        return 0;
}

int tool_bash_kill(struct call *c, struct tool_answer *ret, struct nsrun_error *err) {
        const char *name = argument_text(c, "bash_id");
        struct log_state state;
        bool is_kept = false;
        int r = look_at_background(c, name, &state, &is_kept, err);

        if (r >= 0 && !state.has_ended && is_kept)
                r = nsrun_session_end_detached(c->server->session, name, err);
        if (r >= 0)
                strbuf_addf(&ret->text, "%s has ended", name);
        return r;
}
