/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a session's overlays changed: shown, with a digest of all that were asked about, committed,
 * discarded. */
#include "base/json.h"
#include "base/sized.h"
#include "base/stream.h"
#include "changes/git.h"
#include "overlays.h"

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

/* How often a digest is tried where commands go on changing what it is of. */
#define DIGEST_TRIES 5

static int compare_strings(const void *a, const void *b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What was asked for: the overlay's place, and which paths in it, in any order. */
static int add_question(struct sha256 *sum, const struct chosen *chosen) {
        const size_t n = chosen->paths ? strv_length(chosen->paths) : 0;
        _cleanup_free_ char **sorted = calloc(n + 1, sizeof(*sorted));

        if (!sorted)
                return -ENOMEM;
        if (n > 0) {
                memcpy(sorted, chosen->paths, n * sizeof(*sorted));
                qsort(sorted, n, sizeof(*sorted), compare_strings);
        }
        sha256_add(sum, chosen->op->target, strlen(chosen->op->target) + 1);
        for (size_t i = 0; i < n; i++)
                if (i == 0 || !streq(sorted[i - 1], sorted[i]))
                        sha256_add(sum, sorted[i], strlen(sorted[i]) + 1);
        sha256_add(sum, "", 1);
        return 0;
}

static int format_digest(struct sha256 *sum, char **ret) {
        unsigned char bytes[SHA256_SIZE];
        char *text = malloc(2 * SHA256_SIZE + 1);

        if (!text)
                return -ENOMEM;
        sha256_end(sum, bytes);
        for (size_t i = 0; i < SHA256_SIZE; i++)
                (void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
        *ret = text;
        return 0;
}

static int scan_once(const struct chosen *chosen, const struct changes_layer *layer, struct changes *c,
                     struct sha256 *sum, struct nsrun_error *err) {
        struct changes_report unsaid = {0};
        struct taking taking = {.chosen = chosen, .layer = layer, .report = &unsaid};
        const struct changes_filter filter = {.leave_out = layers_leave_out, .data = &taking};
        int r = changes_scan(layer, c, err);

        if (r >= 0 && sum) {
                r = add_question(sum, chosen) < 0 ? error_oom(err) : 0;
                if (r >= 0)
                        r = changes_digest(layer, c, chosen->paths, &filter, sum, err);
        }
        changes_report_clear(&unsaid);
        return r;
}

/* Looks at an overlay; and adds to the digest `sum` if it isn't NULL, which needs a look at contents that
 * stay as they are meanwhile. */
static int scan_chosen(const struct asking *a, const struct chosen *chosen,
                       const struct changes_layer *layer, struct changes *c, struct sha256 *sum) {
        for (int left = DIGEST_TRIES; sum && left > 1; left--) {
                struct sha256 tried = *sum;
                int r = scan_once(chosen, layer, c, &tried, NULL);

                if (r >= 0)
                        *sum = tried;
                if (r >= 0)
                        return r;
                changes_clear(c);
                if (r != -ESTALE && r != -EAGAIN)
                        break;
        }
        return scan_once(chosen, layer, c, sum, a->err);
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
                    struct sha256 *sum, struct json_document *d, struct json_value *list) {
        _cleanup_(layer_close) struct layer_fds f = LAYER_FDS_INIT;
        _cleanup_changes_ struct changes c = {0};
        struct changes_layer layer;
        int r;

        r = layer_open(a, chosen->op, &f, &layer);
        if (r >= 0)
                r = scan_chosen(a, chosen, &layer, &c, sum);
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
        if (r == -ESTALE && sum)
                return error_set(a->err, NSRUN_STAGE_OVERLAY, r, chosen->op->target,
                                 "it changed again while it was being looked at", "try again");
        if (r < 0)
                return error_set(a->err, NSRUN_STAGE_SUPERVISE, r, NULL, "the changes can't be printed",
                                 NULL);
        return 0;
}

static int layers_show(struct asking *a, FILE *to, enum nsrun_diff form, char **ret_digest) {
        _cleanup_json_ struct json_document d = {0};
        _cleanup_free_ char *text = NULL;
        struct json_value *list = NULL;
        char *digest = NULL;
        struct sha256 sum;
        int r = 0;

        sha256_begin(&sum);
        if (form == NSRUN_DIFF_JSON) {
                r = json_open(&d, a->err);
                list = r < 0 ? NULL : json_add_array(&d, d.root, "overlays");
        }
        for (size_t i = 0; i < a->n && r >= 0; i++)
                r = show_one(a, &a->chosen[i], to, form, ret_digest ? &sum : NULL, &d, list);
        if (r >= 0 && ret_digest)
                r = format_digest(&sum, &digest) < 0 ? error_oom(a->err) : 0;
        if (digest && form == NSRUN_DIFF_JSON)
                json_add_string(&d, d.root, "digest", digest);
        if (r >= 0 && form == NSRUN_DIFF_JSON)
                r = json_finish(&d, false, &text, a->err);
        if (text)
                (void)fprintf(to, "%s\n", text);
        if (r < 0)
                free(digest);
        else if (ret_digest)
                *ret_digest = digest;
        return r;
}

static int layers_diff(const char *id, enum nsrun_diff form, const char *const *paths, int fd,
                       char **ret_digest, struct nsrun_error *error) {
        _cleanup_asking_ struct asking a = ASKING_INIT(error);
        char *digest = NULL;
        FILE *to = NULL;
        int r = stream_open(fd, &to);

        if (r < 0)
                return error_set(error, NSRUN_STAGE_USAGE, r, NULL, "the changes can't be printed", NULL);
        r = asking_begin(&a, id, paths);
        if (r >= 0)
                r = layers_show(&a, to, form, ret_digest ? &digest : NULL);
        if (fclose(to) != 0 && r >= 0)
                r = error_set(error, NSRUN_STAGE_USAGE, -errno, NULL, "the changes can't be printed", NULL);
        if (r >= 0 && ret_digest)
                *ret_digest = TAKE_PTR(digest);
        free(digest);
        return r;
}

nsrun_public int nsrun_session_diff(const char *id, enum nsrun_diff form, const char *const *paths, int fd,
                                    struct nsrun_error *error) {
        return layers_diff(id, form, paths, fd, NULL, error);
}

nsrun_public int nsrun_session_diff_digest(const char *id, enum nsrun_diff form, const char *const *paths,
                                           int fd, char **ret_digest, struct nsrun_error *error) {
        return layers_diff(id, form, paths, fd, ret_digest, error);
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

/* A commit or a discard of one overlay. */
struct applying {
        struct layer_fds fds;
        struct changes_layer layer;
        struct taking taking;
        struct changes_filter filter;
        struct changes_report report;
        struct changes_commit *commit; /* that is ready */
};

static void applying_end(struct applying *one) {
        (void)changes_commit_free(one->commit);
        changes_report_clear(&one->report);
        layer_close(&one->fds);
}

static int applying_begin(struct asking *a, const struct chosen *chosen, struct applying *one) {
        *one = (struct applying){.fds = LAYER_FDS_INIT,
                                 .taking = {.chosen = chosen, .layer = &one->layer, .report = &one->report},
                                 .filter = {.leave_out = layers_leave_out, .data = &one->taking}};
        return layer_open(a, chosen->op, &one->fds, &one->layer);
}

static int keep_outcome(struct asking *a, const struct applying *one, struct nsrun_session_outcome *outcome,
                        int r) {
        const struct chosen *chosen = one->taking.chosen;

        outcome->n_applied += one->report.n_applied;
        if ((keep_lines(a, chosen, one->report.notes, &outcome->notes) < 0 ||
             keep_lines(a, chosen, one->report.conflicts, &outcome->conflicts) < 0) &&
            r >= 0)
                return error_oom(a->err);
        return r;
}

static int refuse_other_state(struct asking *a, const struct applying *all, const char *expected) {
        _cleanup_free_ char *digest = NULL;
        struct sha256 sum;
        int r = 0;

        sha256_begin(&sum);
        for (size_t i = 0; i < a->n && r >= 0; i++) {
                r = add_question(&sum, &a->chosen[i]);
                changes_add_digest(all[i].commit, &sum);
        }
        if (r < 0 || format_digest(&sum, &digest) < 0)
                return error_oom(a->err);
        return streq(digest, expected) ? 0
                                       : error_set(a->err, NSRUN_STAGE_WORKSPACE, UNSAID(-ECANCELED), NULL,
                                                   CHANGES_DIFFER, "look at the diff again");
}

/* Each overlay's commit is made ready first, so that a conflict in one, or another state than the expected
 * one, keeps all from being committed. */
static int commit_all(struct asking *a, struct applying *all, unsigned flags, const char *expected,
                      struct nsrun_session_outcome *outcome) {
        int r = 0;

        for (size_t i = 0; i < a->n; i++) {
                const struct chosen *chosen = &a->chosen[i];

                r = applying_begin(a, chosen, &all[i]);
                if (r >= 0)
                        r = changes_prepare(&all[i].layer, chosen->paths, flags, &all[i].filter,
                                            &all[i].report, &all[i].commit, a->err);
                if (r < 0)
                        return keep_outcome(a, &all[i], outcome, r);
        }
        if (expected)
                r = refuse_other_state(a, all, expected);
        for (size_t i = 0; i < a->n && r >= 0; i++)
                r = keep_outcome(a, &all[i], outcome, changes_finish(all[i].commit));
        return r;
}

static int discard_all(struct asking *a, struct applying *all, struct nsrun_session_outcome *outcome) {
        int r = 0;

        for (size_t i = 0; i < a->n && r >= 0; i++) {
                const struct chosen *chosen = &a->chosen[i];

                r = applying_begin(a, chosen, &all[i]);
                if (r >= 0)
                        r = changes_discard(&all[i].layer, chosen->paths, &all[i].report, a->err);
                r = keep_outcome(a, &all[i], outcome, r);
        }
        return r;
}

static int layers_check_digest(const char *digest, struct nsrun_error *err) {
        if (strlen(digest) == (size_t)2 * SHA256_SIZE &&
            strspn(digest, "0123456789abcdef") == strlen(digest))
                return 0;
        return error_set(err, NSRUN_STAGE_USAGE, -EINVAL, digest, "that is no digest of changes",
                         "nsrun session diff --digest prints one");
}

static int layers_apply(const char *id, const char *const *paths, bool is_commit, int is_forced,
                        const char *expected, struct nsrun_session_outcome *ret, struct nsrun_error *err) {
        _cleanup_asking_ struct asking a = ASKING_INIT(err);
        struct nsrun_session_outcome outcome = NSRUN_SESSION_OUTCOME_INIT;
        const unsigned flags = (is_forced ? CHANGES_FORCE : 0U) | (expected ? CHANGES_DIGEST : 0U);
        _cleanup_free_ struct applying *all = NULL;
        int r = ret ? sized_check(ret, "nsrun_session_outcome", err) : 0;

        if (r >= 0 && expected)
                r = layers_check_digest(expected, err);
        if (r < 0)
                return r;
        r = asking_begin(&a, id, paths);
        all = calloc(a.n + 1, sizeof(*all));
        for (size_t i = 0; all && i < a.n; i++)
                all[i].fds = (struct layer_fds)LAYER_FDS_INIT;
        if (r >= 0 && !all)
                r = error_oom(err);
        if (r >= 0)
                r = is_commit ? commit_all(&a, all, flags, expected, &outcome)
                              : discard_all(&a, all, &outcome);
        for (size_t i = 0; all && i < a.n; i++)
                applying_end(&all[i]);
        if (ret)
                sized_move(ret, &outcome);
        nsrun_session_outcome_clear(&outcome);
        return r;
}

nsrun_public int nsrun_session_commit(const char *id, const char *const *paths, int is_forced,
                                      struct nsrun_session_outcome *ret, struct nsrun_error *error) {
        return layers_apply(id, paths, true, is_forced, NULL, ret, error);
}

nsrun_public int nsrun_session_commit_digest(const char *id, const char *const *paths, int is_forced,
                                             const char *digest, struct nsrun_session_outcome *ret,
                                             struct nsrun_error *error) {
        return layers_apply(id, paths, true, is_forced, digest, ret, error);
}

nsrun_public int nsrun_session_discard(const char *id, const char *const *paths,
                                       struct nsrun_session_outcome *ret, struct nsrun_error *error) {
        return layers_apply(id, paths, false, 0, NULL, ret, error);
}

nsrun_public void nsrun_session_outcome_clear(struct nsrun_session_outcome *outcome) {
        struct nsrun_session_outcome own = NSRUN_SESSION_OUTCOME_INIT;

        sized_move(&own, outcome);
        strv_free(own.notes);
        strv_free(own.conflicts);
}
