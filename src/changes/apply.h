/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One tree made like another in chosen paths, in three steps: what is to be done (ops.c), made
 * ready (stage.c), moved into place (move.c).  A commit has the overlay as its source and
 * the host's folder as its target, a discard the other way round. */
#pragma once

#include "internal.h"
#include "tree.h"

enum role {
        ROLE_OBJECT,   /* made ready as "N" in the stage, and moved */
        ROLE_IN_TREE,  /* made ready inside such an N, a folder */
        ROLE_FOLDER,   /* a folder on both sides: its mode and attributes; these a commit stages as "N" */
        ROLE_MODE,     /* the mode alone, in place */
        ROLE_REMOVE,   /* moved away, then removed */
        ROLE_COVERED,  /* moved or removed together with a folder above it */
        ROLE_LEFT_OUT, /* a device, a socket */
};

struct op {
        const struct change *change;
        const char *path; /* relative to the target's root: the change's path or, of a rename's removal, its
                             old path */
        bool is_put, is_implied, is_done;
        enum role role;
        size_t top;     /* of ROLE_IN_TREE: the op whose tree it is in */
        size_t link_of; /* an earlier op that is the same inode, or itself */
        struct stat source;
        struct stat seen; /* the target's, if is_there */
        bool is_there;
        bool has_left; /* what a commit leaves there is known already: its stat is `left` */
        struct stat left;
        /* Digests of what is put there, where one is wanted: digest.h. */
        unsigned char content[SHA256_SIZE], attributes[SHA256_SIZE];
};

/* A folder that was made writable for a while. */
struct grant {
        char *path;
        mode_t mode;
};

struct apply {
        struct host *host;
        const struct changes_filter *filter; /* or NULL */
        bool is_commit, is_forced;
        bool wants_digest; /* staged objects are hashed */
        struct tree source, target, staged, links;
        char stage[40]; /* the stage's name in the target */
        int stage_fd;
        struct op *ops; /* sorted by path */
        size_t n_ops;
        struct grant *grants;
        size_t n_grants;
        struct changes_report *report;
        struct nsrun_error *err;
};

/* The ops for what `paths` selects, and for the folders that it needs. */
int apply_choose(struct apply *a, const struct changes *c, char *const *paths);
/* Looks at both sides, gives each op its role. */
int apply_look(struct apply *a);
/* Makes everything ready in the stage.  -EINTR: a SIGHUP, SIGINT or SIGTERM that the caller blocks is
 * pending; the stage is gone then, as after any failure. */
int apply_stage(struct apply *a);
/* -EINTR where a SIGHUP, SIGINT or SIGTERM that the caller blocks is pending; 0 else. Can be called before
 * apply_stage(), too. */
int apply_heed(const struct apply *a);
/* Moves it into place. */
int apply_move(struct apply *a);
/* Makes a folder of the target writable for its owner until apply_restore(), as apply_stage() that
 * fails and apply_move() do it: removes the stage and gives folders their modes back. */
int apply_grant(struct apply *a, const char *path, int fd);
void apply_restore(struct apply *a);
void apply_clear(struct apply *a);

/* Adds "path: text" to the notes. */
int apply_note(struct apply *a, const char *path, const char *text);
int apply_conflict(struct apply *a, const char *path);
/* -ECANCELED, with the one error for a commit of another state than the one that was asked for. */
int apply_differs(const struct apply *a);
