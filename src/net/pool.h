/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which number stands for which name inside.  Names that rules spell out have theirs for good; those that a
 * wildcard allows get one when they are asked for, and lose it when others need it and nobody is
 * connected. */
#pragma once

#include "layout.h"

/* So many names that wildcards allow are known at once: three megabytes. */
#define NET_POOL_MOST 8192U

struct net_pool;
struct net_pool *net_pool_new(const struct net_layout *layout);
void net_pool_free(struct net_pool *pool);
/* The number of a name that the rules have.  0: there is none, since all are in use. */
uint32_t net_pool_find(struct net_pool *pool, const char *name);
/* The name of a number; NULL: it has none.  Lives until the next net_pool_find(). */
const char *net_pool_name(const struct net_pool *pool, uint32_t index);
/* A connection to the name begins or ends. */
void net_pool_hold(struct net_pool *pool, uint32_t index);
void net_pool_release(struct net_pool *pool, uint32_t index);
