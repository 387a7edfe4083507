/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A tree as text, and how two of them differ; and what tests put into one. */
#include "harness.h"

#include <ftw.h>

/* nftw(3) hands nothing through. */
static struct {
        char **lines;
        size_t n, capacity;
        size_t root_length;
} walk;

static void add_line(char *line) {
        if (walk.n == walk.capacity) {
                walk.capacity = 2 * walk.capacity + 64;
                walk.lines = reallocarray(walk.lines, walk.capacity, sizeof(*walk.lines));
                assert_non_null(walk.lines);
        }
        walk.lines[walk.n++] = line;
}

static uint64_t hash_file(const char *path) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        unsigned char buffer[16384];
        ssize_t n;

        while (fd >= 0 && (n = read(fd, buffer, sizeof(buffer))) > 0)
                for (ssize_t i = 0; i < n; i++)
                        hash = (hash ^ buffer[i]) * UINT64_C(0x100000001b3);
        return hash;
}

static int see(const char *path, const struct stat *st, nsrun_unused int kind,
               nsrun_unused struct FTW *place) {
        const char *name = path + walk.root_length;
        char link[4096];
        ssize_t n;

        n = S_ISLNK(st->st_mode) ? readlink(path, link, sizeof(link) - 1) : 0;
        link[n > 0 ? n : 0] = '\0';
        add_line(text_of("%s/ inode %ju mode %o owner %u:%u links %ju size %jd mtime %jd.%09ld ctime "
                         "%jd.%09ld hash %016jx link %s\n",
                         name, (uintmax_t)st->st_ino, st->st_mode, st->st_uid, st->st_gid,
                         (uintmax_t)st->st_nlink, (intmax_t)st->st_size, (intmax_t)st->st_mtim.tv_sec,
                         st->st_mtim.tv_nsec, (intmax_t)st->st_ctim.tv_sec, st->st_ctim.tv_nsec,
                         S_ISREG(st->st_mode) ? (uintmax_t)hash_file(path) : (uintmax_t)0, link));
        return 0;
}

static int compare_lines(const void *a, const void *b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

char *snapshot(const char *path) {
        char *text = NULL;
        size_t size = 0;
        FILE *f;

        walk.n = 0;
        walk.root_length = strlen(path);
        assert_int_equal(nftw(path, see, 32, FTW_PHYS), 0);
        qsort(walk.lines, walk.n, sizeof(*walk.lines), compare_lines);
        f = open_memstream(&text, &size);
        assert_non_null(f);
        for (size_t i = 0; i < walk.n; i++) {
                assert_true(fputs(walk.lines[i], f) >= 0);
                free(walk.lines[i]);
        }
        assert_int_equal(fclose(f), 0);
        free(walk.lines);
        walk.lines = NULL;
        walk.capacity = walk.n = 0;
        return text;
}

/* Prints the lines of `text` that `other` hasn't got. */
void print_missing(const char *sign, const char *text, const char *other) {
        for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
                _cleanup_free_ char *copy = strndup(line, (size_t)(end + 1 - line));

                assert_non_null(copy);
                if (!strstr(other, copy))
                        print_message("%s %s", sign, copy);
        }
}

void expect_unchanged(const char *path, char *before) {
        _cleanup_free_ char *after = snapshot(path);
        bool is_same = streq(before, after);

        if (!is_same) {
                print_missing("before:", before, after);
                print_missing("after: ", after, before);
        }
        free(before);
        if (!is_same)
                fail_msg("%s has changed", path);
}

/* ------------------------------------------------------------------- made */

/* folder/name, in folders below that one which are made, for the caller to free. */
static char *place_of(const char *folder, const char *name) {
        char *path = path_of(folder, name);

        for (char *at = path + strlen(folder) + 1; (at = strchr(at, '/')); *at++ = '/') {
                *at = '\0';
                assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
        }
        return path;
}

void make_folder(const char *folder, const char *name) {
        _cleanup_free_ char *path = place_of(folder, name);

        assert_int_equal(mkdir(path, 0755), 0);
}

void make_file(const char *folder, const char *name, const char *text) {
        _cleanup_free_ char *path = place_of(folder, name);
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

void make_link(const char *folder, const char *name, const char *text) {
        _cleanup_free_ char *path = place_of(folder, name);

        assert_int_equal(symlink(text, path), 0);
}
