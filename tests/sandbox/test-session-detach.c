/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands that a session runs in the background: when `nsrun bash --detach` returns and with what. */
#include <arpa/inet.h>
#include <sched.h>
#include <sys/socket.h>

#include "bash.h"
#include "detach.h"

/* ------------------------------------------------------------------ inside */

/* A socket of TCP at localhost's `port` (0: any that is free), which listens, or is connected. */
static int tcp(unsigned port, bool is_v6, bool listens) {
        const struct sockaddr_in v4 = {.sin_family = AF_INET,
                                       .sin_port = htons((uint16_t)port),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
                                        .sin6_port = htons((uint16_t)port),
                                        .sin6_addr = IN6ADDR_LOOPBACK_INIT};
        const void *at = is_v6 ? (const void *)&v6 : (const void *)&v4;
        socklen_t n = is_v6 ? sizeof(v6) : sizeof(v4);
        int fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || (listens ? bind(fd, at, n) < 0 || listen(fd, 1) < 0 : connect(fd, at, n) < 0))
                return -errno;
        return fd;
}

/* "listen PORT", "listen6 PORT", "connect PORT". */
static int inside(const char *what, const char *port) {
        bool listens = !streq(what, "connect");
        int fd = tcp((unsigned)atoi(port), streq(what, "listen6"), listens);

        (void)printf("%s: %s\n", what, fd < 0 ? strerror(-fd) : "ok");
        (void)fflush(NULL);
        while (listens && fd >= 0)
                (void)pause();
        return fd < 0;
}

/* ----------------------------------------------------------------- outside */

/* A port that nobody on the host listens on. */
static unsigned free_port(void) {
        _cleanup_close_ int fd = tcp(0, false, true);
        struct sockaddr_in at;
        socklen_t n = sizeof(at);

        assert_true(fd >= 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
        return ntohs(at.sin_port);
}

/* A session in which this program is /probe. */
static char *start_with_probe(const struct site *s, const char *option) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/probe:ro", self);

        return START(s, "--bind", bind, option);
}

/* --------------------------------------------------------------- the return */

TEST(what_holds_the_output_of_a_sessions_command_has_a_better_way) {
        const struct site *s = *state;
        _cleanup_free_ char *id = start_with_probe(s, NULL);
        _cleanup_outcome_ struct outcome o = {0};
        size_t i = 0;

        do {

                NSRUN_IN(s->root, &o, "bash", "--session", id, "--timeout", deadlines[i],
                         "sleep 1000 & echo ready");
        } while (was_too_short(o.out, "\nready\n", &i));
        expect_status(&o, 124);
        expect_in(o.out, "ready\n");
        expect_in(o.out,
                  "note: the command had ended, but a background process still held its output: start one "
                  "as 'COMMAND >FILE 2>&1 &', or a server in the background (--detach, run_in_background)");
        end_session(s, id, "stop");
}

static void expect_server(const struct site *s, const char *option, const char *how, unsigned port) {
        _cleanup_free_ char *id = start_with_probe(s, option), *number = text_of("%u", port),
                            *script = text_of(UNTIL_GO("begun") "exec /probe %s %u", how, port),
                            *connect = text_of("/probe connect %u", port), *go = path_of(s->project, "go"),
                            *begun = path_of(s->project, "begun");
        _cleanup_outcome_ struct outcome o = {0}, other = {0};
        struct running running;

        SPAWN_DETACH(s, id, &running, "--until-port", number, script);
        await_file(s, "begun");
        assert_false(has_ended(running.pidfd));
        make_file(s->project, "go", "");
        finish(&running, &o);
        expect_status(&o, 0);
        expect_in(o.out, "runs in the background as job1");
        assert_string_equal(o.err, "");
        /* It is another command's, too, and the caller has ended. */
        if (streq(how, "listen")) {
                JOIN_SCRIPT(s, id, &other, connect);
                expect_status(&other, 0);
                expect_out(&other, "connect: ok\n");
        }
        end_session(s, id, "stop");
        (void)unlink(go);
        (void)unlink(begun);
}

TEST_IN_ALL_MODES(a_server_listens_when_nsrun_returns) {
        const struct site *s = *state;

        expect_server(s, "--net=none", "listen", 8000);
        expect_server(s, "--net=host", "listen", free_port());
}

TEST(a_server_may_listen_by_ipv6_alone) {
        const struct site *s = *state;

        if (access("/proc/net/if_inet6", F_OK) < 0)
                skip_because("no IPv6");
        expect_server(s, "--net=none", "listen6", 8000);
}

TEST_IN_ALL_MODES(a_text_was_printed_when_nsrun_returns) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        /* In two writes, with as many bytes before it as a read takes. */
        SPAWN_DETACH(
                s, id, &running, "--until", "ready now",
                "head -c 65532 /dev/zero | tr '\\0' x; printf read; " UNTIL_GO("begun") "echo y now; "
                                                                                        "exec sleep 1000");
        await_file(s, "begun");
        assert_false(has_ended(running.pidfd));
        make_file(s->project, "go", "");
        finish(&running, &o);
        expect_status(&o, 0);
        expect_in(o.out, "xready now\n\n\nruns in the background as job1");
        end_session(s, id, "stop");
}

TEST_IN_ALL_MODES(without_a_condition_it_returns_when_the_command_is_executed) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_told_ struct told t = {0};
        _cleanup_free_ const char **argv = detach_argv(id, OPTIONS("--json", "echo $$; " UNTIL_GO("begun")));
        _cleanup_free_ char *expected = NULL, *log = NULL;
        struct json_object *detached = NULL, *pid = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .cwd = s->root}, &t.outcome);
        expect_status(&t.outcome, 0);
        parse(&t);
        expect_end(&t, "null", "null", "false");
        assert_true(json_object_object_get_ex(t.object, "detached", &detached));
        assert_true(json_object_object_get_ex(detached, "pid", &pid));
        /* Of a pid namespace of the command's own nothing is told. */
        assert_true(is_nested == !pid);
        expected = is_nested ? text_of("{\"session\":\"%s\",\"name\":\"job1\",\"pid\":null,\"ready\":true,"
                                       "\"running\":true}",
                                       id)
                             : text_of("{\"session\":\"%s\",\"name\":\"job1\",\"pid\":%d,\"ready\":true,"
                                       "\"running\":true}",
                                       id, json_object_get_int(pid));
        expect_member(&t, "detached", expected);
        await_file(s, "begun");
        if (!is_nested) {
                log = text_of("%d\n", json_object_get_int(pid));
                /* It is on its way to the log when "begun" is there. */
                await_log(s, id, "job1", log);
                expect_log(s, id, "job1", log);
        }
        make_file(s->project, "go", "");
        SESSION(s, &o, "logs", "--follow", id, "job1");
        expect_status(&o, 0);
        end_session(s, id, "stop");
}

TEST_IN_ALL_MODES(a_command_that_ends_first_fails_with_its_log) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *number = own_sleep(), *told = NULL,
                            *script = text_of("sleep %s & echo no such module; exit 3", number);
        _cleanup_outcome_ struct outcome o = {0};

        DETACH(s, id, &o, "--until-port", "8000", script);
        expect_status(&o, 3);
        told = text_of(
                "$ %s\nno such module\n\n\nexit status: 3\nlog: nsrun session logs %s job1\n"
                "note: the command ended before anything listened on port 8000; nothing of it is left",
                script, id);
        expect_out(&o, told);
        assert_string_equal(o.err, "nsrun: note: the command ended before anything listened on port 8000; "
                                   "nothing of it is left\n");
        assert_false(is_argument_alive(number));
        /* What ended well isn't ready either. */
        DETACH(s, id, &o, "--until", "ready", "echo almost");
        expect_status(&o, 1);
        expect_in(o.out, "exit status: 0\n");
        expect_in(o.out, "note: the command ended before it had printed the text; nothing of it is left");
        DETACH(s, id, &o, "--until", "ready", "kill -9 $$");
        expect_status(&o, 137);
        /* The last word counts. */
        DETACH(s, id, &o, "--until", "ready", "printf ready");
        expect_status(&o, 0);
        end_session(s, id, "stop");
}

TEST_IN_ALL_MODES(a_deadline_ends_all_that_was_started) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *number = own_sleep(), *told = NULL,
                            *script = text_of("echo slow; setsid sleep %s & sleep %s", number, number);
        _cleanup_outcome_ struct outcome o = {0};
        size_t i = 0, n_jobs = 1;

        do
                DETACH(s, id, &o, "--timeout", deadlines[i], "--until", "ready", script);
        while (was_too_short(o.out, "\nslow\n", &i) && ++n_jobs > 0);
        expect_status(&o, 124);
        told = text_of(
                "Error: command timed out after %ss (sent SIGTERM, then SIGKILL).\n\n$ %s\nslow\n\n\n"
                "log: nsrun session logs %s job%zu\nnote: the command was ended before it had printed "
                "the text; nothing of it is left",
                deadlines[i], script, id, n_jobs);
        expect_out(&o, told);
        assert_false(is_argument_alive(number));
        /* Of one that is ready it is no deadline. */
        do
                DETACH(s, id, &o, "--timeout", deadlines[i], "--until", "slow", script);
        while (o.status == 124 && was_too_short("", "slow", &i));
        expect_status(&o, 0);
        (void)sleep((unsigned)atoi(deadlines[i]) + 1);
        assert_true(is_argument_alive(number));
        end_session(s, id, "stop");
        assert_false(is_argument_alive(number));
}

/* -------------------------------------------------------------------- ports */

TEST_IN_ALL_MODES(a_port_that_is_taken_is_no_success) {
        const struct site *s = *state;
        _cleanup_free_ char *id = start_with_probe(s, "--net=none"), *started = path_of(s->project, "x");
        _cleanup_outcome_ struct outcome o = {0};

        DETACH(s, id, &o, "--until-port", "8000", "/probe listen 8000");
        expect_status(&o, 0);
        DETACH(s, id, &o, "--until-port", "8000", "touch x; /probe listen 8000");
        expect_status(&o, 125);
        expect_out(&o,
                   "Error: a process of the session listens on port 8000 already: Address already in use; "
                   "end that one first, or take another port");
        assert_true(access(started, F_OK) < 0);
        DETACH(s, id, &o, "--until-port", "8001", "touch x; /probe listen 8001");
        expect_status(&o, 0);
        assert_true(access(started, F_OK) == 0);
        end_session(s, id, "stop");
}

TEST(a_port_of_the_hosts_is_no_success) {
        const struct site *s = *state;
        _cleanup_free_ char *id = start_with_probe(s, "--net=host"),
                            *none = start_with_probe(s, "--net=none");
        unsigned port = free_port(), other = free_port();
        _cleanup_free_ char *number = text_of("%u", port), *script = text_of("/probe listen %u", port),
                            *later = text_of("%u", other), *told = NULL, *line = NULL;
        _cleanup_close_ int listener = tcp(port, false, true);
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        assert_true(listener >= 0);
        DETACH(s, id, &o, "--until-port", number, script);
        expect_status(&o, 125);
        told = text_of("Error: a process outside of the session listens on port %u already: Address already "
                       "in use; take another port",
                       port);
        expect_out(&o, told);
        /* A network of the session's own has other ports. */
        DETACH(s, none, &o, "--until-port", number, script);
        expect_status(&o, 0);
        SESSION(s, &o, "stop", none);
        expect_status(&o, 0);
        /* One that comes while a command is waited for is not the command's. */
        SPAWN_DETACH(s, id, &running, "--until-port", later, UNTIL_GO("begun"));
        await_file(s, "begun");
        close_fdp(&listener);
        listener = tcp(other, false, true);
        assert_true(listener >= 0);
        make_file(s->project, "go", "");
        outcome_clear(&o);
        finish(&running, &o);
        expect_status(&o, 1);
        line = text_of(
                "nsrun: note: the command ended before anything listened on port %u; nothing of it is "
                "left: a process outside of the session listens there\n",
                other);
        assert_string_equal(o.err, line);
        end_session(s, id, "stop");
}

/* ----------------------------------------------------------------- refusals */

TEST(what_cant_be_detached_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--name=x");
        static const struct {
                const char *arguments[10];
                int status;
                const char *out;
        } cases[] = {
                {{"--detach", "echo"},
                 125,
                 "Error: --detach needs a session, in which the command lives on; start one with 'nsrun session "
                 "start', and give its ID with --session"},
                {{"--session", "x", "--until", "y", "echo"},
                 125,
                 "Error: a port or a text is waited for with --detach alone; add --detach and --session ID"},
                {{"--session", "x", "--until-port", "1", "echo"},
                 125,
                 "Error: a port or a text is waited for with --detach alone; add --detach and --session ID"},
                {{"--session", "x", "--detach", "--until-port", "1", "--until", "y", "echo"},
                 125,
                 "Error: --until-port and --until can't both be waited for; leave one of them out"},
                {{"--session", "x", "--detach", "--json", "--report", "echo"},
                 125,
                 "{\"error\":\"--detach takes no --report: denied calls are told when a command has ended; leave "
                 "one of them out\",\"id\":\"other\"}\n"},
        };
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *number = NULL;
        _cleanup_close_ int fd = -EBADF;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ const char **argv = words_of(OPTIONS(program(), "bash"), cases[i].arguments);

                outcome_clear(&o);
                run(&(struct request){.argv = argv, .cwd = s->project}, &o);
                expect_status(&o, cases[i].status);
                expect_out(&o, cases[i].out);
        }
        fd = open("/dev/null", O_RDONLY);
        number = text_of("%d", fd);
        DETACH(s, id, &o, "--pass-fd", number, "echo");
        expect_status(&o, 125);
        expect_out(&o, "Error: --detach takes no --pass-fd: nobody would close the descriptor; leave one of "
                       "them out");
        DETACH(s, id, &o, "--until-port", "0", "echo");
        expect_status(&o, 125);
        expect_in(o.err, "--until-port");
        DETACH(s, id, &o, "--until-port", "65536", "echo");
        expect_status(&o, 125);
        DETACH(s, id, &o, "--until", "", "echo");
        expect_status(&o, 125);
        /* What can't be executed has no log. */
        DETACH(s, id, &o, "--env", "PATH=/nowhere", "echo");
        expect_status(&o, 125);
        expect_in(o.out, "Error: ");
        SESSION(s, &o, "logs", id);
        expect_out(&o, "NAME         PID STATE      STARTED              COMMAND\n");
        DETACH(s, id, &o, "--until", "hi", "echo hi");
        expect_status(&o, 0);
        end_session(s, id, "stop");
}

TEST(a_log_draws_nothing_at_a_terminal) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *line = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        DETACH(s, id, &o, "--until", "b", "printf 'a\\033[2Jb\\n'");
        SESSION(s, &o, "logs", id, "job1");
        expect_out(&o, "a\033[2Jb\n");
        line = text_of("script -qec '%s session logs %s job1' /dev/null </dev/null", program(), id);
        outcome_clear(&o);
        run(&(struct request){.argv = OPTIONS("sh", "-c", line)}, &o);
        expect_out(&o, "a\\x1b[2Jb\r\n");
        end_session(s, id, "stop");
}

int main(int argc, char **argv) {
        return argc == 3 ? inside(argv[1], argv[2]) : run_all_tests();
}
