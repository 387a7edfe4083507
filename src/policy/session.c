/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Refusals around sessions: options that a command in a running session may not choose, and rules
 * that would show the records of sessions.  An option that the session has decided is refused even
 * where it would change nothing: who asks for a narrower sandbox must not believe to have one. */
#include "base/path.h"
#include "disk/records.h"
#include "disk/rundir.h"
#include "refuse.h"

static int policy_session_refuse_rule(const struct resolved_rule *rule, const char *base, bool is_hidden,
                                      struct nsrun_error *err) {
        /* Where is_hidden, the records lie in the cache folder, over which the sandbox has an empty
         * tmpfs: a rule for a folder above it doesn't show them. */
        if (!path_is_beneath(rule->source, base) && (is_hidden || !path_is_beneath(base, rule->source)))
                return 0;
        return policy_refuse(err, rule->source, "name the files in it that the command needs",
                             "%s would expose the records of nsrun's sessions", rule->option);
}

static int refuse_base(const struct resolved *s, const char *base, struct nsrun_error *err) {
        _cleanup_free_ char *cache = NULL;
        bool is_hidden = rundir_find_base(&cache, NULL) >= 0 && path_is_beneath(base, cache);
        int r = 0;

        /* At /tmp the folder of --tmp is shown without that tmpfs. */
        if (s->tmp.source)
                r = policy_session_refuse_rule(&s->tmp, base, false, err);
        for (size_t i = 0; i < s->n_rules && r >= 0; i++)
                r = policy_session_refuse_rule(&s->rules[i], base, is_hidden, err);
        return r;
}

int refuse_records(const struct resolved *s, struct nsrun_error *err) {
        _cleanup_free_ char *base = NULL;
        char usual[64];
        int r;

        /* The usual place of a login's records is refused always: XDG_RUNTIME_DIR may be unset in
         * this process while sessions of the same user have records there. */
        (void)snprintf(usual, sizeof(usual), "/run/user/%u/nsrun/sessions", (unsigned)s->uid);
        r = refuse_base(s, usual, err);
        if (r < 0 || records_find_base(&base, NULL) < 0)
                return r;
        return refuse_base(s, base, err);
}
