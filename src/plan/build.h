/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files that collect a plan's entries share.  An entry is an operation
 * before it is known where it stands: collect_*() add them in any order,
 * order.c puts them in theirs. */
#pragma once

#include "plan.h"

enum entry_origin {
        ENTRY_OWN,      /* nsrun's base view: gives way to a rule */
        ENTRY_DEFAULT,  /* a default rule of the policy (the project, toolchains) */
        ENTRY_EXPLICIT, /* what the user asked for */
        ENTRY_ALIAS,    /* how the user spelled a path: left out where it can't be */
};

struct entry {
        struct plan_op op;
        enum entry_origin origin;
        bool is_placed; /* order.c: the plan owns the strings now */
};

struct entries {
        struct entry *items;
        size_t n;
        bool has_failed; /* for want of memory; sticks */
};

/* Adds an entry of `kind` at `target` (copied).  Never NULL: for want of memory
 * a scratch one, with has_failed set. */
struct plan_op *entries_add(struct entries *e, enum entry_origin origin, enum plan_op_kind kind,
                            const char *target);
/* A read-only bind of what `path` leads to, at `path`, where it exists. */
void entries_add_present(struct entries *e, const char *path);
void entries_add_symlink(struct entries *e, enum entry_origin origin, const char *text, const char *target);
void entries_add_file(struct entries *e, const char *target, const char *text);
void entries_add_tmpfs(struct entries *e, enum entry_origin origin, const char *target, mode_t mode,
                       uint64_t size);
/* Hides the host's folder `host_path` where a rule shows it at `path`. */
void entries_add_hidden(struct entries *e, const char *path, const char *host_path);
void entries_clear(struct entries *e);
#define _cleanup_entries_ _cleanup_(entries_clear)

/* base.c: /dev, /proc, the system roots, /tmp and the home folder. */
int collect_base(struct entries *e, const struct resolved *s, struct nsrun_error *err);
/* etc.c */
int collect_etc(struct entries *e, const struct resolved *s, struct nsrun_error *err);

/* order.c: sorts, resolves rules for one target, makes parents, and moves what
 * remains into the plan.  -EEXIST, -EPERM, -ENOMEM with *err filled. */
int order_entries(struct entries *e, struct nsrun_plan *plan, struct nsrun_error *err);

void plan_op_clear(struct plan_op *op);
