/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tools glob and grep: walks through folders of the session. */
#include <fcntl.h>
#include <inttypes.h>

#include "agent/command.h"
#include "base/array.h"
#include "base/sys.h"
#include "file.h"
#include "pattern.h"

#define CHUNK ((size_t)64 * 1024)

enum {
        SEARCH_DEPTH_MOST = 64,
        SEARCH_ENTRIES_MOST = 200000,
        SEARCH_MS_MOST = 60000,
        SEARCH_LINE_MOST = 64 * 1024, /* bytes of a line that are looked at */
        SEARCH_SHOWN_MOST = 500,      /* of a line that was found */
};

struct search {
        struct call *call;
        struct tool_answer *answer;
        struct nsrun_error *err;
        struct json_document structure;
        struct json_value *list;
        struct pattern *glob, *lines; /* NULL: all */
        size_t n_seen, n_found;
        uint64_t end_ms;
        const char *cut; /* why not all was looked at; NULL: it was */
        char *buffer;
};

struct entry {
        char *name;
        mode_t type;
};

struct entries {
        struct entry *items;
        size_t n;
        struct search *search;
};

/* Whether the search is to end: all the rest is left out. */
static bool is_over(struct search *s) {
        if (s->call->is_cancelled)
                s->cut = "the call was cancelled";
        else if (command_now_ms() > s->end_ms)
                s->cut = "it took more than a minute";
        return s->cut != NULL;
}

static int add_found(void *data, const char *name, mode_t type) {
        struct entries *e = data;
        struct entry entry = {.type = type};

        if (++e->search->n_seen > SEARCH_ENTRIES_MOST) {
                e->search->cut = "there are too many files";
                return 1;
        }
        if (ARRAY_GROW(e->items, e->n) < 0 || !(entry.name = strdup(name)))
                return -ENOMEM;
        e->items[e->n++] = entry;
        return 0;
}

static int compare_entries(const void *a, const void *b) {
        return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static void clear_found(struct entries *e) {
        for (size_t i = 0; i < e->n; i++)
                free(e->items[i].name);
        free(e->items);
}

/* Takes a file, `shown` from where the search began. */
typedef int (*search_take)(struct search *s, const char *path, const char *shown);

static int search_folder(struct search *s, const char *path, const char *shown, unsigned depth,
                         search_take take);

static int search_entry(struct search *s, const char *path, const char *shown, const struct entry *e,
                        unsigned depth, search_take take) {
        _cleanup_free_ char *below = str_concat(path, "/", e->name);
        _cleanup_free_ char *name = *shown ? str_concat(shown, "/", e->name) : strdup(e->name);

        if (!below || !name)
                return error_oom(s->err);
        if (S_ISDIR(e->type) && !streq(e->name, ".git"))
                return depth < SEARCH_DEPTH_MOST ? search_folder(s, below, name, depth + 1, take) : 0;
        /* What a link leads to is searched where it is. */
        if (S_ISDIR(e->type) || (s->lines && S_ISLNK(e->type)) ||
            (s->glob && !pattern_matches(s->glob, name, strlen(name))))
                return 0;
        return take(s, below, name);
}

/* A folder that can't be read, or went away meanwhile, is passed over, unless the search began with it. */
static int search_folder(struct search *s, const char *path, const char *shown, unsigned depth,
                         search_take take) {
        struct entries e = {.search = s};
        int r = nsrun_workspace_list(s->call->server->files, path, add_found, &e,
                                     depth == 0 ? s->err : NULL);

        if (r == -ENOMEM)
                r = error_oom(s->err);
        else if (depth > 0 && r < 0)
                r = 0;
        if (r >= 0 && e.items)
                qsort(e.items, e.n, sizeof(*e.items), compare_entries);
        for (size_t i = 0; i < e.n && r >= 0 && !is_over(s); i++)
                r = search_entry(s, path, shown, &e.items[i], depth, take);
        clear_found(&e);
        return r < 0 ? r : 0;
}

/* ------------------------------------------------------------------------- glob */

static int glob_file(struct search *s, nsrun_unused const char *path, const char *shown) {
        _cleanup_free_ char *visible = str_visible(shown);

        if (s->n_found++ >= FILE_ENTRIES_MOST) {
                s->cut = "there are more";
                return 0;
        }
        json_add_string(&s->structure, s->list, NULL, shown);
        strbuf_addf(&s->answer->text, "%s\n", visible ? visible : "");
        return 0;
}

/* ------------------------------------------------------------------------- grep */

static void add_match(struct search *s, const char *shown, uint64_t number, const char *line, size_t n) {
        struct json_value *o;
        size_t length = n > SEARCH_SHOWN_MOST ? SEARCH_SHOWN_MOST : n;
        _cleanup_free_ char *visible = str_visible(shown);

        if (s->answer->text.length + length > FILE_TEXT_MOST) {
                s->cut = "there is more";
                return;
        }
        s->n_found++;
        strbuf_addf(&s->answer->text, "%s:%" PRIu64 ":", visible ? visible : "", number);
        strbuf_add_bytes(&s->answer->text, line, length);
        strbuf_add(&s->answer->text, length < n ? " ...\n" : "\n");
        o = json_add_object(&s->structure, s->list, NULL);
        if (!o)
                return;
        json_add_string(&s->structure, o, "path", shown);
        json_add_number(&s->structure, o, "line", number);
        json_add_bytes(&s->structure, o, "text", line, length);
}

/* Looks through the lines that are whole in `n` bytes, or with is_last through all: how many bytes are
 * done. */
static size_t grep_lines(struct search *s, const char *shown, uint64_t *number, size_t n, bool is_last) {
        size_t at = 0;

        while (at < n && !s->cut) {
                const char *line = s->buffer + at, *end = memchr(line, '\n', n - at);
                size_t length = end ? (size_t)(end - line) : n - at;

                /* What is longer than a line may be is taken in parts. */
                if (!end && !is_last && length < SEARCH_LINE_MOST)
                        break;
                if (pattern_matches(s->lines, line, length))
                        add_match(s, shown, *number, line, length);
                *number += end != NULL;
                at += length + (end != NULL);
        }
        return at;
}

static int grep_file(struct search *s, const char *path, const char *shown) {
        _cleanup_close_ int fd = -EBADF;
        uint64_t number = 1;
        size_t n = 0, done;
        struct stat st;

        if (tool_open_file(s->call, path, O_RDONLY, &fd, &st, NULL) < 0)
                return 0;
        for (bool is_first = true; !is_over(s); is_first = false) {
                ssize_t got = sys_read(fd, s->buffer + n, SEARCH_LINE_MOST + CHUNK - n);

                if (got == -EINTR)
                        continue;
                if (got < 0 || (is_first && memchr(s->buffer, '\0', (size_t)got)))
                        return 0;
                n += (size_t)got;
                done = grep_lines(s, shown, &number, n, got == 0);
                memmove(s->buffer, s->buffer + done, n - done);
                n -= done;
                if (got == 0)
                        return 0;
        }
        return 0;
}

/* ------------------------------------------------------------------------- both */

static int search_compile(const struct call *c, const char *name, bool is_glob, struct pattern **ret,
                          struct nsrun_error *err) {
        const char *text = argument_text(c, name), *why = NULL;
        int r;

        if (!text)
                return 0;
        r = is_glob ? pattern_compile_glob(text, ret, &why)
                    : pattern_compile(text, argument_is_true(c, "ignore_case"), ret, &why);
        return r < 0 ? error_set(err, NSRUN_STAGE_USAGE, UNSAID(r), text, why, NULL) : 0;
}

static int search_begin(struct search *s, const char *what) {
        int r = json_open(&s->structure, s->err);

        s->buffer = malloc(SEARCH_LINE_MOST + CHUNK);
        if (!s->buffer)
                return error_oom(s->err);
        if (r >= 0)
                s->list = json_add_array(&s->structure, s->structure.root, what);
        s->end_ms = command_now_ms() + SEARCH_MS_MOST;
        return r;
}

static int search_end(struct search *s, int r) {
        if (r >= 0) {
                if (s->n_found == 0)
                        strbuf_add(&s->answer->text, "nothing was found\n");
                if (s->cut)
                        strbuf_addf(&s->answer->text, "... [not all was looked at: %s] ...", s->cut);
                json_add_bool(&s->structure, s->structure.root, "has_more", s->cut != NULL);
                r = json_finish(&s->structure, false, &s->answer->structure, s->err);
        }
        json_close(&s->structure);
        pattern_free(s->glob);
        pattern_free(s->lines);
        free(s->buffer);
        return r;
}

int tool_glob(struct call *c, struct tool_answer *ret, struct nsrun_error *err) {
        struct search s = {.call = c, .answer = ret, .err = err};
        int r = search_compile(c, "pattern", true, &s.glob, err);

        if (r >= 0)
                r = search_begin(&s, "paths");
        if (r >= 0)
                r = search_folder(&s, tool_path(c), "", 0, glob_file);
        return search_end(&s, r);
}

int tool_grep(struct call *c, struct tool_answer *ret, struct nsrun_error *err) {
        struct search s = {.call = c, .answer = ret, .err = err};
        const char *path = tool_path(c);
        struct stat st;
        int r;

        r = search_compile(c, "pattern", false, &s.lines, err);
        if (r >= 0)
                r = search_compile(c, "glob", true, &s.glob, err);
        if (r >= 0)
                r = search_begin(&s, "lines");
        if (r >= 0)
                r = nsrun_workspace_stat(c->server->files, path, 1, &st, err);
        if (r >= 0)
                r = S_ISDIR(st.st_mode) ? search_folder(&s, path, "", 0, grep_file)
                                        : grep_file(&s, path, path);
        return search_end(&s, r);
}
