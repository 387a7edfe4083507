/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The library in a host of which standard streams are closed: no command gets a descriptor of nsrun's in the
 * place of one, no start fails for it, and they are closed afterwards. */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "library.h"

/* Which of the streams are closed: the bit of each. */
#define ALL_CLOSED 7U

static char *expected_streams(unsigned closed) {
        const char *names[3];

        for (unsigned i = 0; i < 3; i++)
                names[i] = closed >> i & 1 ? "closed" : "/dev/null";
        return text_of("%s\n%s\n%s\n", names[0], names[1], names[2]);
}

/* Writes into a file of the project what its streams lead to. */
static char *look_at_streams(const char *file) {
        return text_of("(for i in 0 1 2; do readlink /proc/$$/fd/$i || echo closed; done) >%s 2>/dev/null",
                       file);
}

static void close_streams(unsigned closed) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        for (int i = 0; i < 3; i++)
                (void)(closed >> i & 1 ? close(i) : dup2(null, i));
        (void)close(null);
}

/* Nothing of the library's is left where a stream should be, and the others are what they were. */
static bool are_closed(unsigned closed) {
        for (int i = 0; i < 3; i++)
                if ((fcntl(i, F_GETFD) < 0) != (closed >> i & 1))
                        return false;
        return true;
}

/* For the test's own message, from any thread of the host. */
static int tell(const struct site *s, const struct nsrun_error *err, int code) {
        _cleanup_free_ char *line = nsrun_error_format(err);

        make_file(s->root, "why", line ? line : "?");
        return code;
}

/* In a forked host, which is to end with 0. */
static void in_host(int (*host)(const struct site *s, const void *data), const struct site *s,
                    const void *data) {
        siginfo_t info = {.si_pid = 0};
        pid_t pid;

        (void)fflush(NULL);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                _exit(host(s, data));
        assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
        assert_int_equal(info.si_code, CLD_EXITED);
        if (info.si_status != 0) {
                _cleanup_free_ char *path = path_of(s->root, "why"), *why = file_text(path);

                fail_msg("the host ends with %d: %s", info.si_status, why ? why : "");
        }
}

static int run_look(const struct site *s, const char *file) {
        _cleanup_free_ char *script = look_at_streams(file);
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};
        struct nsrun_exit end;
        int r = start_script(s, script, &sandbox, &err);

        if (r >= 0)
                r = nsrun_sandbox_wait(sandbox, &end, &err);
        (void)nsrun_sandbox_free(sandbox);
        return r < 0 ? tell(s, &err, 100) : end.code;
}

static int look_with_closed(const struct site *s, const void *data) {
        const unsigned *closed = data;
        int r;

        close_streams(*closed);
        r = run_look(s, "seen");
        return r != 0 ? r : are_closed(*closed) ? 0 : 101;
}

static void expect_seen(const struct site *s, unsigned closed) {
        _cleanup_free_ char *path = path_of(s->project, "seen"), *seen = file_text(path),
                            *expected = expected_streams(closed);

        assert_non_null(seen);
        assert_string_equal(seen, expected);
        assert_int_equal(unlink(path), 0);
}

TEST(each_stream_that_is_closed_is_closed_in_the_command_and_no_other) {
        const struct site *s = *state;

        for (unsigned closed = 0; closed <= ALL_CLOSED; closed++) {
                in_host(look_with_closed, s, &closed);
                expect_seen(s, closed);
        }
}

/* A workspace holds its folders for as long as the host likes. */
static int look_beside_workspace(const struct site *s, const void *data) {
        struct nsrun_workspace *w = NULL;
        struct nsrun_error err = {0};
        int r;

        close_streams(ALL_CLOSED);
        if (nsrun_workspace_new(s->project, &w, &err) < 0 ||
            nsrun_workspace_add_readable(w, s->outside, &err) < 0)
                return 102;
        (void)data;
        r = run_look(s, "seen");
        (void)nsrun_workspace_free(w);
        return r != 0 ? r : are_closed(ALL_CLOSED) ? 0 : 101;
}

TEST(a_workspace_takes_no_streams_place) {
        const struct site *s = *state;

        in_host(look_beside_workspace, s, NULL);
        expect_seen(s, ALL_CLOSED);
}

/* 0: each closed stream that is given to a command is refused by its name. */
static int give_closed(const struct site *s, const void *data) {
        static const char *const names[] = {"standard input", "standard output", "standard error"};
        static const char *const argv[] = {"true", NULL};
        struct nsrun_policy *policy = make_policy(s, argv);
        struct nsrun_plan *plan = NULL;
        struct nsrun_error err = {0};
        int code = 0;

        (void)data;
        if (nsrun_plan_new(policy, &plan, &err) < 0)
                return 100;
        close_streams(ALL_CLOSED);
        for (int i = 0; i < 3 && code == 0; i++) {
                struct nsrun_start_options options = NSRUN_START_OPTIONS_INIT;
                _cleanup_free_ char *line = text_of("%s is not open", names[i]);
                struct nsrun_sandbox *sandbox = NULL;
                int r;

                err = (struct nsrun_error){0};
                options.stdio[i] = i;
                r = nsrun_start(plan, &options, &sandbox, &err);
                (void)nsrun_sandbox_free(sandbox);
                if (r != -EBADF || !streq(err.what, line))
                        code = 10 + i;
        }
        (void)nsrun_plan_free(plan);
        (void)nsrun_policy_free(policy);
        return code ? code : are_closed(ALL_CLOSED) ? 0 : 101;
}

TEST(a_closed_stream_that_is_given_is_refused) {
        in_host(give_closed, *state, NULL);
}

/* Threads that start commands at once, of which each sees the streams closed. */
#define N_THREADS 6

struct looker {
        const struct site *s;
        char name[8];
        int code;
};

static void *look_in_thread(void *data) {
        struct looker *l = data;

        for (int i = 0; i < 3 && l->code == 0; i++)
                l->code = run_look(l->s, l->name);
        return NULL;
}

static int look_in_threads(const struct site *s, const void *data) {
        struct looker lookers[N_THREADS];
        pthread_t threads[N_THREADS];
        int code = 0;

        (void)data;
        close_streams(ALL_CLOSED);
        for (int i = 0; i < N_THREADS; i++) {
                lookers[i] = (struct looker){.s = s};
                (void)snprintf(lookers[i].name, sizeof(lookers[i].name), "seen%d", i);
                if (pthread_create(&threads[i], NULL, look_in_thread, &lookers[i]) != 0)
                        return 102;
        }
        for (int i = 0; i < N_THREADS; i++) {
                (void)pthread_join(threads[i], NULL);
                code = code ? code : lookers[i].code;
        }
        return code ? code : are_closed(ALL_CLOSED) ? 0 : 101;
}

TEST(threads_that_start_at_once_have_them_closed) {
        const struct site *s = *state;
        _cleanup_free_ char *expected = expected_streams(ALL_CLOSED);

        in_host(look_in_threads, s, NULL);
        for (int i = 0; i < N_THREADS; i++) {
                _cleanup_free_ char *name = text_of("seen%d", i), *path = path_of(s->project, name),
                                    *seen = file_text(path);

                assert_string_equal(seen, expected);
        }
}

/* A session is started, and commands in it, by a host without streams. */
static int use_session(const struct site *s, const void *data) {
        struct nsrun_session_options options = NSRUN_SESSION_OPTIONS_INIT;
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        _cleanup_free_ char *id = NULL, *script = look_at_streams("seen");
        struct nsrun_policy *policy = NULL, *in = NULL;
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_plan *plan = NULL;
        struct nsrun_error err = {0};
        struct nsrun_exit end = {.code = -1};
        const char *const argv[] = {"sh", "-c", script, NULL};
        int r, code = 0;

        (void)data;
        close_streams(ALL_CLOSED);
        options.owner = getpid();
        r = nsrun_policy_new(&policy);
        if (r >= 0)
                r = nsrun_policy_set(policy, "project", s->project, &err);
        if (r >= 0)
                r = nsrun_session_start(policy, &options, &id, NULL, &err);
        if (r < 0)
                code = 10;
        if (r >= 0)
                r = nsrun_policy_new(&in);
        if (r >= 0)
                r = nsrun_policy_set(in, "session", id, &err);
        if (r >= 0)
                r = nsrun_bash(in, "echo out; echo err >&2; cat", NULL, &result, &err);
        if (!code && (r < 0 || result.status != 0 || !streq(result.output, "out\nerr\n")))
                code = 11;
        nsrun_bash_result_clear(&result);
        if (r >= 0)
                r = nsrun_policy_set_command(in, argv, &err);
        if (r >= 0)
                r = nsrun_plan_new(in, &plan, &err);
        if (r >= 0)
                r = nsrun_start(plan, NULL, &sandbox, &err);
        if (r >= 0)
                r = nsrun_sandbox_wait(sandbox, &end, &err);
        (void)nsrun_sandbox_free(sandbox);
        (void)nsrun_plan_free(plan);
        if (!code && (r < 0 || end.code != 0))
                code = 12;
        if (id && nsrun_session_kill(id, &err) < 0)
                code = 13;
        (void)nsrun_policy_free(in);
        (void)nsrun_policy_free(policy);
        if (r < 0)
                (void)tell(s, &err, code);
        return code ? code : are_closed(ALL_CLOSED) ? 0 : 101;
}

TEST(a_session_and_its_commands_have_them_closed) {
        const struct site *s = *state;

        in_host(use_session, s, NULL);
        expect_seen(s, ALL_CLOSED);
        collect_orphans();
}

/* With ever fewer descriptors to be had: refused with its reason, and nothing is left. */
static int look_with_few(const struct site *s, const void *data) {
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_plan *plan = NULL;
        static const char *const argv[] = {"true", NULL};
        struct nsrun_policy *policy = make_policy(s, argv);
        struct nsrun_error err = {0};
        struct rlimit limit;
        bool has_begun = false;

        (void)data;
        if (nsrun_plan_new(policy, &plan, &err) < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return 100;
        close_streams(ALL_CLOSED);
        for (rlim_t n = 1; n < 200 && !has_begun; n++) {
                const struct rlimit low = {n, limit.rlim_max};
                struct nsrun_exit end;
                int r;

                err = (struct nsrun_error){0};
                if (setrlimit(RLIMIT_NOFILE, &low) < 0)
                        return 103;
                r = nsrun_start(plan, NULL, &sandbox, &err);
                (void)setrlimit(RLIMIT_NOFILE, &limit);
                if (r >= 0)
                        r = nsrun_sandbox_wait(sandbox, &end, &err);
                sandbox = nsrun_sandbox_free(sandbox);
                if (r < 0 && (!err.what[0] || err.error == 0))
                        return (int)n;
                if (!are_closed(ALL_CLOSED))
                        return 104;
                has_begun = r >= 0 && end.code == 0;
        }
        (void)nsrun_plan_free(plan);
        (void)nsrun_policy_free(policy);
        return has_begun ? 0 : 105;
}

TEST(too_few_descriptors_are_a_reason_and_leave_them_closed) {
        in_host(look_with_few, *state, NULL);
}

int main(void) {
        return run_all_tests();
}
