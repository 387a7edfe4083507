/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "userns.h"

#include <sys/stat.h>

#include "base/file.h"

enum {
        LINE_SIZE = 128
};

/* The initial user namespace's map, in which every id is itself. */
static bool has_every_id(const char *map) {
        unsigned long first = 1, outer = 1, count = 0;

        return sscanf(map, "%lu %lu %lu", &first, &outer, &count) == 3 && first == 0 && outer == 0 &&
               count == UINT32_MAX;
}

bool userns_has_unmapped(void) {
        char line[LINE_SIZE];
        unsigned long count = UINT32_MAX;

        (void)read_kernel_file(AT_FDCWD, "/proc/self/uid_map", line, sizeof(line));
        return sscanf(line, "%*u %*u %lu", &count) == 1 && count < UINT32_MAX;
}

bool userns_is_nsruns(void) {
        char line[LINE_SIZE];

        (void)read_kernel_file(AT_FDCWD, "/proc/sys/user/max_cgroup_namespaces", line, sizeof(line));
        if (!streq(line, "0\n"))
                return false;
        (void)read_kernel_file(AT_FDCWD, "/proc/self/uid_map", line, sizeof(line));
        return *line && !has_every_id(line);
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
