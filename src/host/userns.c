/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "userns.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
        LINE_SIZE = 128
};

/* The initial user namespace's map, in which every id is itself. */
static bool has_every_id(const char *map) {
        unsigned long first = 1, outer = 1, count = 0;

        return sscanf(map, "%lu %lu %lu", &first, &outer, &count) == 3 && first == 0 && outer == 0 &&
               count == UINT32_MAX;
}

/* The first line of a file of /proc, which has no size by stat(2). */
static bool userns_read(const char *path, char line[static LINE_SIZE]) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, line, LINE_SIZE - 1);

        line[n < 0 ? 0 : n] = '\0';
        return n >= 0;
}

bool userns_has_unmapped(void) {
        char line[LINE_SIZE];
        unsigned long count = UINT32_MAX;

        return userns_read("/proc/self/uid_map", line) && sscanf(line, "%*u %*u %lu", &count) == 1 &&
               count < UINT32_MAX;
}

bool userns_is_nsruns(void) {
        char line[LINE_SIZE];

        return userns_read("/proc/sys/user/max_cgroup_namespaces", line) && streq(line, "0\n") &&
               userns_read("/proc/self/uid_map", line) && !has_every_id(line);
}

static bool is_one_of_mine(gid_t gid) {
        gid_t groups[1024];
        int n = getgroups(ARRAY_SIZE(groups), groups);

        for (int i = 0; i < n; i++)
                if (groups[i] == gid)
                        return true;
        return n < 0 || gid == getegid();
}

bool userns_has_ordinary_user(void) {
        struct stat st;

        /* An owner that has no id in this user namespace shows as the overflow id, which a user who has that
         * one is taken for, too. */
        return geteuid() != 0 && getegid() != 0 && stat("/proc/sys/kernel", &st) == 0 &&
               st.st_uid != geteuid() && !is_one_of_mine(st.st_gid);
}
