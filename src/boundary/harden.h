/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What pid 1 and everything after it lives without: capabilities, new privileges, other people's
 * descriptors, a way out through abstract sockets.  Safe between
 * clone and exec. */
#pragma once

#include "base/error.h"

int harden_capabilities(struct nsrun_error *err);
/* Keeps `capabilities` and drops the others; through_exec: inheritable and ambient, too. */
int harden_keep_capabilities(uint64_t capabilities, bool through_exec, struct nsrun_error *err);
/* Makes the sets these, as far as the bounding set and the permitted one still have them; the effective set
 * becomes `permitted`. */
int harden_set_capabilities(uint64_t bounding, uint64_t permitted, uint64_t inheritable, uint64_t ambient,
                            struct nsrun_error *err);
int harden_no_new_privileges(struct nsrun_error *err);
/* No new privileges, and nobody with the same uid may look into this process. */
int harden_process(struct nsrun_error *err);
/* Closes every descriptor above 2 but those in keep[n], which it sorts; negative ones in it are skipped. */
int harden_descriptors(int *keep, size_t n, struct nsrun_error *err);
/* Landlock: no abstract socket, or no process, outside of the caller's new domain can be reached from it. */
#define HARDEN_SCOPE_SOCKETS UINT64_C(1) /* LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET */
#define HARDEN_SCOPE_SIGNALS UINT64_C(2) /* LANDLOCK_SCOPE_SIGNAL */
#define HARDEN_SCOPE_ALL     (HARDEN_SCOPE_SOCKETS | HARDEN_SCOPE_SIGNALS)
int harden_scope(uint64_t scopes, struct nsrun_error *err);
/* SIGKILL when the parent dies.  Ends the process where the supervisor, whose pidfd is given, is dead
 * already. */
int harden_die_with(int supervisor_fd, struct nsrun_error *err);
