/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a command does so that a grant of the network outlives its revocation, or gives more than it says. */
#include <netdb.h>
#include <poll.h>
#include <sys/resource.h>

#include "base/sys.h"
#include "grant-net.h"

/* By a process that may have no more descriptors than the command has on their way. */
static void run_with_few(const struct site *s, struct outcome *ret, const char *what, const char *id,
                         const char *value) {
        _cleanup_free_ char *script =
                text_of("ulimit -n 256; exec \"%s\" %s %s --allow %s", program(), what, id, value);

        outcome_clear(ret);
        run(&(struct request){.argv = OPTIONS("sh", "-c", script), .cwd = s->project}, ret);
}

TEST(a_command_that_floods_with_descriptors_keeps_no_connection) {
        const struct site *s = *state;
        pid_t server;
        unsigned short port = serve_at_home(&server);
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/client:ro", self),
                            *id = START(s, "--net=allow", "--bind", bind),
                            *host = text_of("localhost:%u", port),
                            *refused = text_of("%s: Connection refused\n", host);
        _cleanup_outcome_ struct outcome o = {0};
        struct running inside;

        expect_granted(s, id, "--allow", host);
        SPAWN_JOINED(s, id, &inside, "--", "/client", "flood", "400");
        await_line(inside.out, "on their way\n");
        /* The sockets of a grant come by descriptors; nsrun-net answers. */
        run_with_few(s, &o, "grant", id, "localhost:1");
        expect_refusal(
                &o, 125,
                "nsrun: the sandbox's network can't be given it: localhost:1: Too many references: cannot splice");
        run_with_few(s, &o, "revoke", id, host);
        assert_string_equal(o.err, REVOKED);
        expect_status(&o, 0);
        JOIN(s, id, &o, "--", "/client", "reach", host);
        expect_out(&o, refused);
        expect_inspected(s, id, host, false);
        outcome_clear(&o);
        assert_int_equal(kill(inside.pid, SIGTERM), 0);
        finish(&inside, &o);
        stop_serving(server);
        end_session(s, id, "stop");
}

/* UDP takes what descriptors nsrun-net has. */
TEST(what_is_granted_finds_descriptors_beside_a_flood) {
        const struct rlimit few = {220, 220};
        const struct site *s = *state;
        pid_t server;
        unsigned short port = serve_at_home(&server);
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/client:ro", self),
                            *udp = text_of("%u", port_of_host()),
                            *allow = text_of("--allow=udp:localhost:%s", udp),
                            *id = START(s, "--net=allow", allow, "--bind", bind),
                            *host = text_of("localhost:%u", port), *reached = text_of("%s: at home\n", host);
        _cleanup_outcome_ struct outcome o = {0};

        assert_int_equal(
                prlimit(net_helper_of((pid_t)session_number(s, id, "monitor")), RLIMIT_NOFILE, &few, NULL),
                0);
        JOIN(s, id, &o, "--", "/client", "datagrams", udp, "300");
        expect_out(&o, "sent\n");
        expect_granted(s, id, "--allow", host);
        JOIN(s, id, &o, "--", "/client", "reach", host);
        expect_out(&o, reached);
        JOIN(s, id, &o, "--", "/client", "datagrams", udp, "300");
        expect_revoked(s, id, "--allow", host);
        stop_serving(server);
        end_session(s, id, "stop");
}

/* A name's address is judged by what is allowed now, by TCP and by UDP. */
TEST(a_connection_by_name_doesnt_outlive_the_range_that_allowed_its_address) {
        static const char script[] =
                "set -eu; mkfifo in out; exec 4<>in 5<>out; trap 'kill $id' EXIT\n"
                "\"$NSRUN\" run --project \"$1\" --bind \"$2:/client:ro\" --net=allow "
                "--allow=private.test:8080 --allow=udp:private.test:8080 -- /client hold private.test 8080 "
                "<&4 >&5 & id=$!\n"
                "answer() { read -r line <&5; echo \"$line\"; }; go() { echo >&4; answer; }\n"
                "answer; go; \"$NSRUN\" grant $id --allow udp:10.0.0.9:8080; go\n"
                "\"$NSRUN\" revoke $id --allow udp:10.0.0.9:8080 2>/dev/null; go\n"
                "\"$NSRUN\" grant $id --allow 10.0.0.0/24:8080; go\n"
                "\"$NSRUN\" revoke $id --allow 10.0.0.0/24:8080 2>/dev/null; go; wait $id; trap - EXIT\n";
        const struct site *s = *state;
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL);
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        world_make(s, &w, "10.0.0.9 private.test\n");
        assert_int_equal(setenv("NSRUN", program(), 1), 0);
        run(&(struct request){.argv = OPTIONS("sh", "-c", script, "sh", s->project, self),
                              .cwd = s->root,
                              .in_child = world_stage,
                              .data = &w},
            &o);
        collect_orphans();
        expect_out(&o, "waits\n"
                       "UDP is silent\n"
                       "UDP answers\n"
                       "UDP is silent\n"
                       "TCP is there\n"
                       "TCP is gone\n");
        expect_status(&o, 0);
}

/* nsrun-keys has 127.0.0.1 at that port, and nothing else. */
TEST(a_host_at_a_keys_port_is_not_the_keys) {
        static const char script[] =
                "set -eu; mkfifo in out; exec 4<>in 5<>out; trap 'kill $id' EXIT\n"
                "\"$NSRUN\" run --project \"$1\" --bind \"$2:/client:ro\" --net=allow "
                "--key=BOT=file:$PWD/bot --key-use=BOT=https://api.example.com,variable=API "
                "-- /client reach localhost:1 wait other.test:19180 wait localhost:1 <&4 >&5 & id=$!\n"
                "answer() { read -r line <&5; echo \"$line\"; }; go() { echo >&4; answer; }\n"
                "answer; \"$NSRUN\" grant $id --allow other.test:19180; go\n"
                "for host in localhost '*.test' 192.0.2.0/24; do\n"
                "\"$NSRUN\" grant $id --allow $host:19180 2>&1 || echo $?; done; go; wait $id; trap - EXIT\n";
        const char *keys = getenv("NSRUN_KEYS");
        const struct site *s = *state;
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL);
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        if (!keys || access(keys, X_OK) < 0) {
                print_message("skipped: nsrun was built without libcurl\n");
                skip();
        }
        make_file(s->root, "bot", "key-0123456789abcdef\n");
        world_make(s, &w, "203.0.113.5 good.test\n");
        assert_int_equal(setenv("NSRUN", program(), 1), 0);
        run(&(struct request){.argv = OPTIONS("sh", "-c", script, "sh", s->project, self),
                              .cwd = s->root,
                              .in_child = world_stage,
                              .data = &w},
            &o);
        collect_orphans();
#define REFUSED(host)                                                                         \
        "nsrun: --allow " host ":19180 would take port 19180 inside, which --key has; leave " \
        "that port out of it\n125\n"
        expect_out(&o, "localhost:1: Connection refused\n"
                       "other.test:19180: Connection reset by peer\n" REFUSED("localhost") REFUSED("*.test")
                               REFUSED("192.0.2.0/24") "localhost:1: Connection refused\n");
        expect_status(&o, 0);
}

/* Has N descriptors on their way, until it is killed. */
static _Noreturn void put_on_their_way(int n) {
        int ends[2], many[SYS_FDS_MOST];

        if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) < 0)
                _exit(95);
        for (size_t i = 0; i < ARRAY_SIZE(many); i++)
                many[i] = ends[1];
        for (; n > 0; n -= (int)ARRAY_SIZE(many))
                if (sys_send_fds(ends[0], "", 1, many, SYS_FDS_MOST) < 0)
                        _exit(96);
        (void)puts("on their way");
        (void)fflush(stdout);
        for (;;)
                (void)pause();
}

/* From N sockets each one. */
static _Noreturn void send_datagrams(const char *port, int n) {
        const struct sockaddr_in at = {.sin_family = AF_INET,
                                       .sin_port = htons((unsigned short)atoi(port)),
                                       .sin_addr = {htonl(INADDR_LOOPBACK)}};

        for (; n > 0; n--) {
                int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

                if (sendto(fd, "x", 1, 0, (const struct sockaddr *)&at, sizeof(at)) != 1)
                        _exit(95);
        }
        (void)puts("sent");
        _exit(fflush(stdout) ? 97 : 0);
}

/* At each line of input: sends by UDP, thrice; connects by TCP; and looks whether that is there. */
static _Noreturn void hold(const char *host, const char *port) {
        const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
        int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
            udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        struct addrinfo *list;

        if (getaddrinfo(host, port, &hints, &list) != 0 || connect(udp, list->ai_addr, list->ai_addrlen) < 0)
                _exit(95);
        (void)puts("waits");
        for (int i = 0; i < 5; i++) {
                struct pollfd in = {.fd = i < 3 ? udp : tcp, .events = POLLIN};
                char byte;

                if (fflush(stdout) || read(0, &byte, 1) != 1)
                        _exit(98);
                if (i < 3)
                        (void)(send(udp, "x", 1, MSG_NOSIGNAL) == 1 && poll(&in, 1, 1000) == 1 &&
                                               recv(udp, &byte, 1, 0) == 1
                                       ? puts("UDP answers")
                                       : puts("UDP is silent"));
                else if (i == 3 && connect(tcp, list->ai_addr, list->ai_addrlen) < 0)
                        _exit(96);
                else
                        (void)puts(poll(&in, 1, i == 3 ? 0 : 1000) == 0 ? "TCP is there" : "TCP is gone");
        }
        _exit(fflush(stdout) ? 97 : 0);
}

int main(int argc, char **argv) {
        if (argc == 3 && streq(argv[1], "flood"))
                put_on_their_way(atoi(argv[2]));
        if (argc == 4 && streq(argv[1], "datagrams"))
                send_datagrams(argv[2], atoi(argv[3]));
        if (argc == 4 && streq(argv[1], "hold"))
                hold(argv[2], argv[3]);
        client_main(argc, argv);
        return run_all_tests();
}
