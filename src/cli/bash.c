/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun bash`: one command of an agent, and its result as a text for a model or as JSON for its
 * host. */
#include "agent/bash.h"

#include <inttypes.h>

#include "base/sys.h"
#include "bash_stream.h"
#include "confirm.h"
#include "option.h"
#include "resolve/no_sandbox.h"
#include "run/deadline.h"

struct bash_options {
        struct nsrun_bash_options options;
        struct passed_fds passed;
        const char *confirm; /* NULL: not given */
        struct confirmer confirmer;
        sigset_t mask; /* the caller's */
        enum nsrun_format format;
        bool wants_description, is_streamed, asks;
        struct bash_stream stream;
};

static void bash_options_clear(struct bash_options *o) {
        free(o->passed.fds);
        bash_stream_clear(&o->stream);
}

/* A timeout that is out of bounds is refused by nsrun_bash(), in the words that a model gets. */
OPTION_READS(cli_bash_apply_timeout, struct bash_options, options.timeout, option_seconds);

static int apply_confirm(void *target, const struct option_spec *spec, const char *value,
                         struct nsrun_error *err) {
        struct bash_options *o = target;

        if (!*value)
                return option_refuse(spec, value, "names no program", NULL, err);
        o->confirm = value;
        return 0;
}

OPTION_READS(cli_bash_apply_pass_fd, struct bash_options, passed, option_pass_fd);

OPTION_TEXT(apply_description, struct bash_options, options.description);

OPTION_SETS(cli_bash_apply_json, struct bash_options, format, NSRUN_FORMAT_JSON);

static int apply_json_stream(void *target, const struct option_spec *spec, const char *value,
                             struct nsrun_error *err) {
        ((struct bash_options *)target)->is_streamed = true;
        return cli_bash_apply_json(target, spec, value, err);
}

OPTION_FLAG(cli_bash_apply_report, struct bash_options, options.wants_report);
OPTION_FLAG(cli_bash_apply_ask, struct bash_options, asks);
OPTION_FLAG(apply_detach, struct bash_options, options.detaches);

static int apply_until_port(void *target, const struct option_spec *spec, const char *value,
                            struct nsrun_error *err) {
        struct bash_options *o = target;
        uint64_t port;

        if (str_parse_number(value, false, &port) < 0 || port < 1 || port > UINT16_MAX)
                return option_refuse(spec, value, "no TCP port", "1 to 65535", err);
        o->options.until_port = (unsigned)port;
        return 0;
}

static int apply_until(void *target, const struct option_spec *spec, const char *value,
                       struct nsrun_error *err) {
        struct bash_options *o = target;

        if (!*value)
                return option_refuse(spec, value, "every output has it", NULL, err);
        o->options.until_text = value;
        return 0;
}

OPTION_FLAG(apply_describe, struct bash_options, wants_description);

const struct option_spec bash_options[] = {
        {"timeout", 0, "SECONDS", OPTION_COMPLETES_NOTHING, "Command",
         "end the command after SECONDS, 1 to 600; the default is 120", cli_bash_apply_timeout},
        {"confirm", 0, "never|tty|PROGRAM", OPTION_COMPLETES_CHOICE, "Command",
         "ask before the command starts: on the terminal, or a program that exits with 0 for yes",
         apply_confirm},
        {"description", 0, "TEXT", OPTION_COMPLETES_NOTHING, "Command", "a short label for the question",
         apply_description},
        {"ask", 0, NULL, OPTION_COMPLETES_NOTHING, "Command",
         "with --session and --kill-leftovers: have 'nsrun session ask' ask about files that the command doesn't find",
         cli_bash_apply_ask},
        {"detach", 0, NULL, OPTION_COMPLETES_NOTHING, "Background",
         "with --session: start the command in the background, with a log for its output", apply_detach},
        {"until-port", 0, "PORT", OPTION_COMPLETES_NOTHING, "Background",
         "with --detach: return when something listens on this TCP port of localhost", apply_until_port},
        {"until", 0, "TEXT", OPTION_COMPLETES_NOTHING, "Background",
         "with --detach: return when the command has printed TEXT", apply_until},
        {"pass-fd", 0, "FD", OPTION_COMPLETES_NOTHING, "Environment",
         "give the command the open descriptor FD under the same number; may be given again",
         cli_bash_apply_pass_fd},
        {"json", 0, NULL, OPTION_COMPLETES_NOTHING, "Output", "print the result as one JSON object",
         cli_bash_apply_json},
        {"json-stream", 0, NULL, OPTION_COMPLETES_NOTHING, "Output",
         "print a JSON object a line while the command runs: start, output, asked, reason, end",
         apply_json_stream},
        {"describe", 0, NULL, OPTION_COMPLETES_NOTHING, "Output",
         "run nothing: print what a model has to know of this tool, with --json the schema of its parameters",
         apply_describe},
        {"report", 0, NULL, OPTION_COMPLETES_NOTHING, "Output",
         "with --json and --json-stream: tell of the calls that seccomp denied", cli_bash_apply_report},
};
const size_t n_bash_options = ARRAY_SIZE(bash_options);

/* Nothing has been started yet, and may have to wait for ever: a signal ends nsrun, and the
 * program, as usual. */
static int confirm(const char *prompt, void *data) {
        const struct bash_options *o = data;
        sigset_t blocked;
        int r, answer;

        r = sys_sigmask(SIG_SETMASK, &o->mask, &blocked);
        if (r < 0)
                return r;
        answer = streq(o->confirm, "tty") ? confirm_on_terminal(prompt)
                                          : confirm_by_program(&o->confirmer, prompt);
        r = sys_sigmask(SIG_SETMASK, &blocked, NULL);
        return r < 0 ? r : answer;
}

static int tell_asked(const char *name, const char *program, void *data) {
        return bash_stream_ask(&((struct bash_options *)data)->stream, name, program);
}

static void tell_output(const char *bytes, size_t n, void *data) {
        bash_stream_output(&((struct bash_options *)data)->stream, bytes, n);
}

static void tell_start(void *data) {
        bash_stream_start(&((struct bash_options *)data)->stream);
}

/* What ends the command as its deadline does.  Who ignores one of these goes on doing so; but a stream's end
 * is a reader that has gone. */
static void ending_signals(sigset_t *set, bool is_streamed) {
        static const int all[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

        (void)sigemptyset(set);
        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
                struct sigaction action = {.sa_handler = SIG_DFL};

                (void)sigaction(all[i], NULL, &action);
                if (action.sa_handler != SIG_IGN)
                        (void)sigaddset(set, all[i]);
        }
        if (is_streamed) {
                (void)signal(SIGPIPE, SIG_DFL);
                (void)sigaddset(set, SIGPIPE);
        }
}

/* A signal that came is never read from the signalfd: it is still there when they are let through
 * again, and ends nsrun as it would have done at first. */
static int run_with_signals(const struct nsrun_policy *policy, struct bash_options *o, const char *command,
                            struct bash_params *params, struct nsrun_bash_result *result,
                            struct nsrun_error *err) {
        struct sigaction standard = {.sa_handler = SIG_DFL};
        _cleanup_close_ int fd = -EBADF;
        sigset_t set;
        int r;

        (void)sigaction(SIGCHLD, &standard, NULL);
        ending_signals(&set, o->is_streamed);
        r = sys_sigmask(SIG_BLOCK, &set, &o->mask);
        if (r >= 0)
                r = fd = sys_signalfd(&set);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "no signalfd",
                                 FILTER_HINT_FOR(r, "signalfd4"));
        params->cancel_fd = o->stream.cancel_fd = fd;
        r = bash_run(policy, command, params, result, err);
        (void)sys_sigmask(SIG_SETMASK, &o->mask, NULL);
        return r;
}

/* The text alone, so that it can be compared and passed on as it is; a person at a terminal gets a
 * last newline, and JSON is a line. */
static int print_bash_result(struct bash_options *o, struct nsrun_bash_result *result,
                             const struct nsrun_error *failure, struct nsrun_error *err) {
        enum nsrun_format format = o->format;
        _cleanup_free_ char *text = NULL;
        size_t n = 0;
        int r;

        if (o->is_streamed)
                return bash_stream_end(&o->stream, result, failure, err);
        r = nsrun_bash_format(result, failure, format, &text, &n, err);
        if (r < 0)
                return r;
        (void)fwrite(text, 1, n, stdout);
        if (format == NSRUN_FORMAT_JSON || isatty(1))
                (void)putchar('\n');
        return 0;
}

/* That there is no sandbox comes first, and was told before anybody was asked.  What the network refused is
 * of the command, and stands in its result alone. */
static void cli_bash_warn(const struct nsrun_bash_result *result) {
        STRV_FOREACH (note, result->notes)
                if ((!result->no_sandbox || note != result->notes) && !startswith(*note, "network: "))
                        (void)fprintf(stderr, "nsrun: note: %s\n", *note);
}

static int status_of(const struct nsrun_bash_result *result) {
        if (result->timed_out)
                return EXIT_TIMED_OUT;
        /* Not ready is a failure, also where the command's own end was none. */
        if (result->detached && (result->is_ready || result->status == 0))
                return result->is_ready ? 0 : 1;
        return result->signal > 0 ? 128 + result->signal : result->status;
}

static int cli_run_bash(const struct nsrun_policy *policy, struct bash_options *o, const char *command,
                        int *ret_status, struct nsrun_error *err) {
        struct bash_params params = {
                .options = &o->options,
                .start = {.launch = {.pass_fds = o->passed.fds,
                                     .n_pass_fds = o->passed.n,
                                     .wants_denials = o->options.wants_report,
                                     .dies_with_thread = true,
                                     .command_line = program_arguments,
                                     .command_line_size = program_arguments_size},
                          .owns_pass_fds = true,
                          .asks_files = o->asks,
                          .may_move = true},
        };
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        struct nsrun_error failure = {0};
        int r;

        if (policy->no_sandbox)
                (void)fprintf(stderr, "nsrun: warning: %s\n", policy_no_sandbox_warning);
        if (!o->confirm)
                o->confirm = policy->no_sandbox ? "tty" : "never";
        if (!streq(o->confirm, "never"))
                o->options.confirm = confirm;
        if (o->options.confirm && !streq(o->confirm, "tty")) {
                o->confirmer.program = o->confirm;
                params.confirmer = &o->confirmer;
        }
        if (o->is_streamed) {
                o->options.output = tell_output;
                o->options.ask = tell_asked;
                o->options.started = tell_start;
                o->stream.timeout = o->options.timeout;
                o->stream.has_sandbox = !policy->no_sandbox;
        }
        o->options.data = o;
        r = run_with_signals(policy, o, command, &params, &result, &failure);
        /* The text has them, too: a person at a terminal reads both. */
        if (r < 0 || o->format == NSRUN_FORMAT_JSON || !isatty(1) || !isatty(2))
                cli_bash_warn(&result);
        *ret_status = r < 0 ? EXIT_NSRUN : status_of(&result);
        r = print_bash_result(o, &result, r < 0 ? &failure : NULL, err);
        nsrun_bash_result_clear(&result);
        free(TAKE_PTR(o->confirmer.path));
        return r;
}

/* The description is of a tool: what confirms its commands is not asked here. */
static int print_description(struct nsrun_policy *policy, struct bash_options *o, struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL;
        int r;

        if (o->options.timeout < 1 || o->options.timeout > NSRUN_BASH_TIMEOUT_MOST)
                return error_setf(
                        err, NSRUN_STAGE_USAGE, -EINVAL, NULL, NULL,
                        "--timeout takes 1 to %d seconds, and this is the default for each command",
                        NSRUN_BASH_TIMEOUT_MOST);
        if (o->confirm ? !streq(o->confirm, "never") : policy->no_sandbox)
                o->options.confirm = confirm;
        r = nsrun_bash_describe(policy, &o->options, o->format, &text, err);
        if (r >= 0)
                (void)puts(text);
        return r;
}

/* A mistake in options or a configuration becomes the result's error text, like any other refusal: who
 * reads JSON, once it is known, reads no text beside it. */
static int answer_in_json(struct invocation *i, struct nsrun_error *err) {
        const struct bash_options *o = i->options;
        const struct nsrun_error failure = *err;

        if (o->format != NSRUN_FORMAT_JSON)
                return -EINVAL;
        *err = (struct nsrun_error){0};
        i->status = EXIT_NSRUN;
        return print_bash_result(i->options, NULL, &failure, err);
}

static int check_usage(const struct invocation *i, struct nsrun_error *err) {
        const struct bash_options *o = i->options;
        char *const *words = i->words;

        if (o->options.wants_report && o->format != NSRUN_FORMAT_JSON)
                return option_usage_error(i->command, "--report", "only --json has room for it", err);
        if (o->wants_description && o->is_streamed)
                return option_usage_error(i->command, "--json-stream", "--describe runs no command", err);
        if (o->wants_description)
                return words[0] ? option_usage_error(i->command, "--describe", "it runs no command", err)
                                : 0;
        if (!words[0])
                return option_usage_error(i->command, NULL, "no command", err);
        if (o->asks && o->options.detaches)
                return option_usage_error(i->command, "--ask",
                                          "of a command in the background nobody is asked", err);
        if (o->asks && !i->policy->session)
                return option_usage_error(i->command, "--ask",
                                          "of a session's commands alone somebody can be asked", err);
        if (words[1])
                return option_usage_error(i->command, words[1],
                                          "one command string is enough, quoted for the shell", err);
        return 0;
}

static int check_and_run(struct invocation *i, struct nsrun_error *err) {
        struct bash_options *o = i->options;

        if (check_usage(i, err) < 0)
                return answer_in_json(i, err);
        if (o->wants_description)
                return print_description(i->policy, o, err);
        return cli_run_bash(i->policy, o, i->words[0], &i->status, err);
}

int bash_main(const struct command *command, char **argv) {
        _cleanup_(bash_options_clear) struct bash_options options = {.options = NSRUN_BASH_OPTIONS_INIT,
                                                                     .format = NSRUN_FORMAT_TEXT};

        return command_main(&(struct invocation){.command = command,
                                                 .argv = argv,
                                                 .options = &options,
                                                 .run = check_and_run,
                                                 .prepare = policy_set_for_agent,
                                                 .failed = answer_in_json});
}
