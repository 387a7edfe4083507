/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How much of a disk a folder takes, which somebody hostile may be filling. */
#pragma once

#include "base/macro.h"

/* More files than these aren't looked at, nor what is deeper. */
#define OCCUPIED_FILES_MOST 10000
#define OCCUPIED_DEPTH_MOST 64

struct occupied {
        uint64_t bytes; /* of files with several names as much for each as makes one file of all */
        bool is_more;   /* there is more than could be looked at */
};

/* Adds up all that lies in the folder `path` and on its file system; no symlink is followed.  openat2(2)'s
 * -errno. */
int occupied_by(const char *path, struct occupied *ret);
