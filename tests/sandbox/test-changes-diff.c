/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* src/changes compares and prints files that a session makes hard to: such that change while they
 * are read, that can't be, or that no patch can hold. */
#include "changes/internal.h"
#include "picture.h"

static int setup(void **state) {
        struct layer *y = calloc(1, sizeof(*y));

        assert_non_null(y);
        (void)umask(022);
        layer_begin(y);
        *state = y;
        return 0;
}

static int teardown(void **state) {
        layer_end(*state);
        free(*state);
        return 0;
}

/* The base, by a script; then the overlay; then its changes. */
static struct layer *change(void **state, const char *base, const char *script) {
        struct layer *y = *state;
        _cleanup_close_ int fd = layer_folder(y, "base");

        layer_sh(fd, base);
        layer_mount(y);
        layer_sh(y->l.merged_fd, script);
        return y;
}

/* What this process has read so far. */
static unsigned long long bytes_read(void) {
        FILE *f = fopen("/proc/self/io", "re");
        unsigned long long n = 0;

        if (!f)
                return 0;
        assert_int_equal(fscanf(f, "rchar: %llu", &n), 1);
        (void)fclose(f);
        return n;
}

/* Between the look at the list and that at the contents. */
static void expect_no_pair(void **state, const char *script) {
        _cleanup_changes_ struct changes c = {.list = calloc(2, sizeof(*c.list)), .n = 2};
        struct layer *y = change(state, "echo 12345 >old", "mv old new");
        unsigned long long before;

        layer_expect(y, "R  old -> new\n");
        layer_sh(y->l.base_fd, script);
        layer_sh(y->l.merged_fd, script);
        assert_non_null(c.list);
        c.list[0] = (struct change){
                .kind = CHANGE_ADDED, .path = strdup("new"), .new_mode = S_IFREG | 0644, .new_size = 6};
        c.list[1] = (struct change){
                .kind = CHANGE_DELETED, .path = strdup("old"), .old_mode = S_IFREG | 0644, .old_size = 6};
        before = bytes_read();
        assert_int_equal(changes_pair(&y->l, &c), 0);
        assert_in_range(bytes_read() - before, 0, 1 << 20);
        assert_int_equal(c.n, 2);
        assert_int_equal(c.list[0].kind, CHANGE_ADDED);
        assert_int_equal(c.list[1].kind, CHANGE_DELETED);
}

static void a_file_that_grows_is_no_rename_and_read_no_further(void **state) {
        expect_no_pair(state, "truncate -s 128M [on]*");
}

static void a_file_that_shrinks_is_no_rename(void **state) {
        expect_no_pair(state, "truncate -s 5 [on]*");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_file_that_grows_is_no_rename_and_read_no_further, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(a_file_that_shrinks_is_no_rename, setup, teardown),
        };

        (void)umask(022);
        return _cmocka_run_group_tests("changes-diff", tests, ARRAY_SIZE(tests), NULL, NULL);
}
