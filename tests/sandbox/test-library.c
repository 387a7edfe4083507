/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The public functions, called as a big threaded program calls them: from threads
 * that come and go, with signals, descriptors and memory of its own, of which
 * nothing may change and nothing may reach the sandbox. */
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "harness.h"
#include "nsrun.h"

enum {
        N_THREADS = 5,
        N_EACH = 10,
};

/* ------------------------------------------------------------------ starting one */

static struct nsrun_policy *make_policy(const struct site *s, const char *const *argv) {
        struct nsrun_policy *policy = NULL;
        struct nsrun_error err = {0};

        assert_int_equal(nsrun_policy_new(&policy), 0);
        assert_int_equal(nsrun_policy_set(policy, "project", s->project, &err), 0);
        assert_int_equal(nsrun_policy_set_command(policy, argv, &err), 0);
        assert_int_equal(err.stage, NSRUN_STAGE_NONE);
        return policy;
}

/* Starts a shell script; 0 or what the library said.  Safe in any thread: asserts
 * nothing. */
static int start_script(const struct site *s, const char *script, struct nsrun_sandbox **ret,
                        struct nsrun_error *err) {
        const char *const argv[] = {"sh", "-c", script, NULL};
        struct nsrun_policy *policy = NULL;
        struct nsrun_plan *plan = NULL;
        int r;

        r = nsrun_policy_new(&policy);
        if (r >= 0)
                r = nsrun_policy_set(policy, "project", s->project, err);
        if (r >= 0)
                r = nsrun_policy_set_command(policy, argv, err);
        if (r >= 0)
                r = nsrun_plan_new(policy, &plan, err);
        if (r >= 0)
                r = nsrun_start(plan, ret, err);
        (void)nsrun_plan_free(plan);
        (void)nsrun_policy_free(policy);
        return r;
}

static struct nsrun_sandbox *start(const struct site *s, const char *script) {
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};

        if (start_script(s, script, &sandbox, &err) != 0)
                fail_msg("not started: %s: %s: %s", err.what, err.path, strerror(err.error));
        return sandbox;
}

static void expect_end(struct nsrun_sandbox *sandbox, int code, int signal) {
        struct nsrun_exit end = {0};
        struct nsrun_error err = {0};

        if (nsrun_sandbox_wait(sandbox, &end, &err) != 0)
                fail_msg("no end: %s: %s", err.what, strerror(err.error));
        assert_int_equal(end.code, code);
        assert_int_equal(end.signal, signal);
}

/* A fifo in the project: its reader learns that a sandbox has come so far, and, at
 * its end, that every process in it is gone. */
static int open_fifo(const struct site *s) {
        _cleanup_free_ char *path = path_of(s->project, "fifo");
        int fd;

        assert_true(mkfifo(path, 0600) == 0 || errno == EEXIST);
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
        return fd;
}

static const char waiting[] = "exec >fifo; setsid sleep 1000 & echo ready; exec sleep 1000";

static void expect_ready(int fd) {
        _cleanup_free_ char *line = read_line(fd);

        assert_string_equal(line, "ready\n");
}

static void expect_all_gone(int fd) {
        struct pollfd end = {.fd = fd, .events = POLLIN};
        char byte;

        assert_int_equal(poll(&end, 1, 60000), 1);
        assert_int_equal(read(fd, &byte, 1), 0);
}

static void expect_alive(int fd) {
        struct pollfd end = {.fd = fd, .events = POLLIN};

        assert_int_equal(poll(&end, 1, 0), 0);
}

static pid_t pid_of(int pidfd) {
        _cleanup_free_ char *path = text_of("/proc/self/fdinfo/%d", pidfd), *text = file_text(path);
        const char *found = text ? strstr(text, "\nPid:") : NULL;
        int pid = 0;

        assert_non_null(found);
        assert_int_equal(sscanf(found, " Pid: %d", &pid), 1);
        return pid;
}

/* ----------------------------------------------------------------------- the life */

static void a_sandbox_ends_as_its_command_does(void **state) {
        const struct site *s = *state;
        struct nsrun_sandbox *sandbox;

        sandbox = start(s, "exit 7");
        expect_end(sandbox, 7, 0);
        /* Asked again, it says the same. */
        expect_end(sandbox, 7, 0);
        assert_int_equal(nsrun_sandbox_kill(sandbox, SIGTERM), -ESRCH);
        assert_null(nsrun_sandbox_free(sandbox));

        sandbox = start(s, "kill -TERM $$");
        expect_end(sandbox, -1, SIGTERM);
        assert_null(nsrun_sandbox_free(sandbox));
        assert_null(nsrun_sandbox_free(NULL));
}

static void a_signal_reaches_the_command(void **state) {
        const struct site *s = *state;
        _cleanup_close_ int fifo = open_fifo(s);
        struct nsrun_sandbox *sandbox = start(s, waiting);
        struct pollfd end = {.fd = nsrun_sandbox_pidfd(sandbox), .events = POLLIN};

        expect_ready(fifo);
        expect_alive(fifo);
        assert_int_equal(poll(&end, 1, 0), 0);
        assert_int_equal(nsrun_sandbox_kill(sandbox, SIGTERM), 0);
        expect_end(sandbox, -1, SIGTERM);
        assert_int_equal(poll(&end, 1, 0), 1);
        expect_all_gone(fifo);
        assert_null(nsrun_sandbox_free(sandbox));
}

static void a_killed_sandbox_says_so(void **state) {
        const struct site *s = *state;
        _cleanup_close_ int fifo = open_fifo(s);
        struct nsrun_sandbox *sandbox = start(s, waiting);
        struct nsrun_exit end = {.code = 99, .signal = 99};
        struct nsrun_error err = {0};
        _cleanup_free_ char *line = NULL;

        expect_ready(fifo);
        assert_int_equal(nsrun_sandbox_kill(sandbox, SIGKILL), 0);
        assert_int_equal(nsrun_sandbox_wait(sandbox, &end, &err), -EIO);
        assert_int_equal(end.code, 99);
        assert_int_equal(err.stage, NSRUN_STAGE_SUPERVISE);
        line = nsrun_error_format(&err);
        assert_string_equal(line, "the sandbox was killed, and the command with it: Input/output error");
        expect_all_gone(fifo);
        assert_null(nsrun_sandbox_free(sandbox));
}

static void free_ends_what_runs(void **state) {
        const struct site *s = *state;
        _cleanup_close_ int fifo = open_fifo(s);
        struct nsrun_sandbox *sandbox = start(s, waiting);

        expect_ready(fifo);
        expect_alive(fifo);
        assert_null(nsrun_sandbox_free(sandbox));
        expect_all_gone(fifo);
}

static void an_overlay_leaves_nothing_on_disk(void **state) {
        const struct site *s = *state;
        const char *const argv[] = {"sh", "-c", "echo x >\"$1\"/file && cat \"$1\"/file >seen", "sh", NULL,
                                    NULL};
        _cleanup_free_ char *layered = path_of(s->root, "layered"), *seen = path_of(s->project, "seen"),
                            *text = NULL, *left = NULL;
        struct nsrun_policy *policy;
        struct nsrun_plan *plan = NULL;
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};
        const char *with_folder[ARRAY_SIZE(argv)];

        make_folder(s->root, "layered");
        memcpy(with_folder, argv, sizeof(argv));
        with_folder[4] = layered;
        policy = make_policy(s, with_folder);
        assert_int_equal(nsrun_policy_set(policy, "overlay", layered, &err), 0);
        assert_int_equal(nsrun_plan_new(policy, &plan, &err), 0);
        assert_int_equal(nsrun_start(plan, &sandbox, &err), 0);
        assert_null(nsrun_plan_free(plan));
        assert_null(nsrun_policy_free(policy));
        expect_end(sandbox, 0, 0);
        assert_null(nsrun_sandbox_free(sandbox));
        text = file_text(seen);
        assert_string_equal(text, "x\n");
        assert_int_equal(rmdir(layered), 0);
        left = leftovers(s);
        assert_null(left);
}

/* ------------------------------------------------------------------------ threads */

struct starter {
        const struct site *site;
        struct nsrun_sandbox *sandbox;
        struct nsrun_error err;
        int r;
};

static void *start_in_thread(void *data) {
        struct starter *t = data;

        t->r = start_script(t->site, waiting, &t->sandbox, &t->err);
        return NULL;
}

/* The parent-death signal is a thread's: the library must not use it. */
static void a_sandbox_outlives_the_thread_that_started_it(void **state) {
        struct starter t = {.site = *state};
        _cleanup_close_ int fifo = open_fifo(t.site);
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, start_in_thread, &t), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(t.r, 0);
        expect_ready(fifo);
        expect_alive(fifo);
        assert_int_equal(nsrun_sandbox_kill(t.sandbox, SIGINT), 0);
        expect_end(t.sandbox, -1, SIGINT);
        assert_null(nsrun_sandbox_free(t.sandbox));
}

static atomic_bool has_enough;

/* Holds the locks of malloc and stdio most of the time: a child that wanted one of
 * them would wait for ever. */
static void *keep_busy(nsrun_unused void *data) {
        FILE *f = fopen("/dev/null", "we");

        while (f && !atomic_load(&has_enough)) {
                char *memory = malloc(100000);

                (void)fprintf(f, "%p", (void *)memory);
                free(memory);
        }
        if (f)
                (void)fclose(f);
        return NULL;
}

static void *start_and_wait(void *data) {
        struct starter *t = data;

        for (int i = 0; i < N_EACH && t->r == 0; i++) {
                _cleanup_free_ char *script = NULL;
                struct nsrun_exit end = {0};

                t->r = asprintf(&script, "exit %d", i) < 0 ? -ENOMEM : 0;
                if (t->r == 0)
                        t->r = start_script(t->site, script, &t->sandbox, &t->err);
                if (t->r == 0)
                        t->r = nsrun_sandbox_wait(t->sandbox, &end, &t->err);
                if (t->r == 0 && (end.code != i || end.signal != 0))
                        t->r = -EBADMSG;
                t->sandbox = nsrun_sandbox_free(t->sandbox);
        }
        return NULL;
}

static void fifty_from_several_threads_end_each_in_its_own_way(void **state) {
        struct starter starters[N_THREADS];
        pthread_t threads[N_THREADS], busy[2];

        atomic_store(&has_enough, false);
        for (size_t i = 0; i < ARRAY_SIZE(busy); i++)
                assert_int_equal(pthread_create(&busy[i], NULL, keep_busy, NULL), 0);
        for (size_t i = 0; i < N_THREADS; i++) {
                starters[i] = (struct starter){.site = *state};
                assert_int_equal(pthread_create(&threads[i], NULL, start_and_wait, &starters[i]), 0);
        }
        for (size_t i = 0; i < N_THREADS; i++)
                assert_int_equal(pthread_join(threads[i], NULL), 0);
        atomic_store(&has_enough, true);
        for (size_t i = 0; i < ARRAY_SIZE(busy); i++)
                assert_int_equal(pthread_join(busy[i], NULL), 0);
        for (size_t i = 0; i < N_THREADS; i++)
                if (starters[i].r != 0)
                        fail_msg("%s: %s: %s", strerror(-starters[i].r), starters[i].err.what,
                                 starters[i].err.path);
}

static void fifty_at_once_are_all_alive(void **state) {
        const struct site *s = *state;
        struct nsrun_sandbox *sandboxes[N_THREADS * N_EACH];
        _cleanup_close_ int fifo = open_fifo(s);

        for (size_t i = 0; i < ARRAY_SIZE(sandboxes); i++) {
                sandboxes[i] = start(s, waiting);
                expect_ready(fifo);
        }
        for (size_t i = 0; i < ARRAY_SIZE(sandboxes); i++) {
                expect_alive(fifo);
                assert_int_equal(nsrun_sandbox_kill(sandboxes[i], SIGTERM), 0);
                expect_end(sandboxes[i], -1, SIGTERM);
                assert_null(nsrun_sandbox_free(sandboxes[i]));
        }
        expect_all_gone(fifo);
}

/* ----------------------------------------------------------------- the host's own */

struct host_state {
        char *folder;
        char *descriptors;
        char *environment;
        sigset_t mask;
        struct sigaction actions[65];
        mode_t umask;
};

static char *describe_descriptors(void) {
        char *text = text_of("%s", "");

        for (int fd = 0; fd < 1024; fd++) {
                struct stat st;
                int flags = fcntl(fd, F_GETFD);

                if (flags >= 0 && fstat(fd, &st) == 0) {
                        char *longer = text_of("%s%d %d %ju %ju\n", text, fd, flags, (uintmax_t)st.st_dev,
                                               (uintmax_t)st.st_ino);

                        free(text);
                        text = longer;
                }
        }
        return text;
}

static void take_state(struct host_state *ret) {
        char *environment = text_of("%s", "");

        for (char **e = environ; *e; e++) {
                char *longer = text_of("%s%s\n", environment, *e);

                free(environment);
                environment = longer;
        }
        memset(ret, 0, sizeof(*ret));
        ret->environment = environment;
        ret->folder = getcwd(NULL, 0);
        ret->descriptors = describe_descriptors();
        assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &ret->mask), 0);
        for (int signal = 1; signal < 65; signal++)
                (void)sigaction(signal, NULL, &ret->actions[signal]);
        ret->umask = umask(0);
        (void)umask(ret->umask);
}

static void clear_state(struct host_state *h) {
        free(h->folder);
        free(h->descriptors);
        free(h->environment);
}

static void expect_same_state(const struct host_state *before) {
        struct host_state now;

        take_state(&now);
        assert_string_equal(now.folder, before->folder);
        assert_string_equal(now.descriptors, before->descriptors);
        assert_string_equal(now.environment, before->environment);
        assert_int_equal(now.umask, before->umask);
        for (int signal = 1; signal < 65; signal++) {
                assert_int_equal(sigismember(&now.mask, signal), sigismember(&before->mask, signal));
                assert_true(now.actions[signal].sa_handler == before->actions[signal].sa_handler);
                assert_int_equal(now.actions[signal].sa_flags, before->actions[signal].sa_flags);
        }
        clear_state(&now);
}

static void count_signal(nsrun_unused int signal) {
}

static void the_host_is_as_it_was(void **state) {
        const struct site *s = *state;
        struct sigaction counting = {.sa_handler = count_signal, .sa_flags = SA_RESTART}, old;
        sigset_t blocked, old_mask;
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};
        struct host_state before;
        mode_t old_umask = umask(027);

        (void)sigemptyset(&blocked);
        (void)sigaddset(&blocked, SIGUSR1);
        (void)sigaddset(&blocked, SIGCHLD);
        assert_int_equal(pthread_sigmask(SIG_SETMASK, &blocked, &old_mask), 0);
        assert_int_equal(sigaction(SIGTERM, &counting, &old), 0);
        take_state(&before);

        sandbox = start(s, "exit 0");
        expect_end(sandbox, 0, 0);
        assert_null(nsrun_sandbox_free(sandbox));
        expect_same_state(&before);
        /* After a failure too. */
        assert_int_equal(start_script(s, NULL, &sandbox, &err), -ENOENT);
        expect_same_state(&before);

        clear_state(&before);
        assert_int_equal(sigaction(SIGTERM, &old, NULL), 0);
        assert_int_equal(pthread_sigmask(SIG_SETMASK, &old_mask, NULL), 0);
        (void)umask(old_umask);
}

static void a_host_that_ignores_its_children_still_learns_the_end(void **state) {
        struct sigaction ignored = {.sa_handler = SIG_IGN}, old;
        struct nsrun_sandbox *sandbox;

        assert_int_equal(sigaction(SIGCHLD, &ignored, &old), 0);
        sandbox = start(*state, "true & wait; exit 9");
        expect_end(sandbox, 9, 0);
        assert_null(nsrun_sandbox_free(sandbox));
        assert_int_equal(sigaction(SIGCHLD, &old, NULL), 0);
}

int main(void) {
        return 0;
}
