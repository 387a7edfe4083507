/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sessions through the public functions, in a host with threads, signals and descriptors
 * of its own: it is as it was, and may look at its commands' ends when it likes. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>

#include "library.h"
#include "session.h"

enum {
        N_THREADS = 6,
        N_EACH = 15,
};

static char *start_by_library(const struct site *s, const struct nsrun_session_options *options) {
        struct nsrun_policy *policy = NULL;
        struct nsrun_plan *plan = NULL;
        struct nsrun_error err = {0};
        char *id = NULL, **notes = NULL;

        assert_int_equal(nsrun_policy_new(&policy), 0);
        expect_good(nsrun_policy_set(policy, "project", s->project, &err), &err);
        if (is_isolated)
                expect_good(nsrun_policy_set(policy, "isolate-commands", NULL, &err), &err);
        if (is_nested)
                expect_good(nsrun_policy_set(policy, "landlock", "off", &err), &err);
        expect_good(nsrun_session_start(policy, options, &id, &notes, &err), &err);
        assert_null(notes);
        /* The policy is as it was: one without a command. */
        assert_int_equal(nsrun_plan_new(policy, &plan, &err), -EINVAL);
        (void)nsrun_policy_free(policy);
        return id;
}

/* The plan is freed as soon as the command runs.  Fit for any thread. */
static int join(const char *id, const char *script, struct nsrun_sandbox **ret, struct nsrun_error *err) {
        struct nsrun_policy *policy = NULL;
        struct nsrun_plan *plan = NULL;
        int r;

        r = nsrun_policy_new(&policy);
        if (r >= 0)
                r = nsrun_policy_set(policy, "session", id, err);
        if (r >= 0)
                r = nsrun_policy_set_command(policy, OPTIONS("sh", "-c", script), err);
        if (r >= 0)
                r = nsrun_plan_new(policy, &plan, err);
        if (r >= 0)
                r = nsrun_start(plan, NULL, ret, err);
        (void)nsrun_plan_free(plan);
        (void)nsrun_policy_free(policy);
        return r;
}

static struct nsrun_sandbox *expect_joined(const char *id, const char *script) {
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};

        expect_good(join(id, script, &sandbox, &err), &err);
        return sandbox;
}

static void end_by_library(const char *id, int (*how)(const char *id, struct nsrun_error *err)) {
        struct nsrun_error err = {0};

        expect_good(how(id, &err), &err);
}

TEST_OF_SESSIONS(a_session_is_started_listed_joined_and_stopped) {
        const struct site *s = *state;
        const struct nsrun_session_options options = {
                .size = sizeof(options), .name = "lib", .idle_timeout = 900, .owner = getpid()};
        char *id = start_by_library(s, &options), **ids = NULL;
        struct nsrun_session_info *info = NULL;
        struct nsrun_error err = {0};
        struct nsrun_sandbox *sandbox;

        assert_string_equal(id, "lib");
        expect_good(nsrun_session_list(&ids, &err), &err);
        assert_string_equal(ids[0], "lib");
        assert_null(ids[1]);
        free(ids[0]);
        free(ids);
        expect_good(nsrun_session_show(id, &info, &err), &err);
        assert_string_equal(info->id, "lib");
        assert_string_equal(info->project, s->project);
        assert_int_equal(info->idle_timeout, 900);
        assert_int_equal(info->owner, getpid());
        assert_int_equal(info->is_nested, is_nested);
        assert_int_equal(kill(info->monitor, 0), 0);
        assert_null(nsrun_session_info_free(info));
        sandbox = expect_joined(id, "exit 7");
        expect_end(sandbox, 7, 0);
        assert_null(nsrun_sandbox_free(sandbox));
        sandbox = expect_joined(id, "kill -TERM $$");
        expect_end(sandbox, -1, SIGTERM);
        assert_null(nsrun_sandbox_free(sandbox));
        end_by_library(id, nsrun_session_stop);
        collect_orphans();
        expect_error(nsrun_session_show(id, &info, &err), -ENOENT, NSRUN_STAGE_SUPERVISE, &err,
                     "no such session: lib: No such file or directory; 'nsrun session list' shows those "
                     "there are");
        expect_error(join(id, "exit 0", &sandbox, &err), -ENOENT, NSRUN_STAGE_SUPERVISE, &err,
                     "no such session: lib: No such file or directory; 'nsrun session list' shows those "
                     "there are");
        expect_good(nsrun_session_list(&ids, &err), &err);
        assert_null(ids);
        free(id);
}

/* A caller's struct may be a shorter one. */
TEST_OF_SESSIONS(a_library_lists_a_sessions_processes_and_sends_them_signals) {
        const struct site *s = *state;
        _cleanup_free_ char *id = start_by_library(s, NULL);
        struct nsrun_sandbox *sandbox = expect_joined(id, "exec sleep 1000");
        struct nsrun_session_usage usage = NSRUN_SESSION_USAGE_INIT;
        struct nsrun_session_usage shorter = {.size = offsetof(struct nsrun_session_usage, n_processes)};
        struct nsrun_session_process **list = NULL;
        struct nsrun_error err = {0};
        size_t n = 0;

        for (int64_t since = 0; keep_waiting(&since);) {
                expect_good(nsrun_session_processes(id, &list, &err), &err);
                /* Of one that has just started an older kernel says that it has no memory yet. */
                if (list[0] && streq(list[0]->command_line, "sleep 1000") && list[0]->memory > 0)
                        break;
                list = nsrun_session_processes_free(list);
        }
        assert_non_null(list);
        assert_null(list[1]);
        assert_string_equal(list[0]->name, "sleep");
        assert_true(list[0]->pid > 1);
        assert_int_equal(list[0]->command, list[0]->pid);
        assert_true(list[0]->memory > 0);
        expect_good(nsrun_session_usage(id, &usage, &err), &err);
        assert_int_equal(usage.n_commands, 1);
        assert_int_equal(usage.n_processes, 1);
        assert_true(usage.memory > 0);
        shorter.n_processes = 77;
        expect_good(nsrun_session_usage(id, &shorter, &err), &err);
        assert_int_equal(shorter.n_commands, 1);
        assert_int_equal(shorter.n_processes, 77);
        expect_error(
                nsrun_session_signal(id, 1, NULL, SIGTERM, &n, &err), -EPERM, NSRUN_STAGE_SUPERVISE, &err,
                "this process is nsrun's own: 1: Operation not permitted; 'nsrun session stop ID' ends the "
                "session");
        expect_error(nsrun_session_signal(id, 0, NULL, SIGTERM, &n, &err), -EINVAL, NSRUN_STAGE_USAGE, &err,
                     "no process has that number: 0: Invalid argument");
        expect_error(nsrun_session_signal(id, list[0]->pid, NULL, 65, &n, &err), -EINVAL, NSRUN_STAGE_USAGE,
                     &err, "no signal has that number: 65: Invalid argument");
        expect_error(nsrun_session_signal(id, 0, "none", SIGTERM, &n, &err), -ESRCH, NSRUN_STAGE_SUPERVISE,
                     &err,
                     "no process of the session has that name: none; 'nsrun session ps ID' lists them");
        assert_int_equal(n, 0);
        expect_good(nsrun_session_signal(id, list[0]->pid, NULL, SIGTERM, &n, &err), &err);
        assert_int_equal(n, 1);
        assert_null(nsrun_session_processes_free(list));
        assert_null(nsrun_session_processes_free(NULL));
        expect_end(sandbox, -1, SIGTERM);
        assert_null(nsrun_sandbox_free(sandbox));
        end_by_library(id, nsrun_session_stop);
        collect_orphans();
}

/* The host's own commands are children that it hasn't waited for. */
TEST_OF_SESSIONS(a_session_ends_before_its_commands_are_waited_for) {
        const struct site *s = *state;
        int (*const ways[])(const char *id, struct nsrun_error *err) = {nsrun_session_kill,
                                                                        nsrun_session_stop};

        for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
                _cleanup_free_ char *id = start_by_library(s, NULL);
                struct nsrun_sandbox *ended = expect_joined(id, "exit 3"),
                                     *running = expect_joined(id, "exec sleep 1000");
                struct pollfd ends[] = {{.fd = nsrun_sandbox_pidfd(ended), .events = POLLIN},
                                        {.fd = nsrun_sandbox_pidfd(running), .events = POLLIN}};
                struct nsrun_exit how = {0};
                struct nsrun_error err = {0};

                assert_int_equal(poll(&ends[0], 1, deadline_seconds * 1000), 1);
                end_by_library(id, ways[i]);
                assert_int_equal(poll(&ends[1], 1, deadline_seconds * 1000), 1);
                expect_end(ended, 3, 0);
                if (nsrun_sandbox_wait(running, &how, &err) == 0)
                        assert_true(how.signal == SIGTERM || how.signal == SIGKILL);
                else
                        assert_string_equal(err.what, "the sandbox was killed, and the command with it");
                assert_null(nsrun_sandbox_free(ended));
                assert_null(nsrun_sandbox_free(running));
                collect_orphans();
                expect_nothing_left(s);
        }
}

TEST_OF_SESSIONS(a_command_keeps_the_session_busy_without_its_plan) {
        const struct site *s = *state;
        const struct nsrun_session_options options = {.size = sizeof(options), .name = "busy"};
        _cleanup_free_ char *id = start_by_library(s, &options),
                            *activity = path_of(s->runtime, "nsrun/sessions/busy/activity");
        struct timespec times[2] = {{.tv_sec = 0}, {.tv_sec = time(NULL) - 5000}};
        struct nsrun_sandbox *sandbox = expect_joined(id, "exec sleep 1000");
        struct nsrun_session_info *info = NULL;
        struct nsrun_error err = {0};

        assert_int_equal(utimensat(AT_FDCWD, activity, times, 0), 0);
        expect_good(nsrun_session_show(id, &info, &err), &err);
        assert_int_equal(info->idle, 0);
        (void)nsrun_session_info_free(info);
        assert_null(nsrun_sandbox_free(sandbox));
        expect_good(nsrun_session_show(id, &info, &err), &err);
        /* From its end, not from its start. */
        assert_true(info->idle < 5000);
        (void)nsrun_session_info_free(info);
        assert_int_equal(utimensat(AT_FDCWD, activity, times, 0), 0);
        expect_good(nsrun_session_show(id, &info, &err), &err);
        assert_true(info->idle >= 5000);
        (void)nsrun_session_info_free(info);
        end_by_library(id, nsrun_session_stop);
        collect_orphans();
}

static char *describe_descriptors(void) {
        char *text = strdup("");

        for (int fd = 0; fd < 1024; fd++) {
                struct stat st;
                int flags = fcntl(fd, F_GETFD);
                char *longer;

                if (flags < 0 || fstat(fd, &st) < 0)
                        continue;
                longer = text_of("%s%d %d %ju\n", text, fd, flags, (uintmax_t)st.st_ino);
                free(text);
                text = longer;
        }
        return text;
}

static volatile sig_atomic_t n_caught;

static void count_signal(nsrun_unused int signal) {
        n_caught++;
}

TEST_OF_SESSIONS(the_host_is_as_it_was) {
        const struct site *s = *state;
        struct sigaction counting = {.sa_handler = count_signal, .sa_flags = SA_RESTART}, old, found;
        _cleanup_free_ char *id = NULL, *before = NULL, *after = NULL;
        sigset_t blocked, mask, old_mask;
        struct nsrun_sandbox *sandbox;

        (void)sigemptyset(&blocked);
        (void)sigaddset(&blocked, SIGUSR1);
        assert_int_equal(pthread_sigmask(SIG_SETMASK, &blocked, &old_mask), 0);
        assert_int_equal(sigaction(SIGUSR2, &counting, &old), 0);
        id = start_by_library(s, NULL);
        before = describe_descriptors();
        sandbox = expect_joined(id, "exit 4");
        /* What the go-betweens of a join share with the host they leave alone. */
        assert_int_equal(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 1);
        assert_int_equal(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
        expect_end(sandbox, 4, 0);
        assert_null(nsrun_sandbox_free(sandbox));
        after = describe_descriptors();
        assert_string_equal(after, before);
        assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
        for (int signal = 1; signal < 65; signal++)
                assert_int_equal(sigismember(&mask, signal), sigismember(&blocked, signal));
        assert_int_equal(sigaction(SIGUSR2, &old, &found), 0);
        assert_true(found.sa_handler == count_signal && n_caught == 0);
        assert_int_equal(pthread_sigmask(SIG_SETMASK, &old_mask, NULL), 0);
        end_by_library(id, nsrun_session_stop);
        collect_orphans();
}

struct worker {
        const char *id;
        atomic_int *n_wrong;
        int number;
};

static void *work(void *data) {
        const struct worker *w = data;

        for (int i = 0; i < N_EACH; i++) {
                int wanted = (w->number * N_EACH + i) % 200;
                _cleanup_free_ char *script = NULL;
                struct nsrun_sandbox *sandbox = NULL;
                struct nsrun_error err = {0};
                struct nsrun_exit end = {0};

                if (asprintf(&script, "echo %d >/tmp/own-%d; exit %d", wanted, wanted, wanted) < 0 ||
                    join(w->id, script, &sandbox, &err) < 0 || nsrun_sandbox_wait(sandbox, &end, &err) < 0 ||
                    end.code != wanted)
                        atomic_fetch_add(w->n_wrong, 1);
                (void)nsrun_sandbox_free(sandbox);
        }
        return NULL;
}

TEST_OF_SESSIONS(threads_join_at_once) {
        const struct site *s = *state;
        _cleanup_free_ char *id = start_by_library(s, NULL);
        struct worker workers[N_THREADS];
        pthread_t threads[N_THREADS];
        struct nsrun_sandbox *sandbox;
        atomic_int n_wrong = 0;

        for (int i = 0; i < N_THREADS; i++) {
                workers[i] = (struct worker){id, &n_wrong, i};
                assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
        }
        for (int i = 0; i < N_THREADS; i++)
                assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(n_wrong, 0);
        sandbox = expect_joined(id, "[ $(ls /tmp | wc -l) = 90 ] && exit 5");
        expect_end(sandbox, 5, 0);
        assert_null(nsrun_sandbox_free(sandbox));
        end_by_library(id, nsrun_session_stop);
        collect_orphans();
}

TEST_IN_ALL_MODES(a_host_starts_a_server_in_the_background) {
        const struct site *s = *state;
        struct nsrun_bash_options options = NSRUN_BASH_OPTIONS_INIT;
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        struct nsrun_policy *policy = NULL;
        struct nsrun_error err = {0};
        _cleanup_free_ char *id = start_by_library(s, NULL), *list = NULL;
        int ends[2];
        char text[16] = "";

        options.detaches = 1;
        options.until_text = "up";
        assert_int_equal(nsrun_policy_new(&policy), 0);
        assert_int_equal(nsrun_bash(policy, "echo up", &options, &result, &err), -EINVAL);
        expect_in(err.what, "--detach needs a session");
        err = (struct nsrun_error){0};
        expect_good(nsrun_policy_set(policy, "session", id, &err), &err);
        expect_good(nsrun_bash(policy, "echo up; exec sleep 1000", &options, &result, &err), &err);
        (void)nsrun_policy_free(policy);
        assert_string_equal(result.detached, "job1");
        assert_string_equal(result.session, id);
        assert_string_equal(result.output, "up\n");
        assert_true(result.is_ready && result.is_running);
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        expect_good(nsrun_session_log(id, "job1", 0, ends[1], &err), &err);
        assert_int_equal(read(ends[0], text, sizeof(text)), 3);
        assert_string_equal(text, "up\n");
        (void)close(ends[0]);
        (void)close(ends[1]);
        expect_good(nsrun_session_end_detached(id, "job1", &err), &err);
        assert_int_equal(nsrun_session_end_detached(id, "job1", &err), -ESRCH);
        err = (struct nsrun_error){0};
        expect_good(nsrun_session_logs(id, NSRUN_FORMAT_TEXT, &list, &err), &err);
        expect_in(list, " signal 15 ");
        nsrun_bash_result_clear(&result);
        expect_good(nsrun_session_stop(id, &err), &err);
        collect_orphans();
}

/* ------------------------------------------------------------------------- asking */

struct answerer {
        const char *id;
        char asked[256];
        atomic_bool was_asked;
        int r;
};

static int answer_by_name(const char *name, const char *program, void *data) {
        struct answerer *a = data;

        (void)snprintf(a->asked + strlen(a->asked), sizeof(a->asked) - strlen(a->asked), "%s by %.6s; ",
                       name, program);
        atomic_store(&a->was_asked, true);
        return strncmp(name, "yes", 3) == 0;
}

static void *answer_for_session(void *data) {
        struct answerer *a = data;
        struct nsrun_error err = {0};

        a->r = nsrun_session_ask(a->id, answer_by_name, a, &err);
        return NULL;
}

static void expect_answers(const char *id, const char *expected) {
        char **answers = NULL, text[256] = "";
        struct nsrun_error err = {0};

        expect_good(nsrun_session_answers(id, &answers, &err), &err);
        for (char **one = answers; one && *one; one++) {
                (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s; ", *one);
                free(*one);
        }
        free(answers);
        assert_string_equal(text, expected);
}

/* A command with somebody to ask; others are asked by nsrun_session_ask(). */
TEST(a_program_answers_for_its_command_or_for_the_session) {
        const struct site *s = *state;
        struct nsrun_policy *policy = NULL, *joining = NULL;
        struct nsrun_start_options options = NSRUN_START_OPTIONS_INIT;
        struct answerer own = {.r = 0}, all = {.r = 1};
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_plan *plan = NULL;
        struct nsrun_error err = {0};
        char *id = NULL;
        pthread_t thread;

        assert_int_equal(nsrun_policy_new(&policy), 0);
        expect_good(nsrun_policy_set(policy, "project", s->project, &err), &err);
        expect_good(nsrun_policy_set(policy, "net", "ask", &err), &err);
        expect_good(nsrun_session_start(policy, NULL, &id, NULL, &err), &err);
        expect_answers(id, "");
        assert_int_equal(nsrun_policy_new(&joining), 0);
        expect_good(nsrun_policy_set(joining, "session", id, &err), &err);
        expect_good(nsrun_policy_set_command(joining,
                                             OPTIONS("sh", "-c",
                                                     "getent ahostsv4 yes.test >/dev/null && ! "
                                                     "getent ahostsv4 no.test"),
                                             &err),
                    &err);
        expect_good(nsrun_plan_new(joining, &plan, &err), &err);
        options.ask = answer_by_name;
        options.data = &own;
        expect_good(nsrun_start(plan, &options, &sandbox, &err), &err);
        expect_end(sandbox, 0, 0);
        assert_null(nsrun_sandbox_free(sandbox));
        assert_string_equal(own.asked, "yes.test by getent; no.test by getent; ");
        expect_answers(id, "allow yes.test; deny no.test; ");
        all.id = id;
        assert_int_equal(pthread_create(&thread, NULL, answer_for_session, &all), 0);
        /* It joins at some time: until then a name is refused. */
        for (int i = 0; !atomic_load(&all.was_asked); i++) {
                _cleanup_free_ char *script = text_of("getent ahostsv4 yes%d.test >/dev/null; true", i);

                sandbox = expect_joined(id, script);
                expect_end(sandbox, 0, 0);
                assert_null(nsrun_sandbox_free(sandbox));
        }
        expect_good(nsrun_session_stop(id, &err), &err);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(all.r, 0);
        assert_int_equal(nsrun_session_ask(id, answer_by_name, &all, &err), -ENOENT);
        collect_orphans();
        assert_null(nsrun_plan_free(plan));
        assert_null(nsrun_policy_free(joining));
        assert_null(nsrun_policy_free(policy));
        free(id);
}

int main(void) {
        /* Its children are reaped here, whoever's they were. */
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        return run_all_tests();
}
