/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "git_config.h"

#include "base/array.h"
#include "base/file.h"
#include "base/sys.h"
#include "git_keys.h"
#include "host/gitconfig.h"
#include "in_place.h"

enum {
        CHANGES_MOST = 1000, /* keys that are carried in one go */
        TRIES = 200,         /* while others write the file, or have its lock */
        SECONDS_MOST = 2,
        KEYS_SHOWN = 8,
        ADDRESS_SHOWN = 120, /* bytes */
};

/* A file of our own with these bytes, at a path that git can be told: *ret_path, for the caller to free. */
static int make_draft(const char *rundir, const char *bytes, size_t n, char **ret_path) {
        _cleanup_free_ char *path = rundir ? str_concat(rundir, "/", "draft-XXXXXX") : NULL;
        _cleanup_close_ int fd = path ? mkostemp(path, O_CLOEXEC) : -EBADF;
        int r = !rundir ? -EROFS : !path ? -ENOMEM : fd < 0 ? -errno : write_full(fd, bytes, n);

        if (fd >= 0 && r < 0)
                (void)unlink(path);
        if (r >= 0)
                *ret_path = TAKE_PTR(path);
        return r;
}

static void remove_draft(char **path) {
        if (*path)
                (void)unlink(*path);
        free(*path);
}
#define _cleanup_draft_ _cleanup_(remove_draft)

/* Whether git reads of the new text what it read of the old one, but for the changes. */
static int check_result(const char *host, size_t n_host, const char *text, size_t n_text,
                        const struct git_change *changes, size_t n) {
        _cleanup_git_list_ struct git_list old = {0}, new = {0};
        _cleanup_free_ struct git_change *found = NULL;
        size_t n_found = 0, at = 0;
        int r = git_list_read(host, n_host, &old);

        if (r >= 0)
                r = git_list_read(text, n_text, &new);
        if (r >= 0)
                r = git_merge(&old, &new, &old, &found, &n_found);
        for (size_t i = 0; i < n && r >= 0; i++)
                if (changes[i].fate == GIT_CARRIED &&
                    (at == n_found || !git_change_is_same(&found[at++], &changes[i])))
                        r = -EBADMSG;
        return r < 0 ? r : at == n_found ? 0 : -EBADMSG;
}

/* `bytes` with the changes that are carried: *ret. */
static int change_bytes(const char *rundir, const char *bytes, size_t n_bytes,
                        const struct git_change *changes, size_t n, char **ret, size_t *ret_n) {
        _cleanup_draft_ char *draft = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r = make_draft(rundir, bytes, n_bytes, &draft);

        for (size_t i = 0; i < n && r >= 0; i++)
                if (changes[i].fate == GIT_CARRIED)
                        r = git_file_change(draft, changes[i].key, changes[i].values, changes[i].n);
        fd = r < 0 ? r : sys_open(AT_FDCWD, draft, O_RDONLY, 0);
        return fd < 0 ? fd : read_bytes_fd(fd, INT32_MAX, ret, ret_n);
}

/* Makes the changes that are carried in the host's file.  -EAGAIN: it isn't `host` any more. */
static int git_config_apply(const char *rundir, const char *path, const char *host, size_t n_host,
                            const struct git_change *changes, size_t n) {
        _cleanup_free_ char *text = NULL;
        size_t n_text = 0;
        int r = change_bytes(rundir, host, n_host, changes, n, &text, &n_text);

        if (r >= 0)
                r = check_result(host, n_host, text, n_text, changes, n);
        return r < 0 ? r : in_place_replace(path, host, n_host, text, n_text);
}

/* What is kept, on its way into a version. */
struct giving {
        char **keys, **hosts; /* the keys that it says something of; those of them that the host has, too */
        struct strbuf text;   /* what it sets */
};

static int take_kept(void *data, const struct gitconfig_entry *entry) {
        struct giving *g = data;
        bool is_unset = streq(entry->name, GIT_CONFIG_UNSET);
        const char *key = is_unset ? entry->value : entry->name;

        /* `git init` sets it by what it sees inside, where a symlink stands for the file: new programs would
         * lose their mode. */
        if (key && streq(key, "core.filemode"))
                return 0;
        if (!is_unset)
                gitconfig_write(&g->text, entry);
        return !key || strv_contains(g->keys, key) ? 0 : strv_add(&g->keys, key);
}

static int take_hosts(void *data, const struct gitconfig_entry *entry) {
        struct giving *g = data;

        return !strv_contains(g->keys, entry->name) || strv_contains(g->hosts, entry->name)
                       ? 0
                       : strv_add(&g->hosts, entry->name);
}

/* The host's file without what is kept in another way. */
static int give_rest(const char *folder, const char *host, size_t n_host, char *const *keys, char **ret,
                     size_t *ret_n) {
        _cleanup_draft_ char *draft = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r = make_draft(folder, host, n_host, &draft);

        STRV_FOREACH (key, keys)
                if (r >= 0 && git_file_change(draft, *key, NULL, 0) == -ENOMEM)
                        r = -ENOMEM;
        fd = r < 0 ? r : sys_open(AT_FDCWD, draft, O_RDONLY, 0);
        return fd < 0 ? fd : read_bytes_fd(fd, INT32_MAX, ret, ret_n);
}

int git_config_give(const char *folder, const char *host, size_t n_host, const char *kept, char **ret,
                    size_t *ret_n) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *rest = NULL, *text = NULL;
        struct giving g = {0};
        int r = kept ? gitconfig_parse(kept, strlen(kept), take_kept, &g) : 0;

        /* A file that git reads otherwise is given with all of it. */
        if (r >= 0 && g.keys)
                r = gitconfig_parse(host, n_host, take_hosts, &g);
        if (r >= 0 && g.hosts)
                r = give_rest(folder, host, n_host, g.hosts, &rest, &n_host);
        text = r >= 0 || !kept ? strbuf_finish(&g.text) : strdup(kept);
        strbuf_clear(&g.text);
        strv_free(g.keys);
        strv_free(g.hosts);
        if (r == -ENOMEM || (kept && !text))
                return -ENOMEM;
        strbuf_add_bytes(&b, rest ? rest : host, n_host);
        if (text && *text)
                strbuf_addf(&b, "\n%s", text);
        *ret_n = b.length;
        *ret = strbuf_finish(&b);
        return *ret ? 0 : -ENOMEM;
}

static size_t count_fate(const struct git_change *changes, size_t n, enum git_fate fate) {
        size_t count = 0;

        for (size_t i = 0; i < n; i++)
                count += changes[i].fate == fate;
        return count;
}

static void keep_all(struct git_change *changes, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (changes[i].fate == GIT_CARRIED)
                        changes[i].fate = GIT_KEPT;
}

/* What is kept, as configuration. */
static char *text_to_keep(const struct git_change *changes, size_t n) {
        _cleanup_strbuf_ struct strbuf b = {0};

        for (size_t i = 0; i < n; i++) {
                struct gitconfig_entry entry = {.name = changes[i].key};

                if (changes[i].fate == GIT_CARRIED)
                        continue;
                for (size_t j = 0; j < changes[i].n; j++) {
                        entry.value = changes[i].values[j].value;
                        gitconfig_write(&b, &entry);
                }
                if (changes[i].n == 0)
                        gitconfig_write(&b, &(struct gitconfig_entry){GIT_CONFIG_UNSET, changes[i].key});
        }
        strbuf_add(&b, "");
        return strbuf_finish(&b);
}

static int compare_entry_keys(const void *a, const void *b) {
        const struct git_entry *x = a, *y = b;

        return strcmp(x->key, y->key);
}

/* A key's values among those of a list: their number. */
static size_t count_values(const struct git_list *list, const char *key,
                           const struct git_entry **ret_first) {
        const struct git_entry wanted = {.key = (char *)(uintptr_t)key},
                               *first = list->n == 0 ? NULL
                                                     : bsearch(&wanted, list->entries, list->n,
                                                               sizeof(wanted), compare_entry_keys),
                               *end;
        size_t n = 0;

        if (!first)
                return 0;
        end = list->entries + list->n;
        while (first > list->entries && streq(first[-1].key, key))
                first--;
        while (first + n < end && streq(first[n].key, key))
                n++;
        *ret_first = first;
        return n;
}

/* What a list says something of, be it that it is taken out, as keys of a list that owns none of them. */
static int keys_of(const struct git_list *list, struct git_list *ret) {
        *ret = (struct git_list){.entries = calloc(list->n + 1, sizeof(*ret->entries))};
        for (size_t i = 0; i < list->n && ret->entries; i++) {
                const struct git_entry *e = &list->entries[i];
                char *key = streq(e->key, GIT_CONFIG_UNSET) ? e->value : e->key;

                if (key)
                        ret->entries[ret->n++].key = key;
        }
        if (ret->n > 0)
                qsort(ret->entries, ret->n, sizeof(*ret->entries), compare_entry_keys);
        return ret->entries ? 0 : -ENOMEM;
}

static bool has_key(const struct git_list *list, const char *key) {
        const struct git_entry wanted = {.key = (char *)(uintptr_t)key};

        return list->n > 0 && bsearch(&wanted, list->entries, list->n, sizeof(wanted), compare_entry_keys);
}

/* Whether another run has kept that since this one, which was given `seen` and keeps `own`, began. */
static bool is_others(const struct git_entry *e, const struct git_list *seen, const struct git_list *own) {
        bool is_unset = streq(e->key, GIT_CONFIG_UNSET);
        const char *key = is_unset ? e->value : e->key;

        return key && has_key(seen, key) == is_unset && !has_key(own, key);
}

/* What is kept, and was by another run since this one began.  What git doesn't read stays with all that it
 * says.  NULL: for want of memory. */
static char *find_others(const struct git_config_carry *g, const char *kept, const char *text) {
        _cleanup_git_list_ struct git_list seen = {0}, own = {0}, own_keys = {0}, all = {0};
        _cleanup_strbuf_ struct strbuf b = {0};
        int r;

        if (strstr(text, kept))
                return strdup("");
        r = g->seen ? git_list_read(g->seen, g->n_seen, &seen) : -ENOENT;
        if (r >= 0)
                r = git_list_read(text, strlen(text), &own);
        if (r >= 0)
                r = git_list_read(kept, strlen(kept), &all);
        if (r >= 0)
                r = keys_of(&own, &own_keys);
        if (r < 0)
                return r == -ENOMEM ? NULL : strdup(kept);
        strbuf_add(&b, "");
        for (size_t i = 0; i < all.n; i++)
                if (is_others(&all.entries[i], &seen, &own_keys))
                        gitconfig_write(&b,
                                        &(struct gitconfig_entry){all.entries[i].key, all.entries[i].value});
        return strbuf_finish(&b);
}

/* -EAGAIN: another run has kept something in this moment. */
static int keep_once(struct git_config_carry *g, const char *text) {
        const char *project = g->kept_by->project;
        struct kept old = {0};
        _cleanup_close_ int found = kept_find(project, g->path, GIT_CONFIG_REASON, &old);
        _cleanup_free_ char *before = NULL, *others = NULL, *all = NULL;
        _cleanup_draft_ char *draft = NULL;
        unsigned number = old.number;
        bool may_drop = g->seen && (g->n_seen != g->n_base || memcmp(g->seen, g->base, g->n_base) != 0);
        int r = found < 0 ? 0 : read_small_file(found, KEPT_ENTRY, O_NOFOLLOW, INT32_MAX, &before);

        kept_clear(&old);
        if (r < 0 || (!*text && (found < 0 || !may_drop)))
                return r == -ENOENT ? -EAGAIN : r;
        if (before && streq(before, text))
                return 1;
        others = find_others(g, before ? before : "", text);
        /* What another run has kept meanwhile isn't this one's to drop. */
        if (others && !*others && !*text)
                return kept_drop(project, number, -1);
        all = others ? str_concat(others, text, "") : NULL;
        if (all && before && streq(before, all))
                return 1;
        r = all ? make_draft(g->rundir, all, strlen(all), &draft) : -ENOMEM;
        return r < 0 ? r
                     : kept_by_put(g->kept_by,
                                   &(struct kept){.path = (char *)(uintptr_t)g->path,
                                                  .reason = (char *)(uintptr_t)GIT_CONFIG_REASON,
                                                  .earlier = &found},
                                   AT_FDCWD, draft);
}

/* Keeps the text, or drops what was kept of the file.  1: the same is kept already. */
static int keep_text(struct git_config_carry *g, const char *text) {
        int r = -EAGAIN;

        for (unsigned i = 0; i < TRIES && r == -EAGAIN; i++)
                r = keep_once(g, text);
        return r;
}

static int keep_with(struct git_config_carry *g, const char *more, const char *text) {
        bool has_all = !more || strstr(text, more);
        _cleanup_free_ char *all =
                str_concat(has_all ? "" : more, !has_all && strstr(more, text) ? "" : text, "");

        return all ? keep_text(g, all) : -ENOMEM;
}

/* Whether that is kept because an earlier command wrote it: this one was given it, and left it as it was. */
static bool is_given(const struct git_list *given, const struct git_change *change) {
        struct git_change was = {.key = change->key};

        if (!given)
                return false;
        was.n = count_values(given, change->key, &was.values);
        return git_change_is_same(&was, change);
}

/* What is new of it, against what was given; of NULL all is.  NULL: nothing. */
static char *describe_kept(const struct git_change *changes, size_t n, const struct git_list *given,
                           const char *what, bool is_lost) {
        _cleanup_strbuf_ struct strbuf b = {0};
        size_t shown = 0, kept = 0;

        for (size_t i = 0; i < n; i++)
                kept += changes[i].fate != GIT_CARRIED && !is_given(given, &changes[i]);
        if (kept == 0)
                return NULL;
        strbuf_addf(&b, "what %s wrote to it %s: ", what,
                    is_lost ? "can't be kept aside, and is lost" : "is kept aside");
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *key = str_visible(changes[i].key);

                if (changes[i].fate == GIT_CARRIED || shown == KEYS_SHOWN || is_given(given, &changes[i]))
                        continue;
                strbuf_add(&b, shown++ > 0 ? ", " : "");
                strbuf_addf(&b, "%.60s%s", key ? key : "?",
                            changes[i].fate == GIT_CONFLICT ? " (the host has changed it, too)" : "");
        }
        if (kept > shown)
                strbuf_addf(&b, " and %zu more", kept - shown);
        return strbuf_finish(&b);
}

/* An address without a name and a password that are in it. */
static void add_address(struct strbuf *b, const char *address) {
        const char *host = strstr(address, "://"), *rest, *at;
        _cleanup_free_ char *visible = NULL;

        host = host ? host + strlen("://") : address;
        rest = host + strcspn(host, "/");
        at = host == address ? NULL : memrchr(host, '@', (size_t)(rest - host));
        visible = str_visible(at ? at + 1 : host);
        strbuf_addf(b, "%.*s%.*s", (int)(host - address), address, ADDRESS_SHOWN, visible ? visible : "?");
}

/* A remote is where the user's next push goes. */
static char *describe_remotes(const struct git_change *changes, size_t n) {
        _cleanup_strbuf_ struct strbuf b = {0};
        size_t shown = 0, more = 0;

        for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < changes[i].n && changes[i].fate == GIT_CARRIED; j++) {
                        _cleanup_free_ char *named = NULL, *visible = NULL;
                        const char *name;
                        size_t length;

                        if (!git_key_is_of_remote(changes[i].key, &name, &length) ||
                            streq(name + length, ".fetch"))
                                continue;
                        if (shown == KEYS_SHOWN) {
                                more++;
                                continue;
                        }
                        named = strndup(name, length);
                        visible = named ? str_visible(named) : NULL;
                        strbuf_addf(&b, "%sremote %.60s (%s",
                                    shown++ > 0 ? ", " : "carried to it: ", visible ? visible : "?",
                                    streq(name + length, ".url") ? "" : "push: ");
                        add_address(&b, changes[i].values[j].value);
                        strbuf_add(&b, ")");
                }
        if (more > 0)
                strbuf_addf(&b, " and %zu more", more);
        return shown > 0 ? strbuf_finish(&b) : NULL;
}

/* One try: -EAGAIN, -EBUSY. */
static int carry_once(struct git_config_carry *g, const struct git_list *base, const struct git_list *inside,
                      bool is_last, char **ret_words) {
        _cleanup_free_ char *host = NULL, *text = NULL;
        _cleanup_free_ struct git_change *changes = NULL;
        _cleanup_git_list_ struct git_list hosts = {0}, given = {0};
        size_t n_host = 0, n = 0, carried;
        int read = version_read_host(g->path, &host, &n_host), r;

        if (read >= 0)
                read = git_list_read(host, n_host, &hosts);
        r = read == -ENOMEM ? read : git_merge(base, inside, &hosts, &changes, &n);
        carried = r < 0 ? 0 : count_fate(changes, n, GIT_CARRIED);
        if (r >= 0 && carried > 0)
                r = read < 0 ? read
                    : carried > CHANGES_MOST
                            ? -E2BIG
                            : git_config_apply(g->rundir, g->path, host, n_host, changes, n);
        if (r == -ENOMEM || (!is_last && (r == -EAGAIN || r == -EBUSY)))
                return r;
        if (r < 0)
                keep_all(changes, n);
        else if (carried > 0)
                g->remotes = describe_remotes(changes, n);
        if (r >= 0 && carried > 0 && g->wants_base)
                r = change_bytes(g->rundir, g->base, g->n_base, changes, n, &g->new_base, &g->n_new_base);
        text = r == -ENOMEM ? NULL : text_to_keep(changes, n);
        r = text ? keep_with(g, g->taken, text) : -ENOMEM;
        if (r <= 0 && r != -ENOMEM)
                read = g->seen ? git_list_read(g->seen, g->n_seen, &given) : -ENOENT;
        if (r <= 0 && r != -ENOMEM)
                *ret_words = describe_kept(changes, n, read >= 0 ? &given : NULL, "the command", r < 0);
        return r == -ENOMEM ? r : 0;
}

/* The file as it is, its comments too, where what is kept has what it had in the base.  -EBADMSG: git reads
 * something else of that, or too much is kept for git to be asked of each. */
static int take_out(const struct git_config_carry *g, const struct git_list *base,
                    const struct git_change *changes, size_t n, char **ret, size_t *ret_n) {
        _cleanup_free_ struct git_change *back = calloc(n, sizeof(*back)), *left = NULL;
        _cleanup_git_list_ struct git_list after = {0};
        size_t n_left = 0;
        int r = !back ? -ENOMEM : n - count_fate(changes, n, GIT_CARRIED) > CHANGES_MOST ? -EBADMSG : 0;

        for (size_t i = 0; i < n && r >= 0; i++)
                if (changes[i].fate != GIT_CARRIED) {
                        back[i].key = changes[i].key;
                        back[i].n = count_values(base, back[i].key, &back[i].values);
                } else
                        back[i].fate = GIT_KEPT;
        if (r >= 0)
                r = change_bytes(g->rundir, g->inside, g->n_inside, back, n, ret, ret_n);
        if (r >= 0)
                r = git_list_read(*ret, *ret_n, &after);
        if (r >= 0)
                r = git_merge(base, &after, base, &left, &n_left);
        for (size_t i = 0; i < n_left && r >= 0; i++)
                if (left[i].n > 0 && left[i].fate != GIT_CARRIED)
                        r = -EBADMSG;
        if (r < 0)
                free(TAKE_PTR(*ret));
        return r;
}

int git_config_take(struct git_config_carry *g, char **ret_taken, char **ret_words) {
        _cleanup_git_list_ struct git_list base = {0}, inside = {0};
        _cleanup_free_ struct git_change *changes = NULL;
        _cleanup_free_ char *text = NULL, *taken = NULL, *before = NULL;
        _cleanup_close_ int kept = -EBADF;
        size_t n = 0, n_text = 0;
        int r = git_list_read(g->inside, g->n_inside, &inside);

        if (r >= 0)
                r = git_list_read(g->base, g->n_base, &base);
        if (r >= 0)
                r = git_merge(&base, &inside, &base, &changes, &n);
        if (r < 0)
                return r;
        /* What isn't there executes nothing. */
        for (size_t i = 0; i < n; i++)
                if (changes[i].n == 0)
                        changes[i].fate = GIT_CARRIED;
        if (count_fate(changes, n, GIT_CARRIED) == n)
                return 0;
        if (count_fate(changes, n, GIT_CARRIED) > CHANGES_MOST)
                keep_all(changes, n);
        r = take_out(g, &base, changes, n, &text, &n_text);
        if (r == -EBADMSG)
                r = change_bytes(g->rundir, g->base, g->n_base, changes, n, &text, &n_text);
        taken = r < 0 ? NULL : text_to_keep(changes, n);
        if (r < 0 || !taken)
                return r < 0 ? r : -ENOMEM;
        r = in_place_replace(g->path, g->inside, g->n_inside, text, n_text);
        if (r < 0)
                return r;
        kept = kept_find(g->kept_by->project, g->path, GIT_CONFIG_REASON, NULL);
        if (kept >= 0)
                (void)read_small_file(kept, KEPT_ENTRY, O_NOFOLLOW, INT32_MAX, &before);
        r = keep_with(g, before, taken);
        *ret_words = describe_kept(changes, n, NULL, "the host or the command", r < 0);
        *ret_taken = TAKE_PTR(taken);
        return 0;
}

int git_config_carry(struct git_config_carry *g, char **ret_words) {
        _cleanup_git_list_ struct git_list base = {0}, inside = {0};
        struct timespec begun = {0}, now = {0};
        bool is_last = false;
        int r = git_list_read(g->inside, g->n_inside, &inside);

        if (r >= 0)
                r = git_list_read(g->base, g->n_base, &base);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                *ret_words = strdup(
                        r == -EBADMSG
                                ? "git can't read the command's version of it: nothing of it is carried"
                        : r == -E2BIG
                                ? "the command's version of it says too much: nothing of it is carried"
                                : "there is no git of the system's that could read it: nothing of it is carried");
                return *ret_words ? 0 : -ENOMEM;
        }
        r = -EAGAIN;
        (void)clock_gettime(CLOCK_MONOTONIC, &begun);
        for (unsigned i = 1; !is_last && (r == -EAGAIN || r == -EBUSY); i++) {
                /* A try may take git a second. */
                (void)clock_gettime(CLOCK_MONOTONIC, &now);
                is_last = i == TRIES || now.tv_sec - begun.tv_sec >= SECONDS_MOST;
                r = carry_once(g, &base, &inside, is_last, ret_words);
                if (r == -EBUSY)
                        (void)poll(NULL, 0, 10);
        }
        return r;
}

/* ------------------------------------------------------------------- what is kept */

void git_review_clear(struct git_review *review) {
        git_list_clear(&review->kept);
        git_list_clear(&review->host);
        free(review->text);
        free(review->changes);
        *review = (struct git_review){0};
}

static int compare_change_keys(const void *a, const void *b) {
        const struct git_change *x = a, *y = b;

        return strcmp(x->key, y->key);
}

/* A key and its n values, if the host has others. */
static int add_change(struct git_review *review, const char *key, const struct git_entry *values, size_t n) {
        struct git_change change = {.key = key, .values = values, .n = n, .fate = GIT_CARRIED},
                          hosts = {.key = key};

        hosts.n = count_values(&review->host, key, &hosts.values);
        if (git_change_is_same(&change, &hosts))
                return 0;
        if (ARRAY_GROW(review->changes, review->n) < 0)
                return -ENOMEM;
        review->changes[review->n++] = change;
        return 0;
}

static int pick_changes(struct git_review *review, char *const *keys) {
        size_t n = 0;

        for (char *const *key = keys; *key; key++) {
                bool is_there = false;

                for (size_t i = 0; i < review->n; i++)
                        is_there |= streq(review->changes[i].key, *key);
                if (!is_there)
                        return -ENOKEY;
        }
        for (size_t i = 0; i < review->n; i++)
                if (strv_contains(keys, review->changes[i].key))
                        review->changes[n++] = review->changes[i];
        review->n = n;
        return 0;
}

int git_review(int kept, const char *path, char *const *keys, struct git_review *ret) {
        _cleanup_git_review_ struct git_review review = {0};
        _cleanup_free_ char *text = NULL;
        int r = read_small_file(kept, KEPT_ENTRY, O_NOFOLLOW, INT32_MAX, &text);

        if (r >= 0)
                r = version_read_host(path, &review.text, &review.n_text);
        if (r >= 0)
                r = git_list_read(text, strlen(text), &review.kept);
        if (r >= 0)
                r = git_list_read(review.text, review.n_text, &review.host);
        for (size_t i = 0, n = 1; i < review.kept.n && r >= 0; i += n) {
                const struct git_entry *first = &review.kept.entries[i];

                n = count_values(&review.kept, first->key, &first);
                for (size_t j = 0; j < n && streq(first->key, GIT_CONFIG_UNSET) && r >= 0; j++)
                        r = add_change(&review, first[j].value, NULL, 0);
                if (!streq(first->key, GIT_CONFIG_UNSET) && r >= 0)
                        r = add_change(&review, first->key, first, n);
        }
        if (r >= 0 && keys)
                r = pick_changes(&review, keys);
        if (r < 0)
                return r;
        if (review.n > 0)
                qsort(review.changes, review.n, sizeof(*review.changes), compare_change_keys);
        *ret = review;
        review = (struct git_review){0};
        return 0;
}

int git_review_accept(const char *folder, int kept, const char *path, char *const *keys, bool *ret_is_all) {
        _cleanup_git_review_ struct git_review review = {0}, left = {0};
        int r = git_review(kept, path, keys, &review);

        if (r >= 0 && review.n > 0)
                r = git_config_apply(folder, path, review.text, review.n_text, review.changes, review.n);
        if (r >= 0)
                r = git_review(kept, path, NULL, &left);
        *ret_is_all = r >= 0 && left.n == 0;
        return r;
}
