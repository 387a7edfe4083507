/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The SSH agent's filter and xdg-dbus-proxy: their start, with all that they are given, and their end; and
 * the compositor's security context, from the connection to the end of its life. */
#include "desktop.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/programs.h"
#include "base/str.h"
#include "base/sys.h"
#include "desktop/browser.h"
#include "desktop/connect.h"
#include "desktop/dbus_proxy.h"
#include "desktop/ssh_agent.h"
#include "desktop/wayland.h"
#include "network.h"

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

static int begin_filter(const struct nsrun_plan *plan, struct desktop *d, struct nsrun_error *err) {
        int fds[N_GIVEN] = {-EBADF, -EBADF, -EBADF, -EBADF};
        int r;

        r = fds[SSH_FD_AGENT - SSH_FD_SANDBOX] = desktop_lift(desktop_connect(plan->ssh_agent));
        if (r < 0)
                r = error_set(err, NSRUN_STAGE_POLICY, r, plan->ssh_agent,
                              "--ssh-agent: the agent can't be connected to", NULL);
        else {
                r = desktop_pair(&d->socket, &fds[0]);
                if (r >= 0)
                        r = give_keys(plan->ssh_keys, &fds[SSH_FD_KEYS - SSH_FD_SANDBOX]);
                if (r >= 0)
                        r = desktop_pair(&d->life_fd, &fds[SSH_FD_LIFE - SSH_FD_SANDBOX]);
                r = r < 0 ? desktop_fail(r, err)
                          : network_spawn(SSH_AGENT_ROLE, NULL, fds, N_GIVEN, &d->pidfd, err);
        }
        for (size_t i = 0; i < N_GIVEN; i++)
                close_fdp(&fds[i]);
        return r < 0 ? r : await_filter(plan, d, err);
}

static int display_fail(const struct nsrun_plan *plan, int r, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_POLICY, r, plan->wayland,
                         "--display: the Wayland compositor makes no security context", NULL);
}

static int begin_display(const struct nsrun_plan *plan, struct desktop *d, struct nsrun_error *err) {
        int ends[2], r;

        r = d->wayland = desktop_connect(plan->wayland);
        if (r >= 0)
                r = fd_lift(&d->wayland);
        if (r >= 0)
                r = wayland_find_contexts(d->wayland, &d->contexts);
        /* It had some when the plan was made. */
        if (r == 0)
                r = -EPROTO;
        if (r >= 0)
                r = sys_socketpair(ends);
        if (r < 0)
                return display_fail(plan, r, err);
        d->display_socket = ends[0];
        d->display_given = ends[1];
        r = fd_lift(&d->display_socket);
        if (r >= 0)
                r = fd_lift(&d->display_given);
        return r < 0 ? display_fail(plan, r, err) : 0;
}

static int begin_browser(struct desktop *d, struct nsrun_error *err) {
        int fds[] = {-EBADF, -EBADF}, r;
        int32_t answer = 0;
        ssize_t n;

        r = desktop_pair(&d->browser, &fds[0]);
        if (r >= 0)
                r = desktop_pair(&d->links_fd, &fds[BROWSER_FD_LIFE - BROWSER_FD_SANDBOX]);
        if (r >= 0)
                r = network_spawn(BROWSER_ROLE, NULL, fds, ARRAY_SIZE(fds), &d->browser_pidfd, err);
        for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
                close_fdp(&fds[i]);
        if (r >= 0) {
                do
                        n = sys_read(d->browser, &answer, sizeof(answer));
                while (n == -EINTR);
                r = n == (ssize_t)sizeof(answer) ? answer : n < 0 ? (int)n : -EPIPE;
        }
        return r < 0 ? error_set(err, NSRUN_STAGE_POLICY, r, NULL, "the filter of links can't be prepared",
                                 NULL)
                     : 0;
}

static int begin_bus(const struct nsrun_plan *plan, struct desktop *d, struct nsrun_error *err) {
        const char *bus = plan->dbus[1];
        int fds[] = {-EBADF, -EBADF}, r = 0;

        if (*bus == '/') {
                r = fds[DBUS_FD_BUS - DBUS_FD_SANDBOX] = desktop_lift(desktop_place(bus));
                if (r < 0)
                        return error_set(err, NSRUN_STAGE_POLICY, r, bus,
                                         "--dbus: the bus's socket can't be opened", NULL);
        }
        r = desktop_pair(&d->bus, &fds[0]);
        r = r < 0 ? error_set(err, NSRUN_STAGE_POLICY, r, NULL, "xdg-dbus-proxy can't be prepared", NULL)
                  : network_spawn(DBUS_PROXY_ROLE, plan->dbus, fds, ARRAY_SIZE(fds), &d->bus_pidfd, err);
        for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
                close_fdp(&fds[i]);
        return r;
}

int desktop_begin(const struct nsrun_plan *plan, struct desktop *d, struct launch_params *params,
                  struct nsrun_error *err) {
        bool is_own = !plan->plain && !plan->raw && !plan->join;
        int r = is_own && plan->ssh_agent ? begin_filter(plan, d, err) : 0;

        if (r >= 0 && is_own && plan->wayland)
                r = begin_display(plan, d, err);
        if (r >= 0 && is_own && plan->dbus)
                r = begin_bus(plan, d, err);
        if (r >= 0 && is_own && plan->browser)
                r = begin_browser(d, err);
        params->browser_socket = d->browser;
        params->dbus_socket = d->bus;
        params->desktop_socket = d->socket;
        params->display_socket = d->display_given;
        return r;
}

/* Hands the socket inside to the compositor, which accepts clients there until `life` is closed. */
static int make_context(struct desktop *d) {
        _cleanup_close_ int listener = sys_receive_fd(d->display_socket), other = -EBADF;
        int ends[2], r = listener < 0 ? listener : sys_socketpair(ends);

        if (r < 0)
                return r;
        d->display_life = ends[0];
        other = ends[1];
        r = fd_lift(&d->display_life);
        return r < 0 ? r : wayland_make_context(d->wayland, d->contexts, listener, other);
}

int desktop_finish(const struct nsrun_plan *plan, struct desktop *d, struct nsrun_error *err) {
        int r;

        if (d->display_socket < 0)
                return 0;
        r = make_context(d);
        close_fdp(&d->display_socket);
        close_fdp(&d->wayland);
        /* The sandbox wasn't built: its pid 1 says why. */
        return r == -EPIPE && d->display_life < 0 ? 0 : r < 0 ? display_fail(plan, r, err) : 0;
}

void desktop_launched(struct desktop *d) {
        close_fdp(&d->socket);
        close_fdp(&d->display_given);
        close_fdp(&d->browser);
}

static void end_process(int *pidfd) {
        siginfo_t info;

        if (*pidfd >= 0) {
                (void)sys_pidfd_send_signal(*pidfd, SIGKILL);
                (void)sys_waitid(P_PIDFD, (id_t)*pidfd, &info, WEXITED);
        }
        close_fdp(pidfd);
}

void desktop_end(struct desktop *d) {
        desktop_launched(d);
        close_fdp(&d->life_fd);
        close_fdp(&d->wayland);
        close_fdp(&d->display_socket);
        close_fdp(&d->display_life);
        close_fdp(&d->bus);
        close_fdp(&d->links_fd);
        end_process(&d->pidfd);
        end_process(&d->bus_pidfd);
        end_process(&d->browser_pidfd);
        *d = DESKTOP_INIT;
}
