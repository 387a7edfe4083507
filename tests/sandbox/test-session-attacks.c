/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a command of a session may do to its own reaper, to other commands and to pid 1, and
 * whether anything that it starts gets away.  Both ways of telling commands apart: Landlock's
 * domains, and a pid namespace each.  Not what sessions are good for. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "attack.h"

/* What a storm of children is made of, and how long it lasts where nobody ends it: longer than anything is
 * waited for. */
#define STORM_STAYING 6000
#define STORM_FORKING 8
#define STORM_LIMIT   "pids=7000"
#define STORM_SECONDS 300

/* ------------------------------------------------------------------ inside */

static pid_t clone_parent(void) {
        return (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
}

/* Who gets away, if anybody can, keeps standard output open. */
static void get_away(void) {
        for (int i = 0; i < 4; i++) {
                pid_t pid = i == 3 ? clone_parent() : fork();

                if (pid < 0)
                        _exit(97);
                if (pid > 0)
                        continue;
                (void)prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
                for (int signal = 1; signal < 32; signal++)
                        (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
                if (i > 0)
                        (void)setsid();
                if (i > 1)
                        (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
                if (i > 0 && fork() != 0 && i == 1)
                        _exit(0);
                for (;;)
                        (void)pause();
        }
}

/* With no room in the queue of pending signals the kernel drops who sent them. */
static void release(void) {
        const struct rlimit none = {0, 0};

        /* pid 1 may take it for one to pass on. */
        (void)signal(RELEASE, SIG_IGN);
        tell("prlimit", prlimit(1, RLIMIT_SIGPENDING, &none, NULL));
        tell("kill", kill(1, RELEASE));
}

static int end_at_once(void *nothing) {
        (void)nothing;
        _exit(0);
}

/* A child of the reaper's that has ended already.  False where as many as are allowed wait to be reaped. */
static bool fork_once(void) {
        static char stack[65536] __attribute__((__aligned__(16)));

        return clone(end_at_once, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | CLONE_PARENT | SIGCHLD,
                     NULL) >= 0;
}

/* Its memory is its parent's: thousands of copies of a program take minutes to make where others work. */
static _Noreturn int stay(void *nothing) {
        (void)nothing;
        (void)alarm(STORM_SECONDS);
        for (;;)
                (void)pause();
}

/* Children of the reaper's, of whom some stay, so that each of its looks takes long, and others end and
 * are replaced faster than it looks: it is there once the reaper is so far behind that there can be no more.
 */
static void storm(void) {
        enum {
                STACK = 16384
        };
        char *stacks = mmap(NULL, (size_t)STORM_STAYING * STACK, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        int go[2];
        char byte;

        if (stacks == MAP_FAILED || pipe(go) < 0)
                _exit(96);
        (void)signal(SIGTERM, SIG_IGN);
        (void)alarm(STORM_SECONDS);
        for (size_t i = 1; i <= STORM_STAYING; i++)
                if (clone(stay, stacks + i * STACK, CLONE_VM | CLONE_PARENT | SIGCHLD, NULL) < 0)
                        _exit(97);
        /* They begin when all are there: then there is no room for one more. */
        for (int i = 0; i < STORM_FORKING; i++) {
                pid_t pid = clone_parent();

                if (pid < 0)
                        _exit(97);
                if (pid > 0)
                        continue;
                (void)alarm(STORM_SECONDS);
                (void)close(go[1]);
                (void)!read(go[0], &byte, 1);
                for (;;)
                        (void)fork_once();
        }
        (void)close(go[1]);
        while (fork_once())
                ;
        (void)puts("ready");
        (void)fflush(NULL);
        for (;;)
                (void)fork_once();
}

/* No signal with a value gets through to who shares this user's count of pending ones, until it ends. */
static void crowd(void) {
        sigset_t set;

        (void)sigemptyset(&set);
        (void)sigaddset(&set, SIGRTMIN + 5);
        (void)sigprocmask(SIG_BLOCK, &set, NULL);
        while (sigqueue(getpid(), SIGRTMIN + 5, (union sigval){0}) == 0)
                ;
        tell("queue", -1);
        (void)fflush(NULL);
        for (;;)
                (void)pause();
}

static _Noreturn void inside(const char *what, const char *argument) {
        if (streq(what, "attack")) {
                attack(streq(argument, "reaper") ? getppid() : (pid_t)atoi(argument));
        } else if (streq(what, "attack-child")) {
                pid_t pid;

                /* What is harmless to a reaper would end the child. */
                (void)signal(RELEASE, SIG_IGN);
                pid = fork();
                if (pid == 0)
                        for (;;)
                                (void)pause();
                attack(pid);
                (void)kill(pid, SIGKILL);
        } else if (streq(what, "get-away")) {
                get_away();
                (void)puts("ready");
        } else if (streq(what, "release")) {
                release();
                (void)fflush(NULL);
                _exit(7);
        } else if (streq(what, "storm")) {
                storm();
        } else if (streq(what, "crowd")) {
                crowd();
        } else if (streq(what, "wait")) {
                (void)signal(RELEASE, SIG_IGN);
                (void)printf("%d %d\n", (int)getppid(), (int)getpid());
                (void)fflush(NULL);
                for (;;)
                        (void)pause();
        }
        (void)fflush(NULL);
        _exit(0);
}

/* ----------------------------------------------------------------- outside */

/* ------------------------------------------------------------------- tests */

/* Without Landlock's scopes isolated commands are nested. */
static bool is_mode_nested(size_t i) {
        return i == NESTED || (i == ISOLATED && !has_scopes());
}

/* A session of isolated commands that are in one pid namespace. */
static char *start_scoped(const struct site *s) {
        if (!has_scopes())
                skip_because("skipped: this kernel's Landlock has no scopes (ABI 6, Linux 6.12)");
        return start_session(s, modes[ISOLATED], "--seccomp=default");
}

TEST(no_command_reaches_a_reaper_or_another_command) {
        const struct site *s = *state;
        _cleanup_free_ char *id = start_scoped(s), *line = NULL;
        _cleanup_outcome_ struct outcome o = {0}, its = {0};
        struct running other;
        char *space;

        spawn_in(s, id, &other, "wait", false);
        line = read_line(other.out);
        space = strchr(line, ' ');
        assert_non_null(space);
        *space = '\0';
        space[1 + strcspn(space + 1, "\n")] = '\0';
        run_in(s, id, &o, "attack", "1");
        expect_out(&o, denied);
        run_in(s, id, &o, "attack", "reaper");
        expect_out(&o, denied);
        run_in(s, id, &o, "attack", line);
        expect_out(&o, denied);
        run_in(s, id, &o, "attack", space + 1);
        expect_out(&o, denied);
        /* One's own processes are another matter. */
        run_in(s, id, &o, "attack-child", "");
        expect_out(&o, all_ok);
        assert_true(is_alive(&other));
        assert_int_equal(kill(other.pid, SIGTERM), 0);
        finish(&other, &its);
        expect_status(&its, 128 + SIGTERM);
        end_session(s, id);
}

TEST(a_nested_command_can_not_release_itself) {
        const struct site *s = *state;
        _cleanup_free_ char *id = start_session(s, modes[NESTED], "--seccomp=none");
        _cleanup_outcome_ struct outcome o = {0};

        run_in(s, id, &o, "release", "");
        expect_out(&o, "prlimit: ok\nkill: ok\n");
        expect_status(&o, 7);
        end_session(s, id);
}

TEST(nobody_gets_away) {
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
                _cleanup_free_ char *id = start_session(s, modes[i], "--seccomp=default"), *line = NULL;
                _cleanup_outcome_ struct outcome o = {0}, left = {0}, its = {0};
                struct running other, leaving;

                spawn_in(s, id, &other, "wait", false);
                line = read_line(other.out);
                /* finish() waits for whoever has the command's output. */
                spawn_in(s, id, &leaving, "get-away", true);
                finish(&leaving, &o);
                expect_status(&o, 0);
                expect_out(&o, "ready\n");
                /* They live where that is wanted, until the session ends. */
                spawn_in(s, id, &leaving, "get-away", false);
                free(read_line(leaving.out));
                (void)waitid(P_PID, (id_t)leaving.pid, &(siginfo_t){0}, WEXITED | WNOWAIT);
                assert_int_equal(poll(&(struct pollfd){.fd = leaving.out, .events = POLLIN}, 1, 0), 0);
                assert_true(is_alive(&other));
                kill_session(s, id);
                finish(&leaving, &left);
                finish(&other, &its);
                collect_orphans();
        }
}

TEST(neither_command_nor_reaper_has_a_capability) {
        static const char none[] = "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n"
                                   "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n"
                                   "CapAmb:\t0000000000000000\nNoNewPrivs:\t1\n";
        static const char script[] = "grep -hE '^(Cap|NoNewPrivs)' /proc/$PPID/status /proc/self/status",
                          shared[] = "grep -hE '^(Cap|NoNewPrivs)' /proc/self/status; read x <fifo";
        const struct site *s = *state;
        _cleanup_free_ char *twice = text_of("%s%s", none, none), *fifo = path_of(s->project, "fifo");

        assert_int_equal(mkfifo(fifo, 0600), 0);
        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
                _cleanup_free_ char *id = start_session(s, modes[i], "--seccomp=default");
                const char *const argv[] = {program(), "run", "--session", id,
                                            "--",      "sh",  "-c",        i < SHARED ? script : shared,
                                            NULL};
                _cleanup_outcome_ struct outcome o = {0}, its = {0};
                struct running running;

                spawn(&(struct request){.argv = argv, .cwd = s->root}, &running);
                /* The reaper isn't to be seen from inside. */
                if (i >= SHARED) {
                        int fd = open(fifo, O_WRONLY | O_CLOEXEC);
                        _cleanup_free_ char *path = text_of("/proc/%d/status", (int)reaper_of(running.pid));
                        const char *const look[] = {"grep", "-E", "^(Cap|NoNewPrivs)", path, NULL};

                        assert_true(fd >= 0);
                        run(&(struct request){.argv = look}, &its);
                        expect_out(&its, none);
                        (void)close(fd);
                }
                finish(&running, &o);
                expect_out(&o, i < SHARED ? twice : none);
                end_session(s, id);
        }
}

/* So that it knows of all that its command has started.  (Where that has a pid namespace of its own its
 * reaper is pid 1.) */
TEST(orphans_become_children_of_their_commands_reaper) {
        static const char script[] =
                "sh -c 'sleep 1000 & echo $! >orphan'; read pid <orphan; while read key value; do "
                "[ $key != PPid: ] || echo parent $((value - $PPID)); done </proc/$pid/status; kill $pid";
        const struct site *s = *state;
        _cleanup_free_ char *id = start_scoped(s);
        _cleanup_outcome_ struct outcome o = {0};

        NSRUN_IN(s->root, &o, "run", "--session", id, "--", "sh", "-c", script);
        expect_status(&o, 0);
        expect_out(&o, "parent 0\n");
        end_session(s, id);
}

TEST(who_kills_nsrun_kills_all_that_its_command_started) {
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
                _cleanup_free_ char *id = start_session(s, modes[i], "--seccomp=default");
                const char *const *argv = OPTIONS(program(), "run", "--session", id, "--", "sh", "-c",
                                                  "/probe get-away ''; exec sleep 1000");
                _cleanup_outcome_ struct outcome o = {0};
                struct running running;
                /* With a pid namespace of its own the reaper is a child of the session's pid 1. */
                pid_t reaper = 0;

                spawn(&(struct request){.argv = argv, .cwd = s->root}, &running);
                free(read_line(running.out));
                if (!is_mode_nested(i))
                        reaper = reaper_of(running.pid);
                assert_int_equal(kill(running.pid, SIGKILL), 0);
                finish(&running, &o);
                expect_status(&o, 1000 + SIGKILL);
                /* Ours by now. */
                if (reaper > 0)
                        (void)waitid(P_PID, (id_t)reaper, &(siginfo_t){0}, WEXITED);
                end_session(s, id);
        }
}

/* nsrun, which may end the session for it, is stopped.  (In a pid namespace of its own that ends.) */
TEST(a_command_dies_with_its_reaper) {
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
                _cleanup_free_ char *id = NULL, *line = NULL;
                struct pollfd command = {.events = POLLIN};
                _cleanup_outcome_ struct outcome o = {0}, after = {0};
                struct running running;
                pid_t reaper;

                if (is_mode_nested(i))
                        continue;
                id = start_session(s, modes[i], "--seccomp=default");
                spawn(&(struct request){.argv = OPTIONS(program(), "run", "--session", id, "--", "sh", "-c",
                                                        "echo ready; exec sleep 1000"),
                                        .cwd = s->root},
                      &running);
                line = read_line(running.out);
                reaper = reaper_of(running.pid);
                command.fd = (int)syscall(SYS_pidfd_open, reaper_of(reaper), 0);
                assert_true(command.fd >= 0);
                assert_int_equal(poll(&command, 1, 0), 0);
                assert_int_equal(kill(running.pid, SIGSTOP), 0);
                assert_int_equal(kill(reaper, SIGKILL), 0);
                assert_int_equal(poll(&command, 1, deadline_seconds * 1000), 1);
                assert_int_equal(kill(running.pid, SIGCONT), 0);
                (void)close(command.fd);
                finish(&running, &o);
                expect_status(&o, 128 + SIGKILL);
                /* One user's processes go on without one of theirs. */
                if (i >= SHARED) {
                        run_in(s, id, &after, "attack-child", "");
                        expect_out(&after, all_ok);
                        kill_session(s, id);
                }
                collect_orphans();
        }
}

/* A reaper whose children end faster than it can reap them hears of the end all the same. */
/* root's processes aren't counted, and a storm that isn't bounded is the whole machine's. */
TEST_IF(geteuid() != 0, a_storm_of_children_does_not_outlive_nsrun, site_setup, site_teardown) {
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
                _cleanup_free_ char *id = start_session(s, modes[i], "--limit=" STORM_LIMIT);
                _cleanup_outcome_ struct outcome o = {0};
                struct running running;
                pid_t reaper = 0;

                spawn_in(s, id, &running, "storm", false);
                await_line(running.out, "ready\n");
                if (!is_mode_nested(i))
                        reaper = reaper_of(running.pid);
                assert_int_equal(kill(running.pid, SIGKILL), 0);
                /* All of it holds the output. */
                finish(&running, &o);
                if (reaper > 0)
                        (void)waitid(P_PID, (id_t)reaper, &(siginfo_t){0}, WEXITED);
                end_session(s, id);
        }
}

#define NOTING "trap 'echo told; exit 3' TERM; echo ready; while :; do sleep 0.02; done"

/* argv[3] is how long it has. */
static void expect_told_at_the_deadline(const struct site *s, const char **argv) {
        _cleanup_outcome_ struct outcome o = {0};
        size_t i = 0;

        do {
                argv[3] = deadlines[i];
                outcome_clear(&o);
                run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        } while ((!strstr(o.out, "queue:") || !strstr(o.out, "ready\n")) && was_too_short("", "ready", &i));
        expect_status(&o, 124);
        expect_in(o.out, "queue: EAGAIN\n");
        expect_in(o.out, "told\n");
}

/* A queue that is full keeps nobody from hearing that it is to end. */
TEST(nobody_is_kept_from_a_sigterm) {
        const struct site *s = *state;
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/probe:ro", self);
        const char *alone[] = {program(),  "bash",   "--timeout", NULL, "--project",
                               s->project, "--bind", bind,        "--", "/probe crowd '' & " NOTING,
                               NULL};
        struct rlimit before, few;

        /* Of the host's user, too, no more is taken than this. */
        assert_int_equal(getrlimit(RLIMIT_SIGPENDING, &before), 0);
        few = (struct rlimit){200, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_SIGPENDING, &few), 0);
        expect_told_at_the_deadline(s, alone);
        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
                _cleanup_free_ char *id = start_session(s, modes[i], "--seccomp=default"), *line = NULL;
                const char *const noting[] = {program(), "run", "--session", id,  "--",
                                              "sh",      "-c",  NOTING,      NULL};
                const char *joined[] = {program(),   "bash", "--timeout", NULL,
                                        "--session", id,     "--",        "/probe crowd '' & " NOTING,
                                        NULL};
                const char *const stop[] = {program(), "session", "stop", id, NULL};
                _cleanup_outcome_ struct outcome o = {0}, its = {0}, stopped = {0};
                struct running running, other;

                expect_told_at_the_deadline(s, joined);
                spawn(&(struct request){.argv = noting, .cwd = s->root}, &running);
                line = read_line(running.out);
                spawn_in(s, id, &other, "crowd", false);
                free(read_line(other.out));
                run(&(struct request){.argv = stop, .cwd = s->root}, &stopped);
                expect_status(&stopped, 0);
                finish(&running, &o);
                finish(&other, &its);
                expect_status(&o, 3);
                expect_out(&o, "told\n");
                collect_orphans();
        }
        assert_int_equal(setrlimit(RLIMIT_SIGPENDING, &before), 0);
}

TEST(a_session_ends_with_a_killed_reaper) {
        const struct site *s = *state;
        _cleanup_free_ char *id = start_scoped(s);
        const char *const argv[] = {program(), "run", "--session", id,
                                    "--",      "sh",  "-c",        "/probe get-away ''; exec sleep 1000",
                                    NULL};
        _cleanup_outcome_ struct outcome o = {0}, after = {0};
        struct running running;

        spawn(&(struct request){.argv = argv, .cwd = s->root}, &running);
        await_line(running.out, "ready\n");
        assert_int_equal(kill(reaper_of(running.pid), SIGKILL), 0);
        finish(&running, &o);
        expect_status(&o, 128 + SIGKILL);
        assert_string_equal(
                o.err,
                by_the_library()
                        ? KILLED_BY_THE_LIBRARY
                        : "nsrun: the command's reaper was killed by signal 9, and the session with it\n");
        collect_orphans();
        NSRUN_IN(s->root, &after, "session", "stop", id);
        expect_status(&after, 125);
        expect_in(after.err, "no such session");
}

int main(int argc, char **argv) {
        if (argc == 3)
                inside(argv[1], argv[2]);
        return run_all_tests();
}
