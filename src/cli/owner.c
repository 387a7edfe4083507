/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See owner.h. */
#include "owner.h"

#include <fcntl.h>
#include <sys/prctl.h>

#include "base/responds.h"
#include "base/str.h"
#include "base/sys.h"
#include "host/project.h"
#include "host/user.h"

/* The project, as far as it can be told before the configuration is read, which may be the owner's. */
static int find_others_project(const char *named, char **ret, struct nsrun_error *err) {
        _cleanup_free_ char *cwd = getcwd(NULL, 0);
        const char *start = named ? named : cwd;
        int r = start ? responds_in_time(AT_FDCWD, start, NULL, err) : 0;

        if (r < 0 || !start)
                return r;
        r = named ? 0 : project_find(cwd, getenv("HOME"), ret);
        if (named && !(*ret = strdup(named)))
                r = -ENOMEM;
        return r == -ENOMEM ? error_oom(err) : 0;
}

static bool is_others_alone(const struct stat *st) {
        return st->st_uid != 0 && S_ISDIR(st->st_mode) && !(st->st_mode & S_IWOTH) &&
               !(st->st_gid == getegid() && (st->st_mode & S_IWGRP));
}

/* Whether root may take the owner's id, and the owner gets there. */
static bool owner_can_write(const char *project, uid_t owner) {
        bool can;

        if (seteuid(owner) < 0)
                return false;
        can = faccessat(AT_FDCWD, project, W_OK | X_OK, AT_EACCESS) == 0;
        if (seteuid(0) < 0)
                abort();
        return can;
}

static int take_ids_of(const struct stat *st, const char *project, struct nsrun_error *err) {
        int r = sys_set_groups(NULL, 0);

        if (r >= 0)
                r = sys_set_gid(st->st_gid);
        if (r >= 0)
                r = sys_set_uid(st->st_uid);
        /* A process that has changed its ids can't write the maps of its user namespace. */
        if (r >= 0)
                r = sys_prctl(PR_SET_DUMPABLE, 1, 0);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_POLICY, r, project,
                                 "root can't take the ids of the project's owner",
                                 "start nsrun as that user");
        return 0;
}

static void leave_others_folders(uid_t owner) {
        static const char *const names[] = {"HOME",          "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
                                            "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                const char *folder = getenv(names[i]);
                struct stat st;

                if (folder && (stat(folder, &st) < 0 || st.st_uid != owner))
                        (void)unsetenv(names[i]);
        }
}

int owner_become(const char *named, struct nsrun_error *err) {
        _cleanup_free_ char *project = NULL, *visible = NULL;
        struct stat st;
        bool can;
        int r;

        if (geteuid() != 0)
                return 0;
        r = find_others_project(named, &project, err);
        if (r < 0 || !project || stat(project, &st) < 0 || !is_others_alone(&st))
                return r;
        visible = str_visible(project);
        if (!visible)
                return error_oom(err);
        can = owner_can_write(project, st.st_uid);
        r = can ? take_ids_of(&st, project, err) : 0;
        if (r < 0)
                return r;
        if (can)
                leave_others_folders(st.st_uid);
        (void)fprintf(
                stderr,
                can ? "nsrun: note: root has no power over others' files in a sandbox: as the "
                      "project's owner, %u: %s\n"
                    : "nsrun: note: root has no power over others' files in a sandbox: the command can't "
                      "write the project, which is %u's: %s; start nsrun as that user\n",
                (unsigned)st.st_uid, visible);
        return 0;
}
