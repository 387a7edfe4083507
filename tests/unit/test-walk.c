/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* host/walk.c: what a glob means, and that a walk finds just what is named, through no link and within its
 * bounds. */
#include "host/walk.h"

#include <fcntl.h>

#include "base/str.h"
#include "scratch.h"

TEST(a_glob_is_written_as_gitignore_has_it) {
        static const struct {
                const char *glob, *normal; /* NULL: refused */
        } cases[] = {
                {".env", "**/.env"},   {"*.pem", "**/*.pem"}, {"a/", "**/a/"},
                {"/a", "a"},           {"/a/", "a/"},         {"a/b", "a/b"},
                {"a/b/", "a/b/"},      {"a/**", "a/"},        {"/a/**", "a/"},
                {"**/a", "**/a"},      {"**/a/**", "**/a/"},  {"a/**/b", "a/**/b"},
                {"\\!a", "**/\\!a"},   {"a\\\\", "**/a\\\\"}, {"**", "**/**"},
                {"[ab]?", "**/[ab]?"}, {"...", "**/..."},     {"", NULL},
                {"/", NULL},           {"//", NULL},          {"a//b", NULL},
                {"./a", NULL},         {"a/..", NULL},        {"../a", NULL},
                {".", NULL},           {"a/./b", NULL},       {"!a", NULL},
                {"a\\", NULL},         {"a\\/b", NULL},       {"//a", NULL},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *normal = NULL;
                int r = walk_normalise(cases[i].glob, &normal);

                if (r != (cases[i].normal ? 0 : -EINVAL) || (normal && !streq(normal, cases[i].normal)))
                        fail_msg("%s: %d, %s", cases[i].glob, r, normal ? normal : "nothing");
        }
}

struct finds {
        char **words;
};

static int note_entry(void *data, const struct walk_entry *e) {
        struct finds *f = data;
        char *word = NULL;

        assert_true(asprintf(&word, "%s%s%s%s", e->path, S_ISLNK(e->st.st_mode) ? "@" : "",
                             e->is_link_to_folder ? "/" : "", e->is_closed ? "!" : "") > 0);
        return strv_consume(&f->words, word);
}

static int compare_entries(const void *a, const void *b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

/* `globs` as users write them. */
static void expect_walk(const char *top, const char *const *globs, const ino_t *inode,
                        const char *expected) {
        _cleanup_strv_ char **normal = NULL;
        _cleanup_strbuf_ struct strbuf b = {0};
        struct finds finds = {0};
        struct walk walk = {.inodes = inode,
                            .n_inodes = inode != NULL,
                            .entries_max = 1000,
                            .found = note_entry,
                            .data = &finds};
        int fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);

        for (; *globs; globs++) {
                char *one = NULL;

                assert_int_equal(walk_normalise(*globs, &one), 0);
                assert_int_equal(strv_consume(&normal, one), 0);
        }
        walk.globs = normal;
        assert_int_equal(walk_names(&walk, fd), 0);
        (void)close(fd);
        if (finds.words)
                qsort(finds.words, strv_length(finds.words), sizeof(*finds.words), compare_entries);
        STRV_FOREACH (word, finds.words)
                strbuf_addf(&b, "%s ", *word);
        strv_free(finds.words);
        if (!streq(b.text ? b.text : "", expected))
                fail_msg("%s: %s", expected, b.text ? b.text : "nothing");
}
#define EXPECT_WALK(top, expected, ...) \
        expect_walk(top, (const char *const[]){__VA_ARGS__, NULL}, NULL, expected)

static char *make_tree(void) {
        char *top = scratch_make();

        scratch_file(top, ".env", "");
        scratch_file(top, "a/.env", "");
        scratch_file(top, "a/b/.env", "");
        scratch_file(top, "a/b/x.pem", "");
        scratch_file(top, "a/b/x.pem.txt", "");
        scratch_file(top, "a/secrets/deep/y", "");
        scratch_file(top, "secrets/z", "");
        scratch_file(top, "secrets/.env", "");
        scratch_file(top, "b/secrets", "a file");
        scratch_file(top, "b/[x]", "");
        scratch_link(top, "link", "a");
        scratch_link(top, "b/x.pem", "../a/b/x.pem");
        return top;
}

TEST(what_is_named_is_found_at_its_depth) {
        char *top = make_tree();

        EXPECT_WALK(top, ".env a/.env a/b/.env secrets/.env ", ".env");
        EXPECT_WALK(top, ".env ", "/.env");
        EXPECT_WALK(top, "a/.env ", "a/.env");
        EXPECT_WALK(top, "a/b/x.pem b/x.pem@ ", "*.pem");
        EXPECT_WALK(top, "a/secrets b/secrets secrets ", "secrets");
        /* A folder that is named is found as a whole. */
        EXPECT_WALK(top, "a/secrets secrets ", "secrets/");
        EXPECT_WALK(top, ".env a/.env a/b/.env secrets ", "/secrets/**", ".env");
        EXPECT_WALK(top, "a/secrets secrets ", "**/secrets/**");
        EXPECT_WALK(top, "a/.env a/b/.env ", "a/**/.env");
        EXPECT_WALK(top, "a/b/.env ", "*/?/.env");
        EXPECT_WALK(top, "a/b/x.pem a/b/x.pem.txt b/x.pem@ ", "x.*", "nothing");
        EXPECT_WALK(top, "b/[x] ", "\\[x\\]");
        EXPECT_WALK(top, "a/b b ", "[!a]/", "/b/");
        EXPECT_WALK(top, "link@ ", "link");
        /* A link may lead to a folder. */
        EXPECT_WALK(top, "b/x.pem@/ link@/ ", "link/", "x.pem/", "b/secrets/");
        EXPECT_WALK(top, "link@ ", "link/", "link");
        /* Through no link. */
        EXPECT_WALK(top, "", "link/.env");
        EXPECT_WALK(top, "", "env", "ENV", "x.pe", ".en", ".envx");
        scratch_remove(top);
}

TEST(the_top_matches_by_the_same_globs) {
        char *const globs[] = {(char[]){"**/.env"}, (char[]){"a/b"}, (char[]){"**/d/"}, NULL};

        assert_true(walk_matches(globs, ".env", false));
        assert_true(walk_matches(globs, "d", true));
        assert_false(walk_matches(globs, "d", false));
        assert_false(walk_matches(globs, "a", true));
        assert_false(walk_matches(globs, "b", false));
}

TEST(other_names_of_a_file_are_found_by_its_number) {
        char *top = make_tree(), *file = scratch_path(top, "a/.env"), *other = scratch_path(top, "b/other");
        struct stat st;

        assert_int_equal(link(file, other), 0);
        assert_int_equal(lstat(file, &st), 0);
        expect_walk(top, (const char *const[]){NULL}, &st.st_ino, "a/.env b/other ");
        free(file);
        free(other);
        scratch_remove(top);
}

TEST(all_files_are_found_where_all_are_asked_for) {
        char *top = make_tree();
        struct finds finds = {0};
        const struct walk walk = {
                .is_for_all = true, .entries_max = 1000, .found = note_entry, .data = &finds};
        int fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);

        assert_int_equal(walk_names(&walk, fd), 0);
        (void)close(fd);
        assert_int_equal(strv_length(finds.words), 12);
        strv_free(finds.words);
        scratch_remove(top);
}

static int stop_at_once(nsrun_unused void *data, nsrun_unused const struct walk_entry *e) {
        return 42;
}

TEST(a_walk_has_bounds_and_says_where_it_did_not_look) {
        char *top = make_tree(), *closed = scratch_path(top, "a/b"), *globs[] = {(char[]){"**/.env"}, NULL};
        struct walk walk = {.globs = globs, .found = stop_at_once, .entries_max = 1000};
        _cleanup_strbuf_ struct strbuf deep = {0};
        char *path;
        int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_int_equal(walk_names(&walk, fd), 42);
        walk.entries_max = 3;
        walk.globs = (char *[]){(char[]){"**/nothing"}, NULL};
        assert_int_equal(walk_names(&walk, fd), -E2BIG);
        (void)close(fd);
        if (geteuid() != 0) {
                assert_int_equal(chmod(closed, 0), 0);
                EXPECT_WALK(top, ".env a/.env a/b! secrets/.env ", ".env");
                assert_int_equal(chmod(closed, 0755), 0);
        }
        free(closed);
        for (size_t i = 0; i < WALK_DEPTH_MAX + 2; i++)
                strbuf_add(&deep, "d/");
        strbuf_add(&deep, ".env");
        path = strbuf_finish(&deep);
        scratch_file(top, path, "");
        {
                _cleanup_strbuf_ struct strbuf expected = {0};
                _cleanup_free_ char *text = NULL;

                for (size_t i = 0; i <= WALK_DEPTH_MAX; i++)
                        strbuf_add(&expected, i == 0 ? "d" : "/d");
                strbuf_add(&expected, "! ");
                text = strbuf_finish(&expected);
                EXPECT_WALK(top, text, "d/**/.env");
        }
        free(path);
        scratch_remove(top);
}

TEST(a_path_that_gets_too_long_hides_the_folder_in_which_it_does) {
        char *top = scratch_make(), name[201], *globs[] = {(char[]){"**/.env"}, NULL};
        struct finds finds = {0};
        const struct walk walk = {.globs = globs, .entries_max = 1000, .found = note_entry, .data = &finds};
        int start = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = dup(start);

        scratch_file(top, ".env", "");
        memset(name, 'd', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        for (size_t i = 0; i < 15; i++) {
                int next;

                assert_int_equal(mkdirat(fd, name, 0755), 0);
                next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                (void)close(fd);
                fd = next;
        }
        (void)close(fd);
        assert_int_equal(walk_names(&walk, start), 0);
        (void)close(start);
        assert_int_equal(strv_length(finds.words), 2);
        for (size_t i = 0; i < 2; i++) {
                size_t n = strlen(finds.words[i]);

                if (streq(finds.words[i], ".env"))
                        continue;
                assert_int_equal(finds.words[i][n - 1], '!');
                assert_int_equal(n, 10 * sizeof(name));
        }
        strv_free(finds.words);
        scratch_remove(top);
}

int main(void) {
        return run_all_tests();
}
