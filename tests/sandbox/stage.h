/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Another host for a run, made in the child that executes it (struct request's in_child): a user
 * and a mount namespace, and in them what an older kernel, a container or an administrator would
 * have there.  Needs no privilege, so that root and an ordinary user see the same.  A step that
 * fails ends the child with a message and status 119. */
#pragma once

#include "harness.h"

/* Ends the child with a message about errno. */
_Noreturn void stage_fail(const char *what);

/* Enters the namespaces.  Ids are mapped to themselves; later mounts don't leave the namespaces. */
void stage_enter(void);
/* Enters one more user namespace; false if the kernel allows no deeper one. */
bool stage_nest(void);
/* Writes a text to one of the kernel's files, so that it says that from now on. */
void stage_write(const char *path, const char *text);
/* Mount things over the host's. */
void stage_tmpfs(const char *target, unsigned long flags);
void stage_bind(const char *source, const char *target);
/* What is mounted there, once more, with these flags besides its own. */
void stage_bind_itself(const char *target, unsigned long flags);
void stage_make_file(const char *path, const char *text);

/* As containers mask theirs: the kernel then gives no full /proc to any namespace below. */
static inline void stage_masked(nsrun_unused void *data) {
        stage_enter();
        stage_bind("/dev/null", "/proc/interrupts");
}
