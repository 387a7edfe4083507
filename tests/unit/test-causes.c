/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* base/causes.c: the table of hosts' refusals is whole, each row has its test, and an error leads back to
 * it. */
#include <dirent.h>
#include <fcntl.h>

#include "base/causes.h"
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
        for (size_t i = 0; i < N_CAUSES; i++) {
                const struct cause *cause = &causes[i];
                _cleanup_free_ char *alone = NULL, *first = NULL, *later = NULL;

                assert_int_not_equal(cause->stage, NSRUN_STAGE_NONE);
                assert_true(cause->when && cause->what && cause->fix);
                assert_true(cause->when[strlen(cause->when) - 1] == '.');
                if (!cause->test)
                        continue;
                alone = str_concat("(", cause->test, ")");
                first = str_concat("(", cause->test, ",");
                later = str_concat(" ", cause->test, ",");
                if (!strstr(tests, alone) && !strstr(tests, first) && !strstr(tests, later))
                        fail_msg("%s: there is no test %s", cause->what, cause->test);
        }
}

TEST(no_two_rows_are_the_same) {
        for (size_t i = 0; i < N_CAUSES; i++)
                for (size_t j = 0; j < i; j++)
                        assert_false(streq(causes[i].what, causes[j].what) &&
                                     streq(causes[i].fix, causes[j].fix));
}

TEST(an_error_leads_back_to_its_row) {
        for (size_t i = 0; i < N_CAUSES; i++) {
                struct nsrun_error err = {0};
                const struct cause *found;

                assert_int_equal(error_cause(&err, (enum cause_id)i, -EPERM, "/path"), -EPERM);
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

TEST(words_before_a_rows_are_no_hindrance) {
        struct nsrun_error err = {0};

        (void)error_setf(&err, NSRUN_STAGE_HARDENING, -EPERM, NULL, NULL, "--limit pids: %s",
                         causes[CAUSE_CGROUP_CROWDED].what);
        assert_ptr_equal(error_find_cause(&err), &causes[CAUSE_CGROUP_CROWDED]);
}

int main(void) {
        return run_all_tests();
}
