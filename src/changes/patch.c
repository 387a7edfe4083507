/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changes of text as a stream for git fast-import(1): two commits, of what was there and of what is there
 * now, between which git tells the difference.  Folders, fifos, times and attributes have no place in a
 * patch: they are lines of a list beside it, and so is what git takes no name for. */
#include <sys/random.h>

#include "base/file.h"
#include "base/str.h"
#include "digest.h"
#include "file.h"

/* Larger files, and what comes after so many bytes of all, are only named: as binary. */
#define TEXT_MAX  ((uint64_t)16 << 20)
#define TOTAL_MAX ((uint64_t)128 << 20)

/* One side of a change: what is there, as text. */
struct side {
        mode_t mode; /* 0: nothing that a patch could hold */
        char *text;  /* NULL with a size: it is too large */
        size_t n;
        uint64_t size;
};

struct export {
        struct changes_export *asked;
        const struct changes *changes;
        struct tree upper, base;
        uint64_t left;
        /* What stands for content that isn't written begins with this: were it known, a session could write
         * that very content elsewhere, and git would take the two for one. */
        char nonce[33];
        int *error; /* of each change: why it is left out (errno), or 0 */
};

static void export_clear(struct export *e) {
        tree_forget(&e->upper);
        tree_forget(&e->base);
        free(e->error);
}

static void side_clear(struct side *s) {
        free(s->text);
}

static int export_read_file(struct export *e, int dir, const char *name, struct side *s) {
        _cleanup_close_ int fd = file_open(dir, name);
        struct stat st;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        s->size = (uint64_t)st.st_size;
        if (s->size > TEXT_MAX || s->size > e->left)
                return 0;
        s->text = malloc((size_t)s->size + 1);
        if (!s->text)
                return -ENOMEM;
        e->left -= s->size;
        return read_full(fd, s->text, (size_t)s->size, &s->n);
}

static bool is_same_content(const struct change *c) {
        return c->kind == CHANGE_RENAMED ||
               (c->kind == CHANGE_MODIFIED && !(c->what & (CHANGE_CONTENT | CHANGE_TYPE)));
}

static int read_side(struct export *e, const struct change *c, bool is_new, struct side *s) {
        mode_t mode = is_new ? c->new_mode : c->old_mode;
        const char *path = c->from && !is_new ? c->from : c->path, *name;
        int dir;

        if (!S_ISREG(mode) && !S_ISLNK(mode))
                return 0;
        s->mode = S_ISLNK(mode) ? 0120000 : (mode & 0100) ? 0100755 : 0100644;
        /* The same and nothing else's: git tells a rename by it. */
        if (is_same_content(c)) {
                s->text = str_concat(e->nonce, c->path, "");
                s->size = s->n = s->text ? strlen(s->text) : 0;
                return s->text ? 0 : -ENOMEM;
        }
        dir = tree_parent(is_new ? &e->upper : &e->base, path, &name);
        if (dir < 0)
                return dir;
        if (S_ISREG(mode))
                return export_read_file(e, dir, name, s);
        if (file_link_text(dir, name, &s->text) < 0)
                return -EINVAL;
        s->size = s->n = strlen(s->text);
        return 0;
}

/* A digest may have been taken of the new side: what is shown must be that. */
static int export_check_digest(const struct change *c, const struct side *s, int r) {
        unsigned char digest[SHA256_SIZE];

        if (!c->has_digest)
                return r;
        if (r < 0)
                return r == -ENOMEM ? r : -ESTALE;
        if (s->mode == 0 || is_same_content(c))
                return 0;
        if (!s->text)
                return s->size == c->new_size ? 0 : -ESTALE;
        digest_text(s->text, s->n, digest);
        return memcmp(digest, c->digest, sizeof(digest)) == 0 ? 0 : -ESTALE;
}

/* Git's own names, which fast-import refuses, and git apply would. */
static bool is_gits_name(const char *path, bool is_link) {
        for (const char *at = path; at; at = strchr(at, '/')) {
                size_t n;

                at += *at == '/';
                n = strcspn(at, "/");
                if ((n == 4 && strncasecmp(at, ".git", n) == 0) ||
                    (is_link && n == 11 && strncasecmp(at, ".gitmodules", n) == 0))
                        return true;
        }
        return false;
}

static bool is_gits(const struct change *c) {
        const bool is_link = S_ISLNK(c->old_mode) || S_ISLNK(c->new_mode);

        return is_gits_name(c->path, is_link) || (c->from && is_gits_name(c->from, is_link));
}

static bool has_side(mode_t mode) {
        return S_ISREG(mode) || S_ISLNK(mode);
}

static bool is_exported(const struct export *e, size_t i) {
        const struct change *c = &e->changes->list[i];

        return changes_selects(e->asked->paths, c) && !e->error[i] && !is_gits(c);
}

static bool is_too_large(const struct side *s) {
        return !s->text && s->size > 0;
}

static int write_side(const struct export *e, FILE *to, const struct change *c, bool is_new,
                      const struct side *s) {
        _cleanup_free_ char *path = changes_quote(c->from && !is_new ? c->from : c->path), *instead = NULL;
        int n = 0;

        /* A NUL makes it binary for git, and the first word another content. */
        if (!path || (is_too_large(s) &&
                      (n = asprintf(&instead, "%s%s%c%s%llu bytes", e->nonce, is_new ? "new" : "old", 0,
                                    c->path, (unsigned long long)s->size)) < 0))
                return -ENOMEM;
        (void)fprintf(to, "M %06o inline %s\ndata %zu\n", s->mode, path, instead ? (size_t)n : s->n);
        (void)fwrite(instead ? instead : s->text ? s->text : "", 1, instead ? (size_t)n : s->n, to);
        (void)fputc('\n', to);
        return 0;
}

/* Reads one side and writes it.  -ENOMEM; -ESTALE: not what the digest is of; all else is of this one
 * change: a session may keep its files from being read, or swap them. */
static int export_side(struct export *e, size_t i, bool is_new) {
        const struct change *c = &e->changes->list[i];
        _cleanup_(side_clear) struct side s = {0};
        int r;

        if (!is_exported(e, i))
                return 0;
        r = c->error ? -c->error : read_side(e, c, is_new, &s);
        if (is_new)
                r = export_check_digest(c, &s, r);
        if (r == -ENOMEM || (r == -ESTALE && c->has_digest))
                return r;
        if (r >= 0 && is_too_large(&s) && e->asked->counts)
                r = -EFBIG;
        e->error[i] = r < 0 ? -r : 0;
        return r < 0 || !s.mode ? 0 : write_side(e, e->asked->stream, c, is_new, &s);
}

static int export_sides(struct export *e, bool is_new) {
        int r = 0;

        (void)fprintf(e->asked->stream, "commit refs/heads/%s\ncommitter nsrun <> 0 +0000\ndata 0\n%s",
                      is_new ? "new" : "old", is_new ? "from refs/heads/old\n" : "");
        for (size_t i = 0; is_new && i < e->changes->n && r >= 0; i++) {
                const struct change *c = &e->changes->list[i];
                _cleanup_free_ char *path = changes_quote(c->from ? c->from : c->path);

                r = path ? 0 : -ENOMEM;
                if (r >= 0 && is_exported(e, i) && has_side(c->old_mode) &&
                    (c->from || !has_side(c->new_mode)))
                        (void)fprintf(e->asked->stream, "D %s\n", path);
        }
        for (size_t i = 0; i < e->changes->n && r >= 0; i++)
                r = export_side(e, i, is_new);
        return r;
}

/* Whether a commit does more for a change than its patch tells: all but text, the bit x, and a time that
 * goes with the text. */
static bool is_more_than_text(const struct changes *list, size_t i) {
        const struct change *c = &list->list[i];
        /* A folder comes and goes with what lies in it. */
        bool is_implied = i + 1 < list->n && tree_is_beneath(c[1].path, c->path) && c[1].kind == c->kind;
        mode_t from = c->old_mode & 07777, to = c->new_mode & 07777;

        if (S_ISDIR(c->old_mode) || S_ISDIR(c->new_mode))
                return !is_implied || c->kind == CHANGE_MODIFIED || (to & 0002);
        if ((c->old_mode && !has_side(c->old_mode)) || (c->new_mode && !has_side(c->new_mode)) || is_gits(c))
                return true;
        if (c->kind == CHANGE_ADDED)
                return S_ISREG(c->new_mode) && (to & 0002);
        if (c->what & CHANGE_XATTR)
                return true;
        if (c->what & CHANGE_MODE)
                return (from != 0644 && from != 0755) || (to != 0644 && to != 0755);
        return c->kind != CHANGE_DELETED && (c->what & CHANGE_MTIME) && !(c->what & CHANGE_CONTENT);
}

/* What git isn't told of a change, as a line that git apply skips; or beside its counts. */
static int print_aside(const struct export *e, size_t i) {
        const struct change *c = &e->changes->list[i];
        const int error = e->error[i] ? e->error[i] : c->error;
        _cleanup_free_ char *path = changes_quote(c->path);
        const char *shown = path && *path ? path : ".";
        FILE *to = e->asked->aside;
        const bool counts = e->asked->counts;

        if (!path)
                return -ENOMEM;
        if (error == EFBIG && counts)
                (void)fprintf(to, " %s | Bin %llu -> %llu bytes\n", shown, (unsigned long long)c->old_size,
                              (unsigned long long)c->new_size);
        else if (error)
                (void)fprintf(to, counts ? " %s | ?: %s\n" : "# %s: it can't be read: %s\n", shown,
                              error_words(error));
        else if (is_more_than_text(e->changes, i)) {
                (void)fputs(counts ? " " : "# ", to);
                return changes_print_one(to, c);
        }
        return 0;
}

static int draw_nonce(char to[33]) {
        unsigned char bytes[16];

        if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
                return -EIO;
        str_hex(bytes, sizeof(bytes), to);
        return 0;
}

int changes_export(struct changes_export *asked, const struct changes_layer *layer,
                   const struct changes *c) {
        _cleanup_(export_clear) struct export e = {
                .asked = asked,
                .changes = c,
                .upper = {.root = layer->upper_fd, .fd = -EBADF},
                .base = {.root = layer->base_fd, .fd = -EBADF},
                .left = TOTAL_MAX,
                .error = calloc(c->n + 1, sizeof(*e.error)),
        };
        int r = e.error ? draw_nonce(e.nonce) : -ENOMEM;

        if (r >= 0)
                r = export_sides(&e, false);

        if (r >= 0)
                r = export_sides(&e, true);
        for (size_t i = 0; i < c->n && r >= 0; i++)
                if (changes_selects(asked->paths, &c->list[i]))
                        r = print_aside(&e, i);
        return r < 0 ? r : ferror(asked->stream) || ferror(asked->aside) ? -EIO : 0;
}
