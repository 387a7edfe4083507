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
        /* A full reset within a text is one to some emulators only. */
        {"\033[?1000h\033c", "\033[?1000l"},
        {"\033[?1000h\033Px\033[?1000l", "\030\033\\\033[?1000l"},
        {"\033[?1000h\033Px\033\\\033[?1000l", ""},
        /* What is left unfinished would swallow what comes next. */
        {"\033]0;tit", "\030\033\\"},
        {"\033[?10", "\030\033\\"},
        {"\033[?00000000000000000000000000000000000000000000000000000001049h", "\033[?1049l"},
        {"\033[?1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1049h", "\033[?1l\033[?1049l"},
        {"\033[?1049\033[?25l", "\033[?25h"},
        /* BEL ends an operating system's command alone. */
        {"\033Pq\a", "\030\033\\"},
        {"\033_G\a\033\\", ""},
        {"\033]0;tit\030", "\030\033\\"},
        /* Control characters count in the midst of a sequence; ESC begins another. */
        {"\033)0\033[\016m", "\017"},
        {"\033\016[?25l", "\033[?25h\017"},
        {"\033(\033[?25l", "\033[?25h"},
        {"\033[?2\0305l\033[?7\177l", "\033[?7h"},
        {"\033[\030\016", "\017"},
        /* C1's characters, by themselves and as UTF-8; a part of another character is none. */
        {"\x9b?25l", "\033[?25h"},
        {"\xc2\x9b?25l", "\033[?25h"},
        {"\xe2\x9b\x84?25l \xf0\x9f\x9b\x9d", ""},
        {"\xc2\x9d"
         "0;tit",
         "\030\033\\"},
        {"\xc2\x9d"
         "0;tit\xc2\x9c",
         ""},
        /* A mode that was saved may be on. */
        {"\033[?1000h\033[?1000s\033[?1000l\033[?1000r", "\033[?1000l"},
        {"\033[4h\033[20h\033[2h\033[12l", "\033[2l\033[4l\033[12h\033[20l"},
        {"\033[4h\033[4l", ""},
        {"\033[?2l\033[?25l", "\033<\033<\033[?25h\033(B"},
        /* A VT52 and a Tektronix don't know the sequence that ends them here. */
        {"\033[?2l\033[?2h\033[?7l\033[?7h", "\033<\033<\033[?7h\033(B"},
        {"\033[?38h\033[?38l", "\033\003\033\\\033(B"},
        {"\033[?2031;2048;9001h", "\033[?2031l\033[?2048l\033[?9001l"},
        {"\033[?6h\033[5;6r", "\033[?6l\033[999;1H\0337\033[r\0338"},
        {"\033[5;6r\033[r", ""},
        {"\033[=1u", "\033[=0;1u"},
        {"\033[>1u\033[>3u\033[>3u\033[<2u", "\033[<1u"},
        {"\033[>1;2m", "\033[>1m"},
        {"\033n\033%@", "\017\033%G"},
        {"\033[5 q", "\033[0 q"},
        {"\033[5 q\033[0 q", ""},
        {"\033[3g", "\033[?5W"},
        {"\033[1'z", "\033[0'z"},
        {"\033[1'z\033[0'z", ""},
        {"\033[2$~\033[1$}", "\033[0$}\033[0$~"},
        {"\033[5i\033[4i", "\033[4i"},
        {"\033[?1049h\033[>1u", "\033[<1u\033[?1049l\033[<1u"},
        /* What emulators read differently sets nothing back. */
        {"\033[?1003h\033[?1003$l", "\033[?1003l"},
        {"\033[?1003h\033[>?1003l", "\033[?1003l"},
        {"\033[?1003h\033[1003?l", "\033[?1003l"},
        {"\033[?1003h\033[?1003:1l", "\033[?1003l"},
        {"\033[?1003h\033[?1003\001l", "\033[?1003l"},
        {"\033[?1003h\033[?1003\xc3\xa9l", "\033[?1003l"},
        {"\033[?1003h\x9b?1003l", "\033[?1003l"},
        {"\033[?1003h\xc2\x9b?1003l", "\033[?1003l"},
        {"\033[?1003h\033[?1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1003l", "\033[?1003l"},
        {"\033[?1003h\033[?66539l", "\033[?1003l"},
        {"\033[?1003h\033]0;\x9c\033[?1003l\033\\", "\033[?1003l"},
        {"\033[?66539h", "\033[?1003l"},
        {"\033[?1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1003h",
         "\033[?1l\033[?1003l"},
        {"\033(0\033(%B", "\033(B"},
        {"\033[8m\033[$m", "\033[m"},
        /* What was kept with the cursor's place comes back with that. */
        {"\033(0\0337\033(B\0338", "\033(B"},
        {"\033[8m\0337\033[m\0338", "\033[m"},
        {"\033[8m\033[s\033[m\033[u", "\033[m"},
        {"\033[8m\0337\033[m\0338\033[m", ""},
        {"\033[8m\033[?1048h\033[m\033[?1048l", "\033[m"},
        {"\033[8m\033[?1049h\033[m", "\033[?1049l\033[m"},
        {"\033[8m\033[?1049h\033[m\033[?1049l", "\033[m"},
        {"\033[?6h\0337\033[?6l\0338", "\033[?6l\033[999;1H"},
        {"\033]8;;https://host.example\033\\", "\033]8;;\033\\"},
        {"\033]8;;https://host.example\033\\name\033]8;;\a", ""},
        {"\033]11;#000\a", "\033]104\033\\\033]110\033\\\033]111\033\\\033]112\033\\"},
        {"\033]11;?\a", ""},
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

/* What is asked is answered on the terminal's input. */
TEST(questions_are_seen) {
        static const struct {
                const char *printed;
                bool asks;
        } questions[] = {
                {"\033[c", true},
                {"\033[>0c", true},
                {"\033[6n", true},
                {"\033[?2026$p", true},
                {"\033[?u", true},
                {"\033[>q", true},
                {"\033[>0q", true},
                {"\033[1;1;1;1;2;2*y", true},
                {"\033Z", true},
                {"\005", true},
                {"\033]11;?\a", true},
                {"\033P$qm\033\\", true},
                {"\033_Gi=1\033\\", true},
                {"\033[?1003h", true},
                {"\033[#R", true},
                {"\033[1'z", true},
                {"\033]1337;ReportCellSize\a", true},
                {"\xc2\x9b"
                 "6n",
                 true},
                {"plain \033[1;31mtext\033[m?", false},
                {"\033]0;title\a\033[?1049h\033[2J\033[?2004h", false},
        };

        for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
                struct screen s = {0};

                screen_watch(&s, questions[i].printed, strlen(questions[i].printed));
                assert_int_equal(s.asks, questions[i].asks);
        }
}

TEST(all_at_once_fits) {
        struct screen s = {0};
        char text[SCREEN_RESET_MOST];
        static const char all[] =
                "\033[?1;9;1000;1001;1002;1003;1004;1005;1006h\033[?1015;1016;2004;2026;47;1047;1049h"
                "\033[?5;6;45;66;67;69;1051;1052;1053;1060;1061;2031;2048;9001h\033[2;4;20h\033[12l"
                "\033[?2;7;8;25;1007l\033=\033(0\016\033[1m\033[>0;1m\033[>1;1m\033[>2;1m\033[>3;1m"
                "\033[>4;1m\033[>5;1m\033[>6;1m\033[>7;1m\033[=1u\033%@\033[5;6r\033[5 q\033[3g"
                "\033]8;;x\a\033]11;x\a\033]P";

        screen_watch(&s, all, sizeof(all) - 1);
        for (int i = 0; i < 1000; i++)
                screen_watch(&s, "\033[>31u", 6);
        screen_watch(&s, "\033]", 2);
        assert_between(screen_reset(&s, text), 350, SCREEN_RESET_MOST - 1);
}

/* Margins that hold one line hide the one before; and what comes isn't known to have come once it was
 * cleared. */
TEST(a_screen_is_cleared_of_all_that_could_hide_lines) {
        static const char rest[] =
                "\030\033\\\033[?6l\033[?69l\033[?7h\033[4l\033[m\033(B\017\033[r\033[999H\033[J";
        static const char *const printed[] = {"\033[5;5r", "\033M", "\302\2335;5r", "\2335;5r", "\033c"};
        char text[SCREEN_RESET_MOST];
        struct screen s = {0};
        size_t n;

        screen_watch(&s, "text\r\n\t\b", 8);
        assert_int_equal(screen_clear(&s, text), 0);
        for (size_t i = 0; i < ARRAY_SIZE(printed); i++) {
                screen_watch(&s, printed[i], strlen(printed[i]));
                n = screen_clear(&s, text);
                assert_true(n >= sizeof(rest) - 1);
                assert_memory_equal(text + n + 1 - sizeof(rest), rest, sizeof(rest) - 1);
                assert_int_equal(screen_clear(&s, text), 0);
        }
        screen_watch(&s, "\033[?1049h\033[31m", 13);
        n = screen_clear(&s, text);
        text[n] = '\0';
        assert_ptr_equal(strstr(text, "\033[?1049l\033[m\030"), text);
        /* A picture of kitty's protocol lies above what is written. */
        screen_watch(&s, "\033_Ga=T\033\\", 8);
        n = screen_clear(&s, text);
        text[n] = '\0';
        assert_ptr_equal(strstr(text, "\033\\\033_Gq=2,a=d\033\\\030"), text);
}

int main(void) {
        return run_all_tests();
}
