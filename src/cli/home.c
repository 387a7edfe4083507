/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun home`: the homes that --home name:NAME shows, and what of one a person puts in his own. */
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "base/sys.h"
#include "changes/changes.h"
#include "disk/exposed.h"
#include "disk/homes.h"
#include "disk/occupied.h"
#include "disk/remove_tree.h"
#include "host/user.h"
#include "option.h"
#include "protect/protect_home.h"
#include "ps_row.h"
#include "running/plan_shown.h"
#include "session_ps.h"

struct home_cli {
        bool wants_json, is_forced;
};

OPTION_FLAG(home_apply_json, struct home_cli, wants_json);
OPTION_FLAG(home_apply_force, struct home_cli, is_forced);

const struct option_spec home_options[] = {
        {"json", 0, NULL, OPTION_COMPLETES_NOTHING, "Output", "list, diff: print JSON", home_apply_json},
        {"force", 0, NULL, OPTION_COMPLETES_NOTHING, "Changes",
         "commit: also what your programs obey, and over what you have there", home_apply_force},
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

static int refuse_used(const struct homes *h, const char *name) {
        _cleanup_free_ char *id = home_user(h, name),
                            *hint = id ? str_format("end it: nsrun stop %s", id) : NULL;

        return id ? home_fail(h, UNSAID(-EBUSY), name, "a sandbox runs with this home", hint) : 0;
}

/* What nsrun knows of commits lies where no command can write. */
#define RECORDS "homes"

static int home_records_open(void) {
        _cleanup_close_ int base = exposed_make_base() < 0 ? -EBADF : exposed_open_base();

        if (base >= 0 && mkdirat(base, RECORDS, 0700) < 0 && errno != EEXIST)
                return -errno;
        return base < 0 ? base : beneath_open(base, RECORDS, O_RDONLY | O_DIRECTORY, 0);
}

static int home_record_open(const char *name) {
        _cleanup_close_ int records = home_records_open();

        if (records >= 0 && mkdirat(records, name, 0700) < 0 && errno != EEXIST)
                return -errno;
        return records < 0 ? records : beneath_open(records, name, O_RDONLY | O_DIRECTORY, 0);
}

static void home_record_remove(const char *name) {
        _cleanup_close_ int records = home_records_open();

        if (records >= 0)
                (void)remove_tree(records, name);
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

/* The home as a layer over the user's own: nothing in it says that something was deleted. */
struct home_layer {
        int home, own, record;
        struct changes_layer layer;
        struct changes changes;
        char **paths; /* relative */
};

#define HOME_LAYER_INIT \
        { .home = -EBADF, .own = -EBADF, .record = -EBADF }

static void home_layer_close(struct home_layer *l) {
        close_fdp(&l->home);
        close_fdp(&l->own);
        close_fdp(&l->record);
        changes_clear(&l->changes);
        strv_freep(&l->paths);
}
#define _cleanup_home_layer_ _cleanup_(home_layer_close)

/* A path as the shell has it, below the user's home, or relative to it. */
static int take_paths(const struct homes *h, struct home_layer *l, char *const *words) {
        STRV_FOREACH (word, words) {
                _cleanup_free_ char *path = path_is_absolute(*word) ? strdup(*word)
                                                                    : path_join(h->own, *word),
                                    *normal = path ? path_normalise(path) : NULL;
                const char *below = normal ? path_below(normal, h->own) : NULL;

                if (!normal)
                        return error_oom(h->err);
                if (!below)
                        return home_fail(h, UNSAID(-EINVAL), *word, "this isn't below the home",
                                         "name it as ~/PATH, or relative to the home");
                if (strv_add(&l->paths, below) < 0)
                        return error_oom(h->err);
        }
        return 0;
}

static int layer_begin(const struct homes *h, char **words, struct home_layer *l) {
        struct timespec now;
        int r = l->home = home_open(h, words[0]);

        if (r >= 0)
                r = take_paths(h, l, words + 1);
        if (r < 0)
                return r;
        l->own = sys_open(AT_FDCWD, h->own, O_RDONLY | O_DIRECTORY, 0);
        if (l->own < 0)
                return home_fail(h, l->own, h->own, "the user's home can't be opened", NULL);
        r = l->record = home_record_open(words[0]);
        if (r >= 0)
                r = clock_gettime(CLOCK_REALTIME, &now) < 0 ? -errno : changes_moment(now, &l->layer.since);
        if (r < 0)
                return home_fail(h, r, NULL, "what is known of the home's commits can't be opened", NULL);
        l->layer.upper_fd = l->layer.merged_fd = l->home;
        l->layer.base_fd = l->own;
        l->layer.record_fd = l->record;
        return changes_scan(&l->layer, &l->changes, h->err);
}

/* Folders of mount points are as they were made. */
static bool is_of_note(const struct change *c) {
        return c->kind != CHANGE_MODIFIED || !S_ISDIR(c->new_mode) || !S_ISDIR(c->old_mode);
}

static void leave_folders(struct changes *c) {
        size_t n = 0;

        for (size_t i = 0; i < c->n; i++) {
                struct change kept = c->list[i];

                if (is_of_note(&kept)) {
                        c->list[i] = c->list[n];
                        c->list[n++] = kept;
                }
        }
        /* What is behind is for changes_clear(). */
        for (size_t i = n; i < c->n; i++) {
                free(c->list[i].path);
                free(c->list[i].from);
        }
        c->n = n;
}

static int refuse_unchanged(const struct homes *h, const struct home_layer *l, char *const *words) {
        for (size_t k = 0; l->paths && l->paths[k]; k++) {
                char *one[] = {l->paths[k], NULL};
                bool has = false;

                for (size_t i = 0; i < l->changes.n; i++)
                        has |= changes_selects(one, &l->changes.list[i]) && is_of_note(&l->changes.list[i]);
                if (!has)
                        return home_fail(h, UNSAID(-ENOENT), words[k],
                                         "the home has nothing there that yours hasn't",
                                         "'nsrun home diff' shows what it has");
        }
        return 0;
}

static int home_diff(struct homes *h, char **words) {
        _cleanup_home_layer_ struct home_layer l = HOME_LAYER_INIT;
        _cleanup_json_ struct json_document d = json_begin();
        int r = layer_begin(h, words, &l);

        if (r >= 0)
                r = refuse_unchanged(h, &l, words + 1);
        if (r < 0)
                return r;
        leave_folders(&l.changes);
        if (!h->cli->wants_json) {
                r = changes_print_list(stdout, &l.changes, l.paths);
                return r < 0 ? home_fail(h, r, NULL, "the changes can't be printed", NULL) : 0;
        }
        r = changes_add_json(&d, json_add_array(&d, d.root, "changes"), &l.changes, l.paths);
        return r < 0 ? error_oom(h->err) : option_print_json(&d, false, h->err);
}

static bool has_dot_name(const char *path) {
        return *path == '.' || strstr(path, "/.");
}

/* Without --force nothing that a program of the host's obeys comes there, and nothing goes; `data` is a
 * struct homes. */
static int judge_taken(void *data, const struct changes *c, bool *is_chosen) {
        const struct homes *h = data;

        bool has_left = false;

        for (size_t i = 0; i < c->n; i++) {
                const struct change *one = &c->list[i];
                _cleanup_free_ char *path = path_join(h->own, one->path);

                if (!path)
                        return -ENOMEM;
                has_left |= is_chosen[i] && !is_of_note(one);
                is_chosen[i] &= is_of_note(one);
                if (!is_chosen[i] || h->cli->is_forced)
                        continue;
                if (has_dot_name(one->path) || protect_home_is_obeyed(h->own, path))
                        return home_fail(h, UNSAID(-EPERM), path, "your programs obey what lies here",
                                         "look at it first, in the home's folder; --force puts it there all the same");
                if (S_ISLNK(one->new_mode))
                        return home_fail(h, UNSAID(-EPERM), path,
                                         "a symlink, which leads where a command chose",
                                         "look at it first; --force puts it there all the same");
                if (one->kind != CHANGE_ADDED)
                        return home_fail(h, UNSAID(-EEXIST), path, "you have something else here",
                                         "--force replaces it");
        }
        return has_left;
}

static int home_commit(struct homes *h, char **words) {
        _cleanup_home_layer_ struct home_layer l = HOME_LAYER_INIT;
        _cleanup_changes_report_ struct changes_report report = {0};
        const struct changes_filter filter = {.leave_out = judge_taken, .data = h};
        struct changes_commit *k = NULL;
        int r = layer_begin(h, words, &l);

        if (r >= 0)
                r = refuse_unchanged(h, &l, words + 1);
        if (r >= 0)
                r = changes_prepare(&l.layer, l.paths, 0, &filter, &report, &k, h->err);
        if (r >= 0)
                r = changes_finish(k);
        (void)changes_commit_free(k);
        log_committed("home", words[0], NULL, report.n_applied);
        strv_tell(report.notes, "note");
        strv_tell(report.conflicts, "conflict");
        if (r >= 0)
                (void)printf("committed %zu path%s\n", report.n_applied, report.n_applied == 1 ? "" : "s");
        return r;
}

/* ------------------------------------------------------------------- names of it */

static int home_rename(struct homes *h, char **words) {
        _cleanup_close_ int fd = home_open(h, words[0]);
        int r;

        if (fd < 0)
                return fd;
        if (!home_is_name(words[1]))
                return home_fail(h, UNSAID(-EINVAL), words[1], "not a home's name",
                                 "choose letters and digits");
        r = refuse_used(h, words[0]);
        if (r < 0)
                return r;
        r = syscall(SYS_renameat2, h->fd, words[0], h->fd, words[1], RENAME_NOREPLACE) < 0 ? -errno : 0;
        if (r == -EEXIST)
                return home_fail(h, UNSAID(r), words[1], "there is a home of that name already", NULL);
        if (r < 0)
                return home_fail(h, r, words[1], "the home can't be renamed", NULL);
        home_record_remove(words[0]);
        home_record_remove(words[1]);
        return 0;
}

static int home_remove(struct homes *h, char **words) {
        _cleanup_close_ int fd = home_open(h, words[0]);
        int r = fd < 0 ? fd : refuse_used(h, words[0]);

        if (r < 0)
                return r;
        r = remove_tree(h->fd, words[0]);
        if (r < 0)
                return home_fail(h, r, words[0], "the home can't be removed whole", NULL);
        home_record_remove(words[0]);
        return 0;
}

static const struct home_action {
        const char *name;
        size_t least, most; /* words behind it */
        const char *lacking;
        bool takes_json, takes_force;
        int (*run)(struct homes *h, char **words);
} home_actions[] = {
        {"list", 0, 0, "", true, false, list_homes},
        {"diff", 1, SIZE_MAX, "the NAME of a home is missing", true, false, home_diff},
        {"commit", 2, SIZE_MAX, "the NAME of a home and PATHs in it are missing", false, true, home_commit},
        {"rename", 2, 2, "the NAME of a home and a new one are missing", false, false, home_rename},
        {"remove", 1, 1, "the NAME of a home is missing", false, false, home_remove},
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
        if (h.cli->is_forced && !action->takes_force)
                return option_usage_error(i->command, "--force", "this is for commit alone", err);
        r = homes_open(&h);
        return r < 0 ? r : action->run(&h, i->words + 1);
}

COMMAND_MAIN(home, &(struct home_cli){0}, .is_mixed = true, .run = run_home);
