/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See agent_state.h. */
#include "agent_state.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "agent_rest.h"
#include "base/array.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "disk/remove_tree.h"
#include "host/glob.h"
#include "json_members.h"

enum {
        FILE_MAX = 64 << 20,
        JSON_MAX = 8 << 20,
        FILES_MAX = 10000,
        DEPTH_MAX = 8,
        TRIES = 8,
        NAMES_TOLD = 6,
};

static const char draft[] = ".nsrun-carried";

/* A file of JSON. */
struct carried_mixed {
        const char *name, *file, *members; /* in `line` */
        char *line;
        char *base; /* the host's text at the start; NULL: there was none that can be read */
};

/* An overlay. */
struct carried_folder {
        char *path;
        char *layer; /* its folder in the run directory */
        char *rest;  /* rundir_rest()'s; NULL: there is no project */
        bool has_rest;
        struct timespec when; /* the state of that at the start */
        char **globs;
        struct carried_mixed *mixed;
        size_t n_mixed;
};

/* The end of one overlay. */
struct carrying {
        const struct carried *all;
        const struct carried_folder *folder;
        int layer, upper, host, rest;
        unsigned n_files;
        bool takes_folders;
        char **left; /* names at its top that aren't carried */
        int (*found)(void *data, const struct nsrun_error *note);
        void *data;
};

void carried_clear(struct carried *carried) {
        for (size_t i = 0; i < carried->n; i++) {
                struct carried_folder *f = &carried->folders[i];

                for (size_t k = 0; k < f->n_mixed; k++) {
                        free(f->mixed[k].line);
                        free(f->mixed[k].base);
                }
                free(f->mixed);
                strv_free(f->globs);
                free(f->path);
                free(f->layer);
                free(f->rest);
        }
        for (size_t i = strv_length(carried->made); i-- > 0;)
                (void)rmdir(carried->made[i]);
        strv_free(carried->made);
        free(carried->folders);
        free(carried->project);
        *carried = (struct carried){0};
}

/* ------------------------------------------------------------------- the start */

static struct carried_folder *carried_folder_of(struct carried *carried, const char *path, size_t n) {
        for (size_t i = 0; i < carried->n; i++)
                if (strlen(carried->folders[i].path) == n && strncmp(carried->folders[i].path, path, n) == 0)
                        return &carried->folders[i];
        return NULL;
}

static int add_carried_line(struct carried *carried, const char *line) {
        const char *name = strstr(line, "//");
        struct carried_folder *f = carried_folder_of(carried, line, (size_t)(name - line));
        struct carried_mixed m = {0};
        char *file, *members;

        if (!f)
                return 0;
        name += 2;
        if (!strstr(name, "//"))
                return strv_add(&f->globs, name);
        m.line = strdup(name);
        if (!m.line || ARRAY_GROW(f->mixed, f->n_mixed) < 0) {
                free(m.line);
                return -ENOMEM;
        }
        file = strstr(m.line, "//");
        members = strstr(file + 2, "//");
        *file = *members = '\0';
        m.name = m.line;
        m.file = file + 2;
        m.members = members + 2;
        f->mixed[f->n_mixed++] = m;
        return 0;
}

static int make_folder(int parent, const char *name, int *fd) {
        int r = mkdirat(parent, name, 0700) < 0 && errno != EEXIST ? -errno : 0;

        close_fdp(fd);
        *fd = r < 0 ? r : beneath_open(parent, name, O_RDONLY | O_DIRECTORY, 0);
        return *fd < 0 ? *fd : 0;
}

static const char upper_name[] = "upper";

/* Puts the host's file, with what the command has added to its own in earlier runs, where it finds that. */
static int seed_mixed(const struct carried_folder *f, struct carried_mixed *m, const char *project,
                      const struct rundir *u, int rest) {
        _cleanup_free_ char *kept = NULL, *text = NULL;
        _cleanup_close_ int folder = -EBADF, upper = -EBADF, fd = -EBADF;
        const char *seed;
        int r = read_small_file(AT_FDCWD, m->file, O_NOFOLLOW, JSON_MAX, &m->base);

        if (r != -ENOMEM && rest >= 0)
                r = read_small_file(rest, m->name, O_NOFOLLOW, JSON_MAX, &kept);
        if (r != -ENOMEM && kept)
                r = members_add(m->members, project, kept, m->base, &text);
        seed = text ? text : m->base;
        if (r == -ENOMEM || !seed)
                return r == -ENOMEM ? r : 0;
        r = make_folder(u->dir_fd, f->layer, &folder);
        if (r >= 0)
                r = make_folder(folder, upper_name, &upper);
        fd = r < 0 ? r : openat(upper, m->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
                return r < 0 ? r : -errno;
        return write_full(fd, seed, strlen(seed));
}

/* Of one overlay what is there of earlier runs, and the command's copies. */
static int begin_folder(struct carried *carried, struct carried_folder *f, const struct rundir *u) {
        _cleanup_close_ int rest = f->rest ? rest_begin(f->rest, f->path, &f->when) : -ENOENT;
        int r = 0;

        f->has_rest = rest >= 0;
        for (size_t k = 0; k < f->n_mixed && r >= 0; k++)
                r = seed_mixed(f, &f->mixed[k], carried->project, u, rest);
        return r;
}

/* Makes a folder in the project, through no symlink. */
static int make_in_project(const char *project, const char *path, char ***made) {
        _cleanup_close_ int fd = open(project, O_PATH | O_DIRECTORY | O_CLOEXEC);
        size_t n = strlen(project) + 1;
        int r = fd < 0 ? -errno : 0;

        while (r >= 0 && n < strlen(path)) {
                size_t length = strcspn(path + n, "/");
                _cleanup_free_ char *name = strndup(path + n, length), *whole = strndup(path, n + length);

                if (!name || !whole)
                        return -ENOMEM;
                if (mkdirat(fd, name, 0777) == 0)
                        r = strv_add(made, whole);
                else if (errno != EEXIST)
                        r = -errno;
                if (r >= 0) {
                        int next = beneath_open(fd, name, O_PATH | O_DIRECTORY, 0);

                        close_fdp(&fd);
                        r = fd = next;
                }
                n += length + 1;
        }
        return r < 0 ? r : 0;
}

int carried_make(const struct nsrun_plan *plan, struct carried *ret, struct nsrun_error *err) {
        for (size_t i = 0; i < plan->n_ops && !plan->join; i++) {
                const struct plan_op *op = &plan->ops[i];
                int r;

                if ((op->origin != PLAN_BY_AGENT && op->origin != PLAN_BY_STATE) || !op->is_directory ||
                    access(op->source, F_OK) == 0)
                        continue;
                r = plan->project && path_is_beneath(op->source, plan->project)
                            ? make_in_project(plan->project, op->source, &ret->made)
                            : rundir_make_folders(op->source);
                if (r < 0)
                        return error_set(err, NSRUN_STAGE_WORKSPACE, r, op->source,
                                         "a folder of the agent's can't be made",
                                         "make it, or leave --agent out");
        }
        return 0;
}

int carried_begin(const struct nsrun_plan *plan, const struct rundir *u, struct carried *ret,
                  struct nsrun_error *err) {
        _cleanup_free_ char *base = u->path ? path_parent(u->path) : NULL;
        struct carried carried = {.made = ret->made};
        int r = 0;

        if (plan->join || u->dir_fd < 0)
                return 0;
        (void)clock_gettime(CLOCK_REALTIME_COARSE, &carried.since);
        for (size_t i = 0; i < plan->n_ops && r >= 0; i++) {
                const struct plan_op *op = &plan->ops[i];
                struct carried_folder f = {0};

                if (op->kind != PLAN_OVERLAY || op->origin != PLAN_BY_AGENT)
                        continue;
                f.path = strdup(op->source);
                f.layer = strdup(op->text);
                f.rest = base && plan->project ? rundir_rest(base, plan->project, op->text) : NULL;
                r = f.path && f.layer && (f.rest || !plan->project) ? ARRAY_GROW(carried.folders, carried.n)
                                                                    : -ENOMEM;
                if (r >= 0)
                        carried.folders[carried.n++] = f;
        }
        STRV_FOREACH (line, plan->carried)
                r = r < 0 ? r : add_carried_line(&carried, *line);
        if (r >= 0 && plan->project && !(carried.project = strdup(plan->project)))
                r = -ENOMEM;
        for (size_t i = 0; i < carried.n && r >= 0; i++)
                r = begin_folder(&carried, &carried.folders[i], u);
        *ret = carried;
        return r < 0 ? error_set(err, NSRUN_STAGE_WORKSPACE, r, u->path,
                                 "the command's copy of an agent's file can't be made", NULL)
                     : 0;
}

/* --------------------------------------------------------------------- the end */

static void say_of(const struct carrying *c, const char *name, const char *what) {
        _cleanup_free_ char *path = str_concat(c->folder->path, *name ? "/" : "", name);
        struct nsrun_error note = {0};

        (void)error_set(&note, NSRUN_STAGE_SUPERVISE, 0, path, what, NULL);
        if (path)
                (void)c->found(c->data, &note);
}

/* Opens, or makes, the folder of the host's that is to have `name`: below its own folder by no symlink. */
static int carry_open_parent(int host, const char *name, const char **ret_base) {
        int fd = fcntl(host, F_DUPFD_CLOEXEC, 3);

        for (const char *slash; fd >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
                _cleanup_free_ char *part = strndup(name, (size_t)(slash - name));
                _cleanup_close_ int parent = fd;
                int r = !part ? -ENOMEM : mkdirat(parent, part, 0700) < 0 && errno != EEXIST ? -errno : 0;

                fd = r < 0 ? r : beneath_open(parent, part, O_RDONLY | O_DIRECTORY, 0);
        }
        *ret_base = name;
        return fd;
}

/* A file of the host's folder `parent` gets these bytes, whole or not at all, if it is as `was` has it (or
 * isn't there).  -ESTALE: it isn't. */
static int put_file(int parent, const char *name, const struct stat *was, mode_t mode, const char *bytes,
                    size_t n) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r;

        (void)unlinkat(parent, draft, 0);
        fd = openat(parent, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        r = write_full(fd, bytes, n);
        if (r >= 0 && (fchmod(fd, mode & 0666) < 0 || fsync(fd) < 0))
                r = -errno;
        if (r >= 0 && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                r = errno != ENOENT ? -errno : was ? -ESTALE : 0;
        else if (r >= 0)
                r = was && S_ISREG(st.st_mode) && st.st_ino == was->st_ino &&
                                    st.st_ctim.tv_sec == was->st_ctim.tv_sec &&
                                    st.st_ctim.tv_nsec == was->st_ctim.tv_nsec
                            ? 0
                            : -ESTALE;
        if (r >= 0 && renameat(parent, draft, parent, name) < 0)
                r = -errno;
        if (r < 0)
                (void)unlinkat(parent, draft, 0);
        return r;
}

/* What is carried is the host's from now on, and hides nothing of it in the next run. */
static int drop_carried(const struct carrying *c, const char *name) {
        _cleanup_free_ char *folder = strndup(name, (size_t)(path_basename(name) - name));
        _cleanup_close_ int parent = -EBADF;

        if (!folder)
                return -ENOMEM;
        if (*folder)
                folder[strlen(folder) - 1] = '\0';
        parent = beneath_open(c->upper, folder, O_PATH | O_DIRECTORY, 0);
        return parent < 0 || unlinkat(parent, path_basename(name), 0) < 0 ? -EIO : 0;
}

/* A file that the host has changed since the start is the host's. */
static int carry_file(struct carrying *c, const char *name) {
        _cleanup_close_ int fd = beneath_open(c->upper, name, O_RDONLY | O_NONBLOCK, 0), parent = -EBADF;
        _cleanup_free_ char *bytes = NULL;
        struct stat st, was;
        const char *base;
        bool has_one;
        size_t n;
        int r;

        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || ++c->n_files > FILES_MAX)
                return fd == -ENOMEM ? fd : -EINVAL;
        r = read_bytes_fd(fd, FILE_MAX, &bytes, &n);
        if (r < 0)
                return r;
        parent = carry_open_parent(c->host, name, &base);
        if (parent < 0)
                return parent;
        has_one = fstatat(parent, base, &was, AT_SYMLINK_NOFOLLOW) == 0;
        if (has_one && !time_is_before(&was.st_ctim, &c->all->since))
                return -ESTALE;
        r = put_file(parent, base, has_one ? &was : NULL, has_one ? was.st_mode : st.st_mode & 0600, bytes,
                     n);
        return r < 0 ? r : drop_carried(c, name);
}

static int carry_name(struct carrying *c, const char *name, unsigned char type, unsigned depth);

struct carried_entry {
        struct carrying *c;
        const char *folder;
        unsigned depth;
};

static int carry_entry(void *data, int folder, const struct dirent *entry) {
        const struct carried_entry *e = data;
        _cleanup_free_ char *name = str_concat(e->folder, "/", entry->d_name);

        return name ? carry_name(e->c, name, folder_type(folder, entry), e->depth + 1) : -ENOMEM;
}

/* What isn't carried stays in the upper folder, and is told. */
static int carry_name(struct carrying *c, const char *name, unsigned char type, unsigned depth) {
        struct carried_entry entry = {.c = c, .folder = name, .depth = depth};
        _cleanup_close_ int fd = -EBADF;
        int r = -EINVAL;

        if (type == DT_DIR && depth < DEPTH_MAX) {
                fd = beneath_open(c->upper, name, O_RDONLY | O_DIRECTORY, 0);
                r = fd < 0 ? 0 : folder_read(fd, carry_entry, &entry);
        } else if (type == DT_REG) {
                r = carry_file(c, name);
        }
        if (r == -ESTALE)
                say_of(c, name,
                       "the host has changed this file meanwhile: what the command wrote to it is the next run's here");
        else if (r < 0 && r != -ENOMEM)
                say_of(c, name, "what the command wrote here can't be carried to the host");
        return r == -ENOMEM ? r : 0;
}

static int carry_found(void *data, const char *name, const struct stat *st) {
        struct carrying *c = data;

        return S_ISDIR(st->st_mode) != c->takes_folders ? 0
                                                        : carry_name(c, name,
                                                                     S_ISDIR(st->st_mode)   ? DT_DIR
                                                                     : S_ISREG(st->st_mode) ? DT_REG
                                                                                            : 0,
                                                                     0);
}

static int carry_glob(struct carrying *c, const char *glob) {
        const struct glob_search search = {.found = carry_found, .data = c};
        size_t n = strlen(glob);
        char *globs[] = {strdup(glob), NULL};
        int r = globs[0] ? 0 : -ENOMEM;

        c->takes_folders = r >= 0 && glob[n - 1] == '/';
        if (c->takes_folders)
                globs[0][n - 1] = '\0';
        if (r >= 0)
                r = glob_find(c->upper, globs, &search);
        free(globs[0]);
        return r;
}

/* The host's text, and the file as it is; without one `*ret` is NULL. */
static int read_mixed(int parent, const char *name, char **ret, struct stat *ret_was) {
        _cleanup_close_ int fd = beneath_open(parent, name, O_RDONLY | O_NONBLOCK, 0);

        if (fd < 0)
                return fd == -ENOENT ? 0 : fd;
        if (fstat(fd, ret_was) < 0 || !S_ISREG(ret_was->st_mode))
                return -EINVAL;
        return read_small_fd(fd, JSON_MAX, ret) < 0 ? -EINVAL : 1;
}

/* Whoever else writes the host's file meanwhile has it read again. */
static int carry_mixed(const struct carrying *c, const struct carried_mixed *m) {
        _cleanup_free_ char *inside = NULL, *folder = path_parent(m->file);
        const char *name = path_basename(m->file);
        _cleanup_close_ int parent = -EBADF;
        struct stat was;
        int r = read_mixed(c->upper, m->name, &inside, &was);

        if (r <= 0 || (m->base && streq(inside, m->base)))
                return r == -ENOENT || r > 0 ? 0 : r;
        parent = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        r = parent < 0 ? -errno : -ESTALE;
        for (unsigned i = 0; i < TRIES && r == -ESTALE; i++) {
                _cleanup_free_ char *host = NULL, *text = NULL;
                int has_one = read_mixed(parent, name, &host, &was);

                r = has_one < 0 ? has_one
                                : members_take(m->members, c->all->project, m->base, inside, host, &text);
                if (r > 0)
                        r = put_file(parent, name, has_one ? &was : NULL, has_one ? was.st_mode : 0600, text,
                                     strlen(text));
        }
        return r;
}

static int add_left(void *data, int folder, const struct dirent *entry) {
        struct carrying *c = data;
        const char *name = entry->d_name;
        unsigned char type = folder_type(folder, entry);
        struct stat st;

        for (size_t i = 0; i < c->folder->n_mixed; i++)
                if (streq(c->folder->mixed[i].name, name))
                        return 0;
        STRV_FOREACH (glob, c->folder->globs)
                if (strcspn(*glob, "/*") >= strlen(name) && startswith(*glob, name))
                        return 0;
        return type == DT_CHR || (c->rest >= 0 && fstatat(c->rest, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
                       ? 0
                       : strv_add(&c->left, name);
}

static int compare_left(const void *a, const void *b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names what the host doesn't get, and didn't before. */
static int tell_left(struct carrying *c) {
        _cleanup_close_ int fd = beneath_open(c->upper, "", O_RDONLY | O_DIRECTORY, 0);
        int r = fd < 0 ? fd : folder_read(fd, add_left, c);
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *names = NULL, *what = NULL;
        size_t n = strv_length(c->left);

        if (n > 1)
                qsort(c->left, n, sizeof(*c->left), compare_left);
        for (size_t i = 0; i < n && i < NAMES_TOLD; i++)
                strbuf_addf(&b, "%s%s", i > 0 ? ", " : "", c->left[i]);
        if (n > NAMES_TOLD)
                strbuf_addf(&b, " and %zu more", n - NAMES_TOLD);
        names = strbuf_finish(&b);
        if (r < 0 || n == 0)
                return r;
        if (!names || asprintf(&what, "the host gets nothing of %s%s", names,
                               c->folder->rest ? " (the next run in this project does)" : "") < 0) {
                what = NULL;
                return -ENOMEM;
        }
        say_of(c, "", what);
        return 0;
}

/* All that is still in the upper folder is there again in the next run of the project. */
static void carry_keep_rest(const struct carrying *c) {
        const struct carried_folder *f = c->folder;
        int r = f->rest ? rest_keep(f->rest, f->has_rest ? &f->when : NULL, c->layer, upper_name) : 0;

        if (r == -ESTALE)
                say_of(c, "",
                       "another run in this project has ended meanwhile: what this one wrote here is dropped");
        else if (r < 0)
                say_of(c, "", "what the command wrote here can't be kept for the next run");
}

static void carry_folder(struct carrying *c, const struct rundir *u) {
        const struct carried_folder *f = c->folder;
        int r;

        c->layer = beneath_open(u->dir_fd, f->layer, O_RDONLY | O_DIRECTORY, 0);
        c->upper = c->layer < 0 ? c->layer : open_for_removal(c->layer, upper_name);
        c->host = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        c->rest = f->has_rest ? open(f->rest, O_PATH | O_DIRECTORY | O_CLOEXEC) : -EBADF;
        r = c->upper < 0 || c->host < 0 ? -EIO : 0;
        STRV_FOREACH (glob, f->globs)
                r = r < 0 ? r : carry_glob(c, *glob);
        for (size_t i = 0; i < f->n_mixed && r >= 0; i++)
                if (carry_mixed(c, &f->mixed[i]) < 0)
                        say_of(c, f->mixed[i].name,
                               "what the command changed in this file can't be carried to the host");
        if (r >= 0)
                r = tell_left(c);
        if (r < 0)
                say_of(c, "", "what the command wrote here can't be carried to the host");
        else
                carry_keep_rest(c);
        strv_free(TAKE_PTR(c->left));
        close_fdp(&c->rest);
        close_fdp(&c->upper);
        close_fdp(&c->layer);
        close_fdp(&c->host);
}

void carried_end(struct carried *carried, const struct rundir *u,
                 int (*found)(void *data, const struct nsrun_error *note), void *data) {
        for (size_t i = 0; i < carried->n; i++) {
                struct carrying c = {.all = carried,
                                     .folder = &carried->folders[i],
                                     .layer = -EBADF,
                                     .upper = -EBADF,
                                     .host = -EBADF,
                                     .rest = -EBADF,
                                     .found = found,
                                     .data = data};

                carry_folder(&c, u);
        }
        carried_clear(carried);
}
