/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Running tests/sandbox/attempt.c inside and outside, for the tests of breakouts. */
#pragma once

#include "faults.h"

static inline void try_inside(const struct site *s, const char *const *options, const char *const *attempt,
                              struct outcome *ret) {
        _cleanup_free_ char *helper = helper_path("attempt"), *bind = text_of("%s:/attempt:ro", helper);
        _cleanup_free_ const char **words = words_of(OPTIONS("--bind", bind), options ? options : NO_OPTIONS,
                                                     OPTIONS("--", "/attempt"), attempt);

        run_nsrun(s, ret, words);
}

/* Runs an attempt outside; `before` is a program that executes it, with its arguments, or NULL. */
static inline void try_outside(const struct site *s, const char *const *before, const char *const *attempt,
                               struct outcome *ret) {
        _cleanup_free_ char *helper = helper_path("attempt");
        _cleanup_free_ const char **argv = words_of(before ? before : NO_OPTIONS, OPTIONS(helper), attempt);

        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = s->project}, ret);
}

#define WORDS(...) OPTIONS(__VA_ARGS__)

static inline void expect_answer(const char *where, const char *const *attempt, const struct outcome *o,
                                 const char *answer) {
        _cleanup_free_ char *line = text_of("%s\n", answer), *words = strdup(where);

        if (o->status == 0 && streq(o->out, line))
                return;
        for (; *attempt; attempt++) {
                char *longer = text_of("%s %s", words, *attempt);

                free(words);
                words = longer;
        }
        fail_msg("%s: said \"%s\" (%d, \"%s\"), not \"%s\"", words, o->out, o->status, o->err, answer);
}

static inline void expect_inside(const struct site *s, const char *const *options,
                                 const char *const *attempt, const char *answer) {
        _cleanup_outcome_ struct outcome o = {0};

        try_inside(s, options, attempt, &o);
        expect_answer("inside", attempt, &o, answer);
}

static inline void expect_outside(const struct site *s, const char *const *before,
                                  const char *const *attempt, const char *answer) {
        _cleanup_outcome_ struct outcome o = {0};

        try_outside(s, before, attempt, &o);
        expect_answer("outside", attempt, &o, answer);
}

/* Expects one answer of an attempt inside, without options of nsrun's, and another outside. */
static inline void expect_both(const struct site *s, const char *const *attempt, const char *inside,
                               const char *outside) {
        expect_inside(s, NULL, attempt, inside);
        expect_outside(s, NULL, attempt, outside);
}
