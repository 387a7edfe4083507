/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan/verify.c: every plan that nsrun makes passes, and plans that are damaged in one place don't.  What a
 * damage opens is found here by going through the mounts one by one, in the order in which they would be
 * made: what of the host's a command could read or write then, and could not before, is a hole. */
#include "scratch.h"

#include <limits.h>
#include <linux/filter.h>
#include <sched.h>

#include "base/path.h"
#include "launch/launch.h"
#include "plan/verify.h"

enum {
        PLANS_MOST = 16,
        PROBES_MOST = 48,
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

struct world {
        char *top;
        char *probes[PROBES_MOST];
        size_t n_probes;
        struct nsrun_plan *plans[PLANS_MOST];
        const char *names[PLANS_MOST];
        size_t n;
};

/* ------------------------------------------------------------------ good plans */

static char *in(const struct world *w, const char *path) {
        return path[0] == '/' ? strdup(path) : scratch_path(w->top, path);
}

static void add_plan(struct world *w, const char *name, bool is_session, const char *const *options) {
        struct nsrun_policy *p = NULL;
        struct nsrun_error err = {0};

        assert_true(w->n < PLANS_MOST);
        assert_int_equal(nsrun_policy_new(&p), 0);
        assert_int_equal(nsrun_policy_set_command(p, (const char *const[]){"true", NULL}, NULL), 0);
        for (; *options; options += 2) {
                const char *text = *options[1] ? options[1] : NULL;
                char *path = text && strchr(text, '/') ? in(w, text) : NULL;

                if (nsrun_policy_set(p, options[0], path ? path : text, &err) < 0)
                        fail_msg("%s", nsrun_error_format(&err));
                free(path);
        }
        if (plan_make(&(struct policy_request){.policy = p, .is_session = is_session}, &w->plans[w->n],
                      &err) < 0)
                fail_msg("%s: %s", name, nsrun_error_format(&err));
        (void)nsrun_policy_free(p);
        w->names[w->n++] = name;
}
#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Files of the host, each of which is looked for afterwards. */
static const char host[] =
        "home/.ssh/key home/.aws/credentials home/.cargo/registry/x home/.claude/settings.json home/file "
        "home/p/.git/HEAD home/p/.git/config home/p/.git/hooks/x home/p/.git/objects/x home/p/.git/refs/x "
        "home/p/.bashrc home/p/secret.key home/p/d/other.key home/p/sub/.git/HEAD home/p/sub/.git/config "
        "home/p/sub/.git/hooks/x home/p/sub/file home/repo/.git/HEAD home/repo/.git/config "
        "home/repo/.git/hooks/x home/repo/.git/objects/x home/repo/.git/refs/x "
        "home/repo/.git/worktrees/wt/HEAD home/repo/.git/worktrees/wt/hooks/x "
        "home/repo/.git/worktrees/wt/commondir home/repo/.git/worktrees/wt/gitdir home/wt/.git home/wt/file "
        "data/file other/file layered/file cache/nsrun/file state/nsrun/exposed runtime/nsrun/sessions/file "
        "/run/docker.sock /usr/bin/true /etc/shadow /etc/ssl/certs/x /root/file /proc/1/environ /dev/sda";

static void make_host(struct world *w) {
        char *names = strdup(host), *next = names, *name, *text = NULL;

        assert_non_null(names);
        while ((name = strsep(&next, " "))) {
                assert_true(w->n_probes < PROBES_MOST);
                w->probes[w->n_probes++] = in(w, name);
                if (name[0] != '/')
                        scratch_file(w->top, name, "");
        }
        free(names);
        scratch_file(w->top, "home/p/.git/HEAD", "ref: refs/heads/main\n");
        scratch_file(w->top, "home/repo/.git/worktrees/wt/commondir", "../..\n");
        assert_true(asprintf(&text, "gitdir: %s/home/repo/.git/worktrees/wt\n", w->top) > 0);
        scratch_file(w->top, "home/wt/.git", text);
        free(text);
        assert_true(asprintf(&text, "%s/home/wt/.git\n", w->top) > 0);
        scratch_file(w->top, "home/repo/.git/worktrees/wt/gitdir", text);
        free(text);
}

static int make_world(void **state) {
        static const char *const variables[][2] = {{"HOME", "home"},
                                                   {"XDG_CACHE_HOME", "cache"},
                                                   {"XDG_STATE_HOME", "state"},
                                                   {"XDG_RUNTIME_DIR", "runtime"}};
        struct world *w = calloc(1, sizeof(*w));

        assert_non_null(w);
        w->top = scratch_make();
        make_host(w);
        for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
                _cleanup_free_ char *path = in(w, variables[i][1]);

                assert_int_equal(setenv(variables[i][0], path, 1), 0);
        }
        add_plan(w, "a project", false, OPTIONS("project", "home/p"));
        add_plan(w, "a worktree", false, OPTIONS("project", "home/wt"));
        add_plan(w, "an agent", false, OPTIONS("project", "home/p", "agent", "claude"));
        add_plan(w, "a session", true, OPTIONS("project", "home/p"));
        add_plan(w, "rules", false,
                 OPTIONS("project", "home/p", "rw", "data/.", "ro", "other/.", "overlay", "layered/."));
        add_plan(w, "hidden names", false, OPTIONS("project", "home/p", "hide", "*.key"));
        add_plan(w, "strict protection", false, OPTIONS("project", "home/p", "protect", "strict"));
        add_plan(w, "a network of its own", false,
                 OPTIONS("project", "home/p", "net", "allow", "allow", "example.org"));
        add_plan(w, "a scratch folder", false, OPTIONS("project", "home/p", "tmp", "scratch"));
        add_plan(w, "a part of /proc", false, OPTIONS("no-project", "", "proc", "subset"));
        add_plan(w, "an instance", false,
                 OPTIONS("profile", "instance", "instance", "data/instance", "project", "home/wt"));
        *state = w;
        return 0;
}

static int remove_world(void **state) {
        struct world *w = *state;

        for (size_t i = 0; i < w->n; i++)
                plan_free(w->plans[i]);
        for (size_t i = 0; i < w->n_probes; i++)
                free(w->probes[i]);
        scratch_remove(w->top);
        free(w);
        return 0;
}

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

/* The plan with operations of its own, which have the good one's texts. */
static struct nsrun_plan copy_of(const struct nsrun_plan *good) {
        struct nsrun_plan copy = *good;

        copy.ops = calloc(good->n_ops + 1, sizeof(*copy.ops));
        assert_non_null(copy.ops);
        memcpy(copy.ops, good->ops, good->n_ops * sizeof(*copy.ops));
        return copy;
}

static void move(struct nsrun_plan *plan, size_t from, size_t to) {
        struct plan_op op = plan->ops[from];

        if (from < to)
                memmove(plan->ops + from, plan->ops + from + 1, (to - from) * sizeof(op));
        else
                memmove(plan->ops + to + 1, plan->ops + to, (from - to) * sizeof(op));
        plan->ops[to] = op;
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

static void expect_fault(const struct nsrun_plan *plan, const char *line) {
        struct nsrun_error err = {0};
        _cleanup_free_ char *is = NULL;

        assert_int_equal(plan_verify(plan, &err), -EINVAL);
        is = nsrun_error_format(&err);
        assert_string_equal(is, line);
}

/* --------------------------------------------------- what the plans above haven't */

TEST(a_device_is_shown_by_its_own_name_or_not_at_all) {
        static const struct {
                const char *source, *target;
                bool is_good;
        } cases[] = {{"/dev/kvm", "/dev/kvm", true},
                     {"/dev/dri/renderD128", "/dev/dri/renderD128", true},
                     {"/dev/snd/timer", "/dev/snd/timer", true},
                     {"/dev/kvm", "/dev/kvm2", false},
                     {"/dev/sda", "/dev/sda", false},
                     {"/dev/mem", "/dev/mem", false},
                     {"/dev/kvm", "/kvm", false},
                     {"/proc/kcore", "/proc/kcore", false}};
        const struct world *w = *state;
        const struct nsrun_plan *good = w->plans[0];

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct nsrun_plan plan = copy_of(good);
                size_t at = 0;

                while (at < good->n_ops && path_compare(good->ops[at].target, cases[i].target) < 0)
                        at++;
                memmove(plan.ops + at + 1, plan.ops + at, (good->n_ops - at) * sizeof(*plan.ops));
                plan.ops[at] = (struct plan_op){.kind = PLAN_BIND,
                                                .origin = PLAN_BY_GRANT,
                                                .source = (char *)(uintptr_t)cases[i].source,
                                                .target = (char *)(uintptr_t)cases[i].target,
                                                .is_device = true,
                                                .makes_target = true};
                plan.n_ops++;
                assert_int_equal(plan_verify(&plan, NULL), cases[i].is_good ? 0 : -EINVAL);
                free(plan.ops);
        }
}

/* What is opened by these is no path of the list above. */
TEST(a_link_over_a_protected_file_leads_to_the_commands_version_of_it) {
        static const char *const wrong[] = {"/.nsrun/1/config", "/.nsrun/0/../x", "/.nsrun/0/hooks",
                                            "/etc/passwd"};
        const struct world *w = *state;
        struct nsrun_plan plan = copy_of(w->plans[0]);
        struct plan_op *op = plan.ops;

        while (op < plan.ops + plan.n_ops && !(op->kind == PLAN_BIND && op->text))
                op++;
        assert_true(op < plan.ops + plan.n_ops);
        assert_string_equal(op->text, "/.nsrun/0/config");
        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
                op->text = (char *)(uintptr_t)wrong[i];
                assert_int_equal(plan_verify(&plan, NULL), -EINVAL);
        }
        op->text = (char *)(uintptr_t) "/.nsrun/0/config";
        assert_int_equal(plan_verify(&plan, NULL), 0);
        /* No other file may be covered so, and none by what can be written. */
        op->is_read_only = false;
        assert_int_equal(plan_verify(&plan, NULL), -EINVAL);
        op->is_read_only = true;
        plan.private = NULL;
        assert_int_equal(plan_verify(&plan, NULL), -EINVAL);
        free(plan.ops);
}

TEST(what_a_command_could_move_and_what_the_system_has_not_are_refused) {
        static const char *const sources[] = {"/run", "/var/lib", "/etc/ssl", "/sys", "/tmp"};
        const struct world *w = *state;
        struct nsrun_plan plan = copy_of(w->plans[0]);
        char *pin = in(w, "home/p/.git");
        size_t i = 0, opt = 0;

        /* A folder of the system's with another source. */
        while (opt < plan.n_ops &&
               (plan.ops[opt].origin != PLAN_BY_SYSTEM || plan.ops[opt].is_device || !plan.ops[opt].source))
                opt++;
        assert_true(opt < plan.n_ops);
        for (size_t k = 0; k < ARRAY_SIZE(sources); k++) {
                plan.ops[opt].source = (char *)(uintptr_t)sources[k];
                assert_int_equal(plan_verify(&plan, NULL), -EINVAL);
        }
        plan.ops[opt] = w->plans[0]->ops[opt];
        /* /proc of the host's. */
        for (i = 0; i < plan.n_ops && plan.ops[i].kind != PLAN_PROC;)
                i++;
        assert_true(i < plan.n_ops);
        plan.ops[i].proc = POLICY_PROC_BIND;
        assert_int_equal(plan_verify(&plan, NULL), -EINVAL);
        plan.ops[i] = w->plans[0]->ops[i];
        /* The pin of .git. */
        for (i = 0; i < plan.n_ops && !streq(plan.ops[i].target, pin);)
                i++;
        assert_true(i < plan.n_ops && plan.ops[i].origin == PLAN_BY_PIN);
        assert_int_equal(plan_verify(&plan, NULL), 0);
        move(&plan, i, plan.n_ops - 1);
        plan.n_ops--;
        assert_int_equal(plan_verify(&plan, NULL), -EINVAL);
        free(pin);
        free(plan.ops);
}

TEST(of_a_raw_plan_each_operation_makes_sense) {
        char root[] = "/", x[] = "/x", y[] = "relative/../y", text[] = "1", type[] = "tmpfs",
             other[] = "ext4", up[] = "net/../../x";
        const struct plan_op good[] = {
                {.kind = PLAN_BIND, .origin = PLAN_BY_COMMAND, .source = root, .target = root},
                {.kind = PLAN_TMPFS, .origin = PLAN_BY_COMMAND, .target = y},
                {.kind = PLAN_FILESYSTEM, .origin = PLAN_BY_COMMAND, .source = type, .target = x},
                {.kind = PLAN_PROTECT, .origin = PLAN_BY_COMMAND, .target = x},
                {.kind = PLAN_HIDE, .origin = PLAN_BY_COMMAND, .target = y},
                {.kind = PLAN_REMOUNT_RO, .origin = PLAN_BY_COMMAND, .target = root}};
        const struct plan_op bad[] = {
                {.kind = PLAN_BIND, .origin = PLAN_BY_COMMAND, .source = x, .target = x},
                {.kind = PLAN_CGROUP, .origin = PLAN_BY_COMMAND, .target = x},
                {.kind = PLAN_HIDE, .origin = PLAN_BY_PROJECT, .target = x},
                {.kind = PLAN_HIDE, .origin = PLAN_BY_COMMAND},
                {.kind = PLAN_HIDE, .origin = PLAN_BY_COMMAND, .target = x, .makes_target = true},
                {.kind = (enum plan_op_kind)99, .origin = PLAN_BY_COMMAND, .target = x}};
        const struct plan_op incomplete[] = {
                {.kind = PLAN_BIND, .origin = PLAN_BY_COMMAND, .target = x},
                {.kind = PLAN_SYMLINK, .origin = PLAN_BY_COMMAND, .target = x},
                {.kind = PLAN_SYSCTL, .origin = PLAN_BY_COMMAND, .target = up, .text = text},
                {.kind = PLAN_FILESYSTEM, .origin = PLAN_BY_COMMAND, .source = other, .target = x}};
        struct plan_op ops[ARRAY_SIZE(good) + 1];
        struct plan_raw raw = {.setup = {.start_fd = -1}};
        struct nsrun_plan plan = {.ops = ops, .n_ops = ARRAY_SIZE(good), .raw = &raw};

        memcpy(ops, good, sizeof(good));
        assert_int_equal(plan_verify(&plan, NULL), 0);
        plan.n_ops++;
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                ops[ARRAY_SIZE(good)] = bad[i];
                assert_int_equal(plan_verify(&plan, NULL), -EINVAL);
        }
        plan.n_ops = 1;
        for (size_t i = 0; i < ARRAY_SIZE(incomplete); i++) {
                ops[0] = incomplete[i];
                assert_int_equal(plan_verify(&plan, NULL), -EINVAL);
        }
        expect_fault(&plan,
                     "internal error: operation 1 (filesystem) isn't complete: ext4; nothing was started");
        plan.n_ops = 0;
        assert_int_equal(plan_verify(&plan, NULL), 0);
        plan.plain = x;
        expect_fault(&plan, "internal error: the plan is of two kinds; nothing was started");
}

TEST(a_joining_plan_joins_something_and_a_plain_one_has_no_sandbox) {
        const struct world *w = *state;
        struct plan_join join = {.init = {.pid = 1},
                                 .namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID};
        struct nsrun_plan plan = *w->plans[0];
        char why[] = "why", none[] = "none";

        plan.rundir = (char *)(plan.ops = NULL);
        plan.n_ops = 0;
        plan.has_overlays = false;
        plan.join = &join;
        assert_int_equal(plan_verify(&plan, NULL), 0);
        join.init.pid = 0;
        expect_fault(&plan, "internal error: the plan joins no session; nothing was started");
        join.init.pid = 1;
        join.namespaces = CLONE_NEWUSER;
        assert_int_equal(plan_verify(&plan, NULL), -EINVAL);
        join.namespaces |= CLONE_NEWNS | CLONE_NEWPID;
        plan.seccomp.n = 0;
        plan.seccomp.code = NULL;
        expect_fault(&plan,
                     "internal error: the plan has another filter than was asked for; nothing was started");
        plan.seccomp_name = none;
        assert_int_equal(plan_verify(&plan, NULL), 0);
        plan.join = NULL;
        plan.plain = why;
        plan.landlock = POLICY_LANDLOCK_OFF;
        assert_int_equal(plan_verify(&plan, NULL), 0);
        plan.ops = w->plans[0]->ops;
        plan.n_ops = 1;
        expect_fault(
                &plan,
                "internal error: the plan has a part of a sandbox, and is without one; nothing was started");
}

TEST(nothing_is_started) {
        const struct world *w = *state;
        const struct launch_params params = {.rundir_fd = -EBADF, .lock_fd = -EBADF, .terminal_fd = -1};
        struct nsrun_plan plan = copy_of(w->plans[0]);
        struct launch launch = LAUNCH_INIT;
        struct nsrun_error err = {0};
        _cleanup_free_ char *is = NULL, *line = NULL;
        size_t i = 0;

        while (!streq(plan.ops[i].target, "/usr"))
                i++;
        plan.ops[i].is_read_only = false;
        assert_int_equal(launch_start(&plan, &params, &launch, &err), -EINVAL);
        assert_true(asprintf(&line,
                             "internal error: operation %zu (bind) is writable, and nobody asked for that: "
                             "/usr; nothing was started",
                             i + 1) > 0);
        is = nsrun_error_format(&err);
        assert_string_equal(is, line);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        assert_int_equal(errno, ECHILD);
        free(plan.ops);
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
