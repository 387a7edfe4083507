/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Another host for a run, made in the child that becomes it (struct request's
 * in_child): a user and a mount namespace of its own, and in them what an older
 * kernel, a container or an administrator would have there.  Needs no privilege, so
 * root and an ordinary user see the same.  A step that fails ends the child with a
 * word and status 119. */
#pragma once

#include "harness.h"

/* Fails the child, with errno. */
_Noreturn void stage_fail(const char *what);

/* Our own ids on themselves; nothing that is mounted later leaves these namespaces. */
void stage_enter(void);
/* One more user namespace; false at the kernel's own end. */
bool stage_nest(void);
/* What a kernel file says from now on: the real one is written to. */
void stage_write(const char *path, const char *text);
/* Mounts. */
void stage_tmpfs(const char *target, unsigned long flags);
void stage_bind(const char *source, const char *target);
void stage_make_file(const char *path, const char *text);
