/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "missing_program.h"

#include <fcntl.h>

#include "base/path.h"
#include "base/responds.h"
#include "base/sys.h"
#include "host/program.h"
#include "never.h"
#include "path.h"

/* Whether the sandbox has what the host has at `path`, as far as the plan's mounts tell. */
static bool has_host_path(const struct nsrun_plan *plan, const char *path) {
        for (size_t i = 0; i < plan->n_ops; i++) {
                const struct plan_op *op = &plan->ops[i];

                if ((op->kind == PLAN_BIND || op->kind == PLAN_OVERLAY) && path_is_beneath(path, op->target))
                        return true;
        }
        return false;
}

/* The host's first program of that name in `path`, a list as PATH; NULL: none, or memory runs out. */
static char *find_program_in(const char *path, const char *name) {
        for (const char *end; path; path = *end ? end + 1 : NULL) {
                _cleanup_close_ int fd = -EBADF;
                char *file = NULL;

                end = strchrnul(path, ':');
                if (*path == '/' && !(file = str_format("%.*s/%s", (int)(end - path), path, name)))
                        return NULL;
                fd = file ? responds_open(AT_FDCWD, file, O_PATH, 0) : -ENOENT;
                if (fd >= 0 && sys_is_executable(file) >= 0)
                        return file;
                free(file);
        }
        return NULL;
}

/* The host's own at a path that the command line says in full. */
static char *find_program_at(const char *path) {
        _cleanup_close_ int fd = responds_open(AT_FDCWD, path, O_PATH, 0);

        return fd >= 0 && sys_is_executable(path) >= 0 ? strdup(path) : NULL;
}

/* What exposes the program that is found at `found` and is really at `real`: with its package where it has
 * one that may be exposed.  Else the file and not its folder, which may be the home; of a symlink that shows
 * what it leads to. */
static char *options_for(struct nsrun_plan *plan, const char *found, const char *real) {
        _cleanup_free_ char *package = NULL, *never = NULL, *file = str_shell_quote(found), *folder = NULL;

        if (!file || program_package(real, &package) < 0)
                return NULL;
        if (!package || explain_never(plan, package, false, &never) < 0 || never)
                return str_concat("--ro ", file, "");
        folder = str_shell_quote(package);
        return !folder                           ? NULL
               : path_is_beneath(found, package) ? str_concat("--ro ", folder, "")
                                                 : str_format("--ro %s --ro %s", file, folder);
}

void explain_missing_program(struct nsrun_plan *plan, struct nsrun_error *err) {
        const char *path = environment_get(plan->env, "PATH");
        _cleanup_free_ char *found = NULL, *real = NULL, *visible = NULL, *words = NULL, *never = NULL;
        bool is_denied = err && err->error == EACCES;
        const struct plan_op *cover;

        if (!err || err->stage != NSRUN_STAGE_EXEC || (err->error != ENOENT && !is_denied) || plan->plain ||
            !err->path[0] || (err->path[0] != '/' && strchr(err->path, '/')) ||
            plan_load_operations(plan, NULL) < 0)
                return;
        found = err->path[0] == '/' ? find_program_at(err->path) : find_program_in(path, err->path);
        if (!found && (is_denied || err->path[0] == '/' || startswith(err->hint, PATH_HINT)))
                return;
        if (!found)
                found = find_program_in("/usr/local/bin:/usr/bin:/bin", err->path);
        visible = found ? str_visible(found) : NULL;
        if (!found && streq(err->path, "bash"))
                (void)snprintf(err->hint, sizeof(err->hint), "the host has none: install the package bash");
        if (!visible || path_canonical(found, &real, NULL) < 0)
                return;
        cover = explain_covering(plan, real);
        if (cover && cover->kind == PLAN_HIDE && explain_path(plan, real, REFUSED_ACCESS, &never) >= 0)
                (void)snprintf(err->hint, sizeof(err->hint), "%s", never);
        if (is_denied || never || explain_never(plan, real, false, &never) < 0 || never)
                return;
        if (has_host_path(plan, real))
                (void)snprintf(err->hint, sizeof(err->hint),
                               "%s is there, and the loader that it names isn't: expose that with --ro",
                               visible);
        else if ((words = options_for(plan, found, real)))
                (void)snprintf(err->hint, sizeof(err->hint),
                               "the host's is %s, which the sandbox hasn't got: %s exposes it", visible,
                               words);
}
