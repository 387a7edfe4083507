/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun run --explain` of ports: which one a command didn't get, or didn't reach, and why. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "harness.h"

/* Runs a shell's command with --explain and an option. */
static void explained(const struct site *s, struct outcome *ret, const char *option, const char *command) {
        RUN(s, ret, "--explain", option, "--", "sh", "-c", command);
}

/* A socket of this process that listens at a port of the host's loopback. */
static int listen_on_the_host(unsigned *ret_port) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        socklen_t size = sizeof(at);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
        assert_int_equal(listen(fd, 4), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
        *ret_port = ntohs(at.sin_port);
        return fd;
}

TEST(a_service_of_the_hosts_loopback_is_told_with_its_option) {
        const struct site *s = *state;
        unsigned port;
        _cleanup_close_ int fd = listen_on_the_host(&port);
        _cleanup_free_ char *command = text_of("bash -c 'exec 3<>/dev/tcp/127.0.0.1/%u'", port),
                            *allow = text_of("--allow=localhost:%u", port),
                            *none = text_of(
                                    "nsrun: reason: port %u of localhost is the sandbox's own, and nobody "
                                    "listens there: --net=allow --allow localhost:%u reaches the host's\n",
                                    port, port),
                            *other = text_of(
                                    "nsrun: reason: port %u of localhost is the sandbox's own, and nobody "
                                    "listens there: --allow localhost:%u reaches the host's\n",
                                    port, port);
        _cleanup_outcome_ struct outcome alone = {0}, refused = {0}, allowed = {0}, absent = {0};

        explained(s, &alone, "--net=none", command);
        expect_in(alone.err, none);
        explained(s, &refused, "--net=allow", command);
        expect_in(refused.err, other);
        /* The advice, followed. */
        RUN(s, &allowed, "--explain", "--net=allow", allow, "--", "sh", "-c", command);
        assert_int_equal(allowed.status, 0);
        /* Nobody is there on the host either. */
        close_fdp(&fd);
        explained(s, &absent, "--net=allow", command);
        assert_int_equal(absent.status, 1);
        assert_null(strstr(absent.err, "reason: port"));
}

/* Of many such ports the last ones are told, and not one at which somebody listens inside in the end. */
TEST(the_last_ports_of_the_hosts_loopback_are_told) {
        const struct site *s = *state;
        unsigned first, last, served;
        nsrun_unused _cleanup_close_ int first_fd = listen_on_the_host(&first),
                                         last_fd = listen_on_the_host(&last),
                                         served_fd = listen_on_the_host(&served);
        _cleanup_free_ char *command = text_of(
                                    "python3 -c 'import socket, sys\n"
                                    "def ask(port):\n"
                                    "    with socket.socket() as s: s.connect_ex((\"127.0.0.1\", port))\n"
                                    "ask(%u); ask(%u)\n"
                                    "for i in range(70): ask(1 + i)\n"
                                    "l = socket.socket(); l.bind((\"127.0.0.1\", %u)); l.listen()\n"
                                    "ask(%u); ask(%u); sys.exit(1)'",
                                    first, served, served, last, served),
                            *told = text_of("reason: port %u of localhost", last),
                            *old = text_of("reason: port %u of localhost", first),
                            *own = text_of("reason: port %u of localhost", served);
        _cleanup_outcome_ struct outcome o = {0};

        explained(s, &o, "--net=none", command);
        assert_int_equal(o.status, 1);
        expect_in(o.err, told);
        expect_not_in(o.err, old);
        expect_not_in(o.err, own);
}

/* In a network of the command's own all ports are; in the host's one below 1024 is nobody's. */
TEST(a_low_port_is_the_commands_in_its_own_network_and_told_in_the_hosts) {
        static const char take[] = "python3 -c 'import socket; socket.socket().bind((\"\", 81))'";
        const struct site *s = *state;
        _cleanup_free_ char *first = file_text("/proc/sys/net/ipv4/ip_unprivileged_port_start");
        _cleanup_outcome_ struct outcome none = {0}, allow = {0}, host = {0}, refused = {0}, high = {0};

        if (strtoul(first, NULL, 10) < 82)
                skip_because("every port is everybody's here");
        explained(s, &none, "--net=none", take);
        expect_status(&none, 0);
        explained(s, &allow, "--net=allow", take);
        expect_status(&allow, 0);
        explained(s, &host, "--net=host", take);
        assert_int_equal(host.status, 1);
        expect_in(host.err,
                  "nsrun: reason: the network is the host's, and no command has the capability for port 81 "
                  "there: with --net=allow or --net=none the command has ports of its own\n");
        explained(s, &refused, "--net=host",
                  "echo 'listen tcp 0.0.0.0:82: bind: permission denied' >&2; exit 1");
        expect_in(refused.err, "no command has the capability for port 82 there");
        explained(
                s, &high, "--net=host",
                "echo 'listen tcp 0.0.0.0:8082: bind: permission denied; cat: /etc/bind/53: Permission denied at "
                "11:22:33' >&2; exit 1");
        expect_not_in(high.err, "reason");
}

TEST(a_port_that_no_rule_has_for_an_allowed_name_is_told) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0}, had = {0};

        RUN(s, &o, "--explain", "--net=allow", "--allow=good.test", "--", "bash", "-c",
            ": </dev/tcp/good.test/22");
        assert_int_equal(o.status, 1);
        expect_in(o.err, "nsrun: reason: port 22 of good.test is one that no rule has: --allow good.test:22 "
                         "reaches it\n");
        RUN(s, &had, "--explain", "--net=allow", "--allow=good.test:22", "--", "bash", "-c",
            "echo 11:22:33 good.test: Connection refused >&2; echo good.test:22: Connection refused >&2; exit 1");
        expect_not_in(had.err, "reason");
}

int main(void) {
        return run_all_tests();
}
