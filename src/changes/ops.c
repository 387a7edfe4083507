/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From changes to operations: which paths, in which order, and what each needs. */
#include "apply.h"
#include "base/str.h"
#include "host/gitignore.h"

/* What a change means for its path and its old path in the target. */
static bool is_put_of(const struct apply *a, const struct change *c) {
        return c->kind != (a->is_commit ? CHANGE_DELETED : CHANGE_ADDED);
}

static struct op *ops_add_op(struct apply *a, const struct change *c, const char *path, bool is_put) {
        struct op *op = &a->ops[a->n_ops++];

        *op = (struct op){.change = c, .path = path, .is_put = is_put};
        return op;
}

/* The mode that the target's side will have. */
static mode_t wanted_mode(const struct apply *a, const struct change *c) {
        return a->is_commit ? c->new_mode : c->old_mode;
}

static int compare_paths(const void *a, const void *b) {
        return tree_compare(*(char *const *)a, *(char *const *)b);
}

/* A sorted list of changed paths that answers quickly whether one of them lies in a given folder: it is
 * asked for every folder, and a hostile tree may be deep. */
struct some {
        const char **paths;
        size_t n;
};

static void some_clear(struct some *some) {
        free(some->paths);
}

/* Collects the paths of the changes that are marked (or that aren't): new paths where `is_put`, removed ones
 * else, both where `a` is NULL; and the old path of each rename. */
static int some_collect(struct some *some, const struct apply *a, const struct changes *c,
                        const bool *is_marked, bool mark) {
        some->paths = calloc(c->n * 2 + 1, sizeof(*some->paths));
        if (!some->paths)
                return -ENOMEM;
        for (size_t i = 0; i < c->n; i++) {
                const struct change *x = &c->list[i];

                if (is_marked[i] != mark)
                        continue;
                if (!a || is_put_of(a, x))
                        some->paths[some->n++] = x->path;
                /* Discarding a rename puts the file back at its old path, which may lie in another folder.
                 */
                if (x->from && !(a && a->is_commit))
                        some->paths[some->n++] = x->from;
        }
        qsort(some->paths, some->n, sizeof(*some->paths), compare_paths);
        return 0;
}

static bool some_within(const struct some *some, const char *folder) {
        const char *found = str_first_from(some->paths, some->n, folder, tree_compare);

        return found && tree_is_beneath(found, folder);
}

/* What lies in a folder that isn't there yet needs that folder. */
static bool is_needed(const struct apply *a, const struct change *folder, const struct some *chosen) {
        if (!S_ISDIR(wanted_mode(a, folder)) || !is_put_of(a, folder) ||
            (folder->kind == CHANGE_MODIFIED && !(folder->what & CHANGE_TYPE)))
                return false;
        return some_within(chosen, folder->path);
}

static int compare_ops(const void *a, const void *b) {
        const struct op *x = a, *y = b;

        return tree_compare(x->path, y->path);
}

/* Whether this change removes or replaces a folder of the target together with everything in it. */
static bool takes_all(const struct apply *a, const struct change *c) {
        mode_t there = a->is_commit ? c->old_mode : c->new_mode;

        return S_ISDIR(there) && !S_ISDIR(wanted_mode(a, c));
}

/* Takes an unchosen change out of the operations; a folder that contains one is then kept, and its chosen
 * entries are handled one by one. */
static int ops_leave_out(struct apply *a, const struct changes *c, bool *is_chosen, bool *has_all) {
        _cleanup_(some_clear) struct some unchosen = {0};
        int r;

        if (!a->filter)
                return 0;
        for (size_t i = 0; i < c->n; i++)
                is_chosen[i] |= *has_all;
        r = a->filter->leave_out(a->filter->data, c, is_chosen);
        if (r > 0 && some_collect(&unchosen, NULL, c, is_chosen, false) < 0)
                r = -ENOMEM;
        if (r < 0)
                return error_oom(a->err);
        for (size_t i = 0; i < c->n && r > 0; i++)
                if (is_chosen[i] && takes_all(a, &c->list[i]) && some_within(&unchosen, c->list[i].path))
                        is_chosen[i] = false;
        *has_all &= r == 0;
        return 0;
}

static int choose_beneath(struct apply *a, const struct changes *c, char *const *paths, bool *is_chosen) {
        STRV_FOREACH (path, paths) {
                char *const one[] = {*path, NULL};
                bool has_any = false;

                for (size_t i = 0; i < c->n; i++)
                        if (changes_selects(one, &c->list[i]))
                                has_any = is_chosen[i] = true;
                if (!has_any && a->wants_digest)
                        return apply_differs(a);
                if (!has_any)
                        return error_set(a->err, NSRUN_STAGE_USAGE, -ENOENT, *path + (**path == '/'),
                                         "nothing has changed there", "nsrun session diff says what has");
        }
        return 0;
}

int apply_choose(struct apply *a, const struct changes *c, char *const *paths) {
        _cleanup_free_ bool *is_chosen = calloc(c->n + 1, sizeof(*is_chosen));
        _cleanup_(some_clear) struct some chosen = {0};
        bool has_all = !paths || !*paths;
        int r = 0;

        a->ops = calloc(c->n * 2 + 1, sizeof(*a->ops));
        if (!a->ops || !is_chosen)
                return error_oom(a->err);
        if (!has_all)
                r = choose_beneath(a, c, paths, is_chosen);
        if (r >= 0)
                r = ops_leave_out(a, c, is_chosen, &has_all);
        if (r < 0)
                return r;
        if (some_collect(&chosen, a, c, is_chosen, true) < 0)
                return error_oom(a->err);
        for (size_t i = 0; i < c->n; i++) {
                const struct change *x = &c->list[i];
                bool is_implied = !has_all && !is_chosen[i] && is_needed(a, x, &chosen);

                if (!has_all && !is_chosen[i] && !is_implied)
                        continue;
                /* Nobody has asked for that of a file or a symlink. */
                if (is_implied && a->is_commit && x->kind == CHANGE_MODIFIED && (x->what & CHANGE_TYPE))
                        return error_set(a->err, NSRUN_STAGE_WORKSPACE, UNSAID(-EEXIST), x->path,
                                         "this would have to become a folder, and what is there would go",
                                         "name it, too");
                if (x->error && a->wants_digest)
                        return apply_differs(a);
                if (x->error)
                        return error_set(a->err, NSRUN_STAGE_WORKSPACE, -x->error, x->path,
                                         "a changed path can't be looked at",
                                         "make it readable in the session, or choose other paths");
                if (x->kind == CHANGE_RENAMED) {
                        (void)ops_add_op(a, x, x->path, a->is_commit);
                        (void)ops_add_op(a, x, x->from, !a->is_commit);
                } else
                        ops_add_op(a, x, x->path, is_put_of(a, x))->is_implied = is_implied;
        }
        if (a->n_ops > 0)
                qsort(a->ops, a->n_ops, sizeof(*a->ops), compare_ops);
        return 0;
}

static int look_at_source(struct apply *a, struct op *op) {
        mode_t expected = wanted_mode(a, op->change);
        int r;

        /* A commit puts there what the scan saw, and looks once more when it opens a file. */
        if (a->is_commit) {
                op->source = op->change->upper;
                return 0;
        }
        r = tree_stat(&a->source, op->path, &op->source);
        if (r >= 0 && (op->source.st_mode & S_IFMT) != (expected & S_IFMT))
                r = -EAGAIN;
        if (r < 0 && r != -ENOMEM && a->wants_digest)
                return apply_differs(a);
        if (r < 0)
                return error_set(a->err, NSRUN_STAGE_WORKSPACE, r, op->path,
                                 "it changed again while it was being looked at", "try again");
        return 0;
}

static enum role role_of(struct apply *a, const struct op *op, size_t i, size_t *tree, size_t *covers) {
        const struct op *top = *tree < i ? &a->ops[*tree] : NULL;
        mode_t type = op->source.st_mode & S_IFMT;
        bool is_old_fifo;

        if (!op->is_put) {
                if (*covers < i && tree_is_beneath(op->path, a->ops[*covers].path))
                        return ROLE_COVERED;
                if (!op->is_there)
                        return ROLE_COVERED;
                *covers = i;
                return ROLE_REMOVE;
        }
        /* A new fifo on the host would stall whatever opens the files of a folder in turn. */
        is_old_fifo = type == S_IFIFO && (!a->is_commit || (op->is_there && S_ISFIFO(op->seen.st_mode)));
        if (type != S_IFDIR && type != S_IFREG && type != S_IFLNK && !is_old_fifo)
                return ROLE_LEFT_OUT;
        if (top && tree_is_beneath(op->path, top->path))
                return ROLE_IN_TREE;
        if (type == S_IFDIR && op->is_there && S_ISDIR(op->seen.st_mode))
                return ROLE_FOLDER;
        if (type == S_IFDIR)
                *tree = i;
        if (op->is_there && S_ISDIR(op->seen.st_mode))
                *covers = i;
        if (op->change->kind == CHANGE_MODIFIED && op->change->what == CHANGE_MODE && op->is_there &&
            S_ISREG(op->seen.st_mode) && op->seen.st_nlink == 1)
                return ROLE_MODE;
        return ROLE_OBJECT;
}

struct link {
        dev_t device;
        ino_t inode;
        size_t op;
};

static int ops_compare_links(const void *a, const void *b) {
        const struct link *x = a, *y = b;

        if (x->device != y->device)
                return x->device < y->device ? -1 : 1;
        if (x->inode != y->inode)
                return x->inode < y->inode ? -1 : 1;
        return x->op < y->op ? -1 : x->op > y->op;
}

static bool is_apart(const struct apply *a, const struct op *op) {
        return a->filter && a->filter->is_apart && a->filter->is_apart(a->filter->data, op->path);
}

/* What is one inode in the source becomes one inode in the target. */
static int find_links(struct apply *a) {
        _cleanup_free_ struct link *links = calloc(a->n_ops + 1, sizeof(*links));
        size_t n = 0, first = 0;

        if (!links)
                return error_oom(a->err);
        for (size_t i = 0; i < a->n_ops; i++) {
                const struct op *op = &a->ops[i];

                if (op->is_put && S_ISREG(op->source.st_mode) && op->source.st_nlink > 1 && !is_apart(a, op))
                        links[n++] = (struct link){op->source.st_dev, op->source.st_ino, i};
        }
        if (n > 0)
                qsort(links, n, sizeof(*links), ops_compare_links);
        for (size_t i = 0; i < n; i++) {
                struct op *op = &a->ops[links[i].op];

                if (links[i].device != links[first].device || links[i].inode != links[first].inode)
                        first = i;
                op->link_of = links[first].op;
                /* A mode changed in place would keep the inodes apart which the source has as one. */
                if (op->role == ROLE_MODE)
                        op->role = ROLE_OBJECT;
        }
        return 0;
}

/* 0 or -errno; *missing is the last folder that wasn't there, for there is nothing in it. */
static int look_at_target(struct apply *a, struct op *op, const char **missing) {
        int r = *missing && tree_is_beneath(op->path, *missing) ? -ENOENT
                                                                : tree_stat(&a->target, op->path, &op->seen);

        op->is_there = r >= 0;
        if (r == -ENOENT && op->is_put && S_ISDIR(op->source.st_mode) &&
            !(*missing && tree_is_beneath(op->path, *missing)))
                *missing = op->path;
        if (r < 0 && r != -ENOENT)
                return error_set(a->err, NSRUN_STAGE_WORKSPACE, r, op->path,
                                 "what is to be changed can't be looked at", NULL);
        return 0;
}

int apply_look(struct apply *a) {
        size_t tree = SIZE_MAX, covers = SIZE_MAX;
        const char *missing = NULL;
        int r;

        for (size_t i = 0; i < a->n_ops; i++) {
                struct op *op = &a->ops[i];

                op->link_of = i;
                r = op->is_put ? look_at_source(a, op) : 0;
                if (r < 0)
                        return r;
                r = look_at_target(a, op, &missing);
                if (r < 0)
                        return r;
                op->role = role_of(a, op, i, &tree, &covers);
                if (op->role == ROLE_IN_TREE)
                        op->top = tree;
        }
        return find_links(a);
}

static bool selects(const char *selection, const char *path) {
        return *selection == '/' ? gitignore_glob(selection + 1, strlen(selection + 1), path, true)
                                 : tree_is_beneath(path, selection);
}

bool changes_selects(char *const *paths, const struct change *c) {
        if (!paths || !*paths)
                return true;
        STRV_FOREACH (path, paths)
                if (selects(*path, c->path) || (c->from && selects(*path, c->from)))
                        return true;
        return false;
}

int apply_note(struct apply *a, const char *path, const char *text) {
        _cleanup_free_ char *shown = str_visible(path);
        char *line = shown ? str_format("%s: %s", shown, text) : NULL;

        return strv_consume(&a->report->notes, line) < 0 ? error_oom(a->err) : 0;
}

int apply_conflict(struct apply *a, const char *path) {
        char *shown = str_visible(path);

        if (!shown || strv_consume(&a->report->conflicts, shown) < 0)
                return error_oom(a->err);
        return 0;
}

int apply_differs(const struct apply *a) {
        return error_set(a->err, NSRUN_STAGE_WORKSPACE, UNSAID(-ECANCELED), NULL, CHANGES_DIFFER,
                         "look at the diff again");
}

void changes_report_clear(struct changes_report *r) {
        strv_free(r->notes);
        strv_free(r->conflicts);
        *r = (struct changes_report){0};
}

void apply_clear(struct apply *a) {
        tree_forget(&a->source);
        tree_forget(&a->target);
        tree_forget(&a->staged);
        tree_forget(&a->links);
        close_fdp(&a->stage_fd);
        for (size_t i = 0; i < a->n_grants; i++)
                free(a->grants[i].path);
        free(a->grants);
        free(a->ops);
}
