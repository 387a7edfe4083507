/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terminal/screen.c: when the sequence that sets an emulator back is needed, and what a terminal may answer.
 */
#include "terminal/screen.h"

#include "scratch.h"

static void watch(struct screen *s, const char *printed) {
        screen_watch(s, printed, strlen(printed));
}

static const struct {
        const char *printed;
        bool has_controls, asks;
} cases[] = {
        {"plain text\r\n\t\a\b", false, false},
        {"caf\xc3\xa9", false, false},
        {"\033[31mred\033[0m \033[1;38:2::1:2:3mbold\033[m\033[2J\033[10;20H\033[K\0337\033[s\033[u\0338",
         true, false},
        {"\033]0;title\a\033]0;title\033\\\033]133;A\a\033]8;;https://host.example/?a\033\\", true, false},
        {"\033[?1049h\033[?25l\033[?2004h\033[?1h\033=\033(0\033[?25h\033[?1049l", true, false},
        {"\016", true, false},
        {"\xe2\x9b\x84 \xf0\x9f\x9b\x9d", true, false},
        {"\033c", true, false},
        {"\005", false, true},
        {"\033[c", true, true},
        {"\033[>0c", true, true},
        {"\033[6n", true, true},
        {"\033[?2026$p", true, true},
        {"\033[?u", true, true},
        {"\033[>q", true, true},
        {"\033[>0q", true, true},
        {"\033[14t", true, true},
        {"\033[1;1;1;1;2;2*y", true, true},
        {"\033Z", true, true},
        {"\033]11;?\a", true, true},
        {"\033]4;1;?\a", true, true},
        {"\033]52;c;?\a", true, true},
        {"\033P$qm\033\\", true, true},
        {"\033_Gi=1\033\\", true, true},
        {"\033[?1003h", true, true},
        {"\033[?25;1003h", true, true},
        {"\033[?66539h", true, true},
        {"\033[#R", true, true},
        {"\033[1'z", true, true},
        {"\033]1337;ReportCellSize\a", true, true},
        {"\xc2\x9b"
         "6n",
         true, true},
        {"\x9b"
         "6n",
         true, true},
        /* A sequence that begins in a title, and one with control characters in it. */
        {"\033]0;a\033[6n", true, true},
        {"\033[\n6n", true, true},
        {"\033\r\177[6n", true, true},
        {"\033[6\177n", true, true},
        {"\033[3\xc3\xa9m", true, true},
        /* More numbers than are kept. */
        {"\033[1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1m", true,
         true},
};

TEST(what_is_plain_or_quiet_is_known) {
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct screen at_once = {0}, by_bytes = {0};

                watch(&at_once, cases[i].printed);
                for (const char *c = cases[i].printed; *c; c++)
                        screen_watch(&by_bytes, c, 1);
                if (at_once.has_controls != cases[i].has_controls || at_once.asks != cases[i].asks)
                        fail_msg("case %zu", i);
                assert_int_equal(by_bytes.has_controls, at_once.has_controls);
                assert_int_equal(by_bytes.asks, at_once.asks);
                assert_string_equal(screen_reset(&at_once), cases[i].has_controls ? screen_sequence() : "");
                /* And it is forgotten then, but for the answer that may come. */
                assert_string_equal(screen_reset(&at_once), "");
                assert_int_equal(at_once.asks, cases[i].asks);
        }
}

/* Nothing of it may ask, or be needed by itself, or be longer than is kept of a sequence. */
TEST(the_sequence_is_as_emulators_read_it) {
        static const char *const terms[] = {"xterm-256color", "linux", NULL};

        for (size_t i = 0; i < ARRAY_SIZE(terms); i++) {
                const char *sequence;

                if (terms[i])
                        assert_int_equal(setenv("TERM", terms[i], 1), 0);
                else
                        assert_int_equal(unsetenv("TERM"), 0);
                sequence = screen_sequence();
                /* The other screen is left for where the cursor is now, if it wasn't shown. */
                assert_non_null(strstr(sequence, "\033[?1049h\033[?1049l"));
                assert_non_null(strstr(sequence, "\033[?7;25h"));
                assert_null(strstr(sequence, "\033c"));
                /* Of these an old console of Linux prints the last letter. */
                assert_int_equal(strstr(sequence, "\033[!p") != NULL, i != 1);
                assert_int_equal(strpbrk(sequence, "!'") != NULL, i != 1);
                assert_int_equal(strstr(sequence, "\033[<") || strstr(sequence, "\033[>"), i != 1);
        }
}

/* Margins that hold one line hide the one before; and what comes isn't known to have come once it was
 * cleared. */
TEST(a_screen_is_cleared_of_all_that_could_hide_lines) {
        static const char rest[] = "\033[?6l\033[r\033[999H\033[J", images[] = "\033_Gq=2,a=d\033\\";
        static const char *const printed[] = {"\033[5;5r", "\033M", "\302\2335;5r", "\2335;5r", "\033c",
                                              /* Pictures of kitty's protocol lie above what is written. */
                                              "\033_Ga=T\033\\", "\xc2\x9fGa=T\033\\", "\x9fGa=T\033\\",
                                              "\033\n_Ga=T\033\\"};
        char text[SCREEN_CLEAR_MOST];
        struct screen s = {0};

        watch(&s, "text\r\n\t\b");
        screen_clear(&s, text);
        assert_string_equal(text, "");
        for (size_t i = 0; i < ARRAY_SIZE(printed); i++) {
                _cleanup_free_ char *expected = NULL;

                assert_true(asprintf(&expected, "%s%s%s", screen_sequence(), i >= 5 ? images : "", rest) >
                            0);
                watch(&s, printed[i]);
                screen_clear(&s, text);
                assert_string_equal(text, expected);
                screen_clear(&s, text);
                assert_string_equal(text, "");
        }
        /* What a question interrupted is at its end with it. */
        watch(&s, "\033[1");
        screen_clear(&s, text);
        watch(&s, ";1m");
        screen_clear(&s, text);
        assert_string_equal(text, "");
}

int main(void) {
        return run_all_tests();
}
