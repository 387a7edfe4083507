/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of seccomp share: policy files, and runs of the helper `raw`. */
#pragma once

#include <sys/syscall.h>

#include "faults.h"

/* Writes outside/own.json, a policy that allows all calls but for `rules` (the inside of the JSON
 * array).  The caller frees its path. */
static inline char *make_policy(const struct site *s, const char *rules) {
        _cleanup_free_ char *text =
                text_of("{\"defaultAction\": \"SCMP_ACT_ALLOW\",\n \"syscalls\": [%s]}\n", rules);

        make_file(s->outside, "own.json", text);
        return path_of(s->outside, "own.json");
}

/* A rule that denies calls: DENY("\"getppid\"", "7"). */
#define DENY(names, error) \
        "{\"names\": [" names "], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": " error "}"

/* `nsrun run --project PROJECT OPTION… -- ./raw WORD…`; the project has `raw`. */
static inline void run_raw(const struct site *s, struct outcome *ret, const char *const *options,
                           const char *const *words) {
        _cleanup_free_ const char **arguments = words_of(options, OPTIONS("--", "./raw"), words);

        run_nsrun(s, ret, arguments);
}
#define RAW(site, outcome, option, ...) run_raw(site, outcome, OPTIONS(option), OPTIONS(__VA_ARGS__))
