/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* changes/stage.c and move.c where a file becomes a symlink after it was looked at: somebody who may write
 * in the tree can be as fast as that. */
#include "scratch.h"

#include <sys/xattr.h>

#include "changes/apply.h"

struct trees {
        char *top;
        struct host host;
        struct changes_report report;
        struct nsrun_error err;
        struct change change;
        struct op op;
        struct apply apply;
};

/* A commit with --force of source/file to target/file, to which `role` is done; both are files of the mode
 * 0640, and so is "outside". */
static void begin(struct trees *t, enum role role) {
        static const char *const files[] = {"source/file", "target/file", "outside"};

        *t = (struct trees){.top = scratch_make(), .change = {.path = (char *)(uintptr_t) "file"}};
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                _cleanup_free_ char *path = scratch_path(t->top, files[i]);

                scratch_file(t->top, files[i], files[i]);
                assert_int_equal(chmod(path, 0640), 0);
        }
        scratch_folder(t->top, "target/stage");
        t->op = (struct op){.change = &t->change,
                            .path = "file",
                            .is_put = true,
                            .is_there = true,
                            .role = role,
                            .source = {.st_mode = S_IFREG | 0755},
                            .seen = {.st_mode = S_IFREG | 0640, .st_uid = geteuid(), .st_gid = getegid()}};
        t->apply = (struct apply){.host = &t->host,
                                  .is_commit = true,
                                  .is_forced = true,
                                  .stage = "stage",
                                  .ops = &t->op,
                                  .n_ops = 1,
                                  .report = &t->report,
                                  .err = &t->err};
        t->apply.source = t->apply.target = t->apply.staged = t->apply.links = (struct tree){.fd = -EBADF};
}

static int open_beneath(const struct trees *t, const char *name) {
        _cleanup_free_ char *path = scratch_path(t->top, name);

        return scratch_open(path);
}

static void become_link(const struct trees *t, const char *name) {
        _cleanup_free_ char *path = scratch_path(t->top, name);

        assert_int_equal(unlink(path), 0);
        scratch_link(t->top, name, "../outside");
}

/* Carries the op out. */
static int carry(struct trees *t) {
        struct apply *a = &t->apply;
        int r;

        a->source.root = open_beneath(t, "source");
        a->target.root = open_beneath(t, "target");
        a->stage_fd = a->staged.root = a->links.root = open_beneath(t, "target/stage");
        r = apply_stage(a);
        return r < 0 ? r : apply_move(a);
}

static mode_t mode_of(const struct trees *t, const char *name) {
        _cleanup_free_ char *path = scratch_path(t->top, name);
        struct stat st;

        assert_int_equal(stat(path, &st), 0);
        return st.st_mode & 07777;
}

static void expect_content(const struct trees *t, const char *name, const char *text) {
        _cleanup_free_ char *path = scratch_path(t->top, name);
        _cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        char found[64] = "";

        assert_true(fd >= 0);
        assert_true(read(fd, found, sizeof(found) - 1) >= 0);
        assert_string_equal(found, text);
}

static void apply_end(struct trees *t) {
        struct apply *a = &t->apply;

        tree_forget(&a->source);
        tree_forget(&a->target);
        tree_forget(&a->staged);
        tree_forget(&a->links);
        close_fdp(&a->source.root);
        close_fdp(&a->target.root);
        close_fdp(&a->stage_fd);
        host_clear(&t->host);
        changes_report_clear(&t->report);
        scratch_remove(t->top);
}

TEST(a_file_that_becomes_a_link_is_not_staged) {
        struct trees t;

        begin(&t, ROLE_OBJECT);
        assert_int_equal(carry(&t), 0);
        expect_content(&t, "target/file", "source/file");
        assert_int_equal(mode_of(&t, "target/file"), 0755);
        apply_end(&t);

        begin(&t, ROLE_OBJECT);
        become_link(&t, "source/file");
        assert_int_equal(carry(&t), -ELOOP);
        assert_string_equal(t.err.what,
                            "it changed again while it was being looked at, so nothing was committed");
        expect_content(&t, "target/file", "target/file");
        apply_end(&t);
}

/* Without --force: somebody has written another file there meanwhile. */
TEST(a_file_that_was_replaced_meanwhile_stays) {
        static const enum role roles[] = {ROLE_OBJECT, ROLE_MODE, ROLE_REMOVE};

        for (size_t i = 0; i < 2 * ARRAY_SIZE(roles); i++) {
                const bool is_replaced = i % 2 == 1;
                _cleanup_free_ char *path = NULL, *other = NULL;
                struct trees t;

                begin(&t, roles[i / 2]);
                t.apply.is_forced = false;
                t.op.is_put = roles[i / 2] != ROLE_REMOVE;
                path = scratch_path(t.top, "target/file");
                other = scratch_path(t.top, "other");
                scratch_file(t.top, "other", "other");
                assert_int_equal(stat(path, &t.op.seen), 0);
                if (is_replaced)
                        assert_int_equal(rename(other, path), 0);
                assert_int_equal(carry(&t), is_replaced ? -ESTALE : 0);
                if (is_replaced)
                        expect_content(&t, "target/file", "other");
                assert_int_equal(scratch_has(t.top, "target/file"), is_replaced || t.op.is_put);
                assert_int_equal(t.report.conflicts != NULL, is_replaced);
                apply_end(&t);
        }
}

TEST(a_mode_is_not_set_through_a_link) {
        struct trees t;

        begin(&t, ROLE_MODE);
        assert_int_equal(carry(&t), 0);
        assert_int_equal(mode_of(&t, "target/file"), 0755);
        expect_content(&t, "target/file", "target/file");
        apply_end(&t);

        begin(&t, ROLE_MODE);
        become_link(&t, "target/file");
        assert_true(carry(&t) < 0);
        assert_string_equal(t.err.what, "it can't be put in place on the host; the commit ended there");
        assert_int_equal(mode_of(&t, "outside"), 0640);
        apply_end(&t);
}

/* Nobody else could give it to them. */
TEST_IF(geteuid() == 0, roots_commit_leaves_a_file_to_its_owner, NULL, NULL) {
        const uid_t owner = 65534;
        _cleanup_free_ char *path = NULL;
        struct trees t;
        struct stat st;

        begin(&t, ROLE_OBJECT);
        path = scratch_path(t.top, "target/file");
        assert_int_equal(chown(path, owner, (gid_t)-1), 0);
        assert_int_equal(stat(path, &t.op.seen), 0);
        assert_int_equal(carry(&t), 0);
        expect_content(&t, "target/file", "source/file");
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_uid, owner);
        apply_end(&t);
}

/* What the file had that is replaced, its group and its ACL, is not read from where a link leads. */
TEST(access_is_not_taken_from_behind_a_link) {
        struct {
                uint32_t version;
                struct {
                        uint16_t tag, rights;
                        uint32_t id;
                } list[5];
        } acl = {2, {{1, 6, ~0U}, {2, 6, 65534}, {4, 4, ~0U}, {16, 6, ~0U}, {32, 0, ~0U}}}, found;

        for (int is_link = 0; is_link <= 1; is_link++) {
                struct trees t;
                _cleanup_free_ char *named = NULL, *placed = NULL;

                begin(&t, ROLE_OBJECT);
                named = scratch_path(t.top, is_link ? "outside" : "target/file");
                placed = scratch_path(t.top, "target/file");
                if (setxattr(named, "system.posix_acl_access", &acl, sizeof(acl), 0) < 0) {
                        apply_end(&t);
                        skip();
                }
                if (is_link)
                        become_link(&t, "target/file");
                assert_int_equal(carry(&t), 0);
                expect_content(&t, "target/file", "source/file");
                assert_int_equal(getxattr(placed, "system.posix_acl_access", &found, sizeof(found)),
                                 is_link ? -1 : (int)sizeof(found));
                apply_end(&t);
        }
}

int main(void) {
        return run_all_tests();
}
