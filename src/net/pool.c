/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An array that is searched from its beginning: all of it takes a fraction of a millisecond, and the sandbox
 * that asks waits for that alone. */
#include "pool.h"

#include "base/array.h"

struct entry {
        char *name;
        uint64_t used; /* a number that grows with each use */
        uint32_t n_held;
};

struct net_pool {
        struct entry *entries; /* the fixed ones first */
        size_t n, n_fixed;
        uint64_t n_uses;
};

/* An entry for a new name: a further one, or that which was not used for longest.  NULL: there is none. */
static struct entry *pool_take_entry(struct net_pool *pool) {
        struct entry *oldest = NULL;

        if (pool->n < pool->n_fixed + NET_POOL_MOST) {
                if (ARRAY_GROW(pool->entries, pool->n) < 0)
                        return NULL;
                pool->entries[pool->n] = (struct entry){.name = NULL};
                return &pool->entries[pool->n++];
        }
        for (size_t i = pool->n_fixed; i < pool->n; i++) {
                struct entry *e = &pool->entries[i];

                if (e->n_held == 0 && (!oldest || e->used < oldest->used))
                        oldest = e;
        }
        return oldest;
}

void net_pool_free(struct net_pool *pool) {
        for (size_t i = 0; i < pool->n; i++)
                free(pool->entries[i].name);
        free(pool->entries);
        free(pool);
}

struct net_pool *net_pool_new(const struct net_layout *layout) {
        struct net_pool *pool = calloc(1, sizeof(*pool));

        for (; pool && pool->n_fixed < layout->n_names; pool->n_fixed++)
                if (net_pool_find(pool, layout->names[pool->n_fixed]) == 0) {
                        net_pool_free(pool);
                        return NULL;
                }
        return pool;
}

uint32_t net_pool_find(struct net_pool *pool, const char *name) {
        struct entry *e = NULL;

        for (size_t i = 0; i < pool->n && !e; i++)
                if (streq(pool->entries[i].name, name))
                        e = &pool->entries[i];
        if (!e) {
                char *copy = strdup(name);

                e = copy ? pool_take_entry(pool) : NULL;
                if (!e) {
                        free(copy);
                        return 0;
                }
                free(e->name);
                *e = (struct entry){.name = copy};
        }
        e->used = ++pool->n_uses;
        return NET_INDEX_NAMES + (uint32_t)(e - pool->entries);
}

static struct entry *entry_at(const struct net_pool *pool, uint32_t index) {
        return index >= NET_INDEX_NAMES && index - NET_INDEX_NAMES < pool->n
                       ? &pool->entries[index - NET_INDEX_NAMES]
                       : NULL;
}

const char *net_pool_name(const struct net_pool *pool, uint32_t index) {
        const struct entry *e = entry_at(pool, index);

        return e ? e->name : NULL;
}

void net_pool_hold(struct net_pool *pool, uint32_t index) {
        struct entry *e = entry_at(pool, index);

        if (e)
                e->n_held++;
}

void net_pool_release(struct net_pool *pool, uint32_t index) {
        struct entry *e = entry_at(pool, index);

        if (e && e->n_held > 0)
                e->n_held--;
}
