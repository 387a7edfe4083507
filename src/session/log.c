/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A log as a file: the head, then a ring of bytes.  A lock (flock(2)) keeps a reader from seeing half a
 * write. */
#include "log.h"

#include <sys/file.h>

#include "base/array.h"
#include "base/file.h"
#include "base/sys.h"

/* Where the ring begins. */
#define LOG_HEAD ((off_t)4096)
_Static_assert(sizeof(struct log_state) <= (size_t)LOG_HEAD, "a log's head has its place");

#define LOG_MAGIC UINT64_C(0x32676f6c6e75726e)
#define LOG_FILE  "log-"

void log_close(struct log *log) {
        close_fdp(&log->fd);
}

static void log_file_name(const char *name, char to[32]) {
        (void)snprintf(to, 32, LOG_FILE "%.16s", name);
}

/* The number in a name; 0: it is none.  "job01" is no name: each log has one. */
static unsigned log_number(const char *name) {
        const char *digits = startswith(name, "job");
        size_t n = digits ? strlen(digits) : 0;

        return n > 0 && n <= 8 && digits[0] != '0' && strspn(digits, "0123456789") == n
                       ? (unsigned)strtoul(digits, NULL, 10)
                       : 0;
}

bool log_is_name(const char *name) {
        return log_number(name) > 0;
}

/* --------------------------------------------------------------- the folder */

struct numbers {
        unsigned *items;
        size_t n;
};

static int log_note_number(void *data, nsrun_unused int folder, const struct dirent *entry) {
        const char *name = startswith(entry->d_name, LOG_FILE);
        unsigned number = name ? log_number(name) : 0;
        struct numbers *numbers = data;

        if (number == 0)
                return 0;
        if (ARRAY_GROW(numbers->items, numbers->n) < 0)
                return -ENOMEM;
        numbers->items[numbers->n++] = number;
        return 0;
}

static int log_compare_numbers(const void *a, const void *b) {
        unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

        return x < y ? -1 : x > y;
}

int logs_list(const struct record_folder *f, char ***ret) {
        _cleanup_strv_ char **names = NULL;
        struct numbers numbers = {0};
        int r = folder_each(f->dir_fd, log_note_number, &numbers);

        if (numbers.n > 1)
                qsort(numbers.items, numbers.n, sizeof(*numbers.items), log_compare_numbers);
        for (size_t i = 0; i < numbers.n && r >= 0; i++) {
                char name[16];

                (void)snprintf(name, sizeof(name), "job%u", numbers.items[i]);
                r = strv_add(&names, name);
        }
        free(numbers.items);
        if (r >= 0)
                *ret = TAKE_PTR(names);
        return r;
}

void log_remove(const struct record_folder *f, const char *name) {
        char file[32];

        log_file_name(name, file);
        (void)unlinkat(f->dir_fd, file, 0);
}

/* ------------------------------------------------------------------ reading */

static int log_load_locked(struct log *log) {
        struct log_state state;
        ssize_t n = pread(log->fd, &state, sizeof(state), 0);

        if (n != (ssize_t)sizeof(state) || state.magic != LOG_MAGIC)
                return n < 0 ? -errno : -EBADMSG;
        state.command[sizeof(state.command) - 1] = state.notes[sizeof(state.notes) - 1] = '\0';
        log->state = state;
        return 0;
}

static int log_lock(const struct log *log, int how) {
        int r;

        do
                r = flock(log->fd, how) < 0 ? -errno : 0;
        while (r == -EINTR);
        return r;
}

int log_load(struct log *log) {
        int r = log_lock(log, LOCK_SH);

        if (r >= 0)
                r = log_load_locked(log);
        (void)log_lock(log, LOCK_UN);
        return r;
}

int log_open(const struct record_folder *f, const char *name, struct log *ret, struct nsrun_error *err) {
        _cleanup_log_ struct log log = LOG_INIT;
        char file[32];
        int r = 0;

        log_file_name(name, file);
        if (log_is_name(name))
                log.fd = openat(f->dir_fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (log.fd < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, -ENOENT, name, "no such log",
                                 "'nsrun session logs ID' shows those there are");
        (void)snprintf(log.name, sizeof(log.name), "%s", name);
        r = log_load(&log);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, name, "the log can't be read", NULL);
        *ret = log;
        log.fd = -EBADF;
        return 0;
}

static ssize_t log_read_locked(struct log *log, uint64_t *at, char *to, size_t size, uint64_t *ret_skipped) {
        uint64_t oldest, left;
        size_t offset, n;
        ssize_t r = log_load_locked(log);

        if (r < 0)
                return r;
        oldest = log->state.total > LOG_KEPT ? log->state.total - LOG_KEPT : 0;
        *ret_skipped = *at < oldest ? oldest - *at : 0;
        *at += *ret_skipped;
        left = log->state.total > *at ? log->state.total - *at : 0;
        offset = (size_t)(*at % LOG_KEPT);
        n = LOG_KEPT - offset < size ? LOG_KEPT - offset : size;
        if (n > left)
                n = (size_t)left;
        r = n > 0 ? pread(log->fd, to, n, LOG_HEAD + (off_t)offset) : 0;
        if (r < 0)
                return -errno;
        *at += (uint64_t)r;
        return r;
}

ssize_t log_read(struct log *log, uint64_t *at, char *to, size_t size, uint64_t *ret_skipped) {
        ssize_t n = log_lock(log, LOCK_SH);

        *ret_skipped = 0;
        if (n >= 0)
                n = log_read_locked(log, at, to, size, ret_skipped);
        (void)log_lock(log, LOCK_UN);
        return n;
}

bool log_is_kept(const struct log *log) {
        _cleanup_close_ int keeper = -EBADF;

        if (log->state.is_over)
                return false;
        keeper = record_open_process(&log->state.keeper);
        return keeper >= 0 && !record_has_exited(log->state.keeper.pid);
}

/* ------------------------------------------------------------------ writing */

/* Makes room for one more: removes the oldest log of a command that has ended. */
static int log_make_room(const struct record_folder *f, char *const *names) {
        if (strv_length(names) < LOGS_MOST)
                return 0;
        STRV_FOREACH (name, names) {
                _cleanup_log_ struct log log = LOG_INIT;

                if (log_open(f, *name, &log, NULL) >= 0 && log_is_kept(&log))
                        continue;
                log_remove(f, *name);
                return 0;
        }
        return -EAGAIN;
}

static int log_make_file(const struct record_folder *f, struct log *log) {
        _cleanup_strv_ char **names = NULL;
        size_t n;
        unsigned number;
        int r = logs_list(f, &names);

        if (r < 0)
                return r;
        n = strv_length(names);
        number = n > 0 ? log_number(names[n - 1]) + 1 : 1;
        r = log_make_room(f, names);
        for (; r >= 0 && log->fd < 0; number++) {
                char file[32];

                (void)snprintf(log->name, sizeof(log->name), "job%u", number);
                log_file_name(log->name, file);
                log->fd = openat(f->dir_fd, file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
                if (log->fd < 0 && errno != EEXIST)
                        r = -errno;
        }
        return r;
}

/* The whole file is written at once: a full disk is told before the command starts. */
static int log_fill(struct log *log) {
        _cleanup_free_ char *nothing = calloc(1, (size_t)LOG_HEAD + LOG_KEPT);
        _cleanup_close_ int own = sys_pidfd_open(getpid());
        int r = own < 0 ? own : record_identify(getpid(), own, &log->state.keeper);

        if (r < 0)
                return r;
        if (!nothing)
                return -ENOMEM;
        log->state.magic = LOG_MAGIC;
        log->state.started_s = time(NULL);
        memcpy(nothing, &log->state, sizeof(log->state));
        return write_full(log->fd, nothing, (size_t)LOG_HEAD + LOG_KEPT);
}

/* One keeper at a time makes a log: another one's, which isn't filled yet, would look like one that nobody
 * keeps, and be removed to make room.  The lock lasts as long as the descriptor. */
static int lock_logs(const struct record_folder *f) {
        struct log folder = {.fd = openat(f->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
        int r = folder.fd < 0 ? -errno : log_lock(&folder, LOCK_EX);

        if (r < 0)
                log_close(&folder);
        return r < 0 ? r : folder.fd;
}

int log_make(const struct record_folder *f, const char *command, struct log *ret, struct nsrun_error *err) {
        _cleanup_close_ int lock = lock_logs(f);
        struct log log = LOG_INIT;
        int r = lock;

        (void)snprintf(log.state.command, sizeof(log.state.command), "%s", command);
        if (r >= 0)
                r = log_make_file(f, &log);
        if (r == -EAGAIN)
                return error_setf(err, NSRUN_STAGE_SUPERVISE, r, f->id, "end one of them first",
                                  "%d detached commands run in the session, and no more can", LOGS_MOST);
        if (r >= 0) {
                r = log_fill(&log);
                if (r < 0)
                        log_remove(f, log.name);
        }
        if (r < 0) {
                log_close(&log);
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, f->id, "the command's log can't be made",
                                 NULL);
        }
        *ret = log;
        return 0;
}

static void log_write_at(const struct log *log, const char *bytes, size_t n, off_t at) {
        while (n > 0) {
                ssize_t written = pwrite(log->fd, bytes, n, at);

                if (written < 0 && errno == EINTR)
                        continue;
                if (written <= 0)
                        return;
                bytes += written;
                n -= (size_t)written;
                at += written;
        }
}

void log_save(struct log *log) {
        (void)log_lock(log, LOCK_EX);
        log_write_at(log, (const char *)&log->state, sizeof(log->state), 0);
        (void)log_lock(log, LOCK_UN);
}

void log_note(struct log *log, const char *line) {
        size_t n = strlen(log->state.notes);

        if (strlen(line) + 2 <= sizeof(log->state.notes) - n)
                (void)snprintf(log->state.notes + n, sizeof(log->state.notes) - n, "%s\n", line);
}

void log_add(struct log *log, const char *bytes, size_t n) {
        (void)log_lock(log, LOCK_EX);
        while (n > 0) {
                size_t at = (size_t)(log->state.total % LOG_KEPT);
                size_t part = LOG_KEPT - at < n ? LOG_KEPT - at : n;

                log_write_at(log, bytes, part, LOG_HEAD + (off_t)at);
                log->state.total += part;
                bytes += part;
                n -= part;
        }
        log_write_at(log, (const char *)&log->state, sizeof(log->state), 0);
        (void)log_lock(log, LOCK_UN);
}
