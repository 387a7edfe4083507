/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan/verify.c: every plan that nsrun makes passes, and plans that are damaged in one place don't.  What a
 * damage opens is found here by going through the mounts one by one, in the order in which they would be
 * made: what of the host's a command could read or write then, and could not before, is a hole. */
#include "verify_world.h"

enum {
        ROUNDS = 400,         /* of a plan that is timed */
        REFUSED_LEAST = 1000, /* 1382 where /etc has all that is shown of it */
        EXCUSED_MOST = 7,
};

/* What a command may do with a path of the host's, and what else a plan may open. */
enum {
        MAY_READ = 1,
        MAY_WRITE = 2,
        MAKES_ON_HOST = 1,
        HAS_OTHER_DEVICE = 2,
        HAS_OPEN_PROC = 4,
        HAS_NO_FILTER = 8,
        HAS_NO_SCOPES = 16,
        HAS_NO_STUB = 32,
};

struct picture {
        unsigned of_probes[PROBES_MOST];
        unsigned of_plan;
};

TEST(every_plan_that_nsrun_makes_passes) {
        const struct world *w = *state;

        for (size_t i = 0; i < w->n; i++) {
                struct nsrun_error err = {0};

                if (plan_verify(w->plans[i], &err) < 0)
                        fail_msg("%s: %s", w->names[i], nsrun_error_format(&err));
                assert_true(w->plans[i]->n_ops > 20);
        }
}

/* ------------------------------------------------------------- what a plan opens */

static bool mounts(const struct plan_op *op) {
        return op->kind != PLAN_DIR && op->kind != PLAN_FILE && op->kind != PLAN_SYMLINK;
}

/* The last of the first n operations whose mount is at or above a path inside. */
static const struct plan_op *last_mount(const struct nsrun_plan *plan, size_t n, const char *inside) {
        while (n-- > 0)
                if (mounts(&plan->ops[n]) && path_is_beneath(inside, plan->ops[n].target))
                        return &plan->ops[n];
        return NULL;
}

static unsigned look_at(const struct nsrun_plan *plan, const char *path) {
        unsigned found = 0;

        for (size_t i = 0; i < plan->n_ops; i++) {
                const struct plan_op *op = &plan->ops[i];
                bool shows = op->source && (op->kind == PLAN_BIND || op->kind == PLAN_OVERLAY);
                const char *below = shows ? path_below(path, op->source) : NULL;
                char *inside = below ? path_join(op->target, *below ? below : ".") : NULL;

                if (inside && last_mount(plan, plan->n_ops, inside) == op)
                        found |= MAY_READ |
                                 (op->kind == PLAN_BIND && !op->is_read_only && !op->is_device ? MAY_WRITE
                                                                                               : 0U);
                free(inside);
        }
        return found;
}

static bool has_stub(const struct nsrun_plan *plan, const char *target, const char *stub) {
        const struct plan_op *seen = last_mount(plan, plan->n_ops, target);

        return seen && streq(seen->target, target) && strv_contains(seen->stubs, stub);
}

static unsigned look_at_plan(const struct nsrun_plan *plan, const struct nsrun_plan *good) {
        static const char *const kernel[] = {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"};
        unsigned found = 0;

        for (size_t i = 0; i < plan->n_ops; i++) {
                const struct plan_op *op = &plan->ops[i], *ground = last_mount(plan, i, op->target);
                bool is_known = !op->is_device;

                if ((!mounts(op) || op->makes_target) && ground && ground->kind == PLAN_BIND &&
                    !ground->is_in_rundir)
                        found |= MAKES_ON_HOST;
                for (size_t k = 0; k < good->n_ops; k++)
                        is_known |= good->ops[k].is_device && op->source &&
                                    streq(good->ops[k].source, op->source);
                found |= is_known ? 0 : HAS_OTHER_DEVICE;
        }
        for (size_t i = 0; i < ARRAY_SIZE(kernel); i++) {
                const struct plan_op *seen = last_mount(plan, plan->n_ops, kernel[i]);

                if (seen && ((seen->kind == PLAN_PROC && seen->proc != POLICY_PROC_SUBSET &&
                              seen->proc != POLICY_PROC_NONE) ||
                             (seen->kind == PLAN_COVER && seen->proc == POLICY_PROC_SUBSET)))
                        found |= HAS_OPEN_PROC;
        }
        for (size_t i = 0; i < good->n_ops; i++)
                STRV_FOREACH (stub, good->ops[i].stubs)
                        found |= has_stub(plan, good->ops[i].target, *stub) ? 0 : HAS_NO_STUB;
        found |= plan->seccomp.n < 2 ? HAS_NO_FILTER : 0;
        return found | (plan->is_scoped || !good->is_scoped ? 0 : HAS_NO_SCOPES);
}

static void look(const struct world *w, const struct nsrun_plan *plan, const struct nsrun_plan *good,
                 struct picture *ret) {
        for (size_t i = 0; i < w->n_probes; i++)
                ret->of_probes[i] = look_at(plan, w->probes[i]);
        ret->of_plan = look_at_plan(plan, good);
}

/* ------------------------------------------------------------------------ damages */

enum damage {
        REMOVED,
        SWAPPED,
        TO_FRONT,
        TO_END,
        FLAG,
        PROC,
        KIND,
        SOURCE,
        TARGET,
        STUBS,
        WHOLE,
        N_DAMAGES,
};
static const char *const damage_names[] = {
        "an operation removed", "two neighbours swapped", "moved to the front", "moved to the end",
        "a flag turned",        "/proc's kind changed",   "another kind",       "another source",
        "another target",       "its stubs removed",      "filter and Landlock"};
_Static_assert(ARRAY_SIZE(damage_names) == N_DAMAGES, "a name for each");

struct trial {
        const struct world *w;
        const struct nsrun_plan *good;
        const char *name;
        struct picture before;
        size_t n_damages, n_holes[N_DAMAGES], n_refused[N_DAMAGES], n_excused;
};

/* What can't be told from what the user himself may ask for: he names a folder to be read, and that is the
 * one of his keys, or /etc. */
static bool is_excused(const struct plan_op *op, enum damage damage) {
        return op && damage == SOURCE && op->origin == PLAN_BY_READABLE;
}

static void try(struct trial *t, const struct nsrun_plan *plan, enum damage damage,
                const struct plan_op *op) {
        struct picture after = {.of_plan = 0};
        bool is_hole, is_refused = plan_verify(plan, NULL) == -EINVAL;

        look(t->w, plan, t->good, &after);
        is_hole = (after.of_plan & ~t->before.of_plan) != 0;
        for (size_t i = 0; i < t->w->n_probes; i++)
                is_hole |= (after.of_probes[i] & ~t->before.of_probes[i]) != 0;
        t->n_damages++;
        t->n_holes[damage] += is_hole;
        t->n_refused[damage] += is_hole && is_refused;
        if (!is_hole || is_refused)
                return;
        t->n_excused += is_excused(op, damage);
        print_message("not refused: %s: %s: %s of %s\n", t->name, damage_names[damage],
                      op ? op->target : "the plan", op && op->source ? op->source : "");
}

static void try_moved(struct trial *t, size_t from, size_t to, enum damage damage) {
        struct nsrun_plan plan = copy_of(t->good);

        move(&plan, from, to);
        try(t, &plan, damage, &t->good->ops[from]);
        free(plan.ops);
}

static void try_flags(struct trial *t, struct nsrun_plan *plan, size_t i) {
        static const size_t flags[] = {
                offsetof(struct plan_op, was_asked_for), offsetof(struct plan_op, can_be_empty),
                offsetof(struct plan_op, is_read_only),  offsetof(struct plan_op, is_device),
                offsetof(struct plan_op, is_directory),  offsetof(struct plan_op, is_link),
                offsetof(struct plan_op, is_git_dir),    offsetof(struct plan_op, is_in_rundir),
                offsetof(struct plan_op, makes_target),  offsetof(struct plan_op, makes_on_host),
                offsetof(struct plan_op, is_own_link),   offsetof(struct plan_op, has_source_fd),
                offsetof(struct plan_op, is_optional),   offsetof(struct plan_op, is_ephemeral),
                offsetof(struct plan_op, is_hiding),     offsetof(struct plan_op, is_shallow),
        };

        for (size_t k = 0; k < ARRAY_SIZE(flags); k++) {
                bool *flag = (bool *)((char *)&plan->ops[i] + flags[k]);

                *flag = !*flag;
                try(t, plan, FLAG, &t->good->ops[i]);
                *flag = !*flag;
        }
}

static void try_texts(struct trial *t, struct nsrun_plan *plan, size_t i) {
        const struct world *w = t->w;
        char *sources[] = {strdup("/"),
                           strdup("/run"),
                           strdup("/run/docker.sock"),
                           strdup("/dev/sda"),
                           strdup("/proc/1"),
                           strdup("/etc"),
                           strdup("/usr"),
                           in(w, "home"),
                           in(w, "home/.ssh"),
                           in(w, "home/.ssh/key"),
                           in(w, "cache/nsrun"),
                           in(w, "state"),
                           in(w, "runtime/nsrun/sessions")},
             *targets[] = {strdup("/"),     strdup("/proc/sys"),        strdup("/etc/../x"),
                           in(w, "home/p"), in(w, "home/p/.git/hooks"), in(w, "home/p/secret.key")};
        struct plan_op *op = &plan->ops[i], was = *op;

        for (size_t k = 0; k < ARRAY_SIZE(sources); k++) {
                op->source = sources[k];
                if (was.kind == PLAN_BIND || was.kind == PLAN_OVERLAY)
                        try(t, plan, SOURCE, &t->good->ops[i]);
                free(sources[k]);
        }
        op->source = was.source;
        for (size_t k = 0; k < ARRAY_SIZE(targets); k++) {
                op->target = targets[k];
                try(t, plan, TARGET, &t->good->ops[i]);
                free(targets[k]);
        }
        *op = was;
}

static void try_operation(struct trial *t, size_t i) {
        static const enum plan_op_kind kinds[] = {PLAN_BIND,  PLAN_OVERLAY, PLAN_TMPFS,
                                                  PLAN_COVER, PLAN_HIDE,    PLAN_FILESYSTEM};
        struct nsrun_plan plan = copy_of(t->good);
        struct plan_op *op = &plan.ops[i], was = *op;

        try_flags(t, &plan, i);
        try_texts(t, &plan, i);
        for (enum policy_proc proc = 0; proc <= POLICY_PROC_NONE; proc++) {
                op->proc = proc;
                try(t, &plan, PROC, &t->good->ops[i]);
        }
        *op = was;
        for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
                op->kind = kinds[k];
                try(t, &plan, KIND, &t->good->ops[i]);
        }
        *op = was;
        op->stubs = NULL;
        try(t, &plan, STUBS, &t->good->ops[i]);
        *op = was;
        move(&plan, i, plan.n_ops - 1);
        plan.n_ops--;
        try(t, &plan, REMOVED, &t->good->ops[i]);
        free(plan.ops);
        try_moved(t, i, 0, TO_FRONT);
        try_moved(t, i, t->good->n_ops - 1, TO_END);
        if (i > 0)
                try_moved(t, i, i - 1, SWAPPED);
}

static void try_whole(struct trial *t) {
        static const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, 0x7fff0000U);
        char none[] = "none";
        struct nsrun_plan plan = *t->good;
        struct sock_filter *code;

        plan.seccomp.code = NULL;
        plan.seccomp.n = 0;
        try(t, &plan, WHOLE, NULL);
        plan.seccomp.code = &allow;
        plan.seccomp.n = 1;
        try(t, &plan, WHOLE, NULL);
        plan = *t->good;
        code = calloc(plan.seccomp.n, sizeof(code[0]));
        assert_non_null(code);
        memcpy(code, plan.seccomp.code, plan.seccomp.n * sizeof(code[0]));
        code[0] = allow;
        plan.seccomp.code = code;
        assert_int_equal(plan_verify(&plan, NULL), -EINVAL);
        free(code);
        plan = *t->good;
        plan.asked_net = POLICY_NET_NONE;
        plan.net = POLICY_NET_HOST;
        assert_int_equal(plan_verify(&plan, NULL), -EINVAL);
        plan = *t->good;
        plan.seccomp_name = none;
        assert_true(plan_verify(&plan, NULL) < 0);
        plan.seccomp_name = NULL;
        assert_true(plan_verify(&plan, NULL) < 0);
        plan = *t->good;
        plan.is_scoped = false;
        plan.degraded = NULL;
        try(t, &plan, WHOLE, NULL);
}

/* Whether the first plan has this operation, too. */
static bool is_common(const struct world *w, const struct plan_op *op) {
        const struct nsrun_plan *first = w->plans[0];

        for (size_t i = 0; i < first->n_ops; i++) {
                const struct plan_op *other = &first->ops[i];

                if (streq(other->target, op->target) && other->kind == op->kind &&
                    other->origin == op->origin && !other->stubs == !op->stubs && !op->is_in_rundir)
                        return true;
        }
        return false;
}

TEST(what_opens_the_boundary_is_refused) {
        const struct world *w = *state;
        struct trial t = {.w = w};
        size_t n_holes = 0, n_refused = 0;

        for (size_t i = 0; i < w->n; i++) {
                t.good = w->plans[i];
                t.name = w->names[i];
                look(w, t.good, t.good, &t.before);
                for (size_t k = 0; k < t.good->n_ops; k++)
                        if (i == 0 || !is_common(w, &t.good->ops[k]))
                                try_operation(&t, k);
                try_whole(&t);
        }
        for (size_t i = 0; i < N_DAMAGES; i++) {
                n_holes += t.n_holes[i];
                n_refused += t.n_refused[i];
                print_message("%4zu of %4zu holes refused: %s\n", t.n_refused[i], t.n_holes[i],
                              damage_names[i]);
        }
        print_message("%zu of %zu holes refused, of %zu damages\n", n_refused, n_holes, t.n_damages);
        assert_int_equal(n_refused + t.n_excused, n_holes);
        assert_true(t.n_excused <= EXCUSED_MOST);
        assert_true(n_refused >= REFUSED_LEAST);
}

/* The best of many: what else runs on the machine isn't its cost. */
TEST(it_costs_little) {
        const struct world *w = *state;

        for (size_t i = 0; i < w->n; i++) {
                long best = LONG_MAX;

                for (size_t k = 0; k < ROUNDS; k++) {
                        struct timespec from, to;
                        long took;

                        (void)clock_gettime(CLOCK_MONOTONIC, &from);
                        assert_int_equal(plan_verify(w->plans[i], NULL), 0);
                        (void)clock_gettime(CLOCK_MONOTONIC, &to);
                        took = (to.tv_sec - from.tv_sec) * 1000000000L + to.tv_nsec - from.tv_nsec;
                        best = took < best ? took : best;
                }
                print_message("%5ld us for %3zu operations: %s\n", best / 1000, w->plans[i]->n_ops,
                              w->names[i]);
        }
}

int main(void) {
        return run_all_tests_in(make_world, remove_world);
}
