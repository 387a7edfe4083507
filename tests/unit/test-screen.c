/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* run/screen.c: which modes of an emulator a program's output leaves, and what sets them back. */
#include "run/screen.h"

#include "scratch.h"

static const struct {
        const char *printed, *reset;
} cases[] = {
        {"plain text\r\n\t\a\b", ""},
        {"\033[31mred\033[0m \033[1;4mbold\033[m", ""},
        {"\033[31mred", "\033[m"},
        {"\033[2J\033[10;20H\033[K\033]0;title\a\033]0;title\033\\", ""},
        /* A sequence begins in the middle of a title, and ends that. */
        {"\033]0;\033[?25l\033\\", "\033[?25h"},
        {"\033[?1049h\033[?25l\033[?25h\033[?1049l", ""},
        {"\033[?1049h", "\033[?1049l"},
        {"\033[?25l", "\033[?25h"},
        {"\033[?7l", "\033[?7h"},
        {"\033[?1000;1006;2004h", "\033[?1000l\033[?1006l\033[?2004l"},
        {"\033[?1000;1006;2004h\033[?1006l", "\033[?1000l\033[?2004l"},
        {"\033[?12;4711h", ""},
        {"\033[1000h", ""},
        {"\033=\033(0\016", "\033>\033(B\017"},
        {"\033=\033(0\016\033>\033(B\017", ""},
        {"\033[>1u\033[>3u\033[<u", "\033[<1u"},
        {"\033[>4;2m", "\033[>4m"},
        {"\033[>4;2m\033[>4m", ""},
        {"\033[?1049h\033c", ""},
        /* What is left unfinished would swallow what comes next. */
        {"\033]0;tit", "\030\033\\"},
        {"\033[?10", "\030\033\\"},
        {"\033[?00000000000000000000000000000000000000000000000000000001049h", ""},
        {"\033[?1049\033[?25l", "\033[?25h"},
};

TEST(what_was_switched_on_is_set_back) {
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct screen at_once = {0}, by_bytes = {0};
                char text[SCREEN_RESET_MOST] = "", again[SCREEN_RESET_MOST] = "";
                size_t n;

                screen_watch(&at_once, cases[i].printed, strlen(cases[i].printed));
                for (const char *c = cases[i].printed; *c; c++)
                        screen_watch(&by_bytes, c, 1);
                n = screen_reset(&at_once, text);
                assert_int_equal(n, strlen(cases[i].reset));
                text[n] = '\0';
                assert_string_equal(text, cases[i].reset);
                n = screen_reset(&by_bytes, again);
                again[n] = '\0';
                assert_string_equal(again, text);
                /* And it is forgotten then. */
                assert_int_equal(screen_reset(&at_once, text), 0);
        }
}

TEST(all_at_once_fits) {
        struct screen s = {0};
        char text[SCREEN_RESET_MOST];
        static const char all[] =
                "\033[?1;9;1000;1001;1002;1003;1004;1005;1006h\033[?1015;1016;2004;2026;47;1047;1049h"
                "\033[?7;25;1007l\033=\033(0\016\033[1m\033[>4;1m";

        screen_watch(&s, all, sizeof(all) - 1);
        for (int i = 0; i < 1000; i++)
                screen_watch(&s, "\033[>31u", 6);
        screen_watch(&s, "\033]", 2);
        assert_in_range(screen_reset(&s, text), 100, SCREEN_RESET_MOST - 1);
}

int main(void) {
        return run_all_tests();
}
