/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Descriptors that the caller passes to a command: under their own numbers, with nothing beside them, and
 * in nobody's hands but the command's; in a sandbox of its own and in a session, with pid 1 as a program of
 * its own and without. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/programs.h"
#include "boundary/blueprint.h"
#include "library.h"
#include "run/run_directory.h"
#include "session.h"

/* Where no descriptor of the test's or of nsrun's comes to lie by itself. */
#define HIGH 300

struct host_pipe {
        int read_end, write_end;
};

static struct host_pipe make_pipe(void) {
        int ends[2];

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        return (struct host_pipe){ends[0], ends[1]};
}

static int raise_to(int fd, int least) {
        int raised = fcntl(fd, F_DUPFD_CLOEXEC, least);

        assert_true(raised >= least);
        (void)close(fd);
        return raised;
}

static char *read_all(int fd) {
        static char text[4096];
        size_t n = 0;

        for (;;) {
                struct pollfd end = {.fd = fd, .events = POLLIN};
                ssize_t got;

                if (poll(&end, 1, deadline_seconds * 1000) != 1)
                        fail_msg("somebody holds the other end of the pipe still");
                got = read(fd, text + n, sizeof(text) - 1 - n);
                assert_true(got >= 0);
                if (got == 0)
                        break;
                n += (size_t)got;
        }
        text[n] = '\0';
        (void)close(fd);
        return text;
}

static struct nsrun_plan *plan_script(const struct site *s, const char *id, const char *script) {
        struct nsrun_policy *policy = NULL;
        struct nsrun_plan *plan = NULL;
        struct nsrun_error err = {0};

        assert_int_equal(nsrun_policy_new(&policy), 0);
        expect_good(nsrun_policy_set(policy, id ? "session" : "project", id ? id : s->project, &err), &err);
        expect_good(nsrun_policy_set_command(policy, OPTIONS("sh", "-c", script), &err), &err);
        expect_good(nsrun_plan_new(policy, &plan, &err), &err);
        (void)nsrun_policy_free(policy);
        return plan;
}

static void expect_reports(const struct launch *l) {
        struct launch_report report = {0};
        bool has_started = false;

        while (launch_read_report(l, &report) == 1 && report.kind != LAUNCH_EXITED) {
                if (report.kind == LAUNCH_FAILED)
                        fail_msg("%s: %s: %s", report.error.what, report.error.path,
                                 strerror(report.error.error));
                has_started |= report.kind == LAUNCH_STARTED;
        }
        assert_true(has_started);
        assert_int_equal(report.kind, LAUNCH_EXITED);
        assert_int_equal(report.status, 0);
        (void)launch_wait(l);
}

/* One command that copies a pipe into another, and then lives on without either. */
static void pass(const struct site *s, const char *id, const char *init_path) {
        struct host_pipe in = make_pipe(), out = make_pipe(), life = make_pipe(), said = make_pipe();
        struct launch_params params = {.terminal_fd = -1, .wants_started = true, .init_path = init_path};
        _cleanup_free_ char *script = NULL, *listed = NULL;
        struct rundir rundir = RUNDIR_INIT;
        struct launch launch = LAUNCH_INIT;
        struct nsrun_error err = {0};
        struct nsrun_plan *plan;
        int stdio[3] = {life.read_end, said.write_end, 2}, passed[2];

        in.read_end = raise_to(in.read_end, HIGH);
        passed[0] = in.read_end;
        passed[1] = out.write_end;
        assert_between(out.write_end, 4, 9);
        script = text_of("ls /proc/self/fd; cat /proc/self/fd/%d >&%d; exec %d>&-; read line; echo $line",
                         in.read_end, out.write_end, out.write_end);
        listed = text_of("0\n1\n2\n3\n%d\n%d\nthe end\n", in.read_end, out.write_end);
        plan = plan_script(s, id, script);
        params.stdio = stdio;
        params.pass_fds = passed;
        params.n_pass_fds = 2;
        expect_good(disk_prepare(plan, false, &rundir, &params, &err), &err);
        expect_good(launch_start(plan, &params, &launch, &err), &err);
        /* The caller's own are as they were, and the caller's to close. */
        for (size_t i = 0; i < ARRAY_SIZE(passed); i++) {
                assert_int_equal(fcntl(passed[i], F_GETFD), FD_CLOEXEC);
                (void)close(passed[i]);
        }
        (void)close(life.read_end);
        (void)close(said.write_end);
        assert_int_equal(write(in.write_end, "through\n", 8), 8);
        (void)close(in.write_end);
        assert_string_equal(read_all(out.read_end), "through\n");
        assert_int_equal(write(life.write_end, "the end\n", 8), 8);
        (void)close(life.write_end);
        assert_string_equal(read_all(said.read_end), listed);
        expect_reports(&launch);
        launch_close(&launch);
        rundir_remove(&rundir);
        (void)nsrun_plan_free(plan);
}

TEST(a_command_gets_what_is_passed_and_nobody_else_has_it) {
        const struct site *s = *state;

        pass(s, NULL, NULL);
        pass(s, NULL, program_init());
}

TEST_IN_BOTH_MODES(a_joining_command_gets_what_is_passed_and_nobody_else_has_it) {
        const struct site *s = *state;
        _cleanup_free_ char *id = START_PLAIN(s);

        /* Without nsrun-init this process would enter the session itself. */
        pass(s, id, program_init());
        end_session(s, id, "stop");
}

/* What nsrun-init says when it is given `init` in place of what it expects. */
static void run_init(const struct init *init, struct launch_report *ret) {
        struct host_pipe pipe = make_pipe();
        struct init given = *init;
        siginfo_t info = {.si_pid = 0};
        int file = memfd_create("init", 0), pid;

        assert_true(file >= 0);
        given.report_fd = pipe.write_end;
        assert_int_equal(write(file, &given, sizeof(given)), sizeof(given));
        assert_int_equal(lseek(file, 0, SEEK_SET), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                char number[24];

                (void)snprintf(number, sizeof(number), "%d", file);
                (void)fcntl(pipe.write_end, F_SETFD, 0);
                (void)execl(program_init(), "nsrun-init", number, NULL);
                _exit(1);
        }
        assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
        assert_int_equal(info.si_status, 125);
        assert_int_equal(read(pipe.read_end, ret, sizeof(*ret)), sizeof(*ret));
        (void)close(pipe.read_end);
        (void)close(pipe.write_end);
        (void)close(file);
}

TEST(an_nsrun_init_of_another_version_says_so) {
        const struct init other[] = {{.size = sizeof(struct boundary_facts), .version = INIT_VERSION + 1},
                                     {.size = sizeof(struct boundary_facts) + 8, .version = INIT_VERSION}};

        for (size_t i = 0; i < ARRAY_SIZE(other); i++) {
                struct launch_report report = {0};
                _cleanup_free_ char *line = NULL;

                run_init(&other[i], &report);
                assert_int_equal(report.kind, LAUNCH_FAILED);
                line = nsrun_error_format(&report.error);
                assert_string_equal(line, "nsrun-init is of another version: Protocol error; install nsrun "
                                          "completely");
        }
}

int main(void) {
        return run_all_tests();
}
