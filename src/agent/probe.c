/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun_probe(): finds out whether this host can carry out a policy, by running a bash that looks at its
 * working directory in a sandbox of that policy. */
#include "probe.h"

#include <fcntl.h>

#include "base/path.h"
#include "base/stream.h"
#include "base/sys.h"
#include "explain/missing_program.h"
#include "host/program.h"

/* What the probe's bash ends with where it can't read the project: not one of bash's own statuses. */
#define UNREADABLE 41

const char *const bash_unset[] = {"BASH_ENV", "ENV", NULL};
const char *const bash_usual[] = {
        "TERM=dumb",
        "PAGER=cat",
        "GIT_PAGER=cat",
        "MANPAGER=cat",
        "SYSTEMD_PAGER=cat",
        "EDITOR=true",
        "VISUAL=true",
        "GIT_EDITOR=true",
        "GIT_SEQUENCE_EDITOR=true",
        "GIT_TERMINAL_PROMPT=0",
        "NO_COLOR=1",
        "DEBIAN_FRONTEND=noninteractive",
        "PIP_NO_INPUT=1",
        NULL,
};

int bash_command_make(const struct nsrun_policy *policy, const char *command, struct bash_command *ret,
                      struct nsrun_error *err) {
        static char name[] = "bash", fallback[] = "/bin/bash";

        /* After "--" even a command that begins with a dash is taken for one.  The last is what bash calls
         * itself. */
        *ret = (struct bash_command){
                .argv = {name, (char *)"-c", (char *)"--", (char *)(uintptr_t)command, name, NULL}};
        if (!policy->no_sandbox)
                return 0;
        /* Nothing but a sandbox would keep a bash that a command has put into PATH from the host. */
        if (program_find(name, &ret->program) == -ENOMEM)
                return error_oom(err);
        ret->argv[0] = ret->program ? ret->program : fallback;
        return 0;
}

int probe_run(const struct nsrun_plan *plan, int *ret_status, struct nsrun_error *err) {
        struct nsrun_start_options options = NSRUN_START_OPTIONS_INIT;
        _cleanup_close_ int null = null_open(O_RDWR, err);
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_exit end = {.code = 0};
        int r;

        if (null < 0)
                return null;
        /* Nothing that bash or its loader prints reaches the caller's streams. */
        for (int fd = 0; fd <= 2; fd++)
                options.stdio[fd] = null;
        r = nsrun_start(plan, &options, &sandbox, err);
        if (r < 0)
                return r;
        r = nsrun_sandbox_wait(sandbox, &end, err);
        (void)nsrun_sandbox_free(sandbox);
        if (r >= 0)
                *ret_status = end.signal ? 128 + end.signal : end.code;
        return r;
}

/* The sandbox has no capability over other users' files, root's has none either. */
static int refuse_unreadable(const struct nsrun_plan *plan, struct nsrun_error *err) {
        struct stat st;
        bool is_own = sys_stat(plan->cwd, &st) >= 0 && st.st_uid == plan->host_uid;

        return error_set(
                err, NSRUN_STAGE_POLICY, -EACCES, plan->cwd,
                "commands couldn't read the folder in which they begin",
                is_own ? "chmod u+rx it, or choose another with --project"
                       : "run nsrun as its owner, have that one allow you to read it (chmod, setfacl), "
                         "or choose another with --project");
}

nsrun_public int nsrun_probe(const struct nsrun_policy *policy, struct nsrun_error *error) {
        _cleanup_bash_command_ struct bash_command command = {.program = NULL};
        const struct policy_request request = {.policy = policy, .argv = command.argv, .unset = bash_unset};
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        struct nsrun_error own = {0};
        char script[64];
        int status = 0, r;

        if (!error)
                error = &own;
        (void)snprintf(script, sizeof(script), "[ -r . ] && [ -x . ] || exit %d", UNREADABLE);
        r = bash_command_make(policy, script, &command, error);
        if (r >= 0)
                r = plan_make(&request, &plan, error);
        if (r < 0)
                return r;
        r = probe_run(plan, &status, error);
        if (r < 0)
                explain_missing_program(plan, error);
        else if (status == UNREADABLE)
                r = refuse_unreadable(plan, error);
        else if (status != 0)
                r = error_setf(error, NSRUN_STAGE_EXEC, -EIO, "bash",
                               "look at it with nsrun run -- bash -c :",
                               "the sandbox's bash does nothing and fails, with status %d", status);
        return r;
}
