/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `--limit`: what the command finds, that it holds, that pid 1 is not touched by it, and
 * what is said where it can't be had. */
#include "probe.h"

#include <sys/inotify.h>
#include <sys/resource.h>

/* "Max open files  64  64  files" of /proc/PID/limits, with single spaces. */
static char *find_limit(const char *text, const char *name) {
        _cleanup_free_ char *found = strdup(text);
        char *line = strstr(found, name), *to;

        if (!line)
                fail_msg("no %s in %s", name, text);
        line[strcspn(line, "\n")] = '\0';
        to = line;
        for (const char *from = line; *from; from++)
                if (*from != ' ' || from[1] != ' ')
                        *to++ = *from;
        *to = '\0';
        return strdup(line);
}

TEST(every_rlimit_reaches_the_command) {
        static const struct {
                const char *value, *name, *line;
        } cases[] = {
                {"as=4G:5G", "Max address space", "Max address space 4294967296 5368709120 bytes"},
                {"core=0", "Max core file size", "Max core file size 0 0 bytes"},
                {"cputime=100:200", "Max cpu time", "Max cpu time 100 200 seconds"},
                {"data=3G", "Max data size", "Max data size 3221225472 3221225472 bytes"},
                {"fsize=1M:2M", "Max file size", "Max file size 1048576 2097152 bytes"},
                {"locks=11", "Max file locks", "Max file locks 11 11 locks"},
                {"memlock=4K:8K", "Max locked memory", "Max locked memory 4096 8192 bytes"},
                {"msgqueue=512", "Max msgqueue size", "Max msgqueue size 512 512 bytes"},
                {"nice=0", "Max nice priority", "Max nice priority 0 0"},
                {"nofile=33:44", "Max open files", "Max open files 33 44 files"},
                {"nproc=55:66", "Max processes", "Max processes 55 66 processes"},
                {"rss=7M", "Max resident set", "Max resident set 7340032 7340032 bytes"},
                {"rtprio=0", "Max realtime priority", "Max realtime priority 0 0"},
                {"rttime=1234", "Max realtime timeout", "Max realtime timeout 1234 1234 us"},
                {"sigpending=9:10", "Max pending signals", "Max pending signals 9 10 signals"},
                {"stack=1M:2M", "Max stack size", "Max stack size 1048576 2097152 bytes"},
        };
        const struct site *s = *state;
        const char *arguments[2 * ARRAY_SIZE(cases) + 4];
        _cleanup_outcome_ struct outcome o = {0}, before = {0};
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                arguments[n++] = "--limit";
                arguments[n++] = cases[i].value;
        }
        arguments[n++] = "cat";
        arguments[n++] = "/proc/self/limits";
        arguments[n] = NULL;
        run_nsrun(s, &o, arguments);
        expect_status(&o, 0);
        /* None of them is what it would have been. */
        RUN(s, &before, "cat", "/proc/self/limits");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *line = find_limit(o.out, cases[i].name),
                                    *old = find_limit(before.out, cases[i].name);

                line[strlen(cases[i].line)] = '\0';
                assert_string_equal(line, cases[i].line);
                if (!streq(cases[i].value, "nice=0") && !streq(cases[i].value, "rtprio=0") &&
                    !streq(cases[i].value, "core=0"))
                        assert_int_not_equal(strncmp(old, cases[i].line, strlen(cases[i].line)), 0);
        }
}

/* Neither a file nor a program of core_pattern's gets one, unless it is asked for. */
TEST(no_core_leaves_the_sandbox) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *line = NULL, *asked = NULL, *theirs = NULL;

        RUN(s, &o, "cat", "/proc/self/limits");
        line = find_limit(o.out, "Max core file size");
        expect_in(line, "Max core file size 1 1 bytes");
        RUN(s, &o, "--limit", "core=4096", "cat", "/proc/self/limits");
        asked = find_limit(o.out, "Max core file size");
        expect_in(asked, "Max core file size 4096 4096 bytes");
        run_outside(s, &o, "ulimit -Hc 0; exec \"$NSRUN\" run --project . -- cat /proc/self/limits");
        theirs = find_limit(o.out, "Max core file size");
        expect_in(theirs, "Max core file size 0 0 bytes");
}

static uint64_t number_in(const char *path) {
        _cleanup_free_ char *text = file_text(path);

        assert_non_null(text);
        return strtoull(text, NULL, 10);
}

/* What the kernel counts for the user on the whole host isn't one sandbox's to use up. */
TEST(half_of_what_is_counted_for_the_user_is_left_to_others) {
        static const struct {
                const char *name;
                int resource;
        } limits[] = {{"Max pending signals", RLIMIT_SIGPENDING}, {"Max msgqueue size", RLIMIT_MSGQUEUE}};
        const struct site *s = *state;
        uint64_t instances = number_in("/proc/sys/fs/inotify/max_user_instances"),
                 watches = number_in("/proc/sys/fs/inotify/max_user_watches");
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/probe:ro", self),
                            *half = text_of("%ju EMFILE\n", (uintmax_t)(instances / 2)),
                            *bound = text_of("%ju\n", (uintmax_t)(watches / 2)), *line = NULL;
        const char *const argv[] = {program(), "run",    "--project", s->project, "--bind",  bind,
                                    "--",      "/probe", "probe",     "inotify",  "forever", NULL};
        _cleanup_outcome_ struct outcome o = {0}, held = {0};
        struct running running;
        int others;

        spawn(&(struct request){.argv = argv, .cwd = s->root}, &running);
        line = read_line(running.out);
        others = inotify_init1(IN_CLOEXEC);
        assert_int_equal(kill(running.pid, SIGTERM), 0);
        finish(&running, &held);
        assert_string_equal(line, half);
        assert_true(others >= 0);
        (void)close(others);
        RUN(s, &o, "cat", "/proc/sys/user/max_inotify_watches");
        expect_out(&o, bound);
        RUN(s, &o, "cat", "/proc/self/limits");
        for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
                _cleanup_free_ char *found = find_limit(o.out, limits[i].name), *half_of = NULL;
                uint64_t own[2]; /* the soft one, the hard one */

                /* Its number is of another type in each C library. */
                assert_int_equal(syscall(SYS_prlimit64, 0, limits[i].resource, NULL, own), 0);
                half_of =
                        text_of("%s %ju %ju ", limits[i].name, (uintmax_t)own[1] / 2, (uintmax_t)own[1] / 2);
                expect_in(found, half_of);
        }
        RUN(s, &o, "--limit", "sigpending=100", "cat", "/proc/self/limits");
        free(line);
        line = find_limit(o.out, limits[0].name);
        expect_in(line, "Max pending signals 100 100 ");
}

TEST(a_limit_holds_and_cannot_be_raised) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        static const char write_two[] = "head -c 2000000 /dev/zero >file; echo $?; wc -c <file";
        static const char raise[] = "ulimit -n 20 || echo no; ulimit -n";

        RUN(s, &o, "--limit", "fsize=1M", "bash", "-c", write_two);
        expect_out(&o, "153\n1048576\n"); /* 128 + SIGXFSZ */
        RUN(s, &o, "bash", "-c", write_two);
        expect_out(&o, "0\n2000000\n");
        RUN(s, &o, "--limit", "nofile=15", "bash", "-c", raise);
        expect_status(&o, 0);
        expect_out(&o, "no\n15\n");
        RUN(s, &o, "--limit", "nofile=15:25", "bash", "-c", raise);
        expect_out(&o, "20\n");
        RUN(s, &o, "--limit", "nofile=8", "bash", "-c",
            "exec 2>/dev/null; for i in 3 4 5 6 7 8 9; do eval \"exec $i</dev/null\" || break; done; "
            "echo $i");
        expect_out(&o, "8\n");
        RUN(s, &o, "--limit", "cputime=1", "bash", "-c", "while :; do :; done");
        expect_status(&o, 128 + SIGKILL); /* the hard limit's, which comes with the soft one's */
}

/* pid 1 must outlive whoever runs out of something: its limits are the caller's, or more. */
TEST(the_reaper_keeps_the_callers_limits) {
        const struct site *s = *state;
        const char **argv =
                nsrun_argv(s, OPTIONS("--limit", "nofile=33", "sh", "-c", "ulimit -n; exec sleep 1000"));
        _cleanup_free_ char *children = NULL, *children_path = NULL, *limits = NULL, *limits_path = NULL,
                            *expected = NULL, *found = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;
        struct rlimit own;

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &own), 0);
        assert_true(own.rlim_cur != 33 && own.rlim_max != 33);
        spawn(&(struct request){.argv = argv, .cwd = s->root}, &running);
        free(argv);
        await_line(running.out, "33\n");
        children_path = text_of("/proc/%d/task/%d/children", running.pid, running.pid);
        children = file_text(children_path);
        assert_non_null(children);
        limits_path = text_of("/proc/%d/limits", atoi(children));
        limits = file_text(limits_path);
        assert_int_equal(kill(running.pid, SIGTERM), 0);
        finish(&running, &o);
        expect_status(&o, 128 + SIGTERM);
        assert_non_null(limits);
        found = find_limit(limits, "Max open files");
        if (own.rlim_cur < 16384)
                own.rlim_cur = own.rlim_max < 16384 ? own.rlim_max : 16384;
        expected = text_of("Max open files %ju %ju files", (uintmax_t)own.rlim_cur, (uintmax_t)own.rlim_max);
        expect_in(found, expected);
}

/* nsrun's own files are its own affair. */
TEST(the_command_has_the_callers_limit_of_files) {
        const struct site *s = *state;
        static const char script[] =
                "ulimit -Sn 300; exec \"$0\" run --project . -- sh -c 'ulimit -n; ulimit -Hn'";
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *expected = NULL;
        struct rlimit own;

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &own), 0);
        expected = text_of("300\n%ju\n", (uintmax_t)own.rlim_max);
        run(&(struct request){.argv = OPTIONS("sh", "-c", script, program()), .cwd = s->project}, &o);
        expect_status(&o, 0);
        expect_out(&o, expected);
}

TEST(a_fork_bomb_is_held_and_ended) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        if (geteuid() == 0) {
                /* RLIMIT_NPROC is not for the host's root: then a cgroup must do it, or nobody. */
                RUN(s, &o, "--limit", "pids=50", "true");
                if (o.status == 125) {
                        expect_in(o.err,
                                  "nsrun: --limit pids: the kernel doesn't count this user's processes, "
                                  "and no cgroup can: Operation not supported; ");
                        RUN(s, &o, "true");
                        expect_status(&o, 0);
                        return;
                }
                expect_status(&o, 0);
        }
        run_probe(s, &o, OPTIONS("--limit", "pids=50"), "bomb", "1000");
        expect_out(&o, "fork: Resource temporarily unavailable\nprocesses: 51\n");
        outcome_clear(&o);
        /* The user's other limit, where it is the lower one. */
        if (geteuid() != 0) {
                run_probe(s, &o, OPTIONS("--limit", "pids=50", "--limit", "nproc=31"), "bomb", "1000");
                expect_out(&o, "fork: Resource temporarily unavailable\nprocesses: 31\n");
                outcome_clear(&o);
        }
        /* And one that the caller has already is no reason for a refusal. */
        run_probe(s, &o, OPTIONS("--limit", "pids=2147483647"), "bomb", "100");
        expect_out(&o, "fork: ok\n");
        outcome_clear(&o);
        run_probe(s, &o, OPTIONS("--limit", "pids=500"), "bomb", "100");
        expect_out(&o, "fork: ok\n");
        /* site_teardown() sees to it that none of them is left. */
}

TEST(who_bounds_the_processes_is_told) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--status-fd", "1", "--limit", "pids=50", "true");
        if (o.status == 0)
                assert_true(strstr(o.out, "\"pids_limit\":\"rlimit\",") ||
                            strstr(o.out, "\"pids_limit\":\"cgroup\","));
        else
                expect_in(o.out, "{\"event\":\"failed\",\"stage\":\"hardening\",\"errno\":95,\"path\":\"\","
                                 "\"message\":\"--limit pids: ");
        RUN(s, &o, "--status-fd", "1", "true");
        expect_status(&o, 0);
        expect_not_in(o.out, "pids_limit");
}

/* Whether cgroup v2 has it at all: where it hasn't there must be a refusal. */
static bool has_controller(const char *name) {
        static const char *const files[] = {"/sys/fs/cgroup/cgroup.controllers",
                                            "/sys/fs/cgroup/unified/cgroup.controllers"};
        bool has = false;

        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                _cleanup_free_ char *text = file_text(files[i]);

                has |= text && strstr(text, name);
        }
        return has;
}

/* 0 where there was a place for a cgroup, else the refusal has been judged. */
static int expect_limit_or_refusal(const struct site *s, struct outcome *o, const char *name) {
        _cleanup_free_ char *begin = text_of("nsrun: --limit %s: no cgroup", name);

        if (o->status != 125)
                return 0;
        assert_true(startswith(o->err, begin) != NULL);
        assert_true(is_one_line(o->err));
        assert_true(strstr(o->err, " -p Delegate=yes nsrun ") ||
                    strstr(o->err, "mount -t cgroup2 none /sys/fs/cgroup") ||
                    strstr(o->err, "without systemd it takes a cgroup that nsrun's user may write") ||
                    (strstr(o->err, "this machine has cgroup v1, with which nsrun bounds nothing: ") &&
                     (!strstr(o->err, "memory") ||
                      strstr(o->err, ": --limit data=SIZE bounds each process, or boot"))));
        expect_out(o, "");
        outcome_clear(o);
        RUN(s, o, "echo", "without");
        expect_status(o, 0);
        expect_out(o, "without\n");
        return -1;
}

TEST(memory_is_bounded_or_refused) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        static const char eat[] = "head -c \"$1\" /dev/zero | tail | wc -c";

        RUN(s, &o, "--limit", "memory=64M", "sh", "-c", eat, "sh", "1000000");
        if (!has_controller("memory"))
                assert_int_equal(o.status, 125);
        if (expect_limit_or_refusal(s, &o, "memory") < 0)
                return;
        expect_out(&o, "1000000\n");
        outcome_clear(&o);
        /* tail(1) keeps what has no line's end. */
        RUN(s, &o, "--status-fd", "1", "--limit", "memory=64M", "sh", "-c", eat, "sh", "200000000");
        expect_not_in(o.out, "200000000\n");
        expect_in(o.out, "\"oom_kill\":true}\n");
        RUN(s, &o, "sh", "-c", eat, "sh", "200000000");
        expect_out(&o, "200000000\n");
}

TEST(cpu_is_bounded_or_refused) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--limit", "cpu=0.5", "echo", "done");
        if (!has_controller("cpu "))
                assert_int_equal(o.status, 125);
        if (expect_limit_or_refusal(s, &o, "cpu") < 0)
                return;
        expect_status(&o, 0);
        expect_out(&o, "done\n");
}

/* What a JVM sizes its heap by: it knows a cgroup by its file system, and finds its own by the two files
 * of /proc. */
TEST(the_cgroup_that_has_the_limits_is_shown) {
        static const char script[] =
                "cd /sys/fs/cgroup && cat memory.max cpu.max; cat /proc/self/cgroup; "
                "grep -c ' / /sys/fs/cgroup ro,.* - cgroup2 ' /proc/self/mountinfo; ls /sys/fs; "
                "for f in memory.max cgroup.kill cgroup.freeze cgroup.procs; do (echo 1 >$f) 2>&1 | "
                "grep -c 'Read-only file system'; done; "
                "unshare -Urm mount -o remount,bind,rw /sys/fs/cgroup 2>/dev/null || echo locked";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--limit", "memory=64M", "--limit", "cpu=0.5", "--", "sh", "-c", script);
        if (expect_limit_or_refusal(s, &o, "memory, cpu") < 0)
                return;
        expect_status(&o, 0);
        expect_out(&o, "67108864\n50000 100000\n0::/\n1\ncgroup\n1\n1\n1\n1\nlocked\n");
        /* Without such a limit there is nothing to show. */
        RUN(s, &o, "--", "sh", "-c", "ls -d /sys/fs 2>/dev/null");
        expect_out(&o, "");
}

TEST(all_that_is_missing_is_named) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--limit", "cpu=0.5", "--limit", "memory=1G", "--limit", "pids=5", "true");
        if (!has_controller("memory"))
                assert_int_equal(o.status, 125);
        (void)expect_limit_or_refusal(s, &o, "memory, cpu");
}

TEST(what_the_caller_has_not_got_is_refused) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *above = NULL, *line = NULL, *same = NULL;
        struct rlimit own;

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &own), 0);
        assert_true(own.rlim_max != RLIM_INFINITY);
        above = text_of("nofile=5:%ju", (uintmax_t)own.rlim_max + 1);
        same = text_of("nofile=%ju", (uintmax_t)own.rlim_max);
        line = text_of("nsrun: --limit nofile: %ju is above the caller's own hard limit, %ju; a sandbox can "
                       "only lower it; raise the caller's, or ask for less",
                       (uintmax_t)own.rlim_max + 1, (uintmax_t)own.rlim_max);
        RUN(s, &o, "--limit", above, "true");
        expect_refusal(&o, 125, line);
        RUN(s, &o, "--limit", same, "true");
        expect_status(&o, 0);
        free(line);
        line = text_of(
                "nsrun: --limit nofile: unlimited is above the caller's own hard limit, %ju; a sandbox "
                "can only lower it; raise the caller's, or ask for less",
                (uintmax_t)own.rlim_max);
        RUN(s, &o, "--limit", "nofile=unlimited", "true");
        expect_refusal(&o, 125, line);
}

int main(int argc, char **argv) {
        probe_main(argc, argv);
        return run_all_tests();
}
