/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests that draw lots begin with.  The seed is fixed, so that every run asks the same;
 * NSRUN_TEST_SEED=N is another, and NSRUN_TEST_SEED=random one that nobody has chosen.  It is printed, once
 * a program, and so a failure can be had again. */
#pragma once

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "test.h"

/* The seed of all of this program's tests. */
static inline uint64_t test_seed(void) {
        static bool is_known;
        static uint64_t seed;
        const char *text = getenv("NSRUN_TEST_SEED");
        uint32_t drawn = 0;

        if (is_known)
                return seed;
        if (!text || !*text)
                seed = 1;
        else if (strcmp(text, "random") != 0)
                seed = strtoull(text, NULL, 10);
        else if (getrandom(&drawn, sizeof(drawn), 0) == sizeof(drawn))
                seed = drawn;
        else
                fail_msg("nothing can be drawn");
        is_known = true;
        print_message("seed %llu\n", (unsigned long long)seed);
        return seed;
}

/* Waits for a while that is drawn: what is killed next is at any point of its life. */
static inline void pause_up_to(unsigned *seed, int nanoseconds) {
        const struct timespec moment = {.tv_nsec = rand_r(seed) % nanoseconds};

        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
}
