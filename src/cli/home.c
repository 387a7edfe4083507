/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun home`: the homes that --home name:NAME shows, and what of one a person puts in his own. */
#include <limits.h>
#include <linux/fs.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sys.h"
#include "disk/homes.h"
#include "disk/occupied.h"
#include "disk/remove_tree.h"
#include "host/user.h"
#include "option.h"
#include "ps_row.h"
#include "running/plan_shown.h"
#include "session_ps.h"

struct home_cli {
        bool wants_json;
};

OPTION_FLAG(home_apply_json, struct home_cli, wants_json);

const struct option_spec home_options[] = {
        {"json", 0, NULL, OPTION_COMPLETES_NOTHING, "Output", "list, diff: print JSON", home_apply_json},
};
const size_t n_home_options = ARRAY_SIZE(home_options);

struct homes {
        const struct home_cli *cli;
        struct nsrun_error *err;
        char *own; /* the user's home */
        char *folder;
        int fd;                          /* of the folder; -ENOENT: there is none */
        struct sandbox_process *running; /* the user's sandboxes */
        size_t n_running;
};

static int home_fail(const struct homes *h, int r, const char *name, const char *what, const char *hint) {
        return error_set(h->err, NSRUN_STAGE_WORKSPACE, r, name, what, hint);
}

static void homes_close(struct homes *h) {
        free(h->own);
        free(h->folder);
        close_fdp(&h->fd);
        sandboxes_free(h->running, h->n_running);
}

static int homes_open(struct homes *h) {
        int r = user_find_home(getenv("HOME"), &h->own);

        if (r < 0)
                return error_oom(h->err);
        if (!h->own)
                return home_fail(h, UNSAID(-ENOENT), NULL, "the user has no home", NULL);
        h->folder = named_home_path(h->own, getenv("XDG_DATA_HOME"), NULL);
        if (!h->folder)
                return error_oom(h->err);
        h->fd = sys_open(AT_FDCWD, h->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        if (h->fd < 0 && h->fd != -ENOENT)
                return home_fail(h, h->fd, h->folder, "the folder of the homes can't be opened", NULL);
        if (h->fd >= 0) {
                /* As plans have it. */
                _cleanup_free_ char *canonical = NULL;

                if (path_canonical(h->folder, &canonical, NULL) < 0)
                        return error_oom(h->err);
                free(h->folder);
                h->folder = TAKE_PTR(canonical);
        }
        return sandboxes_list(&h->running, &h->n_running, h->err);
}

/* The folder of that home. */
static int home_open(const struct homes *h, const char *name) {
        int fd = !home_is_name(name) || h->fd < 0 ? -ENOENT
                                                  : beneath_open(h->fd, name, O_RDONLY | O_DIRECTORY, 0);

        return fd >= 0         ? fd
               : fd == -ENOENT ? home_fail(h, UNSAID(fd), name, "there is no home of that name",
                                           "'nsrun home list' shows those there are")
                               : home_fail(h, fd, name, "the home can't be opened", NULL);
}

/* The number or name of a sandbox that runs with it, for free(3); NULL: none, or there is no memory. */
static char *home_user(const struct homes *h, const char *name) {
        _cleanup_(known_sessions_free) struct known_sessions known = {0};
        _cleanup_free_ char *path = path_join(h->folder, name);
        char *id = NULL;

        for (size_t i = 0; path && i < h->n_running && !id; i++) {
                _cleanup_(ps_row_clear) struct ps_row row = {.process = &h->running[i]};
                _cleanup_plan_ struct nsrun_plan *plan = NULL;
                _cleanup_strv_ char **degraded = NULL;
                bool has = false;

                if (shown_read(row.process->supervisor, row.process->init, &plan, &degraded, NULL) < 0)
                        continue;
                for (size_t k = 0; k < plan->n_ops; k++)
                        has |= plan->ops[k].source && streq(plan->ops[k].source, path);
                if (has && known_sessions_read(&known, NULL) >= 0 && ps_row_fill(&row, &known) >= 0)
                        id = TAKE_PTR(row.id);
        }
        return id;
}

static int refuse_used(const struct homes *h, const char *name, int fd) {
        _cleanup_free_ char *id = home_user(h, name),
                            *hint = id ? str_format("end it: nsrun stop %s", id) : NULL;

        int r = id ? -EWOULDBLOCK : home_lock(fd);

        return r == -EWOULDBLOCK ? home_fail(h, UNSAID(-EBUSY), name, "a sandbox runs with this home", hint)
               : r < 0 ? home_fail(h, r, name, "the home can't be locked, and may be a sandbox's", NULL)
                       : 0;
}

/* ------------------------------------------------------------------------ the list */

struct listing_homes {
        const struct homes *h;
        struct json_document *d;
        struct json_value *array; /* NULL: a table is printed */
        size_t n;
};

static int home_list_one(void *data, int folder, const struct dirent *entry) {
        struct listing_homes *l = data;
        _cleanup_free_ char *path = path_join(l->h->folder, entry->d_name), *user = NULL, *visible = NULL;
        struct occupied size = {0};
        char bytes[SHORT_SIZE];

        if (!home_is_name(entry->d_name) || folder_type(folder, entry) != DT_DIR)
                return 0;
        visible = str_visible(entry->d_name);
        if (!path || !visible)
                return -ENOMEM;
        (void)occupied_by(path, &size);
        user = home_user(l->h, entry->d_name);
        if (l->array) {
                struct json_value *o = json_add_object(l->d, l->array, NULL);

                json_add_string(l->d, o, "name", entry->d_name);
                json_add_string(l->d, o, "path", path);
                json_add_number(l->d, o, "bytes", size.bytes);
                json_add_bool(l->d, o, "more", size.is_more);
                json_add_string(l->d, o, "sandbox", user);
                return 0;
        }
        if (l->n++ == 0)
                (void)printf("%-20s %6s  %s\n", "NAME", "SIZE", "SANDBOX");
        (void)printf("%-20s %6s  %s\n", visible, short_size(size.bytes, size.is_more, bytes),
                     user ? user : "-");
        return 0;
}

static int list_homes(struct homes *h, nsrun_unused char **words) {
        _cleanup_json_ struct json_document d = json_begin();
        struct listing_homes l = {.h = h, .d = &d};
        int r;

        if (h->cli->wants_json)
                l.array = json_add_array(&d, d.root, "homes");
        r = h->fd < 0 ? 0 : folder_each(h->fd, home_list_one, &l);
        if (r < 0)
                return home_fail(h, r, h->folder, "the folder of the homes can't be read", NULL);
        if (l.array)
                return option_print_json(&d, false, h->err);
        if (l.n == 0 && isatty(STDOUT_FILENO))
                (void)fputs("nsrun: there is none: nsrun run --home name:NAME makes one\n", stderr);
        return 0;
}

/* -------------------------------------------------- against the user's own home */

enum {
        LOOKED_AT_MOST = 200000, /* entries */
        DEPTH_MOST = 64,
};

/* Any number of them, unlike a strv's. */
struct home_paths {
        char **items;
        size_t n;
};

static void home_paths_clear(struct home_paths *p) {
        for (size_t i = 0; i < p->n; i++)
                free(p->items[i]);
        free(p->items);
}

/* Takes the path over. */
static int home_paths_add(struct home_paths *p, char *path) {
        if (!path || ARRAY_GROW(p->items, p->n) < 0) {
                free(path);
                return -ENOMEM;
        }
        p->items[p->n++] = path;
        return 0;
}

/* What a home has otherwise than the user's own, or besides.  The command may be writing it meanwhile: all
 * is looked at by descriptors, and nothing is followed. */
struct comparing {
        struct home_paths added,
                modified; /* relative; a folder ends with a slash, and what is in a new one isn't listed */
        unsigned n_looked, depth;
        const char *relative; /* of the folders that are compared */
        int own;
        bool is_cut;
};

static int collect_name(void *data, nsrun_unused int folder, const struct dirent *entry) {
        struct home_paths *names = data;

        return names->n > LOOKED_AT_MOST ? 1 : home_paths_add(names, strdup(entry->d_name));
}

/* 1: they are the same; 0: they aren't; -errno. */
static int same_contents(int home, int own) {
        char one[16384], other[sizeof(one)];
        size_t n = 0, n_other = 0;
        int r;

        do {
                r = read_full(home, one, sizeof(one), &n);
                if (r >= 0)
                        r = read_full(own, other, sizeof(other), &n_other);
        } while (r >= 0 && n > 0 && n == n_other && memcmp(one, other, n) == 0);
        return r < 0 ? r : n == 0 && n_other == 0;
}

static bool same_file(int home, int own, const char *name, const struct stat *a, const struct stat *b) {
        _cleanup_close_ int mine = -EBADF, theirs = -EBADF;
        struct stat st;

        if (a->st_size != b->st_size)
                return false;
        theirs = sys_open(home, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
        mine = sys_open(own, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
        return theirs >= 0 && mine >= 0 && sys_fstat(theirs, &st) >= 0 && S_ISREG(st.st_mode) &&
               sys_fstat(mine, &st) >= 0 && S_ISREG(st.st_mode) && same_contents(theirs, mine) > 0;
}

static bool same_link(int home, int own, const char *name) {
        char a[PATH_MAX], b[PATH_MAX];
        ssize_t n = sys_readlinkat(home, name, a, sizeof(a)), m = sys_readlinkat(own, name, b, sizeof(b));

        return n >= 0 && n == m && memcmp(a, b, (size_t)n) == 0;
}

static int compare_homes(struct comparing *c, int home);

static int compare_within(struct comparing *c, int home, const char *name, const char *path) {
        _cleanup_close_ int theirs = sys_open(home, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0),
                            mine = sys_open(c->own, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        struct comparing within = *c;
        int r;

        if (theirs < 0 || mine < 0 || c->depth == DEPTH_MOST) {
                c->is_cut = true;
                return 0;
        }
        within.relative = path;
        within.own = mine;
        within.depth++;
        r = compare_homes(&within, theirs);
        within.relative = c->relative;
        within.own = c->own;
        within.depth = c->depth;
        *c = within;
        return r;
}

static int compare_in_home(struct comparing *c, int home, const char *name) {
        _cleanup_free_ char *path = str_concat(c->relative, *c->relative ? "/" : "", name);
        struct stat a, b;
        bool is_there;

        if (!path)
                return -ENOMEM;
        if (fstatat(home, name, &a, AT_SYMLINK_NOFOLLOW) < 0 ||
            (!S_ISDIR(a.st_mode) && !S_ISREG(a.st_mode) && !S_ISLNK(a.st_mode)))
                return 0;
        is_there = fstatat(c->own, name, &b, AT_SYMLINK_NOFOLLOW) == 0;
        if (is_there && S_ISDIR(a.st_mode) && S_ISDIR(b.st_mode))
                return compare_within(c, home, name, path);
        if (is_there && (a.st_mode & S_IFMT) == (b.st_mode & S_IFMT) &&
            (S_ISREG(a.st_mode) ? same_file(home, c->own, name, &a, &b) : same_link(home, c->own, name)))
                return 0;
        return home_paths_add(is_there ? &c->modified : &c->added,
                              str_concat(path, S_ISDIR(a.st_mode) ? "/" : "", ""));
}

static int compare_homes(struct comparing *c, int home) {
        __attribute__((cleanup(home_paths_clear))) struct home_paths names = {0};
        int r = folder_each(home, collect_name, &names);

        /* What can't be read isn't compared. */
        c->is_cut |= r != 0;
        if (names.n > 0)
                strv_sort(names.items, names.n);
        for (size_t i = 0; i < names.n && r != -ENOMEM; i++) {
                if (c->n_looked > LOOKED_AT_MOST) {
                        c->is_cut = true;
                        return 0;
                }
                c->n_looked++;
                r = compare_in_home(c, home, names.items[i]);
        }
        return r == -ENOMEM ? r : 0;
}

/* A path as the shell has it, below the user's home, or relative to it: *ret is relative, for free(3). */
static int take_home_path(const struct homes *h, const char *word, char **ret) {
        _cleanup_free_ char *path = path_is_absolute(word) ? strdup(word) : path_join(h->own, word),
                            *normal = path ? path_normalise(path) : NULL;
        const char *below = normal ? path_below(normal, h->own) : NULL;

        if (!normal)
                return error_oom(h->err);
        if (!below || !*below)
                return home_fail(h, UNSAID(-EINVAL), word, "this isn't below the home",
                                 "name it as ~/PATH, or relative to the home");
        *ret = strdup(below);
        return *ret ? 0 : error_oom(h->err);
}

static bool is_meant_path(const char *path, char *const *wanted) {
        _cleanup_free_ char *plain = strndup(path, strlen(path) - (path[strlen(path) - 1] == '/'));

        STRV_FOREACH (one, wanted)
                if (plain && (path_is_beneath(plain, *one) || path_is_beneath(*one, plain)))
                        return true;
        return !wanted;
}

static void tell_changes(const struct homes *h, struct json_document *d, struct json_value *array,
                         const char *kind, const struct home_paths *paths, char *const *wanted) {
        for (size_t i = 0; i < paths->n; i++) {
                const char *path = paths->items[i];

                if (!is_meant_path(path, wanted))
                        continue;
                if (h->cli->wants_json) {
                        struct json_value *o = json_add_object(d, array, NULL);

                        json_add_string(d, o, "kind", kind);
                        json_add_string(d, o, "path", path);
                } else {
                        print_visible(*kind == 'a' ? "A  " : "M  ", path, "\n");
                }
        }
}

/* Opens the folder of an entry of the home, without following anything.  -ENOENT, filled: it isn't there. */
static int open_around(const struct homes *h, int home, const char *relative, const char *word) {
        const char *slash = strrchr(relative, '/');
        _cleanup_free_ char *parent = strndup(relative, slash ? (size_t)(slash - relative) : 0);
        _cleanup_close_ int fd = parent ? beneath_open(home, parent, O_RDONLY | O_DIRECTORY, 0) : -ENOMEM;
        struct stat st;

        if (!parent)
                return error_oom(h->err);
        if (fd < 0 || fstatat(fd, path_basename(relative), &st, AT_SYMLINK_NOFOLLOW) < 0)
                return home_fail(h, UNSAID(-ENOENT), word, "the home has nothing there",
                                 "'nsrun home diff' shows what it has");
        return TAKE_FD(fd);
}

/* The paths that are meant; none: all. */
static int take_paths(const struct homes *h, int home, char *const *words, char ***ret) {
        int r = 0;

        STRV_FOREACH (word, words) {
                _cleanup_free_ char *path = NULL;
                _cleanup_close_ int folder = -EBADF;

                r = take_home_path(h, *word, &path);
                if (r >= 0)
                        r = folder = open_around(h, home, path, *word);
                if (r >= 0 && strv_consume(ret, TAKE_PTR(path)) < 0)
                        r = error_oom(h->err);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int home_diff(struct homes *h, char **words) {
        _cleanup_close_ int fd = home_open(h, words[0]), own = -EBADF;
        _cleanup_json_ struct json_document d = json_begin();
        _cleanup_strv_ char **wanted = NULL;
        struct json_value *array = json_add_array(&d, d.root, "changes");
        struct comparing c = {.relative = ""};
        int r = fd < 0 ? fd : take_paths(h, fd, words + 1, &wanted);

        if (r < 0)
                return r;
        r = c.own = own = sys_open(AT_FDCWD, h->own, O_RDONLY | O_DIRECTORY, 0);
        if (r < 0)
                return home_fail(h, r, h->own, "the user's home can't be opened", NULL);
        r = compare_homes(&c, fd);
        if (r >= 0 && c.is_cut)
                (void)fprintf(stderr, "nsrun: note: not all of it could be looked at\n");
        if (r >= 0) {
                tell_changes(h, &d, array, "added", &c.added, wanted);
                tell_changes(h, &d, array, "modified", &c.modified, wanted);
        }
        home_paths_clear(&c.added);
        home_paths_clear(&c.modified);
        return r < 0 ? error_oom(h->err) : h->cli->wants_json ? option_print_json(&d, false, h->err) : 0;
}

/* A person sees a copy of what is put there, which can't change any more, and is asked. */
static int home_commit(struct homes *h, char **words) {
        _cleanup_close_ int fd = home_open(h, words[0]);
        _cleanup_free_ char *home = path_join(h->folder, words[0]);
        _cleanup_strv_ char **wanted = NULL;
        int r = fd < 0 ? fd : !home ? error_oom(h->err) : take_paths(h, fd, words + 1, &wanted);

        STRV_FOREACH (relative, wanted) {
                _cleanup_free_ char *path = path_join(h->own, *relative);
                _cleanup_close_ int folder = r < 0 ? r : open_around(h, fd, *relative, *relative);

                if (folder < 0)
                        return folder;
                r = path ? review_accept_from(home, path, REVIEW_OF_HOME, folder, path_basename(*relative),
                                              h->err)
                         : error_oom(h->err);
        }
        return r;
}

static int home_rename(struct homes *h, char **words) {
        _cleanup_close_ int fd = home_open(h, words[0]);
        int r;

        if (fd < 0)
                return fd;
        if (!home_is_name(words[1]))
                return home_fail(h, UNSAID(-EINVAL), words[1], "not a home's name",
                                 "choose letters and digits");
        r = refuse_used(h, words[0], fd);
        if (r < 0)
                return r;
        r = syscall(SYS_renameat2, h->fd, words[0], h->fd, words[1], RENAME_NOREPLACE) < 0 ? -errno : 0;
        if (r == -EEXIST)
                return home_fail(h, UNSAID(r), words[1], "there is a home of that name already", NULL);
        if (r < 0)
                return home_fail(h, r, words[1], "the home can't be renamed", NULL);
        return 0;
}

static int home_remove(struct homes *h, char **words) {
        _cleanup_close_ int fd = home_open(h, words[0]);
        int r = fd < 0 ? fd : refuse_used(h, words[0], fd);

        if (r < 0)
                return r;
        r = remove_tree(h->fd, words[0]);
        if (r < 0)
                return home_fail(h, r, words[0], "the home can't be removed whole", NULL);
        return 0;
}

static const struct home_action {
        const char *name;
        size_t least, most; /* words behind it */
        const char *lacking;
        bool takes_json;
        int (*run)(struct homes *h, char **words);
} home_actions[] = {
        {"list", 0, 0, "", true, list_homes},
        {"diff", 1, SIZE_MAX, "the NAME of a home is missing", true, home_diff},
        {"commit", 2, SIZE_MAX, "the NAME of a home and PATHs in it are missing", false, home_commit},
        {"rename", 2, 2, "the NAME of a home and a new one are missing", false, home_rename},
        {"remove", 1, 1, "the NAME of a home is missing", false, home_remove},
};

static int run_home(struct invocation *i, struct nsrun_error *err) {
        __attribute__((cleanup(homes_close))) struct homes h = {.cli = i->options, .err = err, .fd = -EBADF};
        const struct home_action *action = NULL;
        size_t n = strv_length(i->words);
        int r;

        if (n == 0)
                return option_usage_error(i->command, NULL, "say what: list, diff, commit, rename or remove",
                                          err);
        for (size_t k = 0; k < ARRAY_SIZE(home_actions); k++)
                if (streq(home_actions[k].name, i->words[0]))
                        action = &home_actions[k];
        if (!action)
                return option_usage_error(i->command, i->words[0], "no such action", err);
        if (n - 1 < action->least)
                return option_usage_error(i->command, NULL, action->lacking, err);
        if (n - 1 > action->most)
                return option_usage_error(i->command, i->words[action->most + 1], "an argument too many",
                                          err);
        if (h.cli->wants_json && !action->takes_json)
                return option_usage_error(i->command, "--json", "this is for list and diff alone", err);
        r = homes_open(&h);
        return r < 0 ? r : action->run(&h, i->words + 1);
}

COMMAND_MAIN(home, &(struct home_cli){0}, .is_mixed = true, .run = run_home);
