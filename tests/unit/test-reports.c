/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* run/run.c: what pid 1 reports, also where the report makes little sense; and that filling an error is
 * never a success. */
#include "run/run.h"

#include "scratch.h"

/* Takes one report that pid 1 would have sent. */
static int take(const struct launch_report *sent, struct run *run, struct nsrun_error *err) {
        struct launch_report got;
        int ends[2], r;

        *run = RUN_INIT;
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], sent, sizeof(*sent)), sizeof(*sent));
        (void)close(ends[1]);
        run->launch.report_fd = ends[0];
        r = run_take_report(run, &got, err);
        if (r > 0)
                assert_int_equal(run_take_report(run, &got, err), 0);
        return r;
}

TEST(what_fills_an_error_returns_the_errors_errno) {
        static const struct {
                int r, returned, error;
        } cases[] = {
                {-EPERM, -EPERM, EPERM}, {UNSAID(-EPERM), -EPERM, 0}, {UNSAID(-1), -1, 0}, {0, -EIO, 0}};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct nsrun_error err = {0};

                assert_int_equal(error_set(&err, NSRUN_STAGE_POLICY, cases[i].r, NULL, "what", NULL),
                                 cases[i].returned);
                assert_int_equal(err.error, cases[i].error);
                /* Filled already. */
                assert_int_equal(error_set(&err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL, "x", NULL),
                                 -EINVAL);
                assert_string_equal(err.what, "what");
                assert_int_equal(err.error, cases[i].error);
        }
}

TEST(a_failure_without_an_errno_is_one) {
        struct launch_report failed = {.kind = LAUNCH_FAILED, .error = {.stage = NSRUN_STAGE_MOUNT}};
        struct nsrun_error err = {0};
        struct run run;

        assert_int_equal(take(&failed, &run, &err), -EIO);
        assert_int_equal(err.error, EIO);
        run_end(&run);
        failed.error.error = ENOSPC;
        err = (struct nsrun_error){0};
        assert_int_equal(take(&failed, &run, &err), -ENOSPC);
        assert_int_equal(err.error, ENOSPC);
        assert_int_equal(err.stage, NSRUN_STAGE_MOUNT);
        run_end(&run);
}

TEST(an_end_and_a_note_are_kept) {
        struct launch_report exited = {.kind = LAUNCH_EXITED, .status = 0x300},
                             note = {.kind = LAUNCH_NOTE, .error = {.what = "so it is"}};
        struct nsrun_error err = {0};
        struct run run;

        assert_int_equal(take(&exited, &run, &err), 1);
        assert_true(run.has_exited);
        assert_int_equal(run.status, 0x300);
        run_end(&run);
        assert_int_equal(take(&note, &run, &err), 1);
        assert_string_equal(run.notes[0], "so it is");
        assert_false(run.has_exited);
        run_end(&run);
}

TEST(filling_an_error_never_returns_success) {
        struct nsrun_error err = {0};

        assert_int_equal(error_set(&err, NSRUN_STAGE_USAGE, 0, NULL, "no errno", NULL), -EIO);
        assert_int_equal(err.error, 0);
        assert_int_equal(error_set(NULL, NSRUN_STAGE_USAGE, 0, NULL, "no errno", NULL), -EIO);
        assert_int_equal(error_setf(&err, NSRUN_STAGE_USAGE, -ENOENT, NULL, NULL, "later"), -ENOENT);
        assert_string_equal(err.what, "no errno");
}

int main(void) {
        return run_all_tests();
}
