/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A walk by descriptors with a bound on everything. */
#include "occupied.h"

#include "base/file.h"
#include "base/sys.h"

struct occupied_walk {
        struct occupied sum;
        dev_t device;
        size_t n, depth;
        bool is_layer; /* below an overlay's folder */
};

static int add_entry(void *data, int folder, const struct dirent *entry) {
        struct occupied_walk *w = data;
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (w->depth == 0)
                w->is_layer = startswith(entry->d_name, "overlay-") != NULL;
        /* The kernel's own work folder, which nobody may read, and no command can write to. */
        if (w->depth == 1 && w->is_layer && streq(entry->d_name, "work"))
                return 0;
        if (w->n++ >= OCCUPIED_FILES_MOST) {
                w->sum.is_more = true;
                return 1;
        }
        if (fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != w->device)
                return 0;
        w->sum.bytes += (uint64_t)st.st_blocks * 512 /
                        (S_ISDIR(st.st_mode) || st.st_nlink == 0 ? 1 : (uint64_t)st.st_nlink);
        if (!S_ISDIR(st.st_mode))
                return 0;
        fd = w->depth < OCCUPIED_DEPTH_MOST
                     ? sys_open(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK, 0)
                     : -EMFILE;
        if (fd == -ENOENT || fd == -ENOTDIR)
                return 0;
        w->depth++;
        if (fd < 0 || sys_fstat(fd, &st) < 0 || st.st_dev != w->device || folder_read(fd, add_entry, w) < 0)
                w->sum.is_more = true;
        w->depth--;
        return w->n > OCCUPIED_FILES_MOST;
}

int occupied_by(const char *path, struct occupied *ret) {
        struct occupied_walk w = {.depth = 0};
        _cleanup_close_ int fd = sys_openat2(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, RESOLVE_NO_SYMLINKS);
        struct stat st;
        int r;

        if (fd == -ENOSYS)
                fd = sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        r = fd < 0 ? fd : sys_fstat(fd, &st);
        if (r < 0)
                return r;
        w.device = st.st_dev;
        r = folder_read(fd, add_entry, &w);
        if (r < 0)
                return r;
        *ret = w.sum;
        return 0;
}
