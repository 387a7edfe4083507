/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun_bash() in a host: its callbacks, its threads, and that nothing of the host changes or grows. */
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "library.h"

enum {
        N_THREADS = 8,
        N_EACH = 10,
};

static struct nsrun_policy *new_policy(const struct site *s) {
        struct nsrun_policy *policy = NULL;
        struct nsrun_error err = {0};

        assert_int_equal(nsrun_policy_new(&policy), 0);
        assert_int_equal(nsrun_policy_set(policy, "project", s->project, &err), 0);
        return policy;
}

TEST(one_policy_runs_one_command_after_the_other) {
        struct nsrun_policy *policy = new_policy(*state);

        for (int i = 0; i < 20; i++) {
                _cleanup_free_ char *command = text_of("echo %d >>log; wc -l <log; exit %d", i, i),
                                    *text = NULL, *expected = NULL;
                struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
                struct nsrun_error err = {0};
                size_t size = 0;

                expect_good(nsrun_bash(policy, command, NULL, &result, &err), &err);
                assert_int_equal(result.status, i);
                assert_int_equal(result.timed_out, 0);
                expected = text_of("%d\n", i + 1);
                assert_string_equal(result.output, expected);
                assert_int_equal(result.output_size, strlen(expected));
                assert_int_equal(result.bytes_total, strlen(expected));
                assert_null(result.report);
                expect_good(nsrun_bash_format(&result, NULL, NSRUN_FORMAT_TEXT, &text, &size, &err), &err);
                free(expected);
                expected = text_of("$ %s\n%d\n\n\nexit status: %d", command, i + 1, i);
                assert_string_equal(text, expected);
                nsrun_bash_result_clear(&result);
                nsrun_bash_result_clear(&result);
        }
        assert_null(nsrun_policy_free(policy));
}

struct seen {
        size_t total_at_start, n_started;
        char prompt[256];
        int answer;
        char text[100];
        size_t n;
        uint64_t total;
};

static int answer(const char *prompt, void *data) {
        struct seen *seen = data;

        (void)snprintf(seen->prompt, sizeof(seen->prompt), "%s", prompt);
        return seen->answer;
}

static void take(const char *bytes, size_t n, void *data) {
        struct seen *seen = data;

        for (size_t i = 0; i < n && seen->n + 1 < sizeof(seen->text); i++)
                seen->text[seen->n++] = bytes[i];
        seen->total += n;
}

static void note_start(void *data) {
        struct seen *seen = data;

        seen->total_at_start = seen->total;
        seen->n_started++;
}

TEST(a_host_is_asked_and_gets_the_output_as_it_is) {
        struct nsrun_policy *policy = new_policy(*state);
        struct seen seen = {.answer = 1, .total_at_start = 1};
        struct nsrun_bash_options options = {.size = sizeof(options),
                                             .timeout = 30,
                                             .description = "Count",
                                             .started = note_start,
                                             .confirm = answer,
                                             .output = take,
                                             .data = &seen};
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        struct nsrun_error err = {0};

        expect_good(
                nsrun_bash(policy, "printf 'a\\033b'; head -c 100000 /dev/zero", &options, &result, &err),
                &err);
        assert_string_equal(
                seen.prompt,
                "bash: Count (timeout 30s)\n\n$ printf 'a\\033b'; head -c 100000 /dev/zero\n\n(y/n)? ");
        assert_memory_equal(seen.text, "a\033b\0", 4);
        assert_int_equal(seen.total, 100003);
        assert_true(seen.n_started == 1 && seen.total_at_start == 0);
        assert_int_equal(result.bytes_total, 100003);
        assert_int_equal(result.bytes_omitted, 100003 - 30 * 1024);
        nsrun_bash_result_clear(&result);

        seen.answer = 0;
        assert_int_equal(nsrun_bash(policy, "touch ran", &options, &result, &err), -ECANCELED);
        assert_string_equal(err.what, "user declined the bash command.");
        memset(&err, 0, sizeof(err));
        seen.answer = -EIO;
        expect_error(nsrun_bash(policy, "touch ran", &options, &result, &err), -EIO, NSRUN_STAGE_USAGE, &err,
                     "nobody can be asked to confirm the command: Input/output error");
        assert_null(nsrun_policy_free(policy));
}

/* The kernel takes no argument of more than 128 KiB. */
TEST(a_command_that_is_too_long_is_told_as_that) {
        struct nsrun_policy *policy = new_policy(*state);
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        _cleanup_free_ char *command = malloc(200001);
        struct nsrun_error err = {0};

        assert_non_null(command);
        memset(command, ' ', 200000);
        memcpy(command + 199996, "true", 5);
        expect_error(nsrun_bash(policy, command, NULL, &result, &err), -E2BIG, NSRUN_STAGE_EXEC, &err,
                     "the command is too long: bash: Argument list too long");
        assert_null(nsrun_policy_free(policy));
}

/* ------------------------------------------------------------------- cancelling */

struct canceller {
        int fifo, event;
};

static void *cancel(void *data) {
        const struct canceller *c = data;
        struct pollfd ready = {.fd = c->fifo, .events = POLLIN};
        uint64_t one = 1;
        char byte;

        /* Before somebody opens the other end a read would find an end. */
        if (poll(&ready, 1, deadline_seconds * 1000) != 1 || read(c->fifo, &byte, 1) != 1 ||
            write(c->event, &one, sizeof(one)) != (ssize_t)sizeof(one))
                return data;
        return NULL;
}

TEST(a_host_ends_a_command) {
        const struct site *s = *state;
        struct nsrun_policy *policy = new_policy(s);
        _cleanup_close_ int fifo = open_fifo(s), event = eventfd(0, EFD_CLOEXEC);
        struct canceller c = {.fifo = fifo, .event = event};
        struct nsrun_bash_options options = {.size = sizeof(options), .timeout = 600, .cancel_fd = event};
        struct nsrun_bash_result result = {.size = sizeof(result), .status = 77};
        struct nsrun_error err = {0};
        pthread_t thread;
        void *failed;

        assert_int_equal(pthread_create(&thread, NULL, cancel, &c), 0);
        expect_error(nsrun_bash(policy, "echo r >fifo; sleep 1000", &options, &result, &err), -ECANCELED,
                     NSRUN_STAGE_SUPERVISE, &err, "the bash command was cancelled.");
        assert_int_equal(pthread_join(thread, &failed), 0);
        assert_null(failed);
        assert_int_equal(result.status, 77);
        assert_null(nsrun_policy_free(policy));
}

/* --------------------------------------------------------------------- threads */

struct worker {
        const struct site *site;
        int number, good;
};

static void *work(void *data) {
        struct worker *w = data;
        struct nsrun_policy *policy = NULL;
        struct nsrun_bash_options options = {.size = sizeof(options), .timeout = 60};

        if (nsrun_policy_new(&policy) < 0 || nsrun_policy_set(policy, "project", w->site->project, NULL) < 0)
                return NULL;
        for (int i = 0; i < N_EACH; i++) {
                struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
                char command[64], expected[64];

                (void)snprintf(command, sizeof(command), "echo %d-%d; exit %d", w->number, i, w->number);
                (void)snprintf(expected, sizeof(expected), "%d-%d\n", w->number, i);
                if (nsrun_bash(policy, command, &options, &result, NULL) == 0)
                        w->good += result.status == w->number && streq(result.output, expected);
                nsrun_bash_result_clear(&result);
        }
        (void)nsrun_policy_free(policy);
        return NULL;
}

/* Each waits for its own pipe's end: none of them may hold another's. */
TEST(threads_run_commands_side_by_side) {
        struct worker workers[N_THREADS];
        pthread_t threads[N_THREADS];

        for (int i = 0; i < N_THREADS; i++) {
                workers[i] = (struct worker){.site = *state, .number = i};
                assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
        }
        for (int i = 0; i < N_THREADS; i++) {
                assert_int_equal(pthread_join(threads[i], NULL), 0);
                assert_int_equal(workers[i].good, N_EACH);
        }
}

/* ------------------------------------------------------------- the host's own */

static char *descriptors(void) {
        char *text = text_of("%s", "");

        for (int fd = 0; fd < 256; fd++)
                if (fcntl(fd, F_GETFD) >= 0) {
                        char *longer = text_of("%s%d ", text, fd);

                        free(text);
                        text = longer;
                }
        return text;
}

static long resident_kib(void) {
        _cleanup_free_ char *text = file_text("/proc/self/statm");

        assert_non_null(text);
        return strtol(strchr(text, ' '), NULL, 10) * (sysconf(_SC_PAGESIZE) / 1024);
}

TEST(many_commands_leave_nothing_in_the_host) {
        int n = is_long() ? 10000 : 200;
        struct nsrun_policy *policy = new_policy(*state);
        _cleanup_free_ char *before = NULL, *after = NULL;
        long first = 0, last;

        for (int i = 0; i < n + 20; i++) {
                struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
                struct nsrun_error err = {0};

                if (i == 20) {
                        before = descriptors();
                        first = resident_kib();
                }
                expect_good(nsrun_bash(policy, i % 2 ? "echo x" : "head -c 50000 /dev/zero", NULL, &result,
                                       &err),
                            &err);
                nsrun_bash_result_clear(&result);
        }
        after = descriptors();
        last = resident_kib();
        print_message("%d commands: %ld KiB before, %ld after\n", n, first, last);
        assert_string_equal(after, before);
        /* AddressSanitizer keeps what is freed for a while; its own search for leaks is the judge there. */
        if (!NSRUN_HAS_ASAN)
                assert_true(last < first + 512);
        assert_null(nsrun_policy_free(policy));
}

/* Whatever the host's 0, 1 and 2 are. */
TEST(closed_standard_streams_are_no_matter) {
        const struct site *s = *state;
        struct nsrun_policy *policy = new_policy(s);
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        struct nsrun_error err = {0};
        _cleanup_free_ char *layered = path_of(s->root, "layered");
        int kept[3], r;

        make_folder(s->root, "layered");
        expect_good(nsrun_policy_set(policy, "overlay", layered, &err), &err);
        for (int fd = 0; fd <= 2; fd++) {
                kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
                assert_true(kept[fd] >= 0);
                (void)close(fd);
        }
        r = nsrun_bash(policy, "cat; echo out; echo err >&2; ls -l /proc/self/fd | grep -c -- '->'", NULL,
                       &result, &err);
        for (int fd = 0; fd <= 2; fd++) {
                assert_int_equal(fcntl(fd, F_GETFD), -1);
                assert_int_equal(dup2(kept[fd], fd), fd);
                (void)close(kept[fd]);
        }
        expect_good(r, &err);
        /* 0, 1, 2, and the folder that ls reads. */
        assert_string_equal(result.output, "out\nerr\n4\n");
        nsrun_bash_result_clear(&result);
        assert_null(nsrun_policy_free(policy));
}

TEST(signals_and_folders_of_the_host_stay) {
        struct nsrun_policy *policy = new_policy(*state);
        struct nsrun_bash_options options = {.size = sizeof(options), .timeout = 1};
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        struct nsrun_error err = {0};
        _cleanup_free_ char *folder = getcwd(NULL, 0), *now = NULL;
        sigset_t before, after;

        assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
        expect_good(nsrun_bash(policy, "cd /; trap '' TERM; echo a; while :; do :; done", &options, &result,
                               &err),
                    &err);
        assert_int_equal(result.timed_out, 1);
        assert_int_equal(result.signal, SIGKILL);
        assert_int_equal(result.status, -1);
        assert_string_equal(result.output, "a\n");
        nsrun_bash_result_clear(&result);
        assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
        for (int signal = 1; signal < 65; signal++)
                assert_int_equal(sigismember(&before, signal), sigismember(&after, signal));
        now = getcwd(NULL, 0);
        assert_string_equal(now, folder);
        assert_null(nsrun_policy_free(policy));
}

/* A folder of the host's is a way out of the sandbox: what counts is what the command gets. */
TEST(a_hosts_folder_as_stdin_reaches_no_command) {
        struct nsrun_policy *policy = new_policy(*state);
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_plan *plan = NULL;
        struct nsrun_error err = {0}, refused = {0};
        int kept = fcntl(0, F_DUPFD_CLOEXEC, 10), folder = open("/", O_RDONLY | O_DIRECTORY), r, started;

        assert_true(kept >= 0);
        assert_int_equal(dup2(folder, 0), 0);
        (void)close(folder);
        r = nsrun_bash(policy, "ls -A /dev/fd/0/ 2>&1 | head -1", NULL, &result, &err);
        /* The policy is as it was: bash's command is not its. */
        assert_int_equal(nsrun_plan_new(policy, &plan, &refused), -EINVAL);
        assert_string_equal(refused.what, "no command");
        refused = (struct nsrun_error){0};
        assert_int_equal(nsrun_policy_set_command(policy, OPTIONS("true"), NULL), 0);
        assert_int_equal(nsrun_plan_new(policy, &plan, &refused), 0);
        started = nsrun_start(plan, NULL, &sandbox, &refused);
        assert_int_equal(dup2(kept, 0), 0);
        (void)close(kept);
        expect_good(r, &err);
        expect_in(result.output, "Not a directory");
        assert_int_equal(started, -EISDIR);
        nsrun_bash_result_clear(&result);
        assert_null(nsrun_plan_free(plan));
        assert_null(nsrun_policy_free(policy));
}

int main(void) {
        return run_all_tests();
}
