/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host's side of --ssh-agent, --browser, --dbus and --display: the SSH agent's filter
 * (desktop/ssh_agent.h) and xdg-dbus-proxy (desktop/dbus_proxy.h), started before the sandbox and ended
 * after it; and a security context of the compositor's (desktop/wayland.h). */
#pragma once

#include "launch/launch.h"

struct desktop {
        int socket;  /* for the sandbox's pid 1 */
        int life_fd; /* when it is closed the filter ends; questions come by it */
        int pidfd;   /* the filter's */
        int bus;     /* a copy of what the sandbox's pid 1 has: when all are closed xdg-dbus-proxy ends */
        int bus_pidfd;
        int browser, browser_pidfd; /* for the sandbox's pid 1, and the filter of links */
        int links_fd;               /* when it is closed that filter ends; questions come by it */
        int wayland;                /* connected with the compositor */
        uint32_t contexts;
        int display_socket, display_given; /* to pid 1, and pid 1's end */
        int display_life;                  /* when it is closed the compositor accepts nobody any more */
};

#define DESKTOP_INIT                                                                                      \
        (struct desktop) {                                                                                \
                .socket = -EBADF, .life_fd = -EBADF, .pidfd = -EBADF, .bus = -EBADF, .bus_pidfd = -EBADF, \
                .browser = -EBADF, .browser_pidfd = -EBADF, .links_fd = -EBADF, .wayland = -EBADF,        \
                .display_socket = -EBADF, .display_given = -EBADF, .display_life = -EBADF                 \
        }

/* Starts the filter if the plan wants it, and waits until it is ready; connects with the compositor if it
 * wants that; starts what becomes xdg-dbus-proxy if it wants that: params->desktop_socket, display_socket
 * and dbus_socket; starts the filter of links if it wants that: browser_socket. */
int desktop_begin(const struct nsrun_plan *plan, struct desktop *d, struct launch_params *params,
                  struct nsrun_error *err);
/* The sandbox's pid 1 has its own descriptor now. */
void desktop_launched(struct desktop *d);
/* Once the launch has begun: has the compositor take the socket that waits inside. */
int desktop_finish(const struct nsrun_plan *plan, struct desktop *d, struct nsrun_error *err);
/* Ends the filter, and waits for that. */
void desktop_end(struct desktop *d);
