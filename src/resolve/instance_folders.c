/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which folders an instance has.  Only instance_make() changes anything. */
#include "instance_folders.h"

#include <fcntl.h>

#include "base/path.h"
#include "base/responds.h"
#include "base/sys.h"
#include "host/project.h"
#include "policy/refusal.h"

#define WORKSPACE "workspace"
static const char *const dirs[INSTANCE_N_DIRS] = {
        NULL, /* the root itself */
        "skills",
        "logs",
        "cache",
        "state",
        WORKSPACE,
        "runtime-user-env",
        INSTANCE_HOME,
        "runtime-user-env/tmp",
        "runtime-user-env/config",
        "runtime-user-env/cache",
        "runtime-user-env/state",
};

static const struct {
        const char *name;
        const char *below;
} variables[] = {
        {"HOME", INSTANCE_HOME},
        {"TMPDIR", "runtime-user-env/tmp"},
        {"XDG_CONFIG_HOME", "runtime-user-env/config"},
        {"XDG_CACHE_HOME", "runtime-user-env/cache"},
        {"XDG_STATE_HOME", "runtime-user-env/state"},
};

const char *instance_dir(size_t i) {
        return dirs[i];
}

/* A folder of the instance's that somebody names, and by what. */
struct named_folder {
        const char *what, *options;
};

static const struct named_folder the_root = {"the instance root", "--instance DIR or NSRUN_HOME"};
static const struct named_folder the_workspace = {"the instance's workspace", "--instance-workspace DIR"};

static int refuse_named(const struct named_folder *folder, const char *path, const char *what,
                        struct nsrun_error *err) {
        char hint[96];

        (void)snprintf(hint, sizeof(hint), "name an absolute path with %s", folder->options);
        return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), path, hint, "%s %s", folder->what, what);
}

static int find_named(const struct named_folder *folder, const char *named, const char *home, char **ret,
                      char **ret_spelled, struct nsrun_error *err) {
        _cleanup_free_ char *spelled = NULL, *canonical = NULL;
        const char *reason;
        char hint[96];
        int r;

        if (!path_is_absolute(named))
                return refuse_named(folder, named, "is relative", err);
        spelled = path_normalise(named);
        r = spelled ? path_canonical_to_be(spelled, &canonical) : -ENOMEM;
        if (r < 0)
                return responds_fail(r, named, err);
        reason = project_denied(canonical, home);
        (void)snprintf(hint, sizeof(hint), "choose a folder with %s", folder->options);
        if (reason)
                return policy_refuse(err, canonical, hint, "%s can't be %s", reason, folder->what);
        *ret = TAKE_PTR(canonical);
        if (ret_spelled)
                *ret_spelled = TAKE_PTR(spelled);
        return 0;
}

int instance_find_root(const char *asked, char *const *environment, const char *home, char **ret,
                       char **ret_spelled, struct nsrun_error *err) {
        const char *named = asked ? asked : environment_get(environment, "NSRUN_HOME");
        _cleanup_free_ char *usual = NULL;

        if (!(named && *named)) {
                if (!home)
                        return refuse_named(&the_root, NULL, "can't be told: nobody knows your home folder",
                                            err);
                named = usual = path_join(home, ".nsrun");
        }
        return named ? find_named(&the_root, named, home, ret, ret_spelled, err) : error_oom(err);
}

int instance_find_workspace(struct resolved *s, struct nsrun_error *err) {
        const char *named = s->policy->instance_workspace;

        return named ? find_named(&the_workspace, named, s->home, &s->instance.workspace, NULL, err) : 0;
}

int instance_find_start(const struct resolved *s, char **ret) {
        _cleanup_free_ char *here = NULL;
        int r = s->cwd ? path_canonical(s->cwd, &here, NULL) : -ENOENT;

        if (s->instance.workspace && r != -ENOMEM &&
            (r < 0 || !path_is_beneath(here, s->instance.workspace)))
                return (*ret = strdup(s->instance.workspace)) ? 0 : -ENOMEM;
        *ret = TAKE_PTR(here);
        return r;
}

int instance_environment(const char *root, char ***ret) {
        _cleanup_strv_ char **list = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
                if (strv_consume(&list,
                                 str_format("%s=%s/%s", variables[i].name, root, variables[i].below)) < 0)
                        return -ENOMEM;
        *ret = TAKE_PTR(list);
        return 0;
}

/* Opens the folder `name` in `parent`, which is made if it is missing.  -ELOOP if it is a symlink. */
static int instance_make_one(int parent, const char *name, int *ret) {
        const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW;
        struct stat st;
        int fd = sys_open(parent, name, flags, 0);

        if (fd == -ENOENT) {
                int r = sys_mkdirat(parent, name, 0755);

                if (r < 0 && r != -EEXIST)
                        return r;
                fd = sys_open(parent, name, flags, 0);
        }
        /* open(2) with O_DIRECTORY and O_NOFOLLOW fails with ENOTDIR for a symlink as for a file. */
        if (fd == -ENOTDIR && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
                return -ELOOP;
        if (fd < 0)
                return fd;
        *ret = fd;
        return 0;
}

/* Opens `path` below the folder `from` and makes each of its parts that is missing. */
static int make_all(int from, const char *path, int *ret) {
        _cleanup_close_ int here = -EBADF;
        _cleanup_free_ char *copy = strdup(path);
        char *name, *next = copy;
        int r;

        if (!copy)
                return -ENOMEM;
        while ((name = strsep(&next, "/"))) {
                int fd = -EBADF;

                if (!*name)
                        continue;
                r = instance_make_one(here >= 0 ? here : from, name, &fd);
                if (r < 0)
                        return r;
                close_fdp(&here);
                here = fd;
        }
        *ret = TAKE_FD(here);
        return 0;
}

int instance_make(const char *path, bool is_folder, const char *what, struct nsrun_error *err) {
        _cleanup_close_ int top = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0), folder = -EBADF,
                            file = -EBADF;
        _cleanup_free_ char *parent = is_folder ? strdup(path) : path_parent(path);
        int r;

        if (!parent)
                return error_oom(err);
        r = top < 0 ? top : make_all(top, parent, &folder);
        if (r >= 0 && !is_folder) {
                file = sys_open(folder, path_basename(path), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0644);
                r = file == -EEXIST ? 0 : file;
        }
        return r >= 0 ? 0
                      : error_setf(err, NSRUN_STAGE_WORKSPACE, r, path,
                                   r == -ELOOP || r == -ENOTDIR
                                           ? "something else is there, which a command may have put there: "
                                             "remove it"
                                           : NULL,
                                   "%s can't be made", what);
}

int instance_make_dirs(const char *root, const char *workspace, struct nsrun_error *err) {
        int r = 0;

        for (size_t i = 0; i < INSTANCE_N_DIRS && r >= 0; i++) {
                bool is_elsewhere = workspace && dirs[i] && streq(dirs[i], WORKSPACE);
                _cleanup_free_ char *path =
                        is_elsewhere ? strdup(workspace) : path_join(root, dirs[i] ? dirs[i] : ".");

                r = path ? instance_make(path, true, dirs[i] ? "a folder of the instance" : the_root.what,
                                         err)
                         : error_oom(err);
        }
        return r;
}
