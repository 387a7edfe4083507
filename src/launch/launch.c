/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The caller's side of a launch: its start, by one of the four lives of the child, and what can be done
 * with it then. */
#include "launch.h"

#include <sys/wait.h>

#include "base/causes.h"
#include "base/closed_streams.h"
#include "base/file.h"
#include "base/stream.h"
#include "child.h"
#include "plan/verify.h"

/* Makes copies, with numbers above 2, of the descriptors that become the child's 0, 1 and 2. */
static int open_stdio(struct child *c, const struct launch_params *params, struct nsrun_error *err) {
        int r = 0;

        if (!params->stdio)
                return 0;
        for (int i = 0; i <= 2 && r >= 0; i++) {
                if (params->stdio[i] >= 0)
                        r = c->b.facts.stdio[i] = fcntl(params->stdio[i], F_DUPFD_CLOEXEC, 3);
                else if (closed_streams_has(i))
                        /* In place of one that is neither given nor open in the caller: pid 1, which closes
                         * the command's streams, must not have a descriptor of its own under that number. */
                        r = c->b.facts.stdio[i] = null_open(O_RDWR, err);
        }
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, -errno, NULL,
                                 "the command's standard streams can't be had", NULL);
        return 0;
}

static int open_descriptors(struct child *c, int *ret_report, struct nsrun_error *err) {
        _cleanup_close_ int read_end = -EBADF;
        struct init *init = &c->b.facts.init;
        int ends[2], r;

        r = sys_pipe(ends);
        if (r >= 0) {
                read_end = ends[0];
                init->report_fd = ends[1];
                r = init->supervisor_fd = sys_pidfd_open(getpid());
        }
        if (r < 0)
                return r == -ENOSYS || r == -EPERM
                               ? error_cause(err,
                                             r == -EPERM ? NSRUN_ERROR_FILTER_PIDFD : NSRUN_ERROR_NO_PIDFD,
                                             r, NULL)
                               : error_cause_with(err, NSRUN_ERROR_NO_PIDFD, r, NULL, NULL);
        *ret_report = TAKE_FD(read_end);
        return 0;
}

static int launch_make(struct child *c, const struct child_life *life, struct launch *l,
                       struct nsrun_error *err) {
        sigset_t own;
        int r = life->refuses_folders ? child_refuse_folders(c, err) : 0;

        if (r >= 0 && life->has_control)
                r = child_open_control(c, l, err);
        if (r >= 0 && life->has_listener)
                r = child_open_listener(c, l, err);
        if (r >= 0)
                r = child_open_versions(c, l, err);
        if (r >= 0)
                r = life->describe(c, l, err);
        if (r >= 0)
                r = child_prepare(c, life->n_ours, err);
        if (r >= 0)
                r = child_write(c, err);
        if (r >= 0)
                r = child_block_signals(c, &own, err);
        if (r < 0)
                return r;
        r = life->make(c, l, err);
        (void)sys_sigmask(SIG_SETMASK, &own, NULL);
        return r < 0 && life->explain ? life->explain(c, r, err) : r;
}

int launch_start(const struct nsrun_plan *plan, const struct launch_params *params, struct launch *ret,
                 struct nsrun_error *err) {
        struct launch_params own = *params;
        _cleanup_(child_free) struct child c = CHILD_INIT;
        _cleanup_(launch_close) struct launch l = LAUNCH_INIT;
        int r;

        c.plan = plan;
        c.params = &own;
        r = params->grant ? 0 : plan_verify(plan, err);
        if (r >= 0)
                r = open_stdio(&c, &own, err);
        if (r >= 0)
                r = open_descriptors(&c, &l.report_fd, err);
        if (r >= 0)
                r = launch_make(&c,
                                plan->raw       ? &raw_life
                                : plan->join    ? &join_life
                                : plan->plain   ? &plain_life
                                : params->grant ? &grant_life
                                                : &own_life,
                                &l, err);
        if (r < 0)
                return r;
        *ret = l;
        l = LAUNCH_INIT;
        return 0;
}

int launch_receive_listener(const struct launch *l) {
        return sys_receive_fd(l->listener_socket);
}

int launch_receive_versions(const struct launch *l) {
        struct pollfd sent = {.fd = l->versions_socket, .events = POLLIN};

        if (l->versions_socket < 0)
                return -ENOENT;
        return sys_poll(&sent, 1, 0) == 1 ? sys_receive_fd(l->versions_socket) : -EPIPE;
}

void launch_close(struct launch *l) {
        /* The session's idle time begins now, unless another command runs in it. */
        if (l->activity_fd >= 0)
                records_touch(l->activity_fd);
        close_fdp(&l->activity_fd);
        close_fdp(&l->pidfd);
        close_fdp(&l->report_fd);
        close_fdp(&l->listener_socket);
        close_fdp(&l->versions_socket);
        close_fdp(&l->control_fd);
}

static int control_send(const struct launch *l, uint64_t what) {
        ssize_t n = sys_write(l->control_fd, &what, sizeof(what));

        return n < 0 ? (int)n : 0;
}

int launch_signal(const struct launch *l, int signal) {
        int r;

        if ((l->is_join || l->is_plain) && signal == SIGKILL)
                return control_send(l, CONTROL_END);
        r = sys_pidfd_send_signal(l->pidfd, signal);

        return l->pid > 0 && (r == -ENOSYS || r == -EPERM) ? sys_kill(l->pid, signal) : r;
}

void launch_release(const struct launch *l) {
        if (l->is_join)
                (void)control_send(l, CONTROL_RELEASE);
        else
                (void)launch_signal(l, SIGKILL);
}

int launch_end_when_empty(const struct launch *l) {
        return control_send(l, CONTROL_RELEASE);
}

int launch_terminate_all(const struct launch *l) {
        return control_send(l, CONTROL_TERMINATE);
}

int launch_wait(const struct launch *l) {
        struct pollfd end = {.fd = l->pidfd, .events = POLLIN};
        siginfo_t info = {.si_status = 0};

        while (sys_poll(&end, 1, -1) == -EINTR)
                ;
        /* The reaper of a nested command is a child of the session's pid 1, so that its status
         * can't be collected here.  But it reports its command's end before it ends itself: if it
         * hasn't, it was killed. */
        if (sys_waitid(P_PIDFD, (id_t)l->pidfd, &info, WEXITED) < 0)
                return l->is_nested ? SIGKILL : 0;
        return info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8 : info.si_status & 0x7f;
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
        if ((unsigned)report.error.id >= NSRUN_ERROR_COUNT)
                report.error.id = NSRUN_ERROR_OTHER;
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
