/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel's tables of sockets (proc_pid_net(5)), and which process has one. */
#pragma once

#include <inttypes.h>

#include "base/macro.h"

struct socket_row {
        bool is_listening; /* of TCP */
        /* Who connects to a loopback address of either family may get there, or who connects to localhost.
         */
        bool is_at_loopback, is_at_localhost;
        unsigned port;
        uint64_t inode;
};

/* Calls `found` for each row of "tcp", "tcp6" or "udp" in the network namespace whose /proc/PID/net is
 * `folder`, until it returns another value than 0, which is then returned.  At most *left lines are read,
 * which is then what is left of them; NULL: all there are.  -errno: it can't be read; without IPv6 tcp6 has
 * no row. */
int socket_table_each(const char *folder, const char *table, size_t *left,
                      int (*found)(void *data, const struct socket_row *row), void *data);

/* Whether somebody listens at a TCP port of a loopback address, or at every address.  False where that can't
 * be read; where *left becomes 0 nobody can tell. */
bool socket_is_served(const char *folder, unsigned port, size_t *left);

/* Whose process may have a socket: those whose namespace of that kind, "user" or "net", is the one of that
 * link text, or those whose is another. */
struct socket_owners {
        const char *kind, *text;
        bool are_others;
        size_t most; /* processes and descriptors are looked at */
};

/* The first of them that has one of `n` sockets; 0: none that could be found; -errno. */
pid_t socket_find_owner(const uint64_t *inodes, size_t n, const struct socket_owners *among);
