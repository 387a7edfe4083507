/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun is killed before every system call of a run, and at random moments: no
 * process, no mount and no lock outlives it, and the next run takes its run directory
 * away.  Everything in a sandbox holds the run's outputs, so their end, which
 * finish() waits for, is the end of the last process. */
#include <sys/syscall.h>

#include "../seed.h"
#include "faults.h"

#define MOST_CALLS   5000U
#define RANDOM_KILLS 200

/* Leaves a process of its own session behind, which only the end of the sandbox ends. */
static const char lingering[] = "setsid sleep 1000 & :";

static void add(const char **argv, const char *const *arguments) {
        while (*argv)
                argv++;
        while (*arguments)
                *argv++ = *arguments++;
}

static void kill_by_pidfd(const struct running *r, int signal) {
        assert_int_equal(syscall(SYS_pidfd_send_signal, r->pidfd, signal, NULL, 0), 0);
}

/* Run directories of killed runs may be there; nothing else. */
static void expect_only_rundirs(const struct site *s) {
        _cleanup_free_ char *path = path_of(s->cache, "nsrun");
        const char *const argv[] = {"rm", "-rf", "--", path, NULL};
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *left = NULL;

        run(&(struct request){.argv = argv}, &o);
        expect_status(&o, 0);
        left = leftovers(s);
        if (left)
                fail_msg("left behind: %s", left);
}

/* A run that ends by itself takes the dead ones' run directories away with its own. */
static void expect_reclaimed(const struct site *s, const char *layered) {
        _cleanup_outcome_ struct outcome o = {0};
        char *left = NULL;

        /* An output is closed an instant before the lock is. */
        for (int i = 0; i == 0 || (left && i < 1000); i++) {
                free(left);
                RUN(s, &o, "--overlay", layered, "--", "true");
                expect_status(&o, 0);
                left = leftovers(s);
        }
        if (left)
                fail_msg("left behind after the next run: %s", left);
}

/* Returns how many calls there were to be killed at: every one of them, but for
 * samples. */
static unsigned kill_at_every_call(const struct site *s, const char *const *options, const char *layered) {
        const char *argv[32] = {faults_program(), "run", "--project", s->project};
        _cleanup_outcome_ struct outcome o = {0};
        unsigned n;

        add(argv, options);
        add(argv, OPTIONS("--", "sh", "-c", lingering));
        for (n = 1; n < MOST_CALLS; n += takes_samples() ? 15 : 1) {
                _cleanup_free_ char *wanted = text_of("kill:%u", n);
                struct fault_page page;

                run_faulty(s, argv, wanted, 0, &o, &page);
                reap_orphans();
                if (!page.call[0])
                        break;
                expect_status(&o, 1000 + SIGKILL);
                if (layered)
                        expect_reclaimed(s, layered);
                else
                        expect_only_rundirs(s);
        }
        expect_status(&o, 0);
        assert_true(n > 100);
        return n - 1;
}

TEST(killed_before_any_call_nothing_survives) {
        const char *const none[] = {NULL}, *const other[] = {"--no-new-session", "--net=none", NULL};
        unsigned n;

        n = kill_at_every_call(*state, none, NULL);
        n += kill_at_every_call(*state, other, NULL);
        print_message("killed at %u calls\n", n);
}

TEST(the_next_run_reclaims_a_killed_runs_rundir) {
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered");
        const char *const options[] = {"--overlay", layered, NULL};
        unsigned n;

        make_folder(s->root, "layered");
        n = kill_at_every_call(s, options, layered);
        print_message("killed at %u calls\n", n);
}

/* Nor does anything of a protected name come to be on the host. */
TEST(the_next_run_reclaims_a_strict_runs_rundir) {
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered"), *list = NULL;
        const char *const options[] = {"--protect=strict", NULL};
        _cleanup_outcome_ struct outcome o = {0};
        unsigned n;

        make_folder(s->root, "layered");
        make_folder(s->project, "sub");
        n = kill_at_every_call(s, options, layered);
        print_message("killed at %u calls\n", n);
        list = text_of("ls -A '%s'", s->project);
        run_outside(s, &o, list);
        expect_out(&o, "sub\n");
}

TEST(killed_at_random_moments_nothing_survives) {
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered");
        _cleanup_free_ const char **argv = NULL;
        unsigned seed = (unsigned)test_seed(), n_killed = 0;

        make_folder(s->root, "layered");
        argv = nsrun_argv(s, OPTIONS("--overlay", layered, "--", "sh", "-c", lingering));
        for (int i = 0; i < RANDOM_KILLS; i++) {
                _cleanup_outcome_ struct outcome o = {0};
                struct running r;

                spawn(&(struct request){.argv = argv, .cwd = s->root}, &r);
                pause_up_to(&seed, 5000000);
                kill_by_pidfd(&r, SIGKILL);
                finish(&r, &o);
                reap_orphans();
                if (o.status != 0)
                        expect_status(&o, 1000 + SIGKILL);
                n_killed += o.status != 0;
                /* Now and then, so that some have several run directories to find. */
                if (i % 7 == 0)
                        expect_reclaimed(s, layered);
        }
        expect_reclaimed(s, layered);
        assert_true(n_killed > 0);
        print_message("%u of %d were killed before their end\n", n_killed, RANDOM_KILLS);
}

/* Says a word and then waits for its end, with company. */
static void spawn_waiting(const struct site *s, const char *layered, const char *script,
                          struct running *ret) {
        _cleanup_free_ const char **argv = NULL;
        _cleanup_free_ char *word = NULL;

        argv = nsrun_argv(s, OPTIONS("--overlay", layered, "--status-fd=2", "--", "sh", "-c", script));
        spawn(&(struct request){.argv = argv, .cwd = s->root}, ret);
        word = read_line(ret->out);
        assert_string_equal(word, "ready\n");
}

static const char waiting[] = "setsid sleep 1000 & echo ready; exec sleep 1000";

TEST(killed_while_the_command_runs_nothing_survives) {
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered");
        _cleanup_outcome_ struct outcome o = {0};
        struct pollfd end;
        struct running r;

        make_folder(s->root, "layered");
        spawn_waiting(s, layered, waiting, &r);
        /* The control: the detector says "alive" while it is. */
        end = (struct pollfd){.fd = r.out, .events = POLLIN};
        assert_int_equal(poll(&end, 1, 0), 0);
        kill_by_pidfd(&r, SIGKILL);
        finish(&r, &o);
        expect_status(&o, 1000 + SIGKILL);
        reap_orphans();
        expect_reclaimed(s, layered);
}

/* Waits until our child is stopped, as a shell does. */
static void wait_for_stop(const struct running *r) {
        siginfo_t info = {.si_pid = 0};

        assert_int_equal(waitid(P_PID, (id_t)r->pid, &info, WSTOPPED | WEXITED | WNOWAIT), 0);
        assert_int_equal(info.si_code, CLD_STOPPED);
}

TEST(stopped_and_killed_nothing_survives) {
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered");
        _cleanup_outcome_ struct outcome o = {0};
        struct running r;

        make_folder(s->root, "layered");
        spawn_waiting(s, layered, waiting, &r);
        kill_by_pidfd(&r, SIGTSTP);
        wait_for_stop(&r);
        kill_by_pidfd(&r, SIGKILL);
        finish(&r, &o);
        expect_status(&o, 1000 + SIGKILL);
        reap_orphans();
        expect_reclaimed(s, layered);
}

/* From the "started" line. */
static pid_t pid_in(const char *line, const char *key) {
        _cleanup_free_ char *name = text_of("\"%s\":", key);
        const char *found = strstr(line, name);
        pid_t pid = 0;

        if (!found || sscanf(found + strlen(name), "%d", &pid) != 1 || pid <= 1)
                fail_msg("no %s in: %s", key, line);
        return pid;
}

/* Nobody is told when somebody else's grandchild stops: this one looks. */
static void wait_for_state(pid_t pid, char wanted) {
        _cleanup_free_ char *path = text_of("/proc/%d/stat", pid);

        for (int i = 0; i < 10000; i++) {
                const struct timespec moment = {.tv_nsec = 1000000};
                _cleanup_free_ char *text = file_text(path);
                const char *state = text ? strrchr(text, ')') : NULL;

                if (state && state[2] == wanted)
                        return;
                (void)nanosleep(&moment, NULL);
        }
        fail_msg("process %d is never in state %c", pid, wanted);
}

TEST(killed_while_the_command_is_stopped_nothing_survives) {
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered"), *line = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct running r;

        make_folder(s->root, "layered");
        spawn_waiting(s, layered, "setsid sleep 1000 & echo ready; kill -STOP $$", &r);
        line = read_line(r.err);
        wait_for_state(pid_in(line, "command_pid"), 'T');
        kill_by_pidfd(&r, SIGKILL);
        finish(&r, &o);
        expect_status(&o, 1000 + SIGKILL);
        reap_orphans();
        expect_reclaimed(s, layered);
}

TEST(a_killed_pid_1_ends_the_run_with_a_word) {
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered"), *line = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct running r;

        make_folder(s->root, "layered");
        spawn_waiting(s, layered, waiting, &r);
        line = read_line(r.err);
        assert_int_equal(kill(pid_in(line, "init_pid"), SIGKILL), 0);
        finish(&r, &o);
        expect_status(&o, 128 + SIGKILL);
        expect_in(o.err, "nsrun: the sandbox's pid 1 was killed by signal 9, and the command with it\n");
        expect_in(o.err, "\"signal\":9");
        expect_reclaimed(s, layered);
}

TEST(a_stopped_pid_1_dies_with_nsrun) {
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered"), *line = NULL;
        _cleanup_outcome_ struct outcome o = {0};
        struct running r;

        make_folder(s->root, "layered");
        spawn_waiting(s, layered, waiting, &r);
        line = read_line(r.err);
        assert_int_equal(kill(pid_in(line, "init_pid"), SIGSTOP), 0);
        kill_by_pidfd(&r, SIGKILL);
        finish(&r, &o);
        expect_status(&o, 1000 + SIGKILL);
        reap_orphans();
        expect_reclaimed(s, layered);
}

int main(void) {
        return run_all_tests();
}
