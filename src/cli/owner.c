/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See owner.h. */
#include "owner.h"

#include <fcntl.h>

#include "base/responds.h"
#include "base/str.h"
#include "host/project.h"

/* The project, as far as it can be told before the configuration is read. */
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

int owner_tell(const char *named, struct nsrun_error *err) {
        _cleanup_free_ char *project = NULL, *visible = NULL;
        struct stat st;
        int r;

        if (geteuid() != 0)
                return 0;
        r = find_others_project(named, &project, err);
        if (r < 0 || !project || stat(project, &st) < 0 || !is_others_alone(&st))
                return r;
        visible = str_visible(project);
        if (!visible)
                return error_oom(err);
        (void)fprintf(
                stderr,
                "nsrun: note: root has no power over others' files in a sandbox: the command can't write the "
                "project, which is %u's: %s; start nsrun as that user: setpriv --reuid=%u --regid=%u "
                "--clear-groups env -u HOME nsrun\n",
                (unsigned)st.st_uid, visible, (unsigned)st.st_uid, (unsigned)st.st_uid);
        return 0;
}
