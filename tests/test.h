/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What every test program begins with: cmocka, with the headers it wants before it, and a list
 * of tests that fills itself: a test that is defined is a test that runs, in the file's order. */
#pragma once

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/macro.h"

/* assert_in_range() is deprecated in cmocka 2.0, and its like of 2.0 isn't there in 1.1. */
#define assert_between(value, least, most)                                                      \
        do {                                                                                    \
                intmax_t between_ = (intmax_t)(value);                                          \
                                                                                                \
                if (between_ < (intmax_t)(least) || between_ > (intmax_t)(most))                \
                        fail_msg("%jd is not between %jd and %jd", between_, (intmax_t)(least), \
                                 (intmax_t)(most));                                             \
        } while (0)

/* Swaps what two names stand for (RENAME_EXCHANGE), by a call that not every C library declares. */
static inline long exchange_names(int dir, const char *name, int other_dir, const char *other) {
        return syscall(SYS_renameat2, dir, name, other_dir, other, 2);
}

struct listed_test {
        const char *name;
        CMUnitTestFunction run;
        CMFixtureFunction set_up;
        CMFixtureFunction tear_down;
};

static struct listed_test listed_tests[100];
static size_t n_listed_tests;
static const struct listed_test *running_test;
static struct timespec running_since;
static void *shared_state;

/* NSRUN_TEST_ONLY=NAME: that test alone. */
static inline void list_test(const char *name, CMUnitTestFunction run, CMFixtureFunction set_up,
                             CMFixtureFunction tear_down) {
        const char *only = getenv("NSRUN_TEST_ONLY");

        if (only && *only && strcmp(only, name) != 0)
                return;
        if (n_listed_tests == ARRAY_SIZE(listed_tests))
                abort();
        listed_tests[n_listed_tests++] = (struct listed_test){name, run, set_up, tear_down};
}

static inline int begin_test(void **state) {
        running_test = *state;
        *state = shared_state;
        (void)clock_gettime(CLOCK_MONOTONIC, &running_since);
        return running_test->set_up ? running_test->set_up(state) : 0;
}

/* Prints how long a test of a second or more took: scripts/count-tests names the slowest. */
static inline int end_test(void **state) {
        int r = running_test->tear_down ? running_test->tear_down(state) : 0;
        struct timespec now;
        long long ms;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        ms = (now.tv_sec - running_since.tv_sec) * 1000LL + (now.tv_nsec - running_since.tv_nsec) / 1000000;
        if (ms >= 1000)
                print_message("took %lld.%lld s: %s\n", ms / 1000, ms % 1000 / 100, running_test->name);
        return r;
}

/* Whether there is time for hours of it. */
static inline bool is_long(void) {
        return getenv("NSRUN_TEST_LONG");
}

/* Whether a sanitized program that a test starts looks for what it has forgotten to free, in a quarter of
 * its time, and notes where each piece was allocated and freed, in another fifth: what it may not touch it
 * finds without.  A test program itself, which uses the library, always does both. */
static inline void look_for_leaks(bool wanted) {
        assert_int_equal(setenv("ASAN_OPTIONS",
                                wanted ? "detect_leaks=1" : "detect_leaks=0:malloc_context_size=0", 1),
                         0);
}

/* Runs all tests; the result is main's.  What set_up makes is shared by all.  (cmocka's group
 * fixtures leave no room for begin_test's argument.) */
static inline int run_all_tests_in(CMFixtureFunction set_up, CMFixtureFunction tear_down) {
        struct CMUnitTest tests[ARRAY_SIZE(listed_tests)];
        int failed;

        for (size_t i = 0; i < n_listed_tests; i++)
                tests[i] = (struct CMUnitTest){listed_tests[i].name, listed_tests[i].run, begin_test,
                                               end_test, &listed_tests[i]};
        if (n_listed_tests == 0 && getenv("NSRUN_TEST_ONLY")) {
                print_message("no test has this name\n");
                return EXIT_FAILURE;
        }
        look_for_leaks(is_long());
        /* nohup(1) ignores one for all that it starts. */
        for (int signal_number = 1; signal_number < NSIG; signal_number++)
                (void)signal(signal_number, SIG_DFL);
        if (set_up && set_up(&shared_state) != 0)
                return EXIT_FAILURE;
        failed = _cmocka_run_group_tests("tests", tests, n_listed_tests, NULL, NULL);
        if (tear_down && tear_down(&shared_state) != 0)
                failed = EXIT_FAILURE;
        if (failed) {
                /* A failed test frees nothing, of which a sanitizer would say more than the test did. */
                (void)fflush(NULL);
                _exit(EXIT_FAILURE);
        }
        return failed;
}

static inline int run_all_tests(void) {
        return run_all_tests_in(NULL, NULL);
}

/* TEST_IF(…) { body } defines a test of this name, which finds what set_up made in *state.  The
 * condition is evaluated when the program starts.  It is for what only some users or builds can
 * have; what a host may be missing is a skip with its reason. */
#define TEST_IF(condition, name, set_up, tear_down)                           \
        static void name(void **state);                                       \
        __attribute__((__constructor__)) static void name##_is_a_test(void) { \
                if (condition)                                                \
                        list_test(#name, name, set_up, tear_down);            \
        }                                                                     \
        static void name(nsrun_unused void **state)

#define TEST_WITH(name, set_up, tear_down) TEST_IF(true, name, set_up, tear_down)
/* Runs a test once more under the name "name (mode)", with another fixture; stands between
 * "TEST_WITH(…);" and the body.  TEST_AGAIN_IF: where the condition holds. */
#define TEST_AGAIN_IF(condition, name, mode, set_up, tear_down)                      \
        __attribute__((__constructor__)) static void name##_is_a_test_##mode(void) { \
                if (condition)                                                       \
                        list_test(#name " (" #mode ")", name, set_up, tear_down);    \
        }
#define TEST_AGAIN(name, mode, set_up, tear_down) TEST_AGAIN_IF(true, name, mode, set_up, tear_down)
/* Whether `scripts/check --full` runs the tests: there is more time, and more is installed. */
static inline bool is_full(void) {
        const char *full = getenv("NSRUN_TEST_FULL");

        return full && *full;
}
/* A test for `scripts/check --full` alone: it needs what nsrun's own tests do without. */
#define FULL_TEST(name, set_up, tear_down) TEST_IF(is_full(), name, set_up, tear_down)
/* A test without a fixture; harness.h defines one with the fixture of all sandbox tests. */
#define TEST(name) TEST_WITH(name, NULL, NULL)
