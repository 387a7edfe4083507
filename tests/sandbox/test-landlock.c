/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `--landlock`: the host's abstract sockets and processes are out of reach even with its
 * network; what belongs to the sandbox works; and where the kernel can't, that is said.  Also
 * --seccomp-log, which like it is only seen in what the kernel is asked for; and nsrun-bwrap's
 * --scope-abstract-unix-sockets. */
#include "faults.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

static socklen_t abstract_address(struct sockaddr_un *at, const char *name) {
        *at = (struct sockaddr_un){.sun_family = AF_UNIX};
        (void)snprintf(at->sun_path + 1, sizeof(at->sun_path) - 1, "%s", name);
        return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

/* Listening; -1 with errno. */
static int listen_at(const struct sockaddr_un *at, socklen_t size, int type) {
        int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

        if (fd < 0 || bind(fd, (const struct sockaddr *)at, size) < 0 ||
            (type == SOCK_STREAM && listen(fd, 8) < 0))
                return -1;
        return fd;
}

/* A byte from end to end. */
static const char *talk(const struct sockaddr_un *at, socklen_t size, int type) {
        _cleanup_close_ int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
        ssize_t n;

        if (type == SOCK_DGRAM)
                n = sendto(fd, "x", 1, 0, (const struct sockaddr *)at, size);
        else
                n = connect(fd, (const struct sockaddr *)at, size) < 0 ? -1 : write(fd, "x", 1);
        return n == 1 ? "ok" : strerror(errno);
}

/* What the sandbox's command does: NAME of the host's, one of its own, PATH. */
static _Noreturn void attempt(const char *stream, const char *datagram, const char *path) {
        struct sockaddr_un at;
        socklen_t size = abstract_address(&at, stream);
        char inside[64];
        int fd;

        (void)printf("stream: %s\n", talk(&at, size, SOCK_STREAM));
        size = abstract_address(&at, datagram);
        (void)printf("datagram: %s\n", talk(&at, size, SOCK_DGRAM));
        /* Two processes inside, by a name that no other run of this test has. */
        (void)snprintf(inside, sizeof(inside), "%s-inside", stream);
        size = abstract_address(&at, inside);
        fd = listen_at(&at, size, SOCK_STREAM);
        (void)fflush(stdout);
        if (fork() == 0) {
                (void)printf("inside: %s\n", fd < 0 ? strerror(errno) : talk(&at, size, SOCK_STREAM));
                (void)fflush(stdout);
                _exit(0);
        }
        (void)waitpid(-1, NULL, 0);
        at = (struct sockaddr_un){.sun_family = AF_UNIX};
        (void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
        (void)printf("path: %s\n", talk(&at, (socklen_t)sizeof(at), SOCK_STREAM));
        (void)fflush(stdout);
        _exit(0);
}

/* The host's sockets: two abstract ones, one in the project. */
struct sockets {
        int stream, datagram, path;
        char *stream_name, *datagram_name, *path_name;
};

static void open_sockets(struct sockets *k, const struct site *s) {
        /* A skipped test leaves its own open. */
        static unsigned n_opened;
        struct sockaddr_un at;
        socklen_t size;

        n_opened++;
        k->stream_name = text_of("nsrun-test-%d-%u-stream", getpid(), n_opened);
        k->datagram_name = text_of("nsrun-test-%d-%u-datagram", getpid(), n_opened);
        k->path_name = path_of(s->project, "socket");
        size = abstract_address(&at, k->stream_name);
        k->stream = listen_at(&at, size, SOCK_STREAM);
        size = abstract_address(&at, k->datagram_name);
        k->datagram = listen_at(&at, size, SOCK_DGRAM);
        at = (struct sockaddr_un){.sun_family = AF_UNIX};
        assert_true((size_t)snprintf(at.sun_path, sizeof(at.sun_path), "%s", k->path_name) <
                    sizeof(at.sun_path));
        k->path = listen_at(&at, sizeof(at), SOCK_STREAM);
        assert_true(k->stream >= 0 && k->datagram >= 0 && k->path >= 0);
}

static void close_sockets(struct sockets *k) {
        (void)close(k->stream);
        (void)close(k->datagram);
        (void)close(k->path);
        free(k->stream_name);
        free(k->datagram_name);
        free(k->path_name);
}

/* `before` is what stands before nsrun, up to a NULL. */
static void run_attempt(const struct site *s, const struct sockets *k, const char *const *before,
                        const char *option, struct outcome *ret) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/probe:ro", self);
        const char *const rest[] = {
                program(),        "run",        "--net=host", "--project", s->project, option,
                "--bind",         bind,         "--",         "/probe",    "attempt",  k->stream_name,
                k->datagram_name, k->path_name, NULL};
        _cleanup_free_ const char **argv = words_of(before, rest);

        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = s->root}, ret);
}

static const char scoped[] =
        "stream: Operation not permitted\ndatagram: Operation not permitted\ninside: ok\npath: ok\n";
static const char not_scoped[] = "stream: ok\ndatagram: ok\ninside: ok\npath: ok\n";
static const char *const nothing[] = {NULL};

/* As the kernel itself says it; asked here, for the judge must not be nsrun. */
static long landlock_abi(void) {
        return syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, 1U);
}
#define NEED_SCOPES()                                                                                  \
        do {                                                                                           \
                if (landlock_abi() < 6)                                                                \
                        skip_because("this kernel's Landlock has no scopes: ABI %ld", landlock_abi()); \
        } while (0)

TEST(the_hosts_abstract_sockets_are_out_of_reach) {
        static const char *const options[] = {"--landlock=auto", "--landlock=require", "--new-session"};
        const struct site *s = *state;
        _cleanup_(close_sockets) struct sockets k;
        _cleanup_outcome_ struct outcome o = {0};

        open_sockets(&k, s);
        run_attempt(s, &k, nothing, "--landlock=off", &o);
        expect_out(&o, not_scoped);
        NEED_SCOPES();
        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                run_attempt(s, &k, nothing, options[i], &o);
                expect_status(&o, 0);
                expect_out(&o, scoped);
                assert_string_equal(o.err, "");
        }
}

/* The same of nsrun-bwrap, with a reaper and without one. */
static void run_bwrap_attempt(const struct site *s, const struct sockets *k, const char *const *before,
                              const char *const *options, struct outcome *ret) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL);
        const char *const rest[] = {"--dev-bind",     "/",          "/", self, "attempt", k->stream_name,
                                    k->datagram_name, k->path_name, NULL};
        const char *bwrap = getenv("NSRUN_BWRAP");
        _cleanup_free_ const char **argv =
                words_of(before, OPTIONS(bwrap && *bwrap ? bwrap : "./nsrun-bwrap"), options, rest);

        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = s->root}, ret);
}

TEST(nsrun_bwrap_scopes_abstract_sockets_alone) {
        static const char *const without[] = {"--unshare-pid", NULL};
        static const char *const options[][4] = {
                {"--scope-abstract-unix-sockets", NULL},
                {"--unshare-pid", "--scope-abstract-unix-sockets", NULL},
                {"--scope-abstract-unix-sockets", "--unshare-pid", "--as-pid-1", NULL},
        };
        const struct site *s = *state;
        _cleanup_(close_sockets) struct sockets k;
        _cleanup_outcome_ struct outcome o = {0};

        open_sockets(&k, s);
        run_bwrap_attempt(s, &k, nothing, without, &o);
        expect_out(&o, not_scoped);
        NEED_SCOPES();
        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                run_bwrap_attempt(s, &k, nothing, options[i], &o);
                expect_status(&o, 0);
                expect_out(&o, scoped);
                assert_string_equal(o.err, "");
        }
}

TEST(nsrun_bwrap_starts_nothing_where_it_can_not_scope) {
        static const char *const option[] = {"--scope-abstract-unix-sockets", NULL};
        static const struct {
                const char *call;
                int error;
                const char *message;
        } cases[] = {
                {"landlock_create_ruleset", ENOSYS,
                 "bwrap: Can't scope abstract unix sockets: the kernel, or a seccomp filter, has no Landlock\n"},
                {"landlock_create_ruleset", EOPNOTSUPP,
                 "bwrap: Can't scope abstract unix sockets: Landlock is switched off: the kernel's lsm= "
                 "parameter has to name it\n"},
                {"landlock_create_ruleset", EPERM,
                 "bwrap: Can't scope abstract unix sockets: Operation not permitted\n"},
                {"landlock_restrict_self", E2BIG,
                 "bwrap: Landlock can't keep abstract sockets and signals inside: Argument list too long\n"},
        };
        const struct site *s = *state;
        _cleanup_free_ char *deny = helper_path("deny");
        _cleanup_(close_sockets) struct sockets k;
        _cleanup_outcome_ struct outcome o = {0};

        open_sockets(&k, s);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *number = text_of("%d", cases[i].error);
                const char *const before[] = {deny, number, cases[i].call, NULL};

                if (streq(cases[i].call, "landlock_restrict_self"))
                        NEED_SCOPES();
                run_bwrap_attempt(s, &k, before, option, &o);
                expect_status(&o, 1);
                expect_out(&o, "");
                assert_string_equal(o.err, cases[i].message);
        }
}

TEST(a_signal_reaches_what_is_inside_and_nothing_else) {
        const struct site *s = *state;
        const char *const argv[] = {"sleep", "1000", NULL};
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *script = NULL;
        struct running sleeper;

        spawn(&(struct request){.argv = argv}, &sleeper);
        script = text_of("kill -0 %d 2>/dev/null && echo host; sleep 1000 & kill $! && echo inside; wait",
                         sleeper.pid);
        RUN(s, &o, "--net=host", "--landlock=auto", "--", "sh", "-c", script);
        expect_out(&o, "inside\n");
        run_outside(s, &o, script);
        expect_out(&o, "host\ninside\n");
        assert_int_equal(kill(sleeper.pid, SIGKILL), 0);
        outcome_clear(&o);
        finish(&sleeper, &o);
        expect_status(&o, 1000 + SIGKILL);
}

/* The plan and the status line, behind a kernel that says `error` where it isn't 0. */
static void expect_told(const struct site *s, int error, const char *option, const char *plan,
                        const char *status) {
        _cleanup_free_ char *deny = helper_path("deny"), *number = text_of("%d", error);
        const char *const *argv = OPTIONS(deny, number, "landlock_create_ruleset", program(), "run", option,
                                          "-v", "--status-fd=1", "--project", s->project, "--", "true");
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = error ? argv : argv + 3, .cwd = s->root}, &o);
        expect_status(&o, 0);
        expect_in(o.err, plan);
        expect_in(o.out, status);
}

TEST(what_became_of_it_is_told) {
        static const int errors[] = {ENOSYS, EOPNOTSUPP};
        const struct site *s = *state;
        _cleanup_free_ char *abi = text_of("\"landlock\":{\"scoped\":true,\"abi\":%ld}", landlock_abi());

        expect_told(s, 0, "--landlock=off", "\nlandlock    off\n",
                    "\"landlock\":{\"scoped\":false,\"abi\":0}");
        for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
                expect_told(s, errors[i], "--landlock=auto",
                            "\nlandlock    not to be had: the kernel has ABI 0, scopes take 6\n",
                            "\"landlock\":{\"scoped\":false,\"abi\":0}");
        NEED_SCOPES();
        expect_told(s, 0, "--landlock=auto", "\nlandlock    abstract sockets and signals stay inside\n",
                    abi);
}

TEST(where_the_kernel_has_none_auto_goes_on_and_require_does_not) {
        static const struct {
                int error;
                const char *line;
        } cases[] = {
                {ENOSYS,
                 "nsrun: Landlock can't keep abstract sockets and signals inside: Function not "
                 "implemented; boot a kernel with CONFIG_SECURITY_LANDLOCK=y; if it has that, the seccomp "
                 "filter around nsrun must allow landlock_create_ruleset; --landlock=auto goes on without"},
                {EOPNOTSUPP,
                 "nsrun: Landlock can't keep abstract sockets and signals inside: Operation not "
                 "supported; the kernel has it switched off: add landlock to its lsm= parameter, or "
                 "use --landlock=auto"},
        };
        const struct site *s = *state;
        _cleanup_free_ char *deny = helper_path("deny");
        _cleanup_(close_sockets) struct sockets k;
        _cleanup_outcome_ struct outcome o = {0};

        open_sockets(&k, s);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *number = text_of("%d", cases[i].error);
                const char *const before[] = {deny, number, "landlock_create_ruleset", NULL};

                run_attempt(s, &k, before, "--landlock=auto", &o);
                expect_status(&o, 0);
                expect_out(&o, not_scoped);
                assert_string_equal(o.err, "");
                run_attempt(s, &k, before, "--landlock=require", &o);
                expect_host_refusal(&o, 125, cases[i].line);
        }
}

/* By each option that wants it, and by doctor for that option. */
TEST(a_filter_that_refuses_landlock_is_named) {
        static const struct {
                const char *option, *line;
        } cases[] = {
                {"--landlock=require",
                 "Landlock can't keep abstract sockets and signals inside: Operation not permitted; " FILTER_REFUSES(
                         "landlock_create_ruleset") "; --landlock=auto goes on without"},
                {"--strict",
                 "--strict: the kernel's Landlock can't keep abstract sockets inside; " FILTER_REFUSES(
                         "landlock_create_ruleset")},
        };
        const struct site *s = *state;
        _cleanup_free_ char *deny = helper_path("deny"), *number = text_of("%d", EPERM);
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const char *const argv[] = {deny,        number,     "landlock_create_ruleset",
                                            program(),   "run",      cases[i].option,
                                            "--project", s->project, "--",
                                            "echo",      "fine",     NULL};
                const char *const doctor[] = {deny,       number,  "landlock_create_ruleset", program(),
                                              "doctor",   "--for", cases[i].option,           "--project",
                                              s->project, NULL};
                _cleanup_free_ char *line = text_of("nsrun: %s%s\n", cases[i].line,
                                                    i == 0 && !by_the_library() ? SEE_DOCTOR : "");

                run(&(struct request){.argv = argv, .cwd = s->root}, &o);
                expect_status(&o, 125);
                assert_string_equal(o.err, line);
                outcome_clear(&o);
                run(&(struct request){.argv = doctor, .cwd = s->root}, &o);
                expect_status(&o, 1);
                expect_in(o.out, cases[i].line);
                outcome_clear(&o);
                NEED_SCOPES();
                run(&(struct request){.argv = argv + 3, .cwd = s->root}, &o);
                expect_status(&o, 0);
                outcome_clear(&o);
        }
}

/* Landlock that is there and then fails: no command without it. */
TEST(a_scope_that_can_not_be_entered_starts_nothing) {
        const struct site *s = *state;
        _cleanup_free_ char *deny = helper_path("deny"), *number = text_of("%d", EPERM);
        const char *const before[] = {deny, number, "landlock_restrict_self", NULL};
        _cleanup_(close_sockets) struct sockets k;
        _cleanup_outcome_ struct outcome o = {0};

        open_sockets(&k, s);
        run_attempt(s, &k, before, "--landlock=off", &o);
        expect_out(&o, not_scoped);
        NEED_SCOPES();
        run_attempt(s, &k, before, "--landlock=auto", &o);
        expect_host_refusal(
                &o, 125,
                "nsrun: Landlock can't keep abstract sockets and signals inside: Operation not permitted; " FILTER_REFUSES(
                        "landlock_restrict_self") "; --landlock=off goes on without");
}

/* ------------------------------------------------------------ --seccomp-log */

/* A leak sanitizer can't work under strace. */
#define NO_LEAKS "ASAN_OPTIONS=detect_leaks=0"

static void expect_flags(const struct site *s, const char *option, const char *flags) {
        const char *const argv[] = {"strace", "-E",  NO_LEAKS,  "-f",  "-e",        "trace=seccomp",
                                    "-o",     "log", program(), "run", "--project", s->project,
                                    option,   "--",  "true",    NULL};
        _cleanup_free_ char *log = path_of(s->root, "log"), *expected = NULL, *text = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_status(&o, 0);
        text = file_text(log);
        expected = text_of("seccomp(SECCOMP_SET_MODE_FILTER, %s, ", flags);
        expect_in(text, expected);
}

TEST(only_who_asks_for_it_has_denials_logged) {
        const struct site *s = *state;
        _cleanup_free_ char *file = text_of("--seccomp=%s/own.json", s->outside);

        make_file(s->outside, "own.json",
                  "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"flags\": [\"SECCOMP_FILTER_FLAG_LOG\"]}");
        expect_flags(s, "--seccomp=default", "0");
        expect_flags(s, "--seccomp-log", "SECCOMP_FILTER_FLAG_LOG");
        expect_flags(s, file, "SECCOMP_FILTER_FLAG_LOG");
        /* From the cache. */
        expect_flags(s, file, "SECCOMP_FILTER_FLAG_LOG");
}

int main(int argc, char **argv) {
        if (argc == 5 && streq(argv[1], "attempt"))
                attempt(argv[2], argv[3], argv[4]);
        return run_all_tests();
}
