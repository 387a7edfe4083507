/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun_probe(): finds out whether this host can carry out a policy, by running a bash that does
 * nothing in a sandbox of that policy. */
#include <fcntl.h>

#include "base/sys.h"
#include "plan/plan.h"

/* Runs the plan with /dev/null for all three streams, so that nothing that bash or its loader
 * prints reaches the caller's. */
static int run_probe(const struct nsrun_plan *plan, struct nsrun_error *err) {
        struct nsrun_start_options options = NSRUN_START_OPTIONS_INIT;
        _cleanup_close_ int null = sys_open(AT_FDCWD, "/dev/null", O_RDWR, 0);
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_exit end = {.code = 0};
        int r;

        if (null < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, null, "/dev/null", "the probe needs it", NULL);
        for (int fd = 0; fd <= 2; fd++)
                options.stdio[fd] = null;
        r = nsrun_start(plan, &options, &sandbox, err);
        if (r < 0)
                return r;
        r = nsrun_sandbox_wait(sandbox, &end, err);
        (void)nsrun_sandbox_free(sandbox);
        if (r >= 0 && (end.code != 0 || end.signal != 0))
                r = error_setf(err, NSRUN_STAGE_EXEC, -EIO, "bash", "look at it with nsrun run -- bash -c :",
                               "the sandbox's bash does nothing and fails, with status %d",
                               end.signal ? 128 + end.signal : end.code);
        return r;
}

nsrun_public int nsrun_probe(const struct nsrun_policy *policy, struct nsrun_error *error) {
        char *const argv[] = {(char *)"bash", (char *)"-c", (char *)":", NULL};
        static const char *const unset[] = {"BASH_ENV", "ENV", NULL};
        const struct policy_request request = {.policy = policy, .argv = argv, .unset = unset};
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        int r = plan_make(&request, &plan, error);

        return r < 0 ? r : run_probe(plan, error);
}
