/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The way into a session, for a process that has nothing else to do: it enters all of the session's
 * namespaces and makes the command's reaper, which is born in there. */
#pragma once

#include "boundary.h"

struct entering {
        struct reaper *reaper;
        struct builder *builder; /* the reaper gets copies of its descriptors; NULL: of nsrun-init's */
        const char *directory;   /* the command's working directory inside */
        char *inner_stack;       /* a stack for a reaper with a pid namespace of its own */
        uint64_t namespaces; /* CLONE_NEW*: those that a reaper outside of the pid namespace enters itself */
        int result;          /* set by enter_session(): 0 or -errno */
        int pidfd;           /* the reaper's */
        pid_t pid; /* the reaper's pid as this process has it; of no use if the reaper has a pid namespace */
};

/* For sys_vfork() of the process that opened the record: enters the session, makes the reaper and ends. */
int enter_go_in(void *entering);
/* The same, of an opened record: executes nsrun-init outside of the session, which then enters it.  So
 * nothing of a host program's threads, memory and command line gets in.  Leaves reaper.exec_error. */
int enter_become_init(void *builder);
/* This process, which isn't in the session's pid namespace, as the reaper. */
_Noreturn void enter_run(struct builder *b);
/* nsrun-init as the process that enters: sends the supervisor the reaper's pidfd, or reports why
 * there is none. */
_Noreturn void enter_alone(struct reaper *p, const char *directory);
