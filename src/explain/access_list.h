/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a command asked for that its plan doesn't show, or shows read-only: a bounded list, from calls that
 * are watched while they happen.  What it says of a path was true when somebody looked; nothing is decided
 * by it. */
#pragma once

#include "plan/plan.h"
#include "seccomp/watch.h"

struct asked {
        char *path; /* absolute, normalised by its letters */
        enum watched_how how;
        bool is_there;    /* it was there inside, when the call was asked about */
        bool is_folder;   /* and a folder */
        bool is_made;     /* it wasn't, and the call could make it: the folder around it is there */
        bool is_replaced; /* rename(2) or unlink(2): of the name itself */
        uint32_t pid;     /* of the first such call */
        char program[16];
        uint64_t count;
        uint64_t last; /* which of all watched calls was the last such one */
};

struct asked_list {
        const struct nsrun_plan *plan; /* what is of interest is seen by it */
        struct asked *items;
        size_t n;
        uint32_t *slots; /* a table of `items` by path and kind: index + 1 */
        size_t bytes;    /* of paths */
        uint64_t others; /* how many calls had no room left */
        uint64_t calls;  /* how many were watched */
        bool is_whole;   /* what comes when there is no room is left out; else all that came before is */
        /* How many programs were executed until now, and until the last one with privileges of its own
         * (setuid); 0: none was. */
        uint64_t executions, privileged_at;
        bool has_inet; /* a connection beyond the machine was tried */
        /* Ports of the loopback to which a connection was tried while nobody listened inside, the last time
         * that it was; the last ones, in the order of that. */
        uint16_t ports[8];
        size_t n_ports;
        uint16_t bound;      /* the port to which a socket was to be bound last; 0: any, or none was */
        size_t n_port_lines; /* read of the table of who listens inside, which the command makes as long as
                                it likes */
};

/* No more is kept of what a command asks for. */
#define ASKED_MOST       16384
#define ASKED_MOST_BYTES ((size_t)4 << 20)

/* Whether a call is worth a second look: the plan doesn't show its path as the host has it, or the call
 * would change what is read-only. */
bool asked_is_of_interest(const struct nsrun_plan *plan, const char *path, enum watched_how how);
/* Whether a call only reads a file or runs it. */
bool asked_is_read(enum watched_how how);
/* A connection to a port of the loopback is tried, in the network namespace whose /proc/PID/net is `folder`.
 * It is kept if nobody listens there; after ASKED_MOST_PORT_LINES of its tables nobody looks any more. */
#define ASKED_MOST_PORT_LINES ((size_t)200000)
void asked_add_port(struct asked_list *list, uint16_t port, const char *folder);
/* The item of that path and kind, counted; a new one has count 1.  NULL: there is no room. */
struct asked *asked_add(struct asked_list *list, const char *path, enum watched_how how);
void asked_clear(struct asked_list *list);

/* Whether a program with privileges of its own was one of the last that were executed. */
bool asked_was_privileged(const struct asked_list *list);
/* How much of what was asked for may be the cause. */
enum asked_depth {
        ASKED_PROTECTED, /* the command succeeded: what it couldn't change of what is protected */
        ASKED_PLAIN,     /* a cause is known: what programs look for in passing isn't told */
        ASKED_LATE,      /* what came last may be */
        ASKED_WIDE,      /* and folders that the command only looked for */
};
/* Adds reasons to *ret, EXPLAIN_MOST in all, what was asked for last first.  -ENOMEM. */
int asked_explain(const struct asked_list *list, enum asked_depth depth, char ***ret);
/* Why a call of that name was denied, and what allows it: NULL where it is one that programs do without. The
 * text is the caller's to free.  `policy`: what --seccomp named; `is_raw`: it was to make a raw socket of
 * the Internet.  -ENOMEM. */
int explain_call(const char *policy, const char *name, const char *argument, bool is_raw, int error,
                 char **ret);
/* Whether it is one of those that user namespaces of the command's own are made with. */
bool explain_call_is_nested(const char *name);
