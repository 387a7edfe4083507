/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a session's overlays changed: shown, with a digest of all that were asked about, committed,
 * discarded. */
#include "base/stream.h"
#include "leave_out.h"
#include "patch.h"
#include "run/sized.h"

/* How often a digest is tried where commands go on changing what it is of. */
#define DIGEST_TRIES 5

/* What was asked for: the overlay's place, and which paths in it, in any order; and whether what git
 * ignores, too. */
static int add_question(struct sha256 *sum, const struct chosen *chosen, bool with_ignored) {
        const size_t n = chosen->paths ? strv_length(chosen->paths) : 0;
        _cleanup_free_ char **sorted = calloc(n + 1, sizeof(*sorted));

        if (!sorted)
                return -ENOMEM;
        if (n > 0) {
                memcpy(sorted, chosen->paths, n * sizeof(*sorted));
                strv_sort(sorted, n);
        }
        sha256_add(sum, chosen->op->target, strlen(chosen->op->target) + 1);
        for (size_t i = 0; i < n; i++)
                if (i == 0 || !streq(sorted[i - 1], sorted[i]))
                        sha256_add(sum, sorted[i], strlen(sorted[i]) + 1);
        sha256_add(sum, "", 1);
        if (with_ignored)
                sha256_add(sum, "ignored", sizeof("ignored"));
        return 0;
}

static int format_digest(struct sha256 *sum, char **ret) {
        unsigned char bytes[SHA256_SIZE];
        char *text = malloc(2 * SHA256_SIZE + 1);

        if (!text)
                return -ENOMEM;
        sha256_end(sum, bytes);
        str_hex(bytes, SHA256_SIZE, text);
        *ret = text;
        return 0;
}

static int scan_once(const struct taking *asked, struct changes *c, struct sha256 *sum,
                     struct nsrun_error *err) {
        struct changes_report unsaid = {0};
        struct taking taking = *asked;
        const struct changes_filter filter = {
                .leave_out = leave_out_some, .is_apart = leave_out_is_protected, .data = &taking};
        int r = changes_scan(asked->layer, c, err);

        taking.report = &unsaid;
        if (r >= 0 && sum) {
                r = add_question(sum, asked->chosen, asked->with_ignored) < 0 ? error_oom(err) : 0;
                if (r >= 0)
                        r = changes_digest(asked->layer, c, asked->chosen->paths, &filter, sum, err);
        }
        changes_report_clear(&unsaid);
        return r;
}

/* Looks at an overlay; and adds to the digest `sum` if it isn't NULL, which needs a look at contents that
 * stay as they are meanwhile. */
static int scan_chosen(const struct asking *a, const struct taking *asked, struct changes *c,
                       struct sha256 *sum) {
        for (int left = DIGEST_TRIES; sum && left > 1; left--) {
                struct sha256 tried = *sum;
                int r = scan_once(asked, c, &tried, NULL);

                if (r >= 0)
                        *sum = tried;
                if (r >= 0)
                        return r;
                changes_clear(c);
                if (r != -ESTALE && r != -EAGAIN)
                        break;
        }
        return scan_once(asked, c, sum, a->err);
}

/* How many changes a diff only counts. */
struct counted {
        size_t ignored, kept;
};

/* Takes what git ignores, and what it keeps for itself, out of a list.  What is taken out stays in `all`. */
static int hide_some(const struct taking *t, struct changes *all, struct changes *shown,
                     struct counted *ret) {
        _cleanup_free_ bool *is_ignored = calloc(all->n + 1, sizeof(*is_ignored)),
                            *is_kept = calloc(all->n + 1, sizeof(*is_kept));
        int r;

        shown->list = calloc(all->n + 1, sizeof(*shown->list));
        r = is_ignored && is_kept && shown->list ? leave_out_mark(t, all, is_ignored) : -ENOMEM;
        if (r >= 0 && !t->with_ignored)
                r = leave_out_mark_kept(t, all, is_kept);
        for (size_t i = 0; i < all->n && r >= 0; i++) {
                bool is_hidden = !t->with_ignored && is_ignored[i];

                all->list[i].is_ignored = is_ignored[i];
                ret->ignored += is_hidden;
                ret->kept += !is_hidden && is_kept[i] && changes_selects(t->chosen->paths, &all->list[i]);
                if (!is_hidden && !is_kept[i])
                        shown->list[shown->n++] = all->list[i];
        }
        return r;
}

/* Marks what a commit of these paths would leave out. */
static int mark_left_out(const struct taking *t, struct changes *c) {
        _cleanup_free_ bool *is_marked = calloc(c->n + 1, sizeof(*is_marked));
        int r = is_marked ? leave_out_mark_orders(t, c, NULL, is_marked) : -ENOMEM;

        for (size_t i = 0; i < c->n && r >= 0; i++)
                c->list[i].is_left_out = is_marked[i];
        return r;
}

/* Programs that read a patch skip lines that are none of a patch's. */
static int print_counted(FILE *to, const char *what, size_t n, const char *lister) {
        _cleanup_free_ char *count = n > 0 ? leave_out_count(n) : NULL;

        if (n > 0 && !count)
                return -ENOMEM;
        if (count)
                (void)fprintf(to, "# %s: %s (%s lists %s)\n", what, count, lister, n == 1 ? "it" : "them");
        return 0;
}

/* Where a diff goes to. */
struct showing {
        FILE *to;
        enum nsrun_diff form;
        struct sha256 *sum; /* NULL: no digest is wanted */
        struct json_document document;
        struct json_value *list;
};

static int add_overlay_json(struct showing *s, const struct chosen *chosen, const struct changes *shown,
                            const struct counted *n) {
        struct json_value *overlay = json_add_object(&s->document, s->list, NULL);

        json_add_string(&s->document, overlay, "path", chosen->op->target);
        json_add_string(&s->document, overlay, "source", chosen->op->source);
        json_add_number(&s->document, overlay, "git", n->kept);
        json_add_number(&s->document, overlay, "ignored", n->ignored);
        return changes_add_json(&s->document, json_add_array(&s->document, overlay, "changes"), shown,
                                chosen->paths);
}

static int show_one(struct asking *a, const struct taking *asked, struct showing *s) {
        _cleanup_(layer_close) struct layer_fds f = LAYER_FDS_INIT;
        const struct chosen *chosen = asked->chosen;
        _cleanup_changes_ struct changes c = {0};
        _cleanup_free_ struct change *list = NULL;
        struct changes_layer layer;
        struct taking t = *asked;
        struct changes shown = {0};
        struct counted n = {0};
        int r;

        t.layer = &layer;
        r = layer_open(a, chosen->op, &f, &layer);
        if (r >= 0)
                r = layer_find_globs(t.chosen, &layer) < 0 ? error_oom(a->err) : 0;
        if (r >= 0)
                r = scan_chosen(a, &t, &c, s->sum);
        if (r < 0)
                return r;
        if (s->form == NSRUN_DIFF_JSON)
                r = mark_left_out(&t, &c);
        if (r >= 0)
                r = hide_some(&t, &c, &shown, &n);
        list = shown.list;
        if (r >= 0 && s->form == NSRUN_DIFF_JSON)
                r = add_overlay_json(s, chosen, &shown, &n);
        if (r == -ENOMEM)
                return error_oom(a->err);
        if (s->form == NSRUN_DIFF_JSON)
                return 0;
        if (a->n > 1) {
                _cleanup_free_ char *target = str_visible(chosen->op->target);

                (void)fprintf(s->to, "overlay %s:\n", target ? target : "");
        }
        if (s->form == NSRUN_DIFF_PATCH || s->form == NSRUN_DIFF_STAT) {
                r = patch_print(s->to, s->form, chosen->op->target, &layer, &shown, chosen->paths, a->err);
                if (r < 0)
                        return r;
        } else
                r = changes_print_list(s->to, &shown, chosen->paths);
        if (r >= 0)
                r = print_counted(s->to, "ignored by git", n.ignored, "--ignored");
        if (r >= 0)
                r = print_counted(s->to, "git's own, which a commit takes over", n.kept, "naming .git");
        if (r < 0)
                return error_set(a->err, NSRUN_STAGE_SUPERVISE, r, NULL, "the changes can't be printed",
                                 NULL);
        return 0;
}

static int layers_show(struct asking *a, const struct taking *asked, struct showing *s, char **ret_digest) {
        _cleanup_free_ char *text = NULL;
        char *digest = NULL;
        struct sha256 sum;
        int r = 0;

        sha256_begin(&sum);
        s->sum = ret_digest ? &sum : NULL;
        if (s->form == NSRUN_DIFF_JSON) {
                s->document = json_begin();
                s->list = json_add_array(&s->document, s->document.root, "overlays");
        }
        for (size_t i = 0; i < a->n && r >= 0; i++) {
                struct taking one = *asked;

                one.chosen = &a->chosen[i];
                r = leave_out_read(a, &one);
                if (r >= 0)
                        r = show_one(a, &one, s);
                leave_out_clear(&one);
        }
        if (r >= 0 && ret_digest)
                r = format_digest(&sum, &digest) < 0 ? error_oom(a->err) : 0;
        if (digest && s->form == NSRUN_DIFF_JSON)
                json_add_string(&s->document, s->document.root, "digest", digest);
        if (r >= 0 && s->form == NSRUN_DIFF_JSON)
                r = json_finish(&s->document, false, &text, a->err);
        if (text)
                (void)fprintf(s->to, "%s\n", text);
        if (r < 0)
                free(digest);
        else if (ret_digest)
                *ret_digest = digest;
        return r;
}

static int take_choice(const struct nsrun_session_choice *from, struct nsrun_session_choice *ret,
                       struct nsrun_error *err) {
        *ret = (struct nsrun_session_choice)NSRUN_SESSION_CHOICE_INIT;
        return from ? sized_take(ret, sizeof(*ret), from, "nsrun_session_choice", err) : 0;
}

nsrun_public int nsrun_session_diff_choice(const char *id, enum nsrun_diff form,
                                           const struct nsrun_session_choice *choice, int fd,
                                           char **ret_digest, struct nsrun_error *error) {
        _cleanup_asking_ struct asking a = ASKING_INIT(error);
        struct showing s = {.form = form};
        struct nsrun_session_choice own;
        struct taking asked = {0};
        char *digest = NULL;
        int r = take_choice(choice, &own, error);

        if (r < 0)
                return r;
        r = stream_open(fd, &s.to);
        if (r < 0)
                return error_set(error, NSRUN_STAGE_USAGE, r, NULL, "the changes can't be printed", NULL);
        r = asking_begin(&a, id, own.paths);
        asked.with_ignored = own.with_ignored != 0;
        asked.by_person = own.by_person != 0;
        if (r >= 0)
                r = layers_show(&a, &asked, &s, ret_digest ? &digest : NULL);
        json_close(&s.document);
        if (fclose(s.to) != 0 && r >= 0)
                r = error_set(error, NSRUN_STAGE_USAGE, -errno, NULL, "the changes can't be printed", NULL);
        if (r >= 0 && ret_digest)
                *ret_digest = TAKE_PTR(digest);
        free(digest);
        return r;
}

nsrun_public int nsrun_session_diff(const char *id, enum nsrun_diff form, const char *const *paths, int fd,
                                    struct nsrun_error *error) {
        return nsrun_session_diff_digest(id, form, paths, fd, NULL, error);
}

nsrun_public int nsrun_session_diff_digest(const char *id, enum nsrun_diff form, const char *const *paths,
                                           int fd, char **ret_digest, struct nsrun_error *error) {
        const struct nsrun_session_choice choice = {.size = sizeof(choice), .paths = paths};

        return nsrun_session_diff_choice(id, form, &choice, fd, ret_digest, error);
}

/* Adds lines that a commit or discard has for its caller to *to.  If several overlays are asked
 * about each line begins with the overlay's path. */
static int keep_lines(const struct asking *a, const struct chosen *chosen, char *const *lines, char ***to) {
        _cleanup_free_ char *target = a->n > 1 ? str_visible(chosen->op->target) : NULL;

        if (a->n > 1 && !target)
                return -ENOMEM;
        STRV_FOREACH (line, lines)
                if (strv_consume(to, str_format("%s%s%s", target ? target : "", target ? ": " : "", *line)) <
                    0)
                        return -ENOMEM;
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
        leave_out_clear(&one->taking);
        layer_close(&one->fds);
}

static int applying_begin(struct asking *a, const struct taking *asked, struct applying *one) {
        int r;

        *one = (struct applying){.fds = LAYER_FDS_INIT,
                                 .taking = *asked,
                                 .filter = {.leave_out = leave_out_some,
                                            .is_apart = leave_out_is_protected,
                                            .data = &one->taking}};
        one->taking.layer = &one->layer;
        one->taking.report = &one->report;
        r = layer_open(a, asked->chosen->op, &one->fds, &one->layer);
        if (r >= 0 && layer_find_globs(asked->chosen, &one->layer) < 0)
                r = error_oom(a->err);
        return r;
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
                r = add_question(&sum, &a->chosen[i], all[i].taking.with_ignored);
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
static int commit_all(struct asking *a, struct applying *all, const struct nsrun_session_choice *choice,
                      struct nsrun_session_outcome *outcome) {
        const unsigned flags =
                (choice->is_forced ? CHANGES_FORCE : 0U) | (choice->digest ? CHANGES_DIGEST : 0U);
        int r = 0;

        for (size_t i = 0; i < a->n; i++) {
                const struct taking asked = {.chosen = &a->chosen[i],
                                             .with_ignored = choice->with_ignored != 0,
                                             .by_person = choice->by_person != 0};

                r = applying_begin(a, &asked, &all[i]);
                if (r >= 0)
                        r = leave_out_read(a, &all[i].taking);
                if (r >= 0)
                        r = changes_prepare(&all[i].layer, asked.chosen->paths, flags, &all[i].filter,
                                            &all[i].report, &all[i].commit, a->err);
                if (r < 0)
                        return keep_outcome(a, &all[i], outcome, r);
        }
        if (choice->digest)
                r = refuse_other_state(a, all, choice->digest);
        for (size_t i = 0; i < a->n && r >= 0; i++)
                r = keep_outcome(a, &all[i], outcome, changes_finish(all[i].commit));
        return r;
}

static int discard_all(struct asking *a, struct applying *all, struct nsrun_session_outcome *outcome) {
        int r = 0;

        for (size_t i = 0; i < a->n && r >= 0; i++) {
                const struct taking asked = {.chosen = &a->chosen[i], .with_ignored = true};

                r = applying_begin(a, &asked, &all[i]);
                if (r >= 0)
                        r = changes_discard(&all[i].layer, asked.chosen->paths, &all[i].report, a->err);
                r = keep_outcome(a, &all[i], outcome, r);
        }
        return r;
}

static void look_anew(const struct asking *a, const struct applying *all) {
        _cleanup_free_ int *merged = calloc(a->n + 1, sizeof(*merged));
        size_t n = 0;

        for (size_t i = 0; merged && i < a->n; i++)
                if (all[i].report.n_applied > 0 && all[i].fds.merged >= 0)
                        merged[n++] = all[i].fds.merged;
        if (merged)
                layers_look_anew(a, merged, n);
}

static int layers_check_digest(const char *digest, struct nsrun_error *err) {
        if (strlen(digest) == (size_t)2 * SHA256_SIZE &&
            strspn(digest, "0123456789abcdef") == strlen(digest))
                return 0;
        return error_set(err, NSRUN_STAGE_USAGE, -EINVAL, digest, "that is no digest of changes",
                         "nsrun session diff --digest prints one");
}

static int layers_apply(const char *id, const struct nsrun_session_choice *choice, bool is_commit,
                        struct nsrun_session_outcome *ret, struct nsrun_error *err) {
        _cleanup_asking_ struct asking a = ASKING_INIT(err);
        struct nsrun_session_outcome outcome = NSRUN_SESSION_OUTCOME_INIT;
        _cleanup_free_ struct applying *all = NULL;
        int r = ret ? sized_check(ret, "nsrun_session_outcome", err) : 0;

        if (r >= 0 && choice->digest)
                r = layers_check_digest(choice->digest, err);
        if (r < 0)
                return r;
        r = asking_begin(&a, id, choice->paths);
        all = calloc(a.n + 1, sizeof(*all));
        for (size_t i = 0; all && i < a.n; i++)
                all[i].fds = (struct layer_fds)LAYER_FDS_INIT;
        if (r >= 0 && !all)
                r = error_oom(err);
        if (r >= 0)
                r = is_commit ? commit_all(&a, all, choice, &outcome) : discard_all(&a, all, &outcome);
        if (all)
                look_anew(&a, all);
        for (size_t i = 0; all && i < a.n; i++)
                applying_end(&all[i]);
        if (ret)
                sized_move(ret, &outcome);
        nsrun_session_outcome_clear(&outcome);
        return r;
}

nsrun_public int nsrun_session_commit_choice(const char *id, const struct nsrun_session_choice *choice,
                                             struct nsrun_session_outcome *ret, struct nsrun_error *error) {
        struct nsrun_session_choice own;
        int r = take_choice(choice, &own, error);

        return r < 0 ? r : layers_apply(id, &own, true, ret, error);
}

nsrun_public int nsrun_session_commit(const char *id, const char *const *paths, int is_forced,
                                      struct nsrun_session_outcome *ret, struct nsrun_error *error) {
        const struct nsrun_session_choice choice = {
                .size = sizeof(choice), .paths = paths, .is_forced = is_forced};

        return layers_apply(id, &choice, true, ret, error);
}

nsrun_public int nsrun_session_commit_digest(const char *id, const char *const *paths, int is_forced,
                                             const char *digest, struct nsrun_session_outcome *ret,
                                             struct nsrun_error *error) {
        const struct nsrun_session_choice choice = {
                .size = sizeof(choice), .paths = paths, .is_forced = is_forced, .digest = digest};

        return layers_apply(id, &choice, true, ret, error);
}

nsrun_public int nsrun_session_discard(const char *id, const char *const *paths,
                                       struct nsrun_session_outcome *ret, struct nsrun_error *error) {
        const struct nsrun_session_choice choice = {.size = sizeof(choice), .paths = paths};

        return layers_apply(id, &choice, false, ret, error);
}

nsrun_public void nsrun_session_outcome_clear(struct nsrun_session_outcome *outcome) {
        struct nsrun_session_outcome own = NSRUN_SESSION_OUTCOME_INIT;

        sized_move(&own, outcome);
        strv_free(own.notes);
        strv_free(own.conflicts);
}
