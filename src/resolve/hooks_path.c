/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* core.hooksPath outside of what is shown: git would pass over hooks that it doesn't find without a word.
 * The folder that the user's own configuration names is shown; one that the repository's names, which could
 * be any, is not. */
#include "base/path.h"
#include "host/gitconfig.h"
#include "host/user.h"
#include "rules/home_secrets.h"
#include "rules/refuse.h"
#include "rules/rules.h"
#include "steps.h"

/* Where the value leads, as git has it; NULL: for want of memory. */
static char *find_hooks(const struct resolved *s, const char *value) {
        _cleanup_free_ char *path = NULL;

        return user_expand(s->home, value, &path) < 0 ? NULL : path_join(s->project, path ? path : value);
}

/* Whether a folder holds secrets, or more than hooks. */
static bool is_more_than_hooks(const struct resolved *s, const char *path) {
        static const char *const never[] = {"/boot", "/dev", "/proc", "/root", "/run", "/sys"};
        const struct resolved_rule rule = {.access = POLICY_RW, .option = "", .source = (char *)path};
        struct nsrun_error err = {0};
        bool is_more = path_is_beneath(s->project, path) || !strchr(path + 1, '/') ||
                       (s->guarded && path_is_beneath(s->guarded, path)) ||
                       (!(s->guarded && path_is_beneath(path, s->guarded)) &&
                        path_is_beneath_any(path, never, ARRAY_SIZE(never)));

        for (size_t i = 0; i < OWN_FOLDERS; i++)
                is_more |=
                        s->own[i] && (path_is_beneath(path, s->own[i]) || path_is_beneath(s->own[i], path));
        return is_more || refuse_secrets(&rule, s->guarded, &err) < 0 ||
               refuse_source(&rule, s->sockets, &err) < 0;
}

/* A symlink on the way may be a command's. */
static bool is_plain_folder(const char *path) {
        _cleanup_free_ char *canonical = NULL;
        unsigned mode = 0;

        return path_canonical(path, &canonical, &mode) >= 0 && S_ISDIR(mode) && streq(canonical, path);
}

static int say_not_run(struct resolved *s, const char *path, bool may_be_shown) {
        _cleanup_free_ char *visible = str_visible(path);
        char *line;

        if (!visible ||
            asprintf(&line, "hooks are not run here: core.hooksPath names %s%s%s", visible,
                     may_be_shown ? ": --ro " : ", which isn't shown", may_be_shown ? visible : "") < 0)
                return -ENOMEM;
        return strv_consume(&s->git.lacks, line);
}

static int show_hooks(struct resolved *s, const char *value, bool is_users, struct nsrun_error *err) {
        _cleanup_free_ char *path = find_hooks(s, value);
        bool is_more;

        if (!path)
                return error_oom(err);
        if (resolved_shows(s, path))
                return 0;
        is_more = is_more_than_hooks(s, path);
        if ((is_users || startswith(value, GIT_OPTIONAL)) && access(path, F_OK) < 0)
                return 0;
        if (is_users && !is_more && is_plain_folder(path))
                return resolve_default(s, PLAN_BY_GIT, POLICY_RO, path, "core.hooksPath", err);
        return say_not_run(s, path, is_users && !is_more) < 0 ? error_oom(err) : 0;
}

/* What the user's names counts inside, too. */
static int set_hooks(struct resolved_git *git) {
        _cleanup_strbuf_ struct strbuf b = {0};
        char *settings;

        strbuf_add(&b, git->settings ? git->settings : "");
        gitconfig_write(&b, &(struct gitconfig_entry){"core.hookspath", git->hooks});
        settings = strbuf_finish(&b);
        if (!settings)
                return -ENOMEM;
        free(git->settings);
        git->settings = settings;
        return 0;
}

int git_add_hooks(struct resolved *s, struct nsrun_error *err) {
        struct resolved_git *git = &s->git;
        const char *value = git->repositorys_hooks ? git->repositorys_hooks : git->hooks;
        bool is_users = value == git->hooks;

        if (!git->has_repository || !s->project || s->policy->clean_env || s->policy->has_workspace)
                return 0;
        if (git->hooks && *git->hooks && set_hooks(git) < 0)
                return error_oom(err);
        return value && *value ? show_hooks(s, value, is_users && git->hooks_are_users, err) : 0;
}
