/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The judge of the host's side, and its record.  See host.h for the reasoning. */
#include "host.h"

#include <inttypes.h>

#include "base/array.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "tree.h"

#define RECORD       "commits"
#define RECORD_NEW   "commits.new"
#define RECORD_FIRST "nsrun commits 1\n"
#define RECORD_MAX   ((size_t)256 << 20)

/* The bits that a commit may add to a folder for a moment, to work in it. */
#define MODE_OF_WORK 0700U

struct host_file {
        uint64_t device, inode, size; /* 0 for a folder */
        struct timespec mtime, ctime; /* mtime not of a folder; ctime 0: not known */
        mode_t mode;                  /* with the type */
        size_t order; /* a number that grows: of two lines about one inode the later one counts */
};

static int compare_times(const struct timespec *a, const struct timespec *b) {
        if (a->tv_sec != b->tv_sec)
                return a->tv_sec < b->tv_sec ? -1 : 1;
        if (a->tv_nsec != b->tv_nsec)
                return a->tv_nsec < b->tv_nsec ? -1 : 1;
        return 0;
}

static int host_compare_files(const void *a, const void *b) {
        const struct host_file *x = a, *y = b;

        if (x->device != y->device)
                return x->device < y->device ? -1 : 1;
        return x->inode < y->inode ? -1 : x->inode > y->inode;
}

static int compare_lines(const void *a, const void *b) {
        const struct host_file *x = a, *y = b;
        int r = host_compare_files(a, b);

        return r != 0 ? r : x->order < y->order ? -1 : x->order > y->order;
}

static struct host_file *host_find_entry(const struct host *h, const struct stat *st) {
        const struct host_file key = {.device = st->st_dev, .inode = st->st_ino};

        return h->n_settled ? bsearch(&key, h->files, h->n_settled, sizeof(key), host_compare_files) : NULL;
}

void host_settle(struct host *h) {
        size_t n = 0;

        if (h->n == 0)
                return;
        qsort(h->files, h->n, sizeof(*h->files), compare_lines);
        for (size_t i = 0; i < h->n; i++) {
                if (i + 1 < h->n && host_compare_files(&h->files[i], &h->files[i + 1]) == 0)
                        continue;
                h->files[n] = h->files[i];
                h->files[n].order = n;
                n++;
        }
        h->n = h->n_settled = n;
}

static bool is_older(const struct host *h, const struct stat *st) {
        return compare_times(&st->st_ctim, &h->since) < 0;
}

bool host_has_changed(const struct host *h, const struct stat *st) {
        const struct host_file *known;

        if (is_older(h, st))
                return false;
        known = host_find_entry(h, st);
        if (!known || (known->mode & S_IFMT) != (st->st_mode & S_IFMT))
                return true;
        if (S_ISDIR(st->st_mode))
                return ((known->mode ^ st->st_mode) & 07777U & ~MODE_OF_WORK) != 0;
        return known->size != (uint64_t)st->st_size || compare_times(&known->mtime, &st->st_mtim) != 0 ||
               (known->ctime.tv_sec != 0 && compare_times(&known->ctime, &st->st_ctim) != 0);
}

bool host_is_ours(const struct host *h, const struct stat *st) {
        return !is_older(h, st) && !host_has_changed(h, st);
}

bool host_has_moved(const struct host *h, const struct stat *folder) {
        return !is_older(h, folder) && compare_times(&folder->st_mtim, &h->since) < 0 &&
               !host_find_entry(h, folder);
}

bool host_has_new_entries(const struct host *h, const struct stat *folder) {
        const struct host_file *known;

        if (is_older(h, folder))
                return false;
        known = host_find_entry(h, folder);
        return !known || compare_times(&known->ctime, &folder->st_ctim) != 0;
}

/* Folders yet to be looked into are kept as paths, so that depth costs neither stack nor
 * descriptors. */
static int look_into(const struct host *h, struct tree *t, const char *path, char ***todo, size_t *n) {
        _cleanup_strv_ char **names = NULL;
        int fd = tree_folder(t, path), r;
        struct stat st;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (host_has_changed(h, &st))
                return 1;
        r = tree_names(fd, &names);
        if (r < 0)
                return r;
        STRV_FOREACH (name, names) {
                char *below;

                if (fstatat(fd, *name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                        return -errno;
                if (!S_ISDIR(st.st_mode)) {
                        if (host_has_changed(h, &st))
                                return 1;
                        continue;
                }
                below = path_append(path, *name);
                if (!below || ARRAY_GROW(*todo, *n + 1) < 0) {
                        free(below);
                        return -ENOMEM;
                }
                (*todo)[(*n)++] = below;
                (*todo)[*n] = NULL;
        }
        return 0;
}

int host_tree_has_changed(const struct host *h, int root, const char *path) {
        _cleanup_tree_ struct tree t = {.root = root, .fd = -EBADF};
        _cleanup_strv_ char **todo = NULL;
        size_t n = 0;
        int r = look_into(h, &t, path, &todo, &n);

        while (r == 0 && n > 0) {
                _cleanup_free_ char *next = todo[--n];

                todo[n] = NULL;
                r = look_into(h, &t, next, &todo, &n);
        }
        return r;
}

int host_remember(struct host *h, const struct stat *st, bool is_final) {
        const bool is_folder = S_ISDIR(st->st_mode);
        struct host_file file = {
                .device = st->st_dev,
                .inode = st->st_ino,
                .size = is_folder ? 0 : (uint64_t)st->st_size,
                .mode = st->st_mode,
                .order = h->n,
        };

        if (!is_folder)
                file.mtime = st->st_mtim;
        if (is_final)
                file.ctime = st->st_ctim;
        if (ARRAY_GROW(h->files, h->n) < 0)
                return -ENOMEM;
        h->files[h->n++] = file;
        return 0;
}

static int parse_line(struct host *h, const char *line) {
        uint64_t device, inode, size;
        struct stat st = {0};
        long long times[4];
        unsigned mode;
        int end = 0;

        if (startswith(line, "stage ")) {
                const char *name = line + strlen("stage ");

                free(h->stage);
                h->stage = strdup(name);
                if (!h->stage)
                        return -ENOMEM;
                return *name && !strchr(name, '/') && *name == '.' && name[1] != '.' && name[1] ? 0
                                                                                                : -EBADMSG;
        }
        if (sscanf(line, "file %" SCNu64 " %" SCNu64 " %" SCNu64 " %o %lld.%lld %lld.%lld%n", &device,
                   &inode, &size, &mode, &times[0], &times[1], &times[2], &times[3], &end) != 8 ||
            line[end])
                return -EBADMSG;
        st.st_dev = (dev_t)device;
        st.st_ino = (ino_t)inode;
        st.st_size = (off_t)size;
        st.st_mode = (mode_t)mode;
        st.st_mtim = (struct timespec){.tv_sec = (time_t)times[0], .tv_nsec = (long)times[1]};
        st.st_ctim = (struct timespec){.tv_sec = (time_t)times[2], .tv_nsec = (long)times[3]};
        return host_remember(h, &st, true);
}

int host_load(int record_fd, const struct timespec *since, struct host *ret) {
        _cleanup_host_ struct host h = {.since = *since};
        _cleanup_free_ char *text = NULL;
        char *line;
        int r = read_small_file(record_fd, RECORD, O_NOFOLLOW, RECORD_MAX, &text);

        if (r < 0 && r != -ENOENT)
                return r;
        if (r >= 0 && !startswith(text, RECORD_FIRST))
                return -EBADMSG;
        line = r < 0 ? NULL : text + strlen(RECORD_FIRST);
        while (line && *line) {
                char *end = strchr(line, '\n');

                if (!end)
                        return -EBADMSG;
                *end = '\0';
                r = parse_line(&h, line);
                if (r < 0)
                        return r;
                line = end + 1;
        }
        host_settle(&h);
        *ret = h;
        h = (struct host){0};
        return 0;
}

static void print_record(FILE *f, const struct host *h) {
        (void)fputs(RECORD_FIRST, f);
        if (h->stage)
                (void)fprintf(f, "stage %s\n", h->stage);
        for (size_t i = 0; i < h->n; i++) {
                const struct host_file *x = &h->files[i];

                (void)fprintf(f, "file %" PRIu64 " %" PRIu64 " %" PRIu64 " %o %lld.%lld %lld.%lld\n",
                              x->device, x->inode, x->size, (unsigned)x->mode, (long long)x->mtime.tv_sec,
                              (long long)x->mtime.tv_nsec, (long long)x->ctime.tv_sec,
                              (long long)x->ctime.tv_nsec);
        }
}

int host_save(int record_fd, const struct host *h) {
        _cleanup_fclose_ FILE *f = NULL;
        int fd = openat(record_fd, RECORD_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600),
            r;

        if (fd < 0)
                return -errno;
        f = fdopen(fd, "we");
        if (!f) {
                r = -errno;
                (void)close(fd);
                return r;
        }
        print_record(f, h);
        if (fflush(f) != 0)
                return -errno;
        return renameat(record_fd, RECORD_NEW, record_fd, RECORD) < 0 ? -errno : 0;
}

void host_clear(struct host *h) {
        free(h->files);
        free(h->stage);
        *h = (struct host){0};
}
