/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The roots of a workspace: which folders of the host its tools may read, and
 * which they may write.  Each is opened once, when it is added. */
#pragma once

#include "base/error.h"

enum workspace_access {
        WORKSPACE_READ,
        WORKSPACE_WRITE
};

struct workspace_root {
        char *path;      /* canonical; NULL: the sandbox has something of its own at `target` */
        char *target;    /* where the sandbox has it; NULL: at `path` */
        const char *why; /* where `path` is NULL: what a refusal says, static; NULL: the usual */
        int fd;          /* O_PATH: what the path led to when the root was added */
        bool is_writable;
        bool is_directory;
};

/* Zero-initialise it.  roots[0] is the project. */
struct workspace {
        struct workspace_root *roots;
        size_t n_roots;
        char *temp;             /* canonical, one of the writable roots; NULL: none */
        bool alias_tmp_to_temp; /* /tmp means temp, as it does in the sandbox */
};

/* The project, which must exist and must not be denied: writable, and where
 * relative paths begin.  `home` as for project_denied().  To be called first. */
int workspace_set_project(struct workspace *w, const char *project, const char *home,
                          struct nsrun_error *err);
/* In its place, for tools that nothing confines: the project, any folder, and "/". */
int workspace_allow_all(struct workspace *w, const char *project, struct nsrun_error *err);
/* Another root, which must exist; a relative one begins at the working directory.
 * A root added twice is writable if it was so once. */
int workspace_add_root(struct workspace *w, enum workspace_access access, const char *path,
                       struct nsrun_error *err);
/* A root that the sandbox has at another place: `target` is absolute and normalised. */
int workspace_add_bind(struct workspace *w, enum workspace_access access, const char *path,
                       const char *target, struct nsrun_error *err);
/* What is at `target` inside is nothing of the host's: it hides what a root around
 * it has there, but for roots further down.  `why` is static, or NULL. */
int workspace_hide(struct workspace *w, const char *target, const char *why, struct nsrun_error *err);
int workspace_set_temp(struct workspace *w, const char *path, bool alias_tmp, struct nsrun_error *err);
void workspace_clear(struct workspace *w);
#define _cleanup_workspace_ _cleanup_(workspace_clear)

/* Where the sandbox has a root. */
static inline const char *workspace_place(const struct workspace_root *root) {
        return root->target ? root->target : root->path;
}

/* The innermost root that holds a path of the sandbox's; NULL too where something
 * hidden does. */
const struct workspace_root *workspace_root_at(const struct workspace *w, const char *path);
/* Why that is hidden, where somebody said so; else NULL. */
const char *workspace_why_hidden(const struct workspace *w, const char *path);
