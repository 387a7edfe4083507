/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Three sorted lists, walked side by side. */
#include "git_merge.h"

#include "base/array.h"
#include "git_keys.h"

/* A key's values in a list. */
struct values {
        const struct git_entry *entries;
        size_t n;
};

static bool is_git_value(const char *a, const char *b) {
        return a && b ? streq(a, b) : a == b;
}

static bool has_same_values(const struct git_entry *a, size_t n, const struct git_entry *b, size_t m) {
        size_t i = 0;

        while (i < n && n == m && is_git_value(a[i].value, b[i].value))
                i++;
        return n == m && i == n;
}

static bool has_values_of(const struct values *a, const struct values *b) {
        return has_same_values(a->entries, a->n, b->entries, b->n);
}

bool git_change_is_same(const struct git_change *a, const struct git_change *b) {
        return streq(a->key, b->key) && has_same_values(a->values, a->n, b->values, b->n);
}

/* Those of `key` from *at on, which goes past them. */
static struct values take_values(const struct git_list *list, size_t *at, const char *key) {
        struct values v = {list->entries + *at, 0};

        while (*at < list->n && streq(list->entries[*at].key, key)) {
                ++*at;
                v.n++;
        }
        return v;
}

static bool has_url(const struct git_list *list, const char *name, size_t n) {
        for (size_t i = 0; i < list->n; i++) {
                const char *at = startswith(list->entries[i].key, "remote.");

                if (at && strncmp(at, name, n) == 0 && streq(at + n, ".url"))
                        return true;
        }
        return false;
}

/* Whether what a branch is told to follow leads where the host has it already: to one of the host's own
 * remotes, or to a branch of the repository's.  Git takes another name for a folder's, and starts what lies
 * in it. */
static bool leads_to_hosts(const struct git_change *change, const struct git_list *host) {
        const char *last = strrchr(change->key, '.');
        bool is = true;

        for (size_t i = 0; i < change->n && !streq(last, ".merge"); i++)
                is &= (streq(last, ".remote") && streq(change->values[i].value, ".")) ||
                      has_url(host, change->values[i].value, strlen(change->values[i].value));
        return is;
}

/* What the host has says where the user's commits come from and go to, and that stays. */
static bool change_is_carried(const struct git_change *change, const struct git_list *host,
                              bool host_has_it) {
        bool is = change->n > 0 || git_key_can_go(change->key);
        const char *name;
        size_t n;

        for (size_t i = 0; i < change->n && is; i++)
                is = git_key_is_carried(change->key, change->values[i].value);
        if (is && git_key_leads(change->key))
                return !host_has_it && leads_to_hosts(change, host);
        return is && !(git_key_is_of_remote(change->key, &name, &n) && has_url(host, name, n));
}

/* Whether the address of the remote of a change is carried: its keys stand together. */
static bool carries_address(const struct git_change *changes, size_t n, size_t i) {
        size_t length = (size_t)(strrchr(changes[i].key, '.') - changes[i].key);
        size_t first = i;

        while (first > 0 && strncmp(changes[first - 1].key, changes[i].key, length + 1) == 0)
                first--;
        for (size_t k = first; k < n && strncmp(changes[k].key, changes[i].key, length + 1) == 0; k++)
                if (changes[k].fate == GIT_CARRIED && changes[k].n > 0 &&
                    streq(changes[k].key + length, ".url"))
                        return true;
        return false;
}

/* Of a new remote whose address stays inside nothing else comes out. */
static void keep_half_remotes(struct git_change *changes, size_t n, const struct git_list *host) {
        for (size_t i = 0; i < n; i++) {
                const char *name = startswith(changes[i].key, "remote."),
                           *last = strrchr(changes[i].key, '.');

                if (changes[i].fate == GIT_CARRIED && changes[i].n > 0 && name && last >= name &&
                    !has_url(host, name, (size_t)(last - name)) && !carries_address(changes, n, i))
                        changes[i].fate = GIT_KEPT;
        }
}

int git_merge(const struct git_list *base, const struct git_list *inside, const struct git_list *host,
              struct git_change **ret, size_t *ret_n) {
        const struct git_list *const lists[] = {base, inside, host};
        _cleanup_free_ struct git_change *changes = NULL;
        size_t at[3] = {0}, n = 0;

        for (;;) {
                struct values was, is, hosts;
                struct git_change change;
                const char *key = NULL;

                for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
                        const char *next = at[i] < lists[i]->n ? lists[i]->entries[at[i]].key : NULL;

                        if (next && (!key || strcmp(next, key) < 0))
                                key = next;
                }
                if (!key)
                        break;
                was = take_values(base, &at[0], key);
                is = take_values(inside, &at[1], key);
                hosts = take_values(host, &at[2], key);
                if (has_values_of(&is, &was) || has_values_of(&is, &hosts) || streq(key, GIT_CONFIG_UNSET))
                        continue;
                change = (struct git_change){.key = key, .values = is.entries, .n = is.n};
                change.fate = !has_values_of(&hosts, &was)                    ? GIT_CONFLICT
                              : change_is_carried(&change, host, hosts.n > 0) ? GIT_CARRIED
                                                                              : GIT_KEPT;
                if (ARRAY_GROW(changes, n) < 0)
                        return -ENOMEM;
                changes[n++] = change;
        }
        keep_half_remotes(changes, n, host);
        *ret = TAKE_PTR(changes);
        *ret_n = n;
        return 0;
}
