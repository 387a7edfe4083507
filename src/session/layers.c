/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session's overlays, from its record to changes/: which overlay a path means, and the
 * descriptors through which changes/ looks at it.  The mounted overlay is reached by /proc/PID/root
 * of the session's pid 1. */
#include <fcntl.h>
#include <sys/vfs.h>

#include "base/beneath.h"
#include "base/json.h"
#include "base/path.h"
#include "base/sized.h"
#include "base/stream.h"
#include "base/sys.h"
#include "changes/changes.h"
#include "changes/git.h"
#include "plan/record.h"
#include "session.h"

#define OVERLAYFS_MAGIC 0x794c7630UL /* defined in <linux/magic.h> */

/* An overlay that the caller asks about.  Without paths all of it is meant. */
struct chosen {
        const struct plan_op *op;
        char **paths; /* relative to the overlay */
        bool is_whole;
};

struct asking {
        struct record_folder folder;
        struct plan_record record;
        int init; /* pidfd of the session's pid 1 */
        int root; /* the root folder that pid 1 sees */
        int rundir;
        struct chosen *chosen;
        size_t n;
        struct nsrun_error *err;
};

static void asking_clear(struct asking *a) {
        for (size_t i = 0; i < a->n; i++)
                strv_free(a->chosen[i].paths);
        free(a->chosen);
        close_fdp(&a->rundir);
        close_fdp(&a->root);
        close_fdp(&a->init);
        record_clear(&a->record);
        records_close(&a->folder);
}
#define _cleanup_asking_ _cleanup_(asking_clear)

/* Opens pid 1's root by its pid.  The pidfd is asked afterwards whether pid 1 still lives: the
 * number was pid 1's all the time then. */
static int open_root(struct asking *a) {
        char path[64];
        int r;

        a->init = record_open_process(&a->record.init);
        (void)snprintf(path, sizeof(path), "/proc/%d/root", (int)a->record.init.pid);
        r = a->init < 0 ? a->init : sys_open(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
        if (r >= 0) {
                a->root = r;
                r = sys_pidfd_send_signal(a->init, 0);
        }
        if (r < 0)
                return error_set(a->err, NSRUN_STAGE_SUPERVISE, r, a->record.id,
                                 r == -ESRCH ? "the session has ended" : "the session can't be looked into",
                                 NULL);
        return 0;
}

static int layers_open_rundir(struct asking *a) {
        const char *path = a->record.rundir;

        if (!path || a->record.plan->backing != POLICY_BACKING_DISK)
                return error_set(a->err, NSRUN_STAGE_POLICY, -EOPNOTSUPP, a->record.id,
                                 "the session's overlays are not on disk",
                                 "start it with --overlay PATH, and without --overlay-backing=tmpfs");
        a->rundir = sys_openat2(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, RESOLVE_NO_SYMLINKS);
        if (a->rundir == -ENOSYS)
                a->rundir = sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (a->rundir < 0)
                return error_set(a->err, NSRUN_STAGE_WORKSPACE, a->rundir, path,
                                 "the session's folder can't be opened", NULL);
        return 0;
}

static struct chosen *find_chosen(struct asking *a, const struct plan_op *op) {
        for (size_t i = 0; i < a->n; i++)
                if (a->chosen[i].op == op)
                        return &a->chosen[i];
        a->chosen[a->n] = (struct chosen){.op = op};
        return &a->chosen[a->n++];
}

/* The innermost of the plan's overlays that holds `path`, absolute and normalised; NULL: none does. */
static const struct plan_op *find_overlay(const struct nsrun_plan *plan, const char *path) {
        const struct plan_op *best = NULL;

        for (size_t i = 0; i < plan->n_ops; i++) {
                const struct plan_op *op = &plan->ops[i];

                if (op->kind == PLAN_OVERLAY && path_is_beneath(path, op->target) &&
                    (!best || strlen(op->target) > strlen(best->target)))
                        best = op;
        }
        return best;
}

static int choose_path(struct asking *a, const char *given) {
        const struct nsrun_plan *plan = a->record.plan;
        _cleanup_free_ char *path = path_join(plan->project ? plan->project : POLICY_NO_PROJECT_DIR, given);
        const struct plan_op *op;
        struct chosen *chosen;
        const char *below;

        if (!path)
                return error_oom(a->err);
        /* An empty path most likely comes of a shell variable that was not set: it must not mean
         * everything. */
        if (!*given)
                return error_set(a->err, NSRUN_STAGE_USAGE, -ENOENT, NULL, "an empty path names nothing",
                                 "the whole project is '.'");
        op = find_overlay(plan, path);
        if (!op)
                return error_set(a->err, NSRUN_STAGE_USAGE, -ENOENT, path,
                                 "no overlay of the session holds this path",
                                 "start the session with --overlay to have one there");
        chosen = find_chosen(a, op);
        below = path_below(path, op->target);
        if (!*below)
                chosen->is_whole = true;
        else if (strv_add(&chosen->paths, below) < 0)
                return error_oom(a->err);
        return 0;
}

/* Chooses the overlays that the caller's paths mean.  Without paths those that the user named are
 * chosen; overlays of nsrun's own lists are caches, whose changes nobody wants to see. */
static int layers_choose(struct asking *a, const char *const *paths) {
        const struct nsrun_plan *plan = a->record.plan;
        int r = 0;

        a->chosen = calloc(plan->n_ops + 1, sizeof(*a->chosen));
        if (!a->chosen)
                return error_oom(a->err);
        for (size_t i = 0; paths && paths[i] && r >= 0; i++)
                r = choose_path(a, paths[i]);
        for (size_t i = 0; i < a->n; i++)
                if (a->chosen[i].is_whole)
                        strv_free(TAKE_PTR(a->chosen[i].paths));
        if (paths && paths[0])
                return r;
        for (size_t i = 0; i < plan->n_ops; i++)
                if (plan->ops[i].kind == PLAN_OVERLAY && plan->ops[i].was_asked_for)
                        (void)find_chosen(a, &plan->ops[i]);
        if (a->n == 0)
                return error_set(a->err, NSRUN_STAGE_POLICY, -ENOENT, a->record.id,
                                 "the session was started without an --overlay",
                                 "name a path in one of its overlays, or start one with --overlay PROJECT");
        return 0;
}

static int begin(struct asking *a, const char *id, const char *const *paths) {
        int r = session_read(id, &a->folder, &a->record, a->err);

        if (r >= 0)
                r = layers_choose(a, paths);
        if (r >= 0)
                r = layers_open_rundir(a);
        return r < 0 ? r : open_root(a);
}

struct layer_fds {
        int layer, upper, base, merged;
};

static void layer_close(struct layer_fds *f) {
        close_fdp(&f->layer);
        close_fdp(&f->upper);
        close_fdp(&f->base);
        close_fdp(&f->merged);
}

/* Whether `fd`, reached by path in the session, is the overlay that the session began with.  A
 * command may rename a folder above a mount point, mount and all, and make another folder of the
 * old name. */
static bool is_overlay(int fd, const struct plan_op *op) {
        struct statfs fs;
        struct stat st;

        return fstatfs(fd, &fs) == 0 && (unsigned long)fs.f_type == OVERLAYFS_MAGIC &&
               sys_fstat(fd, &st) >= 0 && st.st_dev == op->merged_dev && st.st_ino == op->merged_ino;
}

static int open_layer(const struct asking *a, const struct plan_op *op, struct layer_fds *f,
                      struct changes_layer *ret) {
        _cleanup_close_ int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        int r = host < 0 ? -errno : 0;
        struct stat st;

        if (r >= 0)
                r = f->layer = beneath_open(a->rundir, op->text, O_RDONLY | O_DIRECTORY, 0);
        if (r >= 0)
                r = f->upper = beneath_open(f->layer, "upper", O_RDONLY | O_DIRECTORY, 0);
        if (r >= 0)
                r = f->base = beneath_open(host, op->source + 1, O_RDONLY | O_DIRECTORY, 0);
        if (r >= 0)
                r = f->merged = beneath_open(a->root, op->target + 1, O_RDONLY | O_DIRECTORY, 0);
        if (r < 0)
                return error_set(a->err, NSRUN_STAGE_OVERLAY, r, op->target, "the overlay can't be opened",
                                 NULL);
        if (sys_fstat(f->base, &st) < 0 || st.st_dev != op->base_dev || st.st_ino != op->base_ino)
                return error_set(a->err, NSRUN_STAGE_OVERLAY, -ESTALE, op->source,
                                 "another folder is there than the one that the session began with",
                                 "move that one back to its place");
        if (!is_overlay(f->merged, op))
                return error_set(
                        a->err, NSRUN_STAGE_OVERLAY, -ESTALE, op->target,
                        "another folder is there in the session than its overlay",
                        "a command of the session has moved a folder above it: move that one back, by "
                        "another command");
        *ret = (struct changes_layer){
                .upper_fd = f->upper,
                .base_fd = f->base,
                .merged_fd = f->merged,
                .record_fd = f->layer,
                .since = {.tv_sec = (time_t)a->record.base_s, .tv_nsec = (long)a->record.base_ns}};
        return 0;
}

static int print_one(FILE *to, enum nsrun_diff form, const struct changes_layer *layer,
                     const struct changes *c, char *const *paths) {
        switch (form) {
        case NSRUN_DIFF_STAT:
                return changes_print_stat(to, layer, c, paths);
        case NSRUN_DIFF_PATCH:
                return changes_print_patch(to, layer, c, paths);
        case NSRUN_DIFF_LIST:
        case NSRUN_DIFF_JSON:
                break;
        }
        return changes_print_list(to, c, paths);
}

static int show_one(struct asking *a, const struct chosen *chosen, FILE *to, enum nsrun_diff form,
                    struct json_document *d, struct json_value *list) {
        _cleanup_(layer_close) struct layer_fds f = {-EBADF, -EBADF, -EBADF, -EBADF};
        _cleanup_changes_ struct changes c = {0};
        struct changes_layer layer;
        int r;

        r = open_layer(a, chosen->op, &f, &layer);
        if (r >= 0)
                r = changes_scan(&layer, &c, a->err);
        if (r < 0)
                return r;
        if (form == NSRUN_DIFF_JSON) {
                struct json_value *overlay = json_add_object(d, list, NULL);

                json_add_string(d, overlay, "path", chosen->op->target);
                json_add_string(d, overlay, "source", chosen->op->source);
                r = changes_add_json(d, json_add_array(d, overlay, "changes"), &c, chosen->paths);
                return r < 0 ? error_oom(a->err) : 0;
        }
        /* Programs that read a patch skip lines that are none of a patch's. */
        if (a->n > 1) {
                _cleanup_free_ char *target = str_visible(chosen->op->target);

                (void)fprintf(to, "overlay %s:\n", target ? target : "");
        }
        r = print_one(to, form, &layer, &c, chosen->paths);
        if (r < 0)
                return error_set(a->err, NSRUN_STAGE_SUPERVISE, r, NULL, "the changes can't be printed",
                                 NULL);
        return 0;
}

static int layers_show(struct asking *a, FILE *to, enum nsrun_diff form) {
        _cleanup_json_ struct json_document d = {0};
        _cleanup_free_ char *text = NULL;
        struct json_value *list = NULL;
        int r = 0;

        if (form == NSRUN_DIFF_JSON) {
                r = json_open(&d, a->err);
                list = r < 0 ? NULL : json_add_array(&d, d.root, "overlays");
        }
        for (size_t i = 0; i < a->n && r >= 0; i++)
                r = show_one(a, &a->chosen[i], to, form, &d, list);
        if (r >= 0 && form == NSRUN_DIFF_JSON)
                r = json_finish(&d, false, &text, a->err);
        if (text)
                (void)fprintf(to, "%s\n", text);
        return r;
}

nsrun_public int nsrun_session_diff(const char *id, enum nsrun_diff form, const char *const *paths, int fd,
                                    struct nsrun_error *error) {
        _cleanup_asking_ struct asking a = {.folder = RECORD_FOLDER_INIT,
                                            .init = -EBADF,
                                            .root = -EBADF,
                                            .rundir = -EBADF,
                                            .err = error};
        FILE *to = NULL;
        int r = stream_open(fd, &to);

        if (r < 0)
                return error_set(error, NSRUN_STAGE_USAGE, r, NULL, "the changes can't be printed", NULL);
        r = begin(&a, id, paths);
        if (r >= 0)
                r = layers_show(&a, to, form);
        if (fclose(to) != 0 && r >= 0)
                r = error_set(error, NSRUN_STAGE_USAGE, -errno, NULL, "the changes can't be printed", NULL);
        return r;
}

/* A commit of one overlay, for layers_leave_out(). */
struct taking {
        const struct chosen *chosen;
        const struct changes_layer *layer;
        struct changes_report *report;
};

/* Whether the caller's `paths` name a change that git would obey: by its own path, or by that of a
 * folder that git would obey as a whole. */
static int is_named(struct git_view *view, char *const *paths, const struct change *change) {
        STRV_FOREACH (path, paths) {
                char *const alone[] = {*path, NULL};
                int r = !changes_selects(alone, change) ? 0
                        : streq(*path, change->path)    ? 1
                                                        : git_view_obeys(view, *path);

                if (r != 0)
                        return r;
        }
        return 0;
}

static int note_left_out(const char *path, struct changes_report *report) {
        _cleanup_free_ char *visible = str_visible(path);
        char *note = NULL;

        if (!visible ||
            asprintf(&note, "%s: left out, git would do what it says; name it to commit it", visible) < 0)
                return -ENOMEM;
        return strv_consume(&report->notes, note);
}

/* Leaves changes out of a commit that the user's next git command would obey (hooks,
 * configuration), unless the caller's paths name them. */
static int layers_leave_out(void *data, const struct changes *c, bool *is_chosen) {
        _cleanup_git_view_ struct git_view view = {0};
        const struct taking *t = data;
        int r = git_view_open(&view, t->layer, t->chosen->op->source, c), has_left_out = 0;

        for (size_t i = 0; i < c->n && r >= 0; i++) {
                const struct change *change = &c->list[i];

                if (!is_chosen[i])
                        continue;
                r = git_view_obeys_change(&view, change);
                if (r > 0) {
                        r = is_named(&view, t->chosen->paths, change);
                        if (r != 0)
                                continue;
                        is_chosen[i] = false;
                        has_left_out = 1;
                        r = note_left_out(change->path, t->report);
                }
        }
        return r < 0 ? r : has_left_out;
}

/* Adds lines that a commit or discard has for its caller to *to.  If several overlays are asked
 * about each line begins with the overlay's path. */
static int keep_lines(const struct asking *a, const struct chosen *chosen, char *const *lines, char ***to) {
        _cleanup_free_ char *target = a->n > 1 ? str_visible(chosen->op->target) : NULL;

        if (a->n > 1 && !target)
                return -ENOMEM;
        STRV_FOREACH (line, lines) {
                char *copy = NULL;

                if (asprintf(&copy, "%s%s%s", target ? target : "", target ? ": " : "", *line) < 0)
                        copy = NULL;
                if (strv_consume(to, copy) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int apply_one(struct asking *a, const struct chosen *chosen, bool is_commit, unsigned flags,
                     struct nsrun_session_outcome *outcome) {
        _cleanup_changes_report_ struct changes_report report = {0};
        _cleanup_(layer_close) struct layer_fds f = {-EBADF, -EBADF, -EBADF, -EBADF};
        struct changes_layer layer;
        struct taking taking = {.chosen = chosen, .layer = &layer, .report = &report};
        const struct changes_filter filter = {.leave_out = layers_leave_out, .data = &taking};
        bool is_last_word;
        int r;

        r = open_layer(a, chosen->op, &f, &layer);
        if (r < 0)
                return r;
        r = is_commit ? changes_commit_some(&layer, chosen->paths, flags, &filter, &report, a->err)
                      : changes_discard(&layer, chosen->paths, &report, a->err);
        outcome->n_applied += report.n_applied;
        /* A look that finds nothing wrong is followed by the commit itself, which has the same
         * lines to say. */
        is_last_word = r < 0 || !(flags & CHANGES_LOOK);
        if (is_last_word &&
            (keep_lines(a, chosen, report.notes, &outcome->notes) < 0 ||
             keep_lines(a, chosen, report.conflicts, &outcome->conflicts) < 0) &&
            r >= 0)
                r = error_oom(a->err);
        return r;
}

static int layers_apply(const char *id, const char *const *paths, bool is_commit, int is_forced,
                        struct nsrun_session_outcome *ret, struct nsrun_error *err) {
        _cleanup_asking_ struct asking a = {
                .folder = RECORD_FOLDER_INIT, .init = -EBADF, .root = -EBADF, .rundir = -EBADF, .err = err};
        struct nsrun_session_outcome outcome = NSRUN_SESSION_OUTCOME_INIT;
        const unsigned flags = is_forced ? CHANGES_FORCE : 0U;
        int r = ret ? sized_check(ret, "nsrun_session_outcome", err) : 0;

        if (r < 0)
                return r;
        r = begin(&a, id, paths);

        /* With several overlays each is looked at first, so that a conflict in one keeps all from
         * being committed. */
        for (size_t i = 0; i < a.n && a.n > 1 && is_commit && r >= 0; i++)
                r = apply_one(&a, &a.chosen[i], is_commit, flags | CHANGES_LOOK, &outcome);
        for (size_t i = 0; i < a.n && r >= 0; i++)
                r = apply_one(&a, &a.chosen[i], is_commit, flags, &outcome);
        if (ret)
                sized_move(ret, &outcome);
        nsrun_session_outcome_clear(&outcome);
        return r;
}

nsrun_public int nsrun_session_commit(const char *id, const char *const *paths, int is_forced,
                                      struct nsrun_session_outcome *ret, struct nsrun_error *error) {
        return layers_apply(id, paths, true, is_forced, ret, error);
}

nsrun_public int nsrun_session_discard(const char *id, const char *const *paths,
                                       struct nsrun_session_outcome *ret, struct nsrun_error *error) {
        return layers_apply(id, paths, false, 0, ret, error);
}

nsrun_public void nsrun_session_outcome_clear(struct nsrun_session_outcome *outcome) {
        struct nsrun_session_outcome own = NSRUN_SESSION_OUTCOME_INIT;

        sized_move(&own, outcome);
        strv_free(own.notes);
        strv_free(own.conflicts);
}
