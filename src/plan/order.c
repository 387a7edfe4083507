/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Puts entries in an order in which they can be carried out: parents before children, whatever
 * order they were added in.  Decides which of two entries for one target stays, and which folders
 * must be made for mount points. */
#include "base/array.h"
#include "base/path.h"
#include "build.h"

/* Sorts entries by target; of two for one target the one with the higher origin comes first. */
static int order_compare_entries(const void *a, const void *b) {
        static const int weight[] = {[ENTRY_EXPLICIT] = 0,
                                     [ENTRY_HIDDEN] = 1,
                                     [ENTRY_DEFAULT] = 2,
                                     [ENTRY_OWN] = 3,
                                     [ENTRY_ALIAS] = 4};
        const struct entry *x = a, *y = b;
        int r = path_compare(x->op.target, y->op.target);

        return r != 0 ? r : weight[x->origin] - weight[y->origin];
}

static bool is_mount(const struct plan_op *op) {
        return op->kind != PLAN_DIR && op->kind != PLAN_FILE && op->kind != PLAN_SYMLINK &&
               op->kind != PLAN_COVER;
}

/* Whether nothing can be made at or below an operation's target but by it. */
static bool closes_place(const struct plan_op *op) {
        return is_mount(op) || op->kind == PLAN_SYMLINK || op->kind == PLAN_FILE;
}

/* The mounts, symlinks and files that lie on the way to an entry's target, the deepest last.  Their
 * strings belong to the plan. */
struct covers {
        struct plan_op *stack;
        size_t n;
};

static const struct plan_op *find_cover(struct covers *c, const char *target) {
        while (c->n > 0 && !path_is_beneath(target, c->stack[c->n - 1].target))
                c->n--;
        return c->n > 0 ? &c->stack[c->n - 1] : NULL;
}

static int push_cover(struct covers *c, const struct plan_op *op) {
        if (ARRAY_GROW(c->stack, c->n) < 0)
                return -ENOMEM;
        c->stack[c->n++] = *op;
        return 0;
}

/* Whether mount points may be made on `cover`: it is the root, a tmpfs of the plan's or a new
 * scratch folder, where no command has ever been. */
static bool is_ours(const struct plan_op *cover) {
        return !cover || cover->kind == PLAN_TMPFS || cover->is_in_rundir;
}

/* Whether `op` shows at its target the same host path that `cover` shows there already. */
static bool is_same_place(const struct plan_op *cover, const struct plan_op *op) {
        const char *below_target = path_below(op->target, cover->target);
        const char *below_source;

        if (!op->source || !cover->source || !below_target)
                return false;
        below_source = path_below(op->source, cover->source);
        return below_source && streq(below_source, below_target);
}

/* Whether `cover` is --home's folder, in which the run makes mount points. */
static bool is_own_home(const struct nsrun_plan *plan, const struct plan_op *cover) {
        return plan->own_home && cover && cover->kind == PLAN_BIND && streq(cover->source, plan->own_home);
}

/* Whether `target`, on `cover`, is that path of the host, and in a folder that the run prepares. */
static bool is_in_instance(const struct nsrun_plan *plan, const struct plan_op *cover, const char *target) {
        if (!plan->instance || cover->kind != PLAN_BIND || !streq(cover->source, cover->target))
                return false;
        return path_is_beneath(target, plan->instance) ||
               (plan->workspace && path_is_beneath(target, plan->workspace));
}

/* Whether an entry stays (1) or gives way (0); -errno if neither is right.  `previous` is the entry
 * before it in the order, `next` the one after it (or NULL), `cover` the mount, symlink or file on which its
 * target lies. */
static int judge(const struct nsrun_plan *plan, const struct entry *entry, const struct entry *previous,
                 const struct entry *next, const struct plan_op *cover, struct nsrun_error *err) {
        const struct plan_op *op = &entry->op;
        bool can_be_made = is_ours(cover);

        if (previous && streq(previous->op.target, op->target)) {
                if (entry->origin != ENTRY_EXPLICIT)
                        return 0;
                return error_set(err, NSRUN_STAGE_PLAN, -EEXIST, op->target, "two rules for one target",
                                 "drop one of them");
        }
        if (cover && cover->kind == PLAN_HIDE && entry->origin == ENTRY_EXPLICIT && op->kind != PLAN_HIDE)
                return error_set(err, NSRUN_STAGE_PLAN, -EPERM, op->target,
                                 "the target lies in a folder that --hide hides",
                                 "choose another place for it, or hide less");
        if (cover && cover->kind == PLAN_HIDE)
                return 0;
        if (entry->origin == ENTRY_ALIAS)
                return can_be_made;
        /* A synthetic file is in nobody's way. */
        if (entry->origin == ENTRY_OWN && op->kind == PLAN_FILE)
                return can_be_made && !(cover && cover->is_hiding) &&
                       !(next && path_is_beneath(next->op.target, op->target) &&
                         !streq(next->op.target, op->target));
        if (op->is_hiding)
                return !can_be_made && is_same_place(cover, op);
        if (cover && cover->kind == PLAN_SYMLINK)
                return error_set(err, NSRUN_STAGE_PLAN, -ELOOP, op->target,
                                 "the target lies beneath a symlink of the sandbox", "name the real path");
        if (op->kind == PLAN_COVER)
                return 1;
        if (entry->origin == ENTRY_OWN && !can_be_made)
                /* A rule shows a host folder there: the base view gives way, but for what it mounts
                 * on /proc. */
                return cover->kind == PLAN_PROC;
        if (entry->origin == ENTRY_DEFAULT && !can_be_made)
                /* Of the user's own home --home leaves the project and the tools, which are read-only. */
                return is_same_place(cover, op) ||
                       (is_own_home(plan, cover) && op->kind == PLAN_BIND &&
                        (op->origin == PLAN_BY_PROJECT || op->origin == PLAN_BY_TABLE));
        if (op->kind == PLAN_SYMLINK && !can_be_made)
                return error_set(err, NSRUN_STAGE_PLAN, -EROFS, op->target,
                                 "a symlink can't be made in a folder of the host",
                                 "choose another place for it");
        return 1;
}

struct ordering {
        struct nsrun_plan *plan;
        struct covers covers;
        char **made; /* the PLAN_DIRs so far that lie above the current target */
        size_t n_made;
};

static int append(struct ordering *o, struct plan_op op) {
        struct nsrun_plan *plan = o->plan;

        if (ARRAY_GROW(plan->ops, plan->n_ops) < 0)
                return -ENOMEM;
        plan->ops[plan->n_ops++] = op;
        return 0;
}

static int remember_made(struct ordering *o, char *path) {
        if (ARRAY_GROW(o->made, o->n_made) < 0)
                return -ENOMEM;
        o->made[o->n_made++] = path;
        return 0;
}

static int order_make_folder(struct ordering *o, const char *path, size_t length) {
        struct plan_op op = {.kind = PLAN_DIR, .mode = 0755, .makes_target = true};
        int r;

        op.target = strndup(path, length);
        if (!op.target)
                return -ENOMEM;
        r = append(o, op);
        if (r < 0) {
                free(op.target);
                return r;
        }
        return remember_made(o, op.target);
}

/* Adds PLAN_DIRs for the folders between `cover` and `target`, both excluded, that have none yet. */
static int make_parents(struct ordering *o, const struct plan_op *cover, const char *target) {
        const char *from = cover ? cover->target : "";
        int r;

        while (o->n_made > 0 && !path_is_beneath(target, o->made[o->n_made - 1]))
                o->n_made--;
        /* A folder that was made before `cover` was mounted over it is out of sight: only one that
         * lies deeper than the cover's mount point is still there. */
        if (o->n_made > 0 && strlen(o->made[o->n_made - 1]) > strlen(from))
                from = o->made[o->n_made - 1];
        for (const char *slash = strchr(target + strlen(from) + 1, '/'); slash;
             slash = strchr(slash + 1, '/')) {
                r = order_make_folder(o, target, (size_t)(slash - target));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Puts a pin before what lies on it already (an overlay, a tmpfs), which it would cover. */
static int insert_pin(struct ordering *o, struct plan_op pin) {
        struct nsrun_plan *plan = o->plan;
        size_t at = plan->n_ops;

        while (at > 0 && path_is_beneath(plan->ops[at - 1].target, pin.target))
                at--;
        if (append(o, pin) < 0)
                return -ENOMEM;
        memmove(plan->ops + at + 1, plan->ops + at, (plan->n_ops - 1 - at) * sizeof(pin));
        plan->ops[at] = pin;
        return 0;
}

/* Binds each folder between a writable bind and another one inside it, or a tmpfs on which one may lie, to
 * itself: a mount point can't be renamed (EBUSY), so a command can't move a protected path, or one that
 * holds protected names, away and put another in its place. */
static int pin_parents(struct ordering *o, const struct plan_op *cover, const struct plan_op *op) {
        const char *target = op->target, *below = path_below(target, cover->target);

        for (const char *slash = strchr(below, '/'); slash; slash = strchr(slash + 1, '/')) {
                struct plan_op pin = {.kind = PLAN_BIND, .origin = PLAN_BY_PIN, .is_directory = true};
                _cleanup_free_ char *folder = strndup(below, (size_t)(slash - below));
                int r;

                pin.target = strndup(target, (size_t)(slash - target));
                pin.source = folder ? path_join(cover->source, folder) : NULL;
                r = pin.target && pin.source ? insert_pin(o, pin) : -ENOMEM;
                if (r < 0) {
                        plan_op_clear(&pin);
                        return r;
                }
                r = push_cover(&o->covers, &pin);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Makes a tmpfs that hides a host folder unconditional, because something is mounted on it: if the
 * launch left it out, the mount points would be made in the host folder itself. */
static void keep_hiding(struct nsrun_plan *plan, const char *target) {
        for (size_t i = plan->n_ops; i-- > 0;)
                if (plan->ops[i].is_hiding && streq(plan->ops[i].target, target))
                        plan->ops[i].is_hiding = false;
}

static int place(struct ordering *o, struct entry *entry, const struct plan_op *cover) {
        struct plan_op *op = &entry->op;
        int r = 0;

        if (is_ours(cover)) {
                if (cover && cover->is_hiding)
                        keep_hiding(o->plan, cover->target);
                r = make_parents(o, cover, op->target);
                op->makes_target = op->kind != PLAN_COVER;
        } else if (cover->kind == PLAN_BIND && !cover->is_read_only &&
                   (op->kind == PLAN_TMPFS ? !op->is_hiding && !is_own_home(o->plan, cover)
                                           : (op->kind == PLAN_BIND || op->kind == PLAN_HIDE) &&
                                                     is_same_place(cover, op))) {
                const struct plan_op above =
                        *cover; /* push_cover() reallocates the stack that `cover` points into */

                r = pin_parents(o, &above, op);
        } else if (op->kind == PLAN_BIND) {
                op->makes_on_host =
                        is_own_home(o->plan, cover) ||
                        (entry->origin == ENTRY_EXPLICIT && is_in_instance(o->plan, cover, op->target));
        }
        if (r < 0)
                return r;
        r = append(o, *op);
        if (r < 0)
                return r;
        entry->is_placed = true;
        if (op->kind == PLAN_DIR)
                return remember_made(o, op->target);
        return closes_place(op) ? push_cover(&o->covers, op) : 0;
}

int order_entries(struct entries *e, struct nsrun_plan *plan, struct nsrun_error *err) {
        struct ordering o = {.plan = plan};
        const struct entry *previous = NULL;
        int r = 0;

        qsort(e->items, e->n, sizeof(*e->items), order_compare_entries);
        for (size_t i = 0; i < e->n && r >= 0; i++) {
                struct entry *entry = &e->items[i];
                const struct plan_op *cover = find_cover(&o.covers, entry->op.target);

                r = judge(plan, entry, previous, i + 1 < e->n ? &e->items[i + 1] : NULL,
                          previous && streq(previous->op.target, entry->op.target) ? NULL : cover, err);
                if (r <= 0)
                        continue;
                r = place(&o, entry, cover);
                if (r < 0)
                        r = error_oom(err);
                previous = entry;
        }
        /* plan_free() frees the strings of entries that were placed, whether or not this function
         * fails. */
        for (size_t i = 0; i < e->n; i++)
                if (e->items[i].is_placed)
                        e->items[i].op = (struct plan_op){0};
        free(o.covers.stack);
        free(o.made);
        return r < 0 ? r : 0;
}
