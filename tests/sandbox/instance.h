/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs and plans of --profile=instance, and texts with the site's folders in them. */
#pragma once

#include "harness.h"

/* `nsrun SUBCOMMAND --profile=instance ARGUMENT…` in the project. */
static inline void run_as(const struct site *s, struct outcome *ret, const char *subcommand,
                          const char *const *arguments) {
        _cleanup_free_ const char **words = words_of(OPTIONS(subcommand, "--profile=instance"), arguments);

        run_words(s->project, ret, words);
}
#define INSTANCE(site, outcome, ...) run_as(site, outcome, "run", OPTIONS(__VA_ARGS__))
#define PLAN(site, outcome, ...)     run_as(site, outcome, "plan", OPTIONS(__VA_ARGS__))

static inline char *expanded(const struct site *s, const char *text) {
        _cleanup_free_ char *a = replaced(text, "@project", s->project), *b = replaced(a, "@home", s->home);

        _cleanup_free_ char *c = replaced(b, "@root", s->root);

        /* What root may write, and nobody else. */
        return replaced(c, "@instead",
                        geteuid() == 0 ? ", or use --overlay to throw away what is written"
                                       : ": the user may not write there on the host either");
}

static inline void write_config(const struct site *s, const char *text) {
        _cleanup_free_ char *full = expanded(s, text);

        make_file(s->root, "c.json", full);
}

static inline void expect_text(const struct site *s, const char *found, const char *text) {
        _cleanup_free_ char *full = expanded(s, text);

        assert_string_equal(found, full);
}

static inline void expect_line(const struct site *s, const struct outcome *o, const char *line) {
        _cleanup_free_ char *full = expanded(s, line), *whole = text_of("nsrun: %s", full);

        expect_refusal(o, 125, whole);
}
