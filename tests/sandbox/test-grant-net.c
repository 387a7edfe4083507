/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun grant ID --allow HOST` and `--publish PORT`: a running sandbox's network, of a session, a run and a
 * program with the library. */
#include "grant-net.h"
#include "library.h"

TEST(a_host_is_allowed_to_a_session_until_it_is_taken_back) {
        const struct site *s = *state;
        pid_t server;
        unsigned short port = serve_at_home(&server);
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/client:ro", self),
                            *id = START(s, "--net=allow", "--bind", bind),
                            *host = text_of("localhost:%u", port),
                            *refused = text_of("%s: Connection refused\n", host),
                            *reached = text_of("%s: at home\n", host), *line = text_of("--allow %s", host),
                            *again = text_of("nsrun: the sandbox has it already: %s", host),
                            *none = text_of(
                                    "nsrun: nothing of that was granted: %s; 'nsrun inspect' lists it",
                                    host),
                            *number = text_of("%u", port);
        _cleanup_outcome_ struct outcome o = {0};
        struct running inside;

        JOIN(s, id, &o, "--", "/client", "reach", host);
        expect_out(&o, refused);
        expect_granted(s, id, "--allow", host);
        JOIN(s, id, &o, "--", "/client", "reach", host, host);
        expect_in(o.out, reached);
        assert_null(strstr(o.out, "refused"));
        expect_inspected(s, id, line, true);
        expect_refused(s, id, "--allow", host, again);
        expect_revoked(s, id, "--allow", host);
        JOIN(s, id, &o, "--", "/client", "reach", host);
        expect_out(&o, refused);
        expect_inspected(s, id, line, false);
        NSRUN(s, &o, "revoke", id, "--allow", host);
        expect_refusal(&o, 125, none);
        /* The port is the sandbox's own again; and while a server has it nothing else can. */
        SPAWN_JOINED(s, id, &inside, "--", "/client", "serve", number);
        await_line(inside.out, "serves\n");
        free(again);
        again = text_of("nsrun: a server in the sandbox has a port of it: %s; end that server first", host);
        expect_refused(s, id, "--allow", host, again);
        expect_inspected(s, id, line, false);
        JOIN(s, id, &o, "--", "/client", "reach", host);
        expect_in(o.out, "from inside");
        outcome_clear(&o);
        finish(&inside, &o);
        stop_serving(server);
        end_session(s, id, "stop");
}

TEST(a_host_is_allowed_to_a_run_until_it_is_taken_back) {
        const struct site *s = *state;
        pid_t server;
        unsigned short port = serve_at_home(&server);
        _cleanup_free_ char *host = text_of("localhost:%u", port),
                            *refused = text_of("%s: Connection refused\n", host),
                            *reached = text_of("%s: at home\n", host);
        struct client c;

        CLIENT_START(s, &c, "--net=allow", "reach", host, "wait", host, "wait", host, "wait", host);
        await_line(c.running.out, refused);
        expect_granted(s, c.id, "--allow", host);
        client_go(&c);
        await_line(c.running.out, reached);
        expect_revoked(s, c.id, "--allow", host);
        client_go(&c);
        await_line(c.running.out, refused);
        expect_granted(s, c.id, "--allow", host);
        client_go(&c);
        await_line(c.running.out, reached);
        client_end(&c, 0);
        stop_serving(server);
}

TEST(a_connection_that_no_rule_allows_any_more_is_ended) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), taken = -EBADF,
                            other = -EBADF;
        const struct site *s = *state;
        _cleanup_free_ char *host = NULL, *both = NULL, *ended = NULL;
        socklen_t n = sizeof(at);
        struct client c;
        char byte;

        assert_int_equal(bind(fd, (const struct sockaddr *)&at, n), 0);
        assert_int_equal(listen(fd, 8), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
        host = text_of("localhost:%u", ntohs(at.sin_port));
        both = text_of("localhost:%u,1", ntohs(at.sin_port));
        ended = text_of("%s: Connection reset by peer\n", host);
        CLIENT_START(s, &c, "--net=allow", "reach", "localhost:2", "wait", host, "wait", host);
        await_line(c.running.out, "localhost:2: Connection refused\n");
        expect_granted(s, c.id, "--allow", host);
        expect_granted(s, c.id, "--allow", both);
        client_go(&c);
        taken = accept(fd, NULL, NULL);
        while (recv(taken, &byte, 1, 0) > 0)
                ;
        /* Another rule has it still. */
        expect_revoked(s, c.id, "--allow", host);
        assert_int_equal(send(taken, "x", 1, MSG_NOSIGNAL), 1);
        close_fdp(&taken);
        free(host);
        host = text_of("localhost:%u: x\n", ntohs(at.sin_port));
        await_line(c.running.out, host);
        client_go(&c);
        other = accept(fd, NULL, NULL);
        while (recv(other, &byte, 1, 0) > 0)
                ;
        expect_revoked(s, c.id, "--allow", both);
        await_line(c.running.out, ended);
        client_end(&c, 0);
}

TEST(a_port_of_a_run_is_published_until_it_is_taken_back) {
        const struct site *s = *state;
        unsigned short port = port_of_host();
        _cleanup_free_ char *word = text_of("%u:4567", port),
                            *line = text_of("--publish 127.0.0.1:%s", word);
        _cleanup_outcome_ struct outcome o = {0};
        struct client c;

        CLIENT_START(s, &c, "--net=allow", "serve", "4567", "4568");
        await_line(c.running.out, "serves\n");
        expect_at_port(port, "Connection refused");
        expect_granted(s, c.id, "--publish", word);
        expect_inspected(s, c.id, line, true);
        expect_at_port(port, "from inside");
        expect_revoked(s, c.id, "--publish", word);
        expect_inspected(s, c.id, line, false);
        expect_at_port(port, "Connection refused");
        NSRUN(s, &o, "stop", c.id);
        client_end(&c, 128 + SIGTERM);
}

TEST(what_a_start_refuses_of_the_network_is_refused) {
        static const struct {
                const char *option, *value, *said;
        } cases[] = {
                {"--allow", "good.test:53",
                 "nsrun: --allow: port 53 is the sandbox's own name server's: good.test:53; write a name, "
                 "*.NAME, an address, ADDRESS/BITS, localhost or @LIST, and :PORT,PORT after it"},
                {"--allow", "[fd6e:7372:756e::9]:80",
                 "nsrun: --allow: addresses of fd6e:7372:756e::/48 stand for names inside: "
                 "[fd6e:7372:756e::9]:80; write a name, *.NAME, an address, ADDRESS/BITS, localhost or @LIST, "
                 "and :PORT,PORT after it"},
                {"--allow", "[fe80::1]:80",
                 "nsrun: --allow: a link-local address is none without its interface: [fe80::1]:80; write a "
                 "name, *.NAME, an address, ADDRESS/BITS, localhost or @LIST, and :PORT,PORT after it"},
                {"--allow", "@nobody",
                 "nsrun: --allow: no list of that name: @nobody; 'nsrun net list' has them all"},
                {"--allow", "bad.test",
                 "nsrun: two rules contradict: --allow bad.test:80,443, --deny bad.test; leave one of the two "
                 "out"},
                {"--allow", "a.bad.test:9",
                 "nsrun: two rules contradict: --allow a.bad.test:9, --deny *.bad.test; leave one of the two "
                 "out"},
                {"--allow", "10.1.0.0/16",
                 "nsrun: two rules contradict: --allow 10.1.0.0/16:80,443, --deny 10.0.0.0/8; leave one of "
                 "the two out"},
                {"--allow", "good.test:8080", "nsrun: the sandbox has it already: good.test:8080"},
                {"--allow", "localhost:99",
                 "nsrun: no server inside can have port 99, which --publish leads to: it is taken for "
                 "--allow localhost:99; let the server inside have another port"},
                {"--publish", "0",
                 "nsrun: --publish: not a port: 0; write PORT, PORT:INSIDE or ADDRESS:PORT:INSIDE"},
                {"--publish", "127.77.0.1:9:8081",
                 "nsrun: no server inside can have port 8081, which --publish leads to: it is taken for "
                 "--allow *.test:8081; let the server inside have another port"},
        };
        const struct site *s = *state;
        _cleanup_free_ char *publish = text_of("--publish=%u:99", port_of_host()),
                            *id = START(s, "--net=allow", "--allow=good.test:8080", "--allow=*.test:8081",
                                        "--deny=bad.test", "--deny=*.bad.test", "--deny=10.0.0.0/8",
                                        publish),
                            *none = START(s, "--net=none"), *hosts = START(s, "--net=host");
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                expect_refused(s, id, cases[i].option, cases[i].value, cases[i].said);
        for (const char **other = (const char *[]){none, hosts, NULL}; *other; other++) {
                expect_refused(s, *other, "--allow", "good.test",
                               "nsrun: --allow is of no use without its network; start the sandbox with "
                               "--net=allow");
                expect_refused(s, *other, "--publish", "8080",
                               "nsrun: --publish is of no use without its network; start the sandbox with "
                               "--net=allow");
        }
        NSRUN(s, &o, "grant", id, "--allow", "a.test", "--ro", "/");
        expect_refusal(&o, 125,
                       "nsrun: one of --ro, --rw, --overlay, --allow and --publish, once; see 'nsrun grant "
                       "--help'");
        NSRUN(s, &o, "revoke", id, "--save");
        expect_refusal(&o, 125,
                       "nsrun: --save goes with a path, --allow or --publish; see 'nsrun revoke --help'");
        NSRUN(s, &o, "revoke", id, "--allow", "good.test:8080");
        expect_refusal(&o, 125,
                       "nsrun: nothing of that was granted: good.test:8080; 'nsrun inspect' lists it");
        SESSION(s, &o, "stop", none);
        SESSION(s, &o, "stop", hosts);
        end_session(s, id, "stop");
}

/* Names, a wildcard beside them and a range, on a host with a network of its own, where all of it runs. */
TEST(names_and_ranges_are_reached_as_if_they_had_been_allowed_before) {
        static const char script[] =
                "set -eu; mkfifo in out; exec 4<>in 5<>out\n"
                "\"$NSRUN\" run --project \"$1\" --bind \"$2:/client:ro\" --net=allow --allow=good.test:8080 "
                "-- /client reach good.test:8080 wait a.wild.test:8080 wait a.wild.test:8080 wait "
                "other.test:8080 wait 10.0.0.9:8080 wait a.wild.test:8080 good.test:8080 other.test:8080 "
                "<&4 >&5 & id=$!\n"
                "answer() { read -r line <&5; echo \"$line\"; }; go() { echo >&4; answer; }\n"
                "answer; go; \"$NSRUN\" grant $id --allow '*.wild.test:8080'; go\n"
                "\"$NSRUN\" grant $id --allow other.test:8080; go\n"
                "\"$NSRUN\" grant $id --allow 10.0.0.0/24:8080; go\n"
                "\"$NSRUN\" revoke $id --allow '*.wild.test:8080' 2>&1; go; answer; answer; wait $id\n";
        const struct site *s = *state;
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL);
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        world_make(s, &w, "203.0.113.5 good.test other.test a.wild.test\n");
        assert_int_equal(setenv("NSRUN", program(), 1), 0);
        run(&(struct request){.argv = OPTIONS("sh", "-c", script, "sh", s->project, self),
                              .cwd = s->root,
                              .in_child = world_stage,
                              .data = &w},
            &o);
        collect_orphans();
        expect_out(&o, "good.test:8080: to 203.0.113.5: 2 bytes\n"
                       "a.wild.test:8080: no such name\n"
                       "a.wild.test:8080: to 203.0.113.5: 2 bytes\n"
                       "other.test:8080: to 203.0.113.5: 2 bytes\n"
                       "10.0.0.9:8080: to 10.0.0.9: 2 bytes\n" REVOKED "a.wild.test:8080: no such name\n"
                       "good.test:8080: to 203.0.113.5: 2 bytes\n"
                       "other.test:8080: to 203.0.113.5: 2 bytes\n");
        expect_status(&o, 0);
}

TEST(a_host_is_saved_for_the_project_and_taken_out_again) {
        const struct site *s = *state;
        _cleanup_free_ char *config = path_of(s->home, ".config/nsrun/config.json"), *text = NULL,
                            *line = NULL, *id = START(s, "--net=allow"),
                            *has = text_of("%s: \"allow\" has good.test:80,443 for %s\n", config,
                                           s->project),
                            *hasnt = text_of("%s: \"allow\" has no more good.test:80,443 for %s\n", config,
                                             s->project);
        _cleanup_outcome_ struct outcome o = {0};

        NSRUN(s, &o, "grant", id, "--save", "--allow", "good.test");
        assert_string_equal(o.err, "");
        expect_out(&o, has);
        line = text_of("\"%s\": {\"allow\": [\"good.test:80,443\"]}", s->project);
        text = file_text(config);
        expect_in(text, line);
        RUN(s, &o, "--net=allow", "--", "true");
        expect_status(&o, 0);
        NSRUN(s, &o, "revoke", id, "--allow", "good.test", "--save");
        expect_out(&o, hasnt);
        expect_status(&o, 0);
        free(TAKE_PTR(text));
        text = file_text(config);
        assert_null(strstr(text, "good.test"));
        end_session(s, id, "stop");
}

TEST(what_is_granted_of_the_network_is_in_the_log) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--log", "--net=allow"), *granted = NULL, *revoked = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        expect_granted(s, id, "--allow", "good.test");
        expect_revoked(s, id, "--allow", "good.test");
        end_session(s, id, "stop");
        NSRUN(s, &o, "log");
        granted = text_of("  -  granted good.test:80,443: sandbox %s, option allow\n", id);
        revoked = text_of("  -  revoked good.test:80,443: sandbox %s, option allow\n", id);
        expect_in(o.out, granted);
        expect_in(o.out, revoked);
}

/* What leads to nsrun-net is found outside, as the plan is; inside there is no way to it. */
TEST(no_command_reaches_what_grants_are_asked_of) {
        static const char look[] = "ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c network-control; "
                                   "ls -R ~/.cache/nsrun \"$XDG_RUNTIME_DIR\"/nsrun 2>/dev/null | grep -c "
                                   "network-control; grep -c network-control /proc/net/unix; echo looked";
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--net=allow"), *own = NULL, *found = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct client c;

        CLIENT_START(s, &c, "--net=allow", "serve", "4567", "4568");
        await_line(c.running.out, "serves\n");
        found = text_of("ls -l /proc/%s/fd | grep -c network-control", c.id);
        run(&(struct request){.argv = OPTIONS("sh", "-c", found), .cwd = s->root}, &o);
        expect_out(&o, "1\n");
        own = text_of("%s/nsrun/sessions/%s/network-control", s->runtime, id);
        assert_int_equal(access(own, F_OK), 0);
        JOIN_SCRIPT(s, id, &o, look);
        expect_out(&o, "0\n0\n0\nlooked\n");
        RUN(s, &o, "--net=allow", "--", "sh", "-c", look);
        expect_out(&o, "0\n0\n0\nlooked\n");
        /* The user's own program finds no sandbox in there to grant anything to. */
        found = (free(found), text_of("%s grant %s --allow good.test", program(), c.id));
        JOIN_SCRIPT(s, id, &o, found);
        assert_int_not_equal(o.status, 0);
        expect_inspected(s, c.id, "good.test", false);
        NSRUN(s, &o, "stop", c.id);
        client_end(&c, 128 + SIGTERM);
        end_session(s, id, "stop");
}

TEST(a_host_is_allowed_by_the_library) {
        const struct site *s = *state;
        pid_t server;
        unsigned short port = serve_at_home(&server);
        _cleanup_free_ char *host = text_of("localhost:%u", port), *revoked = text_of("--allow %s", host),
                            *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/client:ro", self),
                            *script = text_of("/client reach %s >one; mv one was; until [ -e go ]; do sleep "
                                              ".01; done; /client reach %s >two; mv go gone; until [ -e go "
                                              "]; do sleep .01; done; /client reach %s >three",
                                              host, host, host),
                            *was = path_of(s->project, "was"), *go = path_of(s->project, "go"),
                            *refused = text_of("%s: Connection refused\n", host),
                            *reached = text_of("%s: at home\n", host);
        struct nsrun_policy *policy = make_policy(s, OPTIONS("sh", "-c", script));
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_plan *plan = NULL;
        struct nsrun_error err = {0};

        assert_int_equal(nsrun_policy_set(policy, "net", "allow", &err), 0);
        assert_int_equal(nsrun_policy_set(policy, "bind", bind, &err), 0);
        assert_int_equal(nsrun_plan_new(policy, &plan, &err), 0);
        assert_int_equal(nsrun_start(plan, NULL, &sandbox, &err), 0);
        while (access(was, F_OK) < 0)
                usleep(1000);
        assert_int_equal(nsrun_grant(sandbox, "allow", host, &err), 0);
        expect_error(nsrun_grant(sandbox, "allow", "good.test:0", &err), -EINVAL, NSRUN_STAGE_USAGE, &err,
                     "--allow: not a port: good.test:0; write a name, *.NAME, an address, ADDRESS/BITS, "
                     "localhost or @LIST, and :PORT,PORT after it");
        make_file(s->project, "go", "");
        while (access(go, F_OK) == 0)
                usleep(1000);
        expect_good(nsrun_revoke(sandbox, revoked, &err), &err);
        expect_error(nsrun_revoke(sandbox, NULL, &err), -ENOENT, NSRUN_STAGE_SUPERVISE, &err,
                     "nothing of that was granted; 'nsrun inspect' lists it");
        make_file(s->project, "go", "");
        expect_end(sandbox, 0, 0);
        for (const char **name = (const char *[]){"was", "two", "three", NULL}; *name; name++) {
                _cleanup_free_ char *path = path_of(s->project, *name), *text = file_text(path);

                assert_string_equal(text, streq(*name, "two") ? reached : refused);
        }
        assert_null(nsrun_sandbox_free(sandbox));
        assert_null(nsrun_plan_free(plan));
        assert_null(nsrun_policy_free(policy));
        stop_serving(server);
}

/* A wildcard waits at all addresses, and at another port beside those of a rule from before. */
TEST(no_command_waits_at_a_port_of_a_rule) {
        const struct site *s = *state;
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/client:ro", self),
                            *id = START(s, "--net=allow", "--allow=good.test:8765", "--bind", bind);
        _cleanup_outcome_ struct outcome o = {0};

        JOIN(s, id, &o, "--", "/client", "share", "8766");
        expect_out(&o, "Success\n");
        expect_granted(s, id, "--allow", "*.test:8765,8766");
        JOIN(s, id, &o, "--", "/client", "share", "8766");
        expect_out(&o, "Address already in use\n");
        expect_revoked(s, id, "--allow", "*.test:8765,8766");
        JOIN(s, id, &o, "--", "/client", "share", "8766");
        expect_out(&o, "Success\n");
        end_session(s, id, "stop");
}

static _Noreturn void share_port(const char *port) {
        struct sockaddr_in at = {.sin_family = AF_INET,
                                 .sin_port = htons((unsigned short)atoi(port)),
                                 .sin_addr = {htonl(INADDR_LOOPBACK)}};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

        if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0)
                _exit(95);
        errno = 0;
        if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
                (void)listen(fd, 1);
        (void)puts(strerror(errno));
        _exit(fflush(stdout) ? 97 : 0);
}

int main(int argc, char **argv) {
        if (argc == 3 && streq(argv[1], "share"))
                share_port(argv[2]);
        client_main(argc, argv);
        return run_all_tests();
}
