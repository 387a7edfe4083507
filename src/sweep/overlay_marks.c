/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See overlay_marks.h.  overlayfs marks a folder that is renamed to a place beside a lower layer as opaque.
 * The folders that were there at the start are mount points, and never renamed: theirs are the user's. */
#include "overlay_marks.h"

#include <sys/xattr.h>

#include "base/array.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"

enum {
        BEFORE_MAX = 20000, /* protect/protect_stubs.c refuses half as many */
};

struct marked_folder {
        int fd; /* -EBADF: it can't be opened */
        char *path;
        char **before; /* the names of the folders that were in it */
        unsigned n_before;
};

void marks_clear(struct marks *marks) {
        for (size_t i = 0; i < marks->n; i++) {
                close_fdp(&marks->folders[i].fd);
                free(marks->folders[i].path);
                strv_free(marks->folders[i].before);
        }
        free(marks->folders);
        *marks = (struct marks){0};
}

static int add_before(void *data, nsrun_unused int fd, const struct dirent *entry) {
        struct marked_folder *f = data;

        if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN)
                return 0;
        return ++f->n_before > BEFORE_MAX ? -E2BIG : strv_add(&f->before, entry->d_name);
}

/* Where what was there can't be told, no mark is removed. */
static int list_before(struct marked_folder *f) {
        int r = f->fd < 0 ? 0 : folder_each(f->fd, add_before, f);

        if (r < 0)
                close_fdp(&f->fd);
        return r == -ENOMEM ? r : 0;
}

int marks_begin(const struct nsrun_plan *plan, struct marks *ret) {
        struct marks marks = {0};
        int r = 0;

        for (size_t i = 0; i < plan->n_ops && plan->has_stubs && r >= 0; i++) {
                const struct plan_op *op = &plan->ops[i];
                struct marked_folder f = {.fd = -EBADF};

                if (!op->stubs)
                        continue;
                if (ARRAY_GROW(marks.folders, marks.n) < 0) {
                        r = -ENOMEM;
                        break;
                }
                f.path = strdup(op->source);
                f.fd = open(op->source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (f.fd >= 0 && fd_lift(&f.fd) < 0)
                        close_fdp(&f.fd);
                marks.folders[marks.n++] = f;
                r = f.path ? list_before(&marks.folders[marks.n - 1]) : -ENOMEM;
        }
        if (r < 0) {
                marks_clear(&marks);
                return r;
        }
        *ret = marks;
        return 0;
}

static void remove_mark(int folder, const char *name) {
        _cleanup_close_ int fd = beneath_open(folder, name, O_RDONLY | O_DIRECTORY, 0);

        if (fd >= 0)
                (void)fremovexattr(fd, "user.overlay.opaque");
}

static int remove_mark_of(void *data, int fd, const struct dirent *entry) {
        const struct marked_folder *f = data;

        if ((entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) &&
            !strv_contains(f->before, entry->d_name))
                remove_mark(fd, entry->d_name);
        return 0;
}

void marks_end(struct marks *marks) {
        for (size_t i = 0; i < marks->n; i++)
                if (marks->folders[i].fd >= 0)
                        (void)folder_each(marks->folders[i].fd, remove_mark_of, &marks->folders[i]);
        marks_clear(marks);
}
