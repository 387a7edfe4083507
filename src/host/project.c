/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a project begins, and which folders can't be one: a guard against a slip of the hand that
 * would expose a whole system or a whole home.  What a sandbox may reach is decided by its rules,
 * not here. */
#include "project.h"

#include <sys/stat.h>

#include "base/path.h"
#include "base/str.h"

/* Folders that can't be a project, while those in them can: /usr/src/x and /tmp/x may be one. */
static const char *const system_roots[] = {
        "/",          "/bin",         "/boot",       "/dev",         "/etc",           "/home",
        "/lib",       "/lib32",       "/lib64",      "/libx32",      "/lost+found",    "/media",
        "/mnt",       "/nix",         "/opt",        "/proc",        "/root",          "/run",
        "/run/lock",  "/run/user",    "/sbin",       "/snap",        "/srv",           "/sys",
        "/tmp",       "/usr",         "/usr/bin",    "/usr/include", "/usr/lib",       "/usr/lib32",
        "/usr/lib64", "/usr/libexec", "/usr/libx32", "/usr/local",   "/usr/local/bin", "/usr/local/lib",
        "/usr/sbin",  "/usr/share",   "/var",        "/var/cache",   "/var/lib",       "/var/log",
        "/var/mail",  "/var/run",     "/var/spool",  "/var/tmp",
};

/* Trees in which no folder can be a project. */
static const char *const system_trees[] = {"/boot", "/dev", "/etc", "/proc", "/sys"};

/* Trees in which no folder can be writable: a write there changes the kernel's state. */
static const char *const kernel_trees[] = {"/dev", "/proc", "/sys"};

/* Whether `path` is a direct child: of /home a home, of /run/user a folder with a user's sockets. */
static bool is_child_of(const char *path, const char *parent) {
        const char *name = path_below(path, parent);

        return name && *name && !strchr(name, '/');
}

/* `ret_is_plain`: its .git is a folder, and no symlink leads there. */
static bool has_git(const char *folder, bool *ret_is_plain, int *ret_r) {
        _cleanup_free_ char *dot_git = path_join(folder, ".git");
        _cleanup_free_ char *canonical = NULL;
        unsigned mode = 0;
        int r = dot_git ? path_canonical(dot_git, &canonical, &mode) : -ENOMEM;

        if (r == -ENOMEM)
                *ret_r = r;
        *ret_is_plain = r >= 0 && S_ISDIR(mode) && streq(canonical, dot_git);
        return r == -ETIMEDOUT || (r >= 0 && (S_ISDIR(mode) || S_ISREG(mode)));
}

bool project_has_git(const char *folder) {
        bool is_plain;
        int r = 0;

        return has_git(folder, &is_plain, &r);
}

static const char *home_denied(const char *path, const char *home) {
        if (streq(path, home))
                return "a home folder";
        return path_is_beneath(home, path) ? "a folder that holds a home folder" : NULL;
}

const char *project_denied(const char *path, const char *home) {
        _cleanup_free_ char *spelled = NULL, *canonical = NULL;
        const char *why = NULL;

        if (is_child_of(path, "/home") || streq(path, "/root"))
                return "a home folder";
        if (STR_IS_ANY(path, system_roots))
                return "a system root";
        if (path_is_beneath_any(path, system_trees, ARRAY_SIZE(system_trees)))
                return "a folder of the system";
        if (is_child_of(path, "/run/user"))
                return "a runtime folder";
        if (!home || !path_is_absolute(home))
                return NULL;

        /* $HOME may go through a symlink, while `path` is canonical: both forms are compared.  What a
         * canonical path begins with is canonical, too. */
        spelled = path_normalise(home);
        if (spelled)
                why = home_denied(path, spelled);
        if (!why && !(spelled && path_is_beneath(path, spelled)) &&
            path_canonical(home, &canonical, NULL) == 0)
                why = home_denied(path, canonical);
        return why;
}

int project_find_git(const char *start, const char *home, char **ret, bool *ret_is_plain,
                     bool *ret_has_none) {
        _cleanup_free_ char *folder = strdup(start);
        int r = 0;

        if (!folder)
                return -ENOMEM;
        while (!*ret_has_none && !has_git(folder, ret_is_plain, &r)) {
                if (r < 0)
                        return r;
                *ret_has_none = !path_up(folder);
        }
        if (streq(folder, "/") || project_denied(folder, home)) {
                *ret_is_plain &= streq(folder, start);
                free(folder);
                folder = strdup(start);
                if (!folder)
                        return -ENOMEM;
        }
        *ret = TAKE_PTR(folder);
        return 0;
}

int project_find(const char *start, const char *home, char **ret) {
        bool is_plain, has_none = false;

        return project_find_git(start, home, ret, &is_plain, &has_none);
}

bool project_home_is_systems(const char *home) {
        bool is_in_usr = path_is_beneath(home, "/usr");
        struct stat st;

        if (!is_in_usr && !path_is_beneath(home, "/opt"))
                return false;
        return stat(home, &st) < 0 || (is_in_usr && (st.st_uid == 0 || st.st_uid != geteuid()));
}

const char *writable_denied(const char *path) {
        if (STR_IS_ANY(path, system_roots))
                return "a system root";
        if (path_is_beneath_any(path, kernel_trees, ARRAY_SIZE(kernel_trees)))
                return "a folder of the kernel's";
        return NULL;
}
