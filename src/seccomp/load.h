/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The filter that `--seccomp` names: one of nsrun's own, compiled when nsrun was
 * built; a file's, compiled now; or none. */
#pragma once

#include "base/error.h"
#include "compile.h"
#include "shipped.h"

struct seccomp_loaded {
        const struct sock_filter *code; /* NULL: no filter */
        size_t n;
        struct sock_filter *owned; /* `code`, where it is no constant */
        uint32_t flags;            /* SECCOMP_FILTER_FLAG_* that the policy asks for */
        char **warnings;           /* calls that nsrun doesn't know, one line each */
};

/* NULL where there is none of that name. */
const struct seccomp_shipped *seccomp_find_shipped(const char *name);
/* `name` is a shipped policy's, "none", or a file's.  With is_strict a call that nsrun
 * doesn't know is refused (-EINVAL).  Errors: those of rules.h, compile.h and of reading
 * the file.  Stage POLICY. */
int seccomp_load(const char *name, bool is_strict, struct seccomp_loaded *ret, struct nsrun_error *err);
void seccomp_loaded_clear(struct seccomp_loaded *loaded);
#define _cleanup_loaded_ _cleanup_(seccomp_loaded_clear)

/* Reads a policy file: plain, at most RULES_MAX_BYTES.  *ret is the caller's. */
int seccomp_read_file(const char *path, char **ret, struct nsrun_error *err);
