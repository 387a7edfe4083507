/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every part of a session is killed at random moments: its owner, its pid 1, its monitor,
 * and whoever joins it, also while it starts and while a command comes in.  Never a hang, a
 * wrong status, or anything that stays once the next session has swept. */
#include "../seed.h"
#include "session.h"

/* In nanoseconds: a join takes less, a start not much more. */
#define MOMENT 5000000

static int n_rounds(void) {
        return size_of_test(8, 200);
}

/* All of the command's descriptors but the script's own are its tree's. */
static const char lingering[] = "(setsid sleep 1000 &) & exec sleep 1000";

/* Statuses that a command which only sleeps may have: it was killed with its sandbox, or there was
 * none to come into. */
static void expect_ended_by_force(const struct outcome *o) {
        static const char *const words[] = {
                "nsrun: the command's reaper was killed by signal 9, and the ",
                "nsrun: no such session: ", "nsrun: the session has ended: ",
                "nsrun: the session is ending: ", "nsrun: the sandbox was killed while it was being built"};

        if (o->status == 128 + SIGKILL && startswith(o->err, words[0]))
                return;
        if (o->status == 128 + SIGKILL || o->status == 128 + SIGTERM)
                return;
        if (o->status == 125)
                for (size_t i = 1; i < ARRAY_SIZE(words); i++)
                        if (startswith(o->err, words[i]))
                                return;
        fail_msg("status %d, out: %s, err: %s", o->status, o->out, o->err);
}

struct round {
        const struct site *s;
        char *id;
        struct running joined[3];
        int monitor, init;
};

/* Some have long begun, one is just coming in. */
static void begin_round(const struct site *s, struct round *r, const char *const *options, unsigned *seed) {
        *r = (struct round){.s = s, .id = start_session(s, options)};
        r->monitor = session_pidfd(s, r->id, "monitor");
        r->init = session_pidfd(s, r->id, "init");
        for (size_t i = 0; i < ARRAY_SIZE(r->joined); i++)
                SPAWN_JOINED(s, r->id, &r->joined[i], "--", "sh", "-c", lingering);
        pause_up_to(seed, MOMENT);
}

static void end_round(struct round *r) {
        for (size_t i = 0; i < ARRAY_SIZE(r->joined); i++) {
                _cleanup_outcome_ struct outcome o = {0};

                finish(&r->joined[i], &o);
                expect_ended_by_force(&o);
        }
        expect_end_of(r->init, "pid 1");
        collect_orphans();
        sweep(r->s);
        expect_nothing_left(r->s);
        (void)close(r->monitor);
        (void)close(r->init);
        free(r->id);
}

TEST_OF_SESSIONS(killed_monitors_leave_nothing) {
        unsigned seed = (unsigned)test_seed();

        for (int i = 0; i < n_rounds(); i++) {
                struct round r;

                begin_round(*state, &r, (const char *const[]){NULL}, &seed);
                send_signal(r.monitor, SIGKILL);
                end_round(&r);
        }
}

TEST_IN_BOTH_MODES(a_killed_pid_1_ends_the_session) {
        unsigned seed = (unsigned)test_seed();

        for (int i = 0; i < n_rounds(); i++) {
                struct round r;

                begin_round(*state, &r, (const char *const[]){NULL}, &seed);
                send_signal(r.init, SIGKILL);
                expect_end_of(r.monitor, "the monitor of a killed pid 1");
                end_round(&r);
        }
}

TEST_OF_SESSIONS(a_killed_owner_ends_the_session) {
        unsigned seed = (unsigned)test_seed();

        for (int i = 0; i < n_rounds(); i++) {
                _cleanup_outcome_ struct outcome o = {0};
                _cleanup_free_ char *option = NULL;
                struct running owner;
                struct round r;

                spawn(&(struct request){.argv = OPTIONS("true"), .in_child = pause_until_killed}, &owner);
                option = text_of("--owner=%d", (int)owner.pid);
                begin_round(*state, &r, OPTIONS(option), &seed);
                send_signal(owner.pidfd, SIGKILL);
                finish(&owner, &o);
                expect_end_of(r.monitor, "the monitor of a killed owner");
                end_round(&r);
        }
}

/* The session and the neighbours go on. */
TEST_IN_BOTH_MODES(a_killed_joiner_takes_its_own_tree_alone) {
        const struct site *s = *state;
        unsigned seed = (unsigned)test_seed();
        _cleanup_free_ char *id = START_PLAIN(s);
        _cleanup_close_ int monitor = session_pidfd(s, id, "monitor");
        _cleanup_outcome_ struct outcome o = {0};
        struct running neighbour;

        SPAWN_JOINED(s, id, &neighbour, "--", "sh", "-c",
                     "exec 2>/dev/null; trap 'exit 4' TERM; echo ready; while :; do sleep 0.02; done");
        free(read_line(neighbour.out));
        for (int i = 0; i < n_rounds(); i++) {
                struct running r;

                SPAWN_JOINED(s, id, &r, "--", "sh", "-c", lingering);
                pause_up_to(&seed, MOMENT);
                send_signal(r.pidfd, SIGKILL);
                /* All of the tree holds its outputs. */
                outcome_clear(&o);
                finish(&r, &o);
                expect_status(&o, 1000 + SIGKILL);
        }
        assert_false(has_ended(neighbour.pidfd));
        assert_false(has_ended(monitor));
        expect_good_join(s, id, "echo on", "on\n");
        send_signal(neighbour.pidfd, SIGTERM);
        outcome_clear(&o);
        finish(&neighbour, &o);
        expect_status(&o, 4);
        end_session(s, id, "kill");
        expect_nothing_left(s);
}

/* Whoever starts one is killed, or the monitor that is not ready yet. */
TEST_OF_SESSIONS(a_start_that_is_killed_leaves_nothing) {
        const struct site *s = *state;
        unsigned seed = (unsigned)test_seed(), n_killed = 0;
        _cleanup_free_ const char **argv = start_argv(s, OPTIONS("--name=x"));

        for (int i = 0; i < n_rounds(); i++) {
                _cleanup_outcome_ struct outcome o = {0};
                struct running r;

                spawn(&(struct request){.argv = argv, .cwd = s->root}, &r);
                pause_up_to(&seed, MOMENT);
                send_signal(r.pidfd, SIGKILL);
                finish(&r, &o);
                n_killed += o.status != 0;
                if (o.status != 0)
                        expect_status(&o, 1000 + SIGKILL);
                /* Its monitor may go on, and be a session; then it is stopped like any. */
                do {
                        SESSION(s, &o, "kill", "x");
                } while (o.status != 0 && waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG) == 0);
                collect_orphans();
                sweep(s);
                expect_nothing_left(s);
        }
        assert_true(n_killed > 0);
}

TEST_OF_SESSIONS(monitors_killed_while_they_start_leave_nothing) {
        const struct site *s = *state;
        unsigned seed = (unsigned)test_seed(), n_failed = 0;
        _cleanup_free_ const char **argv = start_argv(s, OPTIONS("--name=x"));

        for (int i = 0; i < n_rounds(); i++) {
                _cleanup_outcome_ struct outcome o = {0};
                struct running r;

                spawn(&(struct request){.argv = argv, .cwd = s->root}, &r);
                pause_up_to(&seed, 1000000);
                /* Its monitor is our child once it has detached. */
                for (bool is_done = false; !is_done;) {
                        _cleanup_free_ char *path = text_of("/proc/self/task/%d/children", (int)getpid()),
                                            *text = NULL;
                        char *next;

                        /* Before the list is read: where the start has succeeded, its monitor is in it. */
                        is_done = has_ended(r.pidfd);
                        next = text = file_text(path);
                        for (long pid; text && (pid = strtol(next, &next, 10)) > 0;)
                                if (pid != r.pid && kill((pid_t)pid, SIGKILL) == 0)
                                        is_done = true;
                }
                finish(&r, &o);
                if (o.status != 0) {
                        expect_refusal(&o, 125,
                                       "nsrun: the session's monitor was killed before it had started: "
                                       "Input/output error");
                        n_failed++;
                }
                collect_orphans();
                sweep(s);
                expect_nothing_left(s);
        }
        assert_true(n_failed > 0);
}

/* Whom nsrun itself ends, by what it can't keep from the command, is told why, and so is who comes later,
 * until there is a session of that name again. */
TEST_OF_SESSIONS(a_session_that_nsrun_ends_says_why) {
        static const char setup[] =
                "cd '%s' && rm -rf * .[a-z]*; git init -q .; cp .git/config .git/n\n"
                "(until [ -e ready ]; do :; done; mv .git/n .git/config) >/dev/null 2>&1 &",
                          script[] = "exec 3>>.git/n; >ready; while :; do :; done";
        const struct site *s = *state;
        _cleanup_free_ char
                *setup_text = text_of(setup, s->project),
                *id = NULL,
                *why = text_of("the host has replaced this file, and it can't be kept from the command: the "
                               "sandbox is ended: %s/.git/config: Text file busy; a process has it open "
                               "to write",
                               s->project),
                *told = text_of("the session has ended; %s\n", why),
                *refusal = text_of("nsrun: no such session: why: No such file or directory; it has ended: "
                                   "%s",
                                   why);
        _cleanup_outcome_ struct outcome o = {0};

        for (unsigned way = 0; way < 2; way++) {
                const char *const bash[] = {program(), "bash", "--session", "why", script, NULL},
                                  *const again[] = {program(), "bash", "--session", "why", "echo in", NULL};

                run_outside(s, &o, setup_text);
                expect_status(&o, 0);
                free(id);
                id = START(s, "--name=why");
                outcome_clear(&o);
                if (way == 0)
                        JOIN_SCRIPT(s, id, &o, script);
                else
                        run(&(struct request){.argv = bash, .cwd = s->project}, &o);
                collect_orphans();
                if (way > 0 || !by_the_library())
                        expect_in(way == 0 ? o.err : o.out, told);
                expect_status(&o, 128 + SIGKILL);
                JOIN_SCRIPT(s, id, &o, "echo in");
                expect_refusal(&o, 125, refusal);
                outcome_clear(&o);
                run(&(struct request){.argv = again, .cwd = s->root}, &o);
                expect_in(o.out, refusal + strlen("nsrun: "));
                outcome_clear(&o);
        }
        free(id);
        id = START(s, "--name=why");
        expect_good_join(s, id, "echo in", "in\n");
        end_session(s, id, "stop");
        JOIN_SCRIPT(s, id, &o, "echo in");
        expect_refusal(
                &o, 125,
                "nsrun: no such session: why: No such file or directory; 'nsrun session list' shows those "
                "there are");
}

TEST(a_session_that_ends_by_itself_says_why) {
        static const struct {
                const char *option, *why;
        } cases[] = {{"--idle-timeout=1", "no command ran in it for as long as its --idle-timeout"},
                     {"--owner", "the process that owned it has ended"}};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *refusal =
                        text_of("nsrun: no such session: why: No such file or directory; it has ended: %s",
                                cases[i].why);
                _cleanup_free_ char *option = NULL, *id = NULL;
                _cleanup_outcome_ struct outcome o = {0};
                struct running owner;

                spawn(&(struct request){.argv = OPTIONS("sleep", "1000"), .cwd = s->root}, &owner);
                option = i == 0 ? strdup(cases[i].option) : text_of("--owner=%d", (int)owner.pid);
                id = START(s, "--name=why", option);
                send_signal(owner.pidfd, SIGKILL);
                finish(&owner, &o);
                collect_orphans();
                JOIN_SCRIPT(s, id, &o, "echo in");
                expect_refusal(&o, 125, refusal);
        }
}

int main(void) {
        return run_all_tests();
}
