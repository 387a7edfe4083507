/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One command of an agent: refusals, confirmation, start, watch, result.  Safe in a host program
 * with threads. */
#include "bash.h"

#include <sys/wait.h>

#include "base/programs.h"
#include "explain/missing_program.h"
#include "explain/output.h"
#include "probe.h"
#include "run/sized.h"

static const struct nsrun_bash_options no_options = NSRUN_BASH_OPTIONS_INIT;

/* Refuses in the words of pikuri's Code::Bash, without an errno, whose text would add nothing. */
static int bash_refuse(struct nsrun_error *err, enum nsrun_stage stage, int r, const char *what) {
        return error_set(err, stage, UNSAID(r), NULL, what, NULL);
}

static int bash_check(const char *command, long timeout, struct nsrun_error *err) {
        char what[80];

        if (command[strspn(command, " \t\n\v\f\r")] == '\0')
                return bash_refuse(err, NSRUN_STAGE_USAGE, -EINVAL, "empty bash command.");
        if (timeout >= 1 && timeout <= NSRUN_BASH_TIMEOUT_MOST)
                return 0;
        if (timeout < 1)
                (void)snprintf(what, sizeof(what), "timeout must be >= 1, got %ld", timeout);
        else
                (void)snprintf(what, sizeof(what), "timeout must be <= %d, got %ld", NSRUN_BASH_TIMEOUT_MOST,
                               timeout);
        return bash_refuse(err, NSRUN_STAGE_USAGE, -EINVAL, what);
}

static int ask(const struct nsrun_bash_options *options, const struct confirmer *confirmer,
               const char *command, struct nsrun_error *err) {
        _cleanup_free_ char *prompt = NULL;
        int r;

        if (!options->confirm)
                return 0;
        prompt = bash_prompt(command, options->description, options->timeout);
        if (!prompt)
                return error_oom(err);
        r = options->confirm(prompt, options->data);
        if (r < 0)
                return confirmer_error(confirmer, r, err);
        return r > 0 ? 0
                     : bash_refuse(err, NSRUN_STAGE_USAGE, -ECANCELED, "user declined the bash command.");
}

/* Each command begins at the project's root, whatever earlier ones did. */
int bash_refuse_chdir(const struct nsrun_policy *policy, struct nsrun_error *err) {
        if (!policy->chdir)
                return 0;
        return error_set(err, NSRUN_STAGE_USAGE, -EINVAL, NULL,
                         "--chdir is not for bash: its commands begin at the project's root",
                         "use cd in the command");
}

static int bash_fill_result(struct nsrun_bash_result *ret, const struct agent_command *c,
                            const struct command_result *seen, const char *command, long timeout,
                            struct nsrun_error *err) {
        struct nsrun_bash_result result = {
                .size = sizeof(result),
                .status = -1,
                .timed_out = seen->timed_out,
                .timeout = (int)timeout,
                .duration_ms = seen->duration_ms,
                .bytes_total = seen->capture.total,
        };

        if (WIFSIGNALED(c->status))
                result.signal = WTERMSIG(c->status);
        else
                result.status = WEXITSTATUS(c->status);
        result.command = strdup(command);
        if (!result.command ||
            capture_finish(&seen->capture, &result.output, &result.output_size, &result.bytes_omitted) < 0) {
                nsrun_bash_result_clear(&result);
                return error_oom(err);
        }
        *ret = result;
        return 0;
}

/* Watches a command that was started until it has ended, and fills in the result. */
static int follow(struct agent_command *c, const struct bash_params *params,
                  const struct nsrun_bash_options *options, const char *command,
                  struct nsrun_bash_result *ret, bool *ret_was_held, struct nsrun_error *err) {
        const struct command_params how = {
                .timeout = (unsigned)options->timeout,
                .cancel_fd = params->cancel_fd,
                .output = options->output,
                .ask = options->ask,
                .started = options->started,
                .data = options->data,
        };
        _cleanup_free_ struct command_result *seen = calloc(1, sizeof(*seen));
        int r;

        if (!seen)
                return error_oom(err);
        r = command_watch(c, &how, seen, err);
        if (r >= 0 && seen->was_cancelled)
                r = bash_refuse(err, NSRUN_STAGE_SUPERVISE, -ECANCELED, "the bash command was cancelled.");
        if (r >= 0)
                r = bash_fill_result(ret, c, seen, command, options->timeout, err);
        *ret_was_held = seen->was_held;
        return r;
}

/* Why a command failed, as far as the sandbox is the cause.  One that succeeds pays nothing for it, unless
 * git says that it had no login. */
static int bash_add_reasons(struct nsrun_plan *plan, const struct nsrun_policy *policy,
                            struct nsrun_bash_result *ret, struct nsrun_error *err) {
        const struct explained e = {
                .plan = plan,
                .output = ret->output,
                .size = ret->output_size,
                .search = environment_get(policy->host_environ ? policy->host_environ : environ, "PATH"),
                .libraries = environment_get(policy->host_environ ? policy->host_environ : environ,
                                             "LD_LIBRARY_PATH"),
                .agent = environment_get(policy->host_environ ? policy->host_environ : environ,
                                         "SSH_AUTH_SOCK"),
                .bus = environment_get(policy->host_environ ? policy->host_environ : environ,
                                       "DBUS_SESSION_BUS_ADDRESS"),
                .signal = ret->signal > 0     ? ret->signal
                          : ret->status > 128 ? ret->status - 128
                                              : 0,
                .oom_killed = ret->oom_killed,
                .has_succeeded = ret->status == 0,
        };
        int r = 0;

        if (ret->no_sandbox || (e.has_succeeded && !explain_lacks_a_login(ret->output, ret->output_size)))
                return 0;
        if (plan->join)
                r = plan_load_operations(plan, err);
        if (r >= 0 && explain_output(&e, &ret->reasons) < 0)
                r = error_oom(err);
        if (r < 0)
                nsrun_bash_result_clear(ret);
        return r;
}

int bash_explain(const struct nsrun_policy *policy, struct nsrun_bash_result *result,
                 struct nsrun_error *err) {
        _cleanup_bash_command_ struct bash_command bash = {.program = NULL};
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        const struct policy_request request = {
                .policy = policy, .argv = bash.argv, .unset = bash_unset, .usual = bash_usual};
        int r = bash_command_make(policy, "", &bash, err);

        if (r >= 0)
                r = plan_make(&request, &plan, err);
        return r < 0 ? r : bash_add_reasons(plan, policy, result, err);
}

/* Adds what only a sandbox can tell: whether memory ran out, the notes (of the environment where the
 * command failed), and the calls that were denied. */
static int agent_bash_add_details(struct agent_command *c, bool was_held, struct nsrun_bash_result *ret,
                                  struct nsrun_error *err) {
        static const char held
                [] = "the command had ended, but a background process still held its output: "
                     "start one as 'COMMAND >FILE 2>&1 &'",
            held_in_session[] =
                    "the command had ended, but a background process still held its output: "
                    "start one as 'COMMAND >FILE 2>&1 &', or a server in the background (--detach, run_in_background)";
        /* SIGKILL ended bash, or the last command that bash ran; but it wasn't sent by nsrun for
         * the deadline. */
        bool was_killed = !ret->timed_out && (ret->signal == SIGKILL || ret->status == 128 + SIGKILL);
        int r = 0;

        ret->no_sandbox = c->plan->plain != NULL;
        ret->oom_killed = run_ran_out_of_memory(&c->run, was_killed);
        if (c->run.denials)
                r = denials_format(c->run.denials, &ret->report, err);
        command_finish(c);
        /* An agent reads this with each of its commands, of which most do without. */
        if (r >= 0 && (ret->timed_out || ret->signal > 0 || ret->status != 0))
                r = run_note_environment(&c->run, c->plan, err);
        if (r >= 0)
                ret->notes = TAKE_PTR(c->run.notes);
        if (r >= 0)
                ret->dropped = TAKE_PTR(c->run.dropped.paths);
        if (r >= 0)
                ret->degraded = TAKE_PTR(c->run.degraded);
        if (r >= 0 && was_held && strv_add(&ret->notes, c->plan->join ? held_in_session : held) < 0)
                r = error_oom(err);
        STRV_FOREACH (warning, c->plan->seccomp.warnings)
                if (r >= 0 && strv_add(&ret->notes, *warning) < 0)
                        r = error_oom(err);
        if (r < 0)
                nsrun_bash_result_clear(ret);
        return r;
}

static int run_contained(const struct policy_request *request, const char *command,
                         const struct bash_params *params, const struct nsrun_bash_options *options,
                         struct nsrun_bash_result *ret, struct nsrun_error *err) {
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        struct run_params start = params->start;
        struct nsrun_plan *plan = NULL;
        struct agent_command running;
        bool was_held = false;
        int r = plan_make(request, &plan, err);

        if (r < 0)
                return r;
        start.can_ask = options->ask;
        start.launch.wants_started = options->started;
        r = command_start(plan, &start, &running, err);
        if (r >= 0) {
                r = follow(&running, params, options, command, &result, &was_held, err);
                if (r >= 0)
                        r = agent_bash_add_details(&running, was_held, &result, err);
                if (r >= 0)
                        r = bash_add_reasons(plan, request->policy, &result, err);
                command_end(&running);
        }
        if (r < 0)
                explain_missing_program(plan, err);
        (void)nsrun_plan_free(plan);
        if (r >= 0)
                *ret = result;
        return r;
}

int bash_run(const struct nsrun_policy *policy, const char *command, const struct bash_params *params,
             struct nsrun_bash_result *ret, struct nsrun_error *err) {
        const struct nsrun_bash_options *options = params->options ? params->options : &no_options;
        _cleanup_bash_command_ struct bash_command bash = {.program = NULL};
        const struct policy_request request = {
                .policy = policy, .argv = bash.argv, .unset = bash_unset, .usual = bash_usual};
        int r = bash_command_make(policy, command, &bash, err);

        if (r < 0)
                return r;
        r = bash_check(command, options->timeout, err);
        if (r >= 0)
                r = bash_refuse_chdir(policy, err);
        if (r >= 0)
                r = bash_check_detached(policy, options, params, err);
        if (r >= 0 && params->confirmer)
                r = confirmer_find(params->confirmer, policy->no_sandbox ? NULL : &request, err);
        if (r >= 0)
                r = ask(options, params->confirmer, command, err);
        if (r < 0)
                return r;
        return options->detaches ? bash_run_detached(&request, command, params, options, ret, err)
                                 : run_contained(&request, command, params, options, ret, err);
}

nsrun_public int nsrun_bash(const struct nsrun_policy *policy, const char *command,
                            const struct nsrun_bash_options *options, struct nsrun_bash_result *ret,
                            struct nsrun_error *error) {
        struct nsrun_bash_options own = NSRUN_BASH_OPTIONS_INIT;
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        struct bash_params params = {.options = &own, .start = {.launch = {.init_path = program_init()}}};
        struct nsrun_error own_error = {0};
        int r;

        if (!error)
                error = &own_error;
        r = options ? sized_take(&own, sizeof(own), options, "nsrun_bash_options", error) : 0;
        if (r >= 0)
                r = sized_check(ret, "nsrun_bash_result", error);
        if (r < 0)
                return r;
        params.start.launch.wants_denials = own.wants_report;
        params.start.launch.pass_fds = own.pass_fds;
        params.start.launch.n_pass_fds = own.n_pass_fds;
        params.cancel_fd = own.cancel_fd > 0 ? own.cancel_fd : -1;
        r = bash_run(policy, command, &params, &result, error);
        if (r >= 0)
                sized_move(ret, &result);
        nsrun_bash_result_clear(&result);
        return r;
}
