/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* kept/kept.c: what is kept is a bounded copy, whole or not at all. */
#include "kept/kept.h"

#include <stdlib.h>
#include <sys/file.h>

#include "base/file.h"
#include "base/str.h"
#include "scratch.h"

static int make_state(void **state) {
        char *top = scratch_make();

        assert_int_equal(setenv("XDG_STATE_HOME", top, 1), 0);
        scratch_folder(top, "p");
        *state = top;
        return 0;
}

static int remove_state(void **state) {
        scratch_remove(*state);
        return 0;
}

/* Keeps p/NAME as /p/PATH, as `how` says: the number, or -errno. */
static int put_as(const char *top, const char *name, const char *path, const struct kept *how) {
        char *folder = scratch_path(top, "p");
        _cleanup_close_ int parent = scratch_open(folder);
        char where[64];
        struct kept about = *how;
        unsigned number = 0;
        int r;

        about.path = where;
        about.command = (char *)"make";
        (void)snprintf(where, sizeof(where), "/p/%s", path);
        r = kept_put("/p", &about, parent, name, &number);
        free(folder);
        return r < 0 ? r : (int)number;
}

static int put(const char *top, const char *name, const char *path) {
        return put_as(top, name, path, &(struct kept){.reason = (char *)"test"});
}

static char *kept_text(const char *path, const char *below) {
        _cleanup_close_ int fd = kept_find("/p", path, "test", NULL);
        char *text = NULL;

        if (fd >= 0)
                (void)read_small_file(fd, below, O_NOFOLLOW, 4096, &text);
        return text;
}

static void assert_kept(const char *path, const char *below, const char *expected) {
        _cleanup_free_ char *text = kept_text(path, below);

        assert_non_null(text);
        assert_string_equal(text, expected);
}

static void assert_number(unsigned number, const char *below, const char *expected) {
        _cleanup_close_ int fd = kept_open("/p", number, NULL);
        _cleanup_free_ char *text = NULL;

        assert_int_equal(read_small_file(fd, below, O_NOFOLLOW, 4096, &text), 0);
        assert_string_equal(text, expected);
}

static size_t count_kept(void) {
        struct kept *list = NULL;
        size_t n = 0;

        assert_int_equal(kept_list("/p", &list, &n), 0);
        kept_free(list, n);
        return n;
}

static void a_tree_is_kept_without_what_is_special(void **state) {
        const char *top = *state;
        char *fifo = scratch_path(top, "p/hooks/fifo"), *program = scratch_path(top, "p/hooks/pre-commit");
        _cleanup_close_ int fd = -EBADF;
        struct kept k = {0};
        struct stat st;

        scratch_file(top, "p/hooks/pre-commit", "#!/bin/sh\n");
        scratch_link(top, "p/hooks/link", "/etc/passwd");
        assert_int_equal(chmod(program, 06755), 0);
        assert_int_equal(mkfifo(fifo, 0600), 0);
        assert_int_equal(put(top, "hooks", ".git/hooks"), 1);
        fd = kept_find("/p", "/p/.git/hooks", "test", &k);
        assert_true(fd >= 0);
        assert_string_equal(k.command, "make");
        assert_string_equal(k.reason, "test");
        assert_true(k.time > 0);
        kept_clear(&k);
        assert_kept("/p/.git/hooks", KEPT_ENTRY "/pre-commit", "#!/bin/sh\n");
        assert_int_equal(fstatat(fd, KEPT_ENTRY "/pre-commit", &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0755);
        assert_int_equal(fstatat(fd, KEPT_ENTRY "/link", &st, AT_SYMLINK_NOFOLLOW), 0);
        assert_true(S_ISLNK(st.st_mode));
        assert_int_equal(fstatat(fd, KEPT_ENTRY "/fifo", &st, AT_SYMLINK_NOFOLLOW), -1);
        /* By itself it is nothing that can be kept. */
        assert_int_equal(put(top, "hooks/fifo", ".envrc"), -EINVAL);
        assert_int_equal(kept_find("/p", "/p/.envrc", "test", NULL), -ENOENT);
        free(program);
        free(fifo);
}

static void a_later_one_of_the_same_path_takes_its_place(void **state) {
        const char *top = *state;

        scratch_file(top, "p/a", "first");
        scratch_file(top, "p/b", "second");
        assert_int_equal(put(top, "a", ".envrc"), 1);
        assert_int_equal(put(top, "a", ".other"), 2);
        assert_int_equal(put(top, "b", ".envrc"), 1);
        assert_kept("/p/.envrc", KEPT_ENTRY, "second");
        assert_kept("/p/.other", KEPT_ENTRY, "first");
        assert_int_equal(count_kept(), 2);
        assert_int_equal(kept_drop("/p", 1, -1), 0);
        assert_int_equal(kept_find("/p", "/p/.envrc", "test", NULL), -ENOENT);
        assert_int_equal(count_kept(), 1);
        assert_int_equal(kept_drop("/p", 1, -1), 0);
}

/* Nor is one that was kept for another reason. */
static void what_may_be_the_users_is_replaced_by_the_same_alone(void **state) {
        const struct kept protected = {.reason = (char *)(uintptr_t)KEPT_PROTECTED, .is_whole = true};
        const char *top = *state;

        scratch_file(top, "p/a", "first");
        scratch_file(top, "p/b", "other");
        scratch_file(top, "p/d/x/f", "first");
        scratch_file(top, "p/e/x/f", "other");
        assert_int_equal(put(top, "b", ".envrc"), 1);
        assert_int_equal(put_as(top, "a", ".envrc", &protected), 2);
        assert_int_equal(put_as(top, "b", ".envrc", &protected), 3);
        assert_int_equal(put_as(top, "d", ".envrc", &protected), 4);
        assert_int_equal(put_as(top, "e", ".envrc", &protected), 5);
        assert_int_equal(put_as(top, "a", ".envrc", &protected), 2);
        assert_int_equal(put_as(top, "d", ".envrc", &protected), 4);
        scratch_file(top, "p/d/more", "");
        assert_int_equal(put_as(top, "d", ".envrc", &protected), 6);
        assert_int_equal(count_kept(), 6);
        assert_number(1, KEPT_ENTRY, "other");
        assert_number(2, KEPT_ENTRY, "first");
        assert_number(3, KEPT_ENTRY, "other");
        assert_number(4, KEPT_ENTRY "/x/f", "first");
        assert_number(5, KEPT_ENTRY "/x/f", "other");
}

/* Of several of one path that one which was found, and no other. */
static void one_that_was_found_is_replaced_while_it_is_there(void **state) {
        struct kept how = {.reason = (char *)(uintptr_t)KEPT_PROTECTED, .is_whole = true}, k = {0};
        const char *top = *state;
        int first, none = -ENOENT;

        scratch_file(top, "p/a/f", "first");
        scratch_file(top, "p/b/f", "last");
        scratch_folder(top, "p/empty");
        scratch_file(top, "p/new/f", "new");
        assert_int_equal(put_as(top, "a", ".vscode", &how), 1);
        assert_int_equal(put_as(top, "b", ".vscode", &how), 2);
        assert_int_equal(put_as(top, "empty", ".vscode", &how), 3);
        first = kept_find_folder("/p", "/p/.vscode", KEPT_PROTECTED, &k);
        assert_int_equal(k.number, 2);
        kept_clear(&k);
        (void)close(first);
        first = kept_open("/p", 1, NULL);
        how.is_whole = false;
        how.earlier = &first;
        assert_int_equal(put_as(top, "new", ".vscode", &how), 1);
        assert_number(1, KEPT_ENTRY "/f", "new");
        assert_number(2, KEPT_ENTRY "/f", "last");
        assert_int_equal(put_as(top, "a", ".vscode", &how), -EAGAIN);
        how.earlier = &none;
        assert_int_equal(put_as(top, "a", ".vscode", &how), -EAGAIN);
        assert_number(1, KEPT_ENTRY "/f", "new");
        assert_int_equal(count_kept(), 3);
        (void)close(first);
}

/* What isn't on the disk isn't written to it, and counts. */
static void holes_stay_holes(void **state) {
        const char *top = *state;
        _cleanup_close_ int kept = -EBADF, entry = -EBADF;
        char text[8] = "";
        struct stat st;

        for (unsigned i = 0; i < 2; i++) {
                char *path = scratch_path(top, "p/a");

                scratch_file(top, "p/a", "text");
                assert_int_equal(truncate(path, KEPT_BYTES - 4), 0);
                if (i == 1) {
                        kept = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
                        assert_int_equal(write(kept, "end", 4), 4);
                        close_fdp(&kept);
                }
                assert_int_equal(put(top, "a", ".sparse"), 1);
                kept = kept_find("/p", "/p/.sparse", "test", NULL);
                assert_int_equal(fstatat(kept, KEPT_ENTRY, &st, AT_SYMLINK_NOFOLLOW), 0);
                assert_int_equal(st.st_size, KEPT_BYTES - 4 + i * 4);
                assert_between(st.st_blocks, 0, 1024);
                entry = openat(kept, KEPT_ENTRY, O_RDONLY | O_CLOEXEC);
                assert_int_equal(pread(entry, text, 4, 0), 4);
                assert_string_equal(text, "text");
                assert_int_equal(pread(entry, text, 4, KEPT_BYTES - 4), i * 4);
                assert_string_equal(text, i == 0 ? "text" : "end");
                close_fdp(&entry);
                close_fdp(&kept);
                assert_int_equal(truncate(path, KEPT_BYTES + 1), 0);
                assert_int_equal(put_as(top, "a", ".whole",
                                        &(struct kept){.reason = (char *)"test", .is_whole = true}),
                                 -EFBIG);
                free(path);
        }
}

/* It is moved there whole, or not at all. */
static void what_is_more_than_the_bounds_is_not_kept_in_part(void **state) {
        const char *top = *state;
        char *path = scratch_path(top, "p/a");
        struct kept k = {0};

        scratch_file(top, "p/a", "small");
        assert_int_equal(put(top, "a", ".envrc"), 1);
        assert_int_equal(truncate(path, KEPT_BYTES), 0);
        assert_int_equal(put(top, "a", ".big"), 2);
        assert_int_equal(truncate(path, KEPT_BYTES + 1), 0);
        assert_int_equal(put(top, "a", ".huge"), 3);
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(kept_find("/p", "/p/.big", "test", &k) < 0, 0);
        assert_false(k.is_moved);
        kept_clear(&k);
        assert_int_equal(kept_find("/p", "/p/.huge", "test", &k) < 0, 0);
        assert_true(k.is_moved);
        kept_clear(&k);
        assert_kept("/p/.envrc", KEPT_ENTRY, "small");
        assert_int_equal(put(top, "b", ".none"), -ENOENT);
        assert_int_equal(count_kept(), 3);
        free(path);
}

static void names_that_are_too_many_to_be_noted_leave_it_moved(void **state) {
        const char *top = *state;
        struct kept how = {.reason = (char *)"test"}, k = {0};
        _cleanup_close_ int fd = -EBADF;
        char name[129];

        scratch_file(top, "p/d/f", "text");
        memset(name, 'x', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        for (unsigned i = 0; i < 1500; i++)
                assert_int_equal(strv_add(&how.removed, name), 0);
        /* What can be noted is. */
        assert_int_equal(put_as(top, "d", ".few", &how), 1);
        for (unsigned i = 0; i < 1000; i++)
                assert_int_equal(strv_add(&how.removed, name), 0);
        assert_int_equal(put_as(top, "d", ".husky", &how), 2);
        assert_false(scratch_has(top, "p/d"));
        fd = kept_open("/p", 1, &k);
        assert_true(fd >= 0 && !k.is_moved);
        assert_int_equal(strv_length(k.removed), 1500);
        kept_clear(&k);
        close_fdp(&fd);
        fd = kept_open("/p", 2, &k);
        assert_true(fd >= 0 && k.is_moved);
        kept_clear(&k);
        assert_number(2, KEPT_ENTRY "/f", "text");
        scratch_file(top, "p/a", "more");
        how.is_whole = true;
        assert_int_equal(put_as(top, "a", ".envrc", &how), -EFBIG);
        assert_true(scratch_has(top, "p/a"));
        strv_free(how.removed);
}

/* What a killed one has begun is in nobody's way. */
static void what_was_begun_and_not_ended_is_not_there(void **state) {
        const char *top = *state;

        scratch_file(top, "p/a", "text");
        scratch_file(top, "nsrun/kept/p/.new/entry", "half");
        scratch_file(top, "nsrun/kept/p/3/entry", "without a word");
        assert_int_equal(count_kept(), 0);
        assert_int_equal(put(top, "a", ".envrc"), 4);
        assert_true(scratch_has(top, "nsrun/kept/p/3/entry"));
        assert_false(scratch_has(top, "nsrun/kept/p/.new"));
        assert_kept("/p/.envrc", KEPT_ENTRY, "text");
}

static void count_dropped(void *data, const struct kept *k) {
        assert_string_equal(k->path, "/p/.old");
        ++*(unsigned *)data;
}

static void after_thirty_days_it_is_dropped_and_said(void **state) {
        const char *top = *state;
        char *about = scratch_path(top, "nsrun/kept/p/1/about.json");
        unsigned n = 0;

        scratch_file(top, "p/a", "text");
        assert_int_equal(put(top, "a", ".old"), 1);
        assert_int_equal(put(top, "a", ".new"), 2);
        assert_int_equal(unlink(about), 0);
        scratch_file(
                top, "nsrun/kept/p/1/about.json",
                "{\"path\":\"/p/.old\",\"reason\":\"test\",\"command\":\"\",\"session\":\"\",\"time\":1}");
        assert_int_equal(kept_drop_old("/p", count_dropped, &n), 0);
        assert_int_equal(n, 1);
        assert_int_equal(count_kept(), 1);
        assert_kept("/p/.new", KEPT_ENTRY, "text");
        free(about);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_tree_is_kept_without_what_is_special, make_state,
                                                remove_state),
                cmocka_unit_test_setup_teardown(a_later_one_of_the_same_path_takes_its_place, make_state,
                                                remove_state),
                cmocka_unit_test_setup_teardown(what_may_be_the_users_is_replaced_by_the_same_alone,
                                                make_state, remove_state),
                cmocka_unit_test_setup_teardown(one_that_was_found_is_replaced_while_it_is_there, make_state,
                                                remove_state),
                cmocka_unit_test_setup_teardown(holes_stay_holes, make_state, remove_state),
                cmocka_unit_test_setup_teardown(what_is_more_than_the_bounds_is_not_kept_in_part, make_state,
                                                remove_state),
                cmocka_unit_test_setup_teardown(names_that_are_too_many_to_be_noted_leave_it_moved,
                                                make_state, remove_state),
                cmocka_unit_test_setup_teardown(what_was_begun_and_not_ended_is_not_there, make_state,
                                                remove_state),
                cmocka_unit_test_setup_teardown(after_thirty_days_it_is_dropped_and_said, make_state,
                                                remove_state),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
