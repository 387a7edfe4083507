/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a rule may not expose and where it may not put it.  Each refusal says
 * what, where, why and what to do; none of them changes anything. */
#pragma once

#include "policy.h"

/* -EPERM with *err filled, without an errno in the message: the words say it. */
int refuse(struct nsrun_error *err, const char *path, const char *hint, const char *what, ...)
        nsrun_printf(4, 5);

/* planted.c: refuses a source whose spelling (absolute, not normalised) goes
 * through a symlink that lies in a writable root and leads out of it, or that
 * stands for what a read-only rule would protect.  All rules of `p` are canonical by now. */
int refuse_planted(const struct nsrun_policy *p, const struct policy_rule *rule, struct nsrun_error *err);

/* The root that a command may have written to and that `path` (canonical) lies
 * beneath, or NULL. */
const char *refuse_writable_root(const struct nsrun_policy *p, const char *path);

/* For a file that nsrun obeys, `what` in words: it may not lie in such a root, nor be reached by way of a
 * link that refuse_planted() refuses.  `file` is a rule (POLICY_RO) with its source, spelling and option. */
int refuse_changeable(const struct nsrun_policy *p, const struct policy_rule *file, const char *what,
                      struct nsrun_error *err);

/* hardening.c: the seccomp file becomes canonical, and must not be one that a command
 * may write, and no more may the folder of cached filters; Landlock must be there where it is required. */
int refuse_hardening(struct nsrun_policy *p, const char *cwd, struct nsrun_error *err);

/* session.c: the records of sessions say what their commands may do, and what they are told: no command
 * sees them, neither the folder nor one that holds it. */
int refuse_records(const struct nsrun_policy *p, struct nsrun_error *err);

/* A configuration that a command may write, or that is reached through a symlink that one may have
 * planted; and a rule that would let a command write one for later runs. */
int refuse_config(const struct nsrun_policy *p, struct nsrun_error *err);

/* For a configuration that says that there be no sandbox: the same of the file, though no root has been
 * resolved.  Those that a run with one would have let a command write to are the roots. */
int refuse_plain_config(const struct nsrun_policy *p, struct nsrun_error *err);

/* `rule->source` is canonical; `sockets` are sockets_list()'s. */
int refuse_source(const struct policy_rule *rule, char *const *sockets, struct nsrun_error *err);

/* Whether nsrun makes `target` (normalised) itself, or something beneath it. */
bool refuse_is_own(const char *target);

/* `target` is normalised. */
int refuse_target(const struct nsrun_policy *p, const char *target, const char *option,
                  struct nsrun_error *err);
