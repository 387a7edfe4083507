/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun seccomp`: what it lists, shows, checks and compiles is what a run gets. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pty.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>

#include "seccomp.h"

#ifdef __x86_64__
#define NATIVE "x86_64"
#else
#define NATIVE "aarch64"
#endif

static const char *const names[] = {"default", "strict", "nested"};

/* `nsrun seccomp WORD…`, from the site's root. */
static void run_seccomp(const struct site *s, struct outcome *ret, const char *const *words) {
        _cleanup_free_ const char **argv = words_of(OPTIONS("seccomp"), words);

        run_words(s->root, ret, argv);
}
#define SECCOMP(site, outcome, ...) run_seccomp(site, outcome, OPTIONS(__VA_ARGS__))

TEST(list_names_what_there_is) {
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        SECCOMP(s, &o, "list");
        expect_status(&o, 0);
        expect_out(&o,
                   "default  A developer's tools work, debuggers among them; no mounts, no namespaces, no "
                   "keyrings, no bpf, no io_uring\n"
                   "strict   What ordinary programs need and no more: no debuggers, no look into other "
                   "processes\n"
                   "nested   Like default, and programs may make namespaces and mounts of their own: "
                   "Chromium, bwrap, nsrun\n");
}

TEST(show_gives_a_policy_as_it_was_written) {
        const struct site *s = *state;
        _cleanup_free_ char *path = make_policy(s, DENY("\"getppid\"", "7")), *own = file_text(path);
        const char *source = getenv("NSRUN_SOURCE");
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_free_ char *file = text_of("%s/seccomp/%s.json", source ? source : ".", names[i]),
                                    *text = file_text(file);

                assert_non_null(text);
                SECCOMP(s, &o, "show", names[i]);
                expect_status(&o, 0);
                expect_out(&o, text);
                SECCOMP(s, &o, "show", "--format=json", names[i]);
                expect_out(&o, text);
        }
        SECCOMP(s, &o, "show", path);
        expect_out(&o, own);
}

TEST(show_puts_a_policy_in_words_and_instructions) {
        const struct site *s = *state;
        _cleanup_free_ char *path = make_policy(
                s, DENY("\"getppid\"",
                        "13") ", {\"names\": [\"socket\"], \"action\": \"SCMP_ACT_KILL_PROCESS\", "
                              "\"args\": [{\"index\": 0, \"value\": 40, \"op\": \"SCMP_CMP_EQ\"}]}");
        _cleanup_outcome_ struct outcome o = {0};

        SECCOMP(s, &o, "show", path, "--format=pfc");
        expect_status(&o, 0);
#ifdef __x86_64__
        expect_out(&o, "x86_64:\n"
                       "  getppid (110): errno EACCES\n"
                       "  socket (41): if arg0 == 0x28: kill_process; else allow\n"
                       "  all others: allow\n"
                       "all other architectures: errno ENOSYS\n");
        SECCOMP(s, &o, "show", "--format=bpf", path);
        expect_status(&o, 0);
        assert_true(startswith(o.out, "   0: ld [4]\n   1: jeq #0xc000003e, 2, "));
#else
        expect_in(
                o.out,
                "  getppid (173): errno EACCES\n  socket (198): if arg0 == 0x28: kill_process; else allow\n");
        SECCOMP(s, &o, "show", "--format=bpf", path);
        expect_status(&o, 0);
        assert_true(startswith(o.out, "   0: ld [4]\n   1: jeq #0xc00000b7, 2, "));
#endif
        expect_in(o.out, ": ret #0x0005000d  ; errno EACCES\n");
        expect_in(o.out, ": ret #0x80000000  ; kill_process\n");
        expect_in(o.out, ": ret #0x7fff0000  ; allow\n");
}

#define HELP "; see 'nsrun seccomp --help'"

TEST(what_makes_no_sense_is_refused) {
        static const struct {
                const char *words[12];
                const char *line;
        } cases[] = {
                {{NULL}, "list, show, check or compile is missing" HELP},
                {{"frob"}, "neither list, show, check nor compile: frob" HELP},
                {{"list", "x"}, "an argument too many: x" HELP},
                {{"show"}, "an argument is missing: show" HELP},
                {{"show", "none"}, "this policy has no filter: none"},
                {{"show", "default", "strict"}, "an argument too many: strict" HELP},
                {{"show", "default", "--format=x"},
                 "--format: no such choice: x; choose one of json|pfc|bpf" HELP},
                {{"show", "--formt=bpf", "default"}, "unknown option: --formt=bpf; perhaps --format" HELP},
                {{"show", "defualt"},
                 "no such seccomp policy, and no such file: defualt: No such file or directory; nsrun's own are "
                 "default, strict and nested; none is without"},
                {{"compile", "./none"},
                 "the seccomp policy can't be read: ./none: No such file or directory"},
                {{"compile", "bad"},
                 "the seccomp policy is no JSON: line 2: it ends too early: a } is missing: bad; correct the file"},
                {{"compile", "unknown", "--strict-policy"},
                 "the seccomp policy: rule 1 of \"syscalls\" names a call that nsrun doesn't know: frobnicate: "
                 "unknown; correct it, or leave --strict-policy out"},
                {{"check", "default"}, "an argument is missing: check" HELP},
                {{"check", "default", "frobnicate"},
                 "no call that nsrun knows on " NATIVE ": frobnicate; a number is taken too"},
                {{"check", "--arch=aarch64", "default", "open"},
                 "aarch64 has no such call: open; a number is taken too"},
                {{"check", "default", "4294967296"},
                 "no call that nsrun knows on " NATIVE ": 4294967296; a number is taken too"},
                {{"check", "default", "read", "0x"}, "an argument is a number of 64 bits: 0x"},
                {{"check", "default", "read", "18446744073709551616"},
                 "an argument is a number of 64 bits: 18446744073709551616"},
                {{"check", "default", "read", "1", "2", "3", "4", "5", "6", "7"},
                 "an argument too many: 7" HELP},
                {{"check", "--arch=vax", "default", "read"},
                 "--arch: no architecture that nsrun knows: vax; choose one of x86_64, x86, x32, aarch64, arm" HELP},
        };
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        make_file(s->root, "bad", "{\n");
        make_file(s->root, "unknown",
                  "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [{\"names\": [\"frobnicate\"], "
                  "\"action\": \"SCMP_ACT_ERRNO\"}]}");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *line = text_of("nsrun: %s", cases[i].line);

                run_seccomp(s, &o, cases[i].words);
                expect_refusal(&o, 125, line);
        }
        SECCOMP(s, &o, "check", "unknown", "getppid");
        expect_status(&o, 0);
        expect_out(&o, "allow\n");
        assert_string_equal(
                o.err,
                "nsrun: warning: unknown: rule 1 of \"syscalls\" names a call that nsrun doesn't know: "
                "frobnicate\n");
        outcome_clear(&o);
        /* An exception for some arguments overrules none, and the other way round. */
        make_file(
                s->root, "unknown",
                "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": ["
                "{\"names\": [\"getpid\", \"getppid\"], \"action\": \"SCMP_ACT_ALLOW\"},"
                "{\"names\": [\"getpid\"], \"action\": \"SCMP_ACT_ERRNO\", \"args\": [{\"index\": 0, \"value\": 1, "
                "\"op\": \"SCMP_CMP_EQ\"}]},"
                "{\"names\": [\"getppid\"], \"action\": \"SCMP_ACT_ERRNO\"}]}");
        SECCOMP(s, &o, "check", "unknown", "getppid");
        expect_out(&o, "errno EPERM\n");
        assert_string_equal(o.err,
                            "nsrun: warning: unknown: rule 1 of \"syscalls\" has no effect on getppid: "
                            "rule 3 decides\n");
}

/* ------------------------------------------------------------------- check */

static const struct {
        const char *name;
        long number;
        const char *arguments[3];
} calls[] = {
        {"getpid", SYS_getpid, {NULL}},
        {"getppid", SYS_getppid, {NULL}},
        {"socket", SYS_socket, {"2", "1", "0"}},
        {"socket", SYS_socket, {"40", "1", "0"}},
        {"socket", SYS_socket, {"38", "5", "0"}},
        {"socket", SYS_socket, {"16", "3", "0"}},
        {"socket", SYS_socket, {"16", "3", "9"}},
        {"socket", SYS_socket, {"17", "3", "0"}},
        {"unshare", SYS_unshare, {"0x10000000"}},
        {"unshare", SYS_unshare, {"0"}},
        {"unshare", SYS_unshare, {"0x20000"}},
        {"ioctl", SYS_ioctl, {"0", "0x5412", "0"}},
        {"ioctl", SYS_ioctl, {"0", "0x5401", "0"}},
        {"ioctl", SYS_ioctl, {"0", "0x700005412", "0"}},
        {"keyctl", SYS_keyctl, {"99"}},
        {"bpf", SYS_bpf, {"9999"}},
        {"ptrace", SYS_ptrace, {"0x4200", "999"}},
        {"process_vm_readv", SYS_process_vm_readv, {"999"}},
        {"kcmp", SYS_kcmp, {"2", "2"}},
        {"personality", SYS_personality, {"0xffffffff"}},
        {"personality", SYS_personality, {"0x40000"}},
        {"userfaultfd", SYS_userfaultfd, {"1"}},
        {"io_uring_setup", SYS_io_uring_setup, {"0"}},
        {"memfd_create", SYS_memfd_create, {"0"}},
        {"clone3", SYS_clone3, {"0"}},
        {"mount", SYS_mount, {"0"}},
        {"9999", 9999, {NULL}},
};

static int errno_of(const char *said) {
        static const struct {
                const char *text;
                int number;
        } errors[] = {{"errno EPERM\n", EPERM},
                      {"errno ENOSYS\n", ENOSYS},
                      {"errno EAFNOSUPPORT\n", EAFNOSUPPORT},
                      {"errno EPROTONOSUPPORT\n", EPROTONOSUPPORT},
                      {"errno E2BIG\n", E2BIG}};

        for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
                if (streq(said, errors[i].text))
                        return errors[i].number;
        fail_msg("said %s", said);
        return 0;
}

TEST(check_says_what_a_run_does) {
        const struct site *s = *state;
        _cleanup_free_ char *path = make_policy(s, DENY("\"getppid\", \"socket\"", "7"));
        const char *const policies[] = {"default", "strict", "nested", path};
        unsigned n_allowed = 0, n_denied = 0;

        copy_helper(s, "raw");
        for (size_t j = 0; j < ARRAY_SIZE(calls); j++) {
                _cleanup_free_ char *word = text_of("%ld", calls[j].number);
                _cleanup_outcome_ struct outcome without = {0};

                for (size_t k = 0; k < 3 && calls[j].arguments[k]; k++) {
                        char *longer = text_of("%s,%s", word, calls[j].arguments[k]);

                        free(word);
                        word = longer;
                }
                RAW(s, &without, "--seccomp=none", word);
                for (size_t i = takes_samples() ? 2 : 0; i < ARRAY_SIZE(policies); i++) {
                        _cleanup_free_ char *option = text_of("--seccomp=%s", policies[i]), *expected = NULL;
                        _cleanup_outcome_ struct outcome said = {0}, with = {0};

                        SECCOMP(s, &said, "check", policies[i], calls[j].name, calls[j].arguments[0],
                                calls[j].arguments[1], calls[j].arguments[2]);
                        RAW(s, &with, option, word);
                        if (streq(said.out, "allow\n")) {
                                expect_status(&said, 0);
                                expected = strdup(without.out);
                                n_allowed++;
                        } else {
                                expect_status(&said, 1);
                                expected = text_of("-%d\n", errno_of(said.out));
                                n_denied++;
                        }
                        if (!streq(with.out, expected))
                                fail_msg("%s %s: said %s but: %s", policies[i], word, said.out, with.out);
                }
        }
        assert_true(n_allowed > 10 && n_denied > 10);
}

TEST(check_knows_every_action_and_architecture) {
        static const struct {
                const char *action, *said;
                int status;
        } cases[] = {{"SCMP_ACT_ALLOW", "allow\n", 0},
                     {"SCMP_ACT_LOG", "log\n", 0},
                     {"SCMP_ACT_ERRNO", "errno EPERM\n", 1},
                     {"SCMP_ACT_TRACE", "trace 1\n", 1},
                     {"SCMP_ACT_TRAP", "trap\n", 1},
                     {"SCMP_ACT_KILL", "kill_thread\n", 1},
                     {"SCMP_ACT_KILL_PROCESS", "kill_process\n", 1}};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *rule = text_of("{\"names\": [\"getppid\"], \"action\": \"%s\"}",
                                                    cases[i].action),
                                    *path = make_policy(s, rule);

                SECCOMP(s, &o, "check", path, "getppid");
                expect_out(&o, cases[i].said);
                expect_status(&o, cases[i].status);
        }
        SECCOMP(s, &o, "check", "--arch", "s390", "default", "getpid");
        expect_out(&o, "errno ENOSYS\n");
        SECCOMP(s, &o, "check", "--arch=x86", "strict", "getpid");
        expect_out(&o, "errno ENOSYS\n");
        SECCOMP(s, &o, "check", "default", "getpid", "--arch=" NATIVE);
        expect_out(&o, "allow\n");
}

TEST(a_policys_changes_are_checked_and_shown) {
        static const char hint[] =
                "; name calls as 'nsrun seccomp show' does, as in default+perf_event_open; a file's path may begin with ./\n";
        static const char *const wrong[][2] = {
                {"default+nosuch", "no system call that nsrun knows: nosuch"},
                {"strict+", "no system call that nsrun knows: none after +"},
                {"strict+kcmp-", "no system call that nsrun knows: none after -"}};
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
                _cleanup_free_ char *option = text_of("--seccomp=%s", wrong[i][0]),
                                    *said = text_of("nsrun: %s: %s%s", wrong[i][1], wrong[i][0], hint);

                RUN(s, &o, option, "--", "true");
                expect_status(&o, 125);
                assert_string_equal(o.err, said);
                outcome_clear(&o);
        }
        RUN(s, &o, "--seccomp=default+kcmp-kcmp", "--", "true");
        expect_status(&o, 125);
        assert_string_equal(o.err, "nsrun: the call is named twice: kcmp: default+kcmp-kcmp\n");
        /* A file's name may begin as a policy does. */
        make_file(s->root, "default-mine.json", "{\"defaultAction\":\"SCMP_ACT_ALLOW\"}");
        SECCOMP(s, &o, "check", "default-mine.json", "read");
        expect_out(&o, "allow\n");
        SECCOMP(s, &o, "check", "--arch=x86", "default-shmget", "ipc");
        expect_out(&o, "errno ENOSYS\n");
        SECCOMP(s, &o, "check", "default-execve", "execve");
        expect_in(o.err, "the seccomp policy denies execve: no command could start");
        SECCOMP(s, &o, "check", "strict+kcmp", "kcmp");
        expect_out(&o, "allow\n");
        SECCOMP(s, &o, "check", "strict", "kcmp");
        expect_out(&o, "errno EPERM\n");
        SECCOMP(s, &o, "check", "default-kcmp", "kcmp");
        expect_out(&o, "errno EPERM\n");
        SECCOMP(s, &o, "show", "--format=json", "strict+kcmp");
        expect_in(o.out, "\"kcmp\"");
        make_file(s->outside, "policy.json", o.out);
        {
                _cleanup_free_ char *path = path_of(s->outside, "policy.json");

                SECCOMP(s, &o, "check", path, "kcmp");
                expect_out(&o, "allow\n");
        }
        outcome_clear(&o);
        {

                NSRUN(s, &o, "plan", "--project", s->project, "--seccomp=strict+kcmp", "--", "true");
                expect_in(o.out, "strict+kcmp");
        }
}

/* ----------------------------------------------------------------- compile */

/* The bytes, in a file of the site's. */
static void compile_to(const struct site *s, const char *policy, const char *name) {
        const char *const argv[] = {
                "sh", "-c", "exec \"$0\" seccomp compile \"$1\" >\"$2\"", program(), policy, name, NULL};
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
}

static unsigned short read_filter(const char *path, struct sock_filter code[BPF_MAXINSNS]) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = read(fd, code, BPF_MAXINSNS * sizeof(*code));

        (void)close(fd);
        return n > 0 && (size_t)n % sizeof(*code) == 0 ? (unsigned short)((size_t)n / sizeof(*code)) : 0;
}

static void install(void *data) {
        static struct sock_filter code[BPF_MAXINSNS];
        struct sock_fprog filter = {.filter = code, .len = read_filter(data, code)};

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) < 0)
                _exit(119);
}

TEST(compiled_bytes_load_without_nsrun) {
        const struct site *s = *state;
        _cleanup_free_ char *raw = helper_path("raw"), *path = make_policy(s, DENY("\"getppid\"", "7")),
                            *bytes = path_of(s->root, "bytes"), *ppid = text_of("%d", SYS_getppid),
                            *own = text_of("%d", SYS_mount);
        const char *const argv[] = {raw, ppid, own, NULL};
        _cleanup_outcome_ struct outcome o = {0};

        compile_to(s, path, "bytes");
        run(&(struct request){.argv = argv, .cwd = s->root, .in_child = install, .data = bytes}, &o);
        assert_true(startswith(o.out, "-7\n"));
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                compile_to(s, names[i], "bytes");
                outcome_clear(&o);
                run(&(struct request){.argv = argv, .cwd = s->root, .in_child = install, .data = bytes}, &o);
                assert_string_equal(strchr(o.out, '\n'), streq(names[i], "nested") ? "\n-14\n" : "\n-1\n");
        }
        outcome_clear(&o);
        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        assert_string_equal(strchr(o.out, '\n'), "\n-14\n");
}

/* The filter of the command that a "started" line tells of: how many instructions. */
static long read_loaded(const char *line, struct sock_filter code[BPF_MAXINSNS]) {
        const char *at = strstr(line, "\"command_pid\":");
        pid_t pid;
        long n;

        assert_non_null(at);
        pid = (pid_t)strtol(at + strlen("\"command_pid\":"), NULL, 10);
        assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
        assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
        assert_int_equal(waitpid(pid, NULL, __WALL), pid);
        n = ptrace(PTRACE_SECCOMP_GET_FILTER, pid, NULL, code);
        assert_int_equal(ptrace(PTRACE_DETACH, pid, NULL, NULL), 0);
        return n;
}

/* What the kernel has of a running command, which it tells root alone (CONFIG_CHECKPOINT_RESTORE);
 * anybody hears from the plan how long it is. */
TEST(a_runs_filter_is_the_compiled_one) {
        static struct sock_filter compiled[BPF_MAXINSNS], loaded[BPF_MAXINSNS];
        const struct site *s = *state;
        _cleanup_free_ char *path = make_policy(s, DENY("\"getppid\"", "7")),
                            *bytes = path_of(s->root, "bytes");
        const char *const policies[] = {"default", "strict", "nested", path, path};

        for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
                _cleanup_free_ char *option = text_of("--seccomp=%s", policies[i]), *line = NULL,
                                    *told = NULL;
                _cleanup_free_ const char **argv =
                        nsrun_argv(s, OPTIONS(option, "-v", "--status-fd=1", "--", "sleep", "1000"));
                _cleanup_outcome_ struct outcome o = {0};
                struct running running;
                unsigned short n;

                compile_to(s, policies[i], "bytes");
                n = read_filter(bytes, compiled);
                spawn(&(struct request){.argv = argv, .cwd = s->root}, &running);
                line = read_line(running.out);
                if (geteuid() == 0) {
                        assert_int_equal(read_loaded(line, loaded), n);
                        assert_memory_equal(loaded, compiled, n * sizeof(*loaded));
                }
                assert_int_equal(kill(running.pid, SIGTERM), 0);
                finish(&running, &o);
                expect_status(&o, 128 + SIGTERM);
                told = text_of("\nseccomp     %s, %u instructions\n", policies[i], n);
                expect_in(o.err, told);
        }
}

static void give_output(void *data) {
        if (dup2(*(const int *)data, 1) < 0)
                _exit(119);
}

TEST(a_filter_is_not_written_to_a_terminal) {
        const struct site *s = *state;
        const char *const argv[] = {program(), "seccomp", "compile", "default", NULL};
        _cleanup_outcome_ struct outcome o = {0};
        int ends[2];

        assert_int_equal(openpty(&ends[0], &ends[1], NULL, NULL, NULL), 0);
        run(&(struct request){.argv = argv, .cwd = s->root, .in_child = give_output, .data = &ends[1]}, &o);
        expect_refusal(
                &o, 125,
                "nsrun: a filter is no text for a terminal; redirect it to a file, or use 'nsrun seccomp show "
                "--format=bpf'");
        (void)close(ends[0]);
        (void)close(ends[1]);
}

TEST(output_that_is_lost_is_an_error) {
        static const char *const words[][3] = {
                {"list"}, {"show", "default"}, {"compile", "default"}, {"check", "default"}};
        const struct site *s = *state;
        int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

        for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
                const char *const argv[] = {
                        program(), "seccomp", words[i][0], words[i][1], i == 3 ? "getpid" : NULL, NULL};
                _cleanup_outcome_ struct outcome o = {0};

                run(&(struct request){.argv = argv, .cwd = s->root, .in_child = give_output, .data = &full},
                    &o);
                expect_refusal(&o, 125, "nsrun: the output can't be written: No space left on device");
        }
        (void)close(full);
}

int main(void) {
        return run_all_tests();
}
