/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a policy came to at one moment: every path canonical, nsrun's own rules added,
 * conflicts settled or refused.  Made by policy_resolve() alone, and const for plan/. */
#pragma once

#include "policy.h"

/* A policy, and what it is resolved for: a caller that needs a variation asks for it here. */
struct policy_request {
        const struct nsrun_policy *policy;
        bool is_session;          /* a session's sandbox, which has no command of its own */
        char *const *argv;        /* the command; NULL: the policy's */
        const char *const *unset; /* variables that the command never gets, ends with NULL; NULL: none */
};

/* One path of the host that the sandbox sees. */
struct resolved_rule {
        enum policy_access access;
        enum policy_origin origin;
        const char *option; /* who asked for it, for messages: static, or one of the policy's labels */
        char *source;       /* canonical; a folder that the run makes first may be missing */
        char *target;       /* normalised */
        char *alias;        /* how the user spelled the target where that differs: a symlink; or NULL */
        char *spelled; /* the source as it was given, absolute but not normalised, where that differs; or
                          NULL */
        bool is_directory;
};

struct resolved {
        const struct nsrun_policy *policy; /* what was asked; it outlives this */
        char *const *argv;                 /* NULL: a session's */
        const char *const *unset;
        bool is_session;

        char *cwd;      /* where nsrun was called; NULL: it can't be told */
        char **sockets; /* sockets_list()'s */
        char *home;     /* $HOME inside, normalised, or NULL for none of its own */
        uid_t uid;
        gid_t gid;
        char *project; /* canonical; NULL: none */

        struct resolved_rule *rules;
        size_t n_rules;
        struct policy_link *links; /* paths normalised */
        size_t n_links;
        struct resolved_rule tmp; /* the host's folder for /tmp, its target unset; source NULL: none */
        bool has_scratch;         /* /tmp is a folder of the run directory */
        char **writable; /* the host's folders that this command may write to, or an earlier one has: the
                            project, --tmp's and the writable rules'; complete when all rules are known */

        char *seccomp;        /* one of nsrun's policies, "none", or a file, canonical */
        char **env;           /* what the command gets, but for PWD */
        char **left_out;      /* names that were inherited and are withheld, sorted */
        char **identity;      /* "GIT_AUTHOR_NAME=…" and so on: what git on the host says */
        char **ephemeral;     /* folders that are a tmpfs of their own inside, with rules beneath them */
        char *git_dir;        /* outside the project, where .git is a file; or NULL */
        char *git_common_dir; /* of a worktree; or NULL */
        char **reserved;      /* names in those that nothing inside may take: empty, and can't be replaced */
        char *instance_root;  /* of the instance profile: canonical, and perhaps not there yet; else NULL */
        char **instance_env;  /* "HOME=…" and so on */
};

/* Finds the project, makes every path canonical, merges nsrun's own rules (toolchains, git dirs),
 * decides the environment and refuses what must be refused.  Changes neither the policy nor the host.
 * Of a policy with "session" it only judges what may be asked there, and *ret is empty.
 * *ret is to be cleared whatever this returns. */
int policy_resolve(const struct policy_request *request, struct resolved *ret, struct nsrun_error *err);
void resolved_clear(struct resolved *s);
#define _cleanup_resolved_ _cleanup_(resolved_clear)

/* The home folder that `named`, the value of HOME, gives, else the user's; NULL where a home of its own
 * would be in the sandbox's way.  -ENOMEM. */
int policy_find_home(const char *named, char **ret);

/* session.c: for a command in a session.  -EPERM: what the session has decided. */
int policy_resolve_session(const struct nsrun_policy *p, struct nsrun_error *err);

/* ------------------------------------------------- rules.c: for the files of this folder */

/* A rule that is to be resolved.  The strings stay the caller's, but for `option`. */
struct rule_request {
        enum policy_access access;
        enum policy_origin origin;
        const char *option;
        const char *source;
        const char *target; /* absolute; NULL: where the source is */
        const char
                *spelled;   /* how the user named the source, where the caller has followed links; or NULL */
        bool is_to_be_made; /* a folder that the run makes before it is mounted */
};

/* Adds the rule.  One of nsrun's own whose source is missing is left out; what may not be exposed
 * is refused. */
int resolve_rule(struct resolved *s, const struct rule_request *request, struct nsrun_error *err);
/* One of nsrun's own, where the source is. */
int resolve_default(struct resolved *s, enum policy_access access, const char *source, const char *option,
                    struct nsrun_error *err);
int resolve_link(struct resolved *s, const char *text, const char *path, struct nsrun_error *err);
/* Leaves one rule for each target, and refuses contradictions. */
int resolve_conflicts(struct resolved *s, struct nsrun_error *err);
/* The absolute spelling of `spelled`; NULL for want of memory. */
char *resolve_spelling(const struct resolved *s, const char *spelled);
void resolved_rule_clear(struct resolved_rule *rule);
