/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The texts about an agent's command: the question before it, the result after it. */
#include <inttypes.h>

#include "bash.h"
#include "plan/print.h"
#include "run/deadline.h"
#include "run/sized.h"

/* The width of a prompt's lines; and the longest run of spaces that is shown as it is. */
#define MOST_COLUMNS 72U
#define MOST_SPACES  8U

/* Writes a prompt and breaks its lines itself, with a mark: a terminal that broke a long line would
 * not mark it, so that a command could pad its text to make it look like lines of the prompt's. */
struct prompt_writer {
        struct strbuf b;
        size_t column;
};

static void write_columns(struct prompt_writer *w, const char *bytes, size_t n, size_t columns,
                          size_t needed) {
        if (w->column + needed > MOST_COLUMNS) {
                strbuf_add(&w->b, "\n>> ");
                w->column = 3;
        }
        strbuf_add_bytes(&w->b, bytes, n);
        w->column += columns;
}

/* Writes a run of spaces on the line of the character that follows it: at the end of a line nobody
 * would see the spaces. */
static size_t write_spaces(struct prompt_writer *w, const char *text) {
        size_t n = strspn(text, " ");
        char count[32];
        int length;

        if (n <= MOST_SPACES) {
                write_columns(w, text, n, n, n + 1);
                return n;
        }
        length = snprintf(count, sizeof(count), "\\x20{%zu}", n);
        write_columns(w, count, (size_t)length, (size_t)length, (size_t)length);
        return n;
}

static bool is_hex(char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Writes one character of a text made by str_visible(); "\xNN", its spelling of a byte, stays on
 * one line.  Characters from U+1100 on are counted as two columns, since they may be that wide. */
static size_t write_one(struct prompt_writer *w, const char *text) {
        size_t n = 1, columns;

        if (*text == ' ')
                return write_spaces(w, text);
        if (*text == '\t') {
                write_columns(w, "\\t", 2, 2, 2);
                return 1;
        }
        if (text[0] == '\\' && text[1] == 'x' && is_hex(text[2]) && is_hex(text[3])) {
                write_columns(w, text, 4, 4, 4);
                return 4;
        }
        while (((unsigned char)text[n] & 0xc0) == 0x80)
                n++;
        columns = (unsigned char)text[0] >= 0xe1 ? 2 : 1;
        write_columns(w, text, n, columns, columns);
        return n;
}

/* Writes a text with marks: "> " before each further line of the command, so that none looks like
 * the prompt's own, and ">> " before the rest of a line that is too long, so that it doesn't look
 * like another line. */
static void write_visible(struct prompt_writer *w, const char *text) {
        while (*text)
                if (*text == '\n') {
                        strbuf_add(&w->b, "\n> ");
                        w->column = 2;
                        text++;
                } else {
                        text += write_one(w, text);
                }
}

char *bash_prompt(const char *command, const char *description, long timeout) {
        _cleanup_free_ char *shown = str_visible_text(command),
                            *label = str_visible(description ? description : "");
        struct prompt_writer w = {.column = 0};
        char deadline[48];

        if (!shown || !label)
                return NULL;
        (void)snprintf(deadline, sizeof(deadline), " (timeout %lds)", timeout);
        write_visible(&w, *label ? "bash: " : "bash");
        write_visible(&w, label);
        write_visible(&w, deadline);
        strbuf_add(&w.b, "\n\n$ ");
        w.column = 2;
        write_visible(&w, shown);
        strbuf_add(&w.b, "\n\n(y/n)? ");
        return strbuf_finish(&w.b);
}

nsrun_public void nsrun_bash_result_clear(struct nsrun_bash_result *result) {
        struct nsrun_bash_result own = NSRUN_BASH_RESULT_INIT;

        sized_move(&own, result);
        free(own.command);
        free(own.output);
        free(own.report);
        strv_free(own.notes);
        strv_free(own.degraded);
        strv_free(own.dropped);
        strv_free(own.reasons);
        free(own.detached);
        free(own.session);
}

static int bash_text_finish(struct strbuf *b, char **ret, size_t *ret_size, struct nsrun_error *err) {
        size_t n = b->length;
        char *text = strbuf_finish(b);

        if (!text)
                return error_oom(err);
        *ret = text;
        if (ret_size)
                *ret_size = n;
        return 0;
}

/* What an agent needs of a command that runs in the background, or did: how to read its log, and how to end
 * it. */
static void add_detached(struct strbuf *b, const struct nsrun_bash_result *result) {
        if (result->is_running)
                strbuf_addf(b, "\n\nruns in the background as %s", result->detached);
        if (result->is_running && result->pid > 0)
                strbuf_addf(b, ", pid %d", result->pid);
        strbuf_addf(b, "%slog: nsrun session logs %s %s", result->timed_out ? "\n\n" : "\n", result->session,
                    result->detached);
        if (result->is_running)
                strbuf_addf(b, "\nstop: nsrun session kill %s %s", result->session, result->detached);
}

static int add_reasons(struct strbuf *b, const struct nsrun_bash_result *result) {
        bool begins = result->timed_out && !result->no_sandbox && !result->detached && !result->notes;

        STRV_FOREACH (reason, result->reasons) {
                _cleanup_free_ char *visible = str_visible(*reason);

                if (!visible)
                        return -ENOMEM;
                strbuf_addf(b, "%sreason: %s", begins && reason == result->reasons ? "\n\n" : "\n", visible);
        }
        return 0;
}

static int format_text(const struct nsrun_bash_result *result, char **ret, size_t *ret_size,
                       struct nsrun_error *err) {
        _cleanup_free_ char *shown = str_visible_text(result->command);
        _cleanup_strbuf_ struct strbuf b = {0};

        if (!shown)
                return error_oom(err);
        if (result->timed_out)
                strbuf_addf(&b, "Error: " DEADLINE_TOLD ".\n\n", (unsigned)result->timeout);
        strbuf_addf(&b, "$ %s\n", shown);
        strbuf_add_bytes(&b, result->output, result->output_size);
        if (!result->timed_out && !result->is_running)
                strbuf_addf(&b, "\n\nexit status: %d",
                            result->signal > 0 ? 128 + result->signal : result->status);
        if (result->detached)
                add_detached(&b, result);
        if (result->no_sandbox)
                strbuf_addf(
                        &b,
                        "%sno sandbox: it ran as the user, with all files and the network of the machine",
                        result->timed_out ? "\n\n" : "\n");
        /* The first note of one without a sandbox says just that. */
        STRV_FOREACH (note, result->notes)
                if (!result->no_sandbox || note != result->notes) {
                        _cleanup_free_ char *visible = str_visible(*note);

                        if (!visible)
                                return error_oom(err);
                        strbuf_addf(&b, "%snote: %s",
                                    result->timed_out && !result->detached && note == result->notes ? "\n\n"
                                                                                                    : "\n",
                                    visible);
                }
        return add_reasons(&b, result) < 0 ? error_oom(err) : bash_text_finish(&b, ret, ret_size, err);
}

static void add_or_null(struct json_document *d, const char *key, bool is_known, int number) {
        if (is_known)
                json_add_number(d, d->root, key, (uint64_t)number);
        else
                json_add_string(d, d->root, key, NULL);
}

static void add_detached_json(struct json_document *d, const struct nsrun_bash_result *result) {
        struct json_value *o = json_add_object(d, d->root, "detached");

        json_add_string(d, o, "session", result->session);
        json_add_string(d, o, "name", result->detached);
        if (result->pid > 0)
                json_add_number(d, o, "pid", (uint64_t)result->pid);
        else
                json_add_string(d, o, "pid", NULL);
        json_add_bool(d, o, "ready", result->is_ready);
        json_add_bool(d, o, "running", result->is_running);
}

/* A result without an output is that of --json-stream, which has told output and reasons before. */
static int format_json(const struct nsrun_bash_result *result, char **ret, size_t *ret_size,
                       struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = json_begin();
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *text = NULL;
        int r;

        add_or_null(&d, "status", result->signal == 0 && !result->is_running, result->status);
        add_or_null(&d, "signal", result->signal > 0, result->signal);
        json_add_bool(&d, d.root, "timed_out", result->timed_out);
        json_add_bool(&d, d.root, "oom_killed", result->oom_killed);
        json_add_bool(&d, d.root, "sandbox", !result->no_sandbox);
        json_add_number(&d, d.root, "duration_ms", result->duration_ms);
        if (result->output)
                json_add_bytes(&d, d.root, "output", result->output, result->output_size);
        json_add_number(&d, d.root, "bytes_total", result->bytes_total);
        json_add_number(&d, d.root, "bytes_omitted", result->bytes_omitted);
        json_add_strings(&d, d.root, "notes", result->notes);
        json_add_strings(&d, d.root, "dropped", result->dropped);
        if (result->output)
                json_add_strings(&d, d.root, "reasons", result->reasons);
        print_json_add_degraded(&d, d.root, result->degraded);
        if (result->detached)
                add_detached_json(&d, result);
        r = json_finish(&d, false, &text, err);
        if (r < 0)
                return r;
        /* The report is a JSON text already: it is put before the object's last brace. */
        strbuf_add_bytes(&b, text, strlen(text) - 1);
        strbuf_addf(&b, ",\"report\":%s}", result->report ? result->report : "null");
        return bash_text_finish(&b, ret, ret_size, err);
}

static int format_error(const struct nsrun_error *failure, enum nsrun_format format, char **ret,
                        size_t *ret_size, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = json_begin();
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *line = nsrun_error_format(failure), *text = NULL;
        int r;

        if (!line)
                return error_oom(err);
        if (format == NSRUN_FORMAT_TEXT) {
                strbuf_addf(&b, "Error: %s", line);
                return bash_text_finish(&b, ret, ret_size, err);
        }
        json_add_string(&d, d.root, "error", line);
        json_add_string(&d, d.root, "id", nsrun_error_name(failure->id));
        r = json_finish(&d, false, &text, err);
        if (r < 0)
                return r;
        strbuf_add(&b, text);
        return bash_text_finish(&b, ret, ret_size, err);
}

nsrun_public int nsrun_bash_format(const struct nsrun_bash_result *result, const struct nsrun_error *failure,
                                   enum nsrun_format format, char **ret, size_t *ret_size,
                                   struct nsrun_error *error) {
        struct nsrun_bash_result own;
        int r;

        if (format != NSRUN_FORMAT_TEXT && format != NSRUN_FORMAT_JSON)
                return error_set(error, NSRUN_STAGE_USAGE, -EINVAL, NULL, "a result has no such format",
                                 NULL);
        if (failure)
                return format_error(failure, format, ret, ret_size, error);
        r = sized_take(&own, sizeof(own), result, "nsrun_bash_result", error);
        if (r < 0)
                return r;
        return format == NSRUN_FORMAT_TEXT ? format_text(&own, ret, ret_size, error)
                                           : format_json(&own, ret, ret_size, error);
}
