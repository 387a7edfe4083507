/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun-net needs of descriptors and memory: for thousands of connections, with few descriptors, and
 * while it is handed its sockets. */
#include <poll.h>
#include <sys/resource.h>

#include "base/sys.h"
#include "net-relay.h"
#include "session.h"

#define SPARES 16 /* that nsrun-net keeps for what it is asked: CONTROL_SPARES */

/* As many at once as there are descriptors: each is answered when it has sent its byte and its end. */
static void serve_many(int fd) {
        static struct pollfd fds[16384];
        size_t n = 1;

        fds[0] = (struct pollfd){fd, POLLIN, 0};
        while (poll(fds, n, -1) > 0) {
                for (size_t i = n; i-- > 1;) {
                        char bytes[16];
                        ssize_t k = fds[i].revents ? recv(fds[i].fd, bytes, sizeof(bytes), 0) : 1;

                        if (k > 0)
                                continue;
                        (void)send(fds[i].fd, "y", 1, MSG_NOSIGNAL);
                        (void)close(fds[i].fd);
                        fds[i] = fds[--n];
                }
                if (fds[0].revents && n < ARRAY_SIZE(fds)) {
                        int c = accept(fd, NULL, NULL);

                        if (c >= 0)
                                fds[n++] = (struct pollfd){c, POLLIN, 0};
                }
        }
        _exit(1);
}

static pid_t start_many(unsigned short *ret_port) {
        int fd = listen_here(ret_port);
        pid_t parent = getpid(), pid = fork();
        struct rlimit limit;

        assert_true(pid >= 0);
        if (pid == 0) {
                if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
                    getrlimit(RLIMIT_NOFILE, &limit) < 0)
                        _exit(1);
                limit.rlim_cur = limit.rlim_max;
                (void)setrlimit(RLIMIT_NOFILE, &limit);
                serve_many(fd);
        }
        (void)close(fd);
        return pid;
}

/* Opens n at once, and only then lets each be answered. */
static void client_many(unsigned short port, int n) {
        static int fds[16384];
        struct rlimit limit;
        int open_n = 0, answered = 0;
        char byte;

        (void)getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
        for (int i = 0; i < n; i++) {
                fds[i] = connect_here(port);
                open_n += fds[i] >= 0 && send(fds[i], "x", 1, MSG_NOSIGNAL) == 1;
        }
        (void)printf("%d open\n", open_n);
        (void)fflush(stdout);
        (void)(read(0, &byte, 1) < 0);
        for (int i = 0; i < n; i++)
                (void)shutdown(fds[i], SHUT_WR);
        for (int i = 0; i < n; i++)
                answered += recv(fds[i], &byte, 1, 0) == 1 && recv(fds[i], &byte, 1, 0) == 0;
        (void)printf("%d answered\n", answered);
}

/* N datagrams, each from a socket of its own; then a line of standard input, and as many again before it
 * asks by TCP. */
static void client_datagrams(unsigned short port, int n) {
        const struct sockaddr_in at = {
                .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
        char byte;

        for (int i = 0; i < 2 * n; i++) {
                int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

                if (sendto(fd, "x", 1, 0, (const struct sockaddr *)&at, sizeof(at)) != 1)
                        (void)puts(strerror(errno));
                if (i > 0)
                        continue;
                (void)puts("begun");
                (void)fflush(stdout);
                (void)(read(0, &byte, 1) < 0);
        }
        client_ask(connect_here(port));
}

/* relay MODE PORT N */
static void resources_main(int argc, char **argv) {
        unsigned short port = argc > 3 ? (unsigned short)atoi(argv[3]) : 0;

        if (argc < 5 || !streq(argv[1], "relay"))
                return;
        if (streq(argv[2], "many"))
                client_many(port, atoi(argv[4]));
        if (streq(argv[2], "datagrams"))
                client_datagrams(port, atoi(argv[4]));
        _exit(fflush(stdout) ? 97 : 0);
}

/* --------------------------------------------------------------- its resources */

/* A number of /proc/PID/FILE behind `name`. */
static unsigned long number_of(pid_t pid, const char *file, const char *name) {
        _cleanup_free_ char *path = text_of("/proc/%d/%s", (int)pid, file), *text = file_text(path);
        const char *at = text ? strstr(text, name) : NULL;

        assert_non_null(at);
        return strtoul(at + strlen(name), NULL, 10);
}

/* Its time on a processor, in clock ticks. */
static unsigned long ticks_of(pid_t pid) {
        _cleanup_free_ char *path = text_of("/proc/%d/stat", (int)pid), *text = file_text(path);
        unsigned long user, system;

        assert_non_null(text);
        assert_int_equal(sscanf(strrchr(text, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                                &user, &system),
                         2);
        return user + system;
}

struct many {
        struct running running;
        pid_t server, helper;
        int input;
};

static void begin_many(const struct site *s, struct many *m, unsigned n) {
        _cleanup_free_ char *number = NULL, *rule = NULL, *count = text_of("%u", n);
        unsigned short port = 0;
        int input[2];

        m->server = start_many(&port);
        number = text_of("%u", port);
        rule = text_of("--allow=localhost:%u", port);
        assert_int_equal(pipe2(input, O_CLOEXEC), 0);
        spawn_relay(s, &m->running, input[0], rule, OPTIONS("many", number, count));
        close_fdp(&input[0]);
        m->input = input[1];
}

static void end_many(struct many *m, unsigned n) {
        _cleanup_free_ char *expected = text_of("%u answered\n", n);
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(write(m->input, "\n", 1), 1);
        close_fdp(&m->input);
        finish(&m->running, &o);
        expect_out(&o, expected);
        expect_status(&o, 0);
        stop_serving(m->server);
}

TEST(thousands_of_connections_are_open_at_once_in_little_memory) {
        struct rlimit limit;
        unsigned n = (unsigned)size_of_test(600, 10000);
        _cleanup_free_ char *line = NULL, *expected = NULL;
        struct many m;

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        /* Two descriptors each. */
        if (n > limit.rlim_max / 2 - 200)
                n = (unsigned)(limit.rlim_max / 2 - 200);
        print_message("%u connections\n", n);
        begin_many(*state, &m, n);
        line = read_line(m.running.out);
        expected = text_of("%u open\n", n);
        assert_string_equal(line, expected);
        m.helper = net_helper_of(m.running.pid);
        assert_true(m.helper > 0);
        print_message("%lu KiB at most\n", number_of(m.helper, "status", "VmHWM:"));
        if (!IS_SANITIZED)
                assert_true(number_of(m.helper, "status", "VmHWM:") < 10 << 10);
        end_many(&m, n);
}

/* Sandboxes share no nsrun-net: while one of them opens and asks for all it can, another one's connections
 * are made, and the first one's memory is bounded. */
TEST(a_flood_in_one_sandbox_leaves_the_others_alone) {
        static const char script[] =
                "n=0; (while :; do for i in 1 2 3 4 5 6 7 8 9; do getent hosts x$i$n.test & done; wait; "
                "n=$((n+1)); done) >/dev/null & exec /relay relay many $0 400";
        const struct site *s = *state;
        _cleanup_free_ char *rule = NULL, *number = NULL, *self = realpath("/proc/self/exe", NULL),
                            *bind = text_of("%s:/relay:ro", self);
        _cleanup_outcome_ struct outcome o = {0};
        struct running flooding;
        unsigned short port = 0;
        int input[2];
        pid_t server = start_many(&port), helper;

        number = text_of("%u", port);
        rule = text_of("--allow=localhost:%u", port);
        assert_int_equal(pipe2(input, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = OPTIONS(program(), "run", "--project", s->project, "--bind", bind,
                                                "--net=allow", rule, "--", "sh", "-c", script, number),
                                .cwd = s->root,
                                .standard_input = input[0]},
              &flooding);
        close_fdp(&input[0]);
        await_line(flooding.out, "400 open\n");
        helper = net_helper_of(flooding.pid);
        assert_true(helper > 0);
        for (int i = 0; i < 3; i++) {
                struct running other;
                int own[2];

                assert_int_equal(pipe2(own, O_CLOEXEC), 0);
                close_fdp(&own[1]);
                outcome_clear(&o);
                spawn_relay(s, &other, own[0], rule, OPTIONS("many", number, "40"));
                close_fdp(&own[0]);
                finish(&other, &o);
                expect_out(&o, "40 open\n40 answered\n");
        }
        if (!IS_SANITIZED)
                assert_true(number_of(helper, "status", "VmHWM:") < 10 << 10);
        assert_int_equal(write(input[1], "\n", 1), 1);
        close_fdp(&input[1]);
        outcome_clear(&o);
        finish(&flooding, &o);
        expect_out(&o, "400 answered\n");
        stop_serving(server);
}

/* Those that find no descriptor wait in the kernel, and nsrun-net waits for one to be free without asking
 * for it all the time. */
TEST(without_descriptors_connections_wait_and_none_is_lost) {
        const struct rlimit few = {.rlim_cur = 24 + SPARES, .rlim_max = 24 + SPARES};
        const struct timespec second = {.tv_sec = 1};
        _cleanup_free_ char *line = NULL;
        unsigned long before;
        struct many m;

        begin_many(*state, &m, 0);
        line = read_line(m.running.out);
        m.helper = net_helper_of(m.running.pid);
        assert_true(m.helper > 0);
        end_many(&m, 0);

        begin_many(*state, &m, 60);
        /* nsrun-net is there before anything of the sandbox runs. */
        do
                m.helper = net_helper_of(m.running.pid);
        while (m.helper == 0);
        while (number_of(m.helper, "status", "Seccomp:\t") != 2)
                ;
        free(TAKE_PTR(line));
        assert_int_equal(prlimit(m.helper, RLIMIT_NOFILE, &few, NULL), 0);
        line = read_line(m.running.out);
        assert_string_equal(line, "60 open\n");
        before = ticks_of(m.helper);
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &second, NULL);
        assert_true(ticks_of(m.helper) - before < (unsigned long)sysconf(_SC_CLK_TCK) / 4);
        end_many(&m, 60);
}

TEST(datagrams_leave_their_descriptors_to_connections) {
        const struct rlimit few = {.rlim_cur = 40 + SPARES, .rlim_max = 40 + SPARES};
        unsigned short port = 0;
        pid_t server = start_serving(serve_too_large, &port), helper;
        const struct site *s = *state;
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/client:ro", self),
                            *udp = text_of("--allow=udp:localhost:%u", port),
                            *tcp = text_of("--allow=localhost:%u", port), *number = text_of("%u", port);
        const char *const argv[] = {program(),     "run",  "--project", s->project, "--bind",  bind,
                                    "--net=allow", udp,    tcp,         "--",       "/client", "relay",
                                    "datagrams",   number, "60",        NULL};
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;
        int input[2];

        assert_int_equal(pipe2(input, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv, .cwd = s->root, .standard_input = input[0]}, &running);
        close_fdp(&input[0]);
        await_line(running.out, "begun\n");
        helper = net_helper_of(running.pid);
        assert_true(helper > 0);
        assert_int_equal(prlimit(helper, RLIMIT_NOFILE, &few, NULL), 0);
        assert_int_equal(write(input[1], "\n", 1), 1);
        close_fdp(&input[1]);
        finish(&running, &o);
        expect_out(&o, "'too large', the end\n");
        expect_status(&o, 0);
        stop_serving(server);
}

/* ---------------------------------------------------- descriptors on their way */

/* A process of the user's that has so many descriptors on their way, for so long or until it is killed. */
static pid_t hold_descriptors(unsigned n, unsigned ms) {
        const struct timespec moment = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
        int ready[2], byte = 0;
        pid_t parent = getpid(), pid;

        assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
        pid = fork();
        if (pid == 0) {
                const struct rlimit many = {.rlim_cur = 4096, .rlim_max = 4096};
                int pair[2];

                if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
                    setrlimit(RLIMIT_NOFILE, &many) < 0)
                        _exit(1);
                for (unsigned i = 0; i < n; i += 64) {
                        int fds[64];

                        for (size_t k = 0; k < ARRAY_SIZE(fds); k++)
                                fds[k] = ready[0];
                        if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) < 0 ||
                            sys_send_fds(pair[0], "", 1, fds, ARRAY_SIZE(fds)) < 0)
                                _exit(1);
                }
                (void)write(ready[1], "", 1);
                (void)close(ready[1]);
                (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
                _exit(0);
        }
        close_fdp(&ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        close_fdp(&ready[0]);
        return pid;
}

static void few_descriptors(nsrun_unused void *data) {
        const struct rlimit few = {.rlim_cur = 512, .rlim_max = 512};

        if (setrlimit(RLIMIT_NOFILE, &few) < 0)
                stage_fail("a limit");
}

static void run_with_few(const struct site *s, struct outcome *o) {
        _cleanup_free_ const char **argv = nsrun_argv(s, OPTIONS("--net=allow", "--", "echo", "ran"));

        outcome_clear(o);
        run(&(struct request){.argv = argv, .cwd = s->root, .in_child = few_descriptors}, o);
}

TEST(sockets_are_handed_over_as_soon_as_the_user_may_send_descriptors) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        pid_t pid = hold_descriptors(1024, 400);

        run_with_few(s, &o);
        expect_out(&o, "ran\n");
        expect_status(&o, 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        pid = hold_descriptors(1024, 60000);
        run_with_few(s, &o);
        expect_refusal(&o, 125,
                       "nsrun: the sockets of the sandbox's network can't be handed to nsrun-net: Too "
                       "many references: cannot splice; the user's processes have more descriptors on "
                       "their way than RLIMIT_NOFILE allows; raise it");
        stop_serving(pid);
}

int main(int argc, char **argv) {
        resources_main(argc, argv);
        return run_all_tests();
}
