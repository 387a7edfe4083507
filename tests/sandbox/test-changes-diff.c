/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files that a session makes hard to compare and to print: such that change while they are read, that can't
 * be, or that no patch can hold. */
#include "changes/internal.h"
#include "patch.h"
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

/* Looks at the changes, runs a script in the overlay, and prints them then. */
static void expect_printed(const struct layer *y, const char *meanwhile, const char *const *patch,
                           const char *stat) {
        _cleanup_changes_ struct changes c = {0};
        _cleanup_free_ char *text = NULL, *counts = NULL;

        assert_int_equal(changes_scan(&y->l, &c, NULL), 0);
        layer_sh(y->l.merged_fd, meanwhile);
        text = printed_changes(y, &c, NSRUN_DIFF_PATCH);
        counts = printed_changes(y, &c, NSRUN_DIFF_STAT);
        assert_true(startswith(text, patch[0]));
        for (size_t i = 1; patch[i]; i++)
                if (!strstr(text, patch[i]))
                        fail_msg("no %s in %s", patch[i], text);
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

#define GIT_APPLY "git apply -p1 ../patch"

#define HUNK(path) "\n--- a/" path "\n+++ b/" path "\n@@ -1 +1 @@\n-1\n+2\n"

/* Root reads everything. */
TEST_IF(geteuid() != 0, a_file_that_cannot_be_read_is_told_in_its_place, layer_setup, layer_teardown) {
        struct layer *y =
                layer_change(state, "for i in a c e mode; do echo 1 >$i; done; chmod 755 mode",
                             "for i in a c e; do echo 2 >$i; done; echo new >'b\"'; mkdir d; echo 3 >d/x;"
                             "chmod 0 'b\"' c d mode");

        expect_printed(y, "true",
                       (const char *const[]){"# \"b\\\"\": it can't be read: Permission denied\n"
                                             "# c: it can't be read: Permission denied\n"
                                             "# d: it can't be read: Permission denied\n"
                                             "# M  mode (mode 0755 -> 0000)\ndiff --git a/a b/a\n",
                                             HUNK("a"),
                                             HUNK("e") "diff --git a/mode b/mode\nold mode 100755\n", NULL},
                       " \"b\\\"\" | ?: Permission denied\n c | ?: Permission denied\n"
                       " d | ?: Permission denied\n M  mode (mode 0755 -> 0000)\n"
                       " a    | 2 +-\n e    | 2 +-\n mode | 0\n"
                       " 3 files changed, 2 insertions(+), 2 deletions(-)\n");
        sh_in_copy(y,
                   GIT_APPLY "; [ $(cat a)$(cat c)$(cat e) = 212 ]; [ ! -x mode ]; [ $(ls | wc -l) = 4 ]");
        layer_sh(y->l.merged_fd, "chmod 700 *");
}

LAYER_TEST(files_swapped_meanwhile_end_nothing) {
        struct layer *y =
                layer_change(state, "for i in a b c d z; do echo 1 >$i; done; ln -s 1 l",
                             "for i in a b c d e z; do echo 2 >$i; done; ln -sfn 2 l; mkdir f; echo 2 >f/x");

        expect_printed(
                y, "rm -r b c d e f l; mkfifo b; ln -s a c; mkdir d; echo 2 >f; echo 2 >l",
                (const char *const[]){"# b: it can't be read: Invalid argument\n"
                                      "# c: it can't be read: Too many levels of symbolic links\n"
                                      "# d: it can't be read: Invalid argument\n"
                                      "# e: it can't be read: No such file or directory\n"
                                      "# f/x: it can't be read: Not a directory\n"
                                      "# l: it can't be read: Invalid argument\ndiff --git a/a b/a\n",
                                      HUNK("a") "diff --git a/z b/z\n", HUNK("z"), NULL},
                " b | ?: Invalid argument\n c | ?: Too many levels of symbolic links\n"
                " d | ?: Invalid argument\n e | ?: No such file or directory\n f/x | ?: Not a directory\n"
                " l | ?: Invalid argument\n a | 2 +-\n z | 2 +-\n"
                " 2 files changed, 2 insertions(+), 2 deletions(-)\n");
        sh_in_copy(y, GIT_APPLY "; [ $(cat a b c d z | tr -d '\\n') = 21112 ]; [ $(readlink l) = 1 ]");
}

/* What stands for content that git isn't given was once a file's path.  Who writes that elsewhere had git
 * take the two for one, and tell of another change than a commit would make. */
LAYER_TEST(nothing_that_is_written_stands_for_another_files_content) {
        struct layer *y = layer_change(
                state, "mkdir d; echo 1 >old; echo 2 >gone; echo 3 >mode; truncate -s 17M big d/large",
                "mv old new; printf new >d/old; mkdir e; printf 'old\\0big17825792 bytes' >e/big; rm big;"
                "chmod 755 mode; rm gone; printf mode >d/gone; truncate -s 18M d/large;"
                "printf 'new\\0d/large18874368 bytes' >e/large");
        _cleanup_free_ char *text = printed(y, NSRUN_DIFF_PATCH);
        static const char *const wanted[] = {"rename from old\nrename to new\n",
                                             "+++ b/d/old\n@@ -0,0 +1 @@\n+new\n",
                                             "+++ b/d/gone\n@@ -0,0 +1 @@\n+mode\n",
                                             "diff --git a/big b/big\ndeleted file mode 100644\n",
                                             "diff --git a/e/big b/e/big\nnew file mode 100644\n",
                                             "diff --git a/e/large b/e/large\nnew file mode 100644\n",
                                             "diff --git a/gone b/gone\ndeleted file mode 100644\n"};

        for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
                if (!strstr(text, wanted[i]))
                        fail_msg("no %s in %s", wanted[i], text);
}

/* A minute of the processor's time: two files in which no line is unique, and nearly all are other lines. */
TEST_IF(is_long(), git_works_a_minute_at_a_patch_and_no_longer, layer_setup, layer_teardown) {
        _cleanup_changes_ struct changes c = {0};
        _cleanup_free_ char *said = NULL;
        struct nsrun_error err = {0};
        struct layer *y;
        FILE *to;

        y = layer_change(state, "awk 'BEGIN {srand(1); for (i = 0; i < 7e6; i++) print int(rand() * 2)}' >a",
                         "awk 'BEGIN {srand(2); for (i = 0; i < 7e6; i++) print int(rand() * 2)}' >a");
        to = fopen("/dev/null", "we");
        assert_non_null(to);
        assert_int_equal(changes_scan(&y->l, &c, NULL), 0);
        assert_true(patch_print(to, NSRUN_DIFF_PATCH, "/overlay", &y->l, &c, NULL, &err) < 0);
        (void)fclose(to);
        said = nsrun_error_format(&err);
        assert_string_equal(said,
                            "git has worked at the patch for a minute; name fewer paths, or leave --patch "
                            "out");
}

/* None of a file's names, nor what it says of itself, decides how it is shown. */
LAYER_TEST(a_project_says_nothing_of_how_it_is_compared) {
        struct layer *y = layer_change(
                state, "printf '1\\r\\n' >crlf; printf '1\\n' >a; mkdir -p .git/info; echo 1 >.git/config",
                "printf '1\\n' >crlf; printf '2\\n' >a; echo '* text -diff diff=x' >.gitattributes;"
                "cp .gitattributes .git/info/attributes; printf '[core]\\n\\tattributesFile=x\\n' >.git/config;"
                "mkdir -p sub/.GIT; echo 1 >sub/.GIT/x; ln -s x .gitmodules; echo 3 >.gitignore");
        _cleanup_free_ char *text = printed(y, NSRUN_DIFF_PATCH);

        assert_true(startswith(text, "# M  .git/config\n# A  .git/info/attributes\n# A  .gitmodules\n"
                                     "# A  sub/.GIT/x\ndiff --git a/.gitattributes b/.gitattributes\n"));
        assert_non_null(strstr(text, "\n-1\r\n+1\n"));
        scratch_file(y->root, "patch", text);
        sh_in_copy(y, GIT_APPLY "; [ $(cat a) = 2 ]; [ $(cat .gitignore) = 3 ]; [ $(cat .git/config) = 1 ]");
}

/* As a host without it is, for the sandbox. */
LAYER_TEST(without_git_the_paths_are_listed_and_a_line_says_why) {
        struct layer *y = layer_change(state, "echo 1 >a", "echo 2 >a; echo 1 >b");
        _cleanup_free_ char *path = strdup(getenv("PATH")), *patch = NULL, *stat = NULL;
        static const char listed[] =
                "# there is no git, which makes patches and counts lines: these have changed\n"
                "M  a\nA  b\n";

        assert_int_equal(setenv("PATH", "/usr/share:/bin/true", 1), 0);
        patch = printed(y, NSRUN_DIFF_PATCH);
        stat = printed(y, NSRUN_DIFF_STAT);
        assert_int_equal(setenv("PATH", path, 1), 0);
        assert_string_equal(patch, listed);
        assert_string_equal(stat, listed);
}

LAYER_TEST(names_with_blanks_are_whole_without_hunks) {
        struct layer *y = layer_change(
                state, ": >'empty gone'; echo 1 >'of mode'; seq 9 >'old name'; echo 1 >'of text'",
                ": >' empty new'; rm 'empty gone'; chmod 755 'of mode'; mv 'old name' 'n w';"
                "mkdir 'd e'; : >'d e/x y '; echo 2 >'of text'; echo 2 >'new of text'");
        _cleanup_free_ char *text = printed(y, NSRUN_DIFF_PATCH);

        scratch_file(y->root, "patch", text);
        sh_in_copy(y, GIT_APPLY "; [ -e ' empty new' ]; [ ! -s ' empty new' ]; [ ! -e 'empty gone' ];"
                                "[ -x 'of mode' ]; [ ! -e 'old name' ]; [ $(wc -l <'n w') = 9 ]; "
                                "[ \"$(find * -type f | LC_ALL=C sort | tr '\\n' ,)\" = "
                                "' empty new,d e/x y ,n w,new of text,of mode,of text,' ]");
}

/* git says which the first is, and does nothing. */
LAYER_TEST(binary_files_are_refused) {
        struct layer *y = layer_change(
                state, "for i in changed gone mode; do printf 'a\\0b' >$i; done; echo 1 >i; echo 1 >x",
                "printf 'a\\0bc' >changed; rm gone; echo c >>mode; chmod 755 mode;"
                "printf '\\0' >'a new'; printf '\\0' >z; echo 2 >i; echo 2 >x");
        _cleanup_free_ char *text = printed(y, NSRUN_DIFF_PATCH);

        scratch_file(y->root, "patch", text);
        sh_in_copy(
                y,
                "export LC_ALL=C; if " GIT_APPLY " 2>../log; then exit 1; fi; "
                "grep -q \"cannot apply binary patch to 'a new'\" ../log; [ $(cat x i | tr -d '\\n') = 11 ];"
                "git apply --exclude='a new' --exclude=changed --exclude=gone --exclude=mode "
                "--exclude=z -p1 ../patch; [ $(cat x i | tr -d '\\n') = 22 ]");
}

/* So are those of another content that are too large to be compared. */
LAYER_TEST(a_large_file_is_named_as_binary) {
        struct layer *y =
                layer_change(state, "truncate -s 16M just; truncate -s 17M a; cp a type; cp a gone",
                             "echo >>just; echo 1 >>a; rm gone type; ln -s t type; truncate -s 18M new");
        _cleanup_free_ char *text = printed(y, NSRUN_DIFF_PATCH), *stat = printed(y, NSRUN_DIFF_STAT);

        assert_string_equal(stat, " a | Bin 17825792 -> 17825794 bytes\n gone | Bin 17825792 -> 0 bytes\n"
                                  " just | Bin 16777216 -> 16777217 bytes\n new | Bin 0 -> 18874368 bytes\n"
                                  " type | Bin 17825792 -> 1 bytes\n");
        assert_non_null(strstr(text, "Binary files a/a and b/a differ\n"));
        assert_non_null(strstr(text, "Binary files a/gone and /dev/null differ\n"));
        assert_non_null(strstr(text, "Binary files a/just and b/just differ\n"));
        assert_non_null(strstr(text, "Binary files /dev/null and b/new differ\n"));
        assert_non_null(strstr(text, "+++ b/type\n@@ -0,0 +1 @@\n+t\n"));
}

/* A session can't have a diff take the machine's memory. */
LAYER_TEST(what_comes_after_128_mib_is_named_as_binary) {
        struct layer *y =
                layer_change(state, "true", "for i in 1 2 3 4 5 6 7 8 9; do truncate -s 16M f$i; done");
        _cleanup_free_ char *stat = printed(y, NSRUN_DIFF_STAT);

        assert_true(startswith(stat, " f9 | Bin 0 -> 16777216 bytes\n f1 | Bin 0 -> 16777216 bytes\n"));
}

int main(void) {
        (void)umask(022);
        return run_all_tests();
}
