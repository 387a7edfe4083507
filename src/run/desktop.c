/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The SSH agent's filter: its start, with all that it is given, and its end. */
#include "desktop.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/null.h"
#include "base/spawn.h"
#include "base/str.h"
#include "base/sys.h"
#include "desktop/ssh_agent.h"
#include "programs.h"

_Static_assert(SSH_FD_SANDBOX == SPAWN_FIRST_FD, "the first that is given");
#define FIRST_FREE (SSH_FD_AGENT + 1) /* above the numbers that the filter's descriptors get */
#define N_GIVEN    (SSH_FD_AGENT - SSH_FD_SANDBOX + 1)

static int desktop_fail(int r, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_POLICY, r, NULL,
                         "the filter before the SSH agent can't be prepared", NULL);
}

/* A descriptor that is above those that the filter gets; takes over `fd`, or the error that stands for it.
 */
static int desktop_lift(int fd) {
        int lifted = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE);
        int r = lifted >= 0 || fd < 0 ? lifted : -errno;

        if (fd >= 0)
                (void)close(fd);
        return r;
}

static int desktop_pair(int *ret_own, int *ret_given) {
        int ends[2], r = sys_socketpair(ends);

        if (r < 0)
                return r;
        *ret_own = ends[0];
        *ret_given = desktop_lift(ends[1]);
        r = fd_lift(ret_own);
        return *ret_given < 0 ? *ret_given : r;
}

static int give_keys(char *const *keys, int *ret) {
        _cleanup_close_ int fd = sys_memfd("nsrun-keys");
        int r = fd < 0 ? fd : 0;

        STRV_FOREACH (key, keys) {
                if (r >= 0)
                        r = write_full(fd, *key, strlen(*key));
                if (r >= 0)
                        r = write_full(fd, "\n", 1);
        }
        if (r >= 0 && lseek(fd, 0, SEEK_SET) < 0)
                r = -errno;
        if (r < 0)
                return r;
        *ret = desktop_lift(TAKE_FD(fd));
        return *ret;
}

/* A connection with the agent.  The path is canonical: a symlink on the way was put there since. */
static int connect_agent(const char *path, int *ret) {
        _cleanup_close_ int place = sys_openat2(AT_FDCWD, path, O_PATH, 0, RESOLVE_NO_SYMLINKS),
                            fd = sys_socket(AF_UNIX, SOCK_STREAM, 0);
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        int r = place < 0 ? place : fd;

        if (place == -ENOSYS || place == -EPERM)
                r = place = sys_open(AT_FDCWD, path, O_PATH | O_NOFOLLOW, 0);
        if (r < 0)
                return r;
        (void)snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d", place);
        if (connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0)
                return -errno;
        *ret = desktop_lift(TAKE_FD(fd));
        return *ret;
}

static int start_filter(struct desktop *d, const int fds[N_GIVEN], struct nsrun_error *err) {
        char *const argv[] = {(char *)(uintptr_t) "nsrun-net", (char *)(uintptr_t)SSH_AGENT_ROLE, NULL};
        char *env[] = {NULL};
        _cleanup_close_ int null_fd = null_open(O_RDWR, err);
        pid_t pid = 0;
        int r;

        if (null_fd < 0)
                return null_fd;
        r = spawn_apart(&(struct spawn){.program = program_net(),
                                        .argv = argv,
                                        .env = env,
                                        .folder = "/",
                                        .null_fd = null_fd,
                                        .fds = fds,
                                        .n_fds = N_GIVEN},
                        &pid);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_POLICY, r, program_net(), "nsrun-net can't be executed",
                                 r == -EPERM || r == -ENOSYS ? NULL : "install nsrun completely");
        r = d->pidfd = sys_pidfd_open(pid);
        return r < 0 ? desktop_fail(r, err) : 0;
}

/* What the filter says of itself, and of the agent. */
static int await_filter(const struct nsrun_plan *plan, const struct desktop *d, struct nsrun_error *err) {
        int32_t answer = 0;
        ssize_t n;

        do
                n = sys_read(d->socket, &answer, sizeof(answer));
        while (n == -EINTR);
        if (n != (ssize_t)sizeof(answer))
                return desktop_fail(n < 0 ? (int)n : -EPIPE, err);
        if (answer == 0)
                return 0;
        if (answer > 0)
                return error_set(err, NSRUN_STAGE_POLICY, UNSAID(-ENOENT), plan->ssh_agent,
                                 "--ssh-agent: the agent hasn't all the keys that are named",
                                 "'ssh-add -l' lists them, with their SHA256: and their comments");
        return error_set(err, NSRUN_STAGE_POLICY, UNSAID(answer), plan->ssh_agent,
                         "--ssh-agent: what listens there doesn't answer as an SSH agent",
                         "look at SSH_AUTH_SOCK, and at 'ssh-add -l'");
}

int desktop_begin(const struct nsrun_plan *plan, struct desktop *d, struct launch_params *params,
                  struct nsrun_error *err) {
        int fds[N_GIVEN] = {-EBADF, -EBADF, -EBADF, -EBADF};
        int r;

        params->desktop_socket = -EBADF;
        if (!plan->ssh_agent || plan->plain || plan->raw || plan->join)
                return 0;
        r = connect_agent(plan->ssh_agent, &fds[SSH_FD_AGENT - SSH_FD_SANDBOX]);
        if (r < 0)
                r = error_set(err, NSRUN_STAGE_POLICY, r, plan->ssh_agent,
                              "--ssh-agent: the agent can't be connected to", NULL);
        else {
                r = desktop_pair(&d->socket, &fds[0]);
                if (r >= 0)
                        r = give_keys(plan->ssh_keys, &fds[SSH_FD_KEYS - SSH_FD_SANDBOX]);
                if (r >= 0)
                        r = desktop_pair(&d->life_fd, &fds[SSH_FD_LIFE - SSH_FD_SANDBOX]);
                r = r < 0 ? desktop_fail(r, err) : start_filter(d, fds, err);
        }
        for (size_t i = 0; i < N_GIVEN; i++)
                close_fdp(&fds[i]);
        if (r >= 0)
                r = await_filter(plan, d, err);
        params->desktop_socket = d->socket;
        return r;
}

void desktop_launched(struct desktop *d) {
        close_fdp(&d->socket);
}

void desktop_end(struct desktop *d) {
        siginfo_t info;

        desktop_launched(d);
        close_fdp(&d->life_fd);
        if (d->pidfd >= 0) {
                (void)sys_pidfd_send_signal(d->pidfd, SIGKILL);
                (void)sys_waitid(P_PIDFD, (id_t)d->pidfd, &info, WEXITED);
        }
        close_fdp(&d->pidfd);
        *d = DESKTOP_INIT;
}
