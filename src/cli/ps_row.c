/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ps_row.h"

#include "base/array.h"
#include "base/sys.h"
#include "option.h"
#include "running/plan_shown.h"
#include "session/session.h"
#include "session_ps.h"

/* More of a command line is for --json. */
#define SHOWN_MOST 100

/* The words behind the options; of what has none of nsrun's all of them. */
static char *const *command_of(const struct sandbox_process *p) {
        const struct command *command;
        char *const *words;

        if (!p->argv || p->kind != SANDBOX_RUN || !p->argv[1])
                return p->argv;
        command = command_find(p->argv[1]);
        words = command ? p->argv + 1 + option_skip(command, p->argv + 1) : p->argv;
        /* A shell has no words of its own: its line is how it was asked for. */
        return *words ? words : p->argv + 1;
}

/* What nsrun-bwrap's command line says of the network. */
static const char *bwrap_net(char *const *argv) {
        bool has_own = strv_contains(argv, "--unshare-net") ||
                       (strv_contains(argv, "--unshare-all") && !strv_contains(argv, "--share-net"));

        return strv_contains(argv, "--args") ? NULL : has_own ? "none" : "host";
}

static const char *const net_words[] = {
        [POLICY_NET_HOST] = "host", [POLICY_NET_NONE] = "none", [POLICY_NET_ALLOW] = "allow"};

struct known_session {
        pid_t init;
        char *id, *project;
        enum policy_net net;
};

void known_sessions_free(struct known_sessions *known) {
        for (size_t i = 0; i < known->n; i++) {
                free(known->items[i].id);
                free(known->items[i].project);
        }
        free(known->items);
}

/* One whose record can't be read has ended meanwhile. */
static int known_sessions_add(char *const *ids, struct known_sessions *known) {
        int r = 0;

        STRV_FOREACH (id, ids) {
                _cleanup_records_ struct record_folder folder = RECORD_FOLDER_INIT;
                _cleanup_record_ struct plan_record record = {0};

                if (session_read(*id, &folder, &record, NULL) >= 0) {
                        struct known_session one = {.init = record.init.pid, .net = record.plan->net};

                        one.id = strdup(*id);
                        one.project = record.plan->project ? strdup(record.plan->project) : NULL;
                        r = !one.id || (record.plan->project && !one.project) ||
                                            ARRAY_GROW(known->items, known->n) < 0
                                    ? -ENOMEM
                                    : 0;
                        if (r >= 0)
                                known->items[known->n++] = one;
                        else {
                                free(one.id);
                                free(one.project);
                        }
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

int known_sessions_read(struct known_sessions *ret, struct nsrun_error *err) {
        _cleanup_strv_ char **ids = NULL;
        int r = nsrun_session_list(&ids, err);

        if (r >= 0 && known_sessions_add(ids, ret) < 0)
                r = error_oom(err);
        return r;
}

/* A session is told by its pid 1. */
static int fill_session(struct ps_row *row, const struct known_sessions *known) {
        for (size_t i = 0; i < known->n; i++) {
                const struct known_session *one = &known->items[i];

                if (one->init != row->process->init)
                        continue;
                row->id = strdup(one->id);
                row->project = one->project ? strdup(one->project) : NULL;
                row->net = strdup(net_words[one->net]);
                return row->id && row->net && (row->project || !one->project) ? 0 : -ENOMEM;
        }
        return 0;
}

pid_t ps_number(const struct sandbox_process *p) {
        return p->kind == SANDBOX_LIBRARY ? p->init : p->supervisor;
}

/* From whoever waits for it. */
static void ask_facts(struct ps_row *row) {
        const struct sandbox_process *p = row->process;
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        _cleanup_strv_ char **degraded = NULL;

        if (p->kind == SANDBOX_BWRAP) {
                const char *net = p->argv ? bwrap_net(p->argv) : NULL;

                row->net = net ? strdup(net) : NULL;
                return;
        }
        if (shown_read(p->supervisor, p->init, &plan, &degraded, NULL) >= 0) {
                row->project = TAKE_PTR(plan->project);
                row->net = (size_t)plan->net < ARRAY_SIZE(net_words) ? strdup(net_words[plan->net]) : NULL;
        }
}

int ps_row_fill(struct ps_row *row, const struct known_sessions *known) {
        static const char *const kinds[] = {[SANDBOX_RUN] = "run",
                                            [SANDBOX_BWRAP] = "bwrap",
                                            [SANDBOX_SESSION] = "session",
                                            [SANDBOX_LIBRARY] = "library"};
        const struct sandbox_process *p = row->process;
        int r = 0;

        row->kind = kinds[p->kind];
        if (p->kind == SANDBOX_RUN && p->argv && p->argv[1] && command_find(p->argv[1]))
                row->kind = command_find(p->argv[1])->name;
        if (p->kind == SANDBOX_SESSION)
                r = fill_session(row, known);
        else
                ask_facts(row);
        row->is_guessed = !row->project && p->cwd && p->kind != SANDBOX_SESSION;
        if (r >= 0 && row->is_guessed)
                row->project = strdup(p->cwd);
        if (p->kind != SANDBOX_SESSION)
                row->command = command_of(p);
        if (r >= 0 && !row->id && !(row->id = str_format("%d", (int)ps_number(p))))
                r = -ENOMEM;
        return r;
}

void ps_row_clear(struct ps_row *row) {
        free(row->id);
        free(row->project);
        free(row->net);
        *row = (struct ps_row){.process = NULL};
}

static char *shown_words(char *const *words) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *text = NULL;

        for (char *const *word = words; word && *word; word++) {
                strbuf_add(&b, word == words ? "" : " ");
                strbuf_add(&b, *word);
        }
        text = strbuf_finish(&b);
        return text ? short_text(text, SHOWN_MOST) : NULL;
}

char *ps_row_words(const struct ps_row *row) {
        _cleanup_free_ char *project = str_visible(row->project ? row->project : "-"),
                            *command = shown_words(row->command);

        return project && command ? str_format("%s%s%s%s", project, *command ? "  " : "", command,
                                               row->process->is_stopped ? " (stopped)" : "")
                                  : NULL;
}
