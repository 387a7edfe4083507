/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The nsrun program's side of a run: waits for the command, passes signals on,
 * stops and goes on as the command does, and tells how it ended. */
#include "supervise.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "base/json.h"
#include "base/sys.h"
#include "cgroup.h"
#include "denials.h"
#include "disk.h"
#include "oom.h"
#include "status.h"

struct run {
        const struct supervise_params *params;
        const struct nsrun_plan *plan;
        struct launch launch;
        int signal_fd;
        int terminal_fd; /* ours to hand to the command's process group and back; or -1 */
        int listener;    /* the kernel's questions about denied calls; or -EBADF */
        struct denials *denials;
        struct cgroup cgroup;
        struct oom_watch memory; /* of `cgroup`, where --status-fd wants to know */
        bool was_asked_to_stop;
        bool has_exited;
        int status; /* wait(2)'s, of the command */
        struct nsrun_error *err;
};

/* Everything a person or a program may send.  The faults of our own (SIGSEGV…)
 * stay deadly, and job control's stops of background output stay the terminal's. */
static void passed_on(sigset_t *set) {
        static const int own[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGTRAP, SIGSYS, SIGABRT,
                                  SIGCHLD, SIGTTIN, SIGTTOU, SIGPROF, SIGXCPU, SIGXFSZ};

        (void)sigfillset(set);
        for (size_t i = 0; i < ARRAY_SIZE(own); i++)
                (void)sigdelset(set, own[i]);
}

static void take_signals(struct run *run) {
        struct signalfd_siginfo info;

        while (sys_read(run->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
                int signal = (int)info.ssi_signo;

                /* A write to a closed pipe of our own is no news for the command. */
                if (signal == SIGPIPE)
                        continue;
                run->was_asked_to_stop |= signal == SIGTSTP;
                (void)launch_signal(&run->launch, signal);
        }
}

/* The command has started: its status is what nsrun tells, whatever became of
 * the reader of --status-fd. */
static void warn_unless_told(int r) {
        if (r < 0)
                (void)fprintf(stderr, "nsrun: the status can't be written to --status-fd: %s\n",
                              strerror(-r));
}

static void give_terminal(const struct run *run, pid_t group) {
        if (run->terminal_fd >= 0 && group > 0)
                (void)sys_ioctl(run->terminal_fd, TIOCSPGRP, &group);
}

static pid_t terminal_group(int fd) {
        pid_t group = -1;

        return sys_ioctl(fd, TIOCGPGRP, &group) < 0 ? -1 : group;
}

/* The command stopped.  Where the user asked for that the shell that watches nsrun
 * shall see a stopped job, and "fg" wakes both; a stop of the command's own making
 * is none of ours, and must not keep us from signals. */
static void stop_too(struct run *run, int signal) {
        pid_t group = -1;

        if (!run->was_asked_to_stop && run->terminal_fd < 0)
                return;
        run->was_asked_to_stop = false;
        /* Without a shell that could say "fg" (an orphaned process group) the kernel
         * ignores ^Z, and refuses the terminal to the background: so do we. */
        if (getsid(getppid()) != getsid(0)) {
                if (signal == SIGTTIN || signal == SIGTTOU)
                        (void)launch_signal(&run->launch, SIGHUP);
                (void)launch_signal(&run->launch, SIGCONT);
                return;
        }
        if (run->terminal_fd >= 0)
                group = terminal_group(run->terminal_fd);
        give_terminal(run, getpgrp());
        (void)sys_kill(getpid(), SIGSTOP);
        if (run->terminal_fd >= 0 && terminal_group(run->terminal_fd) == getpgrp())
                give_terminal(run, group);
}

static int take_report(struct run *run, const struct launch_report *report) {
        int fd = run->params->status_fd;

        switch (report->kind) {
        case LAUNCH_FAILED:
                *run->err = report->error;
                return -report->error.error;
        case LAUNCH_STARTED:
                if (fd >= 0)
                        warn_unless_told(status_started(fd, run->plan, &run->launch, report,
                                                        cgroup_pids_by(&run->cgroup, run->plan), NULL));
                return 0;
        case LAUNCH_NOTE:
                (void)fprintf(stderr, "nsrun: note: %s: %s\n", report->error.what, report->error.path);
                if (fd >= 0)
                        warn_unless_told(status_note(fd, &report->error, NULL));
                return 0;
        case LAUNCH_BUILT: /* a raw plan's */
                return 0;
        case LAUNCH_STOPPED:
                stop_too(run, report->status);
                return 0;
        case LAUNCH_EXITED:
                run->has_exited = true;
                run->status = report->status;
                return 0;
        }
        return -EPROTO;
}

/* First the listener itself, then what it asks.  Without one the calls fail all the same. */
static void take_denial(struct run *run, int events) {
        if (run->listener < 0) {
                run->listener = launch_receive_listener(&run->launch);
                close_fdp(&run->launch.listener_socket);
        } else if (!(events & POLLIN) || denials_answer(run->denials, run->listener) < 0) {
                /* Nobody is left to ask (POLLHUP): before 6.6 taking a question would wait for ever. */
                close_fdp(&run->listener);
        }
}

/* Until pid 1 has told how the command ended, or the pipe ends, and pid 1 with it. */
static int watch(struct run *run) {
        struct pollfd fds[] = {{.fd = run->launch.report_fd, .events = POLLIN},
                               {.fd = run->signal_fd, .events = POLLIN},
                               {.events = POLLIN}};

        for (;;) {
                struct launch_report report;
                int r;

                fds[2].fd = run->listener >= 0 ? run->listener : run->launch.listener_socket;
                r = sys_poll(fds, ARRAY_SIZE(fds), -1);
                if (r < 0 && r != -EINTR)
                        return error_set(run->err, NSRUN_STAGE_SUPERVISE, r, NULL, "nsrun can't wait", NULL);
                if (fds[1].revents)
                        take_signals(run);
                if (fds[2].revents)
                        take_denial(run, fds[2].revents);
                if (!fds[0].revents)
                        continue;
                r = launch_read_report(&run->launch, &report);
                if (r == 0)
                        return 0;
                if (r > 0)
                        r = take_report(run, &report);
                if (r < 0)
                        return error_set(run->err, NSRUN_STAGE_SUPERVISE, r, NULL,
                                         "pid 1's report can't be read", NULL);
                /* Nothing follows it, and nothing is left to pass a signal on to. */
                if (run->has_exited)
                        return 0;
        }
}

/* Ends what still runs, and waits until the sandbox is gone.  Its wait(2) status. */
static int finish(struct run *run, bool has_failed) {
        int status = 0;

        if (has_failed)
                (void)launch_signal(&run->launch, SIGKILL);
        /* In a session its reaper may stay, for what the command left behind.  Else it is waited for: where
         * pid 1 collects no orphans, as in many containers, the session could never end. */
        if (!run->launch.is_nested || !run->has_exited)
                status = launch_wait(&run->launch);
        launch_end_session(run->plan, &run->launch, status);
        launch_close(&run->launch);
        close_fdp(&run->listener);
        return status;
}

/* The command has run: its status counts, whatever becomes of the report. */
static void tell_denials(const struct run *run) {
        struct nsrun_error err = {0};

        if (denials_write(run->denials, run->params->report_fd, &err) < 0)
                (void)fprintf(stderr, "nsrun: %s: %s\n", err.what, strerror(err.error));
}

static int run_plan(struct run *run, struct launch_params *params) {
        int r, init_status;

        if (run->params->status_fd >= 0 && (run->cgroup.controllers & CGROUP_MEMORY))
                oom_watch_begin(&run->memory, &run->cgroup);
        r = launch_start(run->plan, params, &run->launch, run->err);
        if (r < 0)
                return r;
        r = watch(run);
        init_status = finish(run, r < 0);
        if (r < 0)
                return r;
        if (!run->has_exited && !WIFSIGNALED(init_status))
                return error_set(run->err, NSRUN_STAGE_SUPERVISE, -EIO, NULL, "pid 1 ended without a report",
                                 NULL);
        if (!run->has_exited) {
                (void)fprintf(stderr, "nsrun: %s was killed by signal %d, and %s with it\n",
                              run->launch.is_join ? "the command's reaper" : "the sandbox's pid 1",
                              WTERMSIG(init_status),
                              run->launch.is_join && run->plan->is_scoped ? "the session" : "the command");
                run->status = init_status;
        }
        if (run->denials)
                tell_denials(run);
        if (run->params->status_fd >= 0)
                warn_unless_told(status_exited(run->params->status_fd, run->status,
                                               oom_watch_ended(&run->memory), NULL));
        return 0;
}

/* Where JSON is asked for and can't be had, the command must not start. */
static int check_output_fd(int fd, const char *option, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = {0};
        struct stat st;
        int r;

        if (fd < 0)
                return 0;
        r = sys_fstat(fd, &st);
        if (r < 0)
                return error_setf(err, NSRUN_STAGE_USAGE, r, NULL, NULL, "%s names no open descriptor",
                                  option);
        return json_open(&d, err);
}

/* Our controlling terminal, where we are in its foreground. */
static int find_terminal(void) {
        for (int fd = 0; fd <= 2; fd++)
                if (terminal_group(fd) == getpgrp())
                        return fd;
        return -1;
}

int supervise(const struct nsrun_plan *plan, const struct supervise_params *params, int *ret_status,
              struct nsrun_error *err) {
        struct run run = {.params = params,
                          .plan = plan,
                          .launch = LAUNCH_INIT,
                          .signal_fd = -EBADF,
                          .terminal_fd = -1,
                          .listener = -EBADF,
                          .cgroup = CGROUP_INIT,
                          .memory = OOM_WATCH_INIT,
                          .err = err};
        struct umbrella umbrella = UMBRELLA_INIT;
        struct launch_params launch_params = {
                .umbrella_fd = -EBADF,
                .lock_fd = -EBADF,
                .terminal_fd = -1,
                .wants_started = params->status_fd >= 0,
                .wants_denials = params->report_fd >= 0 && plan->seccomp.code,
                .dies_with_thread = true,
                .command_line = params->command_line,
                .command_line_size = params->command_line_size,
        };
        struct sigaction standard = {.sa_handler = SIG_DFL};
        sigset_t set, before, terminal_output;
        int r;

        r = check_output_fd(params->status_fd, "--status-fd", err);
        if (r >= 0)
                r = check_output_fd(params->report_fd, "--report", err);
        if (r >= 0 && launch_params.wants_denials && denials_new(plan, &run.denials) < 0)
                r = error_oom(err);
        if (r < 0)
                return r;
        if (plan->seccomp_cache)
                seccomp_remember(&plan->seccomp, plan->seccomp_cache);
        /* Ignored by a careless parent, it would keep us from learning the end. */
        (void)sigaction(SIGCHLD, &standard, NULL);
        if (!plan->new_session)
                run.terminal_fd = launch_params.terminal_fd = find_terminal();
        passed_on(&set);
        r = sys_sigmask(SIG_BLOCK, &set, &before);
        /* Taking the terminal back from the background would stop us. */
        (void)sigemptyset(&terminal_output);
        (void)sigaddset(&terminal_output, SIGTTOU);
        if (r >= 0)
                r = sys_sigmask(SIG_BLOCK, &terminal_output, NULL);
        run.signal_fd = r < 0 ? r : sys_signalfd(&set);
        if (run.signal_fd < 0) {
                run.denials = denials_free(run.denials);
                return error_set(err, NSRUN_STAGE_SUPERVISE, run.signal_fd, NULL, "no signalfd", NULL);
        }
        launch_params.mask = &before;
        r = disk_prepare(plan, &umbrella, &launch_params, err);
        if (r >= 0)
                r = cgroup_prepare(plan, true, &run.cgroup, &launch_params, err);
        if (r >= 0)
                r = run_plan(&run, &launch_params);
        give_terminal(&run, getpgrp());
        (void)oom_watch_ended(&run.memory);
        cgroup_remove(&run.cgroup);
        umbrella_remove(&umbrella);
        close_fdp(&run.signal_fd);
        run.denials = denials_free(run.denials);
        if (r < 0) {
                supervise_report_failure(params->status_fd, err);
                return r;
        }
        *ret_status = WIFSIGNALED(run.status) ? 128 + WTERMSIG(run.status) : WEXITSTATUS(run.status);
        return 0;
}

void supervise_report_failure(int status_fd, const struct nsrun_error *err) {
        if (status_fd >= 0)
                (void)status_failed(status_fd, err, NULL);
}

int supervise_failure_status(const struct nsrun_error *err) {
        if (err->stage != NSRUN_STAGE_EXEC)
                return 125;
        if (err->error == ENOENT || err->error == ENOTDIR)
                return 127;
        return 126;
}
