/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See appearing.h.  Folders are known by descriptors, and no symlink is followed. */
#include "appearing.h"

#include <limits.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>

#include "aside.h"
#include "base/array.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/str.h"
#include "base/sys.h"

enum {
        PLACES_MAX = 1024, /* with more submodules who waits looks by itself */
        DELAY_NS = 100 * 1000 * 1000,
        READS_MAX = 1152, /* at once: a full queue; who floods it doesn't keep the caller */
};

struct place {
        size_t folder;
        char *name; /* "" for the folder itself */
        int wd;     /* -1: it isn't there */
        unsigned round;
};

struct appearing {
        int fd; /* the timer's, then an epoll(7)'s, which has both */
        int timer, inotify;
        bool has_begun, polls;
        struct place *places;
        size_t n;
        unsigned round; /* of appearing_watch() */
};

static int set_delay(const struct appearing *a, bool is_again) {
        const struct timespec delay = {.tv_nsec = DELAY_NS};

        return timerfd_settime(a->timer, 0,
                               &(struct itimerspec){.it_interval = is_again ? delay : (struct timespec){0},
                                                    .it_value = delay},
                               NULL);
}

struct appearing *appearing_new(void) {
        struct appearing *a = calloc(1, sizeof(*a));

        if (!a)
                return NULL;
        a->fd = a->inotify = -EBADF;
        a->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
        return a->timer < 0 || set_delay(a, false) < 0 ? appearing_free(a) : a;
}

/* For good.  Something can't be watched, or was missed: the user's instances or watches are used up, or the
 * queue is full, maybe by commands. */
static void begin_polling(struct appearing *a) {
        a->polls = a->polls || set_delay(a, true) >= 0;
}

bool appearing_begins(struct appearing *a) {
        if (a->has_begun)
                return false;
        a->has_begun = true;
        a->fd = epoll_create1(EPOLL_CLOEXEC);
        a->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        (void)fd_lift(&a->fd);
        appearing_also(a, a->timer, EPOLLIN);
        if (a->inotify >= 0 && fd_lift(&a->inotify) >= 0)
                appearing_also(a, a->inotify, EPOLLIN);
        else
                begin_polling(a);
        return true;
}

void appearing_again(const struct appearing *a) {
        if (!a->polls)
                (void)set_delay(a, false);
}

bool appearing_polls(const struct appearing *a) {
        return !a || !a->has_begun || a->polls;
}

void appearing_also(struct appearing *a, int fd, uint32_t events) {
        (void)epoll_ctl(a->fd, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = events});
}

/* The kernel ends watches within some ten milliseconds, for which the last close(2) waits.  In a message
 * that nobody can receive any more, since its socket lies in it, too, the last one is a kernel thread's
 * (since Linux 6.9, and the caller's before). */
static void close_by_kernel(int *fd) {
        int ends[2] = {-EBADF, -EBADF};

        if (*fd >= 0 && sys_socketpair(ends) >= 0)
                (void)sys_send_fds(ends[0], "", 1, (const int[]){ends[1], *fd}, 2);
        close_fdp(fd);
        close_fdp(&ends[1]);
        close_fdp(&ends[0]);
}

struct appearing *appearing_free(struct appearing *a) {
        if (!a)
                return NULL;
        for (size_t i = 0; i < a->n; i++)
                free(a->places[i].name);
        free(a->places);
        close_fdp(&a->fd);
        close_fdp(&a->timer);
        close_by_kernel(&a->inotify);
        free(a);
        return NULL;
}

int appearing_fd(const struct appearing *a) {
        return !a ? -EBADF : a->has_begun ? a->fd : a->timer;
}

static struct place *appearing_place(struct appearing *a, size_t folder, const char *name, size_t length) {
        struct place p = {.folder = folder, .wd = -1};

        for (size_t i = 0; i < a->n; i++)
                if (a->places[i].folder == folder && strncmp(a->places[i].name, name, length) == 0 &&
                    !a->places[i].name[length])
                        return &a->places[i];
        if (a->n == PLACES_MAX || ARRAY_GROW(a->places, a->n) < 0 || !(p.name = strndup(name, length))) {
                begin_polling(a);
                return NULL;
        }
        a->places[a->n] = p;
        return &a->places[a->n++];
}

/* Ends a place's watch, which may be another's, too: one of what has two names. */
static void end_place_watch(struct appearing *a, struct place *p) {
        int wd = p->wd;

        p->wd = -1;
        for (size_t i = 0; i < a->n; i++)
                if (a->places[i].wd == wd)
                        return;
        (void)inotify_rm_watch(a->inotify, wd);
}

static int add_watch(const struct appearing *a, int fd) {
        return inotify_add_watch(a->inotify, fd_link(fd).path,
                                 IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM | IN_ONLYDIR);
}

/* Whether the folder is there, and watched. */
static bool watch_place(struct appearing *a, struct place *p, int root) {
        _cleanup_close_ int below = *p->name ? beneath_open(root, p->name, O_PATH | O_DIRECTORY, 0) : -EBADF;
        int fd = *p->name ? below : root, wd = fd < 0 ? -1 : add_watch(a, fd);

        /* The command has closed it since. One that could never be watched is the user's to open, or is
         * opened when it is looked through. */
        if (fd >= 0 && wd < 0 && errno == EACCES && p->wd >= 0 && folder_open_to_owner(fd) >= 0)
                wd = add_watch(a, fd);
        /* Another is at its place: there is one watch for each. */
        if (p->wd >= 0 && p->wd != wd)
                end_place_watch(a, p);
        if (fd >= 0 && wd < 0)
                begin_polling(a);
        p->wd = wd;
        p->round = a->round;
        return wd >= 0;
}

void appearing_watch(struct appearing *a, size_t folder, int fd, char *const *globs) {
        struct place *p = appearing_place(a, folder, "", 0);

        a->round++;
        if (!p || !watch_place(a, p, fd))
                return;
        STRV_FOREACH (glob, globs)
                for (const char *slash = strchr(*glob, '/'); slash; slash = strchr(slash + 1, '/')) {
                        if (strcspn(*glob, "*?[\\") < (size_t)(slash - *glob))
                                break;
                        p = appearing_place(a, folder, *glob, (size_t)(slash - *glob));
                        if (!p || (p->round == a->round ? p->wd < 0 : !watch_place(a, p, fd)))
                                break;
                }
}

static bool watch_entry(struct appearing *a, size_t folder, const char *name, int fd) {
        struct place *p = a ? appearing_place(a, folder, name, strlen(name)) : NULL;
        int wd = p ? inotify_add_watch(a->inotify, fd_link(fd).path, IN_MODIFY | IN_CREATE | IN_MOVED_TO)
                   : -1;

        if (!p)
                return false;
        if (p->wd >= 0 && p->wd != wd)
                end_place_watch(a, p);
        p->wd = wd;
        return wd >= 0;
}

/* The watch comes first, so that nothing is missed. */
bool appearing_while_empty(struct appearing *a, size_t number, int root, const char *name) {
        _cleanup_close_ int fd = beneath_open(root, name, O_PATH, 0);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) ||
            (!watch_entry(a, number, name, fd) && !appearing_polls(a)) || fstat(fd, &st) < 0)
                return false;
        return S_ISREG(st.st_mode) ? st.st_size == 0 : folder_is_empty(fd);
}

static void take_event(struct appearing *a, const struct inotify_event *event,
                       void (*found)(void *data, size_t folder, const char *path, bool is_gone),
                       void *data) {
        if (event->mask & IN_Q_OVERFLOW) {
                begin_polling(a);
                found(data, SIZE_MAX, "", false);
        }
        /* An entry that is watched itself says no name. */
        for (size_t i = 0; i < a->n && (event->len > 0 || (event->mask & IN_MODIFY)); i++) {
                const struct place *p = &a->places[i];
                const char *name = event->len > 0 ? event->name : "";
                char path[PATH_MAX];

                if (p->wd == event->wd && snprintf(path, sizeof(path), "%s%s%s", p->name,
                                                   *p->name && *name ? "/" : "", name) < (int)sizeof(path))
                        found(data, p->folder, path, event->mask & (IN_DELETE | IN_MOVED_FROM));
        }
}

void appearing_read(struct appearing *a,
                    void (*found)(void *data, size_t folder, const char *path, bool is_gone), void *data) {
        _Alignas(struct inotify_event) char events[4096];
        uint64_t ticks;

        if (read(a->timer, &ticks, sizeof(ticks)) > 0 && a->polls)
                found(data, SIZE_MAX, "", false);
        for (unsigned i = 0; i < READS_MAX; i++) {
                ssize_t n = a->inotify < 0 ? 0 : read(a->inotify, events, sizeof(events));

                if (n <= 0)
                        return;
                for (const char *at = events; at < events + n;) {
                        const struct inotify_event *event = (const void *)at;

                        take_event(a, event, found, data);
                        at += sizeof(*event) + event->len;
                }
        }
        begin_polling(a);
}
