/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Removes a tree that a hostile command wrote.  A folder that lies too deep is moved up to the top
 * and emptied there, so that depth costs neither descriptors nor stack.  A tree that is still being
 * written to may make it end with an error. */
#include "remove_tree.h"

#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/file.h"

#ifndef SYS_fchmodat2 /* since Linux 6.6; the libc's headers may be older */
#define SYS_fchmodat2 452
#endif

enum {
        DEPTH_MAX = 16, /* levels that one pass goes down, and about as many descriptors as it has open */
        PASSES_MAX = 65536, /* each pass takes DEPTH_MAX levels off: more than any tree has */
        STALLS_MAX = 8,     /* passes that found entries and could remove none */
};

struct removal {
        int top_fd;
        const char *keep;   /* an entry of the top folder that stays */
        uint64_t moved;     /* a counter, for unique names of what is moved up */
        unsigned progress;  /* entries that this pass removed or moved */
        unsigned remaining; /* entries that this pass could not remove */
        int error;          /* the first error of this pass */
};

static void note_error(struct removal *rm, int r) {
        rm->remaining++;
        if (rm->error == 0)
                rm->error = r;
}

int chmod_path_fd(int fd, mode_t mode) {
        if (syscall(SYS_fchmodat2, fd, "", mode, AT_EMPTY_PATH) == 0)
                return 0;
        if (errno != ENOSYS && errno != EPERM && errno != EINVAL)
                return -errno;
        return chmod(fd_link(fd).path, mode) < 0 ? -errno : 0;
}

/* Opens an entry if it is a folder, no symlink, and no mount point. */
static int remove_tree_open_folder(int parent_fd, const char *name, int flags) {
        const struct open_how how = {
                .flags = (uint64_t)(unsigned)(flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
        };
        struct stat parent, folder;
        _cleanup_close_ int fd = (int)syscall(SYS_openat2, parent_fd, name, &how, sizeof(how));

        if (fd >= 0)
                return TAKE_FD(fd);
        if (errno == EXDEV)
                return -EBUSY;
        if (errno != ENOSYS && errno != EPERM)
                return -errno;

        /* Before 5.6 there is no openat2(2).  Device numbers tell mounts apart, except a bind of
         * the same file system, which only root could have mounted there. */
        fd = openat(parent_fd, name, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &folder) < 0 || fstat(parent_fd, &parent) < 0)
                return -errno;
        return folder.st_dev == parent.st_dev ? TAKE_FD(fd) : -EBUSY;
}

/* Opens a folder that its owner may not read, such as overlayfs's work/work, which has mode 000. */
static int open_shut_folder(int parent_fd, const char *name) {
        _cleanup_close_ int path_fd = remove_tree_open_folder(parent_fd, name, O_PATH);
        int fd, r;

        if (path_fd < 0)
                return path_fd;
        r = chmod_path_fd(path_fd, 0700);
        if (r < 0)
                return r;
        fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

/* Gives a folder mode 0700 if its owner lacks any of rwx, without which its entries can't be
 * removed. */
static int open_up(int fd) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        if ((st.st_mode & 0700) != 0700)
                (void)fchmod(fd, 0700); /* if this fails so will the removal, which reports why */
        return 0;
}

int open_for_removal(int parent_fd, const char *name) {
        _cleanup_close_ int fd = remove_tree_open_folder(parent_fd, name, O_RDONLY);
        int r;

        if (fd == -EACCES)
                fd = open_shut_folder(parent_fd, name);
        if (fd < 0)
                return fd;
        r = open_up(fd);
        return r < 0 ? r : TAKE_FD(fd);
}

/* Moves a folder up to the top under a new name, where the next pass finds it. */
static int move_up(struct removal *rm, int dir_fd, const char *name) {
        /* rename(2) of a folder to another parent rewrites its "..", so that the folder itself must
         * be writable. */
        _cleanup_close_ int fd = open_for_removal(dir_fd, name);
        char moved[64];

        if (fd < 0)
                return fd;
        (void)snprintf(moved, sizeof(moved), "moved-%d-%016llx", (int)getpid(),
                       (unsigned long long)rm->moved++);
        return renameat(dir_fd, name, rm->top_fd, moved) < 0 ? -errno : 0;
}

static int empty_folder(struct removal *rm, int fd, unsigned depth);

static int remove_folder(struct removal *rm, int dir_fd, const char *name, unsigned depth) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (depth >= DEPTH_MAX)
                return move_up(rm, dir_fd, name);
        fd = open_for_removal(dir_fd, name);
        if (fd < 0)
                return fd;
        r = empty_folder(rm, fd, depth + 1);
        if (r < 0)
                return r;
        return unlinkat(dir_fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/* Removes an entry of any type.  A file may have become a folder since the listing, and the other
 * way round: the kernel's answer decides, not the type in the listing. */
static int remove_entry(struct removal *rm, int dir_fd, const char *name, bool looks_like_folder,
                        unsigned depth) {
        int r = -ENOTDIR;

        if (looks_like_folder)
                r = remove_folder(rm, dir_fd, name, depth);
        if (r == -ENOTDIR || r == -ELOOP)
                r = unlinkat(dir_fd, name, 0) < 0 ? -errno : 0;
        if (r == -EISDIR)
                r = remove_folder(rm, dir_fd, name, depth);
        return r == -ENOENT ? 0 : r;
}

/* A folder that a pass empties. */
struct removal_level {
        struct removal *removal;
        unsigned depth;
};

static int empty_entry(void *data, int folder, const struct dirent *entry) {
        const struct removal_level *level = data;
        struct removal *rm = level->removal;
        int r;

        if (level->depth == 0 && rm->keep && streq(entry->d_name, rm->keep))
                return 0;
        r = remove_entry(rm, folder, entry->d_name, entry->d_type == DT_DIR, level->depth);
        if (r < 0)
                note_error(rm, r);
        else
                rm->progress++;
        return 0;
}

/* Makes one pass over a folder. */
static int empty_folder(struct removal *rm, int fd, unsigned depth) {
        return folder_read(fd, empty_entry, &(struct removal_level){rm, depth});
}

int remove_contents(int dir_fd, const char *keep) {
        struct removal rm = {.top_fd = dir_fd, .keep = keep};
        unsigned stalls = 0;
        int r = open_up(dir_fd);

        if (r < 0)
                return r;
        /* A random start: folders that an earlier, interrupted removal moved up may still be there
         * under their names. */
        if (getrandom(&rm.moved, sizeof(rm.moved), GRND_NONBLOCK) < 0)
                rm.moved = 0;

        /* Makes passes until one finds nothing: readdir(3) may miss an entry of a folder that
         * changes meanwhile, and folders that were moved up are emptied in the next pass. */
        for (unsigned pass = 0; pass < PASSES_MAX; pass++) {
                _cleanup_close_ int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                if (fd < 0)
                        return errno == ENOENT ? 0 : -errno;
                rm.progress = rm.remaining = 0;
                rm.error = 0;
                r = empty_folder(&rm, fd, 0);
                if (r < 0)
                        return r == -ENOENT ? 0 : r; /* -ENOENT: another process removed the folder itself */
                if (rm.progress == 0 && (rm.remaining == 0 || ++stalls >= STALLS_MAX))
                        return rm.error;
        }
        return -EAGAIN;
}

int remove_tree(int parent_fd, const char *name) {
        _cleanup_close_ int fd = open_for_removal(parent_fd, name);
        int r = 0;

        if (fd == -ENOTDIR || fd == -ELOOP)
                r = unlinkat(parent_fd, name, 0) < 0 ? -errno : 0;
        else if (fd < 0)
                r = fd;
        else
                for (unsigned tries = 0; tries < STALLS_MAX; tries++) {
                        r = remove_contents(fd, NULL);
                        if (r < 0)
                                break;
                        r = unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
                        if (r != -ENOTEMPTY)
                                break;
                }
        return r == -ENOENT ? 0 : r;
}
