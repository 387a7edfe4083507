/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See failure_reasons.h. */
#include "failure_reasons.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "explain/output.h"
#include "explain/watch.h"

static bool was_killed(const struct run *run) {
        return (WIFSIGNALED(run->status) && WTERMSIG(run->status) == SIGKILL) ||
               (WIFEXITED(run->status) && WEXITSTATUS(run->status) == 128 + SIGKILL);
}

/* Whether it ended by a signal that leaves a core file, or its shell says so. */
static bool has_crashed(const struct run *run) {
        static const int signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGQUIT};
        int by = WIFSIGNALED(run->status) ? WTERMSIG(run->status) : WEXITSTATUS(run->status) - 128;

        for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
                if (by == signals[i])
                        return true;
        return false;
}

/* Whether a file wasn't found whose folder isn't named. */
static bool misses_a_file(const struct printed *p) {
        static const char words[] = "o such file or directory";

        return p->n > 0 && memmem(p->bytes, p->n, words, strlen(words));
}

void reasons_tell(struct run *run, const struct nsrun_plan *plan) {
        const struct watch *watch = denials_watched(run->denials);
        _cleanup_strv_ char **reasons = NULL;
        int r = 0;

        if (plan->limits.memory > 0 && run_ran_out_of_memory(run, was_killed(run)))
                r = explain_add(&reasons, EXPLAIN_NO_MEMORY);
        if (r >= 0 && run->denials)
                r = denials_explain(run->denials, &reasons);
        if (r >= 0 && watch && watch->printed.n > 0)
                r = explain_output(
                        &(const struct explained){.plan = plan,
                                                  .output = watch->printed.bytes,
                                                  .size = watch->printed.n,
                                                  .search = getenv("PATH"),
                                                  .libraries = getenv("LD_LIBRARY_PATH"),
                                                  .agent = getenv("SSH_AUTH_SOCK"),
                                                  .bus = getenv("DBUS_SESSION_BUS_ADDRESS"),
                                                  .knows_nested = denials_want_nested(run->denials)},
                        &reasons);
        if (r >= 0 && watch && asked_was_privileged(&watch->asked))
                r = explain_add(&reasons, EXPLAIN_NO_PRIVILEGES);
        if (r >= 0 && watch)
                r = asked_explain(&watch->asked, reasons ? ASKED_PLAIN : ASKED_LATE, &reasons);
        if (r >= 0 && has_crashed(run) && explain_took_cores(plan, false))
                r = explain_add(&reasons, EXPLAIN_NO_CORE);
        if (r >= 0 && watch && !reasons && misses_a_file(&watch->printed))
                r = asked_explain(&watch->asked, ASKED_WIDE, &reasons);
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
