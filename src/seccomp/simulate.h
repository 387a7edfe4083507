/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a filter answers, found by running its BPF as the kernel would. */
#pragma once

#include <linux/seccomp.h>

#include "compile.h"

/* SECCOMP_RET_* with its data.  A filter that the kernel would not take (a jump out
 * of it, an instruction that is none of seccomp's) kills the process, as the most careful answer. */
uint32_t seccomp_simulate(const struct sock_filter *code, size_t n, const struct seccomp_data *data);

/* "allow", "errno EPERM", "kill_process", …: to[32]. */
const char *seccomp_action_format(char to[32], uint32_t action);
