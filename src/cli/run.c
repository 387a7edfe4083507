/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun run`: argv to policy to plan to a supervised run. */
#include "run/supervise.h"

#include "base/file.h"
#include "base/responds.h"
#include "base/sys.h"
#include "proposal.h"
#include "resolve/refuse_config.h"
#include "run/status_fd.h"
#include "shell.h"
#include "terminal/asking.h"

static int apply_descriptor(int *to, const struct option_spec *spec, const char *value,
                            struct nsrun_error *err) {
        int fd, flags, r = option_fd(&fd, spec, value, err);

        if (r < 0)
                return r;
        flags = fcntl(fd, F_GETFL);
        if (flags >= 0 && ((flags & FILE_ACCESS) == O_RDONLY || (flags & O_PATH)))
                return option_refuse(spec, value, "this file descriptor is not open for writing", NULL, err);
        /* The status descriptor is nsrun's own: close-on-exec keeps it from the command. */
        if (fd > 2 && fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
                return option_refuse(spec, value, "no such file descriptor is open", NULL, err);
        *to = fd;
        return 0;
}

OPTION_READS(apply_status_fd, struct run_options, status_fd, apply_descriptor);

/* A number is a descriptor's.  A file is made or emptied: it may lie where a command
 * of an earlier run could plant a link to something better. */
static int cli_run_apply_report(void *target, const struct option_spec *spec, const char *value,
                                struct nsrun_error *err) {
        struct run_options *options = target;
        struct stat st;
        int fd, r;

        if (option_fd_number(value)) {
                options->report_fd = -1;
                return apply_descriptor(&options->report_fd, spec, value, err);
        }
        r = responds_in_time(AT_FDCWD, value, NULL, err);
        if (r < 0)
                return r;
        fd = sys_openat2(AT_FDCWD, value, O_WRONLY | O_CREAT | O_NOCTTY | O_NONBLOCK, 0600,
                         RESOLVE_NO_SYMLINKS);
        if (fd == -ENOSYS)
                fd = sys_open(AT_FDCWD, value, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK,
                              0600);
        if (fd < 0)
                return error_set(err, NSRUN_STAGE_USAGE, fd, value, "--report: the file can't be opened",
                                 fd == -ELOOP ? "it is reached through a symlink: name the real path"
                                              : NULL);
        options->report_fd = fd;
        options->owns_report = true;
        if (sys_fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || ftruncate(fd, 0) < 0)
                return option_refuse(spec, value, "no plain file",
                                     "give a descriptor's number for anything else", err);
        return 0;
}

OPTION_READS(cli_run_apply_pass_fd, struct run_options, passed, option_pass_fd);

/* Bounded by what an int holds alone: a job may take days. */
OPTION_READS(cli_run_apply_timeout, struct run_options, timeout, option_long_timeout);

OPTION_FLAG(apply_pty, struct run_options, wants_terminal);
OPTION_FLAG(apply_explain, struct run_options, explains);
OPTION_FLAG(apply_ask, struct run_options, asks);
OPTION_FLAG(apply_verbose, struct run_options, is_verbose);
OPTION_FLAG(apply_debug, struct run_options, is_debugging);

const struct option_spec run_options[] = {
        {"timeout", 0, "SECONDS", OPTION_COMPLETES_NOTHING, "Command",
         "end the command after SECONDS (default: never)", cli_run_apply_timeout},
        {"pty", 't', NULL, OPTION_COMPLETES_NOTHING, "Isolation",
         "give the command a terminal of its own, so that yours is out of its reach", apply_pty},
        {"ask", 0, NULL, OPTION_COMPLETES_NOTHING, "Paths",
         "ask at the terminal about files that the command doesn't find and the host has: a yes shows them, read-only or as it says",
         apply_ask},
        {"pass-fd", 0, "FD", OPTION_COMPLETES_NOTHING, "Environment",
         "give the command the open descriptor FD under the same number; may be given again",
         cli_run_apply_pass_fd},
        {"status-fd", 0, "FD", OPTION_COMPLETES_NOTHING, "Output",
         "write what happens to FD as JSON, one object a line", apply_status_fd},
        {"report", 0, "FILE|FD", OPTION_COMPLETES_PATH, "Output",
         "tell of the calls that seccomp denied, at the end: JSON, one kind a line, to a file or a descriptor",
         cli_run_apply_report},
        {"explain", 0, NULL, OPTION_COMPLETES_NOTHING, "Output",
         "say what of a failure the sandbox caused and which option allows it", apply_explain},
        {"verbose", 'v', NULL, OPTION_COMPLETES_NOTHING, "Output",
         "print the plan and what the environment lost on standard error first", apply_verbose},
        {"debug", 0, NULL, OPTION_COMPLETES_NOTHING, "Output",
         "print what is mounted where on standard error first, as one line of JSON", apply_debug},
};
const size_t n_run_options = ARRAY_SIZE(run_options);

static int print_plan(const struct nsrun_plan *plan, struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL;
        int r = nsrun_plan_format(plan, NSRUN_FORMAT_TEXT, &text, err);

        if (r < 0)
                return r;
        (void)fputs(text, stderr);
        return 0;
}

static int print_log(const struct nsrun_plan *plan, struct nsrun_error *err) {
        _cleanup_free_ char *line = NULL;
        int r = plan_print_log(plan, &line, err);

        if (r >= 0)
                (void)fprintf(stderr, "%s\n", line);
        return r;
}

static int run_with_terminal(const struct nsrun_policy *policy, const struct run_options *options,
                             struct pty *pty, int *ret_status, struct nsrun_error *err) {
        struct supervise_params params = {
                .status_fd = options->status_fd,
                .report_fd = options->report_fd,
                .explains = options->explains,
                .asks = options->asks,
                .is_shell = options->is_shell,
                .is_verbose = options->is_verbose,
                .timeout = (unsigned)options->timeout,
                .pass_fds = options->passed.fds,
                .n_pass_fds = options->passed.n,
                .command_line = program_arguments,
                .command_line_size = program_arguments_size,
        };
        const struct policy_request request = {.policy = policy,
                                               .starts_here = true,
                                               .terminal = pty->slave >= 0 ? pty->path : NULL,
                                               .is_plain = policy_is_plain(policy)};
        _cleanup_resolved_ struct resolved resolved = {0};
        static struct nsrun_plan *plan; /* its end is the process's */
        int r;

        /* A configuration that a command of an earlier run could have written must not switch the isolation
         * off. */
        r = request.is_plain ? refuse_plain_config(policy, err) : 0;
        if (r >= 0)
                r = policy_resolve(&request, &resolved, err);
        if (r >= 0)
                r = plan_from(&resolved, &plan, err);
        resolved_clear(&resolved);
        resolved = (struct resolved){0};
        /* Whether a session asks its record says. */
        if (r >= 0 && plan->join && plan_asks(plan) && plan->new_session)
                r = pty_open_for_asking(pty, err);
        params.pty = pty->slave >= 0 ? pty : NULL;
        if (r >= 0 && options->is_verbose)
                r = print_plan(plan, err);
        if (r >= 0 && options->is_debugging)
                r = print_log(plan, err);
        if (r < 0) {
                supervise_report_failure(options->status_fd, err);
                return r;
        }
        proposal_note(policy, plan->project);
        STRV_FOREACH (warning, plan->seccomp.warnings)
                (void)fprintf(stderr, "nsrun: warning: %s: %s\n", plan->seccomp_name, *warning);
        return supervise(plan, &params, ret_status, err);
}

int run_sandbox(const struct nsrun_policy *policy, const struct run_options *options, int *ret_status,
                struct nsrun_error *err) {
        static struct pty pty = PTY_INIT; /* its end is the process's, too, and its buffers' pages are
                                             nobody's until it is opened */
        int r;

        pty.is_shell = options->is_shell;
        r = options->wants_terminal                ? pty_open(&pty, err)
            : options->asks || policy_asks(policy) ? pty_open_for_asking(&pty, err)
                                                   : 0;
        if (r >= 0)
                r = run_with_terminal(policy, options, &pty, ret_status, err);
        else
                supervise_report_failure(options->status_fd, err);
        pty_close(&pty);
        return r;
}

/* A pipe that the command's words name was made for it by the shell: cat <(echo), tee >(wc). */
static int pass_named_pipes(char *const *argv, struct run_options *options, struct nsrun_error *err) {
        static const struct option_spec spec = {.name = "pass-fd"};
        int r = 0;

        STRV_FOREACH (word, argv) {
                const char *number = **word == '/' ? option_fd_number(*word) : NULL;
                uint64_t fd = 0;
                int flags = -1;
                struct stat st;

                if (number && r >= 0 && str_parse_number(number, false, &fd) >= 0 && fd > 2 &&
                    fd <= INT32_MAX)
                        flags = fcntl((int)fd, F_GETFD);
                if (flags >= 0 && !(flags & FD_CLOEXEC) && fstat((int)fd, &st) == 0 && S_ISFIFO(st.st_mode))
                        r = option_pass_fd(&options->passed, &spec, number, err);
        }
        return r;
}

/* What nsrun itself writes to is not the command's to write to. */
static int check_passed(const struct command *command, const struct run_options *options,
                        struct nsrun_error *err) {
        for (size_t i = 0; i < options->passed.n; i++)
                if (options->passed.fds[i] == options->status_fd ||
                    options->passed.fds[i] == options->report_fd)
                        return option_usage_error(command, "--pass-fd",
                                                  "nsrun writes to this descriptor itself", err);
        return 0;
}

void run_options_clear(struct run_options *options) {
        if (options->owns_report)
                close_fdp(&options->report_fd);
        free(options->passed.fds);
        *options = RUN_OPTIONS_INIT;
}

static int report_to_status_fd(struct invocation *i, struct nsrun_error *err) {
        const struct run_options *options = i->options;

        supervise_report_failure(options->status_fd, err);
        return -EINVAL;
}

static int set_and_run(struct invocation *i, struct nsrun_error *err) {
        int r = command_set(i, err);

        if (r == 0)
                r = pass_named_pipes(i->policy->argv, i->options, err);
        if (r == 0)
                r = check_passed(i->command, i->options, err);
        return r < 0 ? report_to_status_fd(i, err) : run_sandbox(i->policy, i->options, &i->status, err);
}

int run_main(const struct command *command, char **argv) {
        _cleanup_(run_options_clear) struct run_options options = RUN_OPTIONS_INIT;

        return command_main(&(struct invocation){.command = command,
                                                 .argv = argv,
                                                 .options = &options,
                                                 .run = set_and_run,
                                                 .failed = report_to_status_fd});
}
