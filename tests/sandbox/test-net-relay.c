/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun-net makes of connections: ends, resets, urgent bytes, back-pressure, thousands of them, and
 * none of its resources left.  Servers are on the host's loopback; each client is tried without a sandbox
 * first. */
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/sys.h"
#include "net.h"
#include "session.h"

#define LARGE (24U << 20)

/* ------------------------------------------------------------------ both sides */

static int listen_here(unsigned short *ret_port) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
        socklen_t n = sizeof(at);

        at.sin_port = htons(*ret_port);
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        if (bind(fd, (const struct sockaddr *)&at, n) < 0 || listen(fd, 4096) < 0 ||
            getsockname(fd, (struct sockaddr *)&at, &n) < 0)
                stage_fail("a socket");
        *ret_port = ntohs(at.sin_port);
        return fd;
}

static int connect_here(unsigned short port) {
        struct sockaddr_in at = {
                .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0)
                return -errno;
        return fd;
}

static size_t send_much(int fd, size_t n) {
        static char bytes[1 << 16];
        size_t done = 0;

        while (done < n) {
                ssize_t k =
                        send(fd, bytes, n - done < sizeof(bytes) ? n - done : sizeof(bytes), MSG_NOSIGNAL);

                if (k < 0)
                        break;
                done += (size_t)k;
        }
        return done;
}

static size_t read_all(int fd) {
        static char bytes[1 << 16];
        size_t all = 0;
        ssize_t n;

        while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
                all += (size_t)n;
        if (n == 0)
                errno = 0;
        return all;
}

static void end_with_reset(int fd) {
        const struct linger none = {.l_onoff = 1};

        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
        (void)close(fd);
}

static void take_a_moment(void) {
        const struct timespec moment = {.tv_nsec = 50 * 1000000};

        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
}

/* ------------------------------------------------------------------ the servers */

typedef void serve_function(int connection);

/* A process that does so with each connection, one after the other; the caller kills it. */
static pid_t start_serving(serve_function *serve, unsigned short *ret_port) {
        int fd = listen_here(ret_port);
        pid_t parent = getpid(), pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                        _exit(1);
                for (;;) {
                        int c = accept(fd, NULL, NULL);

                        serve(c);
                        (void)close(c);
                }
        }
        (void)close(fd);
        return pid;
}

static void stop_serving(pid_t pid) {
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void serve_reset(int c) {
        char byte;

        (void)recv(c, &byte, 1, 0);
        (void)send(c, "hello", 5, MSG_NOSIGNAL);
        take_a_moment();
        end_with_reset(dup(c));
}

/* Much, and then no end but a reset. */
static void serve_much_and_reset(int c) {
        char byte;

        (void)recv(c, &byte, 1, 0);
        (void)send_much(c, 1 << 20);
        take_a_moment();
        end_with_reset(dup(c));
}

/* Answers before it has read what is sent, and closes. */
static void serve_too_large(int c) {
        char byte;

        (void)recv(c, &byte, 1, 0);
        (void)send(c, "too large", 9, MSG_NOSIGNAL);
        take_a_moment();
}

/* Says what came urgently, and what didn't; in between it sends an urgent byte itself. */
static void serve_urgent(int c) {
        struct pollfd urgent = {.fd = c, .events = POLLPRI};
        char byte = '?', bytes[64] = "", line[128];
        size_t n = 0;
        ssize_t k;

        (void)poll(&urgent, 1, 10000);
        (void)recv(c, &byte, 1, MSG_OOB);
        while ((k = recv(c, bytes + n, sizeof(bytes) - 1 - n, 0)) > 0)
                n += (size_t)k;
        (void)snprintf(line, sizeof(line), "%c urgently, %s", byte, bytes);
        (void)send(c, line, strlen(line), MSG_NOSIGNAL);
        (void)send(c, "!", 1, MSG_NOSIGNAL | MSG_OOB);
}

static void serve_urgent_last(int c) {
        char byte;

        (void)recv(c, &byte, 1, 0);
        (void)send(c, "abc", 3, MSG_NOSIGNAL);
        (void)send(c, "!", 1, MSG_NOSIGNAL | MSG_OOB);
}

static void serve_nothing_at_first(int c) {
        char line[64];

        take_a_moment();
        take_a_moment();
        (void)snprintf(line, sizeof(line), "%zu", read_all(c));
        (void)send(c, line, strlen(line), MSG_NOSIGNAL);
}

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

/* ------------------------------------------------------------------ the clients */

static void tell_end(int fd) {
        char bytes[256] = "";
        size_t n = 0;
        ssize_t k;

        while ((k = recv(fd, bytes + n, sizeof(bytes) - 1 - n, 0)) > 0)
                n += (size_t)k;
        (void)printf("'%s', %s\n", bytes, k < 0 ? strerror(errno) : "the end");
}

static void client_ask(int fd) {
        if (send(fd, "x", 1, MSG_NOSIGNAL) < 0)
                (void)printf("'', %s\n", strerror(errno));
        else
                tell_end(fd);
}

/* How much came, and how it ended. */
static void client_read(int fd) {
        size_t n;

        (void)send(fd, "x", 1, MSG_NOSIGNAL);
        n = read_all(fd);
        (void)printf("%zu, %s\n", n, errno ? strerror(errno) : "the end");
}

static void client_upload(int fd) {
        bool is_whole = send_much(fd, LARGE) == LARGE;

        (void)printf("%s, ", is_whole ? "all" : "not all");
        (void)shutdown(fd, SHUT_WR);
        tell_end(fd);
}

static void client_urgent(int fd) {
        struct pollfd urgent = {.fd = fd, .events = POLLPRI};
        char byte = '?';

        (void)send(fd, "ab", 2, MSG_NOSIGNAL);
        (void)send(fd, "c", 1, MSG_NOSIGNAL | MSG_OOB);
        (void)send(fd, "de", 2, MSG_NOSIGNAL);
        (void)shutdown(fd, SHUT_WR);
        (void)poll(&urgent, 1, 10000);
        (void)recv(fd, &byte, 1, MSG_OOB);
        (void)printf("%c urgently, ", byte);
        tell_end(fd);
}

/* How often an urgent byte came as any other. */
static void client_urgents(int first) {
        union {
                struct sockaddr any;
                struct sockaddr_in v4;
        } to;
        socklen_t length = sizeof(to);
        int wrong = 0;

        (void)getpeername(first, &to.any, &length);
        (void)close(first);
        for (int i = 0; i < 400; i++) {
                int fd = connect_here(ntohs(to.v4.sin_port));

                (void)send(fd, "x", 1, MSG_NOSIGNAL);
                wrong += read_all(fd) != 3;
                (void)close(fd);
        }
        (void)printf("%d wrong\n", wrong);
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

/* A server inside that answers and sends its end first, and then reads slowly. */
static void serve_inside(unsigned short port, int n) {
        int fd = listen_here(&port);

        (void)puts("serves");
        (void)fflush(stdout);
        for (int i = 0; i < n; i++) {
                int c = accept(fd, NULL, NULL);

                (void)send(c, "from inside", 11, MSG_NOSIGNAL);
                (void)shutdown(c, SHUT_WR);
                take_a_moment();
                (void)printf("%zu\n", read_all(c));
                (void)fflush(stdout);
                (void)close(c);
        }
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

/* relay MODE PORT [N] */
static void relay_main(int argc, char **argv) {
        static const struct {
                const char *name;
                void (*client)(int fd);
        } modes[] = {{"ask", client_ask},
                     {"read", client_read},
                     {"upload", client_upload},
                     {"urgent", client_urgent},
                     {"urgents", client_urgents}};
        unsigned short port = argc > 3 ? (unsigned short)atoi(argv[3]) : 0;

        if (argc < 4 || !streq(argv[1], "relay"))
                return;
        if (streq(argv[2], "many"))
                client_many(port, atoi(argv[4]));
        if (streq(argv[2], "datagrams"))
                client_datagrams(port, atoi(argv[4]));
        if (streq(argv[2], "serve"))
                serve_inside(port, atoi(argv[4]));
        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
                int fd = streq(argv[2], modes[i].name) ? connect_here(port) : -EBADF;

                if (fd >= 0)
                        modes[i].client(fd);
                else if (fd != -EBADF)
                        (void)puts(strerror(-fd));
        }
        _exit(fflush(stdout) ? 97 : 0);
}

/* -------------------------------------------------------------------- the tests */

static void spawn_relay(const struct site *s, struct running *ret, int input, const char *option,
                        const char *const *words) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/client:ro", self);
        const char *argv[32] = {program(),     "run",  "--project", s->project, "--bind", bind,
                                "--net=allow", option, "--",        "/client",  "relay"};
        size_t n = 11;

        while (*words)
                argv[n++] = *words++;
        spawn(&(struct request){.argv = argv, .cwd = s->root, .standard_input = input}, ret);
}

/* The client's words at a port of the host: without a sandbox, and within one. */
static void compare(const struct site *s, const char *mode, unsigned short port, const char *outside,
                    const char *inside) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *number = text_of("%u", port),
                            *rule = text_of("--allow=localhost:%u", port);
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        run(&(struct request){.argv = (const char *const[]){self, "relay", mode, number, NULL},
                              .cwd = s->root},
            &o);
        expect_out(&o, outside);
        outcome_clear(&o);
        spawn_relay(s, &running, 0, rule, (const char *const[]){mode, number, NULL});
        finish(&running, &o);
        expect_out(&o, inside);
        expect_status(&o, 0);
}

TEST(a_reset_arrives_as_a_reset_behind_all_that_was_sent) {
        unsigned short port = 0;
        pid_t pid = start_serving(serve_reset, &port);

        compare(*state, "ask", port, "'hello', Connection reset by peer\n",
                "'hello', Connection reset by peer\n");
        stop_serving(pid);
        port = 0;
        pid = start_serving(serve_much_and_reset, &port);
        compare(*state, "read", port, "1048576, Connection reset by peer\n",
                "1048576, Connection reset by peer\n");
        stop_serving(pid);
}

/* The kernel has accepted for nsrun-net by the time that the host says no. */
TEST(what_the_host_refuses_is_reset_at_once) {
        unsigned short port = 0;

        (void)close(listen_here(&port));
        compare(*state, "ask", port, "Connection refused\n", "'', Connection reset by peer\n");
}

TEST(an_answer_arrives_although_the_server_wants_no_more_of_the_question) {
        unsigned short port = 0;
        pid_t pid = start_serving(serve_too_large, &port);

        compare(*state, "upload", port, "not all, 'too large', the end\n",
                "not all, 'too large', the end\n");
        stop_serving(pid);
}

TEST(an_urgent_byte_stays_urgent_and_none_is_lost) {
        unsigned short port = 0;
        pid_t pid = start_serving(serve_urgent, &port);

        compare(*state, "urgent", port, "! urgently, 'c urgently, abde', the end\n",
                "! urgently, 'c urgently, abde', the end\n");
        stop_serving(pid);
}

/* It may come at any moment of the other bytes' way. */
TEST(an_urgent_byte_is_urgent_whenever_it_comes) {
        unsigned short port = 0;
        pid_t pid = start_serving(serve_urgent_last, &port);

        compare(*state, "urgents", port, "0 wrong\n", "0 wrong\n");
        stop_serving(pid);
}

TEST(an_upload_waits_for_a_slow_server_and_arrives_whole) {
        _cleanup_free_ char *expected = text_of("all, '%u', the end\n", LARGE);
        unsigned short port = 0;
        pid_t pid = start_serving(serve_nothing_at_first, &port);

        compare(*state, "upload", port, expected, expected);
        stop_serving(pid);
}

/* The server's end is read before the upload's. */
TEST(an_upload_into_the_sandbox_arrives_whole_behind_the_answer) {
        const struct site *s = *state;
        unsigned short port = 0;
        _cleanup_free_ char *publish = NULL, *line = NULL, *expected = text_of("%u\n", LARGE);
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        (void)close(listen_here(&port));
        publish = text_of("--publish=%u:4567", port);
        spawn_relay(s, &running, 0, publish, (const char *const[]){"serve", "4567", "3", NULL});
        line = read_line(running.out);
        assert_string_equal(line, "serves\n");
        for (int i = 0; i < 3; i++) {
                _cleanup_close_ int fd = connect_here(port);
                char answer[16] = "";

                free(TAKE_PTR(line));
                assert_true(fd >= 0);
                assert_int_equal(send_much(fd, LARGE), LARGE);
                assert_int_equal(shutdown(fd, SHUT_WR), 0);
                assert_int_equal(recv(fd, answer, 11, MSG_WAITALL), 11);
                assert_string_equal(answer, "from inside");
                line = read_line(running.out);
                assert_string_equal(line, expected);
        }
        finish(&running, &o);
        expect_status(&o, 0);
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
        spawn_relay(s, &m->running, input[0], rule, (const char *const[]){"many", number, count, NULL});
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

/* Those that find no descriptor wait in the kernel, and nsrun-net waits for one to be free without asking
 * for it all the time. */
TEST(without_descriptors_connections_wait_and_none_is_lost) {
        const struct rlimit few = {.rlim_cur = 24, .rlim_max = 24};
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
        const struct rlimit few = {.rlim_cur = 40, .rlim_max = 40};
        unsigned short port = 0;
        pid_t server = start_serving(serve_too_large, &port), helper;
        const struct site *s = *state;
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/client:ro", self),
                            *udp = text_of("--allow=udp:localhost:%u", port),
                            *tcp = text_of("--allow=localhost:%u", port), *number = text_of("%u", port),
                            *line = NULL;
        const char *const argv[] = {program(),     "run",  "--project", s->project, "--bind",  bind,
                                    "--net=allow", udp,    tcp,         "--",       "/client", "relay",
                                    "datagrams",   number, "60",        NULL};
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;
        int input[2];

        assert_int_equal(pipe2(input, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv, .cwd = s->root, .standard_input = input[0]}, &running);
        close_fdp(&input[0]);
        line = read_line(running.out);
        assert_string_equal(line, "begun\n");
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
        _cleanup_free_ const char **argv =
                nsrun_argv(s, (const char *const[]){"--net=allow", "--", "echo", "ran", NULL});

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
        relay_main(argc, argv);
        return run_all_tests();
}
