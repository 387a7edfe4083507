/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The life of a command without a sandbox: a
 * reaper on the host, and the command as the caller itself would have started it.  So pipes,
 * signals, deadlines and ends are as in a sandbox; nothing else is. */
#include <sys/prctl.h>

#include "init_handover.h"

static int plain_settle(struct builder *b) {
        const struct boundary_facts *f = &b->b.facts;
        const struct init *init = &b->reaper.init;
        const int own[] = {init->report_fd, init->supervisor_fd, init->control_fd, f->init_fd,
                           f->init_data_fd};
        struct nsrun_error *err = &b->reaper.error;
        int r = f->joins_cgroup ? builder_join_cgroup(b) : 0;

        if (r >= 0)
                r = BUILDER_CLOSE_DESCRIPTORS(b, own);
        if (r < 0)
                return r;
        r = sys_prctl(PR_SET_CHILD_SUBREAPER, 1, 0);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "the command's reaper can't be one",
                                 NULL);
        r = sys_chdir(b->b.cwd);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_EXEC, r, b->b.cwd,
                                 "the command's working directory can't be entered", NULL);
        return 0;
}

nsrun_no_asan _Noreturn void plain_run(struct builder *b) {
        int r = builder_take_descriptors(b);

        b->reaper.init.umask = umask(0);
        if (r >= 0)
                r = plain_settle(b);
        if (r >= 0 && b->b.facts.init_fd >= 0)
                r = init_exec(b);
        if (r < 0)
                report_failure(b->reaper.init.report_fd, -1, &b->reaper.error);
        init_finish(&b->reaper);
}
