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

int launch_read_report(const struct launch *l, struct launch_report *ret) {
        struct launch_report report;
        ssize_t n = sys_read(l->report_fd, &report, sizeof(report));

        if (n <= 0)
                return (int)n;
        /* Only pid 1 has the other end, and writes whole reports. */
        if ((size_t)n != sizeof(report))
                return -EPROTO;
        /* Under a raw plan the command may reach the other end, through /proc/1/fd. */
        report.error.path[sizeof(report.error.path) - 1] = '\0';
        report.error.what[sizeof(report.error.what) - 1] = '\0';
        report.error.hint[sizeof(report.error.hint) - 1] = '\0';
        if (report.kind == LAUNCH_FAILED && report.error.stage == NSRUN_STAGE_NAMESPACE && !l->is_join)
                (void)launch_explain_namespaces(-report.error.error, &report.error);
        if (report.kind == LAUNCH_FAILED && report.error.stage == NSRUN_STAGE_IDMAP && !l->is_join)
                (void)launch_explain_ids(&report.error);
        if (report.kind == LAUNCH_FAILED && !l->is_join)
                launch_explain_submounts(&report.error);
        *ret = report;
        return 1;
}
