/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sandboxes of a workspace see its roots, its temp and its environment, and no more;
 * and the library's scratch folders.  The shared object, and its public names alone. */
#include "workspace.h"

/* Runs a script under the policy; what it printed into the project's file "out". */
static char *run_policy(const struct site *s, struct nsrun_policy *policy, const char *script) {
        _cleanup_free_ char *all = text_of("exec >'%s/out'; %s", s->project, script),
                            *path = path_of(s->project, "out");
        const char *const argv[] = {"sh", "-c", all, NULL};
        struct nsrun_plan *plan = NULL;
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};

        expect_good(nsrun_policy_set_command(policy, argv, &err), &err);
        expect_good(nsrun_plan_new(policy, &plan, &err), &err);
        expect_good(nsrun_start(plan, NULL, &sandbox, &err), &err);
        expect_end(sandbox, 0, 0);
        assert_null(nsrun_sandbox_free(sandbox));
        assert_null(nsrun_plan_free(plan));
        return file_text(path);
}

static struct nsrun_policy *policy_of(struct nsrun_workspace *w) {
        struct nsrun_policy *policy = NULL;
        struct nsrun_error err = {0};

        assert_int_equal(nsrun_policy_new(&policy), 0);
        expect_good(nsrun_policy_set_workspace(policy, w, &err), &err);
        return policy;
}

TEST(what_a_workspace_hides_its_commands_can_not_read) {
        const struct site *s = *state;
        struct nsrun_workspace *w = make_workspace(s);
        struct nsrun_policy *policy;
        struct nsrun_error err = {0};
        char *out;

        make_file(s->project, "sub/.env", "secret\n");
        make_file(s->project, "open", "open\n");
        policy = policy_of(w);
        out = run_policy(s, policy, "cat sub/.env open");
        assert_string_equal(out, "secret\nopen\n");
        free(out);
        expect_good(nsrun_workspace_hide(w, ".env", &err), &err);
        expect_good(nsrun_policy_set_workspace(policy, w, &err), &err);
        out = run_policy(s, policy, "cat sub/.env open 2>/dev/null; :");
        assert_string_equal(out, "open\n");
        free(out);
        assert_null(nsrun_policy_free(policy));
        assert_null(nsrun_workspace_free(w));
}

TEST(a_sandbox_sees_the_workspaces_roots_and_no_others) {
        const struct site *s = *state;
        struct nsrun_workspace *w = make_workspace(s), *second = make_workspace(s);
        struct nsrun_policy *policy;
        struct nsrun_error err = {0};
        _cleanup_free_ char *readable = path_of(s->root, "readable"),
                            *writable = path_of(s->root, "writable"), *made = path_of(writable, "made");
        _cleanup_free_ char *script = text_of(
                "pwd; for d in . '%s' '%s' '%s' ~/.cargo/registry; do test -e $d/there && echo there; "
                "(echo x >$d/made) 2>/dev/null && echo made; done; :",
                readable, writable, s->outside);
        _cleanup_free_ char *all = text_of("%s\nthere\nmade\nthere\nthere\nmade\n", s->project),
                            *less = text_of("%s\nthere\nmade\n", s->project),
                            *toolchains = text_of("%s\nthere\nmade\nthere\nmade\n", s->project), *out = NULL;

        make_folder(s->root, "readable");
        make_folder(s->root, "writable");
        make_file(s->project, "there", "");
        make_file(s->outside, "there", "");
        make_file(s->home, ".cargo/registry/there", "");
        make_file(readable, "there", "");
        make_file(writable, "there", "");
        expect_good(nsrun_workspace_add_readable(w, readable, &err), &err);
        expect_good(nsrun_workspace_add_writable(w, writable, &err), &err);

        policy = policy_of(w);
        out = run_policy(s, policy, script);
        assert_string_equal(out, all);
        assert_int_equal(access(made, F_OK), 0);
        /* Another workspace takes the first one's place. */
        expect_good(nsrun_policy_set_workspace(policy, second, &err), &err);
        free(out);
        out = run_policy(s, policy, script);
        assert_string_equal(out, less);
        assert_null(nsrun_policy_free(policy));
        /* The control: a policy without one has the toolchains. */
        assert_int_equal(nsrun_policy_new(&policy), 0);
        expect_good(nsrun_policy_set(policy, "project", s->project, &err), &err);
        free(out);
        out = run_policy(s, policy, script);
        assert_string_equal(out, toolchains);
        assert_null(nsrun_policy_free(policy));
        assert_null(nsrun_workspace_free(w));
        assert_null(nsrun_workspace_free(second));
}

TEST(a_temp_is_tmp_and_its_own_path_and_lasts_as_long_as_the_workspace) {
        const struct site *s = *state;
        struct nsrun_workspace *w = make_workspace(s);
        struct nsrun_policy *policy;
        struct nsrun_error err = {0};
        _cleanup_free_ char *script = NULL, *out = NULL, *again = NULL, *temp = NULL, *siblings = NULL,
                            *line = NULL;
        const char *const argv[] = {"true", NULL};
        struct nsrun_plan *plan = NULL;
        int fd = -1;

        expect_good(nsrun_workspace_set_temp(w, 1, &err), &err);
        temp = strdup(nsrun_workspace_temp(w));
        policy = policy_of(w);
        script = text_of("test /tmp -ef '%s' && echo same; echo x >/tmp/file", temp);
        out = run_policy(s, policy, script);
        assert_string_equal(out, "same\n");
        /* The file tools find it by the name that the command has for it. */
        expect_good(nsrun_workspace_open(w, NSRUN_READ, "/tmp/file", O_RDONLY, 0, &fd, &err), &err);
        (void)close(fd);
        again = run_policy(s, policy, "cat /tmp/file");
        assert_string_equal(again, "x\n");
        siblings = text_of("ls -A '%.*s'", (int)(strrchr(temp, '/') - temp), temp);
        free(again);
        again = run_policy(s, policy, siblings);
        assert_string_equal(again, "scratch\n");
        /* Where a rule shows the cache folder too. */
        expect_good(nsrun_policy_set(policy, "rw", s->cache, &err), &err);
        free(again);
        again = run_policy(s, policy, siblings);
        assert_string_equal(again, "scratch\n");

        assert_null(nsrun_workspace_free(w));
        line = text_of(
                "the folder of --tmp can't be opened: %s: No such file or directory; create it first, or "
                "use --tmp=tmpfs",
                temp);
        expect_good(nsrun_policy_set_command(policy, argv, &err), &err);
        expect_error(nsrun_plan_new(policy, &plan, &err), -ENOENT, NSRUN_STAGE_POLICY, &err, line);
        assert_null(plan);
        assert_null(nsrun_policy_free(policy));
}

TEST(a_temp_without_its_alias_is_refused) {
        const struct site *s = *state;
        struct nsrun_workspace *w = make_workspace(s);
        struct nsrun_policy *policy = NULL;
        struct nsrun_error err = {0};
        _cleanup_free_ char *line = NULL, *out = NULL;

        assert_int_equal(nsrun_policy_new(&policy), 0);
        expect_good(nsrun_workspace_set_temp(w, 0, &err), &err);
        line = text_of(
                "a temp without its alias: %s; the sandbox has the temp at /tmp, where the workspace would "
                "look for another folder: set it with its alias",
                nsrun_workspace_temp(w));
        expect_error(nsrun_policy_set_workspace(policy, w, &err), -EPERM, NSRUN_STAGE_POLICY, &err, line);
        expect_good(nsrun_workspace_set_temp(w, 1, &err), &err);
        expect_good(nsrun_policy_set_workspace(policy, w, &err), &err);
        out = run_policy(s, policy, "echo ran");
        assert_string_equal(out, "ran\n");
        assert_null(nsrun_policy_free(policy));
        assert_null(nsrun_workspace_free(w));
}

TEST(a_sandbox_has_the_workspaces_environment) {
        static const char *const others[] = {"GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME",
                                             "GIT_COMMITTER_EMAIL"};
        static const char show[] = "env | grep -e ^GIT_AUTHOR_ -e ^GIT_COMMITTER_ -e ^ONE= | sort";
        const struct site *s = *state;
        struct nsrun_workspace *w = make_workspace(s);
        struct nsrun_policy *policy;
        struct nsrun_error err = {0};
        const char *const given[] = {"ONE=1", "GIT_AUTHOR_NAME=Given", NULL};
        _cleanup_free_ char *old_path = strdup(getenv("PATH")), *out = NULL;

        set_git(s);
        for (size_t i = 0; i < ARRAY_SIZE(others); i++)
                assert_int_equal(unsetenv(others[i]), 0);
        assert_int_equal(setenv("GIT_AUTHOR_NAME", "Inherited", 1), 0);
        /* git's identity gives way, as it does for git. */
        policy = policy_of(w);
        out = run_policy(s, policy, show);
        assert_string_equal(out, "GIT_AUTHOR_EMAIL=a@example.org\nGIT_AUTHOR_NAME=Inherited\n"
                                 "GIT_COMMITTER_EMAIL=a@example.org\nGIT_COMMITTER_NAME=A U Thor\n");
        /* What was set does not, but for the options. */
        expect_good(nsrun_workspace_set_env(w, given, &err), &err);
        expect_good(nsrun_policy_set_workspace(policy, w, &err), &err);
        free(out);
        out = run_policy(s, policy, show);
        assert_string_equal(out, "GIT_AUTHOR_NAME=Given\nONE=1\n");
        expect_good(nsrun_policy_set(policy, "env", "ONE=2", &err), &err);
        expect_good(nsrun_policy_set(policy, "unsetenv", "GIT_AUTHOR_NAME", &err), &err);
        free(out);
        out = run_policy(s, policy, show);
        assert_string_equal(out, "ONE=2\n");
        expect_no_git(s);
        assert_int_equal(unsetenv("GIT_AUTHOR_NAME"), 0);
        assert_int_equal(setenv("PATH", old_path, 1), 0);
        assert_null(nsrun_policy_free(policy));
        assert_null(nsrun_workspace_free(w));
}

/* ------------------------------------------------- a scratch folder without a workspace */

TEST(a_scratch_is_where_its_plan_was_made_for) {
        const struct site *s = *state;
        const char *const argv[] = {"true", NULL};
        struct nsrun_policy *policy = make_policy(s, argv);
        _cleanup_free_ char *out = NULL, *line = NULL, *old = strdup(getenv("XDG_CACHE_HOME"));
        struct nsrun_plan *plan = NULL;
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_error err = {0};

        expect_good(nsrun_policy_set(policy, "tmp", "scratch", &err), &err);
        out = run_policy(
                s, policy,
                "test /tmp -ef \"$(echo \"$XDG_CACHE_HOME\"/nsrun/workspace-*/scratch)\" && echo same");
        assert_string_equal(out, "same\n");
        line = text_of(
                "the cache folder is not where it was when the plan was made: %s/nsrun/workspace-XXXXXX: "
                "Stale file handle; make the plan anew",
                s->cache);
        expect_good(nsrun_plan_new(policy, &plan, &err), &err);
        make_folder(s->root, "other");
        free(out);
        out = path_of(s->root, "other");
        assert_int_equal(setenv("XDG_CACHE_HOME", out, 1), 0);
        expect_error(nsrun_start(plan, NULL, &sandbox, &err), -ESTALE, NSRUN_STAGE_WORKSPACE, &err, line);
        assert_null(sandbox);
        assert_int_equal(setenv("XDG_CACHE_HOME", old, 1), 0);
        /* The same plan twice, each with a run directory of its own. */
        for (int i = 0; i < 2; i++) {
                expect_good(nsrun_start(plan, NULL, &sandbox, &err), &err);
                expect_end(sandbox, 0, 0);
                assert_null(nsrun_sandbox_free(sandbox));
        }
        assert_null(nsrun_plan_free(plan));
        assert_null(nsrun_policy_free(policy));
}

int main(void) {
        return run_all_tests();
}
