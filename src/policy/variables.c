/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "variables.h"

#include "base/str.h"

/* FNV-1a, 64 bits: <http://www.isthe.com/chongo/tech/comp/fnv/>. */
static size_t hash(const char *name, size_t length) {
        uint64_t h = UINT64_C(0xcbf29ce484222325);

        for (size_t i = 0; i < length; i++)
                h = (h ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
        return (size_t)(h ^ h >> 32);
}

static bool has_variable_name(const char *entry, const char *name, size_t length) {
        return strncmp(entry, name, length) == 0 && (entry[length] == '\0' || entry[length] == '=');
}

/* The slot of that name, or the free one where it would go.  There is always a free one. */
static size_t find_slot(const struct variables *v, const char *name, size_t length) {
        size_t i = hash(name, length) & (v->n_slots - 1);

        while (v->slots[i] && !has_variable_name(v->entries[v->slots[i] - 1], name, length))
                i = (i + 1) & (v->n_slots - 1);
        return i;
}

static size_t slot_of(const struct variables *v, const char *entry) {
        return find_slot(v, entry, strcspn(entry, "="));
}

const char *variables_find(const struct variables *v, const char *name, size_t length) {
        size_t i = v->n > 0 ? find_slot(v, name, length) : 0;

        return v->n > 0 && v->slots[i] ? v->entries[v->slots[i] - 1] : NULL;
}

const char *variables_value(const struct variables *v, const char *name) {
        size_t length = strlen(name);
        const char *entry = variables_find(v, name, length);

        return entry && entry[length] == '=' ? entry + length + 1 : NULL;
}

/* Makes room for one more: at most half of the slots are taken. */
static int variables_grow(struct variables *v) {
        size_t n = v->n_slots > 0 ? 2 * v->n_slots : 64;
        uint32_t *slots;
        char **entries;

        if (v->n < v->n_slots / 2)
                return 0;
        entries = reallocarray(v->entries, n / 2 + 1, sizeof(*entries));
        if (!entries)
                return -ENOMEM;
        v->entries = entries;
        v->entries[v->n] = NULL;
        slots = n / 2 < UINT32_MAX ? calloc(n, sizeof(*slots)) : NULL;
        if (!slots)
                return -ENOMEM;
        free(v->slots);
        v->slots = slots;
        v->n_slots = n;
        for (size_t i = 0; i < v->n; i++)
                v->slots[slot_of(v, v->entries[i])] = (uint32_t)(i + 1);
        return 0;
}

int variables_set(struct variables *v, char *entry) {
        size_t i;

        if (!entry || variables_grow(v) < 0) {
                free(entry);
                return -ENOMEM;
        }
        i = slot_of(v, entry);
        if (v->slots[i]) {
                char **old = &v->entries[v->slots[i] - 1];

                free(*old);
                *old = entry;
                return 0;
        }
        v->entries[v->n++] = entry;
        v->entries[v->n] = NULL;
        v->slots[i] = (uint32_t)v->n;
        return 0;
}

/* Frees slot i, and moves those behind it that were not at home there into the gap. */
static void free_slot(struct variables *v, size_t i) {
        size_t mask = v->n_slots - 1;

        v->slots[i] = 0;
        for (size_t at = (i + 1) & mask; v->slots[at]; at = (at + 1) & mask) {
                uint32_t moved = v->slots[at];

                v->slots[at] = 0;
                v->slots[slot_of(v, v->entries[moved - 1])] = moved;
        }
}

void variables_drop(struct variables *v, const char *name, size_t length) {
        size_t i = v->n > 0 ? find_slot(v, name, length) : 0, index;
        char *entry;

        if (v->n == 0 || !v->slots[i])
                return;
        index = v->slots[i] - 1;
        entry = v->entries[index];
        free_slot(v, i);
        v->n--;
        if (index < v->n) {
                v->slots[slot_of(v, v->entries[v->n])] = (uint32_t)(index + 1);
                v->entries[index] = v->entries[v->n];
        }
        v->entries[v->n] = NULL;
        free(entry);
}

int variables_set_all(struct variables *v, char **entries) {
        int r = 0;

        for (char **entry = entries; entry && *entry; entry++)
                if (r >= 0)
                        r = variables_set(v, *entry);
                else
                        free(*entry);
        free(entries);
        return r;
}

char **variables_finish(struct variables *v) {
        char **entries = TAKE_PTR(v->entries);

        variables_clear(v);
        return entries;
}

void variables_clear(struct variables *v) {
        for (size_t i = 0; i < v->n && v->entries; i++)
                free(v->entries[i]);
        free(v->entries);
        free(v->slots);
        *v = (struct variables){0};
}
