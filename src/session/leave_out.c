/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "leave_out.h"

#include "base/array.h"
#include "base/path.h"
#include "changes/git.h"
#include "changes/ignored.h"
#include "host/git_author.h"
#include "resolve/project.h"

/* 1, 0, -ENOMEM, as all of these. */
static int is_protected_path(const struct taking *t, const char *path, bool is_link) {
        _cleanup_free_ char *full = path_join(t->chosen->op->source, path);

        return full ? protect_answers(&t->says.protected, full, is_link) : -ENOMEM;
}

bool leave_out_is_protected(void *data, const char *path) {
        return is_protected_path(data, path, false) != 0;
}

/* By what a git dir is, or by a protected name. */
static int is_obeyed_change(const struct taking *t, struct git_view *git, const struct change *change) {
        int r = git_view_obeys_change(git, change);

        if (r == 0)
                r = is_protected_path(t, change->path, S_ISLNK(change->new_mode));
        return r == 0 && change->from ? is_protected_path(t, change->from, false) : r;
}

/* Whether the caller's paths name a change that is obeyed: by its own path, or by that of a folder that is
 * obeyed as a whole.  A glob names none. */
static int is_named(const struct taking *t, struct git_view *git, const struct change *change) {
        STRV_FOREACH (path, t->chosen->paths) {
                char *const alone[] = {*path, NULL};
                int r;

                if (**path == '/' || !changes_selects(alone, change))
                        continue;
                r = streq(*path, change->path) ? 1 : is_protected_path(t, *path, false);
                if (r == 0)
                        r = git_view_obeys(git, *path);
                if (r != 0)
                        return r;
        }
        return 0;
}

static int note_left_out(const char *path, struct changes_report *report) {
        _cleanup_free_ char *visible = str_visible(path);

        return !visible ? -ENOMEM
                        : strv_consume(
                                  &report->notes,
                                  str_format("%s: left in the session: programs on the host obey it; name "
                                             "it at a terminal to commit it",
                                             visible));
}

int leave_out_mark_orders(const struct taking *t, const struct changes *c, const bool *is_asked, bool *ret) {
        struct git_view git;
        int r = git_view_open(&git, t->layer, t->chosen->op->source, c);

        for (size_t i = 0; i < c->n && r >= 0; i++) {
                const struct change *change = &c->list[i];

                ret[i] = false;
                if (is_asked && !is_asked[i])
                        continue;
                r = is_obeyed_change(t, &git, change);
                if (r <= 0)
                        continue;
                r = t->by_person ? is_named(t, &git, change) : 0;
                ret[i] = r == 0;
        }
        git_view_clear(&git);
        return r < 0 ? r : 0;
}

/* Whether a path that names a git dir, or what lies in one, selects the change. */
static bool names_git(char *const *paths, const struct change *change) {
        STRV_FOREACH (path, paths) {
                char *const alone[] = {*path, NULL};

                if (strcasestr(*path, ".git") && changes_selects(alone, change))
                        return true;
        }
        return false;
}

int leave_out_mark_kept(const struct taking *t, const struct changes *c, bool *ret) {
        struct git_view git;
        int r = git_view_open(&git, t->layer, t->chosen->op->source, c);

        for (size_t i = 0; i < c->n && r >= 0; i++) {
                r = names_git(t->chosen->paths, &c->list[i]) ? 0 : git_view_keeps(&git, &c->list[i]);
                ret[i] = r > 0;
        }
        git_view_clear(&git);
        return r < 0 ? r : 0;
}

static int leave_out_orders(const struct taking *t, const struct changes *c, bool *is_chosen) {
        _cleanup_free_ bool *is_marked = calloc(c->n + 1, sizeof(*is_marked));
        int r = is_marked ? leave_out_mark_orders(t, c, is_chosen, is_marked) : -ENOMEM, has_left_out = 0;

        for (size_t i = 0; i < c->n && r >= 0; i++) {
                if (!is_marked[i])
                        continue;
                is_chosen[i] = false;
                has_left_out = 1;
                r = note_left_out(c->list[i].path, t->report);
        }
        return r < 0 ? r : has_left_out;
}

char *leave_out_count(size_t n) {
        char digits[24];
        struct strbuf b = {0};
        int length = snprintf(digits, sizeof(digits), "%zu", n);

        for (int i = 0; i < length; i++)
                strbuf_addf(&b, "%s%c", i > 0 && (length - i) % 3 == 0 ? "," : "", digits[i]);
        strbuf_addf(&b, " path%s", n == 1 ? "" : "s");
        return strbuf_finish(&b);
}

static int note_ignored(size_t n, struct changes_report *report) {
        _cleanup_free_ char *count = leave_out_count(n);

        return !count ? -ENOMEM
                      : strv_consume(
                                &report->notes,
                                str_format("ignored by git: %s stay%s in the session (--ignored commits %s)",
                                           count, n == 1 ? "s" : "", n == 1 ? "it" : "them"));
}

int leave_out_mark(const struct taking *t, const struct changes *c, bool *ret) {
        const struct ignored_question question = {.layer = t->layer,
                                                  .top = t->chosen->op->source,
                                                  .global = t->says.user_ignores,
                                                  .is_protected = leave_out_is_protected,
                                                  .data = (void *)(uintptr_t)t};

        return ignored_mark(&question, c, t->chosen->paths, ret);
}

static int leave_out_ignored(const struct taking *t, const struct changes *c, bool *is_chosen) {
        _cleanup_free_ bool *is_marked = calloc(c->n + 1, sizeof(*is_marked));
        size_t n = 0;
        int r;

        if (t->with_ignored || !is_marked)
                return is_marked ? 0 : -ENOMEM;
        r = leave_out_mark(t, c, is_marked);
        for (size_t i = 0; i < c->n && r >= 0; i++) {
                if (!is_marked[i] || !is_chosen[i])
                        continue;
                is_chosen[i] = false;
                n++;
        }
        if (r >= 0 && n > 0)
                r = note_ignored(n, t->report);
        return r < 0 ? r : n > 0;
}

int leave_out_some(void *data, const struct changes *c, bool *is_chosen) {
        const struct taking *t = data;
        int ignored = leave_out_ignored(t, c, is_chosen), r;

        if (ignored < 0)
                return ignored;
        r = leave_out_orders(t, c, is_chosen);
        return r < 0 ? r : r || ignored;
}

/* The folders of the host that commands write to at once: what lies there is not the user's word. */
static int list_bound(const struct nsrun_plan *plan, char ***ret) {
        for (size_t i = 0; i < plan->n_ops; i++) {
                const struct plan_op *op = &plan->ops[i];

                if (op->kind == PLAN_BIND && !op->is_read_only && op->is_directory && op->source &&
                    strv_add(ret, op->source) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* Adds a folder that is asked about as if a command could write there at once, as in nsrun run. */
static int add_folder_asked(struct resolved *s, const char *path) {
        struct resolved_rule rule = {.access = POLICY_RW, .option = "--overlay", .is_directory = true};

        if (ARRAY_GROW(s->files.rules, s->files.n_rules) < 0)
                return -ENOMEM;
        rule.source = strdup(path);
        rule.target = strdup(path);
        s->files.rules[s->files.n_rules++] = rule;
        return rule.source && rule.target ? 0 : -ENOMEM;
}

/* What protect/ is to know of the host: the home's symlinks, the git dirs elsewhere, the user's git. */
static int fill_question(const struct asking *a, const char *source, struct resolved *s) {
        const struct nsrun_plan *plan = a->record.plan;
        const char *project = plan->project;
        bool is_in_project = project && path_is_beneath(source, project);
        int r = policy_find_home(getenv("HOME"), &s->home, NULL);

        if (r >= 0 && s->home)
                r = name_list_read(s->home, NAME_LIST_USUAL, &s->home_names);
        if (r >= 0 && project)
                r = (s->project = strdup(project)) ? 0 : -ENOMEM;
        if (r >= 0 && project && plan->git_dir && !path_is_beneath(plan->git_dir, project))
                r = (s->git.dir = strdup(plan->git_dir)) ? 0 : -ENOMEM;
        if (r >= 0 && s->git.dir && plan->git_common_dir)
                r = (s->git.common_dir = strdup(plan->git_common_dir)) ? 0 : -ENOMEM;
        if (r >= 0 && is_in_project)
                r = add_folder_asked(s, project);
        return r < 0 || (is_in_project && streq(source, project)) ? r : add_folder_asked(s, source);
}

int leave_out_read(const struct asking *a, struct taking *t) {
        const struct nsrun_plan *plan = a->record.plan;
        const struct nsrun_policy policy = {.protect = plan->protect, .no_protect = plan->no_protect};
        _cleanup_resolved_ struct resolved s = {.policy = &policy, .is_session = true};
        _cleanup_strv_ char **writable = NULL;
        _cleanup_identity_ struct identity id = {0};
        struct identity_request request = {.project = plan->project ? plan->project : "/",
                                           .environ = environ};
        int r = list_bound(plan, &writable);

        request.untrusted = writable;
        if (r >= 0)
                r = identity_find(&request, &id);
        s.git.hooks = TAKE_PTR(id.hooks);
        s.git.included = TAKE_PTR(id.included);
        s.git.programs = TAKE_PTR(id.programs);
        if (r >= 0)
                r = fill_question(a, t->chosen->op->source, &s);
        if (r < 0)
                return error_oom(a->err);
        t->says.user_ignores = TAKE_PTR(id.ignores);
        return protect_answer(&s, &t->says.protected, a->err);
}

void leave_out_clear(struct taking *t) {
        free(t->says.user_ignores);
        protect_answer_clear(&t->says.protected);
        t->says.user_ignores = NULL;
}
