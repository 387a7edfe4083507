/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* workspace/project.c: finding the project, and the folders that can't be one. */
#include "host/project.h"

#include "scratch.h"

static int make_tree(void **state) {
        char *top = scratch_make();

        scratch_folder(top, "repo/.git");
        scratch_folder(top, "repo/src/deep/er");
        scratch_folder(top, "repo/sub/src");
        scratch_file(top, "repo/sub/.git", "gitdir: ../.git/modules/sub\n");
        scratch_folder(top, "repo/odd/in");
        scratch_link(top, "repo/odd/.git", "nowhere");
        scratch_folder(top, "plain/in");
        scratch_folder(top, "homes/u/x");
        scratch_link(top, "home-link", "homes/u");
        scratch_folder(top, "dots/.git");
        scratch_folder(top, "dots/other/in");
        scratch_folder(top, "dots/u/.git");
        scratch_folder(top, "dots/u/src/deep");
        scratch_folder(top, "dots/u/repo/.git");
        scratch_folder(top, "dots/u/repo/in");
        scratch_link(top, "dots-link", "dots/u");
        *state = top;
        return 0;
}

static int remove_tree_again(void **state) {
        scratch_remove(*state);
        return 0;
}

TEST(a_project_begins_at_the_nearest_git_folder_or_file) {
        static const struct {
                const char *start, *project;
        } cases[] = {
                {"repo", "repo"},
                {"repo/src/deep/er", "repo"},
                {"repo/sub/src", "repo/sub"}, /* a submodule's or a worktree's .git is a file */
                {"repo/sub", "repo/sub"},
                {"repo/odd/in", "repo"}, /* a dangling .git makes no repository */
                {"plain/in", "plain/in"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *start = scratch_path(*state, cases[i].start);
                _cleanup_free_ char *expected = scratch_path(*state, cases[i].project);
                _cleanup_free_ char *got = NULL;

                assert_int_equal(project_find(start, NULL, &got), 0);
                assert_string_equal(got, expected);
        }
}

/* Dotfiles in a home, and /etc by etckeeper. */
TEST(a_git_folder_of_a_home_is_not_what_lies_in_it_belongs_to) {
        static const struct {
                const char *start, *without, *with;
        } cases[] = {
                {"dots/u/src/deep", "dots/u", "dots/u/src/deep"},
                {"dots/u/repo/in", "dots/u/repo", "dots/u/repo"},
                {"dots/u", "dots/u", "dots/u"},
                {"dots/other/in", "dots", "dots/other/in"}, /* "dots" holds the home */
        };
        _cleanup_free_ char *home = scratch_path(*state, "dots/u"),
                            *link = scratch_path(*state, "dots-link");
        const char *const spellings[] = {NULL, home, link};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                for (size_t j = 0; j < ARRAY_SIZE(spellings); j++) {
                        _cleanup_free_ char *start = scratch_path(*state, cases[i].start);
                        _cleanup_free_ char *expected =
                                scratch_path(*state, j == 0 ? cases[i].without : cases[i].with);
                        _cleanup_free_ char *got = NULL;

                        assert_int_equal(project_find(start, spellings[j], &got), 0);
                        assert_string_equal(got, expected);
                }
}

TEST(system_roots_are_no_projects) {
        /* The reference's list, whole, and some of what today's systems add. */
        static const char *const denied[] = {
                "/",         "/etc",           "/var",
                "/proc",     "/sys",           "/dev",
                "/boot",     "/root",          "/usr",
                "/opt",      "/lib",           "/lib64",
                "/bin",      "/sbin",          "/tmp",
                "/home",     "/run",           "/mnt",
                "/media",    "/srv",           "/lib32",
                "/libx32",   "/snap",          "/nix",
                "/var/tmp",  "/run/user",      "/usr/local",
                "/usr/lib",  "/proc/self",     "/sys/fs/cgroup",
                "/dev/shm",  "/dev/shm/x",     "/etc/nginx/conf.d",
                "/boot/efi", "/run/user/1000",
        };
        static const char *const allowed[] = {
                "/home/u/src", "/root/x",  "/tmp/x",    "/var/tmp/x",       "/usr/src/linux",
                "/opt/x",      "/srv/www", "/mnt/disk", "/etcetera",        "/devel",
                "/system",     "/work",    "/home2",    "/run/user/1000/x",
        };

        for (size_t i = 0; i < ARRAY_SIZE(denied); i++)
                assert_non_null(project_denied(denied[i], NULL));
        for (size_t i = 0; i < ARRAY_SIZE(allowed); i++)
                assert_null(project_denied(allowed[i], "/home/u"));
}

TEST(a_home_is_no_project) {
        _cleanup_free_ char *home = scratch_path(*state, "homes/u"), *parent = scratch_path(*state, "homes");
        _cleanup_free_ char *within = scratch_path(*state, "homes/u/x"),
                            *link = scratch_path(*state, "home-link");
        _cleanup_free_ char *untidy = scratch_path(*state, "homes/./u//");

        assert_string_equal(project_denied("/home/anybody", NULL), "a home folder");
        assert_string_equal(project_denied("/root", NULL), "a home folder");
        assert_null(project_denied(home, NULL));
        assert_string_equal(project_denied(home, home), "a home folder");
        assert_string_equal(project_denied(home, link), "a home folder");
        assert_string_equal(project_denied(home, untidy), "a home folder");
        assert_string_equal(project_denied(parent, home), "a folder that holds a home folder");
        assert_string_equal(project_denied(parent, link), "a folder that holds a home folder");
        assert_null(project_denied(within, home));
        assert_null(project_denied(within, ""));
        assert_null(project_denied(within, "relative"));
        assert_null(project_denied(within, "/nonexistent"));
}

TEST(a_writable_root_is_no_system_root) {
        static const char *const denied[] = {"/",         "/usr",           "/etc",     "/home",
                                             "/tmp",      "/root",          "/proc",    "/sys",
                                             "/proc/sys", "/sys/fs/cgroup", "/dev/shm", "/dev/kvm"};
        static const char *const allowed[] = {"/home/u", "/home/u/x", "/tmp/x",
                                              "/etc/x",  "/opt/x",    "/srv/x"};

        for (size_t i = 0; i < ARRAY_SIZE(denied); i++)
                assert_non_null(writable_denied(denied[i]));
        for (size_t i = 0; i < ARRAY_SIZE(allowed); i++)
                assert_null(writable_denied(allowed[i]));
}

int main(void) {
        return run_all_tests_in(make_tree, remove_tree_again);
}
