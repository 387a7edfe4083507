/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Renames: a deleted and an added regular file with the same content are one change.
 * In a user namespace overlayfs leaves no handle of the original (user.overlay.origin is
 * empty there), so the content tells, as it does for git. */
#include <fcntl.h>

#include "file.h"
#include "internal.h"
#include "tree.h"

/* A file larger than this isn't read for a rename's sake: it is listed as two changes. */
#define SIZE_MAX_OF_RENAME ((uint64_t)64 << 20)
/* So much is read for the sake of all renames together: any number of files can have one size. */
#define TOTAL_MAX_OF_RENAMES ((uint64_t)1 << 30)

struct candidate {
        size_t index; /* in the list */
        uint64_t size;
        bool is_added, is_hashed;
        unsigned char hash[SHA256_SIZE];
};

static int compare_sizes(const void *a, const void *b) {
        const struct candidate *x = a, *y = b;

        if (x->size != y->size)
                return x->size < y->size ? -1 : 1;
        return x->index < y->index ? -1 : x->index > y->index;
}

static int compare_hashes(const void *a, const void *b) {
        const struct candidate *x = a, *y = b;
        int r = (int)y->is_hashed - (int)x->is_hashed;

        if (r == 0)
                r = memcmp(x->hash, y->hash, sizeof(x->hash));
        if (r == 0)
                r = (int)x->is_added - (int)y->is_added;
        if (r == 0)
                r = x->index < y->index ? -1 : x->index > y->index;
        return r;
}

/* What can't be read is no rename, and said to be unreadable by whoever needs it.  Nor is what
 * has another size by now, of which no more is read: it may grow without end. */
static void hash_file(struct tree *t, const char *path, struct candidate *c, uint64_t *left) {
        _cleanup_close_ int fd = -EBADF;
        struct sha256 sum;
        const char *name;
        char block[16384];
        uint64_t done = 0;
        ssize_t n = 0;
        int dir;

        if (c->size > *left)
                return;
        dir = tree_parent(t, path, &name);
        fd = dir < 0 ? dir : file_open(dir, name);
        if (fd < 0)
                return;
        *left -= c->size;
        sha256_begin(&sum);
        while (done <= c->size && (n = read(fd, block, sizeof(block))) > 0) {
                sha256_add(&sum, block, (size_t)n);
                done += (uint64_t)n;
        }
        if (n < 0 || done != c->size)
                return;
        sha256_end(&sum, c->hash);
        c->is_hashed = true;
}

static void join(struct changes *c, size_t from, size_t to) {
        struct change *gone = &c->list[from], *here = &c->list[to];

        here->kind = CHANGE_RENAMED;
        here->from = TAKE_PTR(gone->path);
        here->old_mode = gone->old_mode;
        here->old_size = gone->old_size;
        here->base = gone->base;
        here->has_conflict = gone->has_conflict;
        if (((here->new_mode ^ gone->old_mode) & 0777) != 0)
                here->what |= CHANGE_MODE;
        if (here->upper.st_mtim.tv_sec != gone->base.st_mtim.tv_sec ||
            here->upper.st_mtim.tv_nsec != gone->base.st_mtim.tv_nsec)
                here->what |= CHANGE_MTIME;
}

/* Pairs the deleted and added files of one size whose contents are equal. */
static void pair_group(struct changes *c, struct tree *upper, struct tree *base, struct candidate *group,
                       size_t n, uint64_t *left) {
        size_t i = 0;

        for (size_t k = 0; k < n; k++)
                hash_file(group[k].is_added ? upper : base, c->list[group[k].index].path, &group[k], left);
        qsort(group, n, sizeof(*group), compare_hashes);
        while (i < n && group[i].is_hashed) {
                size_t end = i, gone = i;

                while (end < n && group[end].is_hashed &&
                       memcmp(group[end].hash, group[i].hash, SHA256_SIZE) == 0)
                        end++;
                /* The deleted ones come first; each is taken once, in the order of the list. */
                for (size_t k = i; k < end; k++)
                        if (group[k].is_added && gone < k && !group[gone].is_added)
                                join(c, group[gone++].index, group[k].index);
                i = end;
        }
}

static void drop_joined(struct changes *c) {
        size_t n = 0;

        for (size_t i = 0; i < c->n; i++)
                if (c->list[i].path)
                        c->list[n++] = c->list[i];
        c->n = n;
}

int changes_pair(const struct changes_layer *layer, struct changes *c) {
        _cleanup_tree_ struct tree upper = {.root = layer->upper_fd, .fd = -EBADF};
        _cleanup_tree_ struct tree base = {.root = layer->base_fd, .fd = -EBADF};
        _cleanup_free_ struct candidate *list = calloc(c->n + 1, sizeof(*list));
        uint64_t left = TOTAL_MAX_OF_RENAMES;
        size_t n = 0;

        if (!list)
                return -ENOMEM;
        for (size_t i = 0; i < c->n; i++) {
                const struct change *x = &c->list[i];
                bool is_added = x->kind == CHANGE_ADDED;
                uint64_t size = is_added ? x->new_size : x->old_size;

                if ((!is_added && x->kind != CHANGE_DELETED) || x->error || size == 0 ||
                    size > SIZE_MAX_OF_RENAME || !S_ISREG(is_added ? x->new_mode : x->old_mode))
                        continue;
                list[n++] = (struct candidate){.index = i, .size = size, .is_added = is_added};
        }
        if (n > 0)
                qsort(list, n, sizeof(*list), compare_sizes);
        for (size_t i = 0, end; i < n; i = end) {
                bool has_added = false, has_deleted = false;

                for (end = i; end < n && list[end].size == list[i].size; end++) {
                        has_added |= list[end].is_added;
                        has_deleted |= !list[end].is_added;
                }
                if (has_added && has_deleted)
                        pair_group(c, &upper, &base, &list[i], end - i, &left);
        }
        drop_joined(c);
        return 0;
}
