/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random operations in an overlay, and the same ones on a plain copy of the folder beneath it:
 * a commit makes the first what the second is, and a discard undoes.  NSRUN_TEST_SEED and
 * NSRUN_TEST_ROUNDS choose; the seed of a round that fails is in its message. */
#include <ftw.h>

#include "../seed.h"
#include "harness.h"
#include "picture.h"

enum {
        ROUNDS = 150,
        STEPS = 40,
        NAMES = 7,
};

/* A few, so that operations meet; some of them odd. */
static const char *const names[NAMES] = {"a", "b", "c d", "new\nline", "\xff\xfe", "-e", "\"q\\"};

struct dice {
        uint64_t state;
};

static unsigned roll(struct dice *d, unsigned n) {
        /* splitmix64 */
        uint64_t z = (d->state += UINT64_C(0x9e3779b97f4a7c15));

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return (unsigned)((z ^ (z >> 31)) % n);
}

static void roll_path(struct dice *d, char path[256]) {
        unsigned depth = 1 + roll(d, 3);

        path[0] = '\0';
        for (unsigned i = 0; i < depth; i++) {
                if (i > 0)
                        strcat(path, "/");
                strcat(path, names[roll(d, NAMES)]);
        }
}

/* Goes on where something can't be removed: in which order a folder lists what it holds isn't the same in an
 * overlay, and so what a walk that stops would have left. */
static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
        (void)st;
        (void)type;
        (void)at;
        (void)remove(path);
        return 0;
}

static void write_file(int dir, const char *path, struct dice *d, int flags) {
        char text[600];
        size_t n = roll(d, sizeof(text));
        _cleanup_close_ int fd = openat(dir, path, flags | O_WRONLY | O_NONBLOCK | O_CLOEXEC, 0644);

        for (size_t i = 0; i < n; i++)
                text[i] = "ab\n\0"[roll(d, 4)];
        if (fd < 0)
                return;
        if (roll(d, 4) == 0)
                (void)lseek(fd, roll(d, 300000), SEEK_SET);
        assert_int_equal(write(fd, text, n), n);
}

static void set_attribute(int dir, const char *path, struct dice *d) {
        _cleanup_close_ int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        char value[2] = {"xyz"[roll(d, 3)], '\0'};

        if (fd < 0)
                return;
        if (roll(d, 3) == 0)
                (void)fremovexattr(fd, "user.test");
        else
                (void)fsetxattr(fd, "user.test", value, 1, 0);
}

static bool is_type(int dir, const char *path, mode_t type) {
        struct stat st;

        return fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && (st.st_mode & S_IFMT) == type;
}

/* A folder that is merged isn't renamed (EXDEV), and its plain copy would be: files only. */
static void rename_file(int dir, const char *from, const char *to) {
        if (is_type(dir, from, S_IFREG) && !is_type(dir, to, S_IFDIR))
                (void)renameat(dir, from, dir, to);
}

static void set_time(int dir, const char *path, struct dice *d) {
        const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                          {.tv_sec = roll(d, 100000), .tv_nsec = 7}};

        if (is_type(dir, path, S_IFREG))
                (void)utimensat(dir, path, times, AT_SYMLINK_NOFOLLOW);
}

/* One operation; it may fail, and does so in both trees.  All of its dice are rolled
 * in the same order wherever it is done. */
static void operate(int dir, struct dice *d) {
        char path[256], other[256];
        unsigned what = roll(d, 16);

        roll_path(d, path);
        roll_path(d, other);
        if (what < 3)
                write_file(dir, path, d, O_CREAT | O_TRUNC | O_NOFOLLOW);
        else if (what < 5)
                write_file(dir, path, d, O_NOFOLLOW | O_APPEND);
        else if (what < 8)
                (void)mkdirat(dir, path, 0755);
        else if (what == 8)
                (void)unlinkat(dir, path, 0);
        else if (what == 9 && fchdir(dir) == 0)
                (void)nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
        else if (what == 10)
                rename_file(dir, path, other);
        else if (what == 11)
                (void)symlinkat(other, dir, path);
        else if (what == 12)
                set_attribute(dir, path, d);
        else if (what == 13 && is_type(dir, path, S_IFREG))
                (void)fchmodat(dir, path, roll(d, 2) ? 0600 : 0755, 0);
        else if (what == 13 && is_type(dir, path, S_IFDIR))
                (void)fchmodat(dir, path, roll(d, 2) ? 0700 : 0555, 0);
        else if (what == 14)
                set_time(dir, path, d);
        else if (what == 15 && is_type(dir, path, S_IFREG))
                (void)linkat(dir, path, dir, other, 0);
}

static int copy_tree(const char *from, const char *to) {
        pid_t pid = fork();
        int status;

        assert_true(pid >= 0);
        if (pid == 0) {
                (void)execlp("cp", "cp", "-a", "--no-preserve=links", "--", from, to, (char *)NULL);
                _exit(127);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return status;
}

static void expect_same(int a, int b, uint64_t seed, const char *what) {
        _cleanup_free_ char *x = picture_tree(a, "."), *y = picture_tree(b, ".");

        if (!streq(x, y))
                fail_msg("seed %llu: %s:\n%s\nand should be:\n%s", (unsigned long long)seed, what, x, y);
}

static void expect_nothing(const struct layer *y, uint64_t seed, const char *what) {
        _cleanup_free_ char *list = layer_list(y);

        if (*list)
                fail_msg("seed %llu: changes after %s:\n%s", (unsigned long long)seed, what, list);
}

/* A folder in which things have been done, and its overlay; `copy` is another such folder. */
static void prepare(struct layer *y, uint64_t seed, int *ret_copy) {
        _cleanup_free_ char *copy = NULL;
        struct dice dice = {.state = seed};
        _cleanup_close_ int base = -EBADF;

        layer_begin(y);
        base = layer_folder(y, "base");
        for (unsigned i = 0; i < STEPS; i++)
                operate(base, &dice);
        copy = scratch_path(y->root, "copy");
        assert_int_equal(copy_tree(y->base, copy), 0);
        layer_mount(y);
        *ret_copy = scratch_open(copy);
}

static void step_in_both(const struct layer *y, int copy, struct dice *dice) {
        struct dice same = *dice;

        operate(y->l.merged_fd, dice);
        operate(copy, &same);
        /* Both went the same way. */
        assert_true(dice->state == same.state);
}

static void round_of_commits(uint64_t seed) {
        _cleanup_close_ int copy = -EBADF;
        struct dice dice = {.state = ~seed};
        struct layer y;

        prepare(&y, seed, &copy);
        for (unsigned commits = 0; commits < 3; commits++) {
                for (unsigned i = 0; i < STEPS; i++)
                        step_in_both(&y, copy, &dice);
                expect_same(y.l.merged_fd, copy, seed, "the overlay is");
                layer_commit(&y, NULL);
                expect_same(y.l.base_fd, copy, seed, "the host is");
                expect_nothing(&y, seed, "a commit");
        }
        assert_int_equal(chdir("/"), 0);
        layer_end(&y);
}

static void round_of_discards(uint64_t seed) {
        _cleanup_close_ int copy = -EBADF;
        struct dice dice = {.state = ~seed};
        struct layer y;

        prepare(&y, seed, &copy);
        for (unsigned i = 0; i < STEPS; i++)
                operate(y.l.merged_fd, &dice);
        layer_discard(&y, NULL);
        expect_same(y.l.merged_fd, copy, seed, "the overlay is");
        expect_same(y.l.base_fd, copy, seed, "the host is");
        expect_nothing(&y, seed, "a discard");
        assert_int_equal(chdir("/"), 0);
        layer_end(&y);
}

/* Path by path, in the order of the list: whatever is left at each step can be committed. */
static void round_of_single_commits(uint64_t seed) {
        _cleanup_close_ int copy = -EBADF;
        struct dice dice = {.state = ~seed};
        struct layer y;

        prepare(&y, seed, &copy);
        for (unsigned i = 0; i < STEPS; i++)
                step_in_both(&y, copy, &dice);
        for (;;) {
                _cleanup_changes_ struct changes c = {0};
                size_t at;

                assert_int_equal(changes_scan(&y.l, &c, NULL), 0);
                if (c.n == 0)
                        break;
                at = roll(&dice, (unsigned)c.n);
                if (roll(&dice, 3) == 0)
                        layer_discard(&y, c.list[at].path);
                else
                        layer_commit(&y, c.list[at].path);
        }
        expect_same(y.l.merged_fd, y.l.base_fd, seed, "the overlay is");
        assert_int_equal(chdir("/"), 0);
        layer_end(&y);
}

static void repeat(void (*round)(uint64_t seed), unsigned divisor) {
        const char *rounds = getenv("NSRUN_TEST_ROUNDS");
        unsigned long n = (rounds            ? strtoul(rounds, NULL, 10)
                           : takes_samples() ? ROUNDS / 3
                                             : ROUNDS) /
                          divisor;
        uint64_t seed = test_seed();

        layer_context[0] = '\0';
        for (unsigned long i = 0; i < n; i++) {
                (void)snprintf(layer_context, sizeof(layer_context),
                               "seed %llu: ", (unsigned long long)(seed + i));
                round(seed + i);
        }
}

TEST_WITH(a_commit_does_to_the_host_what_was_done_in_the_overlay, NULL, NULL) {
        repeat(round_of_commits, 1);
}

TEST_WITH(a_discard_makes_the_overlay_what_the_host_is, NULL, NULL) {
        repeat(round_of_discards, 1);
}

TEST_WITH(commits_and_discards_of_single_paths_come_to_an_end, NULL, NULL) {
        repeat(round_of_single_commits, 3);
}

int main(void) {
        (void)umask(022);
        return run_all_tests();
}
