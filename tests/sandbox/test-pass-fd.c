/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Descriptors that a command gets: --pass-fd of `nsrun run` and `nsrun bash`, and the streams and
 * descriptors of a library's host, which has pipes, threads and children of its own. */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "library.h"
#include "session.h"

#define NUMBER  7 /* what is passed by the command line */
#define THREADS 16

static int here = -1; /* becomes NUMBER in the child */

static void place(nsrun_unused void *data) {
        if (here == NUMBER)
                (void)fcntl(NUMBER, F_SETFD, 0);
        else
                (void)dup2(here, NUMBER);
}

/* `nsrun WORD… ` with `fd` as its descriptor 7. */
static void run_with(const struct site *s, int fd, struct outcome *ret, const char *const *words) {
        _cleanup_free_ const char **argv = words_of(OPTIONS(program()), words);

        here = fd;
        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = s->project, .in_child = place}, ret);
}
#define RUN_WITH(site, fd, outcome, ...) run_with(site, fd, outcome, OPTIONS(__VA_ARGS__))

static void make_pipe(int ends[2]) {
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
}

/* What was written to a pipe, whose writers must all be gone by then. */
static void expect_text(int fd, const char *expected) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        char text[256] = "";
        size_t n = 0;

        for (ssize_t got = 1; got > 0; n += (size_t)got) {
                assert_int_equal(poll(&ready, 1, deadline_seconds * 1000), 1);
                got = read(fd, text + n, sizeof(text) - 1 - n);
                assert_true(got >= 0);
        }
        assert_string_equal(text, expected);
        (void)close(fd);
}

/* ------------------------------------------------------------- the command line */

static const char script[] = "echo through >&7";

TEST(run_and_bash_pass_it) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        int ends[2];

        make_pipe(ends);
        RUN_WITH(s, ends[1], &o, "run", "--project", s->project, "--", "sh", "-c", script);
        assert_true(o.status != 0);
        RUN_WITH(s, ends[1], &o, "run", "--pass-fd", "7", "--project", s->project, "--", "sh", "-c", script);
        expect_status(&o, 0);
        RUN_WITH(s, ends[1], &o, "bash", "--pass-fd=7", "--project", s->project, "--confirm=never", script);
        expect_status(&o, 0);
        RUN_WITH(s, ends[1], &o, "bash", "--pass-fd=7", "--no-sandbox", "--project", s->project,
                 "--confirm=never", script);
        expect_status(&o, 0);
        (void)close(ends[1]);
        expect_text(ends[0], "through\nthrough\nthrough\n");
}

/* As a shell names what it makes of <(…). */
TEST(a_pipe_that_the_command_line_names_is_passed) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        int ends[2];

        make_pipe(ends);
        RUN_WITH(s, ends[1], &o, "run", "--project", s->project, "--", "tee", "/dev/fd/7");
        expect_status(&o, 0);
        RUN_WITH(s, ends[1], &o, "run", "--project", s->project, "--", "sh", "-c",
                 "echo 1 >&7; test -e /dev/fd/8", "/proc/self/fd/7", "/dev/fd/8", "/dev/fd/99999999999");
        expect_status(&o, 1);
        RUN_WITH(s, ends[1], &o, "run", "--report=/dev/fd/7", "--project", s->project, "--", "sh", "-c",
                 "echo 2 >&7");
        assert_true(o.status != 0);
        RUN_WITH(s, ends[1], &o, "run", "--report=/dev/stderr", "--project", s->project, "--", "true");
        expect_status(&o, 0);
        (void)close(ends[1]);
        expect_text(ends[0], "1\n");
}

TEST_IN_BOTH_MODES(a_session_passes_it) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};
        int ends[2];

        make_pipe(ends);
        RUN_WITH(s, ends[1], &o, "run", "--session", id, "--", "sh", "-c", script);
        assert_true(o.status != 0);
        RUN_WITH(s, ends[1], &o, "run", "--session", id, "--pass-fd", "7", "--", "sh", "-c", script);
        expect_status(&o, 0);
        RUN_WITH(s, ends[1], &o, "bash", "--session", id, "--pass-fd", "7", "--confirm=never", script);
        expect_status(&o, 0);
        (void)close(ends[1]);
        expect_text(ends[0], "through\nthrough\n");
        end_session(s, id, "stop");
}

/* The command closes it and lives on: nsrun keeps no copy that would hide the end. */
TEST(the_other_end_sees_the_commands_close) {
        const struct site *s = *state;
        _cleanup_free_ const char **argv =
                nsrun_argv(s, OPTIONS("--pass-fd", "7", "--", "sh", "-c",
                                      "echo through >&7; exec 7>&-; read line <fifo; echo $line"));
        _cleanup_free_ char *path = path_of(s->project, "fifo");
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;
        int ends[2], fifo;

        assert_int_equal(mkfifo(path, 0600), 0);
        make_pipe(ends);
        here = ends[1];
        spawn(&(struct request){.argv = argv, .cwd = s->project, .in_child = place}, &running);
        (void)close(ends[1]);
        expect_text(ends[0], "through\n");
        fifo = open(path, O_WRONLY | O_CLOEXEC);
        assert_int_equal(write(fifo, "lives\n", 6), 6);
        (void)close(fifo);
        finish(&running, &o);
        expect_status(&o, 0);
        expect_out(&o, "lives\n");
}

/* ------------------------------------------------------------------- refusals */

static int listen_at(const char *folder, const char *name) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s%s%s", folder, *folder ? "/" : "",
                       name);
        (void)unlink(address.sun_path);
        assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(listen(fd, 4), 0);
        return fd;
}

static int connect_to(const char *folder, const char *name) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s%s%s", folder, *folder ? "/" : "",
                       name);
        assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        return fd;
}

#define ENGINE                                                                       \
        "nsrun: descriptor 7 is a container engine's control socket: Operation not " \
        "permitted; whoever can talk to it is as good as root on this machine"

/* Refused with this line, in a sandbox of its own and by bash; or, with NULL, passed. */
static void expect_passed(const struct site *s, int fd, const char *line) {
        _cleanup_outcome_ struct outcome o = {0};

        RUN_WITH(s, fd, &o, "run", "--pass-fd=7", "--project", s->project, "--", "test", "-e",
                 "/proc/self/fd/7");
        if (line)
                expect_refusal(&o, 125, line);
        else
                expect_status(&o, 0);
        RUN_WITH(s, fd, &o, "bash", "--pass-fd=7", "--project", s->project, "--confirm=never",
                 "test -e /proc/self/fd/7");
        expect_status(&o, line ? 125 : 0);
        (void)close(fd);
}

TEST(ways_out_are_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *file = path_of(s->project, "file");

        make_file(s->project, "file", "");
        expect_passed(s, open(file, O_RDONLY | O_CLOEXEC), NULL);
        expect_passed(s, open(file, O_PATH | O_CLOEXEC),
                      "nsrun: descriptor 7 was opened with O_PATH: the command could open the file anew: "
                      "Operation not permitted; open the file for what the command needs");
        expect_passed(
                s, open(s->project, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                "nsrun: descriptor 7 is a folder, through which the command could leave the sandbox: Is "
                "a directory; pass a file, a pipe or a socket");
        expect_passed(
                s, open(s->project, O_PATH | O_DIRECTORY | O_CLOEXEC),
                "nsrun: descriptor 7 is a folder, through which the command could leave the sandbox: Is "
                "a directory; pass a file, a pipe or a socket");
}

TEST(an_engines_sockets_are_refused_by_their_names) {
        const struct site *s = *state;
        int pair[2], other = listen_at(s->runtime, "other.sock"), engine;

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        expect_passed(s, pair[0], NULL);
        expect_passed(s, connect_to(s->runtime, "other.sock"), NULL);
        expect_passed(s, other, NULL);
        (void)close(pair[1]);
        engine = listen_at(s->runtime, "docker.sock");
        expect_passed(s, connect_to(s->runtime, "docker.sock"), ENGINE);
        expect_passed(s, engine, ENGINE);
}

/* The name that a socket was bound under may say nothing; who answers it is known. */
TEST(an_engines_sockets_are_refused_by_their_process) {
        const struct site *s = *state;
        char own[16];
        int listener;

        assert_int_equal(prctl(PR_GET_NAME, own), 0);
        assert_int_equal(chdir(s->outside), 0);
        listener = listen_at("", "plain");
        expect_passed(s, connect_to("", "plain"), NULL);
        assert_int_equal(prctl(PR_SET_NAME, "dockerd"), 0);
        expect_passed(s, connect_to("", "plain"), ENGINE);
        assert_int_equal(prctl(PR_SET_NAME, own), 0);
        assert_int_equal(chdir("/"), 0);
        (void)close(listener);
}

TEST(numbers_that_can_not_be_passed_are_refused) {
        static const struct {
                const char *value, *line;
        } rows[] = {
                {"1", "nsrun: --pass-fd: the command has descriptors 0, 1 and 2 anyway: 1"},
                {"99", "nsrun: --pass-fd: no such file descriptor is open: 99"},
                {"x", "nsrun: --pass-fd: not the number of a file descriptor: x"},
                {"", "nsrun: --pass-fd: not the number of a file descriptor"},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        int ends[2];

        make_pipe(ends);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_free_ char *run_line = text_of("%s; see 'nsrun run --help'", rows[i].line);
                _cleanup_free_ char *bash_line = text_of("%s; see 'nsrun bash --help'", rows[i].line);

                RUN_WITH(s, ends[1], &o, "run", "--pass-fd", rows[i].value, "--", "true");
                expect_refusal(&o, 125, run_line);
                RUN_WITH(s, ends[1], &o, "bash", "--pass-fd", rows[i].value, "true");
                expect_refusal(&o, 125, bash_line);
        }
        RUN_WITH(s, ends[1], &o, "run", "--pass-fd", "7", "--status-fd", "7", "--", "true");
        expect_status(&o, 125);
        assert_string_equal(
                o.err, "nsrun: nsrun writes to this descriptor itself: --pass-fd; see 'nsrun run --help'\n");
        (void)close(ends[0]);
        (void)close(ends[1]);
}

TEST(the_library_refuses_them_too) {
        const struct site *s = *state;
        struct nsrun_policy *policy = make_policy(s, OPTIONS("true"));
        struct nsrun_start_options options = NSRUN_START_OPTIONS_INIT;
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};
        struct nsrun_plan *plan = NULL;
        int fd = 1, folder = open(s->project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        expect_good(nsrun_plan_new(policy, &plan, &err), &err);
        options.pass_fds = &fd;
        options.n_pass_fds = 1;
        expect_error(
                nsrun_start(plan, &options, &sandbox, &err), -EINVAL, NSRUN_STAGE_USAGE, &err,
                "descriptor 1 can't be passed beside the standard streams: Invalid argument; the command "
                "has descriptors 0, 1 and 2 anyway");
        fd = 99;
        expect_error(nsrun_start(plan, &options, &sandbox, &err), -EBADF, NSRUN_STAGE_USAGE, &err,
                     "descriptor 99 is not open: Bad file descriptor");
        options.n_pass_fds = 0;
        options.stdio[0] = open("/dev/null", O_PATH | O_CLOEXEC);
        expect_error(
                nsrun_start(plan, &options, &sandbox, &err), -EPERM, NSRUN_STAGE_POLICY, &err,
                "standard input was opened with O_PATH: the command could open the file anew: Operation "
                "not permitted; open the file for what the command needs");
        (void)close(options.stdio[0]);
        options.stdio[0] = folder;
        expect_error(nsrun_start(plan, &options, &sandbox, &err), -EISDIR, NSRUN_STAGE_POLICY, &err,
                     "standard input is a folder, through which the command could leave the sandbox: Is a "
                     "directory; redirect it from a file or /dev/null");
        options.stdio[0] = -1;
        expect_good(nsrun_start(plan, &options, &sandbox, &err), &err);
        expect_end(sandbox, 0, 0);
        assert_null(nsrun_sandbox_free(sandbox));
        assert_null(nsrun_plan_free(plan));
        assert_null(nsrun_policy_free(policy));
        (void)close(folder);
}

/* --------------------------------------------------------------- a host's pipes */

/* A command with its streams in pipes of its own; fit for any thread.  What the host keeps is in *to and
 * *from. */
static int start_piped(const struct site *s, const char *text, struct nsrun_sandbox **ret, int *to,
                       int *from, struct nsrun_error *err) {
        struct nsrun_start_options options = NSRUN_START_OPTIONS_INIT;
        struct nsrun_policy *policy = NULL;
        struct nsrun_plan *plan = NULL;
        int in[2] = {-1, -1}, out[2] = {-1, -1}, r;

        if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
                return -errno;
        options.stdio[0] = in[0];
        options.stdio[1] = out[1];
        r = nsrun_policy_new(&policy);
        if (r >= 0)
                r = nsrun_policy_set(policy, "project", s->project, err);
        if (r >= 0)
                r = nsrun_policy_set_command(policy, OPTIONS("sh", "-c", text), err);
        if (r >= 0)
                r = nsrun_plan_new(policy, &plan, err);
        if (r >= 0)
                r = nsrun_start(plan, &options, ret, err);
        (void)nsrun_plan_free(plan);
        (void)nsrun_policy_free(policy);
        (void)close(in[0]);
        (void)close(out[1]);
        *to = in[1];
        *from = out[0];
        return r;
}

/* One line, without its newline; false at the end. */
static bool take_line(int fd, char *to, size_t size) {
        size_t n = 0;

        while (n + 1 < size) {
                struct pollfd ready = {.fd = fd, .events = POLLIN};

                if (poll(&ready, 1, deadline_seconds * 1000) != 1 || read(fd, to + n, 1) != 1)
                        return false;
                if (to[n] == '\n')
                        break;
                n++;
        }
        to[n] = '\0';
        return true;
}

static const char server[] = "while read -r line; do echo \"{\\\"echo\\\":$line}\"; done; echo bye";

/* As an MCP server is driven: a request a line, an answer a line, the end by closing its input. */
TEST(a_server_on_its_streams_answers_until_its_input_ends) {
        const struct site *s = *state;
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};
        char line[128], wanted[128];
        int to, from;

        expect_good(start_piped(s, server, &sandbox, &to, &from, &err), &err);
        for (int i = 0; i < 100; i++) {
                assert_true(dprintf(to, "%d\n", i) > 0);
                assert_true(take_line(from, line, sizeof(line)));
                (void)snprintf(wanted, sizeof(wanted), "{\"echo\":%d}", i);
                assert_string_equal(line, wanted);
        }
        (void)close(to);
        expect_text(from, "bye\n");
        expect_end(sandbox, 0, 0);
        assert_null(nsrun_sandbox_free(sandbox));
}

/* All threads fork, too: what one starts must not keep another one's pipes. */
static volatile bool is_over;

static void *fork_all_the_time(nsrun_unused void *data) {
        while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
                siginfo_t info;
                pid_t pid = fork();

                if (pid == 0)
                        _exit(0);
                if (pid > 0)
                        (void)waitid(P_PID, (id_t)pid, &info, WEXITED);
        }
        return NULL;
}

struct driver {
        const struct site *site;
        int commands, good;
        struct nsrun_error err;
};

/* A command, a question, its answer, then either its end or a signal. */
static bool drive_one(struct driver *d, bool is_killed) {
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_exit end = {.code = 100};
        struct pollfd gone = {.events = POLLIN};
        int to = -1, from = -1;
        char line[64] = "";
        bool is_good;

        if (start_piped(d->site, server, &sandbox, &to, &from, &d->err) < 0)
                return false;
        is_good = write(to, "5\n", 2) == 2 && take_line(from, line, sizeof(line)) &&
                  streq(line, "{\"echo\":5}");
        if (is_killed)
                is_good &= nsrun_sandbox_kill(sandbox, SIGKILL) == 0;
        else
                (void)close(to);
        gone.fd = nsrun_sandbox_pidfd(sandbox);
        is_good &= poll(&gone, 1, deadline_seconds * 1000) == 1;
        if (!is_killed)
                is_good &= take_line(from, line, sizeof(line)) && streq(line, "bye") &&
                           nsrun_sandbox_wait(sandbox, &end, &d->err) == 0 && end.code == 0;
        /* The end of the pipe: nobody else got a copy of its other end. */
        is_good &= read(from, line, 1) == 0;
        (void)nsrun_sandbox_free(sandbox);
        (void)close(from);
        if (is_killed)
                (void)close(to);
        return is_good;
}

static void *drive(void *data) {
        struct driver *d = data;

        for (int i = 0; i < d->commands; i++)
                d->good += drive_one(d, i % 4 == 3);
        return NULL;
}

TEST(threads_start_commands_with_pipes_while_others_fork) {
        const char *wanted = getenv("NSRUN_TEST_PIPES");
        const int commands = wanted ? atoi(wanted) / THREADS + 1 : takes_samples() ? 2 : 4;
        struct driver drivers[THREADS];
        pthread_t threads[THREADS], forker;

        is_over = false;
        assert_int_equal(pthread_create(&forker, NULL, fork_all_the_time, NULL), 0);
        for (size_t i = 0; i < THREADS; i++) {
                drivers[i] = (struct driver){.site = *state, .commands = commands};
                assert_int_equal(pthread_create(&threads[i], NULL, drive, &drivers[i]), 0);
        }
        for (size_t i = 0; i < THREADS; i++)
                assert_int_equal(pthread_join(threads[i], NULL), 0);
        __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
        assert_int_equal(pthread_join(forker, NULL), 0);
        for (size_t i = 0; i < THREADS; i++)
                if (drivers[i].good != commands)
                        fail_msg("thread %zu: %d of %d: %s: %s", i, drivers[i].good, commands,
                                 drivers[i].err.what, drivers[i].err.path);
}

/* A command of the host that is in no sandbox gets the same. */
TEST(a_plain_command_gets_them_too) {
        const struct site *s = *state;
        struct nsrun_policy *policy = make_policy(s, OPTIONS("sh", "-c", "read l; echo $l; echo 7 >&7"));
        struct nsrun_start_options options = NSRUN_START_OPTIONS_INIT;
        struct nsrun_isolation *isolation = NULL;
        struct nsrun_exit end = {.code = 100};
        struct nsrun_error err = {0};
        int in[2], out[2], seven = NUMBER;

        make_pipe(in);
        make_pipe(out);
        assert_true(out[1] == NUMBER || dup3(out[1], NUMBER, O_CLOEXEC) == NUMBER);
        options.stdio[0] = in[0];
        options.stdio[1] = out[1];
        options.pass_fds = &seven;
        options.n_pass_fds = 1;
        assert_int_equal(write(in[1], "line\n", 5), 5);
        assert_int_equal(nsrun_isolation_new(&isolation), 0);
        expect_good(nsrun_isolation_run(isolation, policy, &options, &end, &err), &err);
        assert_int_equal(end.code, 0);
        (void)close(out[1]);
        (void)close(NUMBER);
        (void)close(in[0]);
        (void)close(in[1]);
        expect_text(out[0], "line\n7\n");
        assert_null(nsrun_isolation_free(isolation));
        assert_null(nsrun_policy_free(policy));
}

int main(void) {
        return run_all_tests();
}
