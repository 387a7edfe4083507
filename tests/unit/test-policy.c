/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* resolve/resolve.c and rules.c: what becomes of a policy, here and now. */
#include "policy-world.h"

#include <pthread.h>

TEST_WITH(the_project_is_the_git_top_level, set_up, tear_down) {
        struct world *w = *state;
        char *expected = in(w, "@/home/src/x");

        enter(w, "@/home/src/x/sub/deep");
        for (int i = 0; i < 3; i++) {
                resolve(w); /* twice is as once */
                assert_string_equal(w->s.project, expected);
                assert_rule(w, "@/home/src/x", POLICY_RW, "@/home/src/x", NULL);
        }
        free(expected);
}

TEST_WITH(without_git_the_project_is_the_current_folder, set_up, tear_down) {
        struct world *w = *state;
        char *expected = in(w, "@/home/src/plain");

        enter(w, "@/home/src/plain");
        resolve(w);
        assert_string_equal(w->s.project, expected);
        free(expected);
}

TEST_WITH(a_project_keeps_the_name_it_was_given, set_up, tear_down) {
        struct world *w = *state;

        set(w, "project", "@/x/../x/");
        for (int i = 0; i < 2; i++) {
                resolve(w);
                assert_rule(w, "@/home/src/x", POLICY_RW, "@/home/src/x", "@/x");
        }
        set(w, "project", "@/repo");
        resolve(w);
        assert_rule(w, "@/repo", POLICY_RW, "@/repo", NULL);
        assert_null(find_rule(w, "@/home/src/x"));
}

TEST_WITH(no_project_exposes_none, set_up, tear_down) {
        struct world *w = *state;

        enter(w, "@/repo");
        set(w, "no-project", NULL);
        resolve(w);
        assert_null(w->s.project);
        assert_null(find_rule(w, "@/repo"));
}

TEST_WITH(toolchains_are_default_rules, set_up, tear_down) {
        struct world *w = *state;
        const struct resolved_rule *rule;

        set(w, "no-project", NULL);
        resolve(w);
        assert_rule(w, "/usr", POLICY_RO, "/usr", NULL);
        assert_rule(w, "@/home/.npm", POLICY_OVERLAY, "@/home/.npm", NULL);
        assert_rule(w, "@/home/.cargo/registry", POLICY_OVERLAY, "@/home/.cargo/registry", NULL);
        assert_null(find_rule(w, "@/home/.nuget/packages")); /* which isn't there */
        rule = find_rule(w, "/usr");
        assert_true(policy_is_default(rule->origin));
        assert_true(rule->is_directory);
        assert_string_equal(rule->option, "toolchains");
}

TEST_WITH(an_explicit_rule_replaces_a_default_one, set_up, tear_down) {
        struct world *w = *state;

        set(w, "project", "@/repo");
        set(w, "ro", "@/repo");
        set(w, "ro", "@/npm"); /* a symlink to a toolchain's folder */
        set(w, "bind", "@/data:/usr:ro");
        resolve(w);
        assert_rule(w, "@/repo", POLICY_RO, "@/repo", NULL);
        assert_rule(w, "@/home/.npm", POLICY_RO, "@/home/.npm", "@/npm");
        assert_rule(w, "/usr", POLICY_RO, "@/data", NULL);
        assert_false(policy_is_default(find_rule(w, "/usr")->origin));
        resolve(w);
        assert_rule(w, "@/repo", POLICY_RO, "@/repo", NULL);
}

TEST_WITH(the_same_rule_twice_is_one, set_up, tear_down) {
        struct world *w = *state;

        set(w, "no-project", NULL);
        set(w, "ro", "@/data");
        set(w, "ro", "@/link/"); /* the same folder by another name */
        set(w, "bind", "@/data:@//data/.:ro");
        set(w, "symlink", "a:/l");
        set(w, "symlink", "a:/./l");
        resolve(w);
        assert_rule(w, "@/data", POLICY_RO, "@/data", "@/link");
        assert_int_equal(w->s.n_links, 1);
        assert_string_equal(w->s.links[0].path, "/l");
}

TEST_WITH(sources_are_canonical_and_targets_normalised, set_up, tear_down) {
        struct world *w = *state;

        enter(w, "@/repo");
        set(w, "no-project", NULL);
        set(w, "ro", "../link/file");
        set(w, "bind", "@/link/cache:/x//y/../z/");
        set(w, "rw", "../repo/a");
        resolve(w);
        assert_rule(w, "@/data/file", POLICY_RO, "@/data/file", "@/link/file");
        assert_false(find_rule(w, "@/data/file")->is_directory);
        assert_rule(w, "/x/z", POLICY_RW, "@/data/cache", NULL);
        assert_true(find_rule(w, "/x/z")->is_directory);
        assert_rule(w, "@/repo/a", POLICY_RW, "@/repo/a", NULL);
}

/* /top/x/.. is /top/home/src for the kernel and /top for a lexical mind. */
TEST_WITH(a_spelling_that_leads_elsewhere_makes_no_alias, set_up, tear_down) {
        struct world *w = *state;

        set(w, "no-project", NULL);
        set(w, "ro", "@/x/../plain");
        resolve(w);
        assert_rule(w, "@/home/src/plain", POLICY_RO, "@/home/src/plain", NULL);
}

TEST_WITH(an_alias_gives_way_to_a_rule, set_up, tear_down) {
        struct world *w = *state;

        set(w, "no-project", NULL);
        set(w, "ro", "@/link");
        set(w, "bind", "@/repo:@/link");
        resolve(w);
        assert_rule(w, "@/data", POLICY_RO, "@/data", NULL);
        assert_rule(w, "@/link", POLICY_RW, "@/repo", NULL);
}

TEST_WITH(a_hidden_spelling_in_proc_makes_no_alias, set_up, tear_down) {
        struct world *w = *state;

        enter(w, "@/data");
        set(w, "no-project", NULL);
        set(w, "ro", "/proc/self/cwd/cache");
        resolve(w);
        assert_rule(w, "@/data/cache", POLICY_RO, "@/data/cache", NULL);
}

TEST_WITH(many_rules_keep_their_order, set_up, tear_down) {
        struct world *w = *state;
        char *source = in(w, "@/data");

        set(w, "no-project", NULL);
        for (int i = 0; i < 2000; i++) {
                char target[32];

                (void)snprintf(target, sizeof(target), "/many/%d", (i * 7919) % 2000);
                assert_int_equal(
                        policy_add_rule(w->p, POLICY_BY_OPTION, POLICY_RO, source, target, "--bind"), 0);
        }
        resolve(w);
        for (int i = 0; i < 2000; i++) {
                char target[32];

                (void)snprintf(target, sizeof(target), "/many/%d", (i * 7919) % 2000);
                assert_string_equal(w->s.rules[i].target, target);
        }
        free(source);
}

TEST_WITH(the_home_is_found, set_up, tear_down) {
        struct world *w = *state;
        static const struct {
                const char *home, *expected;
        } cases[] = {
                {"HOME=/home/./u/", "/home/u"},    {"HOME=/", NULL},
                {"HOME=/usr/sbin", NULL},          {"HOME=/tmp", NULL},
                {"HOME=/tmp/h", "/tmp/h"},         {"HOME=/dev/shm", NULL},
                {"HOME=/var/lib/x", "/var/lib/x"}, {"HOME=/opt", NULL},
                {"HOME=/opt/nobodys", NULL}, /* which isn't there */
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                new_policy(w);
                set(w, "no-project", NULL);
                assert_int_equal(nsrun_policy_set_environ(w->p, (const char *const[]){cases[i].home, NULL}),
                                 0);
                resolve(w);
                if (cases[i].expected)
                        assert_string_equal(w->s.home, cases[i].expected);
                else
                        assert_null(w->s.home);
        }
}

TEST_WITH(tmp_can_be_a_folder, set_up, tear_down) {
        struct world *w = *state;
        char *expected = in(w, "@/data");

        set(w, "no-project", NULL);
        set(w, "tmp", "@/link");
        for (int i = 0; i < 2; i++) {
                resolve(w);
                assert_string_equal(w->s.tmp.source, expected);
                assert_rule(w, "@/data", POLICY_RW, "@/data", "@/link");
        }
        /* An explicit rule for the same path goes before, whatever the link says. */
        set(w, "ro", "@/data");
        resolve(w);
        assert_string_equal(w->s.tmp.source, expected);
        assert_rule(w, "@/data", POLICY_RO, "@/data", "@/link");
        free(expected);
}

TEST_WITH(nested_rules_are_fine, set_up, tear_down) {
        struct world *w = *state;

        set(w, "project", "@/repo");
        set(w, "ro", "@/repo/a");
        set(w, "overlay", "@/repo/a/b");
        resolve(w);
        assert_rule(w, "@/repo", POLICY_RW, "@/repo", NULL);
        assert_rule(w, "@/repo/a", POLICY_RO, "@/repo/a", NULL);
        assert_rule(w, "@/repo/a/b", POLICY_OVERLAY, "@/repo/a/b", NULL);
}

static char *planned_project(const struct nsrun_policy *p) {
        const struct policy_request request = {.policy = p};
        struct resolved s = {0};
        char *project;

        if (policy_resolve(&request, &s, NULL) < 0)
                return NULL;
        project = s.project ? strdup(s.project) : NULL;
        resolved_clear(&s);
        return project;
}

static void assert_project(struct world *w, const char *expected) {
        char *is = planned_project(w->p), *path = in(w, expected);

        assert_non_null(is);
        assert_string_equal(is, path);
        free(is);
        free(path);
}

TEST_WITH(a_policy_means_the_folder_that_it_is_resolved_in, set_up, tear_down) {
        struct world *w = *state;

        enter(w, "@/home/src/x/sub");
        assert_project(w, "@/home/src/x");
        enter(w, "@/repo/a");
        assert_project(w, "@/repo");
        set(w, "project", "../b");
        scratch_folder(w->top, "repo/b");
        assert_project(w, "@/repo/b");
        enter(w, "@/home");
        scratch_folder(w->top, "b");
        assert_project(w, "@/b");
}

TEST_WITH(a_link_means_what_it_leads_to_now, set_up, tear_down) {
        struct world *w = *state;
        char *link = in(w, "@/x");

        set(w, "project", "@/x");
        resolve(w);
        assert_rule(w, "@/home/src/x", POLICY_RW, "@/home/src/x", "@/x");
        assert_int_equal(unlink(link), 0);
        scratch_link(w->top, "x", "repo");
        resolve(w);
        assert_rule(w, "@/repo", POLICY_RW, "@/repo", "@/x");
        assert_null(find_rule(w, "@/home/src/x"));
        assert_project(w, "@/repo");
        free(link);
}

static void *resolve_often(void *policy) {
        char *first = planned_project(policy);
        bool is_same = first != NULL;

        for (int i = 0; i < 100 && is_same; i++) {
                char *project = planned_project(policy);

                is_same = project && streq(project, first);
                free(project);
        }
        if (!is_same) {
                free(first);
                first = NULL;
        }
        return first;
}

TEST_WITH(threads_may_resolve_one_policy, set_up, tear_down) {
        struct world *w = *state;
        char *expected = in(w, "@/repo");
        pthread_t threads[4];

        enter(w, "@/repo/a");
        set(w, "symlink", "a:/l");
        set(w, "ro", "@/link");
        for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
                assert_int_equal(pthread_create(&threads[i], NULL, resolve_often, w->p), 0);
        for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
                void *project = NULL;

                assert_int_equal(pthread_join(threads[i], &project), 0);
                assert_non_null(project);
                assert_string_equal(project, expected);
                free(project);
        }
        free(expected);
}

static struct nsrun_workspace *new_workspace(struct world *w, const char *project) {
        struct nsrun_workspace *workspace = NULL;
        char *path = in(w, project);

        assert_int_equal(nsrun_workspace_new(path, &workspace, NULL), 0);
        free(path);
        return workspace;
}

static void add_root(struct world *w, struct nsrun_workspace *workspace, bool is_writable,
                     const char *root) {
        char *path = in(w, root);

        assert_int_equal((is_writable ? nsrun_workspace_add_writable
                                      : nsrun_workspace_add_readable)(workspace, path, NULL),
                         0);
        free(path);
}

TEST_WITH(an_option_narrows_a_workspaces_root_in_either_order, set_up, tear_down) {
        struct world *w = *state;
        struct nsrun_workspace *workspace = new_workspace(w, "@/repo");

        add_root(w, workspace, false, "@/home/.npm");
        add_root(w, workspace, false, "@/data/cache");
        add_root(w, workspace, true, "@/home/src/plain");
        for (int is_first = 0; is_first < 2; is_first++) {
                new_policy(w);
                if (is_first)
                        assert_int_equal(nsrun_policy_set_workspace(w->p, workspace, NULL), 0);
                set(w, "overlay", "@/home/.npm");
                set(w, "rw", "@/data/cache");
                set(w, "ro", "@/home/src/plain");
                if (!is_first)
                        assert_int_equal(nsrun_policy_set_workspace(w->p, workspace, NULL), 0);
                resolve(w);
                assert_rule(w, "@/repo", POLICY_RW, "@/repo", NULL);
                assert_rule(w, "@/home/.npm", POLICY_OVERLAY, "@/home/.npm", NULL);
                assert_rule(w, "@/data/cache", POLICY_RW, "@/data/cache", NULL);
                assert_rule(w, "@/home/src/plain", POLICY_RO, "@/home/src/plain", NULL);
        }
        set(w, "bind", "@/repo/a:@/home/.npm");
        assert_refused(w, -EPERM,
                       "two rules for one target (--overlay and --bind): @/home/.npm; keep one of them");
        new_policy(w);
        assert_int_equal(nsrun_policy_set_workspace(w->p, workspace, NULL), 0);
        set(w, "bind", "@/repo/a:@/home/.npm");
        assert_refused(w, -EPERM,
                       "two rules for one target (--bind and the workspace): @/home/.npm; keep one of them");
        assert_null(nsrun_workspace_free(workspace));
}

TEST_WITH(a_workspace_has_toolchains_where_somebody_adds_them, set_up, tear_down) {
        struct world *w = *state;
        struct nsrun_workspace *workspace = new_workspace(w, "@/repo");
        char *home = in(w, "@/home"), *npm = in(w, "@/home/.npm"), *real_home = strdup(getenv("HOME"));
        char **readable = NULL, **overlay = NULL, *resolved = NULL;

        scratch_folder(w->top, "home/.rustup");
        scratch_folder(w->top, "home/.m2");
        scratch_link(w->top, "home/.m2/repository", "../../data");
        assert_int_equal(setenv("HOME", home, 1), 0);
        assert_int_equal(nsrun_policy_set_workspace(w->p, workspace, NULL), 0);
        resolve(w);
        assert_null(find_rule(w, "@/home/.npm"));
        assert_int_equal(nsrun_workspace_resolve(workspace, NSRUN_READ, npm, &resolved, NULL), -EPERM);

        add_root(w, workspace, true, "@/home/.cargo/registry");
        assert_int_equal(nsrun_toolchains_add(workspace, w->p, NULL), 0);
        assert_int_equal(nsrun_workspace_resolve(workspace, NSRUN_WRITE, npm, &resolved, NULL), -EPERM);
        assert_int_equal(nsrun_workspace_resolve(workspace, NSRUN_READ, npm, &resolved, NULL), 0);
        assert_string_equal(resolved, npm);
        for (int i = 0; i < 2; i++) {
                resolve(w);
                assert_rule(w, "@/home/.npm", POLICY_OVERLAY, "@/home/.npm", NULL);
                assert_rule(w, "@/home/.rustup", POLICY_RO, "@/home/.rustup", NULL);
                assert_rule(w, "/usr", POLICY_RO, "/usr", NULL);
                assert_null(find_rule(w, "@/data")); /* a link that may have been planted */
                /* What the policy knows as a writable root is no copy. */
                assert_rule(w, "@/home/.cargo/registry", i == 0 ? POLICY_OVERLAY : POLICY_RW,
                            "@/home/.cargo/registry", NULL);
                assert_int_equal(nsrun_policy_set_workspace(w->p, workspace, NULL), 0);
        }
        assert_int_equal(nsrun_toolchains_readable(&readable, NULL), 0);
        assert_int_equal(nsrun_toolchains_overlay(&overlay, NULL), 0);
        assert_string_equal(readable[0], "/usr");
        assert_true(strv_contains(overlay, npm) && !strv_contains(readable, npm));
        assert_int_equal(strv_length(overlay), 2); /* .npm and .cargo/registry, not the link */
        assert_int_equal(setenv("HOME", real_home, 1), 0);
        strv_free(readable);
        strv_free(overlay);
        free(resolved);
        free(home);
        free(npm);
        free(real_home);
        assert_null(nsrun_workspace_free(workspace));
}

int main(void) {
        return run_all_tests();
}
