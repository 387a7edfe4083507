/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See protected.h.  All below these folders is the command's: it is reached by descriptors, and no symlink
 * is followed. */
#include "protected_links.h"

#include <limits.h>
#include <sys/epoll.h>

#include "aside.h"
#include "base/array.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sys.h"
#include "disk/remove_tree.h"
#include "host/glob.h"
#include "host/subrepositories.h"
#include "protect/protect_names.h"
#include "repositories.h"

enum {
        OPEN_TRIES = 1000,
        HELD_MOST = 64, /* of a folder */
};

static void clear_folder(struct protected_folder *f) {
        for (size_t i = 0; i < f->n_names; i++) {
                free(f->names[i].name);
                free(f->names[i].link);
                close_fdp(&f->names[i].fd);
        }
        free(f->names);
        strv_free(f->globs);
        free(f->path);
        close_fdp(&f->fd);
}

void protected_clear(struct protected_names *names) {
        for (size_t i = 0; i < names->n; i++)
                clear_folder(&names->folders[i]);
        free(names->folders);
        strv_free(names->git_dirs);
        strv_free(names->private);
        strv_free(names->no_protect);
        free(names->project);
        free(names->git_dir);
        for (size_t i = 0; i < names->n_asides; i++) {
                free(names->asides[i].name);
                free(names->asides[i].aside);
        }
        if (names->has_inside)
                inside_close(&names->inside);
        free(names->asides);
        strv_free(names->links);
        (void)covers_free(names->covers);
        (void)appearing_free(names->appearing);
        *names = (struct protected_names){0};
}

char *protected_read_link(int folder, const char *name) {
        char text[PATH_MAX];
        ssize_t n = readlinkat(folder, name, text, sizeof(text) - 1);

        return n < 0 ? NULL : strndup(text, (size_t)n);
}

int protected_remember(struct protected_folder *f, const char *name, const struct stat *st,
                       const char *link) {
        struct protected_name n = {.st = *st, .fd = -EBADF};

        if (ARRAY_GROW(f->names, f->n_names) < 0)
                return -ENOMEM;
        n.name = strdup(name);
        if (n.name && (link || S_ISLNK(st->st_mode)))
                n.link = link ? strdup(link) : protected_read_link(f->fd, name);
        if (!n.name || ((link || S_ISLNK(st->st_mode)) && !n.link)) {
                free(n.name);
                return -ENOMEM;
        }
        f->names[f->n_names++] = n;
        return 0;
}

static struct protected_folder *find_folder(const struct protected_names *names, const char *path,
                                            size_t n) {
        /* The globs of a folder stand together, nearly always. */
        for (size_t i = names->n; i-- > 0;)
                if (strncmp(names->folders[i].path, path, n) == 0 && !names->folders[i].path[n])
                        return &names->folders[i];
        return NULL;
}

/* The descriptor of a folder that can't be opened is -EBADF, and nothing is looked for there: nothing of it
 * was mounted, either. */
static int folder_of(struct protected_names *names, const char *path, size_t n,
                     struct protected_folder **ret) {
        struct protected_folder f = {.fd = -EBADF};

        *ret = find_folder(names, path, n);
        if (*ret)
                return 0;
        if (ARRAY_GROW(names->folders, names->n) < 0)
                return -ENOMEM;
        f.path = strndup(path, n);
        if (!f.path)
                return -ENOMEM;
        f.fd = open(f.path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (f.fd >= 0 && fd_lift(&f.fd) < 0)
                close_fdp(&f.fd);
        names->folders[names->n] = f;
        *ret = &names->folders[names->n++];
        return 0;
}

static int add_glob(struct protected_names *names, const char *entry) {
        const char *cut = strstr(entry, "//");
        struct protected_folder *f;
        int r = folder_of(names, entry, (size_t)(cut - entry), &f);

        return r < 0 ? r : strv_add(&f->globs, cut + 2);
}

/* Whether the command has a version of its own of it. */
static bool has_own_copy(const struct look *l, const char *name) {
        _cleanup_free_ char *path = l->all->private ? str_concat(l->folder->path, "/", name) : NULL;

        return path && strv_contains(l->all->private, path);
}

bool is_same_entry(const struct stat *a, const struct stat *b) {
        return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
               a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Whether another file lies there than at the start.  One that came to be where a held one lies has another
 * inode; what nobody holds may have left its inode to one that was made since. */
static bool is_other_file(const struct look *l, const struct protected_name *n, const struct stat *st) {
        const struct timespec *since = &l->all->since;
        uint64_t inode, born;

        if (n->fd >= 0 || n->st.st_ino != st->st_ino || n->st.st_dev != st->st_dev)
                return n->st.st_ino != st->st_ino || n->st.st_dev != st->st_dev;
        return !is_same_entry(&n->st, st) && sys_birth(l->folder->fd, n->name, &inode, &born) >= 0 &&
               born >= (uint64_t)since->tv_sec * 1000000000U + (uint64_t)since->tv_nsec;
}

/* Whether another file lies there, of which nobody knows who made it.  Of a repository repositories.h tells.
 */
static bool is_replaced_unseen(const struct look *l, const struct protected_name *n, const struct stat *st) {
        return !n->link && !streq(n->name, ".git") && is_other_file(l, n, st) &&
               !(S_ISREG(n->st.st_mode) && has_own_copy(l, n->name));
}

static void hold_name(const struct look *l, struct protected_name *n) {
        _cleanup_close_ int fd = openat(l->folder->fd, n->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        n->is_gone |= fd < 0 && errno == ENOENT;
        if (fd < 0 || fd_lift(&fd) < 0 || fstat(fd, &st) < 0)
                return;
        n->is_gone |= is_replaced_unseen(l, n, &st);
        if (!is_other_file(l, n, &st))
                n->fd = TAKE_FD(fd);
}

/* What was there when the policy was resolved, in a session when that began: what came to be since is no
 * more the user's than what this command makes. */
static int add_present(struct protected_names *names, const char *entry) {
        const char *cut = strstr(entry, "//"), *link = strstr(cut + 2, "//");
        struct protected_folder *f = find_folder(names, entry, (size_t)(cut - entry));
        _cleanup_free_ char *name = link ? strndup(cut + 2, (size_t)(link - cut - 2)) : strdup(cut + 2);
        const struct look look = {.folder = f, .all = names};
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r;

        if (!name || !f || f->fd < 0)
                return name ? 0 : -ENOMEM;
        /* What is held is what was looked at. */
        if (has_own_copy(&look, name) && (fd = openat(f->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)) < 0 &&
            errno == ENOENT)
                return 0;
        if ((fd >= 0 ? fstat(fd, &st) : fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW)) < 0)
                return 0;
        r = protected_remember(f, name, &st, link ? link + 2 : NULL);
        if (r >= 0 && fd >= 0 && fd_lift(&fd) >= 0)
                f->names[f->n_names - 1].fd = TAKE_FD(fd);
        return r;
}

int protected_begin(const struct nsrun_plan *plan, struct kept_by *kept_by, struct protected_names *ret) {
        struct protected_names names = {.kept_by = kept_by, .may_enter = !plan->raw && !plan->plain};
        const char *git_dir = plan->git_common_dir ? plan->git_common_dir : plan->git_dir;
        int r = git_dir && !(names.git_dir = strdup(git_dir)) ? -ENOMEM : 0;

        /* The coarse clock is the one by which the kernel stamps files. */
        (void)clock_gettime(CLOCK_REALTIME_COARSE, &names.since);
        if (r >= 0)
                r = strv_copy(plan->private, &names.private);
        if (r >= 0)
                r = strv_copy(plan->no_protect, &names.no_protect);
        STRV_FOREACH (entry, plan->protected)
                if (r >= 0)
                        r = add_glob(&names, *entry);
        STRV_FOREACH (entry, plan->present)
                if (r >= 0)
                        r = add_present(&names, *entry);
        if (r >= 0)
                r = strv_copy(plan->git_dirs, &names.git_dirs);
        if (r >= 0 && plan->project && !(names.project = strdup(plan->project)))
                r = -ENOMEM;
        if (r < 0) {
                protected_clear(&names);
                return r;
        }
        r = covers_new(plan, &names.covers);
        if (r < 0) {
                protected_clear(&names);
                return r;
        }
        names.appearing = names.n > 0 || names.covers ? appearing_new() : NULL;
        *ret = names;
        return 0;
}

/* Nothing of git's is a symlink there, and what it says may lead git to orders. */
static int remove_link(const struct look *l, const char *name) {
        _cleanup_free_ char *folder = NULL;
        _cleanup_close_ int parent = open_folder_of(l, name, &folder);

        if (parent < 0 || unlinkat(parent, path_basename(name), 0) < 0)
                return parent == -ENOMEM ? parent : 0;
        return strv_length(l->all->links) < KEPT_MOST
                       ? strv_consume(&l->all->links, str_concat(l->folder->path, "/", name))
                       : 0;
}

/* Of a name that has gone, be it for a moment, nobody knows who has made it anew: the command tries all the
 * time, if it likes.  Where that isn't told, or nothing covers what the host has put there, it holds of
 * every other file; but git's configuration is judged by what it says. */
static bool is_made_anew(const struct look *l, const struct protected_name *n, const struct stat *st) {
        bool is_blind = appearing_polls(l->all->appearing) || (l->all->lacks_covers && !l->is_early);

        return n->is_gone ? n->fd < 0 || is_other_file(l, n, st) : is_blind && is_replaced_unseen(l, n, st);
}

struct protected_name *protected_find_name(const struct protected_folder *f, const char *name) {
        for (size_t i = 0; i < f->n_names; i++)
                if (streq(f->names[i].name, name))
                        return &f->names[i];
        return NULL;
}

/* Whether somebody can write to what was put there, be it the command, before it was covered.  Of git's
 * configuration carry/ asks that. */
static bool is_written_to(const struct look *l, const char *name) {
        _cleanup_close_ int fd = beneath_open(l->folder->fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

        return fd >= 0 && !has_own_copy(l, name) && file_has_writer(fd);
}

/* What is put back. */
static const struct protected_name *sure_of(const struct protected_name *was) {
        return was->is_unsure ? NULL : was;
}

static int judge_name(void *data, const char *name, const struct stat *st) {
        struct look *l = data;
        const struct protected_name *was = protected_find_name(l->folder, name);

        if (was && is_made_anew(l, was, st))
                was = NULL;
        /* No mount keeps a link from being replaced. */
        if (was && was->link && l->is_early) {
                _cleanup_free_ char *link = protected_read_link(l->folder->fd, name);

                return link && streq(link, was->link) ? 0 : look_put_aside(l, name, sure_of(was));
        }
        /* A repository of its own, which a command may make: repositories.h tells of it. */
        if ((!was && streq(name, ".git")) || (was && l->is_early)) {
                bool is_other = was && (was->st.st_ino != st->st_ino || was->st.st_dev != st->st_dev);

                l->has_replaced |= is_other;
                return is_other && is_written_to(l, name) ? look_put_aside(l, name, NULL) : 0;
        }
        if (l->is_early && S_ISLNK(st->st_mode) && startswith(name, ".git/"))
                return remove_link(l, name);
        if (!was && !l->is_early && (look_end_placeholder(l, name) || look_is_checked_out(l, name)))
                return 0;
        if (!was && l->is_early &&
            appearing_while_empty(l->all->appearing, (size_t)(l->folder - l->all->folders), l->folder->fd,
                                  name))
                return 0;
        /* What is neither a file nor a folder could not be mounted over. */
        if (!was || (!was->link && !S_ISREG(was->st.st_mode) && !S_ISDIR(was->st.st_mode) &&
                     !is_same_entry(&was->st, st)))
                return look_put_aside(l, name, NULL);
        /* A folder .git, which the command may write to, may have been no mount point. */
        if (streq(name, ".git") && S_ISDIR(was->st.st_mode))
                return S_ISDIR(st->st_mode) ? 0 : look_put_aside(l, name, NULL);
        if (was->link) {
                _cleanup_free_ char *link = protected_read_link(l->folder->fd, name);

                return link && streq(link, was->link) ? 0 : look_put_aside(l, name, sure_of(was));
        }
        /* What a session's earlier command changed, that one has told. */
        if (is_same_entry(&was->st, st) || time_is_before(&st->st_ctim, &l->all->since))
                return 0;
        /* Of such the command changes nothing, unless somebody has put another file there meanwhile: then
         * the kernel has taken the link to the version away. */
        if (was->st.st_ino == st->st_ino && was->st.st_dev == st->st_dev && has_own_copy(l, name))
                return 0;
        return look_say(l, name, "a protected name was changed while the command ran, by it or by others",
                        NULL);
}

/* Opens the folder `root`, and those below it on the way to `name`, where the command has closed them to
 * their owner.  One that is as the user closed it has nothing new in it and stays so.  Whether there was one
 * of the command's. */
static bool open_way(const struct look *l, const char *name) {
        _cleanup_close_ int folder = fcntl(l->folder->fd, F_DUPFD_CLOEXEC, 3);
        bool is_the_commands = false;

        for (const char *at = name; folder >= 0; at += *at == '/') {
                _cleanup_free_ char *part = strndup(at, strcspn(at, "/"));
                struct stat st;
                int next;

                if (!part || fstat(folder, &st) < 0)
                        break;
                if (!time_is_before(&st.st_ctim, &l->all->since)) {
                        is_the_commands = true;
                        if (folder_open_to_owner(folder) < 0)
                                break;
                }
                at += strlen(part);
                next = *part ? openat(folder, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -EBADF;
                close_fdp(&folder);
                folder = next;
        }
        return is_the_commands;
}

/* A folder that is closed is opened, and tried once more. */
static int open_what_is_closed(void *data, const char *name) {
        struct look *l = data;

        if (l->is_early)
                return 0;
        if (l->last_closed && streq(l->last_closed, name))
                return look_say(l, name, "what the command has made of a protected name can't be seen",
                                NULL);
        free(l->last_closed);
        l->last_closed = strdup(name);
        if (!l->last_closed)
                return -ENOMEM;
        return open_way(l, name);
}

static int find_names(struct look *l, char *const *globs) {
        const struct glob_search search = {.found = judge_name, .closed = open_what_is_closed, .data = l};

        return glob_find(l->folder->fd, globs, &search);
}

/* Those without wildcards, which are looked up one by one where a folder has too many entries to read. */
static int find_plain_names(struct look *l) {
        _cleanup_strv_ char **plain = NULL;
        int r = 0;

        STRV_FOREACH (glob, l->folder->globs)
                if (r >= 0 && !strpbrk(*glob, "*?[\\"))
                        r = strv_add(&plain, *glob);
        return r >= 0 && plain ? find_names(l, plain) : r;
}

static int look_through(struct look *l) {
        int r = l->is_early ? find_plain_names(l) : find_names(l, l->folder->globs);

        if (r == -E2BIG && (r = find_plain_names(l)) >= 0)
                r = -E2BIG;
        free(l->last_closed);
        l->last_closed = NULL;
        if (r >= 0 && !protected_find_name(l->folder, "HEAD") && nested_is_bare(l->folder->fd))
                r = look_put_aside(l, "HEAD", NULL);
        if (r < 0 && r != -ENOMEM && !l->is_early)
                r = look_say(l, ".", "what the command has made of protected names can't be seen", NULL);
        return r;
}

/* Whether `name` of the git dir `path` in the folder `f` is protected, not left open. */
static bool has_part(const struct protected_folder *f, const char *path, const char *name) {
        _cleanup_free_ char *folder = glob_escape(path_below(path, f->path)), *glob = NULL;

        glob = folder ? str_concat(folder, *folder ? "/" : "", name) : NULL;
        return glob && strv_contains(f->globs, glob);
}

/* A git dir that was there when the policy was resolved: a repository's, or a worktree's. */
static bool is_known_git_dir(void *data, const char *path) {
        const struct look *l = data;
        bool is_repository = strv_contains(l->all->git_dirs, path);

        for (size_t i = 0; i < l->all->n; i++) {
                const struct protected_folder *f = &l->all->folders[i];

                if (path_is_beneath(path, f->path) &&
                    ((is_repository && has_part(f, path, "config") && has_part(f, path, "hooks")) ||
                     (has_part(f, path, "commondir") && has_part(f, path, "gitdir"))))
                        return true;
        }
        return false;
}

/* Or the user has it left open, below whichever folder has names. */
static bool was_there(void *data, const char *path, const struct stat *st) {
        const struct look *l = data;

        for (size_t i = 0; i < l->all->n && l->all->no_protect; i++) {
                const char *below = path_below(path, l->all->folders[i].path);

                if (below && *below && protect_is_among_open(l->all->no_protect, below))
                        return true;
        }
        if (!st)
                return strv_contains(l->all->git_dirs, path);
        for (size_t i = 0; i < l->all->n; i++) {
                const struct protected_folder *f = &l->all->folders[i];
                const char *below = path_below(path, f->path);
                _cleanup_free_ char *name = below ? str_concat(below, *below ? "/" : "", ".git") : NULL;
                const struct protected_name *was = name ? protected_find_name(f, name) : NULL;

                if (was && was->st.st_ino == st->st_ino && was->st.st_dev == st->st_dev)
                        return true;
        }
        return false;
}

static bool is_looked_at(void *data, const char *path) {
        const struct look *l = data;

        return find_folder(l->all, path, strlen(path)) != NULL;
}

/* Opens what `root` leads to. */
static int open_in(int root, const char *path) {
        int flags = O_PATH | O_DIRECTORY | O_CLOEXEC, r = -EAGAIN;

        /* EAGAIN: something was renamed or mounted somewhere while a ".." was followed. */
        for (unsigned i = 0; i < OPEN_TRIES && r == -EAGAIN; i++)
                r = sys_openat2(root, *path ? path : ".", flags, 0, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
        return r == -ENOSYS || r == -EPERM ? beneath_open(root, path, O_PATH | O_DIRECTORY, 0) : r;
}

static int open_of_command(void *data, const char *path) {
        const struct look *l = data;
        int r = -EXDEV;

        for (size_t i = 0; i < l->all->n && r < 0 && r != -ENOENT; i++) {
                const struct protected_folder *f = &l->all->folders[i];
                const char *below = f->fd >= 0 ? path_below(path, f->path) : NULL;

                if (below)
                        r = open_in(f->fd, below);
        }
        STRV_FOREACH (git_dir, l->all->git_dirs) {
                const char *below = r == -EXDEV ? path_below(path, *git_dir) : NULL;
                _cleanup_close_ int root =
                        below ? open(*git_dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -EBADF;

                if (root >= 0)
                        r = open_in(root, below);
        }
        return r;
}

static bool is_way_young(void *data, const char *path) {
        const struct look *l = data;

        for (size_t i = 0; i < l->all->n; i++) {
                const struct protected_folder *f = &l->all->folders[i];
                const char *below = f->fd >= 0 ? path_below(path, f->path) : NULL;

                if (below && *below && repositories_way_is_young(&l->all->since, f->fd, below))
                        return true;
        }
        return false;
}

static int tell_repository(void *data, const struct nsrun_error *note) {
        const struct look *l = data;

        return l->found(l->data, note);
}

/* ------------------------------------------------------------ while the command runs */

int protected_fd(const struct protected_names *names) {
        return appearing_fd(names->appearing);
}

/* Whether the path, which has come to be, is what a glob without wildcards names, or leads to it, or may
 * make the folder a bare repository. */
static bool is_of_interest(const struct protected_folder *f, const char *path) {
        static const char *const bare[] = {"HEAD", "commondir", "objects", "refs"};

        for (size_t i = 0; i < ARRAY_SIZE(bare); i++)
                if (streq(path, bare[i]))
                        return true;
        STRV_FOREACH (glob, f->globs) {
                const char *rest = startswith(*glob, path);

                if (rest && (!*rest || *rest == '/'))
                        return true;
                rest = startswith(path, *glob);
                if (rest && *rest == '/')
                        return true;
        }
        return false;
}

static void note_new(void *data, size_t folder, const char *path, bool is_gone) {
        struct protected_names *names = data;

        /* A mount keeps the command from removing one; a symlink has none. */
        for (size_t i = 0; is_gone && i < names->folders[folder].n_names; i++) {
                struct protected_name *n = &names->folders[folder].names[i];

                n->is_gone |= !n->link && path_is_beneath(n->name, path);
        }
        for (size_t i = 0; i < names->n; i++)
                if (folder == SIZE_MAX || (folder == i && is_of_interest(&names->folders[i], path)))
                        names->folders[i].has_new = names->folders[i].fd >= 0;
}

/* The watch comes first, so that who replaces one meanwhile is told. */
static void watch_all(struct protected_names *names) {
        note_new(names, SIZE_MAX, "", false);
        for (size_t i = 0; i < names->n; i++) {
                struct protected_folder *f = &names->folders[i];
                const struct look look = {.folder = f, .all = names};

                if (f->fd >= 0)
                        appearing_watch(names->appearing, i, f->fd, f->globs);
                for (size_t j = 0; j < f->n_names && j < HELD_MOST; j++)
                        if (f->names[j].fd < 0 && !f->names[j].link)
                                hold_name(&look, &f->names[j]);
        }
}

int protected_covers_fd(const struct protected_names *names) {
        return covers_fd(names->covers);
}

/* Opens what is needed of the sandbox, once; whether its mounts are watched since. */
static bool enter_inside(struct protected_names *names, pid_t init) {
        int r, fd = -ENOENT;

        if (names->has_inside || !names->may_enter)
                return false;
        /* By processes alone: a command in namespaces of its own sees nothing of what is covered in these.
         */
        r = inside_open(0, NULL, init, &names->inside);
        if (r >= 0 && names->covers)
                fd = r = covers_watch(names->covers, &names->inside, init);
        names->has_inside = r >= 0;
        names->lacks_covers = r < 0 && names->covers;
        if (fd >= 0)
                appearing_also(names->appearing, fd, EPOLLPRI);
        else if (fd == -EACCES)
                inside_close(&names->inside);
        return fd >= 0;
}

int protected_cover(struct protected_names *names, pid_t init, bool has_changed) {
        bool begins = appearing_begins(names->appearing), is_first = enter_inside(names, init);

        if (begins)
                watch_all(names);
        if (names->lacks_covers)
                appearing_again(names->appearing);
        return is_first || has_changed || covers_have_changed(names->covers)
                       ? covers_put_back(names->covers, &names->uncovered)
                       : 0;
}

int protected_take(struct protected_names *names, pid_t init) {
        /* First, since the command can write there until then. */
        int r = protected_cover(names, init, false);

        appearing_read(names->appearing, note_new, names);
        for (size_t i = 0; i < names->n && r >= 0; i++) {
                struct protected_folder *f = &names->folders[i];
                struct look look = {.folder = f, .all = names, .is_early = true};

                if (!f->has_new)
                        continue;
                f->has_new = false;
                /* First, so that what comes to be meanwhile in a new folder is told. */
                appearing_watch(names->appearing, i, f->fd, f->globs);
                (void)look_through(&look);
                if (look.has_replaced)
                        r = covers_put_back(names->covers, &names->uncovered);
        }
        return r;
}

/* ----------------------------------------------------------------------- at the end */

int protected_end(struct protected_names *names, int versions,
                  int (*found)(void *data, const struct nsrun_error *note), void *data) {
        int r;

        if (names->appearing)
                appearing_read(names->appearing, note_new, names);
        r = asides_end(names, found, data);
        if (r >= 0 && names->uncovered.stage != NSRUN_STAGE_NONE)
                r = found(data, &names->uncovered);
        for (size_t i = 0; i < names->n && r >= 0; i++) {
                struct look look = {
                        .folder = &names->folders[i], .all = names, .found = found, .data = data};
                const struct repositories repositories = {.since = names->since,
                                                          .versions = versions,
                                                          .is_known = is_known_git_dir,
                                                          .was_there = was_there,
                                                          .is_looked_at = is_looked_at,
                                                          .open = open_of_command,
                                                          .is_way_young = is_way_young,
                                                          .found = tell_repository,
                                                          .data = &look};

                if (look.folder->fd < 0)
                        continue;
                r = look_through(&look);
                if (r >= 0)
                        r = links_put_back(&look);
                if (r >= 0)
                        r = repositories_look(&repositories, look.folder->fd, look.folder->path);
        }
        if (r >= 0)
                r = asides_tell_others(names, found, data);
        protected_clear(names);
        return r;
}
