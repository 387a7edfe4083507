/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Detached commands as the users of a session have them: listed, their logs read, ended. */
#include <sys/wait.h>

#include "base/file.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/stream.h"
#include "base/sys.h"
#include "log.h"
#include "session.h"

#define CHUNK ((size_t)16 * 1024)
/* Milliseconds between two looks at a log that is followed. */
#define FOLLOW_MS 50

/* ------------------------------------------------------------------ the list */

/* How it is, in words, for the caller to free. */
static char *describe_state(const struct log *log, bool is_kept) {
        const struct log_state *s = &log->state;

        if (!s->has_ended)
                return strdup(is_kept ? "running" : "killed");
        return WIFSIGNALED(s->status) ? str_format("signal %d", WTERMSIG(s->status))
                                      : str_format("exit %d", WEXITSTATUS(s->status));
}

static void add_log_row(struct strbuf *b, const struct log *log) {
        _cleanup_free_ char *state = describe_state(log, log_is_kept(log));
        _cleanup_free_ char *command = str_visible(log->state.command);
        time_t started = (time_t)log->state.started_s;
        char when[32] = "";
        struct tm tm;

        if (localtime_r(&started, &tm))
                (void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
        b->has_failed |= !state || !command;
        if (!b->has_failed)
                strbuf_addf(b, "%-8s %7d %-10s %-20s %s\n", log->name, log->state.pid, state, when, command);
}

static void add_log_object(struct json_document *d, struct json_value *array, const struct log *log) {
        const struct log_state *s = &log->state;
        struct json_value *o = json_add_object(d, array, NULL);
        bool is_kept = log_is_kept(log), is_signal = s->has_ended && WIFSIGNALED(s->status);

        json_add_string(d, o, "name", log->name);
        json_add_number(d, o, "pid", (uint64_t)s->pid);
        json_add_bool(d, o, "running", is_kept && !s->has_ended);
        if (s->has_ended && !is_signal)
                json_add_number(d, o, "status", (uint64_t)WEXITSTATUS(s->status));
        else
                json_add_string(d, o, "status", NULL);
        if (is_signal)
                json_add_number(d, o, "signal", (uint64_t)WTERMSIG(s->status));
        else
                json_add_string(d, o, "signal", NULL);
        json_add_bool(d, o, "open", is_kept);
        json_add_number(d, o, "started", (uint64_t)s->started_s);
        json_add_number(d, o, "bytes_total", s->total);
        json_add_string(d, o, "command", s->command);
}

static int format_logs(const struct record_folder *f, char *const *names, bool is_json, char **ret,
                       struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = json_begin();
        _cleanup_strbuf_ struct strbuf b = {0};
        struct json_value *array = NULL;

        if (is_json)
                array = json_add_array(&d, d.root, "logs");
        else
                strbuf_addf(&b, "%-8s %7s %-10s %-20s %s\n", "NAME", "PID", "STATE", "STARTED", "COMMAND");
        STRV_FOREACH (name, names) {
                _cleanup_log_ struct log log = LOG_INIT;

                /* One that is being made is no log yet, and one may have been removed. */
                if (log_open(f, *name, &log, NULL) < 0)
                        continue;
                if (is_json)
                        add_log_object(&d, array, &log);
                else
                        add_log_row(&b, &log);
        }
        if (is_json)
                return json_finish(&d, false, ret, err);
        *ret = strbuf_finish(&b);
        return *ret ? 0 : error_oom(err);
}

nsrun_public int nsrun_session_logs(const char *id, enum nsrun_format format, char **ret,
                                    struct nsrun_error *error) {
        _cleanup_records_ struct record_folder folder = RECORD_FOLDER_INIT;
        _cleanup_strv_ char **names = NULL;
        int r;

        if (format != NSRUN_FORMAT_TEXT && format != NSRUN_FORMAT_JSON)
                return error_set(error, NSRUN_STAGE_USAGE, -EINVAL, NULL, "logs have no such format", NULL);
        r = records_open(id, &folder, error);
        if (r < 0)
                return r;
        r = logs_list(&folder, &names);
        if (r < 0)
                return error_set(error, NSRUN_STAGE_SUPERVISE, r, id, "the session's logs can't be listed",
                                 NULL);
        return format_logs(&folder, names, format == NSRUN_FORMAT_JSON, ret, error);
}

/* ------------------------------------------------------------------- one log */

/* Writes what there is from *at on, at most up to `end`. */
static int copy_log(struct log *log, uint64_t *at, uint64_t end, FILE *to, char *chunk,
                    struct nsrun_error *err) {
        while (*at < end) {
                uint64_t skipped;
                ssize_t n = log_read(log, at, chunk, CHUNK, &skipped);

                if (n < 0)
                        return error_set(err, NSRUN_STAGE_SUPERVISE, (int)n, log->name,
                                         "the log can't be read", NULL);
                if (skipped > 0)
                        (void)fprintf(to, "\n... [%llu bytes omitted] ...\n", (unsigned long long)skipped);
                (void)fwrite(chunk, 1, (size_t)n, to);
                if (fflush(to) != 0)
                        return error_set(err, NSRUN_STAGE_SUPERVISE, -errno, NULL,
                                         "the log can't be written", NULL);
                if (n == 0)
                        return 0;
        }
        return 0;
}

nsrun_public int nsrun_session_log(const char *id, const char *name, int follows, int fd,
                                   struct nsrun_error *error) {
        _cleanup_records_ struct record_folder folder = RECORD_FOLDER_INIT;
        _cleanup_log_ struct log log = LOG_INIT;
        _cleanup_free_ char *chunk = malloc(CHUNK);
        _cleanup_fclose_ FILE *to = NULL;
        uint64_t at = 0;
        int r;

        if (!chunk)
                return error_oom(error);
        r = stream_open(fd, &to);
        if (r < 0)
                return error_set(error, NSRUN_STAGE_SUPERVISE, r, NULL, "the log can't be written", NULL);
        r = records_open(id, &folder, error);
        if (r >= 0)
                r = log_open(&folder, name, &log, error);
        while (r >= 0) {
                /* Asked first: all that was printed before the end is then read. */
                bool is_last = !follows || !log_is_kept(&log);

                r = log_load(&log);
                if (r < 0)
                        return error_set(error, NSRUN_STAGE_SUPERVISE, r, name, "the log can't be read",
                                         NULL);
                r = copy_log(&log, &at, is_last ? log.state.total : UINT64_MAX, to, chunk, error);
                if (r < 0 || is_last)
                        break;
                (void)sys_poll(NULL, 0, FOLLOW_MS);
        }
        return r;
}

nsrun_public int nsrun_session_end_detached(const char *id, const char *name, struct nsrun_error *error) {
        _cleanup_records_ struct record_folder folder = RECORD_FOLDER_INIT;
        _cleanup_log_ struct log log = LOG_INIT;
        _cleanup_close_ int keeper = -EBADF;
        int r = records_open(id, &folder, error);

        if (r >= 0)
                r = log_open(&folder, name, &log, error);
        if (r < 0)
                return r;
        keeper = log.state.is_over ? -ESRCH : record_open_process(&log.state.keeper);
        r = keeper < 0 ? keeper : sys_pidfd_send_signal(keeper, SIGTERM);
        if (r == -ESRCH)
                return error_set(error, NSRUN_STAGE_SUPERVISE, r, name, "the command has ended", NULL);
        if (r < 0)
                return error_set(error, NSRUN_STAGE_SUPERVISE, r, name, "the command can't be ended", NULL);
        (void)loop_await(keeper, POLLIN, -1);
        return 0;
}
