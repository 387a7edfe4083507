/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every system call of a join fails once, in turn: nsrun says so in one line and the
 * command has not run, or the failure changed nothing; and the session is as it was. */
#include "faults.h"
#include "session.h"

#define MOST_CALLS 2000U

/* What can only go wrong once the command runs. */
static bool is_late(const char *line) {
        static const char *const late[] = {"nsrun can't wait",       "pid 1 can't wait",
                                           "report can't be read",   "the supervisor is gone",
                                           "ended without a report", "the command leads back to nsrun"};

        for (size_t i = 0; i < ARRAY_SIZE(late); i++)
                if (strstr(line, late[i]))
                        return true;
        return false;
}

/* In a session each has another. */
static void hide_pid(char *text) {
        char *at = strstr(text, ", pid ");

        if (at)
                for (at += strlen(", pid "); *at >= '0' && *at <= '9';)
                        memmove(at, at + 1, strlen(at));
}

static const char *judge(const struct outcome *o, const struct outcome *expected) {
        bool has_run = o->out[0] != '\0';

        if (has_run && !streq(o->out, expected->out))
                return "the command ran in another sandbox than the one asked for";
        if (o->status == expected->status)
                return has_run && (!o->err[0] || is_late_note(o->err))
                               ? NULL
                               : "the command's status, without its work or with an error";
        /* Whose child the reaper is not can't tell one without a last word from one that was killed. */
        if (is_nested && o->status == 128 + SIGKILL && strstr(o->err, "reaper was killed by signal 9"))
                return NULL;
        if (o->status != 125 && o->status != 126)
                return "neither the command's status nor 125";
        if (!is_one_line(o->err))
                return "not one line with a word in it";
        return has_run && !is_late(o->err) ? "the command ran and nsrun says it never did" : NULL;
}

/* Reapers that a failed nsrun has left to us; the monitor stays. */
static void reap_the_dead(void) {
        siginfo_t info;

        do
                info.si_pid = 0;
        while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == 0 && info.si_pid != 0);
}

static void fail_every_call(const struct site *s, const char *id, int error) {
        const char *const argv[] = {faults_program(), "run",    "--session", id, "--",
                                    "./look",         "/usr/x", NULL};
        _cleanup_outcome_ struct outcome expected = {0}, o = {0};
        unsigned n, n_wrong = 0, n_harmless = 0, step = fault_step(error);
        struct fault_page page;

        run_faulty(s, argv, NULL, 0, &expected, &page);
        expect_status(&expected, 7);
        hide_pid(expected.out);
        expect_in(expected.out, "CapBnd:\t0000000000000000");
        for (n = 1; n < MOST_CALLS; n += step) {
                _cleanup_free_ char *wanted = text_of("fail:%u:%d", n, error);
                const char *wrong;

                run_faulty(s, argv, wanted, 0, &o, &page);
                reap_the_dead();
                if (!page.call[0])
                        break;
                hide_pid(o.out);
                wrong = judge(&o, &expected);
                n_harmless += o.status == 7;
                n_wrong += wrong != NULL;
                if (!wrong)
                        continue;
                print_message("call %u (%s of %s) fails with \"%s\": %s; status %d, err: %s\n", n, page.call,
                              page.is_supervisors ? "the supervisor" : "a child", strerror(error), wrong,
                              o.status, o.err);
                print_difference("expected:", expected.out, o.out);
                print_difference("found:   ", o.out, expected.out);
        }
        expect_status(&o, 7);
        assert_true(n > 30);
        print_message("%u calls failed with \"%s\", %u of them harmlessly\n", (n - 1) / step,
                      strerror(error), n_harmless);
        assert_int_equal(n_wrong, 0);
}

TEST_IN_BOTH_MODES(a_failing_call_never_joins_a_half_confined_command) {
        static const int errors[] = {EPERM, ENOMEM, EINVAL, ENOSYS};
        const struct site *s = *state;
        _cleanup_free_ char *id = NULL;

        copy_helper(s, "look");
        id = START_PLAIN(s);
        for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
                fail_every_call(s, id, errors[i]);
        /* pid 1 and itself: nobody was left. */
        if (!is_nested)
                expect_good_join(s, id, "set -- /proc/[0-9]*; echo $#", "2\n");
        end_session(s, id, "stop");
}

/* Half of the calls of such a run are its looks for what the command has left, the first of which finds it.
 */
TEST_WITH(a_slow_look_for_what_was_left_is_no_failure, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *wanted = NULL;
        const char *const argv[] = {faults_program(),      "run", "--session", id,
                                    "--kill-leftovers",    "--",  "sh",        "-c",
                                    "sleep 1000 & exit 7", NULL};
        _cleanup_outcome_ struct outcome o = {0};
        struct fault_page page;

        run_faulty(s, argv, NULL, 0, &o, &page);
        expect_status(&o, 7);
        assert_string_equal(o.err, "");
        /* Where others work there are more looks in one run than in another: it may end before that call, or
         * that be the supervisor's. */
        for (int i = 0; i < 20 && (page.state != FAULT_DONE || page.is_supervisors); i++) {
                free(wanted);
                wanted = text_of("slow:%u:5500", page.calls / 2);
                run_faulty(s, argv, wanted, 0, &o, &page);
                expect_status(&o, 7);
                assert_string_equal(o.err, "");
        }
        assert_int_equal(page.state, FAULT_DONE);
        assert_false(page.is_supervisors);
        expect_good_join(s, id, "set -- /proc/[0-9]*; echo $#", "2\n");
        end_session(s, id, "stop");
}

int main(void) {
        return run_all_tests();
}
