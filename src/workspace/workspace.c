/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun_workspace_*(): what a host program does with files on behalf of what runs in its
 * sandboxes.  Starts no program. */
#include "workspace.h"

#include <pthread.h>

#include "base/path.h"
#include "base/str.h"
#include "host/git_author.h"
#include "resolve.h"

/* ----------------------------------------------------- run directories and their end */

static pthread_mutex_t with_rundir_lock = PTHREAD_MUTEX_INITIALIZER;
static struct nsrun_workspace *with_rundir;

static void workspace_remember(struct nsrun_workspace *w) {
        (void)pthread_mutex_lock(&with_rundir_lock);
        w->next = with_rundir;
        with_rundir = w;
        (void)pthread_mutex_unlock(&with_rundir_lock);
}

static void workspace_forget(const struct nsrun_workspace *w) {
        (void)pthread_mutex_lock(&with_rundir_lock);
        for (struct nsrun_workspace **at = &with_rundir; *at; at = &(*at)->next)
                if (*at == w) {
                        *at = w->next;
                        break;
                }
        (void)pthread_mutex_unlock(&with_rundir_lock);
}

/* Removes the run directories of workspaces that a host program hasn't freed when it calls exit(3)
 * or unloads the library.  If another thread holds the lock in that moment they are left to the
 * next sweep: waiting here could last for ever. */
static __attribute__((__destructor__)) void remove_rundirs(void) {
        if (pthread_mutex_trylock(&with_rundir_lock) != 0)
                return;
        for (struct nsrun_workspace *w = with_rundir; w; w = w->next)
                if (w->owner == getpid())
                        rundir_remove(&w->rundir);
        (void)pthread_mutex_unlock(&with_rundir_lock);
}

static int need_rundir(struct nsrun_workspace *w, struct nsrun_error *err) {
        int r;

        if (w->rundir.path)
                return 0;
        r = rundir_make(&w->rundir, err);
        if (r < 0)
                return r;
        w->rundir.is_shown = true;
        w->owner = getpid();
        workspace_remember(w);
        return 0;
}

/* Closes a run directory's descriptors without removing it: in a forked copy it is the parent's. */
static void leave_rundir(struct rundir *u) {
        close_fdp(&u->lock_fd);
        close_fdp(&u->dir_fd);
        close_fdp(&u->base_fd);
        free(TAKE_PTR(u->path));
}

nsrun_public int nsrun_sweep(struct nsrun_error *error) {
        return rundir_sweep_all(error);
}

/* ------------------------------------------------------------------- the object */

static int workspace_make(const char *project, bool is_allow_all, struct nsrun_workspace **ret,
                          struct nsrun_error *error) {
        struct nsrun_workspace *w = calloc(1, sizeof(*w));
        int r;

        if (!w)
                return error_oom(error);
        w->rundir = RUNDIR_INIT;
        w->is_allow_all = is_allow_all;
        r = is_allow_all ? workspace_allow_all(&w->roots, project, error)
                         : workspace_set_project(&w->roots, project, getenv("HOME"), error);
        if (r < 0) {
                (void)nsrun_workspace_free(w);
                return r;
        }
        *ret = w;
        return 0;
}

nsrun_public int nsrun_workspace_new(const char *project, struct nsrun_workspace **ret,
                                     struct nsrun_error *error) {
        return workspace_make(project, false, ret, error);
}

nsrun_public int nsrun_workspace_new_allow_all(const char *project, struct nsrun_workspace **ret,
                                               struct nsrun_error *error) {
        return workspace_make(project, true, ret, error);
}

nsrun_public struct nsrun_workspace *nsrun_workspace_free(struct nsrun_workspace *w) {
        if (!w)
                return NULL;
        if (w->rundir.path) {
                workspace_forget(w);
                if (w->owner == getpid())
                        rundir_remove(&w->rundir);
                else
                        leave_rundir(&w->rundir);
        }
        workspace_clear(&w->roots);
        strv_free(w->env);
        strv_free(w->readable);
        strv_free(w->writable);
        free(w);
        return NULL;
}

nsrun_public int nsrun_workspace_add_readable(struct nsrun_workspace *w, const char *path,
                                              struct nsrun_error *error) {
        return workspace_add_root(&w->roots, WORKSPACE_READ, path, error);
}

nsrun_public int nsrun_workspace_hide(struct nsrun_workspace *w, const char *glob,
                                      struct nsrun_error *error) {
        return workspace_hide_names(&w->roots, glob, error);
}

nsrun_public int nsrun_workspace_add_writable(struct nsrun_workspace *w, const char *path,
                                              struct nsrun_error *error) {
        return workspace_add_root(&w->roots, WORKSPACE_WRITE, path, error);
}

nsrun_public int nsrun_workspace_set_temp(struct nsrun_workspace *w, int alias_tmp_to_temp,
                                          struct nsrun_error *error) {
        _cleanup_free_ char *path = NULL;
        int r;

        if (w->roots.temp) {
                w->roots.alias_tmp_to_temp = alias_tmp_to_temp != 0;
                return 0;
        }
        r = need_rundir(w, error);
        if (r >= 0)
                r = rundir_make_scratch(&w->rundir, error);
        if (r < 0)
                return r;
        path = path_join(w->rundir.path, RUNDIR_SCRATCH);
        return path ? workspace_set_temp(&w->roots, path, alias_tmp_to_temp != 0, error) : error_oom(error);
}

/* Lists the roots' paths, all or the writable ones, in a new *kept. */
static int workspace_list_roots(const struct workspace *w, bool writable_alone, char ***kept,
                                const char *const **ret, struct nsrun_error *err) {
        _cleanup_strv_ char **list = NULL;

        for (size_t i = 0; i < w->n_roots; i++)
                if ((w->roots[i].is_writable || !writable_alone) && strv_add(&list, w->roots[i].path) < 0)
                        return error_oom(err);
        strv_free(*kept);
        *kept = TAKE_PTR(list);
        *ret = (const char *const *)*kept;
        return 0;
}

nsrun_public int nsrun_workspace_readable(struct nsrun_workspace *w, const char *const **ret,
                                          struct nsrun_error *error) {
        return workspace_list_roots(&w->roots, false, &w->readable, ret, error);
}

nsrun_public int nsrun_workspace_writable(struct nsrun_workspace *w, const char *const **ret,
                                          struct nsrun_error *error) {
        return workspace_list_roots(&w->roots, true, &w->writable, ret, error);
}

nsrun_public int nsrun_workspace_has_tmp_alias(const struct nsrun_workspace *w) {
        return w->roots.temp && w->roots.alias_tmp_to_temp;
}

nsrun_public const char *nsrun_workspace_project(const struct nsrun_workspace *w) {
        return w->roots.roots[0].path;
}

nsrun_public const char *nsrun_workspace_temp(const struct nsrun_workspace *w) {
        return w->roots.temp;
}

nsrun_public int nsrun_workspace_rundir(struct nsrun_workspace *w, const char **ret,
                                        struct nsrun_error *error) {
        int r = need_rundir(w, error);

        if (r >= 0)
                *ret = w->rundir.path;
        return r;
}

/* ------------------------------------------------------------------- environment */

nsrun_public int nsrun_workspace_set_env(struct nsrun_workspace *w, const char *const *environment,
                                         struct nsrun_error *error) {
        _cleanup_strv_ char **copy = NULL;

        for (const char *const *entry = environment; entry && *entry; entry++)
                if (**entry == '=' || !strchr(*entry, '='))
                        return error_set(error, NSRUN_STAGE_USAGE, -EINVAL, *entry,
                                         "an environment's entry is not NAME=VALUE", NULL);
        if (strv_copy((char *const *)(uintptr_t)environment, &copy) < 0)
                return error_oom(error);
        strv_free(w->env);
        w->env = TAKE_PTR(copy);
        w->has_env = w->is_env_explicit = environment != NULL;
        return 0;
}

/* Finds the committer's name and address in git's configuration files. */
static int find_identity(const struct nsrun_workspace *w, char ***ret) {
        _cleanup_identity_ struct identity id = {0};
        _cleanup_strv_ char **writable = NULL, **env = NULL;
        struct identity_request request = {.project = w->roots.roots[0].path, .environ = environ};
        int r = 0;

        for (size_t i = 0; i < w->roots.n_roots && r >= 0; i++)
                if (w->roots.roots[i].is_writable)
                        r = strv_add(&writable, w->roots.roots[i].path);
        request.untrusted = writable;
        if (r >= 0)
                r = identity_find(&request, &id);
        if (r >= 0)
                r = identity_to_environment(&id, &env);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(env);
        return 0;
}

nsrun_public int nsrun_workspace_env(struct nsrun_workspace *w, const char *const **ret,
                                     struct nsrun_error *error) {
        static const char *const none[] = {NULL};

        if (!w->has_env && find_identity(w, &w->env) < 0)
                return error_oom(error);
        w->has_env = true;
        *ret = w->env ? (const char *const *)w->env : none;
        return 0;
}

/* -------------------------------------------------------------- containment */

static int to_access(enum nsrun_access access, enum workspace_access *ret, struct nsrun_error *err) {
        switch (access) {
        case NSRUN_READ:
                *ret = WORKSPACE_READ;
                return 0;
        case NSRUN_WRITE:
                *ret = WORKSPACE_WRITE;
                return 0;
        }
        return error_set(err, NSRUN_STAGE_USAGE, -EINVAL, NULL, "no such access", NULL);
}

nsrun_public int nsrun_workspace_resolve(const struct nsrun_workspace *w, enum nsrun_access access,
                                         const char *path, char **ret, struct nsrun_error *error) {
        enum workspace_access wanted = WORKSPACE_READ;
        int r = to_access(access, &wanted, error);

        return r < 0 ? r : workspace_resolve(&w->roots, wanted, path, ret, error);
}

nsrun_public int nsrun_workspace_open(const struct nsrun_workspace *w, enum nsrun_access access,
                                      const char *path, int flags, mode_t mode, int *ret_fd,
                                      struct nsrun_error *error) {
        enum workspace_access wanted = WORKSPACE_READ;
        int r = to_access(access, &wanted, error);

        return r < 0 ? r : workspace_open(&w->roots, wanted, path, flags, mode, ret_fd, error);
}
