/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Folders of an agent's that aren't there yet, made before it starts: what it writes there is to stay. */
#include <fcntl.h>
#include <sys/stat.h>

#include "agent_state.h"
#include "base/beneath.h"
#include "base/path.h"

/* Makes a folder in the project, through no symlink. */
static int make_in_project(const char *project, const char *path, char ***made) {
        _cleanup_close_ int fd = open(project, O_PATH | O_DIRECTORY | O_CLOEXEC);
        size_t n = strlen(project) + 1;
        int r = fd < 0 ? -errno : 0;

        while (r >= 0 && n < strlen(path)) {
                size_t length = strcspn(path + n, "/");
                _cleanup_free_ char *name = strndup(path + n, length), *whole = strndup(path, n + length);

                if (!name || !whole)
                        return -ENOMEM;
                if (mkdirat(fd, name, 0777) == 0)
                        r = strv_add(made, whole);
                else if (errno != EEXIST)
                        r = -errno;
                if (r >= 0) {
                        int next = beneath_open(fd, name, O_PATH | O_DIRECTORY, 0);

                        close_fdp(&fd);
                        r = fd = next;
                }
                n += length + 1;
        }
        return r < 0 ? r : 0;
}

int carried_make(const struct nsrun_plan *plan, struct carried *ret, struct nsrun_error *err) {
        for (size_t i = 0; i < plan->n_ops && !plan->join; i++) {
                const struct plan_op *op = &plan->ops[i];
                int r;

                if ((op->origin != PLAN_BY_AGENT && op->origin != PLAN_BY_STATE) || !op->is_directory ||
                    access(op->source, F_OK) == 0)
                        continue;
                r = plan->project && path_is_beneath(op->source, plan->project)
                            ? make_in_project(plan->project, op->source, &ret->made)
                            : rundir_make_folders(op->source);
                if (r < 0)
                        return error_set(err, NSRUN_STAGE_WORKSPACE, r, op->source,
                                         "a folder of the agent's can't be made",
                                         "make it, or leave --agent out");
        }
        return 0;
}
