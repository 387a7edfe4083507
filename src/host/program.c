/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds programs.  Folders of PATH that are a person's own (~/bin, a virtual environment's) are
 * left out: a command may have written to those of a project.  To use a program there, name it by
 * its path. */
#include "program.h"

#include "base/path.h"
#include "base/str.h"
#include "base/sys.h"

static bool entry_is_roots(const char *path) {
        struct stat st;

        if (lstat(path, &st) < 0 || st.st_uid != 0)
                return false;
        /* In a folder with the sticky bit nobody else can replace an entry of root's. */
        return S_ISLNK(st.st_mode) || !(st.st_mode & (S_IWGRP | S_IWOTH)) ||
               (S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX));
}

/* Whether `path` and every folder above it are root's and can be written by root alone. */
static bool is_roots(const char *path) {
        _cleanup_free_ char *at = strdup(path);

        for (size_t n = at ? strlen(at) : 0; n > 1; n--) {
                if (path[n] != '\0' && path[n] != '/')
                        continue;
                at[n] = '\0';
                if (!entry_is_roots(at))
                        return false;
        }
        return at && entry_is_roots("/");
}

/* Whether `path` is in a folder of the system's programs.  For root it isn't enough that a file is
 * root's: its projects' files are, too. */
static bool is_systems(const char *path) {
        static const char *const folders[] = {"/bin", "/sbin", "/usr", "/nix", "/gnu", "/snap"};

        return path_is_beneath_any(path, folders, ARRAY_SIZE(folders));
}

/* 1: `path` is a program that nsrun may start; 0: not; -ENOMEM. */
static int program_try(const char *path, char **ret) {
        _cleanup_free_ char *canonical = NULL;
        unsigned mode;
        int r;

        r = path_canonical(path, &canonical, &mode);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        if (sys_is_executable(canonical) < 0 || (mode & S_IFMT) != S_IFREG || !is_roots(path) ||
            !is_roots(canonical) || (geteuid() == 0 && !is_systems(canonical)))
                return 0;
        *ret = TAKE_PTR(canonical);
        return 1;
}

int program_find(const char *name, char **ret) {
        const char *at = getenv("PATH");
        int r = 0;

        if (!at)
                at = "/usr/bin:/bin";
        for (size_t n; *at && r == 0; at += n + (at[n] == ':')) {
                _cleanup_free_ char *path = NULL;

                n = strcspn(at, ":");
                if (*at != '/') /* a folder relative to the working directory, which mostly is the project */
                        continue;
                path = str_format("%.*s/%s", (int)n, at, name);
                if (!path)
                        return -ENOMEM;
                r = program_try(path, ret);
        }
        return r > 0 ? 0 : r < 0 ? r : -ENOENT;
}

int program_package(const char *canonical, char **ret) {
        static const char modules[] = "/node_modules/";
        const char *end = strstr(canonical, modules);
        _cleanup_free_ char *folder = path_parent(canonical), *above = folder ? path_parent(folder) : NULL,
                            *mark = above ? path_join(above, "pyvenv.cfg") : NULL, *found = NULL;

        *ret = NULL;
        if (!mark)
                return -ENOMEM;
        if (end)
                *ret = strndup(canonical, (size_t)(end - canonical) + strlen(modules) - 1);
        else if (streq(path_basename(folder), "bin") && path_canonical(mark, &found, NULL) >= 0)
                *ret = TAKE_PTR(above);
        return end && !*ret ? -ENOMEM : 0;
}
