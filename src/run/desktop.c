/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The SSH agent's filter and xdg-dbus-proxy: their start, with all that they are given, and their end; and
 * the compositor's security context, from the connection to the end of its life. */
#include "desktop.h"

#include <sys/wait.h>

#include "base/file.h"
#include "base/programs.h"
#include "desktop/browser.h"
#include "desktop/connect.h"
#include "desktop/dbus_proxy.h"
#include "desktop/ssh_agent.h"
#include "desktop/wayland.h"
#include "network.h"

_Static_assert(SSH_FD_SANDBOX == SPAWN_FIRST_FD, "the first that is given");
#define FIRST_FREE (SSH_FD_AGENT + 1) /* above the numbers that the filter's descriptors get */

static int desktop_fail(int r, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_POLICY, r, NULL,
                         "the filter before the SSH agent can't be prepared", NULL);
}

/* What a filter says of itself when it is ready. */
static int read_filters_answer(int fd, int32_t *ret) {
        ssize_t n;

        do
                n = sys_read(fd, ret, sizeof(*ret));
        while (n == -EINTR);
        return n == (ssize_t)sizeof(*ret) ? 0 : n < 0 ? (int)n : -EPIPE;
}

/* And of the agent. */
static int await_filter(const struct nsrun_plan *plan, const struct desktop *d, struct nsrun_error *err) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *keys = NULL;
        int32_t answer = 0;
        int r = read_filters_answer(d->socket, &answer);

        if (r < 0)
                return desktop_fail(r, err);
        if (answer == 0)
                return 0;
        STRV_FOREACH (key, plan->ssh_keys)
                strbuf_addf(&b, "%s%s", b.length > 0 ? ", " : "", *key);
        keys = strbuf_finish(&b);
        if (answer > 0 && !keys)
                return error_oom(err);
        if (answer > 0)
                return error_set(err, NSRUN_STAGE_POLICY, UNSAID(-ENOENT), keys,
                                 "--ssh-agent: the agent hasn't all the keys that are named",
                                 "'ssh-add -l' lists them, with their SHA256: and their comments");
        return error_set(err, NSRUN_STAGE_POLICY, UNSAID(answer), plan->ssh_agent,
                         "--ssh-agent: what listens there doesn't answer as an SSH agent",
                         "look at SSH_AUTH_SOCK, and at 'ssh-add -l'");
}

static int begin_filter(const struct nsrun_plan *plan, struct desktop *d, struct nsrun_error *err) {
        _cleanup_(given_clear) struct given g = {.above = FIRST_FREE};
        _cleanup_close_ int agent = desktop_connect(plan->ssh_agent);
        int r;

        if (agent < 0)
                return error_set(err, NSRUN_STAGE_POLICY, agent, plan->ssh_agent,
                                 "--ssh-agent: the agent can't be connected to", NULL);
        r = give_pair(&g, &d->socket);
        if (r >= 0)
                r = give_lines(&g, "nsrun-keys", plan->ssh_keys, NULL);
        if (r >= 0)
                r = give_pair(&g, &d->life_fd);
        if (r >= 0)
                r = give(&g, TAKE_FD(agent));
        r = r < 0 ? desktop_fail(r, err) : network_spawn(SSH_AGENT_ROLE, NULL, &g, &d->pidfd, err);
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
        return 0;
}

static int begin_browser(struct desktop *d, struct nsrun_error *err) {
        _cleanup_(given_clear) struct given g = {.above = FIRST_FREE};
        int32_t answer = 0;
        int r = give_pair(&g, &d->browser);

        if (r >= 0)
                r = give_pair(&g, &d->links_fd);
        if (r >= 0)
                r = network_spawn(BROWSER_ROLE, NULL, &g, &d->browser_pidfd, err);
        given_clear(&g);
        if (r >= 0)
                r = read_filters_answer(d->browser, &answer);
        if (r >= 0)
                r = answer;
        return r < 0 ? error_set(err, NSRUN_STAGE_POLICY, r, NULL, "the filter of links can't be prepared",
                                 NULL)
                     : 0;
}

static int begin_bus(const struct nsrun_plan *plan, struct desktop *d, struct nsrun_error *err) {
        _cleanup_(given_clear) struct given g = {.above = FIRST_FREE};
        _cleanup_close_ int socket = -EBADF;
        const char *bus = plan->dbus[1];
        int r;

        if (*bus == '/') {
                r = socket = desktop_place(bus);
                if (r < 0)
                        return error_set(err, NSRUN_STAGE_POLICY, r, bus,
                                         "--dbus: the bus's socket can't be opened", NULL);
        }
        r = give_pair(&g, &d->bus);
        if (r >= 0 && socket >= 0)
                r = give(&g, TAKE_FD(socket));
        return r < 0 ? error_set(err, NSRUN_STAGE_POLICY, r, NULL, "xdg-dbus-proxy can't be prepared", NULL)
                     : network_spawn(DBUS_PROXY_ROLE, plan->dbus, &g, &d->bus_pidfd, err);
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
        return wayland_make_context(d->wayland, d->contexts, listener, other);
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

void desktop_end(struct desktop *d) {
        desktop_launched(d);
        close_fdp(&d->life_fd);
        close_fdp(&d->wayland);
        close_fdp(&d->display_socket);
        close_fdp(&d->display_life);
        close_fdp(&d->bus);
        close_fdp(&d->links_fd);
        sys_end_process(&d->pidfd);
        sys_end_process(&d->bus_pidfd);
        sys_end_process(&d->browser_pidfd);
        *d = DESKTOP_INIT;
}
