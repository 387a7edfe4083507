/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The floor under a cold run: the system calls that a plan cannot do without, one
 * after the other, in a static program that looks nothing up and checks nothing.
 * The plan comes as words on the command line (scripts/bench makes them from
 * `nsrun plan --format=json`), since reading a file would be a cost of its own.
 * Not a sandbox to use: it trusts its arguments and says little when one is wrong. */
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
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

#include "seccomp/shipped.h"

/* Older kernel headers have neither the calls of Landlock nor its scopes. */
#define CALL_LANDLOCK_CREATE_RULESET 444
#define CALL_LANDLOCK_RESTRICT_SELF  446
#define SCOPES                       UINT64_C(3) /* abstract sockets and signals */

#define ATTRIBUTES        (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define ATTRIBUTES_DEVICE (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)
#define ATTRIBUTES_COVER  (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

static int old_root, new_root, layers = -1;

static _Noreturn void fail(const char *what) {
        perror(what);
        _exit(125);
}

static int check(long r, const char *what) {
        if (r < 0)
                fail(what);
        return (int)r;
}

static int open_target(const char *target) {
        struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                               .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS};

        return check(syscall(SYS_openat2, new_root, target + 1, &how, sizeof(how)), target);
}

static void attach(int from, const char *path, int to, unsigned recursive, uint64_t attributes) {
        struct mount_attr set = {.attr_set = attributes};
        int tree;

        tree = check(syscall(SYS_open_tree, from, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | recursive),
                     path);
        check(syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | recursive, &set, sizeof(set)), path);
        check(syscall(SYS_move_mount, tree, "", to, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH),
              path);
        close(tree);
}

/* bind ro|rw|dev folder|file|there SOURCE TARGET: "there" is a mount point that exists. */
static void do_bind(char **word) {
        const char *access = word[0], *kind = word[1], *source = word[2], *target = word[3];
        int fd;

        if (kind[0] == 'f' && kind[1] == 'o')
                check(mkdirat(new_root, target + 1, 0755), target);
        else if (kind[0] == 'f')
                close(check(openat(new_root, target + 1, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444),
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
                check(mkdirat(new_root, target + 1, 0755), target);
        fd = open_target(target);
        snprintf(number, sizeof(number), "%d", fd);
        check(mount(word[0], number, word[0], strtoul(word[1], NULL, 10), *word[2] ? word[2] : NULL),
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
        return check(openat(parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC), name);
}

static int make_layer(int parent, const char *name) {
        check(mkdirat(parent, name, 0700), name);
        return open_folder(parent, name);
}

/* overlay SIZE LAYER SOURCE TARGET, whose layers are in one tmpfs over the host's /proc. */
static void do_overlay(char **word) {
        int lower, folder, upper, work, target;
        char text[128];

        if (layers < 0) {
                target = open_folder(old_root, "proc");
                snprintf(text, sizeof(text), "%d", target);
                check(mount("tmpfs", text, "tmpfs", MS_NOSUID | MS_NODEV, word[0]), "tmpfs");
                close(target);
                layers = open_folder(old_root, "proc");
        }
        lower = open_folder(old_root, word[2] + 1);
        folder = make_layer(layers, word[1]);
        upper = make_layer(folder, "upper");
        work = make_layer(folder, "work");
        check(mkdirat(new_root, word[3] + 1, 0755), word[3]);
        target = open_target(word[3]);
        snprintf(text, sizeof(text), "userxattr,volatile,lowerdir=%d,upperdir=%d,workdir=%d", lower, upper,
                 work);
        snprintf(word[0], strlen(word[0]) + 1, "%d", target);
        check(mount("overlay", word[0], "overlay", MS_NOSUID | MS_NODEV, text), word[3]);
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
        check(fd, word[0]);
        check(write(fd, word[2], strlen(word[2])), word[0]);
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
                        check(mkdirat(new_root, word[0] + 1, (mode_t)strtoul(word[1], NULL, 8)), word[0]);
                        word += 2;
                } else if (strcmp(op, "file") == 0) {
                        do_file(word);
                        word += 3;
                } else if (strcmp(op, "link") == 0) {
                        check(symlinkat(word[0], new_root, word[1] + 1), word[1]);
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
        int fd = check(open(path, O_WRONLY | O_CLOEXEC), path);

        check(write(fd, text, strlen(text)), path);
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

static void make_root(const char *data) {
        int descriptors;

        old_root = check(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "/");
        descriptors = check(open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC), "/proc/self/fd");
        check(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
        check(mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, data), "root");
        check(chdir("/proc"), "/proc");
        check(syscall(SYS_pivot_root, ".", "."), "pivot_root");
        new_root = check(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "/");
        check(fchdir(descriptors), "fchdir");
}

static void seal_root(const char *cwd) {
        struct mount_attr set = {.attr_set = ATTRIBUTES | MOUNT_ATTR_RDONLY};

        check(fchdir(old_root), "fchdir");
        check(umount2(".", MNT_DETACH), "umount");
        check(syscall(SYS_mount_setattr, new_root, "", AT_EMPTY_PATH, &set, sizeof(set)), "seal");
        check(chdir(cwd), cwd);
}

static void drop_everything(void) {
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[2] = {{0}};

        for (unsigned long capability = 0; prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; capability++)
                ;
        check(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "ambient");
        check(syscall(SYS_capset, &header, none), "capset");
        check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
        check(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "dumpable");
}

static void scope(void) {
        const uint64_t attributes[] = {0, 0, SCOPES};
        int ruleset = check(syscall(CALL_LANDLOCK_CREATE_RULESET, attributes, sizeof(attributes), 0),
                            "landlock_create_ruleset");

        check(syscall(CALL_LANDLOCK_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self");
        close(ruleset);
}

/* nsrun's own filter, from the table that nsrun has. */
static void filter(const char *policy) {
        struct sock_fprog program = {0};

        for (size_t i = 0; i < n_seccomp_shipped; i++)
                if (strcmp(seccomp_shipped[i].name, policy) == 0)
                        program = (struct sock_fprog){.len = (unsigned short)seccomp_shipped[i].n,
                                                      .filter = (void *)seccomp_shipped[i].code};
        check(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), policy);
}

static int exit_code(int status) {
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* pid 1: starts the command, waits for it, ends and reaps the rest. */
static _Noreturn void run(char **command, const char *policy) {
        int status = 0;
        pid_t child;

        child = vfork();
        if (child == 0) {
                setsid();
                filter(policy);
                execv(command[0], command);
                _exit(127);
        }
        check(child, "vfork");
        while (waitpid(-1, &status, 0) != child)
                ;
        kill(-1, SIGKILL);
        while (waitpid(-1, NULL, 0) > 0)
                ;
        _exit(exit_code(status));
}

/* floor ROOT-TMPFS-DATA HOSTNAME|"" CWD scoped|"" POLICY OPERATION… -- COMMAND [ARGUMENT…] */
int main(int argc, char **argv) {
        struct clone_args args = {.exit_signal = SIGCHLD};
        uid_t uid = geteuid();
        gid_t gid = getegid();
        char **command;
        int status;
        long pid;

        if (argc < 8) {
                fprintf(stderr,
                        "usage: floor ROOT-DATA HOSTNAME CWD SCOPED POLICY OPERATION... -- COMMAND...\n");
                return 125;
        }
        args.flags =
                CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
        pid = check(syscall(SYS_clone3, &args, sizeof(args)), "clone3");
        if (pid > 0) {
                check(waitpid((pid_t)pid, &status, 0), "waitpid");
                return exit_code(status);
        }
        check(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "pdeathsig");
        check(syscall(SYS_close_range, 3, ~0U, 0), "close_range");
        map_ids(uid, gid);
        if (*argv[2])
                check(sethostname(argv[2], strlen(argv[2])), "hostname");
        make_root(argv[1]);
        command = walk(argv + 6);
        seal_root(argv[3]);
        drop_everything();
        if (*argv[4])
                scope();
        run(command, argv[5]);
}
