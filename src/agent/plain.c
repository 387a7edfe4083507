/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A captured command with no sandbox.  SIGTERM goes to its process group.  At its end this process,
 * a subreaper, kills all its children until there is none: nothing that the command started escapes
 * that. */
#include "plain.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/sys.h"

/* Kills the children that the kernel lists first.  They are this process's own and not collected
 * yet, so that no pid can have become another process's.  Returns how many will end: one that has
 * become root won't. */
static size_t kill_children(void) {
        _cleanup_close_ int fd = -EBADF;
        char path[64], text[4096];
        size_t found = 0;
        ssize_t n;

        (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
        fd = sys_open(AT_FDCWD, path, O_RDONLY, 0);
        n = fd < 0 ? fd : sys_read(fd, text, sizeof(text) - 1);
        text[n > 0 ? n : 0] = '\0';
        /* Each pid in the list has a space behind it; one that the buffer cuts off has none. */
        for (char *at = text, *space; (space = strchr(at, ' ')); at = space + 1) {
                found += sys_kill((pid_t)strtol(at, NULL, 10), SIGKILL) >= 0;
        }
        return found;
}

/* Kills all that the command started.  A process whose parent is killed becomes a child of this
 * subreaper, so that in the end none is left. */
static void kill_all(struct plain *p) {
        siginfo_t info;
        bool is_ours;

        if (p->pid <= 0)
                return;
        /* A process that has become root's, as sudo does, can't be killed. */
        is_ours = sys_kill(p->pid, SIGKILL) != -EPERM;
        (void)sys_kill(-p->pid, SIGKILL);
        for (size_t n; (n = kill_children()) > 0;)
                while (n-- > 0)
                        (void)sys_waitid(P_ALL, 0, &info, WEXITED);
        /* For a kernel that lists no children (without CONFIG_PROC_CHILDREN): at least the command
         * itself. */
        (void)sys_waitid(P_PID, (id_t)p->pid, &info, is_ours ? WEXITED : WEXITED | WNOHANG);
        p->pid = 0;
}

static int plain_take(struct command_source *s, nsrun_unused size_t which, nsrun_unused int events,
                      struct nsrun_error *err) {
        struct plain *p = (struct plain *)(void *)s;
        siginfo_t info = {.si_pid = 0};
        int r = sys_waitid(P_PIDFD, (id_t)p->pidfd, &info, WEXITED | WNOWAIT);

        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "the command's end is lost", NULL);
        s->fds[0] = -1;
        s->has_ended = true;
        s->status = info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status & 0x7f;
        return 0;
}

static void signal_group(struct command_source *s, int signal) {
        struct plain *p = (struct plain *)(void *)s;

        if (signal != SIGKILL) {
                (void)sys_kill(-p->pid, signal);
                (void)sys_kill(-p->pid, SIGCONT);
                return;
        }
        /* The status is read before kill_all() collects the zombie; for a process that lives on it
         * is SIGKILL. */
        s->status = s->has_ended ? s->status : SIGKILL;
        if (sys_kill(p->pid, SIGKILL) != -EPERM && !s->has_ended)
                (void)plain_take(s, 0, POLLIN, NULL);
        kill_all(p);
        s->is_gone = true;
}

static void plain_end(struct command_source *s) {
        struct plain *p = (struct plain *)(void *)s;

        kill_all(p);
        close_fdp(&p->pidfd);
        close_fdp(&s->output_fd);
}

/* Executes the command in the fork's child.  If that fails it writes the errno to failure_fd, which
 * an exec closes. */
static _Noreturn void plain_become(const struct plain_params *params, const int stdio[3], int failure_fd) {
        int r = sys_prctl(PR_SET_PDEATHSIG, SIGKILL, 0);

        if (r >= 0)
                r = sys_setsid();

        for (int fd = 0; fd <= 2 && r >= 0; fd++)
                r = sys_dup_to(stdio[fd], fd);
        for (size_t i = 0; i < params->n_pass_fds && r >= 0; i++)
                r = fcntl(params->pass_fds[i], F_SETFD, 0) < 0 ? -errno : 0;
        if (r >= 0)
                r = sys_chdir(params->folder);
        if (r >= 0)
                r = sys_sigmask(SIG_SETMASK, params->mask, NULL);
        if (r >= 0) {
                (void)execve(params->program, params->argv, params->env);
                r = -errno;
        }
        (void)sys_write(failure_fd, &r, sizeof(r));
        _exit(125);
}

static int agent_plain_start(const struct plain_params *params, struct plain *p, const int stdio[3],
                             struct nsrun_error *err) {
        _cleanup_close_ int failure = -EBADF, told = -EBADF;
        int ends[2], r;

        r = sys_pipe(ends);
        if (r >= 0) {
                failure = ends[0];
                told = ends[1];
                p->pid = fork();
                r = p->pid < 0 ? -errno : 0;
        }
        if (r >= 0 && p->pid == 0)
                plain_become(params, stdio, told);
        close_fdp(&told);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "no process for the command", NULL);
        p->pidfd = sys_pidfd_open(p->pid);
        if (sys_read(failure, &r, sizeof(r)) != (ssize_t)sizeof(r))
                r = p->pidfd < 0 ? p->pidfd : 0;
        if (r < 0) {
                kill_all(p);
                close_fdp(&p->pidfd);
                return error_set(err, NSRUN_STAGE_EXEC, r, params->program, "the command can't be executed",
                                 NULL);
        }
        return 0;
}

int plain_start(const struct plain_params *params, struct plain *ret, struct nsrun_error *err) {
        struct plain p = {
                .source = {.fds = {-1, -1},
                           .take = plain_take,
                           .signal = signal_group,
                           .end = plain_end,
                           .output_fd = -EBADF},
                .pidfd = -EBADF,
        };
        int stdio[3] = {-EBADF, -EBADF, -EBADF}, r;

        r = sys_prctl(PR_SET_CHILD_SUBREAPER, 1, 0);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "nsrun can't become a subreaper",
                                 NULL);
        r = command_open_stdio(stdio, &p.source.output_fd, err);
        if (r < 0)
                return r;
        r = agent_plain_start(params, &p, stdio, err);
        command_close_stdio(stdio);
        if (r < 0) {
                close_fdp(&p.source.output_fd);
                return r;
        }
        p.source.fds[0] = p.pidfd;
        *ret = p;
        return 0;
}
