/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changes of text as a unified diff in git's form, and their count.  Folders, fifos, times and
 * attributes have no place in one: they are lines of a list beside it.  Large files, such of many lines and
 * such with a NUL in them are only named. */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/str.h"
#include "digest.h"
#include "file.h"
#include "internal.h"
#include "lines.h"
#include "tree.h"

#define TEXT_MAX  ((size_t)16 << 20)
#define LINES_MAX ((size_t)500 * 1000) /* each takes 32 bytes more, however short it is */
#define CONTEXT   3

/* One side of a change: what is there, as text. */
struct side {
        mode_t mode; /* 0: nothing that a patch could hold */
        char *text;
        size_t n;
        uint64_t size; /* of the file; more than n where it isn't read */
        bool is_binary;
        struct lines lines;
};

static void side_clear(struct side *s) {
        free(s->text);
        lines_clear(&s->lines);
        *s = (struct side){0};
}

static int patch_read_file(int dir, const char *name, struct side *s) {
        _cleanup_close_ int fd = file_open(dir, name);
        struct stat st;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        s->size = (uint64_t)st.st_size;
        s->is_binary = s->size > TEXT_MAX;
        if (s->is_binary)
                return 0;
        s->text = malloc((size_t)st.st_size + 1);
        if (!s->text)
                return -ENOMEM;
        while (s->n < (size_t)st.st_size) {
                ssize_t n = read(fd, s->text + s->n, (size_t)st.st_size - s->n);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                s->n += (size_t)n;
        }
        s->is_binary = memchr(s->text, '\0', s->n) || lines_count(s->text, s->n) > LINES_MAX;
        return 0;
}

static int read_side(struct tree *t, const char *path, mode_t mode, bool is_mode_alone, struct side *s) {
        const char *name;
        int dir, r;

        if (!S_ISREG(mode) && !S_ISLNK(mode))
                return 0;
        s->mode = S_ISLNK(mode) ? 0120000 : (mode & 0100) ? 0100755 : 0100644;
        if (is_mode_alone)
                return 0;
        dir = tree_parent(t, path, &name);
        if (dir < 0)
                return dir;
        if (S_ISREG(mode))
                r = patch_read_file(dir, name, s);
        else {
                r = file_link_text(dir, name, &s->text);
                s->size = s->n = r < 0 ? 0 : strlen(s->text);
        }
        if (r >= 0 && !s->is_binary)
                r = lines_cut(s->text, s->n, &s->lines);
        return r;
}

struct diff {
        struct tree upper, base;
        const struct change *change;
        int error; /* why it can't be read (errno), or 0 */
        struct side old, new;
};

static void diff_clear(struct diff *d) {
        tree_forget(&d->upper);
        tree_forget(&d->base);
        side_clear(&d->old);
        side_clear(&d->new);
}

static bool is_binary(const struct diff *d) {
        return d->old.is_binary || d->new.is_binary;
}

static bool is_same_content(const struct change *c) {
        return c->kind == CHANGE_RENAMED ||
               (c->kind == CHANGE_MODIFIED && !(c->what & (CHANGE_CONTENT | CHANGE_TYPE)));
}

/* A digest may have been taken of the new side: what is shown must be that. */
static int patch_check_digest(const struct change *c, const struct side *s, int r) {
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

static int read_sides(struct diff *d, const struct change *c) {
        int r = 0;

        if (c->kind != CHANGE_ADDED)
                r = read_side(&d->base, c->from ? c->from : c->path, c->old_mode, is_same_content(c),
                              &d->old);
        if (r >= 0 && c->kind != CHANGE_DELETED)
                r = patch_check_digest(
                        c, &d->new, read_side(&d->upper, c->path, c->new_mode, is_same_content(c), &d->new));
        if (r >= 0 && !is_binary(d))
                r = lines_compare(&d->old.lines, &d->new.lines);
        return r;
}

/* Reads both sides and compares their lines.  -ENOMEM; -ESTALE: not what the digest is of; all else is of
 * this one change, which has d->error then and no sides: a session may keep its files from being read, or
 * swap them. */
static int diff_change(struct diff *d, const struct change *c) {
        int r;

        side_clear(&d->old);
        side_clear(&d->new);
        d->change = c;
        r = c->error ? -c->error : read_sides(d, c);
        d->error = r < 0 ? -r : 0;
        if (r < 0) {
                side_clear(&d->old);
                side_clear(&d->new);
        }
        return r == -ENOMEM || (r == -ESTALE && c->has_digest) ? r : 0;
}

static bool has_text_change(const struct diff *d) {
        return !is_same_content(d->change) && (d->old.size > 0 || d->new.size > 0);
}

static void print_range(FILE *to, char sign, size_t from, size_t n) {
        if (n == 0)
                (void)fprintf(to, " %c%zu,0", sign, from);
        else if (n == 1)
                (void)fprintf(to, " %c%zu", sign, from + 1);
        else
                (void)fprintf(to, " %c%zu,%zu", sign, from + 1, n);
}

static void print_line(FILE *to, char sign, const struct line *l) {
        (void)fputc(sign, to);
        (void)fwrite(l->text, 1, l->length, to);
        if (l->text[l->length - 1] != '\n')
                (void)fputs("\n\\ No newline at end of file\n", to);
}

/* The hunk that begins at the changed lines (x,y): to its end, where the next change is more than twice the
 * context away. */
static void print_hunk(FILE *to, const struct lines *a, const struct lines *b, size_t *x, size_t *y) {
        size_t lead = *x < CONTEXT ? *x : CONTEXT, x0 = *x - lead, y0 = *y - lead, x1 = *x, y1 = *y,
               quiet = 0, i, j;

        while (x1 < a->n || y1 < b->n) {
                bool is_old = x1 < a->n && a->list[x1].is_changed,
                     is_new = y1 < b->n && b->list[y1].is_changed;

                if (!is_old && !is_new && quiet == 2 * CONTEXT)
                        break;
                quiet = is_old || is_new ? 0 : quiet + 1;
                x1 += is_old || !is_new;
                y1 += is_new || !is_old;
        }
        if (quiet > CONTEXT) {
                x1 -= quiet - CONTEXT;
                y1 -= quiet - CONTEXT;
        }
        (void)fputs("@@", to);
        print_range(to, '-', x0, x1 - x0);
        print_range(to, '+', y0, y1 - y0);
        (void)fputs(" @@\n", to);
        for (i = x0, j = y0; i < x1 || j < y1;) {
                if (i < x1 && a->list[i].is_changed)
                        print_line(to, '-', &a->list[i++]);
                else if (j < y1 && b->list[j].is_changed)
                        print_line(to, '+', &b->list[j++]);
                else {
                        print_line(to, ' ', &a->list[i++]);
                        j++;
                }
        }
        *x = x1;
        *y = y1;
}

static void print_hunks(FILE *to, const struct lines *a, const struct lines *b) {
        size_t x = 0, y = 0;

        while (x < a->n || y < b->n) {
                if ((x < a->n && a->list[x].is_changed) || (y < b->n && b->list[y].is_changed))
                        print_hunk(to, a, b, &x, &y);
                else
                        x++, y++;
        }
}

/* As git quotes it, with its "a/" or "b/" within. */
static char *prefixed(const char *prefix, const char *path) {
        _cleanup_free_ char *whole = NULL;

        return asprintf(&whole, "%s%s", prefix, path) < 0 ? NULL : changes_quote(whole);
}

/* patch(1) takes this line's names apart at blanks, and has no others where no hunk follows. */
static void print_first_line(FILE *to, const char *a, const char *b) {
        const char *const names[] = {a, b};

        (void)fputs("diff --git", to);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                const char *quote = names[i][0] != '"' && strchr(names[i], ' ') ? "\"" : "";

                (void)fprintf(to, " %s%s%s", quote, names[i], quote);
        }
        (void)fputc('\n', to);
}

/* A name with a blank in it ends in a tab, so that patch(1) knows where. */
static void print_name(FILE *to, const char *sign, const char *name, bool is_there) {
        if (!is_there)
                (void)fprintf(to, "%s /dev/null\n", sign);
        else
                (void)fprintf(to, "%s %s%s\n", sign, name, name[0] != '"' && strchr(name, ' ') ? "\t" : "");
}

/* git knows a binary file by a header: where there is none to be told, the modes are one. */
static int print_header(FILE *to, const struct change *c, const struct side *old, const struct side *new) {
        _cleanup_free_ char *path = changes_quote(c->path), *from = c->from ? changes_quote(c->from) : NULL;

        if (!path || (c->from && !from))
                return -ENOMEM;
        if (!old->mode)
                (void)fprintf(to, "new file mode %06o\n", new->mode);
        else if (!new->mode)
                (void)fprintf(to, "deleted file mode %06o\n", old->mode);
        else if (old->mode != new->mode || old->is_binary || new->is_binary)
                (void)fprintf(to, "old mode %06o\nnew mode %06o\n", old->mode, new->mode);
        if (from)
                (void)fprintf(to, "similarity index 100%%\nrename from %s\nrename to %s\n", from, path);
        return 0;
}

static int print_file(FILE *to, const struct diff *d, const struct side *old, const struct side *new) {
        const struct change *c = d->change;
        _cleanup_free_ char *a = prefixed("a/", c->from ? c->from : c->path), *b = prefixed("b/", c->path);
        int r;

        if (!a || !b)
                return -ENOMEM;
        /* What a patch says nothing of: times, attributes, bits other than x. */
        if (!has_text_change(d) && old->mode == new->mode && c->kind != CHANGE_RENAMED)
                return 0;
        print_first_line(to, a, b);
        r = print_header(to, c, old, new);
        /* patch(1) tells an empty file from none by git's name of the empty content. */
        if (r >= 0 && old->size == 0 && new->size == 0 && (!old->mode || !new->mode))
                (void)fputs(old->mode ? "index e69de29..0000000\n" : "index 0000000..e69de29\n", to);
        if (r < 0 || !has_text_change(d) || (old->size == 0 && new->size == 0))
                return r;
        if (old->is_binary || new->is_binary) {
                /* git reads the first line and refuses; patch(1) would make an empty file but for the
                 * second, with which it says that it leaves this one out. */
                (void)fprintf(to, "Binary files %s and %s differ\nGIT binary patch\n",
                              old->mode ? a : "/dev/null", new->mode ? b : "/dev/null");
                return 0;
        }
        print_name(to, "---", a, old->mode != 0);
        print_name(to, "+++", b, new->mode != 0);
        print_hunks(to, &old->lines, &new->lines);
        return 0;
}

/* Another type is one thing removed and another added.  So is a symlink's other text: patch(1)
 * changes none. */
static int print_type_change(FILE *to, struct diff *d) {
        const struct side nothing = {0};
        int r;

        for (size_t i = 0; i < d->old.lines.n; i++)
                d->old.lines.list[i].is_changed = true;
        for (size_t i = 0; i < d->new.lines.n; i++)
                d->new.lines.list[i].is_changed = true;
        r = d->old.mode ? print_file(to, d, &d->old, &nothing) : 0;
        return r >= 0 && d->new.mode ? print_file(to, d, &nothing, &d->new) : r;
}

/* A change that can't be read gets a line beginning with "# " in place of its patch, which git apply and
 * patch(1) skip. */
static int print_unreadable(FILE *to, const struct diff *d) {
        _cleanup_free_ char *path = changes_quote(d->change->path);

        if (!path)
                return -ENOMEM;
        (void)fprintf(to, "# %s: it can't be read: %s\n", *path ? path : ".", error_words(d->error));
        return 0;
}

/* Whether a commit does more for a change than its patch tells: all but text, the bit x, and a time that
 * goes with the text. */
static bool is_more_than_text(const struct changes *list, size_t i) {
        const struct change *c = &list->list[i];
        /* A folder comes and goes with what lies in it. */
        bool is_implied = i + 1 < list->n && tree_is_beneath(c[1].path, c->path) && c[1].kind == c->kind;
        bool is_old_plain = c->old_mode == 0 || S_ISREG(c->old_mode) || S_ISLNK(c->old_mode),
             is_new_plain = c->new_mode == 0 || S_ISREG(c->new_mode) || S_ISLNK(c->new_mode);
        mode_t from = c->old_mode & 07777, to = c->new_mode & 07777, from_type = c->old_mode & S_IFMT,
               to_type = c->new_mode & S_IFMT;

        if (S_ISDIR(from_type) || S_ISDIR(to_type))
                return !is_implied || c->kind == CHANGE_MODIFIED || (to & 0002);
        if (!is_old_plain || !is_new_plain)
                return true;
        if (c->kind == CHANGE_ADDED)
                return S_ISREG(c->new_mode) && (to & 0002);
        if (c->what & CHANGE_XATTR)
                return true;
        if (c->what & CHANGE_MODE)
                return (from != 0644 && from != 0755) || (to != 0644 && to != 0755);
        return c->kind != CHANGE_DELETED && (c->what & CHANGE_MTIME) && !(c->what & CHANGE_CONTENT);
}

/* Such a change, or that part of it, as a line that git apply and patch(1) skip. */
static int print_aside(FILE *to, const char *prefix, const struct changes *c, size_t i) {
        if (!is_more_than_text(c, i))
                return 0;
        (void)fputs(prefix, to);
        return changes_print_one(to, &c->list[i]);
}

static void diff_open(struct diff *d, const struct changes_layer *layer) {
        d->upper = (struct tree){.root = layer->upper_fd, .fd = -EBADF};
        d->base = (struct tree){.root = layer->base_fd, .fd = -EBADF};
}

/* A patch can't take a file away to make room for a folder of its name: what goes comes first. */
static int print_patches(FILE *to, struct diff *d, const struct changes *c, char *const *paths,
                         bool is_removal) {
        for (size_t i = 0; i < c->n; i++) {
                const struct change *x = &c->list[i];
                int r;

                if ((x->kind == CHANGE_DELETED) != is_removal || !changes_selects(paths, x))
                        continue;
                r = diff_change(d, x);
                if (r < 0)
                        return r;
                if (d->error)
                        r = print_unreadable(to, d);
                else if (x->kind == CHANGE_MODIFIED && ((x->what & CHANGE_TYPE) || S_ISLNK(x->new_mode)))
                        r = print_type_change(to, d);
                else if (d->old.mode || d->new.mode)
                        r = print_file(to, d, &d->old, &d->new);
                if (r >= 0 && !d->error)
                        r = print_aside(to, "# ", c, i);
                if (r < 0)
                        return r;
        }
        return 0;
}

int changes_print_patch(FILE *to, const struct changes_layer *layer, const struct changes *c,
                        char *const *paths) {
        _cleanup_(diff_clear) struct diff d = {0};
        int r;

        diff_open(&d, layer);
        r = print_patches(to, &d, c, paths, true);
        if (r >= 0)
                r = print_patches(to, &d, c, paths, false);
        return r < 0 ? r : ferror(to) ? -EIO : 0;
}

static size_t count_changed(const struct lines *l) {
        size_t n = 0;

        for (size_t i = 0; i < l->n; i++)
                n += l->list[i].is_changed;
        return n;
}

static bool is_folder_alone(const struct change *c) {
        return (c->old_mode == 0 || S_ISDIR(c->old_mode)) && (c->new_mode == 0 || S_ISDIR(c->new_mode));
}

int changes_print_stat(FILE *to, const struct changes_layer *layer, const struct changes *c,
                       char *const *paths) {
        _cleanup_(diff_clear) struct diff d = {0};
        size_t files = 0, plus = 0, minus = 0;

        diff_open(&d, layer);
        for (size_t i = 0; i < c->n; i++) {
                const struct change *x = &c->list[i];
                _cleanup_free_ char *path = changes_quote(x->path),
                                    *from = x->from ? changes_quote(x->from) : NULL;
                size_t added, removed;
                int r;

                if (!changes_selects(paths, x))
                        continue;
                if (is_folder_alone(x) && !x->error) {
                        if (print_aside(to, " ", c, i) < 0)
                                return -ENOMEM;
                        continue;
                }
                r = diff_change(&d, x);
                if (r < 0 || !path || (x->from && !from))
                        return r < 0 ? r : -ENOMEM;
                files++;
                (void)fprintf(to, " %s%s%s", from ? from : "", from ? " -> " : "", path);
                if (d.error) {
                        (void)fprintf(to, " | ?: %s\n", error_words(d.error));
                        continue;
                }
                if (is_binary(&d)) {
                        (void)fprintf(to, " | Bin %llu -> %llu bytes\n", (unsigned long long)d.old.size,
                                      (unsigned long long)d.new.size);
                        continue;
                }
                added = count_changed(&d.new.lines);
                removed = count_changed(&d.old.lines);
                (void)fprintf(to, " | %zu +%zu -%zu\n", added + removed, added, removed);
                plus += added;
                minus += removed;
        }
        if (files > 0)
                (void)fprintf(to, " %zu file%s changed, +%zu -%zu\n", files, files == 1 ? "" : "s", plus,
                              minus);
        return ferror(to) ? -EIO : 0;
}
