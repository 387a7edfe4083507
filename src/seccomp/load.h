/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The filter that `--seccomp` names: one of nsrun's own, compiled when nsrun was
 * built; a file's, compiled now or taken from the cache; or none. */
#pragma once

#include "base/error.h"
#include "cache.h"
#include "shipped.h"

struct seccomp_loaded {
        const struct sock_filter *code; /* NULL: no filter */
        size_t n;
        struct sock_filter *owned; /* `code`, where it is no constant */
        uint32_t flags;            /* SECCOMP_FILTER_FLAG_* that the policy asks for */
        char **warnings;           /* calls that nsrun doesn't know, one line each */
        bool is_fresh;             /* compiled just now from a file: the cache hasn't it */
        unsigned char key[SHA256_SIZE];
};

/* NULL where there is none of that name. */
const struct seccomp_shipped *seccomp_find_shipped(const char *name);
/* `name` is a shipped policy's, "none", or a file's.  `cache_folder` may be NULL.  With
 * is_strict a call that nsrun doesn't know is refused (-EINVAL).  Changes nothing on disk.
 * Errors: those of rules.h, compile.h and of reading the file.  Stage POLICY. */
int seccomp_load(const char *name, bool is_strict, const char *cache_folder, struct seccomp_loaded *ret,
                 struct nsrun_error *err);
/* Keeps what was fresh for the next time, as well as it can. */
void seccomp_remember(const struct seccomp_loaded *loaded, const char *cache_folder);
void seccomp_loaded_clear(struct seccomp_loaded *loaded);
#define _cleanup_loaded_ _cleanup_(seccomp_loaded_clear)

/* Reads a policy file: plain, at most RULES_MAX_BYTES.  *ret is the caller's. */
int seccomp_read_file(const char *path, char **ret, struct nsrun_error *err);
