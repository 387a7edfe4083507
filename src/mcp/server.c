/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One client, from its session's start to its end. */
#include "server.h"

#include <sys/signalfd.h>

#include "agent/bash.h"
#include "base/loop.h"
#include "base/sys.h"
#include "call.h"
#include "session/overlays.h"
#include "session/session.h"
#include "session/view.h"
#include "subscription.h"

#define CHUNK ((size_t)64 * 1024)

enum {
        TICK_MS = 1000, /* between messages of progress */
};

/* -------------------------------------------------------------------- the session */

/* Bash's description, as the policy makes it. */
static int describe_bash(struct mcp_server *s, struct nsrun_error *err) {
        struct nsrun_bash_options options = NSRUN_BASH_OPTIONS_INIT;
        _cleanup_json_ struct json_document d = {0};
        _cleanup_free_ char *text = NULL;
        const char *description;
        int r;

        options.timeout = s->settings->timeout;
        r = nsrun_bash_describe(s->policy, &options, NSRUN_FORMAT_JSON, &text, err);
        if (r < 0)
                return r;
        if (json_parse(&d, text, strlen(text), NULL, NULL) < 0)
                return error_oom(err);
        description = json_text(json_get(d.root, "description"));
        s->bash_text = description ? strdup(description) : NULL;
        s->bash_schema = json_spell(json_get(d.root, "parameters"));
        return s->bash_text && s->bash_schema ? 0 : error_oom(err);
}

int mcp_session_start(const struct mcp_settings *settings, char **ret_session,
                      struct nsrun_policy **ret_policy, struct nsrun_error *err) {
        struct nsrun_session_options options = settings->session;
        _cleanup_strv_ char **notes = NULL;
        int r;

        /* However this process dies, the session ends with it. */
        options.owner = getpid();
        r = nsrun_session_start(settings->policy, &options, ret_session, &notes, err);
        strv_tell(notes, "note");
        if (r >= 0 && nsrun_policy_new(ret_policy) < 0)
                r = error_oom(err);
        if (r < 0)
                return r;
        (*ret_policy)->kills_leftovers = settings->asks_files;
        return nsrun_policy_set(*ret_policy, "session", *ret_session, err);
}

static int start_own_session(struct mcp_server *s, struct nsrun_error *err) {
        int r = mcp_session_start(s->settings, &s->session, &s->own_policy, err);

        s->owns_session = s->session != NULL;
        s->policy = s->own_policy;
        return r;
}

/* What else the host's policy says, such as a variable for the commands, counts for them or is refused. */
static int join_session(struct mcp_server *s, struct nsrun_error *err) {
        s->policy = s->settings->policy;
        s->session = strdup(s->policy->session);
        return s->session ? 0 : error_oom(err);
}

/* What would refuse each command. */
static int judge_asking(const struct mcp_server *s, struct nsrun_error *err) {
        _cleanup_records_ struct record_folder folder = RECORD_FOLDER_INIT;
        _cleanup_record_ struct plan_record record = {0};
        int r = session_read(s->session, &folder, &record, err);

        return r < 0 ? r : file_questions_judge(record.plan, err);
}

static int open_session(struct mcp_server *s, struct nsrun_error *err) {
        int r = bash_refuse_chdir(s->settings->policy, err);

        if (r >= 0)
                r = s->settings->policy->session ? join_session(s, err) : start_own_session(s, err);
        if (r >= 0 && s->settings->asks_files)
                r = judge_asking(s, err);
        if (r >= 0)
                r = session_view(s->session, &s->files, err);
        if (r >= 0) {
                _cleanup_asking_ struct asking overlays = ASKING_INIT(NULL);

                s->has_overlays = asking_begin(&overlays, s->session, NULL) >= 0;
        }
        return r < 0 ? r : describe_bash(s, err);
}

static int close_session(struct mcp_server *s, struct nsrun_error *err) {
        _cleanup_strv_ char **notes = NULL;
        int r;

        /* Its descriptors hold the session's overlays. */
        s->files = nsrun_workspace_free(s->files);
        r = s->owns_session ? nsrun_session_end(s->session, 1, &notes, err) : 0;
        strv_tell(notes, "note");
        /* It may have been ended by somebody else. */
        return r == -ENOENT ? 0 : r;
}

/* ------------------------------------------------------------------------ the loop */

static int take_input(struct mcp_server *s, int input, char *chunk, bool *ret_has_ended) {
        ssize_t n = sys_read(input, chunk, CHUNK);
        const char *line;
        size_t length;
        int r;

        if (n == -EAGAIN || n == -EINTR)
                return 0;
        *ret_has_ended = n <= 0;
        r = reader_add(&s->reader, chunk, n > 0 ? (size_t)n : 0);
        if (r < 0)
                return r;
        while ((r = reader_next(&s->reader, *ret_has_ended, &line, &length)) != 0)
                if (r > 0)
                        mcp_take_line(s, line, length);
                else
                        mcp_refuse_long(s, line, length);
        return 0;
}

/* Goes on until the client has sent all and got all, or is gone, or a signal comes. */
static int serve_client(struct mcp_server *s, int input, int signal_fd, char *chunk,
                        struct nsrun_error *err) {
        bool has_ended = false, is_ticking = false;

        while (!has_ended || !calls_are_none(s)) {
                struct pollfd fds[] = {
                        {.fd = has_ended ? -1 : input, .events = POLLIN},
                        {.fd = signal_fd, .events = POLLIN},
                        {.fd = s->wake_fd, .events = POLLIN},
                        {.fd = s->writer.fd, .events = 0}, /* POLLERR: nobody reads it any more */
                };
                uint64_t n;
                int r = sys_poll(fds, ARRAY_SIZE(fds), is_ticking ? TICK_MS : -1);

                if (r < 0 && r != -EINTR)
                        return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "the client can't be heard",
                                         NULL);
                if (r < 0)
                        continue;
                if (fds[1].revents || (fds[3].revents & (POLLERR | POLLHUP)) ||
                    writer_has_failed(&s->writer))
                        return 0;
                if (fds[2].revents)
                        (void)sys_read(s->wake_fd, &n, sizeof(n));
                if (fds[0].revents && take_input(s, input, chunk, &has_ended) < 0)
                        return error_oom(err);
                if (has_ended)
                        calls_hear_no_more(s);
                calls_go_on(s);
                is_ticking = calls_tell_progress(s);
        }
        return 0;
}

int mcp_serve(const struct mcp_settings *settings, int input, int output, struct nsrun_error *err) {
        struct mcp_server s = {
                .settings = settings,
                .writer = {.fd = output, .stop_fd = -EBADF, .lock = PTHREAD_MUTEX_INITIALIZER},
                .terms = {.level = MCP_WARNING},
                .questions = settings->questions ? settings->questions : questions_new(),
                .wake_fd = sys_eventfd(),
                .lock = PTHREAD_MUTEX_INITIALIZER};
        _cleanup_free_ char *chunk = malloc(CHUNK);
        _cleanup_close_ int signal_fd = -EBADF;
        int r, closed;

        r = signal_fd = chunk && s.wake_fd >= 0 && s.questions
                                ? signals_open(SIGNALS(SIGINT, SIGTERM, SIGHUP), err)
                                : error_oom(err);
        s.writer.stop_fd = signal_fd;
        if (r >= 0)
                r = open_session(&s, err);
        if (r >= 0)
                r = serve_client(&s, input, signal_fd, chunk, err);
        subscriptions_end(&s);
        calls_end(&s);
        closed = close_session(&s, r < 0 ? NULL : err);
        (void)nsrun_policy_free(s.own_policy);
        reader_clear(&s.reader);
        close_fdp(&s.wake_fd);
        if (!settings->questions)
                questions_free(s.questions);
        free(s.session);
        free(s.bash_text);
        free(s.bash_schema);
        return r < 0 ? r : closed;
}
