/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reasons for a failure, found in what a command wrote before it failed. */
#pragma once

#include "path.h"

#define EXPLAIN_MOST 10
#define EXPLAIN_NO_NETWORK \
        "there is no network (--net=none): --net=allow --allow HOST gives one host, --net=host all"
#define EXPLAIN_NO_PRIVILEGES \
        "no program gets privileges in the sandbox (sudo, su, setuid): nothing allows it"
#define EXPLAIN_NO_OPENAT2 \
        "seccomp has no openat2, as older kernels, and a program went no further without: --seccomp=nested allows it"
#define EXPLAIN_NO_MODE                                                                                       \
        "seccomp denies the setuid bit, and where other users can reach a writable folder the setgid bit: a " \
        "folder above it that only you can enter (chmod 700) allows setgid"
#define EXPLAIN_NO_32_BITS "the seccomp policy lets no 32-bit programs run: --seccomp=default does"
#define EXPLAIN_NO_32_BITS_OF_CHANGED                                                              \
        "a policy from which calls are taken lets no 32-bit programs run, which have other calls " \
        "for the same: nothing allows both"
#define EXPLAIN_NO_SOCKETCALL                                                                      \
        "seccomp denies socketcall, by which 32-bit programs make sockets: of which family can't " \
        "be seen"
#define EXPLAIN_NO_RAW_SOCKETS "no command has the capability for raw sockets: nothing allows it"
#define EXPLAIN_NO_ENGINE \
        "sockets of container engines aren't exposed, whether one runs or not: nothing allows it"

struct explained {
        const struct nsrun_plan *plan;
        const char *output; /* `size` bytes */
        size_t size;
        const char *search;    /* the caller's own PATH; may be NULL */
        const char *libraries; /* and LD_LIBRARY_PATH; may be NULL */
        const char *agent;     /* and SSH_AUTH_SOCK; may be NULL */
        const char *bus;       /* and DBUS_SESSION_BUS_ADDRESS; may be NULL */
        int signal;            /* by which the command ended, or says that one of its own did; 0: by none */
        bool oom_killed;
        bool has_terminal;  /* the caller's, which the command sees by its descriptors alone */
        bool has_succeeded; /* all the same: of what one of its programs failed for, a login is told alone */
        bool knows_nested;  /* calls were denied that make namespaces, and a reason tells it */
};

/* Adds at most EXPLAIN_MOST lines to *ret, of which none is there twice; those of the output's end come
 * first.  None: nothing that the sandbox did is known to have caused it.  -ENOMEM. */
int explain_output(const struct explained *e, char ***ret);
/* Whether the output of a command that succeeded may have a program's that failed for want of a login. */
bool explain_lacks_a_login(const char *output, size_t size);
/* Whether a line has it, with neither letters, digits nor '_' beside it. */
bool explain_has_word(const char *line, const char *word);
/* Adds a copy of a reason, unless it is there or EXPLAIN_MOST are.  -ENOMEM. */
int explain_add(char ***ret, const char *reason);
