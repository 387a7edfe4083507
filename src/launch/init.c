/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pid 1: starts the command, passes signals on, reaps everything, and leaves
 * nothing alive when the command has ended.  Has no capabilities, no memory worth
 * reading, and no way to be read. */
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "internal.h"

/* Children, between two looks at what else there is to do. */
#define REAPED_AT_ONCE 64

/* What a terminal would send to its whole foreground process group. */
static bool is_terminal_signal(int signal) {
        return signal == SIGINT || signal == SIGQUIT || signal == SIGTSTP || signal == SIGCONT ||
               signal == SIGHUP || signal == SIGWINCH;
}

/* The caller waits no more, and what the command left behind lives on: with the session's
 * pid 1; or with this process, where that is the pid 1 that they have. */
nsrun_no_asan void init_leave(struct launch_child *c) {
        if (!c->plan->join->is_nested)
                _exit(0);
        close_fdp(&c->report_fd);
        close_fdp(&c->supervisor_fd);
        for (int fd = 0; fd <= 2; fd++)
                (void)sys_close(fd);
}

/* What comes over order_fd; several orders may have been given by now. */
static void take_orders(struct launch_child *c) {
        uint64_t orders = 0;
        bool is_released;

        if (sys_read(c->order_fd, &orders, sizeof(orders)) != (ssize_t)sizeof(orders))
                return;
        is_released = orders >= ORDER_RELEASE;
        if (orders % ORDER_RELEASE >= ORDER_TERMINATE) {
                (void)sys_kill(-1, SIGTERM);
                (void)sys_kill(-1, SIGCONT);
        }
        if (orders % ORDER_TERMINATE > 0 ||
            (is_released && c->plan->join && c->plan->join->kills_leftovers)) {
                c->was_told_to_end = true;
                (void)sys_kill(-1, SIGKILL);
        } else if (is_released && c->plan->is_session) {
                c->was_told_to_end = true;
        } else if (is_released) {
                init_leave(c);
        }
}

/* Passes on what came from outside the pid namespace (ssi_pid 0) and from a
 * program.  What the sandbox itself sends to pid 1 is ignored; what a terminal
 * sends to our process group nsrun has got too, and passes on.  `command` is 0 when it
 * has ended. */
static void pass_on(const struct launch_child *c, pid_t command, const struct signalfd_siginfo *info) {
        static const struct launch_report stopped = {.kind = LAUNCH_STOPPED, .status = SIGSTOP};
        int signal = (int)info->ssi_signo;

        if (info->ssi_pid != 0 || info->ssi_code == SI_KERNEL)
                return;
        if (command == 0)
                return;
        if (c->plan->raw || !is_terminal_signal(signal)) {
                (void)sys_kill(command, signal);
                /* As timeout(1): else one that is stopped never hears of it. */
                if (signal == SIGTERM)
                        (void)sys_kill(command, SIGCONT);
                return;
        }
        /* A session of its own is an orphaned process group to the kernel, where
         * SIGTSTP's default is to do nothing; and no job control there keeps a
         * process in the background from reading the shell's input meanwhile. */
        if (!c->plan->new_session || (signal != SIGTSTP && signal != SIGCONT)) {
                (void)sys_kill(-command, signal);
                return;
        }
        if (signal == SIGCONT) {
                (void)sys_kill(-1, SIGCONT);
                return;
        }
        /* Told here and not when the command's stop is seen: one whose vfork(2)ed child has stopped
         * before its exec stops when that goes on. */
        stop_all(c, command);
        (void)report_send(c->report_fd, &stopped);
}

/* Reaps those who can be, and not for ever: children may come (CLONE_PARENT) as fast as they are reaped.
 * 1 when the command has ended, with wait(2)'s *status, or where `command` is 0 when nobody is left; 0 when
 * it is not so, and *ret_is_behind when more may be waiting; -errno. */
static int reap(const struct launch_child *c, pid_t command, int *status, bool *ret_is_behind) {
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

                        /* Else pass_on() has told of it, and what comes late would be taken for the
                         * next ^Z's. */
                        if (!c->plan->new_session || c->plan->raw)
                                (void)report_send(c->report_fd, &report);
                        continue;
                }
                *status = info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status & 0x7f;
                has_ended = true;
        }
        *ret_is_behind = true;
        return has_ended;
}

/* One batch of signals a round and one of who has ended, and in each a look at the supervisor and at
 * its orders: no flood from inside holds up any of them. */
nsrun_no_asan static int wait_for_command(struct launch_child *c, pid_t command, int *ret_status) {
        bool outlives = c->plan->raw && !c->params->dies_with_thread;
        struct pollfd fds[] = {{.fd = c->signal_fd, .events = POLLIN},
                               {.events = POLLIN},
                               {.fd = c->order_fd, .events = POLLIN}};
        /* Of those who are gone already no signal will tell. */
        bool is_behind = true;

        for (;;) {
                struct signalfd_siginfo infos[16];
                ssize_t n;
                int r, wait;

                fds[1].fd = outlives ? -1 : c->supervisor_fd;
                /* Commands of a session are nobody's here, whose end would be told. */
                wait = c->plan->is_session && c->was_told_to_end ? 10 : -1;
                r = sys_poll(fds, ARRAY_SIZE(fds), is_behind ? 0 : wait);
                if (r < 0 && r != -EINTR)
                        return r;
                if (c->plan->is_session && c->was_told_to_end && sys_kill(-1, 0) == -ESRCH)
                        return 0;
                /* The supervisor is gone: so is everything here, pid 1 first. */
                if (fds[1].revents && c->plan->join)
                        (void)sys_kill(-1, SIGKILL);
                if (fds[1].revents)
                        _exit(125);
                if (fds[2].revents & POLLIN)
                        take_orders(c);
                n = sys_read(c->signal_fd, infos, sizeof(infos));
                if (n < 0 && n != -EAGAIN)
                        return (int)n;
                for (ssize_t i = 0; i < n / (ssize_t)sizeof(infos[0]); i++)
                        if (infos[i].ssi_signo != SIGCHLD)
                                pass_on(c, command, &infos[i]);
                r = reap(c, command, ret_status, &is_behind);
                if (r < 0 || (r > 0 && !c->plan->is_session))
                        return r < 0 ? r : 0;
        }
}

/* Ends what the command left behind, so that nothing is alive when its status is told. */
static void end_the_rest(const struct launch_child *c) {
        siginfo_t info;
        int r;

        /* What a raw plan's command leaves behind lives on. */
        if (c->plan->raw || c->params->lingers)
                return;
        /* In a session it lives on, unless that is not wanted. */
        if (c->plan->join && !c->plan->join->kills_leftovers && !c->was_told_to_end)
                return;
        r = sys_kill(-1, SIGKILL);

        /* Then pid 1's own end must do it: the kernel kills all of a namespace with it. */
        if (r < 0 && r != -ESRCH)
                return;
        while (sys_waitid(P_ALL, 0, &info, WEXITED) >= 0)
                ;
}

int init_linger(struct launch_child *c) {
        int status, r;

        r = wait_for_command(c, 0, &status);
        if (r < 0)
                return error_set(&c->error, NSRUN_STAGE_SUPERVISE, r, NULL, "pid 1 can't wait", NULL);
        return 0;
}

int init_fail_exec(struct launch_child *c) {
        struct nsrun_error *err = &c->error;
        const char *file = c->plan->argv[0];
        int r = c->exec_error;

        if (r == -ENOENT || r == -ENOTDIR)
                return error_set(
                        err, NSRUN_STAGE_EXEC, r, file, "command not found in the sandbox",
                        strchr(file, '/')
                                ? "it, or the interpreter it names, is not exposed: add --ro"
                                : "it is in no folder of the sandbox's PATH: add --ro, or install it");
        if (r == -EACCES)
                return error_set(err, NSRUN_STAGE_EXEC, r, file, "command not executable",
                                 "it needs the x permission, and must not be a folder");
        return error_set(err, NSRUN_STAGE_EXEC, r, file, "command can't be executed", NULL);
}

bool init_is_own_program(const char *path) {
        struct sys_file own, its;

        return sys_statx("/proc/self/exe", &own) >= 0 && sys_statx(path, &its) >= 0 &&
               own.mount == its.mount && own.inode == its.inode && own.device_major == its.device_major &&
               own.device_minor == its.device_minor;
}

/* The second look, for a file that was swapped after exec.c's first. */
static bool has_become_us(const struct launch_child *c, pid_t command) {
        _cleanup_close_ int pidfd = -EBADF;
        char path[64] = "/proc/", number[24];
        pid_t pid = command;

        /* /proc is the session's, and calls the processes of a pid namespace below otherwise. */
        if (c->plan->join && c->plan->join->is_nested) {
                pidfd = sys_pidfd_open(command);
                pid = pidfd < 0 ? pidfd : number_of_pidfd(pidfd);
        }
        if (pid < 0)
                return pid != -ENOENT;
        strcat(path, number_format(number, (uint64_t)pid));
        strcat(path, "/exe");
        return init_is_own_program(path);
}

/* The command's listener is in our table too, from the time when they were one.  The command
 * runs by now: where nobody can hear of them its denied calls fail all the same. */
static void send_listener(struct launch_child *c) {
        int r = sys_send_fd(c->listener_socket, c->listener);

        close_fdp(&c->listener);
        close_fdp(&c->listener_socket);
        if (r < 0)
                child_note(c, "denied calls are denied and not told: the listener can't be handed over",
                           c->plan->argv[0]);
}

/* pid 1's own signals and process group. */
static int prepare_to_reap(struct launch_child *c) {
        struct sigaction standard = {.sa_handler = SIG_DFL};
        sigset_t all;
        int r;

        /* Ignored by a careless caller, it would make every child vanish unseen. */
        (void)sigaction(SIGCHLD, &standard, NULL);
        (void)sigfillset(&all);
        c->signal_fd = sys_signalfd(&all);
        if (c->signal_fd < 0)
                return error_set(&c->error, NSRUN_STAGE_SUPERVISE, c->signal_fd, NULL,
                                 "no signalfd for pid 1", NULL);
        /* Away from the caller's terminal and process group, whose signals reach nsrun
         * first: a SIGCONT that came here by itself would wake the command before it
         * has the terminal back. */
        if (c->plan->raw)
                r = 0;
        else
                r = c->plan->new_session ? sys_setsid() : sys_setpgid(0, 0);
        if (r < 0)
                return error_set(&c->error, NSRUN_STAGE_SUPERVISE, r, NULL,
                                 "pid 1 can't leave its process group", NULL);
        return 0;
}

/* Its pid, when it has been exec'ed. */
static pid_t start_command(struct launch_child *c) {
        pid_t command = sys_vfork(exec_command, c, c->stack_top, c->listener_socket >= 0);

        if (command < 0)
                return error_set(&c->error, NSRUN_STAGE_SUPERVISE, command, c->plan->argv[0],
                                 "no process for the command", NULL);
        if (c->exec_error < 0) {
                siginfo_t info;

                /* Without a pid namespace it would be somebody else's to reap. */
                (void)sys_waitid(P_PID, (id_t)command, &info, WEXITED);
                return init_fail_exec(c);
        }
        if (c->listener >= 0)
                send_listener(c);
        return command;
}

static int tell_started(struct launch_child *c) {
        struct launch_report report = {.kind = LAUNCH_STARTED, .namespaces = c->namespaces};
        int r = c->params->wants_started ? report_send(c->report_fd, &report) : 0;

        if (r < 0)
                return error_set(&c->error, NSRUN_STAGE_SUPERVISE, r, NULL, "the supervisor is gone", NULL);
        return 0;
}

/* pid 1 ends with this, and all others with it; a session's other commands are none of ours. */
static int give_up(struct launch_child *c, int r) {
        if (c->plan->join)
                (void)sys_kill(-1, SIGKILL);
        return r;
}

int init_run(struct launch_child *c) {
        pid_t command = 0;
        int r, status = 0;

        r = prepare_to_reap(c);
        if (r >= 0 && !c->plan->is_session)
                r = command = start_command(c);
        if (r < 0)
                return r;
        /* Whoever reads the other end of a pipe waits for the last holder. */
        for (int fd = 0; fd <= 2 && c->params->stdio; fd++)
                (void)sys_close(fd);
        /* A raw plan may run us again, through /proc/self/exe too. */
        if (command > 0 && !c->plan->raw && has_become_us(c, command))
                return give_up(c,
                               error_set(&c->error, NSRUN_STAGE_EXEC, -ELOOP, c->plan->argv[0],
                                         "the command leads back to nsrun through /proc", "name a program"));
        r = tell_started(c);
        if (r < 0)
                return give_up(c, r);
        r = wait_for_command(c, command, &status);
        end_the_rest(c);
        if (r < 0)
                return give_up(
                        c, error_set(&c->error, NSRUN_STAGE_SUPERVISE, r, NULL, "pid 1 can't wait", NULL));
        return status;
}
