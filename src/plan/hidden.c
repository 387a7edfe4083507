/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hidden names: whatever shows one shows an empty folder or an unreadable file in its place. */
#include <fcntl.h>

#include "base/path.h"
#include "base/sys.h"
#include "build.h"
#include "protect/hide.h"

char *hidden_identity(const char *path, uint64_t inode) {
        uint64_t own = 0, born = 0;

        (void)sys_birth(AT_FDCWD, path, &own, &born);
        return str_format("%ju:%ju:%s", (uintmax_t)(inode != 0 ? inode : own), (uintmax_t)born, path);
}

/* Whether the entry shows a file or a folder of the host's. */
static bool shows_host(const struct plan_op *op) {
        return (op->kind == PLAN_BIND || op->kind == PLAN_OVERLAY) && op->source && op->target &&
               !op->is_in_rundir;
}

static char *describe_names(uint64_t n) {
        return str_format("%ju other name%s of the file not found", (uintmax_t)n, n == 1 ? "" : "s");
}

/* Makes of an entry that would show what is hidden one that hides it. */
static void turn_into_hide(struct entries *e, struct plan_op *op) {
        char *target = TAKE_PTR(op->target), *source = TAKE_PTR(op->source);
        bool is_directory = op->is_directory || op->kind == PLAN_OVERLAY;

        plan_op_clear(op);
        *op = (struct plan_op){
                .kind = PLAN_HIDE, .target = target, .source = source, .is_directory = is_directory};
        e->has_failed |= !target || !source;
}

/* Hides it where an entry shows a folder around it. */
static int hide_at(struct entries *e, const struct plan_op *shown, const struct resolved_hidden *hidden) {
        const char *below = path_below(hidden->path, shown->source);
        _cleanup_free_ char *target = NULL;
        struct plan_op *op;

        if (!below || !*below)
                return 0;
        target = path_join(shown->target, below);
        if (!target)
                return -ENOMEM;
        op = entries_add(e, ENTRY_HIDDEN, PLAN_HIDE, target);
        op->source = strdup(hidden->path);
        op->is_directory = hidden->is_directory;
        op->is_hiding = true;
        op->inode = shown->kind == PLAN_BIND && !shown->stubs ? hidden->inode : 0;
        if (hidden->n_elsewhere > 0)
                op->text = describe_names(hidden->n_elsewhere);
        return op->source && (hidden->n_elsewhere == 0 || op->text) ? 0 : -ENOMEM;
}

int collect_hidden(struct entries *e, const struct resolved *s) {
        size_t n = e->n;

        for (size_t i = 0; i < n && s->files.n_hidden > 0; i++)
                if (shows_host(&e->items[i].op) && hide_find(s, e->items[i].op.source))
                        turn_into_hide(e, &e->items[i].op);
        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < s->files.n_hidden; k++) {
                        /* entries_add() moves the entries. */
                        const struct plan_op shown = e->items[i].op;

                        if (shows_host(&shown) && hide_at(e, &shown, &s->files.hidden[k]) < 0)
                                return -ENOMEM;
                }
        return 0;
}

/* Whether an overlay shows a path of the host, --protect=strict's too. */
static bool is_in_overlay(const struct nsrun_plan *plan, const char *path) {
        for (size_t i = 0; i < plan->n_ops; i++) {
                const struct plan_op *op = &plan->ops[i];

                if ((op->kind == PLAN_OVERLAY || op->stubs) && op->source &&
                    path_is_beneath(path, op->source))
                        return true;
        }
        return false;
}

int plan_identify_hidden(struct nsrun_plan *plan, const struct resolved *s) {
        for (size_t i = 0; i < s->files.n_hidden; i++) {
                const struct resolved_hidden *hidden = &s->files.hidden[i];
                _cleanup_free_ char *identity = hidden_identity(hidden->path, hidden->inode);

                if (!identity ||
                    strv_consume(&plan->hidden,
                                 str_concat(is_in_overlay(plan, hidden->path) ? "!" : "", identity, "")) < 0)
                        return -ENOMEM;
        }
        return 0;
}
