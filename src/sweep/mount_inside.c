/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See mount_inside.h.  No path is resolved in the sandbox's namespaces: the command can turn any. */
#include "mount_inside.h"

#include <linux/nsfs.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/sys.h"
#include "boundary/harden.h"

#define CHILDREN_MOST 4096
#define STATUS_ERRNO  200 /* no errno is more */

void inside_close(struct inside *inside) {
        close_fdp(&inside->user);
        close_fdp(&inside->mount_namespace);
        close_fdp(&inside->root);
}

static int open_held(pid_t waiter, int number) {
        char name[32];

        (void)snprintf(name, sizeof(name), "fd/%d", number);
        return waiter <= 0 || number < 0 ? -EBADF : file_open_of_process(waiter, name);
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

/* The kernel lets others look at whoever has entered one. */
static int inside_enter_one(int fd, uint64_t kind) {
        int r = sys_setns(fd, kind);

        return r < 0 ? r : sys_prctl(PR_SET_DUMPABLE, 0, 0);
}

static int inside_enter(const struct inside *inside) {
        int r = inside_enter_one(inside->user, CLONE_NEWUSER);

        /* EINVAL: it is the caller's. */
        return r >= 0 || r == -EINVAL ? inside_enter_one(inside->mount_namespace, 0) : r;
}

/* A status is an errno, or what is above all of them. */
static int wait_for(int pidfd) {
        siginfo_t info = {0};
        int r = sys_waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED);

        return r < 0                           ? r
               : info.si_code != CLD_EXITED    ? -EIO
               : info.si_status > STATUS_ERRNO ? info.si_status - STATUS_ERRNO
                                               : -info.si_status;
}

static int do_inside(const struct inside *inside, int self, const int *keep, size_t n,
                     int (*what)(void *data), void *data) {
        int kept[INSIDE_KEPT_MOST + 3] = {self, inside->user, inside->mount_namespace};
        int r = harden_die_with(self, NULL);

        (void)sys_setsid();
        for (int fd = 0; fd <= 2; fd++)
                (void)sys_close(fd);
        memcpy(kept + 3, keep, n * sizeof(*keep));
        if (r >= 0)
                r = harden_descriptors(kept, n + 3, NULL);
        if (r >= 0)
                r = harden_process(NULL);
        if (r >= 0)
                r = inside_enter(inside);
        /* The kernel may have forgotten it. */
        if (r >= 0)
                r = harden_die_with(self, NULL);
        return r < 0 ? r : what(data);
}

int inside_do(const struct inside *inside, const int *keep, size_t n, int (*what)(void *data), void *data) {
        _cleanup_close_ int pidfd = -EBADF, self = sys_pidfd_open(getpid());
        int r = self < 0 ? self : sys_fork_to_enter(0, &pidfd);

        if (r == 0 && self >= 0) {
                r = do_inside(inside, self, keep, n, what, data);
                _exit(r < 0 ? -r : r == 0 ? 0 : STATUS_ERRNO + r);
        }
        return r < 0 ? r : wait_for(pidfd);
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

/* Takes the descriptor over. */
static bool open_by(int mount_namespace, struct inside *ret) {
        struct inside inside = INSIDE_INIT;

        inside.mount_namespace = mount_namespace;
        if (inside.mount_namespace >= 0 && is_nsruns(inside.mount_namespace, &inside.user))
                inside.root = inside_open_root(&inside);
        if (inside.root >= 0 && is_built(inside.root)) {
                *ret = inside;
                return true;
        }
        inside_close(&inside);
        return false;
}

/* Pid 1 can be looked at where it was started by exec; the command's processes if they don't see to it. */
int inside_open(pid_t waiter, const struct launch_held *numbers, pid_t init, struct inside *ret) {
        char name[64], children[CHILDREN_MOST];

        if (numbers && open_by(open_held(waiter, numbers->mount_namespace), ret))
                return 0;
        if (init <= 0)
                return -EACCES;
        if (open_by(file_open_of_process(init, "ns/mnt"), ret))
                return 0;
        (void)snprintf(name, sizeof(name), "task/%d/children", (int)init);
        if (read_process_file(init, name, children, sizeof(children)) > 0)
                for (char *at = children, *end;; at = end) {
                        long pid = strtol(at, &end, 10);

                        if (pid <= 0 || end == at)
                                break;
                        if (open_by(file_open_of_process((pid_t)pid, "ns/mnt"), ret))
                                return 0;
                }
        return -EACCES;
}

int inside_open_network(pid_t waiter, const struct launch_held *numbers, struct inside *ret) {
        struct inside inside = INSIDE_INIT;

        inside.mount_namespace = open_held(waiter, numbers->network);
        if (inside.mount_namespace >= 0 && is_nsruns(inside.mount_namespace, &inside.user)) {
                *ret = inside;
                return 0;
        }
        inside_close(&inside);
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

int inside_find(const struct inside *inside, pid_t init, uint64_t mount) {
        _cleanup_free_ char *name = NULL, *line = NULL;
        _cleanup_fclose_ FILE *f = NULL;
        size_t size = 0;
        int r = -ENOENT;

        if (asprintf(&name, "/proc/%d/mountinfo", (int)init) < 0)
                return -ENOMEM;
        f = fopen(name, "re");
        if (!f)
                return -errno;
        while (getline(&line, &size, f) >= 0) {
                _cleanup_free_ char *path = NULL;
                _cleanup_close_ int fd = -EBADF;
                struct sys_mount found;

                if (sscanf(line, "%*d %*d %*s %*s %ms", &path) != 1)
                        continue;
                unescape(path);
                fd = beneath_open(inside->root, path + 1, O_PATH, 0);
                if (fd >= 0 && sys_mount_of(fd, &found) >= 0 && found.is_root) {
                        if (found.id == mount)
                                return TAKE_FD(fd);
                } else {
                        r = -EAGAIN;
                }
        }
        return ferror(f) ? -EIO : r;
}

struct mount_job {
        int source, target;
        uint64_t attributes;
};

static int do_mount(void *data) {
        const struct mount_job *job = data;
        int tree, r;

        if (job->source < 0) {
                r = sys_fchdir(job->target);
                return r < 0 ? r
                             : sys_mount("tmpfs", ".", "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                                         "size=4096,mode=0555");
        }
        tree = sys_open_tree(job->source, "",
                             OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
        r = tree < 0 ? tree : sys_mount_setattr(tree, AT_RECURSIVE, job->attributes);
        return r < 0 ? r : sys_move_mount(tree, job->target, "");
}

int mount_inside(const struct inside *inside, int source, int target, uint64_t attributes) {
        return inside_do(inside, (const int[]){source, target}, 2, do_mount,
                         &(struct mount_job){source, target, attributes});
}
