/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-net's life: it is as confined as said, ends with its run, and when it is killed there is no network;
 * sessions; what is refused before anything starts. */
#include "net.h"

#include <sys/wait.h>

#include "../seed.h"
#include "session.h"

#define NO_NETWORK "reach", "good.test:8080", "wait", "good.test:8080", "127.0.0.1:8080"

static void spawn_client(struct world *w, struct running *ret, int input, const char *const *words) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/client:ro", self);
        const char *argv[32] = {program(), "run",    "--project",   w->site->project,
                                "--bind",  bind,     "--net=allow", "--allow=good.test:8080",
                                "--",      "/client"};
        size_t n = 10;

        while (*words)
                argv[n++] = *words++;
        spawn(&(struct request){.argv = argv,
                                .cwd = w->site->root,
                                .standard_input = input,
                                .in_child = world_stage,
                                .data = w},
              ret);
}

TEST(without_its_helper_a_sandbox_has_no_network) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;
        struct running running;
        int input[2];
        pid_t helper;

        world_make(*state, &w, "203.0.113.5 good.test\n");
        assert_int_equal(pipe2(input, O_CLOEXEC), 0);
        spawn_client(&w, &running, input[0], OPTIONS(NO_NETWORK));
        close_fdp(&input[0]);
        await_line(running.out, "good.test:8080: to 203.0.113.5: 2 bytes\n");
        helper = net_helper_of(running.pid);
        assert_true(helper > 0);
        assert_int_equal(kill(helper, SIGKILL), 0);
        while (net_helper_of(running.pid) > 0)
                ;
        assert_int_equal(write(input[1], "\n", 1), 1);
        close_fdp(&input[1]);
        finish(&running, &o);
        collect_orphans();
        expect_out(&o, "good.test:8080: no such name\n127.0.0.1:8080: Connection refused\n");
        expect_status(&o, 0);
}

/* nsrun-net, when connections are under way; nsrun, at that time and while it starts. */
TEST(killed_at_any_moment_there_is_no_way_out_and_nothing_left) {
        unsigned seed = (unsigned)test_seed();
        _cleanup_world_ struct world w;

        world_make(*state, &w, "203.0.113.5 good.test\n");
        for (int i = 0; i < size_of_test(6, 140); i++) {
                _cleanup_outcome_ struct outcome o = {0};
                _cleanup_free_ char *left = NULL, *log = NULL;
                struct running running;
                bool is_helper = i % 3 == 0;

                assert_int_equal(truncate(w.log, 0), 0);
                spawn_client(&w, &running, 0, OPTIONS("hammer"));
                if (i % 3 < 2) {
                        await_line(running.out, "begun\n");
                }
                pause_up_to(&seed, i % 3 < 2 ? 5000000 : 20000000);
                assert_int_equal(kill(is_helper ? net_helper_of(running.pid) : running.pid, SIGKILL), 0);
                finish(&running, &o);
                collect_orphans();
                if (is_helper)
                        expect_out(&o, "no network\n");
                expect_not_in(o.out, "a way out");
                assert_int_equal(o.status, is_helper ? 0 : 1000 + SIGKILL);
                log = file_text(w.log);
                expect_not_in(log, "udp");
                expect_not_in(log, "tcp 10.");
                left = leftovers(*state);
                if (left)
                        fail_msg("left behind: %s", left);
        }
}

/* The network of a session lives by its monitor. */
TEST(a_killed_monitor_takes_the_network_along) {
        const struct site *s = *state;
        unsigned seed = (unsigned)test_seed();

        for (int i = 0; i < size_of_test(2, 60); i++) {
                _cleanup_free_ char *id = START(s, "--net=allow", "--allow=good.test");
                _cleanup_close_ int monitor = session_pidfd(s, id, "monitor"),
                                    init = session_pidfd(s, id, "init"), helper = -EBADF;
                _cleanup_outcome_ struct outcome o = {0};
                struct running joined;
                pid_t pid;

                pid = net_helper_of((pid_t)session_number(s, id, "monitor"));
                assert_true(pid > 0);
                helper = open_pidfd(pid);
                SPAWN_JOINED(s, id, &joined, "--", "sh", "-c",
                             "while getent ahostsv4 good.test >/dev/null; do echo found; done");
                await_line(joined.out, "found\n");
                pause_up_to(&seed, 5000000);
                send_signal(monitor, SIGKILL);
                finish(&joined, &o);
                expect_end_of(init, "pid 1");
                expect_end_of(helper, "nsrun-net");
                collect_orphans();
                sweep(s);
                expect_nothing_left(s);
        }
}

static char *status_line(pid_t pid, const char *name) {
        _cleanup_free_ char *path = text_of("/proc/%d/status", (int)pid), *text = file_text(path);
        char *at = text ? strstr(text, name) : NULL;

        assert_non_null(at);
        at[strcspn(at, "\n")] = '\0';
        return strdup(at);
}

TEST(the_helper_has_no_right_that_it_does_not_need) {
        static const char *const lines[] = {"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000",
                                            "CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"};
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;
        _cleanup_free_ char *line = NULL;
        struct running running;
        int input[2];
        pid_t helper;

        world_make(*state, &w, "203.0.113.5 good.test\n");
        assert_int_equal(pipe2(input, O_CLOEXEC), 0);
        spawn_client(&w, &running, input[0], OPTIONS("reach", "good.test:8080", "wait"));
        close_fdp(&input[0]);
        line = read_line(running.out);
        helper = net_helper_of(running.pid);
        assert_true(helper > 0);
        for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
                _cleanup_free_ char *name = strndup(lines[i], strcspn(lines[i], "\t")),
                                    *seen = status_line(helper, name);

                assert_string_equal(seen, lines[i]);
        }
        /* When nsrun is killed nothing is left: site_teardown() looks. */
        assert_int_equal(kill(running.pid, SIGKILL), 0);
        close_fdp(&input[1]);
        finish(&running, &o);
        collect_orphans();
}

TEST(the_helper_is_not_for_people) {
        const struct site *s = *state;
        const char *const argv[] = {getenv("NSRUN_NET"), NULL};
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_refusal(&o, 125, "nsrun-net: started by nsrun, not by people");
}

static void no_helper(void *data) {
        assert_int_equal(setenv("NSRUN_NET", data, 1), 0);
}

TEST(without_nsrun_net_nothing_starts) {
        const struct site *s = *state;
        _cleanup_free_ char *missing = path_of(s->root, "missing"),
                            *line = text_of(
                                    "nsrun: nsrun-net can't be executed: %s: No such file or directory; "
                                    "install nsrun completely",
                                    missing);
        _cleanup_free_ const char **argv =
                nsrun_argv(s, OPTIONS("--net=allow", "--", "sh", "-c", "echo ran"));
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .cwd = s->root, .in_child = no_helper, .data = missing}, &o);
        expect_refusal(&o, 125, line);
        outcome_clear(&o);
        run(&(struct request){.argv = argv,
                              .cwd = s->root,
                              .in_child = no_helper,
                              .data = (void *)(uintptr_t) "/bin/false"},
            &o);
        expect_status(&o, 125);
        expect_in(o.err, "nsrun-net has ended before it was ready");
        assert_string_equal(o.out, "");
        RUN(s, &o, "--net=allow", "--", "echo", "ran");
        expect_out(&o, "ran\n");
}

/* Libraries are not looked for in the caller's folder, where the command may have put one. */
TEST(its_helper_loads_nothing_from_the_project) {
        const struct site *s = *state;
        static const char path[] = "LD_LIBRARY_PATH=/nowhere:";
        const char *const control[] = {"env", path, program(), "--version", NULL};
        const char *const loads[] = {"env", path, "cat", "/dev/null", NULL};
        const char *const run_it[] = {
                "env", path,   program(), "run", "--net=allow", "--unsetenv=LD_LIBRARY_PATH",
                "--",  "echo", "ran",     NULL};
        _cleanup_outcome_ struct outcome o = {0}, version = {0}, cat = {0};

        make_file(s->project, "libc.so.6", "none\n");
        run(&(struct request){.argv = loads, .cwd = s->project}, &cat);
        assert_int_not_equal(cat.status, 0);
        run(&(struct request){.argv = control, .cwd = s->project}, &version);
        /* An nsrun that is linked dynamically, as with sanitizers, doesn't start so. */
        if (version.status != 0)
                return;
        run(&(struct request){.argv = run_it, .cwd = s->project}, &o);
        expect_status(&o, 0);
        expect_out(&o, "ran\n");
}

TEST(rules_that_make_no_sense_are_refused) {
        static const struct {
                const char *options[3];
                const char *line;
        } cases[] = {
                {{"--allow=a.test"}, "--allow is of no use without its network; add --net=allow"},
                {{"--net=none", "--publish=80"},
                 "--publish is of no use without its network; add --net=allow"},
                {{"--net=allow", "--allow=a.test", "--deny=*.test"},
                 "two rules contradict: --allow a.test:80,443, --deny *.test; leave one of the two out"},
                {{"--net=allow", "--allow=localhost:8080", "--deny=127.0.0.0/8"},
                 "two rules contradict: --allow localhost:8080, --deny 127.0.0.0/8; leave one of the two out"},
                {{"--net=allow", "--allow=*.test:8080", "--publish=9001:8080"},
                 "no server inside can have port 8080, which --publish leads to: it is taken for --allow "
                 "*.test:8080; let the server inside have another port"},
                {{"--net=allow", "--allow=localhost:8080", "--publish=8080"},
                 "no server inside can have port 8080, which --publish leads to: it is taken for --allow "
                 "localhost:8080; let the server inside have another port"},
                {{"--net=allow", "--allow=@nobody"},
                 "--allow: no list of that name: @nobody; 'nsrun net list' has them all"},
        };
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_outcome_ struct outcome o = {0};

                RUN(s, &o, cases[i].options[0], cases[i].options[1] ? cases[i].options[1] : "--net=host",
                    cases[i].options[2] ? cases[i].options[2] : "--new-session", "--", "true");
                expect_status(&o, 125);
                expect_in(o.err, cases[i].line);
        }
}

/* No interface has these addresses: a route alone makes them the host's. */
static void stage_with_local_routes(void *data) {
        world_stage(data);
        if ((errno = world_add_local_route("203.0.113.7", 32)) ||
            (errno = world_add_local_route("203.0.113.64", 29)))
                stage_fail("a route");
        /* Names have such addresses where the host has one. */
        (void)world_add_address("2001:db8::1");
        (void)world_add_local_route("2001:db8:7::", 64);
}

TEST(an_address_that_a_route_leads_home_is_not_connected_to) {
        const struct site *s = *state;
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/client:ro", self);
        bool has_v6 = access("/proc/net/if_inet6", F_OK) == 0;
        const char *six = has_v6 ? "six.test:8080" : NULL;
        const char *const *argv = OPTIONS(program(), "run", "--project", s->project, "--bind", bind,
                                          "--net=allow", "--allow=*.test:8080", "--", "/client", "reach",
                                          "good.test:8080", "route.test:8080", "range.test:8080", six);
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_world_ struct world w;

        world_make(s, &w,
                   "203.0.113.5 good.test\n203.0.113.7 route.test\n203.0.113.66 range.test\n"
                   "2001:db8:7::5 six.test\n");
        run(&(struct request){.argv = argv, .cwd = s->root, .in_child = stage_with_local_routes, .data = &w},
            &o);
        collect_orphans();
        expect_in(o.out,
                  "good.test:8080: to 203.0.113.5: 2 bytes\nroute.test:8080: Connection reset by peer\n"
                  "range.test:8080: Connection reset by peer\n");
        expect_in(o.err, "route.test:8080 isn't allowed, since it leads to 203.0.113.7, ");
        expect_in(o.err, "range.test:8080 isn't allowed, since it leads to 203.0.113.66");
        if (has_v6)
                expect_in(o.err, "six.test:8080 isn't allowed, since it leads to 2001:db8:7::5");
        /* Without these routes the server has the addresses, and they are reached. */
        WORLD_RUN(&w, &o, OPTIONS("--net=allow", "--allow=*.test:8080"), "reach", "route.test:8080");
        expect_out(&o, "route.test:8080: to 203.0.113.7: 2 bytes\n");
}

TEST(a_session_has_one_network_and_tells_each_command_what_was_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START(s, "--net=allow", "--allow=good.test"),
                            *path = path_of(s->root, "report"), *report = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        JOIN(s, id, &o, "--", "getent", "hosts", "bad.test");
        expect_status(&o, 2);
        assert_string_equal(
                o.err, "nsrun: note: network: bad.test isn't allowed; allowed: good.test:80,443; to "
                       "allow it, start a session with --allow bad.test (ports 80 and 443; another port: "
                       "--allow bad.test:PORT)\n");
        JOIN(s, id, &o, "--", "getent", "ahostsv4", "good.test");
        expect_status(&o, 0);
        expect_in(o.out, "198.18.0.16");
        assert_string_equal(o.err, "");
        NSRUN_IN(s->root, &o, "bash", "--session", id, "--", "getent hosts bad.test");
        /* The model reads it once. */
        expect_out(&o, "$ getent hosts bad.test\n\n\nexit status: 2\nnote: network: bad.test isn't allowed; "
                       "allowed: good.test:80,443; to allow it, start a session with --allow bad.test "
                       "(ports 80 and 443; another port: --allow bad.test:PORT)");
        assert_string_equal(o.err, "");
        JOIN(s, id, &o, "--report", path, "--", "getent", "hosts", "worse.test");
        report = file_text(path);
        expect_in(report, "{\"host\":\"worse.test\",\"verdict\":\"refused\",\"count\":");
        expect_not_in(report, "\"bad.test");
        SESSION(s, &o, "stop", id);
        expect_status(&o, 0);
        collect_orphans();
}

int main(int argc, char **argv) {
        client_main(argc, argv);
        return run_all_tests();
}
