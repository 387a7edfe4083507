/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests share that run nsrun-faults and the helper programs. */
#pragma once

#include <poll.h>
#include <sys/wait.h>
#include <time.h>

#include "fault.h"
#include "harness.h"

static inline const char *faults_program(void) {
        const char *path = getenv("NSRUN_FAULTS");

        return path && *path ? path : "./nsrun-faults";
}

/* The path of a program that was built beside the tests; the caller frees it. */
static inline char *helper_path(const char *name) {
        const char *folder = getenv("NSRUN_HELPERS");
        _cleanup_free_ char *path = path_of(folder && *folder ? folder : "tests/sandbox", name);
        char *real = realpath(path, NULL);

        if (!real)
                fail_msg("%s: %s", path, strerror(errno));
        return real;
}

/* Copies a helper program into the project, where a sandbox can run it. */
static inline void copy_helper(const struct site *s, const char *name) {
        _cleanup_free_ char *from = helper_path(name);
        const char *const argv[] = {"cp", "--", from, s->project, NULL};
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv}, &o);
        expect_status(&o, 0);
}

/* Runs `argv` with $NSRUN_FAULT set to `wanted` (NULL: no call fails) and standard input from
 * `input` (0: /dev/null), and reads how it ended. */
static inline void run_faulty(const struct site *s, const char *const *argv, const char *wanted, int input,
                              struct outcome *ret, struct fault_page *ret_page) {
        _cleanup_free_ char *log = path_of(s->root, "fault");
        _cleanup_close_ int fd = open(log, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(setenv("NSRUN_FAULT_LOG", log, 1), 0);
        if (wanted)
                assert_int_equal(setenv("NSRUN_FAULT", wanted, 1), 0);
        outcome_clear(ret);
        look_for_leaks(true);
        run(&(struct request){.argv = argv, .cwd = s->root, .standard_input = input}, ret);
        look_for_leaks(is_long());
        assert_int_equal(unsetenv("NSRUN_FAULT"), 0);
        assert_int_equal(unsetenv("NSRUN_FAULT_LOG"), 0);
        assert_int_equal(pread(fd, ret_page, sizeof(*ret_page), 0), sizeof(*ret_page));
}

/* Collects all processes that a dead parent left to this one, which the harness made a subreaper.
 * It waits for ever only for a process that survives its sandbox. */
static inline void reap_orphans(void) {
        for (int64_t since = 0; keep_waiting(&since);) {
                siginfo_t info = {.si_pid = 0};
                int r;

                while ((r = waitid(P_ALL, 0, &info, WEXITED | WNOHANG)) == 0 && info.si_pid != 0)
                        info.si_pid = 0;
                if (r < 0)
                        return;
        }
        fail_msg("a process has outlived its sandbox");
}

/* What nsrun could not look at when the command had ended, which changes nothing of that. */
static inline bool is_late_note(const char *text) {
        return (startswith(text,
                           "nsrun: note: what the command has made of a protected name can't be seen: ") ||
                startswith(text,
                           "nsrun: note: what the command has made of protected names can't be seen: ")) &&
               strchr(text, '\n') == text + strlen(text) - 1;
}

/* Prints the lines of `text` that `other` hasn't. */
static inline void print_difference(const char *sign, const char *text, const char *other) {
        for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
                _cleanup_free_ char *copy = strndup(line, (size_t)(end + 1 - line));

                assert_non_null(copy);
                if (!strstr(other, copy))
                        print_message("%s %s", sign, copy);
        }
}
