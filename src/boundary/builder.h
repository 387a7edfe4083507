/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the lives of a builder have in common: build.c (a sandbox of its own), enter.c (a command that joins
 * a session), grant.c (what a running one is shown besides), no_sandbox.c (no sandbox) and raw/raw.c
 * (bubblewrap's operations). */
#pragma once

#include "boundary.h"

/* The lives, each from an opened record to pid 1, a reaper or the command. */
_Noreturn void build_run(struct builder *b);
_Noreturn void plain_run(struct builder *b);
_Noreturn void raw_run(struct builder *b);
_Noreturn void grant_run(struct builder *b);

/* Moves the command's streams to 0, 1 and 2, and keeps what is passed to it open. */
int builder_take_descriptors(struct builder *b);
/* Closes all but own[n] and what the command gets; n: BUILDER_OWN_MAX at most. */
int builder_close_descriptors(struct builder *b, const int *own, size_t n);
#define BUILDER_OWN_MAX 14
/* That, of an array whose size is judged by the compiler. */
#define BUILDER_CLOSE_DESCRIPTORS(b, own)                                                            \
        ({                                                                                           \
                _Static_assert(ARRAY_SIZE(own) <= BUILDER_OWN_MAX, "there is room for all of them"); \
                builder_close_descriptors(b, own, ARRAY_SIZE(own));                                  \
        })
int builder_join_cgroup(struct builder *b);
int builder_set_hostname(struct builder *b);
/* limits.c: that RLIMIT_NPROC holds for this user, and in this namespace alone. */
int limits_check_processes(struct builder *b);
/* The program's own command line is readable by all in /proc: it is not for the sandbox. */
void builder_wipe_command_line(const struct builder *b);
/* Fills a reaper by the record. */
void builder_describe(struct reaper *p, const struct blueprint *b);
