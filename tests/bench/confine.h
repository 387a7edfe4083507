/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* What a process that is confined as nsrun's are cannot do without, for the floors under it.  Each ends the
 * program with 125 where the kernel refuses. */

_Noreturn void bench_fail(const char *what);
/* The result of a call that may not fail. */
int bench_check(long r, const char *what);
/* What a shell says of a status of wait(2). */
int bench_status(int status);

/* No capability, none to be had by execve(2), no core dump. */
void confine_drop(void);
/* Landlock's scopes: abstract sockets and signals. */
void confine_scope(void);
/* nsrun's own filter of that name, from the table that nsrun has. */
void confine_filter(const char *policy);
