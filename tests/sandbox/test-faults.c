/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every system call of a run fails once, in turn: either nsrun says so in one line
 * and the command has not run, or the failure changed nothing at all. */
#include "faults.h"

/* Nothing but a hang needs so many. */
#define MOST_CALLS 5000U

/* What can only go wrong once the command runs: nsrun fails then too, but the
 * command, fully confined, may have done its work. */
static bool is_late(const char *line) {
        static const char *const late[] = {"nsrun can't wait", "pid 1 can't wait", "report can't be read",
                                           "the supervisor is gone", "ended without a report"};

        for (size_t i = 0; i < ARRAY_SIZE(late); i++)
                if (strstr(line, late[i]))
                        return true;
        return false;
}

/* The command's work and status are what they should be: only the reader of the
 * status lines lost something, and is told. */
static bool is_warning(const char *text) {
        return is_one_line(text) &&
               (strstr(text, "the status can't be written to --status-fd") ||
                strstr(text, "nsrun: note: denied calls are denied and not told") || is_late_note(text));
}

static const char *judge(const struct outcome *o, const struct outcome *expected, const char *call) {
        bool has_run = o->out[0] != '\0', is_exec = streq(call, "execve");

        if (has_run && !streq(o->out, expected->out))
                return "the command ran in another sandbox than the one asked for";
        if (o->status == expected->status) {
                if (!has_run)
                        return "the command's status without its work";
                return o->err[0] && !is_warning(o->err) ? "an error, and the command's status" : NULL;
        }
        if (o->status != 125 && !(o->status == 126 && is_exec))
                return "neither the command's status nor 125";
        if (!is_one_line(o->err))
                return "not one line";
        return has_run && !is_late(o->err) ? "the command ran and nsrun says it never did" : NULL;
}

/* Lines that --status-fd wrote: whole ones, and the last word is the truth. */
static const char *judge_status(int fd, const struct outcome *o) {
        char text[8192];
        ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

        assert_true(n >= 0);
        text[n] = '\0';
        if (n > 0 && (text[0] != '{' || text[n - 1] != '\n'))
                return "half a status line";
        if (o->status == 7 && !o->err[0] && !(strstr(text, "\"started\"") && strstr(text, "\"exited\"")))
                return "the command ran and the status lines don't say so";
        if (o->status != 7 && !is_late(o->err) && strstr(text, "\"exited\""))
                return "a status line tells of an end without a start";
        return NULL;
}

struct trial {
        const struct site *site;
        const char *const *argv;
        int error;
        int status_fd; /* the run's standard input, or 0 */
};

static const char *try_call(const struct trial *t, unsigned n, const struct outcome *expected,
                            struct outcome *o, struct fault_page *page) {
        _cleanup_free_ char *wanted = text_of("fail:%u:%d", n, t->error);
        const char *wrong;
        char *left;

        if (t->status_fd > 0)
                assert_int_equal(ftruncate(t->status_fd, 0), 0);
        run_faulty(t->site, t->argv, wanted, t->status_fd, o, page);
        wrong = judge(o, expected, page->call);
        if (!wrong && t->status_fd > 0)
                wrong = judge_status(t->status_fd, o);
        /* Where the failing call was to wait for pid 1, it is ours to wait for. */
        reap_orphans();
        left = leftovers(t->site);
        if (left && !wrong) {
                print_message("left behind: %s\n", left);
                wrong = "it leaves something behind";
        }
        free(left);
        return wrong;
}

static void fail_every_call(const struct trial *t) {
        _cleanup_outcome_ struct outcome expected = {0}, o = {0};
        unsigned step = fault_step(t->error), n_harmless = 0, n_wrong = 0, n;
        struct fault_page page;

        run_faulty(t->site, t->argv, NULL, t->status_fd, &expected, &page);
        expect_status(&expected, 7);
        expect_in(expected.out, "CapBnd:\t0000000000000000");
        for (n = 1; n < MOST_CALLS; n += step) {
                const char *wrong = try_call(t, n, &expected, &o, &page);

                if (!page.call[0])
                        break;
                n_harmless += o.status == 7;
                n_wrong += wrong != NULL;
                if (!wrong)
                        continue;
                print_message("call %u (%s of %s) fails with \"%s\": %s; status %d, err: %s\n", n, page.call,
                              page.is_supervisors ? "the supervisor" : "a child", strerror(t->error), wrong,
                              o.status, o.err);
                print_difference("expected:", expected.out, o.out);
                print_difference("found:   ", o.out, expected.out);
        }
        /* The last run was past the end: a good one. */
        expect_status(&o, 7);
        assert_true(n > 100);
        print_message("%u calls failed with \"%s\", %u of them harmlessly\n", (n - 1) / step,
                      strerror(t->error), n_harmless);
        assert_int_equal(n_wrong, 0);
}

static void fail_with(const struct site *s, const int *errors, size_t n, const char *const *options,
                      int status_fd) {
        const char *argv[32] = {faults_program(), "run", "--project", s->project};
        size_t at = 4;

        copy_helper(s, "look");
        while (*options)
                argv[at++] = *options++;
        argv[at++] = "--";
        argv[at++] = "./look";
        argv[at] = "/usr/x";
        for (size_t i = 0; i < n; i++)
                fail_every_call(&(struct trial){s, argv, errors[i], status_fd});
}

TEST(a_failing_call_never_starts_a_half_confined_command) {
        static const int errors[] = {EPERM, ENOMEM, EINVAL};

        fail_with(*state, errors, ARRAY_SIZE(errors), (const char *const[]){NULL}, 0);
}

TEST(a_missing_call_never_starts_a_half_confined_command) {
        static const int errors[] = {ENOSYS};

        fail_with(*state, errors, ARRAY_SIZE(errors), (const char *const[]){NULL}, 0);
}

TEST(a_failing_call_leaves_no_overlay_and_no_rundir) {
        static const int errors[] = {EIO, EPERM};
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered");
        const char *const options[] = {"--overlay",         layered,         "--net=none",
                                       "--hostname=inside", "--tmp=scratch", NULL};

        make_folder(s->root, "layered");
        fail_with(s, errors, ARRAY_SIZE(errors), options, 0);
}

TEST(a_failing_call_leaves_no_overlay_in_memory) {
        static const int errors[] = {ENOSPC};
        const struct site *s = *state;
        _cleanup_free_ char *layered = path_of(s->root, "layered");
        const char *const options[] = {
                "--overlay", layered, "--overlay-backing=tmpfs", "--proc=subset", "--no-new-session", NULL};

        make_folder(s->root, "layered");
        fail_with(s, errors, ARRAY_SIZE(errors), options, 0);
}

/* look(1) tries to make the last two, too. */
TEST(a_failing_call_never_leaves_a_protected_name_open) {
        static const int errors[] = {EIO, EPERM};
        const struct site *s = *state;
        const char *argv[] = {faults_program(),   "run", "--project", s->project, "--no-new-session",
                              "--protect=strict", "--",  "./look",    "/usr/x",   "./.envrc",
                              "./.vscode/x",      NULL};
        _cleanup_free_ char *names = path_of(s->project, ".envrc"), *folder = path_of(s->project, ".vscode");

        copy_helper(s, "look");
        make_folder(s->project, "sub");
        for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
                fail_every_call(&(struct trial){s, argv, errors[i], 0});
        assert_int_equal(access(names, F_OK), -1);
        assert_int_equal(access(folder, F_OK), -1);
}

TEST(a_failing_call_opens_no_network_and_leaves_no_helper) {
        static const int errors[] = {EIO};

        fail_with(*state, errors, ARRAY_SIZE(errors),
                  OPTIONS("--net=allow", "--allow=good.test", "--allow=localhost:1"), 0);
}

TEST(a_failing_call_makes_no_half_an_instance) {
        static const int errors[] = {EIO, ENOSPC};

        fail_with(*state, errors, ARRAY_SIZE(errors), OPTIONS("--profile=instance"), 0);
}

TEST(a_failing_call_never_makes_the_status_lines_lie) {
        static const int errors[] = {EIO};
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->root, "status");
        _cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

        assert_true(fd > 0);
        fail_with(s, errors, ARRAY_SIZE(errors), OPTIONS("--status-fd=0"), fd);
}

/* The filter is a file's, and the kernel asks nsrun about what it denies. */
TEST(a_failing_call_never_starts_an_unfiltered_command) {
        static const int errors[] = {EIO, EPERM, ENOSYS};
        const struct site *s = *state;
        /* Which no kernel without its scopes gives. */
        const char *landlock = has_scopes() ? "--landlock=require" : "--landlock=auto";
        _cleanup_free_ char *seccomp = text_of("--seccomp=%s/own.json", s->outside),
                            *report = text_of("--report=%s/report", s->outside);

        make_file(s->outside, "own.json",
                  "{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [{\"names\": [\"mount\", "
                  "\"getppid\"], \"action\": \"SCMP_ACT_ERRNO\"}]}");
        fail_with(s, errors, ARRAY_SIZE(errors), OPTIONS(seccomp, report, landlock), 0);
}

/* look(1) tells them. */
TEST(a_failing_call_never_starts_an_unlimited_command) {
        static const int errors[] = {EPERM, EAGAIN, ENOSYS};
        /* The host's root is bounded by a cgroup alone. */
        const char *const options[] = {"--limit=nofile=64:65", "--limit=core=0",
                                       geteuid() == 0 ? NULL : "--limit=pids=50", NULL};

        fail_with(*state, errors, ARRAY_SIZE(errors), options, 0);
}

int main(void) {
        return run_all_tests();
}
