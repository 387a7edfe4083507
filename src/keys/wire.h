/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun-keys is told, and by whom. */
#pragma once

#include "base/programs.h"

/* nsrun-keys' descriptors. */
enum {
        /* nsrun-net's: from it come ports, a uint16_t each, with a socket of the sandbox's that listens
         * there; to it goes struct net_key_used (net/layout.h). */
        KEYS_FD_SOCKETS = SPAWN_FIRST_FD,
        KEYS_FD_NSRUN, /* lines, and before them their bytes' number, a uint32_t; answered by an int32_t, 0
                          or -errno.  The end of its other end is nsrun-keys' */
};

/* The lines. */
#define KEYS_USE    "use "       /* PORT and a use (use.h): what comes in at PORT may be that */
#define KEYS_VALUE  "value "     /* NAME and the key */
#define KEYS_VIA    "via "       /* a proxy's URL, and */
#define KEYS_DIRECT "direct "    /* a name that is reached without it: net/proxy.h */
#define KEYS_CA     "ca "        /* a file with authorities, in place of the system's */
#define KEYS_MOST   (256U << 10) /* bytes of all of them */
