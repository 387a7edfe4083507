/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* src/changes compares and prints files that a session makes hard to: such that change while they
 * are read, that can't be, or that no patch can hold. */
#include "changes/internal.h"
#include "picture.h"

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
        struct layer *y = layer_change(state, "echo 12345 >old", "mv old new");
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
        assert_between(bytes_read() - before, 0, 1 << 20);
        assert_int_equal(c.n, 2);
        assert_int_equal(c.list[0].kind, CHANGE_ADDED);
        assert_int_equal(c.list[1].kind, CHANGE_DELETED);
}

LAYER_TEST(a_file_that_grows_is_no_rename_and_read_no_further) {
        expect_no_pair(state, "truncate -s 128M [on]*");
}

LAYER_TEST(a_file_that_shrinks_is_no_rename) {
        expect_no_pair(state, "truncate -s 5 [on]*");
}

typedef int print(FILE *to, const struct changes_layer *layer, const struct changes *c, char *const *paths);

static char *printed(const struct layer *y, const struct changes *c, print *how) {
        char *text = NULL;
        size_t n = 0;
        FILE *f = open_memstream(&text, &n);

        assert_non_null(f);
        assert_int_equal(how(f, &y->l, c, NULL), 0);
        (void)fclose(f);
        return text;
}

/* Looks at the changes, runs a script in the overlay, and prints them then. */
static void expect_printed(const struct layer *y, const char *meanwhile, const char *patch,
                           const char *stat) {
        _cleanup_changes_ struct changes c = {0};
        _cleanup_free_ char *text = NULL, *counts = NULL;

        assert_int_equal(changes_scan(&y->l, &c, NULL), 0);
        layer_sh(y->l.merged_fd, meanwhile);
        text = printed(y, &c, changes_print_patch);
        counts = printed(y, &c, changes_print_stat);
        assert_string_equal(text, patch);
        assert_string_equal(counts, stat);
        scratch_file(y->root, "patch", text);
}

/* Runs a script in a copy of the base, beside which "patch" lies. */
static void sh_in_copy(const struct layer *y, const char *script) {
        _cleanup_close_ int root = layer_folder(y, "record/..");
        _cleanup_free_ char *whole = NULL;

        assert_true(asprintf(&whole, "rm -rf copy; cp -r base copy; cd copy; %s", script) > 0);
        layer_sh(root, whole);
}

static const char git_apply[] = "git apply -p1 ../patch";
static const char patch_p1[] = "patch -s -p1 --no-backup-if-mismatch -i ../patch";

static void sh_after_each_tool(const struct layer *y, const char *script) {
        _cleanup_free_ char *git = NULL, *patch = NULL;

        assert_true(asprintf(&git, "%s; %s", git_apply, script) > 0);
        assert_true(asprintf(&patch, "%s; %s", patch_p1, script) > 0);
        sh_in_copy(y, git);
        sh_in_copy(y, patch);
}

#define HUNK(path) "diff --git a/" path " b/" path "\n--- a/" path "\n+++ b/" path "\n@@ -1 +1 @@\n-1\n+2\n"

/* Root reads everything. */
TEST_IF(geteuid() != 0, a_file_that_cannot_be_read_is_told_in_its_place, layer_setup, layer_teardown) {
        struct layer *y =
                layer_change(state, "for i in a c e mode; do echo 1 >$i; done; chmod 755 mode",
                             "for i in a c e; do echo 2 >$i; done; echo new >'b\"'; mkdir d; echo 3 >d/x;"
                             "chmod 0 'b\"' c d mode");

        expect_printed(y, "true",
                       HUNK("a") "# \"b\\\"\": it can't be read: Permission denied\n"
                                 "# c: it can't be read: Permission denied\n"
                                 "# d: it can't be read: Permission denied\n" HUNK(
                                         "e") "diff --git a/mode b/mode\nold mode 100755\nnew mode 100644\n"
                                              "# M  mode (mode 0755 -> 0000)\n",
                       " a | 2 +1 -1\n \"b\\\"\" | ?: Permission denied\n c | ?: Permission denied\n"
                       " d | ?: Permission denied\n e | 2 +1 -1\n mode | 0 +0 -0\n"
                       " 6 files changed, +2 -2\n");
        sh_after_each_tool(y, "[ $(cat a)$(cat c)$(cat e) = 212 ]; [ ! -x mode ]; [ $(ls | wc -l) = 4 ]");
        layer_sh(y->l.merged_fd, "chmod 700 *");
}

LAYER_TEST(files_swapped_meanwhile_end_nothing) {
        struct layer *y =
                layer_change(state, "for i in a b c d z; do echo 1 >$i; done; ln -s 1 l",
                             "for i in a b c d e z; do echo 2 >$i; done; ln -sfn 2 l; mkdir f; echo 2 >f/x");

        expect_printed(
                y, "rm -r b c d e f l; mkfifo b; ln -s a c; mkdir d; echo 2 >f; echo 2 >l",
                HUNK("a") "# b: it can't be read: Invalid argument\n"
                          "# c: it can't be read: Too many levels of symbolic links\n"
                          "# d: it can't be read: Invalid argument\n"
                          "# e: it can't be read: No such file or directory\n"
                          "# f/x: it can't be read: Not a directory\n"
                          "# l: it can't be read: Invalid argument\n" HUNK("z"),
                " a | 2 +1 -1\n b | ?: Invalid argument\n c | ?: Too many levels of symbolic links\n"
                " d | ?: Invalid argument\n e | ?: No such file or directory\n f/x | ?: Not a directory\n"
                " l | ?: Invalid argument\n z | 2 +1 -1\n 8 files changed, +2 -2\n");
        sh_after_each_tool(y, "[ $(cat a b c d z | tr -d '\\n') = 21112 ]; [ $(readlink l) = 1 ]");
}

LAYER_TEST(names_with_blanks_are_whole_without_hunks) {
        struct layer *y = layer_change(
                state, ": >'empty gone'; echo 1 >'of mode'; seq 9 >'old name'; echo 1 >'of text'",
                ": >' empty new'; rm 'empty gone'; chmod 755 'of mode'; mv 'old name' 'n w';"
                "mkdir 'd e'; : >'d e/x y '; echo 2 >'of text'; echo 2 >'new of text'");
        _cleanup_changes_ struct changes c = {0};
        _cleanup_free_ char *text = NULL;

        assert_int_equal(changes_scan(&y->l, &c, NULL), 0);
        text = printed(y, &c, changes_print_patch);
        scratch_file(y->root, "patch", text);
        sh_after_each_tool(y, "[ -e ' empty new' ]; [ ! -s ' empty new' ]; [ ! -e 'empty gone' ];"
                              "[ -x 'of mode' ]; [ ! -e 'old name' ]; [ $(wc -l <'n w') = 9 ]; "
                              "[ \"$(find * -type f | LC_ALL=C sort | tr '\\n' ,)\" = "
                              "' empty new,d e/x y ,n w,new of text,of mode,of text,' ]");
}

/* Each tool says which they are, and does nothing with them. */
LAYER_TEST(binary_files_are_refused_one_by_one) {
        struct layer *y = layer_change(
                state, "for i in changed gone mode; do printf 'a\\0b' >$i; done; echo 1 >i; echo 1 >x",
                "printf 'a\\0bc' >changed; rm gone; echo c >>mode; chmod 755 mode;"
                "printf '\\0' >'a new'; printf '\\0' >z; echo 2 >i; echo 2 >x");
        _cleanup_changes_ struct changes c = {0};
        _cleanup_free_ char *text = NULL, *script = NULL;

        assert_int_equal(changes_scan(&y->l, &c, NULL), 0);
        text = printed(y, &c, changes_print_patch);
        scratch_file(y->root, "patch", text);
        assert_true(
                asprintf(
                        &script,
                        "export LC_ALL=C; if %s 2>../log; then exit 1; fi; for i in 'a new' changed gone mode z; do "
                        "grep -q \"$i: patch does not apply\" ../log; done; [ $(cat x i | tr -d '\\n') = 11 ];"
                        "git apply --exclude='a new' --exclude=changed --exclude=gone --exclude=mode "
                        "--exclude=z -p1 ../patch; [ $(cat x i | tr -d '\\n') = 22 ]",
                        git_apply) > 0);
        sh_in_copy(y, script);
        free(script);
        assert_true(
                asprintf(
                        &script,
                        "export LC_ALL=C; if %s >../log; then exit 1; fi; for i in \"'a new'\" changed gone mode z; do "
                        "grep -q \"File $i: git binary diffs are not supported\" ../log; done;"
                        "[ $(cat x i | tr -d '\\n') = 22 ]; [ \"$(echo *)\" = 'changed gone i mode x' ];"
                        "[ $(stat -c %%s changed) = 3 ]; [ ! -x mode ]",
                        patch_p1) > 0);
        sh_in_copy(y, script);
}

LAYER_TEST(a_text_of_too_many_lines_is_no_text) {
        struct layer *y = layer_change(
                state, "yes '' | head -n 500000 >a; cp a b; cp a type; echo >>type; cp type gone",
                "{ yes '' | head -n 499999; printf end; } >a; echo >>b; rm gone type; ln -s t type;"
                "yes '' | head -n 500000 >just; yes '' | head -n 500001 >many; echo >>many");
        _cleanup_changes_ struct changes c = {0};
        _cleanup_free_ char *text = NULL, *stat = NULL;

        assert_int_equal(changes_scan(&y->l, &c, NULL), 0);
        stat = printed(y, &c, changes_print_stat);
        assert_string_equal(stat, " a | 2 +1 -1\n b | Bin 500000 -> 500001 bytes\n"
                                  " gone | Bin 500001 -> 0 bytes\n just | 500000 +500000 -0\n"
                                  " many | Bin 0 -> 500002 bytes\n type | Bin 500001 -> 1 bytes\n"
                                  " 6 files changed, +500001 -1\n");
        text = printed(y, &c, changes_print_patch);
        assert_non_null(strstr(text, "Binary files a/b and b/b differ\n"));
        assert_non_null(strstr(text, "Binary files a/gone and /dev/null differ\n"));
        assert_non_null(strstr(text, "+++ b/just\n@@ -0,0 +1,500000 @@\n"));
        assert_non_null(strstr(text, "Binary files /dev/null and b/many differ\n"));
        assert_non_null(strstr(text, "+++ b/type\n@@ -0,0 +1 @@\n+t\n"));
}

int main(void) {
        (void)umask(022);
        return run_all_tests();
}
