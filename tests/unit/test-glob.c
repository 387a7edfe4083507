/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Globs below a folder: which names they find, and that no symlink is followed. */
#include "host/glob.h"

#include "base/str.h"
#include "manual.h"
#include "protect/protect_names.h"
#include "scratch.h"

static int note_name(void *data, const char *name, const struct stat *st) {
        char *word = NULL;

        assert_true(asprintf(&word, "%s%s", name,
                             S_ISLNK(st->st_mode)   ? "@"
                             : S_ISDIR(st->st_mode) ? "/"
                                                    : "") > 0);
        return strv_consume(data, word);
}

/* One glob, as glob_find() takes several. */
static int expand(int fd, const char *glob,
                  int (*found)(void *data, const char *name, const struct stat *st), void *data) {
        char *globs[] = {(char *)(uintptr_t)glob, NULL};

        return glob_find(fd, globs, &(struct glob_search){.found = found, .data = data});
}

static int compare_words(const void *a, const void *b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static int stop_at_once(void *data, nsrun_unused const char *name, nsrun_unused const struct stat *st) {
        ++*(int *)data;
        return 42;
}

TEST(globs_that_can_not_be_expanded_are_told) {
        static const struct {
                const char *glob;
                bool is_one;
        } cases[] = {
                {".git/hooks", true}, {"*", true},     {"a", true},   {"...", true},  {"..a/b", true},
                {"a/*/b.c", true},    {"", false},     {"/", false},  {"/a", false},  {"a/", false},
                {"a//b", false},      {".", false},    {"..", false}, {"./a", false}, {"a/./b", false},
                {"a/..", false},      {"../a", false},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                if (glob_is_expandable(cases[i].glob) != cases[i].is_one)
                        fail_msg("%s: %d", cases[i].glob, !cases[i].is_one);
}

TEST(globs_find_what_is_there_and_follow_no_symlink) {
        static const struct {
                const char *glob, *found;
        } cases[] = {
                {"a", "a/ "},
                {"a/b", "a/b "},
                {"a/none", ""},
                {"a/b/c", ""}, /* below a file */
                {"none/*", ""},
                {"a/*", "a/.dot a/[x] a/b "},
                {"*/b", "a/b d/b/ dangling@ link@ "},
                {"?/b", "a/b d/b/ "},
                {"[a]/b", "a/b "},
                {"a/[[]x]", "a/[x] "},
                {"a/\\[x\\]", "a/[x] "},
                {"d/*/c", "d/b/c d/out@ "},
                {"*/*/c", "d/b/c d/out@ dangling@ link@ "},
                /* The link stands for all that it would lead to. */
                {"link", "link@ "},
                {"link/b", "link@ "},
                {"link/*", "link@ "},
                {"link/b/c", "link@ "},
                {"dangling/x", "dangling@ "},
                {"d/*/x", "d/out@ "},
        };
        char *top = scratch_make();
        int fd = scratch_open(top), n = 0;

        scratch_folder(top, "d/b");
        scratch_file(top, "a/b", "");
        scratch_file(top, "a/.dot", "");
        scratch_file(top, "a/[x]", "");
        scratch_file(top, "d/b/c", "");
        scratch_link(top, "link", "a");
        scratch_link(top, "dangling", "nowhere");
        scratch_link(top, "d/out", "../a");
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_strv_ char **words = NULL;
                _cleanup_strbuf_ struct strbuf b = {0};

                assert_int_equal(expand(fd, cases[i].glob, note_name, &words), 0);
                if (words)
                        qsort(words, strv_length(words), sizeof(*words), compare_words);
                STRV_FOREACH (word, words)
                        strbuf_addf(&b, "%s ", *word);
                if (!streq(b.text ? b.text : "", cases[i].found))
                        fail_msg("%s: %s", cases[i].glob, b.text ? b.text : "nothing");
        }
        assert_int_equal(expand(fd, "*/*", stop_at_once, &n), 42);
        assert_int_equal(n, 1);
        (void)close(fd);
        scratch_remove(top);
}

/* The page's list is the table, in its order. */
TEST(the_man_page_lists_the_protected_names) {
        char *text = manual_page("nsrun-protect.7"), *at, *end, *save = NULL;
        size_t n = 0;

        at = strstr(text, "it can't change these, at the folder's top:");
        assert_non_null(at);
        at = strstr(at, "\n.nh\n");
        assert_non_null(at);
        end = strstr(at, "\n.hy\n");
        assert_non_null(end);
        *end = '\0';
        for (char *word = strtok_r(at + 5, " \n", &save); word; word = strtok_r(NULL, " \n", &save)) {
                if (streq(word, ".Pa") || streq(word, ",") || streq(word, "."))
                        continue;
                assert_non_null(protect_names[n]);
                assert_true(protect_covers(word));
                assert_string_equal(word, protect_names[n++]);
        }
        assert_null(protect_names[n]);
        free(text);
}

int main(void) {
        return run_all_tests();
}
