/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* "limit" through the public functions, where pid 1 is nsrun-init: the limits go by its
 * arguments. */
#include "library.h"
#include "session.h"

static struct nsrun_sandbox *start_limited(const struct site *s, const char *const *limits,
                                           const char *script, int *ret, struct nsrun_error *err) {
        const char *const argv[] = {"sh", "-c", script, NULL};
        struct nsrun_policy *policy = make_policy(s, argv);
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_plan *plan = NULL;

        for (; *limits; limits++)
                expect_good(nsrun_policy_set(policy, "limit", *limits, err), err);
        expect_good(nsrun_plan_new(policy, &plan, err), err);
        *ret = nsrun_start(plan, NULL, &sandbox, err);
        assert_null(nsrun_plan_free(plan));
        assert_null(nsrun_policy_free(policy));
        return sandbox;
}

TEST(rlimits_go_through_nsrun_init) {
        const struct site *s = *state;
        const char *const limits[] = {"nofile=33:44", "core=0", "fsize=1M", "cputime=100:200", NULL};
        _cleanup_free_ char *seen = path_of(s->project, "seen"), *text = NULL;
        struct nsrun_sandbox *sandbox;
        struct nsrun_error err = {0};
        int r;

        sandbox = start_limited(s, limits,
                                "(ulimit -n; ulimit -Hn; ulimit -c; ulimit -f; ulimit -t; ulimit -Ht) >seen",
                                &r, &err);
        expect_good(r, &err);
        expect_end(sandbox, 0, 0);
        assert_null(nsrun_sandbox_notes(sandbox)[0]);
        assert_null(nsrun_sandbox_free(sandbox));
        text = file_text(seen);
        assert_string_equal(text, "33\n44\n0\n2048\n100\n200\n");
}

TEST(a_host_hears_who_bounds_the_processes) {
        const struct site *s = *state;
        const char *const limits[] = {"pids=20", NULL};
        struct nsrun_sandbox *sandbox;
        struct nsrun_error err = {0};
        int r;

        sandbox =
                start_limited(s, limits,
                              "i=0; while [ $i -lt 19 ]; do sleep 1000 & i=$((i+1)); done; echo full >full; "
                              "sleep 1000 & echo more >more",
                              &r, &err);
        if (r == -EOPNOTSUPP) {
                assert_int_equal(geteuid(), 0);
                assert_int_equal(err.stage, NSRUN_STAGE_HARDENING);
                assert_string_equal(err.what,
                                    "--limit pids: the kernel doesn't count this user's processes, "
                                    "and no cgroup can");
                assert_null(sandbox);
                return;
        }
        expect_good(r, &err);
        if (nsrun_sandbox_notes(sandbox)[0])
                assert_string_equal(nsrun_sandbox_notes(sandbox)[0],
                                    "no cgroup can be made to bound the number of processes: RLIMIT_NPROC "
                                    "bounds it");
        expect_end(sandbox, 2, 0); /* the shell's word for "Cannot fork" */
        assert_null(nsrun_sandbox_free(sandbox));
        {
                _cleanup_free_ char *full = path_of(s->project, "full"), *more = path_of(s->project, "more"),
                                    *text = file_text(full), *none = file_text(more);

                assert_string_equal(text, "full\n");
                assert_null(none);
        }
}

TEST(what_is_not_to_be_had_starts_nothing) {
        const struct site *s = *state;
        const char *const limits[] = {"memory=256M", NULL};
        _cleanup_free_ char *ran = path_of(s->project, "ran"), *text = NULL;
        struct nsrun_sandbox *sandbox;
        struct nsrun_error err = {0};
        int r;

        sandbox = start_limited(s, limits, "echo ran >ran", &r, &err);
        if (r == 0) {
                expect_end(sandbox, 0, 0);
        } else {
                assert_int_equal(r, -EOPNOTSUPP);
                assert_int_equal(err.stage, NSRUN_STAGE_HARDENING);
                assert_true(startswith(err.what, "--limit memory: no cgroup") != NULL);
                assert_null(sandbox);
        }
        text = file_text(ran);
        assert_int_equal(text != NULL, r == 0);
        assert_null(nsrun_sandbox_free(sandbox));
}

/* ---------------------------------------------------------------- in a session */

/* Gives a session a cgroup, as its monitor writes one down where the machine has any: in the record a NULL
 * stands before the number of processes, which is 0. */
static void give_cgroup(const struct site *s, const char *id, const char *cgroup) {
        _cleanup_free_ char *name = text_of("nsrun/sessions/%s/record", id),
                            *path = path_of(s->runtime, name);
        _cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC);
        uint64_t none[] = {UINT64_MAX, 0}, length = strlen(cgroup);
        static char text[1 << 20];
        ssize_t n = read(fd, text, sizeof(text));
        char *found = n < 0 ? NULL : memmem(text, (size_t)n, none, sizeof(none)), *rest;

        assert_non_null(found);
        rest = found + sizeof(length);
        assert_int_equal(lseek(fd, found - text, SEEK_SET), found - text);
        assert_int_equal(write(fd, &length, sizeof(length)), sizeof(length));
        assert_int_equal(write(fd, cgroup, length), length);
        assert_int_equal(write(fd, rest, (size_t)(text + n - rest)), text + n - rest);
}

static struct nsrun_policy *joining_policy(const char *id) {
        struct nsrun_policy *policy = NULL;
        struct nsrun_error err = {0};

        assert_int_equal(nsrun_policy_new(&policy), 0);
        expect_good(nsrun_policy_set(policy, "session", id, &err), &err);
        expect_good(nsrun_policy_set_command(policy, OPTIONS("touch", "ran"), &err), &err);
        return policy;
}

/* What a process writes to enter a cgroup: "0" is whoever writes it. */
static void expect_entered(int procs) {
        char text[16] = "";

        assert_int_equal(read(procs, text, sizeof(text) - 1), 1);
        assert_string_equal(text, "0");
}

TEST_IN_BOTH_MODES(a_joining_command_enters_the_sessions_cgroup_or_does_not_run) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s), *procs = path_of(s->outside, "cgroup.procs"),
                            *ran = path_of(s->project, "ran");
        struct nsrun_policy *policy = joining_policy(id);
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_plan *plan = NULL;
        struct nsrun_error err = {0};
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_close_ int fd = -EBADF;

        give_cgroup(s, id, s->outside);
        assert_int_equal(mkfifo(procs, 0600), 0);
        fd = open(procs, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        assert_true(fd >= 0);
        expect_good(nsrun_plan_new(policy, &plan, &err), &err);
        expect_good(nsrun_start(plan, NULL, &sandbox, &err), &err);
        expect_end(sandbox, 0, 0);
        sandbox = nsrun_sandbox_free(sandbox);
        expect_entered(fd);
        assert_int_equal(unlink(ran), 0);
        JOIN(s, id, &o, "--", "touch", "ran");
        expect_status(&o, 0);
        expect_entered(fd);
        assert_int_equal(unlink(ran), 0);
        /* One that can't be entered. */
        assert_int_equal(unlink(procs) + symlink("/dev/full", procs), 0);
        expect_error(nsrun_start(plan, NULL, &sandbox, &err), -ENOSPC, NSRUN_STAGE_NAMESPACE, &err,
                     "the sandbox can't enter its cgroup: cgroup.procs: No space left on device");
        JOIN(s, id, &o, "--", "touch", "ran");
        expect_refusal(&o, 125,
                       "nsrun: the sandbox can't enter its cgroup: cgroup.procs: No space left on device");
        assert_int_equal(access(ran, F_OK), -1);
        (void)nsrun_plan_free(plan);
        (void)nsrun_policy_free(policy);
        end_session(s, id, "stop");
}

int main(void) {
        return run_all_tests();
}
