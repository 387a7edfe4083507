/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --net=allow: what rules name is reached, by name and by address, and nothing else; and what may not be
 * reached although a name leads there. */
#include "net.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
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
        assert_string_equal(
                o.err, "nsrun: note: network: other.test isn't allowed, good.test:8081 isn't allowed, "
                       "wild.test isn't allowed, b.wild.test isn't allowed (--deny), no.such.test isn't "
                       "allowed; allowed: good.test:8080, *.wild.test:8081; to allow them: --allow "
                       "other.test --allow good.test:8081 --allow wild.test "
                       "--allow no.such.test (ports 80 and 443; another port: --allow other.test:PORT)\n");
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

/* The control's lines that aren't "open" are of what an ordinary user has on no host. */
/* On a machine at work one of the ways may fail by itself. */
static void expect_ways_outside(struct world *w, struct outcome *o, const char *const *ways, size_t n) {
        for (int tries = 3; tries > 0; tries--) {
                size_t n_open = 0;

                WORLD_CONTROL(w, o, "attempt");
                for (size_t i = 0; i < n; i++) {
                        _cleanup_free_ char *line = text_of("%s: open\n", ways[i]);

                        n_open += strstr(o->out, line) != NULL;
                        if (tries == 1)
                                expect_in(o->out, line);
                }
                if (n_open == n)
                        return;
        }
}

TEST(no_other_way_leads_out) {
        static const char *const open_outside[] = {
                "an address",        "a name server",       "the metadata",           "the host's loopback",
                "all addresses",     "an address in IPv6",  "an address of IPv6",     "udp to a name server",
                "udp to an address", "udp to the metadata", "udp to an allowed name", "an abstract socket"};
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        world_make(*state, &w, hosts);
        expect_ways_outside(&w, &o, open_outside, ARRAY_SIZE(open_outside));
        assert_true(w.n_packets > 20);
        assert_int_equal(truncate(w.log, 0), 0);
        for (int i = 0; i < 2; i++) {
                WORLD_RUN(&w, &o,
                          OPTIONS("--net=allow", "--allow=good.test:8080",
                                  i == 0 ? "--seccomp=default" : "--seccomp=nested"),
                          "attempt");
                expect_not_in(o.out, "open");
                expect_in(o.out, "a route of a nested namespace: refused\n");
                expect_in(o.out, "a network of a nested namespace: refused\n");
                expect_status(&o, 0);
                assert_int_equal(w.n_packets, 0);
        }
        expect_log(&w, "");
        WORLD_RUN(&w, &o, OPTIONS("--net=allow", "--allow=good.test:8080"), "reach", "good.test:8080");
        expect_in(o.out, "2 bytes");
        assert_true(w.n_packets > 4);
}

/* Whatever a request says of where it wants to go. */
TEST(a_connection_goes_to_the_host_that_its_name_stands_for) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        world_make(*state, &w, hosts);
        WORLD_RUN(&w, &o, OPTIONS("--net=allow", "--allow=good.test:8080", "--allow=private.test:8080"),
                  "pretend", "good.test:8080", "private.test:8080");
        expect_out(&o, "good.test:8080: to 203.0.113.5: 105 bytes\n"
                       "private.test:8080: Connection reset by peer\n");
        expect_log(&w, "tcp 203.0.113.5\n");
}

/* Types that carry text, long labels, another server: nobody outside hears of them. */
TEST(no_query_of_any_type_leaves) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;
        _cleanup_free_ char *log = NULL;
        const char *line;
        size_t n = 0;

        world_make(*state, &w, hosts);
        WORLD_CONTROL(&w, &o, "ask", "203.0.113.53");
        log = file_text(w.log);
        expect_in(log, "udp\ntcp 53\nudp\n");
        assert_int_equal(truncate(w.log, 0), 0);
        WORLD_RUN(&w, &o, OPTIONS("--net=allow", "--allow=good.test:8080", "--allow=*.wild.test:8080"),
                  "ask", "127.0.0.1", "203.0.113.53");
        expect_in(o.out, "A good.test: code 0, 1 answers\nA good.test by TCP: code 0, 1 answers\n");
        expect_in(o.out, "TXT good.test: code 0, 0 answers\nTXT good.test by TCP: code 0, 0 answers\n");
        expect_in(o.out, "A evil.test: code 3, 0 answers\n");
        expect_in(o.out, "TXT evil.test: code 3, 0 answers\n");
        for (line = o.out; *line; line += strcspn(line, "\n") + 1) {
                _cleanup_free_ char *text = strndup(line, strcspn(line, "\n"));

                /* 35 by either protocol, of each server. */
                if (n++ >= 70)
                        expect_in(text, ": no answer");
                else if (!startswith(text, "A "))
                        expect_in(text, ", 0 answers");
        }
        assert_int_equal(n, 140);
        assert_int_equal(w.n_packets, 0);
        expect_log(&w, "");
}

/* One sandbox's network is nothing to another, nor is what it publishes. */
TEST(another_sandbox_leads_nowhere) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL),
                            *script = text_of("\"$0\" run --project \"$1\" --bind \"$2\" --net=allow "
                                              "--allow=good.test:8080 --publish=9099:4567 -- "
                                              "/client serve 4567 >%s/fifo & read line <%s/fifo; "
                                              "\"$0\" run --project \"$1\" --bind \"$2\" --net=allow "
                                              "--allow=other.test:8081 -- /client reach 198.18.0.16:8080 "
                                              "198.18.0.17:8080 127.0.0.1:9099 host.nsrun.internal:9099 "
                                              "127.0.0.1:4567; \"$3\" reach 127.0.0.1:9099; wait",
                                              s->root, s->root),
                            *bind = text_of("%s:/client:ro", self), *fifo = path_of(s->root, "fifo");
        const char *const argv[] = {"sh", "-c", script, program(), s->project, bind, self, NULL};

        world_make(s, &w, hosts);
        assert_int_equal(mkfifo(fifo, 0600), 0);
        run(&(struct request){.argv = argv, .cwd = s->root, .in_child = world_stage, .data = &w}, &o);
        collect_orphans();
        expect_in(o.out, "198.18.0.16:8080: Connection refused\n198.18.0.17:8080: Connection refused\n"
                         "127.0.0.1:9099: Connection refused\nhost.nsrun.internal:9099: no such name\n"
                         "127.0.0.1:4567: Connection refused\n127.0.0.1:9099: from inside\n");
        expect_log(&w, "");
}

/* The outer one's addresses lead nowhere but to what its own rules allow. */
TEST(a_sandbox_in_a_sandbox_reaches_what_both_allow) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        world_make(s, &w, hosts);
        WORLD_RUN(&w, &o,
                  OPTIONS("--net=allow", "--allow=good.test:8080", "--allow=private.test:8080",
                          "--allow=other.test:8080", "--seccomp=nested",
                          geteuid() == 0 ? "--uid=4321" : "--new-session", "--ro", program(), "--ro",
                          getenv("NSRUN_NET"), "--env", "NSRUN_NET", "--unsetenv", "XDG_CACHE_HOME",
                          "--unsetenv", "XDG_RUNTIME_DIR", "--unsetenv", "XDG_STATE_HOME"),
                  "count", program(), "run", "--bind", "/client:/client:ro", "--net=allow",
                  "--allow=good.test:8080", "--allow=private.test:8080", "--allow=a.wild.test:8080", "--",
                  "/client", "reach", "good.test:8080", "private.test:8080", "other.test:8080",
                  "a.wild.test:8080");
        expect_in(o.out, "good.test:8080: to 203.0.113.5: 2 bytes\n"
                         "private.test:8080: Connection reset by peer\nother.test:8080: no such name\n"
                         "a.wild.test:8080: Connection reset by peer\n");
        expect_in(o.err, "private.test:8080 isn't allowed, since it leads to 10.0.0.5");
        expect_log(&w, "tcp 203.0.113.5\n");
}

TEST(udp_is_carried_where_a_rule_says_so) {
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->root, "report"), *report = NULL,
                            *option = text_of("--report=%s", path);
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        world_make(s, &w, hosts);
        WORLD_CONTROL(&w, &o, "send", "good.test:8080", "private.test:8080");
        expect_out(&o, "good.test:8080: 1 byte\nprivate.test:8080: 1 byte\n");
        assert_int_equal(truncate(w.log, 0), 0);
        WORLD_RUN(&w, &o,
                  OPTIONS("--net=allow", "--allow=udp:good.test:8080", "--allow=udp:203.0.113.9:8080",
                          "--allow=other.test:8080", "--allow=udp:private.test:8080", option),
                  "send", "good.test:8080", "good.test:8080", "203.0.113.9:8080", "good.test:8081",
                  "other.test:8080", "203.0.113.8:8080", "evil.test:8080", "~private.test:8080");
        expect_out(&o, "good.test:8080: 1 byte\ngood.test:8080: 1 byte\n203.0.113.9:8080: 1 byte\n"
                       "good.test:8081: Connection refused\nother.test:8080: Connection refused\n"
                       "203.0.113.8:8080: Network is unreachable\nevil.test:8080: no such name\n"
                       "private.test:8080: Resource temporarily unavailable\n");
        expect_in(o.err, "udp:private.test:8080 isn't allowed, since it leads to 10.0.0.5");
        expect_log(&w, "udp\nudp\nudp\n");
        report = file_text(path);
        expect_in(report,
                  "{\"host\":\"good.test\",\"protocol\":\"udp\",\"port\":8080,\"verdict\":\"allowed\","
                  "\"rule\":\"allow udp:good.test:8080\",\"count\":2,\"sent\":4,\"received\":2,");
        assert_int_equal(truncate(w.log, 0), 0);
        /* At sockets that take all addresses, too; what no rule has is dropped there. */
        WORLD_RUN(&w, &o,
                  OPTIONS("--net=allow", "--allow=udp:*.wild.test:8080", "--allow=udp:good.test:8081"),
                  "send", "a.wild.test:8080", "a.wild.test:8080", "~good.test:8080");
        expect_out(&o, "a.wild.test:8080: 1 byte\na.wild.test:8080: 1 byte\n"
                       "good.test:8080: Resource temporarily unavailable\n");
        expect_log(&w, "udp\nudp\n");
        WORLD_RUN(&w, &o, OPTIONS("--net=allow", "--allow=udp:good.test:8080"), "reach", "good.test:8080");
        expect_out(&o, "good.test:8080: Connection refused\n");
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
                            *publish = NULL;
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
        spawn(&(struct request){.argv = OPTIONS(program(), "run", "--project", s->project, "--bind", bind,
                                                "--net=allow", publish, "--", "/client", "serve", "4567"),
                                .cwd = s->root},
              &running);
        await_line(running.out, "serves\n");
        ask_port(port, answer, sizeof(answer));
        assert_string_equal(answer, "from inside");
        outcome_clear(&o);
        finish(&running, &o);
        expect_status(&o, 0);
}

/* --------------------------------------------------- addresses that come later */

static void take_a_moment(void) {
        const struct timespec moment = {.tv_nsec = 20 * 1000000};

        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
}

static void late_stage(void *data) {
        const struct world *w = data;
        pid_t parent, pid;

        world_stage(data);
        parent = getpid();
        pid = fork();
        if (pid != 0)
                return;
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                _exit(1);
        for (int fd = 0; fd < 256; fd++)
                (void)close(fd);
        /* The host gets the address when the file is there. */
        while (access(w->site->root, F_OK) == 0) {
                _cleanup_free_ char *now = path_of(w->site->root, "now"),
                                    *done = path_of(w->site->root, "done");

                if (access(now, F_OK) != 0)
                        take_a_moment();
                else if (world_add_address("203.0.113.7") == 0)
                        _exit(close(creat(done, 0600)));
                else
                        _exit(1);
        }
        _exit(1);
}

TEST(an_address_that_the_host_gets_later_is_its_own_from_then_on) {
        const struct site *s = *state;
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/client:ro", self),
                            *done = path_of(s->root, "done");
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;
        struct running running;
        int input[2];

        world_make(s, &w, "203.0.113.7 late.test\n");
        assert_int_equal(pipe2(input, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = OPTIONS(program(), "run", "--project", s->project, "--bind", bind,
                                                "--net=allow", "--allow=late.test:8080", "--", "/client",
                                                "reach", "late.test:8080", "wait", "late.test:8080"),
                                .cwd = s->root,
                                .standard_input = input[0],
                                .in_child = late_stage,
                                .data = &w},
              &running);
        close_fdp(&input[0]);
        await_line(running.out, "late.test:8080: to 203.0.113.7: 2 bytes\n");
        make_file(s->root, "now", "");
        while (access(done, F_OK) != 0)
                take_a_moment();
        assert_int_equal(write(input[1], "\n", 1), 1);
        close_fdp(&input[1]);
        finish(&running, &o);
        collect_orphans();
        expect_out(&o, "late.test:8080: Connection reset by peer\n");
        expect_in(o.err, "late.test:8080 isn't allowed, since it leads to 203.0.113.7");
}

/* ------------------------------------------------------------ what was used */

/* The lines that have `mark`, each without its times, and sorted as they are. */
static char *lines_with(const char *text, const char *mark) {
        char *all = strdup(""), *copy = strdup(text), *rest = NULL;

        for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
                char *times = strstr(line, ",\"first\":"), *old = all;

                if (!strstr(line, mark))
                        continue;
                assert_non_null(times);
                assert_non_null(strstr(times, ",\"last\":"));
                *times = '\0';
                all = text_of("%s%s}\n", old, line);
                free(old);
        }
        free(copy);
        return all;
}

TEST(each_host_is_reported_with_its_verdict_rule_and_bytes) {
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->root, "report"), *report = NULL, *seen = NULL, *events = NULL,
                            *option = text_of("--report=%s", path);
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        world_make(s, &w, hosts);
        WORLD_RUN(&w, &o,
                  OPTIONS("--net=allow", "--allow=good.test:8080", "--allow=*.wild.test:8081",
                          "--allow=private.test:8080", "--deny=b.wild.test", option, "--status-fd=2"),
                  "reach", "good.test:8080", "good.test:8080", "good.test:8081", "private.test:8080");
        report = file_text(path);
        seen = lines_with(report, "\"host\":");
        assert_string_equal(seen,
                            "{\"host\":\"good.test\",\"port\":8080,\"verdict\":\"allowed\","
                            "\"rule\":\"allow good.test:8080\",\"count\":2,\"sent\":4,\"received\":46}\n"
                            "{\"host\":\"good.test\",\"port\":8081,\"verdict\":\"refused\",\"count\":1}\n"
                            "{\"host\":\"private.test\",\"port\":8080,\"verdict\":\"refused\","
                            "\"why\":\"leads to 10.0.0.5\",\"count\":1}\n");
        events = lines_with(o.err, "\"event\":\"network\"");
        assert_string_equal(
                events,
                "{\"event\":\"network\",\"host\":\"good.test\",\"port\":8080,\"verdict\":\"allowed\","
                "\"rule\":\"allow good.test:8080\",\"count\":2,\"sent\":4,\"received\":46}\n"
                "{\"event\":\"network\",\"host\":\"good.test\",\"port\":8081,\"verdict\":"
                "\"refused\",\"count\":1}\n"
                "{\"event\":\"network\",\"host\":\"private.test\",\"port\":8080,\"verdict\":"
                "\"refused\",\"why\":\"leads to 10.0.0.5\",\"count\":1}\n");
}

/* However many names a command asks for: so many lines, and one that counts the others. */
TEST(a_report_is_bounded) {
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->root, "report"), *report = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        size_t n = 0;

        RUN(s, &o, "--net=allow", "--deny=*.bad.test", "--report", path, "--", "sh", "-c",
            "getent hosts a.bad.test; i=0; while [ $i -lt 300 ]; do i=$((i + 1)); echo n$i.test; done | xargs "
            "getent ahostsv4; exit 0");
        expect_status(&o, 0);
        report = file_text(path);
        for (const char *at = report; (at = strstr(at, "\"verdict\":")); at++)
                n++;
        assert_int_equal(n, 257);
        expect_in(report, "{\"host\":\"a.bad.test\",\"verdict\":\"refused\",\"rule\":\"deny *.bad.test\",");
        expect_in(report, "{\"verdict\":\"not told apart\",\"count\":");
}

int main(int argc, char **argv) {
        client_main(argc, argv);
        return run_all_tests();
}
