/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --browser: nsrun-net in another role, which takes links from a sandbox's programs, and nsrun-init as the
 * program inside that hands one over. */
#pragma once

#include "link.h"

/* The word that chooses the role. */
#define BROWSER_ROLE "browser"

/* The descriptors that it starts with. */
enum {
        BROWSER_FD_SANDBOX =
                3,       /* a socket: it says whether it is ready, and gets the socket that waits inside */
        BROWSER_FD_LIFE, /* a socket: questions go out by it, and struct net_answer comes back; when its
                            other end is closed it ends */
};

struct link_question {
        uint32_t number;
        char link[LINK_MOST + 1];
};

_Noreturn void browser_main(void);

/* In the folder of the sandbox's own in XDG_RUNTIME_DIR: the programs that hand a link over, the first of
 * which the others lead to, and the socket at which they do. */
#define BROWSER_FOLDER  "nsrun"
#define BROWSER_SOCKET  "browser"
#define BROWSER_PROGRAM "xdg-open"
#define BROWSER_OTHERS  "sensible-browser", "x-www-browser", "www-browser"

/* What is sent there is the link and a newline; what comes back is one of these. */
#define BROWSER_OPENED  'y'
#define BROWSER_REFUSED 'n'

/* Whether a program's name is one of those. */
bool browser_is_client(const char *argv0);
int browser_client_main(int argc, char **argv);
