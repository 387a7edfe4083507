/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* base/causes.c: the table of hosts' refusals is whole, each row has its test, and an error leads back to
 * it. */
#include <dirent.h>
#include <fcntl.h>

#include "base/causes.h"
#include "base/degraded.h"
#include "base/file.h"
#include "base/str.h"
#include "scratch.h"

/* All of the sandbox's tests as one text. */
static char *read_tests(void) {
        const char *srcdir = getenv("srcdir");
        _cleanup_free_ char *folder = str_concat(srcdir ? srcdir : ".", "/tests/sandbox", "");
        _cleanup_strbuf_ struct strbuf all = {0};
        DIR *dir = opendir(folder);

        assert_non_null(dir);
        for (const struct dirent *entry; (entry = readdir(dir));) {
                _cleanup_free_ char *text = NULL;

                if (!startswith(entry->d_name, "test-"))
                        continue;
                assert_int_equal(read_small_file(dirfd(dir), entry->d_name, 0, 1 << 20, &text), 0);
                strbuf_add(&all, text);
        }
        assert_int_equal(closedir(dir), 0);
        return strbuf_finish(&all);
}

TEST(each_row_is_whole_and_has_a_test) {
        _cleanup_free_ char *tests = read_tests();

        assert_non_null(tests);
        for (size_t i = 1; i <= NSRUN_ERROR_OUTER_PROC; i++) {
                const struct cause *cause = &causes[i];
                _cleanup_free_ char *alone = NULL, *first = NULL, *later = NULL;

                assert_int_not_equal(cause->stage, NSRUN_STAGE_NONE);
                assert_true(cause->when && cause->what && cause->fix && cause->test);
                assert_true(cause->when[strlen(cause->when) - 1] == '.');
                alone = str_concat("(", cause->test, ")");
                first = str_concat("(", cause->test, ",");
                later = str_concat(" ", cause->test, ",");
                if (!strstr(tests, alone) && !strstr(tests, first) && !strstr(tests, later))
                        fail_msg("%s: there is no test %s", cause->what, cause->test);
        }
}

TEST(no_two_rows_are_the_same) {
        for (size_t i = 0; i < NSRUN_ERROR_COUNT; i++)
                for (size_t j = 0; j < i; j++)
                        assert_false(causes[i].what && causes[j].what &&
                                     streq(causes[i].what, causes[j].what) &&
                                     streq(causes[i].fix, causes[j].fix));
}

TEST(an_error_leads_back_to_its_row) {
        for (size_t i = 1; i <= NSRUN_ERROR_OUTER_PROC; i++) {
                struct nsrun_error err = {0};
                const struct cause *found;

                assert_int_equal(error_cause(&err, (enum nsrun_error_id)i, -EPERM, "/path"), -EPERM);
                assert_int_equal(err.stage, causes[i].stage);
                assert_string_equal(err.hint, causes[i].fix);
                found = error_find_cause(&err);
                assert_non_null(found);
                assert_string_equal(found->what, causes[i].what);
        }
}

TEST(what_was_asked_for_leads_to_none) {
        static const char *const words[] = {"", "--rw would make a system folder writable",
                                            "no cgroup can be made that has", "command not found"};

        for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
                struct nsrun_error err = {0};

                (void)error_set(&err, NSRUN_STAGE_POLICY, -EPERM, NULL, words[i], NULL);
                assert_null(error_find_cause(&err));
        }
}

/* Whatever the words are: the identifier tells. */
TEST(a_causes_words_alone_lead_to_none) {
        struct nsrun_error err = {0};

        (void)error_set(&err, NSRUN_STAGE_HARDENING, -EPERM, NULL, causes[NSRUN_ERROR_CGROUP_CROWDED].what,
                        NULL);
        assert_null(error_find_cause(&err));
        err.what[0] = '\0';
        assert_int_equal(error_identify(&err, NSRUN_ERROR_CGROUP_CROWDED, -EPERM), -EPERM);
        assert_ptr_equal(error_find_cause(&err), &causes[NSRUN_ERROR_CGROUP_CROWDED]);
        assert_int_equal(error_identify(&err, NSRUN_ERROR_BIND, -EPERM), -EPERM);
        assert_int_equal(err.id, NSRUN_ERROR_CGROUP_CROWDED);
}

/* The first failure is the one that is told, with its identifier. */
TEST(a_later_failure_identifies_nothing) {
        struct nsrun_error err = {0};

        (void)error_set(&err, NSRUN_STAGE_MOUNT, -EIO, NULL, "first", NULL);
        assert_int_equal(error_cause(&err, NSRUN_ERROR_NO_OVERLAYFS, -ENODEV, NULL), -ENODEV);
        assert_int_equal(err.id, NSRUN_ERROR_OTHER);
}

TEST(each_identifier_has_a_name_of_its_own) {
        for (unsigned i = 0; i < NSRUN_ERROR_COUNT; i++) {
                const char *name = nsrun_error_name((enum nsrun_error_id)i);

                assert_non_null(name);
                assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz-"), strlen(name));
                for (unsigned j = 0; j < i; j++)
                        assert_string_not_equal(name, nsrun_error_name((enum nsrun_error_id)j));
        }
        assert_string_equal(nsrun_error_name(NSRUN_ERROR_COUNT), "other");
        assert_string_equal(nsrun_error_name(NSRUN_ERROR_NO_OVERLAYFS), "no-overlayfs");
}

/* --------------------------------------------------------------- base/degraded.c */

static bool is_a_test(const char *tests, const char *name) {
        _cleanup_free_ char *alone = str_concat("(", name, ")"), *later = str_concat(" ", name, ",");

        return strstr(tests, alone) || strstr(tests, later);
}

TEST(each_degraded_row_is_whole_and_has_a_test) {
        _cleanup_free_ char *tests = read_tests();

        for (size_t i = 0; i < N_DEGRADED; i++) {
                const struct degraded *row = &degraded[i];

                assert_true(row->name && row->when && row->lack && row->instead && row->fix && row->test);
                assert_true(row->when[strlen(row->when) - 1] == '.');
                /* A list has "NAME PATH", and a note "lack: instead". */
                assert_null(strchr(row->name, ' '));
                assert_null(strstr(row->lack, ": "));
                if (!is_a_test(tests, row->test))
                        fail_msg("%s: there is no test %s", row->name, row->test);
                for (size_t j = 0; j < i; j++)
                        assert_false(streq(row->name, degraded[j].name) ||
                                     streq(row->lack, degraded[j].lack));
        }
}

TEST(a_note_leads_back_to_its_row_and_a_refusal_is_told) {
        for (size_t i = 0; i < N_DEGRADED; i++) {
                struct nsrun_error note = {0}, refusal = {0}, hinted = {0};

                degraded_note(&note, (enum degraded_id)i, "/path");
                assert_ptr_equal(degraded_find(&note), &degraded[i]);
                assert_false(degraded_is_refusal(&note));
                assert_int_equal(degraded_refuse(&refusal, (enum degraded_id)i, NULL, NULL), -EOPNOTSUPP);
                assert_true(degraded_is_refusal(&refusal));
                assert_null(degraded_find(&refusal));
                assert_int_equal(refusal.stage, NSRUN_STAGE_POLICY);
                assert_int_equal(refusal.error, 0);
                assert_string_equal(refusal.hint, degraded[i].fix);
                assert_int_equal(degraded_refuse(&hinted, (enum degraded_id)i, NULL, "x"), -EOPNOTSUPP);
                assert_string_equal(hinted.hint, "x");
                /* No second line for a host's cause. */
                assert_null(error_find_cause(&refusal));
        }
}

TEST(a_list_has_each_entry_once_with_any_path) {
        static const char *const paths[] = {NULL, "/a", "/a b\n\x1b", "/a"};
        _cleanup_strv_ char **list = NULL;
        const char *path = "?";

        for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
                assert_int_equal(degraded_add(&list, &degraded[DEGRADED_CACHE_EMPTY], paths[i]), 0);
        assert_int_equal(strv_length(list), 3);
        for (size_t i = 0; i < 3; i++) {
                assert_ptr_equal(degraded_read(list[i], &path), &degraded[DEGRADED_CACHE_EMPTY]);
                if (paths[i])
                        assert_string_equal(path, paths[i]);
                else
                        assert_null(path);
        }
        {
                _cleanup_free_ char *text = nsrun_degraded_format(list[2]);

                assert_string_equal(text, "this cache can't be shown: it is empty inside: /a b\\x0a\\x1b");
        }
        assert_null(degraded_read("cache", &path));
        assert_null(degraded_read("cache-empty-handed /a", &path));
        assert_null(nsrun_degraded_format("another release's"));
}

/* Of musl's own there are seventy others. */
TEST(an_errno_has_the_same_words_in_every_c_library) {
        assert_string_equal(error_words(ELOOP), "Too many levels of symbolic links");
        assert_string_equal(error_words(EMFILE), "Too many open files");
        assert_string_equal(error_words(EACCES), "Permission denied");
#ifdef __GLIBC__
        for (int error = 1; error < 134; error++) {
                /* The next call may free the words of an errno that nobody has. */
                _cleanup_free_ char *words = strdup(error_words(error));

                assert_non_null(words);
                assert_string_equal(words, strerror(error));
        }
#endif
}

int main(void) {
        return run_all_tests();
}
