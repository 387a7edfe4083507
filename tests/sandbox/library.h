/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of the public functions share: starting a command in the site's
 * project, waiting for its end, and learning when everything in a sandbox is gone. */
#pragma once

#include <poll.h>

#include "harness.h"
#include "nsrun.h"

static inline struct nsrun_policy *make_policy(const struct site *s, const char *const *argv) {
        struct nsrun_policy *policy = NULL;
        struct nsrun_error err = {0};

        assert_int_equal(nsrun_policy_new(&policy), 0);
        assert_int_equal(nsrun_policy_set(policy, "project", s->project, &err), 0);
        assert_int_equal(nsrun_policy_set_command(policy, argv, &err), 0);
        assert_int_equal(err.stage, NSRUN_STAGE_NONE);
        return policy;
}

/* Starts a command.  0, or the library's error.  For any thread: asserts nothing. */
static inline int start_command(const struct site *s, const char *const *argv, struct nsrun_sandbox **ret,
                                struct nsrun_error *err) {
        struct nsrun_policy *policy = NULL;
        struct nsrun_plan *plan = NULL;
        int r;

        r = nsrun_policy_new(&policy);
        if (r >= 0)
                r = nsrun_policy_set(policy, "project", s->project, err);
        if (r >= 0)
                r = nsrun_policy_set_command(policy, argv, err);
        if (r >= 0)
                r = nsrun_plan_new(policy, &plan, err);
        if (r >= 0)
                r = nsrun_start(plan, NULL, ret, err);
        (void)nsrun_plan_free(plan);
        (void)nsrun_policy_free(policy);
        return r;
}

static inline int start_script(const struct site *s, const char *script, struct nsrun_sandbox **ret,
                               struct nsrun_error *err) {
        return start_command(s, OPTIONS("sh", "-c", script), ret, err);
}

static inline struct nsrun_sandbox *start(const struct site *s, const char *script) {
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};

        if (start_script(s, script, &sandbox, &err) != 0)
                fail_msg("not started: %s: %s: %s", err.what, err.path, strerror(err.error));
        return sandbox;
}

static inline void expect_end(struct nsrun_sandbox *sandbox, int code, int signal) {
        struct nsrun_exit end = {0};
        struct nsrun_error err = {0};

        if (nsrun_sandbox_wait(sandbox, &end, &err) != 0)
                fail_msg("no end: %s: %s", err.what, strerror(err.error));
        assert_int_equal(end.code, code);
        assert_int_equal(end.signal, signal);
}

static inline void expect_error(int r, int expected, enum nsrun_stage stage, struct nsrun_error *err,
                                const char *line) {
        _cleanup_free_ char *found = nsrun_error_format(err);

        assert_non_null(found);
        assert_string_equal(found, line);
        assert_int_equal(r, expected);
        assert_int_equal(err->stage, stage);
        memset(err, 0, sizeof(*err));
}

static inline void expect_good(int r, struct nsrun_error *err) {
        if (r != 0)
                fail_msg("%s: %s: %s", err->what, err->path, strerror(-r));
        assert_int_equal(err->stage, NSRUN_STAGE_NONE);
}

/* Opens a fifo in the project.  Its reader learns when a sandbox has come so far as to write to it
 * and, at its end, that every process in the sandbox is gone. */
static inline int open_fifo(const struct site *s) {
        _cleanup_free_ char *path = path_of(s->project, "fifo");
        int fd;

        assert_true(mkfifo(path, 0600) == 0 || errno == EEXIST);
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
        return fd;
}

static const char waiting[] nsrun_unused = "exec >fifo; setsid sleep 1000 & echo ready; exec sleep 1000";

static inline void expect_ready(int fd) {
        await_line(fd, "ready\n");
}

static inline void expect_all_gone(int fd) {
        struct pollfd end = {.fd = fd, .events = POLLIN};
        char byte;

        assert_int_equal(poll(&end, 1, deadline_seconds * 1000), 1);
        assert_int_equal(read(fd, &byte, 1), 0);
}

static inline void expect_alive(int fd) {
        struct pollfd end = {.fd = fd, .events = POLLIN};

        assert_int_equal(poll(&end, 1, 0), 0);
}
