/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From what was asked to what it means here and now. */
#pragma once

#include "rules/resolved.h"

/* A policy, and what it is resolved for.  A caller that needs another command than the policy's
 * asks here, so that the policy stays as it is. */
struct policy_request {
        const struct nsrun_policy *policy;
        bool is_session;      /* for a session's sandbox, which has no command of its own */
        bool starts_here;     /* the command starts in the current folder, if that lies in the project */
        bool is_shown;        /* for a plan that is shown, which may do without a command */
        const char *terminal; /* the terminal that the command has instead of the caller's; or NULL */
        bool is_plain;        /* without a sandbox: the caller knows that isolation is disabled */
        char *const *argv;    /* the command; NULL: the policy's */
        const char *const
                *unset; /* names of variables that the command never gets, NULL at the end; NULL: none */
        const char *const *usual; /* "NAME=VALUE" in place of inherited variables, unless the policy says
                                     something of NAME; NULL at the end; NULL: none */
};

/* Finds the project, makes every path canonical, adds nsrun's own rules (toolchains, git dirs),
 * decides the environment and refuses what must be refused.  Changes neither the policy nor the
 * host.  For a policy with --session it only judges whether that session's command may ask for the
 * rest, and *ret is empty.  *ret is to be cleared whatever this returns. */
int policy_resolve(const struct policy_request *request, struct resolved *ret, struct nsrun_error *err);
