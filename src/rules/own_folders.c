/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Refusals that keep commands out of the folder of run directories ($XDG_CACHE_HOME/nsrun), where other
 * runs and sessions keep what they need on disk, and later runs make their folders; and out of the one
 * in which nsrun remembers what earlier runs could write, and what is kept aside ($XDG_STATE_HOME/nsrun). */
#include "own_folders.h"

#include "base/path.h"
#include "disk/records.h"
#include "disk/rundir.h"
#include "refuse.h"
#include "rules.h"

/* Whether the sandbox keeps a command out of `base` although `rule` shows it: plan/base.c then
 * hides it behind a tmpfs, and a mount point can't be renamed.  That is enough if the rule shows
 * just the folder above it, at its own path.  If the rule shows a folder further up, the command
 * could move the folder above `base` away, mount and all, and make a new one. */
static bool is_hidden(const struct resolved_rule *rule, const char *base) {
        _cleanup_free_ char *parent = path_parent(base);

        return parent && rule->target && streq(rule->source, parent) && streq(rule->target, parent);
}

/* A folder that nsrun keeps things in, and how it is found. */
struct own_folder {
        int (*find_parent)(char **ret, struct nsrun_error *err);
        const char *what, *variable;
        const char *base; /* NULL: the environment names none */
        bool is_unread;   /* nobody inside has a use for what is in it, either */
};

static int refuse_rundirs_rule(nsrun_unused const struct resolved *s, const struct resolved_rule *rule,
                               const void *data, struct nsrun_error *err) {
        const struct own_folder *own = data;
        _cleanup_free_ char *visible = NULL;
        char hint[sizeof(err->hint)];

        if (own->is_unread && path_is_beneath(rule->source, own->base) &&
            (rule->access != POLICY_RW || !streq(rule->source, own->base)))
                return policy_refuse(err, rule->source, "leave it out",
                                     "%s would show what nsrun keeps aside of other runs", rule->option);
        if (rule->access != POLICY_RW || !path_is_beneath(own->base, rule->source) ||
            is_hidden(rule, own->base))
                return 0;
        visible = str_visible(own->base);
        if (!visible)
                return error_oom(err);
        (void)snprintf(hint, sizeof(hint),
                       "that is in %s: name other folders, or set %s to one that no command may "
                       "write",
                       visible, own->variable);
        return policy_refuse(err, rule->source, hint,
                             "%s would let a command write what nsrun keeps of other runs and sessions",
                             rule->option);
}

/* Refuses a symlink on the way to one of nsrun's folders that a command could replace: it would decide
 * where later runs keep their run directories, or what they know of earlier ones. */
static int refuse_rundirs_link(const struct resolved *s, const struct own_folder *own,
                               struct nsrun_error *err) {
        const struct trust trust = resolved_trust(s);
        _cleanup_free_ char *spelled = NULL, *parent = path_parent(own->base);
        struct resolved_rule rule = {.access = POLICY_RO, .option = own->what};

        if (!parent || own->find_parent(&spelled, NULL) < 0)
                return error_oom(err);
        rule.source = parent;
        rule.spelled = spelled;
        return streq(spelled, parent) ? 0 : refuse_untrusted_link(&trust, &rule, err);
}

int refuse_rundirs(const struct resolved *s, struct nsrun_error *err) {
        const struct own_folder folders[] = {
                {rundir_find_cache_home, "the cache folder", "XDG_CACHE_HOME", s->own[OWN_RUNDIRS], false},
                {exposed_find_state_home, "the state folder", "XDG_STATE_HOME", s->own[OWN_EXPOSED], true},
        };
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(folders) && r >= 0; i++) {
                if (!folders[i].base)
                        continue; /* the environment names none, so no run has one */
                r = refuse_rundirs_link(s, &folders[i], err);
                /* The folder of --tmp is at /tmp, too, and nothing in it is hidden there. */
                if (r >= 0)
                        r = rules_judge(s, refuse_rundirs_rule, &folders[i], err);
        }
        return r;
}

/* A folder of sessions' records. */
struct records {
        const char *base;
        bool is_hidden; /* it lies in the cache folder, over which the sandbox has an empty tmpfs: a rule for
                           a folder above it doesn't show them */
};

static int refuse_records_rule(const struct resolved *s, const struct resolved_rule *rule, const void *data,
                               struct nsrun_error *err) {
        const struct records *records = data;
        /* At /tmp the folder of --tmp is shown without that tmpfs. */
        bool is_hidden = records->is_hidden && rule != &s->files.tmp;

        if (!path_is_beneath(rule->source, records->base) &&
            (is_hidden || !path_is_beneath(records->base, rule->source)))
                return 0;
        return policy_refuse(err, rule->source, "name the files in it that the command needs",
                             "%s would expose the records of nsrun's sessions", rule->option);
}

static int refuse_base(const struct resolved *s, const char *base, struct nsrun_error *err) {
        const struct records records = {.base = base,
                                        .is_hidden = s->own[OWN_RUNDIRS] &&
                                                     path_is_beneath(base, s->own[OWN_RUNDIRS])};

        return rules_judge(s, refuse_records_rule, &records, err);
}

int refuse_records(const struct resolved *s, struct nsrun_error *err) {
        char usual[64];
        int r;

        /* The usual place of a login's records is refused always: XDG_RUNTIME_DIR may be unset in
         * this process while sessions of the same user have records there. */
        (void)snprintf(usual, sizeof(usual), "/run/user/%u/nsrun/sessions", (unsigned)s->uid);
        r = refuse_base(s, usual, err);
        return r < 0 || !s->own[OWN_SESSIONS] ? r : refuse_base(s, s->own[OWN_SESSIONS], err);
}
