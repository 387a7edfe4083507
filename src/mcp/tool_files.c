/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tools read, write, edit and list: one file or folder each, in what the session's commands see. */
#include <inttypes.h>
#include <linux/magic.h>

#include "base/array.h"
#include "base/file.h"
#include "base/sys.h"
#include "file.h"

#define CHUNK ((size_t)64 * 1024)

const char *tool_path(const struct call *c) {
        const char *path = argument_text(c, "path");

        return path ? path : ".";
}

/* Whether a file is the kernel's own.  The server isn't among the processes that the sandbox's /proc is of,
 * and may do more to them there than a command may. */
static bool is_kernels_own(int fd) {
        static const uint32_t theirs[] = {
                PROC_SUPER_MAGIC,        SYSFS_MAGIC,   CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
                DEBUGFS_MAGIC,           TRACEFS_MAGIC, SECURITYFS_MAGIC,   BPF_FS_MAGIC,
                DEVPTS_SUPER_MAGIC,      SELINUX_MAGIC, SMACK_MAGIC,        EFIVARFS_MAGIC,
                PSTOREFS_MAGIC,          NSFS_MAGIC,    BINFMTFS_MAGIC,     0x62656570 /* configfs */,
                0x19800202 /* mqueue */,
        };
        struct statfs fs;

        if (fstatfs(fd, &fs) < 0)
                return true;
        for (size_t i = 0; i < ARRAY_SIZE(theirs); i++)
                if ((uint32_t)fs.f_type == theirs[i])
                        return true;
        return false;
}

static int fail_file(const char *path, int r, const char *what, struct nsrun_error *err) {
        return error_set(err, NSRUN_STAGE_POLICY, r, path, what, NULL);
}

/* Opens a plain file by one walk, once it is known to be one: nothing that waits, no device, nothing of the
 * kernel's own.  `flags` are open(2)'s, without O_CREAT. */
static int tool_open_file(const struct call *c, const char *path, int flags, int *ret_fd, struct stat *ret,
                          struct nsrun_error *err) {
        _cleanup_close_ int found = -EBADF;
        int r = nsrun_workspace_open(c->server->files, NSRUN_READ, path, O_PATH, 0, &found, err);

        if (r < 0)
                return r;
        if (sys_fstat(found, ret) < 0)
                return fail_file(path, -errno, "the file can't be looked at", err);
        if (S_ISDIR(ret->st_mode))
                return fail_file(path, -EISDIR, "the path is no file", err);
        if (!S_ISREG(ret->st_mode) || is_kernels_own(found))
                return tool_refuse(err, path, "the path is no plain file", NULL);
        r = sys_open(AT_FDCWD, fd_link(found).path, flags | O_NONBLOCK | O_NOCTTY, 0);
        if (r < 0)
                return fail_file(path, r, "the file can't be opened", err);
        *ret_fd = r;
        return 0;
}

/* ------------------------------------------------------------------------- read */

struct reading {
        uint64_t first, most; /* the lines that are wanted */
        uint64_t line;        /* the number of the line that the next byte is of */
        uint64_t last;        /* the last line of which something was taken */
        bool has_nul, is_full;
};

/* Takes what is wanted of some bytes.  False: no more is wanted. */
static bool take_bytes(struct reading *k, const char *bytes, size_t n, struct strbuf *to) {
        while (n > 0) {
                const char *end = memchr(bytes, '\n', n);
                size_t length = end ? (size_t)(end + 1 - bytes) : n, room = FILE_TEXT_MOST - to->length;

                if (k->line - k->first >= k->most && k->line >= k->first)
                        return false;
                if (k->line >= k->first) {
                        k->has_nul |= memchr(bytes, '\0', length) != NULL;
                        k->is_full = length > room;
                        strbuf_add_bytes(to, bytes, k->is_full ? room : length);
                        k->last = k->line;
                }
                if (k->is_full)
                        return false;
                k->line += end != NULL;
                bytes += length;
                n -= length;
        }
        return true;
}

/* Other calls wait meanwhile, and a file may have no end. */
static int read_wanted(const struct call *c, int fd, struct reading *k, struct strbuf *to,
                       bool *ret_has_more, struct nsrun_error *err) {
        _cleanup_free_ char *chunk = malloc(CHUNK);
        uint64_t n_read = 0;

        if (!chunk)
                return error_oom(err);
        for (;;) {
                ssize_t n = sys_read(fd, chunk, CHUNK);

                if (n == -EINTR)
                        continue;
                if (c->is_cancelled)
                        return tool_refuse(err, NULL, "the call was cancelled", NULL);
                if (n < 0)
                        return fail_file(argument_text(c, "file_path"), (int)n, "the file can't be read",
                                         err);
                *ret_has_more = n > 0 && !take_bytes(k, chunk, (size_t)n, to);
                if (n == 0 || *ret_has_more)
                        return 0;
                n_read += (uint64_t)n;
                if (n_read > FILE_READ_MOST)
                        return tool_refuse(err, argument_text(c, "file_path"),
                                           "more than 1 GiB lies before the end of what is asked for",
                                           "the tool bash has sed and tail");
        }
}

int tool_read(struct call *c, struct tool_answer *ret, struct nsrun_error *err) {
        struct reading k = {.first = argument_number(c, "offset", 1),
                            .most = argument_number(c, "limit", UINT64_MAX),
                            .line = 1};
        const char *path = argument_text(c, "file_path");
        _cleanup_close_ int fd = -EBADF;
        bool has_more = false;
        struct stat st;
        int r = tool_open_file(c, path, O_RDONLY, &fd, &st, err);

        if (r >= 0)
                r = read_wanted(c, fd, &k, &ret->text, &has_more, err);
        if (r >= 0 && k.has_nul) {
                strbuf_clear(&ret->text);
                r = error_setf(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), path, NULL,
                               "the file is no text; it has %" PRIu64 " bytes", (uint64_t)st.st_size);
        }
        if (r < 0)
                strbuf_clear(&ret->text);
        else if (k.is_full)
                strbuf_addf(&ret->text,
                            "\n... [the text is cut off in line %" PRIu64 ": go on with offset] ...",
                            k.last);
        else if (has_more)
                strbuf_addf(&ret->text, "... [more follows: go on with offset %" PRIu64 "] ...", k.last + 1);
        return r;
}

/* ---------------------------------------------------------------- write and edit */

/* Writes the whole of an open file.  Room for what it grows by is there before its old content is touched,
 * where the file system can say so. */
static int put_content(int fd, const char *path, const char *content, size_t n, off_t old,
                       struct nsrun_error *err) {
        int r = 0;

        if ((off_t)n > old && fallocate(fd, 0, 0, (off_t)n) < 0 && errno != EOPNOTSUPP && errno != ENOSYS)
                r = -errno;
        if (r >= 0 && lseek(fd, 0, SEEK_SET) < 0)
                r = -errno;
        if (r >= 0)
                r = write_full(fd, content, n);
        if (r >= 0 && ftruncate(fd, (off_t)n) < 0)
                r = -errno;
        return r < 0 ? fail_file(path, r, "the file can't be written", err) : 0;
}

static void add_done(struct strbuf *to, const char *did, const char *path, size_t n, const char *what) {
        _cleanup_free_ char *visible = str_visible(path);

        strbuf_addf(to, "%s%s: %zu%s", did, visible ? visible : "", n, what);
}

int tool_write(struct call *c, struct tool_answer *ret, struct nsrun_error *err) {
        const char *path = argument_text(c, "file_path"), *content = argument_text(c, "content");
        _cleanup_close_ int fd = -EBADF;
        struct nsrun_error why = {0};
        struct stat st = {0};
        bool is_new;
        int r = tool_open_file(c, path, O_WRONLY, &fd, &st, &why);

        is_new = r == -ENOENT;
        if (is_new)
                r = nsrun_workspace_create(c->server->files, path, O_WRONLY | O_EXCL, 0666, &fd, err);
        else if (r < 0)
                *err = why;
        if (r >= 0)
                r = put_content(fd, path, content, strlen(content), st.st_size, err);
        if (r >= 0)
                add_done(&ret->text, is_new ? "made " : "wrote ", path, strlen(content), " bytes");
        return r;
}

static size_t count_text(const char *text, const char *old) {
        size_t n = 0;

        for (; (text = strstr(text, old)); text += strlen(old))
                n++;
        return n;
}

static void replace_text(const char *text, const char *old, const char *new, struct strbuf *to) {
        const char *found;

        for (; (found = strstr(text, old)); text = found + strlen(old)) {
                strbuf_add_bytes(to, text, (size_t)(found - text));
                strbuf_add(to, new);
        }
        strbuf_add(to, text);
}

static int judge_edit(const struct call *c, size_t n, struct nsrun_error *err) {
        const char *path = argument_text(c, "file_path");
        const size_t more = n * strlen(argument_text(c, "new_string"));

        if (n == 0)
                return tool_refuse(err, path, "the old text is not in the file", "read the file again");
        if (n > 1 && !argument_is_true(c, "replace_all"))
                return error_setf(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), path,
                                  "take more of what surrounds it, or set replace_all",
                                  "the old text is in the file %zu times", n);
        if (more > FILE_EDITED_MOST)
                return tool_refuse(err, path, "the file would be too large", NULL);
        return 0;
}

int tool_edit(struct call *c, struct tool_answer *ret, struct nsrun_error *err) {
        const char *path = argument_text(c, "file_path"), *old = argument_text(c, "old_string");
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct stat st = {0};
        size_t n;
        int r;

        if (!*old)
                return tool_refuse(err, path, "the old text is empty", "write makes a file");
        r = tool_open_file(c, path, O_RDWR, &fd, &st, err);
        if (r < 0)
                return r;
        r = read_small_fd(fd, FILE_EDIT_MOST, &text);
        if (r < 0)
                return fail_file(path, r, r == -EBADMSG ? "the file is no text" : "the file can't be read",
                                 err);
        n = count_text(text, old);
        r = judge_edit(c, n, err);
        if (r >= 0)
                replace_text(text, old, argument_text(c, "new_string"), &b);
        if (b.has_failed)
                r = error_oom(err);
        if (r >= 0)
                r = put_content(fd, path, b.text ? b.text : "", b.length, st.st_size, err);
        if (r >= 0)
                add_done(&ret->text, "edited ", path, n, " replaced");
        return r;
}

/* ------------------------------------------------------------------------- list */

struct listing {
        char **names; /* with the mark of their type behind them */
        bool is_cut;
};

static int list_name(void *data, const char *name, mode_t type) {
        struct listing *l = data;
        char *marked = str_concat(name, S_ISDIR(type) ? "/" : S_ISLNK(type) ? "@" : "", "");

        if (strv_length(l->names) >= FILE_ENTRIES_MOST) {
                free(marked);
                l->is_cut = true;
                return 1;
        }
        return marked ? strv_consume(&l->names, marked) : -ENOMEM;
}

int tool_list(struct call *c, struct tool_answer *ret, struct nsrun_error *err) {
        struct listing l = {.names = NULL};
        size_t n_shown = 0;
        int r = nsrun_workspace_list(c->server->files, tool_path(c), list_name, &l, err);

        if (r == -ENOMEM)
                r = error_oom(err);
        if (r >= 0) {
                strv_sort(l.names, strv_length(l.names));
                STRV_FOREACH (name, l.names) {
                        _cleanup_free_ char *visible = str_visible(*name);

                        if (!visible || ret->text.length + strlen(visible) > FILE_TEXT_MOST)
                                break;
                        strbuf_addf(&ret->text, "%s\n", visible);
                        n_shown++;
                }
                if (l.is_cut)
                        strbuf_addf(&ret->text,
                                    "... [the folder has more than %d entries: %zu are shown] ...",
                                    FILE_ENTRIES_MOST, n_shown);
                else if (n_shown < strv_length(l.names))
                        strbuf_addf(&ret->text, "... [%zu more entries are left out] ...",
                                    strv_length(l.names) - n_shown);
        }
        strv_free(l.names);
        return r;
}
