/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "protected_aside.h"

#include <fnmatch.h>

#include "aside.h"
#include "base/array.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/path.h"
#include "disk/remove_tree.h"
#include "kept/kept_copy.h"
#include "placeholder.h"
#include "protect/protect_names.h"

#define SHOWN_MOST 4 /* of a name, in a run */

static int say_of_path(const struct look *l, const char *path, const char *what, const char *hint) {
        struct nsrun_error note = {0};

        (void)error_set(&note, NSRUN_STAGE_SUPERVISE, 0, path, what, hint);
        return l->found(l->data, &note);
}

int look_say(const struct look *l, const char *name, const char *what, const char *hint) {
        _cleanup_free_ char *path = str_concat(l->folder->path, "/", name);

        return path ? say_of_path(l, path, what, hint) : -ENOMEM;
}

/* Whether a glob names NAME.aside-N in the folder, too. */
static bool is_named_aside(const struct look *l, const char *path) {
        const char *name = path_below(path, l->folder->path);

        STRV_FOREACH (glob, l->folder->globs)
                if (name && fnmatch(*glob, name, FNM_PATHNAME) == 0)
                        return true;
        return false;
}

/* The wildcard by which a name is protected: an option leaves that open, and not one name that it stands
 * for. NULL: the name stands for itself. */
static const char *wildcard_of(const struct look *l, const char *name) {
        STRV_FOREACH (glob, l->folder->globs)
                if (strpbrk(*glob, "*?[") && !strchr(*glob, '\\') &&
                    fnmatch(*glob, name, FNM_PATHNAME) == 0 && !strv_contains(l->folder->globs, name))
                        return *glob;
        return NULL;
}

/* "--no-protect NAME lets it stay"; none where the name is a pattern, which would let others stay. */
static int hint_of_name(const struct look *l, const char *name, char **ret) {
        const struct protected_names *all = l->all;
        const char *below = all->project ? path_below(l->folder->path, all->project) : NULL;
        _cleanup_free_ char *named = NULL, *quoted = NULL;
        const char *wildcard = NULL;

        if (all->git_dir && streq(l->folder->path, all->git_dir))
                below = ".git";
        wildcard = wildcard_of(l, name);
        named = below && *below ? str_concat(below, "/", wildcard ? wildcard : name)
                                : strdup(wildcard ? wildcard : name);
        quoted = named ? str_shell_quote(named) : NULL;
        if (!quoted)
                return -ENOMEM;
        /* The user's own wildcard isn't to be left open. */
        if ((wildcard ? protect_covers(wildcard) && !(below && str_is_pattern(below))
                      : !str_is_pattern(named)) &&
            asprintf(ret, "--no-protect %s lets it stay", quoted) < 0) {
                *ret = NULL;
                return -ENOMEM;
        }
        return 0;
}

int open_folder_of(const struct look *l, const char *name, char **ret_path) {
        const char *base = path_basename(name);
        _cleanup_free_ char *folder = strndup(name, base > name ? (size_t)(base - name - 1) : 0);
        int fd = folder ? beneath_open(l->folder->fd, folder, O_PATH | O_DIRECTORY, 0) : -ENOMEM;

        *ret_path = TAKE_PTR(folder);
        return fd;
}

/* Whoever made it: who did so on the host has it back by one command. */
static int say_kept(const struct look *l, const char *path, unsigned number, const char *hint) {
        _cleanup_free_ char *review = kept_by_review(l->all->kept_by->project);
        struct nsrun_error note = {0};

        if (!review)
                return -ENOMEM;
        (void)error_setf(&note, NSRUN_STAGE_SUPERVISE, 0, path, hint,
                         "a protected name that came to be is kept aside (%s --accept %u puts it back)",
                         review, number);
        return l->found(l->data, &note);
}

/* Removes a placeholder of this run's, or of none that lives. */
static bool end_placeholder(const struct look *l, int parent, const char *base) {
        _cleanup_free_ char *rundir = killed_rundir(l->all->killed);

        return killed_end_placeholder(rundir, parent, base);
}

/* What has been renamed is kept, or lies where it was; `stays`: a session's commands go on with it, and its
 * end keeps what it is then (killed_keep()). */
static int keep_aside(const struct look *l, const char *name, const char *aside, bool is_away, bool was_link,
                      bool stays) {
        _cleanup_free_ char *folder = NULL, *path = str_concat(l->folder->path, "/", name), *place = NULL,
                            *hint = NULL;
        _cleanup_close_ int parent = open_folder_of(l, name, &folder);
        struct kept_by *kept_by = l->all->kept_by;
        int from = is_away ? l->all->killed->away : parent, r = from;
        bool is_too_much = r >= 0 && kept_by->n >= KEPT_MOST_NEW, is_copy = false;

        if (!path || !folder || (!was_link && hint_of_name(l, name, &hint) < 0))
                return -ENOMEM;
        if (parent >= 0 && !kept_by->session)
                (void)end_placeholder(l, parent, path_basename(name));
        for (unsigned i = 0; i < 2 && !is_too_much && (i == 0 ? r >= 0 : r == -EACCES); i++) {
                /* The command has closed the folder since: it is opened, and stays so. */
                r = i > 0 ? folder_open_to_owner(from) : 0;
                r = r < 0 ? r
                          : kept_by_put(kept_by,
                                        &(struct kept){.path = path,
                                                       .reason = (char *)(uintptr_t)KEPT_PROTECTED,
                                                       .is_whole = true},
                                        from, aside);
                is_copy = r == 1;
                r = r < 0 || stays ? r : remove_tree(from, aside);
        }
        if (r == -ENOMEM || (r >= 0 && is_copy))
                return r;
        if (is_away && (is_too_much || r < 0))
                (void)killed_put_back(from, aside, l->folder->fd, l->folder->path, name, &place);
        else
                place = str_format("%s/%s%s%s", l->folder->path, folder, *folder ? "/" : "", aside);
        if (!place)
                return -ENOMEM;
        if (is_too_much && (!is_away || path_is_beneath(place, l->folder->path))) {
                l->all->n_others++;
                return 0;
        }
        /* Nothing kept the command from it; who made it on the host has lost it. */
        if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP)
                return look_say(l, name,
                                "a protected name that came to be was taken away again by the command",
                                NULL);
        if (r >= 0 && !is_too_much)
                return was_link
                               ? look_say(
                                         l, name,
                                         "a protected symlink is put back; what the command made of it is kept "
                                         "aside",
                                         hint)
                               : say_kept(l, path, kept_by->last, hint);
        return say_of_path(
                l, place,
                is_named_aside(l, place)
                        ? "a protected name that came to be can't be kept aside, and programs on the "
                          "host may obey what it is called now"
                        : "a protected name that came to be can't be kept aside, and is renamed",
                "look at it: if it is yours, give it its name again, else remove it");
}

static int note_aside(const struct look *l, const char *name, char *aside, bool is_away, bool was_link,
                      bool is_shown, bool is_copy) {
        struct protected_names *names = l->all;
        struct protected_aside a = {.folder = (size_t)(l->folder - names->folders),
                                    .name = strdup(name),
                                    .aside = aside,
                                    .is_away = is_away,
                                    .was_link = was_link,
                                    .is_shown = is_shown,
                                    .is_copy = is_copy};

        if (!a.name || !aside || ARRAY_GROW(names->asides, names->n_asides) < 0) {
                free(a.name);
                free(a.aside);
                return -ENOMEM;
        }
        names->asides[names->n_asides++] = a;
        return 0;
}

/* Of a name that comes to be again and again the first is kept, which may be what the user has saved on the
 * host, and the last, with which the command was done: what came before the last one goes. */
static void drop_last_but_one(const struct look *l, const char *name, bool is_away) {
        struct protected_names *names = l->all;
        _cleanup_free_ char *folder = NULL;
        _cleanup_close_ int parent = is_away ? -EBADF : open_folder_of(l, name, &folder);
        size_t last = SIZE_MAX, before = SIZE_MAX, n = 0;
        struct protected_aside *a;

        for (size_t i = 0; i < names->n_asides; i++) {
                a = &names->asides[i];
                if (a->folder != (size_t)(l->folder - names->folders) || a->is_away != is_away ||
                    a->is_shown || a->is_copy || !streq(a->name, name))
                        continue;
                before = last;
                last = i;
                n++;
        }
        if (n < 3)
                return;
        a = &names->asides[before];
        if (remove_tree(is_away ? names->killed->away : parent, a->aside) < 0)
                return;
        free(a->name);
        free(a->aside);
        memmove(a, a + 1, (--names->n_asides - before) * sizeof(*a));
        names->n_repeated += is_away || !names->killed;
}

bool look_end_placeholder(const struct look *l, const char *name) {
        _cleanup_free_ char *folder = NULL;
        _cleanup_close_ int parent = open_folder_of(l, name, &folder);

        return parent >= 0 &&
               (l->all->kept_by->session ? protect_is_placeholder(parent, path_basename(name), NULL)
                                         : end_placeholder(l, parent, path_basename(name)));
}

/* How often the command went on with what was taken from the name. */
static unsigned count_shown(const struct look *l, const char *name) {
        unsigned n = 0;

        for (size_t i = 0; i < l->all->n_asides; i++) {
                const struct protected_aside *a = &l->all->asides[i];

                n += a->is_shown && streq(a->name, name) &&
                     a->folder == (size_t)(l->folder - l->all->folders);
        }
        return n;
}

/* While the command runs a folder goes on working inside, unless sandboxes take it from each other. */
static int take_aside(const struct look *l, int parent, const char *name, const char *path,
                      const struct protected_name *was, char **ret_away) {
        struct protected_names *names = l->all;
        const char *base = path_basename(name);
        int r;

        if (killed_is_anothers(names->killed, parent, base))
                return placeholder_take_contents(names->killed, parent, base, path, ret_away);
        r = !l->is_early || was || !names->has_inside || count_shown(l, name) >= SHOWN_MOST
                    ? -ENOTDIR
                    : placeholder_take(names->killed, &names->inside, parent, base, path, ret_away);

        return r >= 0 || r == -ENOENT ? r : killed_take(names->killed, parent, base, path, ret_away);
}

/* Whether the project's own is what was there at the start: the command may make that, too. */
static bool is_the_projects(const struct look *l, const char *name) {
        const struct protected_name *was = protected_find_name(l->folder, name);
        struct stat st;

        return was && !was->is_gone && fstatat(l->folder->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
               st.st_ino == was->st.st_ino && st.st_dev == was->st.st_dev;
}

bool look_is_checked_out(const struct look *l, const char *name) {
        STRV_FOREACH (glob, l->folder->globs) {
                const char *star = strstr(*glob, "/*/"), *own = star ? star + strlen("/*/") : NULL;

                if (own && fnmatch(*glob, name, FNM_PATHNAME) == 0 && strv_contains(l->folder->globs, own) &&
                    is_the_projects(l, own) && kept_is_within_plain(l->folder->fd, name, l->folder->fd, own))
                        return true;
        }
        return false;
}

int look_put_aside(const struct look *l, const char *name, const struct protected_name *was) {
        _cleanup_free_ char *aside = NULL, *away = NULL, *copy = NULL, *folder = NULL,
                            *path = str_concat(l->folder->path, "/", name);
        _cleanup_close_ int parent = open_folder_of(l, name, &folder);
        const char *base = path_basename(name);
        bool is_too_much = l->all->n_asides >= KEPT_MOST_NEW, is_shown, is_copied;
        struct killed *killed;
        int r = parent < 0 || path ? parent : -ENOMEM;

        if (r >= 0 && !l->all->killed && l->all->make_killed &&
            (l->is_early || killed_is_anothers(NULL, parent, base)))
                l->all->make_killed(l->all->data);
        killed = l->all->killed;
        if (r >= 0)
                r = killed && !is_too_much ? take_aside(l, parent, name, path, was, &away) : -EXDEV;
        is_shown = r > 0;
        is_copied = r == 2;
        /* Globs like [!.]* leave names with a dot out. */
        if (r < 0 && r != -ENOENT && parent >= 0)
                r = aside_move(parent, base, parent, *base == '.' ? "" : ".", &aside);
        if (r == -ENOENT)
                return 0;
        if (r == -ENOMEM || (r < 0 && l->is_early))
                return r == -ENOMEM ? r : 0;
        if (r < 0)
                return look_say(l, name,
                                "a protected name that came to be can't be moved away, and programs on the "
                                "host obey it",
                                NULL);
        /* While the command runs it may have made the next one: that comes to be, too. */
        if (was && symlinkat(was->link, parent, base) < 0 && !l->is_early)
                return look_say(l, name, "a protected symlink that the command replaced can't be put back",
                                NULL);
        if (!l->is_early)
                return keep_aside(l, name, away ? away : aside, away, was, false);
        if (is_too_much) {
                l->all->n_others++;
                return 0;
        }
        if (killed && !away) {
                killed_add(killed, aside, path);
                if (l->all->n_asides + 1 < KEPT_MOST_NEW)
                        (void)killed_copy(killed, parent, aside, path, &away);
        }
        r = aside ? note_aside(l, name, TAKE_PTR(aside), false, was, false, false) : 0;
        copy = is_copied ? str_concat(away, KEPT_BY_COPY, "") : NULL;
        if (r >= 0 && away)
                r = note_aside(l, name, TAKE_PTR(away), true, was, is_shown, false);
        /* Behind that, which may have all of it. */
        if (r >= 0 && is_copied)
                r = note_aside(l, name, TAKE_PTR(copy), true, false, false, true);
        for (unsigned i = 0; i < 2 && r >= 0; i++)
                drop_last_but_one(l, name, i > 0);
        return r;
}

static int tell_nobody(nsrun_unused void *data, nsrun_unused const struct nsrun_error *note) {
        return 0;
}

/* By another one than a copy. */
static bool is_told_later(const struct protected_names *names, size_t i) {
        const struct protected_aside *a = &names->asides[i];

        for (size_t j = i + 1; j < names->n_asides; j++)
                if (names->asides[j].folder == a->folder && streq(names->asides[j].name, a->name) &&
                    !names->asides[j].is_copy)
                        return true;
        return false;
}

/* Whether the command has emptied what it went on with, of which a copy is kept: then that is all. */
static bool is_empty_beside_copy(const struct protected_names *names, size_t i) {
        const struct protected_aside *a = &names->asides[i];
        const struct look look = {.folder = &names->folders[a->folder],
                                  .all = (struct protected_names *)(uintptr_t)names};
        _cleanup_free_ char *folder = NULL;
        _cleanup_close_ int parent = -EBADF;

        if (!a->is_shown || i + 1 == names->n_asides || !names->asides[i + 1].is_copy ||
            !streq(names->asides[i + 1].name, a->name) ||
            unlinkat(names->killed->away, a->aside, AT_REMOVEDIR) < 0)
                return false;
        parent = open_folder_of(&look, a->name, &folder);
        if (parent >= 0)
                (void)end_placeholder(&look, parent, path_basename(a->name));
        return true;
}

int asides_end(struct protected_names *names, int (*found)(void *data, const struct nsrun_error *note),
               void *data) {
        int r = 0;

        STRV_FOREACH (link, names->links) {
                struct nsrun_error note = {0};

                (void)error_set(&note, NSRUN_STAGE_SUPERVISE, 0, *link,
                                "a symlink that the command left in a git dir is removed", NULL);
                r = r < 0 ? r : found(data, &note);
        }
        for (size_t i = 0; i < names->n_asides && r >= 0; i++) {
                const struct protected_aside *a = &names->asides[i];
                const struct look look = {.folder = &names->folders[a->folder],
                                          .all = names,
                                          .found = is_told_later(names, i) ? tell_nobody : found,
                                          .data = data};

                bool stays = names->kept_by->session && a->is_shown;

                if (stays || !is_empty_beside_copy(names, i))
                        r = keep_aside(&look, a->name, a->aside, a->is_away, a->was_link, stays);
        }
        return r;
}

int asides_tell_others(const struct protected_names *names,
                       int (*found)(void *data, const struct nsrun_error *note), void *data) {
        struct nsrun_error note = {0};
        int r = 0;

        if (names->n_repeated > 0) {
                (void)error_setf(&note, NSRUN_STAGE_SUPERVISE, 0, NULL, NULL,
                                 "%zu more of protected names that came to be again and again are gone: of "
                                 "each the first and the last are kept aside",
                                 names->n_repeated);
                r = found(data, &note);
        }
        if (names->n_others == 0 || r < 0)
                return r;
        note = (struct nsrun_error){0};
        (void)error_setf(
                &note, NSRUN_STAGE_SUPERVISE, 0, NULL, NULL,
                "%zu more protected names that the command made are renamed: more than is kept aside",
                names->n_others);
        return found(data, &note);
}
