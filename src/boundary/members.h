/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The members of a record in the order in which they are written (launch/blueprint.c) and read
 * (blueprint.c), and of which form each is.  The compiler complains where a struct has a member without a
 * row. */
#pragma once

#include "blueprint.h"

#define BLUEPRINT_MEMBERS(M)    \
        M(STRUCT, facts)        \
        M(TEXT, file)           \
        M(TEXT, cwd)            \
        M(TEXT, hostname)       \
        M(TEXT, home)           \
        M(TEXT, rundir)         \
        M(TEXT, rundir_path)    \
        M(TEXT, init_path)      \
        M(TEXT, processes_hint) \
        M(TEXT, session)        \
        M(TEXT, grant)          \
        M(TEXT, cgroup_path)    \
        M(TEXT, file_label)     \
        M(TEXT, exec_label)     \
        M(TEXTS, argv)          \
        M(TEXTS, env)           \
        M(TEXTS, directories)   \
        M(TEXTS, pwd)           \
        M(TEXTS, lock_files)    \
        M(FILTERS, filters)     \
        M(NOTHING, n_filters)   \
        M(ITEMS, passed)        \
        M(NOTHING, n_passed)    \
        M(ITEMS, routes)        \
        M(NOTHING, n_routes)    \
        M(ITEMS, sockets)       \
        M(NOTHING, n_sockets)   \
        M(OPS, ops)             \
        M(NOTHING, n_ops)       \
        M(ITEMS, held)          \
        M(NOTHING, n_held)      \
        M(NOTHING, lists)       \
        M(NOTHING, lists_size)

/* An initialiser that has one item for each row. */
#define EMPTY_NUMBER  0
#define EMPTY_BOOL    false
#define EMPTY_TEXT    NULL
#define EMPTY_BYTES   NULL
#define EMPTY_TEXTS   NULL
#define EMPTY_FILTERS NULL
#define EMPTY_ITEMS   NULL
#define EMPTY_OPS     NULL
#define EMPTY_NOTHING 0
#define EMPTY_STRUCT \
        { .life = BOUNDARY_SANDBOX }
#define EMPTY(kind, member)            EMPTY_##kind,
#define EMPTY_OP(kind, stored, member) EMPTY_##kind,
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wmissing-field-initializers"
static const nsrun_unused struct plan_op every_op = {OP_MEMBERS(EMPTY_OP)};
static const nsrun_unused struct blueprint every_member = {BLUEPRINT_MEMBERS(EMPTY)};
#pragma GCC diagnostic pop

/* How many bytes of an opened record's memory a list takes. */
static inline size_t blueprint_list_size(size_t n, size_t size) {
        return (n * size + 15) & ~(size_t)15;
}

/* Whether an operation's text is bytes of a file, any of them, and not a string. */
static inline bool op_has_bytes(const struct plan_op *op, bool is_raw) {
        return op->kind == PLAN_DATA || (op->kind == PLAN_FILE && is_raw);
}
