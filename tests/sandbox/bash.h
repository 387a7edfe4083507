/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Running `nsrun bash` in a test, and reading its JSON. */
#pragma once

#include <json-c/json.h>

#include "harness.h"

/* `nsrun bash --project PROJECT ARGUMENT…`, for the caller to free. */
static inline const char **bash_argv(const struct site *s, const char *const *arguments) {
        const char **argv = nsrun_argv(s, arguments);

        argv[1] = "bash";
        return argv;
}

static inline void run_bash(const struct site *s, struct outcome *ret, const char *const *arguments) {
        const char **argv = bash_argv(s, arguments);
        const struct request request = {.argv = argv, .cwd = s->root};

        outcome_clear(ret);
        run(&request, ret);
        free(argv);
}
#define BASH(site, outcome, ...) run_bash(site, outcome, OPTIONS(__VA_ARGS__))

/* The JSON that --json printed, parsed by a parser that is not nsrun's. */
struct told {
        struct outcome outcome;
        struct json_object *object;
};

static inline void told_clear(struct told *t) {
        outcome_clear(&t->outcome);
        (void)json_object_put(t->object);
}
#define _cleanup_told_ _cleanup_(told_clear)

static inline void parse(struct told *t) {
        t->object = json_tokener_parse(t->outcome.out);
        if (!t->object)
                fail_msg("no JSON: %s; %s", t->outcome.out, t->outcome.err);
}
#define TOLD(site, told, ...)                                        \
        do {                                                         \
                BASH(site, &(told)->outcome, "--json", __VA_ARGS__); \
                parse(told);                                         \
        } while (0)

static inline const char *output_of(const struct told *t) {
        struct json_object *value = NULL;

        return json_object_object_get_ex(t->object, "output", &value) ? json_object_get_string(value) : "";
}

/* The same until a deadline that leaves the command the time to print the line `mark`. */
#define TOLD_IN_TIME(site, into, mark, ...)                                                    \
        do {                                                                                   \
                size_t deadline_of_it = 0;                                                     \
                                                                                               \
                do {                                                                           \
                        told_clear(into);                                                      \
                        (into)->object = NULL;                                                 \
                        TOLD(site, into, "--timeout", deadlines[deadline_of_it], __VA_ARGS__); \
                } while (was_too_short(output_of(into), mark "\n", &deadline_of_it));          \
        } while (0)

/* Expects that a member of the JSON object has the JSON text `text`. */
static inline void expect_member(const struct told *t, const char *key, const char *text) {
        struct json_object *value = NULL;

        if (!json_object_object_get_ex(t->object, key, &value))
                fail_msg("no %s in %s", key, t->outcome.out);
        if (!streq(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN), text))
                fail_msg("%s is not %s in %s", key, text, t->outcome.out);
}

static inline void expect_end(const struct told *t, const char *status, const char *signal,
                              const char *timed_out) {
        expect_member(t, "status", status);
        expect_member(t, "signal", signal);
        expect_member(t, "timed_out", timed_out);
}
