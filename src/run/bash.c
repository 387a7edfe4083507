/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way of one command: refusals, confirmation, start, watch, result.  Safe in a host with
 * threads, but for without_sandbox. */
#include "bash.h"

#include <signal.h>
#include <sys/wait.h>

#include "plain.h"
#include "programs.h"

static const struct nsrun_bash_options no_options = {.timeout = NSRUN_BASH_TIMEOUT};

/* A refusal in the words of the reference, to which strerror(3) has nothing to add. */
static int refuse(struct nsrun_error *err, enum nsrun_stage stage, int r, const char *what) {
        (void)error_set(err, stage, r, NULL, what, NULL);
        if (err)
                err->error = 0;
        return r;
}

static int check(const char *command, long timeout, struct nsrun_error *err) {
        char what[80];

        if (command[strspn(command, " \t\n\v\f\r")] == '\0')
                return refuse(err, NSRUN_STAGE_USAGE, -EINVAL, "empty bash command.");
        if (timeout >= 1 && timeout <= NSRUN_BASH_TIMEOUT_MOST)
                return 0;
        if (timeout < 1)
                (void)snprintf(what, sizeof(what), "timeout must be >= 1, got %ld", timeout);
        else
                (void)snprintf(what, sizeof(what), "timeout must be <= %d, got %ld", NSRUN_BASH_TIMEOUT_MOST,
                               timeout);
        return refuse(err, NSRUN_STAGE_USAGE, -EINVAL, what);
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
        return r > 0 ? 0 : refuse(err, NSRUN_STAGE_USAGE, -ECANCELED, "user declined the bash command.");
}

/* The project's root is where each command begins, whatever the ones before did. */
static int set_up(struct nsrun_policy *policy, const char *command, struct nsrun_error *err) {
        /* "--": also a command that begins with a dash is one. */
        const char *const argv[] = {"bash", "-c", "--", command, NULL};
        int r;

        if (policy->chdir)
                return error_set(err, NSRUN_STAGE_USAGE, -EINVAL, NULL,
                                 "--chdir is not for bash: its commands begin at the project's root",
                                 "use cd in the command");
        /* Files that a bash would read before the command. */
        r = nsrun_policy_set(policy, "unsetenv", "BASH_ENV", err);
        if (r >= 0)
                r = nsrun_policy_set(policy, "unsetenv", "ENV", err);
        if (r >= 0)
                r = nsrun_policy_set_command(policy, argv, err);
        return r;
}

static int fill(struct nsrun_bash_result *ret, const struct command_source *s,
                const struct command_result *seen, const char *command, long timeout,
                struct nsrun_error *err) {
        struct nsrun_bash_result result = {
                .status = -1,
                .timed_out = seen->timed_out,
                .timeout = (int)timeout,
                .duration_ms = seen->duration_ms,
                .bytes_total = seen->capture.total,
        };

        if (WIFSIGNALED(s->status))
                result.signal = WTERMSIG(s->status);
        else
                result.status = WEXITSTATUS(s->status);
        result.command = strdup(command);
        if (!result.command ||
            capture_finish(&seen->capture, &result.output, &result.output_size, &result.bytes_omitted) < 0) {
                nsrun_bash_result_clear(&result);
                return error_oom(err);
        }
        *ret = result;
        return 0;
}

/* From the start of the source to its end. */
static int follow(struct command_source *s, const struct bash_params *params,
                  const struct nsrun_bash_options *options, const char *command,
                  struct nsrun_bash_result *ret, struct nsrun_error *err) {
        const struct command_params how = {
                .timeout = (unsigned)options->timeout,
                .cancel_fd = params->cancel_fd,
                .output = options->output,
                .data = options->data,
        };
        _cleanup_free_ struct command_result *seen = calloc(1, sizeof(*seen));
        int r;

        if (!seen)
                return error_oom(err);
        r = command_watch(s, &how, seen, err);
        if (r >= 0 && seen->was_cancelled)
                r = refuse(err, NSRUN_STAGE_SUPERVISE, -ECANCELED, "the bash command was cancelled.");
        if (r >= 0)
                r = fill(ret, s, seen, command, options->timeout, err);
        return r;
}

/* What is of the sandbox alone: whether it ran out of memory, its notes, and the denied calls. */
static int add_details(struct contained *c, struct nsrun_bash_result *ret, struct nsrun_error *err) {
        /* The command, or what a shell told of its last one; but not our own SIGKILL. */
        bool was_killed = !ret->timed_out && (ret->signal == SIGKILL || ret->status == 128 + SIGKILL);
        int r = 0;

        ret->oom_killed = contained_ran_out_of_memory(c, was_killed);
        if (c->denials)
                r = denials_format(c->denials, &ret->report, err);
        if (r >= 0 && c->notes) {
                ret->notes = c->notes;
                c->notes = NULL;
        }
        STRV_FOREACH (warning, c->plan->seccomp.warnings)
                if (r >= 0 && strv_add(&ret->notes, *warning) < 0)
                        r = error_oom(err);
        if (r < 0)
                nsrun_bash_result_clear(ret);
        return r;
}

static int run_contained(struct nsrun_policy *policy, const char *command, const struct bash_params *params,
                         const struct nsrun_bash_options *options, struct nsrun_bash_result *ret,
                         struct nsrun_error *err) {
        struct nsrun_bash_result result = {0};
        struct nsrun_plan *plan = NULL;
        struct contained contained;
        int r;

        r = nsrun_plan_new(policy, &plan, err);
        if (r < 0)
                return r;
        r = contained_start(plan, &params->start, &contained, err);
        if (r >= 0) {
                r = follow(&contained.source, params, options, command, &result, err);
                if (r >= 0)
                        r = add_details(&contained, &result, err);
                contained.source.end(&contained.source);
        }
        (void)nsrun_plan_free(plan);
        if (r >= 0)
                *ret = result;
        return r;
}

/* The same bash, environment and folder, and nothing around them. */
static int run_plain(struct nsrun_policy *policy, const char *command, const struct bash_params *params,
                     const struct nsrun_bash_options *options, struct nsrun_bash_result *ret,
                     struct nsrun_error *err) {
        struct plain_params how = {.argv = policy->argv, .mask = params->start.mask};
        _cleanup_strv_ char **env = NULL;
        struct plain plain;
        int r;

        r = policy_resolve(policy, err);
        if (r < 0)
                return r;
        how.folder = policy->project ? policy->project : "/";
        STRV_FOREACH (entry, policy->host_environ ? policy->host_environ : environ)
                if (!startswith(*entry, "BASH_ENV=") && !startswith(*entry, "ENV=") &&
                    strv_add(&env, *entry) < 0)
                        return error_oom(err);
        how.env = env;
        r = plain_start(&how, &plain, err);
        if (r < 0)
                return r;
        r = follow(&plain.source, params, options, command, ret, err);
        plain.source.end(&plain.source);
        return r;
}

int bash_run(struct nsrun_policy *policy, const char *command, const struct bash_params *params,
             struct nsrun_bash_result *ret, struct nsrun_error *err) {
        const struct nsrun_bash_options *options = params->options ? params->options : &no_options;
        bool is_judged = params->confirmer && !params->without_sandbox;
        int r;

        r = check(command, options->timeout, err);
        if (r >= 0 && is_judged) {
                r = set_up(policy, command, err);
                if (r >= 0)
                        r = confirmer_find(params->confirmer, policy, err);
        }
        if (r >= 0)
                r = ask(options, params->confirmer, command, err);
        if (r >= 0 && !is_judged)
                r = set_up(policy, command, err);
        if (r < 0)
                return r;
        return params->without_sandbox ? run_plain(policy, command, params, options, ret, err)
                                       : run_contained(policy, command, params, options, ret, err);
}

nsrun_public int nsrun_bash(struct nsrun_policy *policy, const char *command,
                            const struct nsrun_bash_options *options, struct nsrun_bash_result *ret,
                            struct nsrun_error *error) {
        const struct bash_params params = {
                .options = options,
                .start = {.init_path = program_init(), .wants_denials = options && options->wants_report},
                .cancel_fd = options && options->cancel_fd > 0 ? options->cancel_fd : -1,
        };
        struct nsrun_error own = {0};

        return bash_run(policy, command, &params, ret, error ? error : &own);
}
