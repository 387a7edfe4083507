/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See mount_inside.h.  No path is resolved in the sandbox's namespaces: the command can turn any. */
#include "mount_inside.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/sys.h"

#define CHILDREN_MOST 4096

void inside_close(struct inside *inside) {
        close_fdp(&inside->user);
        close_fdp(&inside->mount_namespace);
        close_fdp(&inside->root);
}

static int open_of_process(pid_t pid, const char *name, int flags) {
        char path[64];
        int fd, r;

        (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
        fd = sys_open(AT_FDCWD, path, flags, 0);
        r = fd < 0 ? fd : fd_lift(&fd);
        if (r < 0)
                close_fdp(&fd);
        return r < 0 ? r : fd;
}

/* Whether the mount namespace is one that nsrun has made, not one that the command made in there.  *user,
 * its process's, becomes the user namespace that it belongs to: the process may be in another one of its
 * own. */
static bool is_nsruns(int mount_namespace, int *user) {
        _cleanup_close_ int parent = -EBADF;
        struct stat own, st;

        *user = sys_ioctl(mount_namespace, NS_GET_USERNS, NULL);
        if (*user < 0 || fd_lift(user) < 0)
                return false;
        parent = sys_ioctl(*user, NS_GET_PARENT, NULL);
        /* EPERM: it is nsrun's own, as in a sandbox of root's without one. */
        if (parent == -EPERM)
                parent = fcntl(*user, F_DUPFD_CLOEXEC, 3);
        return sys_stat("/proc/self/ns/user", &own) >= 0 && sys_fstat(parent, &st) >= 0 &&
               st.st_ino == own.st_ino;
}

/* The last that is done to the sandbox's root makes it read-only. */
static bool is_built(int root) {
        unsigned long flags = 0;
        struct stat hosts, st;

        return sys_mount_flags(root, NULL, &flags) >= 0 && (flags & MS_RDONLY) &&
               sys_stat("/", &hosts) >= 0 && sys_fstat(root, &st) >= 0 &&
               (st.st_dev != hosts.st_dev || st.st_ino != hosts.st_ino);
}

static int inside_enter(const struct inside *inside) {
        int r = sys_setns(inside->user, CLONE_NEWUSER);

        /* EINVAL: it is the caller's. */
        return r >= 0 || r == -EINVAL ? sys_setns(inside->mount_namespace, CLONE_NEWNS) : r;
}

static int wait_for(int pidfd) {
        siginfo_t info = {0};
        int r = sys_waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED);

        return r < 0 ? r : info.si_code == CLD_EXITED ? -info.si_status : -EIO;
}

/* The namespace's own root folder: a process's may be another one, to which it has changed.  Who enters a
 * mount namespace stands there, and its descriptors are the caller's. */
static int inside_open_root(const struct inside *inside) {
        _cleanup_close_ int pidfd = -EBADF, root = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
        int r = root < 0 ? root : fd_lift(&root);

        if (r >= 0)
                r = sys_fork_to_enter(CLONE_FILES, &pidfd);
        if (r == 0) {
                _cleanup_close_ int fd = -EBADF;

                r = inside_enter(inside);
                if (r >= 0)
                        r = fd = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
                r = r < 0 ? -r : dup3(fd, root, O_CLOEXEC) < 0 ? errno : 0;
                close_fdp(&fd);
                _exit(r);
        }
        r = r < 0 ? r : wait_for(pidfd);
        return r < 0 ? r : TAKE_FD(root);
}

static bool open_by(pid_t pid, struct inside *ret) {
        struct inside inside = INSIDE_INIT;

        inside.mount_namespace = open_of_process(pid, "ns/mnt", O_RDONLY);
        if (inside.mount_namespace >= 0 && is_nsruns(inside.mount_namespace, &inside.user))
                inside.root = inside_open_root(&inside);
        if (inside.root >= 0 && is_built(inside.root)) {
                *ret = inside;
                return true;
        }
        inside_close(&inside);
        return false;
}

/* Pid 1 can be looked at where it was started by exec; the command's processes always. */
pid_t inside_open(pid_t init, struct inside *ret) {
        char name[64], children[CHILDREN_MOST];

        if (init <= 0)
                return -EACCES;
        if (open_by(init, ret))
                return init;
        (void)snprintf(name, sizeof(name), "task/%d/children", (int)init);
        if (read_process_file(init, name, children, sizeof(children)) > 0)
                for (char *at = children, *end;; at = end) {
                        long pid = strtol(at, &end, 10);

                        if (pid <= 0 || end == at)
                                break;
                        if (open_by((pid_t)pid, ret))
                                return (pid_t)pid;
                }
        return -EACCES;
}

/* What mountinfo has as \\040 is a space. */
static void unescape(char *path) {
        char *to = path;

        for (const char *from = path; *from;)
                if (*from == '\\' && from[1] && from[2] && from[3]) {
                        *to++ = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + from[3] - '0');
                        from += 4;
                } else {
                        *to++ = *from++;
                }
        *to = '\0';
}

int inside_find(const struct inside *inside, pid_t pid, uint64_t mount, char **ret) {
        _cleanup_free_ char *name = NULL, *line = NULL;
        _cleanup_fclose_ FILE *f = NULL;
        size_t size = 0;

        if (asprintf(&name, "/proc/%d/mountinfo", (int)pid) < 0)
                return -ENOMEM;
        f = fopen(name, "re");
        while (f && getline(&line, &size, f) >= 0) {
                _cleanup_free_ char *path = NULL;
                _cleanup_close_ int fd = -EBADF;
                struct sys_mount found;

                if (sscanf(line, "%*d %*d %*s %*s %ms", &path) != 1)
                        continue;
                unescape(path);
                fd = beneath_open(inside->root, path + 1, O_PATH, 0);
                if (fd < 0 || sys_mount_of(fd, &found) < 0 || found.id != mount || !found.is_root)
                        continue;
                *ret = TAKE_PTR(path);
                return 0;
        }
        return -ENOENT;
}

/* In a process of its own. */
static int enter_and_mount(const struct inside *inside, int source, int target, uint64_t attributes) {
        int tree, r = inside_enter(inside);

        if (r >= 0 && source < 0) {
                r = sys_fchdir(target);
                return r < 0 ? r
                             : sys_mount("tmpfs", ".", "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                                         "size=4096,mode=0555");
        }
        tree = r < 0 ? r
                     : sys_open_tree(source, "",
                                     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
        r = tree < 0 ? tree : sys_mount_setattr(tree, AT_RECURSIVE, attributes);
        return r < 0 ? r : sys_move_mount(tree, target, "");
}

int mount_inside(const struct inside *inside, int source, int target, uint64_t attributes) {
        _cleanup_close_ int pidfd = -EBADF;
        int r = sys_fork_to_enter(0, &pidfd);

        if (r == 0)
                _exit(-enter_and_mount(inside, source, target, attributes));
        return r < 0 ? r : wait_for(pidfd);
}
