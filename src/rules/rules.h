/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One rule: from the words that asked for it to canonical paths. */
#pragma once

#include "resolved.h"

/* A rule that is to be resolved.  The caller keeps the strings; only `option` must live on. */
struct rule_request {
        enum policy_access access;
        enum policy_origin origin;
        enum plan_origin giver; /* POLICY_BY_DEFAULT: struct resolved_rule's */
        const char *option;
        const char *source;
        const char *target; /* absolute; NULL: the same path as the source */
        const char *
                spelled; /* the source as the user named it, if the caller has followed its links; or NULL */
        unsigned mode;   /* of the source, if it is known and the source is canonical; else 0 */
        bool is_canonical;  /* the source is, though what it is isn't known */
        bool is_to_be_made; /* the source is a folder that the run makes before it is mounted */
        bool is_optional;   /* the rule is left out where its source is missing */
        unsigned rank;      /* struct policy_rule's */
};

/* Resolves a rule and adds it.  One of nsrun's own whose source is missing is left out; a rule for
 * what may not be exposed is refused. */
int resolve_rule(struct resolved *s, const struct rule_request *request, struct nsrun_error *err);
/* Resolves and adds a rule of nsrun's own, whose target is its source. */
int resolve_default(struct resolved *s, enum plan_origin giver, enum policy_access access,
                    const char *source, const char *option, struct nsrun_error *err);
int resolve_link(struct resolved *s, const char *text, const char *path, struct nsrun_error *err);
int resolve_tmpfs(struct resolved *s, const struct policy_tmpfs *tmpfs, struct nsrun_error *err);
/* Leaves one rule for each target, and refuses contradictions. */
int resolve_conflicts(struct resolved *s, struct nsrun_error *err);
/* The absolute spelling of `spelled`; NULL for want of memory. */
char *resolve_spelling(const struct resolved *s, const char *spelled);
/* Whether a rule that isn't writable shows `source` at `target`, over what a writable one would show there.
 */
bool rules_keep(const struct resolved *s, const char *source, const char *target);
/* The rule for that very target; NULL: there is none. */
struct resolved_rule *rules_find(const struct resolved *s, const char *target);
/* Judges the folder of --tmp, then each rule, until one is refused. */
int rules_judge(const struct resolved *s,
                int (*judge)(const struct resolved *s, const struct resolved_rule *rule, const void *data,
                             struct nsrun_error *err),
                const void *data, struct nsrun_error *err);
/* Adds the folders that a command of this run may write to, as far as their rules are known, to *ret.  The
 * project is one of them even if it is read-only now: an earlier run may have been able to write to it.
 * -ENOMEM. */
int rules_list_writable(const struct resolved *s, char ***ret);
