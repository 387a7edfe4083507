/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tool bash: a command in the client's session. */
#include "tool.h"

static void note_output(const char *bytes, size_t n, void *data) {
        call_note_output(data, bytes, n);
}

/* A timeout that is out of bounds is nsrun_bash()'s to refuse. */
static void fill_options(struct call *c, struct nsrun_bash_options *o) {
        o->timeout = c->server->settings->timeout;
        if (json_has(c->arguments.root, "timeout"))
                o->timeout = (int)argument_number(c, "timeout", 0);
        o->description = argument_text(c, "description");
        o->output = note_output;
        o->data = c;
        o->wants_report = 1;
        o->cancel_fd = c->cancel_fd;
        (void)pthread_mutex_lock(&c->lock);
        c->timeout = o->timeout > 0 ? (unsigned)o->timeout : 0;
        (void)pthread_mutex_unlock(&c->lock);
}

int tool_run_bash(struct call *c, struct tool_answer *ret, struct nsrun_error *err) {
        struct nsrun_bash_options options = NSRUN_BASH_OPTIONS_INIT;
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        _cleanup_free_ char *text = NULL;
        size_t n = 0;
        int r;

        fill_options(c, &options);
        r = nsrun_bash(c->server->policy, argument_text(c, "command"), &options, &result, err);
        if (r < 0)
                return r;
        r = nsrun_bash_format(&result, NULL, NSRUN_FORMAT_TEXT, &text, &n, err);
        if (r >= 0)
                r = nsrun_bash_format(&result, NULL, NSRUN_FORMAT_JSON, &ret->structure, NULL, err);
        if (r >= 0)
                strbuf_add_bytes(&ret->text, text, n);
        ret->is_error = result.timed_out;
        STRV_FOREACH (note, result.notes)
                mcp_log(c->server, MCP_NOTICE, *note);
        nsrun_bash_result_clear(&result);
        return r;
}
