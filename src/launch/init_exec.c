/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How pid 1 sheds the memory of the host that started it: by exec'ing nsrun-init
 * with everything it must know in its arguments.  init_exec_prepare() runs
 * before the clone, init_exec() after it, init_exec_main() is nsrun-init. */
#include "init_exec.h"

#include <fcntl.h>
#include <sys/prctl.h>

#include "internal.h"

/* nsrun-init REPORT SUPERVISOR LOCK LISTENER ORDERS FILTER INSTRUCTIONS FILTER-FLAGS FLAGS UMASK MASK LIMITS
 * USER MNT PID IPC UTS NET COMMAND... */
enum {
        ARG_NAME,
        ARG_REPORT,
        ARG_SUPERVISOR,
        ARG_LOCK,
        ARG_LISTENER,
        ARG_ORDERS,
        ARG_FILTER,
        ARG_INSTRUCTIONS,
        ARG_FILTER_FLAGS,
        ARG_FLAGS,
        ARG_UMASK,
        ARG_MASK,
        ARG_LIMITS,
        ARG_NAMESPACES,
        ARG_COMMAND = ARG_NAMESPACES + 6,
};
#define FLAG_NEW_SESSION   1U
#define FLAG_WANTS_STARTED 2U
#define FLAG_LINGERS       4U
#define FLAG_HAS_STDIO     8U
#define FLAG_IS_SESSION    16U
#define FLAG_JOINS         32U
#define FLAG_IS_SCOPED     64U
#define FLAG_IS_NESTED     128U
#define FLAG_KILLS         256U

struct init_exec {
        char numbers[ARG_COMMAND][24];
        char limits[LIMITS_TEXT_SIZE];
        char *argv[];
};

/* The first 64 signals as bits; Linux has no more. */
static uint64_t mask_to_bits(const sigset_t *mask) {
        uint64_t bits = 0;

        for (int signal = 1; signal <= 64; signal++)
                if (sigismember(mask, signal) == 1)
                        bits |= UINT64_C(1) << (signal - 1);
        return bits;
}

static void bits_to_mask(uint64_t bits, sigset_t *mask) {
        (void)sigemptyset(mask);
        for (int signal = 1; signal <= 64; signal++)
                if (bits & (UINT64_C(1) << (signal - 1)))
                        (void)sigaddset(mask, signal);
}

int init_exec_prepare(struct launch_child *c) {
        size_t n = strv_length(c->plan->argv);
        struct init_exec *e;

        e = calloc(1, sizeof(*e) + (ARG_COMMAND + n + 1) * sizeof(char *));
        if (!e)
                return -ENOMEM;
        e->argv[ARG_NAME] = (char *)"nsrun-init";
        for (size_t i = ARG_REPORT; i < ARG_COMMAND; i++)
                e->argv[i] = e->numbers[i];
        limits_format(c, e->limits);
        e->argv[ARG_LIMITS] = e->limits;
        for (size_t i = 0; i < n; i++)
                e->argv[ARG_COMMAND + i] = c->plan->argv[i];
        c->init_exec = e;
        return 0;
}

static unsigned session_flags(const struct nsrun_plan *plan) {
        unsigned flags = (plan->is_session ? FLAG_IS_SESSION : 0) | (plan->is_scoped ? FLAG_IS_SCOPED : 0);

        if (plan->join)
                flags |= FLAG_JOINS | (plan->join->is_nested ? FLAG_IS_NESTED : 0) |
                         (plan->join->kills_leftovers ? FLAG_KILLS : 0);
        return flags;
}

/* nsrun-init's side of it. */
static void take_session_flags(struct nsrun_plan *plan, struct plan_join *join, uint64_t flags) {
        plan->is_session = flags & FLAG_IS_SESSION;
        plan->is_scoped = flags & FLAG_IS_SCOPED;
        join->is_nested = flags & FLAG_IS_NESTED;
        join->kills_leftovers = flags & FLAG_KILLS;
        plan->join = flags & FLAG_JOINS ? join : NULL;
}

int init_exec(struct launch_child *c) {
        struct init_exec *e = c->init_exec;
        const uint64_t *namespaces[] = {&c->namespaces.user, &c->namespaces.mnt, &c->namespaces.pid,
                                        &c->namespaces.ipc,  &c->namespaces.uts, &c->namespaces.net};
        const int keep[] = {c->report_fd,       c->supervisor_fd, c->params->lock_fd,
                            c->listener_socket, c->order_fd,      c->filter_fd};
        int r;

        /* The descriptors, in the arguments' order; 0 for none. */
        for (size_t i = 0; i < ARRAY_SIZE(keep); i++)
                (void)number_format(e->numbers[ARG_REPORT + i], keep[i] < 0 ? 0 : (uint64_t)keep[i]);
        (void)number_format(e->numbers[ARG_INSTRUCTIONS], c->n_filter);
        (void)number_format(e->numbers[ARG_FILTER_FLAGS], c->filter_flags);
        (void)number_format(e->numbers[ARG_FLAGS],
                            (c->plan->new_session ? FLAG_NEW_SESSION : 0) |
                                    (c->params->wants_started ? FLAG_WANTS_STARTED : 0) |
                                    (c->params->lingers ? FLAG_LINGERS : 0) |
                                    (c->params->stdio ? FLAG_HAS_STDIO : 0) | session_flags(c->plan));
        (void)number_format(e->numbers[ARG_UMASK], c->umask);
        (void)number_format(e->numbers[ARG_MASK], mask_to_bits(&c->mask));
        for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++)
                (void)number_format(e->numbers[ARG_NAMESPACES + i], *namespaces[i]);
        for (size_t i = 0; i < ARRAY_SIZE(keep); i++)
                if (keep[i] >= 0 && fcntl(keep[i], F_SETFD, 0) < 0)
                        return error_set(&c->error, NSRUN_STAGE_SUPERVISE, -errno, NULL,
                                         "pid 1's descriptors can't be kept", NULL);
        r = sys_execveat(c->init_fd, "", e->argv, c->plan->env, AT_EMPTY_PATH);
        /* Its arguments are among nsrun-init's. */
        if (r == -E2BIG)
                return error_set(&c->error, NSRUN_STAGE_EXEC, r, c->plan->argv ? c->plan->argv[0] : NULL,
                                 "the command is too long", NULL);
        return error_set(&c->error, NSRUN_STAGE_SUPERVISE, r, c->params->init_path,
                         "nsrun-init can't be executed",
                         "it must be a static program of this machine's architecture");
}

/* nsrun-init's whole life.  Its memory is new; the first thing is to make it
 * unreadable, before there is anybody in the namespace to read it. */
int init_exec_main(int argc, char **argv, char **env) {
        static char stack[65536] __attribute__((__aligned__(16)));
        static const int stdio[] = {0, 1, 2};
        static struct nsrun_plan plan;
        static struct plan_join join;
        static struct launch_params params = {.umbrella_fd = -EBADF, .terminal_fd = -1};
        static struct launch_child c = {.plan = &plan,
                                        .params = &params,
                                        .init_fd = -EBADF,
                                        .order_fd = -EBADF,
                                        .filter_fd = -EBADF,
                                        .listener = -EBADF,
                                        .operation = -1};
        uint64_t n[ARG_COMMAND] = {0};

        if (argc < ARG_COMMAND)
                return 125;
        if (sys_prctl(PR_SET_DUMPABLE, 0, 0) < 0)
                return 125;
        for (int i = ARG_REPORT; i < ARG_COMMAND; i++)
                n[i] = strtoull(argv[i], NULL, 10);
        for (int i = ARG_REPORT; i <= ARG_FILTER; i++)
                if (n[i] > 0 && fcntl((int)n[i], F_SETFD, FD_CLOEXEC) < 0)
                        return 125;
        c.report_fd = (int)n[ARG_REPORT];
        c.supervisor_fd = (int)n[ARG_SUPERVISOR];
        c.order_fd = n[ARG_ORDERS] > 0 ? (int)n[ARG_ORDERS] : -EBADF;
        c.listener_socket = n[ARG_LISTENER] > 0 ? (int)n[ARG_LISTENER] : -EBADF;
        c.filter_flags = (unsigned)n[ARG_FILTER_FLAGS];
        if (n[ARG_FILTER] > 0 && filter_receive(&c, (int)n[ARG_FILTER], n[ARG_INSTRUCTIONS]) < 0)
                return 125;
        if (limits_parse(&c, argv[ARG_LIMITS]) < 0)
                return 125;
        c.umask = (mode_t)n[ARG_UMASK];
        bits_to_mask(n[ARG_MASK], &c.mask);
        c.namespaces = (struct launch_namespaces){n[ARG_NAMESPACES],     n[ARG_NAMESPACES + 1],
                                                  n[ARG_NAMESPACES + 2], n[ARG_NAMESPACES + 3],
                                                  n[ARG_NAMESPACES + 4], n[ARG_NAMESPACES + 5]};
        plan.new_session = n[ARG_FLAGS] & FLAG_NEW_SESSION;
        params.wants_started = n[ARG_FLAGS] & FLAG_WANTS_STARTED;
        params.lingers = n[ARG_FLAGS] & FLAG_LINGERS;
        params.stdio = n[ARG_FLAGS] & FLAG_HAS_STDIO ? stdio : NULL;
        take_session_flags(&plan, &join, n[ARG_FLAGS]);
        /* They kept others out while this process could be traced. */
        if (plan.join && harden_capabilities(&c.error) < 0)
                return 125;
        plan.argv = argv + ARG_COMMAND;
        plan.env = env;
        c.stack_top = stack + sizeof(stack);
        c.shell_argv = calloc((size_t)(argc - ARG_COMMAND) + 2, sizeof(char *));
        if (!c.shell_argv)
                return 125;
        child_finish(&c);
}
