/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Policies and filters as text for a person. */
#pragma once

#include "base/str.h"
#include "compile.h"

/* Pseudo filter code: for each architecture, call by call, what is decided and on what. */
void seccomp_print_pfc(struct strbuf *b, const struct rules *rules, enum syscall_arch native);
/* The instructions, numbered, as bpf_asm(8) writes them. */
void seccomp_print_bpf(struct strbuf *b, const struct sock_filter *code, size_t n);
