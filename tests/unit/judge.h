/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What nsrun's seccomp filters are measured against: libseccomp's filters for the same rules, and
 * the rules themselves read one by one; and the calls at which answers could differ. */
#pragma once

#include "../test.h"

#include <linux/seccomp.h>

#include "seccomp/compile.h"
#include "seccomp/rules.h"
#include "seccomp/simulate.h"

/* A list of calls, with arguments, to ask filters about. */
struct points {
        struct seccomp_data *data;
        size_t n, capacity;
};

/* Every number from 0 to 600 and some outrageous ones, of the machine, of x32 and of every
 * other architecture.  Where the rules look at arguments: every combination of the values at
 * which a condition's answer could change, in either word. */
void points_make(const struct rules *rules, enum syscall_arch native, struct points *ret);
void points_clear(struct points *points);
#define _cleanup_points_ _cleanup_(points_clear)

/* The architecture that a call is of; N_SYSCALL_ARCHS: none. */
enum syscall_arch point_arch(const struct seccomp_data *data, enum syscall_arch native);

/* The rules, asked at one point after the other: those that name the point's call are found once. */
struct model {
        const struct rules *rules;
        const struct rule *named[256];
        size_t n;
        enum syscall_arch arch;
        int number;
        bool has_call;
};

/* The answer by the rules read one by one: that of the most restrictive of those that hold. */
uint32_t model_ask(struct model *model, enum syscall_arch native, const struct seccomp_data *data);
uint32_t model_answer(const struct rules *rules, enum syscall_arch native, const struct seccomp_data *data);

/* The answer of a filter for `machine`, which has the halves of an argument in its own byte order. */
uint32_t machine_answer(const struct seccomp_filter *filter, enum syscall_arch machine,
                        const struct seccomp_data *data);

/* libseccomp's filters for the calls of one architecture, stacked as in the kernel: one with all
 * rules that allow, and one for each rule that doesn't, since libseccomp forgets a rule with
 * conditions beside one without. */
struct judge;
struct judge *judge_new(const struct rules *rules, enum syscall_arch arch);
void judge_free(struct judge *judge);
/* Whether libseccomp knows all calls of this number that the rules name. */
bool judge_knows(const struct judge *judge, uint32_t number);
uint32_t judge_answer(const struct judge *judge, const struct seccomp_data *data);

/* A call as text, "socket(0x10, 0, …)"; the caller frees it. */
char *point_format(const struct seccomp_data *data, enum syscall_arch native);

/* Parses rules from a text that must be valid. */
void rules_of(const char *file, const char *text, enum syscall_arch arch, struct rules *ret);
void filter_of(const char *file, const struct rules *rules, enum syscall_arch arch,
               struct seccomp_filter *ret);
/* Fails where the filter's answer differs from the rules' or, for the architectures in
 * `judged` and those that the rules don't name, from libseccomp's.  (Of call -1, a tracer's way
 * to skip one, libseccomp thinks otherwise, and of 32-bit architectures' arguments it never
 * looks at the high word: there the rules alone are asked.) */
void assert_filter_agrees(const char *file, const struct seccomp_filter *filter, const struct rules *rules,
                          enum syscall_arch native, const bool judged[N_SYSCALL_ARCHS]);
