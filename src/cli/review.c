/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `nsrun review`: what is kept aside of commands' writing, shown, taken over by a person, or discarded. */
#include <limits.h>
#include <sys/stat.h>

#include "base/causes.h"
#include "base/file.h"
#include "base/path.h"
#include "base/responds.h"
#include "carry/agent_rest.h"
#include "carry/git_config.h"
#include "carry/killed.h"
#include "confirm.h"
#include "disk/remove_tree.h"
#include "host/gitorders.h"
#include "host/project.h"
#include "option.h"
#include "owner.h"
#include "ps_row.h"
#include "session_ps.h"

enum {
        DIFFS_MOST = 256, /* of one entry */
};

struct review_options {
        bool is_json, is_all;
        const char *project, *accepted, *discarded;
        char *const *keys; /* of `accepted`, git's; NULL: all of it */
};

OPTION_FLAG(apply_review_json, struct review_options, is_json);
OPTION_FLAG(apply_review_all, struct review_options, is_all);
OPTION_TEXT(apply_review_project, struct review_options, project);
OPTION_TEXT(apply_review_accept, struct review_options, accepted);
OPTION_TEXT(apply_review_discard, struct review_options, discarded);

const struct option_spec review_options[] = {
        {"project", 0, "DIR", OPTION_COMPLETES_FOLDER, "What is shown",
         "of this project, not of the current folder's", apply_review_project},
        {"all", 0, NULL, OPTION_COMPLETES_NOTHING, "What is shown", "of all projects", apply_review_all},
        {"json", 0, NULL, OPTION_COMPLETES_NOTHING, "What is shown", "print JSON", apply_review_json},
        {"accept", 0, "N|PATH", OPTION_COMPLETES_NOTHING, "What is done",
         "put number N, of git's configuration KEY alone, or an agent's PATH, on the host, when that is answered with yes at the terminal",
         apply_review_accept},
        {"discard", 0, "N|PATH", OPTION_COMPLETES_NOTHING, "What is done",
         "remove number N, or an agent's PATH", apply_review_discard},
};
const size_t n_review_options = ARRAY_SIZE(review_options);

/* One review; its document is open with --json. */
struct reviewing {
        struct json_document d;
        struct json_value *rows;
        size_t n;
        char *uncompared;  /* one that wasn't shown, in the store */
        char *const *keys; /* review_options' */
};

/* What the host's git would do at a key's word. */
static bool is_executed(const struct git_change *change) {
        bool is = false;

        for (size_t i = 0; i < change->n; i++)
                is |= gitorders_names_program(
                        &(struct gitconfig_entry){change->key, change->values[i].value});
        return is;
}

static void print_changes(const struct git_review *r) {
        for (size_t i = 0; i < r->n; i++) {
                const struct git_change *change = &r->changes[i];

                for (size_t j = 0; j < r->host.n; j++) {
                        const struct git_entry *entry = &r->host.entries[j];

                        if (!streq(entry->key, change->key))
                                continue;
                        print_visible("    - ", entry->key, " = ");
                        print_visible("", entry->value ? entry->value : "", "\n");
                }
                for (size_t j = 0; j < change->n; j++) {
                        print_visible("    + ", change->key, " = ");
                        print_visible("", change->values[j].value ? change->values[j].value : "",
                                      is_executed(change) ? "    (git would execute it)\n" : "\n");
                }
        }
}

static void add_changes(struct json_document *d, struct json_value *o, const struct git_review *r) {
        struct json_value *list = json_add_array(d, o, "changes");

        for (size_t i = 0; i < r->n; i++) {
                struct json_value *c = json_add_object(d, list, NULL), *values;

                json_add_string(d, c, "key", r->changes[i].key);
                values = json_add_array(d, c, "values");
                for (size_t j = 0; j < r->changes[i].n; j++)
                        json_add_string(d, values, NULL, r->changes[i].values[j].value);
                json_add_bool(d, c, "executed", is_executed(&r->changes[i]));
        }
}

/* A folder in the store, and where on the host its files would be. */
struct shown_folder {
        struct reviewing *v;
        struct json_value *files;
        const char *store, *path;
        unsigned *n_diffs;
};

static int show_entry(const struct shown_folder *f, int folder, const char *name, const char *path);

static int show_one_of(void *data, int folder, const struct dirent *entry) {
        const struct shown_folder *f = data;
        _cleanup_free_ char *path = path_join(f->path, entry->d_name);

        return path ? show_entry(f, folder, entry->d_name, path) : -ENOMEM;
}

/* git's words, without those that name the files. */
static int print_diff(const char *text, size_t n) {
        bool is_begun = false;

        for (const char *at = text, *end; at < text + n; at = end + 1) {
                end = memchr(at, '\n', (size_t)(text + n - at));
                end = end ? end : text + n;
                is_begun |= *at == '@';
                for (const char *part = at; is_begun && part <= end; part += strlen(part) + 1) {
                        size_t length = strnlen(part, (size_t)(end - part));
                        _cleanup_free_ char *line = strndup(part, length);

                        if (!line)
                                return -ENOMEM;
                        print_visible(part == at ? "      " : "\\x00", line,
                                      part + length == end ? "\n" : "");
                        if (part + length == end)
                                break;
                }
        }
        return 0;
}

static void print_link(const char *before, const char *path) {
        char link[PATH_MAX];
        ssize_t n = readlink(path, link, sizeof(link) - 1);

        link[n < 0 ? 0 : n] = '\0';
        print_visible(before, link, "\n");
}

static int show_file(const struct shown_folder *f, const char *name, const char *path,
                     const struct stat *st) {
        _cleanup_free_ char *after = path_join(f->store, name), *text = NULL;
        struct stat was;
        size_t n = 0;
        bool is_new = lstat(path, &was) < 0, can_run = S_ISREG(st->st_mode) && (st->st_mode & 0100);
        int r = 0;

        if (!after)
                return -ENOMEM;
        if (f->files) {
                struct json_value *o = json_add_object(&f->v->d, f->files, NULL);

                json_add_string(&f->v->d, o, "path", path);
                json_add_bool(&f->v->d, o, "is_new", is_new);
                json_add_bool(&f->v->d, o, "executable", can_run);
                return 0;
        }
        print_visible(is_new ? "    + " : "    ~ ", path, can_run ? "    (a program)\n" : "\n");
        if (!is_new && S_ISLNK(was.st_mode))
                print_link("      replaces a link to ", path);
        if (S_ISLNK(st->st_mode)) {
                print_link("      leads to ", after);
                return 0;
        }
        if ((*f->n_diffs)++ < DIFFS_MOST)
                r = git_diff(!is_new && S_ISREG(was.st_mode) ? path : "/dev/null", after, &text, &n);
        if (r >= 0 && text)
                return print_diff(text, n);
        (void)printf("      (not compared)\n");
        if (!f->v->uncompared)
                f->v->uncompared = TAKE_PTR(after);
        return r == -ENOMEM ? r : 0;
}

static int show_entry(const struct shown_folder *f, int folder, const char *name, const char *path) {
        _cleanup_free_ char *store = path_join(f->store, name);
        struct shown_folder below = *f;
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (!store)
                return -ENOMEM;
        if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        if (!S_ISDIR(st.st_mode))
                return show_file(f, name, path, &st);
        below.store = store;
        below.path = path;
        fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? -errno : folder_read(fd, show_one_of, &below);
}

/* What programs on the host would obey. */
static int show_files(struct reviewing *v, const struct kept *k, int fd, struct json_value *files) {
        _cleanup_free_ char *store = fd_name(fd);
        unsigned n_diffs = 0;
        struct shown_folder f = {.v = v, .files = files, .store = store, .n_diffs = &n_diffs};

        if (!store)
                return -ENOMEM;
        if (!files && !streq(k->reason, REVIEW_OF_HOME))
                (void)printf("    programs on the host would obey it, or execute it\n");
        STRV_FOREACH (name, k->removed) {
                _cleanup_free_ char *path = path_join(k->path, *name);

                if (!path)
                        return -ENOMEM;
                if (files)
                        json_add_string(&v->d, json_add_object(&v->d, files, NULL), "removed", path);
                else
                        print_visible("    - ", path, "\n");
        }
        if (!k->is_moved)
                return show_entry(&f, fd, KEPT_ENTRY, k->path);
        if (!files)
                print_visible("    more than is shown: ", store, "/" KEPT_ENTRY "\n");
        return 0;
}

static int review_one(struct reviewing *v, const char *project, const struct kept *k, int kept,
                      bool is_json) {
        _cleanup_git_review_ struct git_review review = {0};
        _cleanup_close_ int own = kept >= 0 ? -EBADF : kept_open(project, k->number, NULL);
        bool is_config = streq(k->reason, GIT_CONFIG_REASON);
        int fd = kept >= 0 ? kept : own,
            r = fd >= 0 && is_config ? git_review(fd, k->path, v->keys, &review) : fd;

        if (r == -ENOMEM || r == -ENOKEY)
                return r;
        v->n++;
        if (is_json) {
                struct json_value *o = json_add_object(&v->d, v->rows, NULL);

                json_add_number(&v->d, o, "number", k->number);
                json_add_string(&v->d, o, "path", k->path);
                json_add_string(&v->d, o, "reason", k->reason);
                json_add_string(&v->d, o, "command", k->command);
                json_add_string(&v->d, o, "session", *k->run ? k->run : NULL);
                json_add_number(&v->d, o, "time", (uint64_t)k->time);
                add_changes(&v->d, o, &review);
                r = is_config || fd < 0 ? 0 : show_files(v, k, fd, json_add_array(&v->d, o, "files"));
                return r == -ENOMEM ? r : 0;
        }
        (void)printf("%u ", k->number);
        print_visible(" ", k->path, "\n");
        if (*k->command)
                print_visible("    by ", k->command, "\n");
        print_changes(&review);
        r = is_config || fd < 0 ? 0 : show_files(v, k, fd, NULL);
        return r == -ENOMEM || kept >= 0 ? r : 0;
}

/* What agents wrote to their own folders, and is there again in the project's next run alone. */
static int review_agents(struct reviewing *v, const char *project, bool is_json) {
        _cleanup_strv_ char **paths = NULL;
        int r = *project == '/' ? rest_list(project, &paths) : 0;

        if (r < 0)
                return r;
        if (is_json)
                json_add_strings(&v->d, v->d.root, "agents", paths);
        else if (paths)
                (void)printf("of agents, here alone; --accept PATH shows one, and asks:\n");
        v->n += strv_length(paths);
        for (size_t i = 0; paths && paths[i] && !is_json; i++)
                print_visible("    ", paths[i], "\n");
        return 0;
}

static int review_project(struct reviewing *v, const char *project, bool is_json) {
        struct kept *list = NULL;
        size_t n = 0;
        int r = kept_list(project, &list, &n);

        for (size_t i = 0; i < n && r >= 0; i++)
                r = review_one(v, project, &list[i], -EBADF, is_json);
        kept_free(list, n);
        return r;
}

static int review_fail(int r, const char *path, struct nsrun_error *err) {
        return r == -ENOMEM ? error_oom(err)
                            : error_set(err, NSRUN_STAGE_WORKSPACE, r, path,
                                        "what is kept aside can't be read", NULL);
}

static int print_review(const struct review_options *o, const char *project, struct nsrun_error *err) {
        struct reviewing v = {0};
        _cleanup_strv_ char **projects = NULL;
        int r;

        if (o->is_json) {
                v.d = json_begin();
                json_add_number(&v.d, v.d.root, "version", 1);
                v.rows = json_add_array(&v.d, v.d.root, "kept");
        }
        r = o->is_all ? kept_projects(&projects) : strv_add(&projects, project);
        STRV_FOREACH (one, projects)
                if (r >= 0)
                        r = review_project(&v, *one, o->is_json);
        free(v.uncompared);
        if (r >= 0 && !o->is_all)
                r = review_agents(&v, project, o->is_json);
        if (r < 0)
                r = review_fail(r, project, err);
        else if (o->is_json)
                r = option_print_json(&v.d, true, err);
        else if (v.n == 0)
                (void)puts("nothing is kept aside");
        json_close(&v.d);
        return r;
}

int review_print_of(const char *project, bool is_json, struct nsrun_error *err) {
        return print_review(&(struct review_options){.is_json = is_json}, project, err);
}

static void tell_dropped(nsrun_unused void *data, const struct kept *k) {
        _cleanup_free_ char *visible = str_visible(k->path);

        (void)fprintf(stderr, "nsrun: note: what was kept aside of it for %d days is dropped: %s\n",
                      KEPT_DAYS, visible ? visible : "?");
}

/* What comes to be while a command runs in a project is taken for the command's, and kept aside again.  Of
 * one that can't be asked counts whether it stands in this project: all that others run may stand above. */
static int refuse_while_running(const char *project, const struct kept *k, struct nsrun_error *err) {
        _cleanup_(known_sessions_free) struct known_sessions known = {0};
        struct sandbox_process *list = NULL;
        size_t n = 0;
        int r = known_sessions_read(&known, err);

        if (r >= 0)
                r = sandboxes_list(&list, &n, err);
        for (size_t i = 0; i < n && r >= 0; i++) {
                _cleanup_(ps_row_clear) struct ps_row row = {.process = &list[i]};

                r = ps_row_fill(&row, &known);
                if (r < 0)
                        r = error_oom(err);
                else if (row.project && (row.is_guessed ? path_is_beneath(row.project, project)
                                                        : path_is_beneath(k->path, row.project)))
                        r = error_setf(err, NSRUN_STAGE_USAGE, UNSAID(-EBUSY), k->path,
                                       "wait for its end, or end it: 'nsrun ps' and 'nsrun stop' know it",
                                       "sandbox %s, which runs there, would take it away again", row.id);
        }
        sandboxes_free(list, n);
        return r;
}

/* Nothing runs there: what a killed run has left for the folder isn't the user's. */
static int accept_entry(int fd, const struct kept *k, mode_t mode) {
        return killed_remove_placeholder(NULL, k->path) == -ENOMEM ? -ENOMEM : kept_give(fd, k, mode);
}

static int review_accept(const char *project, const struct kept *k, int fd, char *const *keys,
                         struct nsrun_error *err) {
        bool is_config = streq(k->reason, GIT_CONFIG_REASON), is_whole;
        struct reviewing v = {.keys = keys};
        _cleanup_rundir_ struct rundir drafts = RUNDIR_INIT;
        mode_t mask = umask(0);
        int r = refuse_while_running(project, k, err);

        (void)umask(mask);
        if (r < 0)
                return r;
        if (k->is_moved)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EFBIG), k->path,
                                 "this is too large for a look at all of it",
                                 "move it by hand from where 'nsrun review' says it is");
        r = keys && !is_config ? -ENOKEY : review_one(&v, project, k, fd, false);
        if (r == -ENOKEY)
                r = error_set(err, NSRUN_STAGE_USAGE, UNSAID(r), k->path,
                              "no change of a key that was named is kept aside of it",
                              "'nsrun review' shows those that are");
        else if (r >= 0 && v.uncompared)
                r = error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EFBIG), v.uncompared,
                              "what can't be shown isn't put on the host",
                              "look at it there, and copy it by hand");
        else if (r < 0)
                r = review_fail(r, k->path, err);
        free(v.uncompared);
        if (r < 0)
                return r;
        (void)fflush(stdout);
        r = confirm_on_terminal("Put this on the host? [y/N] ");
        if (r < 0)
                return error_set(
                        err, NSRUN_STAGE_USAGE, UNSAID(r), NULL,
                        "nobody can be asked: a person takes over what is kept aside, at a terminal", NULL);
        if (r == 0)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-ECANCELED), k->path, "nothing was changed",
                                 NULL);
        r = rundir_make(&drafts, err);
        if (r < 0)
                return r;
        drafts.is_shown = true;
        is_whole = !is_config;
        r = is_config ? git_review_accept(drafts.path, fd, k->path, keys, &is_whole)
                      : accept_entry(fd, k, 0777 & ~mask);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_WORKSPACE, r, k->path, "the host's file can't be changed",
                                 "look at it, and try again");
        LOG_BY_HAND("accepted", "path", k->path, "project", project);
        return is_whole && kept_drop(project, k->number, fd) < 0 ? review_fail(-EIO, k->path, err) : 0;
}

#define NO_AGENTS "no agent wrote this here"
#define LISTED    "'nsrun review' lists what is kept aside"

/* Keeps aside a copy, which can't change any more, and asks about that. */
int review_accept_from(const char *project, const char *path, const char *reason, int folder,
                       const char *name, struct nsrun_error *err) {
        const struct kept about = {.path = (char *)(uintptr_t)path,
                                   .reason = (char *)(uintptr_t)reason,
                                   .command = "",
                                   .run = "",
                                   .is_whole = true};
        _cleanup_close_ int fd = -EBADF;
        struct kept k = {0};
        unsigned number = 0;
        int r = folder < 0 ? folder : kept_put(project, &about, folder, name, &number);

        if (r == -ENOENT)
                return r;
        if (r < 0)
                return error_set(err, NSRUN_STAGE_USAGE, r, path, "not all of this can be shown",
                                 "name what is in it");
        r = fd = kept_open(project, number, &k);
        r = r < 0 ? review_fail(r, path, err) : review_accept(project, &k, fd, NULL, err);
        /* What can't be shown is looked at in the store. */
        if (r < 0 && r != -EFBIG)
                (void)kept_drop(project, number, fd);
        kept_clear(&k);
        return r;
}

static int review_accept_agents(const char *project, const char *path, struct nsrun_error *err) {
        const char *name = NULL;
        _cleanup_close_ int folder = rest_open(project, path, &name);
        int r = review_accept_from(project, path, "agent", folder, name, err);

        return r == -ENOENT && !err->stage
                       ? error_set(err, NSRUN_STAGE_USAGE, UNSAID(r), path, NO_AGENTS, LISTED)
                       : r;
}

static int review_discard_agents(const char *project, const char *path, struct nsrun_error *err) {
        const char *name = NULL;
        _cleanup_close_ int folder = rest_open(project, path, &name);
        int r = folder < 0                                               ? folder
                : faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 ? -errno
                                                                         : remove_tree(folder, name);

        if (r >= 0)
                LOG_BY_HAND("discarded", "path", path, "project", project);
        return r == -ENOENT ? error_set(err, NSRUN_STAGE_USAGE, UNSAID(r), path, NO_AGENTS, LISTED)
               : r < 0      ? review_fail(r, path, err)
                            : 0;
}

static int review_do(const struct review_options *o, const char *project, struct nsrun_error *err) {
        const char *word = o->accepted ? o->accepted : o->discarded;
        _cleanup_close_ int fd = -EBADF;
        struct kept k = {0};
        uint64_t n = 0;
        int r = str_parse_number(word, false, &n);

        if (*word == '/')
                return o->accepted ? review_accept_agents(project, word, err)
                                   : review_discard_agents(project, word, err);
        r = fd = r < 0 || n > INT32_MAX ? -ENOENT : kept_open(project, (unsigned)n, &k);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-ENOENT), word,
                                 "nothing of this number is kept aside", LISTED);
        r = o->accepted                            ? review_accept(project, &k, fd, o->keys, err)
            : kept_drop(project, k.number, fd) < 0 ? review_fail(-EIO, k.path, err)
                                                   : 0;
        if (r >= 0 && o->discarded)
                LOG_BY_HAND("discarded", "path", k.path, "project", project);
        kept_clear(&k);
        return r;
}

static int refuse_silent_own(struct nsrun_error *err) {
        int (*const find[])(char **ret, struct nsrun_error *err) = {rundir_find_base, exposed_find_base};
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(find) && r >= 0; i++) {
                _cleanup_free_ char *own = NULL;

                if (find[i](&own, NULL) >= 0)
                        r = responds_in_time(AT_FDCWD, own, NULL, err);
        }
        return r;
}

static int review(struct invocation *i, struct nsrun_error *err) {
        struct review_options *o = i->options;
        _cleanup_free_ char *start = NULL, *project = NULL, *home = NULL;
        int r = o->accepted && *o->accepted != '/' ? 0
                                                   : command_refuse_words(i, "no argument is expected", err);

        o->keys = *i->words ? i->words : NULL;
        if (r >= 0 && o->accepted && o->discarded)
                return option_usage_error(i->command, "--discard", "it doesn't go with --accept", err);
        if (r >= 0)
                r = owner_become(o->project, false, err);
        if (r >= 0)
                r = refuse_silent_own(err);
        if (r < 0)
                return r;
        r = path_canonical(o->project ? o->project : ".", &start, NULL);
        if (r < 0)
                return error_looked_at(err, NSRUN_STAGE_USAGE, r, o->project ? o->project : ".",
                                       "there is no such folder", NULL);
        if (getenv("HOME"))
                (void)path_canonical(getenv("HOME"), &home, NULL);
        r = o->project ? ((project = strdup(start)) ? 0 : -ENOMEM) : project_find(start, home, &project);
        if (r < 0)
                return error_oom(err);
        (void)kept_drop_old(project, tell_dropped, NULL);
        return o->accepted || o->discarded ? review_do(o, project, err) : print_review(o, project, err);
}

COMMAND_MAIN(review, &(struct review_options){0}, .run = review);
