/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files share that collect a plan's entries.  An entry is an operation whose place in the
 * order isn't known yet: the collect_*() functions add entries in any order, and order_entries()
 * sorts them. */
#pragma once

#include "plan.h"

enum entry_origin {
        ENTRY_OWN,      /* of the base view; gives way where a rule shows a host folder */
        ENTRY_DEFAULT,  /* a default rule of the policy (the project, toolchains) */
        ENTRY_EXPLICIT, /* what the user asked for */
        ENTRY_HIDDEN,   /* hides what another entry shows around it */
        ENTRY_ALIAS,    /* a symlink for the spelling that the user gave; left out where it can't be made */
};

struct entry {
        struct plan_op op;
        enum entry_origin origin;
        bool is_placed; /* set by order.c: `op` is copied into the plan, which frees its strings */
};

struct entries {
        struct entry *items;
        size_t n;
        bool has_failed; /* memory ran out in one of the entries_add*() functions; never reset */
};

/* Adds an entry of `kind` at `target` (copied).  Never NULL: if memory runs out it answers an entry
 * that is in no list, and sets has_failed. */
struct plan_op *entries_add(struct entries *e, enum entry_origin origin, enum plan_op_kind kind,
                            const char *target);
/* Adds a read-only bind of `source` (taken over; NULL: memory ran out), whose type `mode` says, at `path`.
 */
void entries_add_shown(struct entries *e, char *source, unsigned mode, const char *path);
/* Adds a read-only bind of what `path` leads to, at `path`, if it exists on the host. */
void entries_add_present(struct entries *e, const char *path);
/* system_links.c: adds what a path of the system's leads to, read-only and where it is, with the links on
 * the way, as far as they aren't shown.  All rules are known.  -ENOMEM. */
int entries_add_way(struct entries *e, const struct resolved *s, const char *path);
void entries_add_symlink(struct entries *e, enum entry_origin origin, const char *text, const char *target);
void entries_add_file(struct entries *e, const char *target, const char *text);
void entries_add_tmpfs(struct entries *e, enum entry_origin origin, const char *target, mode_t mode,
                       uint64_t size);
/* Adds a tmpfs that hides the host's folder `host_path` if a rule shows that folder at `path`. */
void entries_add_hidden(struct entries *e, const char *path, const char *host_path);
void entries_clear(struct entries *e);
#define _cleanup_entries_ _cleanup_(entries_clear)

/* base.c: /dev, /proc, the system roots, /tmp and the home folder. */
int collect_base(struct entries *e, const struct resolved *s, struct nsrun_error *err);
/* Hides `home`, passwd's or NULL, where $HOME names another and every sandbox shows what it lies in.
 * -ENOMEM. */
int collect_accounts_home(struct entries *e, const struct resolved *s, const char *home);
/* granted.c: what --kvm and its like show. */
void collect_granted(struct entries *e, const struct resolved *s);
/* read_only_parents.c: what lies on the way to the project is read-only; all rules are known. */
void collect_beside(struct entries *e, const struct resolved *s);
/* Makes /var/tmp and /etc/mtab symlinks (to /tmp, to the mounts), unless another entry is there; all others
 * are known. */
void collect_links(struct entries *e);
/* etc.c: /etc. */
int collect_etc(struct entries *e, const struct resolved *s, struct nsrun_error *err);

/* hidden.c: all other entries are known. */
int collect_hidden(struct entries *e, const struct resolved *s);
/* Fills plan->hidden; all operations are known. */
int plan_identify_hidden(struct nsrun_plan *plan, const struct resolved *s);

/* order.c: sorts entries, decides between two for one target, adds the folders that mount points
 * need, and moves what remains into the plan.  -EEXIST, -ELOOP, -EROFS, -ENOMEM with *err filled. */
int order_entries(struct entries *e, struct nsrun_plan *plan, struct nsrun_error *err);

void plan_op_clear(struct plan_op *op);
