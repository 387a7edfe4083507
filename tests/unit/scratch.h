/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A folder of its own for a test that needs files, and the few ways of filling
 * one.  Removal goes through rm(1), never through the code that is tested. */
#pragma once

#include "../test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* The folder's canonical path, since tests compare it with what the kernel says. */
static inline char *scratch_make(void) {
        const char *parent = getenv("TMPDIR");
        char *pattern = NULL, *path;

        assert_true(asprintf(&pattern, "%s/nsrun-test-XXXXXX", parent && *parent ? parent : "/tmp") > 0);
        assert_non_null(mkdtemp(pattern));
        path = realpath(pattern, NULL);
        assert_non_null(path);
        free(pattern);
        return path;
}

static inline void scratch_remove(char *path) {
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                (void)execl("/bin/sh", "sh", "-c", "chmod -R u+rwx -- \"$1\"; rm -rf -- \"$1\"", "sh", path,
                            NULL);
                _exit(127);
        }
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(access(path, F_OK), -1);
        free(path);
}

/* folder/name, for the caller to free. */
static inline char *scratch_path(const char *folder, const char *name) {
        size_t n = strlen(folder) + 1 + strlen(name) + 1;
        char *path = malloc(n);

        assert_non_null(path);
        (void)snprintf(path, n, "%s/%s", folder, name);
        return path;
}

/* Makes folder/name and what is missing on the way. */
static inline void scratch_folder(const char *folder, const char *name) {
        char *path = scratch_path(folder, name);

        for (char *slash = path + strlen(folder); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
                *slash = '/';
        }
        assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
        free(path);
}

/* Makes folder/name, with the folders on the way, holding `text`. */
static inline void scratch_file(const char *folder, const char *name, const char *text) {
        const char *slash = strrchr(name, '/');
        char *path = scratch_path(folder, name);
        size_t n = strlen(text);
        int fd;

        if (slash) {
                char *parent = strndup(name, (size_t)(slash - name));

                assert_non_null(parent);
                scratch_folder(folder, parent);
                free(parent);
        }
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, n), n);
        (void)close(fd);
        free(path);
}

static inline void scratch_link(const char *folder, const char *name, const char *text) {
        char *path = scratch_path(folder, name);

        assert_int_equal(symlink(text, path), 0);
        free(path);
}

/* Whether folder/name exists, a dangling symlink included. */
static inline bool scratch_has(const char *folder, const char *name) {
        char *path = scratch_path(folder, name);
        struct stat st;
        bool has = lstat(path, &st) == 0;

        free(path);
        return has;
}

static inline int scratch_open(const char *path) {
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_true(fd >= 0);
        return fd;
}
