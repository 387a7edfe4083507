/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The mount tree of a sandbox while it is built, and the steps that a plan of nsrun's own and a raw one
 * share. All through descriptors, in the child. */
#pragma once

#include "blueprint.h"

#define ATTRIBUTES_BIND  (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define ATTRIBUTES_COVER (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

struct mounting {
        const struct blueprint *b;
        struct nsrun_error *error;
        int report_fd;
        int old_root;           /* the host's root, beneath which sources are looked up */
        int new_root;           /* the sandbox's root, beneath which targets are looked up */
        int descriptors;        /* the host's /proc/self/fd, the working directory while mounting */
        int rundir_fd;          /* the run directory by a mount of the child's own */
        int unreadable_fd;      /* the file in the place of hidden ones, once there was one */
        char unreadable[48];    /* and its name */
        int overlay_fd;         /* the tmpfs of overlays' layers in memory, for pid 1 to keep; or -EBADF */
        int home_fd;            /* the plan's home, for pid 1 to keep; or -EBADF */
        int stubs_fd;           /* the tmpfs that has the stubs */
        int source_fds[2];      /* the folders of the last sources, as a rule /etc and another; */
        const char *sources[2]; /* these sources, and which of the two was the last */
        unsigned last_source;
        uint64_t done;       /* descriptors that are to be closed, by their numbers */
        bool proc_is_subset; /* /proc has the processes alone */
        bool lacks_open_tree_attr;
};

/* Where something is mounted: `path` beneath the new root, made there just now; or "", and what is open at
 * `fd`, which place_close() closes. */
struct mount_place {
        int fd;
        const char *path;
};
#define PLACE_NONE \
        { .fd = -EBADF, .path = "" }
#define _cleanup_place_ _cleanup_(place_close)
static inline void place_close(struct mount_place *at) {
        if (!*at->path)
                close_fdp(&at->fd);
}

#define MOUNTING_INIT                                                                               \
        {                                                                                           \
                .report_fd = -EBADF, .old_root = -EBADF, .new_root = -EBADF, .descriptors = -EBADF, \
                .rundir_fd = -EBADF, .overlay_fd = -EBADF, .home_fd = -EBADF, .stubs_fd = -EBADF,   \
                .unreadable_fd = -EBADF, .source_fds[0] = -EBADF, .source_fds[1] = -EBADF           \
        }

/* mount.c: makes the first root, a tmpfs that becomes "/" at once, with the host's root still reachable
 * through m->old_root alone.  `propagation`: MS_PRIVATE or MS_SLAVE; `options` of the tmpfs, or NULL. */
int mount_private_root(struct mounting *m, unsigned long propagation, const char *options);
/* Carries out all operations of a plan of nsrun's own, from the first root to the working
 * directory. */
int mount_tree(struct mounting *m);
/* The same without the end: the tree isn't sealed, and the host's is there still. */
int mount_beside(struct mounting *m);
/* Enters the working directory beneath `root`, a descriptor or AT_FDCWD.  Symlinks in its path may be the
 * plan's or a former command's and stay inside; a magic link of /proc would not. */
int mount_enter_directory(int root, const char *path, struct nsrun_error *err);
/* Mounts a new file system at a folder. */
int mount_filesystem(const struct mount_place *at, const char *type, unsigned long flags, const char *data);
/* An open mount point. */
#define AT(target) (&(const struct mount_place){.fd = (target), .path = ""})
/* The mount point of op; made first where the plan says so. */
int mount_point(struct mounting *m, const struct plan_op *op, struct mount_place *ret);
/* That, once it is there: what lies on it by now. */
int mount_point_again(const struct mounting *m, const struct plan_op *op, struct mount_place *ret);
/* Its path for whom has mounting's working directory. */
#define PLACE_PATH_MAX 4096
int place_path(const struct mount_place *at, char to[PLACE_PATH_MAX]);

/* Makes op's file, for `bytes` NULL an empty one. */
int mount_make_file(struct mounting *m, const struct plan_op *op, mode_t mode, const char *bytes, size_t n);

/* mount_bind.c: attaches a copy of the tree at `source`. `attributes`: MOUNT_ATTR_*. */
int mount_attach(struct mounting *m, const struct plan_op *op, int source, const struct mount_place *at,
                 uint64_t attributes, bool is_recursive);
/* The copy alone, of a path in `dir` (or "") whose last part isn't followed; `recursive`: AT_RECURSIVE or 0.
 * What the path is at fault for (-ENOENT and its like) leaves m->error as it was. */
int mount_clone(struct mounting *m, const struct plan_op *op, int dir, const char *path, uint64_t attributes,
                unsigned recursive);
int mount_clone_attach(struct mounting *m, const struct plan_op *op, int tree, const struct mount_place *at);
/* Closes a descriptor when others are closed, too; and those that wait. */
void mount_close_later(struct mounting *m, int fd);
void mount_close(struct mounting *m);
int mount_fail_bind(struct mounting *m, const struct plan_op *op, int r, const char *what, const char *hint);
int mount_bind(struct mounting *m, const struct plan_op *op);

/* mount_special.c: the scratch folder and /proc. */
int mount_name_rundir(struct mounting *m);
int mount_open_scratch(struct mounting *m, const struct plan_op *op);
int mount_proc(struct mounting *m, const struct plan_op *op);
/* Makes a socket that waits inside, and hands it to the process on the host's side that is to listen there.
 */
int mount_socket(struct mounting *m, const struct plan_op *op);
/* The run directory, opened by a mount of the child's own.  The descriptor is m's. */
int mount_open_rundir(struct mounting *m);
/* Whether the command's private versions have a place, and whether that is in memory; the folder in which
 * they are then.  The descriptor is m's. */
static inline bool mount_is_in_memory(const struct mounting *m) {
        return m->b->facts.versions_socket >= 0;
}
static inline bool mount_has_versions(const struct mounting *m) {
        return mount_is_in_memory(m) || m->b->rundir_path;
}
int mount_open_versions(struct mounting *m, const struct plan_op *op);
/* mount_overlay.c: an overlay; of a default cache the next best that can be had, with a note. */
int mount_overlay(struct mounting *m, const struct plan_op *op);
/* Lays the command's own overlay over a protected folder, or where that has nothing in it a folder of its
 * own.  1: it is there; 0: it can't be had, which is reported, and the folder is to be read-only. */
int mount_private_folder(struct mounting *m, const struct plan_op *op);
/* mount_stubs.c: a bind whose source has names in it that nothing can make. */
int mount_with_stubs(struct mounting *m, const struct plan_op *op);
