/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file of folders that commands could write.  Readers take no lock: a line that is being written has
 * no newline yet, and doesn't count, since its command has not started.  Writers hold the file's lock. */
#include "exposed.h"

#include <sys/file.h>
#include <sys/statvfs.h>

#include "base/file.h"
#include "base/path.h"
#include "base/responds.h"
#include "base/str.h"
#include "host/user.h"
#include "rundir.h"

enum {
        MOST_BYTES = 256 * 1024,                 /* of the file: some 4,000 folders */
        KEPT_BYTES = MOST_BYTES - MOST_BYTES / 4 /* the most that is left when dead lines are taken out */
};

/* What a file says that had no room for more: from then on nothing is known. */
static const char full_line[] = "full\n";

static const char state_hint[] = "set XDG_STATE_HOME to a folder of your own on a local disk";

/* ----------------------------------------------------------------------- where */

int exposed_find_state_home(char **ret, struct nsrun_error *err) {
        int r = user_find_folder("XDG_STATE_HOME", ".local/state", ret);

        return r == -ENOENT   ? error_set(err, NSRUN_STAGE_WORKSPACE, r, NULL,
                                          "neither HOME nor XDG_STATE_HOME names a folder", state_hint)
               : r == -ENOMEM ? error_oom(err)
                              : 0;
}

int exposed_find_base(char **ret, struct nsrun_error *err) {
        return rundir_find_in(exposed_find_state_home, ret, err);
}

static bool is_own(int fd, const struct stat *st) {
        return st->st_uid == geteuid() && !user_writers(fd, st, (char[USER_WRITERS_SIZE]){0});
}

/* Whether folders can be made below `path`'s nearest folder that exists.  Root makes none in another
 * user's home, where that user would need it. */
static bool is_own_place(const char *path) {
        _cleanup_free_ char *at = strdup(path);
        struct stat st;

        while (at && stat(at, &st) < 0)
                if (errno != ENOENT || !path_up(at))
                        return false;
        return at && (geteuid() != 0 || st.st_uid == 0) &&
               faccessat(AT_FDCWD, at, W_OK | X_OK, AT_EACCESS) == 0;
}

int exposed_open_base(void) {
        _cleanup_free_ char *home = NULL, *canonical = NULL, *path = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r = exposed_find_state_home(&home, NULL);

        if (r >= 0)
                r = path_canonical(home, &canonical, NULL);
        if (r == -ENOENT && home)
                r = path_canonical_to_be(home, &canonical);
        if (r < 0)
                return r;
        path = path_join(canonical, "nsrun");
        if (!path)
                return -ENOMEM;
        fd = responds_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (fd == -ENOENT) {
                if (!is_own_place(path))
                        return -EACCES;
                r = rundir_make_folders(path);
                if (r < 0)
                        return r;
                fd = responds_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        }
        if (fd < 0 || fstat(fd, &st) < 0)
                return fd < 0 ? fd : -errno;
        return is_own(fd, &st) ? TAKE_FD(fd) : -EACCES;
}

int exposed_make_base(void) {
        _cleanup_close_ int fd = exposed_open_base();

        return fd < 0 ? fd : 0;
}

/* --------------------------------------------------------------------- reading */

/* The lines' form: whoever breaks it, nothing in the file is believed. */
static bool is_line(const char *line, size_t n) {
        return n > 3 && strchr("wpn", line[0]) && line[1] == ' ' && line[2] == '/' && !memchr(line, '\0', n);
}

static bool is_well_formed(const char *text) {
        for (const char *line = text, *end; *line; line = end + 1) {
                end = strchr(line, '\n');
                if (!is_line(line, (size_t)(end - line)))
                        return false;
        }
        return true;
}

/* Reads the whole lines of the file; *ret_torn (may be NULL) is how many bytes follow the last of them.
 * -EBADMSG: it can't be believed. */
static int read_lines(int fd, char **ret, size_t *ret_torn) {
        _cleanup_free_ char *text = NULL;
        struct stat st;
        size_t n = 0, whole;
        int r;

        if (fstat(fd, &st) < 0)
                return -errno;
        r = is_own(fd, &st) ? read_bytes_fd(fd, MOST_BYTES, &text, &n) : -EBADMSG;
        if (r < 0)
                return r == -ENOMEM ? r : -EBADMSG;
        for (whole = n; whole > 0 && text[whole - 1] != '\n';)
                whole--;
        if (ret_torn)
                *ret_torn = n - whole;
        text[whole] = '\0';
        if (strlen(text) != whole || !is_well_formed(text))
                return -EBADMSG;
        *ret = TAKE_PTR(text);
        return 0;
}

int exposed_read(struct exposed *ret) {
        _cleanup_free_ char *base = NULL;
        int r = exposed_find_base(&base, NULL);

        *ret = (struct exposed){.state = EXPOSED_NOWHERE};
        return r == -ENOMEM ? r : exposed_read_in(base, ret);
}

int exposed_read_in(const char *base, struct exposed *ret) {
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        *ret = (struct exposed){.state = EXPOSED_NOWHERE};
        if (!base)
                return 0;
        path = path_join(base, "exposed");
        if (!path)
                return -ENOMEM;
        fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0) {
                ret->state = errno != ENOENT      ? EXPOSED_UNKNOWN
                             : is_own_place(base) ? EXPOSED_NOTHING
                                                  : EXPOSED_NOWHERE;
                return 0;
        }
        r = read_lines(fd, &ret->text, NULL);
        ret->state = r < 0 ? EXPOSED_UNKNOWN : EXPOSED_KNOWN;
        return r == -ENOMEM ? r : 0;
}

void exposed_clear(struct exposed *known) {
        free(known->text);
        *known = (struct exposed){0};
}

/* A path as the file has it: a newline is "\n", a backslash "\\". */
static char *to_line(const char *path) {
        char *text = malloc(2 * strlen(path) + 1), *to = text;

        for (; text && *path; path++)
                if (*path == '\n' || *path == '\\') {
                        *to++ = '\\';
                        *to++ = *path == '\n' ? 'n' : '\\';
                } else {
                        *to++ = *path;
                }
        if (text)
                *to = '\0';
        return text;
}

static char *from_line(const char *line, size_t n) {
        char *path = malloc(n + 1), *to = path;

        for (size_t i = 0; path && i < n; i++)
                if (line[i] == '\\' && i + 1 < n)
                        *to++ = line[++i] == 'n' ? '\n' : line[i];
                else
                        *to++ = line[i];
        if (path)
                *to = '\0';
        return path;
}

/* Whether the folder of a line, `n` bytes long, is `path` or holds it; both as the file has them. */
static bool is_around(const char *folder, size_t n, const char *path) {
        return strncmp(path, folder, n) == 0 && (!path[n] || path[n] == '/' || n == 1);
}

int exposed_next(const struct exposed *known, const char *path, const char **at, char **ret) {
        _cleanup_free_ char *wanted = to_line(path);
        const char *end;

        if (!wanted)
                return -ENOMEM;
        for (const char *line = *at ? *at : known->text; line && *line; line = end + 1) {
                end = strchr(line, '\n');
                if (line[0] != 'w' || !is_around(line + 2, (size_t)(end - line) - 2, wanted))
                        continue;
                *at = end + 1;
                *ret = from_line(line + 2, (size_t)(end - line) - 2);
                return *ret ? 1 : -ENOMEM;
        }
        return 0;
}

bool exposed_is_known(const struct exposed *known, const char *path) {
        _cleanup_free_ char *folder = NULL;
        const char *at = NULL;

        return exposed_next(known, path, &at, &folder) > 0;
}

/* The letter of the last line "p PATH" or "n PATH"; 0: there is none. */
static char last_word(const char *text, const char *path) {
        size_t n = strlen(path);
        char last = 0;

        for (const char *line = text, *end; line && *line; line = end + 1) {
                end = strchr(line, '\n');
                if (line[0] != 'w' && (size_t)(end - line) == n + 2 && memcmp(line + 2, path, n) == 0)
                        last = line[0];
        }
        return last;
}

bool exposed_was_project(const struct exposed *known, const char *path) {
        _cleanup_free_ char *wanted = to_line(path);

        return wanted && last_word(known->text, wanted) == 'p';
}

/* --------------------------------------------------------------------- writing */

/* Whether nothing can be written down because this user has no place for it, in no run: where what is
 * known is asked for, the answer is then that nothing is known. */
static bool is_nowhere(int r) {
        return r == -ENOENT || r == -EACCES || r == -EPERM || r == -EROFS || r == -ENOTDIR || r == -ELOOP;
}

/* Opens and locks the file, which is made if it is missing. */
static int lock_file(int folder) {
        for (;;) {
                _cleanup_close_ int fd =
                        openat(folder, "exposed",
                               O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
                struct stat st;
                int r;

                if (fd < 0)
                        return -errno;
                do
                        r = flock(fd, LOCK_EX) < 0 ? -errno : 0;
                while (r == -EINTR);
                if (r < 0 || fstat(fd, &st) < 0)
                        return r < 0 ? r : -errno;
                /* Another writer has replaced the file meanwhile: its successor is the one to lock. */
                if (st.st_nlink > 0)
                        return TAKE_FD(fd);
        }
}

/* Whether a line says something that `text` doesn't: of a folder in a known one nothing new is said. */
static bool is_news(const char *text, const char *line) {
        char last;

        if (line[0] != 'w') {
                last = last_word(text, line + 2);
                return line[0] == 'n' ? last == 'p' : last != 'p';
        }
        for (const char *known = text, *end; *known; known = end + 1) {
                end = strchr(known, '\n');
                if (known[0] == 'w' && is_around(known + 2, (size_t)(end - known) - 2, line + 2))
                        return false;
        }
        return true;
}

/* Whether a line can be taken out: its folder is gone, and doesn't lie on a disk that may come back. */
static bool is_dead(const char *line, size_t n) {
        static const char *const places[] = {"/mnt", "/media", "/run/media"};
        _cleanup_free_ char *path = from_line(line + 2, n - 2);
        struct stat st;

        return path && !path_is_beneath_any(path, places, ARRAY_SIZE(places)) && lstat(path, &st) < 0 &&
               errno == ENOENT;
}

/* Replaces the file by one with the lines that are not dead, and the new ones.  If those are too many
 * still, the file says so. */
static int replace(int folder, const char *text, const char *news) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *left = NULL;
        int r;

        for (const char *line = text, *end; *line; line = end + 1) {
                end = strchr(line, '\n');
                if (!is_dead(line, (size_t)(end - line)))
                        strbuf_add_bytes(&b, line, (size_t)(end - line) + 1);
        }
        strbuf_add(&b, news);
        left = strbuf_finish(&b);
        if (!left)
                return -ENOMEM;
        (void)unlinkat(folder, "exposed.new", 0);
        fd = openat(folder, "exposed.new", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        r = fd < 0                       ? -errno
            : strlen(left) <= KEPT_BYTES ? write_full(fd, left, strlen(left))
                                         : write_full(fd, full_line, strlen(full_line));
        if (r >= 0 && (fsync(fd) < 0 || renameat(folder, "exposed.new", folder, "exposed") < 0))
                r = -errno;
        if (r < 0)
                (void)unlinkat(folder, "exposed.new", 0);
        return r;
}

/* Appends the lines that say something new to the locked file. */
static int write_news(int folder, int fd, char *const *lines) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *text = NULL, *news = NULL;
        size_t torn = 0;
        struct stat st;
        int r = read_lines(fd, &text, &torn);

        if (r < 0)
                return r == -EBADMSG ? 0 : r; /* nothing is known, whatever is added */
        STRV_FOREACH (line, lines) {
                _cleanup_free_ char *escaped = to_line(*line);

                if (!escaped)
                        return -ENOMEM;
                if (is_news(text, escaped))
                        strbuf_addf(&b, "%s\n", escaped);
        }
        news = strbuf_finish(&b);
        if (!news)
                return -ENOMEM;
        if (!*news)
                return 0;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (strlen(text) + strlen(news) > MOST_BYTES)
                return replace(folder, text, news);
        /* A writer was killed, or the disk was full, in the midst of a line. */
        if (torn > 0 && ftruncate(fd, st.st_size - (off_t)torn) < 0)
                return -errno;
        r = write_full(fd, news, strlen(news));
        if (r >= 0 && fdatasync(fd) < 0)
                r = -errno;
        if (r < 0)
                (void)ftruncate(fd, st.st_size - (off_t)torn);
        return r;
}

/* Whether it is files that there is no room for, where the folder is or is to be. */
static bool is_without_inodes(const char *path) {
        _cleanup_free_ char *at = path ? strdup(path) : NULL;
        struct statvfs found;

        while (at && statvfs(at, &found) < 0)
                if (errno != ENOENT || !path_up(at))
                        return false;
        return at && found.f_files > 0 && found.f_favail == 0;
}

/* `line`: the first that was to be written, of a folder that a command may write. */
static int refuse_unwritten(int r, const char *line, struct nsrun_error *err) {
        _cleanup_free_ char *path = NULL, *fix = NULL, *folder = str_visible(line + 2);

        if (!folder)
                return error_oom(err);
        /* Without a descriptor it can't be found. */
        (void)exposed_find_base(&path, NULL);
        fix = str_concat(
                r == -ENOSPC && is_without_inodes(path)
                        ? "remove files there, as no inodes are left (df -i), or "
                : r == -ENOSPC || r == -EDQUOT ? "make room there, or "
                                               : "",
                "set XDG_STATE_HOME to a folder of your own on a local disk: later runs couldn't tell which "
                "symlinks are yours in ",
                folder);
        return fix ? error_set(err, NSRUN_STAGE_WORKSPACE, r, path,
                               "what a command may write can't be written down", fix)
                   : error_oom(err);
}

int exposed_try(char *const *lines, struct nsrun_error *err) {
        _cleanup_close_ int folder = -EBADF, fd = -EBADF;
        int r;

        if (!lines || !*lines)
                return 0;
        r = folder = exposed_open_base();
        if (r < 0)
                return is_nowhere(r) ? 0 : refuse_unwritten(r, *lines, err);
        fd = openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
        /* Not every file system has files without a name. */
        r = fd < 0 ? (errno == ENOSPC || errno == EDQUOT || errno == EMFILE ? -errno : 0)
                   : write_full(fd, *lines, strlen(*lines));
        if (r >= 0 && fd >= 0 && fdatasync(fd) < 0)
                r = -errno;
        return r < 0 ? refuse_unwritten(r, *lines, err) : 0;
}

int exposed_add(char *const *lines, struct nsrun_error *err) {
        _cleanup_close_ int folder = -EBADF, fd = -EBADF;
        int r;

        if (!lines || !*lines)
                return 0;
        r = folder = exposed_open_base();
        if (r >= 0)
                r = fd = lock_file(folder);
        if (r >= 0)
                r = write_news(folder, fd, lines);
        if (r >= 0 || is_nowhere(r))
                return 0;
        return refuse_unwritten(r, *lines, err);
}
