/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Gathers the roots of a workspace.  Whether a path lies in one is decided in resolve.c. */
#include "roots.h"

#include <sys/stat.h>

#include "base/array.h"
#include "base/causes.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "disk/reach.h"
#include "host/project.h"

/* The root whose place in the sandbox is `place`; NULL: none. */
static struct workspace_root *find_root(struct workspace *w, const char *place) {
        for (size_t i = 0; i < w->n_roots; i++)
                if (streq(workspace_place(&w->roots[i]), place))
                        return &w->roots[i];
        return NULL;
}

/* Appends a root.  Its path, target and descriptor are freed on failure. */
static int append_root(struct workspace *w, struct workspace_root root) {
        if (ARRAY_GROW(w->roots, w->n_roots) < 0) {
                free(root.path);
                free(root.target);
                close_fdp(&root.fd);
                return -ENOMEM;
        }
        w->roots[w->n_roots++] = root;
        return 0;
}

/* Adds a root whose `path` is canonical.  Takes `path` and `target`, also on failure. */
static int add_canonical(struct workspace *w, enum workspace_access access, char *path, char *target,
                         struct nsrun_error *err) {
        _cleanup_free_ char *owned = path, *owned_target = target;
        _cleanup_close_ int fd = -EBADF;
        struct workspace_root *known = find_root(w, target ? target : path);
        struct stat st;

        if (known && known->path && streq(known->path, path)) {
                known->is_writable = known->is_writable || access == WORKSPACE_WRITE;
                return 0;
        }
        fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        /* The root's descriptor stays open beside runs, and is no stream of theirs. */
        if (fd < 0 || fd_lift(&fd) < 0 || fstat(fd, &st) < 0)
                return error_set(err, NSRUN_STAGE_POLICY, -errno, path, "the root can't be opened", NULL);
        if (S_ISLNK(st.st_mode))
                return error_set(err, NSRUN_STAGE_POLICY, -ELOOP, path, "the root was swapped for a symlink",
                                 NULL);
        if (append_root(w, (struct workspace_root){.path = TAKE_PTR(owned),
                                                   .target = TAKE_PTR(owned_target),
                                                   .fd = TAKE_FD(fd),
                                                   .is_writable = access == WORKSPACE_WRITE,
                                                   .is_directory = S_ISDIR(st.st_mode)}) < 0)
                return error_oom(err);
        return 0;
}

static int roots_refuse(const char *path, const char *role, const char *why, struct nsrun_error *err) {
        return error_setf(err, NSRUN_STAGE_POLICY, -EPERM, path, "choose a folder further down",
                          "%s can't be %s", why, role);
}

static int find_project(const char *project, char **ret, struct nsrun_error *err) {
        _cleanup_free_ char *path = NULL;
        unsigned mode;
        int r = path_canonical(project, &path, &mode);

        if (r == 0 && !S_ISDIR(mode))
                r = -ENOTDIR;
        if (r < 0)
                return error_looked_at(err, NSRUN_STAGE_POLICY, r, project, "the project can't be opened",
                                       NULL);
        *ret = TAKE_PTR(path);
        return 0;
}

int workspace_allow_all(struct workspace *w, const char *project, struct nsrun_error *err) {
        char *path = NULL, *all;
        int r = find_project(project, &path, err);

        if (r >= 0)
                r = add_canonical(w, WORKSPACE_WRITE, path, NULL, err);
        if (r < 0)
                return r;
        all = strdup("/");
        return all ? add_canonical(w, WORKSPACE_WRITE, all, NULL, err) : error_oom(err);
}

int workspace_set_project(struct workspace *w, const char *project, const char *home,
                          struct nsrun_error *err) {
        _cleanup_free_ char *path = NULL;
        const char *why;
        int r = find_project(project, &path, err);

        if (r < 0)
                return r;
        why = project_denied(path, home);
        if (why)
                return roots_refuse(path, "the project", why, err);
        r = reach_check("the project", project, path, home, err);
        return r < 0 ? r : add_canonical(w, WORKSPACE_WRITE, TAKE_PTR(path), NULL, err);
}

int workspace_add_bind(struct workspace *w, enum workspace_access access, const char *given,
                       const char *target, struct nsrun_error *err) {
        _cleanup_free_ char *path = NULL, *place = NULL;
        const char *why;
        int r = path_canonical(given, &path, NULL);

        if (r < 0)
                return error_looked_at(err, NSRUN_STAGE_POLICY, r, given, "the root can't be opened", NULL);
        why = access == WORKSPACE_WRITE ? writable_denied(path) : NULL;
        if (why)
                return roots_refuse(path, "writable", why, err);
        r = reach_check("the root", given, path, NULL, err);
        if (r < 0)
                return r;
        if (target && !streq(target, path) && !(place = strdup(target)))
                return error_oom(err);
        return add_canonical(w, access, TAKE_PTR(path), TAKE_PTR(place), err);
}

int workspace_add_root(struct workspace *w, enum workspace_access access, const char *path,
                       struct nsrun_error *err) {
        return workspace_add_bind(w, access, path, NULL, err);
}

int workspace_add_opened(struct workspace *w, enum workspace_access access, int fd, const char *target,
                         struct nsrun_error *err) {
        _cleanup_close_ int owned = fd;
        int r = fd_lift(&owned);
        /* With a dot, since it is a link itself. */
        char *path = str_format("/proc/self/fd/%d/.", owned), *place = strdup(target);

        if (r < 0 || !path || !place) {
                free(path);
                free(place);
                return r < 0 ? error_set(err, NSRUN_STAGE_POLICY, r, target, "the root can't be opened",
                                         NULL)
                             : error_oom(err);
        }
        return append_root(w, (struct workspace_root){.path = path,
                                                      .target = place,
                                                      .fd = TAKE_FD(owned),
                                                      .is_writable = access == WORKSPACE_WRITE,
                                                      .is_directory = true}) < 0
                       ? error_oom(err)
                       : 0;
}

int workspace_hide(struct workspace *w, const char *target, const char *why, struct nsrun_error *err) {
        char *place = strdup(target);

        if (!place || append_root(w, (struct workspace_root){.target = place, .why = why, .fd = -EBADF}) < 0)
                return error_oom(err);
        return 0;
}

int workspace_set_temp(struct workspace *w, const char *given, bool alias_tmp, struct nsrun_error *err) {
        _cleanup_free_ char *path = NULL;
        unsigned mode;
        int r = path_canonical(given, &path, &mode);

        if (r == 0 && !S_ISDIR(mode))
                r = -ENOTDIR;
        if (r < 0)
                return error_looked_at(err, NSRUN_STAGE_POLICY, r, given,
                                       "the folder for /tmp can't be opened", NULL);
        r = reach_check("the folder for /tmp", given, path, NULL, err);
        if (r >= 0)
                r = workspace_add_root(w, WORKSPACE_WRITE, path, err);
        if (r < 0)
                return r;
        free(w->temp);
        w->temp = TAKE_PTR(path);
        w->alias_tmp_to_temp = alias_tmp;
        return 0;
}

void workspace_clear(struct workspace *w) {
        for (size_t i = 0; i < w->n_roots; i++) {
                free(w->roots[i].path);
                free(w->roots[i].target);
                close_fdp(&w->roots[i].fd);
        }
        free(w->roots);
        free(w->temp);
        strv_free(w->hide);
        strv_free(w->hidden_names);
        *w = (struct workspace){0};
}

static const struct workspace_root *innermost(const struct workspace *w, const char *path) {
        const struct workspace_root *best = NULL;
        size_t best_length = 0;

        for (size_t i = 0; i < w->n_roots; i++) {
                const char *place = workspace_place(&w->roots[i]);
                size_t n = strlen(place);

                if ((!best || n > best_length) && path_is_beneath(path, place)) {
                        best = &w->roots[i];
                        best_length = n;
                }
        }
        return best;
}

const struct workspace_root *workspace_root_at(const struct workspace *w, const char *path) {
        const struct workspace_root *root = innermost(w, path);

        return root && root->path ? root : NULL;
}

const char *workspace_why_hidden(const struct workspace *w, const char *path) {
        const struct workspace_root *root = innermost(w, path);

        return root && !root->path ? root->why : NULL;
}
