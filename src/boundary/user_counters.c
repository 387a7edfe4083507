/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "decimal.h"
#include "user_counters.h"

static const char max_cgroup_namespaces[] = "/proc/sys/user/max_cgroup_namespaces";
static const char max_mnt_namespaces[] = "/proc/sys/user/max_mnt_namespaces";

/* What the kernel counts for each user on the whole host (inotify(7)), and the file that bounds it in a user
 * namespace (since 4.13; namespaces(7)). */
static const struct {
        const char *of_host, *of_namespace;
} halved[] = {
        {"/proc/sys/fs/inotify/max_user_instances", "/proc/sys/user/max_inotify_instances"},
        {"/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches"},
};

static int counters_write(const char *path, const char *text) {
        _cleanup_close_ int fd = sys_open(AT_FDCWD, path, O_WRONLY, 0);
        ssize_t n = fd < 0 ? fd : sys_write(fd, text, strlen(text));

        return n < 0 ? (int)n : 0;
}

/* Leaves the other half to the user's other programs. */
static int halve(const char *of_host, const char *of_namespace) {
        char text[24] = "", number[24];
        _cleanup_close_ int fd = sys_open(AT_FDCWD, of_host, O_RDONLY, 0);
        ssize_t n = fd < 0 ? fd : sys_read(fd, text, sizeof(text) - 1);
        uint64_t most = 0;

        if (n < 0)
                return (int)n;
        for (const char *digit = text; *digit >= '0' && *digit <= '9'; digit++)
                most = most * 10 + (uint64_t)(*digit - '0');
        return most >= 2 ? counters_write(of_namespace, number_format(number, most / 2)) : 0;
}

int counters_bound(struct builder *b) {
        const char *path = max_cgroup_namespaces;
        int r = counters_write(path, "0");

        for (size_t i = 0; i < ARRAY_SIZE(halved) && (r >= 0 || r == -ENOENT); i++) {
                path = halved[i].of_namespace;
                r = halve(halved[i].of_host, path);
        }
        if ((r == -EROFS || r == -EACCES) && b->b.facts.is_within)
                return 0;
        if (r == -EROFS || r == -EACCES)
                return report_degraded(b->reaper.init.report_fd, b->reaper.init.refuses_degraded,
                                       DEGRADED_COUNTERS, path, NULL, &b->reaper.error);
        if (r < 0 && r != -ENOENT)
                return error_set(&b->reaper.error, NSRUN_STAGE_HARDENING, r, path,
                                 "what commands may use up can't be bounded", NULL);
        return 0;
}

int counters_open_mount_namespaces(struct builder *b, int *ret) {
        int fd = b->b.facts.is_strict ? sys_open(AT_FDCWD, max_mnt_namespaces, O_WRONLY, 0) : -EBADF;

        if (b->b.facts.is_strict && fd < 0)
                return error_set(&b->reaper.error, NSRUN_STAGE_HARDENING, fd, max_mnt_namespaces,
                                 "--protect=strict can't hold: nested mount namespaces can't be forbidden",
                                 "it takes a writable /proc/sys; leave --protect=strict out");
        *ret = fd;
        return 0;
}

int counters_forbid_mount_namespaces(struct builder *b, int fd) {
        ssize_t n = fd < 0 ? 0 : sys_write(fd, "0", 1);

        if (n < 0)
                return error_set(&b->reaper.error, NSRUN_STAGE_HARDENING, (int)n, max_mnt_namespaces,
                                 "nested mount namespaces can't be forbidden", NULL);
        return 0;
}
