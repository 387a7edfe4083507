/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which folders an instance has, and which of the host's a command line asks for.  Only
 * instance_make_dirs() changes anything. */
#include "instance.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/sys.h"
#include "environment.h"
#include "refuse.h"
#include "workspace/project.h"

/* More than anybody types; each is compared with all that went before. */
#define MOST_ARGUMENTS 2048

static const char *const dirs[INSTANCE_N_DIRS] = {
        "skills",
        "logs",
        "cache",
        "state",
        "workspace",
        "runtime-user-env",
        INSTANCE_HOME,
        "runtime-user-env/tmp",
        "runtime-user-env/config",
        "runtime-user-env/cache",
        "runtime-user-env/state",
        NULL, /* the root itself */
};

static const struct {
        const char *name;
        const char *below;
} variables[] = {
        {"HOME", INSTANCE_HOME},
        {"TMPDIR", "runtime-user-env/tmp"},
        {"XDG_CONFIG_HOME", "runtime-user-env/config"},
        {"XDG_CACHE_HOME", "runtime-user-env/cache"},
        {"XDG_STATE_HOME", "runtime-user-env/state"},
};

const char *instance_dir(size_t i) {
        return dirs[i];
}

static int bad_root(const char *spelled, const char *what, struct nsrun_error *err) {
        (void)error_setf(err, NSRUN_STAGE_POLICY, 0, spelled,
                         "name an absolute path with --instance DIR or NSRUN_HOME", "the instance root %s",
                         what);
        return -EINVAL;
}

int instance_find_root(const struct nsrun_policy *p, char **ret, char **ret_spelled,
                       struct nsrun_error *err) {
        const char *named =
                p->instance ? p->instance : environment_get(environment_inherited(p), "NSRUN_HOME");
        _cleanup_free_ char *spelled = NULL, *canonical = NULL;
        const char *reason;

        if (named && *named) {
                if (!path_is_absolute(named))
                        return bad_root(named, "is relative", err);
                spelled = path_normalise(named);
        } else if (p->home) {
                spelled = path_join(p->home, ".nsrun");
        } else {
                return bad_root(NULL, "can't be told: nobody knows your home folder", err);
        }
        if (!spelled || path_canonical_to_be(spelled, &canonical) < 0)
                return error_oom(err);
        reason = project_denied(canonical, p->home);
        if (reason)
                return refuse(err, canonical, "choose a folder with --instance DIR or NSRUN_HOME",
                              "%s can't be the instance root", reason);
        *ret = TAKE_PTR(canonical);
        if (ret_spelled)
                *ret_spelled = TAKE_PTR(spelled);
        return 0;
}

int instance_environment(const char *root, char ***ret) {
        _cleanup_strv_ char **list = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
                char *entry = NULL;

                if (asprintf(&entry, "%s=%s/%s", variables[i].name, root, variables[i].below) < 0)
                        return -ENOMEM;
                if (strv_consume(&list, entry) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_PTR(list);
        return 0;
}

/* ------------------------------------------------------------- the folders */

/* The folder `name` of `parent`, made where it is missing; a symlink is none. */
static int make_one(int parent, const char *name, int *ret) {
        const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW;
        struct stat st;
        int fd;

        fd = sys_open(parent, name, flags, 0);
        if (fd == -ENOENT) {
                int r = sys_mkdirat(parent, name, 0755);

                if (r < 0 && r != -EEXIST)
                        return r;
                fd = sys_open(parent, name, flags, 0);
        }
        /* O_DIRECTORY says ENOTDIR of a symlink, too. */
        if (fd == -ENOTDIR && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
                return -ELOOP;
        if (fd < 0)
                return fd;
        *ret = fd;
        return 0;
}

/* Each part of `path` below the folder `from`; *ret is the last one. */
static int make_all(int from, const char *path, int *ret) {
        _cleanup_close_ int here = -EBADF;
        _cleanup_free_ char *copy = strdup(path);
        char *name, *next = copy;
        int r;

        if (!copy)
                return -ENOMEM;
        while ((name = strsep(&next, "/"))) {
                int fd = -EBADF;

                if (!*name)
                        continue;
                r = make_one(here >= 0 ? here : from, name, &fd);
                if (r < 0)
                        return r;
                close_fdp(&here);
                here = fd;
        }
        *ret = TAKE_FD(here);
        return 0;
}

int instance_make_dirs(const char *root, struct nsrun_error *err) {
        _cleanup_close_ int top = sys_open(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0), folder = -EBADF;
        int r = top < 0 ? top : make_all(top, root, &folder);

        if (r < 0)
                return error_set(err, NSRUN_STAGE_WORKSPACE, r, root, "the instance root can't be made",
                                 NULL);
        for (size_t i = 0; i < INSTANCE_N_DIRS; i++) {
                _cleanup_close_ int made = -EBADF;
                _cleanup_free_ char *path = NULL;

                if (!dirs[i])
                        continue;
                r = make_all(folder, dirs[i], &made);
                if (r >= 0)
                        continue;
                path = path_join(root, dirs[i]);
                return error_set(
                        err, NSRUN_STAGE_WORKSPACE, r, path ? path : root,
                        "a folder of the instance can't be made",
                        r == -ELOOP || r == -ENOTDIR
                                ? "something else is there, which a command may have put there: remove it"
                                : NULL);
        }
        return 0;
}

/* --------------------------------------------------------------- the rules */

int instance_add_rules(struct nsrun_policy *p, struct nsrun_error *err) {
        _cleanup_free_ char *root = NULL, *spelled = NULL;
        struct policy_rule *rule;
        int r;

        r = instance_find_root(p, &root, &spelled, err);
        if (r < 0)
                return r;
        if (policy_add_default(p, POLICY_RW, root, "the instance") < 0)
                return error_oom(err);
        rule = &p->rules[p->n_rules - 1];
        rule->is_to_be_made = true;
        if (!streq(spelled, root) &&
            (!(rule->spelled = strdup(spelled)) || !(rule->alias = strdup(spelled))))
                return error_oom(err);
        free(p->instance_root);
        p->instance_root = TAKE_PTR(root);
        if (expose_merge(&p->expose) < 0)
                return error_oom(err);
        r = expose_check_all(&p->expose, err);
        for (size_t i = 0; i < p->expose.n && r >= 0; i++) {
                const struct expose_rule *e = &p->expose.items[i];

                if (policy_add_rule(p, streq(e->mode, "rw") ? POLICY_RW : POLICY_RO, e->source, e->target,
                                    e->label) < 0)
                        return error_oom(err);
                rule = &p->rules[p->n_rules - 1];
                rule->is_config = true;
                rule->is_derived = true;
        }
        return r;
}

/* What the base view shows, or nsrun makes itself: a command line adds nothing to that. */
static bool is_in_base_view(const char *path) {
        static const char *const trees[] = {"/usr",    "/bin", "/sbin", "/lib", "/lib32", "/lib64",
                                            "/libx32", "/dev", "/proc", "/sys", "/boot"};

        if (refuse_is_own(path) || streq(path, "/etc"))
                return true;
        for (size_t i = 0; i < ARRAY_SIZE(trees); i++)
                if (path_is_beneath(path, trees[i]))
                        return true;
        return false;
}

/* Whether a rule decides already what is to be seen there. */
static bool is_covered(const struct nsrun_policy *p, const char *path) {
        for (size_t i = 0; i < p->n_rules; i++) {
                const struct policy_rule *rule = &p->rules[i];

                if (path_is_beneath(path, rule->target ? rule->target : rule->source))
                        return true;
        }
        return false;
}

/* A home or a system folder that a command line names is not what it needs to write. */
static bool is_too_much(const struct nsrun_policy *p, const char *folder) {
        return project_denied(folder, p->home) != NULL || writable_denied(folder) != NULL;
}

/* Among keys and other programs' settings: who names what isn't there has not asked for what is. */
static bool is_in_hidden_folder(const struct nsrun_policy *p, const char *folder) {
        const char *below = p->home ? path_below(folder, p->home) : NULL;

        return below && below[0] == '.';
}

/* What is shown already is to be found under the name that was used, too, where that is nowhere yet. */
static int add_link(struct nsrun_policy *p, const char *canonical, const char *spelled) {
        _cleanup_free_ char *path = path_normalise(spelled);

        if (!path)
                return -ENOMEM;
        return is_in_base_view(path) || streq(path, "/tmp") || is_covered(p, path)
                       ? 0
                       : policy_add_link(p, canonical, path);
}

/* `canonical` is what `spelled`, absolute, leads to.  -ENOMEM. */
static int add(struct nsrun_policy *p, enum policy_access access, const char *canonical, const char *spelled,
               const char *option) {
        struct policy_rule *rule;

        if (is_in_base_view(canonical) || is_covered(p, canonical))
                return streq(canonical, spelled) ? 0 : add_link(p, canonical, spelled);
        if (policy_add_default(p, access, canonical, option) < 0)
                return -ENOMEM;
        rule = &p->rules[p->n_rules - 1];
        if (streq(canonical, spelled))
                return 0;
        rule->spelled = strdup(spelled);
        rule->alias = path_normalise(spelled);
        return rule->spelled && rule->alias ? 0 : -ENOMEM;
}

/* The folder of what `spelled` leads to: whoever could plant a link on that way chose the folder, too. */
static int add_parent(struct nsrun_policy *p, const char *canonical, const char *spelled,
                      const char *option) {
        _cleanup_free_ char *folder = path_parent(canonical), *way = NULL;
        size_t n = p->n_rules;
        int r;

        if (!folder)
                return -ENOMEM;
        r = is_too_much(p, folder) ? 0 : add(p, POLICY_RO, folder, folder, option);
        if (r < 0 || p->n_rules == n)
                return r;
        if (asprintf(&way, "%s/..", spelled) < 0)
                return -ENOMEM;
        p->rules[n].spelled = TAKE_PTR(way);
        return 0;
}

/* The file, and its folder, where it really is; and the folder that it was named in. */
static int add_executable(struct nsrun_policy *p, const char *spelled) {
        static const char option[] = "the executable";
        _cleanup_free_ char *canonical = NULL, *named = NULL, *folder = NULL;
        unsigned mode = 0;
        int r;

        r = path_canonical(spelled, &canonical, &mode);
        if (r < 0 || (mode & S_IFMT) != S_IFREG)
                return r == -ENOMEM ? r : 0;
        named = path_parent(spelled);
        if (!named || path_canonical(named, &folder, NULL) < 0)
                return -ENOMEM;
        r = add_parent(p, canonical, spelled, option);
        if (r >= 0 && !is_too_much(p, folder))
                r = add(p, POLICY_RO, folder, named, option);
        return r < 0 ? r : add(p, POLICY_RO, canonical, spelled, option);
}

/* The nearest folder above that is there is for what the command will make. */
static int add_missing(struct nsrun_policy *p, const char *spelled, const char *option) {
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
                return -ENOMEM;
        if (r < 0 || (mode & S_IFMT) != S_IFDIR || is_too_much(p, canonical) ||
            is_in_hidden_folder(p, canonical))
                return 0;
        return add(p, POLICY_RW, canonical, path, option);
}

static int add_argument(struct nsrun_policy *p, const char *path) {
        static const char option[] = "an argument";
        _cleanup_free_ char *canonical = NULL;
        unsigned mode = 0;
        int r;

        r = path_canonical(path, &canonical, &mode);
        if (r == -ENOMEM)
                return r;
        if (r == -ENOENT)
                return add_missing(p, path, option);
        if (r < 0)
                return 0; /* the command would learn the same */
        if ((mode & S_IFMT) != S_IFDIR)
                return add(p, POLICY_RO, canonical, path, option);
        return is_too_much(p, canonical) ? 0 : add(p, POLICY_RW, canonical, path, option);
}

/* Where the command's name leads on the host, or NULL: absolute, not normalised. */
static int find_executable(const struct nsrun_policy *p, const char *cwd, char **ret) {
        const char *name = p->argv[0], *path = environment_get(environment_inherited(p), "PATH");

        *ret = NULL;
        if (path_is_absolute(name) || (strchr(name, '/') && !cwd)) {
                *ret = path_is_absolute(name) ? strdup(name) : NULL;
                return *ret || !path_is_absolute(name) ? 0 : -ENOMEM;
        }
        if (strchr(name, '/'))
                return asprintf(ret, "%s/%s", cwd, name) < 0 ? -ENOMEM : 0;
        while (path && *path) {
                size_t n = strcspn(path, ":");
                _cleanup_free_ char *candidate = NULL;

                if (path[0] == '/') {
                        if (asprintf(&candidate, "%.*s/%s", (int)n, path, name) < 0)
                                return -ENOMEM;
                        if (sys_is_executable(candidate) == 0) {
                                *ret = TAKE_PTR(candidate);
                                return 0;
                        }
                }
                path += n + (path[n] == ':');
        }
        return 0;
}

int instance_add_command(struct nsrun_policy *p, const char *cwd, struct nsrun_error *err) {
        _cleanup_free_ char *executable = NULL;
        size_t n = 0;
        int r;

        /* A session's commands come later, and see what was decided by then. */
        if (!p->argv)
                return 0;
        r = find_executable(p, p->project ? p->project : cwd, &executable);
        if (r >= 0 && executable)
                r = add_executable(p, executable);
        for (char **argument = p->argv + 1; r >= 0 && *argument; argument++) {
                const char *equals = (*argument)[0] == '-' ? strchr(*argument, '=') : NULL;
                const char *path = equals ? equals + 1 : *argument;

                if (!path_is_absolute(path))
                        continue;
                if (++n > MOST_ARGUMENTS)
                        return refuse(err, NULL, "expose a folder that holds them, with --ro or --rw",
                                      "the command line names too many absolute paths");
                r = add_argument(p, path);
        }
        return r < 0 ? error_oom(err) : 0;
}
