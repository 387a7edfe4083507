/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A site's project as a repository of git's, and what the host does with it. */
#pragma once

#include "harness.h"

#define NEED_GIT()                                                \
        do {                                                      \
                if (!has_program("git"))                          \
                        skip_because("skipped: there is no git"); \
        } while (0)

/* The host's script, which must succeed. */
static inline void on_host(const struct site *s, const char *script, struct outcome *o) {
        run_outside(s, o, script);
        expect_status(o, 0);
}

/* Like site_setup(); the repository has a commit, where there is git. */
static inline int repository_setup(void **state) {
        _cleanup_outcome_ struct outcome o = {0};

        if (site_setup(state) != 0)
                return -1;
        if (has_program("git"))
                on_host(*state,
                        "git init -q -b main . && git config user.name J && git config user.email j@example.org && "
                        "git commit -q --allow-empty -m first",
                        &o);
        return 0;
}

static inline void make_repository(const struct site *s, const char *script) {
        _cleanup_outcome_ struct outcome o = {0};

        on_host(s, script, &o);
}

/* The same, with a git that clones from folders; it is over when a run begins. */
static inline void with_git(const struct site *s, const char *script, struct outcome *o) {
        _cleanup_free_ char *text = text_of(
                "set -e; cd /; git config --global user.name J; git config --global user.email j@example.org\n"
                "git config --global protocol.file.allow always; cd '%s'\n%s",
                s->project, script);

        on_host(s, text, o);
        await_tick();
}
