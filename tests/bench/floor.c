/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The floor under a cold run: the system calls that a plan cannot do without, one
 * after the other, in a static program that looks nothing up and checks nothing.
 * The plan comes as words on the command line (scripts/bench makes them from
 * `nsrun plan --format=json`), since reading a file would be a cost of its own.
 * Not a sandbox to use: it trusts its arguments and says little when one is wrong. */
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine.h"

#define ATTRIBUTES        (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define ATTRIBUTES_DEVICE (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)
#define ATTRIBUTES_COVER  (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

static int old_root, new_root, layers = -1;

static int open_target(const char *target) {
        struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                               .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS};

        return bench_check(syscall(SYS_openat2, new_root, target + 1, &how, sizeof(how)), target);
}

static void attach(int from, const char *path, int to, unsigned recursive, uint64_t attributes) {
        struct mount_attr set = {.attr_set = attributes};
        int tree;

        tree = bench_check(
                syscall(SYS_open_tree, from, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | recursive), path);
        bench_check(syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | recursive, &set, sizeof(set)),
                    path);
        bench_check(
                syscall(SYS_move_mount, tree, "", to, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH),
                path);
        close(tree);
}

/* bind ro|rw|dev folder|file|there SOURCE TARGET: "there" is a mount point that exists. */
static void do_bind(char **word) {
        const char *access = word[0], *kind = word[1], *source = word[2], *target = word[3];
        int fd;

        if (kind[0] == 'f' && kind[1] == 'o')
                bench_check(mkdirat(new_root, target + 1, 0755), target);
        else if (kind[0] == 'f')
                close(bench_check(
                        openat(new_root, target + 1, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444),
                        target));
        fd = open_target(target);
        attach(old_root, source + 1, fd, AT_RECURSIVE,
               access[0] == 'd'   ? ATTRIBUTES_DEVICE
               : access[1] == 'o' ? ATTRIBUTES | MOUNT_ATTR_RDONLY
                                  : ATTRIBUTES);
        close(fd);
}

/* mount TYPE FLAGS DATA TARGET made|there: the target is a number to mount(2), whose
 * working directory is the host's /proc/self/fd. */
static void do_mount(char **word) {
        const char *target = word[3];
        char number[16];
        int fd;

        if (word[4][0] == 'm')
                bench_check(mkdirat(new_root, target + 1, 0755), target);
        fd = open_target(target);
        snprintf(number, sizeof(number), "%d", fd);
        bench_check(mount(word[0], number, word[0], strtoul(word[1], NULL, 10), *word[2] ? word[2] : NULL),
                    target);
        close(fd);
}

static void do_cover(const char *target) {
        struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                               .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS};
        int fd = (int)syscall(SYS_openat2, new_root, target + 1, &how, sizeof(how));

        if (fd < 0)
                return;
        attach(new_root, target + 1, fd, 0, ATTRIBUTES_COVER);
        close(fd);
}

static int open_folder(int parent, const char *name) {
        return bench_check(openat(parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC), name);
}

static int make_layer(int parent, const char *name) {
        bench_check(mkdirat(parent, name, 0700), name);
        return open_folder(parent, name);
}

/* overlay SIZE LAYER SOURCE TARGET, whose layers are in one tmpfs over the host's /proc. */
static void do_overlay(char **word) {
        int lower, folder, upper, work, target;
        char text[128];

        if (layers < 0) {
                target = open_folder(old_root, "proc");
                snprintf(text, sizeof(text), "%d", target);
                bench_check(mount("tmpfs", text, "tmpfs", MS_NOSUID | MS_NODEV, word[0]), "tmpfs");
                close(target);
                layers = open_folder(old_root, "proc");
        }
        lower = open_folder(old_root, word[2] + 1);
        folder = make_layer(layers, word[1]);
        upper = make_layer(folder, "upper");
        work = make_layer(folder, "work");
        bench_check(mkdirat(new_root, word[3] + 1, 0755), word[3]);
        target = open_target(word[3]);
        snprintf(text, sizeof(text), "userxattr,volatile,lowerdir=%d,upperdir=%d,workdir=%d", lower, upper,
                 work);
        snprintf(word[0], strlen(word[0]) + 1, "%d", target);
        bench_check(mount("overlay", word[0], "overlay", MS_NOSUID | MS_NODEV, text), word[3]);
        close(target);
        close(work);
        close(upper);
        close(folder);
        close(lower);
}

static void do_file(char **word) {
        int fd;

        fd = openat(new_root, word[0] + 1, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC,
                    (mode_t)strtoul(word[1], NULL, 8));
        bench_check(fd, word[0]);
        bench_check(write(fd, word[2], strlen(word[2])), word[0]);
        close(fd);
}

/* Carries out the operations up to "--" and returns what follows it. */
static char **walk(char **word) {
        while (*word && strcmp(*word, "--") != 0) {
                const char *op = *word++;

                if (strcmp(op, "bind") == 0) {
                        do_bind(word);
                        word += 4;
                } else if (strcmp(op, "mount") == 0) {
                        do_mount(word);
                        word += 5;
                } else if (strcmp(op, "overlay") == 0) {
                        do_overlay(word);
                        word += 4;
                } else if (strcmp(op, "dir") == 0) {
                        bench_check(mkdirat(new_root, word[0] + 1, (mode_t)strtoul(word[1], NULL, 8)),
                                    word[0]);
                        word += 2;
                } else if (strcmp(op, "file") == 0) {
                        do_file(word);
                        word += 3;
                } else if (strcmp(op, "link") == 0) {
                        bench_check(symlinkat(word[0], new_root, word[1] + 1), word[1]);
                        word += 2;
                } else if (strcmp(op, "cover") == 0) {
                        do_cover(*word++);
                } else {
                        fprintf(stderr, "floor: unknown operation: %s\n", op);
                        _exit(125);
                }
        }
        return *word ? word + 1 : word;
}

static void write_text(const char *path, const char *text) {
        int fd = bench_check(open(path, O_WRONLY | O_CLOEXEC), path);

        bench_check(write(fd, text, strlen(text)), path);
        close(fd);
}

static void map_ids(uid_t uid, gid_t gid) {
        char text[64];

        write_text("/proc/self/setgroups", "deny");
        snprintf(text, sizeof(text), "%u %u 1\n", uid, uid);
        write_text("/proc/self/uid_map", text);
        snprintf(text, sizeof(text), "%u %u 1\n", gid, gid);
        write_text("/proc/self/gid_map", text);
}

/* Half of what the kernel counts for each user is left to the user's other programs. */
static void halve(const char *of_host, const char *of_namespace) {
        char text[24] = "";
        int fd = bench_check(open(of_host, O_RDONLY | O_CLOEXEC), of_host);

        bench_check(read(fd, text, sizeof(text) - 1), of_host);
        close(fd);
        snprintf(text, sizeof(text), "%lu", strtoul(text, NULL, 10) / 2);
        write_text(of_namespace, text);
}

/* What bounds a namespace's counters can only be written through these files. */
static void bound_counters(void) {
        write_text("/proc/sys/user/max_cgroup_namespaces", "0");
        halve("/proc/sys/fs/inotify/max_user_instances", "/proc/sys/user/max_inotify_instances");
        halve("/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches");
}

static void make_root(const char *data) {
        int descriptors;

        old_root = bench_check(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "/");
        descriptors = bench_check(open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC), "/proc/self/fd");
        bench_check(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
        bench_check(mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, data), "root");
        bench_check(chdir("/proc"), "/proc");
        bench_check(syscall(SYS_pivot_root, ".", "."), "pivot_root");
        new_root = bench_check(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "/");
        bench_check(fchdir(descriptors), "fchdir");
}

static void seal_root(const char *cwd) {
        struct mount_attr set = {.attr_set = ATTRIBUTES | MOUNT_ATTR_RDONLY};

        bench_check(fchdir(old_root), "fchdir");
        bench_check(umount2(".", MNT_DETACH), "umount");
        bench_check(syscall(SYS_mount_setattr, new_root, "", AT_EMPTY_PATH, &set, sizeof(set)), "seal");
        bench_check(chdir(cwd), cwd);
}

/* pid 1: starts the command, waits for it, ends and reaps the rest. */
static _Noreturn void run(char **command, const char *policy) {
        int status = 0;
        pid_t child;

        child = vfork();
        if (child == 0) {
                setsid();
                confine_filter(policy);
                execv(command[0], command);
                _exit(127);
        }
        bench_check(child, "vfork");
        while (waitpid(-1, &status, 0) != child)
                ;
        kill(-1, SIGKILL);
        while (waitpid(-1, NULL, 0) > 0)
                ;
        _exit(bench_status(status));
}

/* floor nothing: returns at once, and shows what a start of this C library costs.
 * floor ROOT-TMPFS-DATA HOSTNAME|"" CWD scoped|"" POLICY OPERATION… -- COMMAND [ARGUMENT…] */
int main(int argc, char **argv) {
        struct clone_args args = {.exit_signal = SIGCHLD};
        uid_t uid = geteuid();
        gid_t gid = getegid();
        char **command;
        int status;
        long pid;

        if (argc == 2 && strcmp(argv[1], "nothing") == 0)
                return 0;
        if (argc < 8) {
                fprintf(stderr,
                        "usage: floor ROOT-DATA HOSTNAME CWD SCOPED POLICY OPERATION... -- COMMAND...\n");
                return 125;
        }
        args.flags =
                CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
        pid = bench_check(syscall(SYS_clone3, &args, sizeof(args)), "clone3");
        if (pid > 0) {
                bench_check(waitpid((pid_t)pid, &status, 0), "waitpid");
                return bench_status(status);
        }
        bench_check(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "pdeathsig");
        bench_check(syscall(SYS_close_range, 3, ~0U, 0), "close_range");
        map_ids(uid, gid);
        bound_counters();
        if (*argv[2])
                bench_check(sethostname(argv[2], strlen(argv[2])), "hostname");
        make_root(argv[1]);
        command = walk(argv + 6);
        seal_root(argv[3]);
        confine_drop();
        if (*argv[4])
                confine_scope();
        run(command, argv[5]);
}
