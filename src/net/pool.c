/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A table of names by hash, and a list of them by the time of their last use.  The hash has a key that the
 * sandbox doesn't know. */
#include "pool.h"

#include <sys/random.h>

#include "base/array.h"

#define BUCKETS 4096U
#define NONE    UINT32_MAX

struct entry {
        char *name;
        uint32_t next;         /* in its bucket */
        uint32_t newer, older; /* by use */
        uint32_t n_held;
        bool is_fixed;
};

struct net_pool {
        uint64_t key;
        uint32_t buckets[BUCKETS];
        struct entry *entries;
        size_t n;
        size_t n_fixed;
        uint32_t newest, oldest;
};

/* FNV-1a from a secret start, mixed in the end. */
static uint32_t bucket_of(const struct net_pool *pool, const char *name) {
        uint64_t h = pool->key;

        for (; *name; name++)
                h = (h ^ (uint8_t)*name) * UINT64_C(0x100000001b3) ^ pool->key >> 7;
        h ^= h >> 32;
        h *= UINT64_C(0xd6e8feb86659fd93);
        return (uint32_t)(h >> 32) % BUCKETS;
}

static void unlink_use(struct net_pool *pool, uint32_t i) {
        struct entry *e = &pool->entries[i];

        if (e->newer != NONE)
                pool->entries[e->newer].older = e->older;
        else
                pool->newest = e->older;
        if (e->older != NONE)
                pool->entries[e->older].newer = e->newer;
        else
                pool->oldest = e->newer;
}

static void link_newest(struct net_pool *pool, uint32_t i) {
        struct entry *e = &pool->entries[i];

        e->newer = NONE;
        e->older = pool->newest;
        if (pool->newest != NONE)
                pool->entries[pool->newest].newer = i;
        else
                pool->oldest = i;
        pool->newest = i;
}

static void unlink_bucket(struct net_pool *pool, uint32_t i) {
        uint32_t *at = &pool->buckets[bucket_of(pool, pool->entries[i].name)];

        while (*at != i)
                at = &pool->entries[*at].next;
        *at = pool->entries[i].next;
}

/* An entry for a new name: a further one, or that which was not used for longest. */
static uint32_t pool_take_entry(struct net_pool *pool) {
        if (pool->n < pool->n_fixed + NET_POOL_MOST) {
                if (ARRAY_GROW(pool->entries, pool->n) < 0)
                        return NONE;
                pool->entries[pool->n] = (struct entry){.next = NONE};
                return (uint32_t)pool->n++;
        }
        for (uint32_t i = pool->oldest; i != NONE; i = pool->entries[i].newer) {
                if (pool->entries[i].n_held > 0)
                        continue;
                unlink_bucket(pool, i);
                unlink_use(pool, i);
                free(TAKE_PTR(pool->entries[i].name));
                return i;
        }
        return NONE;
}

static uint32_t pool_find_entry(const struct net_pool *pool, const char *name) {
        uint32_t i = pool->buckets[bucket_of(pool, name)];

        while (i != NONE && !streq(pool->entries[i].name, name))
                i = pool->entries[i].next;
        return i;
}

static uint32_t pool_add(struct net_pool *pool, const char *name, bool is_fixed) {
        char *copy = strdup(name);
        uint32_t i = copy ? pool_take_entry(pool) : NONE, *bucket;
        struct entry *e;

        if (i == NONE) {
                free(copy);
                return NONE;
        }
        e = &pool->entries[i];
        e->name = copy;
        e->n_held = 0;
        e->is_fixed = is_fixed;
        bucket = &pool->buckets[bucket_of(pool, name)];
        e->next = *bucket;
        *bucket = i;
        if (!is_fixed)
                link_newest(pool, i);
        return i;
}

void net_pool_free(struct net_pool *pool) {
        for (size_t i = 0; i < pool->n; i++)
                free(pool->entries[i].name);
        free(pool->entries);
        free(pool);
}

struct net_pool *net_pool_new(const struct net_layout *layout) {
        struct net_pool *pool = calloc(1, sizeof(*pool));

        if (!pool || getrandom(&pool->key, sizeof(pool->key), 0) != (ssize_t)sizeof(pool->key)) {
                free(pool);
                return NULL;
        }
        memset(pool->buckets, 0xff, sizeof(pool->buckets));
        pool->newest = pool->oldest = NONE;
        for (size_t i = 0; i < layout->n_names; i++, pool->n_fixed++)
                if (pool_add(pool, layout->names[i], true) == NONE) {
                        net_pool_free(pool);
                        return NULL;
                }
        return pool;
}

uint32_t net_pool_find(struct net_pool *pool, const char *name) {
        uint32_t i = pool_find_entry(pool, name);

        if (i == NONE)
                i = pool_add(pool, name, false);
        else if (!pool->entries[i].is_fixed) {
                unlink_use(pool, i);
                link_newest(pool, i);
        }
        return i == NONE ? 0 : NET_INDEX_NAMES + i;
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
