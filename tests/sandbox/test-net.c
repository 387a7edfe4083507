/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --net=allow: what rules name is reached, by name and by address, and nothing else; and what may not be
 * reached although a name leads there. */
#include "net.h"

#include <netinet/in.h>
#include <sys/wait.h>

static const char hosts[] = "203.0.113.5 good.test other.test a.wild.test\n10.0.0.5 private.test\n"
                            "169.254.169.254 meta.test\n203.0.113.1 own.test\n127.0.0.1 home.test\n"
                            "100.64.0.9 carrier.test\n";

static void expect_log(const struct world *w, const char *text) {
        _cleanup_free_ char *log = file_text(w->log);

        assert_string_equal(log, text);
}

TEST(a_name_is_reached_where_a_rule_has_it) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        world_make(*state, &w, hosts);
        WORLD_CONTROL(&w, &o, "reach", "good.test:8080", "203.0.113.5:8080");
        expect_out(&o,
                   "good.test:8080: to 203.0.113.5: 2 bytes\n203.0.113.5:8080: to 203.0.113.5: 2 bytes\n");
        WORLD_RUN(&w, &o, OPTIONS("--net=allow", "--allow=good.test:8080", "--allow=*.wild.test:8080"),
                  "reach", "good.test:8080", "GOOD.test.:8080", "a.wild.test:8080");
        expect_out(&o, "good.test:8080: to 203.0.113.5: 2 bytes\nGOOD.test.:8080: to 203.0.113.5: 2 bytes\n"
                       "a.wild.test:8080: to 203.0.113.5: 2 bytes\n");
        assert_string_equal(o.err, "");
        expect_status(&o, 0);
        expect_log(&w,
                   "tcp 203.0.113.5\ntcp 203.0.113.5\ntcp 203.0.113.5\ntcp 203.0.113.5\ntcp 203.0.113.5\n");
}

TEST(an_address_and_a_range_are_reached_where_a_rule_has_them) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        world_make(*state, &w, hosts);
        WORLD_RUN(&w, &o, OPTIONS("--net=allow", "--allow=203.0.113.5:8080", "--allow=10.0.0.0/24:8080"),
                  "reach", "203.0.113.5:8080", "10.0.0.9:8080", "203.0.113.6:8080", "10.0.1.9:8080",
                  "203.0.113.5:8081");
        expect_out(&o, "203.0.113.5:8080: to 203.0.113.5: 2 bytes\n10.0.0.9:8080: to 10.0.0.9: 2 bytes\n"
                       "203.0.113.6:8080: Network is unreachable\n10.0.1.9:8080: Network is unreachable\n"
                       "203.0.113.5:8081: Connection refused\n");
        expect_status(&o, 0);
        expect_log(&w, "tcp 203.0.113.5\ntcp 10.0.0.9\n");
}

/* Each of them at once: nothing waits for a time-out. */
TEST(what_no_rule_has_is_refused_at_once_and_said) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        world_make(*state, &w, hosts);
        WORLD_CONTROL(&w, &o, "reach", "other.test:8080");
        expect_out(&o, "other.test:8080: to 203.0.113.5: 2 bytes\n");
        make_file(w.site->root, "empty", "");
        assert_int_equal(truncate(w.log, 0), 0);
        WORLD_RUN(&w, &o,
                  OPTIONS("--net=allow", "--allow=good.test:8080", "--allow=*.wild.test:8081",
                          "--deny=b.wild.test"),
                  "reach", "other.test:8080", "good.test:8081", "203.0.113.5:8080", "[2001:db8::1]:8080",
                  "wild.test:8081", "b.wild.test:8081", "no.such.test:80", "127.0.0.1:8080");
        expect_out(&o, "other.test:8080: no such name\n"
                       "good.test:8081: Connection reset by peer\n"
                       "203.0.113.5:8080: Network is unreachable\n"
                       "[2001:db8::1]:8080: no such name\n"
                       "wild.test:8081: no such name\nb.wild.test:8081: no such name\n"
                       "no.such.test:80: no such name\n127.0.0.1:8080: Connection refused\n");
        assert_string_equal(o.err,
                            "nsrun: note: network: other.test isn't allowed, good.test:8081 isn't allowed, "
                            "wild.test isn't allowed, b.wild.test isn't allowed, no.such.test isn't "
                            "allowed; allowed: good.test:8080, *.wild.test:8081\n");
        expect_log(&w, "");
}

TEST(a_name_that_leads_home_is_not_followed) {
        static const char *const names[] = {"private.test:8080", "meta.test:8080", "own.test:8080",
                                            "home.test:8080", "carrier.test:8080"};
        static const char *const ranges[] = {"--allow=10.0.0.5:8080", "--allow=169.254.169.254:8080",
                                             "--allow=203.0.113.1:8080", "--allow=localhost:8080",
                                             "--allow=100.64.0.0/10:8080"};
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        world_make(*state, &w, hosts);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_free_ char *rule = text_of("--allow=%s", names[i]),
                                    *refused = text_of("%s: Connection reset by peer\n", names[i]);

                WORLD_CONTROL(&w, &o, "reach", names[i]);
                expect_in(o.out, "2 bytes");
                assert_int_equal(truncate(w.log, 0), 0);
                WORLD_RUN(&w, &o, OPTIONS("--net=allow", rule), "reach", names[i]);
                expect_out(&o, refused);
                expect_in(o.err, "isn't allowed, since it leads to ");
                /* Neither does a range that is wider than such addresses are. */
                WORLD_RUN(&w, &o, OPTIONS("--net=allow", rule, "--allow=0.0.0.0/0:8080"), "reach", names[i]);
                expect_out(&o, refused);
                expect_log(&w, "");
                if (streq(names[i], "home.test:8080"))
                        continue;
                WORLD_RUN(&w, &o, OPTIONS("--net=allow", rule, ranges[i]), "reach", names[i]);
                expect_in(o.out, "2 bytes");
        }
}

/* The name leads to a public address first, and to a private one when it is asked for again. */
FULL_TEST(a_name_that_changes_its_mind_is_not_followed_home, site_setup, site_teardown) {
        const struct site *s = *state;
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/client:ro", self),
                            *line = NULL;
        _cleanup_world_ struct world w;
        const char *argv[64] = {program(), "run",     "--project",   s->project,
                                "--bind",  bind,      "--net=allow", "--allow=turn.test:8080",
                                "--",      "/client", "reach"};
        struct running running;
        struct outcome o = {0};
        int input[2], n = 11, fd;

        world_make(s, &w, "203.0.113.5 turn.test\n");
        for (int i = 0; i < 8; i++) {
                argv[n++] = "turn.test:8080";
                argv[n++] = "wait";
        }
        assert_int_equal(pipe2(input, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv,
                                .cwd = s->root,
                                .standard_input = input[0],
                                .in_child = world_stage,
                                .data = &w},
              &running);
        close_fdp(&input[0]);
        line = read_line(running.out);
        assert_string_equal(line, "turn.test:8080: to 203.0.113.5: 2 bytes\n");
        fd = open(w.hosts, O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_int_equal(write(fd, "10.0.0.5 turn.test\n", 19), 19);
        close_fdp(&fd);
        for (int i = 0; i < 7; i++) {
                (void)usleep(1000000);
                assert_int_equal(write(input[1], "\n", 1), 1);
                free(line);
                line = read_line(running.out);
                expect_not_in(line, "10.0.0.5");
        }
        assert_string_equal(line, "turn.test:8080: Connection reset by peer\n");
        close_fdp(&input[1]);
        finish(&running, &o);
        collect_orphans();
        expect_in(o.err, "turn.test:8080 isn't allowed, since it leads to 10.0.0.5");
        outcome_clear(&o);
}

TEST(no_other_way_leads_out) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;
        _cleanup_free_ char *log = NULL;

        world_make(*state, &w, hosts);
        WORLD_CONTROL(&w, &o, "attempt");
        expect_in(o.out, "udp to a name server: open\nudp to an address: open\nudp to the metadata: open\n");
        expect_in(o.out, "an address in IPv6: open\n");
        log = file_text(w.log);
        expect_in(log, "udp\nudp\n");
        assert_int_equal(truncate(w.log, 0), 0);
        for (int i = 0; i < 2; i++) {
                WORLD_RUN(&w, &o,
                          OPTIONS("--net=allow", "--allow=good.test:8080",
                                  i == 0 ? "--seccomp=default" : "--seccomp=nested"),
                          "attempt");
                expect_not_in(o.out, "open");
                expect_in(o.out, "a route of a nested namespace: refused\n");
                expect_status(&o, 0);
        }
        expect_log(&w, "");
}

/* No query of the sandbox's leaves; one of the host's does, when a name that a rule has is connected to. */
TEST(the_name_server_asks_nobody) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;
        _cleanup_free_ char *log = NULL;

        world_make(*state, &w, hosts);
        WORLD_RUN(&w, &o, OPTIONS("--net=allow", "--allow=good.test:8080", "--allow=*.secret.test:8080"),
                  "reach", "c3RvbGVu.evil.test:8080", "c3RvbGVu.good.test:8080", "*.secret.test:8080",
                  "x.secret.test:8081");
        expect_out(&o, "c3RvbGVu.evil.test:8080: no such name\nc3RvbGVu.good.test:8080: no such name\n"
                       "*.secret.test:8080: no such name\nx.secret.test:8081: Connection refused\n");
        expect_log(&w, "");
        WORLD_RUN(&w, &o, OPTIONS("--net=allow", "--allow=*.secret.test:8080"), "reach",
                  "x.secret.test:8080");
        expect_out(&o, "x.secret.test:8080: Connection reset by peer\n");
        log = file_text(w.log);
        expect_in(log, "udp\n");
}

/* --------------------------------------------------- the host's loopback, and back */

static int listen_here(unsigned short *ret_port) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        socklen_t n = sizeof(at);

        assert_int_equal(bind(fd, (const struct sockaddr *)&at, n), 0);
        assert_int_equal(listen(fd, 8), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
        *ret_port = ntohs(at.sin_port);
        return fd;
}

static void run_client(const struct site *s, struct outcome *o, const char *const *options,
                       const char *where) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/client:ro", self);
        const char *argv[24] = {"--bind", bind};
        size_t n = 2;

        while (*options)
                argv[n++] = *options++;
        argv[n++] = "--";
        argv[n++] = "/client";
        argv[n++] = "reach";
        argv[n] = where;
        outcome_clear(o);
        run_nsrun(s, o, argv);
}

TEST(a_service_of_the_host_is_reached_at_the_port_that_a_rule_names) {
        const struct site *s = *state;
        unsigned short port = 0;
        _cleanup_close_ int fd = listen_here(&port);
        _cleanup_free_ char *rule = text_of("--allow=localhost:%u", port),
                            *here = text_of("127.0.0.1:%u", port),
                            *named = text_of("host.nsrun.internal:%u", port),
                            *refused = text_of("127.0.0.1:%u: Connection refused\n", port);
        _cleanup_outcome_ struct outcome o = {0};
        pid_t pid = fork();

        if (pid == 0) {
                for (;;) {
                        int c = accept(fd, NULL, NULL);
                        char byte;

                        while (recv(c, &byte, 1, 0) > 0)
                                ;
                        (void)send(c, "here", 4, MSG_NOSIGNAL);
                        close_fdp(&c);
                }
        }
        run_client(s, &o, OPTIONS("--net=allow", rule), here);
        expect_in(o.out, ": here\n");
        run_client(s, &o, OPTIONS("--net=allow", rule), named);
        expect_in(o.out, ": here\n");
        run_client(s, &o, OPTIONS("--net=allow", "--allow=localhost:1"), here);
        expect_out(&o, refused);
        run_client(s, &o, OPTIONS("--net=allow", "--allow=localhost:1"), named);
        expect_in(o.out, ": Connection refused\n");
        run_client(s, &o, OPTIONS("--net=allow"), named);
        expect_in(o.out, ": no such name\n");
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void ask_port(unsigned short port, char *to, size_t size) {
        struct sockaddr_in at = {
                .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
        _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ssize_t n;

        memset(to, 0, size);
        assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
        (void)send(fd, "x", 1, MSG_NOSIGNAL);
        (void)shutdown(fd, SHUT_WR);
        for (size_t length = 0; length < size - 1 && (n = recv(fd, to + length, size - 1 - length, 0)) > 0;)
                length += (size_t)n;
}

TEST(a_published_port_leads_into_the_sandbox) {
        const struct site *s = *state;
        unsigned short port = 0;
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/client:ro", self),
                            *publish = NULL, *line = NULL;
        char answer[32];
        int fd = listen_here(&port);
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        publish = text_of("--publish=%u:4567", port);
        RUN(s, &o, "--net=allow", publish, "--", "true");
        expect_status(&o, 125);
        expect_in(o.err, "the host's port can't be had: --publish 127.0.0.1:");
        expect_in(o.err, "Address already in use; choose another PORT, with PORT:INSIDE");
        close_fdp(&fd);
        spawn(&(struct request){.argv = (const char *const[]){program(), "run", "--project", s->project,
                                                              "--bind", bind, "--net=allow", publish, "--",
                                                              "/client", "serve", "4567", NULL},
                                .cwd = s->root},
              &running);
        line = read_line(running.out);
        assert_string_equal(line, "serves\n");
        ask_port(port, answer, sizeof(answer));
        assert_string_equal(answer, "from inside");
        outcome_clear(&o);
        finish(&running, &o);
        expect_status(&o, 0);
}

int main(int argc, char **argv) {
        client_main(argc, argv);
        return run_all_tests();
}
