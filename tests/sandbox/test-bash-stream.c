/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun bash --json-stream`: what is told while a command runs, to readers that read, don't, and go. */
#include <sys/stat.h>

#include "bash.h"
#include "detach.h"

#define START_LINE "{\"event\":\"start\",\"sandbox\":true}\n"
#define END(status)                                                  \
        "{\"event\":\"end\",\"status\":" status                      \
        ",\"signal\":null,\"timed_out\":false,\"oom_killed\":false," \
        "\"sandbox\":true,\"duration_ms\":0,\"bytes_total\":"
#define END_LISTS ",\"bytes_omitted\":0,\"notes\":[],\"dropped\":[],\"degraded\":[]"

/* How long it took is never the same. */
static void forget_duration(char *text) {
        for (char *at = text; (at = strstr(at, "\"duration_ms\":"));) {
                at += strlen("\"duration_ms\":");
                memmove(at + 1, at + strspn(at, "0123456789"), strlen(at + strspn(at, "0123456789")) + 1);
                *at = '0';
        }
}

TEST(a_stream_has_a_line_for_each_thing_that_happens) {
        static const struct {
                const char *options[3], *command;
                int status;
                const char *expected;
        } cases[] = {
                {{"--timeout=60"}, "true", 0, START_LINE END("0") "0" END_LISTS ",\"report\":null}\n"},
                {{"--timeout=60"},
                 "printf 'a\\033\\303\\251\\377\\0\\303'; exit 3",
                 3,
                 START_LINE "{\"event\":\"output\",\"text\":\"a\\u001b\u00e9\ufffd\\u0000\"}\n"
                            "{\"event\":\"output\",\"text\":\"\ufffd\"}\n" END("3") "7" END_LISTS
                                                                                    ",\"report\":null}\n"},
                {{"--report"}, "true", 0, START_LINE END("0") "0" END_LISTS ",\"report\":[]}\n"},
                {{"--timeout=0"},
                 "touch ran",
                 125,
                 "{\"event\":\"end\",\"error\":\"timeout must be >= 1, got 0\",\"id\":\"other\"}\n"},
                {{"--confirm=false"},
                 "touch ran",
                 125,
                 "{\"event\":\"end\",\"error\":\"user declined the bash command.\",\"id\":\"other\"}\n"},
        };
        const struct site *s = *state;
        _cleanup_free_ char *ran = path_of(s->project, "ran");
        _cleanup_outcome_ struct outcome reason = {0}, usage = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_outcome_ struct outcome o = {0};

                BASH(s, &o, "--json-stream", cases[i].options[0], cases[i].command);
                forget_duration(o.out);
                expect_out(&o, cases[i].expected);
                expect_status(&o, cases[i].status);
                assert_string_equal(o.err, "");
        }
        assert_int_equal(access(ran, F_OK), -1);
        BASH(s, &reason, "--json-stream", "cat ~/.netrc");
        /* However many pieces that was. */
        expect_in(reason.out, "\\n\"}\n{\"event\":\"reason\",\"text\":\"");
        expect_not_in(reason.out, "\"reasons\"");
        BASH(s, &usage, "--json-stream", "--describe");
        expect_status(&usage, 125);
        expect_out(&usage, "{\"event\":\"end\",\"error\":\"--describe runs no command: --json-stream; see "
                           "'nsrun bash --help'\",\"id\":\"other\"}\n");
        assert_string_equal(usage.err, "");
}

static void spawn_stream(const struct site *s, struct running *ret, int input,
                         const char *const *arguments) {
        _cleanup_free_ const char **argv = bash_argv(s, arguments);

        spawn(&(struct request){.argv = argv, .cwd = s->root, .standard_input = input}, ret);
}
#define SPAWN_STREAM(s, running, input, ...) \
        spawn_stream(s, running, input, OPTIONS("--json-stream", __VA_ARGS__))

TEST(a_line_comes_when_it_happens_and_ends_within_no_character) {
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->project, "go");
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_close_ int go = -EBADF;
        struct running running;

        assert_int_equal(mkfifo(path, 0600), 0);
        go = open(path, O_RDWR | O_CLOEXEC);
        SPAWN_STREAM(s, &running, 0,
                     "printf 'one\\303'; : >printed; read x <go; printf '\\251 two'; read x <go; "
                     "echo three");
        await_line(running.out, START_LINE);
        await_line(running.out, "{\"event\":\"output\",\"text\":\"one\"}\n");
        await_file(s, "printed");
        for (size_t i = 0; i < 2; i++) {
                assert_int_equal(write(go, "\n", 1), 1);
                await_line(running.out, i == 0 ? "{\"event\":\"output\",\"text\":\"\u00e9 two\"}\n"
                                               : "{\"event\":\"output\",\"text\":\"three\\n\"}\n");
        }
        finish(&running, &o);
        expect_status(&o, 0);
        expect_in(o.out, "{\"event\":\"end\",\"status\":0,");
}

/* Prints without an end, and says when it is ended. */
#define FLOOD "trap 'touch ended; exit 3' TERM; : >begun; while :; do printf %01000d 1; done"

/* The bytes of all pieces; *ret_end is the last line. */
static uint64_t streamed(char *text, struct json_object **ret_end) {
        uint64_t n = 0;

        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
                struct json_object *object = json_tokener_parse(line);
                struct json_object *piece = NULL;

                assert_non_null(object);
                if (json_object_object_get_ex(object, "text", &piece))
                        n += (uint64_t)json_object_get_string_len(piece);
                (void)json_object_put(*ret_end);
                *ret_end = object;
        }
        return n;
}

static uint64_t number_of(struct json_object *object, const char *key) {
        return json_object_get_uint64(json_object_object_get(object, key));
}

TEST(a_reader_that_does_not_read_has_the_command_wait_until_its_deadline) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        struct json_object *end = NULL;
        struct running running;
        uint64_t n;

        SPAWN_STREAM(s, &running, 0, "--timeout=2", FLOOD);
        await_file(s, "ended");
        finish(&running, &o);
        expect_status(&o, 124);
        n = streamed(o.out, &end);
        assert_string_equal(json_object_get_string(json_object_object_get(end, "event")), "end");
        assert_true(json_object_get_boolean(json_object_object_get(end, "timed_out")));
        assert_int_equal(number_of(end, "status"), 3);
        assert_int_equal(n + number_of(end, "bytes_omitted"), number_of(end, "bytes_total"));
        /* What the pipe holds, and a line. */
        assert_true(n > 0 && n < (2U << 20));
        (void)json_object_put(end);
}

TEST(a_signal_ends_the_command_also_while_nobody_reads) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        SPAWN_STREAM(s, &running, 0, FLOOD);
        await_file(s, "begun");
        assert_int_equal(kill(running.pid, SIGTERM), 0);
        await_file(s, "ended");
        finish(&running, &o);
        expect_status(&o, 1000 + SIGTERM);
        expect_not_in(o.out, "\"end\"");
}

TEST(a_reader_that_goes_ends_the_command_whatever_it_ignores) {
        static const char *const scripts[] = {
                "\"$0\" bash --project \"$1\" --json-stream \"$2\" | head -n 1; echo ${PIPESTATUS[0]}",
                "trap '' PIPE; \"$0\" bash --project \"$1\" --json-stream \"$2\" | head -n 1; "
                "echo ${PIPESTATUS[0]}",
        };
        const struct site *s = *state;
        _cleanup_free_ char *ended = path_of(s->project, "ended");

        for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
                const char *const argv[] = {"bash", "-c", scripts[i], program(), s->project, FLOOD, NULL};
                _cleanup_outcome_ struct outcome o = {0};

                run(&(struct request){.argv = argv, .cwd = NULL}, &o);
                expect_out(&o, START_LINE "141\n");
                assert_int_equal(unlink(ended), 0);
        }
}

/* Once it is known that the output is one. */
TEST(a_mistake_in_the_options_is_an_end_of_the_stream_or_a_result) {
        static const char
                line[] = "unknown option: --nonsense; see 'nsrun bash --help'",
                many[] = "one command string is enough, quoted for the shell: x; see 'nsrun bash --help'";
        const struct site *s = *state;
        _cleanup_free_ char *end = text_of("{\"event\":\"end\",\"error\":\"%s\",\"id\":\"other\"}\n", line),
                            *plain = text_of("nsrun: %s\n", line),
                            *result = text_of("{\"error\":\"%s\",\"id\":\"other\"}\n", line),
                            *of_words = text_of("{\"error\":\"%s\",\"id\":\"other\"}\n", many);
        const char *argv[] = {program(), "bash", "--json-stream", "--nonsense", "true", NULL};
        _cleanup_outcome_ struct outcome streamed = {0}, other = {0}, words = {0}, text = {0};

        run(&(struct request){.argv = argv, .cwd = s->project}, &streamed);
        expect_status(&streamed, 125);
        expect_out(&streamed, end);
        assert_string_equal(streamed.err, "");
        argv[2] = "--json";
        run(&(struct request){.argv = argv, .cwd = s->project}, &other);
        expect_status(&other, 125);
        expect_out(&other, result);
        assert_string_equal(other.err, "");
        argv[3] = "true";
        argv[4] = "x";
        run(&(struct request){.argv = argv, .cwd = s->project}, &words);
        expect_status(&words, 125);
        expect_out(&words, of_words);
        assert_string_equal(words.err, "");
        argv[2] = "--nonsense";
        run(&(struct request){.argv = argv, .cwd = s->project}, &text);
        expect_status(&text, 125);
        expect_out(&text, "");
        assert_string_equal(text.err, plain);
}

TEST(an_output_that_takes_nothing_is_a_failure) {
        static const char script[] = "\"$0\" bash --project \"$1\" --json-stream \"echo x\" >$2";
        static const char *const outputs[] = {"/dev/null", "/dev/full"};
        const struct site *s = *state;

        for (int i = 0; i < 2; i++) {
                const char *const argv[] = {"sh", "-c", script, program(), s->project, outputs[i], NULL};
                _cleanup_outcome_ struct outcome o = {0};

                run(&(struct request){.argv = argv, .cwd = NULL}, &o);
                expect_status(&o, i == 0 ? 0 : 125);
                assert_string_equal(
                        o.err,
                        i == 0 ? "" : "nsrun: the output can't be written: No space left on device\n");
        }
}

/* Of a run, and of a session whose policy asks: who streams is asked about the names of that command. */
TEST(a_host_that_is_asked_for_waits_for_the_answer) {
        static const struct {
                const char *host, *answer, *piece;
        } asked[] = {
                {"first.test", "allow first.test\n", "first.test 0"},
                {"second.test", "nonsense\nallow first.test\ndeny second.test\n", "second.test 2"},
                {"third.test", NULL, "third.test 2"},
        };
        static const char command[] =
                "for name in first second first third fourth; do getent ahostsv4 $name.test >/dev/null; "
                "echo $name.test $?; done";
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--net=ask"), *in = text_of("--session=%s", id);

        for (size_t k = 0; k < 2; k++) {
                _cleanup_outcome_ struct outcome o = {0}, answers = {0};
                struct running running;
                int ends[2];

                assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
                if (k == 0) {
                        SPAWN_STREAM(s, &running, ends[0], "--net=ask", command);
                } else {
                        const char *const argv[] = {program(), "bash", in, "--json-stream", command, NULL};

                        spawn(&(struct request){.argv = argv, .cwd = s->root, .standard_input = ends[0]},
                              &running);
                }
                close_fdp(&ends[0]);
                await_line(running.out, START_LINE);
                for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
                        _cleanup_free_ char *line = read_line(running.out), *piece = NULL;
                        _cleanup_free_ char *question =
                                text_of("{\"event\":\"asked\",\"host\":\"%s\",\"program\":\"getent (pid ",
                                        asked[i].host);

                        assert_non_null(startswith(line, question));
                        if (asked[i].answer)
                                assert_true(write(ends[1], asked[i].answer, strlen(asked[i].answer)) > 0);
                        else
                                close_fdp(&ends[1]);
                        piece = text_of("{\"event\":\"output\",\"text\":\"%s\\n\"}\n", asked[i].piece);
                        await_line(running.out, piece);
                        if (i == 1)
                                await_line(running.out,
                                           "{\"event\":\"output\",\"text\":\"first.test 0\\n\"}\n");
                }
                /* Of who answers no more a session asks nothing. */
                if (k == 0) {
                        _cleanup_free_ char *line = read_line(running.out);

                        expect_in(line, "\"asked\",\"host\":\"fourth.test\"");
                }
                await_line(running.out, "{\"event\":\"output\",\"text\":\"fourth.test 2\\n\"}\n");
                finish(&running, &o);
                expect_status(&o, 0);
                SESSION(s, &answers, "show", "--json", id);
                expect_in(answers.out, k == 0 ? "\"answers\":[]"
                                              : "\"answers\":[\"allow first.test\",\"deny second.test\"]");
        }
        end_session(s, id, "stop");
}

TEST(a_command_in_the_background_is_told_as_it_was_started) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *end = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        DETACH(s, id, &o, "--json-stream", "--until=up", "echo up; exec sleep 1000");
        expect_status(&o, 0);
        expect_in(o.out, START_LINE
                  "{\"event\":\"output\",\"text\":\"up\\n\"}\n{\"event\":\"end\",\"status\":null,");
        end = text_of("\"detached\":{\"session\":\"%s\",\"name\":\"", id);
        expect_in(o.out, end);
        expect_in(o.out, "\"ready\":true,\"running\":true}");
        end_session(s, id, "stop");
}

int main(void) {
        return run_all_tests();
}
