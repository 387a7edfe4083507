/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What of the host a plan shows, and where: for verify.c alone. */
#pragma once

#include "base/path.h"
#include "plan.h"

/* An index; one below 0 is this, too. */
#define NOWHERE SIZE_MAX

/* Operations in the order of their targets, or of their sources: what lies around a path is found without a
 * look at all of them. */
struct tree {
        const struct plan_op **ops;
        size_t *above; /* of each the last one before it whose path is at or above its own */
        size_t n;
        bool is_of_sources;
};

/* Where nsrun keeps runs, what it remembers of them, and sessions' records. */
enum {
        OWN_RUNS,
        OWN_STATE,
        OWN_RECORDS,
};

struct verifying {
        const struct nsrun_plan *plan;
        struct tree targets, sources;
        char *homes[2];             /* the user's, as it is canonical and as it is spelled, or NULL */
        char *own[OWN_RECORDS + 1]; /* or NULL */
        struct nsrun_error *err;
};

static inline bool op_is_writable(const struct plan_op *op) {
        return op->kind == PLAN_BIND && !op->is_read_only && !op->is_device;
}

/* Whether a path lies in `root`, which may be NULL. */
static inline bool is_in(const char *path, const char *root) {
        return root && path_is_beneath(path, root);
}

/* Whether a path lies in one of these. */
static inline bool is_in_one_of(const char *path, const char *const *roots) {
        while (*roots && !path_is_beneath(path, *roots))
                roots++;
        return *roots;
}

static inline bool is_among(const char *text, const char *const *list) {
        while (*list && !streq(text, *list))
                list++;
        return *list;
}

/* Refuse the plan, for an operation or as a whole. */
int verify_fail(const struct verifying *v, const struct plan_op *op, const char *why);
int verify_fail_plan(const struct verifying *v, const char *why);

void tree_add(struct tree *t, const struct plan_op *op);
/* The operation that decides what is seen at a path inside; NULL: the root. */
const struct plan_op *seen_at(const struct verifying *v, const char *path);
/* The mount on which an operation's target lies; NULL: the root. */
const struct plan_op *ground_of(const struct verifying *v, const struct plan_op *op);

/* Refuses a plan that shows what nobody may see, what is hidden, or lets what is protected be written,
 * wherever one operation shows it and no later one covers it. */
int verify_seen(const struct verifying *v);
