/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a command may try on others' processes, terminals, keys and sockets: attempt.c
 * tries, and each attempt has a control that differs in one thing and succeeds.
 * Files have test-breakouts-files.c; what the filter answers to single calls is in
 * test-filter.c. */
#include "attempt.h"

#include <mqueue.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

/* ----------------------------------------------------------------- processes */

static const char *const memory_attempts[] = {"ptrace", "seize", "vm-write", "vm-read", "descriptor-of"};

/* The command may do all of it to a process of its own. */
TEST(pid_1_is_nobodys_to_take_over) {
        static const char *const files[] = {"mem",     "environ", "maps",   "auxv",   "root",
                                            "cwd",     "exe",     "fd/0",   "fd/1",   "ns/mnt",
                                            "ns/user", "ns/pid",  "ns/net", "ns/ipc", "ns/uts"};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(memory_attempts); i++) {
                expect_inside(s, NULL, WORDS(memory_attempts[i], "1"), "EPERM");
                expect_inside(s, NULL, WORDS(memory_attempts[i], "child"), "ok");
        }
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                expect_inside(s, NULL, WORDS("process-file", "1", files[i]), "EACCES");
                expect_inside(s, NULL, WORDS("process-file", "child", files[i]), "ok");
        }
}

TEST(pid_1_tells_nothing_of_the_host) {
        static const char *const files[] = {"cmdline", "comm",      "status",  "stat",
                                            "cgroup",  "mountinfo", "environ", "limits"};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        expect_inside(s, NULL, WORDS("link", "/proc/1/root"), "EACCES");
        expect_inside(s, NULL, WORDS("link", "/proc/1/cwd"), "EACCES");
        expect_inside(s, NULL, WORDS("link", "/proc/1/exe"), "EACCES");
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                _cleanup_free_ char *path = text_of("/proc/1/%s", files[i]);

                try_inside(s, NULL, WORDS("read", path), &o);
                expect_status(&o, 0);
                expect_not_in(o.out, s->root);
                expect_not_in(o.out, "--project");
        }
        try_inside(s, NULL, WORDS("read", "/proc/self/cmdline"), &o);
        expect_out(&o, "ok\n/proc/self/cmdline: /attempt read /proc/self/cmdline \n");
}

/* Else a command could have pid 1 signal whom it may not. */
/* Runs a script that sends pid 1 a SIGUSR1 and says "ready"; of the two signals the one from outside alone
 * may reach it. */
static void expect_nothing_passed_on(const struct site *s, const char *script) {
        _cleanup_free_ const char **argv = nsrun_argv(s, WORDS("--", "sh", "-c", script));
        _cleanup_outcome_ struct outcome o = {0};
        struct running running;

        spawn(&(struct request){.argv = argv, .cwd = s->project}, &running);
        await_line(running.out, "ready\n");
        /* A signalfd gives the one with the lower number first: that one has been judged then. */
        assert_int_equal(kill(running.pid, SIGUSR2), 0);
        finish(&running, &o);
        expect_status(&o, 3);
        expect_out(&o, "outside\n");
}

TEST(pid_1_passes_nothing_on_that_comes_from_inside) {
        expect_nothing_passed_on(
                *state, "trap 'echo inside' USR1; trap 'echo outside; exit 3' USR2; kill -USR1 1; "
                        "[ $PPID = 0 ] || kill -USR1 $PPID; echo ready; while :; do sleep 0.02; done");
}

TEST(pid_1_believes_no_sender_that_says_it_is_outside) {
        const struct site *s = *state;

        copy_helper(s, "attempt");
        expect_nothing_passed_on(s,
                                 "trap 'echo inside' USR1; trap 'echo outside; exit 3' USR2; "
                                 "./attempt forged-sender 1 >&2; echo ready; while :; do sleep 0.02; done");
}

TEST(the_hosts_processes_are_out_of_reach) {
        const struct site *s = *state;
        const char *const argv[] = {"cat", NULL};
        struct running victim;
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *pid = NULL;
        int fds[2];

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        spawn(&(struct request){.argv = argv, .standard_input = fds[0]}, &victim);
        pid = text_of("%d", victim.pid);
        assert_true(victim.pid > 8);
        for (size_t i = 0; i < ARRAY_SIZE(memory_attempts); i++)
                expect_inside(s, NULL, WORDS(memory_attempts[i], pid), "ESRCH");
        expect_inside(s, NULL, WORDS("process-file", pid, "mem"), "ENOENT");
        expect_inside(s, NULL, WORDS("kill", pid), "ESRCH");
        expect_inside(s, NULL, WORDS("queue", pid), "ESRCH");
        /* Everybody: the child dies of it, and nobody else. */
        expect_inside(s, NULL, WORDS("kill-all", "child"), "ok");
        expect_inside(s, NULL, WORDS("kill", "child"), "ok");
        assert_int_equal(kill(victim.pid, 0), 0);
        expect_outside(s, NULL, WORDS("descriptor-of", pid), "ok");
        expect_outside(s, NULL, WORDS("process-file", pid, "mem"), "ok");
        expect_outside(s, NULL, WORDS("kill", pid), "ok");
        finish(&victim, &o);
        assert_int_equal(o.status, 1000 + SIGKILL);
        (void)close(fds[0]);
        (void)close(fds[1]);
}

/* ------------------------------------------------------------------ terminal */

static void take_the_terminal(nsrun_unused void *data) {
        if (setsid() < 0 || ioctl(0, TIOCSCTTY, 0) < 0)
                _exit(123);
}

/* The command shares the caller's terminal, and nothing but the filter is between. */
static char *at_a_terminal(const struct site *s, const char *option, const char *attempt) {
        _cleanup_free_ char *helper = helper_path("attempt"), *bind = text_of("%s:/attempt:ro", helper);
        const char *const arguments[] = {"--bind", bind, "--no-new-session", option, "--", "/attempt",
                                         attempt,  NULL};
        _cleanup_free_ const char **argv = nsrun_argv(s, arguments);
        _cleanup_outcome_ struct outcome o = {0};
        int terminal, side;

        assert_int_equal(openpty(&terminal, &side, NULL, NULL, NULL), 0);
        assert_int_equal(fcntl(terminal, F_SETFD, FD_CLOEXEC), 0);
        assert_int_equal(fcntl(side, F_SETFD, FD_CLOEXEC), 0);
        run(
                &(struct request){
                        .argv = argv, .cwd = s->root, .standard_input = side, .in_child = take_the_terminal},
                &o);
        (void)close(terminal);
        (void)close(side);
        expect_status(&o, 0);
        o.out[strcspn(o.out, "\n")] = '\0';
        return TAKE_PTR(o.out);
}

TEST(nothing_is_typed_into_a_terminal_that_is_shared) {
        static const char *const names[] = {"tiocsti", "tiocsti-high", "tioclinux"};
        const struct site *s = *state;

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_free_ char *by_default = at_a_terminal(s, "--seccomp=default", names[i]);
                _cleanup_free_ char *control = at_a_terminal(s, "--seccomp=none", names[i]);

                assert_string_equal(by_default, "EPERM");
                /* EIO: dev.tty.legacy_tiocsti=0 (6.2); ENOTTY: no virtual console. */
                if (streq(names[i], "tioclinux"))
                        assert_string_equal(control, "ENOTTY");
                else if (!streq(control, "ok"))
                        assert_string_equal(control, "EIO");
        }
}

TEST(no_other_terminal_is_there) {
        const struct site *s = *state;
        int terminal, side;
        char name[64];

        assert_int_equal(openpty(&terminal, &side, name, NULL, NULL), 0);
        expect_both(s, WORDS("write", name), "ENOENT", "ok");
        (void)close(terminal);
        (void)close(side);
}

/* ---------------------------------------------------------------------- keys */

static void keep_a_key(nsrun_unused void *data) {
        /* JOIN_SESSION_KEYRING; KEY_SPEC_SESSION_KEYRING */
        if (syscall(SYS_keyctl, 1, NULL) < 0 ||
            syscall(SYS_add_key, "user", "nsrun-secret", "marzipan", (size_t)8, -3) < 0)
                _exit(errno == ENOSYS ? 122 : 123);
}

TEST(the_callers_keys_are_not_the_commands) {
        const struct site *s = *state;
        _cleanup_free_ char *helper = helper_path("attempt"), *bind = text_of("%s:/attempt:ro", helper);
        const char *const outside[] = {helper, "key", "nsrun-secret", NULL};
        _cleanup_free_ const char **inside =
                nsrun_argv(s, WORDS("--bind", bind, "--", "/attempt", "key", "nsrun-secret"));
        _cleanup_free_ const char **none = nsrun_argv(
                s, WORDS("--seccomp=none", "--bind", bind, "--", "/attempt", "key", "nsrun-secret"));
        struct request request = {.argv = outside, .cwd = s->root, .in_child = keep_a_key};
        _cleanup_outcome_ struct outcome o = {0};

        run(&request, &o);
        if (o.status == 122)
                skip_because("skipped: this kernel has no keys");
        expect_out(&o, "ok\nnsrun-secret: marzipan\n");
        outcome_clear(&o);
        request.argv = inside;
        run(&request, &o);
        expect_out(&o, "EPERM\n");
        outcome_clear(&o);
        /* A session's keyring is inherited: it is the filter that keeps it closed. */
        request.argv = none;
        run(&request, &o);
        expect_out(&o, "ok\nnsrun-secret: marzipan\n");
        expect_both(s, WORDS("user-keyring"), "EPERM", "ok");
        expect_both(s, WORDS("join-session"), "EPERM", "ok");
}

/* ------------------------------------------------------------------- sockets */

static int listen_abstract(const char *name, int type) {
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

        (void)strncpy(at.sun_path + 1, name, sizeof(at.sun_path) - 2);
        assert_true(fd >= 0);
        assert_int_equal(bind(fd, (const struct sockaddr *)&at,
                              (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))),
                         0);
        if (type != SOCK_DGRAM)
                assert_int_equal(listen(fd, 8), 0);
        return fd;
}

/* With a shared network X11's and D-Bus's abstract sockets would be in reach. */
TEST(an_abstract_socket_of_the_host_is_out_of_reach) {
        static const struct {
                const char *attempt;
                int type;
        } kinds[] = {{"abstract-stream", SOCK_STREAM},
                     {"abstract-packets", SOCK_SEQPACKET},
                     {"abstract-datagram", SOCK_DGRAM}};
        const struct site *s = *state;

        if (!has_scopes())
                skip_because("skipped: this kernel's Landlock has no scopes (ABI 6, Linux 6.12)");
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
                _cleanup_free_ char *name = text_of("/tmp/.X11-unix/X%d-%zu", getpid(), i);
                int fd = listen_abstract(name, kinds[i].type);

                expect_both(s, WORDS(kinds[i].attempt, name), "EPERM", "ok");
                expect_inside(s, WORDS("--landlock=require"), WORDS(kinds[i].attempt, name), "EPERM");
                /* It is Landlock that refuses, and the network that would lead there. */
                expect_inside(s, WORDS("--landlock=off"), WORDS(kinds[i].attempt, name), "ok");
                expect_inside(s, WORDS("--seccomp=none"), WORDS(kinds[i].attempt, name), "EPERM");
                (void)close(fd);
        }
}

TEST(two_processes_inside_talk_by_an_abstract_socket) {
        const struct site *s = *state;
        _cleanup_free_ char *name = text_of("nsrun-pair-%d", getpid());

        expect_inside(s, NULL, WORDS("abstract-pair", name), "ok");
        expect_inside(s, WORDS("--net=none"), WORDS("abstract-pair", name), "ok");
}

/* An ordinary user may make them in a namespace of his own, on the host. */
TEST(there_are_no_raw_sockets) {
        const char *const *enter = WORDS("unshare", "-Urn");
        const struct site *s = *state;

        expect_inside(s, NULL, WORDS("raw"), "EPERM");
        expect_inside(s, NULL, WORDS("raw6"), "EPERM");
        expect_inside(s, NULL, WORDS("packet"), "EAFNOSUPPORT");
        expect_inside(s, WORDS("--net=none"), WORDS("raw"), "EPERM");
        expect_outside(s, enter, WORDS("raw"), "ok");
        expect_outside(s, enter, WORDS("raw6"), "ok");
        expect_outside(s, enter, WORDS("packet"), "ok");
}

TEST(message_queues_of_the_host_are_not_there) {
        const struct site *s = *state;
        _cleanup_free_ char *name = text_of("/nsrun-%d", getpid());
        mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, NULL);
        _cleanup_outcome_ struct outcome inside = {0}, outside = {0};

        if (queue < 0)
                skip_because("skipped: no POSIX message queues: %s", strerror(errno));
        try_inside(s, NULL, WORDS("queue-open", name), &inside);
        try_outside(s, NULL, WORDS("queue-open", name), &outside);
        (void)mq_close(queue);
        assert_int_equal(mq_unlink(name), 0);
        expect_out(&inside, "ENOENT\n");
        expect_out(&outside, "ok\n");
}

int main(void) {
        return run_all_tests();
}
