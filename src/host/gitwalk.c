/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See gitwalk.h.  A command may own all that lies there: no symlink is followed, and the walk is bounded. */
#include "gitwalk.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/str.h"

enum {
        ENTRIES_MAX = 200000,
        DEPTH_MAX = 32,
};

struct walked {
        struct gitwalk *walk;
        const char *path;
        unsigned depth;
};

char *gitwalk_describe(int folder, const char *name, const char *path) {
        char text[PATH_MAX], *line;
        ssize_t n = readlinkat(folder, name, text, sizeof(text) - 1);

        if (n < 0)
                return NULL;
        text[n] = '\0';
        return asprintf(&line, "%s -> %s", path, text) < 0 ? NULL : line;
}

bool gitwalk_is_reference(int folder, const char *name) {
        char text[PATH_MAX];
        ssize_t n = readlinkat(folder, name, text, sizeof(text) - 1);

        if (n < 0)
                return false;
        text[n] = '\0';
        return startswith(text, "refs/") && !strstr(text, "..");
}

/* Whether a folder at the top of a git dir is left out: in objects and lfs git names files by their
 * content; modules holds git dirs of their own, and hooks is read-only inside. */
static bool is_left_out(const char *name, unsigned depth) {
        static const char *const names[] = {"objects", "lfs", "modules", "hooks"};

        for (size_t i = 0; depth == 0 && i < ARRAY_SIZE(names); i++)
                if (streq(name, names[i]))
                        return true;
        return false;
}

static int walk_entry(void *data, int folder, const struct dirent *entry);

/* What became something else meanwhile is no folder to look through; but where the walk starts that is told.
 */
static int gitwalk_folder(struct walked *in, int parent, const char *name, bool is_start) {
        struct gitwalk *w = in->walk;
        _cleanup_close_ int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int r;

        if (fd < 0 && errno == EACCES && w->closed)
                fd = w->closed(w->data, parent, name);
        else if (fd < 0)
                fd = -errno;
        if (fd < 0) {
                w->is_cut |= fd != -ENOENT && (is_start || (fd != -ENOTDIR && fd != -ELOOP));
                return 0;
        }
        r = folder_read(fd, walk_entry, in);
        return r < 0 ? r : 0;
}

static int walk_entry(void *data, int folder, const struct dirent *entry) {
        const struct walked *in = data;
        struct gitwalk *w = in->walk;
        _cleanup_free_ char *path = NULL;
        unsigned char type;

        if (in->depth > DEPTH_MAX || w->n_entries++ >= ENTRIES_MAX) {
                w->is_cut = true;
                return 1;
        }
        type = folder_type(folder, entry);
        if (type != DT_LNK && (type != DT_DIR || is_left_out(entry->d_name, in->depth)))
                return 0;
        path = str_concat(in->path, "/", entry->d_name);
        if (!path)
                return -ENOMEM;
        if (type == DT_LNK)
                return w->link(w->data, folder, entry->d_name, path);
        return gitwalk_folder(&(struct walked){w, path, in->depth + 1}, folder, entry->d_name, false);
}

int gitwalk(struct gitwalk *w, int parent, const char *name, const char *path, bool is_top) {
        return gitwalk_folder(&(struct walked){w, path, is_top ? 0 : 1}, parent, name, true);
}
