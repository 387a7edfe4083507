/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* base/variables.c, beside a list that is searched from its start. */
#include "policy/variables.h"

#include "base/str.h"
#include "scratch.h"

#define N_NAMES 400

static void set(struct variables *v, const char *name, unsigned value) {
        char *entry = NULL;

        assert_true(asprintf(&entry, "%s=%u", name, value) > 0);
        assert_int_equal(variables_set(v, entry), 0);
}

static void expect_variable(const struct variables *v, const char *name, const char *value) {
        const char *is = variables_value(v, name);

        if (value)
                assert_string_equal(is ? is : "none", value);
        else
                assert_null(is);
}

TEST(one_entry_of_each_name_is_kept) {
        _cleanup_variables_ struct variables v = {0};

        assert_null(variables_find(&v, "A", 1));
        variables_drop(&v, "A", 1);
        set(&v, "AB", 1);
        set(&v, "A", 2);
        set(&v, "AB", 3);
        assert_int_equal(variables_set(&v, strdup("BARE")), 0);
        assert_int_equal(v.n, 3);
        expect_variable(&v, "AB", "3");
        expect_variable(&v, "A", "2");
        expect_variable(&v, "B", NULL);
        expect_variable(&v, "ABC", NULL);
        expect_variable(&v, "BARE", NULL);
        assert_string_equal(variables_find(&v, "BARE", 4), "BARE");
        assert_string_equal(variables_find(&v, "AB=3", 2), "AB=3");
        variables_drop(&v, "AB", 2);
        expect_variable(&v, "AB", NULL);
        expect_variable(&v, "A", "2");
        assert_int_equal(variables_set(&v, NULL), -ENOMEM);
        assert_int_equal(v.n, 2);
}

TEST(the_last_entry_of_a_vector_counts) {
        _cleanup_variables_ struct variables v = {0};
        _cleanup_strv_ char **entries = NULL, **back = NULL;

        assert_int_equal(strv_add(&entries, "A=1"), 0);
        assert_int_equal(strv_add(&entries, "B=2"), 0);
        assert_int_equal(strv_add(&entries, "A=3"), 0);
        assert_int_equal(variables_set_all(&v, TAKE_PTR(entries)), 0);
        back = variables_finish(&v);
        assert_int_equal(strv_length(back), 2);
        assert_string_equal(back[0], "A=3");
        assert_string_equal(back[1], "B=2");
        assert_int_equal(v.n, 0);
        assert_null(v.entries);
}

/* 200,000 steps of a fixed seed: the table fills, empties and closes its gaps. */
TEST(it_agrees_with_a_plain_array) {
        _cleanup_variables_ struct variables v = {0};
        unsigned model[N_NAMES] = {0}, seed = 1;
        size_t n = 0;

        for (unsigned step = 1; step <= 200000; step++) {
                char name[16];
                unsigned i, what;

                seed = seed * 1103515245u + 12345u;
                i = (seed >> 8) % N_NAMES;
                what = (seed >> 20) % (step / 20000 % 2 ? 5 : 2);
                (void)snprintf(name, sizeof(name), "N%u", i);
                if (what == 0) {
                        n += model[i] == 0;
                        model[i] = step;
                        set(&v, name, step);
                } else {
                        n -= model[i] != 0;
                        model[i] = 0;
                        variables_drop(&v, name, strlen(name));
                }
                assert_int_equal(v.n, n);
                if (step % 1000 == 0) {
                        assert_int_equal(strv_length(v.entries), n);
                        for (unsigned k = 0; k < N_NAMES; k++) {
                                char value[16];

                                (void)snprintf(name, sizeof(name), "N%u", k);
                                (void)snprintf(value, sizeof(value), "%u", model[k]);
                                expect_variable(&v, name, model[k] ? value : NULL);
                        }
                }
        }
}

int main(void) {
        return run_all_tests();
}
