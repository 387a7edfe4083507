/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* run/bash_text.c and the refusals of run/bash.c, byte for byte: what a model reads, what its host
 * reads, and what a person is asked. */
#include "agent/bash.h"

#include <json-c/json.h>

#include "scratch.h"

static char list[] = "ls", two[] = "ls\n\tpwd", tricky[] = "\r\033[2K rm -rf ~/\xe2\x80\xae\xff",
            nothing[] = "", line[] = "a\n", raw[] = "a\xff\033[1m", with_nul[] = "a\0b",
            report[] = "[{\"a\":1}]", note[] = "said \033[2K", *notes[] = {note, NULL}, job[] = "job1",
            session[] = "abc";

#define SIZE .size = sizeof(struct nsrun_bash_result)
static const struct {
        struct nsrun_bash_result result;
        size_t expected_size;
        const char *expected, *json;
} results[] = {
        {{SIZE, .command = list, .output = line, .output_size = 2, .bytes_total = 2},
         0,
         "$ ls\na\n\n\nexit status: 0",
         "{\"status\":0,\"signal\":null,\"timed_out\":false,\"oom_killed\":false,\"sandbox\":true,\"duration_ms\":0,"
         "\"output\":\"a\\n\",\"bytes_total\":2,\"bytes_omitted\":0,\"notes\":[],\"dropped\":[],\"reasons\":[],\"degraded\":[],\"report\":null}"},
        {{SIZE, .command = list, .output = nothing, .status = 255, .duration_ms = 17, .report = report},
         0,
         "$ ls\n\n\nexit status: 255",
         "{\"status\":255,\"signal\":null,\"timed_out\":false,\"oom_killed\":false,\"sandbox\":true,\"duration_ms\":17,"
         "\"output\":\"\",\"bytes_total\":0,\"bytes_omitted\":0,\"notes\":[],\"dropped\":[],\"reasons\":[],\"degraded\":[],\"report\":[{\"a\":1}]}"},
        {{SIZE, .command = two, .output = nothing, .status = -1, .signal = 9, .oom_killed = 1},
         0,
         "$ ls\n\tpwd\n\n\nexit status: 137",
         "{\"status\":null,\"signal\":9,\"timed_out\":false,\"oom_killed\":true,\"sandbox\":true,\"duration_ms\":0,"
         "\"output\":\"\",\"bytes_total\":0,\"bytes_omitted\":0,\"notes\":[],\"dropped\":[],\"reasons\":[],\"degraded\":[],\"report\":null}"},
        {{SIZE, .command = list, .output = line, .output_size = 2, .notes = notes},
         0,
         "$ ls\na\n\n\nexit status: 0\nnote: said \\x1b[2K",
         "{\"status\":0,\"signal\":null,\"timed_out\":false,\"oom_killed\":false,\"sandbox\":true,\"duration_ms\":0,"
         "\"output\":\"a\\n\",\"bytes_total\":0,\"bytes_omitted\":0,\"notes\":[\"said \\u001b[2K\"],\"dropped\":[],\"reasons\":[],\"degraded\":[],\"report\":null}"},
        /* The echo is made harmless; the output is the command's. */
        {{SIZE, .command = tricky, .output = raw, .output_size = 6, .bytes_total = 40000,
          .bytes_omitted = 39994},
         0,
         "$ \\x0d\\x1b[2K rm -rf ~/\\xe2\\x80\\xae\\xff\na\xff\033[1m\n\nexit status: 0",
         "{\"status\":0,\"signal\":null,\"timed_out\":false,\"oom_killed\":false,\"sandbox\":true,\"duration_ms\":0,"
         "\"output\":\"a\xef\xbf\xbd\\u001b[1m\",\"bytes_total\":40000,\"bytes_omitted\":39994,\"notes\":[],\"dropped\":[],\"reasons\":[],\"degraded\":[],\"report\":null}"},
        {{SIZE, .command = list, .output = with_nul, .output_size = 3, .bytes_total = 3},
         24,
         "$ ls\na\0b\n\nexit status: 0",
         "{\"status\":0,\"signal\":null,\"timed_out\":false,\"oom_killed\":false,\"sandbox\":true,\"duration_ms\":0,"
         "\"output\":\"a\\u0000b\",\"bytes_total\":3,\"bytes_omitted\":0,\"notes\":[],\"dropped\":[],\"reasons\":[],\"degraded\":[],\"report\":null}"},
        {{SIZE, .command = list, .output = line, .output_size = 2, .timed_out = 1, .timeout = 2,
          .signal = 15},
         0,
         "Error: command timed out after 2s (sent SIGTERM, then SIGKILL).\n\n$ ls\na\n",
         "{\"status\":null,\"signal\":15,\"timed_out\":true,\"oom_killed\":false,\"sandbox\":true,\"duration_ms\":0,"
         "\"output\":\"a\\n\",\"bytes_total\":0,\"bytes_omitted\":0,\"notes\":[],\"dropped\":[],\"reasons\":[],\"degraded\":[],\"report\":null}"},
        {{SIZE, .command = list, .output = line, .output_size = 2, .status = -1, .detached = job,
          .session = session, .pid = 7, .is_ready = 1, .is_running = 1},
         0,
         "$ ls\na\n\n\nruns in the background as job1, pid 7\nlog: nsrun session logs abc job1\n"
         "stop: nsrun session kill abc job1",
         "{\"status\":null,\"signal\":null,\"timed_out\":false,\"oom_killed\":false,\"sandbox\":true,\"duration_ms\":0,"
         "\"output\":\"a\\n\",\"bytes_total\":0,\"bytes_omitted\":0,\"notes\":[],\"dropped\":[],\"reasons\":[],\"degraded\":[],\"detached\":"
         "{\"session\":\"abc\",\"name\":\"job1\",\"pid\":7,\"ready\":true,\"running\":true},\"report\":null}"},
        {{SIZE, .command = list, .output = line, .output_size = 2, .timed_out = 1, .timeout = 2,
          .signal = 15, .detached = job, .session = session},
         0,
         "Error: command timed out after 2s (sent SIGTERM, then SIGKILL).\n\n$ ls\na\n\n\n"
         "log: nsrun session logs abc job1",
         "{\"status\":null,\"signal\":15,\"timed_out\":true,\"oom_killed\":false,\"sandbox\":true,\"duration_ms\":0,"
         "\"output\":\"a\\n\",\"bytes_total\":0,\"bytes_omitted\":0,\"notes\":[],\"dropped\":[],\"reasons\":[],\"degraded\":[],\"detached\":"
         "{\"session\":\"abc\",\"name\":\"job1\",\"pid\":null,\"ready\":false,\"running\":false},\"report\":null}"},
};

TEST(a_result_reads_as_the_reference_has_it) {
        for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
                size_t expected = results[i].expected_size, size = 0;
                _cleanup_free_ char *text = NULL;

                if (expected == 0)
                        expected = strlen(results[i].expected);
                assert_int_equal(
                        nsrun_bash_format(&results[i].result, NULL, NSRUN_FORMAT_TEXT, &text, &size, NULL),
                        0);
                assert_int_equal(size, expected);
                assert_memory_equal(text, results[i].expected, expected + 1);
        }
}

TEST(a_result_is_one_json_object) {
        for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
                _cleanup_free_ char *text = NULL;
                struct json_object *object;
                size_t size = 0;

                assert_int_equal(
                        nsrun_bash_format(&results[i].result, NULL, NSRUN_FORMAT_JSON, &text, &size, NULL),
                        0);
                assert_string_equal(text, results[i].json);
                assert_int_equal(size, strlen(text));
                object = json_tokener_parse(text);
                assert_non_null(object);
                assert_int_equal(json_object_object_length(object), results[i].result.detached ? 15 : 14);
                (void)json_object_put(object);
        }
}

static int confirmations;

static int say_no(const char *prompt nsrun_unused, void *data nsrun_unused) {
        confirmations++;
        return 0;
}

static int say_nothing(const char *prompt nsrun_unused, void *data nsrun_unused) {
        return -ENXIO;
}

#define OPTIONS_SIZE .size = sizeof(struct nsrun_bash_options)
static const struct {
        const char *command;
        struct nsrun_bash_options options;
        int r, questions;
        const char *expected;
} refusals[] = {
        {"", {OPTIONS_SIZE, .timeout = 120, .confirm = say_no}, -EINVAL, 0, "Error: empty bash command."},
        {" \t\n\v\f\r",
         {OPTIONS_SIZE, .timeout = 0, .confirm = say_no},
         -EINVAL,
         0,
         "Error: empty bash command."},
        {"x",
         {OPTIONS_SIZE, .timeout = 0, .confirm = say_no},
         -EINVAL,
         0,
         "Error: timeout must be >= 1, got 0"},
        {"x", {OPTIONS_SIZE, .timeout = -7}, -EINVAL, 0, "Error: timeout must be >= 1, got -7"},
        {"x",
         {OPTIONS_SIZE, .timeout = 601, .confirm = say_no},
         -EINVAL,
         0,
         "Error: timeout must be <= 600, got 601"},
        {"x",
         {OPTIONS_SIZE, .timeout = 600, .confirm = say_no},
         -ECANCELED,
         1,
         "Error: user declined the bash command."},
        {"x",
         {OPTIONS_SIZE, .timeout = 1, .confirm = say_no},
         -ECANCELED,
         1,
         "Error: user declined the bash command."},
        {"x",
         {OPTIONS_SIZE, .timeout = 1, .confirm = say_nothing},
         -ENXIO,
         0,
         "Error: nobody can be asked to confirm the command: No such device or address"},
};

TEST(refusals_come_in_the_references_order_and_words) {
        for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
                struct nsrun_bash_result result = {.size = sizeof(result), .status = 77};
                _cleanup_free_ char *text = NULL, *json = NULL, *expected = NULL;
                struct nsrun_policy *policy = NULL;
                struct nsrun_error err = {0};

                confirmations = 0;
                assert_int_equal(nsrun_policy_new(&policy), 0);
                assert_int_equal(
                        nsrun_bash(policy, refusals[i].command, &refusals[i].options, &result, &err),
                        refusals[i].r);
                assert_int_equal(result.status, 77);
                assert_int_equal(confirmations, refusals[i].questions);
                assert_int_equal(err.stage, NSRUN_STAGE_USAGE);
                assert_int_equal(nsrun_bash_format(NULL, &err, NSRUN_FORMAT_TEXT, &text, NULL, NULL), 0);
                assert_string_equal(text, refusals[i].expected);
                assert_true(asprintf(&expected, "{\"error\":\"%s\",\"id\":\"other\"}",
                                     text + strlen("Error: ")) > 0);
                assert_int_equal(nsrun_bash_format(NULL, &err, NSRUN_FORMAT_JSON, &json, NULL, NULL), 0);
                assert_string_equal(json, expected);
                assert_null(nsrun_policy_free(policy));
        }
}

TEST(a_command_that_begins_elsewhere_is_refused) {
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        struct nsrun_policy *policy = NULL;
        struct nsrun_error err = {0};
        _cleanup_free_ char *text = NULL;

        assert_int_equal(nsrun_policy_new(&policy), 0);
        assert_int_equal(nsrun_policy_set(policy, "chdir", "/usr", &err), 0);
        assert_int_equal(nsrun_bash(policy, "pwd", NULL, &result, &err), -EINVAL);
        text = nsrun_error_format(&err);
        assert_string_equal(text,
                            "--chdir is not for bash: its commands begin at the project's root: Invalid "
                            "argument; use cd in the command");
        assert_null(nsrun_policy_free(policy));
}

TEST(no_other_format_is_made) {
        struct nsrun_error err = {0};
        char *text = NULL;

        assert_int_equal(nsrun_bash_format(&results[0].result, NULL, NSRUN_FORMAT_BWRAP, &text, NULL, &err),
                         -EINVAL);
        assert_string_equal(err.what, "a result has no such format");
        assert_null(text);
}

#define TEN        "          "
#define NUMBERS    "0123456789"
#define SIXTY      NUMBERS NUMBERS NUMBERS NUMBERS NUMBERS NUMBERS
#define SIXTY_NINE SIXTY "012345678"
#define SEVENTY    SIXTY NUMBERS

/* Nothing in a command can hide, redraw or forge what is asked. */
TEST(a_prompt_shows_what_will_run) {
        static const struct {
                const char *command, *description, *expected;
        } cases[] = {
                {"make test", NULL, "bash (timeout 120s)\n\n$ make test\n\n(y/n)? "},
                {"make", "Run unit tests", "bash: Run unit tests (timeout 120s)\n\n$ make\n\n(y/n)? "},
                {"make", "a\nb\033", "bash: a\\x0ab\\x1b (timeout 120s)\n\n$ make\n\n(y/n)? "},
                {"ls\n\n(y/n)? y", NULL, "bash (timeout 120s)\n\n$ ls\n> \n> (y/n)? y\n\n(y/n)? "},
                {"rm x \r\033[2Kls", NULL, "bash (timeout 120s)\n\n$ rm x \\x0d\\x1b[2Kls\n\n(y/n)? "},
                {"a\tb\x7f\xc2\x9b", NULL, "bash (timeout 120s)\n\n$ a\\tb\\x7f\\xc2\\x9b\n\n(y/n)? "},
                {"x\xe2\x80\xaey\xe2\x80\x8bz\xe2\x81\xa6\xef\xbb\xbf", NULL,
                 "bash (timeout 120s)\n\n$ x\\xe2\\x80\\xaey\\xe2\\x80\\x8bz\\xe2\\x81\\xa6\\xef\\xbb\\xbf\n\n"
                 "(y/n)? "},
                {"gr\xc3\xbc\xc3\x9f\xff", NULL,
                 "bash (timeout 120s)\n\n$ gr\xc3\xbc\xc3\x9f\\xff\n\n(y/n)? "},
                /* Padding draws no line of its own. */
                {"a        b         c", "a        b         c",
                 "bash: a        b\\x20{9}c (timeout 120s)\n\n$ a        b\\x20{9}c\n\n(y/n)? "},
                {"ls;" TEN TEN TEN TEN TEN TEN TEN TEN "(y/n)? y", NULL,
                 "bash (timeout 120s)\n\n$ ls;\\x20{80}(y/n)? y\n\n(y/n)? "},
                /* 72 columns; and one more. */
                {SEVENTY "\nx", NULL, "bash (timeout 120s)\n\n$ " SEVENTY "\n> x\n\n(y/n)? "},
                {SEVENTY "x", NULL, "bash (timeout 120s)\n\n$ " SEVENTY "\n>> x\n\n(y/n)? "},
                {"\n" SEVENTY SEVENTY, NULL,
                 "bash (timeout 120s)\n\n$ \n> " SEVENTY "\n>> " SIXTY_NINE "\n>> 9\n\n(y/n)? "},
                {"x", SEVENTY, "bash: " SIXTY "012345\n>> 6789 (timeout 120s)\n\n$ x\n\n(y/n)? "},
                /* A space isn't hidden at a line's end, nor a byte's spelling torn apart. */
                {SIXTY "012345678  x", NULL,
                 "bash (timeout 120s)\n\n$ " SIXTY "012345678\n>>   x\n\n(y/n)? "},
                {SIXTY "1234567\033x", NULL,
                 "bash (timeout 120s)\n\n$ " SIXTY "1234567\n>> \\x1bx\n\n(y/n)? "},
                {SIXTY "012345678\tx", NULL,
                 "bash (timeout 120s)\n\n$ " SIXTY "012345678\n>> \\tx\n\n(y/n)? "},
                /* Two columns, and one. */
                {SIXTY "012345678\xe6\xbc\xa2", NULL,
                 "bash (timeout 120s)\n\n$ " SIXTY "012345678\n>> \xe6\xbc\xa2\n\n(y/n)? "},
                {SIXTY "012345678\xc3\xbc", NULL,
                 "bash (timeout 120s)\n\n$ " SIXTY "012345678\xc3\xbc\n\n(y/n)? "},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *prompt = bash_prompt(cases[i].command, cases[i].description, 120);

                assert_string_equal(prompt, cases[i].expected);
        }
}

int main(void) {
        return run_all_tests();
}
