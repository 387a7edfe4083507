/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --limit: how its values are read; how they are printed; and where the caller's cgroup
 * is by what the kernel says of it. */
#include "scratch.h"

#include <signal.h>
#include <sys/resource.h>

#include "plan/plan.h"
#include "run/oom.h"

#define BYTES  "give bytes, or a number with K, M, G or T, or \"unlimited\""
#define NUMBER "give a whole number, or \"unlimited\""
#define CPUS   "give CPUs (2, or 0.5; three decimals) or percent of one (50%), or \"unlimited\""
#define NAMES                                                                                           \
        "there are memory, pids, cpu, as, core, cputime, data, fsize, locks, memlock, msgqueue, nice, " \
        "nofile, nproc, rss, rtprio, rttime, sigpending and stack"

static struct nsrun_policy *new_policy(void) {
        struct nsrun_policy *p = NULL;

        assert_int_equal(nsrun_policy_new(&p), 0);
        return p;
}

/* What nsrun itself reads no further than so far is too large for no limit. */
TEST(a_limit_of_sizes_is_advised_only_where_there_is_one) {
        struct rlimit was, limit;
        struct nsrun_error err = {0};

        assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
        limit = was;
        limit.rlim_cur = limit.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        assert_int_equal(error_set(&err, NSRUN_STAGE_USAGE, -EFBIG, "/f", "it can't be read", NULL), -EFBIG);
        assert_string_equal(err.hint, "");
        limit.rlim_cur = 1 << 30;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        err = (struct nsrun_error){0};
        assert_int_equal(error_set(&err, NSRUN_STAGE_USAGE, -EFBIG, "/f", "it can't be written", NULL),
                         -EFBIG);
        assert_string_equal(err.hint, "raise the limit of files' sizes (ulimit -f unlimited)");
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
}

TEST(each_bad_limit_is_named) {
        static const struct {
                const char *value, *line;
        } cases[] = {
                {"", "--limit: not NAME=VALUE"},
                {"nofile", "--limit: not NAME=VALUE: nofile"},
                {"=5", "--limit: no such limit: =5; " NAMES},
                {"nofil=5", "--limit: no such limit: nofil=5; " NAMES},
                {"nofile2=5", "--limit: no such limit: nofile2=5; " NAMES},
                {"NOFILE=5", "--limit: no such limit: NOFILE=5; " NAMES},
                {"nofile=", "--limit: not a number: nofile=; " NUMBER},
                {"nofile=-1", "--limit: not a number: nofile=-1; " NUMBER},
                {"nofile=1K", "--limit: not a number: nofile=1K; " NUMBER},
                {"nofile= 1", "--limit: not a number: nofile= 1; " NUMBER},
                {"nofile=0x10", "--limit: not a number: nofile=0x10; " NUMBER},
                {"nofile=1:", "--limit: not a number: nofile=1:; " NUMBER},
                {"nofile=:1", "--limit: not a number: nofile=:1; " NUMBER},
                {"nofile=1:2:3", "--limit: not a number: nofile=1:2:3; " NUMBER},
                {"nofile=9223372036854775808", "--limit: too big: nofile=9223372036854775808; " NUMBER},
                {"nofile=99999999999999999999", "--limit: too big: nofile=99999999999999999999; " NUMBER},
                {"as=8388608T", "--limit: too big: as=8388608T; " BYTES},
                {"as=1Kb", "--limit: not a number: as=1Kb; " BYTES},
                {"as=\033[2J", "--limit: not a number: as=\\x1b[2J; " BYTES},
                {"nofile=6:5",
                 "--limit: the soft limit is above the hard one: nofile=6:5; it is NAME=SOFT:HARD"},
                {"nofile=unlimited:5",
                 "--limit: the soft limit is above the hard one: nofile=unlimited:5; it is NAME=SOFT:HARD"},
                {"memory=", "--limit: not a number: memory=; " BYTES},
                {"memory=1:2", "--limit: not a number: memory=1:2; " BYTES},
                {"memory=0", "--limit: too small: memory=0; the least is 1M"},
                {"memory=1048575", "--limit: too small: memory=1048575; the least is 1M"},
                {"pids=0", "--limit: too small: pids=0; the command itself is one"},
                {"pids=1K", "--limit: not a number: pids=1K; " NUMBER},
                {"pids=2147483648", "--limit: too big: pids=2147483648; " NUMBER},
                {"cpu=", "--limit: not a share of the CPUs: cpu=; " CPUS},
                {"cpu=.5", "--limit: not a share of the CPUs: cpu=.5; " CPUS},
                {"cpu=1.", "--limit: not a share of the CPUs: cpu=1.; " CPUS},
                {"cpu=0.1234", "--limit: not a share of the CPUs: cpu=0.1234; " CPUS},
                {"cpu=1.5%", "--limit: not a share of the CPUs: cpu=1.5%; " CPUS},
                {"cpu=-1", "--limit: not a share of the CPUs: cpu=-1; " CPUS},
                {"cpu=1000001", "--limit: too big: cpu=1000001; " CPUS},
                {"cpu=0", "--limit: too small: cpu=0; the least is 0.01"},
                {"cpu=0.009", "--limit: too small: cpu=0.009; the least is 0.01"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct nsrun_policy *p = new_policy();
                struct nsrun_error err = {0};
                struct policy_limits none = {0};
                char *line;

                assert_int_equal(nsrun_policy_set(p, "limit", cases[i].value, &err), -EINVAL);
                assert_int_equal(err.stage, NSRUN_STAGE_USAGE);
                line = nsrun_error_format(&err);
                assert_string_equal(line, cases[i].line);
                assert_memory_equal(&p->limits, &none, sizeof(none));
                free(line);
                (void)nsrun_policy_free(p);
        }
}

static void set(struct nsrun_policy *p, const char *value) {
        struct nsrun_error err = {0};

        if (nsrun_policy_set(p, "limit", value, &err) != 0)
                fail_msg("%s: %s", value, err.what);
}

TEST(every_rlimit_has_its_number) {
        static const struct {
                const char *value;
                int resource;
                uint64_t soft, hard;
        } cases[] = {
                {"as=1K", RLIMIT_AS, 1024, 1024},
                {"core=0", RLIMIT_CORE, 0, 0},
                {"cputime=60:90", RLIMIT_CPU, 60, 90},
                {"data=2m", RLIMIT_DATA, 2 << 20, 2 << 20},
                {"fsize=1G:2T", RLIMIT_FSIZE, 1 << 30, UINT64_C(2) << 40},
                {"locks=1", 10, 1, 1},
                {"memlock=64K:unlimited", RLIMIT_MEMLOCK, 65536, UINT64_MAX},
                {"msgqueue=5", RLIMIT_MSGQUEUE, 5, 5},
                {"nice=0:40", RLIMIT_NICE, 0, 40},
                {"nofile=0", RLIMIT_NOFILE, 0, 0},
                {"nproc=7:8", RLIMIT_NPROC, 7, 8},
                {"rss=1T", RLIMIT_RSS, UINT64_C(1) << 40, UINT64_C(1) << 40},
                {"rtprio=1", RLIMIT_RTPRIO, 1, 1},
                {"rttime=9223372036854775807", RLIMIT_RTTIME, INT64_MAX, INT64_MAX},
                {"sigpending=2", RLIMIT_SIGPENDING, 2, 2},
                {"stack=unlimited", RLIMIT_STACK, UINT64_MAX, UINT64_MAX},
        };
        struct nsrun_policy *p = new_policy();

        assert_int_equal(ARRAY_SIZE(cases), RLIMITS_COUNT);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                set(p, cases[i].value);
                assert_true(p->limits.rlimits[cases[i].resource].is_set);
                assert_int_equal(p->limits.rlimits[cases[i].resource].soft, cases[i].soft);
                assert_int_equal(p->limits.rlimits[cases[i].resource].hard, cases[i].hard);
                assert_int_equal(strncmp(rlimit_name(cases[i].resource), cases[i].value,
                                         strcspn(cases[i].value, "=")),
                                 0);
        }
        (void)nsrun_policy_free(p);
}

TEST(the_sandbox_has_three_of_its_own) {
        struct nsrun_policy *p = new_policy();

        set(p, "memory=512M");
        set(p, "pids=100");
        assert_int_equal(p->limits.memory, 512 << 20);
        assert_int_equal(p->limits.pids, 100);
        set(p, "cpu=2");
        assert_int_equal(p->limits.cpu, 2000);
        set(p, "cpu=0.5");
        assert_int_equal(p->limits.cpu, 500);
        set(p, "cpu=1.025");
        assert_int_equal(p->limits.cpu, 1025);
        set(p, "cpu=150%");
        assert_int_equal(p->limits.cpu, 1500);
        /* The last word on each counts. */
        set(p, "cpu=unlimited");
        set(p, "memory=unlimited");
        set(p, "pids=unlimited");
        assert_int_equal(p->limits.cpu, 0);
        assert_int_equal(p->limits.memory, 0);
        assert_int_equal(p->limits.pids, 0);
        set(p, "nofile=5");
        set(p, "core=1:2");
        set(p, "nofile=6");
        assert_int_equal(p->limits.rlimits[RLIMIT_NOFILE].hard, 6);
        assert_int_equal(p->limits.rlimits[RLIMIT_CORE].soft, 1);
        (void)nsrun_policy_free(p);
}

TEST(a_plan_tells_its_limits) {
        char *argv[] = {strdup("true"), NULL}, *text = NULL;
        char cwd[] = "/", name[] = "none";
        struct nsrun_plan plan = {.argv = argv, .cwd = cwd, .seccomp_name = name};

        assert_int_equal(plan_print_text(&plan, &text, NULL), 0);
        assert_null(strstr(text, "limits"));
        free(text);
        plan.limits.memory = 512 << 20;
        plan.limits.pids = 100;
        plan.limits.cpu = 1025;
        plan.limits.rlimits[RLIMIT_NOFILE] = (struct policy_rlimit){true, 1024, 2048};
        plan.limits.rlimits[RLIMIT_CORE] = (struct policy_rlimit){true, 65536, UINT64_MAX};
        assert_int_equal(plan_print_text(&plan, &text, NULL), 0);
        assert_non_null(strstr(text, "\nlimits      memory 512M, pids 100, cpu 1.025, core 64K:unlimited, "
                                     "nofile 1024:2048\n"));
        free(text);
        assert_int_equal(plan_print_json(&plan, &text, NULL), 0);
        assert_non_null(strstr(text,
                               "\"limits\": {\n    \"memory\": 536870912,\n    \"pids\": 100,\n    "
                               "\"cpu_thousandths\": 1025,\n    \"core\": {\n      \"soft\": 65536,\n      "
                               "\"hard\": \"unlimited\"\n    },\n    \"nofile\": {\n      \"soft\": "
                               "1024,\n      \"hard\": 2048\n    }\n  },"));
        free(text);
        assert_int_equal(plan_print_bwrap(&plan, &text, NULL), 0);
        assert_null(strstr(text, "limit"));
        free(text);
        free(argv[0]);
}

#define V1   "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu\n"
#define V2   "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define HALF "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"

TEST(the_own_cgroup_is_found) {
        static const struct {
                const char *mountinfo, *cgroup, *folder;
        } cases[] = {
                {V2, "0::/\n", "/sys/fs/cgroup"},
                {V2, "0::/user.slice/a b\n", "/sys/fs/cgroup/user.slice/a b"},
                {V1 HALF, "4:memory:/x\n0::/y\n", "/sys/fs/cgroup/unified/y"},
                /* Only a part of it is mounted, here. */
                {"29 23 0:26 /user.slice /mnt/c\\040d rw - cgroup2 c rw\n", "0::/user.slice/x\n",
                 "/mnt/c d/x"},
                {"29 23 0:26 /user.slice /mnt rw - cgroup2 c rw\n" V2, "0::/user.slicer\n",
                 "/sys/fs/cgroup/user.slicer"},
                {"29 23 0:26 /user.slice /mnt rw - cgroup2 c rw\n", "0::/system.slice\n", NULL},
                {V2, "0::/../x\n", NULL},
                {V1, "0::/\n", NULL},
                {V2, "4:memory:/x\n", NULL},
                {V2, "", NULL},
                {"", "0::/\n", NULL},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char *folder = NULL;

                assert_int_equal(cgroup_folder(cases[i].mountinfo, cases[i].cgroup, &folder),
                                 cases[i].folder ? 0 : -ENOENT);
                if (cases[i].folder)
                        assert_string_equal(folder, cases[i].folder);
                else
                        assert_null(folder);
                free(folder);
        }
}

TEST(the_count_of_oom_kills_is_found) {
        static const struct {
                const char *text;
                uint64_t count; /* 77: none */
        } cases[] = {
                {"low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 9\n", 2},
                {"low 0\nhigh 0\nmax 0\noom 5\noom_group_kill 9\n", 77},
                {"swap_ra_hit 9\npgmigrate_oom_kill 5\noom_kill 18446744073709551615\nnuma 1\n", UINT64_MAX},
                {"oom_kill_disable 0\nunder_oom 0\noom_kill 4\n", 4},
                {"oom_kill x\n", 77},
                {"oom_kill", 77},
                {"", 77},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                uint64_t count = 77;

                assert_int_equal(oom_find_count(cases[i].text, &count), cases[i].count != 77);
                assert_int_equal(count, cases[i].count);
        }
}

/* A command that kills itself is not the kernel's doing, whoever counts here. */
TEST(a_kill_is_no_oom_kill) {
        struct oom_watch w = OOM_WATCH_INIT;
        pid_t pid;
        int status;

        oom_watch_begin(&w, NULL);
        assert_true(w.fd >= 0);
        assert_false(w.is_own);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                (void)kill(getpid(), SIGKILL);
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_false(oom_watch_ended(&w));
        assert_int_equal(w.fd, -EBADF);
        /* Asked again, or never begun. */
        assert_false(oom_watch_ended(&w));
}

int main(void) {
        return run_all_tests();
}
