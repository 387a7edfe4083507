/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists of expose paths: the library's public functions for them, from tables. */
#include "scratch.h"

#include "nsrun.h"

typedef struct nsrun_expose_path item;

static void expect_items(const item *found, size_t n, const item *expected, size_t n_expected) {
        for (size_t i = 0; i < n && i < n_expected; i++) {
                assert_string_equal(found[i].source, expected[i].source);
                assert_string_equal(found[i].target, expected[i].target);
                assert_string_equal(found[i].mode, expected[i].mode);
        }
        assert_int_equal(n, n_expected);
}

TEST(paths_are_cleaned_and_an_empty_target_is_the_source) {
        static const struct {
                item given, expected;
        } cases[] = {
                {{"/a", "/b", "ro"}, {"/a", "/b", "ro"}},
                {{"/a", "", "rw"}, {"/a", "/a", "rw"}},
                {{"/a", NULL, "rw"}, {"/a", "/a", "rw"}},
                {{"/a/../b/./c//", "", "ro"}, {"/b/c", "/b/c", "ro"}},
                {{"/a", "/x/../../y/", "ro"}, {"/a", "/y", "ro"}},
                {{"/..", "", "ro"}, {"/", "/", "ro"}},
                {{"a/../b", "", "ro"}, {"a/../b", "a/../b", "ro"}},
                {{"", "/t", " ro"}, {"", "/t", " ro"}},
                {{NULL, NULL, NULL}, {"", "", ""}},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ item *found = NULL;

                assert_int_equal(nsrun_isolation_normalize_expose_path(&cases[i].given, &found), 0);
                expect_items(found, 1, &cases[i].expected, 1);
        }
}

TEST(a_later_rule_takes_the_place_of_an_earlier_one) {
        static const item defaults[] = {{"/a", "/1", "ro"}, {"/b", "/2", "ro"}, {"/c", "/3", "ro"}};
        static const item overrides[] = {{"/d", "/4", "rw"}, {"/e", "/x/../2/", "rw"}, {"/f", "/4", "ro"},
                                         {"/g", "/1", "rw"}, {"/h", "/1", "ro"},       {"/3", "", "rw"}};
        static const item expected[] = {
                {"/h", "/1", "ro"}, {"/e", "/2", "rw"}, {"/3", "/3", "rw"}, {"/f", "/4", "ro"}};
        _cleanup_free_ item *found = NULL, *same = NULL, *none = NULL;
        size_t n = 0;

        assert_int_equal(nsrun_isolation_merge_expose_paths(defaults, ARRAY_SIZE(defaults), overrides,
                                                            ARRAY_SIZE(overrides), &found, &n),
                         0);
        expect_items(found, n, expected, ARRAY_SIZE(expected));
        assert_int_equal(nsrun_isolation_merge_expose_paths(defaults, 3, NULL, 0, &same, &n), 0);
        expect_items(same, n, defaults, 3);
        assert_int_equal(nsrun_isolation_merge_expose_paths(NULL, 0, NULL, 0, &none, &n), 0);
        assert_non_null(none);
        assert_int_equal(n, 0);
}

TEST(ten_thousand_rules_for_one_target_are_the_last_one) {
        enum {
                N = 10000
        };
        item *many = calloc(N, sizeof(*many));
        _cleanup_free_ item *found = NULL;
        char(*names)[16] = calloc(N, sizeof(*names));
        size_t n = 0;

        assert_true(many && names);
        for (int i = 0; i < N; i++) {
                (void)snprintf(names[i], sizeof(names[i]), "/s%d", i);
                many[i] = (item){names[i], i % 2 ? "/odd" : names[i], "ro"};
        }
        assert_int_equal(nsrun_isolation_merge_expose_paths(NULL, 0, many, N, &found, &n), 0);
        assert_int_equal(n, N / 2 + 1);
        expect_items(found + 1, 1, &(item){"/s9999", "/odd", "ro"}, 1);
        expect_items(found + n - 1, 1, &(item){"/s9998", "/s9998", "ro"}, 1);
        free(many);
        free(names);
}

TEST(what_is_no_rule_is_told) {
        static const struct {
                item items[2];
                size_t n;
                const char *line;
        } cases[] = {
                {{{"", "/t", "ro"}}, 1, "expose_paths: no source"},
                {{{NULL, NULL, "ro"}}, 1, "expose_paths: no source"},
                {{{"a", "/t", "ro"}}, 1, "expose_paths: the source is no absolute path: a"},
                {{{"./a", "/t", "ro"}}, 1, "expose_paths: the source is no absolute path: ./a"},
                {{{"/a", "t", "ro"}}, 1, "expose_paths: the target is no absolute path: t"},
                {{{"/a", "/t", ""}}, 1, "expose_paths: no mode; choose ro or rw"},
                {{{"/a", "/t", "r"}}, 1, "expose_paths: the mode is neither ro nor rw: r; choose ro or rw"},
                {{{"/a", "/t", "RW"}},
                 1,
                 "expose_paths: the mode is neither ro nor rw: RW; choose ro or rw"},
                {{{"/a", "/t", "rw "}},
                 1,
                 "expose_paths: the mode is neither ro nor rw: rw ; choose ro or rw"},
                {{{"/a", "/t", "ro"}, {"/b", "/x/../t", "ro"}},
                 2,
                 "expose_paths: two rules for one target: /t; keep one of them, or merge the lists first"},
        };
        static const item good[] = {{"/a", "/t", "ro"}, {"/b", "/x/../u", "rw"}, {"/c", "", "ro"}};

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                struct nsrun_error err = {0};
                _cleanup_free_ char *line = NULL;

                assert_int_equal(nsrun_isolation_validate_expose_paths(cases[i].items, cases[i].n, &err),
                                 -EINVAL);
                line = nsrun_error_format(&err);
                assert_string_equal(line, cases[i].line);
                assert_int_equal(err.stage, NSRUN_STAGE_POLICY);
        }
        assert_int_equal(nsrun_isolation_validate_expose_paths(good, ARRAY_SIZE(good), NULL), 0);
        assert_int_equal(nsrun_isolation_validate_expose_paths(NULL, 0, NULL), 0);
}

static bool has(const item *items, size_t n, const char *source, const char *mode) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(items[i].source, source) == 0 && strcmp(items[i].target, source) == 0 &&
                    strcmp(items[i].mode, mode) == 0)
                        return true;
        return false;
}

TEST(the_defaults_are_the_root_and_the_least_of_a_system) {
        static const char *const system[] = {"/usr",
                                             "/bin",
                                             "/lib",
                                             "/lib64",
                                             "/etc/resolv.conf",
                                             "/etc/alternatives",
                                             "/usr/share/zoneinfo",
                                             "/etc/ssl/certs"};
        _cleanup_free_ item *found = NULL;
        size_t n = 0;

        assert_int_equal(nsrun_isolation_default_expose_paths("/home/u/.nsrun", &found, &n), 0);
        assert_true(has(found, n, "/home/u/.nsrun", "rw"));
        for (size_t i = 0; i < ARRAY_SIZE(system); i++)
                assert_true(has(found, n, system[i], "ro"));
        for (size_t i = 1; i < n; i++)
                assert_string_equal(found[i].mode, "ro");
        assert_int_equal(nsrun_isolation_validate_expose_paths(found, n, NULL), 0);
}

TEST(a_mount_plan_is_the_defaults_with_the_overrides_in_place) {
        static const item overrides[] = {{"/other", "/usr", "ro"}, {"/x", "", "rw"}};
        _cleanup_free_ item *plain = NULL, *found = NULL;
        size_t n_plain = 0, n = 0;

        assert_int_equal(nsrun_isolation_default_expose_paths("/r", &plain, &n_plain), 0);
        assert_int_equal(nsrun_isolation_build_mount_plan("/r", overrides, 2, &found, &n), 0);
        assert_int_equal(n, n_plain + 1);
        for (size_t i = 0; i < n_plain; i++)
                expect_items(&found[i], 1, strcmp(plain[i].target, "/usr") == 0 ? overrides : &plain[i], 1);
        expect_items(&found[n - 1], 1, &(item){"/x", "/x", "rw"}, 1);
}

TEST(access_rules_are_an_unsupported_configuration) {
        struct nsrun_error err = {0};

        assert_int_equal(nsrun_isolation_build_access_rules("/r", NULL, 0, &err), -EOPNOTSUPP);
        assert_string_equal(err.what, "unsupported configuration: access rules are Windows's");
        assert_int_equal(nsrun_isolation_is_supported(), 1);
}

int main(void) {
        return run_all_tests();
}
