/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent_files.h"

#include <fnmatch.h>
#include <sys/file.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/str.h"
#include "disk/remove_tree.h"

enum {
        ENTRIES_MAX = 100000,
        DEPTH_MAX = 8,
        CHUNK = 64 << 10,
        SPARSE_MIN = 1 << 20,
};
#define BYTES_MAX ((off_t)1 << 28) /* of one file */

static bool is_draft_there(int parent, const char *name, const struct stat *st) {
        struct stat now;

        return fstatat(parent, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == st->st_ino &&
               now.st_dev == st->st_dev;
}

/* What somebody who was killed has left of it is written anew. */
int carried_draft(int parent, const char *name, char draft[CARRIED_DRAFT_SIZE]) {
        uint64_t hash = 0xcbf29ce484222325;
        struct stat st;

        for (const char *at = name; *at; at++)
                hash = (hash ^ (unsigned char)*at) * 0x100000001b3;
        (void)snprintf(draft, CARRIED_DRAFT_SIZE, ".nsrun-carried-%016llx", (unsigned long long)hash);
        for (;;) {
                _cleanup_close_ int fd =
                        openat(parent, draft, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

                /* Another run may write here, too: then it gets its name first. */
                if (fd < 0 || flock(fd, LOCK_EX) < 0 || fstat(fd, &st) < 0)
                        return -errno;
                if (st.st_nlink > 0 && is_draft_there(parent, draft, &st))
                        return ftruncate(fd, 0) < 0 ? -errno : TAKE_FD(fd);
        }
}

int carried_commit(int parent, int fd, const char *draft, const char *name, const struct stat *was,
                   mode_t mode, int r) {
        struct stat st;

        /* What was there is lost by no power cut; of a new file there is nothing to lose. */
        if (r >= 0 && (fchmod(fd, mode & 0666) < 0 || (was && fsync(fd) < 0)))
                r = -errno;
        if (r >= 0 && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                r = errno != ENOENT ? -errno : was ? -ESTALE : 0;
        else if (r >= 0)
                r = was && S_ISREG(st.st_mode) && st.st_ino == was->st_ino &&
                                    st.st_ctim.tv_sec == was->st_ctim.tv_sec &&
                                    st.st_ctim.tv_nsec == was->st_ctim.tv_nsec
                            ? 0
                            : -ESTALE;
        if (r >= 0 && renameat(parent, draft, parent, name) < 0)
                r = -errno;
        if (r < 0)
                (void)unlinkat(parent, draft, 0);
        return r;
}

/* Opens, or makes, the folder of the host's that is to have `path`: below its own folder by no symlink. */
static int carry_open_parent(int host, const char *path, const char **ret_name) {
        int fd = fcntl(host, F_DUPFD_CLOEXEC, 3);

        for (const char *slash; fd >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
                _cleanup_free_ char *part = strndup(path, (size_t)(slash - path));
                _cleanup_close_ int parent = fd;
                int r = !part ? -ENOMEM : mkdirat(parent, part, 0700) < 0 && errno != EEXIST ? -errno : 0;

                fd = r < 0 ? r : beneath_open(parent, part, O_RDONLY | O_DIRECTORY, 0);
        }
        *ret_name = path;
        return fd;
}

/* Writes what `from` has behind `at`.  Lines are written whole: others may add theirs between. */
static int copy_from(int from, off_t at, int to) {
        char buffer[CHUNK];
        int r = 0;

        while (r >= 0) {
                ssize_t n = pread(from, buffer, sizeof(buffer), at);
                const char *end = n > 0 ? memrchr(buffer, '\n', (size_t)n) : NULL;

                if (n <= 0)
                        return n < 0 ? -errno : 0;
                n = end ? end + 1 - buffer : n;
                at += n;
                r = at > BYTES_MAX ? -EFBIG : write_full(to, buffer, (size_t)n);
        }
        return r;
}

/* How far two files are the same; *ret_line: the end of the last line in that. */
static off_t common_part(int a, int b, off_t *ret_line) {
        char x[CHUNK], y[CHUNK];
        off_t at = 0;

        for (*ret_line = 0; at < BYTES_MAX;) {
                ssize_t n = pread(a, x, sizeof(x), at), m = pread(b, y, sizeof(y), at), i = 0;

                for (; i < n && i < m && x[i] == y[i]; i++)
                        if (x[i] == '\n')
                                *ret_line = at + i + 1;
                at += i;
                if (i < n || i < m || i == 0)
                        break;
        }
        return at;
}

/* Adds to a file of the host's the lines that it lacks: none of it is taken away, be it another project's.
 */
static int carry_lines(int from, int parent, const char *name) {
        _cleanup_close_ int to = beneath_open(parent, name, O_RDWR | O_APPEND | O_NONBLOCK, 0);
        struct stat st;
        off_t same, line;
        int r;

        if (to < 0 || fstat(to, &st) < 0 || !S_ISREG(st.st_mode))
                return to < 0 ? to : -EINVAL;
        same = common_part(from, to, &line);
        r = copy_from(from, same < st.st_size ? line : same, to);
        return r < 0 ? r : 1;
}

/* What has holes may be made to fill a disk; where the file system knows none, it has none. */
static bool is_sparse(int fd, off_t size) {
        off_t hole = size > SPARSE_MIN ? lseek(fd, 0, SEEK_HOLE) : -1;

        return hole >= 0 && hole < size;
}

static int carry_file(const struct carried_files *c, int folder, const char *entry, const char *path) {
        _cleanup_close_ int parent = -EBADF, to = -EBADF,
                            fd = openat(folder, entry,
                                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        bool has_one, is_newer, is_of_lines = fnmatch("*.jsonl", entry, 0) == 0;
        char draft[CARRIED_DRAFT_SIZE];
        const char *name;
        struct stat st, was;
        int r = 0;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || is_sparse(fd, st.st_size))
                return -EINVAL;
        parent = carry_open_parent(c->host, path, &name);
        if (parent < 0)
                return parent;
        has_one = fstatat(parent, name, &was, AT_SYMLINK_NOFOLLOW) == 0;
        is_newer = has_one && !time_is_before(&was.st_ctim, &c->since);
        if (has_one && is_of_lines)
                r = carry_lines(fd, parent, name);
        if (r == 0 && is_newer)
                return -ESTALE;
        if (r == 0) {
                to = carried_draft(parent, name, draft);
                r = to < 0 ? to : copy_from(fd, 0, to);
                if (to >= 0)
                        r = carried_commit(parent, to, draft, name, has_one ? &was : NULL,
                                           has_one ? was.st_mode : st.st_mode & 0600, r);
        }
        return r < 0 ? r : unlinkat(folder, entry, 0) < 0 ? -errno : 0;
}

/* Whether a glob names a file; or of a folder something that may be below. */
static int glob_has(const char *glob, const char *path, bool is_folder) {
        const size_t n = strlen(glob);
        const bool has_all = glob[n - 1] == '/';
        _cleanup_free_ char *copy = str_concat(glob, has_all && !is_folder ? "*" : "", "");
        char *at = copy;

        if (!copy)
                return -ENOMEM;
        if (has_all && is_folder)
                copy[n - 1] = '\0';
        if (fnmatch(copy, path, FNM_PATHNAME | (has_all ? FNM_LEADING_DIR : 0)) == 0)
                return has_all || !is_folder;
        for (const char *slash = path; at && is_folder && slash; slash = strchr(slash + 1, '/'))
                at = strchr(at + (at != copy), '/');
        if (!at || !is_folder)
                return 0;
        *at = '\0';
        return fnmatch(copy, path, FNM_PATHNAME) == 0;
}

static int any_glob_has(const struct carried_files *c, const char *path, bool is_folder) {
        int r = 0;

        STRV_FOREACH (glob, c->globs)
                r = r != 0 ? r : glob_has(*glob, path, is_folder);
        return r;
}

struct carry_walk {
        const struct carried_files *c;
        const char *path; /* of the folder, with a slash at its end; "" at the top */
        unsigned depth;
        unsigned *n_entries;
};

static int carry_entry(void *data, int folder, const struct dirent *entry) {
        const struct carry_walk *w = data;
        const struct carried_files *c = w->c;
        _cleanup_free_ char *path = str_concat(w->path, entry->d_name, "");
        unsigned char type = folder_type(folder, entry);
        int r = !path ? -ENOMEM : strv_contains(c->others, path) ? 0 : any_glob_has(c, path, type == DT_DIR);

        if (r >= 0 && ++*w->n_entries > ENTRIES_MAX)
                return -E2BIG;
        if (r > 0 && type == DT_DIR && w->depth < DEPTH_MAX) {
                _cleanup_free_ char *below = str_concat(path, "/", "");
                struct carry_walk next = {c, below, w->depth + 1, w->n_entries};
                _cleanup_close_ int fd = below ? open_for_removal(folder, entry->d_name) : -ENOMEM;

                r = fd < 0 ? fd : folder_read(fd, carry_entry, &next);
                return r < 0 && r != -ENOMEM && r != -E2BIG ? c->failed(c->data, path, r) : r;
        }
        /* overlayfs's mark of what the command has removed. */
        if (r <= 0 || type == DT_CHR)
                return r < 0 || type == DT_CHR ? r < 0 ? r : 0 : c->left(c->data, path, type);
        r = type == DT_REG ? carry_file(c, folder, entry->d_name, path) : -EINVAL;
        return r < 0 && r != -ENOMEM ? c->failed(c->data, path, r) : r;
}

int carry_files(const struct carried_files *c) {
        unsigned n_entries = 0;
        struct carry_walk top = {c, "", 0, &n_entries};

        return folder_each(c->upper, carry_entry, &top);
}
