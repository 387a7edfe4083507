/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun learn`: a command is run in a wider view and watched, and what it used becomes a configuration. */
#include <sys/wait.h>

#include "explain/watch.h"
#include "learned_file.h"
#include "option.h"
#include "policy/config_section.h"
#include "protect/learn_view.h"
#include "run/run.h"
#include "run/supervise.h"

struct learn_options {
        const char *output; /* NULL: standard output, or `update` */
        const char *update;
        int timeout;
        bool is_read_again; /* the command line, with `update` as the configuration */
};

OPTION_TEXT(cli_learn_apply_output, struct learn_options, output);

OPTION_TEXT(apply_update, struct learn_options, update);

OPTION_READS(cli_learn_apply_timeout, struct learn_options, timeout, option_long_timeout);

const struct option_spec learn_options[] = {
        {"output", 'o', "FILE", OPTION_COMPLETES_PATH, "Output",
         "write the configuration to FILE, which is made (default: standard output, at the end)",
         cli_learn_apply_output},
        {"update", 0, "FILE", OPTION_COMPLETES_PATH, "Output",
         "go by the configuration FILE, and add to it what the command needs besides", apply_update},
        {"timeout", 0, "SECONDS", OPTION_COMPLETES_NOTHING, "Command",
         "end the command after SECONDS (default: never)", cli_learn_apply_timeout},
};
const size_t n_learn_options = ARRAY_SIZE(learn_options);

/* ------------------------------------------------------------------- what is learned */

static void take_watched(void *data, const struct run *run) {
        struct learned_file *f = data;
        const struct watch *watch = denials_watched(run->denials);

        f->has_failed = !run->has_exited || run->status != 0;
        if (learned_make(&watch->asked, f->wide, &f->learned) < 0 ||
            network_used(&run->network, &f->hosts, &f->refused) < 0 ||
            denials_explain(run->denials, &f->denied) < 0)
                (void)fprintf(stderr, "nsrun: note: no memory for all that was learned\n");
        f->wants_nested = f->has_failed && denials_want_nested(run->denials);
        if (watch->asked.others > 0)
                (void)fprintf(stderr, "nsrun: note: the command asked for more paths than can be kept: "
                                      "the configuration may lack some\n");
        if (watch->asked.calls > 0 && watch->n_read == 0)
                (void)fprintf(stderr, "nsrun: note: " WATCH_UNREAD "\n");
}

static void tell_learned(const struct learned_file *f, const char *file) {
        size_t n_not_given = strv_length(f->learned.not_given) + strv_length(f->refused),
               n_rules = f->learned.n_rules, n_hosts = strv_length(f->hosts);

        (void)fprintf(stderr, "nsrun: learned: %zu rule%s, %zu host%s", n_rules, n_rules == 1 ? "" : "s",
                      n_hosts, n_hosts == 1 ? "" : "s");
        if (n_not_given > 0)
                (void)fprintf(stderr, "; %zu asked for, not given", n_not_given);
        (void)fprintf(stderr, file ? ": %s\n" : "\n", file);
        STRV_FOREACH (line, f->learned.not_given) {
                _cleanup_free_ char *visible = str_visible(*line);

                (void)fprintf(stderr, "nsrun: %s\n", visible ? visible : "?");
        }
        if (f->has_failed)
                (void)fprintf(stderr, "nsrun: note: the command failed: what it would have used after that "
                                      "isn't known\n");
}

static int learn_give(const struct learned_file *f, const char *file, struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL;
        int r = learned_file_text(f, &text, err);

        if (r >= 0 && file)
                r = config_write(file, text, err);
        else if (r >= 0)
                (void)fputs(text, stdout);
        if (r >= 0)
                tell_learned(f, file);
        return r;
}

/* ------------------------------------------------------------------------- the run */

static int refuse_kind(const struct nsrun_policy *policy, struct nsrun_error *err) {
        if (!policy->session && !policy->no_sandbox && policy->profile == POLICY_PROFILE_CODE)
                return 0;
        return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL,
                         "nsrun learn runs a command in a sandbox of its own, in the profile code", NULL);
}

static int learn(struct nsrun_policy *policy, const struct learn_options *options, int *ret_status,
                 struct nsrun_error *err) {
        const char *named = options->output ? options->output : options->update;
        _cleanup_free_ char *file = NULL;
        struct policy_request request = {.policy = policy, .starts_here = true};
        _cleanup_pty_ struct pty pty = PTY_INIT;
        _cleanup_plan_ struct nsrun_plan *narrow = NULL, *wide = NULL;
        struct learned_file learned = {.policy = policy};
        struct supervise_params params = {
                .status_fd = -1,
                .report_fd = -1,
                .timeout = (unsigned)options->timeout,
                .watched = take_watched,
                .data = &learned,
                .command_line = program_arguments,
                .command_line_size = program_arguments_size,
        };
        int r = refuse_kind(policy, err);

        if (r >= 0 && policy_asks(policy))
                r = pty_open_for_asking(&pty, err);
        if (pty.slave >= 0) {
                params.pty = &pty;
                request.terminal = pty.path;
        }
        if (r >= 0)
                r = plan_make(&request, &narrow, err);
        if (r >= 0 && named)
                r = learned_file_check(narrow, named, options->output != NULL, &file, err);
        if (r < 0)
                return r;
        policy_widen(policy);
        r = plan_make(&request, &wide, err);
        if (r < 0)
                return r;
        learned.update = options->update ? file : NULL;
        learned.plan = params.watched_by = narrow;
        learned.wide = wide;
        r = supervise(wide, &params, ret_status, err);
        if (r >= 0)
                r = learn_give(&learned, file, err);
        learned_file_clear(&learned);
        return r;
}

static void prepare_learning(struct nsrun_policy *policy) {
        policy->keeps_said = true;
}

/* --update's file is --config's, too: then the command line is read again, with that one first. */
static int read_and_learn(struct invocation *i, struct nsrun_error *err) {
        struct learn_options *options = i->options;
        struct invocation again = *i;
        _cleanup_free_ char **words = NULL;
        size_t n = strv_length(i->argv);
        int r = command_set(i, err);

        if (r < 0)
                return r;
        if (!options->update || options->is_read_again)
                return learn(i->policy, options, &i->status, err);
        words = calloc(n + 3, sizeof(*words));
        if (!words)
                return error_oom(err);
        words[0] = i->argv[0];
        words[1] = (char *)(uintptr_t) "--config";
        words[2] = (char *)(uintptr_t)options->update;
        memcpy(words + 3, i->argv + 1, (n - 1) * sizeof(*words));
        options->is_read_again = true;
        again.argv = words;
        again.policy = NULL;
        i->status = command_main(&again);
        return 0;
}

COMMAND_MAIN(learn, &(struct learn_options){.output = NULL}, .run = read_and_learn,
             .prepare = prepare_learning);
