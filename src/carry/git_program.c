/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs git config, and git diff. */
#include "git_program.h"

#include <sys/wait.h>

#include "base/file.h"
#include "base/programs.h"
#include "host/gitconfig.h"
#include "host/program.h"

enum {
        LIST_MOST = 4 << 20, /* bytes that git may print: a short file can say a long section's name often */
        NOTHING_TO_UNSET = 5 /* git's status */
};

static char *const nobodys[] = {(char *)"GIT_CONFIG_NOSYSTEM=1",
                                (char *)"GIT_CONFIG_GLOBAL=/dev/null",
                                (char *)"GIT_DIR=/dev/null",
                                (char *)"HOME=/dev/null",
                                (char *)"XDG_CONFIG_HOME=/dev/null",
                                (char *)"LC_ALL=C",
                                NULL};

/* Starts git; `in` and `out` are its standard streams. */
static int git_start(char *const *argv, int in, int out, pid_t *ret_pid) {
        _cleanup_free_ char *program = NULL;
        _cleanup_close_ int null = sys_open(AT_FDCWD, "/dev/null", O_RDWR, 0);
        const int streams[] = {in >= 0 ? in : null, out >= 0 ? out : null, null};
        struct spawn s = {.argv = argv, .env = nobodys, .folder = "/", .null_fd = null, .streams = streams};
        int r = null < 0 ? null : program_find("git", &program);

        s.program = program;
        return r < 0 ? r : spawn_apart(&s, ret_pid);
}

/* Its exit status, 128 if it has none. */
static int git_await(pid_t pid) {
        int status = 0;
        pid_t r;

        do
                r = waitpid(pid, &status, 0);
        while (r < 0 && errno == EINTR);
        return r == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int compare_entries(const void *a, const void *b) {
        const struct git_entry *x = a, *y = b;
        int r = strcmp(x->key, y->key);

        /* Both lie in one text. */
        return r != 0 ? r : x->key < y->key ? -1 : x->key > y->key;
}

/* "KEY\nVALUE" or "KEY", each with a NUL behind. */
static int split_entries(struct git_list *list, size_t n) {
        size_t most = 0;

        if (n > 0 && list->text[n - 1])
                return -EBADMSG;
        for (size_t i = 0; i < n; i++)
                most += !list->text[i];
        list->entries = calloc(most + 1, sizeof(*list->entries));
        if (!list->entries)
                return -ENOMEM;
        /* What stands before the first section is no key of anything's. */
        for (char *at = list->text; at < list->text + n; at += strlen(at) + 1)
                if (memchr(at, '.', strcspn(at, "\n")))
                        list->entries[list->n++].key = at;
        for (size_t i = 0; i < list->n; i++) {
                /* A subsection may have dots and spaces, and no newline. */
                char *value = strchr(list->entries[i].key, '\n');

                if (value)
                        *value++ = '\0';
                list->entries[i].value = value;
        }
        if (list->n > 0)
                qsort(list->entries, list->n, sizeof(*list->entries), compare_entries);
        return 0;
}

void git_list_clear(struct git_list *list) {
        free(list->text);
        free(list->entries);
        *list = (struct git_list){0};
}

/* What git prints, of which at most LIST_MOST bytes are taken: *ret, with a NUL behind.  Its status, or
 * -errno; -E2BIG: it is more. */
static int git_read(char *const *argv, int in, char **ret, size_t *ret_n) {
        _cleanup_close_ int from = -EBADF, to = -EBADF;
        _cleanup_free_ char *text = NULL;
        int ends[2], r = sys_pipe(ends), status;
        pid_t pid = -1;

        if (r < 0)
                return r;
        from = ends[0];
        to = ends[1];
        r = git_start(argv, in, to, &pid);
        if (r < 0)
                return r;
        close_fdp(&to);
        text = malloc(LIST_MOST + 2);
        r = text ? read_full(from, text, LIST_MOST + 1, ret_n) : -ENOMEM;
        if (r >= 0 && *ret_n > LIST_MOST)
                r = -E2BIG;
        /* Of what it can't write it dies. */
        close_fdp(&from);
        status = git_await(pid);
        if (r < 0)
                return r;
        text[*ret_n] = '\0';
        *ret = TAKE_PTR(text);
        return status;
}

int git_list_read(const char *bytes, size_t n, struct git_list *ret) {
        static char *const argv[] = {
                (char *)"git",    (char *)"config", (char *)"--file",        (char *)"-",
                (char *)"--null", (char *)"--list", (char *)"--no-includes", NULL};
        _cleanup_close_ int in = sys_memfd("config");
        _cleanup_git_list_ struct git_list list = {0};
        int r = in < 0 ? in : write_full(in, bytes, n);
        size_t printed = 0;

        if (r >= 0 && lseek(in, 0, SEEK_SET) < 0)
                r = -errno;
        if (r >= 0)
                r = git_read(argv, in, &list.text, &printed);
        if (r > 0)
                r = -EBADMSG;
        if (r >= 0)
                r = split_entries(&list, printed);
        if (r < 0)
                return r;
        *ret = list;
        list = (struct git_list){0};
        return 0;
}

int git_diff(const char *before, const char *after, char **ret, size_t *ret_n) {
        char *const argv[] = {(char *)"git",
                              (char *)"diff",
                              (char *)"--no-index",
                              (char *)"--no-color",
                              (char *)"--no-ext-diff",
                              (char *)"--no-textconv",
                              (char *)"--text",
                              (char *)"--",
                              (char *)(uintptr_t)before,
                              (char *)(uintptr_t)after,
                              NULL};
        int r = git_read(argv, -1, ret, ret_n);

        return r < 0 ? r : r > 1 ? -EBADMSG : 0;
}

static int git_file_do(const char *path, const char *what, const char *key, const char *value) {
        char *const argv[] = {(char *)"git",           (char *)"config",         (char *)"--file",
                              (char *)(uintptr_t)path, (char *)(uintptr_t)what,  (char *)"--",
                              (char *)(uintptr_t)key,  (char *)(uintptr_t)value, NULL};
        pid_t pid = -1;
        int r = git_start(argv, -1, -1, &pid), status = r < 0 ? 0 : git_await(pid);

        return r < 0 ? r : status == 0 || (!value && status == NOTHING_TO_UNSET) ? 0 : -EBADMSG;
}

/* A key without "=", which git itself doesn't write. */
static int git_file_add_bare(const char *path, const char *key) {
        _cleanup_close_ int fd = sys_open(AT_FDCWD, path, O_WRONLY | O_APPEND | O_NOFOLLOW, 0);
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *text = NULL;

        if (fd < 0)
                return fd;
        strbuf_add(&b, "\n");
        gitconfig_write(&b, &(struct gitconfig_entry){.name = key});
        text = strbuf_finish(&b);
        return text ? write_full(fd, text, strlen(text)) : -ENOMEM;
}

int git_file_change(const char *path, const char *key, const struct git_entry *values, size_t n) {
        int r = 0;

        /* One value takes the old one's place in the file. */
        if (n == 1 && values[0].value)
                return git_file_do(path, "--replace-all", key, values[0].value);
        r = git_file_do(path, "--unset-all", key, NULL);
        for (size_t i = 0; i < n && r >= 0; i++)
                r = values[i].value ? git_file_do(path, "--add", key, values[i].value)
                                    : git_file_add_bare(path, key);
        return r;
}
