/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Paths as strings, and the one question about them that the kernel answers:
 * what is this path really called.  Containment is workspace/'s business. */
#include "path.h"

#include <limits.h>
#include <sys/syscall.h>

#include "file.h"
#include "responds.h"
#include "str.h"
#include "sys.h"

bool path_is_absolute(const char *path) {
        return path[0] == '/';
}

bool path_is_possible(const char *path) {
        size_t n = 0, n_part = 0;

        for (; path[n]; n++) {
                n_part = path[n] == '/' ? 0 : n_part + 1;
                if (n_part > NAME_MAX)
                        return false;
        }
        return n < PATH_MAX;
}

/* Appends the components of `path` to what stands between `start` and `end`, and returns the new end.  The
 * result is at most a byte longer than the text.  Every run comes here some hundreds of times. */
static char *append_components(char *start, char *end, const char *path) {
        while (*path) {
                char *component = end;

                if (*path == '/') {
                        path++;
                        continue;
                }
                *end++ = '/';
                while (*path && *path != '/')
                        *end++ = *path++;
                if (component[1] != '.')
                        continue;
                if (end - component == 2) {
                        end = component;
                } else if (end - component == 3 && component[2] == '.') {
                        end = component;
                        while (end > start && *--end != '/')
                                ;
                }
        }
        return end;
}

static char *finish_components(char *start, char *end) {
        if (end == start)
                *end++ = '/';
        *end = '\0';
        return start;
}

char *path_normalise(const char *path) {
        char *result = malloc(strlen(path) + 2);

        return result ? finish_components(result, append_components(result, result, path)) : NULL;
}

char *path_join(const char *base, const char *path) {
        char *result, *end;

        if (path_is_absolute(path))
                return path_normalise(path);
        result = malloc(strlen(base) + strlen(path) + 3);
        if (!result)
                return NULL;
        end = append_components(result, result, base);
        return finish_components(result, append_components(result, end, path));
}

const char *path_below(const char *path, const char *root) {
        const char *rest;

        if (streq(root, "/"))
                return path + 1;
        rest = startswith(path, root);
        if (!rest || (*rest && *rest != '/'))
                return NULL;
        return *rest ? rest + 1 : rest;
}

char *path_append(const char *folder, const char *name) {
        return str_concat(folder, *folder ? "/" : "", name);
}

bool path_is_beneath(const char *path, const char *root) {
        return path_below(path, root) != NULL;
}

bool path_is_beneath_any(const char *path, const char *const *roots, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (path_is_beneath(path, roots[i]))
                        return true;
        return false;
}

/* A byte's rank for path_compare(): the end of the string before '/', and '/' before every other byte. */
static int path_rank(char c) {
        return c == '\0' ? 0 : c == '/' ? 1 : (int)(unsigned char)c + 1;
}

int path_compare(const char *a, const char *b) {
        for (; *a && *a == *b; a++, b++)
                ;
        return path_rank(*a) - path_rank(*b);
}

const char *path_basename(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

bool path_up(char *path) {
        char *slash = strrchr(path, '/');

        if (!slash || !path[1])
                return false;
        slash[slash == path] = '\0';
        return true;
}

char *path_parent(const char *path) {
        const char *slash = strrchr(path, '/');

        if (!slash || slash == path)
                return strdup("/");
        return strndup(path, (size_t)(slash - path));
}

static int open_named(const char *path, uint64_t resolve) {
        const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve};
        long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

        return fd < 0 ? -errno : (int)fd;
}

/* Opens a path; what lies on another mount only if that answers (-ETIMEDOUT).  -ENOSYS before 5.6, -EPERM
 * under an old container's filter. */
static int open_answering(const char *path, uint64_t resolve) {
        int fd = open_named(path, resolve | RESOLVE_NO_XDEV);

        if (fd == -EXDEV && responds_elsewhere(AT_FDCWD, path) < 0)
                return -ETIMEDOUT;
        return fd == -EXDEV ? open_named(path, resolve) : fd;
}

/* The name that the kernel gives an open file.  -ENOENT where it has none any
 * more: the kernel appends " (deleted)" then, which a real name may end in too,
 * so the name counts only if it leads back to the same file.  -ENOSYS: no /proc. */
static int canonical_name_of(int fd, const struct stat *st, char **ret) {
        _cleanup_free_ char *name = NULL;
        struct stat found;

        errno = 0;
        name = fd_name(fd);
        if (!name)
                return errno == ENAMETOOLONG || errno == ENOMEM ? -errno : -ENOSYS;
        if (name[0] != '/' || lstat(name, &found) < 0 || found.st_dev != st->st_dev ||
            found.st_ino != st->st_ino)
                return -ENOENT;
        *ret = TAKE_PTR(name);
        return 0;
}

/* Through the links, for a path that has some. */
static int canonical_slow(const char *path, char **ret_path, struct stat *ret_st) {
        _cleanup_close_ int fd = open_answering(path, 0);
        int r;

        if (fd == -ENOSYS || fd == -EPERM)
                fd = sys_open(AT_FDCWD, path, O_PATH, 0);
        r = fd < 0 ? fd : fstat(fd, ret_st) < 0 ? -errno : canonical_name_of(fd, ret_st, ret_path);
        if (r != -ENOSYS)
                return r;
        *ret_path = realpath(path, NULL);
        return *ret_path ? 0 : -errno;
}

/* `ret_is_plain` (may be NULL): whether of a path that leads to nothing what there is holds no symlink. */
static int canonical_looked_up(const char *path, char **ret_path, unsigned *ret_mode, bool *ret_is_plain) {
        _cleanup_close_ int fd = -EBADF;
        char *result = NULL;
        struct stat st;

        if (path_is_absolute(path)) {
                /* A path that holds no symlink at all: its normal form is its name. */
                fd = open_answering(path, RESOLVE_NO_SYMLINKS);
                if (ret_is_plain)
                        *ret_is_plain = fd == -ENOENT;
                if (fd == -ENOENT || fd == -ETIMEDOUT)
                        return fd;
        }
        if (fd >= 0) {
                if (ret_mode && fstat(fd, &st) < 0)
                        return -errno;
                result = path_normalise(path);
                if (!result)
                        return -ENOMEM;
        } else {
                int r = canonical_slow(path, &result, &st);

                if (r < 0)
                        return r;
        }
        *ret_path = result;
        if (ret_mode)
                *ret_mode = st.st_mode;
        return 0;
}

/* What a symlink leads to, whose folder is canonical: so that ".." at the beginning of its text is what it
 * says. */
static int canonical_of_link(const char *link, char **ret_path, unsigned *ret_mode) {
        char text[PATH_MAX], *rest = text;
        _cleanup_free_ char *folder = path_parent(link), *path = NULL;
        ssize_t n = readlink(link, text, sizeof(text) - 1);

        text[n < 0 ? 0 : n] = '\0';
        while (startswith(rest, "../"))
                rest += 3;
        if (n <= 0 || text[n - 1] == '/' || strstr(rest, "..") || strstr(rest, "/."))
                return canonical_looked_up(link, ret_path, ret_mode, NULL);
        path = folder ? path_join(folder, text) : NULL;
        return path ? canonical_looked_up(path, ret_path, ret_mode, NULL) : -ENOMEM;
}

int path_canonical_in(const char *path, char **ret_path, unsigned *ret_mode) {
        bool is_mount = false;
        unsigned mode = 0;
        int r = sys_look(path, &mode, &is_mount);
        char *result;

        if (r == -ENOENT)
                return r;
        if (r < 0 || is_mount)
                return canonical_looked_up(path, ret_path, ret_mode, NULL);
        if (S_ISLNK(mode))
                return canonical_of_link(path, ret_path, ret_mode);
        result = strdup(path);
        if (!result)
                return -ENOMEM;
        *ret_path = result;
        if (ret_mode)
                *ret_mode = mode;
        return 0;
}

static int canonical_told(const char *path, char **ret_path, unsigned *ret_mode, bool *ret_is_plain) {
        bool is_at_root = *path == '/' && path[1] && path[1] != '.' && !strchr(path + 1, '/');

        if (ret_is_plain)
                *ret_is_plain = false;
        return is_at_root ? path_canonical_in(path, ret_path, ret_mode)
                          : canonical_looked_up(path, ret_path, ret_mode, ret_is_plain);
}

int path_canonical(const char *path, char **ret_path, unsigned *ret_mode) {
        return canonical_told(path, ret_path, ret_mode, NULL);
}

enum {
        LINKS_MOST = 40, /* that lead nowhere, one to the next */
};

/* Where the symlink `at`, which leads nowhere, would lead, and `rest` below that; NULL: it is none. */
static char *where_link_leads(const char *at, const char *rest) {
        _cleanup_free_ char *parent = path_parent(at), *to = NULL;
        char text[PATH_MAX];
        ssize_t n = readlink(at, text, sizeof(text) - 1);

        if (n <= 0 || !parent)
                return NULL;
        text[n] = '\0';
        to = path_is_absolute(text) ? strdup(text) : path_join(parent, text);
        return to ? path_join(to, rest) : NULL;
}

static int canonical_to_be(const char *path, unsigned links, char **ret_path) {
        _cleanup_free_ char *whole = NULL, *at = NULL, *found = NULL;
        bool is_tried, is_plain = false;
        char *result;
        size_t n;
        int r;

        r = canonical_told(path, ret_path, NULL, &is_plain);
        if (r >= 0)
                return 0;
        if (r == -ETIMEDOUT)
                return r;
        whole = path_normalise(path);
        at = whole ? strdup(whole) : NULL;
        if (!at)
                return -ENOMEM;
        n = strlen(at);
        is_tried = streq(whole, path);
        while ((is_tried || canonical_told(at, &found, NULL, &is_plain) < 0) && n > 1) {
                _cleanup_free_ char *leads =
                        links > 0 && !is_plain ? where_link_leads(at, whole + n + strspn(whole + n, "/"))
                                               : NULL;

                /* Whoever makes what it names has made this. */
                if (leads)
                        return canonical_to_be(leads, links - 1, ret_path);
                while (n > 1 && at[n - 1] != '/')
                        n--;
                n -= n > 1;
                at[n] = '\0';
                is_tried = false;
        }
        result = found ? path_join(found, whole + n + strspn(whole + n, "/")) : NULL;
        if (!result)
                return -ENOMEM;
        *ret_path = result;
        return 0;
}

int path_canonical_to_be(const char *path, char **ret_path) {
        return canonical_to_be(path, LINKS_MOST, ret_path);
}

char *path_slug(const char *path) {
        enum {
                SLUG_MAX = 200
        };
        _cleanup_strbuf_ struct strbuf b = {0};
        uint64_t hash = 0xcbf29ce484222325u;

        for (const char *p = path; *p; p++)
                hash = (hash ^ (unsigned char)*p) * 0x100000001b3u;

        path += strspn(path, "/");
        /* The root: no other path's ends so. */
        if (!*path)
                strbuf_add(&b, "-");
        for (; *path; path++) {
                if (*path == '/')
                        strbuf_add(&b, "-");
                else if (*path == '-' || *path == '%')
                        strbuf_addf(&b, "%%%02x", (unsigned)*path);
                else
                        strbuf_add_bytes(&b, path, 1);
        }
        /* A slug that was cut is longer than any that wasn't, so the two can't be equal. */
        if (!b.has_failed && b.length > SLUG_MAX) {
                b.length = SLUG_MAX;
                strbuf_addf(&b, "-%016llx", (unsigned long long)hash);
        }
        return strbuf_finish(&b);
}
