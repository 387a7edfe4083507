/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* workspace/rundir.c: made, locked, removed; and reclaimed only from the dead,
 * whatever the dead died of and whoever else is sweeping. */
#include "disk/rundir.h"

#include <dirent.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ptrace.h>
#include <time.h>

#include "scratch.h"

enum {
        DAY = 24 * 60 * 60
};

static int make_cache(void **state) {
        char *top = scratch_make();

        assert_int_equal(setenv("XDG_CACHE_HOME", top, 1), 0);
        assert_int_equal(setenv("HOME", "/nonexistent", 1), 0);
        *state = top;
        return 0;
}

static int remove_cache(void **state) {
        scratch_remove(*state);
        return 0;
}

static int open_base(const char *top) {
        char *path = scratch_path(top, "nsrun");
        int fd = scratch_open(path);

        free(path);
        return fd;
}

/* How many entries the base has, hidden ones included, but for spare run directories. */
static unsigned count_base(const char *top) {
        char *path = scratch_path(top, "nsrun");
        DIR *dir = opendir(path);
        unsigned n = 0;

        assert_non_null(dir);
        for (struct dirent *entry; (entry = readdir(dir));)
                n += !streq(entry->d_name, ".") && !streq(entry->d_name, "..") &&
                     !startswith(entry->d_name, ".workspace-spare-");
        (void)closedir(dir);
        free(path);
        return n;
}

static void sweep(const char *top) {
        _cleanup_close_ int fd = open_base(top);

        rundir_sweep(fd);
}

static void set_age(const char *top, const char *name, time_t seconds) {
        const struct timespec times[2] = {{.tv_sec = time(NULL) - seconds},
                                          {.tv_sec = time(NULL) - seconds}};
        char *path = scratch_path(top, name);

        assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
        free(path);
}

static void exit_status_is(pid_t pid, int expected) {
        int status;

        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, expected);
}

/* What overlayfs and a careless command leave behind. */
static void litter(const struct rundir *u) {
        scratch_file(u->path, "scratch/a/b/file", "x");
        scratch_folder(u->path, "overlay-x/upper/read-only/in");
        scratch_folder(u->path, "overlay-x/work/work");
        scratch_link(u->path, "scratch/out", "/etc");
        assert_int_equal(fchmodat(u->dir_fd, "overlay-x/upper/read-only", 0500, 0), 0);
        assert_int_equal(fchmodat(u->dir_fd, "overlay-x/work/work", 0000, 0), 0);
}

/* A run directory whose owner was killed.  Its path. */
static char *make_dead(void) {
        char path[512] = "";
        int pipe_fds[2];
        pid_t pid;

        assert_int_equal(pipe(pipe_fds), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                struct rundir u = RUNDIR_INIT;

                if (rundir_make(&u, NULL) == 0) {
                        litter(&u);
                        (void)!write(pipe_fds[1], u.path, strlen(u.path));
                }
                (void)kill(getpid(), SIGKILL);
        }
        (void)close(pipe_fds[1]);
        assert_true(read(pipe_fds[0], path, sizeof(path) - 1) > 0);
        (void)close(pipe_fds[0]);
        exit_status_is(pid, SIGKILL);
        return strdup(path);
}

TEST_WITH(an_rundir_is_ours_alone_and_locked, make_cache, remove_cache) {
        struct rundir u = RUNDIR_INIT;
        struct nsrun_error err = {0};
        _cleanup_free_ char *base = scratch_path(*state, "nsrun/workspace-");
        struct stat st, named;
        int fd;

        assert_int_equal(rundir_make(&u, &err), 0);
        assert_int_equal(err.stage, NSRUN_STAGE_NONE);
        assert_non_null(startswith(u.path, base));
        assert_int_equal(strlen(u.path), strlen(base) + 6);
        assert_int_equal(fstat(u.dir_fd, &st), 0);
        assert_int_equal(stat(u.path, &named), 0);
        assert_int_equal(st.st_ino, named.st_ino);
        assert_int_equal(st.st_mode, S_IFDIR | 0700);
        assert_int_equal(st.st_uid, geteuid());
        assert_int_equal(fstat(u.base_fd, &st), 0);
        assert_int_equal(st.st_mode, S_IFDIR | 0700);
        assert_int_equal(fcntl(u.dir_fd, F_GETFD), FD_CLOEXEC);
        assert_int_equal(fcntl(u.lock_fd, F_GETFD), FD_CLOEXEC);
        fd = openat(u.dir_fd, "lock", O_RDWR | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
        assert_int_equal(errno, EWOULDBLOCK);
        (void)close(fd);

        litter(&u);
        rundir_remove(&u);
        assert_null(u.path);
        assert_int_equal(u.dir_fd, -EBADF);
        assert_int_equal(count_base(*state), 0);
        rundir_remove(&u);
        rundir_remove(NULL);
}

TEST_WITH(the_cache_home_is_found_as_its_specification_says, make_cache, remove_cache) {
        struct rundir u = RUNDIR_INIT;
        _cleanup_free_ char *home = scratch_path(*state, "home"), *deep = scratch_path(*state, "x/y/z");
        _cleanup_free_ char *link = scratch_path(*state, "link");

        scratch_folder(*state, "home");
        (void)setenv("HOME", home, 1);
        (void)setenv("XDG_CACHE_HOME", "relative", 1); /* must be ignored */
        assert_int_equal(rundir_make(&u, NULL), 0);
        assert_non_null(startswith(u.path, home));
        assert_non_null(startswith(u.path + strlen(home), "/.cache/nsrun/workspace-"));
        rundir_remove(&u);

        (void)setenv("XDG_CACHE_HOME", deep, 1); /* made, with its parents */
        assert_int_equal(rundir_make(&u, NULL), 0);
        assert_non_null(startswith(u.path, deep));
        rundir_remove(&u);

        scratch_link(*state, "link", "x/y"); /* the path has no symlink in it */
        (void)setenv("XDG_CACHE_HOME", link, 1);
        assert_int_equal(rundir_make(&u, NULL), 0);
        assert_null(strstr(u.path, "link"));
        rundir_remove(&u);
}

/* `error` is the errno that the message ends with; 0: its words say all. */
static void assert_refused(int expected, int error) {
        struct rundir u = RUNDIR_INIT;
        struct nsrun_error err = {0};

        assert_int_equal(rundir_make(&u, &err), expected);
        assert_int_equal(err.stage, NSRUN_STAGE_WORKSPACE);
        assert_int_equal(err.error, error);
        assert_true(err.what[0] && err.path[0] && err.hint[0]);
        assert_null(u.path);
        assert_int_equal(u.dir_fd, -EBADF);
}

TEST_WITH(a_base_that_others_can_write_to_is_refused, make_cache, remove_cache) {
        _cleanup_free_ char *base = scratch_path(*state, "nsrun");
        struct rundir u = RUNDIR_INIT;

        scratch_folder(*state, "nsrun");
        assert_int_equal(chmod(base, 0777), 0);
        assert_refused(-EPERM, 0);
        assert_int_equal(chmod(base, 0702), 0);
        assert_refused(-EPERM, 0);
        assert_int_equal(count_base(*state), 0);
        assert_int_equal(chmod(base, 0755), 0);
        assert_int_equal(rundir_make(&u, NULL), 0);
        rundir_remove(&u);
}

/* The whole file system is somebody's, and as root anybody's. */
TEST_WITH(a_base_of_another_user_is_refused, make_cache, remove_cache) {
        _cleanup_free_ char *base = scratch_path(*state, "nsrun");

        /* Root inside a sandbox may not give anything away, and goes the user's way. */
        if (geteuid() == 0) {
                scratch_folder(*state, "nsrun");
                if (chown(base, 65534, 65534) == 0) {
                        assert_refused(-EPERM, 0);
                        return;
                }
                assert_int_equal(rmdir(base), 0);
        }
        scratch_link(*state, "nsrun", "/usr"); /* root's, by the one way that a user has */
        assert_refused(-ENOTDIR, ENOTDIR);
}

TEST_WITH(a_base_that_is_no_folder_is_refused, make_cache, remove_cache) {
        _cleanup_free_ char *file = scratch_path(*state, "file/cache");

        scratch_folder(*state, "elsewhere");
        scratch_link(*state, "nsrun", "elsewhere");
        assert_refused(-ENOTDIR, ENOTDIR);
        assert_int_equal(scratch_has(*state, "elsewhere/lock"), 0);

        scratch_file(*state, "file", "x");
        (void)setenv("XDG_CACHE_HOME", file, 1);
        assert_refused(-ENOTDIR, ENOTDIR);
}

TEST_WITH(a_dead_owner_s_rundir_is_reclaimed_at_once, make_cache, remove_cache) {
        _cleanup_free_ char *dead = make_dead();
        struct rundir u = RUNDIR_INIT;

        assert_int_equal(access(dead, F_OK), 0);
        assert_int_equal(rundir_make(&u, NULL), 0);
        assert_int_equal(access(dead, F_OK), -1);
        assert_int_equal(count_base(*state), 1);
        rundir_remove(&u);
}

TEST_WITH(a_live_rundir_is_never_swept_whatever_its_age, make_cache, remove_cache) {
        struct rundir u = RUNDIR_INIT;
        pid_t pid;

        assert_int_equal(rundir_make(&u, NULL), 0);
        set_age(u.path, ".", 400 * DAY);
        set_age(u.path, "lock", 400 * DAY);
        sweep(*state); /* the same process: flock belongs to the open file, so it holds here too */
        assert_int_equal(access(u.path, F_OK), 0);

        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                close_fdp(&u.lock_fd);
                sweep(*state);
                _exit(access(u.path, F_OK) == 0 ? 0 : 1);
        }
        exit_status_is(pid, 0);
        rundir_remove(&u);
        assert_int_equal(count_base(*state), 0);
}

/* nsrun is dead, its pid 1 is not yet: the mounts still stand on the folder. */
TEST_WITH(an_rundir_lives_as_long_as_the_last_holder_of_its_lock, make_cache, remove_cache) {
        int ready[2], leave[2];
        char byte = 'x';
        pid_t owner;

        assert_int_equal(pipe(ready), 0);
        assert_int_equal(pipe(leave), 0);
        owner = fork();
        assert_true(owner >= 0);
        if (owner == 0) {
                struct rundir u = RUNDIR_INIT;

                if (rundir_make(&u, NULL) < 0)
                        _exit(1);
                if (fork() == 0) {
                        (void)close(leave[1]);
                        (void)!write(ready[1], &byte, 1);
                        (void)!read(leave[0], &byte, 1); /* until the test closes its end */
                        _exit(0);
                }
                _exit(0);
        }
        (void)close(ready[1]);
        (void)close(leave[0]);
        exit_status_is(owner, 0);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        sweep(*state);
        assert_int_equal(count_base(*state), 1);

        (void)close(leave[1]);
        assert_int_equal(read(ready[0], &byte, 1), 0); /* it is gone */
        (void)close(ready[0]);
        sweep(*state);
        assert_int_equal(count_base(*state), 0);
}

TEST_WITH(a_scratch_is_new_or_none, make_cache, remove_cache) {
        struct rundir u = RUNDIR_INIT;
        struct nsrun_error err = {0};
        mode_t old = umask(077);
        struct stat st;

        assert_int_equal(rundir_make(&u, NULL), 0);
        assert_int_equal(rundir_make_scratch(&u, &err), 0);
        assert_int_equal(fstatat(u.dir_fd, RUNDIR_SCRATCH, &st, AT_SYMLINK_NOFOLLOW), 0);
        assert_int_equal(st.st_mode, S_IFDIR | 01777);
        assert_int_equal(rundir_make_scratch(&u, &err), -EEXIST);
        assert_int_equal(err.stage, NSRUN_STAGE_WORKSPACE);
        assert_string_equal(err.what, "a scratch folder can't be made in this run's folder");
        assert_string_equal(err.path, u.path);
        rundir_remove(&u);

        /* Nor is a link taken for one, or followed. */
        scratch_folder(*state, "outside");
        assert_int_equal(rundir_make(&u, NULL), 0);
        assert_int_equal(symlinkat("../../outside", u.dir_fd, RUNDIR_SCRATCH), 0);
        assert_int_equal(rundir_make_scratch(&u, NULL), -EEXIST);
        rundir_remove(&u);
        assert_true(scratch_has(*state, "outside"));
        assert_int_equal(count_base(*state), 0);
        (void)umask(old);
}

/* What is planned before it exists must be where it is made. */
TEST_WITH(the_base_is_known_before_it_is_there, make_cache, remove_cache) {
        static const char *const caches[] = {"", "/new", "/link", "/link/new/deeper", "/new/../link/x/"};
        _cleanup_free_ char *link = scratch_path(*state, "link");

        scratch_folder(*state, "real");
        assert_int_equal(symlink("real", link), 0);
        for (size_t i = 0; i < ARRAY_SIZE(caches); i++) {
                _cleanup_free_ char *cache = NULL, *planned = NULL, *made = NULL;
                struct rundir u = RUNDIR_INIT;

                assert_true(asprintf(&cache, "%s%s", (const char *)*state, caches[i]) > 0);
                assert_int_equal(setenv("XDG_CACHE_HOME", cache, 1), 0);
                assert_int_equal(rundir_find_base(&planned, NULL), 0);
                assert_int_equal(rundir_make(&u, NULL), 0);
                made = strndup(u.path, (size_t)(strrchr(u.path, '/') - u.path));
                assert_string_equal(planned, made);
                assert_int_equal(strlen(strrchr(u.path, '/') + 1), strlen(RUNDIR_NAME));
                rundir_remove(&u);
        }
}

TEST_WITH(without_a_lock_only_age_tells, make_cache, remove_cache) {
        static const struct {
                const char *name;
                time_t age;
                bool stays;
        } cases[] = {
                {"nsrun/workspace-young0", 0, true},
                {"nsrun/workspace-6days0", 7 * DAY - 60, true},
                {"nsrun/workspace-8days0", 7 * DAY + 60, false},
                {"nsrun/workspace-future", -30 * DAY, true},
                {"nsrun/.workspace-young0", 0, true}, /* it holds something: not left by nsrun */
                {"nsrun/.workspace-8days0", 8 * DAY, false},
                {"nsrun/workspaces", 400 * DAY, true}, /* not a run directory's name */
                {"nsrun/other", 400 * DAY, true},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_free_ char *file = scratch_path(cases[i].name, "in/file");

                scratch_file(*state, file, "x");
                set_age(*state, cases[i].name, cases[i].age);
        }
        scratch_file(*state, "nsrun/workspace-a-file", "x");
        set_age(*state, "nsrun/workspace-a-file", 400 * DAY);
        sweep(*state);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                assert_int_equal(scratch_has(*state, cases[i].name), cases[i].stays);
        assert_true(scratch_has(*state, "nsrun/workspace-a-file"));
}

TEST_WITH(a_planted_symlink_leads_no_sweeper_out, make_cache, remove_cache) {
        scratch_file(*state, "outside/lock", "");
        scratch_file(*state, "outside/precious", "x");
        scratch_folder(*state, "nsrun");
        scratch_link(*state, "nsrun/workspace-evil00", "../outside");
        scratch_file(*state, "nsrun/workspace-evil01/x", "");
        scratch_link(*state, "nsrun/workspace-evil01/lock", "../../outside/lock");
        set_age(*state, "nsrun/workspace-evil00", 400 * DAY);
        set_age(*state, "nsrun/workspace-evil01", 400 * DAY);
        set_age(*state, "outside", 400 * DAY);
        sweep(*state);
        assert_true(scratch_has(*state, "outside/precious"));
        assert_true(scratch_has(*state, "outside/lock"));
        assert_true(scratch_has(*state, "nsrun/workspace-evil00"));
}

static pid_t start_sweeper(const char *top, const int start[2]) {
        pid_t pid = fork();
        char byte;

        assert_true(pid >= 0);
        if (pid == 0) {
                (void)close(start[1]);
                (void)!read(start[0], &byte, 1); /* until the parent lets all go at once */
                sweep(top);
                _exit(0);
        }
        return pid;
}

TEST_WITH(sweepers_at_once_take_the_dead_and_spare_the_living, make_cache, remove_cache) {
        enum {
                DEAD = 24,
                SWEEPERS = 8
        };
        struct rundir live[3] = {RUNDIR_INIT, RUNDIR_INIT, RUNDIR_INIT};
        pid_t pids[SWEEPERS];
        int start[2];

        for (size_t i = 0; i < ARRAY_SIZE(live); i++) {
                assert_int_equal(rundir_make(&live[i], NULL), 0);
                litter(&live[i]);
                set_age(live[i].path, ".", 30 * DAY);
        }
        /* make_dead() sweeps as well, so the dead are kept from it by another name. */
        for (int i = 0; i < DEAD; i++) {
                _cleanup_free_ char *dead = make_dead(), *aside = NULL;

                assert_true(asprintf(&aside, "%s/aside-%d", (char *)*state, i) > 0);
                assert_int_equal(rename(dead, aside), 0);
        }
        for (int i = 0; i < DEAD; i++) {
                _cleanup_free_ char *aside = NULL, *dead = NULL;

                assert_true(asprintf(&aside, "%s/aside-%d", (char *)*state, i) > 0);
                assert_true(asprintf(&dead, "%s/nsrun/workspace-dead%02d", (char *)*state, i) > 0);
                assert_int_equal(rename(aside, dead), 0);
        }
        assert_int_equal(count_base(*state), DEAD + ARRAY_SIZE(live));

        assert_int_equal(pipe(start), 0);
        for (int i = 0; i < SWEEPERS; i++)
                pids[i] = start_sweeper(*state, start);
        (void)close(start[0]);
        (void)close(start[1]);
        for (int i = 0; i < SWEEPERS; i++)
                exit_status_is(pids[i], 0);

        assert_int_equal(count_base(*state), ARRAY_SIZE(live));
        for (size_t i = 0; i < ARRAY_SIZE(live); i++) {
                assert_true(scratch_has(live[i].path, "scratch/a/b/file"));
                rundir_remove(&live[i]);
        }
        assert_int_equal(count_base(*state), 0);
}

/* Each rundir_make() sweeps, so this pits every maker against every sweeper. */
static int make_and_remove(int times) {
        for (int i = 0; i < times; i++) {
                struct rundir u = RUNDIR_INIT;
                struct stat st;

                if (rundir_make(&u, NULL) < 0)
                        return 1;
                if (mkdirat(u.dir_fd, "scratch", 0700) < 0 ||
                    mknodat(u.dir_fd, "scratch/f", S_IFREG | 0600, 0) < 0)
                        return 2;
                if (fstatat(u.dir_fd, "scratch/f", &st, 0) < 0 || fstat(u.lock_fd, &st) < 0 ||
                    st.st_nlink != 1)
                        return 3;
                if (access(u.path, F_OK) < 0)
                        return 4;
                rundir_remove(&u);
        }
        return 0;
}

TEST_WITH(no_rundir_is_stolen_while_others_come_and_go, make_cache, remove_cache) {
        enum {
                OWNERS = 32
        };
        pid_t pids[OWNERS];

        for (int i = 0; i < OWNERS; i++) {
                pids[i] = fork();
                assert_true(pids[i] >= 0);
                if (pids[i] == 0)
                        _exit(make_and_remove(20));
        }
        for (int i = 0; i < OWNERS; i++)
                exit_status_is(pids[i], 0);
        assert_int_equal(count_base(*state), 0);
}

/* Starts a whole life of a run directory and holds it at its nth stop at a system call
 * (each stops twice, before and after).  -1 where it ended before that. */
static pid_t hold_at_stop(unsigned n) {
        pid_t pid = fork();
        int status;

        assert_true(pid >= 0);
        if (pid == 0) {
                if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
                        _exit(99);
                (void)raise(SIGSTOP);
                _exit(make_and_remove(1));
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSTOPPED(status));
        for (unsigned i = 0; i < n; i++) {
                assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
                assert_int_equal(waitpid(pid, &status, 0), pid);
                if (WIFEXITED(status)) {
                        assert_int_equal(WEXITSTATUS(status), 0);
                        return -1;
                }
                assert_true(WIFSTOPPED(status));
        }
        return pid;
}

TEST_WITH(killed_at_any_system_call_it_leaves_nothing_to_the_next_sweep, make_cache, remove_cache) {
        unsigned n = 1, leftovers = 0;
        pid_t pid;

        scratch_folder(*state, "nsrun");
        for (; (pid = hold_at_stop(n)) >= 0; n++) {
                assert_int_equal(kill(pid, SIGKILL), 0);
                exit_status_is(pid, SIGKILL);
                leftovers += count_base(*state) > 0;
                sweep(*state);
                assert_int_equal(count_base(*state), 0);
        }
        assert_true(n > 40);
        assert_true(leftovers > 20); /* else the sweeps above had nothing to do */
}

/* It has a dead one to sweep as well, so it is overtaken in that too. */
TEST_WITH(overtaken_at_any_system_call_it_still_gets_an_rundir_of_its_own, make_cache, remove_cache) {
        _cleanup_free_ char *aside = scratch_path(*state, "aside"),
                            *again = scratch_path(*state, "nsrun/workspace-dead00");
        unsigned n = 1;
        pid_t pid;

        for (;; n++) {
                _cleanup_free_ char *dead = make_dead();

                assert_int_equal(rename(dead, aside), 0);
                assert_int_equal(rename(aside, again), 0);
                pid = hold_at_stop(n);
                if (pid < 0)
                        break;
                assert_int_equal(make_and_remove(1), 0);
                assert_int_equal(ptrace(PTRACE_DETACH, pid, NULL, NULL), 0);
                exit_status_is(pid, 0);
                assert_int_equal(count_base(*state), 0);
        }
        assert_true(n > 40);
}

int main(void) {
        /* A scratch folder must not be refused for what the caller's umask made it. */
        (void)umask(022);
        return run_all_tests();
}
