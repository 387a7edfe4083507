/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See protected_links.h.  A run directory has a file of its run's links, written before its command begins;
 * the time of its lock is that of its beginning, and the lock is held until the links are put back.  So a
 * link that is the same before and after a look at all run directories was made by the user, or by a run
 * that the look has seen. */
#include "protected_links.h"

#include <fnmatch.h>
#include <limits.h>
#include <sys/file.h>

#include "base/file.h"
#include "base/path.h"
#include "base/sys.h"

#define LINKS_FILE "links"

enum {
        LINKS_MOST = 1 << 20, /* bytes of one run's */
        TRIES = 100,          /* of links that are replaced at this moment */
};

struct settling {
        struct protected_names *names;
        const char *own; /* the name of this run's directory */
        bool has_links;
        struct timespec begin; /* of the run whose directory is looked at */
        struct strbuf written; /* PATH, NUL, TEXT, NUL, again and again */
};

static int each_link(struct settling *s, int (*visit)(struct settling *s, const struct protected_folder *f,
                                                      struct protected_name *n)) {
        int r = 0;

        for (size_t i = 0; i < s->names->n; i++)
                for (size_t j = 0; j < s->names->folders[i].n_names && r == 0; j++)
                        if (s->names->folders[i].names[j].link)
                                r = visit(s, &s->names->folders[i], &s->names->folders[i].names[j]);
        return r;
}

static int set_link(struct protected_name *n, char *text) {
        if (!text)
                return -ENOMEM;
        free(n->link);
        n->link = text;
        return 0;
}

/* ---------------------------------------------------------------------- what others have */

static bool has_glob(const struct protected_folder *f, const char *name) {
        STRV_FOREACH (glob, f->globs)
                if (fnmatch(*glob, name, FNM_PATHNAME) == 0)
                        return true;
        return false;
}

/* Another run's link, in whichever folder of this one's it lies. */
static int take_others_link(struct settling *s, const char *path, const char *text) {
        int r = 0;

        for (size_t i = 0; i < s->names->n && r >= 0; i++) {
                struct protected_folder *f = &s->names->folders[i];
                const char *name = f->fd >= 0 ? path_below(path, f->path) : NULL;
                struct protected_name *n = name && *name ? protected_find_name(f, name) : NULL;

                if (!n && name && *name && has_glob(f, name)) {
                        r = protected_remember(f, name, &(struct stat){.st_mode = S_IFLNK}, text);
                        n = r < 0 ? NULL : &f->names[f->n_names - 1];
                }
                if (n)
                        r = set_link(n, strdup(text));
                if (n)
                        n->is_known = true;
        }
        return r;
}

static int doubt_young(struct settling *s, nsrun_unused const struct protected_folder *f,
                       struct protected_name *n) {
        n->is_unsure |= !n->is_known && !time_is_before(&n->st.st_ctim, &s->begin);
        return 0;
}

/* A dead run's links may have been changed by the user since. */
static bool is_run_alive(int base, const char *name, struct timespec *ret_begin) {
        char path[NAME_MAX + sizeof("/lock")];
        _cleanup_close_ int lock = -EBADF;
        struct stat st;

        (void)snprintf(path, sizeof(path), "%s/lock", name);
        lock = openat(base, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (lock < 0 || fstat(lock, &st) < 0 || flock(lock, LOCK_SH | LOCK_NB) == 0)
                return false;
        *ret_begin = st.st_mtim;
        return true;
}

static int take_links(struct settling *s, int fd) {
        _cleanup_free_ char *bytes = malloc(LINKS_MOST + 1);
        size_t n = 0;
        int r = bytes ? read_full(fd, bytes, LINKS_MOST, &n) : -ENOMEM;

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        bytes[n] = '\0';
        for (const char *at = bytes, *text; at < bytes + n && r >= 0; at = text + strlen(text) + 1) {
                text = at + strlen(at) + 1;
                if (text >= bytes + n)
                        break;
                r = take_others_link(s, at, text);
        }
        return r;
}

static int look_at_run(void *data, int base, const struct dirent *entry) {
        struct settling *s = data;
        char path[NAME_MAX + sizeof("/" LINKS_FILE)];
        _cleanup_close_ int fd = -EBADF;
        int r = 0;

        if (!rundir_is_name(entry->d_name) || streq(entry->d_name, s->own))
                return 0;
        (void)snprintf(path, sizeof(path), "%s/" LINKS_FILE, entry->d_name);
        fd = openat(base, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if ((fd < 0 && !s->has_links) || !is_run_alive(base, entry->d_name, &s->begin))
                return 0;
        r = fd >= 0 ? take_links(s, fd) : 0;
        return r < 0 ? r : each_link(s, doubt_young);
}

/* ------------------------------------------------------------------------------ settled */

/* What lies there now. */
static int look_at_link(struct settling *s, const struct protected_folder *f, struct protected_name *n) {
        char *text = protected_read_link(f->fd, n->name);

        s->has_links = true;
        n->is_known = n->is_unsure = false;
        if (fstatat(f->fd, n->name, &n->st, AT_SYMLINK_NOFOLLOW) < 0)
                n->st = (struct stat){0};
        return text ? set_link(n, text) : 0;
}

/* -EAGAIN: something else lies there meanwhile. */
static int look_at_link_again(nsrun_unused struct settling *s, const struct protected_folder *f,
                              struct protected_name *n) {
        _cleanup_free_ char *text = n->is_known ? NULL : protected_read_link(f->fd, n->name);
        struct stat st;

        if (n->is_known)
                return 0;
        if (fstatat(f->fd, n->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return n->st.st_ino == 0 ? 0 : -EAGAIN;
        return is_same_entry(&n->st, &st) && (!text || streq(text, n->link)) ? 0 : -EAGAIN;
}

static int links_doubt(nsrun_unused struct settling *s, nsrun_unused const struct protected_folder *f,
                       struct protected_name *n) {
        n->is_unsure = !n->is_known;
        return 0;
}

/* `is_unread`: nobody has read from the descriptor yet, or will. */
static int settle_by_runs(struct settling *s, int base, bool is_unread) {
        int r = -EAGAIN;

        for (unsigned i = 0; i < TRIES && r == -EAGAIN; i++) {
                r = each_link(s, look_at_link);
                if (r >= 0)
                        r = (is_unread && i == 0 ? folder_read : folder_each)(base, look_at_run, s);
                if (r >= 0)
                        r = each_link(s, look_at_link_again);
        }
        return r == -ENOMEM ? r : r < 0 ? each_link(s, links_doubt) : 0;
}

/* What the session has written; what it hasn't it was unsure of. */
static int settle_by_session(struct settling *s, const char *session) {
        _cleanup_free_ char *path = path_join(session, LINKS_FILE);
        _cleanup_close_ int fd = path ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -EBADF;
        int r = !path ? -ENOMEM : fd >= 0 ? take_links(s, fd) : 0;

        return r < 0 || fd < 0 ? r : each_link(s, links_doubt);
}

static int add_own(struct settling *s, const struct protected_folder *f, struct protected_name *n) {
        if (n->is_unsure)
                return 0;
        strbuf_add(&s->written, f->path);
        strbuf_add(&s->written, "/");
        strbuf_add_bytes(&s->written, n->name, strlen(n->name) + 1);
        strbuf_add_bytes(&s->written, n->link, strlen(n->link) + 1);
        return 0;
}

static int write_own(struct settling *s, int dir) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *bytes = NULL;
        size_t n;

        (void)each_link(s, add_own);
        n = s->written.length;
        bytes = strbuf_finish(&s->written);
        if (!bytes || n == 0)
                return bytes ? 0 : -ENOMEM;
        fd = openat(dir, LINKS_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0)
                (void)write_full(fd, bytes, n);
        return 0;
}

static int is_link(nsrun_unused struct settling *s, nsrun_unused const struct protected_folder *f,
                   nsrun_unused struct protected_name *n) {
        return 1;
}

/* Without a run directory, since there were no links: another run may know of some that are gone at this
 * moment. */
static int settle_without(struct settling *s, struct rundir *u) {
        _cleanup_close_ int base = rundir_open_there();
        int r;

        if (base < 0)
                return base == -ENOMEM ? base : 0;
        s->own = "";
        r = settle_by_runs(s, base, true);
        if (r >= 0 && each_link(s, is_link) > 0 && rundir_make(u, NULL) == -ENOMEM)
                r = -ENOMEM;
        return r;
}

int links_settle(struct protected_names *names, struct rundir *u, const char *session) {
        struct settling s = {.names = names};
        int r = 0;

        if (session)
                return settle_by_session(&s, session);
        if (!u->path)
                r = names->n > 0 ? settle_without(&s, u) : 0;
        else {
                s.own = path_basename(u->path);
                if (u->has_others || each_link(&s, look_at_link_again) == -EAGAIN)
                        r = settle_by_runs(&s, u->base_fd, false);
        }
        return r < 0 || !u->path ? r : write_own(&s, u->dir_fd);
}

/* ------------------------------------------------------------------------------ put back */

/* No mount keeps a symlink from being removed, either. */
int links_put_back(const struct look *l) {
        int r = 0;

        for (size_t i = 0; i < l->folder->n_names && r >= 0; i++) {
                const struct protected_name *n = &l->folder->names[i];
                const char *base = path_basename(n->name);
                _cleanup_free_ char *folder = NULL;
                _cleanup_close_ int parent = n->link ? open_folder_of(l, n->name, &folder) : -EBADF;
                struct stat st;

                if (!n->link || (parent >= 0 &&
                                 (fstatat(parent, base, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)))
                        continue;
                if (parent == -ENOMEM)
                        return parent;
                r = look_say(l, n->name,
                             n->is_unsure
                                     ? "a protected symlink was removed while the command ran, by it or by "
                                       "others, and isn't put back: another run may have made it"
                             : parent >= 0 && symlinkat(n->link, parent, base) == 0
                                     ? "a protected symlink was removed while the command ran, by it or by "
                                       "others, and is put back"
                                     : "a protected symlink was removed while the command ran, by it or by "
                                       "others, and can't be put back",
                             NULL);
        }
        return r;
}
