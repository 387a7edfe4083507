/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of `nsrun grant` and `nsrun revoke` share. */
#pragma once

#include "session.h"

#define STAYS_OPEN                                                                                       \
        "nsrun: note: what is open there, or in namespaces of the command's own, stays: a folder shows " \
        "what comes later, too, and its sockets and FIFOs can be talked to\n"
/* A session, in which nothing of `beside` is shown. */
#define BEGIN(s)                                                    \
        _cleanup_free_ char *beside = path_of((s)->home, "beside"); \
        _cleanup_free_ char *id = NULL;                             \
        _cleanup_outcome_ struct outcome o = {0};                   \
        make_folder((s)->home, "beside");                           \
        make_file((s)->home, "beside/f", "text\n");                 \
        id = START_PLAIN(s)

static inline void expect_granted(const struct site *s, const char *id, const char *option,
                                  const char *path) {
        _cleanup_outcome_ struct outcome o = {0};

        NSRUN(s, &o, "grant", id, option, path);
        assert_string_equal(o.err, "");
        expect_status(&o, 0);
        assert_string_equal(o.out, "");
}

static inline void expect_refused(const struct site *s, const char *id, const char *option, const char *path,
                                  const char *said) {
        _cleanup_outcome_ struct outcome o = {0};

        NSRUN(s, &o, "grant", id, option, path);
        expect_refusal(&o, 125, said);
}
