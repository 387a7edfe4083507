/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an instance shows, and which of the host's folders a command line asks for. */
#include "steps.h"

#include "base/path.h"
#include "base/responds.h"
#include "base/sys.h"
#include "host/program.h"
#include "host/project.h"
#include "instance_folders.h"
#include "policy/withheld.h"
#include "rules/refuse.h"
#include "rules/rules.h"

/* More absolute paths than anybody types on a command line; each costs a comparison with all rules. */
#define MOST_ARGUMENTS 2048

static int add_expose_paths(struct resolved *s, struct nsrun_error *err) {
        const struct expose_list *asked = &s->policy->expose;
        _cleanup_expose_ struct expose_list list = {0};
        int r = 0;

        for (size_t i = 0; i < asked->n && r >= 0; i++)
                r = expose_add(&list, asked->items[i].source, asked->items[i].target, asked->items[i].mode,
                               asked->items[i].label);
        if (r < 0 || expose_merge(&list) < 0)
                return error_oom(err);
        r = expose_check_all(&list, err);
        for (size_t i = 0; i < list.n && r >= 0; i++) {
                const struct rule_request request = {
                        .access = streq(list.items[i].mode, "rw") ? POLICY_RW : POLICY_RO,
                        .origin = POLICY_BY_CONFIG,
                        .option = list.items[i].label,
                        .source = list.items[i].source,
                        .target = list.items[i].target,
                };

                r = resolve_rule(s, &request, err);
        }
        return r;
}

int instance_add_rules(struct resolved *s, struct nsrun_error *err) {
        _cleanup_free_ char *spelled = NULL;
        struct rule_request folder = {
                .access = POLICY_RW,
                .origin = POLICY_BY_DEFAULT,
                .giver = PLAN_BY_INSTANCE,
                .option = "the instance",
                .is_to_be_made = true,
        };
        int r = instance_find_root(s->policy->instance, environment_inherited(s->policy), s->home,
                                   &s->instance.root, &spelled, err);

        if (r < 0)
                return r;
        folder.source = s->instance.root;
        folder.spelled = spelled;
        r = resolve_rule(s, &folder, err);
        if (r >= 0 && s->instance.workspace) {
                folder.option = "the instance's workspace";
                folder.source = s->instance.workspace;
                folder.spelled = s->policy->instance_workspace;
                r = resolve_rule(s, &folder, err);
        }
        return r < 0 ? r : add_expose_paths(s, err);
}

/* Whether nsrun shows `path` in every sandbox, or makes it itself: a command line that names it
 * adds nothing. */
static bool is_in_base_view(const char *path) {
        static const char *const trees[] = {"/usr",    "/bin", "/sbin", "/lib", "/lib32", "/lib64",
                                            "/libx32", "/dev", "/proc", "/sys", "/boot"};

        if (refuse_is_own(path) || streq(path, "/etc"))
                return true;
        return path_is_beneath_any(path, trees, ARRAY_SIZE(trees));
}

/* Whether a rule decides already what the sandbox shows at `path`. */
static bool is_covered(const struct resolved *s, const char *path) {
        for (size_t i = 0; i < s->files.n_rules; i++)
                if (path_is_beneath(path, s->files.rules[i].target))
                        return true;
        return false;
}

/* Whether `folder` is a home or a system folder: a command line that names one doesn't mean that
 * the command needs to write it. */
static bool is_too_much(const struct resolved *s, const char *folder) {
        return project_denied(folder, s->guarded) != NULL || writable_denied(folder) != NULL;
}

/* Whether `folder` lies in a hidden folder of the home, among keys and other programs' settings: a
 * command line that names a missing file in it doesn't ask for the folder. */
static bool is_in_hidden_folder(const struct resolved *s, const char *folder) {
        const char *below = s->guarded ? path_below(folder, s->guarded) : NULL;

        return below && below[0] == '.';
}

/* Makes a path that is shown already be found by the spelling `spelled`, too, by a symlink, unless
 * the sandbox has something at that place.  path_normalise() takes ".." out without following
 * symlinks: if that makes the spelling lead elsewhere there is none. */
static int instance_add_link(struct resolved *s, const char *canonical, const char *spelled,
                             struct nsrun_error *err) {
        _cleanup_free_ char *path = path_normalise(spelled), *leads_to = NULL;
        int r = !path ? -ENOMEM : streq(path, canonical) ? 0 : path_canonical_to_be(path, &leads_to);

        if (r < 0)
                return responds_fail(r, spelled, err);
        return !leads_to || !streq(leads_to, canonical) || is_in_base_view(path) || streq(path, "/tmp") ||
                               is_covered(s, path)
                       ? 0
                       : resolve_link(s, canonical, path, err);
}

/* Makes `canonical`, a folder to which `spelled` leads, be there. */
static int instance_add_folder(struct resolved *s, const char *canonical, const char *spelled,
                               struct nsrun_error *err) {
        int r = 0;

        if (!is_in_base_view(canonical) && !streq(canonical, "/tmp") && !is_covered(s, canonical) &&
            !strv_contains(s->files.folders, canonical))
                r = strv_add(&s->files.folders, canonical);
        if (r < 0)
                return error_oom(err);
        return instance_add_link(s, canonical, spelled, err);
}

/* Exposes `canonical`, to which the absolute path `spelled` leads. */
static int instance_add(struct resolved *s, enum policy_access access, const char *canonical,
                        const char *spelled, const char *option, struct nsrun_error *err) {
        const struct rule_request request = {
                .access = access,
                .origin = POLICY_BY_DEFAULT,
                .giver = PLAN_BY_ARGUMENT,
                .option = option,
                .source = canonical,
                .spelled = spelled,
        };

        if (is_in_base_view(canonical) || is_covered(s, canonical))
                return instance_add_link(s, canonical, spelled, err);
        return resolve_rule(s, &request, err);
}

/* Makes each folder that the absolute path `spelled` leaves by ".." be there, empty where nothing shows it,
 * with the symlinks that lead to it: the kernel walks through it.  Where there is none on the host the
 * command sees the same error. */
static int add_left_folders(struct resolved *s, const char *spelled, struct nsrun_error *err) {
        _cleanup_free_ char *at = strdup(""); /* where `rest` begins: no symlink and no ".." */
        const char *rest = spelled;

        for (const char *up = rest; at && (up = strstr(up, "/..")); up += 3) {
                _cleanup_free_ char *folder = NULL, *canonical = NULL;
                int r;

                if (up[3] && up[3] != '/')
                        continue;
                folder = str_format("%s%.*s/", at, (int)(up - rest), rest);
                r = folder ? path_canonical(folder, &canonical, NULL) : -ENOMEM;
                if (r < 0)
                        return r == -ENOMEM ? error_oom(err) : 0;
                r = streq(canonical, "/") ? 0 : instance_add_folder(s, canonical, folder, err);
                if (r < 0)
                        return r;
                free(at);
                at = path_parent(canonical);
                if (at && streq(at, "/"))
                        at[0] = '\0';
                rest = up + 3;
        }
        return at ? 0 : error_oom(err);
}

/* Exposes `above`, a folder above `canonical`, to which `spelled` leads.  The rule is spelled
 * "SPELLED/..", so that a symlink on the way, which a command may have planted, is judged for the
 * folder as for the file. */
static int add_above(struct resolved *s, const char *above, const char *canonical, const char *spelled,
                     const char *option, struct nsrun_error *err) {
        _cleanup_free_ char *way = strdup(spelled);

        for (const char *p = canonical + strlen(above); way && (p = strchr(p, '/')); p++) {
                char *next = str_format("%s/..", way);

                free(way);
                way = next;
        }
        if (!way)
                return error_oom(err);
        return is_too_much(s, above) || is_in_base_view(above) || is_covered(s, above)
                       ? 0
                       : instance_add(s, POLICY_RO, above, way, option, err);
}

/* Whether `folder` lies deep enough to be one program's own, rather than a collection of a user's or a
 * host's things: /opt/x is, /data isn't; ~/tools/x is, ~/Documents isn't; ~/.local/share/x is,
 * ~/.local/share isn't. */
static bool is_deep(const struct resolved *s, const char *folder) {
        const char *name = s->guarded ? path_below(folder, s->guarded) : NULL;
        size_t depth = 0, least = 2;

        for (name = name ? name : folder + 1; *name; name += strcspn(name, "/"), name += *name == '/') {
                depth++;
                if (*name == '.' && least == 2)
                        least = depth + 2;
        }
        return depth >= least;
}

/* Finds the folder with which the program at `canonical` was installed, if a symlink in the folder `named`
 * leads to it: its package, or the folder above its "bin" if that is the program's own.  *ret is NULL where
 * there is no such folder. */
static int find_package(const struct resolved *s, const char *canonical, const char *named, char **ret) {
        _cleanup_free_ char *folder = path_parent(canonical), *above = folder ? path_parent(folder) : NULL;
        int r = !above ? -ENOMEM : streq(folder, named) ? 0 : program_package(canonical, ret);

        if (r >= 0 && !*ret && !streq(folder, named) && streq(path_basename(folder), "bin") &&
            is_deep(s, above) && !path_is_beneath(named, above))
                *ret = TAKE_PTR(above);
        return r;
}

/* Exposes the executable, its package, the folder in which it really lies, and the folder in which it was
 * named. */
static int add_executable(struct resolved *s, const char *spelled, struct nsrun_error *err) {
        static const char option[] = "the executable";
        _cleanup_free_ char *canonical = NULL, *named = NULL, *folder = NULL, *real = NULL, *package = NULL;
        unsigned mode = 0;
        int r = path_canonical(spelled, &canonical, &mode);

        if (r < 0 || (mode & S_IFMT) != S_IFREG)
                return r == -ENOMEM ? error_oom(err) : 0;
        named = path_parent(spelled);
        real = path_parent(canonical);
        if (!named || !real || path_canonical(named, &folder, NULL) < 0 ||
            find_package(s, canonical, folder, &package) < 0)
                return error_oom(err);
        r = add_left_folders(s, spelled, err);
        if (r >= 0 && package)
                r = add_above(s, package, canonical, spelled, option, err);
        if (r >= 0)
                r = add_above(s, real, canonical, spelled, option, err);
        if (r >= 0 && !is_too_much(s, folder))
                r = instance_add(s, POLICY_RO, folder, named, option, err);
        return r < 0 ? r : instance_add(s, POLICY_RO, canonical, spelled, option, err);
}

/* For an argument that names a missing file: makes the nearest folder above it that exists
 * writable, since the command will want to make the rest. */
static int add_missing(struct resolved *s, const char *spelled, const char *option,
                       struct nsrun_error *err) {
        _cleanup_free_ char *path = path_normalise(spelled), *canonical = NULL;
        unsigned mode = 0;
        int r = -ENOENT;

        while (path && r == -ENOENT && !streq(path, "/")) {
                char *parent = path_parent(path);

                free(path);
                path = parent;
                r = path ? path_canonical(path, &canonical, &mode) : -ENOMEM;
        }
        if (!path || r == -ENOMEM)
                return error_oom(err);
        if (r < 0 || (mode & S_IFMT) != S_IFDIR || is_too_much(s, canonical) ||
            is_in_hidden_folder(s, canonical))
                return 0;
        return instance_add(s, POLICY_RW, canonical, path, option, err);
}

static int add_argument(struct resolved *s, const char *path, struct nsrun_error *err) {
        static const char option[] = "an argument";
        _cleanup_free_ char *canonical = NULL;
        unsigned mode = 0;
        int r = add_left_folders(s, path, err);

        if (r < 0)
                return r;
        r = path_canonical(path, &canonical, &mode);
        if (r == -ENOMEM)
                return error_oom(err);
        if (r == -ENOENT)
                return add_missing(s, path, option, err);
        if (r < 0)
                return 0; /* the argument can't be looked up, and the command will see the same error */
        if ((mode & S_IFMT) != S_IFDIR)
                return instance_add(s, POLICY_RO, canonical, path, option, err);
        return is_too_much(s, canonical) ? 0 : instance_add(s, POLICY_RW, canonical, path, option, err);
}

/* Finds the host's file that the command's name means; *ret is absolute, not normalised, or NULL
 * where there is none.  -ENOMEM. */
static int find_executable(const struct resolved *s, char **ret) {
        const char *name = s->argv[0], *path = environment_get(environment_inherited(s->policy), "PATH");
        const char *cwd = s->project ? s->project : s->cwd;

        if (path_is_absolute(name))
                return (*ret = strdup(name)) ? 0 : -ENOMEM;
        if (strchr(name, '/'))
                return cwd && !(*ret = str_format("%s/%s", cwd, name)) ? -ENOMEM : 0;
        while (path && *path) {
                size_t n = strcspn(path, ":");
                _cleanup_free_ char *candidate = NULL, *canonical = NULL;

                if (path[0] == '/') {
                        candidate = str_format("%.*s/%s", (int)n, path, name);
                        if (!candidate)
                                return -ENOMEM;
                        int r = path_canonical(candidate, &canonical, NULL);

                        if (r == -ENOMEM)
                                return r;
                        if (r >= 0 && sys_is_executable(canonical) == 0) {
                                *ret = TAKE_PTR(candidate);
                                return 0;
                        }
                }
                path += n + (path[n] == ':');
        }
        return 0;
}

int instance_add_command(struct resolved *s, struct nsrun_error *err) {
        _cleanup_free_ char *executable = NULL;
        size_t n = 0;
        int r = 0;

        /* A session's commands come later, by plans of their own, and add nothing to what it shows. */
        if (!s->argv)
                return 0;
        if (find_executable(s, &executable) < 0)
                return error_oom(err);
        if (executable)
                r = add_executable(s, executable, err);
        for (char *const *argument = s->argv + 1; r >= 0 && *argument; argument++) {
                const char *equals = (*argument)[0] == '-' ? strchr(*argument, '=') : NULL;
                const char *path = equals ? equals + 1 : *argument;

                if (!path_is_absolute(path))
                        continue;
                if (++n > MOST_ARGUMENTS)
                        return policy_refuse(err, NULL, "expose a folder that holds them, with --ro or --rw",
                                             "the command line names too many absolute paths");
                r = add_argument(s, path, err);
        }
        return r;
}
