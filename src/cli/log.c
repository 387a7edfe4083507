/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun log`: what --log wrote down, in words. */
#include "base/causes.h"
#include "base/path.h"
#include "history/history.h"
#include "option.h"

struct log_options {
        bool is_json;
        const char *project, *session;
};

OPTION_FLAG(apply_log_json, struct log_options, is_json);
OPTION_TEXT(apply_log_project, struct log_options, project);
OPTION_TEXT(apply_log_session, struct log_options, session);

const struct option_spec log_options[] = {
        {"project", 0, "DIR", OPTION_COMPLETES_FOLDER, "Output", "of runs in that project alone",
         apply_log_project},
        {"session", 0, "ID", OPTION_COMPLETES_NOTHING, "Output", "of that session's commands alone",
         apply_log_session},
        {"json", 0, NULL, OPTION_COMPLETES_NOTHING, "Output", "print the lines as they are", apply_log_json},
};
const size_t n_log_options = ARRAY_SIZE(log_options);

void log_by_hand(const char *event, const char *const *members) {
        _cleanup_json_ struct json_document d = json_begin();

        json_add_string(&d, d.root, "event", event);
        for (; members[0]; members += 2)
                if (members[1])
                        json_add_string(&d, d.root, members[0], members[1]);
        if (history_add(&d) < 0)
                (void)fprintf(stderr, "nsrun: note: this isn't in the log\n");
}

void log_committed(const char *session, const char *project, size_t n) {
        _cleanup_free_ char *text = str_format("%zu path%s", n, n == 1 ? "" : "s");

        if (n > 0)
                LOG_BY_HAND("committed", "text", text, "session", session, "project", project);
}

struct printing_log {
        const struct log_options *options;
        char *project; /* canonical; or NULL */
        char **runs;   /* those that were asked for */
        unsigned n_broken;
        size_t n_printed;
};

static void print_log_words(const struct json_value *words) {
        for (size_t i = 0; i < json_length(words); i++) {
                _cleanup_free_ char *quoted =
                        str_shell_quote(json_text(json_at(words, i)) ? json_text(json_at(words, i)) : "");

                print_visible(" ", quoted ? quoted : "?", "");
        }
}

/* What an event says of itself: "message" and "path", or its other members. */
static void print_log_rest(const struct json_value *o) {
        static const char *const members[] = {"message", "text",    "path",   "hint",  "cwd",
                                              "session", "sandbox", "option", "host",  "verdict",
                                              "syscall", "errno",   "comm",   "rule",  "name",
                                              "key",     "link",    "file",   "answer"},
                                 *const numbers[] = {"code", "signal", "port", "count"},
                                 *const facts[] = {"timed_out", "oom_kill"};
        const char *separator = " ";

        if (json_kind(json_get(o, "sandbox")) == JSON_BOOL)
                (void)printf(" WITHOUT A SANDBOX");
        if (json_get(o, "command") && json_length(json_get(o, "command")) == 0)
                (void)printf(" a session");
        if (json_get(o, "command")) {
                print_log_words(json_get(o, "command"));
                if (json_is_true(json_get(o, "cut")))
                        (void)printf(" ...");
                separator = "; ";
        }
        for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
                const char *text = json_text(json_get(o, members[i])), *name = i < 4 ? "" : members[i];

                if (!text || !*text)
                        continue;
                (void)printf("%s%s%s", separator, name, *name ? " " : "");
                print_visible("", text, "");
                separator = i < 4 ? ": " : ", ";
        }
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
                uint64_t n = 0;

                if (json_number(json_get(o, numbers[i]), &n)) {
                        (void)printf("%s%s %llu", separator, numbers[i], (unsigned long long)n);
                        separator = ", ";
                }
        }
        for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
                if (json_is_true(json_get(o, facts[i])))
                        (void)printf("%s%s", separator, facts[i]);
}

static bool is_of_session(const struct json_value *o, const char *id) {
        const char *session = json_text(json_get(o, "session")),
                   *sandbox = json_text(json_get(o, "sandbox"));

        return (session && streq(session, id)) || (sandbox && streq(sandbox, id));
}

/* Whether it is of a run that was asked for. */
static int is_asked_for(struct printing_log *p, const struct json_value *o) {
        const char *run = json_text(json_get(o, "run")), *event = json_text(json_get(o, "event")),
                   *project = json_text(json_get(o, "project")),
                   *session = json_text(json_get(o, "session"));
        int r = 0;

        if (!p->project && !p->options->session)
                return 1;
        /* What a person did. */
        if (!run || !event || !*run)
                return (!p->project || (project && streq(project, p->project))) &&
                       (!p->options->session || is_of_session(o, p->options->session));
        if (streq(event, "begin") && (!p->project || (project && streq(project, p->project))) &&
            (!p->options->session || (session && streq(session, p->options->session))))
                r = strv_add(&p->runs, run);
        return r < 0 ? r : strv_contains(p->runs, run);
}

static int print_log_line(void *data, const char *text, size_t n, bool is_chained) {
        struct printing_log *p = data;
        _cleanup_json_ struct json_document d = {0};
        struct json_trouble trouble;
        const char *time, *run, *event;
        int r = json_read(&d, text, n, JSON_REPAIRED, &trouble);

        if (!is_chained) {
                p->n_broken++;
                (void)fflush(stdout);
                (void)fprintf(
                        stderr,
                        "nsrun: the line before the next was changed, or lines there were taken out\n");
        }
        if (r == -ENOMEM)
                return r;
        r = is_asked_for(p, d.root);
        if (r <= 0)
                return r;
        p->n_printed++;
        if (p->options->is_json)
                return fwrite(text, n, 1, stdout) == 1 ? 0 : -EIO;
        time = json_text(json_get(d.root, "time"));
        run = json_text(json_get(d.root, "run"));
        event = json_text(json_get(d.root, "event"));
        print_visible("", time ? time : "?", "  ");
        print_visible("", run && *run ? run : "-", "  ");
        print_visible("", event ? event : "?", "");
        print_log_rest(d.root);
        (void)puts("");
        return 0;
}

static int print_history(struct invocation *i, struct nsrun_error *err) {
        struct printing_log p = {.options = i->options};
        bool is_whole = true;
        int r = command_refuse_words(i, "no argument is expected", err);

        if (r < 0)
                return r;
        if (p.options->project && (r = path_canonical(p.options->project, &p.project, NULL)) < 0)
                return error_looked_at(err, NSRUN_STAGE_USAGE, r, p.options->project,
                                       "there is no such folder", NULL);
        r = history_read(print_log_line, &p, &is_whole);
        free(p.project);
        strv_freep(&p.runs);
        if (r == -ENOENT)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(r), NULL, "nothing was written down yet",
                                 "--log, or \"log\": true in the configuration, does so");
        if (r < 0)
                return r == -ENOMEM ? error_oom(err)
                                    : error_set(err, NSRUN_STAGE_WORKSPACE, r, NULL, "the log can't be read",
                                                NULL);
        (void)fflush(stdout);
        if (!is_whole)
                (void)fprintf(stderr,
                              "nsrun: the last line was changed, or lines behind it were taken out\n");
        else if (p.n_printed == 0 && (p.options->project || p.options->session))
                (void)fprintf(stderr, "nsrun: note: nothing of that is in the log\n");
        else if (p.n_broken == 0 && !p.options->is_json)
                (void)fprintf(stderr,
                              "nsrun: note: no line of the log was changed or taken out; calls that were "
                              "refused are in it of runs with --explain or --report\n");
        i->status = p.n_broken > 0 || !is_whole;
        return 0;
}

COMMAND_MAIN(log, &(struct log_options){0}, .run = print_history);
