/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See reasons.h. */
#include "reasons.h"

#include <signal.h>
#include <sys/wait.h>

#include "explain/output.h"
#include "watch.h"

static bool was_killed(const struct run *run) {
        return (WIFSIGNALED(run->status) && WTERMSIG(run->status) == SIGKILL) ||
               (WIFEXITED(run->status) && WEXITSTATUS(run->status) == 128 + SIGKILL);
}

void reasons_tell(struct run *run, const struct nsrun_plan *plan) {
        const struct watch *watch = denials_watched(run->denials);
        _cleanup_strv_ char **reasons = NULL;
        int r = 0;

        if (plan->limits.memory > 0 && run_ran_out_of_memory(run, was_killed(run)))
                r = explain_add(&reasons, EXPLAIN_NO_MEMORY);
        if (r >= 0 && run->denials)
                r = denials_explain(run->denials, &reasons);
        if (r >= 0 && watch)
                r = asked_explain(&watch->asked, &reasons);
        STRV_FOREACH (reason, reasons) {
                _cleanup_free_ char *line = str_visible(*reason);

                (void)fprintf(stderr, "nsrun: reason: %s\n", line ? line : "?");
        }
        if (watch && watch->asked.calls > 0 && watch->n_read == 0)
                (void)fprintf(stderr, "nsrun: note: what the command asked for can't be read here "
                                      "(kernel.yama.ptrace_scope is 3?)\n");
        if (r < 0)
                (void)fprintf(stderr, "nsrun: note: no memory for all reasons\n");
}
