/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Versions of git's configuration.  All in the private folder is the command's: it is reached by
 * descriptors, bounded, and no symlink is followed. */
#include "versions.h"

#include <sys/file.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sys.h"
#include "git_config.h"
#include "host/tmpfs.h"
#include "private_folder.h"

/* What a session's commands need of each file, in its run directory: what the command was given, by which
 * changes are told, and what it had when that was last looked at. */
#define BASE "base-%zu"
#define SEEN "seen-%zu"

enum {
        SIZE_MOST = 1 << 20,
        JUDGE_TRIES = 100,
        VERSION_NAME_SIZE = 300,
};

struct version {
        char *path; /* on the host */
        char *base, *seen;
        size_t n_base, n_seen;
        struct stat host; /* the host's file at the last look */
        int held;         /* it: its inode's number can't be another's */
        char *judged;     /* what it said when nothing had to be taken out, once it was replaced */
        size_t n_judged;
        bool was_replaced;
        char *taken, *words; /* git_config_take()'s, and what is to be said of that */
        bool is_folder;      /* private_folder.h's */
        bool is_placed;      /* the host hadn't that, */
        bool is_gone;        /* and has taken away what stood for it */
        int not_placed;      /* or why it can't be there: -errno */
};

void versions_clear(struct versions *versions) {
        for (size_t i = 0; versions->files && i < versions->n; i++) {
                free(versions->files[i].path);
                free(versions->files[i].base);
                free(versions->files[i].judged);
                close_fdp(&versions->files[i].held);
                free(versions->files[i].seen);
                free(versions->files[i].taken);
                free(versions->files[i].words);
        }
        for (size_t i = 0; i < versions->n_ops; i++) {
                free(versions->ops[i].target);
                free(versions->ops[i].text);
        }
        free(versions->ops);
        free(versions->files);
        free(versions->rundir);
        close_fdp(&versions->place);
        close_fdp(&versions->folder);
        *versions = VERSIONS_INIT;
}

static int version_write(int folder, const char *name, const char *bytes, size_t n) {
        _cleanup_close_ int fd = sys_open(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0644);

        return fd < 0 ? fd : write_full(fd, bytes, n);
}

int version_read_host(const char *path, char **ret, size_t *ret_n) {
        _cleanup_close_ int fd = beneath_open_canonical(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);

        return fd < 0 ? fd : read_bytes_fd(fd, SIZE_MOST, ret, ret_n);
}

/* The host's file, and what was kept aside of it. */
static int make_given(struct versions *versions, struct version *f) {
        struct kept about = {0};
        _cleanup_close_ int kept = !versions->has_kept ? -ENOENT
                                                       : kept_find(versions->kept_by->project, f->path,
                                                                   GIT_CONFIG_REASON, &about);
        _cleanup_free_ char *more = NULL;

        if (kept == -ENOMEM)
                return -ENOMEM;
        if (kept >= 0 && kept_is_old(&about)) {
                versions->has_old = true;
                close_fdp(&kept);
        }
        kept_clear(&about);
        if (kept >= 0)
                (void)read_small_file(kept, KEPT_ENTRY, O_NOFOLLOW, SIZE_MOST, &more);
        return git_config_give(versions->rundir, f->base, f->n_base, more, &f->seen, &f->n_seen);
}

/* As the text of the file's operation has it (plan/plan.c). */
static void version_name(const struct version *f, size_t k, char to[VERSION_NAME_SIZE]) {
        (void)snprintf(to, VERSION_NAME_SIZE, "%zu-%s", k, path_basename(f->path));
}

static int make_version(struct versions *versions, struct version *f, size_t k) {
        char name[VERSION_NAME_SIZE];
        int r = version_read_host(f->path, &f->base, &f->n_base);

        /* It has gone since the policy was resolved: the mount says what is wrong. */
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        r = make_given(versions, f);
        version_name(f, k, name);
        if (r >= 0)
                r = version_write(versions->folder, name, f->seen, f->n_seen);
        if (r < 0 || !versions->is_session)
                return r;
        (void)snprintf(name, sizeof(name), BASE, k);
        r = version_write(versions->place, name, f->base, f->n_base);
        (void)snprintf(name, sizeof(name), SEEN, k);
        return r < 0 ? r : version_write(versions->place, name, f->seen, f->n_seen);
}

/* Where git's drafts are made: the run directory, which is made now if there was no need of one. */
static int versions_need_rundir(struct versions *versions, struct rundir *u) {
        int r = versions->rundir || u->path ? 0 : rundir_make(u, NULL);

        if (r >= 0 && !versions->rundir && !(versions->rundir = strdup(u->path)))
                r = -ENOMEM;
        return r;
}

static int versions_name(const struct nsrun_plan *plan, struct versions *versions) {
        versions->n = strv_length(plan->private);
        versions->files = calloc(versions->n, sizeof(*versions->files));
        if (!versions->files)
                return -ENOMEM;
        for (size_t i = 0; i < versions->n; i++)
                versions->files[i].held = -EBADF;
        for (size_t i = 0; i < versions->n; i++)
                if (!(versions->files[i].path = strdup(plan->private[i])))
                        return -ENOMEM;
        return 1;
}

/* ----------------------------------------------------------------------------- in memory */

/* 1, 0: it is to be on disk, or -ENOMEM.  Of a folder that was removed and made anew overlayfs makes a note
 * in attributes. */
static int read_into_memory(struct versions *versions, struct version *f) {
        int r;

        f->held = open(f->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        f->is_folder = f->held >= 0 && fstat(f->held, &f->host) == 0 && S_ISDIR(f->host.st_mode);
        if (f->is_folder) {
                versions->has_attributes = versions->has_attributes || tmpfs_keeps_attributes();
                return versions->has_attributes;
        }
        r = version_read_host(f->path, &f->base, &f->n_base);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        r = make_given(versions, f);
        return r < 0 ? r : !memchr(f->seen, '\0', f->n_seen);
}

/* The files of the plan's that the command finds. */
static int add_files(struct versions *versions) {
        versions->ops = calloc(versions->n, sizeof(*versions->ops));
        if (!versions->ops)
                return -ENOMEM;
        for (size_t k = 0; k < versions->n; k++) {
                const struct version *f = &versions->files[k];
                struct plan_op *op = &versions->ops[versions->n_ops];
                char name[VERSION_NAME_SIZE];

                if (!f->seen)
                        continue;
                versions->n_ops++;
                version_name(f, k, name);
                op->kind = PLAN_FILE;
                op->mode = 0644;
                op->target = path_join(PLAN_PRIVATE, name);
                op->text = strdup(f->seen);
                if (!op->target || !op->text)
                        return -ENOMEM;
        }
        return 1;
}

int versions_begin_in_memory(const struct nsrun_plan *plan, struct kept_by *kept_by, struct versions *ret) {
        struct versions versions = VERSIONS_INIT;
        int r;

        if (!plan->private || plan->plain || plan->join || plan->is_session || kept_has(kept_by->project))
                return 0;
        versions.kept_by = kept_by;
        versions.is_in_memory = true;
        r = versions_name(plan, &versions);
        for (size_t k = 0; k < versions.n && r > 0; k++)
                r = read_into_memory(&versions, &versions.files[k]);
        if (r > 0)
                r = add_files(&versions);
        if (r <= 0)
                versions_clear(&versions);
        else
                *ret = versions;
        return r;
}

void versions_receive(struct versions *versions, const struct launch *l) {
        if (!versions->is_in_memory || versions->place >= 0)
                return;
        versions->place = launch_receive_versions(l);
        if (versions->place < 0 || fd_lift(&versions->place) < 0)
                return;
        /* It is the command's, which may have closed it. */
        (void)fchmodat(versions->place, PLAN_PRIVATE_FOLDER, 0700, 0);
        versions->folder = beneath_open(versions->place, PLAN_PRIVATE_FOLDER, O_RDONLY | O_DIRECTORY, 0);
}

/* ------------------------------------------------------------------------------- on disk */

/* Whether the host has no such folder. */
static bool is_absent(const struct nsrun_plan *plan, const char *path) {
        for (size_t i = 0; i < plan->n_ops; i++)
                if (plan->ops[i].kind == PLAN_BIND && plan->ops[i].can_be_empty &&
                    streq(plan->ops[i].source, path))
                        return true;
        return false;
}

/* What is kept of a folder, and whether that can be there. */
static int begin_version_folder(struct versions *versions, struct version *f,
                                const struct private_folder *folder) {
        bool is_new = is_absent(folder->plan, f->path);
        int r = is_new ? private_folder_place(folder, versions->rundir, &versions->has_old)
                       : private_folder_begin(folder, &versions->has_old);

        if (is_new)
                f->is_folder = f->is_placed = r >= 0;
        if (r >= 0 || r == -ENOMEM || (!is_new && r != -ESTALE))
                return r;
        f->not_placed = r == -ENOENT ? 0 : r;
        return 0;
}

/* The private folder: a new one, or that of the session's. */
static int open_versions(struct versions *versions, const struct nsrun_plan *plan) {
        int r = versions->place = beneath_open_canonical(versions->rundir, O_RDONLY | O_DIRECTORY);

        if (r >= 0 && !plan->join)
                r = sys_mkdirat(versions->place, PLAN_PRIVATE_FOLDER, 0700);
        if (r >= 0)
                r = versions->folder =
                        beneath_open(versions->place, PLAN_PRIVATE_FOLDER, O_RDONLY | O_DIRECTORY, 0);
        versions->has_kept = !plan->join && kept_has(versions->kept_by->project);
        for (size_t k = 0; k < versions->n && r >= 0; k++) {
                struct version *f = &versions->files[k];
                const struct private_folder folder = {f->path,           versions->place, k,
                                                      versions->kept_by, false,           plan};

                f->held = open(f->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
                f->is_folder = f->held >= 0 && fstat(f->held, &f->host) == 0 && S_ISDIR(f->host.st_mode);
                if (!plan->join && (f->is_folder || f->held < 0))
                        r = versions->has_kept ? begin_version_folder(versions, f, &folder) : 0;
                else if (!plan->join)
                        r = make_version(versions, f, k);
        }
        return r < 0 ? r : 0;
}

int versions_begin(const struct nsrun_plan *plan, const struct rundir *rundir, struct kept_by *kept_by,
                   struct versions *ret, struct nsrun_error *err) {
        const char *path = plan->join ? plan->join->rundir : rundir->path;
        struct versions versions = VERSIONS_INIT;
        int r;

        if (!plan->private || plan->plain || !path)
                return 0;
        versions.is_session = plan->join || plan->is_session;
        versions.kept_by = kept_by;
        r = versions_name(plan, &versions);
        if (r >= 0 && !(versions.rundir = strdup(path)))
                r = -ENOMEM;
        if (r >= 0)
                r = open_versions(&versions, plan);
        if (r < 0) {
                versions_clear(&versions);
                return r == -ENOMEM
                               ? error_oom(err)
                               : error_set(err, NSRUN_STAGE_WORKSPACE, r, path,
                                           "the command's version of what is protected can't be made",
                                           r == -EACCES
                                                   ? "if the umask takes rights from the owner: umask 022"
                                                   : NULL);
        }
        *ret = versions;
        return 0;
}

/* What the command has made of its version. */
static int read_version(const struct versions *versions, size_t k, char **ret, size_t *ret_n) {
        _cleanup_close_ int fd = -EBADF;
        char name[VERSION_NAME_SIZE];

        version_name(&versions->files[k], k, name);
        /* The sandbox was never built. */
        if (versions->folder < 0)
                return versions->place == -EPIPE ? -ENOENT : versions->folder;
        fd = beneath_open(versions->folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
        return fd < 0 ? fd : read_bytes_fd(fd, SIZE_MOST, ret, ret_n);
}

void versions_write_down(const struct versions *versions, const struct killed *killed) {
        for (size_t k = 0; k < versions->n && !versions->is_in_memory; k++) {
                char layer[32];

                (void)snprintf(layer, sizeof(layer), PLAN_PRIVATE_LAYER "%zu", k);
                if (versions->files[k].is_folder)
                        killed_add(killed, layer, versions->files[k].path);
                if (versions->files[k].is_placed)
                        killed_add(killed, KILLED_PLACEHOLDER, versions->files[k].path);
        }
}

static int say_of_version(const char *path, const char *what, const char *hint,
                          int (*found)(void *data, const struct nsrun_error *note), void *data) {
        struct nsrun_error note = {0};

        (void)error_set(&note, NSRUN_STAGE_SUPERVISE, 0, path, what, hint);
        return found(data, &note);
}

static int look_at_version(struct versions *versions, struct rundir *u, size_t k,
                           int (*found)(void *data, const struct nsrun_error *note), void *data) {
        struct version *f = &versions->files[k];
        struct git_config_carry g = {.path = f->path,
                                     .kept_by = versions->kept_by,
                                     .wants_base = versions->is_session,
                                     .taken = f->taken,
                                     .base = f->base,
                                     .n_base = f->n_base,
                                     .seen = f->seen,
                                     .n_seen = f->n_seen};
        _cleanup_free_ char *inside = NULL, *words = NULL;
        size_t n = 0;
        int r = f->seen ? read_version(versions, k, &inside, &n) : -ENOENT;

        if (r == -ENOENT || (r >= 0 && n == f->n_seen && memcmp(inside, f->seen, n) == 0))
                return 0;
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return say_of_version(
                        f->path,
                        r == -EFBIG
                                ? "the command's version of it has more than 1 MiB: nothing of it is carried"
                                : "the command's version of it is no plain file: nothing of it is carried",
                        NULL, found, data);
        g.inside = inside;
        g.n_inside = n;
        r = versions_need_rundir(versions, u);
        g.rundir = versions->rundir;
        if (r < 0)
                return say_of_version(
                        f->path, "no folder for this run can be made, and nothing of it is carried",
                        "set XDG_CACHE_HOME to a folder of your own that can be written", found, data);
        r = git_config_carry(&g, &words);
        if (r >= 0 && g.remotes)
                r = say_of_version(f->path, g.remotes, NULL, found, data);
        free(g.remotes);
        if (r >= 0 && g.new_base) {
                free(f->base);
                f->base = g.new_base;
                f->n_base = g.n_new_base;
        }
        if (r < 0)
                return r;
        free(f->seen);
        f->seen = TAKE_PTR(inside);
        f->n_seen = n;
        return words ? say_of_version(f->path, words, NULL, found, data) : 0;
}

/* One of a session's commands at a time. */
static int look_in_session(struct versions *versions, struct rundir *u, size_t k,
                           int (*found)(void *data, const struct nsrun_error *note), void *data) {
        _cleanup_close_ int base = -EBADF, seen = -EBADF;
        struct version *f = &versions->files[k];
        char name[32], seen_name[32];
        int r;

        (void)snprintf(name, sizeof(name), BASE, k);
        (void)snprintf(seen_name, sizeof(seen_name), SEEN, k);
        base = sys_open(versions->place, name, O_RDONLY | O_NOFOLLOW, 0);
        /* There is none where the file wasn't. */
        if (base < 0)
                return base == -ENOENT ? 0 : base;
        do
                r = flock(base, LOCK_EX) < 0 ? -errno : 0;
        while (r == -EINTR);
        free(TAKE_PTR(f->base));
        free(TAKE_PTR(f->seen));
        if (r >= 0)
                r = read_bytes_fd(base, SIZE_MOST, &f->base, &f->n_base);
        seen = r < 0 ? r : sys_open(versions->place, seen_name, O_RDONLY | O_NOFOLLOW, 0);
        r = seen < 0 ? seen : read_bytes_fd(seen, 2 * SIZE_MOST, &f->seen, &f->n_seen);
        if (r >= 0)
                r = look_at_version(versions, u, k, found, data);
        /* The base first: of what was carried and isn't in it the host has the same. */
        if (r >= 0)
                r = version_write(versions->place, name, f->base, f->n_base);
        return r < 0 ? r : version_write(versions->place, seen_name, f->seen, f->n_seen);
}

/* Replaces *to, which may be NULL, by all that was said, once. */
static int say_more(char **to, const char *separator, char *more) {
        bool is_new = !*to || !more || !strstr(*to, more);
        char *all = !more  ? NULL
                    : !*to ? strdup(more)
                           : str_concat(*to, is_new ? separator : "", is_new ? more : "");

        free(more);
        if (!all)
                return -ENOMEM;
        free(*to);
        *to = all;
        return 0;
}

static int judge_once(const struct versions *versions, struct version *f) {
        _cleanup_close_ int fd = beneath_open_canonical(f->path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
        _cleanup_free_ char *now = NULL;
        struct git_config_carry g = {.rundir = versions->rundir,
                                     .path = f->path,
                                     .kept_by = versions->kept_by,
                                     .base = f->base,
                                     .n_base = f->n_base};
        char *taken = NULL, *words = NULL;
        struct stat st;
        int r;

        if (fd < 0 || fstat(fd, &st) < 0)
                return fd == -ENOENT ? 0 : fd < 0 ? fd : -errno;
        /* Without a name it has been replaced since it was opened. */
        r = file_has_writer(fd) ? -ETXTBSY : st.st_nlink == 0 ? -EAGAIN : st.st_nlink > 1 ? -EMLINK : 0;
        if (r >= 0)
                r = read_bytes_fd(fd, SIZE_MOST, &now, &g.n_inside);
        g.inside = now;
        if (r >= 0 && f->judged && g.n_inside == f->n_judged && memcmp(now, f->judged, f->n_judged) == 0)
                return 0;
        if (r >= 0)
                r = git_config_take(&g, &taken, &words);
        if (r >= 0) {
                f->host = st;
                close_fdp(&f->held);
                if (fd_lift(&fd) >= 0)
                        f->held = TAKE_FD(fd);
                free(TAKE_PTR(f->judged));
        }
        if (r >= 0 && !taken) {
                f->judged = TAKE_PTR(now);
                f->n_judged = g.n_inside;
        }
        if (r >= 0 && taken)
                r = say_more(&f->taken, "", taken);
        if (r >= 0 && words)
                r = say_more(&f->words, "; ", words);
        return r;
}

/* The sandbox is gone, and so is the host's file: in the moment in which a new one lay open the command may
 * have removed it.  What it was at the start is the user's. */
static int restore_host(struct version *f) {
        _cleanup_close_ int parent = beneath_open_parent(f->path), fd = -EBADF;
        int r;

        if (parent < 0)
                return parent == -ENOMEM ? parent : 0;
        fd = openat(parent, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
        r = fd < 0 ? -errno : write_full(fd, f->base, f->n_base);
        if (r >= 0 &&
            linkat(AT_FDCWD, fd_link(fd).path, parent, path_basename(f->path), AT_SYMLINK_FOLLOW) < 0)
                r = -errno;
        return say_more(
                &f->words, "; ",
                strdup(r < 0 ? "it was removed while the command ran, by it or by others"
                             : "it was removed while the command ran, by it or by others, and is as it was "
                               "at the start"));
}

static int judge_host(struct versions *versions, struct rundir *u, struct version *f, bool ends,
                      struct nsrun_error *err) {
        struct stat st;
        int r = -EAGAIN;

        if (!f->seen)
                return 0;
        if (lstat(f->path, &st) < 0)
                return ends && errno == ENOENT ? restore_host(f) : 0;
        /* Once it was, the command may have written to one that lay open, and each look is by what it says.
         */
        f->was_replaced |= st.st_ino != f->host.st_ino || st.st_dev != f->host.st_dev;
        if (!f->was_replaced)
                return 0;
        if (versions_need_rundir(versions, u) == -ENOMEM)
                return -ENOMEM;
        /* Others write it, or had it open a moment ago. */
        for (unsigned i = 0; i < JUDGE_TRIES && (r == -EAGAIN || r == -EBUSY || r == -ETXTBSY); i++) {
                if (i > 0)
                        (void)poll(NULL, 0, 10);
                r = judge_once(versions, f);
        }
        if (r >= 0 || r == -ENOMEM)
                return r;
        if (!ends)
                return error_set(
                        err, NSRUN_STAGE_SUPERVISE, r, f->path,
                        "the host has replaced this file, and it can't be kept from the command: the "
                        "sandbox is ended",
                        r == -ETXTBSY  ? "a process has it open to write"
                        : r == -EMLINK ? "it has another hard link"
                                       : NULL);
        return say_more(
                &f->words, "; ",
                strdup("it was replaced while the command ran, by it or by others, and what it says now "
                       "can't be judged: look at it"));
}

int versions_judge(struct versions *versions, struct rundir *u, bool ends, struct nsrun_error *err) {
        int r = 0;

        for (size_t k = 0; k < versions->n && r >= 0; k++)
                if (!versions->files[k].is_folder)
                        r = judge_host(versions, u, &versions->files[k], ends, err);
        return r;
}

struct dropping {
        int (*found)(void *data, const struct nsrun_error *note);
        void *data;
};

static void say_dropped(void *data, const struct kept *k) {
        const struct dropping *d = data;

        (void)say_of_version(k->path, "what was kept aside of it for 30 days is dropped", NULL, d->found,
                             d->data);
}

void versions_look_at_places(struct versions *versions) {
        for (size_t k = 0; k < versions->n && !versions->has_looked; k++)
                if (versions->files[k].is_placed)
                        versions->files[k].is_gone |=
                                killed_has_placeholder(versions->rundir, versions->files[k].path) == 0;
        versions->has_looked = true;
}

static int say_not_placed(const struct version *f, int (*found)(void *data, const struct nsrun_error *note),
                          void *data) {
        struct nsrun_error note = {0};

        (void)error_set(&note, NSRUN_STAGE_SUPERVISE, 0, f->path,
                        f->not_placed == -ESTALE
                                ? "what is kept aside of this folder wasn't there: --hide names some of it"
                        : f->not_placed == -EEXIST
                                ? "what is kept aside of this folder wasn't there: the host has got one, or "
                                  "another sandbox had it"
                                : "what is kept aside of this folder wasn't there: the run directory's file "
                                  "system, or this one, can't do it",
                        NULL);
        return found(data, &note);
}

int versions_end_folders(struct versions *versions, struct rundir *u,
                         int (*found)(void *data, const struct nsrun_error *note), void *data) {
        int r = versions_judge(versions, u, true, NULL);

        for (size_t k = 0; k < versions->n && r >= 0; k++)
                if (versions->files[k].words)
                        r = say_of_version(versions->files[k].path, versions->files[k].words, NULL, found,
                                           data);
        for (size_t k = 0; k < versions->n && versions->place >= 0 && r >= 0; k++) {
                const struct private_folder folder = {versions->files[k].path, versions->place,        k,
                                                      versions->kept_by,       versions->is_in_memory, NULL};

                if (versions->files[k].not_placed < 0)
                        r = say_not_placed(&versions->files[k], found, data);
                if (!versions->files[k].is_folder)
                        continue;
                r = private_folder_end(&folder);
                if (r == -ENOMEM || (versions->files[k].is_placed &&
                                     killed_remove_placeholder(versions->rundir, folder.path) < 0))
                        return -ENOMEM;
                if (versions->files[k].is_gone)
                        (void)say_of_version(
                                folder.path,
                                "the host has removed or filled the empty folder that stood for "
                                "this one, which the command may have lost with it",
                                NULL, found, data);
                if (r != 0)
                        r = say_of_version(folder.path,
                                           r > 0 ? "what the command changed in this folder is kept aside"
                                                 : "what the command changed in this folder can't be kept "
                                                   "aside, and is lost",
                                           NULL, found, data);
        }
        return r;
}

int versions_look(const struct nsrun_plan *plan, const char *path) {
        _cleanup_close_ int rundir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct kept_by *kept_by = NULL;
        struct stat st;
        size_t k = 0;
        int r = rundir < 0 ? 0 : kept_by_new(plan, &kept_by);

        STRV_FOREACH (private, plan->private) {
                const struct private_folder folder = {*private, rundir, k++, kept_by, false, NULL};

                if (r >= 0 && kept_by && lstat(*private, &st) == 0 && S_ISDIR(st.st_mode))
                        r = private_folder_look(&folder);
        }
        (void)kept_by_free(kept_by);
        return r < 0 ? r : 0;
}

int versions_end(struct versions *versions, struct rundir *u,
                 int (*found)(void *data, const struct nsrun_error *note), void *data) {
        int r = 0;

        if (versions->has_old)
                (void)kept_drop_old(versions->kept_by->project, say_dropped,
                                    &(struct dropping){found, data});

        if (!versions->is_session)
                r = versions_end_folders(versions, u, found, data);
        for (size_t k = 0; k < versions->n && r >= 0; k++)
                r = versions->files[k].is_folder ? 0
                    : versions->is_session       ? look_in_session(versions, u, k, found, data)
                                                 : look_at_version(versions, u, k, found, data);
        versions_clear(versions);
        return r;
}
