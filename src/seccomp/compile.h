/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules become BPF: for each architecture a balanced tree over merged ranges of call numbers, with
 * the checks of arguments in the tree's leaves.  Pure. */
#pragma once

#include <linux/filter.h>

#include "rules.h"

struct seccomp_filter {
        struct sock_filter *code;
        size_t n; /* instructions, at most BPF_MAXINSNS */
};

/* Compiles rules into a filter for a machine of architecture `native`.  Of the rules that hold for a
 * call the most restrictive decides, as the kernel decides between stacked filters, and of two
 * equal ones (two errors) the one that stands first in the file; where none holds, the default
 * action does. (libseccomp forgets a rule with conditions where there is one without for the same
 * call, which would lose the exception.)  Architectures that the rules don't name, x32 among them,
 * get ENOSYS.
 *
 * -EINVAL: execve or exit_group is not allowed whatever its arguments, so that no command could
 * start or end. -E2BIG: more than BPF_MAXINSNS instructions.  `file` is for messages alone. */
int seccomp_compile(const char *file, const struct rules *rules, enum syscall_arch native,
                    struct seccomp_filter *ret, struct nsrun_error *err);
/* Of the `n` rules in `named`, which all name one call, keeps in ret_kept those that have
 * conditions and matter, in the order in which they are to be tried: the first whose conditions
 * hold decides.  *ret_final is the action where none holds. ret_kept must have room for n rules;
 * returns how many it got. */
size_t seccomp_decide(const struct rules *rules, const struct rule *const *named, size_t n,
                      const struct rule **ret_kept, uint32_t *ret_final);
void seccomp_filter_clear(struct seccomp_filter *filter);
#define _cleanup_filter_ _cleanup_(seccomp_filter_clear)
