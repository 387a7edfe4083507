/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A seccomp policy as rules, read from the OCI runtime-spec's `linux.seccomp` JSON with the
 * extensions of Docker's and Podman's profiles: includes and excludes (caps, arches, minKernel),
 * archMap, errno by name.  The rules are what a policy means; compile.h turns them into BPF. */
#pragma once

#include <linux/seccomp.h>

#include "base/error.h"
#include "base/str.h"
#include "syscalls.h"

/* The greatest size of a policy's text. */
#define RULES_MAX_BYTES (1024U * 1024U)

enum rule_operator {
        RULE_NE,
        RULE_LT,
        RULE_LE,
        RULE_EQ,
        RULE_GE,
        RULE_GT,
        RULE_MASKED_EQ,
};

/* A condition on a call's argument: (argument & mask) OPERATOR value.  The mask is all ones but for
 * MASKED_EQ. */
struct rule_condition {
        unsigned argument; /* 0 to 5 */
        enum rule_operator operator;
        uint64_t value;
        uint64_t mask;
};

struct rule {
        char **names;
        uint32_t action; /* SECCOMP_RET_*, with its errno in the low 16 bits */
        struct rule_condition conditions[6];
        size_t n_conditions; /* all of them must hold */
        size_t index;        /* the rule's place in the file's "syscalls", from 0 */
};

/* Actions compare as the kernel compares those of stacked filters: as signed numbers, of which the
 * smaller one is the more restrictive action. */
static inline int32_t rule_severity(uint32_t action) {
        return (int32_t)(action & SECCOMP_RET_ACTION_FULL);
}

struct rules {
        uint32_t default_action;
        bool has_arch[N_SYSCALL_ARCHS];
        bool wants_log; /* SECCOMP_FILTER_FLAG_LOG */
        bool wants_spec_allow;
        struct rule *rules;
        size_t n_rules;
        char **warnings; /* a line for each call that the policy names and nsrun doesn't know, and for each
                            rule that another one overrules for some call */
};

/* The machine and kernel for which "includes" and "excludes" are decided.  (Capabilities aren't
 * here: a sandbox's command has none.) */
struct rules_target {
        enum syscall_arch arch;
        unsigned kernel_major, kernel_minor;
};

/* The machine and the kernel that this process runs on. */
int rules_target_here(struct rules_target *ret, struct nsrun_error *err);

/* Reads a policy's text.  `file` is for messages alone.  A rule is left out where its "includes"
 * don't hold for `target` or its "excludes" do.
 *
 * -EINVAL: bad JSON, an unknown key, action, operator or errno, two conditions on one argument
 * (runc reads them as alternatives, other tools as both); the message has the file and the line, or
 * the rule's index.  -EOPNOTSUPP: SCMP_ACT_NOTIFY, since nsrun runs no program that would listen for
 * the notifications. -E2BIG: over RULES_MAX_BYTES. */
int rules_parse(const char *file, const char *text, size_t size, const struct rules_target *target,
                struct rules *ret, struct nsrun_error *err);
void rules_clear(struct rules *rules);
#define _cleanup_rules_ _cleanup_(rules_clear)
