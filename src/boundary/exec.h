/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The last steps of a command before it is the command. */
#pragma once

#include "init.h"

/* Executes the command in the child that shares the memory of a struct reaper.  Leaves exec_error, or never
 * returns. */
int exec_command(void *reaper);
/* Executes the command in place of this process.  Returns on failure, with p->error. */
void exec_directly(struct reaper *p);
/* Whether exec_directly() would find a file that can be executed.  0, or -errno with p->error. */
int exec_look(struct reaper *p);
/* Fills p->error for the errno of an execve(2); returns -errno. */
int exec_fail(struct reaper *p);
/* Whether `path` leads to the program that runs here, by the mount that it runs from.  A command called
 * /proc/self/exe, or a script for it, names whoever executes it: the host's nsrun, which such a process
 * could open, and where the user owns it write.  The same file by a mount of the sandbox is another matter:
 * nsrun in nsrun is fine.  `proc`: AT_FDCWD, or an open /proc, in which `path` is then. */
bool exec_is_own_program(int proc, const char *path);

/* filter.c and limits.c: called in the vforked child right before its exec. */
int filter_install(struct reaper *p);
int limits_set(struct reaper *p);
