/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changes as a list and as JSON.  Names are somebody hostile's: what could draw on a
 * terminal is quoted.  Reads no file. */
#include "base/str.h"
#include "internal.h"

static bool needs_quotes(const char *path) {
        _cleanup_free_ char *shown = str_visible(path);
        size_t n = strlen(path);

        return !shown || !streq(shown, path) || strpbrk(path, "\"\\") || strstr(path, " -> ") ||
               (n > 0 && (path[0] == ' ' || path[n - 1] == ' '));
}

char *changes_quote(const char *path) {
        _cleanup_strbuf_ struct strbuf b = {0};
        static const char letters[] = "\aa\bb\tt\nn\vv\ff\rr\"\"\\\\";

        if (!needs_quotes(path))
                return strdup(path);
        strbuf_add(&b, "\"");
        for (const char *s = path; *s; s++) {
                const unsigned char c = (unsigned char)*s;
                const char *letter = NULL;

                for (const char *l = letters; *l && !letter; l += 2)
                        letter = *l == *s ? l + 1 : NULL;
                if (letter)
                        strbuf_addf(&b, "\\%c", *letter);
                else if (c < ' ' || c >= 0x7f)
                        strbuf_addf(&b, "\\%03o", c);
                else
                        strbuf_add_bytes(&b, s, 1);
        }
        strbuf_add(&b, "\"");
        return strbuf_finish(&b);
}

static const char *const kinds[] = {
        [CHANGE_ADDED] = "added",
        [CHANGE_MODIFIED] = "modified",
        [CHANGE_DELETED] = "deleted",
        [CHANGE_RENAMED] = "renamed",
};

static const struct {
        unsigned flag;
        const char *word;
} aspects[] = {
        {CHANGE_TYPE, "type"},   {CHANGE_CONTENT, "content"}, {CHANGE_MODE, "mode"},
        {CHANGE_MTIME, "mtime"}, {CHANGE_XATTR, "xattr"},
};

static char letter_of(const struct change *c) {
        if (c->kind == CHANGE_MODIFIED && (c->what & CHANGE_TYPE))
                return 'T';
        return "AMDR"[c->kind];
}

static const char *slash_of(mode_t mode) {
        return S_ISDIR(mode) ? "/" : "";
}

/* What is more than a change of content. */
static void print_aspects(FILE *to, const struct change *c) {
        const char *separator = " (";
        bool has_content = (c->what & CHANGE_CONTENT) != 0;

        /* What others may write to is told of what is new, too. */
        if (c->kind == CHANGE_ADDED && !S_ISLNK(c->new_mode) && (c->new_mode & 0002))
                (void)fprintf(to, " (mode %04o)", c->new_mode & 07777);
        if (c->kind != CHANGE_MODIFIED && c->kind != CHANGE_RENAMED)
                return;
        for (size_t i = 0; i < ARRAY_SIZE(aspects); i++) {
                /* A new content has a new time. */
                if (!(c->what & aspects[i].flag) || aspects[i].flag == CHANGE_CONTENT ||
                    aspects[i].flag == CHANGE_TYPE || (aspects[i].flag == CHANGE_MTIME && has_content))
                        continue;
                (void)fprintf(to, "%s%s", separator, aspects[i].word);
                if (aspects[i].flag == CHANGE_MODE)
                        (void)fprintf(to, " %04o -> %04o", c->old_mode & 07777, c->new_mode & 07777);
                separator = ", ";
        }
        if (streq(separator, ", "))
                (void)fputs(")", to);
}

int changes_print_one(FILE *to, const struct change *c) {
        _cleanup_free_ char *path = changes_quote(c->path), *from = c->from ? changes_quote(c->from) : NULL;

        if (!path || (c->from && !from))
                return -ENOMEM;
        (void)fprintf(to, "%c%c ", letter_of(c), c->error ? '?' : c->has_conflict ? '!' : ' ');
        if (from)
                (void)fprintf(to, "%s -> ", from);
        (void)fprintf(to, "%s%s", *path ? path : ".",
                      slash_of(c->kind == CHANGE_DELETED || !*path ? c->old_mode : c->new_mode));
        print_aspects(to, c);
        if (c->error)
                (void)fprintf(to, ": %s", error_words(c->error));
        (void)fputc('\n', to);
        return 0;
}

int changes_print_list(FILE *to, const struct changes *c, char *const *paths) {
        for (size_t i = 0; i < c->n; i++) {
                int r = changes_selects(paths, &c->list[i]) ? changes_print_one(to, &c->list[i]) : 0;

                if (r < 0)
                        return r;
        }
        return ferror(to) ? -EIO : 0;
}

static const char *type_of(mode_t mode) {
        switch (mode & S_IFMT) {
        case S_IFDIR:
                return "folder";
        case S_IFREG:
                return "file";
        case S_IFLNK:
                return "symlink";
        case S_IFIFO:
                return "fifo";
        case S_IFSOCK:
                return "socket";
        default:
                return "device";
        }
}

/* A name whose bytes JSON can't carry is there a second time, as git quotes it. */
static int add_path(struct json_document *d, struct json_value *v, const char *key, const char *key_quoted,
                    const char *path) {
        _cleanup_free_ char *quoted = changes_quote(path);

        if (!quoted)
                return -ENOMEM;
        json_add_string(d, v, key, path);
        if (quoted[0] == '"')
                json_add_string(d, v, key_quoted, quoted);
        return 0;
}

static void add_side(struct json_document *d, struct json_value *v, const char *key, mode_t mode,
                     uint64_t size) {
        struct json_value *side;
        char octal[8];

        if (mode == 0)
                return;
        side = json_add_object(d, v, key);
        (void)snprintf(octal, sizeof(octal), "%04o", mode & 07777U);
        json_add_string(d, side, "type", type_of(mode));
        json_add_string(d, side, "mode", octal);
        if (S_ISREG(mode))
                json_add_number(d, side, "size", size);
}

static int changes_print_add_change(struct json_document *d, struct json_value *list,
                                    const struct change *c) {
        struct json_value *v = json_add_object(d, list, NULL), *what;
        int r;

        json_add_string(d, v, "kind", kinds[c->kind]);
        r = add_path(d, v, "path", "path_quoted", c->path);
        if (r >= 0 && c->from)
                r = add_path(d, v, "from", "from_quoted", c->from);
        if (r < 0)
                return r;
        what = json_add_array(d, v, "what");
        for (size_t i = 0; i < ARRAY_SIZE(aspects); i++)
                if (c->what & aspects[i].flag)
                        json_add_string(d, what, NULL, aspects[i].word);
        add_side(d, v, "old", c->old_mode, c->old_size);
        add_side(d, v, "new", c->new_mode, c->new_size);
        json_add_bool(d, v, "conflict", c->has_conflict);
        if (c->is_ignored)
                json_add_bool(d, v, "ignored", true);
        if (c->is_left_out)
                json_add_bool(d, v, "left_out", true);
        if (c->error)
                json_add_string(d, v, "error", error_words(c->error));
        return 0;
}

int changes_add_json(struct json_document *d, struct json_value *list, const struct changes *c,
                     char *const *paths) {
        for (size_t i = 0; i < c->n; i++) {
                int r = changes_selects(paths, &c->list[i]) ? changes_print_add_change(d, list, &c->list[i])
                                                            : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}
