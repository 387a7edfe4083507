/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session's life: its start, its names, how it is told of, and every way to its end.
 * What its commands may do is the other files'. */
#include <json-c/json.h>

#include "session.h"

static const char until_told[] =
        "exec 2>/dev/null; trap 'echo told; exit 3' TERM; echo ready; while :; do sleep 0.02; done";
static const char deaf[] = "trap '' TERM; echo ready; while :; do sleep 0.02; done";

static void expect_ready_line(const struct running *r) {
        await_line(r->out, "ready\n");
}

/* A nested command's own pid 1 gets what the session's pid 1 sends to everybody, and passes it on. */
static void expect_told(const struct outcome *o) {
        if (!is_nested || !streq(o->out, "told\ntold\n"))
                expect_out(o, "told\n");
}

TEST_OF_SESSIONS(a_start_prints_an_id_that_commands_join_by) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *expected = text_of("%s\n", s->project);
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(strlen(id), 8);
        assert_int_equal(strspn(id, "abcdefghijkmnpqrstuvwxyz23456789"), 8);
        expect_good_join(s, id, "pwd", expected);
        expect_good_join(s, id, "echo one >/tmp/x; echo two >y", "");
        expect_good_join(s, id, "cat /tmp/x y", "one\ntwo\n");
        end_session(s, id, "stop");
        expect_nothing_left(s);
        JOIN_SCRIPT(s, id, &o, "echo ran");
        {
                _cleanup_free_ char *line = replaced(NO_SESSION("@"), "@", id);

                expect_refusal(&o, 125, line);
                SESSION(s, &o, "stop", id);
                expect_refusal(&o, 125, line);
                SESSION(s, &o, "kill", id);
                expect_refusal(&o, 125, line);
                SESSION(s, &o, "show", id);
                expect_refusal(&o, 125, line);
        }
}

/* Once, of all its commands. */
TEST(a_start_says_which_secrets_are_withheld) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(setenv("MY_TOKEN", "t", 1), 0);
        SESSION(s, &o, "start", "--project", s->project, "--name", "secretive");
        expect_status(&o, 0);
        assert_string_equal(o.err,
                            "nsrun: note: variables that look like secrets are withheld from the command "
                            "(--env NAME passes one): MY_TOKEN\n");
        expect_good_join(s, "secretive", "echo ${MY_TOKEN-none}", "none\n");
        assert_int_equal(unsetenv("MY_TOKEN"), 0);
        end_session(s, "secretive", "stop");
}

TEST(a_name_is_the_id_and_is_taken_while_the_session_lives) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--name", "A.b_c-9");
        _cleanup_outcome_ struct outcome o = {0};

        assert_string_equal(id, "A.b_c-9");
        expect_good_join(s, id, "echo in", "in\n");
        SESSION(s, &o, "start", "--project", s->project, "--name", id);
        expect_refusal(&o, 125,
                       "nsrun: there is a session of this name: A.b_c-9: File exists; stop it, or choose "
                       "another name");
        /* Whoever was refused left nothing, and the session is as it was. */
        expect_good_join(s, id, "echo in", "in\n");
        end_session(s, id, "stop");
        expect_nothing_left(s);
        free(id);
        id = START(s, "--name=A.b_c-9");
        assert_string_equal(id, "A.b_c-9");
        end_session(s, id, "kill");
}

TEST(no_other_names_are_taken) {
        static const char longest[] = "0123456789012345678901234567890123456789012345678901234567890123";
        const struct site *s = *state;
        _cleanup_free_ char *too_long = text_of("%s4", longest), *id = NULL;
        const char *const bad[] = {"..",  ".",        "-a",     "_a", "a/b", "a b",
                                   "a\n", "\xc3\xa4", too_long, "/",  "../a"};
        const char *const shown[] = {"..",     ".",        "-a",     "_a", "a/b", "a b",
                                     "a\\x0a", "\xc3\xa4", too_long, "/",  "../a"};
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                _cleanup_free_ char *option = text_of("--name=%s", bad[i]);
                _cleanup_free_ char *line = text_of(
                        "nsrun: no name for a session: %s: Invalid argument; 1 to 64 letters, digits, '.', "
                        "'_' and '-', a letter or digit first",
                        shown[i]);

                SESSION(s, &o, "start", "--project", s->project, option);
                expect_refusal(&o, 125, line);
                collect_orphans();
                expect_nothing_left(s);
        }
        id = START(s, "--name", longest);
        assert_string_equal(id, longest);
        end_session(s, id, "stop");
}

TEST_OF_SESSIONS(a_killed_monitors_name_is_free_again) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--name=mine"), *again = NULL,
                            *record = path_of(s->runtime, "nsrun/sessions/mine/record");
        _cleanup_close_ int monitor = session_pidfd(s, id, "monitor"), init = session_pidfd(s, id, "init");
        _cleanup_outcome_ struct outcome o = {0};

        send_signal(monitor, SIGKILL);
        expect_end_of(monitor, "a killed monitor");
        expect_end_of(init, "pid 1 of a killed monitor");
        collect_orphans();
        /* It is there, and nobody believes it. */
        assert_int_equal(access(record, F_OK), 0);
        JOIN_SCRIPT(s, id, &o, "echo ran");
        expect_refusal(&o, 125, NO_SESSION("mine"));
        again = START(s, "--name=mine");
        assert_string_equal(again, "mine");
        expect_good_join(s, again, "echo in", "in\n");
        end_session(s, again, "stop");
}

TEST(a_list_removes_what_killed_monitors_left) {
        const struct site *s = *state;
        _cleanup_free_ char *dead = START(s, "--name=dead"), *alive = START(s, "--name=alive"),
                            *folder = path_of(s->runtime, "nsrun/sessions/dead");
        _cleanup_close_ int monitor = session_pidfd(s, dead, "monitor"),
                            init = session_pidfd(s, dead, "init");
        _cleanup_outcome_ struct outcome o = {0};

        SESSION(s, &o, "list");
        expect_in(o.out, "\nalive ");
        expect_in(o.out, "\ndead ");
        send_signal(monitor, SIGKILL);
        expect_end_of(init, "pid 1 of a killed monitor");
        expect_end_of(monitor, "a killed monitor");
        assert_int_equal(access(folder, F_OK), 0);
        SESSION(s, &o, "list");
        expect_status(&o, 0);
        expect_in(o.out, "\nalive ");
        expect_not_in(o.out, "dead");
        assert_int_equal(access(folder, F_OK), -1);
        expect_good_join(s, alive, "echo in", "in\n");
        end_session(s, alive, "stop");
        sweep(s);
}

static json_object *parse(const char *text) {
        json_object *parsed = json_tokener_parse(text);

        if (!parsed)
                fail_msg("no JSON: %s", text);
        return parsed;
}

static int64_t number_in(json_object *o, const char *key) {
        json_object *value;

        if (!json_object_object_get_ex(o, key, &value) || json_object_get_type(value) != json_type_int)
                fail_msg("no number %s: %s", key, json_object_to_json_string(o));
        return json_object_get_int64(value);
}

static void expect_text_in(json_object *o, const char *key, const char *text) {
        json_object *value;

        if (!json_object_object_get_ex(o, key, &value))
                fail_msg("no %s: %s", key, json_object_to_json_string(o));
        assert_string_equal(json_object_get_string(value), text);
}

static void check_session(const struct site *s, json_object *o, const char *id, int64_t before) {
        _cleanup_free_ char *exe = text_of("/proc/%d/comm", (int)number_in(o, "monitor")), *comm = NULL,
                            *rundirs = path_of(s->cache, "nsrun/workspace-");
        json_object *value;
        struct timespec now;

        expect_text_in(o, "id", id);
        expect_text_in(o, "project", s->project);
        assert_true(json_object_object_get_ex(o, "run_directory", &value));
        assert_true(startswith(json_object_get_string(value), rundirs));
        assert_int_equal(access(json_object_get_string(value), F_OK), 0);
        assert_true(number_in(o, "started") >= before && number_in(o, "started") <= (int64_t)time(NULL));
        assert_int_equal(number_in(o, "idle_timeout"), 1000);
        assert_int_equal(number_in(o, "owner"), getpid());
        assert_true(json_object_object_get_ex(o, "nested", &value));
        assert_int_equal(json_object_get_boolean(value), is_nested);
        /* time(2) lags behind the clock that nsrun asks. */
        assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
        assert_true(number_in(o, "idle") <= (int64_t)now.tv_sec - before);
        comm = file_text(exe);
        assert_non_null(comm);
        assert_string_equal(comm, "nsrun-monitor\n");
}

TEST_OF_SESSIONS(json_tells_all_of_a_session) {
        const struct site *s = *state;
        int64_t before = (int64_t)time(NULL);
        _cleanup_free_ char *owner = text_of("--owner=%d", (int)getpid()),
                            *id = START(s, "--name=told", "--idle-timeout=1000", owner),
                            *other = START(s, "--name=another"),
                            *spare = path_of(s->cache, "nsrun/.workspace-spare-0");
        _cleanup_outcome_ struct outcome o = {0};
        json_object *parsed, *list;

        SESSION(s, &o, "show", "--json", id);
        expect_status(&o, 0);
        parsed = parse(o.out);
        check_session(s, parsed, id, before);
        json_object_put(parsed);

        SESSION(s, &o, "list", "--json");
        expect_status(&o, 0);
        parsed = parse(o.out);
        assert_true(json_object_object_get_ex(parsed, "sessions", &list));
        assert_int_equal(json_object_array_length(list), 2);
        expect_text_in(json_object_array_get_idx(list, 0), "id", "another");
        assert_int_equal(number_in(json_object_array_get_idx(list, 0), "idle_timeout"), 0);
        assert_int_equal(number_in(json_object_array_get_idx(list, 0), "owner"), 0);
        check_session(s, json_object_array_get_idx(list, 1), id, before);
        json_object_put(parsed);

        SESSION(s, &o, "stop", other);
        expect_status(&o, 0);
        end_session(s, id, "stop");
        SESSION(s, &o, "list", "--json");
        expect_status(&o, 0);
        expect_out(&o, "{\"sessions\":[]}\n");
        /* Others may look into a session's run directory to its end and after: no run gets it. */
        assert_int_equal(access(spare, F_OK), -1);
        SESSION(s, &o, "list");
        expect_status(&o, 0);
        expect_out(&o, "");
}

TEST_OF_SESSIONS(idle_counts_from_the_last_command) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--name=i"),
                            *activity = path_of(s->runtime, "nsrun/sessions/i/activity");
        struct timespec times[2] = {{.tv_sec = 0}, {.tv_sec = time(NULL) - 5000}};
        struct running r;
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(utimensat(AT_FDCWD, activity, times, 0), 0);
        assert_true(session_number(s, id, "idle") >= 5000);
        SPAWN_JOINED(s, id, &r, "--", "sh", "-c", until_told);
        expect_ready_line(&r);
        assert_int_equal(utimensat(AT_FDCWD, activity, times, 0), 0);
        /* One runs. */
        assert_int_equal(session_number(s, id, "idle"), 0);
        send_signal(r.pidfd, SIGTERM);
        finish(&r, &o);
        expect_status(&o, 3);
        assert_true(session_number(s, id, "idle") < 5000);
        end_session(s, id, "stop");
}

TEST_OF_SESSIONS(stop_lets_commands_say_a_last_word) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};
        struct running r;

        SPAWN_JOINED(s, id, &r, "--", "sh", "-c", until_told);
        expect_ready_line(&r);
        SESSION(s, &o, "stop", id);
        expect_status(&o, 0);
        outcome_clear(&o);
        finish(&r, &o);
        expect_status(&o, 3);
        expect_told(&o);
        assert_string_equal(o.err, "");
        collect_orphans();
}

TEST_IN_ALL_MODES(who_does_not_listen_is_killed) {
        const struct site *s = *state;
        static const char *const ways[] = {"stop", "kill"};

        for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
                _cleanup_free_ char *id = START_PLAIN(s);
                _cleanup_outcome_ struct outcome o = {0};
                struct running r;

                SPAWN_JOINED(s, id, &r, "--", "sh", "-c", deaf);
                expect_ready_line(&r);
                SESSION(s, &o, ways[i], id);
                expect_status(&o, 0);
                outcome_clear(&o);
                finish(&r, &o);
                expect_status(&o, 128 + SIGKILL);
                assert_string_equal(
                        o.err,
                        !is_isolated       ? ""
                        : by_the_library() ? KILLED_BY_THE_LIBRARY
                        : is_nested
                                ? "nsrun: the command's reaper was killed by signal 9, and the command with it\n"
                                : "nsrun: the command's reaper was killed by signal 9, and the session with it\n");
                collect_orphans();
                expect_nothing_left(s);
        }
}

TEST_OF_SESSIONS(nobody_joins_what_is_ending) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s),
                            *refusal = text_of(
                                    "nsrun: the session is ending: %s: No such process; start another one",
                                    id);
        _cleanup_outcome_ struct outcome o = {0}, ended = {0};
        const char *const stop[] = {program(), "session", "stop", id, NULL};
        struct running deaf_one, told, stopping;

        SPAWN_JOINED(s, id, &deaf_one, "--", "sh", "-c", deaf);
        expect_ready_line(&deaf_one);
        SPAWN_JOINED(s, id, &told, "--", "sh", "-c", until_told);
        expect_ready_line(&told);
        expect_good_join(s, id, "echo in", "in\n");
        spawn(&(struct request){.argv = stop, .cwd = s->root}, &stopping);
        finish(&told, &o);
        expect_status(&o, 3);
        JOIN_SCRIPT(s, id, &ended, "echo ran");
        expect_refusal(&ended, 125, refusal);
        /* What is going to end may still be ended at once. */
        SESSION(s, &ended, "kill", id);
        expect_status(&ended, 0);
        outcome_clear(&ended);
        finish(&stopping, &ended);
        expect_status(&ended, 0);
        outcome_clear(&o);
        finish(&deaf_one, &o);
        expect_status(&o, 128 + SIGKILL);
        collect_orphans();
        expect_nothing_left(s);
}

TEST_OF_SESSIONS(kill_gives_no_time_for_words) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};
        struct running r;

        SPAWN_JOINED(s, id, &r, "--", "sh", "-c", until_told);
        expect_ready_line(&r);
        SESSION(s, &o, "kill", id);
        expect_status(&o, 0);
        outcome_clear(&o);
        finish(&r, &o);
        expect_status(&o, 128 + SIGKILL);
        expect_out(&o, "");
        collect_orphans();
}

TEST_OF_SESSIONS(a_stopped_command_is_ended_too) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};
        struct running r;

        SPAWN_JOINED(s, id, &r, "--", "sh", "-c",
                     "trap 'echo told; exit 3' TERM; echo ready; kill -STOP $$");
        expect_ready_line(&r);
        SESSION(s, &o, "stop", id);
        expect_status(&o, 0);
        outcome_clear(&o);
        finish(&r, &o);
        expect_status(&o, 3);
        expect_told(&o);
        collect_orphans();
}

/* The command runs for longer than the timeout, and is left alone; what it leaves behind is
 * no reason to stay. */
TEST_OF_SESSIONS(an_idle_session_ends_by_itself) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--idle-timeout=4");
        _cleanup_close_ int monitor = session_pidfd(s, id, "monitor");
        _cleanup_outcome_ struct outcome o = {0};

        JOIN_SCRIPT(s, id, &o, "sleep 1000 >/dev/null 2>&1 & sleep 5; exit 6");
        expect_status(&o, 6);
        assert_false(has_ended(monitor));
        expect_end_of(monitor, "an idle session");
        collect_orphans();
}

TEST_OF_SESSIONS(a_session_ends_with_its_owner) {
        const struct site *s = *state;
        struct running owner, r;
        _cleanup_outcome_ struct outcome o = {0}, last = {0};
        _cleanup_free_ char *option = NULL, *id = NULL;
        _cleanup_close_ int monitor = -EBADF;

        spawn(&(struct request){.argv = OPTIONS("true"), .in_child = pause_until_killed}, &owner);
        option = text_of("--owner=%d", (int)owner.pid);
        id = START(s, option);
        monitor = session_pidfd(s, id, "monitor");
        SPAWN_JOINED(s, id, &r, "--", "sh", "-c", until_told);
        expect_ready_line(&r);
        assert_false(has_ended(monitor));
        send_signal(owner.pidfd, SIGKILL);
        expect_end_of(monitor, "the session of a dead owner");
        finish(&r, &o);
        expect_status(&o, 3);
        expect_told(&o);
        finish(&owner, &last);
        collect_orphans();
}

TEST(a_dead_owner_is_refused) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *option = NULL, *line = NULL;
        struct running owner;

        spawn(&(struct request){.argv = OPTIONS("true")}, &owner);
        option = text_of("--owner=%d", (int)owner.pid);
        line = text_of(
                "nsrun: the owner can't be watched: %d: No such process; --owner names a process that "
                "lives",
                (int)owner.pid);
        finish(&owner, &o);
        SESSION(s, &o, "start", "--project", s->project, option);
        expect_refusal(&o, 125, line);
}

TEST_OF_SESSIONS(a_terminal_may_be_shared) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--no-new-session");
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *session = text_of("%d\n", (int)getsid(0));

        /* Field 6 of stat: 0 where its session is not of this pid namespace. */
        JOIN(s, id, &o, "--", "sh", "-c", "read -r a b c d e f rest </proc/self/stat; echo $f");
        expect_status(&o, 0);
        expect_out(&o, "0\n");
        end_session(s, id, "stop");
        free(id);
        id = START_PLAIN(s);
        JOIN(s, id, &o, "--", "sh", "-c", "read -r a b c d e f rest </proc/self/stat; echo $f");
        expect_status(&o, 0);
        assert_true(strcmp(o.out, "0\n") != 0 && strcmp(o.out, session) != 0);
        end_session(s, id, "stop");
}

int main(void) {
        return run_all_tests();
}
