/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See protect_stubs.h.  An overlay has dentries of its own: what the host changes below it is not always
 * seen inside.  So it covers one level of a folder, and the folders that are there are bound over it. */
#include "protect_stubs.h"

#include <dirent.h>
#include <fcntl.h>

#include "base/path.h"
#include "base/sys.h"
#include "disk/rundir.h"
#include "policy/refusal.h"
#include "protect_rules.h"
#include "rules/rules.h"

enum {
        FOLDERS_MAX = 10000,
};

static const char option[] = "--protect=strict";

int strict_unescape(const char *glob, char **ret) {
        char *name = malloc(strlen(glob) + 1), *to = name;

        if (!name)
                return -ENOMEM;
        for (; *glob; glob++) {
                bool is_escaped = *glob == '\\' && glob[1];

                if (!is_escaped && strchr("*?[", *glob)) {
                        free(name);
                        return -EINVAL;
                }
                glob += is_escaped;
                *to++ = *glob;
        }
        *to = '\0';
        *ret = name;
        return 0;
}

/* A stub of another kind than the program expects would be reported as an error by it. */
static bool is_folders_name(const char *name) {
        static const char *const folders[] = {".agents", ".claude", ".codex", ".cursor", ".devcontainer",
                                              ".gemini", ".husky",  ".idea",  ".vscode", "hooks"};

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
                if (streq(folders[i], name))
                        return true;
        return false;
}

/* git warns at each step of a file in its git dir that can't be opened, and tracks none there.  Elsewhere an
 * empty file would be committed in the place of a tracked one. */
static bool is_git_place(const struct resolved *s, const char *folder) {
        static const char name[] = "/.git";

        if ((s->git.dir && path_is_beneath(folder, s->git.dir)) ||
            (s->git.common_dir && path_is_beneath(folder, s->git.common_dir)))
                return true;
        for (const char *at = strstr(folder, name); at; at = strstr(at + 1, name))
                if (at[strlen(name)] == '\0' || at[strlen(name)] == '/')
                        return true;
        return false;
}

/* Adds a stub to the rule that shows `source` at `target`, or to a new one.  None where a rule shows
 * something else there. */
static int add_stub(struct resolved *s, const char *source, const char *target, const char *stub) {
        struct resolved_rule *rule = rules_find(s, target);
        int r = 0;

        if (rule && (rule->access != POLICY_RW || !rule->is_directory || !streq(rule->source, source)))
                return 0;
        if (!rule) {
                size_t n = s->files.n_rules;

                r = protect_add_rule(s, POLICY_RW, source, target, true);
                rule = s->files.n_rules > n ? &s->files.rules[n] : NULL;
        }
        if (r < 0 || !rule || strv_contains(rule->stubs, stub))
                return r;
        rule->is_git_dir = is_git_place(s, source);
        return strv_add(&rule->stubs, stub);
}

static int keep_free_in(struct resolved *s, const char *folder, const char *name, bool is_folder) {
        const char *in_tmp = s->files.tmp.source ? path_below(folder, s->files.tmp.source) : NULL;
        _cleanup_free_ char *stub = NULL;
        size_t n = s->files.n_rules;
        int r = 0;

        if (asprintf(&stub, "%s%s", name, is_folder ? "/" : "") < 0) {
                stub = NULL;
                return -ENOMEM;
        }
        for (size_t i = 0; i < n && r >= 0; i++) {
                const char *below = s->files.rules[i].access == POLICY_RW
                                            ? path_below(folder, s->files.rules[i].source)
                                            : NULL;
                _cleanup_free_ char *target = below ? path_join(s->files.rules[i].target, below) : NULL;

                if (below)
                        r = target ? add_stub(s, folder, target, stub) : -ENOMEM;
        }
        if (r >= 0 && in_tmp && *in_tmp) {
                _cleanup_free_ char *target = path_join("/tmp", in_tmp);

                r = target ? add_stub(s, folder, target, stub) : -ENOMEM;
        }
        return r;
}

int strict_keep_free(struct resolved *s, const char *folder, const char *name) {
        _cleanup_free_ char *at = strdup(folder);

        for (const char *rest = name; at;) {
                size_t n = strcspn(rest, "/");
                _cleanup_free_ char *component = strndup(rest, n);
                char *path = component ? path_join(at, component) : NULL;
                bool is_last = !rest[n];
                struct stat st;

                if (!path)
                        return -ENOMEM;
                if (lstat(path, &st) < 0) {
                        int r = errno == ENOENT ? keep_free_in(s, at, component,
                                                               !is_last || is_folders_name(component))
                                                : -errno;

                        free(path);
                        return r;
                }
                free(at);
                at = path;
                /* The name is there after all, or a symlink on its way is, which protect.c pins. */
                if (is_last || S_ISLNK(st.st_mode))
                        return 0;
                /* A file in the place of a folder: a command could remove it. */
                if (!S_ISDIR(st.st_mode))
                        return protect_add_everywhere(s, at, false);
                rest += n + 1;
        }
        return -ENOMEM;
}

/* Where a symlink leads to, if that is what its text says, with no other link on the way. */
static int follow_once(const char *source, char **ret, unsigned *ret_mode) {
        _cleanup_free_ char *parent = path_parent(source), *said = NULL, *canonical = NULL;
        char text[4096];
        ssize_t n = readlink(source, text, sizeof(text) - 1);
        int r;

        if (n < 0 || !parent)
                return n < 0 ? -errno : -ENOMEM;
        text[n] = '\0';
        said = path_join(parent, text);
        if (!said)
                return -ENOMEM;
        r = path_canonical(source, &canonical, ret_mode);
        if (r < 0)
                return r;
        if (!streq(said, canonical))
                return -ELOOP;
        *ret = TAKE_PTR(canonical);
        return 0;
}

/* Whether a command could write what is at `path`, or replace a folder on the way to it. */
static bool is_writable_inside(const struct resolved *s, const char *path) {
        if (s->files.tmp.source && path_is_beneath(path, s->files.tmp.source))
                return true;
        for (size_t i = 0; i < s->files.n_rules; i++)
                if (s->files.rules[i].access == POLICY_RW && path_is_beneath(path, s->files.rules[i].source))
                        return true;
        return false;
}

static bool holds_a_root(const struct resolved *s, const char *path) {
        for (size_t i = 0; i < s->files.n_rules; i++)
                if (s->files.rules[i].access == POLICY_RW && path_is_beneath(s->files.rules[i].source, path))
                        return true;
        return false;
}

int strict_pin_link(struct resolved *s, const char *source, struct nsrun_error *err) {
        _cleanup_free_ char *leads_to = NULL;
        unsigned mode = 0;
        size_t n = s->files.n_rules;
        int r = follow_once(source, &leads_to, &mode);

        if (r == -ENOMEM)
                return r;
        /* Nothing, or something by way of another link: either could be made by a command. */
        if (r < 0)
                return policy_refuse(err, source, "make it a file or a folder, or name it with --no-protect",
                                     r == -ELOOP ? "a protected symlink leads on through another one"
                                                 : "a protected symlink leads to nothing that is there");
        if (is_writable_inside(s, leads_to)) {
                if (holds_a_root(s, leads_to))
                        return policy_refuse(err, source, "make it a folder, or name it with --no-protect",
                                             "a protected symlink leads to a writable folder as a whole");
                r = protect_add_everywhere(s, leads_to, S_ISDIR(mode));
        }
        if (r >= 0)
                n = s->files.n_rules;
        if (r >= 0)
                r = protect_add_everywhere(s, source, false);
        for (; r >= 0 && n < s->files.n_rules; n++)
                s->files.rules[n].is_link = true;
        return r;
}

/* Adds a rule for each folder in that of rule i which has none. */
static int bind_folders(struct resolved *s, size_t i) {
        _cleanup_free_ char *folder = strdup(s->files.rules[i].source),
                            *target = strdup(s->files.rules[i].target);
        DIR *dir = folder && target ? opendir(folder) : NULL;
        const struct dirent *entry;
        unsigned n = 0;
        int r = 0;

        if (!dir)
                return folder && target ? -errno : -ENOMEM;
        while (r >= 0 && (entry = readdir(dir))) {
                _cleanup_free_ char *source = NULL, *at = NULL;
                struct stat st;

                if (streq(entry->d_name, ".") || streq(entry->d_name, "..") ||
                    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
                        continue;
                source = path_join(folder, entry->d_name);
                at = path_join(target, entry->d_name);
                if (!source || !at)
                        r = -ENOMEM;
                else if (++n > FOLDERS_MAX)
                        r = -E2BIG;
                else if (!rules_find(s, at))
                        r = protect_add_rule(s, POLICY_RW, source, at, true);
        }
        (void)closedir(dir);
        return r;
}

/* The mount that the folder of the run directories lies on, or will. */
static int find_cache_mount(char **ret_base, uint64_t *ret_mount) {
        _cleanup_free_ char *base = NULL, *path = NULL;
        struct sys_file file = {0};
        int r = rundir_find_base(&base, NULL);

        path = r < 0 ? NULL : strdup(base);
        while (r >= 0 && path) {
                char *parent;

                r = sys_statx(AT_FDCWD, path, &file);
                if (r != -ENOENT || streq(path, "/"))
                        break;
                parent = path_parent(path);
                free(path);
                path = parent;
                r = 0;
        }
        if (r < 0 || !path)
                return r < 0 ? r : -ENOMEM;
        *ret_base = TAKE_PTR(base);
        *ret_mount = file.mount;
        return 0;
}

/* An overlay's work folder lies on the upper one's mount, and neither in the other: a run directory must do
 * for it, as no other folder may get one. */
static int refuse_mounts(const struct resolved *s, struct nsrun_error *err) {
        static const char hint[] =
                "let XDG_CACHE_HOME name a folder on the same one, outside of it; or leave strict out";
        _cleanup_free_ char *base = NULL;
        uint64_t cache = 0;
        int r = find_cache_mount(&base, &cache);

        if (r < 0)
                return error_set(err, NSRUN_STAGE_POLICY, r, NULL,
                                 "--protect=strict needs a cache folder, and there is none",
                                 "let XDG_CACHE_HOME name one");
        for (size_t i = 0; i < s->files.n_rules; i++) {
                const struct resolved_rule *rule = &s->files.rules[i];
                struct sys_file file = {0};

                if (!rule->stubs || sys_statx(AT_FDCWD, rule->source, &file) < 0)
                        continue;
                if (file.mount != cache)
                        return policy_refuse(
                                err, rule->source, hint,
                                "%s can't hold in a folder that lies on another mount than the cache "
                                "folder",
                                option);
                /* /tmp is mounted as it is. */
                if (s->files.tmp.source && streq(s->files.tmp.source, rule->source))
                        return policy_refuse(err, rule->source, "choose another folder for --tmp",
                                             "%s can't hold in a folder that is /tmp, too", option);
                if (path_is_beneath(base, rule->source) || path_is_beneath(rule->source, base))
                        return policy_refuse(err, rule->source, hint,
                                             "%s can't hold in a folder that has the cache folder in it",
                                             option);
        }
        return 0;
}

int strict_finish(struct resolved *s, struct nsrun_error *err) {
        size_t n = s->files.n_rules;

        for (size_t i = 0; i < n; i++) {
                int r = s->files.rules[i].stubs ? bind_folders(s, i) : 0;

                if (r == -ENOMEM)
                        return error_oom(err);
                if (r < 0)
                        return error_set(err, NSRUN_STAGE_POLICY, r, s->files.rules[i].source,
                                         r == -E2BIG ? "--protect=strict would bind too many folders"
                                                     : "--protect=strict can't list a writable folder",
                                         "leave strict out, or expose a folder in it instead");
        }
        return refuse_mounts(s, err);
}

int strict_check(const struct resolved *s, struct nsrun_error *err) {
        STRV_FOREACH (glob, s->policy->protect) {
                _cleanup_free_ char *name = NULL;
                int r = strict_unescape(*glob, &name);

                if (r == -ENOMEM)
                        return error_oom(err);
                if (r < 0)
                        return policy_refuse(err, *glob, "name each, or leave strict out",
                                             "%s can't keep names free that a wildcard stands for", option);
        }
        return 0;
}
