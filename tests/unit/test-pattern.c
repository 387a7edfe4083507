/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* mcp/pattern.c: what matches, and patterns at the bound of what one may be compiled to. */
#include "scratch.h"

#include "mcp/pattern.h"

TEST(what_a_pattern_matches) {
        static const struct {
                const char *pattern, *line;
                bool ignores_case, matches;
        } rows[] = {
                {"a|b", "xbx", false, true},         {"^(a|b)+$", "abba", false, true},
                {"^(a|b)+$", "abcba", false, false}, {"A{2,3}$", "xaa", true, true},
                {"^a{2,3}$", "aaaa", false, false},  {"\\bfoo\\b", "a foo.", false, true},
                {"\\bfoo\\b", "food", false, false}, {"||a", "", false, true},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_pattern_ struct pattern *p = NULL;
                const char *why = NULL;

                assert_int_equal(pattern_compile(rows[i].pattern, rows[i].ignores_case, &p, &why), 0);
                assert_int_equal(pattern_matches(p, rows[i].line, strlen(rows[i].line)), rows[i].matches);
        }
}

/* 16 x 255 bytes, some more, and what takes the steps on either side of the last: each end is said, and
 * nothing is written behind the steps. */
TEST(the_last_step_is_the_last) {
        static const char *const ends[] = {"", "|b", "|", "*", "+", "?", "(|)", "{2}", "$"};

        for (size_t n = 8; n < 18; n++)
                for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
                        _cleanup_pattern_ struct pattern *p = NULL;
                        char text[64];
                        const char *why = NULL;
                        int r;

                        (void)snprintf(text, sizeof(text), "(a{255}){16}%.*s%s", (int)n,
                                       "aaaaaaaaaaaaaaaaaa", ends[i]);
                        r = pattern_compile(text, false, &p, &why);
                        if (r < 0) {
                                assert_int_equal(r, -E2BIG);
                                assert_string_equal(why, "the pattern is too large");
                        }
                        /* With the end's step, 4,096 have room. */
                        if (i == 0)
                                assert_int_equal(r, n < 16 ? 0 : -E2BIG);
                }
}

int main(void) {
        return run_all_tests();
}
