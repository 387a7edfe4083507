/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun run`: argv to policy to plan to a supervised run. */
#include "run/supervise.h"

#include <fcntl.h>

#include "option.h"
#include "plan/plan.h"

struct run_options {
        int status_fd; /* -1: none */
        bool is_verbose;
};

static int apply_status_fd(void *target, const struct option_spec *spec, const char *value,
                           struct nsrun_error *err) {
        struct run_options *options = target;
        char *end;
        long fd;

        errno = 0;
        fd = strtol(value, &end, 10);
        if (errno != 0 || *value < '0' || *value > '9' || *end || fd > INT32_MAX)
                return option_refuse(spec, value, "not the number of a file descriptor", NULL, err);
        /* The command must not get it. */
        if (fd > 2 && fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
                return option_refuse(spec, value, "no such file descriptor is open", NULL, err);
        options->status_fd = (int)fd;
        return 0;
}

static int apply_verbose(void *target, nsrun_unused const struct option_spec *spec,
                         nsrun_unused const char *value, nsrun_unused struct nsrun_error *err) {
        struct run_options *options = target;

        options->is_verbose = true;
        return 0;
}

const struct option_spec run_options[] = {
        {"status-fd", 0, "FD", OPTION_COMPLETES_NOTHING, "Output",
         "write what happens to FD as JSON, one object a line", apply_status_fd},
        {"verbose", 'v', NULL, OPTION_COMPLETES_NOTHING, "Output",
         "print the plan and what the environment lost on standard error first", apply_verbose},
};
const size_t n_run_options = ARRAY_SIZE(run_options);

static int print_plan(const struct nsrun_plan *plan, struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = nsrun_plan_format(plan, NSRUN_FORMAT_TEXT, &text, err);
        if (r < 0)
                return r;
        (void)fputs(text, stderr);
        return 0;
}

static int run(struct nsrun_policy *policy, const struct run_options *options, int *ret_status,
               struct nsrun_error *err) {
        const struct supervise_params params = {
                .status_fd = options->status_fd,
                .command_line = program_arguments,
                .command_line_size = program_arguments_size,
        };
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        int r;

        r = nsrun_plan_new(policy, &plan, err);
        if (r >= 0 && options->is_verbose)
                r = print_plan(plan, err);
        if (r < 0) {
                if (options->status_fd >= 0)
                        supervise_report_failure(options->status_fd, err);
                return r;
        }
        return supervise(plan, &params, ret_status, err);
}

static int parse_and_run(const struct command *command, char **argv, struct nsrun_policy *policy,
                         struct common_options *common, int *ret_status, struct nsrun_error *err) {
        struct run_options options = {.status_fd = -1};
        void *const targets[] = {policy, &options, common};
        size_t first = 0;
        int r;

        r = option_parse(command, argv, targets, &first, err);
        if (r == 0 && !argv[first])
                r = option_usage_error(command, NULL, "no command", err);
        if (r == 0)
                r = nsrun_policy_set_command(policy, (const char *const *)&argv[first], err);
        if (r == 0)
                return run(policy, &options, ret_status, err);
        if (r < 0 && options.status_fd >= 0)
                supervise_report_failure(options.status_fd, err);
        return r;
}

int run_main(const struct command *command, char **argv) {
        struct nsrun_policy *policy = NULL;
        struct common_options common = {0};
        struct nsrun_error err = {0};
        int status = 0, r;

        r = nsrun_policy_new(&policy);
        if (r < 0)
                (void)error_oom(&err);
        else
                r = parse_and_run(command, argv, policy, &common, &status, &err);
        (void)nsrun_policy_free(policy);
        if (r < 0)
                return option_fail(&err);
        return common.wants_help || common.wants_version ? help_answer(command, &common) : status;
}
