/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `--report`: each kind of denied call is told once, as what it was; nothing that is
 * allowed is; and whoever asks, floods or dies, the calls fail and the run ends. */
#include <json-c/json.h>

#include "seccomp.h"

/* What was reported: one object a line. */
struct report {
        struct json_object *lines[1100];
        size_t n;
};

static void report_read(struct report *r, const char *path) {
        _cleanup_free_ char *text = file_text(path);

        assert_non_null(text);
        r->n = 0;
        for (char *rest = text, *line; *rest;) {
                line = strsep(&rest, "\n");
                if (!rest)
                        fail_msg("half a line: %s", line);
                assert_true(r->n < ARRAY_SIZE(r->lines));
                r->lines[r->n] = json_tokener_parse(line);
                if (!r->lines[r->n++])
                        fail_msg("no JSON: %s", line);
        }
}

static void report_clear(struct report *r) {
        for (size_t i = 0; i < r->n; i++)
                (void)json_object_put(r->lines[i]);
        r->n = 0;
}
#define _cleanup_report_ _cleanup_(report_clear)

static const char *word_of(const struct json_object *line, const char *key) {
        const char *text = json_object_get_string(json_object_object_get(line, key));

        return text ? text : "null";
}

static int64_t number_of(const struct json_object *line, const char *key) {
        return json_object_get_int64(json_object_object_get(line, key));
}

static char *report_option(const struct site *s) {
        return text_of("--report=%s/report", s->outside);
}

/* ------------------------------------------------------------------- kinds */

struct kind {
        const char *syscall, *arch, *arguments, *error;
        int64_t count;
        const char *word; /* raw's */
};

#ifdef __x86_64__
static const struct kind kinds[] = {
        {"socket", "x86_64", "{ \"family\": \"AF_VSOCK\" }", "EAFNOSUPPORT", 1, "41,40,1,0"},
        {"socket", "x86_64", "{ \"family\": \"AF_ALG\" }", "EAFNOSUPPORT", 3, "3x41,38,5,0"},
        {"socket", "x86_64", "{ \"family\": \"1000\" }", "EAFNOSUPPORT", 1, "41,1000,5,0"},
        {"socket", "x86_64", "{ \"family\": \"AF_NETLINK\", \"protocol\": \"NETLINK_AUDIT\" }",
         "EPROTONOSUPPORT", 1, "41,16,3,9"},
        {"unshare", "x86_64", "{ \"flags\": \"CLONE_NEWUSER|CLONE_NEWNET\" }", "EPERM", 1, "272,0x50000000"},
        {"clone", "x86_64", "{ \"flags\": \"CLONE_NEWUSER|0x11\" }", "EPERM", 1, "56,0x10000011"},
        {"setns", "x86_64", "{ \"flags\": \"CLONE_NEWPID\" }", "EPERM", 1, "308,0,0x20000000"},
        /* The kernel looks at 32 bits of a request, and so must the filter. */
        {"ioctl", "x86_64", "{ \"request\": \"TIOCSTI\" }", "EPERM", 2, "16,0,0x5412"},
        {NULL, NULL, NULL, NULL, 0, "16,0,0x100005412"},
        {"ioctl", "x86_64", "{ \"request\": \"TIOCLINUX\" }", "EPERM", 1, "16,0,0x541c"},
        {"keyctl", "x86_64", "{ \"command\": \"KEYCTL_JOIN_SESSION_KEYRING\" }", "EPERM", 1, "250,1"},
        {"keyctl", "x86_64", "{ \"command\": \"99\" }", "EPERM", 1, "250,99"},
        {"bpf", "x86_64", "{ \"command\": \"BPF_PROG_LOAD\" }", "EPERM", 1, "321,5"},
        {"mount", "x86_64", "{ }", "EPERM", 2, "2x165"},
        {"clone3", "x86_64", "{ }", "ENOSYS", 1, "435"},
        {"9999", "x86_64", "{ }", "ENOSYS", 1, "9999"},
        {"getpid", "x32", "{ }", "ENOSYS", 1, "1073741863"},
        {"mount", "x86", "{ }", "EPERM", 1, "i21"},
};
#else
static const struct kind kinds[] = {
        {"socket", "aarch64", "{ \"family\": \"AF_VSOCK\" }", "EAFNOSUPPORT", 1, "198,40,1,0"},
        {"unshare", "aarch64", "{ \"flags\": \"CLONE_NEWUSER|CLONE_NEWNET\" }", "EPERM", 1, "97,0x50000000"},
        {"ioctl", "aarch64", "{ \"request\": \"TIOCSTI\" }", "EPERM", 1, "29,0,0x5412"},
        {"mount", "aarch64", "{ }", "EPERM", 2, "2x40"},
        {"9999", "aarch64", "{ }", "ENOSYS", 1, "9999"},
};
#endif

/* Some kernels have no 32-bit x86 to deny: there the process is killed by the signal of a fault. */
static bool has_int80(void) {
        _cleanup_free_ char *raw = helper_path("raw");
        const char *const argv[] = {raw, "i20", NULL};
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv}, &o);
        return o.status == 0;
}

TEST(each_kind_is_told_once_as_what_it_was) {
        const struct site *s = *state;
        _cleanup_free_ char *option = report_option(s), *path = path_of(s->outside, "report");
        const char *words[ARRAY_SIZE(kinds) + 1] = {NULL};
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_report_ struct report r = {.n = 0};
        size_t n = 0, line = 0, n_kinds = ARRAY_SIZE(kinds) - !has_int80();
        int64_t pid = 0;

        copy_helper(s, "raw");
        for (; n < n_kinds; n++)
                words[n] = kinds[n].word;
        run_raw(s, &o, OPTIONS(option), words);
        assert_string_equal(o.err, "");
        assert_int_equal(strspn(o.out, "-0123456789\n"), strlen(o.out));
        report_read(&r, path);
        for (size_t i = 0; i < n_kinds; i++) {
                const struct kind *k = &kinds[i];

                if (!k->syscall)
                        continue;
                assert_true(line < r.n);
                assert_string_equal(word_of(r.lines[line], "syscall"), k->syscall);
                assert_string_equal(word_of(r.lines[line], "arch"), k->arch);
                assert_string_equal(
                        json_object_to_json_string(json_object_object_get(r.lines[line], "args")),
                        k->arguments);
                assert_string_equal(word_of(r.lines[line], "errno"), k->error);
                assert_string_equal(word_of(r.lines[line], "comm"), "raw");
                assert_int_equal(number_of(r.lines[line], "count"), k->count);
                if (pid == 0)
                        pid = number_of(r.lines[line], "pid");
                /* As this namespace counts, where the command is no 2. */
                assert_true(pid > 2);
                assert_int_equal(number_of(r.lines[line++], "pid"), pid);
        }
        assert_int_equal(line, r.n);
}

TEST(the_calls_get_the_answers_that_they_get_without) {
        const struct site *s = *state;
        _cleanup_free_ char *option = report_option(s);
        const char *words[ARRAY_SIZE(kinds) + 1] = {NULL};
        _cleanup_outcome_ struct outcome with = {0}, without = {0};

        copy_helper(s, "raw");
        for (size_t i = 0; i < ARRAY_SIZE(kinds) - !has_int80(); i++)
                words[i] = kinds[i].word;
        run_raw(s, &with, OPTIONS(option), words);
        run_raw(s, &without, (const char *const[]){NULL}, words);
        assert_string_equal(with.out, without.out);
        assert_int_equal(with.status, without.status);
}

TEST(what_is_allowed_is_nobodys_business) {
        static const char *const policies[] = {"--seccomp=default", "--seccomp=none"};
        const struct site *s = *state;
        _cleanup_free_ char *option = report_option(s), *path = path_of(s->outside, "report"),
                            *getpid_word = text_of("5x%d", SYS_getpid),
                            *mount_word = text_of("%d", SYS_mount);
        _cleanup_outcome_ struct outcome o = {0};

        copy_helper(s, "raw");
        for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
                _cleanup_free_ char *text = NULL;

                /* What stood there goes. */
                make_file(s->outside, "report", "old\n");
                run_raw(s, &o, OPTIONS(option, policies[i]),
                        OPTIONS(getpid_word, i == 1 ? mount_word : NULL));
                expect_in(o.out, "2\n");
                text = file_text(path);
                assert_string_equal(text, "");
        }
}

TEST(a_hostile_name_is_only_a_string) {
        static const char *const names[] = {"a\"},{\"b\\", "\x01\x1b[2J\x7f", "\xff\xc3(\xe2\x82", "x\ny"};
        static const char *const found[] = {"a\"},{\"b\\", "\x01\x1b[2J\x7f", "\xef\xbf\xbd\xef\xbf\xbd(",
                                            "x\ny"};
        const struct site *s = *state;
        _cleanup_free_ char *option = report_option(s), *path = path_of(s->outside, "report"),
                            *raw = path_of(s->project, "raw"), *word = text_of("%d", SYS_mount);

        copy_helper(s, "raw");
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_free_ char *program = path_of(s->project, names[i]);
                _cleanup_outcome_ struct outcome o = {0};
                _cleanup_report_ struct report r = {.n = 0};

                assert_int_equal(link(raw, program), 0);
                RUN(s, &o, option, "--", program, word);
                expect_status(&o, EPERM);
                report_read(&r, path);
                assert_int_equal(r.n, 1);
                assert_true(startswith(word_of(r.lines[0], "comm"), found[i]));
        }
}

TEST(more_kinds_than_anybody_reads_are_only_counted) {
        enum {
                MOST = 1000,
                MORE = 37
        };
        const struct site *s = *state;
        _cleanup_free_ char *option = report_option(s), *path = path_of(s->outside, "report");
        char numbers[MOST + MORE][8];
        const char *arguments[MOST + MORE + 6] = {option, "--", "./raw"};
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_report_ struct report r = {.n = 0};

        copy_helper(s, "raw");
        for (int i = 0; i < MOST + MORE; i++) {
                (void)snprintf(numbers[i], sizeof(numbers[i]), "%d", 5000 + i);
                arguments[3 + i] = numbers[i];
        }
        arguments[3 + MOST + MORE] = numbers[MOST];
        arguments[4 + MOST + MORE] = numbers[0];
        run_nsrun(s, &o, arguments);
        expect_status(&o, ENOSYS);
        report_read(&r, path);
        assert_int_equal(r.n, MOST + 1);
        assert_int_equal(number_of(r.lines[0], "syscall"), 5000);
        assert_int_equal(number_of(r.lines[0], "count"), 2);
        assert_int_equal(number_of(r.lines[MOST - 1], "syscall"), 5000 + MOST - 1);
        assert_string_equal(word_of(r.lines[MOST], "syscall"), "null");
        assert_int_equal(number_of(r.lines[MOST], "count"), MORE + 1);
}

/* ---------------------------------------------------------------- the file */

static void give_descriptor(void *data) {
        if (dup2(*(const int *)data, 9) < 0)
                _exit(119);
}

TEST(a_report_goes_to_a_descriptor_too) {
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->outside, "report"), *word = text_of("%d", SYS_mount);
        _cleanup_free_ const char **argv = nsrun_argv(s, OPTIONS("--report", "9", "--", "./raw", word));
        _cleanup_free_ const char **look =
                nsrun_argv(s, OPTIONS("--report", "9", "--", "ls", "/proc/self/fd"));
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600),
            full = open("/dev/full", O_WRONLY | O_CLOEXEC), unreadable = open(path, O_RDONLY | O_CLOEXEC);
        struct request request = {.argv = argv, .cwd = s->root, .in_child = give_descriptor, .data = &fd};
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_report_ struct report r = {.n = 0};

        copy_helper(s, "raw");
        run(&request, &o);
        expect_status(&o, EPERM);
        report_read(&r, path);
        assert_int_equal(r.n, 1);
        /* Neither it nor the listener is the command's. */
        outcome_clear(&o);
        request.argv = look;
        run(&request, &o);
        expect_out(&o, "0\n1\n2\n3\n");
        /* The command's status counts, whatever becomes of the report. */
        outcome_clear(&o);
        request.argv = argv;
        request.data = &full;
        run(&request, &o);
        expect_status(&o, EPERM);
        assert_string_equal(o.err,
                            "nsrun: the report of denied calls can't be written: No space left on device\n");
        outcome_clear(&o);
        request.data = &unreadable;
        run(&request, &o);
        expect_refusal(
                &o, 125,
                "nsrun: --report: this file descriptor is not open for writing: 9; see 'nsrun run --help'");
        (void)close(fd);
        (void)close(full);
        (void)close(unreadable);
}

#define HELP   "; see 'nsrun run --help'"
#define OPENED "nsrun: --report: the file can't be opened: "

TEST(a_report_goes_through_no_link_and_to_no_device) {
        static const struct {
                const char *name, *line; /* "@" is the path */
        } cases[] = {
                {"link",
                 OPENED "@: Too many levels of symbolic links; it is reached through a symlink: name the "
                        "real path" HELP},
                {"folder-link/new", OPENED "@: Too many levels of symbolic links; it is reached through a "
                                           "symlink: name the real path" HELP},
                {"fifo", OPENED "@: No such device or address" HELP},
                {"folder", OPENED "@: Is a directory" HELP},
                {"none/report", OPENED "@: No such file or directory" HELP},
                {"/dev/null", "nsrun: --report: no plain file: @; give a descriptor's number for anything "
                              "else" HELP},
        };
        const struct site *s = *state;
        _cleanup_free_ char *fifo = path_of(s->project, "fifo"), *victim = path_of(s->outside, "victim"),
                            *good = text_of("--report=%s/report", s->project);
        _cleanup_outcome_ struct outcome o = {0};
        char *before;

        make_file(s->outside, "victim", "precious");
        make_link(s->project, "link", victim);
        make_link(s->project, "folder-link", s->outside);
        make_folder(s->project, "folder");
        assert_int_equal(mkfifo(fifo, 0600), 0);
        before = snapshot(s->root);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *path = cases[i].name[0] == '/' ? strdup(cases[i].name)
                                                                    : path_of(s->project, cases[i].name),
                                    *line = replaced(cases[i].line, "@", path),
                                    *option = text_of("--report=%s", path);

                RUN(s, &o, option, "--", "touch", "marker");
                expect_refusal(&o, 125, line);
        }
        RUN(s, &o, "--report=99", "--", "touch", "marker");
        expect_refusal(&o, 125, "nsrun: --report: no such file descriptor is open: 99" HELP);
        RUN(s, &o, "--report=", "--", "touch", "marker");
        expect_status(&o, 125);
        expect_unchanged(s->root, before);
        RUN(s, &o, good, "--", "touch", "marker");
        expect_status(&o, 0);
}

/* --------------------------------------------------------- floods and ends */

TEST(many_at_once_get_their_answers) {
        const struct site *s = *state;
        _cleanup_free_ char *option = report_option(s), *path = path_of(s->outside, "report"),
                            *word = text_of("100x%d", SYS_mount);
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_report_ struct report r = {.n = 0};
        size_t lines = 0;

        copy_helper(s, "raw");
        RAW(s, &o, option, "32&", word);
        expect_status(&o, 32 * EPERM);
        for (const char *line = o.out; startswith(line, "-1\n"); line += 3)
                lines++;
        assert_int_equal(lines, 32);
        report_read(&r, path);
        assert_int_equal(r.n, 1);
        assert_int_equal(number_of(r.lines[0], "count"), 3200);
}

TEST(a_flood_of_denied_calls_holds_up_nothing) {
        const struct site *s = *state;
        _cleanup_free_ char *option = report_option(s), *path = path_of(s->outside, "report"),
                            *started = text_of("%d", SYS_getpid),
                            *flood = text_of("4000000000x%d", SYS_mount);
        _cleanup_free_ char *script =
                text_of("./raw '8&' %s >/dev/null & ./raw %d; exit 3", flood, SYS_mount);
        _cleanup_free_ const char **argv =
                nsrun_argv(s, OPTIONS(option, "--", "./raw", started, "8&", flood));
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_report_ struct report r = {.n = 0};
        struct running running;

        copy_helper(s, "raw");
        /* A signal comes through. */
        spawn(&(struct request){.argv = argv, .cwd = s->project}, &running);
        await_line(running.out, "2\n");
        assert_int_equal(kill(running.pid, SIGTERM), 0);
        finish(&running, &o);
        expect_status(&o, 128 + SIGTERM);
        report_read(&r, path);
        assert_true(r.n <= 1);
        /* So does the end. */
        RUN(s, &o, option, "--", "sh", "-c", script);
        expect_status(&o, 3);
        expect_out(&o, "-1\n");
        report_clear(&r);
        report_read(&r, path);
        assert_true(r.n >= 1);
}

/* Where the call is let through it succeeds, and the script says so. */
static const char until_through[] =
        "echo ready; while ./raw %d >/dev/null; [ $? -ne 0 ]; do :; done; echo through";

TEST(without_a_supervisor_calls_fail_and_everything_ends) {
        const struct site *s = *state;
        _cleanup_free_ char *report = report_option(s), *policy = make_policy(s, DENY("\"getppid\"", "7")),
                            *option = text_of("--seccomp=%s", policy),
                            *script = text_of(until_through, SYS_getppid);
        _cleanup_free_ const char **argv = nsrun_argv(s, OPTIONS(report, option, "--", "sh", "-c", script));
        _cleanup_outcome_ struct outcome o = {0};

        copy_helper(s, "raw");
        for (int i = 0; i < 5; i++) {
                struct running running;

                spawn(&(struct request){.argv = argv, .cwd = s->root}, &running);
                await_line(running.out, "ready\n");
                assert_int_equal(kill(running.pid, SIGKILL), 0);
                outcome_clear(&o);
                /* Until nobody has its outputs any more. */
                finish(&running, &o);
                expect_status(&o, 1000 + SIGKILL);
                expect_out(&o, "");
                collect_orphans();
        }
        /* The control: the script sees what is let through. */
        RUN(s, &o, report, "--", "sh", "-c", script);
        expect_out(&o, "ready\nthrough\n");
}

TEST(a_killed_caller_of_a_denied_call_is_no_trouble) {
        const struct site *s = *state;
        _cleanup_free_ char *option = report_option(s),
                            *script = text_of(
                                    "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "
                                    "./raw 4000000000x%d & kill -9 $!; wait $!; done; exit 6",
                                    SYS_mount);
        _cleanup_outcome_ struct outcome o = {0};

        copy_helper(s, "raw");
        RUN(s, &o, option, "--", "sh", "-c", script);
        expect_status(&o, 6);
}

/* Only a policy of the user's kills. */
TEST(a_policy_that_kills_is_told) {
        const struct site *s = *state;
        _cleanup_free_ char *option = text_of("--seccomp=%s/kill.json", s->outside),
                            *line = text_of(
                                    "nsrun: reason: the policy of %s kills for a call (SIGSYS): where it "
                                    "has SCMP_ACT_ERRNO instead, the call is named here\n",
                                    option);
        _cleanup_outcome_ struct outcome o = {0}, own = {0};

        make_file(s->outside, "kill.json",
                  "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"getpgid\"],"
                  "\"action\":\"SCMP_ACT_KILL_PROCESS\"}]}");
        RUN(s, &o, "--explain", option, "--", "sh", "-c", "exec python3 -c 'import os; os.getpgid(0)'");
        assert_int_equal(o.status, 128 + SIGSYS);
        expect_in(o.err, line);
        RUN(s, &own, "--explain", "--", "sh", "-c", "kill -SYS $$");
        assert_int_equal(own.status, 128 + SIGSYS);
        expect_not_in(own.err, "reason");
}

int main(void) {
        return run_all_tests();
}
