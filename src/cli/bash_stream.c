/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lines of --json-stream.  Whoever waits here for the reader, or for an answer, hears what ends the
 * command, too: the library, which calls this, doesn't meanwhile. */
#include "bash_stream.h"

#include "agent/command.h"
#include "base/sys.h"

/* As many bytes a pipe takes without a wait once poll(2) says that it has room. */
#define PORTION ((size_t)4096)

/* Waits for a descriptor.  1; 0: the deadline has come, or the command is to be ended. */
static int stream_await(struct bash_stream *s, int fd, short events) {
        struct pollfd fds[] = {{.fd = fd, .events = events}, {.fd = s->cancel_fd, .events = POLLIN}};

        for (;;) {
                uint64_t now = sys_now_ms();
                int r = sys_poll(fds, 2, now >= s->ends_ms ? 0 : (int)(s->ends_ms - now));

                if (r < 0 && r != -EINTR)
                        s->is_over = true;
                if (r > 0 && fds[1].revents)
                        s->is_over = true;
                if (r == 0 || s->is_over)
                        return 0;
                if (r > 0 && fds[0].revents)
                        return 1;
        }
}

/* Writes what is to be written still; `waits`: for as long as it takes, as when the command has ended. */
static void stream_flush(struct bash_stream *s, bool waits) {
        while (s->n_written < s->n_rest && !s->is_over) {
                size_t n = s->n_rest - s->n_written;
                ssize_t r;

                if (!waits && !stream_await(s, STDOUT_FILENO, POLLOUT))
                        return;
                r = sys_write(STDOUT_FILENO, s->rest + s->n_written, !waits && n > PORTION ? PORTION : n);
                if (r == -EAGAIN && waits) {
                        struct pollfd room = {.fd = STDOUT_FILENO, .events = POLLOUT};

                        (void)sys_poll(&room, 1, -1);
                } else if (r < 0 && r != -EINTR && r != -EAGAIN) {
                        s->failure = (int)r;
                        s->is_over = true;
                }
                s->n_written += r > 0 ? (size_t)r : 0;
        }
        free(TAKE_PTR(s->rest));
        s->n_rest = s->n_written = 0;
}

/* Puts a line behind the rest of the one before it. */
static void stream_line(struct bash_stream *s, const char *text, bool waits) {
        _cleanup_strbuf_ struct strbuf b = {0};

        if (s->is_over || !text)
                return;
        strbuf_add_bytes(&b, s->rest ? s->rest + s->n_written : "", s->n_rest - s->n_written);
        strbuf_addf(&b, "%s\n", text);
        free(TAKE_PTR(s->rest));
        s->n_written = 0;
        s->n_rest = b.length;
        s->rest = strbuf_finish(&b);
        if (!s->rest)
                s->n_rest = 0;
        stream_flush(s, waits);
}

/* {"event":…} with a text, and with a second one. */
static void stream_event(struct bash_stream *s, const char *event, const char *key, const char *text,
                         size_t n, const char *program, bool waits) {
        _cleanup_json_ struct json_document d = json_begin();
        _cleanup_free_ char *line = NULL;

        json_add_string(&d, d.root, "event", event);
        if (key)
                json_add_bytes(&d, d.root, key, text, n);
        else
                json_add_bool(&d, d.root, "sandbox", s->has_sandbox);
        if (program)
                json_add_string(&d, d.root, "program", program);
        line = json_line(&d);
        stream_line(s, line, waits);
}

void bash_stream_start(struct bash_stream *s) {
        if (s->was_started)
                return;
        s->was_started = true;
        s->ends_ms = sys_now_ms() + (uint64_t)s->timeout * 1000;
        stream_event(s, "start", NULL, NULL, 0, NULL, false);
}

void bash_stream_output(struct bash_stream *s, const char *bytes, size_t n) {
        _cleanup_strbuf_ struct strbuf b = {0};
        size_t held;

        bash_stream_start(s);
        if (s->rest)
                stream_flush(s, false);
        strbuf_add_bytes(&b, s->held, s->n_held);
        strbuf_add_bytes(&b, bytes, n);
        if (s->rest || s->is_over || b.has_failed) {
                s->left_out += s->n_held + n;
                s->n_held = 0;
                return;
        }
        held = capture_unfinished(b.text, b.length);
        memcpy(s->held, b.text + b.length - held, held);
        s->n_held = held;
        if (b.length > held)
                stream_event(s, "output", "text", b.text, b.length - held, NULL, false);
}

/* Takes a line of standard input, without its end.  False: none comes. */
static bool stream_read_answer(struct bash_stream *s, char line[static sizeof(s->answer)]) {
        for (;;) {
                char *end = memchr(s->answer, '\n', s->n_answer);
                size_t n = end ? (size_t)(end - s->answer) : 0;
                ssize_t r;

                if (end) {
                        memcpy(line, s->answer, n);
                        line[n] = '\0';
                        s->n_answer -= n + 1;
                        memmove(s->answer, end + 1, s->n_answer);
                        return true;
                }
                if (s->n_answer == sizeof(s->answer)) /* no name is so long */
                        s->n_answer = 0;
                if (!stream_await(s, STDIN_FILENO, POLLIN))
                        return false;
                r = sys_read(STDIN_FILENO, s->answer + s->n_answer, sizeof(s->answer) - s->n_answer);
                if (r <= 0 && r != -EINTR && r != -EAGAIN)
                        return false;
                s->n_answer += r > 0 ? (size_t)r : 0;
        }
}

int bash_stream_ask(struct bash_stream *s, const char *name, const char *program) {
        char line[sizeof(s->answer)];

        bash_stream_start(s);
        stream_event(s, "asked", "host", name, strlen(name), program, false);
        while (!s->rest && !s->is_over && stream_read_answer(s, line)) {
                const char *allowed = startswith(line, "allow "), *denied = startswith(line, "deny ");

                if ((allowed && streq(allowed, name)) || (denied && streq(denied, name)))
                        return allowed ? 1 : 0;
        }
        return -1;
}

int bash_stream_end(struct bash_stream *s, struct nsrun_bash_result *result,
                    const struct nsrun_error *failure, struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL, *line = NULL;
        int r;

        s->cancel_fd = -1;
        if (!failure) {
                bash_stream_start(s);
                if (s->n_held > 0)
                        stream_event(s, "output", "text", s->held, s->n_held, NULL, true);
                /* The log has what a command in the background prints. */
                if (result->detached && result->output_size > 0)
                        stream_event(s, "output", "text", result->output, result->output_size, NULL, true);
                STRV_FOREACH (reason, result->reasons)
                        stream_event(s, "reason", "text", *reason, strlen(*reason), NULL, true);
                free(TAKE_PTR(result->output));
                if (!result->detached)
                        result->bytes_omitted = s->left_out;
        }
        r = nsrun_bash_format(result, failure, NSRUN_FORMAT_JSON, &text, NULL, err);
        if (r < 0)
                return r;
        line = str_format("{\"event\":\"end\",%s", text + 1);
        stream_line(s, line, true);
        if (s->failure < 0)
                return error_set(err, NSRUN_STAGE_USAGE, s->failure, NULL, "the output can't be written",
                                 NULL);
        return line ? 0 : error_oom(err);
}

void bash_stream_clear(struct bash_stream *s) {
        free(TAKE_PTR(s->rest));
}
