/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Git repositories that a command has made, or changed where nothing was protected: they are its own, and
 * are told where they carry what git obeys. */
#pragma once

#include <time.h>

#include "base/error.h"

struct repositories {
        struct timespec since;                          /* when the command began */
        bool (*is_known)(void *data, const char *path); /* a repository whose names are protected */
        int (*found)(void *data, const struct nsrun_error *note);
        void *data; /* of both */
};

/* Tells of the folder itself, a descriptor of `path` that may be O_PATH, where !is_known, and of the
 * repositories below it where host/nested.h finds them; some of many.  0 or -errno. */
int repositories_look(const struct repositories *r, int folder, const char *path);
