/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `--seccomp`: each policy is in force, a file's too; a file that is wrong, or that a
 * command could have written, starts nothing; the launch itself needs execve(2) alone. */
#include "seccomp.h"
/* A line of /proc/self/status here. */
static unsigned own_status(const char *key) {
        _cleanup_free_ char *text = file_text("/proc/self/status");
        const char *line = text ? strstr(text, key) : NULL;

        assert_non_null(line);
        return (unsigned)strtoul(line + strlen(key), NULL, 10);
}

TEST(every_policy_is_in_force_and_none_is_without) {
        static const char *const options[] = {"--net=host", "--seccomp=default", "--seccomp=strict",
                                              "--seccomp=nested", "--seccomp=none"};
        const struct site *s = *state;
        unsigned filters = own_status("\nSeccomp_filters:\t");
        _cleanup_outcome_ struct outcome o = {0};

        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                bool is_none = streq(options[i], "--seccomp=none");
                _cleanup_free_ char *expected =
                        text_of("NoNewPrivs:\t1\nSeccomp:\t%u\nSeccomp_filters:\t%u\n",
                                is_none ? own_status("\nSeccomp:\t") : 2, is_none ? filters : filters + 1);

                RUN(s, &o, options[i], "--", "grep", "-E",
                    "^(NoNewPrivs|Seccomp|Seccomp_filters):", "/proc/self/status");
                expect_status(&o, 0);
                expect_out(&o, expected);
                assert_string_equal(o.err, "");
        }
}

TEST(a_file_is_the_filter) {
        static const char *const spelled[] = {"--seccomp=@outside/own.json", "--seccomp=outside/own.json",
                                              "--seccomp=./outside/../outside/own.json", "--seccomp=named"};
        const struct site *s = *state;
        _cleanup_free_ char *path = make_policy(s, DENY("\"getppid\"", "7")),
                            *number = text_of("%d", SYS_getppid);
        _cleanup_outcome_ struct outcome o = {0};

        copy_helper(s, "raw");
        make_link(s->root, "named", path);
        for (size_t i = 0; i < ARRAY_SIZE(spelled); i++) {
                _cleanup_free_ char *option = replaced(spelled[i], "@outside", s->outside);

                RAW(s, &o, option, number);
                expect_out(&o, "-7\n");
                expect_status(&o, 7);
                assert_string_equal(o.err, "");
        }
        RAW(s, &o, "--seccomp=none", number);
        expect_out(&o, "1\n");
}

/* Where it is installed (containers-common). */
FULL_TEST(podmans_profile_loads_unchanged, site_setup, site_teardown) {
        static const char path[] = "/usr/share/containers/seccomp.json";
        const struct site *s = *state;
        _cleanup_free_ char *option = text_of("--seccomp=%s", path), *word = text_of("%d,2,2", SYS_kcmp);
        _cleanup_outcome_ struct outcome o = {0};

        if (access(path, R_OK) < 0)
                skip_because("no %s on this machine", path);
        copy_helper(s, "raw");
        RUN(s, &o, option, "--", "sh", "-c", "echo $((6 * 7)) | cat");
        expect_status(&o, 0);
        expect_out(&o, "42\n");
        RAW(s, &o, option, word);
        expect_out(&o, "-1\n");
        RAW(s, &o, "--seccomp=none", word);
        expect_out(&o, "0\n");
}

/* ----------------------------------------------------------------- refusals */

#define FORM     "; nsrun-run(1), SECCOMP POLICIES, has the form"
#define ALLOW(x) "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [" x "]}"
#define RULE(x)  ALLOW("{\"names\": [\"getppid\"], \"action\": \"SCMP_ACT_ERRNO\"" x "}")
#define ARGS(x)  RULE(", \"args\": [{" x "}]")
#define ONE      "the seccomp policy: rule 1 of \"syscalls\": "

struct bad_policy {
        const char *text;
        const char *line; /* "@" is the file */
};

static const struct bad_policy bad_policies[] = {
        {"", "the seccomp policy is no JSON: line 1: it is empty: @; correct the file"},
        {"{\"defaultAction\":\n \"SCMP_ACT_ALLOW\"\n \"syscalls\": []}",
         "the seccomp policy is no JSON: line 3: a comma is expected here: @; correct the file"},
        {"[]", "the seccomp policy: the file is no object: @" FORM},
        {"{}", "the seccomp policy: \"defaultAction\" is missing, or no text: @" FORM},
        {"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"sysalls\": []}",
         "the seccomp policy: unknown key \"sysalls\": @" FORM},
        {"{\"defaultAction\": \"SCMP_ACT_DENY\"}",
         "the seccomp policy: unknown action \"SCMP_ACT_DENY\": @" FORM},
        {"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"flags\": [\"SECCOMP_FILTER_FLAG_X\"]}",
         "the seccomp policy: unknown flag \"SECCOMP_FILTER_FLAG_X\": @" FORM},
        {"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"architectures\": [\"pdp11\"]}",
         "the seccomp policy: \"pdp11\" is no architecture: @" FORM},
        {"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrno\": \"EWHAT\"}",
         "the seccomp policy: \"defaultErrno\" is no error's name: @" FORM},
        {"{\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrnoRet\": 4096}",
         "the seccomp policy: \"defaultErrnoRet\" is no number from 0 to 4095: @" FORM},
        {"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": {}}",
         "the seccomp policy: \"syscalls\" is no array: @" FORM},
        {ALLOW("1"), ONE "no object: @" FORM},
        {RULE(", \"arg\": []"), ONE "unknown key \"arg\": @" FORM},
        {RULE(", \"name\": \"read\""), ONE "both \"name\" and \"names\": @" FORM},
        {ALLOW("{\"names\": [], \"action\": \"SCMP_ACT_ERRNO\"}"),
         ONE "\"names\" is missing, empty, or no array: @" FORM},
        {ALLOW("{\"names\": [7], \"action\": \"SCMP_ACT_ERRNO\"}"), ONE "a name that is no text: @" FORM},
        {ALLOW("{\"names\": [\"read\"], \"action\": \"deny\"}"),
         "the seccomp policy: unknown action \"deny\": @" FORM},
        {RULE(", \"errno\": \"EWHAT\""), "the seccomp policy: \"errno\" is no error's name: @" FORM},
        {RULE(", \"errnoRet\": -1"), "the seccomp policy: \"errnoRet\" is no number from 0 to 4095: @" FORM},
        {ARGS("\"index\": 0, \"value\": 1, \"op\": \"=\""), ONE "unknown operator \"=\": @" FORM},
        {ARGS("\"index\": 6, \"value\": 1, \"op\": \"SCMP_CMP_EQ\""),
         ONE "\"index\" is no number from 0 to 5: @" FORM},
        {ARGS("\"index\": 0, \"value\": 1.5, \"op\": \"SCMP_CMP_EQ\""),
         ONE "\"value\" is no number of 64 bits: @" FORM},
        {ARGS("\"index\": 0, \"val\": 1, \"op\": \"SCMP_CMP_EQ\""),
         ONE "unknown key \"val\" in \"args\": @" FORM},
        {ARGS("\"index\": 0, \"value\": 1, \"op\": \"SCMP_CMP_NE\"}, "
              "{\"index\": 0, \"value\": 2, \"op\": \"SCMP_CMP_NE\""),
         ONE "two conditions on argument 0; write two rules (runc reads them as alternatives, others as "
             "both): @" FORM},
        {RULE(", \"includes\": {\"cap\": []}"),
         ONE "unknown key \"cap\" in \"includes\" or \"excludes\": @" FORM},
        {RULE(", \"includes\": {\"minKernel\": \"new\"}"),
         ONE "\"minKernel\" is no version: \"new\": @" FORM},
        {ALLOW("{\"names\": [\"getppid\"], \"action\": \"SCMP_ACT_NOTIFY\"}"),
         "the seccomp policy: nobody would answer SCMP_ACT_NOTIFY: @: Operation not supported; use "
         "SCMP_ACT_ERRNO, and --report to hear of it"},
        {ALLOW("{\"names\": [\"execve\"], \"action\": \"SCMP_ACT_ERRNO\"}"),
         "the seccomp policy denies execve: no command could start: @; allow it without conditions"},
        {ALLOW("{\"names\": [\"exit_group\"], \"action\": \"SCMP_ACT_ERRNO\", \"args\": "
               "[{\"index\": 0, \"value\": 1, \"op\": \"SCMP_CMP_EQ\"}]}"),
         "the seccomp policy denies exit_group: no command could end: @; allow it without conditions"},
        {"{\"defaultAction\": \"SCMP_ACT_KILL_PROCESS\"}",
         "the seccomp policy denies execve: no command could start: @; allow it without conditions"},
};

/* `nsrun run --seccomp=FILE OPTION -- touch marker`, whose refusal leaves no marker. */
static void refuse_file(const struct site *s, const char *file, const char *const *more, const char *line) {
        _cleanup_free_ char *option = text_of("--seccomp=%s", file), *expected = replaced(line, "@", file),
                            *with_name = text_of("nsrun: %s", expected),
                            *marker = path_of(s->project, "marker");
        const char *arguments[8] = {option};
        _cleanup_outcome_ struct outcome o = {0};
        size_t n = 1;

        while (more && *more)
                arguments[n++] = *more++;
        arguments[n++] = "--";
        arguments[n++] = "touch";
        arguments[n++] = marker;
        run_nsrun(s, &o, arguments);
        expect_refusal(&o, 125, with_name);
        assert_int_equal(access(marker, F_OK), -1);
}

static void expect_good(const struct site *s, const char *file, const char *const *more) {
        _cleanup_free_ char *option = text_of("--seccomp=%s", file), *marker = path_of(s->project, "marker");
        const char *arguments[8] = {option};
        _cleanup_outcome_ struct outcome o = {0};
        size_t n = 1;

        while (more && *more)
                arguments[n++] = *more++;
        arguments[n++] = "--";
        arguments[n++] = "touch";
        arguments[n++] = marker;
        run_nsrun(s, &o, arguments);
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        assert_int_equal(unlink(marker), 0);
}

TEST(a_wrong_policy_starts_nothing) {
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->outside, "bad.json");

        for (size_t i = 0; i < ARRAY_SIZE(bad_policies); i++) {
                make_file(s->outside, "bad.json", bad_policies[i].text);
                refuse_file(s, path, NULL, bad_policies[i].line);
        }
        make_file(s->outside, "bad.json", RULE(", \"errno\": \"EACCES\", \"comment\": \"\""));
        expect_good(s, path, NULL);
}

/* Each rule takes instructions of its own. */
static char *policy_of_many(unsigned rules) {
        char *text = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        (void)fputs("{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [", f);
        for (unsigned i = 0; i < rules; i++)
                (void)fprintf(f,
                              "%s{\"names\": [\"getppid\"], \"action\": \"SCMP_ACT_ERRNO\", \"args\": "
                              "[{\"index\": 0, \"value\": %llu, \"op\": \"SCMP_CMP_EQ\"}]}",
                              i > 0 ? ",\n" : "", 0x100000001ULL * (i + 1));
        (void)fputs("]}", f);
        assert_int_equal(fclose(f), 0);
        return text;
}

TEST(a_filter_too_long_for_the_kernel_is_refused_whole) {
        const struct site *s = *state;
        _cleanup_free_ char *many = policy_of_many(3000), *fewer = policy_of_many(500),
                            *path = path_of(s->outside, "many.json"),
                            *option = text_of("--seccomp=%s", path),
                            *word = text_of("%d,0x1f4000001f4", SYS_getppid),
                            *next = text_of("%d,0x1f5000001f5", SYS_getppid);
        _cleanup_outcome_ struct outcome o = {0};

        copy_helper(s, "raw");
        make_file(s->outside, "many.json", many);
        RUN(s, &o, option, "--", "touch", "marker");
        expect_status(&o, 125);
        expect_in(o.err, "nsrun: the seccomp policy makes a filter of ");
        expect_in(o.err, " instructions, and the kernel takes 4096: ");
        expect_in(o.err, "many.json: Argument list too long; name fewer calls, or fewer arguments\n");
        make_file(s->outside, "many.json", fewer);
        RAW(s, &o, option, next, word);
        expect_out(&o, "1\n-1\n");
        assert_string_equal(o.err, "");
}

TEST(what_is_no_plain_text_file_is_no_policy) {
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->outside, "own.json"), *big = malloc(1024 * 1024 + 2);
        static const char good[] = ALLOW("");

        refuse_file(s, path, NULL, "the seccomp policy can't be read: @: No such file or directory");
        refuse_file(
                s, "defualt", NULL,
                "no such seccomp policy, and no such file: @: No such file or directory; nsrun's own are "
                "default, strict and nested; none is without");
        make_link(s->outside, "own.json", "own.json");
        refuse_file(s, path, NULL, "the seccomp policy can't be read: @: Too many levels of symbolic links");
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkdir(path, 0755), 0);
        refuse_file(s, path, NULL, "the seccomp policy is no plain file: @: Invalid argument");
        assert_int_equal(rmdir(path), 0);
        assert_int_equal(mkfifo(path, 0600), 0);
        refuse_file(s, path, NULL, "the seccomp policy is no plain file: @: Invalid argument");
        assert_int_equal(unlink(path), 0);
        refuse_file(s, "/dev/null", NULL, "the seccomp policy is no plain file: @: Invalid argument");
        make_file(s->outside, "own.json", good);
        assert_int_equal(chmod(path, 0646), 0);
        refuse_file(s, path, NULL, "others may write to the seccomp policy: @; chmod go-w @");
        assert_int_equal(chmod(path, 0644), 0);
        expect_good(s, path, NULL);

        assert_non_null(big);
        memset(big, ' ', 1024 * 1024 + 1);
        big[1024 * 1024 + 1] = '\0';
        memcpy(big, good, strlen(good));
        make_file(s->outside, "own.json", big);
        refuse_file(s, path, NULL, "the seccomp policy is bigger than 1024 KiB: @");
        assert_int_equal(truncate(path, 1024 * 1024), 0);
        expect_good(s, path, NULL);
        /* NULs, all that truncate() adds. */
        assert_int_equal(truncate(path, (off_t)strlen(good)), 0);
        assert_int_equal(truncate(path, (off_t)strlen(good) + 1), 0);
        refuse_file(s, path, NULL, "the seccomp policy is no text: @: Invalid argument");
        if (geteuid() != 0) {
                assert_int_equal(chmod(path, 0), 0);
                refuse_file(s, path, NULL, "the seccomp policy can't be read: @: Permission denied");
                assert_int_equal(chmod(path, 0644), 0);
        }
        assert_int_equal(truncate(path, (off_t)strlen(good)), 0);
        expect_good(s, path, NULL);
}

TEST(an_unknown_call_is_told_and_strictly_refused) {
        static const char said[] = "rule 2 of \"syscalls\" names a call that nsrun doesn't know: frobnicate";
        const struct site *s = *state;
        _cleanup_free_ char *path = make_policy(s,
                                                DENY("\"getppid\"", "7") ", " DENY("\"frobnicate\"", "7")),
                            *option = text_of("--seccomp=%s", path), *number = text_of("%d", SYS_getppid),
                            *warning = text_of("nsrun: warning: %s: %s\n", path, said),
                            *line = text_of(
                                    "the seccomp policy: %s: @; correct it, or leave --strict-policy "
                                    "out",
                                    said);
        _cleanup_outcome_ struct outcome o = {0};

        copy_helper(s, "raw");
        /* Each time: what is warned of is not kept. */
        for (int i = 0; i < 2; i++) {
                RAW(s, &o, option, number);
                expect_out(&o, "-7\n");
                expect_status(&o, 7);
                assert_string_equal(o.err, warning);
        }
        refuse_file(s, path, OPTIONS("--strict-policy"), line);
        free(path);
        path = make_policy(s, DENY("\"getppid\"", "7"));
        expect_good(s, path, OPTIONS("--strict-policy"));
}

#define WRITABLE                                                                                     \
        "the seccomp policy lies in a writable folder, where a command could change it: @; keep it " \
        "outside of what a command may write"

TEST(a_policy_that_a_command_can_write_is_refused) {
        const struct site *s = *state;
        _cleanup_free_ char *path = make_policy(s, DENY("\"getppid\"", "7")),
                            *inside = path_of(s->project, "own.json"), *link = path_of(s->project, "link"),
                            *folder = path_of(s->project, "folder"),
                            *through = path_of(s->project, "folder/own.json"),
                            *tmp = text_of("--tmp=%s", s->outside), *own = file_text(path);
        _cleanup_free_ char *planted =
                                    text_of("--seccomp goes through a symlink in a writable folder: %s; it "
                                            "leads to %s, and a command in the sandbox may have planted it: "
                                            "name the real path",
                                            link, path),
                            *planted_folder =
                                    text_of("--seccomp goes through a symlink in a writable folder: %s; it "
                                            "leads to %s, and a command in the sandbox may have planted it: "
                                            "name the real path",
                                            folder, path);

        make_file(s->project, "own.json", own);
        make_link(s->project, "link", path);
        make_link(s->project, "folder", s->outside);
        refuse_file(s, inside, NULL, WRITABLE);
        refuse_file(s, path, OPTIONS("--rw", s->outside), WRITABLE);
        refuse_file(s, path, OPTIONS(tmp), WRITABLE);
        refuse_file(s, link, NULL, planted);
        refuse_file(s, through, NULL, planted_folder);
        expect_good(s, path, OPTIONS("--ro", s->outside));
}

/* Moves it away and back until killed. */
static pid_t come_and_go(const char *path, const char *away) {
        pid_t pid = fork();

        assert_true(pid >= 0);
        while (pid == 0)
                if (rename(path, away) < 0 || rename(away, path) < 0)
                        _exit(1);
        return pid;
}

/* It is not there when it is judged, and there when it is read. */
TEST(a_policy_that_comes_and_goes_is_never_taken) {
        const struct site *s = *state;
        _cleanup_free_ char *path = make_policy(s, DENY("\"getppid\"", "7")), *own = file_text(path),
                            *inside = path_of(s->project, "own.json"), *away = path_of(s->project, "away"),
                            *option = text_of("--seccomp=%s", inside);
        const char *const argv[] = {program(), "plan", "--project", s->project, option, "--", "true", NULL};
        unsigned n_missing = 0, n_taken = 0;
        pid_t pid;
        int status;

        make_file(s->project, "own.json", own);
        pid = come_and_go(inside, away);
        /* Where it was always there, nothing was tried. */
        for (int i = 0; i < (takes_samples() ? 50 : 400) || n_missing == 0; i++) {
                _cleanup_outcome_ struct outcome o = {0};

                run(&(struct request){.argv = argv}, &o);
                n_missing += strstr(o.err, "No such file or directory") != NULL;
                n_taken += o.status == 0;
        }
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(n_taken, 0);
        /* Outside of what a command may write it is taken. */
        expect_good(s, path, NULL);
}

/* ------------------------------------------------------------------- launch */

/* What execve and exit_group cost is all that the launch asks of a policy. */
TEST(the_launch_needs_nothing_but_execve) {
        static const char *const names[] = {"", ", \"write\""};
        static const char *const actions[] = {"SCMP_ACT_ERRNO", "SCMP_ACT_KILL_PROCESS", "SCMP_ACT_TRAP"};
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->outside, "own.json"), *option = text_of("--seccomp=%s", path),
                            *number = text_of("%d", SYS_getppid);
        _cleanup_outcome_ struct outcome o = {0};

        copy_helper(s, "raw");
        make_file(s->project, "plain", "");
        for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
                for (size_t j = 0; j < ARRAY_SIZE(names); j++) {
                        _cleanup_free_ char *text =
                                text_of("{\"defaultAction\": \"%s\", \"defaultErrnoRet\": 99, \"syscalls\": "
                                        "[{\"names\": [\"execve\", \"exit_group\"%s], \"action\": "
                                        "\"SCMP_ACT_ALLOW\"}]}",
                                        actions[i], names[j]);

                        make_file(s->outside, "own.json", text);
                        run_raw(s, &o, OPTIONS(option), (const char *const[]){NULL});
                        expect_status(&o, 0);
                        RAW(s, &o, option, number);
                        expect_status(&o, i == 0 ? 99 : 128 + SIGSYS);
                        expect_out(&o, i == 0 && j == 1 ? "-99\n" : "");
                        assert_string_equal(o.err, "");
                        RUN(s, &o, option, "--", "./none");
                        expect_refusal(
                                &o, 127,
                                "nsrun: command not found in the sandbox: ./none: No such file or "
                                "directory; it, or the interpreter it names, is not exposed: add --ro");
                        RUN(s, &o, option, "--", "no-such-command");
                        expect_refusal(
                                &o, 127,
                                "nsrun: command not found in the sandbox: no-such-command: No such file "
                                "or directory; it is in no folder of the sandbox's PATH: add --ro, or "
                                "install it");
                        RUN(s, &o, option, "--", "./plain");
                        expect_refusal(
                                &o, 126,
                                "nsrun: command not executable: ./plain: Permission denied; it needs the "
                                "x permission, and must not be a folder");
                }
}

/* Where an outer filter allows none of ours. */
TEST(without_its_filter_no_command_starts) {
        const struct site *s = *state;
        _cleanup_free_ char *deny = helper_path("deny"), *error = text_of("%d", ENOSYS);
        const char *const argv[] = {deny,        error,      "seccomp", program(), "run",
                                    "--project", s->project, "touch",   "marker",  NULL};
        const char *const control[] = {
                deny,        error,      "seccomp", program(), "run", "--seccomp=none",
                "--project", s->project, "touch",   "marker",  NULL};
        _cleanup_free_ char *marker = path_of(s->project, "marker");
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_host_refusal(
                &o, 125,
                "nsrun: the seccomp filter can't be installed: Function not implemented; the kernel needs "
                "CONFIG_SECCOMP_FILTER (and 5.0 for --report), and a filter around nsrun must allow seccomp(2); "
                "--seccomp=none goes on without");
        assert_int_equal(access(marker, F_OK), -1);
        outcome_clear(&o);
        run(&(struct request){.argv = control, .cwd = s->root}, &o);
        expect_status(&o, 0);
        assert_int_equal(access(marker, F_OK), 0);
}

/* Stops, signals and ends are pid 1's to see, which no filter bounds. */
TEST(pid_1_has_no_filter) {
        const struct site *s = *state;
        _cleanup_free_ char *expected = text_of("Seccomp:\t%u\n", own_status("\nSeccomp:\t"));
        _cleanup_outcome_ struct outcome o = {0};

        RUN(s, &o, "--seccomp=strict", "--", "grep", "^Seccomp:", "/proc/1/status");
        expect_out(&o, expected);
}

/* By the command's own clock, which the kernel lets everybody measure. */
TEST(a_call_that_is_added_works) {
        static const char script[] =
                "python3 -c 'import ctypes, os, struct; l = ctypes.CDLL(None, use_errno=True); "
                "n = 298 if os.uname().machine == \"x86_64\" else 241; "
                "a = struct.pack(\"IIQQQQQ\", 1, 112, 1, 0, 0, 0, 0x60).ljust(112, bytes(1)); "
                "fd = l.syscall(n, a, 0, -1, -1, 0); "
                "print(len(os.read(fd, 8)) if fd >= 0 else os.strerror(ctypes.get_errno()))'";
        const struct site *s = *state;
        _cleanup_outcome_ struct outcome o = {0}, denied = {0}, outside = {0};

        if (!has_program("python3"))
                skip_because("skipped: there is no python3");
        run_outside(s, &outside, script);
        RUN(s, &o, "--seccomp=default+perf_event_open", "--", "sh", "-c", script);
        assert_string_equal(o.out, outside.out);
        run_inside(s, &denied, script);
        expect_out(&denied, "Operation not permitted\n");
        /* What is the machine's in common may be taken away. */
        RUN(s, &o, "--seccomp=default-io_setup", "--", "python3", "-c",
            "import ctypes, os; l = ctypes.CDLL(None, use_errno=True); c = ctypes.c_ulong(0); "
            "print(l.syscall(206 if os.uname().machine == 'x86_64' else 0, 8, ctypes.byref(c)), ctypes.get_errno())");
        expect_out(&o, "-1 1\n");
}

int main(void) {
        return run_all_tests();
}
