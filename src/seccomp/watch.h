/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The calls that name a file or a socket, and a filter that asks about them.  What it asks about it would
 * have allowed, so that whoever answers learns of the call and decides nothing. */
#pragma once

#include "compile.h"

/* What a call does with the path that it names. */
enum watched_how {
        WATCHED_LOOK, /* stat(2), access(2), chdir(2); not readlink(2), which compilers call a thousand times
                         a file */
        WATCHED_READ, /* open(2) */
        WATCHED_EXEC, /* execve(2) */
        WATCHED_WRITE,   /* open(2) for writing, chmod(2), truncate(2) */
        WATCHED_MAKE,    /* mkdir(2), O_CREAT, rename(2)'s new name */
        WATCHED_REMOVE,  /* unlink(2), rename(2)'s old name */
        WATCHED_CONNECT, /* connect(2) to a socket that has a path */
        WATCHED_BIND,    /* bind(2) to a port; to a path it is WATCHED_MAKE */
        WATCHED_PRINT,   /* write(2) to a standard stream; no path */
};

/* Where in a call's arguments its parts are; -1: nowhere. */
struct watched_call {
        const char *name;
        enum watched_how how;
        int dir, path, flags; /* `flags` are open(2)'s, or AT_*'s where only a look is taken */
};

/* A call with two paths has two rows. */
extern const struct watched_call watched_calls[];
extern const size_t n_watched_calls;

/* Makes of a filter (n may be 0: none) one that answers SECCOMP_RET_USER_NOTIF where that one allows a call
 * of the table by the native architecture.  Looks that follow a descriptor alone are left out, and writes
 * but those to the descriptors of which `printed` has the bit (1 << 2: standard error).  All other answers
 * stay. -E2BIG: more than BPF_MAXINSNS instructions; -ENOMEM. */
int seccomp_watch(const struct sock_filter *code, size_t n, unsigned printed, struct seccomp_filter *ret);
