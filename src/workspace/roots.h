/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The roots of a workspace: which folders of the host its file tools may read, and which they may
 * write.  Each is opened once, when it is added. */
#pragma once

#include "base/error.h"

enum workspace_access {
        WORKSPACE_READ,
        WORKSPACE_WRITE
};

struct workspace_root {
        char *path;      /* canonical; NULL: a hidden place, where the sandbox has nothing of the host's */
        char *target;    /* the root's place in the sandbox; NULL: the same as `path` */
        const char *why; /* of a hidden place: what a refusal says, static; NULL: the usual message */
        int fd;          /* O_PATH, of what `path` led to when the root was added */
        bool is_writable;
        bool is_directory;
};

/* A workspace's roots, of which roots[0] is the project.  To be zero-initialised. */
struct workspace {
        struct workspace_root *roots;
        size_t n_roots;
        char *temp;             /* the temp's canonical path, one of the writable roots; NULL: none */
        bool alias_tmp_to_temp; /* /tmp means temp, as it does in the sandbox */
        char **hide,
                **hidden_names; /* globs of names to hide: as they were given, and as host/walk.h has them */
};

/* Sets the project, a writable root at which relative paths begin.  It must exist, and
 * project_denied(project, home) must allow it.  To be called first. */
int workspace_set_project(struct workspace *w, const char *project, const char *home,
                          struct nsrun_error *err);
/* Instead of workspace_set_project(), for file tools that nothing confines: the project may be any
 * folder, and "/" is a writable root. */
int workspace_allow_all(struct workspace *w, const char *project, struct nsrun_error *err);
/* Adds a root, which must exist.  A relative path begins at the working directory.  A root that is
 * added twice is writable if it was added so once. */
int workspace_add_root(struct workspace *w, enum workspace_access access, const char *path,
                       struct nsrun_error *err);
/* Adds a root that the sandbox has at another place, `target`, absolute and normalised. */
int workspace_add_bind(struct workspace *w, enum workspace_access access, const char *path,
                       const char *target, struct nsrun_error *err);
/* Adds a root by a folder that is open, at `target`, its place in the sandbox; takes the descriptor, on
 * failure too.  The host has no path of it: it is reached by /proc/self/fd. */
int workspace_add_opened(struct workspace *w, enum workspace_access access, int fd, const char *target,
                         struct nsrun_error *err);
/* Says that the sandbox has nothing of the host's at `target`.  That hides what a root around it
 * has there; roots beneath `target` still count.  `why` is static, or NULL. */
int workspace_hide(struct workspace *w, const char *target, const char *why, struct nsrun_error *err);
/* Hides names by a glob as --hide's.  -EINVAL: it is none; -ENOMEM. */
int workspace_hide_names(struct workspace *w, const char *glob, struct nsrun_error *err);
/* Whether a place of the host's has a hidden name, or lies in a folder with one; and whether a hidden name
 * that would be none elsewhere may lie in it. */
bool workspace_hides(const struct workspace *w, const char *host);
bool workspace_holds_hidden(const struct workspace *w, const char *host);
int workspace_set_temp(struct workspace *w, const char *path, bool alias_tmp, struct nsrun_error *err);
void workspace_clear(struct workspace *w);
#define _cleanup_workspace_ _cleanup_(workspace_clear)

/* A root's place in the sandbox. */
static inline const char *workspace_place(const struct workspace_root *root) {
        return root->target ? root->target : root->path;
}

/* The innermost root that holds a path in the sandbox; NULL if none does, or if the path is hidden. */
const struct workspace_root *workspace_root_at(const struct workspace *w, const char *path);
/* Why workspace_hide() hid the path, if it was told; else NULL. */
const char *workspace_why_hidden(const struct workspace *w, const char *path);
