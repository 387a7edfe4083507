/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Regular expressions and globs that somebody hostile may have written, over bytes that somebody hostile may
 * have written: the time that a match takes grows with the product of their lengths and no faster, and the
 * memory is bounded. */
#pragma once

#include "base/macro.h"

enum {
        PATTERN_LENGTH_MOST = 1024, /* bytes of a pattern */
        PATTERN_STEPS_MOST = 4096,  /* of what it is compiled to */
        PATTERN_DEPTH_MOST = 100,   /* of its groups and alternatives */
        PATTERN_REPEAT_MOST = 255,  /* of {m,n} */
};

struct pattern;

/* Compiles a regular expression: . [] () | * + ? {m,n} ^ $ \d \D \w \W \s \S \b \B; bytes are what it
 * matches, and an ASCII letter's case may be ignored.  -EINVAL: it is none; -E2BIG: too large.  *ret_why,
 * static, says why.  -ENOMEM. */
int pattern_compile(const char *text, bool ignores_case, struct pattern **ret, const char **ret_why);
/* Compiles a glob for paths, of which the whole must match: * ? and [] are of one name, ** of any folders;
 * without a slash it is that of a name at any depth. */
int pattern_compile_glob(const char *glob, struct pattern **ret, const char **ret_why);
/* Whether it matches somewhere in a line, which has no newline. */
bool pattern_matches(struct pattern *p, const char *line, size_t n);
void pattern_free(struct pattern *p);
static inline void pattern_freep(struct pattern **p) {
        pattern_free(*p);
}
#define _cleanup_pattern_ _cleanup_(pattern_freep)
