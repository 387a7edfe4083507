/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a rule may not expose and where it may not put it.  Each refusal says
 * what, where, why and what to do; none of them changes anything. */
#pragma once

#include "resolved.h"

/* -EPERM with *err filled, without an errno in the message: the words say it. */
int refuse(struct nsrun_error *err, const char *path, const char *hint, const char *what, ...)
        nsrun_printf(4, 5);

/* links.c: refuses a source whose spelling goes through a symlink that lies in one of the folders that
 * commands may have `writable` and leads out of it, or that stands for what a read-only rule would
 * protect. */
int refuse_untrusted_link(char *const *writable, const struct resolved_rule *rule, struct nsrun_error *err);

/* For a file that nsrun obeys, `what` in words: it may not lie in such a folder, nor be reached by way of
 * a link that refuse_untrusted_link() refuses.  `file` is a rule (POLICY_RO) with its source, spelling and
 * option. */
int refuse_changeable(char *const *writable, const struct resolved_rule *file, const char *what,
                      struct nsrun_error *err);

/* hardening.c: finds the seccomp file, which must not be one that a command may write; Landlock must
 * be there where it is required. */
int refuse_hardening(struct resolved *s, struct nsrun_error *err);

/* rundirs.c: no rule may let a command write the folder of run directories, nor replace a symlink
 * on the way to it. */
int refuse_rundirs(const struct resolved *s, struct nsrun_error *err);

/* session.c: the records of sessions say what their commands may do, and what they are told: no command
 * sees them, neither the folder nor one that holds it. */
int refuse_records(const struct resolved *s, struct nsrun_error *err);

/* links.c: a configuration that a command may write, or that is reached through a symlink that one may
 * have planted; and a rule that would let a command write one for later runs. */
int refuse_config(const struct resolved *s, struct nsrun_error *err);

/* links.c: for a configuration that says that there be no sandbox, so that nothing is resolved: the same
 * of its file.  What a run with a sandbox would have let a command write to is what counts. */
int refuse_plain_config(const struct nsrun_policy *p, struct nsrun_error *err);

/* Only the source, canonical, of `rule` and its access are looked at; `sockets` are sockets_list()'s. */
int refuse_source(const struct resolved_rule *rule, char *const *sockets, struct nsrun_error *err);

/* secrets.c: a folder of the `home` (may be NULL) that holds keys or passwords, something in it or a hidden
 * folder around it is no project, not writable and no overlay.  Source, spelling and access are looked at.
 */
int refuse_secrets(const struct resolved_rule *rule, const char *home, struct nsrun_error *err);

/* Whether nsrun makes `target` (normalised) itself, or something beneath it. */
bool refuse_is_own(const char *target);

/* `target` is normalised. */
int refuse_target(const struct nsrun_policy *p, const char *target, const char *option,
                  struct nsrun_error *err);
