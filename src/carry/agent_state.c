/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "agent_state.h"

#include "agent_files.h"
#include "agent_rest.h"
#include "base/array.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "disk/locked.h"
#include "disk/remove_tree.h"
#include "json_members.h"
#include "killed.h"

enum {
        JSON_MAX = 8 << 20,
        TRIES = 8,
        NAMES_TOLD = 6,
        NAMES_HELD = 64,
};

/* The first of many names. */
struct left_names {
        char *names[NAMES_HELD];
        size_t n, n_all;
};

/* A file of JSON. */
struct carried_mixed {
        const char *name, *file, *members; /* in `line` */
        char *line;
        char *base; /* the host's text at the start; NULL: there was none that can be read */
        char *seed; /* that with what earlier runs added, as the command found it; NULL: nothing was added */
        bool is_unsure; /* of a killed run: the host has changed its file since that began */
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
        struct left_names left; /* what isn't carried */
        unsigned n_failed;
        int (*found)(void *data, const struct nsrun_error *note);
        void *data;
};

void carried_clear(struct carried *carried) {
        for (size_t i = 0; i < carried->n; i++) {
                struct carried_folder *f = &carried->folders[i];

                for (size_t k = 0; k < f->n_mixed; k++) {
                        free(f->mixed[k].line);
                        free(f->mixed[k].base);
                        free(f->mixed[k].seed);
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
        strv_free(carried->modes);
        free(carried->folders);
        free(carried->project);
        *carried = (struct carried){0};
}

/* ------------------------------------------------------------------- the start */

/* `base`: the folder of all run directories; NULL: there is none. */
static int add_carried_folder(struct carried *carried, const char *base, const char *path,
                              const char *layer) {
        struct carried_folder f = {.path = strdup(path), .layer = strdup(layer)};
        int r = f.path && f.layer ? 0 : -ENOMEM;

        if (r >= 0 && base && carried->project && !(f.rest = rundir_rest(base, carried->project, layer)))
                r = -ENOMEM;
        if (r >= 0)
                r = ARRAY_GROW(carried->folders, carried->n);
        if (r >= 0) {
                carried->folders[carried->n++] = f;
                return 0;
        }
        free(f.path);
        free(f.layer);
        free(f.rest);
        return r;
}

static int add_carried_mode(struct carried *carried, const char *path) {
        struct stat st;
        char *text;

        if (lstat(path, &st) < 0)
                return 0;
        if (asprintf(&text, "%o:%s", st.st_mode & 07777, path) < 0)
                return -ENOMEM;
        return strv_consume(&carried->modes, text);
}

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

/* The host's file, and with it what commands have added to their own in earlier runs. */
static int read_seed(struct carried_mixed *m, const char *project, int rest) {
        _cleanup_free_ char *kept = NULL;
        int r = read_small_file(AT_FDCWD, m->file, O_NOFOLLOW, JSON_MAX, &m->base);

        if (r != -ENOMEM && rest >= 0)
                r = read_small_file(rest, m->name, O_NOFOLLOW, JSON_MAX, &kept);
        if (r != -ENOMEM && kept && !(m->base && streq(kept, m->base)))
                r = members_add(m->members, project, kept, m->base, &m->seed);
        return r == -ENOMEM ? r : 0;
}

static const char *seed_of(const struct carried_mixed *m) {
        return m->seed ? m->seed : m->base;
}

/* Puts that where the command finds it. */
static int seed_mixed(const struct carried_folder *f, struct carried_mixed *m, const char *project,
                      const struct rundir *u, int rest) {
        _cleanup_close_ int folder = -EBADF, upper = -EBADF, fd = -EBADF;
        int r = read_seed(m, project, rest);

        if (r < 0 || !seed_of(m))
                return r;
        r = make_folder(u->dir_fd, f->layer, &folder);
        if (r >= 0)
                r = make_folder(folder, upper_name, &upper);
        fd = r < 0 ? r : openat(upper, m->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
                return r < 0 ? r : -errno;
        return write_full(fd, seed_of(m), strlen(seed_of(m)));
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

static void add_text(struct strbuf *b, const char *text) {
        strbuf_add_bytes(b, text, strlen(text) + 1);
}

static void add_time(struct strbuf *b, const struct timespec *t) {
        strbuf_addf(b, "%jd.%09ld", (intmax_t)t->tv_sec, t->tv_nsec);
        strbuf_add_bytes(b, "", 1);
}

/* Behind the texts, which a kill may cut before the command begins: an empty one and the last. */
static const char written_down[] = "\0.";

/* What whoever comes after a kill needs (carried_recover()): texts with a NUL behind each. */
static int write_down_carried(const struct carried *carried, char *const *lines, const struct rundir *u) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_strbuf_ struct strbuf b = {0};

        add_text(&b, carried->project ? carried->project : "");
        add_time(&b, &carried->since);
        for (size_t i = 0; i < carried->n; i++) {
                const struct carried_folder *f = &carried->folders[i];

                add_text(&b, f->path);
                add_text(&b, f->layer);
                if (f->has_rest)
                        add_time(&b, &f->when);
                else
                        add_text(&b, "");
        }
        add_text(&b, "");
        STRV_FOREACH (line, lines)
                add_text(&b, *line);
        add_text(&b, "");
        STRV_FOREACH (mode, carried->modes)
                add_text(&b, *mode);
        strbuf_add_bytes(&b, written_down, sizeof(written_down));
        if (b.has_failed)
                return -ENOMEM;
        fd = openat(u->dir_fd, RUNDIR_CARRIED, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        return fd < 0 ? -errno : write_full(fd, b.text, b.length);
}

int carried_begin(const struct nsrun_plan *plan, const struct rundir *u, struct carried *ret,
                  struct nsrun_error *err) {
        _cleanup_free_ char *base = u->path ? path_parent(u->path) : NULL;
        struct carried carried = {.made = ret->made};
        int r = 0;

        if (plan->join || u->dir_fd < 0)
                return 0;
        (void)clock_gettime(CLOCK_REALTIME_COARSE, &carried.since);
        if (plan->project && !(carried.project = strdup(plan->project)))
                r = -ENOMEM;
        for (size_t i = 0; i < plan->n_ops && r >= 0; i++) {
                const struct plan_op *op = &plan->ops[i];

                if (op->kind == PLAN_OVERLAY && op->origin == PLAN_BY_AGENT)
                        r = add_carried_folder(&carried, base, op->source, op->text);
                else if (op->kind == PLAN_BIND && op->origin == PLAN_BY_STATE && !op->is_directory)
                        r = add_carried_mode(&carried, op->source);
        }
        STRV_FOREACH (line, plan->carried)
                r = r < 0 ? r : add_carried_line(&carried, *line);
        for (size_t i = 0; i < carried.n && r >= 0; i++)
                r = begin_folder(&carried, &carried.folders[i], u);
        if (r >= 0 && carried.n > 0)
                r = write_down_carried(&carried, plan->carried, u);
        *ret = carried;
        return r < 0 ? error_set(err, NSRUN_STAGE_WORKSPACE, r, u->path,
                                 "the command's copy of an agent's file can't be made", NULL)
                     : 0;
}

/* --------------------------------------------------------------------- the end */

static void say_at(const struct carrying *c, const char *path, const char *what) {
        struct nsrun_error note = {0};

        (void)error_set(&note, NSRUN_STAGE_SUPERVISE, 0, path, what, NULL);
        (void)c->found(c->data, &note);
}

static void say_of(const struct carrying *c, const char *name, const char *what) {
        _cleanup_free_ char *path = str_concat(c->folder->path, *name ? "/" : "", name);

        if (path)
                say_at(c, path, what);
}

static void drop_left(struct left_names *left, size_t n) {
        strv_sort(left->names, left->n);
        while (left->n > n)
                free(left->names[--left->n]);
}

static int add_left_name(void *data, const char *name) {
        struct left_names *left = data;

        if (left->n == NAMES_HELD)
                drop_left(left, NAMES_TOLD);
        left->names[left->n] = strdup(name);
        if (!left->names[left->n])
                return -ENOMEM;
        left->n++;
        left->n_all++;
        return 0;
}

/* Names what the host doesn't get, and didn't before. */
static int tell_names(const struct carrying *c, const char *path, const char *kind,
                      struct left_names *left) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *names = NULL, *what = NULL;

        if (left->n_all == 0)
                return 0;
        drop_left(left, NAMES_TOLD);
        for (size_t i = 0; i < left->n; i++)
                strbuf_addf(&b, "%s%s", i > 0 ? ", " : "", left->names[i]);
        if (left->n_all > left->n)
                strbuf_addf(&b, " and %zu more", left->n_all - left->n);
        names = strbuf_finish(&b);
        if (!names || asprintf(&what, "the host gets nothing of %s%s%s", kind, names,
                               !c->folder->rest ? ""
                               : *kind          ? " (the next run in this project does)"
                                       : " (the next run in this project does: nsrun review)") < 0) {
                what = NULL;
                return -ENOMEM;
        }
        say_at(c, path, what);
        return 0;
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

static int put_text(int parent, const char *name, const struct stat *was, const char *text) {
        char draft[CARRIED_DRAFT_SIZE];
        _cleanup_close_ int fd = carried_draft(parent, name, draft);

        return fd < 0 ? fd
                      : carried_commit(parent, fd, draft, name, was, was ? was->st_mode : 0600,
                                       write_full(fd, text, strlen(text)));
}

static int tell_members(const struct carrying *c, const struct carried_mixed *m, const char *inside) {
        _cleanup_free_ char *kept = NULL;
        struct left_names left = {0};
        int r = c->rest < 0 ? 0 : read_small_file(c->rest, m->name, O_NOFOLLOW, JSON_MAX, &kept);

        if (r != -ENOMEM)
                r = members_left(m->members, c->all->project, m->base, inside, kept, add_left_name, &left);
        r = r < 0 ? r : tell_names(c, m->file, "its members ", &left);
        drop_left(&left, 0);
        return r;
}

/* Whoever else writes the host's file meanwhile has it read again. */
static int carry_mixed(const struct carrying *c, const struct carried_mixed *m) {
        _cleanup_free_ char *inside = NULL, *folder = path_parent(m->file);
        const char *name = path_basename(m->file), *seed = seed_of(m);
        _cleanup_close_ int parent = -EBADF;
        struct stat was;
        int r = read_mixed(c->upper, m->name, &inside, &was);

        if (r <= 0 || (seed && streq(inside, seed)))
                return r == -ENOENT || r > 0 ? 0 : r;
        parent = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        r = parent < 0 ? -errno : -ESTALE;
        for (unsigned i = 0; i < TRIES && r == -ESTALE; i++) {
                _cleanup_free_ char *host = NULL, *text = NULL;
                int has_one = read_mixed(parent, name, &host, &was);

                r = has_one < 0 ? has_one
                    : has_one && m->is_unsure
                            ? 0
                            : members_take(m->members, c->all->project, m->base, seed, inside, host, &text);
                if (r > 0)
                        r = put_text(parent, name, has_one ? &was : NULL, text);
        }
        return r < 0 ? r : tell_members(c, m, inside);
}

static int tell_failed(void *data, const char *path, int r) {
        struct carrying *c = data;

        if (++c->n_failed <= NAMES_TOLD)
                say_of(c, path,
                       r == -ESTALE
                               ? "the host has changed this file meanwhile: what the command wrote to it is the next run's here"
                               : "what the command wrote here can't be carried to the host");
        else if (c->n_failed == NAMES_TOLD + 1)
                say_of(c, "", "more of what the command wrote here can't be carried to the host");
        return 0;
}

static int add_left(void *data, const char *path, unsigned char type) {
        struct carrying *c = data;
        _cleanup_close_ int fd = c->rest < 0 ? -ENOENT : beneath_open(c->rest, path, O_PATH, 0);

        for (size_t i = 0; i < c->folder->n_mixed; i++)
                if (streq(c->folder->mixed[i].name, path))
                        return 0;
        return type == DT_CHR || fd >= 0 || fd == -ELOOP ? 0 : add_left_name(&c->left, path);
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

/* Which folders the host's files give to other projects.  A damaged one gives none, to the agent either. */
static int find_others_folders(const struct carried_folder *f, const char *project, char ***ret) {
        int r = 0;

        for (size_t i = 0; i < f->n_mixed && r != -ENOMEM; i++) {
                const struct carried_mixed *m = &f->mixed[i];
                _cleanup_free_ char *host = NULL;

                if (!strchr(m->members, '='))
                        continue;
                r = read_small_file(AT_FDCWD, m->file, O_NOFOLLOW, JSON_MAX, &host);
                if (r >= 0)
                        r = members_of_others(m->members, project, host, ret);
        }
        return r == -ENOMEM ? r : 0;
}

static void carry_folder(struct carrying *c, const struct rundir *u) {
        const struct carried_folder *f = c->folder;
        _cleanup_strv_ char **others = NULL;
        int r;

        c->layer = beneath_open(u->dir_fd, f->layer, O_RDONLY | O_DIRECTORY, 0);
        c->upper = c->layer < 0 ? c->layer : open_for_removal(c->layer, upper_name);
        c->host = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        c->rest = f->has_rest ? open(f->rest, O_PATH | O_DIRECTORY | O_CLOEXEC) : -EBADF;
        r = c->upper < 0 || c->host < 0 ? -EIO : find_others_folders(f, c->all->project, &others);
        if (r >= 0)
                r = carry_files(&(struct carried_files){.upper = c->upper,
                                                        .host = c->host,
                                                        .globs = f->globs,
                                                        .others = others,
                                                        .since = c->all->since,
                                                        .failed = tell_failed,
                                                        .left = add_left,
                                                        .data = c});
        for (size_t i = 0; i < f->n_mixed && r >= 0; i++)
                if (carry_mixed(c, &f->mixed[i]) < 0)
                        say_at(c, f->mixed[i].file,
                               "what the command changed in this file can't be carried to the host");
        if (r >= 0)
                r = tell_names(c, f->path, "", &c->left);
        if (r < 0)
                say_of(c, "", "what the command wrote here can't be carried to the host");
        else
                carry_keep_rest(c);
        drop_left(&c->left, 0);
        close_fdp(&c->rest);
        close_fdp(&c->upper);
        close_fdp(&c->layer);
        close_fdp(&c->host);
}

/* Nobody may do more with the file than before, and its owner no less. */
static void reset_mode(const char *text) {
        const char *path = strchr(text, ':') + 1;
        mode_t was = (mode_t)strtoul(text, NULL, 8);
        _cleanup_close_ int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 07777) != was)
                (void)chmod(fd_link(fd).path, (st.st_mode & was) | (was & 0600));
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
        STRV_FOREACH (mode, carried->modes)
                reset_mode(*mode);
        if (carried->n > 0)
                (void)unlinkat(u->dir_fd, RUNDIR_CARRIED, 0);
        carried_clear(carried);
}

/* --------------------------------------------------------------- after a kill */

/* What is written down, from where one is. */
struct reading_down {
        const char *at, *end;
};

static const char *next_text(struct reading_down *d) {
        const char *text = d->at;

        if (text >= d->end)
                return NULL;
        d->at += strlen(text) + 1;
        return text;
}

static bool take_time(const char *text, struct timespec *ret) {
        intmax_t seconds;

        if (!text || sscanf(text, "%jd.%ld", &seconds, &ret->tv_nsec) != 2)
                return false;
        ret->tv_sec = (time_t)seconds;
        return true;
}

/* What the host's file was when the killed run began, if it is that still. */
static int restore_seed(const struct carried *c, const struct carried_folder *f, struct carried_mixed *m) {
        _cleanup_close_ int rest =
                f->rest ? open(f->rest, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -EBADF;
        struct stat st;

        if (lstat(m->file, &st) < 0)
                return 0;
        m->is_unsure = !time_is_before(&st.st_ctim, &c->since);
        return m->is_unsure ? 0 : read_seed(m, c->project, rest);
}

static int read_down_carried(const struct rundir *u, const char *base, struct carried *c) {
        _cleanup_close_ int fd = beneath_open(u->dir_fd, RUNDIR_CARRIED, O_RDONLY | O_NONBLOCK, 0);
        _cleanup_free_ char *bytes = NULL;
        struct reading_down d;
        const char *text;
        size_t n;
        int r = fd < 0 ? fd : read_bytes_fd(fd, JSON_MAX, &bytes, &n);

        if (r < 0)
                return r;
        if (n < sizeof(written_down) ||
            memcmp(bytes + n - sizeof(written_down), written_down, sizeof(written_down)) != 0)
                return -EBADMSG;
        d = (struct reading_down){bytes, bytes + n - sizeof(written_down)};
        text = next_text(&d);
        if (!text || !take_time(next_text(&d), &c->since))
                return -EBADMSG;
        if (*text && !(c->project = strdup(text)))
                return -ENOMEM;
        while (r >= 0 && (text = next_text(&d)) && *text) {
                const char *layer = next_text(&d), *when = next_text(&d);

                if (!when)
                        return -EBADMSG;
                r = add_carried_folder(c, base, text, layer);
                if (r >= 0)
                        c->folders[c->n - 1].has_rest = take_time(when, &c->folders[c->n - 1].when);
        }
        while (r >= 0 && (text = next_text(&d)) && *text)
                r = add_carried_line(c, text);
        while (r >= 0 && (text = next_text(&d)))
                r = strv_add(&c->modes, text);
        for (size_t i = 0; i < c->n; i++)
                for (size_t k = 0; k < c->folders[i].n_mixed && r >= 0; k++)
                        r = restore_seed(c, &c->folders[i], &c->folders[i].mixed[k]);
        return r;
}

struct recovering {
        const char *base;
        int (*found)(void *data, const struct nsrun_error *note);
        void *data;
};

static int recover_one(void *data, int base_fd, const struct dirent *entry) {
        const struct recovering *in = data;
        struct rundir u = RUNDIR_INIT;
        struct carried c = {0};
        int r;

        u.is_shown = true; /* it may have been a session's */
        if (!rundir_is_uncarried(base_fd, entry->d_name) ||
            locked_take_over(base_fd, entry->d_name, &u.dir_fd, &u.lock_fd) < 0)
                return 0;
        u.base_fd = fcntl(base_fd, F_DUPFD_CLOEXEC, 3);
        u.path = path_join(in->base, entry->d_name);
        r = u.path ? read_down_carried(&u, in->base, &c) : -ENOMEM;
        if (r >= 0)
                carried_end(&c, &u, in->found, in->data);
        carried_clear(&c);
        if (r != -ENOMEM)
                r = killed_keep(&u, false, in->found, in->data);
        if (r == -ENOMEM)
                rundir_close(&u);
        else
                rundir_remove(&u);
        return r == -ENOMEM ? r : 0;
}

int carried_recover(const struct rundir *u, int (*found)(void *data, const struct nsrun_error *note),
                    void *data) {
        _cleanup_free_ char *base = u->has_uncarried ? path_parent(u->path) : NULL;
        struct recovering in = {.base = base, .found = found, .data = data};

        if (!u->has_uncarried)
                return 0;
        return base ? folder_each(u->base_fd, recover_one, &in) : -ENOMEM;
}
