/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See protect_find.h.  A mount point can't be moved away; what isn't there is looked for when the command
 * has ended (sweep/protected.c), or with --protect=strict can't be made (protect_stubs.c). */
#include "protect_find.h"

#include <fnmatch.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/responds.h"
#include "host/glob.h"
#include "protect_rules.h"
#include "protect_stubs.h"

/* Whether --no-protect names `path`, or a folder that it is in. */
static bool is_among_open(const struct nsrun_policy *p, const char *name) {
        char path[PATH_MAX];

        if (strlen(name) >= sizeof(path))
                return false;
        STRV_FOREACH (glob, p->no_protect)
                for (const char *end = name; end;) {
                        end = strchr(end + (end != name), '/');
                        memcpy(path, name, end ? (size_t)(end - name) : strlen(name) + 1);
                        if (end)
                                path[end - name] = '\0';
                        if (fnmatch(*glob, path, FNM_PATHNAME) == 0)
                                return true;
                }
        return false;
}

bool protect_is_left_open(const struct protecting *p, const char *name) {
        const struct nsrun_policy *policy = p->resolved->policy;
        _cleanup_free_ char *below = NULL;

        if (!policy->no_protect)
                return false;
        below = *p->below ? str_concat(p->below, "/", name) : NULL;
        return (!p->is_git_dir && is_among_open(policy, name)) || (below && is_among_open(policy, below));
}

/* A symlink can't be bound, and what it says is looked at in the end; what it leads to can, where that lies
 * in the folder. */
static int protect_linked(const struct protecting *p, const char *source) {
        _cleanup_free_ char *canonical = NULL;
        unsigned mode = 0;
        int r = path_canonical(source, &canonical, &mode);

        if (r == -ENOMEM)
                return r;
        if (r < 0 || streq(canonical, p->top) || !path_is_beneath(canonical, p->top))
                return 0;
        return S_ISREG(mode) || S_ISDIR(mode) ? protect_add_everywhere(p->resolved, canonical, S_ISDIR(mode))
                                              : 0;
}

/* Whether it is a folder, or git's configuration, of which the command gets a version of its own; what
 * carry/ wouldn't read it can't change. */
static bool has_own_version(const struct protecting *p, const char *name, const struct stat *st) {
        const char *base = path_basename(name);
        bool is_bare = p->git_dir && streq(p->git_dir, p->path);

        bool is_config = S_ISREG(st->st_mode) && st->st_size <= PROTECT_PRIVATE_SIZE &&
                         (streq(base, "config") || streq(base, "config.worktree")) &&
                         (startswith(name, ".git/") || is_bare);
        /* git reads its old folders of remotes, and writes to none. */
        bool is_folder = S_ISDIR(st->st_mode) && !streq(name, ".git") && !streq(base, "branches") &&
                         !streq(base, "remotes") && !p->resolved->policy->protects_strictly;

        return (is_config || is_folder) && p->resolved->own[OWN_RUNDIRS] &&
               strv_length(p->resolved->protection.private) < PROTECT_PRIVATE_MOST;
}

static int protect_found(void *data, const char *name, const struct stat *st) {
        struct protecting *p = data;
        struct resolved *s = p->resolved;
        _cleanup_free_ char *source = NULL;

        if (protect_is_left_open(p, name))
                return 0;
        source = str_concat(p->path, "/", name);
        if (!source || strv_consume(&s->protection.present, str_concat(p->path, "//", name)) < 0)
                return -ENOMEM;
        if (s->policy->protects_strictly && strv_add(&p->found, name) < 0)
                return -ENOMEM;
        if (has_own_version(p, name, st) && strv_add(&s->protection.private, source) < 0)
                return -ENOMEM;
        /* A repository's folder is the command's to write. */
        if (streq(name, ".git") && !S_ISREG(st->st_mode))
                return 0;
        if (S_ISLNK(st->st_mode))
                return s->policy->protects_strictly ? strict_pin_link(s, source, p->err)
                                                    : protect_linked(p, source);
        return S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) || s->policy->protects_strictly
                       ? protect_add_everywhere(s, source, S_ISDIR(st->st_mode))
                       : 0;
}

int protect_crosses(void *data, const char *name) {
        const struct protecting *p = data;

        return responds_in_time(p->fd, name, p->path, p->err);
}

int protect_leave_closed(nsrun_unused void *data, nsrun_unused const char *name) {
        return 0;
}

int protect_name(struct protecting *p, const char *glob) {
        return protect_is_left_open(p, glob) ? 0 : strv_add(&p->globs, glob);
}

/* The names that nothing was found of can't be made. */
static int keep_free(const struct protecting *p) {
        int r = 0;

        STRV_FOREACH (glob, p->globs) {
                _cleanup_free_ char *name = NULL;

                if (r < 0 || streq(*glob, ".git"))
                        continue;
                r = strict_unescape(*glob, &name);
                if (r == -EINVAL)
                        r = 0;
                else if (r >= 0 && !strv_contains(p->found, name))
                        r = strict_keep_free(p->resolved, p->path, name);
        }
        return r;
}

int protect_find(struct protecting *p) {
        const struct glob_search search = {.found = protect_found,
                                           .closed = protect_leave_closed,
                                           .crosses = protect_crosses,
                                           .wants_type = true,
                                           .data = p};
        struct resolved *s = p->resolved;
        size_t n = strv_length(s->protection.names), m = strv_length(p->globs);
        char **grown = m > 0 ? reallocarray(s->protection.names, n + m + 1, sizeof(*grown)) : NULL;
        int r = 0;

        if (m == 0)
                return 0;
        if (!grown)
                return -ENOMEM;
        s->protection.names = grown;
        grown[n] = NULL;
        for (size_t i = 0; i < m; i++, grown[n] = NULL)
                if (!(grown[n++] = str_concat(p->path, "//", p->globs[i])))
                        return -ENOMEM;
        r = glob_find(p->fd, p->globs, &search);
        if (r >= 0 && s->policy->protects_strictly)
                r = keep_free(p);
        strv_free(TAKE_PTR(p->globs));
        strv_free(TAKE_PTR(p->found));
        return r;
}
