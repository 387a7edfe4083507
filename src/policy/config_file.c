/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Configuration files: found, opened with suspicion, and read. */
#include "base/file.h"
#include "base/path.h"
#include "base/responds.h"
#include "config.h"
#include "host/user.h"
#include "refusal.h"
#include "withheld.h"

#define MOST_BYTES ((size_t)1 << 20)

/* Refuses a configuration that somebody else could change. */
static int check_file(int fd, const char *file, struct nsrun_error *err) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return error_set(err, NSRUN_STAGE_POLICY, -errno, file, "the configuration can't be read",
                                 NULL);
        if (!S_ISREG(st.st_mode))
                return error_set(err, NSRUN_STAGE_POLICY, -EINVAL, file,
                                 "the configuration is no plain file", "--no-config does without");
        if (st.st_uid != 0 && st.st_uid != geteuid())
                return error_set(err, NSRUN_STAGE_POLICY, UNSAID(-EPERM), file,
                                 "the configuration is somebody else's file",
                                 "it must be yours or root's; --no-config does without");
        return policy_refuse_writers(fd, &st, file, "the configuration", err);
}

/* Keeps the canonical path of the configuration that was opened, and the path by which it was
 * named.  Whether a command may write either is judged when all writable roots are known (symlinks.c). */
static int remember_file(struct nsrun_policy *p, int fd, const char *file, struct nsrun_error *err) {
        _cleanup_free_ char *canonical = NULL, *spelled = NULL, *cwd = NULL;
        struct stat opened, named;

        if (path_canonical(file, &canonical, NULL) < 0 || stat(canonical, &named) < 0 ||
            fstat(fd, &opened) < 0 || named.st_dev != opened.st_dev || named.st_ino != opened.st_ino)
                return error_set(err, NSRUN_STAGE_POLICY, -EAGAIN, file,
                                 "the configuration changes while nsrun looks", NULL);
        if (path_is_absolute(file))
                spelled = strdup(file);
        else if ((cwd = getcwd(NULL, 0)))
                spelled = str_format("%s/%s", cwd, file);
        if (!spelled)
                return error_oom(err);
        p->config = TAKE_PTR(canonical);
        p->config_spelled = TAKE_PTR(spelled);
        return 0;
}

static int load_open(struct nsrun_policy *p, int fd, const char *file, struct nsrun_error *err) {
        _cleanup_free_ char *text = NULL;
        int r = check_file(fd, file, err);

        if (r >= 0)
                r = remember_file(p, fd, file, err);
        if (r < 0)
                return r;
        r = read_small_fd(fd, MOST_BYTES, &text);
        if (r == -EFBIG || r == -EBADMSG)
                return error_set(err, NSRUN_STAGE_POLICY, UNSAID(r), file,
                                 r == -EFBIG ? "the configuration is larger than 1 MiB"
                                             : "there is a NUL in the configuration",
                                 NULL);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_POLICY, r, file, "the configuration can't be read", NULL);
        return config_apply(p, file, text, err);
}

/* Where nobody answers *err is filled. */
static int open_file(const char *file, struct nsrun_error *err) {
        int fd = responds_open(AT_FDCWD, file, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

        return fd == -ETIMEDOUT ? responds_fail(fd, file, err) : fd;
}

int config_load(struct nsrun_policy *p, const char *file, struct nsrun_error *err) {
        _cleanup_free_ char *fix = NULL;
        _cleanup_close_ int fd = -EBADF;

        if (p->config)
                return error_set(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), file, "a second configuration",
                                 "keep one of them");
        fd = open_file(file, err);
        if (fd == -ETIMEDOUT)
                return fd;
        if (fd < 0) {
                fix = refuse_closed_fix(fd, file);
                return error_set(err, NSRUN_STAGE_POLICY, fd, file, "the configuration can't be opened",
                                 fix);
        }
        return load_open(p, fd, file, err);
}

int config_check(const char *file, struct nsrun_error *err) {
        struct nsrun_policy *policy = NULL;
        int r = nsrun_policy_new(&policy);

        if (r < 0)
                return error_oom(err);
        policy->checks_sections = true;
        r = config_load(policy, file, err);
        (void)nsrun_policy_free(policy);
        return r;
}

int config_find_user_file(const struct nsrun_policy *p, char **ret) {
        const char *folder = environment_get(environment_inherited(p), "XDG_CONFIG_HOME");
        _cleanup_free_ char *home = NULL;
        int r;

        if (folder && path_is_absolute(folder)) {
                *ret = path_join(folder, "nsrun/config.json");
                return *ret ? 0 : -ENOMEM;
        }
        r = user_find_home(environment_get(environment_inherited(p), "HOME"), &home);
        if (r < 0 || !home)
                return r;
        *ret = path_join(home, ".config/nsrun/config.json");
        return *ret ? 0 : -ENOMEM;
}

int config_refuse_profile(const struct nsrun_policy *p, struct nsrun_error *err) {
        if (!p->profiles || p->config)
                return 0;
        return error_set(err, NSRUN_STAGE_POLICY, UNSAID(-EINVAL), p->profiles[0],
                         "no configuration has such a profile",
                         "--profile takes code, instance, or a name in a configuration's \"profiles\"");
}

/* Whether the file, or its folder, is a symlink that leads nowhere: somebody meant a configuration
 * to be there, so that going without it would be wrong. */
static bool is_dangling(const char *file) {
        _cleanup_free_ char *folder = path_parent(file);
        struct stat st;

        if (!folder || lstat(folder, &st) < 0)
                return false;
        return (S_ISLNK(st.st_mode) && stat(folder, &st) < 0) ||
               (lstat(file, &st) == 0 && S_ISLNK(st.st_mode));
}

static int refuse_unopened_config(int r, const char *file, struct nsrun_error *err) {
        _cleanup_free_ char *mode_fix = refuse_closed_fix(r, file),
                            *fix = mode_fix ? str_concat(mode_fix, "; --no-config does without", "") : NULL;

        return error_set(err, NSRUN_STAGE_POLICY, r, file, "the configuration can't be opened",
                         fix            ? fix
                         : r == -ENOENT ? "a symlink there leads nowhere; --no-config does without"
                                        : "--no-config does without");
}

nsrun_public int nsrun_policy_find_config(struct nsrun_policy *p, struct nsrun_error *err) {
        _cleanup_free_ char *user = NULL;
        const char *files[2];

        if (p->config)
                return 0;
        if (p->no_config)
                return config_refuse_profile(p, err);
        if (config_find_user_file(p, &user) < 0)
                return error_oom(err);
        files[0] = user;
        files[1] = CONFIG_SYSTEM_FILE;
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                _cleanup_close_ int fd = files[i] ? open_file(files[i], err) : -ENOENT;

                if (fd == -ETIMEDOUT)
                        return fd;
                if ((fd == -ENOENT || fd == -ENOTDIR) && !(files[i] && is_dangling(files[i])))
                        continue;
                if (fd < 0)
                        return refuse_unopened_config(fd, files[i], err);
                return load_open(p, fd, files[i], err);
        }
        return config_refuse_profile(p, err);
}
