/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A policy without a sandbox: what it comes to, and which options contradict it.  A policy gets
 * here only by a host program's own call ("no-sandbox", or isolation that it left disabled), or by
 * a configuration that refuse_plain_config() has judged: no key of a configuration means
 * "no-sandbox". */
#include "no_sandbox.h"

#include "base/responds.h"
#include "environment.h"
#include "policy/withheld.h"
#include "project.h"

const char policy_no_sandbox_warning[] =
        "--no-sandbox: the command runs as you and reads what you can: ~/.ssh, cloud credentials, "
        "browser sessions; leave --no-sandbox away, or have a container around it";

/* The first of the options that were given that isn't among those allowed; NULL: there is none. */
static const char *first_but(char *const *given, const char *const *allowed, size_t n) {
        STRV_FOREACH (name, given) {
                bool is_allowed = false;

                for (size_t i = 0; i < n; i++)
                        is_allowed |= streq(*name, allowed[i]);
                if (!is_allowed)
                        return *name;
        }
        return NULL;
}

static int refuse_beside(const char *what, const char *why, struct nsrun_error *err) {
        return error_setf(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), NULL, "leave one of the two out",
                          "%s can't be had with --no-sandbox: %s", what, why);
}

/* Refuses options that would confine the command, so that nobody believes to have what they ask
 * for.  Those that say where and with what environment a command runs mean the same without a
 * sandbox. */
static int refuse_options(const struct nsrun_policy *p, struct nsrun_error *err) {
        static const char *const allowed[] = {"no-sandbox", "project", "env",           "unsetenv",
                                              "clean-env",  "chdir",   "no-config",     "new-session",
                                              "limit",      "config",  "no-new-session"};
        const char *name = first_but(p->given, allowed, ARRAY_SIZE(allowed));
        char option[64];

        if (p->no_project)
                return refuse_beside("--no-project", "there is no empty folder to run in", err);
        if (name) {
                (void)snprintf(option, sizeof(option), "--%s", name);
                return refuse_beside(option, "nothing is confined", err);
        }
        if (p->profile == POLICY_PROFILE_INSTANCE)
                return refuse_beside("the instance profile", "nothing is confined", err);
        if (p->has_workspace && p->tmp)
                return refuse_beside("a workspace's temp as /tmp", "the command has the host's /tmp", err);
        return 0;
}

int policy_resolve_plain(struct resolved *s, struct nsrun_error *err) {
        const struct nsrun_policy *p = s->policy;
        int r = p->no_sandbox ? refuse_options(p, err) : 0;

        if (r < 0)
                return r;
        if (s->is_session)
                return refuse_beside("a session", "it is a sandbox for many commands", err);
        s->plain =
                p->no_sandbox
                        ? strdup(policy_no_sandbox_warning)
                        : str_format("isolation is disabled%s%s%s: the command runs with no sandbox at all",
                                     p->isolation_label ? " (" : "",
                                     p->isolation_label ? p->isolation_label : "",
                                     p->isolation_label ? ")" : "");
        if (!s->plain)
                return error_oom(err);
        r = policy_find_home(environment_get(environment_inherited(p), "HOME"), &s->home, NULL);
        if (r < 0)
                return responds_fail(r, environment_get(environment_inherited(p), "HOME"), err);
        if (p->no_sandbox || p->project)
                r = resolve_project(s, err);
        /* The caller's HOME stays, even where a sandbox couldn't have a tmpfs at it. */
        free(TAKE_PTR(s->home));
        return r < 0 ? r : environment_resolve(s, &s->environment, err);
}

int policy_resolve_session(const struct nsrun_policy *p, struct nsrun_error *err) {
        static const char *const allowed[] = {"session", "kill-leftovers", "env",      "unsetenv",
                                              "chdir",   "new-session",    "no-config"};
        const char *name = first_but(p->given, allowed, ARRAY_SIZE(allowed));

        if (name)
                return error_setf(err, NSRUN_STAGE_POLICY, UNSAID(-EPERM), p->session,
                                  "leave it out, or start another session with it",
                                  "--%s can't be given with --session: what a session's commands "
                                  "may do was decided when it was started",
                                  name);
        if (p->has_workspace)
                return error_set(err, NSRUN_STAGE_POLICY, UNSAID(-EPERM), p->session,
                                 "a workspace can't be given with --session: what a session's commands see "
                                 "was decided when it was started",
                                 "start another session with it");
        return 0;
}
