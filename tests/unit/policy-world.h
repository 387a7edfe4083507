/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A user's home, a project and some folders, and a policy to be resolved among them: what
 * the tests of resolve/resolve.c share. */
#pragma once

#include "scratch.h"

#include "resolve/resolve.h"

/* A home folder and a project, with a symlink or two. */
struct world {
        char *top;
        char *old_cwd;
        struct nsrun_policy *p;
        struct resolved s;
};

static inline void new_policy(struct world *w) {
        char *home = NULL, *runtime = NULL;

        w->p = nsrun_policy_free(w->p);
        assert_int_equal(nsrun_policy_new(&w->p), 0);
        assert_true(asprintf(&home, "HOME=%s/home", w->top) > 0);
        assert_true(asprintf(&runtime, "XDG_RUNTIME_DIR=%s/runtime", w->top) > 0);
        assert_int_equal(nsrun_policy_set_environ(w->p, (const char *const[]){home, runtime, NULL}), 0);
        assert_int_equal(nsrun_policy_set_command(w->p, (const char *const[]){"true", NULL}, NULL), 0);
        free(home);
        free(runtime);
}

/* `text` with each @ replaced by the world's folder; the caller frees it. */
static inline char *in(const struct world *w, const char *text) {
        char *result = calloc(1, strlen(text) + 1 + 8 * strlen(w->top)), *to = result;

        assert_non_null(result);
        for (; *text; text++)
                if (*text == '@')
                        to = stpcpy(to, w->top);
                else
                        *to++ = *text;
        return result;
}

static inline int set_up(void **state) {
        static const char *const folders[] = {
                "home/.npm",  "home/.cargo/registry", "home/src/x/sub/deep", "home/src/plain",
                "data/cache", "runtime/podman",       "repo/.git",           "repo/a/b",
        };
        struct world *w = calloc(1, sizeof(*w));
        char *state_home;

        assert_non_null(w);
        w->top = scratch_make();
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
                scratch_folder(w->top, folders[i]);
        scratch_file(w->top, "data/file", "text");
        scratch_file(w->top, "home/src/x/.git", "gitdir: .");
        scratch_link(w->top, "link", "data");
        scratch_link(w->top, "npm", "home/.npm");
        scratch_link(w->top, "x", "home/src/x");
        scratch_link(w->top, "sockets", "runtime");
        state_home = in(w, "@/state");
        /* What the tester's own runs have let commands write is none of these tests' business. */
        assert_int_equal(setenv("XDG_STATE_HOME", state_home, 1), 0);
        free(state_home);
        w->old_cwd = getcwd(NULL, 0);
        assert_non_null(w->old_cwd);
        new_policy(w);
        *state = w;
        return 0;
}

static inline int tear_down(void **state) {
        struct world *w = *state;

        assert_int_equal(chdir(w->old_cwd), 0);
        resolved_clear(&w->s);
        w->p = nsrun_policy_free(w->p);
        free(w->old_cwd);
        scratch_remove(w->top);
        free(w);
        return 0;
}

static inline void set(struct world *w, const char *option, const char *value) {
        char *expanded = value ? in(w, value) : NULL;
        struct nsrun_error err = {0};

        assert_int_equal(nsrun_policy_set(w->p, option, expanded, &err), 0);
        free(expanded);
}

static inline int try_to_resolve(struct world *w, struct nsrun_error *err) {
        const struct policy_request request = {.policy = w->p};

        resolved_clear(&w->s);
        return policy_resolve(&request, &w->s, err);
}

static inline void resolve(struct world *w) {
        struct nsrun_error err = {0};

        if (try_to_resolve(w, &err) < 0)
                fail_msg("%s", nsrun_error_format(&err));
}

static inline void assert_refused(struct world *w, int r, const char *line) {
        struct nsrun_error err = {0};
        char *is, *expected = in(w, line);

        assert_int_equal(try_to_resolve(w, &err), r);
        is = nsrun_error_format(&err);
        assert_string_equal(is, expected);
        free(is);
        free(expected);
}

static inline const struct resolved_rule *find_rule(struct world *w, const char *target) {
        char *expanded = in(w, target);
        const struct resolved_rule *found = NULL;

        for (size_t i = 0; i < w->s.n_rules; i++)
                if (streq(w->s.rules[i].target, expanded)) {
                        assert_null(found); /* one rule for one target */
                        found = &w->s.rules[i];
                }
        free(expanded);
        return found;
}

static inline void assert_rule(struct world *w, const char *target, enum policy_access access,
                               const char *source, const char *alias) {
        const struct resolved_rule *rule = find_rule(w, target);
        char *expected_source = in(w, source), *expected_alias = alias ? in(w, alias) : NULL;

        if (!rule)
                fail_msg("no rule for %s", target);
        assert_int_equal(rule->access, access);
        assert_string_equal(rule->source, expected_source);
        if (!expected_alias)
                assert_true(!rule->aliases || !*rule->aliases);
        else {
                assert_non_null(rule->aliases);
                assert_non_null(*rule->aliases);
                assert_string_equal(*rule->aliases, expected_alias);
        }
        free(expected_source);
        free(expected_alias);
}

static inline void enter(struct world *w, const char *folder) {
        char *path = in(w, folder);

        assert_int_equal(chdir(path), 0);
        free(path);
}
