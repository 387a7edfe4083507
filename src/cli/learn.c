/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun learn`: a command is run in a wider view and watched, and what it used becomes a configuration. */
#include <sys/wait.h>

#include "explain/watch.h"
#include "learned_file.h"
#include "option.h"
#include "plan/plan.h"
#include "protect/learn_view.h"
#include "run/run.h"
#include "run/supervise.h"
#include "terminal/pty.h"

struct learn_options {
        const char *output; /* NULL: standard output, or `update` */
        const char *update;
        int timeout;
};

static int cli_learn_apply_output(void *target, nsrun_unused const struct option_spec *spec,
                                  const char *value, nsrun_unused struct nsrun_error *err) {
        struct learn_options *options = target;

        options->output = value;
        return 0;
}

/* The file is --config's, too: see learn_main(). */
static int apply_update(void *target, nsrun_unused const struct option_spec *spec, const char *value,
                        nsrun_unused struct nsrun_error *err) {
        struct learn_options *options = target;

        options->update = value;
        return 0;
}

static int cli_learn_apply_timeout(void *target, const struct option_spec *spec, const char *value,
                                   struct nsrun_error *err) {
        struct learn_options *options = target;
        int r = option_seconds(&options->timeout, spec, value, err);

        if (r < 0 || options->timeout >= 1)
                return r;
        return error_setf(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL, NULL,
                          "timeout must be >= 1, got %d", options->timeout);
}

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
                (void)fprintf(stderr, "nsrun: note: what the command asked for can't be read here "
                                      "(kernel.yama.ptrace_scope is 3?)\n");
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
                r = learned_file_write(file, text, err);
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

/* Parses a command line, with --config=`config` first where that isn't NULL. */
static int learn_parse(const struct command *command, char **argv, const char *config,
                       struct nsrun_policy **ret, struct learn_options *options,
                       struct common_options *common, struct nsrun_error *err) {
        _cleanup_free_ char **words = NULL;
        struct nsrun_policy *policy = NULL;
        size_t n = 0, at = 0;

        while (argv[n])
                n++;
        words = calloc(n + 3, sizeof(*words));
        if (!words || nsrun_policy_new(&policy) < 0)
                return error_oom(err);
        policy->keeps_said = true;
        words[at++] = argv[0];
        if (config) {
                words[at++] = (char *)(uintptr_t) "--config";
                words[at++] = (char *)(uintptr_t)config;
        }
        memcpy(words + at, argv + 1, (n - 1) * sizeof(*words));
        *ret = policy;
        return option_parse_command(command, words, (void *const[]){policy, options, common}, err);
}

int learn_main(const struct command *command, char **argv) {
        struct nsrun_policy *policy = NULL;
        struct learn_options options = {.output = NULL};
        struct common_options common = {0};
        struct nsrun_error err = {0};
        int status = 0, r;

        r = learn_parse(command, argv, NULL, &policy, &options, &common, &err);
        if (r == 0 && options.update) {
                (void)nsrun_policy_free(policy);
                policy = NULL;
                r = learn_parse(command, argv, options.update, &policy, &options, &common, &err);
        }
        if (r == 0)
                r = learn(policy, &options, &status, &err);
        (void)nsrun_policy_free(policy);
        if (r < 0)
                return option_fail(&err);
        return common.wants_help || common.wants_version ? help_answer(command, &common) : status;
}
