/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the kernel's counters of OOM kills: that of the run's own cgroup, else of the caller's
 * (v2), in which the sandbox then is, else of the machine.  Each watch costs two small reads. */
#include "oom.h"

#include <fcntl.h>

bool oom_find_count(const char *text, uint64_t *ret) {
        static const char word[] = "oom_kill ";

        for (const char *at = text; (at = strstr(at, word)); at++)
                if ((at == text || at[-1] == '\n') && at[strlen(word)] >= '0' && at[strlen(word)] <= '9') {
                        *ret = strtoull(at + strlen(word), NULL, 10);
                        return true;
                }
        return false;
}

static bool read_count(int fd, uint64_t *ret) {
        char text[16384]; /* three times the size of /proc/vmstat, of which each read gives a page */
        size_t length = 0;
        ssize_t n;

        while ((n = pread(fd, text + length, sizeof(text) - 1 - length, (off_t)length)) > 0)
                length += (size_t)n;
        text[length] = '\0';
        return oom_find_count(text, ret);
}

static int open_own_events(void) {
        char path[4096] = "/sys/fs/cgroup", text[4096];
        _cleanup_close_ int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
        const char *own;
        size_t length;

        if (n <= 0)
                return -EBADF;
        text[n] = '\0';
        /* /proc/self/cgroup has one line if v2 is alone; beside v1 it has no memory controller. */
        own = startswith(text, "0::");
        if (!own)
                return -EBADF;
        length = strcspn(own, "\n");
        if (strlen(path) + length + sizeof("/memory.events") > sizeof(path))
                return -EBADF;
        (void)strncat(path, own, length);
        strcat(path, "/memory.events");
        return open(path, O_RDONLY | O_CLOEXEC);
}

void oom_watch_begin(struct oom_watch *w, const struct cgroup *cgroup) {
        *w = OOM_WATCH_INIT;
        if (cgroup && (cgroup->controllers & CGROUP_MEMORY)) {
                w->fd = openat(cgroup->launch.fd, "memory.events", O_RDONLY | O_CLOEXEC);
                w->is_own = w->fd >= 0;
        }
        if (w->fd < 0)
                w->fd = open_own_events();
        if (w->fd < 0)
                w->fd = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
        if (w->fd >= 0 && !read_count(w->fd, &w->before))
                close_fdp(&w->fd);
}

bool oom_watch_ended(struct oom_watch *w) {
        uint64_t after = 0;
        bool has_killed = w->fd >= 0 && read_count(w->fd, &after) && after > w->before;

        close_fdp(&w->fd);
        return has_killed;
}
