/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "widen_whole.h"

#include "base/file.h"
#include "base/sys.h"
#include "protect/learn_view.h"

enum {
        WHOLE_ENTRIES = 20000, /* about 0.1 s */
        WHOLE_DEPTH = 32,
};

struct whole {
        unsigned entries, depth;
};

/* 1: that must not be shown, or isn't known. */
static int judge_whole(void *data, int folder, const struct dirent *entry) {
        struct whole *w = data;
        unsigned char type = folder_type(folder, entry);
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (w->entries++ == WHOLE_ENTRIES || wide_is_secret_name(entry->d_name))
                return 1;
        if (type != DT_DIR)
                return type != DT_REG && type != DT_LNK;
        if (wide_is_like_secret_name(entry->d_name))
                return 1;
        fd = sys_openat2(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0,
                         RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
        /* What the user can neither list nor enter the command can't. */
        if (fd == -EACCES)
                return faccessat(folder, entry->d_name, X_OK, 0) == 0;
        if (fd < 0 || w->depth == WHOLE_DEPTH)
                return 1;
        w->depth++;
        r = folder_read(fd, judge_whole, w);
        w->depth--;
        return r;
}

bool widen_may_be_whole(int fd, const char *path, const char *home) {
        struct whole w = {0};

        return wide_may_be_whole(path, home) && folder_each(fd, judge_whole, &w) == 0;
}
