/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See history.h.  Whoever appends holds a lock, and reads the last line's digest under it. */
#include "history.h"

#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "base/file.h"
#include "base/sha256.h"
#include "base/sys.h"

#define FOLDER "log"
#define LOCK   "lock"
#define LAST   "last"
#define CUT    "\"cut\":true}\n"

enum {
        COMMAND_MOST = 8192, /* bytes of a command that are written down */
        HEX_SIZE = 2 * SHA256_SIZE + 1,
        LOCK_TRIES = 500, /* of 10 ms: whoever has it appends some lines */
};

/* -ENOENT: there is none, and none is to be made; another -errno. */
static int open_history(bool makes) {
        _cleanup_close_ int state = exposed_open_base();

        if (state < 0)
                return state;
        if (makes && mkdirat(state, FOLDER, 0700) < 0 && errno != EEXIST)
                return -errno;
        return sys_open(state, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

/* -EBUSY: somebody has the lock, and goes on having it. */
static int lock_log(int folder, int how) {
        _cleanup_close_ int fd = sys_open(folder, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
        int r = fd;

        for (unsigned i = 0; r >= 0 && flock(fd, how | LOCK_NB) < 0; i++) {
                if (errno != EWOULDBLOCK && errno != EINTR)
                        return -errno;
                if (i == LOCK_TRIES)
                        return -EBUSY;
                (void)poll(NULL, 0, 10);
        }
        return r < 0 ? r : TAKE_FD(fd);
}

static void digest_of(const char *bytes, size_t n, char to[HEX_SIZE]) {
        unsigned char digest[SHA256_SIZE];
        struct sha256 s;

        sha256_begin(&s);
        sha256_add(&s, bytes, n);
        sha256_end(&s, digest);
        str_hex(digest, sizeof(digest), to);
}

/* What the log's end is: a file beside it, since nothing follows the last line that would tell.  It is
 * written behind each line: a kill leaves one line more, which is chained to it. */
struct log_end {
        char last[HEX_SIZE];
        unsigned turns; /* how often a file has become the previous one */
};

/* -ENOENT: none is written down. */
static int read_log_end(int folder, struct log_end *ret) {
        _cleanup_free_ char *text = NULL;
        int r = read_small_file(folder, LAST, O_NOFOLLOW, 256, &text);

        *ret = (struct log_end){.turns = 0};
        if (r >= 0 && sscanf(text, "%64[0-9a-f] %u", ret->last, &ret->turns) != 2)
                return -ENOENT;
        return r;
}

static int write_log_end(int folder, const struct log_end *end) {
        _cleanup_close_ int fd = sys_open(folder, LAST, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
        _cleanup_free_ char *text = str_format("%s %u\n", end->last, end->turns);
        ssize_t n = fd < 0 || !text ? 0 : pwrite(fd, text, strlen(text), 0);

        if (fd < 0 || !text)
                return fd < 0 ? fd : -ENOMEM;
        return n == (ssize_t)strlen(text) && ftruncate(fd, n) >= 0 ? 0 : n < 0 ? -errno : -ENOSPC;
}

/* Whether the line, of that digest, may be the last one. */
static bool is_log_end(const struct log_end *end, const char *line, size_t n, const char *digest) {
        _cleanup_free_ char *chained = str_concat("\"chain\":\"", end->last, "\"");

        return streq(digest, end->last) || (chained && line && memmem(line, n, chained, strlen(chained)));
}

/* ----------------------------------------------------------------------------- writing */

/* The digest of a file's last line, or "".  A line that a kill has cut gets its end.  A last line that isn't
 * what was written down has that for its digest, so that the next one shows it for ever. */
static int last_digest(int fd, const struct log_end *end, char to[HEX_SIZE], uint64_t *ret_size) {
        _cleanup_free_ char *tail = malloc(HISTORY_LINE + 1);
        struct stat st;
        bool is_cut = false;
        size_t n;
        off_t from;
        int r;

        (void)snprintf(to, HEX_SIZE, "%s", end->last);
        if (!tail || fstat(fd, &st) < 0)
                return tail ? -errno : -ENOMEM;
        *ret_size = (uint64_t)st.st_size;
        if (st.st_size == 0)
                return 0;
        from = st.st_size > HISTORY_LINE ? st.st_size - HISTORY_LINE : 0;
        if (lseek(fd, from, SEEK_SET) < 0)
                return -errno;
        r = read_full(fd, tail, HISTORY_LINE, &n);
        if (r < 0)
                return r;
        if (n == 0 || tail[n - 1] != '\n') {
                tail[n++] = '\n';
                is_cut = true;
                r = write_full(fd, "\n", 1);
                *ret_size += r >= 0;
        }
        for (from = (off_t)n - 1; from > 0 && tail[from - 1] != '\n'; from--)
                ;
        digest_of(tail + from, n - (size_t)from, to);
        if (*end->last && !is_cut && !is_log_end(end, tail + from, n - (size_t)from, to))
                (void)snprintf(to, HEX_SIZE, "%s", end->last);
        return r;
}

/* The file to append to, and what its last line was. */
static int open_current(int folder, struct log_end *end, char last[HEX_SIZE]) {
        _cleanup_close_ int fd =
                sys_open(folder, HISTORY_CURRENT, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0600);
        uint64_t size = 0;
        int r = fd < 0 ? fd : read_log_end(folder, end);

        if (r >= 0 || r == -ENOENT)
                r = last_digest(fd, end, last, &size);
        if (r < 0 || size < HISTORY_SIZE)
                return r < 0 ? r : TAKE_FD(fd);
        if (renameat(folder, HISTORY_CURRENT, folder, HISTORY_PREVIOUS) < 0)
                return -errno;
        end->turns++;
        return sys_open(folder, HISTORY_CURRENT, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
}

static int make_line(const char *run, const char *chain, const char *event, const char *object, size_t n,
                     char **ret) {
        struct timespec now;
        char day[32] = "";
        struct tm parts;

        if (clock_gettime(CLOCK_REALTIME, &now) < 0 || !gmtime_r(&now.tv_sec, &parts) ||
            strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &parts) == 0)
                return -EIO;
        /* What is said of it comes first, so that it is there where the rest is cut. */
        *ret = str_format("{\"time\":\"%s.%03ldZ\",\"run\":\"%s\",\"chain\":\"%s\",%s%s%s%.*s\n", day,
                          now.tv_nsec / 1000000, run, chain, event ? "\"event\":\"" : "", event ? event : "",
                          event ? "\"," : "", (int)n - 1, object + 1);
        if (*ret && strlen(*ret) > HISTORY_LINE) {
                free(TAKE_PTR(*ret));
                *ret = str_format(
                        "{\"time\":\"%s.%03ldZ\",\"run\":\"%s\",\"chain\":\"%s\",\"event\":\"%s\"," CUT, day,
                        now.tv_nsec / 1000000, run, chain, event ? event : "long");
        }
        return *ret ? 0 : -ENOMEM;
}

/* A full disk leaves no part of a line. */
static int append_whole(int fd, const char *line, size_t n) {
        off_t end = lseek(fd, 0, SEEK_END);
        int r = end < 0 ? -errno : write_full(fd, line, n);

        return r >= 0 || end < 0 || ftruncate(fd, end) >= 0 ? r : -errno;
}

/* Appends lines, each of them an object, under the lock. */
static int append_lines(int folder, const char *run, const char *event, const char *text, size_t n) {
        _cleanup_close_ int lock = lock_log(folder, LOCK_EX), fd = -EBADF;
        struct log_end written = {.turns = 0};
        char last[HEX_SIZE];
        int r = lock < 0 ? lock : (fd = open_current(folder, &written, last));

        for (const char *end; r >= 0 && n > 0 && (end = memchr(text, '\n', n)); text = end + 1) {
                _cleanup_free_ char *line = NULL;
                size_t length = (size_t)(end - text);

                n -= length + 1;
                if (length < 2 || *text != '{')
                        continue;
                r = make_line(run, last, event, text, length, &line);
                if (r >= 0)
                        r = append_whole(fd, line, strlen(line));
                if (r < 0)
                        break;
                digest_of(line, strlen(line), last);
                memcpy(written.last, last, HEX_SIZE);
                r = write_log_end(folder, &written);
        }
        return r;
}

static void add_command(struct json_document *d, char *const *argv) {
        struct json_value *words = json_add_array(d, d->root, "command");
        size_t left = COMMAND_MOST;

        STRV_FOREACH (word, argv) {
                size_t n = strnlen(*word, left);

                /* No part of a character. */
                while (n > 0 && ((*word)[n] & 0xc0) == 0x80)
                        n--;
                if (left > 0)
                        json_add_bytes(d, words, NULL, *word, n);
                if ((*word)[n] || left == 0)
                        json_add_bool(d, d->root, "cut", true);
                /* An empty one takes room, too. */
                left -= (*word)[n] || n == left ? left : n + 1;
        }
}

static int log_begin(const struct nsrun_plan *plan, const char *session, struct history *h) {
        _cleanup_json_ struct json_document d = json_begin();
        _cleanup_free_ char *printed = NULL, *plan_text = NULL, *line = NULL;
        unsigned char lot[8];
        char digest[HEX_SIZE];
        int r = plan_print_json(plan, &printed, NULL);

        if (r < 0 || getrandom(lot, sizeof(lot), 0) != (ssize_t)sizeof(lot))
                return r < 0 ? r : -EIO;
        str_hex(lot, sizeof(lot), h->run);
        /* As `nsrun plan` prints it. */
        plan_text = str_concat(printed, "\n", "");
        if (!plan_text)
                return -ENOMEM;
        digest_of(plan_text, strlen(plan_text), digest);
        json_add_string(&d, d.root, "event", "begin");
        add_command(&d, plan->argv);
        json_add_string(&d, d.root, "cwd", plan->cwd);
        json_add_string(&d, d.root, "project", plan->project);
        if (plan->join || session)
                json_add_string(&d, d.root, "session", plan->join ? plan->join->folder.id : session);
        if (plan->plain)
                json_add_bool(&d, d.root, "sandbox", false);
        json_add_string(&d, d.root, "plan", digest);
        line = json_line(&d);
        free(TAKE_PTR(printed));
        printed = line ? str_concat(line, "\n", "") : NULL;
        return printed ? append_lines(h->folder, h->run, NULL, printed, strlen(printed)) : -ENOMEM;
}

int history_begin(const struct nsrun_plan *plan, const char *session, struct history *ret,
                  struct nsrun_error *err) {
        struct history h = HISTORY_INIT;
        int r;

        if (!plan->is_logged)
                return 0;
        r = h.folder = open_history(true);
        if (r >= 0)
                r = h.draft = sys_memfd("history");
        if (r >= 0)
                r = log_begin(plan, session, &h);
        if (r < 0) {
                history_close(&h);
                return r == -ENOMEM ? error_oom(err)
                                    : error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL,
                                                "the run can't be written to the log, as --log asks for",
                                                "look at $XDG_STATE_HOME/nsrun/log, or leave --log out");
        }
        *ret = h;
        return 0;
}

int history_take(struct history *h, const char *event) {
        _cleanup_free_ char *text = NULL;
        size_t n = 0;
        int r;

        if (h->folder < 0)
                return 0;
        r = lseek(h->draft, 0, SEEK_SET) < 0 ? -errno : read_bytes_fd(h->draft, SIZE_MAX / 4, &text, &n);
        if (r >= 0 && n > 0)
                r = append_lines(h->folder, h->run, event, text, n);
        if (ftruncate(h->draft, 0) < 0 || lseek(h->draft, 0, SEEK_SET) < 0)
                return -errno;
        return r;
}

void history_close(struct history *h) {
        close_fdp(&h->folder);
        close_fdp(&h->draft);
        *h = HISTORY_INIT;
}

int history_add(struct json_document *event) {
        _cleanup_close_ int folder = open_history(false);
        _cleanup_free_ char *line = NULL, *text = NULL;

        if (folder < 0)
                return folder == -ENOENT ? 0 : folder;
        line = json_line(event);
        text = line ? str_concat(line, "\n", "") : NULL;
        return text ? append_lines(folder, "", NULL, text, strlen(text)) : -ENOMEM;
}

/* ----------------------------------------------------------------------------- reading */

struct reading {
        int (*line)(void *data, const char *text, size_t n, bool is_chained);
        void *data;
        char last[HEX_SIZE];
        bool has_begun;        /* else nobody knows what was before the first line */
        bool is_cut;           /* the last line has no end */
        const char *line_read; /* the last one */
        size_t n_line;
};

static int read_history_line(struct reading *reading, const char *text, size_t n) {
        _cleanup_free_ char *wanted = str_concat("\"chain\":\"", reading->last, "\"");
        bool is_chained;

        if (!wanted)
                return -ENOMEM;
        is_chained = !reading->has_begun || memmem(text, n, wanted, strlen(wanted));
        digest_of(text, n, reading->last);
        reading->has_begun = true;
        reading->is_cut = n == 0 || text[n - 1] != '\n';
        reading->line_read = text;
        reading->n_line = n;
        return reading->line(reading->data, text, n, is_chained);
}

static int read_history_lines(struct reading *reading, const char *text, size_t n) {
        int r = 0;

        for (const char *end; r >= 0 && n > 0; text = end) {
                end = memchr(text, '\n', n);
                end = end ? end + 1 : text + n;
                r = read_history_line(reading, text, (size_t)(end - text));
                n -= (size_t)(end - text);
        }
        return r;
}

static int read_history_file(int folder, const char *name, char **ret, size_t *ret_n) {
        _cleanup_close_ int fd = sys_open(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);

        return fd < 0 ? fd : read_bytes_fd(fd, 2 * (size_t)HISTORY_SIZE, ret, ret_n);
}

int history_read(int (*line)(void *data, const char *text, size_t n, bool is_chained), void *data,
                 bool *ret_is_whole) {
        _cleanup_close_ int folder = open_history(false), lock = -EBADF;
        _cleanup_free_ char *previous = NULL, *current = NULL;
        struct reading reading = {.line = line, .data = data};
        size_t n_previous = 0, n_current = 0;
        struct log_end end;
        bool has_previous, has_end = false;
        int r = folder;

        if (r >= 0)
                r = lock = lock_log(folder, LOCK_SH);
        if (r >= 0)
                r = read_history_file(folder, HISTORY_PREVIOUS, &previous, &n_previous);
        has_previous = r >= 0;
        if (r >= 0 || (r == -ENOENT && lock >= 0))
                r = read_history_file(folder, HISTORY_CURRENT, &current, &n_current);
        has_end = lock >= 0 && read_log_end(folder, &end) >= 0;
        if (r == -ENOENT && (has_previous || has_end))
                r = 0;
        /* No run waits for whoever reads. */
        close_fdp(&lock);
        reading.has_begun = has_end && (!has_previous || end.turns < 2);
        if (r >= 0)
                r = read_history_lines(&reading, previous, n_previous);
        if (r >= 0)
                r = read_history_lines(&reading, current, n_current);
        *ret_is_whole = !has_end || reading.is_cut ||
                        is_log_end(&end, reading.line_read, reading.n_line, reading.last);
        return r;
}
