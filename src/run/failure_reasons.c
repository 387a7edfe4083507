/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "failure_reasons.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include "explain/output.h"
#include "explain/watch.h"
#include "status_fd.h"

/* By which signal it ended, or its shell says that a command of its own did; 0: by none.  SIGXCPU stands for
 * the SIGKILL that comes at the hard limit of time. */
static int ended_by(const struct run *run, const struct nsrun_plan *plan) {
        const struct policy_rlimit *time = &plan->limits.rlimits[RLIMIT_CPU];
        int by = WIFSIGNALED(run->status) ? WTERMSIG(run->status) : WEXITSTATUS(run->status) - 128;
        struct rusage used;

        if (by == SIGKILL && time->is_set && getrusage(RUSAGE_CHILDREN, &used) == 0 &&
            (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1 >= time->hard)
                return SIGXCPU;
        return by > 0 ? by : 0;
}

/* Whether a file wasn't found whose folder isn't named. */
static bool misses_a_file(const struct printed *p) {
        static const char words[] = "o such file or directory";

        return p->n > 0 && memmem(p->bytes, p->n, words, strlen(words));
}

static int find_reasons(struct run *run, const struct nsrun_plan *plan, const struct watch *watch,
                        char ***ret) {
        int by = ended_by(run, plan), r = 0;

        if (run->denials)
                r = denials_explain(run->denials, ret);
        if (r >= 0 && watch)
                r = explain_output(
                        &(const struct explained){.plan = plan,
                                                  .output = watch->printed.bytes,
                                                  .size = watch->printed.n,
                                                  .search = getenv("PATH"),
                                                  .libraries = getenv("LD_LIBRARY_PATH"),
                                                  .agent = getenv("SSH_AUTH_SOCK"),
                                                  .bus = getenv("DBUS_SESSION_BUS_ADDRESS"),
                                                  .has_terminal = isatty(STDIN_FILENO) == 1,
                                                  .signal = by,
                                                  .oom_killed = run_ran_out_of_memory(run, by == SIGKILL),
                                                  .knows_nested = denials_want_nested(run->denials)},
                        ret);
        if (r >= 0 && watch && asked_was_privileged(&watch->asked))
                r = explain_add(ret, EXPLAIN_NO_PRIVILEGES);
        if (r >= 0 && watch)
                r = asked_explain(&watch->asked, *ret ? ASKED_PLAIN : ASKED_LATE, ret);
        if (r >= 0 && watch && !*ret && misses_a_file(&watch->printed))
                r = asked_explain(&watch->asked, ASKED_WIDE, ret);
        return r;
}

/* What it couldn't do, and succeeded all the same. */
static int find_lacks(const struct nsrun_plan *plan, const struct watch *watch, char ***ret) {
        const struct explained e = {.plan = plan,
                                    .output = watch->printed.bytes,
                                    .size = watch->printed.n,
                                    .has_succeeded = true};
        int r = explain_output(&e, ret);

        return r < 0 ? r : asked_explain(&watch->asked, ASKED_PROTECTED, ret);
}

int reasons_tell(struct run *run, const struct nsrun_plan *plan, int status_fd) {
        const struct watch *watch = denials_watched(run->denials);
        bool has_failed = run->status != 0 || !run->has_exited;
        _cleanup_strv_ char **reasons = NULL;
        int r = has_failed ? find_reasons(run, plan, watch, &reasons)
                : watch    ? find_lacks(plan, watch, &reasons)
                           : 0;
        int told = 0;

        STRV_FOREACH (reason, reasons) {
                _cleanup_free_ char *line = str_visible(*reason);

                (void)fprintf(stderr, "nsrun: reason: %s\n", line ? line : "?");
                if (status_fd >= 0 && told == 0)
                        told = status_reason(status_fd, *reason);
        }
        if (has_failed && watch && watch->asked.calls > 0 && watch->n_read == 0)
                (void)fprintf(stderr, "nsrun: note: " WATCH_UNREAD "\n");
        if (r < 0)
                (void)fprintf(stderr, "nsrun: note: no memory for all reasons\n");
        return told;
}
