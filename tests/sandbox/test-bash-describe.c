/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a model is told of the bash tool: each sentence follows the policy, and what it says is so. */
#include "bash.h"
#include "session.h"

#define KILLED    "`server >/dev/null 2>&1 &` doesn't, and is killed when the call returns.\n"
#define GOES_ON   "`server >/dev/null 2>&1 &` doesn't, and goes on running when the call returns.\n"
#define UNTIL_IT  "`server >/dev/null 2>&1 &` doesn't, and goes on running until a later command kills it.\n"
#define NO_NET    "- There is no network: "
#define HOST_NET  "- The network is the machine's own.\n"
#define ASKED     "- The user is asked before each command, "
#define EMPTY_TMP "- /tmp is empty when a command begins and gone when it ends.\n"

static void expect_said(const struct outcome *o, const char *sentence, bool is_said) {
        if ((strstr(o->out, sentence) != NULL) != is_said)
                fail_msg("%s: %s\n%s%s", is_said ? "not said" : "said", sentence, o->out, o->err);
}

TEST(the_description_follows_the_policy) {
        const struct site *s = *state;
        static const struct {
                const char *option;
                const char *said, *not_said;
        } cases[] = {
                {"--net=none", NO_NET, HOST_NET},
                {"--net=host", HOST_NET, NO_NET},
                {"--timeout=77", "- After 77 seconds, or those that `timeout` says (600 at most), ",
                 "After 120"},
                {"--timeout=120", "- After 120 seconds, ", ASKED},
                {"--confirm=tty", ASKED, GOES_ON},
                {"--confirm=never", KILLED, ASKED},
                {"--tmp=scratch", EMPTY_TMP, "/tmp is shared"},
                {"--no-sandbox", "- There is no sandbox: it runs as the user, ", "- /tmp"},
                {"--no-sandbox", ASKED, HOST_NET},
                {"--no-project", "- Every command begins in /workspace: ", "What it writes is kept in"},
                {"--no-project", " Nothing that it writes outlives the command.\n", GOES_ON},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_outcome_ struct outcome o = {0};

                /* --no-project and --project exclude each other. */
                if (streq(cases[i].option, "--no-project")) {
                        const struct request request = {
                                .argv = OPTIONS(program(), "bash", "--no-project", "--describe"),
                                .cwd = s->root};

                        run(&request, &o);
                } else {
                        BASH(s, &o, "--describe", cases[i].option);
                }
                expect_status(&o, 0);
                assert_string_equal(o.err, "");
                expect_said(&o, cases[i].said, true);
                expect_said(&o, cases[i].not_said, false);
                expect_said(&o, "Of a longer one the first 15 and the last 15 KiB are left", true);
                expect_said(&o, "prefer them to cat, sed, rg and find.\n", true);
                expect_said(&o, ": `cd src/foo && make test`.\n", true);
                expect_said(&o, "`2>/dev/null`", true);
                expect_said(&o, "such as \"ls -la lib/\". Required.\n", true);
        }
}

TEST(writable_folders_and_overlays_are_named) {
        const struct site *s = *state;
        _cleanup_free_ char *rw = text_of("--rw=%s/rw", s->outside),
                            *over = text_of("--overlay=%s/over", s->outside),
                            *thrown = text_of(
                                    "- Writable, but %s/over: the changes are thrown away when the command "
                                    "ends.\n",
                                    s->outside),
                            *begin = text_of("- Every command begins in %s: ", s->project);
        _cleanup_outcome_ struct outcome o = {0};
        char *kept;

        make_folder(s->outside, "rw");
        make_folder(s->outside, "over");
        BASH(s, &o, "--describe", rw, over);
        expect_status(&o, 0);
        expect_said(&o, begin, true);
        expect_said(&o, thrown, true);
        /* Both folders, in whatever order, on the line that says so. */
        kept = strstr(o.out, "What it writes is kept in: ");
        assert_non_null(kept);
        *strchr(kept, '\n') = '\0';
        assert_non_null(strstr(kept, s->project));
        assert_non_null(strstr(kept, rw + strlen("--rw=")));
        assert_null(strstr(kept, over + strlen("--overlay=")));
}

TEST(a_session_is_described_as_one) {
        const struct site *s = *state;
        _cleanup_free_ char *id = start_session(s, OPTIONS("--net=none"));
        const struct request request = {.argv = OPTIONS(program(), "bash", "--session", id, "--describe"),
                                        .cwd = s->root};
        _cleanup_outcome_ struct outcome o = {0};

        run(&request, &o);
        expect_status(&o, 0);
        expect_said(&o, "a sandbox that all commands of this session share", true);
        expect_said(&o, "/tmp is shared by the commands of this session and gone after it.\n", true);
        expect_said(&o, UNTIL_IT, true);
        expect_said(&o, NO_NET, true);
        end_session(s, id, "stop");
        {
                const char *const options[] = {"--name=apart", "--isolate-commands", NULL};
                const char *const argv[] = {program(), "bash", "--session", "apart", "--describe", NULL};
                _cleanup_free_ char *apart = start_session(s, options);

                outcome_clear(&o);
                run(&(struct request){.argv = argv, .cwd = s->root}, &o);
                expect_said(&o, GOES_ON, true);
                end_session(s, apart, "stop");
        }
}

TEST(the_schema_is_json_of_the_same_text) {
        _cleanup_told_ struct told t = {0};
        struct json_object *parameters, *properties, *timeout, *member;

        TOLD(*state, &t, "--describe", "--timeout=9", "--net=none");
        expect_status(&t.outcome, 0);
        expect_member(&t, "name", "\"bash\"");
        assert_true(json_object_object_get_ex(t.object, "description", &member));
        assert_non_null(strstr(json_object_get_string(member), NO_NET));
        assert_non_null(strstr(json_object_get_string(member), "- After 9 seconds, "));
        assert_true(json_object_object_get_ex(t.object, "parameters", &parameters));
        assert_true(json_object_object_get_ex(parameters, "properties", &properties));
        assert_int_equal(json_object_object_length(properties), 3);
        assert_true(json_object_object_get_ex(properties, "timeout", &timeout));
        assert_true(json_object_object_get_ex(timeout, "default", &member));
        assert_int_equal(json_object_get_int(member), 9);
        assert_true(json_object_object_get_ex(timeout, "maximum", &member));
        assert_int_equal(json_object_get_int(member), 600);
        assert_true(json_object_object_get_ex(parameters, "required", &member));
        assert_string_equal(json_object_to_json_string_ext(member, JSON_C_TO_STRING_PLAIN), "[\"command\"]");
}

TEST(a_description_runs_nothing) {
        const struct site *s = *state;
        _cleanup_free_ char *ran = path_of(s->project, "ran");
        _cleanup_outcome_ struct outcome with_command = {0}, bad_timeout = {0}, bad_policy = {0};

        BASH(s, &with_command, "--describe", "--", "touch ran");
        expect_status(&with_command, 125);
        assert_non_null(strstr(with_command.err, "nsrun: it runs no command: --describe; see "));
        BASH(s, &bad_timeout, "--describe", "--timeout=601");
        expect_status(&bad_timeout, 125);
        assert_non_null(strstr(bad_timeout.err, "--timeout takes 1 to 600 seconds"));
        BASH(s, &bad_policy, "--describe", "--ro=/nonexistent");
        expect_status(&bad_policy, 125);
        assert_non_null(strstr(bad_policy.err, "/nonexistent"));
        assert_string_equal(bad_policy.out, "");
        assert_int_equal(access(ran, F_OK), -1);
}

int main(void) {
        return run_all_tests();
}
