/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each system call of nsrun-net fails once, from its loader's to its last: then nsrun says so and no command
 * has run, or the command's connection ends and nothing that it may not reach is reached.  In the place of
 * nsrun-net the test program is started, which makes a process that answers for the kernel (a seccomp
 * filter's listener) and becomes nsrun-net. */
#include "net.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/sys.h"
#include "session.h"

/* Above what nsrun-net is given. */
#define SOCKET_FD 500
#define LOG_FD    501

/* What the test says, and is told, by a file beside the link that is executed. */
struct fault {
        char program[256];
        unsigned wanted; /* the call that fails; 0: none */
        int error;
        unsigned n; /* calls that were made */
        int number; /* of the one that failed */
};

/* A process can't live on where these fail, which they never do: of a wake by futex(2) the C library doesn't
 * look at the result, and who should have been woken would sleep for ever; and a close(2) that fails has
 * closed all the same, while one that isn't made leaves the other side to wait. */
static bool never_fails(int number) {
        return number == SYS_exit || number == SYS_exit_group || number == SYS_rt_sigreturn ||
               number == SYS_futex || number == SYS_close;
}

static void answer_calls(int listener, struct fault *f) {
        struct pollfd wait = {.fd = listener, .events = POLLIN};

        while (poll(&wait, 1, -1) > 0 && (wait.revents & POLLIN)) {
                struct seccomp_notif call = {0};
                struct seccomp_notif_resp answer = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

                if (syscall(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
                        continue;
                answer.id = call.id;
                if (++f->n == f->wanted && !never_fails(call.data.nr)) {
                        f->number = call.data.nr;
                        answer.flags = 0;
                        answer.error = -f->error;
                }
                (void)syscall(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
        }
        (void)pwrite(LOG_FD, f, sizeof(*f), 0);
        _exit(0);
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FIRST_ARGUMENT offsetof(struct seccomp_data, args)
#else
#define FIRST_ARGUMENT (offsetof(struct seccomp_data, args) + 4)
#endif

/* The caller's calls are all answered by the listener, but for the one that hands that over. */
static int ask_about_all_calls(void) {
        static struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendmsg, 0, 3),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIRST_ARGUMENT),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCKET_FD, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        };
        const struct sock_fprog program = {ARRAY_SIZE(filter), filter};

        return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                            &program);
}

/* In the place of nsrun-net. */
static void become_helper(void) {
        const char *link = (const char *)getauxval(AT_EXECFN);
        char path[512];
        struct fault f;
        int pair[2], fd, listener;

        (void)snprintf(path, sizeof(path), "%.*s/fault", (int)(strrchr(link, '/') - link), link);
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0 || pread(fd, &f, sizeof(f), 0) != (ssize_t)sizeof(f) ||
            dup3(fd, LOG_FD, O_CLOEXEC) != LOG_FD || close(fd) < 0 ||
            socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
            dup3(pair[0], SOCKET_FD, O_CLOEXEC) != SOCKET_FD || close(pair[0]) < 0)
                _exit(90);
        fd = fcntl(pair[1], F_DUPFD_CLOEXEC, LOG_FD + 1);
        (void)close(pair[1]);
        if (fork() == 0) {
                (void)syscall(SYS_close_range, 0U, SOCKET_FD, 0U);
                listener = sys_receive_fd(fd);
                if (listener < 0)
                        _exit(91);
                answer_calls(listener, &f);
        }
        (void)close(fd);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                _exit(92);
        listener = ask_about_all_calls();
        if (listener < 0 || sys_send_fds(SOCKET_FD, "", 1, &listener, 1) < 0)
                _exit(93);
        /* The listener's own copy keeps it open; of nsrun-net's none may. */
        (void)fcntl(listener, F_SETFD, FD_CLOEXEC);
        (void)execv(f.program, (char *const[]){(char *)(uintptr_t) "nsrun-net", NULL});
        _exit(94);
}

/* --------------------------------------------------------------------- the test */

static void expect_harmless(const struct fault *f, const struct world *w, const struct outcome *o) {
        static const char *const lines[] = {"good.test:8080: ", "private.test:8080: ", "bad.test:8080: "};
        _cleanup_free_ char *log = file_text(w->log);
        const char *at = o->out;

        print_message("call %u, number %d, fails: status %d: %s", f->wanted, f->number, o->status,
                      o->status == 125 ? o->err : o->out);
        /* The host's own resolver asks by UDP where it can't read /etc/hosts. */
        for (const char *line = log; *line; line += strcspn(line, "\n") + 1)
                assert_true(startswith(line, "tcp 203.0.113.5\n") || startswith(line, "udp\n"));
        if (o->status == 125) {
                assert_string_equal(o->out, "");
                assert_string_equal(log, "");
                assert_non_null(startswith(o->err, "nsrun: "));
                assert_ptr_equal(strchr(o->err, '\n'), o->err + strlen(o->err) - 1);
                return;
        }
        /* 124: it hangs. */
        assert_int_equal(o->status, 0);
        for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
                at = startswith(at, lines[i]);
                assert_non_null(at);
                if (i > 0)
                        assert_null(startswith(at, "to "));
                at = strchr(at, '\n');
                assert_non_null(at++);
        }
        assert_string_equal(at, "");
}

TEST(a_failing_call_of_the_helper_opens_nothing) {
        const struct site *s = *state;
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *link = path_of(s->root, "nsrun-net"),
                            *path = path_of(s->root, "fault"), *real = strdup(getenv("NSRUN_NET"));
        _cleanup_outcome_ struct outcome o = {0};
        unsigned step = (unsigned)size_of_test(13, 1), n = UINT32_MAX, n_reached = 0;
        _cleanup_world_ struct world w;

        world_make(s, &w, "203.0.113.5 good.test\n10.0.0.5 private.test\n203.0.113.5 bad.test\n");
        assert_int_equal(symlink(self, link), 0);
        assert_int_equal(setenv("NSRUN_NET", link, 1), 0);
        for (unsigned i = 0; i <= n; i = i == 0 ? 1 : i + step) {
                struct fault f = {.wanted = i, .error = EIO, .number = -1};
                _cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

                (void)snprintf(f.program, sizeof(f.program), "%s", real);
                assert_int_equal(pwrite(fd, &f, sizeof(f), 0), sizeof(f));
                assert_int_equal(truncate(w.log, 0), 0);
                WORLD_RUN(&w, &o,
                          OPTIONS("--net=allow", "--allow=good.test:8080", "--allow=private.test:8080",
                                  "--timeout=40"),
                          "reach", "good.test:8080", "private.test:8080", "bad.test:8080");
                assert_int_equal(pread(fd, &f, sizeof(f), 0), sizeof(f));
                if (i == 0) {
                        n = f.n;
                        print_message("%u calls\n", n);
                        assert_true(n > 100);
                        expect_out(&o,
                                   "good.test:8080: to 203.0.113.5: 2 bytes\nprivate.test:8080: Connection "
                                   "reset by peer\nbad.test:8080: no such name\n");
                        continue;
                }
                expect_harmless(&f, &w, &o);
                n_reached += o.status == 0 && strstr(o.out, "2 bytes") != NULL;
        }
        print_message("%u times all the same\n", n_reached);
        assert_true(n_reached > 0);
        assert_int_equal(setenv("NSRUN_NET", real, 1), 0);
}

int main(int argc, char **argv) {
        if (argc > 0 && streq(argv[0], "nsrun-net"))
                become_helper();
        client_main(argc, argv);
        return run_all_tests();
}
