/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* src/changes on overlays of its own: what is seen, committed, discarded and printed. */
#include "../seed.h"
#include "base/json.h"
#include "patch.h"
#include "picture.h"

LAYER_TEST(an_untouched_overlay_has_no_changes) {
        struct layer *y = layer_change(state, "mkdir a; echo x >a/b; ln -s a c", "cat a/b; ls -R");

        layer_expect(y, "");
}

LAYER_TEST(each_kind_of_change_is_seen) {
        struct layer *y = layer_change(
                state,
                "mkdir d gone e t; echo 1 >d/x; echo 2 >d/mode; echo 3 >d/touched; echo 4 >gone/y;"
                "echo 55555 >old; ln -s d link; echo 6 >file; echo 7 >t/z; echo 8 >e/x",
                "echo more >>d/x; chmod 600 d/mode; touch -d @5 d/touched; rm -r gone; mv old new;"
                "ln -sfn e link; rm file; mkdir file; echo a >file/a; rm -r t; echo t >t; mkfifo p;"
                "chmod 700 e");

        layer_expect(y, "M  d/mode (mode 0644 -> 0600)\n"
                        "M  d/touched (mtime)\n"
                        "M  d/x\n"
                        "M  e/ (mode 0755 -> 0700)\n"
                        "T  file/\n"
                        "A  file/a\n"
                        "D  gone/\n"
                        "D  gone/y\n"
                        "M  link\n"
                        "R  old -> new\n"
                        "A  p\n"
                        "T  t\n"
                        "D  t/z\n");
        layer_commit(y, NULL);
        layer_expect(y, "A  p\n");
        layer_sh(y->l.base_fd,
                 "grep -q more d/x; [ $(stat -c %a d/mode) = 600 ]; [ ! -e gone ]; [ ! -e old ];"
                 "[ $(cat new) = 55555 ]; [ $(readlink link) = e ]; [ $(cat file/a) = a ];"
                 "[ $(cat t) = t ]; [ ! -e p ]; [ $(stat -c %a e) = 700 ];"
                 "[ $(ls -A | wc -l) = 6 ]");
}

/* What this process has read so far, in bytes. */
static unsigned long long bytes_read(void) {
        unsigned long long n = 0;
        FILE *f = fopen("/proc/self/io", "re");

        assert_non_null(f);
        assert_int_equal(fscanf(f, "rchar: %llu", &n), 1);
        (void)fclose(f);
        return n;
}

LAYER_TEST(holes_are_compared_without_being_read) {
        struct layer *y = layer_change(
                state,
                "truncate -s 100G same differs; echo x >>same; echo x >>differs; touch -d @7 same differs",
                "chmod 600 same; chmod 644 same; touch -d @9 same; touch -d @7 same;"
                "printf y | dd of=differs bs=1 seek=50G conv=notrunc 2>/dev/null; touch -d @7 differs");
        unsigned long long before = bytes_read();

        layer_expect(y, "M  differs\n");
        assert_true(bytes_read() - before < 10 << 20);
}

LAYER_TEST(what_is_the_same_again_is_no_change) {
        struct layer *y = layer_change(
                state, "mkdir d; echo 1 >d/x; echo 2 >y; ln -s x l; touch -d @7 d/x y",
                "echo 9 >>d/x; echo 1 >d/x; touch -d @7 d/x; chmod 600 y; chmod 644 y; touch -h l;"
                "touch d; rm -r d; mkdir d; echo 1 >d/x; touch -d @7 d/x; echo t >t; rm t");

        layer_expect(y, "");
}

static void expect_refusal(int r, const struct nsrun_error *err, int error, const char *path,
                           const char *what, const char *hint) {
        assert_int_equal(r, -error);
        /* What nsrun itself finds isn't the kernel's to say. */
        assert_int_equal(err->error, error == ESTALE ? 0 : error);
        assert_string_equal(err->path, path);
        assert_string_equal(err->what, what);
        assert_string_equal(err->hint, hint);
}

static const char conflict[] =
        "the host's side has changed since the session began, so nothing was committed";
static const char conflicts[] =
        "the host's side has changed since the session began, here and elsewhere, so nothing "
        "was committed";
static const char override[] =
        "the session has its own still: name other paths, or --force takes all, and what the host has there is lost";

/* The host's side does something to one path of four; then only force commits. */
static void expect_conflict(void **state, const char *host, const char *path, const char *what) {
        _cleanup_changes_report_ struct changes_report report = {0}, forced = {0};
        struct nsrun_error err = {0};
        struct layer *y = layer_change(state, "mkdir d e; echo 1 >d/x; echo 1 >e/x; echo 1 >f; echo 1 >g",
                                       "echo 2 >>d/x; rm -r e; rm f; echo 2 >>g; echo 2 >new");
        _cleanup_free_ char *before, *after;

        layer_sh(y->l.base_fd, host);
        before = picture_tree(y->l.base_fd, ".");
        expect_refusal(changes_commit(&y->l, NULL, 0, &report, &err), &err, ESTALE, path, what, override);
        after = picture_tree(y->l.base_fd, ".");
        assert_string_equal(after, before);
        assert_int_equal(report.n_applied, 0);
        assert_string_equal(report.conflicts[0], path);
        assert_int_equal(changes_commit(&y->l, NULL, CHANGES_FORCE, &forced, NULL), 0);
        assert_string_equal(forced.conflicts[0], path);
        layer_sh(y->l.base_fd,
                 "[ \"$(cat d/x)\" = \"$(printf '1\\n2')\" ]; [ ! -e e ]; [ ! -e f ]; [ $(cat new) = 2 ]");
        layer_expect(y, "");
}

LAYER_TEST(a_file_that_the_host_has_changed_is_a_conflict) {
        expect_conflict(state, "echo 3 >>d/x", "d/x", conflict);
}

LAYER_TEST(times_set_back_hide_no_change_of_the_host) {
        expect_conflict(state, "cp -p d/x keep; echo 3 >d/x; touch -r keep d/x; rm keep", "d/x", conflict);
}

LAYER_TEST(a_file_that_the_host_has_replaced_is_a_conflict) {
        expect_conflict(state, "echo 1 >y; mv y g", "g", conflict);
}

LAYER_TEST(a_folder_that_the_host_has_moved_there_is_a_conflict) {
        expect_conflict(state, "cp -a d d2; mv d d.old; mv d2 d", "d/x", conflict);
}

LAYER_TEST(a_file_in_a_deleted_folder_is_a_conflict) {
        expect_conflict(state, "echo 3 >e/y", "e", conflicts);
}

LAYER_TEST(a_deleted_file_that_the_host_has_changed_is_a_conflict) {
        expect_conflict(state, "echo 3 >f", "f", conflict);
}

LAYER_TEST(a_new_name_that_the_host_has_taken_is_a_conflict) {
        expect_conflict(state, "echo 3 >new", "new", conflict);
}

LAYER_TEST(a_changed_file_that_the_host_has_removed_is_a_conflict) {
        _cleanup_changes_report_ struct changes_report report = {0};
        struct nsrun_error err = {0};
        struct layer *y = layer_change(state, "echo 1 >a; echo 1 >b", "echo 2 >>a; echo 2 >>b");

        layer_sh(y->l.base_fd, "rm a");
        layer_expect(y, "A! a\nM  b\n");
        expect_refusal(changes_commit(&y->l, NULL, 0, &report, &err), &err, ESTALE, "a", conflict, override);
        layer_commit(y, "b");
        layer_expect(y, "A! a\n");
}

LAYER_TEST(what_a_commit_left_there_is_no_conflict) {
        struct layer *y = layer_change(state, "mkdir d; echo 1 >d/x; echo 1 >d/y; ln d/y d/z",
                                       "echo 2 >>d/x; echo 2 >d/new; rm d/y");

        layer_commit(y, NULL);
        layer_sh(y->l.merged_fd, "echo 3 >>d/x; echo 3 >>d/new; chmod 700 d; rm d/z; mkdir t; echo t >t/t");
        layer_commit(y, NULL);
        layer_sh(y->l.merged_fd, "rm -r t d");
        layer_expect(y, "D  d/\nD  d/new\nD  d/x\nD  t/\nD  t/t\n");
        layer_commit(y, NULL);
        layer_expect(y, "");
        layer_sh(y->l.base_fd, "[ -z \"$(ls -A)\" ]");
}

LAYER_TEST(what_the_host_made_in_a_committed_folder_stays) {
        struct layer *y = layer_change(state, "true", "mkdir t; echo t >t/t");

        layer_commit(y, NULL);
        layer_sh(y->l.base_fd, "echo h >t/host");
        layer_expect(y, "");
        layer_sh(y->l.merged_fd, "rm t/t");
        layer_commit(y, NULL);
        layer_sh(y->l.base_fd, "[ $(ls t) = host ]");
}

LAYER_TEST(chosen_paths_are_committed_with_what_they_need) {
        struct layer *y = layer_change(
                state, "mkdir d; echo 1 >d/x; echo 1 >d/y; echo 7777 >r",
                "echo 2 >>d/x; echo 2 >>d/y; mkdir -p n/m; echo 1 >n/m/a; echo 2 >n/m/b; mv r s");

        layer_commit(y, "d/x");
        layer_commit(y, "n/m/a");
        layer_expect(y, "M  d/y\nA  n/m/b\nR  r -> s\n");
        layer_sh(y->l.base_fd, "[ $(wc -l <d/x) = 2 ]; [ $(wc -l <d/y) = 1 ]; [ $(ls n/m) = a ]; [ -e r ]");
        layer_commit(y, "r");
        layer_discard(y, "n");
        layer_expect(y, "M  d/y\n");
        layer_sh(y->l.merged_fd, "[ $(ls n/m) = a ]; [ ! -e r ]; [ $(cat s) = 7777 ]");
        layer_discard(y, "d");
        layer_expect(y, "");
}

/* Takes what is in the list of paths alone. */
static int take_listed(void *data, const struct changes *c, bool *is_chosen) {
        char *const *paths = data;

        for (size_t i = 0; i < c->n; i++)
                is_chosen[i] = is_chosen[i] && strv_contains(paths, c->list[i].path);
        return 1;
}

/* For a caller that leaves some out: no folder brings them in, none takes them away. */
LAYER_TEST(what_is_left_out_is_neither_brought_nor_taken_away) {
        _cleanup_changes_report_ struct changes_report report = {0};
        struct layer *y = layer_change(
                state, "mkdir -p gone/keep f; echo 1 >gone/keep/x; echo 1 >gone/y; echo 7777 >f/r",
                "mkdir -p new/in; echo a >new/a; echo b >new/in/b; rm -r gone; mv f/r r; rmdir f");
        char *paths[] = {(char *)"new",    (char *)"new/a", (char *)"gone",
                         (char *)"gone/y", (char *)"f",     NULL};
        const struct changes_filter filter = {.leave_out = take_listed, .data = paths};

        assert_int_equal(changes_commit_some(&y->l, NULL, 0, &filter, &report, NULL), 0);
        assert_int_equal(report.n_applied, 3);
        layer_expect(
                y, "D  f/\nD  gone/\nD  gone/keep/\nD  gone/keep/x\nA  new/in/\nA  new/in/b\nR  f/r -> r\n");
        layer_sh(y->l.base_fd, "[ $(ls new) = a ]; [ $(ls gone) = keep ]; [ -e f/r ]");
        layer_commit(y, NULL);
        layer_expect(y, "");
        layer_sh(y->l.base_fd, "[ \"$(echo *)\" = 'new r' ]");
}

static int write_meanwhile(void *data, const struct changes *c, bool *is_chosen) {
        const struct layer *y = data;

        (void)c;
        (void)is_chosen;
        layer_sh(y->l.merged_fd, "echo evil >evil");
        return 0;
}

/* There is no second look, whose result the filter hasn't seen. */
LAYER_TEST(what_comes_after_the_filter_has_looked_is_not_committed) {
        _cleanup_changes_report_ struct changes_report report = {0};
        struct layer *y = layer_change(state, "echo 1 >a", "echo 2 >>a");
        const struct changes_filter filter = {.leave_out = write_meanwhile, .data = y};

        assert_int_equal(changes_commit_some(&y->l, NULL, 0, &filter, &report, NULL), 0);
        assert_int_equal(report.n_applied, 1);
        layer_sh(y->l.base_fd, "[ ! -e evil ]; [ $(wc -l <a) = 2 ]");
        layer_expect(y, "A  evil\n");
}

LAYER_TEST(a_path_without_changes_is_refused) {
        _cleanup_changes_report_ struct changes_report report = {0};
        struct layer *y = layer_change(state, "echo 1 >a; echo 1 >ab", "echo 2 >>ab");
        char *const paths[] = {(char *)"a", NULL}, *const other[] = {(char *)"ab", NULL};
        struct nsrun_error err = {0};

        expect_refusal(changes_commit(&y->l, paths, 0, &report, &err), &err, ENOENT, "a",
                       "nothing has changed there", "nsrun session diff says what has");
        assert_int_equal(changes_commit(&y->l, other, 0, &report, NULL), 0);
        assert_int_equal(report.n_applied, 1);
}

LAYER_TEST(setuid_bits_fifos_and_sockets_stay_behind_with_a_note) {
        _cleanup_changes_report_ struct changes_report report = {0};
        struct layer *y = layer_change(
                state, "mkdir d",
                "cp /bin/true su; chmod 6755 su; chmod 1777 d; mkfifo fifo; python3 -c 'import socket;"
                "socket.socket(socket.AF_UNIX).bind(\"sock\")'");

        assert_int_equal(changes_commit(&y->l, NULL, 0, &report, NULL), 0);
        assert_int_equal(report.n_applied, 2);
        assert_int_equal(strv_length(report.notes), 3);
        assert_string_equal(report.notes[0], "fifo: fifos are left out");
        assert_string_equal(report.notes[1], "sock: sockets are left out");
        assert_string_equal(report.notes[2], "su: its setuid or setgid bit is dropped");
        layer_sh(y->l.base_fd,
                 "[ $(stat -c %a su) = 755 ]; [ ! -e sock ]; [ $(stat -c %a d) = 1777 ]; cmp su /bin/true");
        layer_expect(y, "A  fifo\n"
                        "A  sock\n");
}

LAYER_TEST(names_of_one_inode_are_one_inode_on_the_host) {
        struct layer *y =
                layer_change(state, "mkdir d", "echo 1 >a; ln a d/b; mkdir n; ln a n/c; echo 2 >other");

        layer_commit(y, NULL);
        layer_sh(y->l.base_fd,
                 "[ $(stat -c %h a) = 3 ]; [ a -ef d/b ]; [ a -ef n/c ]; [ $(stat -c %h other) = 1 ]");
}

LAYER_TEST(holes_and_attributes_come_along) {
        struct layer *y = layer_change(state, "echo 1 >x",
                                       "truncate -s 64M hole; echo end >>hole; python3 -c 'import os;"
                                       "os.setxattr(\"x\", \"user.kind\", b\"text\")'");

        layer_expect(y, "A  hole\nM  x (xattr)\n");
        layer_commit(y, NULL);
        layer_expect(y, "");
        layer_sh(y->l.base_fd,
                 "[ $(stat -c %s hole) = 67108868 ]; [ $(stat -c %b hole) -lt 1000 ]; python3 -c 'import os;"
                 "assert os.listxattr(\"x\") == [\"user.kind\"]'");
}

/* The patch is applied to a copy of the base, which then is what the overlay is. */
static void expect_patch_applies(const struct layer *y, const char *command) {
        _cleanup_free_ char *patch = printed(y, NSRUN_DIFF_PATCH), *script = NULL, *now = NULL,
                            *wanted = NULL;
        _cleanup_close_ int root = layer_folder(y, "record/.."), copy = -EBADF;

        scratch_file(y->root, "patch", patch);
        assert_true(
                asprintf(
                        &script,
                        "rm -rf copy; cp -r base copy; cd copy; %s >../log 2>&1 || { cat ../log >&2; exit 1; }",
                        command) > 0);
        layer_sh(root, script);
        copy = layer_folder(y, "copy");
        now = picture_tree(copy, ".");
        wanted = picture_tree(y->l.merged_fd, ".");
        if (!streq(now, wanted))
                fail_msg("%s: %s\nshould be %s\nafter %s", command, now, wanted, patch);
}

static const char patch_base[] =
        "seq 100 >num; echo 1 >exe; seq 30 >moved; echo gone >gone; printf 'no end' >end; ln -s a link; mkdir d;"
        "seq 5 >'d/a b'; seq 5 >\"$(printf 'd/tab\\t\"')\"; : >empty-gone; echo t >type; echo s >'s p'";
static const char patch_change[] =
        "sed -i '1d;10s/$/x/;50i new' num; echo 101 >>num; chmod 755 exe; mv moved elsewhere; rm gone; "
        "printf 'no end either' >end; ln -sfn b link; echo 6 >>'d/a b'; echo 6 >>\"$(printf 'd/tab\\t\"')\";"
        ": >empty-new; rm empty-gone; mkdir n; seq 3 >n/new; printf x >n/no-end; chmod 755 n/new; ln -s t n/l;"
        "rm 's p'; echo u >'u p'";

LAYER_TEST(git_applies_the_patch) {
        struct layer *y = layer_change(state, patch_base, patch_change);

        layer_sh(y->l.merged_fd, "rm type; ln -s num type");
        expect_patch_applies(y, "git apply --whitespace=nowarn -p1 ../patch");
}

/* 60 lines that are drawn by a number. */
#define DRAW \
        "draw() { awk -v s=$1 'BEGIN { srand(s); while (n++ < 60) print substr(\"abcd\", 1 + int(rand() * 4), 1) }'; }; "

LAYER_TEST(the_patch_of_random_texts_is_right) {
        struct layer *y = NULL;
        char first[24];

        (void)snprintf(first, sizeof(first), "%u", (unsigned)(test_seed() % 1000000) * 100);
        assert_int_equal(setenv("FIRST", first, 1), 0);
        y = layer_change(state, DRAW "for i in $(seq 40); do draw $((FIRST + i)) >f$i; done",
                         DRAW "for i in $(seq 40); do draw $((FIRST + 50 + i)) >s; "
                              "{ head -n 20 f$i; head -n 25 s; tail -n 15 f$i; cat f$i; } >t; "
                              "cat t >f$i; done; rm s t");
        expect_patch_applies(y, "git apply --whitespace=nowarn -p1 ../patch");
}

LAYER_TEST(a_large_rewrite_ends_soon_and_is_right) {
        struct layer *y = layer_change(
                state, "seq 1 60000 >big; seq 2 2 60000 >other",
                "seq 1 3 180000 >t; cat t >big; shuf --random-source=big other >t; cat t >other; rm t");

        expect_patch_applies(y, "git apply --whitespace=nowarn -p1 ../patch");
}

/* What a commit does and no patch can say is a line beside it, which git and patch(1) skip. */
LAYER_TEST(what_a_patch_can_not_say_is_a_line) {
        struct layer *y = layer_change(
                state,
                "mkdir src gone; echo 1 >src/a; echo 1 >npmrc; echo 1 >time; touch -d 2020-01-01 src/a time; echo 1 >x",
                "chmod 777 src; chmod 666 npmrc; mkdir -m 777 pub; echo 1 >pub/f; mkdir empty new; echo 1 >new/f; "
                "touch -d 2001-01-01 time; chmod 755 x; echo 1 >open; chmod 666 open; rmdir gone");
        _cleanup_free_ char *patch = printed(y, NSRUN_DIFF_PATCH);
        _cleanup_strbuf_ struct strbuf lines = {0};

        for (const char *at = patch; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
                if (*at == '#')
                        strbuf_add_bytes(&lines, at, strcspn(at, "\n") + 1);
        assert_string_equal(
                lines.text,
                "# A  empty/\n# D  gone/\n# M  npmrc (mode 0644 -> 0666)\n# A  open (mode 0666)\n"
                "# A  pub/ (mode 0777)\n# M  src/ (mode 0755 -> 0777)\n# M  time (mtime)\n");
}

LAYER_TEST(binaries_are_named_and_counted_apart) {
        struct layer *y = layer_change(state, "printf 'a\\0b' >bin; echo 1 >x; echo 1 >y; echo 12 >z",
                                       "printf 'a\\0bc' >bin; seq 3 >x; rm y; mv z w; mkdir d");
        _cleanup_free_ char *patch = printed(y, NSRUN_DIFF_PATCH), *stat = printed(y, NSRUN_DIFF_STAT);

        assert_non_null(strstr(patch, "\nBinary files a/bin and b/bin differ\n"));
        assert_non_null(
                strstr(patch, "diff --git a/z b/w\nsimilarity index 100%\nrename from z\nrename to w\n"));
        assert_string_equal(stat, " A  d/\n bin    | Bin 3 -> 4 bytes\n z => w |   0\n x      |   2 ++\n"
                                  " y      |   1 -\n 4 files changed, 2 insertions(+), 1 deletion(-)\n");
}

LAYER_TEST(json_has_every_name) {
        struct layer *y =
                layer_change(state, "echo 1 >a; echo 12 >r", "chmod 600 a; mv r \"$(printf 'n\\nl\\377')\"");
        _cleanup_changes_ struct changes c = {0};
        struct nsrun_error err = {0};
        _cleanup_json_ struct json_document d = json_begin();
        _cleanup_free_ char *text = NULL;

        assert_int_equal(changes_scan(&y->l, &c, NULL), 0);
        assert_int_equal(changes_add_json(&d, json_add_array(&d, d.root, "changes"), &c, NULL), 0);
        assert_int_equal(json_finish(&d, true, &text, &err), 0);
        scratch_file(y->root, "json", text);
        layer_sh(
                y->l.record_fd,
                "jq -e '.changes | length == 2 and .[0].path == \"a\" and .[0].what == [\"mode\"] and .[0].old.mode == \"0644\""
                " and .[0].conflict == false and .[1].from == \"r\" and .[1].kind == \"renamed\" and "
                ".[1].path_quoted == \"\\\"n\\\\nl\\\\377\\\"\"' ../json");
}

LAYER_TEST(the_top_folder_has_a_mode_too) {
        struct layer *y = layer_change(state, "echo 1 >a", "chmod 700 .; echo 2 >>a");

        layer_expect(y, "M  ./ (mode 0755 -> 0700)\nM  a\n");
        layer_commit(y, NULL);
        layer_expect(y, "");
        layer_sh(y->l.base_fd, "[ $(stat -c %a .) = 700 ]");
        layer_sh(y->l.merged_fd, "chmod 755 .");
        layer_discard(y, NULL);
        layer_sh(y->l.merged_fd, "[ $(stat -c %a .) = 700 ]");
}

/* Root reads everything. */
TEST_IF(geteuid() != 0, what_cannot_be_read_is_said_and_the_rest_is_done, layer_setup, layer_teardown) {
        _cleanup_changes_report_ struct changes_report report = {0};
        struct nsrun_error err = {0};
        struct layer *y;

        y = layer_change(state, "echo 1 >a; echo 1 >b",
                         "echo 2 >>a; mkdir d; echo 1 >d/x; chmod 000 d; chmod 000 b");
        layer_expect(y, "M  a\nM  b (mode 0644 -> 0000)\nA? d/: Permission denied\n");
        expect_refusal(changes_commit(&y->l, NULL, 0, &report, &err), &err, EACCES, "d",
                       "a changed path can't be looked at",
                       "make it readable in the session, or choose other paths");
        layer_commit(y, "a");
        layer_commit(y, "b");
        layer_sh(y->l.base_fd, "[ $(stat -c %a b) = 0 ]");
        layer_sh(y->l.merged_fd, "chmod 700 d");
        layer_commit(y, NULL);
        layer_expect(y, "");
}

/* A file of the host's that the user can't read, replaced by one of the same size and time. */
TEST_IF(geteuid() != 0, what_cannot_be_compared_counts_as_other_content, layer_setup, layer_teardown) {
        struct layer *y;

        y = layer_change(state, "echo 1 >a; touch -d @7 a; chmod 200 a",
                         "rm -f a; echo 2 >a; touch -d @7 a; chmod 755 a; ln a b");
        layer_expect(y, "M  a (mode 0200 -> 0755, xattr)\nA  b\n");
}

int main(void) {
        (void)umask(022);
        return run_all_tests();
}
