/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The home folder, and the folder that is the project. */
#include "project.h"

#include "base/path.h"
#include "host/project.h"
#include "host/user.h"
#include "instance_folders.h"
#include "rules/refuse.h"

/* Whether the sandbox can't have a tmpfs at `home`, since it would hide system folders or nsrun's
 * own. */
static bool home_is_unusable(const char *home) {
        static const char *const roots[] = {"/etc", "/sys", "/bin", "/sbin"};

        return streq(home, "/") || streq(home, "/usr") || streq(home, "/opt") || streq(home, "/tmp") ||
               startswith(home, "/lib") || refuse_is_own(home) ||
               path_is_beneath_any(home, roots, ARRAY_SIZE(roots));
}

int policy_find_home(const char *named, char **ret, char **ret_link) {
        _cleanup_free_ char *spelled = NULL, *home = NULL;
        int r = user_find_home(named, &spelled);

        if (r >= 0 && spelled)
                r = path_canonical_to_be(spelled, &home);
        if (r < 0)
                return r;
        if (!home || home_is_unusable(home) || home_is_unusable(spelled) || project_home_is_systems(home))
                return 0;
        if (ret_link && !streq(home, spelled))
                *ret_link = TAKE_PTR(spelled);
        *ret = TAKE_PTR(home);
        return 0;
}

int home_guard(struct resolved *s) {
        _cleanup_free_ char *own = NULL;
        int r;

        if (s->home) {
                s->guarded = strdup(s->home);
                return s->guarded ? 0 : -ENOMEM;
        }
        r = user_find_home(NULL, &own);
        return r < 0 || !own ? r : path_canonical_to_be(own, &s->guarded);
}

static int project_error(const struct nsrun_policy *p, int r, const char *path, struct nsrun_error *err) {
        static const char hint[] = "choose a folder with --project DIR, or use --no-project";
        _cleanup_free_ char *mode_fix = path ? refuse_closed_fix(r, path) : NULL,
                            *fix = mode_fix ? str_concat(mode_fix, "; or ", hint) : NULL;

        return error_set(err, NSRUN_STAGE_POLICY, r, path,
                         p->project ? "the project can't be opened" : "the current folder can't be opened",
                         fix ? fix : hint);
}

int project_find_former(const struct resolved *s, char **ret) {
        _cleanup_free_ char *at = s->cwd ? strdup(s->cwd) : NULL;

        while (at && !streq(at, s->project) && path_is_beneath(at, s->project)) {
                if (exposed_was_project(&s->known, at)) {
                        *ret = TAKE_PTR(at);
                        return 1;
                }
                (void)path_up(at);
        }
        return at || !s->cwd ? 0 : -ENOMEM;
}

/* Refuses a project that was found by looking upwards, and is wider than the one before: a command that
 * removes the .git of its project would have the next one write to the repository around it. */
static int refuse_wider_project(const struct resolved *s, struct nsrun_error *err) {
        _cleanup_free_ char *former = NULL, *wide = str_shell_quote(s->project), *narrow = NULL;
        char hint[sizeof(err->hint)];
        int r;

        if (s->known.state == EXPOSED_UNKNOWN && !streq(s->cwd, s->project))
                return policy_refuse(
                        err, s->project, "name it with --project, or remove the file",
                        "which project this folder had before can't be known: nsrun's file of earlier "
                        "runs ($XDG_STATE_HOME/nsrun/exposed) is damaged");
        r = project_find_former(s, &former);
        if (r == 0)
                return 0;
        narrow = r < 0 ? NULL : str_shell_quote(former);
        if (!narrow || !wide)
                return error_oom(err);
        (void)snprintf(hint, sizeof(hint),
                       "a command may have removed it: --project %s goes on with that folder, --project %s "
                       "takes the one around it",
                       narrow, wide);
        return policy_refuse(err, former, hint, "the project of earlier runs has no .git any more");
}

int resolve_project(struct resolved *s, struct nsrun_error *err) {
        static const char hint[] = "choose a folder with --project DIR, or use --no-project";
        const struct nsrun_policy *p = s->policy;
        const char *reason;
        unsigned mode = 0;
        int r;

        if (p->no_project)
                return 0;
        if (p->project)
                r = path_canonical(p->project, &s->project, &mode);
        else if (policy_is_instance(p))
                r = instance_find_start(s, &s->project);
        else
                r = s->cwd ? project_find_git(s->cwd, s->home, &s->project, &s->git.is_plain,
                                              &s->git.has_none)
                           : -ENOENT;
        if (r < 0)
                return project_error(p, r, p->project ? p->project : s->cwd, err);
        r = p->project || policy_is_instance(p) || s->plain ? 0 : refuse_wider_project(s, err);
        if (r < 0)
                return r;
        if (p->project && (mode & S_IFMT) != S_IFDIR)
                return project_error(p, -ENOTDIR, p->project, err);
        reason = s->plain && (p->allows_all || !p->no_sandbox) ? NULL
                                                               : project_denied(s->project, s->guarded);
        if (reason)
                return error_identify(
                        err, NSRUN_ERROR_PROJECT_DENIED,
                        policy_refuse(err, s->project, hint, "%s can't be %s", reason,
                                      policy_is_instance(p) ? "the working directory" : "the project"));
        return 0;
}

int project_refuse_other(const struct resolved *s, struct nsrun_error *err) {
        const struct nsrun_policy *p = s->policy;
        const char *then = p->config_project, *now = s->project;

        if (!p->has_project_sections || policy_is_instance(p) || (!then && !now) ||
            (then && now && streq(then, now)))
                return 0;
        return policy_refuse(err, now ? now : then, "say which one before the configuration is read",
                             "another project than the configuration was read for");
}
