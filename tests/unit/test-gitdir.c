/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which .git files are believed.  The repositories are made by hand, so that each
 * lie is just one file away from the truth. */
#include "host/gitdir.h"

#include "scratch.h"

static void make_repository(const char *root, const char *name, const char *config) {
        static const char *const folders[] = {"objects", "refs", "hooks"};
        char path[256];

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                (void)snprintf(path, sizeof(path), "%s/%s", name, folders[i]);
                scratch_folder(root, path);
        }
        (void)snprintf(path, sizeof(path), "%s/HEAD", name);
        scratch_file(root, path, "ref: refs/heads/main\n");
        (void)snprintf(path, sizeof(path), "%s/config", name);
        scratch_file(root, path, config);
}

/* ROOT/repo/.git, its worktree ROOT/work and its submodule ROOT/repo/sub. */
static int setup(void **state) {
        char *root = scratch_make(), text[512];

        make_repository(root, "repo/.git", "[core]\nbare=false\n");
        scratch_file(root, "repo/.git/worktrees/work/commondir", "../..\n");
        (void)snprintf(text, sizeof(text), "%s/work/.git\n", root);
        scratch_file(root, "repo/.git/worktrees/work/gitdir", text);
        (void)snprintf(text, sizeof(text), "gitdir: %s/repo/.git/worktrees/work\n", root);
        scratch_file(root, "work/.git", text);
        make_repository(root, "repo/.git/modules/sub", "[core]\n\tworktree = ../../../sub\n");
        scratch_file(root, "repo/sub/.git", "gitdir: ../.git/modules/sub\n");
        *state = root;
        return 0;
}

static int teardown(void **state) {
        scratch_remove(*state);
        return 0;
}

static void expect_found(const char *root, const char *project, const char *git_dir,
                         const char *common_dir) {
        char *path = scratch_path(root, project), *expected = scratch_path(root, git_dir);
        const char *why = "", *hint = "";
        struct gitdir g = {0};

        if (gitdir_find(path, &g, &why, &hint) != 1)
                fail_msg("%s: %s", project, why);
        assert_string_equal(g.git_dir, expected);
        free(expected);
        expected = scratch_path(project, ".git");
        assert_non_null(strstr(g.dot_git, expected));
        free(expected);
        if (common_dir) {
                expected = scratch_path(root, common_dir);
                assert_string_equal(g.common_dir, expected);
                free(expected);
        } else {
                assert_null(g.common_dir);
        }
        gitdir_clear(&g);
        free(path);
}

/* Nothing to expose; `git_dir` lies in the project, or is NULL. */
static void expect_nothing(const char *root, const char *project, const char *git_dir) {
        char *path = scratch_path(root, project);
        char *expected = !git_dir ? NULL : *git_dir ? scratch_path(path, git_dir) : strdup(path);
        const char *why = NULL, *hint = NULL;
        struct gitdir g = {0};

        assert_int_equal(gitdir_find(path, &g, &why, &hint), 0);
        if (expected)
                assert_string_equal(g.git_dir, expected);
        else
                assert_null(g.git_dir);
        assert_null(g.common_dir);
        assert_null(why);
        gitdir_clear(&g);
        free(expected);
        free(path);
}

static void expect_doubt(const char *root, const char *project, const char *reason) {
        char *path = scratch_path(root, project);
        const char *why = NULL, *hint = NULL;
        struct gitdir g = {0};

        assert_int_equal(gitdir_find(path, &g, &why, &hint), -EPERM);
        assert_string_equal(why, reason);
        /* With these it may be the project's all the same. */
        assert_int_equal(!hint, strstr(reason, "a repository that names no") ||
                                        strstr(reason, "of another work tree"));
        gitdir_clear(&g);
        free(path);
}

TEST_WITH(a_worktree_is_believed, setup, teardown) {
        const char *root = *state;

        expect_found(root, "work", "repo/.git/worktrees/work", "repo/.git");
        /* git 2.48 writes relative ones where it is told to. */
        scratch_file(root, "work/.git", "gitdir: ../repo/.git/worktrees/work\n");
        scratch_file(root, "repo/.git/worktrees/work/gitdir", "../../../../work/.git\n");
        expect_found(root, "work", "repo/.git/worktrees/work", "repo/.git");
}

TEST_WITH(a_submodule_is_believed, setup, teardown) {
        const char *root = *state;

        expect_found(root, "repo/sub", "repo/.git/modules/sub", NULL);
        scratch_file(root, "repo/.git/modules/sub/config", "[extensions]\nworktreeConfig\n");
        scratch_file(root, "repo/.git/modules/sub/config.worktree", "[core]\nworktree=../../../sub\n");
        expect_found(root, "repo/sub", "repo/.git/modules/sub", NULL);
}

TEST_WITH(other_projects_have_nothing_to_believe, setup, teardown) {
        const char *root = *state;
        char *fifo = scratch_path(root, "fifo/.git");

        scratch_folder(root, "plain");
        expect_nothing(root, "plain", NULL);
        expect_nothing(root, "repo", ".git");
        scratch_folder(root, "fifo");
        assert_int_equal(mkfifo(fifo, 0600), 0);
        expect_nothing(root, "fifo", NULL);
        free(fifo);
        scratch_folder(root, "linked");
        scratch_link(root, "linked/.git", "../work/.git");
        expect_nothing(root, "linked", NULL);
        /* It leads into the project itself, which the command sees anyway. */
        make_repository(root, "inside/git", "");
        scratch_file(root, "inside/.git", "gitdir: git\n");
        expect_nothing(root, "inside", "git");
}

TEST_WITH(a_git_file_that_git_did_not_write_is_doubted, setup, teardown) {
        static const char reason[] = "it holds no line that git would have written";
        const char *root = *state;
        char *dot_git = scratch_path(root, "work/.git");

        scratch_file(root, "work/.git", "");
        expect_doubt(root, "work", reason);
        scratch_file(root, "work/.git", "gitdir: \n");
        expect_doubt(root, "work", reason);
        scratch_file(root, "work/.git", "/repo/.git\n");
        expect_doubt(root, "work", reason);
        /* Ten gigabytes, read not at all. */
        assert_int_equal(truncate(dot_git, INT64_C(10) << 30), 0);
        expect_doubt(root, "work", reason);
        assert_int_equal(truncate(dot_git, 100), 0); /* NULs */
        expect_doubt(root, "work", reason);
        scratch_file(root, "work/.git", "gitdir: ../gone\n");
        expect_doubt(root, "work", "it leads nowhere");
        scratch_file(root, "work/.git", "gitdir: ../repo/.git/config\n");
        expect_doubt(root, "work", "it leads to no folder that can be opened");
        scratch_file(root, "work/.git", "gitdir: ..\n");
        expect_doubt(root, "work", "it leads to no repository");
        free(dot_git);
}

TEST_WITH(somebody_elses_repository_is_doubted, setup, teardown) {
        const char *root = *state;

        /* The main checkout's, another worktree's, another submodule's. */
        scratch_folder(root, "liar");
        scratch_file(root, "liar/.git", "gitdir: ../repo/.git\n");
        expect_doubt(root, "liar", "it leads to a repository that names no work tree");
        scratch_file(root, "liar/.git", "gitdir: ../repo/.git/worktrees/work\n");
        expect_doubt(root, "liar", "it leads to the git dir of another worktree");
        scratch_file(root, "liar/.git", "gitdir: ../repo/.git/modules/sub\n");
        expect_doubt(root, "liar", "it leads to the repository of another work tree");
        scratch_folder(root, "linked");
        scratch_link(root, "linked/.git", "../repo/.git");
        expect_doubt(root, "linked", "it leads to a repository that names no work tree");
}

/* What the command can write on one run: its own .git and its own git dir. */
TEST_WITH(a_worktree_that_was_tampered_with_is_doubted, setup, teardown) {
        static const char gitdir[] = "repo/.git/worktrees/work/gitdir";
        static const char commondir[] = "repo/.git/worktrees/work/commondir";
        const char *root = *state;
        char *file = scratch_path(root, commondir);

        make_repository(root, "secret", "");
        make_repository(root, "work/fake", "");
        scratch_file(root, commondir, "../../../../secret\n");
        expect_doubt(root, "work", "it leads to no place where git keeps worktrees");
        scratch_file(root, commondir, "../../../../work/fake\n");
        expect_doubt(root, "work", "it leads to no place where git keeps worktrees");
        scratch_file(root, commondir, "..\n");
        expect_doubt(root, "work", "it leads to no place where git keeps worktrees");
        scratch_file(root, commondir, "");
        expect_doubt(root, "work", "its git dir's commondir leads nowhere");
        assert_int_equal(unlink(file), 0);
        scratch_link(root, commondir, "../../HEAD");
        expect_doubt(root, "work", "its git dir's commondir leads nowhere");
        assert_int_equal(unlink(file), 0);
        assert_int_equal(mkfifo(file, 0600), 0);
        expect_doubt(root, "work", "its git dir's commondir leads nowhere");
        assert_int_equal(unlink(file), 0);
        scratch_file(root, commondir, "../..\n");
        expect_found(root, "work", "repo/.git/worktrees/work", "repo/.git");
        scratch_file(root, gitdir, "/elsewhere/.git\n");
        expect_doubt(root, "work", "it leads to the git dir of another worktree");
        scratch_file(root, gitdir, "../../../../work\n");
        expect_doubt(root, "work", "it leads to the git dir of another worktree");
        free(file);
}

/* A folder that happens to lie in one called "worktrees" can't make its
 * grandparent a repository to be shown. */
TEST_WITH(a_project_is_no_git_dir_of_its_own, setup, teardown) {
        const char *root = *state;
        char text[512];

        make_repository(root, "grand", "");
        (void)snprintf(text, sizeof(text), "%s/grand/worktrees/x/.git\n", root);
        scratch_file(root, "grand/worktrees/x/gitdir", text);
        scratch_file(root, "grand/worktrees/x/commondir", "../..\n");
        scratch_file(root, "grand/worktrees/x/.git", "gitdir: .\n");
        expect_nothing(root, "grand/worktrees/x", "");
}

/* What can't be protected where it is, is refused rather than left open. */
TEST_WITH(a_hole_in_the_protection_is_told, setup, teardown) {
        static const char hooks_reason[] = "the hooks of its git dir are no plain folder";
        const char *root = *state;
        char *hooks = scratch_path(root, "repo/.git/modules/sub/hooks");

        assert_int_equal(rmdir(hooks), 0);
        expect_doubt(root, "repo/sub", hooks_reason);
        scratch_link(root, "repo/.git/modules/sub/hooks", "../../../../work");
        expect_doubt(root, "repo/sub", hooks_reason);
        free(hooks);
}

int main(void) {
        return run_all_tests();
}
