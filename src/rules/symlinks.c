/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Refusals for symlinks that a command may have planted.  A source that is reached through a
 * symlink in a writable folder is not what the user meant to expose, but what the last command
 * chose. */
#include "refuse.h"

#include "base/path.h"
#include "disk/reach.h"

/* Whether a command that could write to one of the `writable` folders may have planted `link` to
 * choose the rule's source.  A link that leads to a place in the same folder shows a writable rule
 * nothing new; for a read-only rule it is refused all the same, since the command could change what
 * the rule means to protect.  (A writable rule's own source is among `writable`, wherever the link
 * leads: so each folder is judged for itself, and one that refuses is enough.) */
static bool is_planted(char *const *writable, const char *link, const struct resolved_rule *rule) {
        STRV_FOREACH (root, writable)
                if (path_is_beneath(link, *root) &&
                    (rule->access == POLICY_RO || !path_is_beneath(rule->source, *root)))
                        return true;
        return false;
}

struct link_look {
        const struct trust *trust;
        const struct resolved_rule *rule;
        struct nsrun_error *err;
};

static int judge_link(void *data, const char *link) {
        const struct link_look *look = data;
        const struct trust *trust = look->trust;
        enum reach reach = REACH_NOBODY;
        int r = reach_of_link(link, look->rule->source, trust->home, trust->known, &reach);

        if (is_planted(trust->writable, link, look->rule))
                reach = REACH_NOW;
        if (r < 0 || reach == REACH_NOBODY)
                return r;
        return reach_refuse(reach, look->rule->option, link, look->rule->source, look->err);
}

int refuse_untrusted_link(const struct trust *trust, const struct resolved_rule *rule,
                          struct nsrun_error *err) {
        struct link_look look = {.trust = trust, .rule = rule, .err = err};
        int r = reach_each_link(rule->spelled, rule->source, judge_link, &look);

        return r == -EAGAIN   ? reach_refuse_changed(rule->option, rule->spelled, err)
               : r == -ENOMEM ? error_oom(err)
                              : r;
}

int refuse_changeable(const struct trust *trust, const struct resolved_rule *file, const char *what,
                      struct nsrun_error *err) {
        static const char hint[] = "keep it outside of what a command may write";

        STRV_FOREACH (root, trust->writable)
                if (path_is_beneath(file->source, *root))
                        return policy_refuse(err, file->source, hint,
                                             "%s lies in a writable folder, where a command could change it",
                                             what);
        if (!(trust->kept && streq(trust->kept, file->source)) &&
            exposed_is_known(trust->known, file->source))
                return policy_refuse(
                        err, file->source, hint,
                        "%s lies in a folder that an earlier run could write, where a command could "
                        "change it",
                        what);
        return streq(file->spelled, file->source) ? 0 : refuse_untrusted_link(trust, file, err);
}
