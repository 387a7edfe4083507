/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --dbus: nsrun-net in another role, which becomes xdg-dbus-proxy(1) between a sandbox and the user's bus.
 */
#pragma once

/* The word that chooses the role; behind it stand the program's path, the bus (dbus_address_next()), and the
 * program's rules. */
#define DBUS_PROXY_ROLE "dbus"

/* The socket that the program makes, in the folder that pid 1 hands out. */
#define DBUS_SOCKET_NAME "bus"

/* The descriptors that it starts with. */
enum {
        DBUS_FD_SANDBOX = 3, /* a socket, of which pid 1 has the other end until the program listens, and the
                                process that started it for as long as it lives: then the program ends */
        DBUS_FD_BUS,         /* the bus's socket, opened with O_PATH; of an abstract one there is none */
};

_Noreturn void dbus_proxy_main(char *const *words);
