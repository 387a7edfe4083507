/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every system call of a run fails once, in turn: either nsrun says so in one line
 * and the command has not run, or the failure changed nothing at all. */
#include "faults.h"

/* Nothing but a hang needs so many. */
#define MOST_CALLS 5000U

/* What can only go wrong once the command runs: nsrun fails then too, but the
 * command, fully confined, may have done its work. */
static bool is_late(const char *line) {
        static const char *const late[] = {"nsrun can't wait", "pid 1 can't wait", "report can't be read",
                                           "the status can't be written", "ended without a report"};

        for (size_t i = 0; i < ARRAY_SIZE(late); i++)
                if (strstr(line, late[i]))
                        return true;
        return false;
}

static bool is_one_line(const char *text) {
        const char *end = strchr(text, '\n');

        return startswith(text, "nsrun: ") && end && end[1] == '\0';
}

static const char *judge(const struct outcome *o, const struct outcome *expected) {
        bool has_run = o->out[0] != '\0';

        if (has_run && !streq(o->out, expected->out))
                return "the command ran in another sandbox than the one asked for";
        if (o->status == expected->status)
                return has_run && !o->err[0] ? NULL : "the command's status without its work";
        if (o->status != 125)
                return "neither the command's status nor 125";
        if (!is_one_line(o->err))
                return "not one line";
        return has_run && !is_late(o->err) ? "the command ran and nsrun says it never did" : NULL;
}

static void fail_every_call(const struct site *s, const char *const *argv, int error) {
        _cleanup_outcome_ struct outcome expected = {0}, o = {0};
        unsigned n_harmless = 0, n;
        struct fault_page page;

        run_faulty(s, argv, NULL, &expected, &page);
        expect_status(&expected, 7);
        expect_in(expected.out, "CapBnd:\t0000000000000000");
        for (n = 1; n < MOST_CALLS; n++) {
                _cleanup_free_ char *wanted = text_of("fail:%u:%d", n, error);
                const char *wrong;
                char *left;

                run_faulty(s, argv, wanted, &o, &page);
                if (!page.call[0])
                        break;
                wrong = judge(&o, &expected);
                left = wrong ? NULL : leftovers(s);
                if (wrong || left)
                        fail_msg("call %u (%s of %s) fails with \"%s\": %s%s; status %d, err: %s, out: %s", n,
                                 page.call, page.is_supervisors ? "the supervisor" : "a child",
                                 strerror(error), wrong ? wrong : "left behind: ", left ? left : "",
                                 o.status, o.err, o.out);
                n_harmless += o.status == 7;
        }
        /* The last run was past the end: a good one. */
        expect_status(&o, 7);
        expect_out(&o, expected.out);
        assert_true(n > 100);
        print_message("%u calls failed with \"%s\", %u of them harmlessly\n", n - 1, strerror(error),
                      n_harmless);
}

static void fail_with(void **state, const int *errors, size_t n, const char *const *options) {
        const struct site *s = *state;
        const char *argv[32] = {faults_program(), "run", "--project", s->project};
        size_t at = 4;

        copy_helper(s, "look");
        while (*options)
                argv[at++] = *options++;
        argv[at++] = "--";
        argv[at++] = "./look";
        argv[at] = "/usr/x";
        for (size_t i = 0; i < n; i++)
                fail_every_call(s, argv, errors[i]);
}

static void a_failing_call_never_starts_a_half_confined_command(void **state) {
        static const int errors[] = {EPERM, ENOMEM, EINVAL};

        fail_with(state, errors, ARRAY_SIZE(errors), (const char *const[]){NULL});
}

static void a_missing_call_never_starts_a_half_confined_command(void **state) {
        static const int errors[] = {ENOSYS};

        fail_with(state, errors, ARRAY_SIZE(errors), (const char *const[]){NULL});
}

static void a_failing_call_leaves_no_overlay_and_no_umbrella(void **state) {
        static const int errors[] = {EIO, EPERM};
        const struct site *s = *state;

        make_folder(s->root, "layered");
        fail_with(state, errors, ARRAY_SIZE(errors),
                  (const char *const[]){"--overlay", text_of("%s/layered", s->root), "--net=none",
                                        "--hostname=inside", NULL});
}

static void a_failing_call_leaves_no_overlay_in_memory(void **state) {
        static const int errors[] = {ENOSPC};
        const struct site *s = *state;

        make_folder(s->root, "layered");
        fail_with(state, errors, ARRAY_SIZE(errors),
                  (const char *const[]){"--overlay", text_of("%s/layered", s->root),
                                        "--overlay-backing=tmpfs", "--proc=subset", "--no-new-session",
                                        NULL});
}

static void a_failing_call_never_breaks_the_status_lines(void **state) {
        static const int errors[] = {EIO};
        const struct site *s = *state;
        _cleanup_free_ char *lines = path_of(s->root, "status");

        make_file(s->root, "status", "");
        fail_with(state, errors, ARRAY_SIZE(errors), (const char *const[]){"--status-fd=0", NULL});
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_failing_call_never_starts_a_half_confined_command,
                                                site_setup, site_teardown),
                cmocka_unit_test_setup_teardown(a_missing_call_never_starts_a_half_confined_command,
                                                site_setup, site_teardown),
                cmocka_unit_test_setup_teardown(a_failing_call_leaves_no_overlay_and_no_umbrella, site_setup,
                                                site_teardown),
                cmocka_unit_test_setup_teardown(a_failing_call_leaves_no_overlay_in_memory, site_setup,
                                                site_teardown),
                cmocka_unit_test_setup_teardown(a_failing_call_never_breaks_the_status_lines, site_setup,
                                                site_teardown),
        };

        return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
