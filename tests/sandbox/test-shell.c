/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun shell` and --pty where nobody sits at a terminal: what comes of the end of the input, and of a
 * SIGTERM. */
#include "session.h"

static void run_shell(const struct site *s, struct outcome *o, const char *shell, int input) {
        assert_int_equal(setenv("SHELL", shell, 1), 0);
        run(&(struct request){.argv = OPTIONS(program(), "shell", "--project", s->project),
                              .cwd = s->root,
                              .standard_input = input},
            o);
}

/* The end of a file is there for each that reads on, and so it is when nsrun types it. */
TEST(the_end_of_the_input_is_there_for_every_reader) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome cooked = {0}, raw = {0};

        RUN(s, &cooked, "--pty", "--", "sh", "-c", "cat; cat; echo both-$((40+2)).");
        expect_status(&cooked, 0);
        expect_in(cooked.out, "both-42.");
        /* What is typed before a program takes each key for itself is no end to it. */
        RUN(s, &raw, "--pty", "--", "sh", "-c",
            "stty -icanon min 1; echo end-$(head -c 2 | tail -c 1 | od -An -tx1 | tr -d ' ').");
        expect_status(&raw, 0);
        expect_in(raw.out, "end-04.");
}

/* How many times a process had nothing to do. */
static long waits_of(pid_t pid) {
        static const char key[] = "\nvoluntary_ctxt_switches:";
        _cleanup_free_ char *path = text_of("/proc/%d/status", pid), *text = file_text(path);
        const char *at = strstr(text, key);

        assert_non_null(at);
        return strtol(at + strlen(key), NULL, 10);
}

static double seconds_now(void) {
        struct timespec t;

        assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &t), 0);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* It looks once a second.  Once it did so twenty times, and five looks took a quarter of one: what else runs
 * can only make them take longer. */
TEST(a_command_that_reads_nothing_leaves_nsrun_asleep) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        struct running r;
        double begun;
        long before;

        spawn(&(struct request){.argv = OPTIONS(program(), "run", "--project", s->project, "--pty", "--",
                                                "sh", "-c", "echo up; exec sleep 1000"),
                                .cwd = s->root},
              &r);
        free(read_line(r.out));
        /* What there was to do at the start has been done when it comes to the first look of these. */
        (void)sleep(1);
        begun = seconds_now();
        before = waits_of(r.pid);
        for (int64_t since = 0; waits_of(r.pid) < before + 5;)
                assert_true(keep_waiting(&since));
        assert_true(seconds_now() >= begun + 1);
        assert_int_equal(kill(r.pid, SIGTERM), 0);
        finish(&r, &o);
        expect_status(&o, 128 + SIGTERM);
}

TEST(a_shell_without_input_ends) {
        static const char *const shells[] = {"/bin/sh", "/bin/bash", "/usr/bin/zsh", "/usr/bin/fish"};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
                _cleanup_outcome_ struct outcome o = {0};

                if (access(shells[i], X_OK) < 0)
                        continue;
                run_shell(s, &o, shells[i], 0);
                /* zsh asks a new user for settings first, and calls an end of the input a failure. */
                expect_status(&o, strstr(shells[i], "zsh") ? 1 : 0);
                expect_in(o.out, "[nsrun");
        }
}

TEST(a_shells_last_line_needs_no_newline) {
        static const char *const scripts[] = {"exit 3\n", "exit 3", "echo one-$((40+2)).\nexit 3"};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
                _cleanup_outcome_ struct outcome o = {0};
                _cleanup_free_ char *path = path_of(s->outside, "script");
                _cleanup_close_ int fd = -EBADF;

                make_file(s->outside, "script", scripts[i]);
                fd = open(path, O_RDONLY | O_CLOEXEC);
                run_shell(s, &o, "/bin/bash", fd);
                expect_status(&o, 3);
                if (i == 2)
                        expect_in(o.out, "one-42.");
        }
}

/* Starts it, waits until it has printed `text`, and returns the other end of its input. */
static int start_waiting(struct running *r, const char *const *argv, const char *text) {
        char printed[4096] = "";
        size_t n = 0;
        int ends[2];

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv, .standard_input = ends[0]}, r);
        (void)close(ends[0]);
        while (!strstr(printed, text)) {
                ssize_t more = read(r->out, printed + n, sizeof(printed) - 1 - n);

                assert_true(more > 0);
                n += (size_t)more;
        }
        return ends[1];
}

/* Interactive shells ignore SIGTERM, so that nsrun's end is that of their terminal. */
TEST(sigterm_ends_a_shell) {
        static const char *const shells[] = {"/bin/sh", "/bin/bash"};
        const struct site *s = *state;
        const char *const own[] = {program(), "shell", "--project", s->project, NULL},
                          *const plain[] = {program(),
                                            "run",
                                            "--project",
                                            s->project,
                                            "--pty",
                                            "--",
                                            "sh",
                                            "-c",
                                            "trap 'echo hup; exit 4' HUP; trap 'exit 5' "
                                            "TERM; echo ready.; while :; do read x; done",
                                            NULL};
        struct running r;

        for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
                _cleanup_outcome_ struct outcome o = {0};
                _cleanup_close_ int input = -EBADF;

                assert_int_equal(setenv("SHELL", shells[i], 1), 0);
                input = start_waiting(&r, own, "[nsrun] ");
                assert_int_equal(kill(r.pid, SIGTERM), 0);
                finish(&r, &o);
                expect_status(&o, 128 + SIGTERM);
        }
        /* A command gets it as it was sent. */
        {
                _cleanup_outcome_ struct outcome o = {0};
                _cleanup_close_ int input = -EBADF;

                input = start_waiting(&r, plain, "ready.");
                assert_int_equal(kill(r.pid, SIGTERM), 0);
                finish(&r, &o);
                expect_status(&o, 5);
        }
}

TEST(sigterm_ends_a_shell_in_a_session) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0}, ended = {0};
        _cleanup_free_ char *id = START(s, "--no-new-session");
        _cleanup_close_ int input = -EBADF;
        const char *const argv[] = {program(), "session", "enter", id, NULL};
        struct running r;

        assert_int_equal(setenv("SHELL", "/bin/bash", 1), 0);
        input = start_waiting(&r, argv, "[nsrun ");
        assert_int_equal(kill(r.pid, SIGTERM), 0);
        finish(&r, &o);
        expect_status(&o, 128 + SIGTERM);
        SESSION(s, &ended, "kill", id);
        expect_status(&ended, 0);
        collect_orphans();
}

int main(void) {
        return run_all_tests();
}
