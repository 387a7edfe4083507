/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command's seccomp filter, from the plan to the kernel. */
#include "base/causes.h"
#include "child.h"
#include "seccomp/simulate.h"
#include "seccomp/watch.h"

/* A call that would get an errno is asked about instead: the listener's owner answers with that errno. Calls
 * that are allowed cost nothing. */
static int ask_about_denials(struct child *c) {
        size_t n = c->filter.len;

        if (!c->owned_filter) {
                c->owned_filter = malloc(n * sizeof(*c->owned_filter));
                if (!c->owned_filter)
                        return -ENOMEM;
                memcpy(c->owned_filter, c->filter.filter, n * sizeof(*c->owned_filter));
        }
        for (size_t i = 0; i < n; i++) {
                struct sock_filter *at = &c->owned_filter[i];

                if (at->code == (BPF_RET | BPF_K) && (at->k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO)
                        at->k = SECCOMP_RET_USER_NOTIF;
        }
        c->filter.filter = c->owned_filter;
        c->b.facts.init.filter_flags |=
                SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
        return 0;
}

/* Whether the command can hand the listener over once the filter holds. */
static bool lets_send(const struct seccomp_loaded *filter) {
        const struct seccomp_data data = {.nr = syscall_number(SYSCALL_ARCH_NATIVE, "sendmsg"),
                                          .arch = syscall_arch_audit(SYSCALL_ARCH_NATIVE)};

        return !filter->code || seccomp_simulate(filter->code, filter->n, &data) == SECCOMP_RET_ALLOW;
}

/* The command's own execve(2) is asked about, too, while its parent waits for it: so the command itself
 * hands the listener over before. */
static int filter_watch(struct child *c, struct nsrun_error *err) {
        const struct seccomp_loaded *filter = &c->plan->seccomp;
        struct seccomp_filter watching = {.code = NULL};
        int r;

        if (!lets_send(filter))
                return error_set(err, NSRUN_STAGE_HARDENING, UNSAID(-EPERM), c->plan->seccomp_name,
                                 "the filter denies sendmsg(2), without which the command can't be watched",
                                 "leave --explain out, or take another policy");
        r = seccomp_watch(filter->code, filter->n, c->params->watched_prints, &watching);
        if (r == -E2BIG)
                return error_set(err, NSRUN_STAGE_HARDENING, UNSAID(r), c->plan->seccomp_name,
                                 "the filter is too long to watch the command by",
                                 "leave --explain out, or take a shorter policy");
        if (r < 0)
                return error_oom(err);
        c->owned_filter = watching.code;
        c->filter = (struct sock_fprog){.len = (unsigned short)watching.n, .filter = watching.code};
        c->b.facts.init.filter_flags |=
                SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
        c->b.facts.init.sends_listener = true;
        return 0;
}

/* The plan's filter is the last, after those that a raw plan's caller brought. */
static int put_last(struct child *c) {
        struct blueprint *p = &c->b;

        c->filters = calloc(p->n_filters + 1, sizeof(*c->filters));
        if (!c->filters)
                return -ENOMEM;
        for (size_t i = 0; i < p->n_filters; i++)
                c->filters[i] = p->filters[i];
        c->filters[p->n_filters++] = c->filter;
        p->filters = c->filters;
        return 0;
}

int filter_prepare(struct child *c, struct nsrun_error *err) {
        const struct nsrun_plan *plan = c->plan;
        struct init *init = &c->b.facts.init;
        int r;

        if (!plan->seccomp.code && !c->params->watches)
                return 0;
        c->filter = (struct sock_fprog){.len = (unsigned short)plan->seccomp.n,
                                        .filter = (struct sock_filter *)(uintptr_t)plan->seccomp.code};
        init->filter_flags = plan->seccomp.flags | (plan->seccomp_log ? SECCOMP_FILTER_FLAG_LOG : 0U);
        r = c->params->watches ? filter_watch(c, err) : 0;
        if (r < 0)
                return r;
        if (init->listener_socket >= 0 && c->params->wants_denials && ask_about_denials(c) < 0)
                return error_oom(err);
        return put_last(c) < 0 ? error_oom(err) : 0;
}
