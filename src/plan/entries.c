/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A growing list of entries: operations whose order isn't known yet. */
#include <sys/stat.h>

#include "base/array.h"
#include "base/path.h"
#include "build.h"

void plan_op_clear(struct plan_op *op) {
        free(op->target);
        free(op->source);
        free(op->text);
        strv_free(op->stubs);
        strv_free(op->layers);
        free(op->work);
        *op = (struct plan_op){0};
}

struct plan_op *entries_add(struct entries *e, enum entry_origin origin, enum plan_op_kind kind,
                            const char *target) {
        static _Thread_local struct plan_op scratch;
        struct plan_op *op;

        if (ARRAY_GROW(e->items, e->n) < 0) {
                e->has_failed = true;
                plan_op_clear(&scratch);
                return &scratch;
        }
        e->items[e->n] = (struct entry){.origin = origin};
        op = &e->items[e->n++].op;
        op->kind = kind;
        op->target = strdup(target);
        if (!op->target)
                e->has_failed = true;
        return op;
}

void entries_add_shown(struct entries *e, char *source, unsigned mode, const char *path) {
        struct plan_op *op = entries_add(e, ENTRY_OWN, PLAN_BIND, path);

        op->origin = PLAN_BY_SYSTEM;
        op->source = source;
        op->is_read_only = true;
        op->is_directory = S_ISDIR(mode);
        e->has_failed |= !source;
}

void entries_add_present(struct entries *e, const char *path) {
        char *source;
        unsigned mode;

        if (path_canonical(path, &source, &mode) >= 0)
                entries_add_shown(e, source, mode, path);
}

void entries_add_symlink(struct entries *e, enum entry_origin origin, const char *text, const char *target) {
        struct plan_op *op = entries_add(e, origin, PLAN_SYMLINK, target);

        op->text = strdup(text);
        if (!op->text)
                e->has_failed = true;
}

void entries_add_file(struct entries *e, const char *target, const char *text) {
        struct plan_op *op = entries_add(e, ENTRY_OWN, PLAN_FILE, target);

        op->mode = 0444;
        op->text = strdup(text);
        if (!op->text)
                e->has_failed = true;
}

/* The tmpfs gets one inode for each page of `size` (at least 64), so that empty files are bounded,
 * too. */
void entries_add_tmpfs(struct entries *e, enum entry_origin origin, const char *target, mode_t mode,
                       uint64_t size) {
        struct plan_op *op = entries_add(e, origin, PLAN_TMPFS, target);
        uint64_t inodes = size / 4096 < 64 ? 64 : size / 4096;

        op->mode = mode;
        op->size = size;
        op->text = str_format("mode=%04o,size=%ju,nr_inodes=%ju", (unsigned)mode, (uintmax_t)size,
                              (uintmax_t)inodes);
        e->has_failed |= !op->text;
}

void entries_add_hidden(struct entries *e, const char *path, const char *host_path) {
        entries_add_tmpfs(e, ENTRY_OWN, path, 0555, 4096);
        if (e->has_failed)
                return;
        e->items[e->n - 1].op.is_hiding = true;
        e->items[e->n - 1].op.source = strdup(host_path);
        e->has_failed = !e->items[e->n - 1].op.source;
}

void entries_clear(struct entries *e) {
        for (size_t i = 0; i < e->n; i++)
                plan_op_clear(&e->items[i].op);
        free(e->items);
        *e = (struct entries){0};
}
