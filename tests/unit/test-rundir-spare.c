/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* disk/rundir.c: an ended run directory is the next one's, if it can't be told from a new one. */
#include "disk/rundir.h"

#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>

#include "base/file.h"
#include "scratch.h"

#define SPARE ".workspace-spare-"

static int make_cache(void **state) {
        char *top = scratch_make();

        assert_int_equal(setenv("XDG_CACHE_HOME", top, 1), 0);
        *state = top;
        return 0;
}

static int remove_cache(void **state) {
        scratch_remove(*state);
        return 0;
}

static int open_in(const char *top, const char *name, int flags) {
        _cleanup_free_ char *path = scratch_path(top, name);
        int fd = open(path, flags | O_CLOEXEC);

        assert_true(fd >= 0);
        return fd;
}

static int count_spare(void *data, nsrun_unused int folder, const struct dirent *entry) {
        unsigned *counts = data;

        counts[startswith(entry->d_name, SPARE) != NULL]++;
        return 0;
}

/* How many run directories there are: spare ones, or others. */
static unsigned count_of(const char *top, bool spare) {
        _cleanup_close_ int base = open_in(top, "nsrun", O_RDONLY | O_DIRECTORY);
        unsigned counts[2] = {0};

        assert_int_equal(folder_each(base, count_spare, counts), 0);
        return counts[spare];
}

static int expect_lock(nsrun_unused void *data, nsrun_unused int folder, const struct dirent *entry) {
        return !streq(entry->d_name, "lock");
}

static void sweep(const char *top) {
        _cleanup_close_ int fd = open_in(top, "nsrun", O_RDONLY | O_DIRECTORY);

        rundir_sweep(fd);
}

static ino_t inode_of(int fd) {
        struct stat st;

        assert_int_equal(fstat(fd, &st), 0);
        return st.st_ino;
}

TEST_WITH(an_ended_rundir_is_the_next_ones_with_another_name, make_cache, remove_cache) {
        struct rundir u = RUNDIR_INIT;
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int folder = -EBADF; /* open, so that its number is no other's */
        ino_t lock;

        assert_int_equal(rundir_make(&u, NULL), 0);
        folder = dup(u.dir_fd);
        lock = inode_of(u.lock_fd);
        path = strdup(u.path);
        scratch_file(u.path, "scratch/a/file", "x");
        scratch_folder(u.path, "overlay-x/work/work");
        assert_int_equal(fchmodat(u.dir_fd, "overlay-x/work/work", 0000, 0), 0);
        rundir_remove(&u);
        assert_true(scratch_has(*state, "nsrun/" SPARE "0/lock"));
        assert_int_equal(count_of(*state, true), 1);

        assert_int_equal(rundir_make(&u, NULL), 0);
        assert_int_equal(inode_of(u.dir_fd), inode_of(folder));
        assert_int_equal(inode_of(u.lock_fd), lock);
        assert_string_not_equal(u.path, path);
        assert_int_equal(access(u.path, F_OK), 0);
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(count_of(*state, true), 0);
        assert_int_equal(folder_each(u.dir_fd, expect_lock, NULL), 0);
        sweep(*state); /* its lock is held */
        assert_int_equal(access(u.path, F_OK), 0);
        rundir_remove(&u);
        sweep(*state);
        assert_int_equal(count_of(*state, true), 0);
}

TEST_WITH(those_at_once_get_one_each_and_four_are_left, make_cache, remove_cache) {
        struct rundir u[6];
        ino_t old[6];

        for (size_t i = 0; i < ARRAY_SIZE(u); i++)
                assert_int_equal(rundir_make(&u[i], NULL), 0);
        for (size_t i = 0; i < ARRAY_SIZE(u); i++) {
                old[i] = inode_of(u[i].dir_fd);
                rundir_remove(&u[i]);
        }
        assert_int_equal(count_of(*state, true), 4);
        assert_int_equal(count_of(*state, false), 0);
        for (size_t i = 0; i < ARRAY_SIZE(u); i++) {
                size_t taken = 0;

                assert_int_equal(rundir_make(&u[i], NULL), 0);
                for (size_t k = 0; k < 4; k++)
                        taken += inode_of(u[i].dir_fd) == old[k];
                for (size_t k = 0; k < i; k++)
                        assert_int_not_equal(inode_of(u[i].dir_fd), inode_of(u[k].dir_fd));
                assert_int_equal(taken, i < 4);
        }
        for (size_t i = 0; i < ARRAY_SIZE(u); i++)
                rundir_remove(&u[i]);
}

/* What makes a spare one another than new.  -errno where the file system or the user can't. */
static int spoil_file(int dir) {
        return mknodat(dir, "left", S_IFREG | 0600, 0);
}

static int spoil_folder(int dir) {
        return mkdirat(dir, "scratch", 0700);
}

static int spoil_link(int dir) {
        return symlinkat("/etc", dir, "private");
}

static int spoil_attribute(int dir) {
        return fsetxattr(dir, "user.overlay.opaque", "y", 1, 0);
}

static int spoil_list(int dir) {
        /* user::rwx user:65534:rwx group::--- mask::rwx other::--- */
        static const uint8_t list[] = {2, 0,   0,   0,   1,   0,   7,  0, 255, 255, 255, 255, 2,   0,  7,
                                       0, 254, 255, 0,   0,   4,   0,  0, 0,   255, 255, 255, 255, 16, 0,
                                       7, 0,   255, 255, 255, 255, 32, 0, 0,   0,   255, 255, 255, 255};

        return fsetxattr(dir, "system.posix_acl_default", list, sizeof(list), 0);
}

static int spoil_flag(int dir) {
        unsigned flags = 0;

        if (ioctl(dir, FS_IOC_GETFLAGS, &flags) < 0)
                return -1;
        flags |= FS_NODUMP_FL;
        return ioctl(dir, FS_IOC_SETFLAGS, &flags);
}

static int spoil_mode(int dir) {
        return fchmod(dir, 0750);
}

static int spoil_group_bit(int dir) {
        return fchmod(dir, 02700);
}

static int spoil_lock_mode(int dir) {
        return fchmodat(dir, "lock", 0644, 0);
}

static int spoil_lock_link(int dir) {
        return linkat(dir, "lock", dir, "../aside", 0);
}

static int spoil_lock_bytes(int dir) {
        int fd = openat(dir, "lock", O_WRONLY | O_CLOEXEC), r = fd < 0 ? -1 : (int)write(fd, "x", 1) - 1;

        (void)close(fd);
        return r;
}

TEST_WITH(one_that_is_not_as_new_is_never_taken, make_cache, remove_cache) {
        int (*const spoil[])(int dir) = {spoil_file,      spoil_folder,    spoil_link,      spoil_attribute,
                                         spoil_list,      spoil_flag,      spoil_mode,      spoil_group_bit,
                                         spoil_lock_mode, spoil_lock_link, spoil_lock_bytes};
        unsigned spoiled = 0;

        for (size_t i = 0; i < ARRAY_SIZE(spoil); i++) {
                _cleanup_close_ int old = -EBADF;
                struct rundir u = RUNDIR_INIT;

                assert_int_equal(rundir_make(&u, NULL), 0);
                old = dup(u.dir_fd);
                rundir_remove(&u);
                if (spoil[i](old) < 0) {
                        assert_true(errno == EOPNOTSUPP || errno == ENOTTY || errno == EPERM);
                        continue;
                }
                spoiled++;
                assert_int_equal(rundir_make(&u, NULL), 0);
                assert_int_not_equal(inode_of(u.dir_fd), inode_of(old));
                assert_int_equal(folder_each(u.dir_fd, expect_lock, NULL), 0);
                assert_int_equal(count_of(*state, true), 0);
                rundir_remove(&u);
                sweep(*state);
        }
        assert_true(spoiled >= ARRAY_SIZE(spoil) - 3);
}

/* A symlink, a file, a folder without a lock, and one whose lock is held. */
TEST_WITH(what_is_planted_as_a_spare_one_is_not_taken, make_cache, remove_cache) {
        _cleanup_free_ char *target = scratch_path(*state, "elsewhere");
        struct rundir u[2] = {RUNDIR_INIT, RUNDIR_INIT};
        _cleanup_close_ int held = -EBADF;

        scratch_folder(*state, "elsewhere");
        scratch_file(*state, "elsewhere/lock", "");
        assert_int_equal(chmod(target, 0700), 0);
        scratch_folder(*state, "nsrun");
        scratch_link(*state, "nsrun/" SPARE "0", target);
        scratch_file(*state, "nsrun/" SPARE "1", "x");
        scratch_folder(*state, "nsrun/" SPARE "2");
        scratch_file(*state, "nsrun/" SPARE "2/file", "x");
        scratch_folder(*state, "nsrun/" SPARE "3");
        scratch_file(*state, "nsrun/" SPARE "3/lock", "");
        held = open_in(*state, "nsrun/" SPARE "3/lock", O_RDWR);
        assert_int_equal(flock(held, LOCK_EX | LOCK_NB), 0);

        for (size_t i = 0; i < 2; i++) {
                assert_int_equal(rundir_make(&u[i], NULL), 0);
                assert_int_not_equal(inode_of(u[i].lock_fd), inode_of(held));
                assert_int_equal(folder_each(u[i].dir_fd, expect_lock, NULL), 0);
        }
        for (size_t i = 0; i < 2; i++)
                rundir_remove(&u[i]); /* and no name is free for them */
        assert_int_equal(count_of(*state, false), 0);
        assert_int_equal(count_of(*state, true), 4);
        assert_true(scratch_has(*state, "elsewhere/lock"));
        assert_true(scratch_has(*state, "nsrun/" SPARE "2/file"));
}

TEST_IF(geteuid() == 0, a_spare_one_of_another_user_is_not_taken, make_cache, remove_cache) {
        struct rundir u = RUNDIR_INIT;
        int old;

        assert_int_equal(rundir_make(&u, NULL), 0);
        old = dup(u.dir_fd);
        rundir_remove(&u);
        assert_int_equal(fchown(old, 65534, 65534), 0);
        assert_int_equal(rundir_make(&u, NULL), 0);
        assert_int_not_equal(inode_of(u.dir_fd), inode_of(old));
        rundir_remove(&u);
        assert_true(scratch_has(*state, "nsrun/" SPARE "1/lock"));
        (void)close(old);
}

/* A program that isn't nsrun may hold on to it. */
TEST_WITH(one_whose_path_others_know_is_removed, make_cache, remove_cache) {
        struct rundir u = RUNDIR_INIT;

        assert_int_equal(rundir_make(&u, NULL), 0);
        u.is_shown = true;
        rundir_remove(&u);
        assert_int_equal(count_of(*state, true), 0);
        assert_int_equal(count_of(*state, false), 0);
}

int main(void) {
        (void)umask(022);
        return run_all_tests();
}
