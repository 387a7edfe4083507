/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules become BPF: per architecture a balanced tree over merged ranges of numbers,
 * with the checks of arguments in its leaves.  Pure. */
#pragma once

#include <linux/filter.h>

#include "rules.h"

struct seccomp_filter {
        struct sock_filter *code;
        size_t n; /* instructions, at most BPF_MAXINSNS */
};

/* Of the rules that hold for a call the most restrictive decides, as the kernel
 * decides between stacked filters, and of equals (two errors) the one that the file has
 * first; where none holds, the default action does.  (libseccomp
 * forgets a rule with conditions where there is one without: an exception would be
 * lost.)  Architectures that the rules don't name, x32 among them, get ENOSYS.
 * -EINVAL: execve or exit_group is not allowed whatever its arguments, so that no command
 * could start or end.  -E2BIG: more than BPF_MAXINSNS. `file` is for messages. */
int seccomp_compile(const char *file, const struct rules *rules, enum syscall_arch native,
                    struct seccomp_filter *ret, struct nsrun_error *err);
/* Of the rules that name one call: those with conditions that matter, the first that
 * holds deciding, and what is done where none does.  kept[n] has room for all of them; returns
 * how many there are. */
size_t seccomp_decide(const struct rules *rules, const struct rule *const *named, size_t n,
                      const struct rule **ret_kept, uint32_t *ret_final);
void seccomp_filter_clear(struct seccomp_filter *filter);
#define _cleanup_filter_ _cleanup_(seccomp_filter_clear)
