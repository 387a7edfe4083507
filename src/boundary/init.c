/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pid 1: starts the command, passes signals on, reaps everything, and leaves
 * nothing alive when the command has ended.  Has no capabilities, no memory worth
 * reading, and no way to be read. */
#include "init.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "decimal.h"
#include "descendants.h"
#include "exec.h"
#include "harden.h"
#include "home_leftovers.h"
#include "reaper_outside.h"

/* How many children init_reap() takes in one go. */
#define REAPED_AT_ONCE 64

/* A signal that a terminal sends to its whole foreground process group. */
static bool is_terminal_signal(int signal) {
        return signal == SIGINT || signal == SIGQUIT || signal == SIGTSTP || signal == SIGCONT ||
               signal == SIGHUP || signal == SIGWINCH;
}

/* A reaper outside leaves no child to the host. */
nsrun_no_asan static _Noreturn void init_exit(const struct reaper *p, int status) {
        if (p->init.is_outside)
                outside_end_children(p);
        _exit(status);
}

/* Lets the command's leftovers live on when the supervisor waits no more: with the session's pid 1,
 * or with this process, if it is the pid 1 of their namespace. */
nsrun_no_asan static void init_leave(struct reaper *p) {
        if (!p->init.is_nested)
                init_exit(p, 0);
        close_fdp(&p->init.report_fd);
        close_fdp(&p->init.supervisor_fd);
        for (int fd = 0; fd <= 2; fd++)
                (void)sys_close(fd);
}

static void signal_others(const struct reaper *p, int signal) {
        if (p->init.is_plain)
                descendants_signal(p->command, signal);
        else if (p->init.is_outside)
                outside_signal(p, signal);
        else
                (void)sys_kill(-1, signal);
}

/* Kills all processes that the command has started, when their ends are of no interest any more. */
static void kill_others(const struct reaper *p) {
        int status;

        if (p->init.is_plain)
                descendants_end(p->command, &status);
        else if (p->init.is_outside)
                outside_end(p);
        else
                (void)sys_kill(-1, SIGKILL);
}

/* Reads the control channel, which may have several messages by now. */
static void take_control(struct reaper *p) {
        uint64_t messages = 0;
        bool is_released;

        if (sys_read(p->init.control_fd, &messages, sizeof(messages)) != (ssize_t)sizeof(messages))
                return;
        is_released = messages >= CONTROL_RELEASE;
        if (messages % CONTROL_RELEASE >= CONTROL_TERMINATE) {
                signal_others(p, SIGTERM);
                if (!p->init.is_outside)
                        signal_others(p, SIGCONT);
        }
        if (messages % CONTROL_TERMINATE > 0 || (is_released && p->init.kills_when_released)) {
                p->must_end = true;
                if (!p->init.is_plain)
                        kill_others(p);
        } else if (is_released && !p->init.has_command) {
                p->must_end = true;
        } else if (is_released) {
                init_leave(p);
        }
}

/* Passes on a signal that came from outside the pid namespace (ssi_pid 0) and from a program.  What the
 * sandbox itself sends to pid 1 is ignored; what a terminal sends to pid 1's process group nsrun has got
 * too, and passes on. */
static void pass_on(const struct reaper *p, const struct signalfd_siginfo *info) {
        static const struct launch_report stopped = {.kind = LAUNCH_STOPPED, .status = SIGSTOP};
        const struct init *init = &p->init;
        pid_t command = p->command;
        int signal = (int)info->ssi_signo;

        /* The pid is the kernel's word in kill(2)'s signals alone: rt_sigqueueinfo(2) carries any. */
        if ((!init->is_plain && !init->is_outside && (info->ssi_pid != 0 || info->ssi_code != SI_USER)) ||
            info->ssi_code == SI_KERNEL)
                return;
        if (command == 0)
                return;
        if (init->terminal == INIT_TERMINAL_CALLER || !is_terminal_signal(signal)) {
                (void)sys_kill(command, signal);
                /* SIGCONT follows, as in timeout(1): a stopped process would not get the SIGTERM. */
                if (signal == SIGTERM)
                        (void)sys_kill(command, SIGCONT);
                return;
        }
        /* A session of its own is an orphaned process group to the kernel, where
         * SIGTSTP's default is to do nothing; and no job control there keeps a
         * process in the background from reading the shell's input meanwhile. */
        if (init->terminal != INIT_TERMINAL_SESSION || (signal != SIGTSTP && signal != SIGCONT)) {
                (void)sys_kill(-command, signal);
                return;
        }
        if (signal == SIGCONT) {
                if (init->is_plain)
                        (void)sys_kill(-command, SIGCONT);
                else
                        signal_others(p, SIGCONT);
                return;
        }
        /* Reported here and not when the command is seen to have stopped: a command whose
         * vfork(2)ed child stopped before its exec doesn't stop before that child goes on. */
        stop_all(p);
        (void)report_send(init->report_fd, &stopped);
}

/* Reaps the children that have ended, and not for ever: new ones may come (CLONE_PARENT) as fast as they are
 * reaped.  1 when the command has ended, with wait(2)'s *status, or where `command` is 0 when nobody is
 * left; 0 when it is not so, and *ret_is_behind when more may be waiting; -errno. */
static int init_reap(const struct init *init, pid_t command, int *status, bool *ret_is_behind) {
        bool has_ended = false;

        *ret_is_behind = false;
        for (int i = 0; i < REAPED_AT_ONCE; i++) {
                siginfo_t info = {.si_pid = 0};
                int r;

                r = sys_waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG);
                if (r < 0 && r != -ECHILD)
                        return r;
                if (r < 0 && command == 0)
                        return 1;
                if (r < 0 || info.si_pid == 0)
                        return has_ended;
                if (info.si_pid != command)
                        continue;
                if (info.si_code == CLD_STOPPED) {
                        struct launch_report report = {.kind = LAUNCH_STOPPED, .status = info.si_status};

                        /* For INIT_TERMINAL_SESSION pass_on() has reported the stop already; a
                         * second report would be taken for that of the next ^Z. */
                        if (init->terminal != INIT_TERMINAL_SESSION)
                                (void)report_send(init->report_fd, &report);
                        continue;
                }
                *status = info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status & 0x7f;
                has_ended = true;
        }
        *ret_is_behind = true;
        return has_ended;
}

/* Each round takes one batch of signals and one of ended children, and looks at the supervisor and the
 * control channel: no flood of signals or children from inside holds up any of these. */
nsrun_no_asan static int wait_for_command(struct reaper *p, int *ret_status) {
        const struct init *init = &p->init;
        pid_t command = p->command;
        struct pollfd fds[] = {{.fd = p->signal_fd, .events = POLLIN},
                               {.events = POLLIN},
                               {.fd = p->init.control_fd, .events = POLLIN},
                               {.fd = -1, .events = POLLIN}};
        /* No signal comes for a child that has ended before signals were blocked: look once. */
        bool is_behind = true;

        /* A reaper outside of the session's pid namespace doesn't end with it. */
        if (init->is_outside && command == 0)
                fds[3].fd = init->session_fd;
        for (;;) {
                struct signalfd_siginfo infos[16];
                bool is_alone;
                ssize_t n;
                int r, wait;

                if (p->must_end && init->is_plain) {
                        *ret_status = SIGKILL;
                        descendants_end(command, ret_status);
                        return 0;
                }
                if (init->is_outside && command == 0 && (p->must_end || fds[3].revents))
                        return 0;
                if (!init->has_command && p->must_end && sys_kill(-1, 0) == -ESRCH)
                        return 0;
                fds[1].fd = init->outlives_supervisor ? -1 : init->supervisor_fd;
                /* A session's commands are children of their own reapers: its pid 1 gets no SIGCHLD
                 * when they end. */
                wait = !init->has_command && p->must_end ? 10 : -1;
                r = sys_poll(fds, ARRAY_SIZE(fds), is_behind ? 0 : wait);
                if (r < 0 && r != -EINTR)
                        return r;
                /* First: the supervisor may have released this process and ended right after that. */
                if (fds[1].revents || fds[2].revents & POLLIN)
                        take_control(p);
                is_alone = fds[1].revents && init->supervisor_fd >= 0;
                /* The supervisor is gone: everything here ends, pid 1 first. */
                if (is_alone && init->kills_on_failure)
                        kill_others(p);
                if (is_alone)
                        init_exit(p, 125);
                n = sys_read(p->signal_fd, infos, sizeof(infos));
                if (n < 0 && n != -EAGAIN)
                        return (int)n;
                for (ssize_t i = 0; i < n / (ssize_t)sizeof(infos[0]); i++)
                        if (infos[i].ssi_signo != SIGCHLD)
                                pass_on(p, &infos[i]);
                r = init_reap(init, command, ret_status, &is_behind);
                /* Who is outside has no children but the command: orphans are the session's pid 1's. */
                if (r < 0 || (r > 0 && init->has_command && (command > 0 || !init->is_outside)))
                        return r < 0 ? r : 0;
        }
}

/* Ends what the command left behind, so that no process is alive when the command's status is
 * reported.  Whether that is so for sure. */
static bool end_the_rest(const struct reaper *p) {
        enum init_leftovers leftovers = p->init.leftovers;
        siginfo_t info;
        int r;

        if (leftovers != INIT_LEFTOVERS_KILL && !(leftovers == INIT_LEFTOVERS_LEAVE && p->must_end))
                return false;
        if (p->init.is_plain || p->init.is_outside) {
                kill_others(p);
                return false;
        }
        r = sys_kill(-1, SIGKILL);
        /* Then pid 1's own end must do it: the kernel kills all of a namespace with it. */
        if (r < 0 && r != -ESRCH)
                return false;
        do
                r = sys_waitid(P_ALL, 0, &info, WEXITED);
        while (r >= 0);
        return r == -ECHILD && leftovers == INIT_LEFTOVERS_KILL;
}

/* Reaps and passes signals on until no process is left.  If that fails they all end with this
 * process, before their time, which the supervisor must learn. */
static int init_linger(struct reaper *p) {
        int status, r;

        r = wait_for_command(p, &status);
        if (r < 0)
                return error_set(&p->error, NSRUN_STAGE_SUPERVISE, r, NULL, "pid 1 can't wait", NULL);
        return 0;
}

/* Whether the command is nsrun itself: the second look, for a file that was swapped after exec.c's first. */
static bool has_become_us(const struct init *init, pid_t command) {
        _cleanup_close_ int pidfd = -EBADF;
        char path[64] = "/proc/", number[24];
        pid_t pid = command;

        if (init->is_outside) {
                strcat(number_format(path, (uint64_t)command), "/exe");
                return exec_is_own_program(init->proc_fd, path);
        }
        if (init->is_nested) {
                pidfd = sys_pidfd_open(command);
                pid = pidfd < 0 ? pidfd : number_of_pidfd(pidfd);
        }
        if (pid < 0)
                return pid != -ENOENT;
        strcat(path, number_format(number, (uint64_t)pid));
        strcat(path, "/exe");
        return exec_is_own_program(AT_FDCWD, path);
}

/* The command's seccomp listener is in this process's descriptor table, too: the vforked child that
 * installed the filter shared it.  The command runs by now; without a listener its denied calls fail all the
 * same. */
static void send_listener(struct reaper *p) {
        int r = p->has_sent_listener ? 0 : sys_send_fd(p->init.listener_socket, p->listener);

        close_fdp(&p->listener);
        close_fdp(&p->init.listener_socket);
        if (r < 0)
                report_note(p->init.report_fd,
                            "denied calls are denied and not told: the listener can't be handed over",
                            p->file);
}

/* Prepares pid 1's own signals and process group. */
static int prepare_to_reap(struct reaper *p) {
        struct sigaction standard = {.sa_handler = SIG_DFL};
        sigset_t all;
        int r = 0;

        /* If SIGCHLD stayed ignored, as the caller may have it, the kernel would reap every child,
         * and no status be seen. */
        (void)sigaction(SIGCHLD, &standard, NULL);
        (void)sigfillset(&all);
        p->signal_fd = sys_signalfd(&all);
        if (p->signal_fd < 0)
                return error_set(&p->error, NSRUN_STAGE_SUPERVISE, p->signal_fd, NULL,
                                 "no signalfd for pid 1", FILTER_HINT_FOR(p->signal_fd, "signalfd4"));
        /* Away from the caller's terminal and process group, whose signals reach nsrun
         * first: a SIGCONT that came here by itself would wake the command before it
         * has the terminal back. */
        switch (p->init.terminal) {
        case INIT_TERMINAL_SESSION:
                r = sys_setsid();
                break;
        case INIT_TERMINAL_GROUP:
                r = sys_setpgid(0, 0);
                break;
        case INIT_TERMINAL_CALLER:
                break;
        case INIT_TERMINAL_OWN:
                r = sys_setsid();
                if (r >= 0)
                        r = sys_ioctl(p->init.terminal_fd, TIOCSCTTY, NULL);
                break;
        }
        if (r < 0)
                return error_set(&p->error, NSRUN_STAGE_SUPERVISE, r, NULL,
                                 "pid 1 can't leave its process group",
                                 p->init.terminal == INIT_TERMINAL_GROUP ? FILTER_HINT_FOR(r, "setpgid")
                                                                         : FILTER_HINT_FOR(r, "setsid"));
        return 0;
}

/* Starts the command; returns its pid once it has been exec'ed. */
static pid_t start_command(struct reaper *p) {
        pid_t command = p->init.is_outside
                                ? outside_start(p)
                                : sys_vfork(exec_command, p, p->stack_top, p->init.listener_socket >= 0);

        if ((command == -ENOMEM || command == -EAGAIN) && p->init.is_outside)
                return outside_explain(command, NULL, false, &p->error);
        if (command < 0)
                return error_set(&p->error, NSRUN_STAGE_SUPERVISE, command, p->file,
                                 "no process for the command", NULL);
        if (p->exec_error < 0) {
                siginfo_t info;

                /* Without a pid namespace the child would be left to the host's pid 1 to reap. */
                (void)sys_waitid(P_PID, (id_t)command, &info, WEXITED);
                return exec_fail(p);
        }
        if (p->listener >= 0)
                send_listener(p);
        return command;
}

static int init_tell_started(struct reaper *p) {
        struct launch_report report = {
                .kind = LAUNCH_STARTED, .status = p->command, .namespaces = p->init.namespaces};
        int r = p->init.wants_started ? report_send(p->init.report_fd, &report) : 0;

        /* It may have been interrupted since the command began. */
        if (r < 0 && !p->init.outlives_supervisor)
                return error_set(&p->error, NSRUN_STAGE_SUPERVISE, r, NULL, "the supervisor is gone", NULL);
        return 0;
}

/* Ends all that the command has started: with pid 1, or here. */
static int init_give_up(struct reaper *p, int r) {
        if (p->init.kills_on_failure)
                kill_others(p);
        if (p->init.is_outside)
                outside_end_children(p);
        return r;
}

/* Closes the passed descriptors: whoever reads the other end of a pipe waits until the last process
 * has closed it. */
static void close_passed(const struct reaper *p) {
        for (int fd = 0; fd <= 2 && p->init.has_own_stdio; fd++)
                (void)sys_close(fd);
        for (size_t i = 0; i < p->n_passed; i++)
                (void)sys_close(p->passed[i]);
}

/* A caller's locks and pipes are the command's: they end when it closes them, as under bubblewrap.  Where no
 * descriptor can be closed they stay open until the end. */
static void shed_inherited(struct reaper *p) {
        const struct init *init = &p->init;
        const int own[] = {init->report_fd, init->supervisor_fd, init->control_fd, init->listener_socket,
                           init->lock_fd,   init->layers_fd,     init->home_fd,    p->signal_fd};
        struct nsrun_error ignored = {0};

        _Static_assert(ARRAY_SIZE(own) <= INIT_OWN, "p->held has room for them");
        memcpy(p->held + p->n_held, own, sizeof(own));
        (void)harden_descriptors(p->held, p->n_held + ARRAY_SIZE(own), &ignored);
}

/* Starts the command and reaps until it and all others are gone.  Returns the command's wait(2)
 * status, or a negative errno with p->error. */
static int init_run(struct reaper *p) {
        pid_t command = 0;
        int r, status = 0;

        r = prepare_to_reap(p);
        if (r >= 0 && p->init.has_command)
                r = command = start_command(p);
        if (r < 0)
                return r;
        p->command = command;
        close_passed(p);
        if (p->init.sheds_inherited)
                shed_inherited(p);
        if (command > 0 && p->init.refuses_magic_links && has_become_us(&p->init, command))
                return init_give_up(p, error_set(&p->error, NSRUN_STAGE_EXEC, -ELOOP, p->file,
                                                 "the command leads back to nsrun through /proc",
                                                 "name a program"));
        r = init_tell_started(p);
        if (r < 0)
                return init_give_up(p, r);
        r = wait_for_command(p, &status);
        p->command = 0;
        p->is_alone = end_the_rest(p);
        if (r < 0)
                return init_give_up(
                        p, error_set(&p->error, NSRUN_STAGE_SUPERVISE, r, NULL, "pid 1 can't wait", NULL));
        return status;
}

bool init_has_others(void) {
        siginfo_t info;
        int r = 0;

        do {
                info.si_pid = 0;
                r = sys_waitid(P_ALL, 0, &info, WEXITED | WNOHANG);
        } while (r >= 0 && info.si_pid > 0);
        return r >= 0;
}

/* Whoever wrote to an overlay whose layers are in memory was told that "the device" has no room left: tells
 * which one that is. */
static void tell_if_full(const struct init *init) {
        struct statfs st;

        if (init->layers_fd < 0 || sys_fstatfs(init->layers_fd, &st) < 0)
                return;
        if (st.f_bavail < st.f_blocks / 64)
                report_note(init->report_fd,
                            "the memory for overlays is full, and writes to them may have failed: use "
                            "--overlay-backing=disk",
                            NULL);
}

nsrun_no_asan _Noreturn void init_finish(struct reaper *p) {
        struct launch_report report = {.kind = LAUNCH_EXITED};
        siginfo_t info;

        report.status = init_run(p);
        if (report.status < 0)
                report_failure(p->init.report_fd, -1, &p->error);
        tell_if_full(&p->init);
        dropped_report(&p->init);
        report.operation = p->init.leftovers == INIT_LEFTOVERS_REAP && init_has_others();
        report.is_alone = p->is_alone;
        (void)report_send(p->init.report_fd, &report);
        switch (p->init.leftovers) {
        case INIT_LEFTOVERS_KILL:
                break;
        case INIT_LEFTOVERS_LEAVE:
                init_leave(p);
                (void)init_linger(p);
                break;
        case INIT_LEFTOVERS_LINGER:
                if (init_linger(p) < 0)
                        report_failure(p->init.report_fd, -1, &p->error);
                break;
        case INIT_LEFTOVERS_REAP:
                while (sys_waitid(P_ALL, 0, &info, WEXITED) >= 0)
                        ;
                break;
        }
        init_exit(p, 0);
}
