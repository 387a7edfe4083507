/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What programs were compiled with: the numbers of enums, the sizes and offsets of structs.  A line
 * here that fails is a promise of nsrun.h that is broken: put nsrun.h back as it was.  What
 * a release adds at the end of an enum or of a struct with a size gets a line of its own. */
#include "nsrun.h"

#include "base/macro.h"
#include "scratch.h"

#define IS(name, number) _Static_assert((name) == (number), #name " was " #number)

IS(NSRUN_STAGE_NONE, 0);
IS(NSRUN_STAGE_USAGE, 1);
IS(NSRUN_STAGE_POLICY, 2);
IS(NSRUN_STAGE_WORKSPACE, 3);
IS(NSRUN_STAGE_PLAN, 4);
IS(NSRUN_STAGE_NAMESPACE, 5);
IS(NSRUN_STAGE_IDMAP, 6);
IS(NSRUN_STAGE_MOUNT, 7);
IS(NSRUN_STAGE_OVERLAY, 8);
IS(NSRUN_STAGE_PROC, 9);
IS(NSRUN_STAGE_NETWORK, 10);
IS(NSRUN_STAGE_HARDENING, 11);
IS(NSRUN_STAGE_EXEC, 12);
IS(NSRUN_STAGE_SUPERVISE, 13);
IS(NSRUN_READ, 0);
IS(NSRUN_WRITE, 1);
IS(NSRUN_FORMAT_TEXT, 0);
IS(NSRUN_FORMAT_JSON, 1);
IS(NSRUN_FORMAT_BWRAP, 2);
IS(NSRUN_DIFF_LIST, 0);
IS(NSRUN_DIFF_JSON, 1);
IS(NSRUN_DIFF_STAT, 2);
IS(NSRUN_DIFF_PATCH, 3);

/* Of a 64-bit machine; the others follow from the same order of members. */
#if defined(__LP64__)
#define SIZE(type, size)               IS(sizeof(struct type), size)
#define MEMBER(type, member, position) IS(offsetof(struct type, member), position)

SIZE(nsrun_error, 2568);
MEMBER(nsrun_error, stage, 0);
MEMBER(nsrun_error, error, 4);
MEMBER(nsrun_error, path, 8);
MEMBER(nsrun_error, what, 1032);
MEMBER(nsrun_error, hint, 1544);

SIZE(nsrun_exit, 8);
MEMBER(nsrun_exit, code, 0);
MEMBER(nsrun_exit, signal, 4);

SIZE(nsrun_expose_path, 24);
MEMBER(nsrun_expose_path, source, 0);
MEMBER(nsrun_expose_path, target, 8);
MEMBER(nsrun_expose_path, mode, 16);

SIZE(nsrun_start_options, 64);
MEMBER(nsrun_start_options, size, 0);
MEMBER(nsrun_start_options, stdio, 8);
MEMBER(nsrun_start_options, pass_fds, 24);
MEMBER(nsrun_start_options, n_pass_fds, 32);
MEMBER(nsrun_start_options, ask, 40);
MEMBER(nsrun_start_options, data, 48);
MEMBER(nsrun_start_options, ask_file, 56);

SIZE(nsrun_bash_options, 104);
MEMBER(nsrun_bash_options, size, 0);
MEMBER(nsrun_bash_options, timeout, 8);
MEMBER(nsrun_bash_options, description, 16);
MEMBER(nsrun_bash_options, confirm, 24);
MEMBER(nsrun_bash_options, output, 32);
MEMBER(nsrun_bash_options, data, 40);
MEMBER(nsrun_bash_options, wants_report, 48);
MEMBER(nsrun_bash_options, cancel_fd, 52);
MEMBER(nsrun_bash_options, pass_fds, 56);
MEMBER(nsrun_bash_options, n_pass_fds, 64);
MEMBER(nsrun_bash_options, detaches, 72);
MEMBER(nsrun_bash_options, until_port, 76);
MEMBER(nsrun_bash_options, until_text, 80);
MEMBER(nsrun_bash_options, ask, 88);
MEMBER(nsrun_bash_options, started, 96);

SIZE(nsrun_bash_result, 160);
MEMBER(nsrun_bash_result, size, 0);
MEMBER(nsrun_bash_result, status, 8);
MEMBER(nsrun_bash_result, signal, 12);
MEMBER(nsrun_bash_result, timed_out, 16);
MEMBER(nsrun_bash_result, oom_killed, 20);
MEMBER(nsrun_bash_result, timeout, 24);
MEMBER(nsrun_bash_result, duration_ms, 32);
MEMBER(nsrun_bash_result, command, 40);
MEMBER(nsrun_bash_result, output, 48);
MEMBER(nsrun_bash_result, output_size, 56);
MEMBER(nsrun_bash_result, bytes_total, 64);
MEMBER(nsrun_bash_result, bytes_omitted, 72);
MEMBER(nsrun_bash_result, report, 80);
MEMBER(nsrun_bash_result, notes, 88);
MEMBER(nsrun_bash_result, no_sandbox, 96);
MEMBER(nsrun_bash_result, dropped, 104);
MEMBER(nsrun_bash_result, detached, 112);
MEMBER(nsrun_bash_result, session, 120);
MEMBER(nsrun_bash_result, pid, 128);
MEMBER(nsrun_bash_result, is_ready, 132);
MEMBER(nsrun_bash_result, is_running, 136);
MEMBER(nsrun_bash_result, degraded, 144);
MEMBER(nsrun_bash_result, reasons, 152);

SIZE(nsrun_session_options, 24);
MEMBER(nsrun_session_options, size, 0);
MEMBER(nsrun_session_options, name, 8);
MEMBER(nsrun_session_options, idle_timeout, 16);
MEMBER(nsrun_session_options, owner, 20);

SIZE(nsrun_session_info, 80);
MEMBER(nsrun_session_info, id, 0);
MEMBER(nsrun_session_info, project, 8);
MEMBER(nsrun_session_info, rundir, 16);
MEMBER(nsrun_session_info, monitor, 24);
MEMBER(nsrun_session_info, init, 28);
MEMBER(nsrun_session_info, started, 32);
MEMBER(nsrun_session_info, idle, 40);
MEMBER(nsrun_session_info, idle_timeout, 48);
MEMBER(nsrun_session_info, owner, 52);
MEMBER(nsrun_session_info, is_nested, 56);
MEMBER(nsrun_session_info, commands, 60);
MEMBER(nsrun_session_info, root, 64);
MEMBER(nsrun_session_info, degraded, 72);

SIZE(nsrun_session_usage, 56);
MEMBER(nsrun_session_usage, size, 0);
MEMBER(nsrun_session_usage, n_commands, 8);
MEMBER(nsrun_session_usage, n_processes, 16);
MEMBER(nsrun_session_usage, memory, 24);
MEMBER(nsrun_session_usage, cgroup_memory, 32);
MEMBER(nsrun_session_usage, disk, 40);
MEMBER(nsrun_session_usage, is_disk_more, 48);

SIZE(nsrun_session_process, 48);
MEMBER(nsrun_session_process, pid, 0);
MEMBER(nsrun_session_process, parent, 4);
MEMBER(nsrun_session_process, command, 8);
MEMBER(nsrun_session_process, state, 12);
MEMBER(nsrun_session_process, age, 16);
MEMBER(nsrun_session_process, memory, 24);
MEMBER(nsrun_session_process, name, 32);
MEMBER(nsrun_session_process, command_line, 40);

SIZE(nsrun_session_outcome, 32);
MEMBER(nsrun_session_outcome, size, 0);
MEMBER(nsrun_session_outcome, n_applied, 8);
MEMBER(nsrun_session_outcome, notes, 16);
MEMBER(nsrun_session_outcome, conflicts, 24);

SIZE(nsrun_isolation_config, 48);
MEMBER(nsrun_isolation_config, size, 0);
MEMBER(nsrun_isolation_config, enabled, 8);
MEMBER(nsrun_isolation_config, root, 16);
MEMBER(nsrun_isolation_config, expose_paths, 24);
MEMBER(nsrun_isolation_config, n_expose_paths, 32);
MEMBER(nsrun_isolation_config, workspace, 40);

SIZE(nsrun_user_env, 40);
MEMBER(nsrun_user_env, home, 0);
MEMBER(nsrun_user_env, tmp, 8);
MEMBER(nsrun_user_env, config, 16);
MEMBER(nsrun_user_env, cache, 24);
MEMBER(nsrun_user_env, state, 32);
#endif

TEST(the_header_and_the_library_are_one_release) {
        char version[64];

        (void)snprintf(version, sizeof(version), "%d.%d.%d", NSRUN_VERSION_MAJOR, NSRUN_VERSION_MINOR,
                       NSRUN_VERSION_PATCH);
        /* "1.0.0", or a candidate of it. */
        assert_memory_equal(nsrun_version(), version, strlen(version));
        assert_true(strchr("~", nsrun_version()[strlen(version)]));
}

/* status.c writes these words into JSON that hosts read. */
TEST(every_stage_has_its_word) {
        static const char *const words[] = {
                "none",  "usage",   "policy", "workspace", "plan",      "namespace", "idmap",
                "mount", "overlay", "proc",   "network",   "hardening", "exec",      "supervise",
        };

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                assert_string_equal(nsrun_stage_name((enum nsrun_stage)i), words[i]);
        assert_string_equal(nsrun_stage_name((enum nsrun_stage)ARRAY_SIZE(words)), "unknown");
        assert_string_equal(nsrun_stage_name((enum nsrun_stage) - 1), "unknown");
}

/* What the three sides of a call may be: a program's struct, of whatever release, and the library's. */
struct grown {
        struct nsrun_bash_options known;
        long more[3];
};

static int is_asked;

static int ask_once(const char *prompt nsrun_unused, void *data nsrun_unused) {
        is_asked++;
        return 0;
}

/* The question is asked after the options were taken, and its answer here is no; a project that isn't
 * there, which is refused next, is what happens where nobody is asked. */
static int bash_with(const struct nsrun_bash_options *options, struct nsrun_bash_result *result,
                     struct nsrun_error *err) {
        struct nsrun_policy *policy = NULL;
        int r;

        is_asked = 0;
        assert_int_equal(nsrun_policy_new(&policy), 0);
        assert_int_equal(nsrun_policy_set(policy, "project", "/nowhere", err), 0);
        r = nsrun_bash(policy, "true", options, result, err);
        assert_null(nsrun_policy_free(policy));
        return r;
}

static void expect_line(const struct nsrun_error *err, const char *expected) {
        _cleanup_free_ char *line = nsrun_error_format(err);

        assert_int_equal(err->stage, NSRUN_STAGE_USAGE);
        assert_string_equal(line, expected);
}

TEST(a_newer_programs_struct_is_taken_if_it_asks_for_nothing_new) {
        struct grown newer = {.known = {.size = sizeof(newer), .timeout = 1, .confirm = ask_once}};
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        struct nsrun_error err = {0};

        assert_int_equal(bash_with(&newer.known, &result, &err), -ECANCELED);
        assert_int_equal(is_asked, 1);
        newer.more[2] = 1;
        err = (struct nsrun_error){0};
        assert_int_equal(bash_with(&newer.known, &result, &err), -E2BIG);
        assert_int_equal(is_asked, 0);
        expect_line(&err, "nsrun_bash_options: a field is set that libnsrun " PACKAGE_VERSION
                          " doesn't know: Argument list too long; "
                          "leave it zero, or use a newer libnsrun");
}

/* Its first release had no confirm(): what lies there isn't the struct's. */
TEST(an_older_programs_struct_ends_where_it_says) {
        struct nsrun_bash_options options = {.size = sizeof(options), .timeout = 600, .confirm = ask_once};
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        struct nsrun_error err = {0};

        assert_int_equal(bash_with(&options, &result, &err), -ECANCELED);
        assert_int_equal(is_asked, 1);
        options.size = offsetof(struct nsrun_bash_options, confirm);
        err = (struct nsrun_error){0};
        assert_int_equal(bash_with(&options, &result, &err), -ENOENT);
        assert_int_equal(is_asked, 0);
        assert_int_equal(err.stage, NSRUN_STAGE_POLICY);
        assert_string_equal(err.path, "/nowhere");
        options.timeout = 601;
        err = (struct nsrun_error){0};
        assert_int_equal(bash_with(&options, &result, &err), -EINVAL);
        expect_line(&err, "timeout must be <= 600, got 601");
}

TEST(a_size_that_nobody_set_is_refused) {
        static const size_t sizes[] = {0, sizeof(size_t) - 1, 4097, SIZE_MAX};
        struct nsrun_isolation *isolation = NULL;

        assert_int_equal(nsrun_isolation_new(&isolation), 0);
        for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
                struct nsrun_bash_options options = {.size = sizes[i], .timeout = 1, .confirm = ask_once};
                struct nsrun_bash_options good = {.size = sizeof(good), .timeout = 1, .confirm = ask_once};
                struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT, bad = {.size = sizes[i]};
                struct nsrun_session_options session = {.size = sizes[i]};
                struct nsrun_session_outcome outcome = {.size = sizes[i]};
                struct nsrun_session_usage usage = {.size = sizes[i]};
                struct nsrun_isolation_config config = {.size = sizes[i]};
                struct nsrun_policy *policy = NULL;
                struct nsrun_error err = {0};
                char expected[160], *id = NULL;

                assert_int_equal(bash_with(&options, &result, &err), -EINVAL);
                assert_int_equal(is_asked, 0);
                (void)snprintf(expected, sizeof(expected),
                               "nsrun_bash_options: its first member, size, is %zu: Invalid argument; "
                               "initialise it with its NSRUN_..._INIT",
                               sizes[i]);
                expect_line(&err, expected);
                assert_int_equal(bash_with(&good, &bad, NULL), -EINVAL);
                assert_int_equal(is_asked, 0);
                assert_int_equal(nsrun_policy_new(&policy), 0);
                assert_int_equal(nsrun_session_start(policy, &session, &id, NULL, NULL), -EINVAL);
                assert_null(nsrun_policy_free(policy));
                assert_int_equal(nsrun_session_commit("none", NULL, 0, &outcome, NULL), -EINVAL);
                assert_int_equal(nsrun_session_commit_digest("none", NULL, 0, "", &outcome, NULL), -EINVAL);
                assert_int_equal(nsrun_session_usage("none", &usage, NULL), -EINVAL);
                assert_int_equal(nsrun_isolation_configure(isolation, &config), -EINVAL);
        }
        assert_null(nsrun_isolation_free(isolation));
}

/* A program whose result ends before `notes` gets the rest, and nothing is written behind it. */
TEST(an_older_programs_result_is_filled_as_far_as_it_goes) {
        struct nsrun_isolation_config now = {.size = offsetof(struct nsrun_isolation_config, expose_paths),
                                             .n_expose_paths = 77};
        struct nsrun_isolation_config config = {.size = sizeof(config), .enabled = 1, .root = "/r"};
        struct nsrun_isolation *isolation = NULL;

        assert_int_equal(nsrun_isolation_new(&isolation), 0);
        assert_int_equal(nsrun_isolation_configure(isolation, &config), 0);
        nsrun_isolation_current(isolation, &now);
        assert_int_equal(now.enabled, 1);
        assert_string_equal(now.root, "/r");
        assert_int_equal(now.n_expose_paths, 77);
        assert_null(nsrun_isolation_free(isolation));
}

TEST(what_is_cleared_keeps_its_size_alone) {
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        static const struct nsrun_bash_result empty = NSRUN_BASH_RESULT_INIT;
        struct nsrun_session_outcome zeroed = {0};

        result.status = 7;
        result.output = strdup("x");
        nsrun_bash_result_clear(&result);
        assert_memory_equal(&result, &empty, sizeof(empty));
        nsrun_session_outcome_clear(&zeroed);
        assert_int_equal(zeroed.size, 0);
}

int main(void) {
        return run_all_tests();
}
