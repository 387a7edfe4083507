/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Git repositories that a command has made, or changed where nothing was protected: they are its own, and
 * lose what git obeys in them. */
#pragma once

#include <sys/stat.h>
#include <time.h>

#include "base/error.h"

struct repositories {
        int versions;          /* the folder that the command had at PLAN_PRIVATE; -EBADF: none */
        struct timespec since; /* when the command began */
        /* Whether the git dir at `path` is one whose parts are protected, all that git obeys. */
        bool (*is_known)(void *data, const char *path);
        /* Whether the .git of the folder `path` is the one that was there when the run began, or
         * --no-protect leaves it open; of NULL, whether `path` is such a git dir. */
        bool (*was_there)(void *data, const char *path, const struct stat *st);
        /* Whether repositories_look() is called of that folder, too. */
        bool (*is_looked_at)(void *data, const char *path);
        /* Opens a folder, O_PATH, beneath one that the command could write to; `path` is not normalised, and
         * symlinks that stay beneath are followed.  -ENOENT: it isn't there; -EXDEV: it is elsewhere. */
        int (*open)(void *data, const char *path);
        /* Whether the folder at `path`, which open() has opened, or one on the way to it from there, has
         * changed since the run began. */
        bool (*is_way_young)(void *data, const char *path);
        int (*found)(void *data, const struct nsrun_error *note);
        void *data; /* of all these */
};

/* Moves aside what the folder itself carries, and tells of it: a descriptor of `path` that may be O_PATH,
 * and of the repositories below it where host/subrepositories.h finds them, bare ones too; some of many; and
 * of all their submodules' git dirs, where git keeps them.  0 or -errno. */
int repositories_look(const struct repositories *r, int folder, const char *path);
/* Whether what `name` leads to below a folder, or one on the way to it, has changed since then. */
bool repositories_way_is_young(const struct timespec *since, int folder, const char *name);
