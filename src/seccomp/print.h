/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Seccomp policies and filters as text for a person. */
#pragma once

#include "compile.h"

/* Prints rules as pseudo filter code: for each architecture, call by call, the action and the
 * arguments that it depends on. */
void seccomp_print_pfc(struct strbuf *b, const struct rules *rules, enum syscall_arch native);
/* Prints a filter's instructions, numbered, as bpf_asm(8) writes them. */
void seccomp_print_bpf(struct strbuf *b, const struct sock_filter *code, size_t n);
