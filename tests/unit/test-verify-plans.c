/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan/verify.c: what must be refused, and with which words, of plans that test-verify.c hasn't. */
#include "verify_world.h"

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
        static const char *const wrong[] = {"/.nsrun/9-config", "/.nsrun/0-../x", "/.nsrun/0-hooks",
                                            "/.nsrun/0/config", "/etc/passwd"};
        const struct world *w = *state;
        struct nsrun_plan plan = copy_of(w->plans[0]);
        struct plan_op *op = plan.ops;
        char *text;

        while (op < plan.ops + plan.n_ops && !(op->kind == PLAN_BIND && op->text && !op->is_directory))
                op++;
        assert_true(op < plan.ops + plan.n_ops);
        text = op->text;
        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
                op->text = (char *)(uintptr_t)wrong[i];
                assert_int_equal(plan_verify(&plan, NULL), -EINVAL);
        }
        op->text = text;
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

int main(void) {
        return run_all_tests_in(make_world, remove_world);
}
