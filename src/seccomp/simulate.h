/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a seccomp filter answers to a call, found by interpreting its BPF as the kernel would. */
#pragma once

#include "compile.h"

/* The filter's answer: SECCOMP_RET_* with its data.  For a filter that the kernel would refuse to
 * install (a jump out of the program, an instruction that seccomp doesn't allow) it is
 * SECCOMP_RET_KILL_PROCESS. */
uint32_t seccomp_simulate(const struct sock_filter *code, size_t n, const struct seccomp_data *data);

/* The text for a filter's answer, "allow", "errno EPERM", "kill_process" …, at most 32 bytes. */
const char *seccomp_action_format(char to[32], uint32_t action);
