/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The filter that `--seccomp` names: a shipped policy's, compiled when nsrun was built; that of a
 * policy file, compiled when it is loaded; or none. */
#pragma once

#include "base/error.h"
#include "compile.h"
#include "shipped.h"

struct seccomp_loaded {
        const struct sock_filter *code; /* NULL: no filter */
        size_t n;
        struct sock_filter *owned; /* what `code` points to and this struct frees; NULL where `code` is a
                                      constant of the program */
        uint32_t flags;            /* SECCOMP_FILTER_FLAG_* that the policy asks for */
        char **warnings;           /* one line for each call that the policy names and nsrun doesn't know */
};

/* The shipped policy of that name; NULL if none has it. */
const struct seccomp_shipped *seccomp_find_shipped(const char *name);
/* Loads the filter `name`: a shipped policy's, "none", or a file's.  With is_strict a policy that
 * names a call which nsrun doesn't know is refused (-EINVAL).  Further errors are those of
 * rules_parse(), of seccomp_compile() and of reading the file.  Stage POLICY. */
int seccomp_load(const char *name, bool is_strict, struct seccomp_loaded *ret, struct nsrun_error *err);
/* The same of a policy's text; `name` is what messages call it. */
int seccomp_load_text(const char *name, const char *text, struct seccomp_loaded *ret,
                      struct nsrun_error *err);
void seccomp_loaded_clear(struct seccomp_loaded *loaded);
#define _cleanup_loaded_ _cleanup_(seccomp_loaded_clear)

/* Reads a policy file's text: a plain file of at most RULES_MAX_BYTES.  The caller frees *ret. */
int seccomp_read_file(const char *path, char **ret, struct nsrun_error *err);
