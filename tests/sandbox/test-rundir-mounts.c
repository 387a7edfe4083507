/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What workspace/ and base/path.c promise about mounts, full disks and a missing
 * /proc.  Each test runs in a child with a user and a mount namespace of its own,
 * so as an ordinary user as well as root. */
#include <sched.h>
#include <sys/mount.h>

#include "../unit/scratch.h"
#include "base/path.h"
#include "disk/remove_tree.h"
#include "disk/rundir.h"

static int make_scratch(void **state) {
        *state = scratch_make();
        return 0;
}

static int remove_scratch(void **state) {
        scratch_remove(*state);
        return 0;
}

static bool write_file(const char *path, const char *text) {
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

        return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool enter_namespaces(void) {
        unsigned uid = geteuid(), gid = getegid();
        char map[64];

        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 || !write_file("/proc/self/setgroups", "deny"))
                return false;
        (void)snprintf(map, sizeof(map), "%u %u 1", uid, uid);
        if (!write_file("/proc/self/uid_map", map))
                return false;
        (void)snprintf(map, sizeof(map), "%u %u 1", gid, gid);
        return write_file("/proc/self/gid_map", map) &&
               mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* In the child a failed check is a line number: cmocka's own would jump into the
 * parent's tests. */
#define CHECK(what)                      \
        do {                             \
                if (!(what))             \
                        return __LINE__; \
        } while (0)

static void run_in_namespaces(int (*test)(const char *top), const char *top) {
        int pipe_fds[2], line = -1;
        pid_t pid;

        assert_int_equal(pipe(pipe_fds), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                line = enter_namespaces() ? test(top) : __LINE__;
                (void)!write(pipe_fds[1], &line, sizeof(line));
                _exit(0);
        }
        (void)close(pipe_fds[1]);
        assert_int_equal(read(pipe_fds[0], &line, sizeof(line)), sizeof(line));
        (void)close(pipe_fds[0]);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(line, 0);
}

/* A bind of the same file system, which no comparison of devices would notice, and
 * a tmpfs. */
static int stop_at_mounts(const char *top) {
        _cleanup_close_ int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        CHECK(chdir(top) == 0);
        CHECK(mount("outside", "tree/a/bind", NULL, MS_BIND, NULL) == 0);
        CHECK(mount("tmpfs", "tree/tmpfs", "tmpfs", 0, NULL) == 0);
        CHECK(mkdir("tree/tmpfs/inner", 0700) == 0);
        CHECK(access("tree/a/bind/precious", F_OK) == 0);

        CHECK(remove_tree(fd, "tree") == -EBUSY);
        CHECK(access("outside/precious", F_OK) == 0);
        CHECK(access("tree/tmpfs/inner", F_OK) == 0);
        CHECK(access("tree/b", F_OK) < 0 && access("tree/a/file", F_OK) < 0); /* the rest is gone */

        CHECK(umount2("tree/a/bind", 0) == 0 && umount2("tree/tmpfs", 0) == 0);
        CHECK(remove_tree(fd, "tree") == 0);
        CHECK(access("tree", F_OK) < 0 && access("outside/precious", F_OK) == 0);
        return 0;
}

TEST_WITH(removal_never_crosses_onto_another_mount, make_scratch, remove_scratch) {
        scratch_file(*state, "outside/precious", "x");
        scratch_file(*state, "tree/a/file", "x");
        scratch_folder(*state, "tree/a/bind");
        scratch_folder(*state, "tree/b/c");
        scratch_folder(*state, "tree/tmpfs");
        run_in_namespaces(stop_at_mounts, *state);
        assert_true(scratch_has(*state, "outside/precious"));
}

/* Removes a spare run directory that is empty but for its lock. */
static int remove_spare(const char *top) {
        int dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        CHECK(unlinkat(dir, "nsrun/.workspace-spare-0/lock", 0) == 0);
        CHECK(unlinkat(dir, "nsrun/.workspace-spare-0", AT_REMOVEDIR) == 0);
        (void)close(dir);
        return 0;
}

static int remove_overlay(const char *top) {
        struct rundir u = RUNDIR_INIT;
        struct stat st;

        CHECK(setenv("XDG_CACHE_HOME", top, 1) == 0);
        CHECK(rundir_make(&u, NULL) == 0);
        CHECK(chdir(u.path) == 0);
        CHECK(mkdir("overlay", 0700) == 0 && mkdir("overlay/upper", 0700) == 0);
        CHECK(mkdir("overlay/work", 0700) == 0 && mkdir("merged", 0700) == 0);
        CHECK(mount("overlay", "merged", "overlay", 0,
                    "lowerdir=../../lower,upperdir=overlay/upper,workdir=overlay/work,userxattr") == 0);
        CHECK(unlink("merged/file") == 0); /* a whiteout */
        CHECK(mkdir("merged/new", 0700) == 0);
        /* Where it has no mark for a folder that is no part of the lower layer, it lets nobody rename one.
         */
        CHECK(rename("merged/new", "merged/moved") == 0 ||
              (errno == EXDEV && mkdir("merged/moved", 0700) == 0));
        CHECK(chmod("merged/moved", 0500) == 0);
        CHECK(umount2("merged", 0) == 0);
        CHECK(stat("overlay/work/work", &st) == 0 && (st.st_mode & 0777) == 0);
        CHECK(chdir("/") == 0);
        rundir_remove(&u);
        CHECK(access(top, F_OK) == 0);
        return remove_spare(top);
}

TEST_WITH(what_overlayfs_leaves_is_removed, make_scratch, remove_scratch) {
        char *path = scratch_path(*state, "nsrun");

        scratch_file(*state, "lower/file", "x");
        run_in_namespaces(remove_overlay, *state);
        assert_int_equal(rmdir(path), 0); /* so it was empty */
        free(path);
}

static int fill_the_disk(const char *top) {
        struct rundir u = RUNDIR_INIT, second = RUNDIR_INIT;
        struct nsrun_error err = {0};
        char block[4096] = "", name[64];
        int fd, r;

        CHECK(mount("tmpfs", top, "tmpfs", 0, "size=256k,nr_inodes=100,mode=0700") == 0);
        CHECK(setenv("XDG_CACHE_HOME", top, 1) == 0);
        CHECK(rundir_make(&u, NULL) == 0);
        fd = openat(u.dir_fd, "big", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        CHECK(fd >= 0);
        while (write(fd, block, sizeof(block)) > 0)
                ;
        CHECK(errno == ENOSPC);
        (void)close(fd);
        for (int i = 0; i < 200; i++) {
                (void)snprintf(name, sizeof(name), "inode-%d", i);
                (void)mkdirat(u.dir_fd, name, 0700);
        }
        CHECK(mkdirat(u.dir_fd, "one more", 0700) < 0 && errno == ENOSPC);

        r = rundir_make(&second, &err);
        CHECK(r == -ENOSPC && err.stage == NSRUN_STAGE_WORKSPACE && err.error == ENOSPC);
        CHECK(err.path[0] && second.path == NULL);
        CHECK(access(u.path, F_OK) == 0);

        rundir_remove(&u);
        CHECK(remove_spare(top) == 0);
        CHECK(chdir(top) == 0);
        CHECK(rmdir("nsrun") == 0); /* nothing of either was left in it */
        return 0;
}

TEST_WITH(a_full_disk_is_an_error_and_leaves_nothing, make_scratch, remove_scratch) {
        run_in_namespaces(fill_the_disk, *state);
}

static int find_names_without_proc(const char *top) {
        char *plain = NULL, *linked = NULL, *none = NULL, *path = NULL;
        unsigned mode = 0;

        CHECK(mount("tmpfs", "/proc", "tmpfs", 0, NULL) == 0);
        CHECK(access("/proc/self", F_OK) < 0);
        CHECK(asprintf(&path, "%s/link/..", top) > 0);
        CHECK(path_canonical(path, &linked, &mode) == 0);
        CHECK(streq(linked, top) && S_ISDIR(mode));
        CHECK(path_canonical(top, &plain, NULL) == 0 && streq(plain, top));
        path[strlen(top)] = '\0';
        CHECK(chdir(path) == 0);
        CHECK(path_canonical("link/none", &none, NULL) == -ENOENT && !none);
        free(plain);
        free(linked);
        free(path);
        return 0;
}

TEST_WITH(names_are_found_without_proc, make_scratch, remove_scratch) {
        scratch_folder(*state, "folder");
        scratch_link(*state, "link", "folder");
        run_in_namespaces(find_names_without_proc, *state);
}

int main(void) {
        return run_all_tests();
}
