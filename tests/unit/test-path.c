/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* base/path.c: lexical paths, slugs, and the canonical name of what exists. */
#include "base/path.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>

#include "base/name_list.h"

#include "scratch.h"

TEST(a_normal_path_has_no_dots_and_no_doubled_slashes) {
        static const struct {
                const char *in, *out;
        } cases[] = {
                {"/", "/"},
                {"//", "/"},
                {"/.", "/"},
                {"/..", "/"},
                {"/../../x", "/x"},
                {"/a/./b//c/../d/", "/a/b/d"},
                {"/a/..", "/"},
                {"/a/../", "/"},
                {"/a/b/../../..", "/"},
                {"/...", "/..."},
                {"/..a/.b/c..", "/..a/.b/c.."},
                {"/a/...//.//..", "/a"},
                {"///a///b///", "/a/b"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *out = path_normalise(cases[i].in), *again = NULL;

                assert_string_equal(out, cases[i].out);
                again = path_normalise(out);
                assert_string_equal(again, out);
        }
}

TEST(a_relative_path_starts_at_its_base) {
        static const struct {
                const char *base, *path, *out;
        } cases[] = {
                {"/a", "b", "/a/b"},      {"/a/", "b/", "/a/b"}, {"/a", "/b", "/b"},
                {"/a/b", "../c", "/a/c"}, {"/a", "", "/a"},      {"/", "x", "/x"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *out = path_join(cases[i].base, cases[i].path);

                assert_string_equal(out, cases[i].out);
        }
}

TEST(a_path_is_beneath_its_parents_alone) {
        static const struct {
                const char *path, *root, *below; /* NULL: not beneath */
        } cases[] = {
                {"/a/b", "/a", "b"},  {"/a", "/a", ""},     {"/a/b/c", "/a", "b/c"}, {"/ab", "/a", NULL},
                {"/a", "/a/b", NULL}, {"/a", "/", "a"},     {"/", "/", ""},          {"/", "/a", NULL},
                {"/b", "/a", NULL},   {"/a-b", "/a", NULL},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const char *below = path_below(cases[i].path, cases[i].root);

                if (cases[i].below)
                        assert_string_equal(below, cases[i].below);
                else
                        assert_null(below);
                assert_int_equal(path_is_beneath(cases[i].path, cases[i].root), cases[i].below != NULL);
        }
}

TEST(a_parent_sorts_right_before_what_it_holds) {
        static const char *const sorted[] = {
                "/", "/a", "/a/\x01", "/a/b", "/a/b/c", "/a\x01", "/a b", "/a-b", "/a-b/c", "/b", "/\xff",
        };

        for (size_t i = 0; i < ARRAY_SIZE(sorted); i++)
                for (size_t j = 0; j < ARRAY_SIZE(sorted); j++) {
                        int r = path_compare(sorted[i], sorted[j]);

                        assert_int_equal((r > 0) - (r < 0), (i > j) - (i < j));
                }
}

TEST(a_path_has_a_parent_and_a_last_name) {
        static const struct {
                const char *path, *parent, *name;
        } cases[] = {{"/a/b", "/a", "b"}, {"/a", "/", "a"}, {"/", "/", ""}, {"/a/b/c.d", "/a/b", "c.d"}};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *parent = path_parent(cases[i].path);

                assert_string_equal(parent, cases[i].parent);
                assert_string_equal(path_basename(cases[i].path), cases[i].name);
        }
        assert_true(path_is_absolute("/a"));
        assert_false(path_is_absolute("a/"));
        assert_false(path_is_absolute(""));
}

TEST(slugs_read_like_their_paths) {
        static const struct {
                const char *path, *slug;
        } cases[] = {
                {"/home/u/.npm", "home-u-.npm"},
                {"/home/u/a-b", "home-u-a%2db"},
                {"/x/100%", "x-100%25"},
                {"/", "-"},
        };
        char longest[4096];
        _cleanup_free_ char *one = NULL, *two = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *slug = path_slug(cases[i].path);

                assert_string_equal(slug, cases[i].slug);
        }

        /* A name that a folder can have, and yet its own. */
        memset(longest, 'a', sizeof(longest));
        longest[0] = '/';
        longest[sizeof(longest) - 1] = '\0';
        one = path_slug(longest);
        longest[sizeof(longest) - 2] = 'b';
        two = path_slug(longest);
        assert_int_equal(strlen(one), 217);
        assert_int_equal(strlen(two), 217);
        assert_string_not_equal(one, two);
        assert_memory_equal(one, two, 201);
}

static int compare_texts(const void *a, const void *b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every path of up to five characters of the ones that a slug changes. */
TEST(two_paths_never_share_a_slug) {
        enum {
                LETTERS = 6,
                LENGTH = 5,
                MAX = 7776
        };
        static const char letters[LETTERS + 1] = "/-%2da";
        char **slugs = calloc(MAX, sizeof(*slugs));
        size_t n = 0;

        assert_non_null(slugs);
        for (unsigned i = 0; i < MAX; i++) {
                char path[LENGTH + 2] = "/";
                _cleanup_free_ char *normal = NULL;

                for (unsigned k = 0, rest = i; k < LENGTH; k++, rest /= LETTERS)
                        path[k + 1] = letters[rest % LETTERS];
                normal = path_normalise(path);
                if (streq(normal, path))
                        slugs[n++] = path_slug(path);
        }
        assert_true(n > 1000);
        qsort(slugs, n, sizeof(*slugs), compare_texts);
        for (size_t i = 0; i < n; i++) {
                assert_null(strchr(slugs[i], '/'));
                if (i > 0)
                        assert_string_not_equal(slugs[i - 1], slugs[i]);
        }
        for (size_t i = 0; i < n; i++)
                free(slugs[i]);
        free(slugs);
}

static int make_tree(void **state) {
        char *top = scratch_make();

        scratch_file(top, "a/b/file", "x");
        scratch_file(top, "a/x (deleted)", "x");
        scratch_folder(top, "a/odd \x01\xff\n name");
        scratch_link(top, "to-a", "a");
        scratch_link(top, "a/up", "..");
        scratch_link(top, "chain", "to-a/up/to-a/b");
        scratch_link(top, "loop", "loop");
        scratch_link(top, "loop-1", "loop-2");
        scratch_link(top, "loop-2", "loop-1");
        scratch_link(top, "dangling", "nowhere");
        scratch_link(top, "absolute", "/usr/../");
        scratch_link(top, "to-file", "a/b/file");
        *state = top;
        return 0;
}

static int remove_tree_again(void **state) {
        scratch_remove(*state);
        return 0;
}

TEST(the_canonical_path_is_what_realpath_says) {
        static const char *const cases[] = {
                "",
                "/",
                ".",
                "a",
                "a/",
                "a/b/file",
                "a/b/file/",
                "a/b/file/.",
                "a/b/..",
                "to-a",
                "to-a/",
                "to-a/b/../..",
                "to-a/up",
                "chain",
                "chain/file",
                "chain/..",
                "loop",
                "loop/x",
                "loop-1",
                "dangling",
                "dangling/",
                "absolute",
                "absolute/bin",
                "to-file",
                "to-file/",
                "to-file/..",
                "a//b///file",
                "a/./b/./file",
                "missing",
                "missing/..",
                "a/x (deleted)",
                "a/x",
                "a/odd \x01\xff\n name",
                "../",
                "a/up/a/up/a/b",
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char *path = scratch_path(*state, cases[i]), *expected, *got = NULL;
                struct stat st;
                unsigned mode = 0;
                int r;

                expected = realpath(path, NULL);
                r = expected ? 0 : -errno;
                assert_int_equal(path_canonical(path, &got, &mode), r);
                /* The folder of a single name is canonical. */
                if (isalpha((unsigned char)*cases[i]) && !strchr(cases[i], '/')) {
                        char *again = NULL;
                        unsigned mode_again = 0;

                        assert_int_equal(path_canonical_in(path, &again, &mode_again), r);
                        assert_int_equal(mode_again, mode);
                        if (r == 0)
                                assert_string_equal(again, got);
                        free(again);
                }
                if (r == 0) {
                        assert_string_equal(got, expected);
                        assert_int_equal(stat(path, &st), 0);
                        assert_int_equal(mode, st.st_mode);
                } else {
                        assert_null(got);
                        assert_int_equal(mode, 0);
                }
                free(path);
                free(expected);
                free(got);
        }
}

TEST(a_relative_path_gets_its_canonical_name) {
        _cleanup_close_ int back = scratch_open(".");
        _cleanup_free_ char *got = NULL, *here = NULL, *expected = scratch_path(*state, "a/b");

        assert_int_equal(chdir(*state), 0);
        assert_int_equal(path_canonical("to-a/b", &got, NULL), 0);
        assert_string_equal(got, expected);
        assert_int_equal(path_canonical(".", &here, NULL), 0);
        assert_string_equal(here, (char *)*state);
        got = (free(got), NULL);
        assert_int_equal(path_canonical("", &got, NULL), -ENOENT);
        assert_int_equal(fchdir(back), 0);
}

/* The kernel calls it "gone (deleted)", and there is a folder of that name. */
TEST(a_removed_folder_has_no_name) {
        _cleanup_close_ int back = scratch_open(".");
        _cleanup_free_ char *gone = scratch_path(*state, "gone");
        char *got = NULL;

        scratch_folder(*state, "gone");
        scratch_folder(*state, "gone (deleted)");
        assert_int_equal(chdir(gone), 0);
        assert_int_equal(rmdir(gone), 0);
        assert_int_equal(path_canonical(".", &got, NULL), -ENOENT);
        assert_null(got);
        assert_int_equal(fchdir(back), 0);
}

/* Links count, those that lead nowhere, too; what is missing is kept as it is spelled. */
TEST(what_is_not_there_yet_has_a_canonical_name_too) {
        static const char *const cases[][2] = {
                {"to-a/b", "a/b"},
                {"to-a/b/new", "a/b/new"},
                {"chain/new/deeper//still", "a/b/new/deeper/still"},
                {"to-a/new/../other", "a/other"},
                {"dangling/x", "nowhere/x"},
                {"new", "new"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                char *path = scratch_path(*state, cases[i][0]),
                     *expected = scratch_path(*state, cases[i][1]);
                char *got = NULL;

                assert_int_equal(path_canonical_to_be(path, &got), 0);
                assert_string_equal(got, expected);
                free(path);
                free(expected);
                free(got);
        }
}

TEST(a_path_goes_up_to_the_root) {
        char path[] = "/a/b";

        assert_true(path_up(path));
        assert_string_equal(path, "/a");
        assert_true(path_up(path));
        assert_string_equal(path, "/");
        assert_false(path_up(path));
        assert_string_equal(path, "/");
}

TEST(a_list_of_names_knows_what_is_in_a_folder) {
        static const struct {
                const char *name;
                int type;
        } cases[] = {{"a", DT_DIR}, {"to-a", DT_LNK}, {"dangling", DT_LNK}, {"a/b", -1},
                     {"to", -1},    {".", -1},        {"To-A", DT_UNKNOWN}};
        char *through_link = scratch_path(*state, "to-a"), *missing = scratch_path(*state, "missing");
        _cleanup_name_list_ struct name_list l = {0}, linked = {0}, none = {0};

        assert_int_equal(name_list_read(*state, NAME_LIST_USUAL, &l), 0);
        assert_true(l.is_canonical && !l.is_unknown);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_int_equal(name_list_find(&l, cases[i].name, strlen(cases[i].name)), cases[i].type);
        assert_int_equal(name_list_find(&l, "a/b", 1), DT_DIR);
        assert_int_equal(name_list_read(through_link, NAME_LIST_USUAL, &linked), 0);
        assert_false(linked.is_canonical);
        assert_int_equal(name_list_find(&linked, "b", 1), DT_DIR);
        assert_int_equal(name_list_read(missing, NAME_LIST_USUAL, &none), 0);
        assert_int_equal(name_list_find(&none, "b", 1), -1);
        name_list_clear(&l);
        assert_int_equal(name_list_read(*state, 1, &l), 0);
        assert_true(l.is_unknown);
        free(through_link);
        free(missing);
}

TEST(a_path_that_is_too_long_says_so) {
        char path[PATH_MAX + 2];
        char *got = NULL;

        memset(path, '/', sizeof(path));
        path[sizeof(path) - 2] = 'x';
        path[sizeof(path) - 1] = '\0';
        assert_int_equal(path_canonical(path, &got, NULL), -ENAMETOOLONG);
        assert_null(got);
}

int main(void) {
        return run_all_tests_in(make_tree, remove_tree_again);
}
