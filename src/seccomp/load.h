/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The filter that `--seccomp` names: a shipped policy's, compiled when nsrun was built; that of one with
 * calls more or less, or of a policy file, compiled when it is loaded; or none. */
#pragma once

#include "compile.h"
#include "shipped.h"

struct seccomp_loaded {
        const struct sock_filter *code; /* NULL: no filter */
        size_t n;
        struct sock_filter *owned; /* what `code` points to and this struct frees; NULL where `code` is a
                                      constant of the program */
        uint32_t flags;            /* SECCOMP_FILTER_FLAG_* that the policy asks for */
        char **warnings;           /* rules.h's */
};

/* The shipped policy that `name` stands for, alone or with changes (variant.h); NULL: a file, or "none".
 * *ret_changes, which may be NULL, is what follows its name. */
const struct seccomp_shipped *seccomp_find_shipped(const char *name, const char **ret_changes);
/* The text of the policy `name`: a shipped one's, with its changes, or a file's.  The caller frees *ret. */
int seccomp_text(const char *name, char **ret, struct nsrun_error *err);
/* Loads the filter `name`.  With is_strict a policy that names a call which nsrun doesn't know is refused
 * (-EINVAL).  Further errors are those of variant_make(), of rules_parse(), of seccomp_compile() and of
 * reading the file.  Stage POLICY. */
int seccomp_load(const char *name, bool is_strict, struct seccomp_loaded *ret, struct nsrun_error *err);
/* The same of a policy's text; `name` is what messages call it. */
int seccomp_load_text(const char *name, const char *text, struct seccomp_loaded *ret,
                      struct nsrun_error *err);
/* Takes what is said of the setgid bit out of a shipped policy's filter: there is no other condition on a
 * bit of that value (tests/unit/test-seccomp-sweep.c). */
int seccomp_allow_setgid(struct seccomp_loaded *loaded, struct nsrun_error *err);
void seccomp_loaded_clear(struct seccomp_loaded *loaded);
#define _cleanup_loaded_ _cleanup_(seccomp_loaded_clear)

/* Reads a policy file's text: a plain file of at most RULES_MAX_BYTES.  The caller frees *ret. */
int seccomp_read_file(const char *path, char **ret, struct nsrun_error *err);
