/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See inspect.h. */
#include "inspect.h"

#include "base/json.h"
#include "plan/print.h"
#include "ps_row.h"
#include "running/plan_shown.h"
#include "session/session.h"

static int print_plan_of(const struct nsrun_plan *plan, char *const *degraded, bool wants_json,
                         struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL;
        int r = nsrun_plan_format(plan, wants_json ? NSRUN_FORMAT_JSON : NSRUN_FORMAT_TEXT, &text, err);

        if (r < 0)
                return r;
        STRV_FOREACH (entry, (char **)degraded) {
                _cleanup_free_ char *words = wants_json ? NULL : nsrun_degraded_format(*entry);

                if (words)
                        (void)printf("degraded: %s\n", words);
        }
        (void)printf("%s%s", text, *text && text[strlen(text) - 1] == '\n' ? "" : "\n");
        return 0;
}

int inspect_session(const char *id, bool wants_json, struct nsrun_error *err) {
        struct record_folder folder = RECORD_FOLDER_INIT;
        struct plan_record record = {0};
        _cleanup_strv_ char **answers = NULL;
        int r = session_read(id, &folder, &record, err);

        /* In JSON they are 'session show''s. */
        if (r >= 0 && !wants_json)
                (void)nsrun_session_answers(id, &answers, NULL);
        STRV_FOREACH (answer, answers)
                (void)printf("answered: %s\n", *answer);
        if (r >= 0)
                r = print_plan_of(record.plan, record.plan->degraded, wants_json, err);
        record_clear(&record);
        records_close(&folder);
        return r;
}

/* The plan of a bubblewrap command line is that line. */
static int inspect_bwrap(const struct sandbox_process *p, bool wants_json, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = {0};
        _cleanup_free_ char *text = NULL;
        int r = wants_json ? json_open(&d, err) : 0;

        if (r < 0)
                return r;
        if (wants_json) {
                json_add_strings(&d, d.root, "arguments", p->argv);
                r = json_finish(&d, true, &text, err);
                if (r >= 0)
                        (void)puts(text);
                return r;
        }
        for (char *const *word = p->argv; word && *word; word++) {
                _cleanup_free_ char *quoted = str_shell_quote(*word), *visible = NULL;

                visible = quoted ? str_visible(quoted) : NULL;
                if (!visible)
                        return error_oom(err);
                (void)printf("%s%s", word == p->argv ? "" : " ", visible);
        }
        (void)putchar('\n');
        return 0;
}

/* The nsrun program's own loop answers. */
static int inspect_run(const struct sandbox_process *p, bool wants_json, struct nsrun_error *err) {
        _cleanup_free_ char *answer = NULL;
        const char *plan, *at = NULL;
        char *entry;
        int r;

        if (p->is_stopped)
                return error_set(err, NSRUN_STAGE_SUPERVISE, -EBUSY, NULL,
                                 "the nsrun of this sandbox is stopped, and answers nothing",
                                 "let it go on: fg, or bg");
        r = ps_ask(p, wants_json ? QUERY_JSON : QUERY_TEXT, &answer);
        plan = r < 0 ? NULL : startswith(answer, "\n") ? answer : strstr(answer, "\n\n");
        if (!plan)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r < 0 ? r : -EBADMSG, NULL,
                                 "the nsrun of this sandbox doesn't answer",
                                 "it may be another version, or not have begun yet");
        while (!wants_json && (entry = query_fact(answer, "degraded", &at))) {
                _cleanup_free_ char *words = nsrun_degraded_format(entry);

                (void)printf("degraded: %s\n", words ? words : entry);
                free(entry);
        }
        plan += strspn(plan, "\n");
        (void)printf("%s%s", plan, *plan && plan[strlen(plan) - 1] == '\n' ? "" : "\n");
        return 0;
}

int inspect_sandbox(const struct sandbox_process *p, bool wants_json, struct nsrun_error *err) {
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        _cleanup_strv_ char **degraded = NULL;
        struct nsrun_error untold = {0};
        int r;

        if (p->kind == SANDBOX_BWRAP)
                return inspect_bwrap(p, wants_json, err);
        r = shown_read(p->supervisor, p->init, &plan, &degraded, &untold);
        if (r < 0 && r != -EPERM && p->kind == SANDBOX_RUN && p->reads_signals)
                return inspect_run(p, wants_json, err);
        if (r < 0) {
                *err = untold;
                return r;
        }
        /* As text the lines before it have them. */
        if (wants_json) {
                strv_freep(&plan->degraded);
                plan->degraded = TAKE_PTR(degraded);
        }
        return print_plan_of(plan, degraded, wants_json, err);
}
