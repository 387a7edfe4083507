/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of bubblewrap's command line share: parsing one as root would, and comparing the
 * result. */
#pragma once

#include <sys/mman.h>

#include "scratch.h"

#include "bwrap/config.h"

#define MOST_WORDS 24

/* How many options there are: bubblewrap 0.13.1's, and nsrun's own after them. */
#define BWRAP_OPTIONS 68
#define OWN_OPTIONS   10

struct parsed {
        struct bwrap_config config;
        struct nsrun_error err;
        int r;
};

/* Parses as the given user, so that the result does not depend on who runs the test. */
static inline struct parsed *parse_as(uid_t uid, const char *const *words) {
        char *argv[MOST_WORDS + 2] = {(char *)(uintptr_t) "bwrap"};
        struct parsed *p = calloc(1, sizeof(*p));

        assert_non_null(p);
        assert_int_equal(bwrap_config_init(&p->config), 0);
        assert_int_equal(p->config.caller_uid, getuid());
        p->config.caller_uid = uid;
        p->config.caller_gid = uid;
        for (size_t i = 0; words[i]; i++) {
                assert_true(i < MOST_WORDS);
                argv[i + 1] = (char *)(uintptr_t)words[i];
        }
        p->r = bwrap_parse(1 + (int)strv_length(argv + 1), argv, &p->config, &p->err);
        /* The error is filled on failure, and only then. */
        assert_int_equal(p->err.stage == NSRUN_STAGE_NONE, p->r == 0);
        return p;
}

#define PARSE(...) parse_as(0, (const char *const[]){__VA_ARGS__, NULL})

static inline void parsed_free(struct parsed *p) {
        bwrap_config_clear(&p->config);
        free(p);
}

static inline struct parsed *accepted(struct parsed *p) {
        assert_string_equal(p->err.what, "");
        assert_int_equal(p->r, 0);
        return p;
}

#define ACCEPT(...) accepted(PARSE(__VA_ARGS__))

static inline void refused(struct parsed *p, int r, const char *message) {
        assert_string_equal(p->err.what, message);
        assert_int_equal(p->r, r);
        assert_null(p->config.argv);
        parsed_free(p);
}

#define REFUSE(message, ...) refused(PARSE(__VA_ARGS__), -EINVAL, message)

static inline int data_fd(const char *data, size_t n) {
        int fd = memfd_create("words", MFD_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, data, n), n);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        return fd;
}
