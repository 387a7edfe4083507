/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See plan_shown.h.  The file has the size of the plan's bytes, plan->unseen (which is no part of them), the
 * bytes, and what is added: each degraded thing's entry with its NUL, and events (granted.c). */
#include "plan_shown.h"

#include <sys/resource.h>

#include "base/file.h"
#include "base/sys.h"
#include "plan/record.h"

#define SHOWN_NAME "nsrun-plan-of-%d"
#define SHOWN_LINK "/memfd:" SHOWN_NAME " (deleted)"
#define SHOWN_MOST ((size_t)16 << 20)
#define PLAN_USUAL 16384 /* bytes; half of what it becomes */

void shown_form_event(struct strbuf *b, const struct shown_event *event, const void *bytes) {
        strbuf_add_bytes(b, (const char[]){SHOWN_EVENT}, 1);
        strbuf_add_bytes(b, (const char *)event, sizeof(*event));
        strbuf_add_bytes(b, bytes, event->n);
}

/* The plan's bytes are many: written once, where they stay. */
static int shown_form(const struct nsrun_plan *plan, char *const *degraded, const struct shown_event *event,
                      const void *with, char **ret, size_t *ret_n) {
        _cleanup_store_ struct store s = {0};
        char **unseen = plan->unseen;
        uint64_t size = 0;

        (void)strbuf_reserve(&s.written, PLAN_USUAL);
        store_u64(&s, &size);
        store_strv(&s, &unseen);
        size = s.written.length;
        plan_store_in(plan, &s);
        size = s.written.length - size;
        for (char *const *entry = degraded; entry && *entry; entry++)
                strbuf_add_bytes(&s.written, *entry, strlen(*entry) + 1);
        shown_form_event(&s.written, event, with);
        *ret_n = s.written.length;
        *ret = strbuf_finish(&s.written);
        if (!*ret)
                return -ENOMEM;
        memcpy(*ret, &size, sizeof(size));
        return 0;
}

/* Where the caller may write no file of that size the kernel would send it a SIGXFSZ. */
static bool may_write(size_t n) {
        struct rlimit most;

        return getrlimit(RLIMIT_FSIZE, &most) == 0 && n <= most.rlim_cur;
}

int shown_begin(const struct nsrun_plan *plan, pid_t init, char *const *degraded,
                const struct shown_event *event, const void *with) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *bytes = NULL;
        char name[64];
        size_t n = 0;
        int r = shown_form(plan, degraded, event, with, &bytes, &n);

        if (r >= 0 && !may_write(n))
                r = -EFBIG;
        if (r < 0)
                return r;
        (void)snprintf(name, sizeof(name), SHOWN_NAME, (int)init);
        fd = sys_memfd(name);
        r = fd < 0 ? fd : fd_lift(&fd);
        if (r >= 0)
                r = write_full(fd, bytes, n);
        /* Others add to it, too. */
        if (r >= 0 && fcntl(fd, F_SETFL, O_APPEND) < 0)
                r = -errno;
        return r < 0 ? r : TAKE_FD(fd);
}

int shown_append(int fd, const void *bytes, size_t n, size_t spare) {
        struct stat st;
        int r = sys_fstat(fd, &st);
        size_t most;
        ssize_t written;

        if (r < 0)
                return r;
        most = (size_t)st.st_size + n + spare;
        if (!may_write(most) || most > SHOWN_MOST)
                return -EFBIG;
        written = sys_write(fd, bytes, n);
        return written < 0 ? (int)written : (size_t)written < n ? -ENOSPC : 0;
}

void shown_add(int fd, const char *degraded) {
        if (fd >= 0)
                (void)shown_append(fd, degraded, strlen(degraded) + 1, 0);
}

/* ------------------------------------------------------------------------- read */

struct shown_search {
        char link[64];
        struct timespec made;
        int fd; /* the newest of that name: an ended sandbox's, whose pid 1 had the same number, is older */
};

static bool was_made_before(const struct timespec *a, const struct timespec *b) {
        return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* A name can be anybody's, but nothing here waits: what is read is a plain file. */
static int shown_try(void *data, int folder, const struct dirent *entry) {
        struct shown_search *search = data;
        char link[sizeof(search->link) + 1] = "", path[64];
        _cleanup_close_ int seen = -EBADF;
        struct stat st;
        int fd;

        if (sys_readlinkat(folder, entry->d_name, link, sizeof(link) - 1) < 0 || !streq(link, search->link))
                return 0;
        seen = sys_open(folder, entry->d_name, O_PATH, 0);
        if (seen < 0 || sys_fstat(seen, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 0 ||
            (search->fd >= 0 && was_made_before(&st.st_mtim, &search->made)))
                return 0;
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", seen);
        fd = sys_open(AT_FDCWD, path, O_RDWR | O_APPEND | O_NONBLOCK, 0);
        if (fd < 0)
                return 0;
        close_fdp(&search->fd);
        search->fd = fd;
        search->made = st.st_mtim;
        return 0;
}

static int check_namespace(pid_t waiter, const char *kind) {
        char own_path[64], path[64], own[64] = "", others[64] = "";
        ssize_t n;

        (void)snprintf(own_path, sizeof(own_path), "/proc/self/ns/%s", kind);
        (void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)waiter, kind);
        n = sys_readlinkat(AT_FDCWD, own_path, own, sizeof(own) - 1);
        if (n >= 0)
                n = sys_readlinkat(AT_FDCWD, path, others, sizeof(others) - 1);
        return n < 0 ? (int)n : streq(own, others) ? 0 : -EPERM;
}

/* A process with such a namespace of its own may be a sandboxed one that shares the host's pid namespace
 * (nsrun-bwrap): nothing that it says of itself is believed.  Every sandbox has a mount namespace, and but
 * for root's each has a user namespace. */
static int check_waiter(pid_t waiter) {
        int r = check_namespace(waiter, "user");

        return r < 0 ? r : check_namespace(waiter, "mnt");
}

/* The file.  -ENOENT: there is none. */
static int shown_find(pid_t waiter, pid_t init) {
        struct shown_search search = {.fd = -EBADF};
        _cleanup_close_ int folder = -EBADF;
        char path[64];
        int r = check_waiter(waiter);

        if (r < 0)
                return r;
        (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)waiter);
        (void)snprintf(search.link, sizeof(search.link), SHOWN_LINK, (int)init);
        folder = sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
        r = folder < 0 ? folder : folder_each(folder, shown_try, &search);
        if (r < 0)
                close_fdp(&search.fd);
        return r < 0 ? r : search.fd < 0 ? -ENOENT : search.fd;
}

int shown_bytes(int fd, char **ret, size_t *ret_n) {
        _cleanup_free_ char *bytes = NULL;
        struct stat st;
        int r = sys_fstat(fd, &st);

        if (r < 0 || (uintmax_t)st.st_size > SHOWN_MOST)
                return r < 0 ? r : -EFBIG;
        bytes = malloc((size_t)st.st_size + 1);
        if (!bytes)
                return -ENOMEM;
        /* What is added is added behind it, wherever the descriptor stands. */
        r = lseek(fd, 0, SEEK_SET) < 0 ? -errno : read_full(fd, bytes, (size_t)st.st_size, ret_n);
        if (r < 0)
                return r;
        bytes[*ret_n] = '\0';
        *ret = TAKE_PTR(bytes);
        return 0;
}

size_t shown_added(const char *bytes, size_t n) {
        _cleanup_strv_ char **unseen = NULL;
        struct store s = store_reader(bytes, n);
        uint64_t size = 0;

        store_u64(&s, &size);
        store_strv(&s, &unseen);
        return s.has_failed || s.is_broken || size > s.n ? n : (size_t)(s.from - bytes) + size;
}

size_t shown_next(const char *bytes, size_t n, size_t at) {
        struct shown_event event;

        if (bytes[at] != SHOWN_EVENT)
                return at + strlen(bytes + at) + 1;
        if (n - at < 1 + sizeof(event))
                return n;
        memcpy(&event, bytes + at + 1, sizeof(event));
        return n - at - 1 - sizeof(event) < event.n ? n : at + 1 + sizeof(event) + event.n;
}

/* `bytes` has a NUL behind its end. */
static int shown_parse(const char *bytes, size_t n, struct nsrun_plan **ret, char ***ret_degraded) {
        _cleanup_plan_ struct nsrun_plan *plan = NULL;
        _cleanup_strv_ char **unseen = NULL, **degraded = NULL;
        struct store s = store_reader(bytes, n);
        uint64_t size = 0;
        int r;

        store_u64(&s, &size);
        store_strv(&s, &unseen);
        if (s.has_failed)
                return -ENOMEM;
        if (s.is_broken || size > s.n)
                return -EBADMSG;
        r = plan_restore(s.from, (size_t)size, &plan, NULL);
        if (r >= 0 && (!plan->cwd || !plan->seccomp_name))
                r = -EBADMSG;
        for (size_t at = shown_added(bytes, n); r >= 0 && at < n; at = shown_next(bytes, n, at))
                r = bytes[at] == SHOWN_EVENT ? 0 : strv_add(&degraded, bytes + at);
        if (r < 0)
                return r;
        plan->unseen = TAKE_PTR(unseen);
        *ret = TAKE_PTR(plan);
        *ret_degraded = TAKE_PTR(degraded);
        return 0;
}

int shown_open(pid_t waiter, pid_t init, struct nsrun_error *err) {
        int r = shown_find(waiter, init);

        if (r == -EPERM)
                return error_set(err, NSRUN_STAGE_SUPERVISE, UNSAID(r), NULL,
                                 "whoever waits for this sandbox is in namespaces of its own, and is not "
                                 "believed",
                                 NULL);
        if (r == -EACCES)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL,
                                 "the program that waits for this sandbox lets nobody look at it", NULL);
        if (r == -ENOENT)
                return error_set(err, NSRUN_STAGE_SUPERVISE, UNSAID(r), NULL,
                                 "whoever waits for this sandbox has no plan to show",
                                 "it may be another version, have ended, or have no room for files of that "
                                 "size");
        return r < 0 ? error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL,
                                 "the plan of this sandbox can't be read", NULL)
                     : r;
}

int shown_read_open(int fd, struct nsrun_plan **ret, char ***ret_degraded, struct nsrun_error *err) {
        _cleanup_free_ char *bytes = NULL;
        size_t n = 0;
        int r = shown_bytes(fd, &bytes, &n);

        if (r >= 0)
                r = shown_parse(bytes, n, ret, ret_degraded);
        if (r == -ENOMEM)
                return error_oom(err);
        return r < 0 ? error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL,
                                 "the plan of this sandbox can't be read",
                                 r == -EBADMSG ? "another version of nsrun made it" : NULL)
                     : 0;
}

int shown_read(pid_t waiter, pid_t init, struct nsrun_plan **ret, char ***ret_degraded,
               struct nsrun_error *err) {
        _cleanup_close_ int fd = shown_open(waiter, init, err);

        return fd < 0 ? fd : shown_read_open(fd, ret, ret_degraded, err);
}
