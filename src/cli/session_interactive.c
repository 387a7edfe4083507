/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See session_interactive.h.  What is there to choose is read from the diff's JSON.  Each item is then
 * looked at alone: the lines that are shown and the digest that is committed are of one look, so that
 * whatever commands do meanwhile, and whatever names they make up, nothing goes to the host that wasn't
 * shown. */
#include "session_interactive.h"

#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"
#include "base/stream.h"
#include "base/sys.h"
#include "confirm.h"
#include "option.h"
#include "session/leave_out.h"

#define LISTING_MOST ((size_t)256 * 1024 * 1024)
/* How often a patch is printed where commands go on changing what it is of. */
#define PATCH_TRIES 3

/* What is asked about, and committed, at once. */
struct item {
        char **paths;        /* absolute; NULL: another item has taken them */
        const char *overlay; /* the path of the overlay that it is in */
        char *digest;        /* of what was shown; NULL: nothing was */
        bool is_chosen;
};

/* A file that was renamed: both of its names must go to the host at once. */
struct renamed {
        char *from, *path;
};

struct interactive {
        const char *id;
        struct nsrun_session_choice choice; /* the caller's */
        int tty;
        FILE *shown; /* the terminal, on which no name can draw */
        char **overlays;
        struct item *items;
        size_t n_items;
        struct renamed *renamed;
        size_t n_renamed;
        size_t n_ignored;
        struct nsrun_error failure; /* of an item, to be told yet */
        int failed;                 /* its errno, or 0 */
};

void interactive_free(struct interactive *in) {
        if (!in)
                return;
        for (size_t i = 0; i < in->n_items; i++) {
                strv_free(in->items[i].paths);
                free(in->items[i].digest);
        }
        for (size_t i = 0; i < in->n_renamed; i++) {
                free(in->renamed[i].from);
                free(in->renamed[i].path);
        }
        free(in->items);
        free(in->renamed);
        strv_free(in->overlays);
        if (in->shown)
                (void)fclose(in->shown);
        close_fdp(&in->tty);
        free(in);
}

/* Keeps one failure for the caller, and prints the others.  Where all of them are that something has changed
 * since it was shown, so is the kept one, which makes the status. */
static void keep_failure(struct interactive *in, const char *path, int r, struct nsrun_error *err) {
        if (!*err->path && path)
                (void)snprintf(err->path, sizeof(err->path), "%s", path);
        if (in->failed < 0 && r == -ECANCELED && in->failed != -ECANCELED) {
                (void)option_fail(err);
                return;
        }
        if (in->failed < 0)
                (void)option_fail(&in->failure);
        in->failure = *err;
        in->failed = r;
}

/* ------------------------------------------------------------ what there is */

/* Takes the quotes off that git puts around a name. */
static char *unquote(const char *quoted) {
        static const char letters[] = "a\ab\bt\tn\nv\vf\fr\r\"\"\\\\";
        char *text = strdup(quoted), *to = text;

        if (!text)
                return NULL;
        for (const char *s = quoted + 1; *s && !(*s == '"' && !s[1]); s++) {
                const char *letter = NULL;

                if (*s != '\\') {
                        *to++ = *s;
                        continue;
                }
                s++;
                for (const char *l = letters; *l && !letter; l += 2)
                        letter = *l == *s ? l + 1 : NULL;
                if (letter) {
                        *to++ = *letter;
                } else {
                        *to++ = (char)((s[0] - '0') * 64 + (s[1] - '0') * 8 + (s[2] - '0'));
                        s += 2;
                }
        }
        *to = '\0';
        return text;
}

/* The absolute path of a change, or NULL; JSON can't have all names as they are. */
static char *absolute(const char *overlay, const struct json_value *change, const char *key,
                      const char *key_quoted) {
        const char *text = json_text(json_get(change, key)),
                   *quoted = json_text(json_get(change, key_quoted));
        _cleanup_free_ char *name = quoted ? unquote(quoted) : text ? strdup(text) : NULL;

        if (!name)
                return NULL;
        return path_join(overlay, *name ? name : ".");
}

static int read_json(const struct interactive *in, const struct nsrun_session_choice *choice,
                     struct json_document *d, struct nsrun_error *err) {
        _cleanup_close_ int fd = sys_memfd("changes");
        _cleanup_free_ char *text = NULL;
        const char *why = NULL;
        size_t line = 0;
        int r = fd < 0 ? fd : 0;

        if (r < 0)
                return error_set(err, NSRUN_STAGE_USAGE, r, NULL, "the changes can't be read", NULL);
        r = nsrun_session_diff_choice(in->id, NSRUN_DIFF_JSON, choice, fd, NULL, err);
        if (r < 0)
                return r;
        r = lseek(fd, 0, SEEK_SET) < 0 ? -errno : read_small_fd(fd, LISTING_MOST, &text);
        if (r >= 0)
                r = json_parse(d, text, strlen(text), &line, &why);
        return r < 0 ? error_set(err, NSRUN_STAGE_USAGE, r, NULL, "the changes can't be read", NULL) : 0;
}

static int add_item(struct interactive *in, const char *overlay, const char *path) {
        struct item *item;

        if (ARRAY_GROW(in->items, in->n_items) < 0)
                return -ENOMEM;
        item = &in->items[in->n_items++];
        *item = (struct item){.overlay = overlay};
        return strv_add(&item->paths, path);
}

/* Takes a path and where it was renamed from, which may be NULL. */
static int add_renamed(struct interactive *in, char *path, char *from) {
        if (!from || ARRAY_GROW(in->renamed, in->n_renamed) < 0) {
                const int r = from ? -ENOMEM : 0;

                free(path);
                free(from);
                return r;
        }
        in->renamed[in->n_renamed++] = (struct renamed){.from = from, .path = path};
        return 0;
}

/* The words that a commit has for it. */
static void tell_left_out(const char *path) {
        _cleanup_free_ char *visible = str_visible(path);

        (void)fprintf(stderr, "nsrun: note: %s: left out, git would do what it says; name it to commit it\n",
                      visible ? visible : "");
}

/* A folder that is changed itself comes before what lies in it, and is one item with that. */
static int add_change(struct interactive *in, const char *overlay, const struct json_value *change) {
        const struct item *last = in->n_items > 0 ? &in->items[in->n_items - 1] : NULL;
        _cleanup_free_ char *path = absolute(overlay, change, "path", "path_quoted"), *from = NULL;
        int r = 0;

        if (!path)
                return -ENOMEM;
        if (json_get(change, "from") && !(from = absolute(overlay, change, "from", "from_quoted")))
                return -ENOMEM;
        if (!last || last->overlay != overlay || !path_is_beneath(path, last->paths[0])) {
                if (json_is_true(json_get(change, "left_out"))) {
                        const char *below = path_below(path, overlay);

                        tell_left_out(below ? below : path);
                        return 0;
                }
                r = add_item(in, overlay, path);
        }
        return r < 0 ? r : add_renamed(in, TAKE_PTR(path), TAKE_PTR(from));
}

static int add_overlay_items(struct interactive *in, const struct json_value *overlay) {
        const struct json_value *changes = json_get(overlay, "changes");
        const char *path = json_text(json_get(overlay, "path"));
        uint64_t n_ignored = 0;
        int r = path ? strv_add(&in->overlays, path) : -EINVAL;

        if (r < 0)
                return r;
        path = in->overlays[strv_length(in->overlays) - 1];
        if (json_number(json_get(overlay, "ignored"), &n_ignored))
                in->n_ignored += n_ignored;
        for (size_t i = 0; i < json_length(changes) && r >= 0; i++)
                r = add_change(in, path, json_at(changes, i));
        return r;
}

/* What two items would do to the host depends on which is committed first: they become one. */
static int merge(struct interactive *in, size_t into, size_t from) {
        struct item *to = &in->items[into], *gone = &in->items[from];

        STRV_FOREACH (path, gone->paths)
                if (strv_add(&to->paths, *path) < 0)
                        return -ENOMEM;
        strv_free(TAKE_PTR(gone->paths));
        return 0;
}

/* The index of the item that a path belongs to; SIZE_MAX: none. */
static size_t item_of(const struct interactive *in, const char *path) {
        for (size_t i = 0; i < in->n_items; i++)
                STRV_FOREACH (root, in->items[i].paths)
                        if (path_is_beneath(path, *root))
                                return i;
        return SIZE_MAX;
}

static int merge_renamed(struct interactive *in) {
        int r = 0;

        for (size_t i = 0; i < in->n_renamed && r >= 0; i++) {
                size_t from = item_of(in, in->renamed[i].from), to = item_of(in, in->renamed[i].path);

                if (from != SIZE_MAX && to != SIZE_MAX && from != to)
                        r = merge(in, from < to ? from : to, from < to ? to : from);
        }
        return r;
}

static int merge_beneath(struct interactive *in, const char *folder) {
        size_t first = SIZE_MAX;
        int r = 0;

        for (size_t i = 0; i < in->n_items && r >= 0; i++) {
                bool is_beneath = false;

                STRV_FOREACH (path, in->items[i].paths)
                        is_beneath |= path_is_beneath(*path, folder);
                if (!is_beneath)
                        continue;
                if (first == SIZE_MAX)
                        first = i;
                else
                        r = merge(in, first, i);
        }
        return r;
}

static bool is_new_folder(const struct json_value *change) {
        const char *before = json_text(json_get(json_get(change, "old"), "type")),
                   *after = json_text(json_get(json_get(change, "new"), "type"));

        return after && streq(after, "folder") && !(before && streq(before, "folder"));
}

/* Items that need the same new folder, which isn't chosen itself ("src/a src/b", where src is new), are one:
 * the first commit makes it, and the second would find another host than was looked at. */
static int merge_in_new_folders(struct interactive *in, struct nsrun_error *err) {
        const struct nsrun_session_choice all = {
                .size = sizeof(all), .paths = (const char *const *)in->overlays, .with_ignored = true};
        _cleanup_json_ struct json_document d = {0};
        const struct json_value *overlays;
        int r = in->n_items > 1 ? read_json(in, &all, &d, err) : 0;

        overlays = r < 0 || in->n_items < 2 ? NULL : json_get(d.root, "overlays");
        for (size_t i = 0; i < json_length(overlays) && r >= 0; i++) {
                const struct json_value *overlay = json_at(overlays, i),
                                        *changes = json_get(overlay, "changes");
                const char *path = json_text(json_get(overlay, "path"));
                _cleanup_free_ char *above = NULL;

                for (size_t k = 0; path && k < json_length(changes) && r >= 0; k++) {
                        _cleanup_free_ char *folder = NULL;

                        if (!is_new_folder(json_at(changes, k)))
                                continue;
                        folder = absolute(path, json_at(changes, k), "path", "path_quoted");
                        if (!folder)
                                return error_oom(err);
                        if (above && path_is_beneath(folder, above))
                                continue;
                        r = merge_beneath(in, folder) < 0 ? error_oom(err) : 0;
                        free(above);
                        above = TAKE_PTR(folder);
                }
        }
        return r;
}

/* A path that chooses nothing is a mistake, as it is of any commit. */
static int check_path(const struct interactive *in, const char *path, struct nsrun_error *err) {
        struct nsrun_session_choice choice = in->choice;
        _cleanup_json_ struct json_document d = {0};
        const struct json_value *overlays;
        uint64_t n = 0;
        int r;

        choice.paths = (const char *const[]){path, NULL};
        r = read_json(in, &choice, &d, err);
        if (r < 0)
                return r;
        overlays = json_get(d.root, "overlays");
        for (size_t i = 0; i < json_length(overlays) && n == 0; i++)
                if (json_length(json_get(json_at(overlays, i), "changes")) > 0 ||
                    !json_number(json_get(json_at(overlays, i), "ignored"), &n))
                        n = 1;
        return n > 0 ? 0
                     : error_set(err, NSRUN_STAGE_USAGE, UNSAID(-ENOENT), path, "nothing has changed there",
                                 "nsrun session diff says what has");
}

static int find_items(struct interactive *in, struct nsrun_error *err) {
        _cleanup_json_ struct json_document d = {0};
        const struct json_value *overlays;
        int r = 0;

        for (const char *const *path = in->choice.paths; path && *path && r >= 0; path++)
                r = check_path(in, *path, err);
        if (r >= 0)
                r = read_json(in, &in->choice, &d, err);
        if (r < 0)
                return r;
        overlays = json_get(d.root, "overlays");
        for (size_t i = 0; i < json_length(overlays) && r >= 0; i++)
                r = add_overlay_items(in, json_at(overlays, i));
        if (r >= 0)
                r = merge_renamed(in);
        if (r < 0)
                return r == -ENOMEM ? error_oom(err)
                                    : error_set(err, NSRUN_STAGE_USAGE, r, NULL, "the changes can't be read",
                                                NULL);
        return merge_in_new_folders(in, err);
}

/* ------------------------------------------------------------------- asking */

static struct nsrun_session_choice choice_of(const struct interactive *in, const struct item *item) {
        struct nsrun_session_choice choice = in->choice;

        choice.paths = (const char *const *)item->paths;
        choice.digest = item->digest;
        return choice;
}

/* The lines of a diff's list, and the digest of the same look; *ret is NULL where it is no change any more.
 */
static int look_at_item(struct interactive *in, const struct item *item, char **ret, char **ret_digest,
                        struct nsrun_error *err) {
        struct nsrun_session_choice choice = choice_of(in, item);
        _cleanup_close_ int fd = sys_memfd("item");
        _cleanup_free_ char *text = NULL, *digest = NULL;
        int r;

        choice.digest = NULL;
        r = fd < 0 ? fd : nsrun_session_diff_choice(in->id, NSRUN_DIFF_LIST, &choice, fd, &digest, err);
        if (r >= 0)
                r = lseek(fd, 0, SEEK_SET) < 0 ? -errno : read_small_fd(fd, LISTING_MOST, &text);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_USAGE, r, NULL, "the changes can't be read", NULL);
        *ret = *text && *text != '#' ? TAKE_PTR(text) : NULL;
        *ret_digest = TAKE_PTR(digest);
        return 0;
}

/* Looks at an item, and shows it.  0 where there is nothing to ask about. */
static int show_item(struct interactive *in, struct item *item) {
        _cleanup_free_ char *lines = NULL, *digest = NULL;
        struct nsrun_error err = {0};
        int r = look_at_item(in, item, &lines, &digest, &err);

        if (r < 0)
                keep_failure(in, item->paths[0], r, &err);
        if (r < 0 || !lines)
                return 0;
        free(item->digest);
        item->digest = TAKE_PTR(digest);
        (void)fputs(lines, in->shown);
        (void)fflush(in->shown);
        return 1;
}

/* Shows an item's patch.  It must be of what was listed, or it is listed anew; and where commands change it
 * all the time it stays as it was listed, and its commit will be refused. */
static void show_patch(struct interactive *in, struct item *item) {
        for (int left = PATCH_TRIES; left > 0; left--) {
                struct nsrun_session_choice choice = choice_of(in, item);
                _cleanup_free_ char *digest = NULL;
                struct nsrun_error err = {0};

                choice.digest = NULL;
                if (nsrun_session_diff_choice(in->id, NSRUN_DIFF_PATCH, &choice, in->tty, &digest, &err) <
                    0) {
                        _cleanup_free_ char *why = nsrun_error_format(&err);

                        (void)fprintf(in->shown, "%s\n", why ? why : "out of memory");
                        return;
                }
                if (streq(digest, item->digest))
                        return;
                (void)fputs("It has changed since it was shown:\n", in->shown);
                if (!show_item(in, item)) {
                        (void)fputs("It is no change any more.\n", in->shown);
                        return;
                }
        }
}

static void show_help(FILE *to) {
        (void)fputs("y - commit this\n"
                    "n - leave it in the session\n"
                    "d - show its patch, and ask again\n"
                    "a - commit this and all that are left\n"
                    "q - ask no more, and commit what was chosen before\n"
                    "? - show this\n",
                    to);
}

/* Returns 'y', 'n', 'a' or 'q'.  Who can't answer any more has answered q. */
static char ask_about(struct interactive *in, struct item *item) {
        for (;;) {
                char answer[CONFIRM_ANSWER_SIZE];

                (void)fflush(in->shown);
                if (confirm_ask(in->tty, "commit this? [y,n,d,a,q,?] ", answer) <= 0) {
                        (void)fputs("\n", in->shown);
                        return 'q';
                }
                if (streq(answer, "yes") || streq(answer, "no"))
                        return answer[0];
                if (*answer && !answer[1] && strchr("ynaq", *answer))
                        return *answer;
                if (streq(answer, "d"))
                        show_patch(in, item);
                else
                        show_help(in->shown);
        }
}

static void ask_about_all(struct interactive *in) {
        const char *overlay = NULL;
        char answer = 'n';

        for (size_t i = 0; i < in->n_items && answer != 'q'; i++) {
                struct item *item = &in->items[i];

                if (!item->paths)
                        continue;
                if (item->overlay != overlay && strv_length(in->overlays) > 1)
                        (void)fprintf(in->shown, "overlay %s:\n", item->overlay);
                overlay = item->overlay;
                if (!show_item(in, item))
                        continue;
                if (answer != 'a')
                        answer = ask_about(in, item);
                item->is_chosen = answer == 'y' || answer == 'a';
        }
        (void)fflush(in->shown);
}

int interactive_ask(const char *id, const struct nsrun_session_choice *choice, struct interactive **ret,
                    struct nsrun_error *err) {
        struct interactive *in = calloc(1, sizeof(*in));
        int r;

        if (!in)
                return error_oom(err);
        in->id = id;
        in->choice = *choice;
        in->tty = r = confirm_open_terminal();
        if (r >= 0)
                r = stream_open(in->tty, &in->shown);
        if (r < 0)
                r = error_set(err, NSRUN_STAGE_USAGE, r, NULL, "nobody can be asked what to commit",
                              "--interactive asks on the terminal, and there is none");
        if (r >= 0)
                r = find_items(in, err);
        if (r < 0) {
                interactive_free(in);
                return r;
        }
        ask_about_all(in);
        *ret = in;
        return 0;
}

/* --------------------------------------------------------------- committing */

/* Moves lines to those of all.  How much git ignores is told once, of all that was asked about. */
static int move_lines(char **lines, char ***to) {
        STRV_FOREACH (line, lines)
                if (!startswith(*line, "ignored by git: ") && strv_add(to, *line) < 0)
                        return -ENOMEM;
        return 0;
}

static int commit_item(struct interactive *in, const struct item *item, struct nsrun_session_outcome *ret) {
        struct nsrun_session_outcome outcome = NSRUN_SESSION_OUTCOME_INIT;
        const struct nsrun_session_choice choice = choice_of(in, item);
        struct nsrun_error err = {0};
        int r = nsrun_session_commit_choice(in->id, &choice, &outcome, &err);

        if (r < 0)
                keep_failure(in, item->paths[0], r, &err);
        ret->n_applied += outcome.n_applied;
        if (move_lines(outcome.notes, &ret->notes) < 0 || move_lines(outcome.conflicts, &ret->conflicts) < 0)
                r = -ENOMEM;
        nsrun_session_outcome_clear(&outcome);
        return r;
}

static int note_all_ignored(size_t n, struct nsrun_session_outcome *ret) {
        _cleanup_free_ char *count = n > 0 ? leave_out_count(n) : NULL;
        char *note = NULL;

        if (n == 0)
                return 0;
        if (!count || asprintf(&note, "ignored by git: %s stay%s in the session (--ignored commits %s)",
                               count, n == 1 ? "s" : "", n == 1 ? "it" : "them") < 0)
                return -ENOMEM;
        return strv_consume(&ret->notes, note);
}

int interactive_commit(struct interactive *in, struct nsrun_session_outcome *ret, struct nsrun_error *err) {
        int r = note_all_ignored(in->n_ignored, ret);

        /* After a signal, or without memory, no other is begun. */
        for (size_t i = 0; i < in->n_items && r != -EINTR && r != -ENOMEM; i++)
                if (in->items[i].is_chosen)
                        r = commit_item(in, &in->items[i], ret);
        if (in->failed < 0) {
                *err = in->failure;
                return in->failed;
        }
        return r < 0 ? error_oom(err) : 0;
}
