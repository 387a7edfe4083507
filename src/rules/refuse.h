/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Refusals: what a rule may not expose and where it may not put it.  Each says what, where, why and
 * what to do; none changes anything. */
#pragma once

#include "policy/refusal.h"
#include "resolved.h"

/* What a symlink, or a file that nsrun obeys, is judged by. */
struct trust {
        char *const *writable; /* the folders that commands of this run may write to */
        const char *home;      /* the user's; or NULL */
        const struct exposed *known;
        const char *kept; /* a file that no run lets a command write, whatever folder it lies in; or NULL */
};
static inline struct trust resolved_trust(const struct resolved *s) {
        return (struct trust){.writable = s->files.writable, .home = s->home, .known = &s->known};
}

/* symlinks.c: refuses a rule whose source is reached through a symlink that a command of this run or an
 * earlier one, the author of a repository or another user may have planted.  For a writable rule only
 * a link that leads out of its folder is refused. */
int refuse_untrusted_link(const struct trust *trust, const struct resolved_rule *rule,
                          struct nsrun_error *err);

/* symlinks.c: refuses a file that nsrun obeys if it lies in a folder that this run or an earlier one lets a
 * command write, or is reached through a symlink that refuse_untrusted_link() refuses.  `what` names the
 * file in words; `file` has its source, spelling and option, and POLICY_RO. */
int refuse_changeable(const struct trust *trust, const struct resolved_rule *file, const char *what,
                      struct nsrun_error *err);

/* Refuses a rule for what its source is.  Of `rule` only the canonical source and the access are
 * looked at; `sockets` are those of sockets_list(). */
int refuse_source(const struct resolved_rule *rule, char *const *sockets, struct nsrun_error *err);

/* Whether nsrun makes `target` (normalised) itself, or something beneath it. */
bool refuse_is_own(const char *target);

/* Refuses a target (normalised) at which a rule may not put anything. */
int refuse_target(const struct nsrun_policy *p, const char *target, const char *option,
                  struct nsrun_error *err);
