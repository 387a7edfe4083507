/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session's root folder as a workspace. */
#include "view.h"

#include <fcntl.h>

#include "base/beneath.h"
#include "base/sys.h"
#include "session.h"
#include "workspace/workspace.h"

/* Pid 1's root.  The pidfd is asked afterwards whether pid 1 still lives: the number was its own all the
 * time then. */
static int view_open_root(const struct plan_record *record, int *ret) {
        _cleanup_close_ int init = record_open_process(&record->init), root = -EBADF;
        char path[64];
        int r;

        if (init < 0)
                return init;
        (void)snprintf(path, sizeof(path), "/proc/%d/root", (int)record->init.pid);
        root = sys_open(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
        if (root < 0)
                return root;
        r = sys_pidfd_send_signal(init, 0);
        if (r < 0)
                return r;
        *ret = TAKE_FD(root);
        return 0;
}

static int view_make(const struct plan_record *record, struct nsrun_workspace **ret,
                     struct nsrun_error *err) {
        const char *project = record->plan->project ? record->plan->project : POLICY_NO_PROJECT_DIR;
        struct nsrun_workspace *w = calloc(1, sizeof(*w));
        int root = -EBADF, folder = -EBADF, r;

        if (!w)
                return error_oom(err);
        w->rundir = RUNDIR_INIT;
        r = view_open_root(record, &root);
        if (r >= 0)
                r = folder = beneath_open(root, project + 1, O_PATH | O_DIRECTORY, 0);
        if (r < 0) {
                close_fdp(&root);
                r = error_set(err, NSRUN_STAGE_SUPERVISE, r, record->id,
                              r == -ESRCH ? "the session has ended" : "the session can't be looked into",
                              NULL);
        } else {
                r = workspace_add_opened(&w->roots, WORKSPACE_WRITE, folder, project, err);
                if (r >= 0)
                        r = workspace_add_opened(&w->roots, WORKSPACE_WRITE, root, "/", err);
                else
                        close_fdp(&root);
        }
        if (r < 0)
                (void)nsrun_workspace_free(w);
        else
                *ret = w;
        return r;
}

int session_view(const char *id, struct nsrun_workspace **ret, struct nsrun_error *err) {
        struct record_folder folder = RECORD_FOLDER_INIT;
        struct plan_record record = {.id = NULL};
        int r = session_read(id, &folder, &record, err);

        if (r >= 0)
                r = view_make(&record, ret, err);
        record_clear(&record);
        records_close(&folder);
        return r;
}
