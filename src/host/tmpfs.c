/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/xattr.h>

#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "tmpfs.h"

/* Where distributions mount cgroups, and what the bound of one is called: of version 2, and of version 1. */
static const struct {
        const char *controllers; /* in /proc/self/cgroup */
        const char *folder, *name;
} hierarchies[] = {
        {"", "/sys/fs/cgroup", "memory.max"},
        {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
};

/* Lowers *allowed to the bound of the cgroup at `path`, if it has one. */
static void take_bound(const char *folder, const char *path, const char *name, uint64_t *allowed) {
        char file[PATH_MAX], text[32], *end;
        unsigned long long bound;

        if (snprintf(file, sizeof(file), "%s%s%s%s", folder, path, path[1] ? "/" : "", name) >=
            (int)sizeof(file))
                return;
        (void)read_kernel_file(AT_FDCWD, file, text, sizeof(text));
        /* "max" is no bound. */
        bound = strtoull(text, &end, 10);
        if (end != text && bound < *allowed)
                *allowed = bound;
}

/* `line`: "ID:CONTROLLERS:PATH" of /proc/self/cgroup. */
static void take_bounds_of(char *line, uint64_t *allowed) {
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;

        if (!path)
                return;
        *controllers++ = *path++ = '\0';
        /* A cgroup above the root of the cgroup namespace has no path here. */
        if (!path_is_absolute(path) || startswith(path, "/.."))
                return;
        for (size_t i = 0; i < ARRAY_SIZE(hierarchies); i++) {
                if (!streq(controllers, hierarchies[i].controllers))
                        continue;
                for (char *slash; path[0]; *slash = '\0') {
                        take_bound(hierarchies[i].folder, path, hierarchies[i].name, allowed);
                        slash = strrchr(path, '/');
                        if (slash == path && path[1])
                                slash++;
                }
        }
}

uint64_t tmpfs_find_memory(void) {
        struct sysinfo machine = {0};
        char text[8192], *rest = NULL;
        uint64_t allowed;

        (void)sysinfo(&machine);
        allowed = (uint64_t)machine.totalram * machine.mem_unit;
        (void)read_kernel_file(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text));
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
                take_bounds_of(line, &allowed);
        return allowed;
}

bool tmpfs_keeps_attributes(void) {
        _cleanup_close_ int fd = memfd_create("nsrun", MFD_CLOEXEC);

        return fd >= 0 && fsetxattr(fd, "user.nsrun", "", 0, 0) >= 0;
}
