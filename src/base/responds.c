/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See responds.h.  A child asks, since a call that waits for a server can't always be ended: one that the
 * server has read and doesn't answer can't even be killed. */
#include "responds.h"

#include <limits.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "beneath.h"
#include "causes.h"
#include "file.h"
#include "path.h"
#include "str.h"
#include "sys.h"

enum {
        PATIENCE_MS = 1500, /* a refusal comes within two seconds */
        LATELY_MS = 1000,   /* so long a mount's answer, or its silence, counts for what else is in it */
        END_MS = 50,        /* for the child that was killed, if it can be */
};

enum answer {
        UNKNOWN,
        ANSWERS,
        SILENT,
};

/* What was found of mounts lately: they aren't asked again for each path in them. */
static _Thread_local struct {
        uint64_t mount;
        uint64_t until_ms;
        enum answer answer;
} asked[8];

static _Thread_local char silent[PATH_MAX]; /* who didn't answer last */

/* Where the kernel's own are mounted, which have no server. */
static const char *const places[] = {"/proc", "/sys"};

static bool is_kernels(const struct sys_mount *mount) {
        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                _cleanup_close_ int fd = sys_openat2(AT_FDCWD, places[i], O_PATH, 0, RESOLVE_CACHED);
                struct sys_mount own;

                if (fd >= 0 && sys_mount_of(fd, &own) >= 0 && own.id == mount->id)
                        return true;
        }
        return false;
}

/* Of a local file system the kernel tells that its files may be immutable, and asks nobody for that; that of
 * no other. */
static enum answer recall_mount(const struct sys_mount *mount) {
        uint64_t now = sys_now_ms();

        for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
                if (asked[i].mount == mount->id && asked[i].until_ms > now)
                        return asked[i].answer;
        return mount->is_local || is_kernels(mount) ? ANSWERS : UNKNOWN;
}

/* Opens as much of a path as the kernel has in memory, for which it asks nobody (RESOLVE_CACHED, 5.12). */
static int open_known(int dir, const char *path, struct sys_mount *ret_mount, const char **ret_rest) {
        _cleanup_free_ char *known = strdup(path);
        char *end = known ? known + strlen(known) : NULL;

        while (end && end != known) {
                int fd;

                *end = '\0';
                fd = sys_openat2(dir, known, O_PATH, 0, RESOLVE_CACHED);
                *ret_rest = path + (end - known) + strspn(path + (end - known), "/");
                if (fd >= 0 && sys_mount_of(fd, ret_mount) >= 0)
                        return fd;
                close_fdp(&fd);
                end = strrchr(known, '/');
        }
        return -ENOENT;
}

/* Whether something else is mounted on the way: asks the folder's mount. */
static bool crosses_mount(int folder, const char *rest) {
        _cleanup_close_ int fd = *rest ? sys_openat2(folder, rest, O_PATH, 0, RESOLVE_NO_XDEV) : -ENOENT;

        return fd == -EXDEV;
}

/* The same of what is named as one of these: the kernel never has all of such a path in memory. */
static bool is_named_as_kernels(const char *path) {
        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                const char *rest = path_below(path, places[i]);
                _cleanup_close_ int fd =
                        rest ? sys_openat2(AT_FDCWD, places[i], O_PATH, 0, RESOLVE_CACHED) : -EBADF;

                if (fd >= 0)
                        return !crosses_mount(fd, rest);
        }
        return false;
}

static enum answer recall(int dir, const char *path) {
        struct sys_mount mount;
        const char *rest;
        _cleanup_close_ int fd = -EBADF;
        enum answer answer;

        if (is_named_as_kernels(path))
                return ANSWERS;
        fd = open_known(dir, path, &mount, &rest);
        answer = fd < 0 ? UNKNOWN : recall_mount(&mount);
        return answer == ANSWERS && crosses_mount(fd, rest) ? UNKNOWN : answer;
}

/* In the place of the oldest answer.  Who is silent is known where the last that is known is a mount: a name
 * that isn't may have a mount of its own. */
static void remember(int dir, const char *path, enum answer answer) {
        struct sys_mount mount;
        const char *rest;
        _cleanup_close_ int fd = open_known(dir, path, &mount, &rest);
        size_t oldest = 0;

        if (fd < 0 || mount.is_local ||
            (answer == ANSWERS ? crosses_mount(fd, rest) : *rest && !mount.is_root))
                return;
        for (size_t i = 1; i < ARRAY_SIZE(asked); i++)
                if (asked[i].until_ms < asked[oldest].until_ms)
                        oldest = i;
        asked[oldest].mount = mount.id;
        asked[oldest].until_ms = sys_now_ms() + LATELY_MS;
        asked[oldest].answer = answer;
}

/* Looks it up, has it mounted where it is mounted at need, and reads what is in it; a folder whose names are
 * only mounted at need lists them without, and waits for one that is looked up.  Names and attributes may
 * still be known of before (NFS, sshfs): how much room there is, nobody keeps. */
nsrun_no_asan static void ask_server(int dir, const char *path) {
        char entries[1024], size[256], around[PATH_MAX];
        struct stat st;
        int fd;

        /* A child that stays must hold nothing open that somebody else waits for the end of. */
        if (dir >= 0 && sys_dup_to(dir, 0) >= 0)
                dir = 0;
        (void)sys_close_range(dir == 0, ~0U);
        fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
        (void)(fd < 0 ? fstatat(dir, path, &st, 0) : syscall(SYS_getdents64, fd, entries, sizeof(entries)));
        (void)(fd < 0 ? 0 : fstatat(fd, ".git", &st, AT_SYMLINK_NOFOLLOW));
        (void)snprintf(around, sizeof(around), "%s", path);
        while (fd < 0 && (fd = openat(dir, around, O_PATH | O_CLOEXEC)) < 0 && path_up(around))
                ;
        (void)syscall(SYS_fstatfs, fd < 0 ? dir : fd, size);
        _exit(0);
}

/* 0: it has answered, or there is no child that could ask. */
static int wait_for_answer(int dir, const char *path) {
        _cleanup_close_ int pidfd = -EBADF;
        struct pollfd end = {.events = POLLIN};
        siginfo_t info;
        int r, pid = sys_clone_namespaces(0, &pidfd);

        if (pid == 0)
                ask_server(dir, path);
        if (pid < 0)
                return 0;
        end.fd = pidfd;
        while ((r = sys_poll(&end, 1, PATIENCE_MS)) == -EINTR)
                ;
        if (r == 0) {
                (void)sys_pidfd_send_signal(pidfd, SIGKILL);
                (void)sys_poll(&end, 1, END_MS);
                r = -ETIMEDOUT;
        }
        (void)sys_waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG);
        return r == -ETIMEDOUT ? r : 0;
}

int responds_elsewhere(int dir, const char *path) {
        enum answer answer = recall(dir, path);
        _cleanup_free_ char *whole = NULL;

        if (answer == UNKNOWN) {
                answer = wait_for_answer(dir, path) < 0 ? SILENT : ANSWERS;
                remember(dir, path, answer);
        }
        if (answer != SILENT)
                return 0;
        whole = path_is_absolute(path) ? NULL : fd_name(dir);
        (void)snprintf(silent, sizeof(silent), "%s%s%s", whole ? whole : "", whole ? "/" : "", path);
        return -ETIMEDOUT;
}

/* Where openat2(2) is missing, or refused by a filter. */
static int open_otherwise(int dir, const char *path, int flags, uint64_t resolve) {
        if (resolve == 0)
                return sys_open(dir, path, flags, 0);
        return dir == AT_FDCWD ? beneath_open_canonical(path, flags) : beneath_walk(dir, path, flags, 0);
}

int responds_open(int dir, const char *path, int flags, uint64_t resolve) {
        int fd = sys_openat2(dir, path, flags, 0, resolve | RESOLVE_NO_XDEV);

        if (fd == -EXDEV)
                fd = responds_elsewhere(dir, path) < 0 ? -ETIMEDOUT
                                                       : sys_openat2(dir, path, flags, 0, resolve);
        return fd == -ENOSYS || fd == -EPERM ? open_otherwise(dir, path, flags, resolve) : fd;
}

int responds_read(const char *path, size_t limit, char **ret) {
        _cleanup_close_ int fd = responds_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

        return fd < 0 ? fd : read_small_fd(fd, limit, ret);
}

int responds_below(const char *top, const char *path) {
        static _Thread_local struct {
                uint64_t folder;
                uint64_t until_ms;
        } last;
        _cleanup_free_ char *folder = path_parent(path);
        _cleanup_close_ int fd = -EBADF;
        bool is_elsewhere = !path_is_beneath(path, top);
        uint64_t hash = 0xcbf29ce484222325U;

        if (!folder)
                return -ENOMEM;
        for (const char *at = folder; *at; at++)
                hash = (hash ^ (unsigned char)*at) * 0x100000001b3U;
        if (last.folder == hash && last.until_ms > sys_now_ms())
                return 0;
        for (size_t n = top[1] ? strlen(top) : 0; !is_elsewhere && folder[n];) {
                char *end = folder + n + 1 + strcspn(folder + n + 1, "/"), next = *end;
                unsigned mode = 0;
                int r;

                *end = '\0';
                r = sys_look(folder, &mode, &is_elsewhere);
                *end = next;
                if (r < 0)
                        return 0;
                is_elsewhere |= S_ISLNK(mode);
                n = (size_t)(end - folder);
        }
        if (is_elsewhere)
                fd = responds_open(AT_FDCWD, folder, O_PATH, 0);
        if (fd == -ETIMEDOUT)
                return fd;
        last.folder = hash;
        last.until_ms = sys_now_ms() + LATELY_MS;
        return 0;
}

int responds_fail(int r, const char *path, struct nsrun_error *err) {
        return r == -ETIMEDOUT ? error_cause(err, NSRUN_ERROR_NO_ANSWER, r, path ? path : silent)
                               : error_oom(err);
}

int responds_in_time(int dir, const char *path, const char *shown, struct nsrun_error *err) {
        _cleanup_close_ int fd = sys_openat2(dir, path, O_PATH, 0, RESOLVE_NO_XDEV);
        _cleanup_free_ char *whole = NULL;

        if (fd != -EXDEV || responds_elsewhere(dir, path) == 0)
                return 0;
        whole = shown ? str_concat(shown, "/", path) : strdup(path);
        return responds_fail(whole ? -ETIMEDOUT : -ENOMEM, whole, err);
}
