/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A policy for a command in a session that runs already: what it may still choose.  The
 * rest was decided when the session was started, and is refused, also where it would
 * change nothing: who asks for a narrower sandbox must not believe to have it. */
#include "refuse.h"

int policy_resolve_session(const struct nsrun_policy *p, struct nsrun_error *err) {
        static const char *const allowed[] = {"session",  "kill-leftovers", "env",
                                              "unsetenv", "chdir",          "new-session"};

        STRV_FOREACH (name, p->given) {
                bool is_allowed = false;

                for (size_t i = 0; i < ARRAY_SIZE(allowed) && !is_allowed; i++)
                        is_allowed = streq(*name, allowed[i]);
                if (!is_allowed)
                        return error_setf(err, NSRUN_STAGE_POLICY, -EPERM, p->session,
                                          "leave it out, or start another session with it",
                                          "--%s can't be given with --session: what a session's commands "
                                          "may do was decided when it was started",
                                          *name);
        }
        if (p->has_workspace)
                return error_set(err, NSRUN_STAGE_POLICY, -EPERM, p->session,
                                 "a workspace can't be given with --session: what a session's commands see "
                                 "was decided when it was started",
                                 "start another session with it");
        return 0;
}
