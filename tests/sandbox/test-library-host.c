/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The library in a host that has signals, descriptors, threads and secrets of its
 * own: nothing of it changes, nothing of it reaches the sandbox, and the sandbox
 * ends with it. */
#include <inttypes.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>

#include "../seed.h"
#include "faults.h"
#include "library.h"
#include "stage.h"

#define RANDOM_KILLS 50

struct host_state {
        char *folder;
        char *descriptors;
        char *environment;
        sigset_t mask;
        struct sigaction actions[65];
        mode_t umask;
};

static char *describe_descriptors(void) {
        char *text = text_of("%s", "");

        for (int fd = 0; fd < 1024; fd++) {
                struct stat st;
                int flags = fcntl(fd, F_GETFD);

                if (flags >= 0 && fstat(fd, &st) == 0) {
                        char *longer = text_of("%s%d %d %ju %ju\n", text, fd, flags, (uintmax_t)st.st_dev,
                                               (uintmax_t)st.st_ino);

                        free(text);
                        text = longer;
                }
        }
        return text;
}

static void take_state(struct host_state *ret) {
        char *environment = text_of("%s", "");

        for (char **e = environ; *e; e++) {
                char *longer = text_of("%s%s\n", environment, *e);

                free(environment);
                environment = longer;
        }
        memset(ret, 0, sizeof(*ret));
        ret->environment = environment;
        ret->folder = getcwd(NULL, 0);
        ret->descriptors = describe_descriptors();
        assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &ret->mask), 0);
        for (int signal = 1; signal < 65; signal++)
                (void)sigaction(signal, NULL, &ret->actions[signal]);
        ret->umask = umask(0);
        (void)umask(ret->umask);
}

static void clear_state(struct host_state *h) {
        free(h->folder);
        free(h->descriptors);
        free(h->environment);
}

static void expect_same_state(const struct host_state *before) {
        struct host_state now;

        take_state(&now);
        assert_string_equal(now.folder, before->folder);
        assert_string_equal(now.descriptors, before->descriptors);
        assert_string_equal(now.environment, before->environment);
        assert_int_equal(now.umask, before->umask);
        for (int signal = 1; signal < 65; signal++) {
                assert_int_equal(sigismember(&now.mask, signal), sigismember(&before->mask, signal));
                assert_true(now.actions[signal].sa_handler == before->actions[signal].sa_handler);
                assert_int_equal(now.actions[signal].sa_flags, before->actions[signal].sa_flags);
        }
        clear_state(&now);
}

static void count_signal(nsrun_unused int signal) {
}

TEST(the_host_is_as_it_was) {
        const struct site *s = *state;
        struct sigaction counting = {.sa_handler = count_signal, .sa_flags = SA_RESTART}, old;
        const char *const absent[] = {"no-such-command", NULL};
        sigset_t blocked, old_mask;
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};
        struct host_state before;
        mode_t old_umask = umask(027);

        (void)sigemptyset(&blocked);
        (void)sigaddset(&blocked, SIGUSR1);
        (void)sigaddset(&blocked, SIGCHLD);
        assert_int_equal(pthread_sigmask(SIG_SETMASK, &blocked, &old_mask), 0);
        assert_int_equal(sigaction(SIGTERM, &counting, &old), 0);
        take_state(&before);

        sandbox = start(s, "exit 0");
        expect_end(sandbox, 0, 0);
        assert_null(nsrun_sandbox_free(sandbox));
        expect_same_state(&before);
        /* After a failure too. */
        assert_int_equal(start_command(s, absent, &sandbox, &err), -ENOENT);
        expect_same_state(&before);

        clear_state(&before);
        assert_int_equal(sigaction(SIGTERM, &old, NULL), 0);
        assert_int_equal(pthread_sigmask(SIG_SETMASK, &old_mask, NULL), 0);
        (void)umask(old_umask);
}

TEST(a_host_that_ignores_its_children_still_learns_the_end) {
        struct sigaction ignored = {.sa_handler = SIG_IGN}, old;
        struct nsrun_sandbox *sandbox;

        assert_int_equal(sigaction(SIGCHLD, &ignored, &old), 0);
        sandbox = start(*state, "true & wait; exit 9");
        expect_end(sandbox, 9, 0);
        assert_null(nsrun_sandbox_free(sandbox));
        assert_int_equal(sigaction(SIGCHLD, &old, NULL), 0);
}

/* ------------------------------------------------------------ what pid 1 knows */

static pid_t pid_of(int pidfd) {
        _cleanup_free_ char *path = text_of("/proc/self/fdinfo/%d", pidfd), *text = file_text(path);
        const char *found = text ? strstr(text, "\nPid:") : NULL;
        int pid = 0;

        assert_non_null(found);
        assert_int_equal(sscanf(found, " Pid: %d", &pid), 1);
        return pid;
}

/* How often `marker` stands in a process's memory.  By process_vm_readv(2): who made
 * the user namespace may, though /proc/PID/mem belongs to root. */
static int count_in_memory(pid_t pid, const char *marker) {
        _cleanup_free_ char *path = text_of("/proc/%d/maps", pid), *maps = file_text(path);
        size_t n = strlen(marker), n_read = 0;
        int count = 0;

        assert_non_null(maps);
        for (const char *line = maps; *line; line = strchr(line, '\n') + 1) {
                static char block[1 << 16];
                uintptr_t from, to;

                assert_int_equal(sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to), 2);
                /* A sanitizer's shadow of the whole address space. */
                if (to - from > UINT64_C(1) << 32)
                        continue;
                while (from < to) {
                        struct iovec here = {.iov_base = block, .iov_len = sizeof(block)},
                                     there = {.iov_base = (void *)from,
                                              .iov_len =
                                                      to - from < sizeof(block) ? to - from : sizeof(block)};
                        ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);

                        for (char *at = block;
                             got > 0 && (at = memmem(at, (size_t)(block + got - at), marker, n)); at++)
                                count++;
                        n_read += got > 0 ? (size_t)got : 0;
                        /* Not to miss one that lies across two blocks. */
                        if (got <= (ssize_t)n)
                                break;
                        from += (size_t)got - n;
                }
        }
        assert_true(n_read > 10000);
        return count;
}

TEST(pid_1_has_nothing_of_the_hosts_memory) {
        const struct site *s = *state;
        char *marker = text_of("secret-%d-%jd-of-the-host", (int)getpid(), (intmax_t)time(NULL));
        _cleanup_close_ int fifo = open_fifo(s);
        struct nsrun_sandbox *sandbox = start(s, waiting);
        pid_t init = pid_of(nsrun_sandbox_pidfd(sandbox));
        _cleanup_free_ char *exe = text_of("/proc/%d/exe", init),
                            *line_path = text_of("/proc/%d/cmdline", init), *line = NULL;
        _cleanup_free_ char *wanted = realpath(getenv("NSRUN_INIT"), NULL);
        char found[4096] = "";

        expect_ready(fifo);
        /* The control: the search finds what is there. */
        assert_true(count_in_memory(getpid(), marker) > 0);
        line = file_text(line_path);
        assert_string_equal(line, "nsrun-init");
        assert_int_equal(count_in_memory(init, marker), 0);
        assert_true(readlink(exe, found, sizeof(found) - 1) > 0);
        assert_string_equal(found, wanted);
        assert_null(nsrun_sandbox_free(sandbox));
        free(marker);
}

TEST(the_command_gets_no_descriptor_of_the_hosts) {
        const struct site *s = *state;
        int leaked = dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), 77);
        _cleanup_free_ char *path = path_of(s->project, "seen"), *seen = NULL;
        struct nsrun_sandbox *sandbox;

        copy_helper(s, "look");
        assert_int_equal(leaked, 77);
        sandbox = start(s, "./look >seen");
        expect_end(sandbox, 7, 0);
        assert_null(nsrun_sandbox_free(sandbox));
        seen = file_text(path);
        /* 3 is the folder in which it looks. */
        expect_in(seen, "fd 0\nfd 1\nfd 2\nfd 3\nmount ");
        (void)close(leaked);
}

/* In a forked host, so that what it does to itself stays there: its exit status. */
static int in_another_host(const struct site *s, int (*host)(const struct site *s)) {
        siginfo_t info = {.si_pid = 0};
        pid_t pid;

        (void)fflush(NULL);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                _exit(host(s));
        assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
        assert_int_equal(info.si_code, CLD_EXITED);
        return info.si_status;
}

static int start_with_closed_streams(const struct site *s) {
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};
        struct nsrun_exit end;

        for (int fd = 0; fd <= 2; fd++)
                (void)close(fd);
        if (start_script(s, "./look >seen", &sandbox, &err) < 0 ||
            nsrun_sandbox_wait(sandbox, &end, &err) < 0)
                return 100;
        (void)nsrun_sandbox_free(sandbox);
        /* Nothing of the library's is left where a stream should be. */
        for (int fd = 0; fd <= 2; fd++)
                if (fcntl(fd, F_GETFD) >= 0)
                        return 101;
        return end.code;
}

TEST(closed_standard_streams_stay_closed) {
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->project, "seen"), *seen = NULL;

        copy_helper(s, "look");
        assert_int_equal(in_another_host(s, start_with_closed_streams), 7);
        seen = file_text(path);
        /* 0 is the folder in which it looks, 1 the file. */
        expect_in(seen, "fd 0\nfd 1\nmount ");
}

/* There the run has a run directory, links that it keeps, and a repository whose settings it reads. */
TEST(closed_standard_streams_stay_closed_in_a_repository) {
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->project, "seen"), *seen = NULL;
        _cleanup_outcome_ struct outcome o = {0};

        run_outside(s, &o, "git init -q . && echo x >real && ln -s real .envrc");
        expect_status(&o, 0);
        copy_helper(s, "look");
        assert_int_equal(in_another_host(s, start_with_closed_streams), 7);
        seen = file_text(path);
        expect_in(seen, "fd 0\nfd 1\nmount ");
}

/* 7: the start is refused, by these words, and leaves the streams as they were. */
static int start_without_room_for_streams(const struct site *s) {
        static const char *const argv[] = {"true", NULL};
        struct nsrun_policy *policy = make_policy(s, argv);
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_plan *plan = NULL;
        struct nsrun_error err = {0};
        int r;

        if (nsrun_plan_new(policy, &plan, &err) < 0)
                return 100;
        for (int fd = 0; fd <= 2; fd++)
                (void)close(fd);
        /* For the first of them alone. */
        if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){1, 1}) < 0)
                return 101;
        r = nsrun_start(plan, NULL, &sandbox, &err);
        (void)nsrun_plan_free(plan);
        (void)nsrun_policy_free(policy);
        for (int fd = 0; fd <= 2; fd++)
                if (fcntl(fd, F_GETFD) >= 0)
                        return 102;
        return r == -EMFILE && err.error == EMFILE && err.stage == NSRUN_STAGE_SUPERVISE &&
                               streq(err.what, "the standard streams that are closed can't be kept so")
                       ? 7
                       : 103;
}

TEST(streams_that_can_not_be_kept_closed_are_a_refusal) {
        assert_int_equal(in_another_host(*state, start_without_room_for_streams), 7);
}

/* ------------------------------------------------------- what was left to the start */

/* Writes the notes of a run with this /proc to the project's file "notes". */
static int note_with_proc(const struct site *s, const char *proc) {
        static const char *const argv[] = {"true", NULL};
        struct nsrun_policy *policy = make_policy(s, argv);
        _cleanup_free_ char *path = path_of(s->project, "notes");
        _cleanup_fclose_ FILE *f = fopen(path, "we");
        struct nsrun_plan *plan = NULL;
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};
        struct nsrun_exit end = {.code = 100};

        if (!f || nsrun_policy_set(policy, "proc", proc, &err) < 0 ||
            nsrun_plan_new(policy, &plan, &err) < 0 || nsrun_start(plan, NULL, &sandbox, &err) < 0)
                return 101;
        (void)nsrun_plan_free(plan);
        (void)nsrun_policy_free(policy);
        for (const char *const *note = nsrun_sandbox_notes(sandbox); *note; note++)
                (void)fprintf(f, "%s\n", *note);
        /* No more come, and those are still there. */
        if (nsrun_sandbox_wait(sandbox, &end, &err) < 0)
                return 102;
        for (const char *const *note = nsrun_sandbox_notes(sandbox); *note; note++)
                (void)fprintf(f, "%s\n", *note);
        (void)nsrun_sandbox_free(sandbox);
        return end.code;
}

static int note_on_a_plain_host(const struct site *s) {
        stage_enter();
        return note_with_proc(s, "auto");
}

static int note_on_a_masked_host(const struct site *s) {
        stage_enter();
        stage_bind("/dev/null", "/proc/interrupts");
        return note_with_proc(s, "auto");
}

/* Which of the two it comes to depends on the kernel. */
TEST_IF(!IS_THREAD_SANITIZED, what_was_decided_during_the_start_is_told, site_setup, site_teardown) {
        static const char none[] = "no /proc can be mounted here: the sandbox has none: /proc\n",
                          subset[] = "a full /proc is refused here: mounted with subset=pid: /proc\n";
        const struct site *s = *state;
        _cleanup_free_ char *path = path_of(s->project, "notes"), *before = NULL, *after = NULL;
        _cleanup_free_ char *none_twice = text_of("%s%s", none, none),
                            *subset_twice = text_of("%s%s", subset, subset);

        assert_int_equal(in_another_host(s, note_on_a_plain_host), 0);
        before = file_text(path);
        assert_string_equal(before, "");
        assert_int_equal(in_another_host(s, note_on_a_masked_host), 0);
        after = file_text(path);
        if (!streq(after, none_twice))
                assert_string_equal(after, subset_twice);
}

/* ---------------------------------------------------------- when the host is gone */

/* Starts one sandbox after another until it is killed. */
static _Noreturn void be_a_host(const struct site *s, int out) {
        if (dup2(out, 1) < 0)
                _exit(100);
        for (;;) {
                struct nsrun_sandbox *sandbox = NULL;
                struct nsrun_error err = {0};

                if (start_script(s, "setsid sleep 1000 & :", &sandbox, &err) < 0)
                        _exit(101);
        }
}

TEST(killed_with_its_sandboxes_a_host_leaves_nothing) {
        const struct site *s = *state;
        unsigned seed = (unsigned)test_seed();

        assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
        for (int i = 0; i < RANDOM_KILLS; i++) {
                siginfo_t info = {.si_pid = 0};
                int ends[2];
                pid_t pid;

                assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
                (void)fflush(NULL);
                pid = fork();
                assert_true(pid >= 0);
                if (pid == 0)
                        be_a_host(s, ends[1]);
                (void)close(ends[1]);
                pause_up_to(&seed, 20000000);
                assert_int_equal(kill(pid, SIGKILL), 0);
                assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
                assert_int_equal(info.si_code, CLD_KILLED);
                expect_all_gone(ends[0]);
                (void)close(ends[0]);
                reap_orphans();
        }
}

static struct nsrun_policy *probed_policy(const struct site *s, const char *option, const char *value) {
        struct nsrun_policy *policy = NULL;
        struct nsrun_error err = {0};

        assert_int_equal(nsrun_policy_new(&policy), 0);
        expect_good(nsrun_policy_set(policy, "project", s->project, &err), &err);
        if (option)
                expect_good(nsrun_policy_set(policy, option, value, &err), &err);
        return policy;
}

#define NO_BASH "command not found in the sandbox: bash: No such file or directory; "

/* Each is one cause with one fix, and the same policy without it is carried.  nsrun_bash() says the same. */
TEST(a_probe_names_what_is_in_the_way) {
        const struct site *s = *state;
        _cleanup_free_ char *path = text_of("PATH=%s", s->outside),
                            *elsewhere = text_of(NO_BASH "the host's is %s/bash, which the sandbox hasn't "
                                                         "got: --ro %s/bash exposes it",
                                                 s->outside, s->outside);
        const struct {
                const char *option, *value;
                int r;
                enum nsrun_stage stage;
                const char *line;
        } cases[] = {
                {NULL, NULL, 0, NSRUN_STAGE_NONE, NULL},
                {"env", "PATH=/nonexistent", -ENOENT, NSRUN_STAGE_EXEC,
                 NO_BASH
                 "PATH doesn't name /usr/bin, where it is: export PATH=$PATH:/usr/bin, or --env PATH=..."},
                {"env", "PATH=", -ENOENT, NSRUN_STAGE_EXEC,
                 NO_BASH "PATH is empty: export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin, or --env "
                         "PATH=..."},
                {"env", path, -ENOENT, NSRUN_STAGE_EXEC, elsewhere},
                {"ro", "/nonexistent", -ENOENT, NSRUN_STAGE_POLICY,
                 "the source of --ro can't be opened: /nonexistent: No such file or directory; create it "
                 "first, or leave the option out"},
        };
        _cleanup_free_ char *bash = path_of(s->outside, "bash");

        make_file(s->outside, "bash", "#!/bin/sh\nexec /usr/bin/bash \"$@\"\n");
        assert_int_equal(chmod(bash, 0755), 0);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct nsrun_policy *policy = probed_policy(s, cases[i].option, cases[i].value);
                struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
                struct nsrun_error err = {0};

                if (!cases[i].line) {
                        expect_good(nsrun_probe(policy, &err), &err);
                } else {
                        expect_error(nsrun_probe(policy, &err), cases[i].r, cases[i].stage, &err,
                                     cases[i].line);
                        expect_error(nsrun_bash(policy, ":", NULL, &result, &err), cases[i].r,
                                     cases[i].stage, &err, cases[i].line);
                }
                (void)nsrun_policy_free(policy);
        }
}

/* A service that was told of no project has "/" for its working directory. */
TEST(a_probe_says_of_a_working_directory_what_a_command_says) {
        static const char said[] = "a system root can't be the project: /; "
                                   "choose a folder with --project DIR, or use --no-project";
        const struct site *s = *state;
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        _cleanup_free_ char *here = getcwd(NULL, 0);
        struct nsrun_policy *policy = NULL;
        struct nsrun_error err = {0};

        assert_int_equal(nsrun_policy_new(&policy), 0);
        assert_int_equal(chdir("/"), 0);
        expect_error(nsrun_probe(policy, &err), -EPERM, NSRUN_STAGE_POLICY, &err, said);
        expect_error(nsrun_bash(policy, ":", NULL, &result, &err), -EPERM, NSRUN_STAGE_POLICY, &err, said);
        assert_int_equal(chdir(s->outside), 0);
        expect_good(nsrun_probe(policy, &err), &err);
        assert_int_equal(chdir(here), 0);
        (void)nsrun_policy_free(policy);
}

/* Each hint, followed, leads on. */
TEST(a_probe_is_content_where_its_advice_was_followed) {
        const struct site *s = *state;
        _cleanup_free_ char *path = text_of("PATH=%s", s->outside), *bash = path_of(s->outside, "bash"),
                            *loader = text_of(NO_BASH
                                              "%s is there, and the loader that it names isn't: expose "
                                              "that with --ro",
                                              bash),
                            *unreadable = text_of(
                                    "commands couldn't read the folder in which they begin: %s: "
                                    "Permission denied; chmod u+rx it, or choose another with --project",
                                    s->project);
        struct nsrun_policy *policy = probed_policy(s, "ro", s->outside);
        struct nsrun_error err = {0};

        expect_good(nsrun_policy_set(policy, "env", path, &err), &err);
        make_file(s->outside, "bash", "#!/nonexistent/loader\n");
        assert_int_equal(chmod(bash, 0755), 0);
        expect_error(nsrun_probe(policy, &err), -ENOENT, NSRUN_STAGE_EXEC, &err, loader);
        make_file(s->outside, "bash", "#!/bin/sh\nexec /usr/bin/bash \"$@\"\n");
        expect_good(nsrun_probe(policy, &err), &err);
        assert_int_equal(chmod(s->project, 0311), 0);
        expect_error(nsrun_probe(policy, &err), -EACCES, NSRUN_STAGE_POLICY, &err, unreadable);
        assert_int_equal(chmod(s->project, 0755), 0);
        expect_good(nsrun_probe(policy, &err), &err);
        (void)nsrun_policy_free(policy);
}

TEST_IF(!IS_THREAD_SANITIZED, a_probe_says_that_the_host_has_no_bash, site_setup, site_teardown) {
        const struct site *s = *state;
        struct nsrun_policy *policy = probed_policy(s, NULL, NULL);
        int status = -1;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                struct nsrun_error err = {0};

                stage_enter();
                if (nsrun_probe(policy, &err) != 0)
                        stage_fail(err.what);
                stage_tmpfs("/usr/bin", 0);
                if (nsrun_probe(policy, &err) != -ENOENT || err.stage != NSRUN_STAGE_EXEC)
                        _exit(11);
                _exit(strcmp(err.hint, "the host has none: install the package bash") != 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        (void)nsrun_policy_free(policy);
}

TEST_IF(!IS_THREAD_SANITIZED, a_probe_says_where_no_user_namespace_can_be_had, site_setup, site_teardown) {
        const struct site *s = *state;
        struct nsrun_policy *policy = probed_policy(s, NULL, NULL);
        struct nsrun_error err = {0};
        int status = -1;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                stage_enter();
                if (nsrun_probe(policy, &err) != 0)
                        _exit(10);
                stage_write("/proc/sys/user/max_user_namespaces", "0");
                if (nsrun_probe(policy, &err) >= 0)
                        _exit(11);
                if (err.stage != NSRUN_STAGE_NAMESPACE ||
                    strcmp(err.what, "user namespaces are switched off") != 0)
                        stage_fail(err.what);
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        (void)nsrun_policy_free(policy);
}

int main(void) {
        return run_all_tests();
}
