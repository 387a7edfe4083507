/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Refusals that keep commands out of the folder of run directories ($XDG_CACHE_HOME/nsrun): there
 * other runs and sessions keep what they need on disk, and later runs make their folders. */
#include "base/path.h"
#include "disk/rundir.h"
#include "refuse.h"

/* Whether the sandbox keeps a command out of `base` although `rule` shows it: plan/base.c then
 * hides it behind a tmpfs, and a mount point can't be renamed.  That is enough if the rule shows
 * just the folder above it, at its own path.  If the rule shows a folder further up, the command
 * could move the folder above `base` away, mount and all, and make a new one. */
static bool is_hidden(const struct resolved_rule *rule, const char *base) {
        _cleanup_free_ char *parent = path_parent(base);

        return parent && rule->target && streq(rule->source, parent) && streq(rule->target, parent);
}

static int refuse_rundirs_rule(const struct resolved_rule *rule, const char *base, struct nsrun_error *err) {
        _cleanup_free_ char *visible = NULL;
        char hint[sizeof(err->hint)];

        if (rule->access != POLICY_RW || !path_is_beneath(base, rule->source) || is_hidden(rule, base))
                return 0;
        visible = str_visible(base);
        if (!visible)
                return error_oom(err);
        (void)snprintf(hint, sizeof(hint),
                       "that is in %s: name other folders, or set XDG_CACHE_HOME to one that no command may "
                       "write",
                       visible);
        return refuse(err, rule->source, hint,
                      "%s would let a command write what nsrun keeps of other runs and sessions",
                      rule->option);
}

/* Refuses a symlink on the way to the cache folder that a command could replace: it would decide
 * where later runs keep their run directories. */
static int refuse_rundirs_link(const struct resolved *s, const char *base, struct nsrun_error *err) {
        _cleanup_free_ char *spelled = NULL, *home = path_parent(base);
        struct resolved_rule rule = {.access = POLICY_RO, .option = "the cache folder"};

        if (!home || rundir_find_cache_home(&spelled, NULL) < 0)
                return error_oom(err);
        rule.source = home;
        rule.spelled = spelled;
        return streq(spelled, home) ? 0 : refuse_untrusted_link(s->writable, &rule, err);
}

int refuse_rundirs(const struct resolved *s, struct nsrun_error *err) {
        _cleanup_free_ char *base = NULL;
        int r;

        if (rundir_find_base(&base, NULL) < 0)
                return 0; /* no cache folder is known, so no run has a run directory */
        r = refuse_rundirs_link(s, base, err);
        /* The folder of --tmp is at /tmp, too, and nothing in it is hidden there. */
        if (r >= 0 && s->tmp.source)
                r = refuse_rundirs_rule(&s->tmp, base, err);
        for (size_t i = 0; i < s->n_rules && r >= 0; i++)
                r = refuse_rundirs_rule(&s->rules[i], base, err);
        return r;
}
