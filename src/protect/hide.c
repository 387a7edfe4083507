/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See hide.h.  What is there is found by one walk through each exposed folder, before the sandbox is made;
 * plan/ puts an empty folder or an unreadable file in front of it wherever it is shown. */
#include "hide.h"

#include "base/array.h"
#include "base/file.h"
#include "base/path.h"
#include "base/responds.h"
#include "host/walk.h"
#include "learn_view.h"
#include "protect_names.h"

enum {
        HIDDEN_MAX = 10000,
        LOOKED_AT_MAX = 1000000,
};

/* A file that is hidden, itself or in a folder, and has more names than one. */
struct linked {
        uint64_t dev, inode;
        uint64_t n_within; /* how many of its names lie in hidden folders */
};

struct hiding {
        struct resolved *resolved;
        char **globs;       /* as walk.h has them */
        const char *folder; /* that is walked through */
        bool is_second;     /* this walk looks for other names of files that are hidden already */
        struct linked *linked;
        size_t n_linked;
        struct nsrun_error *err;
};

/* Before a mount is entered. */
static int hide_crosses(void *data, int folder, const char *name) {
        const struct hiding *h = data;
        _cleanup_free_ char *shown = fd_name(folder);

        return responds_in_time(folder, name, shown, h->err);
}

static int hide_error(struct nsrun_error *err, int r, const char *path) {
        if (r == -ETIMEDOUT)
                return r;
        if (r == -ENOMEM)
                return error_oom(err);
        if (r == -E2BIG)
                return error_set(err, NSRUN_STAGE_POLICY, r, path,
                                 "the folder holds more than can be looked through for names to hide",
                                 "expose less of it, or hide by a path from its top (/NAME, DIR/NAME)");
        return error_set(err, NSRUN_STAGE_POLICY, r, path,
                         "the folder can't be looked through for names to hide", NULL);
}

/* ------------------------------------------------------------------- the list */

static int compare_hidden(const void *a, const void *b) {
        const struct resolved_hidden *x = a, *y = b;

        return path_compare(x->path, y->path);
}

const struct resolved_hidden *hide_find(const struct resolved *s, const char *path) {
        for (size_t i = 0; i < s->files.n_hidden; i++)
                if (path_is_beneath(path, s->files.hidden[i].path))
                        return &s->files.hidden[i];
        return NULL;
}

/* Leaves out what is there twice, and what lies in a folder that is hidden. */
static void sort_hidden(struct resolved *s) {
        size_t n = 0;

        if (s->files.n_hidden > 0)
                qsort(s->files.hidden, s->files.n_hidden, sizeof(*s->files.hidden), compare_hidden);
        for (size_t i = 0; i < s->files.n_hidden; i++)
                if (n > 0 && path_is_beneath(s->files.hidden[i].path, s->files.hidden[n - 1].path))
                        free(s->files.hidden[i].path);
                else
                        s->files.hidden[n++] = s->files.hidden[i];
        s->files.n_hidden = n;
}

static int add_hidden(const struct hiding *h, const char *path, const struct stat *st) {
        struct resolved *s = h->resolved;
        struct resolved_hidden hidden = {.is_directory = S_ISDIR(st->st_mode),
                                         .dev = st->st_dev,
                                         .inode = st->st_ino,
                                         .n_names = S_ISDIR(st->st_mode) ? 1 : st->st_nlink};

        if (s->files.n_hidden >= HIDDEN_MAX)
                return -E2BIG;
        if (ARRAY_GROW(s->files.hidden, s->files.n_hidden) < 0 || !(hidden.path = strdup(path)))
                return -ENOMEM;
        s->files.hidden[s->files.n_hidden++] = hidden;
        return 0;
}

/* ------------------------------------------------------------------- the walks */

/* Whether rules of the user's have put it into the sandbox: not the system's folders, toolchains, and what
 * lies in another rule's folder and is protected there. */
static bool is_walked(const struct resolved_rule *rule) {
        return (rule->origin != POLICY_BY_TOOLCHAINS || wide_is_rule(rule)) &&
               rule->giver != PLAN_BY_PROTECTED && rule->giver != PLAN_BY_PIN;
}

/* A link itself tells nothing.  What it leads to is hidden where that lies in an exposed folder; but not a
 * folder that holds what is exposed: that everything is gone is nobody's wish. */
static int hide_linked(const struct hiding *h, const char *link, bool is_for_folders) {
        const struct resolved *s = h->resolved;
        _cleanup_free_ char *path = NULL;
        bool is_exposed = false;
        struct stat st;
        int r = path_canonical(link, &path, NULL);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        for (size_t i = 0; i < s->files.n_rules; i++) {
                if (path_is_beneath(s->files.rules[i].source, path) && s->files.rules[i].is_directory &&
                    is_walked(&s->files.rules[i]))
                        return 0;
                is_exposed |=
                        is_walked(&s->files.rules[i]) && path_is_beneath(path, s->files.rules[i].source);
        }
        if (!is_exposed || lstat(path, &st) < 0 || (is_for_folders && !S_ISDIR(st.st_mode)))
                return 0;
        return add_hidden(h, path, &st);
}

static int compare_linked(const void *a, const void *b) {
        const struct linked *x = a, *y = b;

        return x->inode != y->inode ? (x->inode > y->inode ? 1 : -1) : (x->dev > y->dev) - (x->dev < y->dev);
}

static struct linked *find_linked(const struct hiding *h, uint64_t dev, uint64_t inode) {
        const struct linked key = {.dev = dev, .inode = inode};

        return h->n_linked > 0 ? bsearch(&key, h->linked, h->n_linked, sizeof(key), compare_linked) : NULL;
}

static bool is_other_name(const struct hiding *h, const struct stat *st, const char *path) {
        return find_linked(h, st->st_dev, st->st_ino) && !hide_find(h->resolved, path);
}

static int hide_found(void *data, const struct walk_entry *e) {
        const struct hiding *h = data;
        _cleanup_free_ char *path = NULL;

        /* Another user's, which the command can't enter either. */
        if (e->is_closed && e->st.st_uid != h->resolved->uid &&
            faccessat(e->folder, e->name, X_OK, AT_EACCESS) < 0)
                return 0;
        /* Nothing, and it goes when another sandbox ends. */
        if (S_ISDIR(e->st.st_mode) && protect_is_placeholder(e->folder, e->name, NULL))
                return 0;
        path = path_join(h->folder, e->path);
        if (!path)
                return -ENOMEM;
        if (h->is_second && !e->is_closed && !is_other_name(h, &e->st, path))
                return 0;
        return S_ISLNK(e->st.st_mode) ? hide_linked(h, path, e->is_link_to_folder)
                                      : add_hidden(h, path, &e->st);
}

/* Whether a glob for any depth names what is at a path by the path's last part. */
static int is_root_named(const struct hiding *h, const char *path, bool is_directory) {
        _cleanup_free_ char *normal = path ? path_normalise(path) : NULL;
        const char *name;

        if (!path || !normal)
                return path ? -ENOMEM : 0;
        name = path_basename(normal);
        STRV_FOREACH (glob, h->globs)
                if ((!is_directory || startswith(*glob, "**/")) &&
                    walk_matches((char *[]){*glob, NULL}, name, is_directory))
                        return 1;
        return 0;
}

/* Whether a rule's target lies in a folder that another one shows. */
static bool is_within_another(const struct hiding *h, const struct resolved_rule *rule) {
        const struct resolved *s = h->resolved;

        for (size_t i = 0; i < s->files.n_rules; i++)
                if (&s->files.rules[i] != rule && path_is_beneath(rule->target, s->files.rules[i].target))
                        return true;
        return false;
}

/* Whether what a rule names itself is hidden, by any of the names that it has on the host, in the user's
 * words and inside.  In a folder that is shown its name inside is that of what it covers. */
static int is_rule_named(const struct hiding *h, const struct resolved_rule *rule, bool is_directory) {
        const char *const paths[] = {rule->source, rule->spelled,
                                     is_within_another(h, rule) ? NULL : rule->target};
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(paths) && r == 0; i++)
                r = is_root_named(h, paths[i], is_directory);
        for (size_t i = 0; rule->aliases && rule->aliases[i] && r == 0; i++)
                r = is_root_named(h, rule->aliases[i], is_directory);
        return r;
}

/* Walks through one exposed folder, if it isn't hidden itself. */
static int walk_rule(struct hiding *h, const struct resolved_rule *rule, const ino_t *inodes, size_t n) {
        struct walk walk = {.globs = n > 0 ? NULL : h->globs,
                            .inodes = inodes,
                            .n_inodes = n,
                            .found = hide_found,
                            .crosses = hide_crosses,
                            .data = h,
                            .entries_max = LOOKED_AT_MAX};
        _cleanup_close_ int fd = open(rule->source, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;
        int r;

        /* Whoever mounts it says what is wrong. */
        if (fd < 0 || fstat(fd, &st) < 0)
                return 0;
        r = n > 0 ? !S_ISDIR(st.st_mode) && is_other_name(h, &st, rule->source)
                  : is_rule_named(h, rule, S_ISDIR(st.st_mode));
        if (r != 0 || !S_ISDIR(st.st_mode))
                return r > 0 ? add_hidden(h, rule->source, &st) : r;
        h->folder = rule->source;
        r = walk_names(&walk, fd);
        /* The command can't list it either, but may know a name in it. */
        if (r == -EACCES && (st.st_uid == h->resolved->uid || faccessat(fd, ".", X_OK, AT_EACCESS) == 0))
                return r;
        return r == -EACCES ? 0 : r;
}

static int walk_rules(struct hiding *h, const ino_t *inodes, size_t n) {
        struct resolved *s = h->resolved;

        for (size_t i = 0; i < s->files.n_rules; i++) {
                int r = is_walked(&s->files.rules[i]) ? walk_rule(h, &s->files.rules[i], inodes, n) : 0;

                if (r < 0)
                        return hide_error(h->err, r, s->files.rules[i].source);
        }
        return 0;
}

/* ------------------------------------------------------------------- absolute paths */

/* Where the first part with a wildcard begins. */
static size_t literal_length(const char *path) {
        size_t wildcard = strcspn(path, "*?[\\"), n = 0;

        if (!path[wildcard])
                return strlen(path);
        for (size_t i = 0; i < wildcard; i++)
                if (path[i] == '/')
                        n = i + 1;
        return n;
}

/* A path of the host, wherever the sandbox shows it: one of its own folders, a toolchain. */
static int hide_absolute(struct hiding *h, const char *glob) {
        size_t n = literal_length(glob);
        _cleanup_free_ char *start = strndup(glob, n), *path = NULL, *rest = NULL;
        char *globs[2] = {0};
        const struct walk walk = {.globs = globs,
                                  .found = hide_found,
                                  .crosses = hide_crosses,
                                  .data = h,
                                  .entries_max = LOOKED_AT_MAX};
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r = start ? path_canonical(start, &path, NULL) : -ENOMEM;

        if (r < 0)
                return r == -ENOENT || r == -ENOTDIR || r == -EACCES ? 0 : r;
        if (!glob[n])
                return lstat(path, &st) < 0                         ? 0
                       : glob[n - 1] == '/' && !S_ISDIR(st.st_mode) ? 0
                                                                    : add_hidden(h, path, &st);
        if (asprintf(&rest, "/%s", glob + n) < 0) {
                rest = NULL;
                return -ENOMEM;
        }
        r = walk_normalise(rest, &globs[0]);
        fd = r < 0 ? r : open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        h->folder = path;
        if (fd >= 0)
                r = walk_names(&walk, fd);
        free(globs[0]);
        return r == -EACCES ? 0 : r;
}

/* Whether a glob names, by one part alone, what the base view has at its top: it means the top of an exposed
 * folder then ("/lib"), unless a rule of the user's shows something in the host's. */
static bool is_of_base(const struct resolved *s, const char *glob) {
        static const char *const roots[] = {"/bin",    "/dev",  "/etc",  "/lib", "/lib32", "/lib64",
                                            "/libx32", "/proc", "/sbin", "/sys", "/usr"};
        const char *root = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
                const char *rest = startswith(glob, roots[i]);

                if (rest && rest[strspn(rest, "/")] == '\0')
                        root = roots[i];
        }
        for (size_t i = 0; i < s->files.n_rules && root; i++)
                if (is_walked(&s->files.rules[i]) && path_is_beneath(s->files.rules[i].source, root))
                        return false;
        return root != NULL;
}

/* "DIR/ **" (without the space) is DIR. */
static int hide_all_absolute(struct hiding *h) {
        STRV_FOREACH (glob, h->resolved->policy->hide) {
                _cleanup_free_ char *path = NULL;
                size_t n = strlen(*glob);
                int r;

                if (**glob != '/')
                        continue;
                while (n > 3 && strncmp(*glob + n - 3, "/**", 3) == 0)
                        n -= 2; /* the slash stays: a folder's */
                path = strndup(*glob, n);
                r = !path ? -ENOMEM : is_of_base(h->resolved, path) ? 0 : hide_absolute(h, path);
                if (r < 0)
                        return hide_error(h->err, r, *glob);
        }
        return 0;
}

/* ------------------------------------------------------------------- hard links */

static int add_linked(struct hiding *h, uint64_t dev, uint64_t inode, uint64_t n_within) {
        if (ARRAY_GROW(h->linked, h->n_linked) < 0)
                return -ENOMEM;
        h->linked[h->n_linked++] = (struct linked){.dev = dev, .inode = inode, .n_within = n_within};
        return 0;
}

static int note_linked(void *data, const struct walk_entry *e) {
        return S_ISREG(e->st.st_mode) && e->st.st_nlink > 1 ? add_linked(data, e->st.st_dev, e->st.st_ino, 1)
                                                            : 0;
}

/* Of a hidden folder's files those with several names.  What can't be read in it is left out. */
static int find_linked_within(struct hiding *h, const char *folder) {
        const struct walk walk = {.is_for_all = true,
                                  .found = note_linked,
                                  .crosses = hide_crosses,
                                  .data = h,
                                  .entries_max = LOOKED_AT_MAX};
        _cleanup_close_ int fd = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int r = fd < 0 ? 0 : walk_names(&walk, fd);

        if (r == -E2BIG)
                return error_set(
                        h->err, NSRUN_STAGE_POLICY, r, folder,
                        "the hidden folder holds more than can be looked through for files that have "
                        "other names elsewhere",
                        "hide folders in it one by one, or expose less");
        return r == -EACCES ? 0 : r < 0 ? hide_error(h->err, r, folder) : 0;
}

static int find_all_linked(struct hiding *h) {
        const struct resolved *s = h->resolved;
        size_t n = 0;

        for (size_t i = 0; i < s->files.n_hidden; i++) {
                const struct resolved_hidden *hidden = &s->files.hidden[i];
                int r = hidden->is_directory  ? find_linked_within(h, hidden->path)
                        : hidden->n_names > 1 ? add_linked(h, hidden->dev, hidden->inode, 0)
                                              : 0;

                if (r < 0)
                        return r == -ENOMEM ? error_oom(h->err) : r;
        }
        if (h->n_linked > 0)
                qsort(h->linked, h->n_linked, sizeof(*h->linked), compare_linked);
        for (size_t i = 0; i < h->n_linked; i++)
                if (n > 0 && compare_linked(&h->linked[n - 1], &h->linked[i]) == 0)
                        h->linked[n - 1].n_within += h->linked[i].n_within;
                else
                        h->linked[n++] = h->linked[i];
        h->n_linked = n;
        return 0;
}

/* Files that are hidden and have more names than one: the others lie anywhere in what is exposed. */
static int hide_other_names(struct hiding *h) {
        _cleanup_free_ ino_t *inodes = NULL;
        int r = find_all_linked(h);

        if (r < 0 || h->n_linked == 0)
                return r;
        inodes = calloc(h->n_linked, sizeof(*inodes));
        if (!inodes)
                return error_oom(h->err);
        for (size_t i = 0; i < h->n_linked; i++)
                inodes[i] = h->linked[i].inode;
        h->is_second = true;
        return walk_rules(h, inodes, h->n_linked);
}

/* Of each file with several names, counts those that weren't found. */
static void count_names(const struct hiding *h) {
        struct resolved *s = h->resolved;

        for (size_t i = 0; i < s->files.n_hidden; i++) {
                struct resolved_hidden *hidden = &s->files.hidden[i];
                const struct linked *linked = find_linked(h, hidden->dev, hidden->inode);
                uint64_t n = linked ? linked->n_within : 0;

                if (hidden->n_names <= 1)
                        continue;
                for (size_t k = 0; k < s->files.n_hidden; k++)
                        n += s->files.hidden[k].inode == hidden->inode &&
                             s->files.hidden[k].dev == hidden->dev;
                hidden->n_elsewhere = hidden->n_names > n ? hidden->n_names - n : 0;
        }
}

/* Hides secrets by their names in the folders that `nsrun learn` shows.  A folder with more in it than can
 * be looked through is left out. */
static int hide_wide(struct hiding *h) {
        struct resolved *s = h->resolved;
        _cleanup_strv_ char **globs = NULL;
        size_t kept = 0;
        int r = 0;

        if (!s->policy->is_wide)
                return 0;
        for (size_t i = 0; wide_hidden[i]; i++) {
                char *normal = NULL;

                if (walk_normalise(wide_hidden[i], &normal) < 0 || strv_consume(&globs, normal) < 0)
                        return error_oom(h->err);
        }
        h->globs = globs;
        for (size_t i = 0; i < s->files.n_rules; i++) {
                struct resolved_rule *rule = &s->files.rules[i];
                int found = r >= 0 && wide_is_rule(rule) ? walk_rule(h, rule, NULL, 0) : 0;

                if (found >= 0) {
                        s->files.rules[kept++] = *rule;
                        continue;
                }
                resolved_rule_clear(rule);
                r = found == -ENOMEM ? error_oom(h->err) : 0;
        }
        s->files.n_rules = kept;
        h->globs = NULL;
        return r;
}

static int refuse_hidden_top(const struct resolved *s, struct nsrun_error *err) {
        if (!s->project || !hide_find(s, s->project))
                return 0;
        return error_set(err, NSRUN_STAGE_POLICY, UNSAID(-EPERM), s->project,
                         "--hide hides the project itself",
                         "hide less, or name what is in it by a path (/NAME)");
}

int hide_names(struct resolved *s, struct nsrun_error *err) {
        _cleanup_strv_ char **globs = NULL;
        struct hiding h = {.resolved = s, .err = err};
        int r;

        r = hide_wide(&h);
        if (r < 0 || (!s->policy->hide && s->files.n_hidden == 0))
                return r;
        STRV_FOREACH (glob, s->policy->hide) {
                char *normal = NULL;

                if (walk_normalise(*glob, &normal) < 0 || strv_consume(&globs, normal) < 0)
                        return error_oom(err);
        }
        h.globs = globs;
        r = globs ? walk_rules(&h, NULL, 0) : 0;
        if (r >= 0)
                r = hide_all_absolute(&h);
        sort_hidden(s);
        if (r >= 0)
                r = hide_other_names(&h);
        sort_hidden(s);
        count_names(&h);
        free(h.linked);
        return r < 0 ? r : refuse_hidden_top(s, err);
}
