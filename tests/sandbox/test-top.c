/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun top`: who uses most comes first, what a command calls itself draws on no terminal, and the caller's
 * terminal is as it was. */
#include <termios.h>

#include "terminal.h"

#define HEADS "ID           KIND      AGE   %CPU    CPU PROCS MEMORY NET    PROJECT  COMMAND\n"

static void begin(const struct site *s, struct running *ret, const char *script, const char *word) {
        const char *const argv[] = {program(), "run", "--net=none", "--project", s->project, "--",
                                    "sh",      "-c",  script,       word,        NULL};
        _cleanup_free_ char *line = NULL;

        spawn(&(struct request){.argv = argv, .cwd = s->project}, ret);
        line = read_line(ret->out);
        assert_string_equal(line, "ready\n");
}

static void end(struct running *running) {
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(kill(running->pid, SIGTERM), 0);
        finish(running, &o);
        assert_int_equal(o.status, 128 + SIGTERM);
}

static void batch(struct outcome *ret) {
        outcome_clear(ret);
        run(&(struct request){.argv = (const char *const[]){program(), "top", "--batch", "-n", "1", NULL}},
            ret);
        expect_status(ret, 0);
}

TEST(who_uses_most_comes_first) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        struct running idle, busy;
        const char *idle_line, *busy_line;

        begin(s, &idle, "echo ready; exec sleep 1000", "idle-one");
        begin(s, &busy, "echo ready; while :; do :; done", "busy-one");
        /* The kernel counts in ticks: the first ones may be to come. */
        do {
                batch(&o);
                assert_true(startswith(o.out, "nsrun top: "));
                expect_in(o.out, " of a processor, ");
                expect_in(o.out, "\n\n" HEADS);
                idle_line = strstr(o.out, " idle-one\n");
                busy_line = strstr(o.out, " busy-one\n");
                assert_non_null(idle_line);
                assert_non_null(busy_line);
        } while (busy_line > idle_line);
        expect_in(o.out, " none ");
        expect_in(o.out, s->project);
        end(&busy);
        end(&idle);
}

TEST(what_a_command_is_called_draws_nothing) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        begin(s, &running, "echo ready; exec sleep 1000", "\033[2Jred\n\tx");
        batch(&o);
        expect_in(o.out, " \\x1b[2Jred\\x0a\\x09x\n");
        expect_not_in(o.out, "\033");
        end(&running);
}

TEST(two_looks_are_two_lists) {
        _cleanup_outcome_ struct outcome o = {0};
        const char *second;

        run(&(struct request){.argv = (const char *const[]){program(), "top", "-b", "-d", "1", "--count=2",
                                                            NULL}},
            &o);
        expect_status(&o, 0);
        second = strstr(o.out, HEADS);
        assert_non_null(second);
        second = strstr(second + 1, "\n\nnsrun top: ");
        assert_non_null(second);
        assert_non_null(strstr(second, HEADS));
}

TEST(mistakes_are_named) {
        static const struct {
                const char *words[3], *line;
        } cases[] = {
                {{NULL}, "nsrun: top is for a person at a terminal; --batch prints to any output"},
                {{"--delay", "0"}, "nsrun: --delay: not 1 to 3600 seconds: 0; see 'nsrun top --help'"},
                {{"-d", "3601"}, "nsrun: --delay: not 1 to 3600 seconds: 3601; see 'nsrun top --help'"},
                {{"-d", "x"}, "nsrun: --delay: not a whole number of seconds: x; see 'nsrun top --help'"},
                {{"-n", "0"}, "nsrun: --count: not a number of looks: 0; see 'nsrun top --help'"},
                {{"-b", "x"}, "nsrun: an argument too many: x; see 'nsrun top --help'"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const char *const argv[] = {program(), "top", cases[i].words[0],
                                            cases[i].words[0] ? cases[i].words[1] : NULL, NULL};
                _cleanup_outcome_ struct outcome o = {0};

                run(&(struct request){.argv = argv}, &o);
                expect_refusal(&o, 125, cases[i].line);
        }
}

/* `nsrun top` until it shows its list, on the terminal's other screen. */
static void type_top(struct terminal *t) {
        _cleanup_free_ char *line = text_of("%s top", program());

        type_line(t, line);
        expect_text(t, "\033[?1049h");
        expect_text(t, "PROJECT  COMMAND");
}

static void expect_left(struct terminal *t, int status) {
        expect_text(t, "\033[?7h\033[?25h\033[?1049l");
        expect_text(t, PROMPT);
        expect_last_status(t, status);
        expect_typing_works(t);
}

static void get_modes(const struct terminal *t, struct termios *ret) {
        memset(ret, 0, sizeof(*ret));
        assert_int_equal(tcgetattr(t->fd, ret), 0);
}

static void expect_modes(const struct terminal *t, const struct termios *before) {
        struct termios now;

        get_modes(t, &now);
        assert_memory_equal(&now, before, sizeof(now));
}

TEST(the_terminal_is_as_it_was_whatever_ends_it) {
        static const struct {
                const char *typed;
                int status;
        } ends[] = {{"q", 0}, {"\003", 128 + SIGINT}, {"\004", 0}};
        struct termios before;
        struct terminal t;

        open_terminal(*state, &t);
        get_modes(&t, &before);
        for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
                type_top(&t);
                type(&t, ends[i].typed);
                expect_left(&t, ends[i].status);
                expect_modes(&t, &before);
        }
        close_terminal(&t);
}

/* A key is another look. */
TEST(a_stopped_one_gives_the_terminal_back_and_goes_on) {
        struct termios before, stopped;
        struct terminal t;

        open_terminal(*state, &t);
        get_modes(&t, &before);
        type_top(&t);
        type(&t, "\032");
        expect_text(&t, "\033[?1049l");
        expect_text(&t, PROMPT);
        expect_typing_works(&t);
        get_modes(&t, &stopped);
        assert_memory_equal(&stopped, &before, sizeof(before));
        type_line(&t, "fg");
        expect_text(&t, "\033[?1049h");
        expect_text(&t, "PROJECT  COMMAND");
        type(&t, " ");
        expect_text(&t, "PROJECT  COMMAND");
        type_line(&t, "q");
        expect_left(&t, 0);
        close_terminal(&t);
}

TEST(sigterm_gives_the_terminal_back) {
        struct termios before;
        struct terminal t;

        open_terminal(*state, &t);
        get_modes(&t, &before);
        type_top(&t);
        assert_int_equal(kill(-tcgetpgrp(t.fd), SIGTERM), 0);
        expect_left(&t, 128 + SIGTERM);
        expect_modes(&t, &before);
        close_terminal(&t);
}

int main(void) {
        return run_all_tests();
}
