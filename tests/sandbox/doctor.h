/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of `nsrun doctor` share: runs of it on a staged host, and its lines. */
#pragma once

#include "faults.h"
#include "stage.h"

#define WORKS_LINE  "nsrun works here without an option\n"
#define BROKEN_LINE "nsrun doesn't work here: mend what says \"no\"\n"

/* A host: what is done to it in the child, and which calls fail with which number. */
struct host {
        const struct site *site;
        void (*stage)(void *data);
        const char *path;
        int error;
        const char *calls; /* NULL: none fails */
};

/* Runs `nsrun ARGUMENT…` from the project on such a host. */
static inline void run_there(const struct host *host, const char *const *arguments, struct outcome *ret) {
        _cleanup_free_ char *deny = helper_path("deny"), *number = text_of("%d", host->error);
        _cleanup_free_ const char **argv =
                words_of(OPTIONS(deny, number, host->calls ? host->calls : "", program()), arguments);

        outcome_clear(ret);
        run(&(struct request){.argv = host->calls ? argv : argv + 3,
                              .cwd = host->site->project,
                              .in_child = host->stage,
                              .data = (void *)(uintptr_t)host},
            ret);
        collect_orphans(); /* the monitor of the session that doctor tries */
}
#define THERE(host, outcome, ...) run_there(host, OPTIONS(__VA_ARGS__), outcome)

/* "no        check              words\n", found as a whole line. */
static inline void expect_line(const struct outcome *o, const char *state, const char *check,
                               const char *words) {
        _cleanup_free_ char *line = text_of("\n%-8s  %-17s  %s\n", state, check, words);

        expect_in(o->out, line);
}

static inline void expect_last(const struct outcome *o, const char *line) {
        size_t n = strlen(o->out), m = strlen(line);

        if (n <= m || !streq(o->out + n - m, line) || o->out[n - m - 1] != '\n')
                fail_msg("the last line isn't %s%s", line, o->out);
}

/* The run's own line of a refused run has the words of the refusal itself, but for what mends it. */
static inline void expect_same_words(const struct host *host, const struct outcome *doctor) {
        static const char mark[] = "\nno        run                ";
        const char *at = strstr(doctor->out, mark);
        _cleanup_free_ char *said =
                at ? strndup(at + strlen(mark), strcspn(at + strlen(mark), ";\n")) : NULL;
        _cleanup_free_ char *refusal = text_of("nsrun: %s", said ? said : "?");
        _cleanup_outcome_ struct outcome o = {0};

        THERE(host, &o, "run", "--", "true");
        expect_status(&o, 125);
        if (!startswith(o.err, refusal))
                fail_msg("the run says %s, doctor %s", o.err, refusal);
}

static inline void expect_works(const struct host *host) {
        _cleanup_outcome_ struct outcome o = {0};

        THERE(host, &o, "run", "--", "true");
        expect_status(&o, 0);
        THERE(host, &o, "doctor");
        expect_last(&o, WORKS_LINE);
        expect_not_in(o.out, "\nno ");
        expect_status(&o, 0);
}

/* What doctor's last line says to run with, run, works; without it the run is refused. */
static inline void expect_option_mends(const struct host *host, const struct outcome *doctor,
                                       const char *option) {
        _cleanup_free_ char *last = text_of("\nrun with %s", option);
        _cleanup_outcome_ struct outcome o = {0};

        expect_status(doctor, 1);
        expect_in(doctor->out, last);
        expect_same_words(host, doctor);
        THERE(host, &o, "run", option, "--", "echo", "fine");
        expect_status(&o, 0);
        expect_out(&o, "fine\n");
}

static inline void set_config(void *data) {
        const struct host *host = data;

        (void)setenv("XDG_CONFIG_HOME", host->path, 1);
}
