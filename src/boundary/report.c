/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pipe between init and the supervisor: whole reports, written and read in
 * one piece. */
#include <limits.h>

#include "base/sys.h"
#include "report.h"

_Static_assert(sizeof(struct launch_report) <= PIPE_BUF, "a report must be one atomic write");

int report_send(int fd, const struct launch_report *report) {
        ssize_t n = sys_write(fd, report, sizeof(*report));

        return n < 0 ? (int)n : 0;
}

void report_note(int fd, const char *what, const char *path) {
        struct launch_report report = {.kind = LAUNCH_NOTE};

        (void)error_set(&report.error, NSRUN_STAGE_PROC, 0, path, what, NULL);
        (void)report_send(fd, &report);
}

int report_degraded(int fd, bool is_refused, enum degraded_id id, const char *path, const char *hint,
                    struct nsrun_error *err) {
        struct launch_report report = {.kind = LAUNCH_NOTE};

        if (is_refused)
                return degraded_refuse(err, id, path, hint);
        degraded_note(&report.error, id, path);
        (void)report_send(fd, &report);
        return 0;
}

nsrun_no_asan _Noreturn void report_failure(int fd, int operation, const struct nsrun_error *error) {
        struct launch_report report = {.kind = LAUNCH_FAILED, .operation = operation, .error = *error};

        (void)report_send(fd, &report);
        _exit(125);
}
