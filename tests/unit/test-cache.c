/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* seccomp/cache.c by itself: where an entry is put.  What is loaded and what is not is the
 * business of tests/sandbox. */
#include "scratch.h"

#include "seccomp/cache.h"

/* Nobody else may look into a folder that is made here, whatever the umask. */
static void a_new_account_without_a_cache_folder_gets_one(void **state nsrun_unused) {
        static const char *const made[] = {".cache", ".cache/nsrun", ".cache/nsrun/seccomp"};
        static const unsigned char key[SHA256_SIZE] = {1, 2, 3};
        struct sock_filter code[] = {{0x06, 0, 0, 0x7fff0000}};
        const struct cache_entry entry = {.filter = {.code = code, .n = ARRAY_SIZE(code)}, .flags = 2};
        struct cache_entry loaded = {.flags = 0};
        char *home = scratch_make(), *folder = scratch_path(home, made[2]);
        mode_t own = umask(0);

        assert_int_equal(cache_load(folder, key, &loaded), -ENOENT);
        assert_int_equal(cache_store(folder, key, &entry), 0);
        (void)umask(own);
        for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
                char *path = scratch_path(home, made[i]);
                struct stat st;

                assert_int_equal(stat(path, &st), 0);
                assert_int_equal(st.st_mode & 07777, 0700);
                free(path);
        }
        assert_int_equal(cache_load(folder, key, &loaded), 0);
        assert_int_equal(loaded.flags, 2);
        assert_int_equal(loaded.filter.n, ARRAY_SIZE(code));
        assert_memory_equal(loaded.filter.code, code, sizeof(code));
        seccomp_filter_clear(&loaded.filter);
        free(folder);
        scratch_remove(home);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_new_account_without_a_cache_folder_gets_one),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
