/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules of protected names. */
#include "protect_rules.h"

#include "base/array.h"
#include "base/path.h"

/* Whether a rule shows something else there: the very path, or an overlay or what is read-only around it. */
static bool is_shown_otherwise(const struct resolved *s, const char *target) {
        const struct resolved_rule *around = NULL;

        for (size_t i = 0; i < s->n_rules; i++) {
                const struct resolved_rule *rule = &s->rules[i];

                if (streq(rule->target, target))
                        return true;
                if (path_is_beneath(target, rule->target) &&
                    (!around || strlen(rule->target) > strlen(around->target)))
                        around = rule;
        }
        return around && around->access != POLICY_RW;
}

int protect_add_rule(struct resolved *s, enum policy_access access, const char *source, const char *target,
                     bool is_directory) {
        struct resolved_rule rule = {.access = access,
                                     .origin = POLICY_BY_DEFAULT,
                                     .giver = access == POLICY_RW ? PLAN_BY_PIN : PLAN_BY_PROTECTED,
                                     .option = "a protected name",
                                     .is_directory = is_directory};

        if (is_shown_otherwise(s, target))
                return 0;
        if (ARRAY_GROW(s->rules, s->n_rules) < 0)
                return -ENOMEM;
        rule.source = strdup(source);
        rule.target = strdup(target);
        if (!rule.source || !rule.target) {
                resolved_rule_clear(&rule);
                return -ENOMEM;
        }
        s->rules[s->n_rules++] = rule;
        return 0;
}

/* Where it is, and wherever else a writable rule shows it. */
int protect_add_everywhere(struct resolved *s, const char *source, bool is_directory) {
        const char *in_tmp = s->tmp.source ? path_below(source, s->tmp.source) : NULL;
        size_t n = s->n_rules;

        for (size_t i = 0; i < n; i++) {
                const struct resolved_rule *rule = &s->rules[i];
                const char *below = rule->access == POLICY_RW ? path_below(source, rule->source) : NULL;
                _cleanup_free_ char *target = below && *below ? path_join(rule->target, below) : NULL;

                if (!below || !*below)
                        continue;
                if (!target || protect_add_rule(s, POLICY_RO, source, target, is_directory) < 0)
                        return -ENOMEM;
        }
        if (in_tmp) {
                _cleanup_free_ char *target = path_join("/tmp", in_tmp);

                return target ? protect_add_rule(s, POLICY_RO, source, target, is_directory) : -ENOMEM;
        }
        return 0;
}
