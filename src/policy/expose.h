/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Expose paths: host paths that an isolated command is given, as a configuration or a
 * host's own list has them.  Strings alone; what they lead to is judged by the policy. */
#pragma once

#include "base/error.h"

struct expose_rule {
        char *source; /* normalised where absolute; never NULL */
        char *target; /* likewise; the source where none was given */
        char *mode;
        const char *label; /* who asked, for messages; not owned */
};

struct expose_list {
        struct expose_rule *items;
        size_t n;
};

/* Appends a normalised copy.  NULL is as good as "".  -ENOMEM. */
int expose_add(struct expose_list *list, const char *source, const char *target, const char *mode,
               const char *label);
int expose_add_all(struct expose_list *list, const struct nsrun_expose_path *items, size_t n,
                   const char *label);
/* What every isolated command is given.  `root` may be NULL. */
int expose_add_defaults(struct expose_list *list, const char *root);
/* Leaves one rule for each target: the last one, where the first one stood.  -ENOMEM. */
int expose_merge(struct expose_list *list);
/* -EINVAL with *err filled: no source, a path that isn't absolute, a mode that is neither. */
int expose_check(const struct expose_rule *rule, struct nsrun_error *err);
/* All of them, and one rule for each target. */
int expose_check_all(const struct expose_list *list, struct nsrun_error *err);
/* One block for the caller to free, strings and all; an empty list is one, too. */
int expose_pack(const struct expose_list *list, struct nsrun_expose_path **ret, size_t *ret_n);
void expose_clear(struct expose_list *list);
#define _cleanup_expose_ _cleanup_(expose_clear)
