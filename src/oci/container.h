/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A container on disk: ROOT/ID/, a folder of the caller's own, locked by whoever changes it. */
#pragma once

#include "base/json.h"
#include "plan/record.h"

enum container_status {
        CONTAINER_CREATING,
        CONTAINER_CREATED,
        CONTAINER_RUNNING,
        CONTAINER_STOPPED,
};

struct container {
        const char *id;
        int folder;                    /* locked; or -EBADF */
        struct record_process process; /* pid 0: none was started yet */
        char *bundle;
        char *created; /* RFC 3339 */
        struct json_document config;
        enum container_status status;
};

#define CONTAINER_INIT           \
        (struct container) {     \
                .folder = -EBADF \
        }
void container_close(struct container *c);
#define _cleanup_container_ _cleanup_(container_close)

/* A fifo in the folder: the command starts when a byte is written to it.  It is there until then. */
#define CONTAINER_FIFO "start"

/* Fills *err, of a container or a path, and returns `r`. */
int container_fail(struct nsrun_error *err, int r, const char *path, const char *what);
/* Opens the folder of containers, made if it is missing: `root`, or the user's own if that is NULL.  -EPERM:
 * others may write there. */
int container_open_root(const char *root, int *ret, struct nsrun_error *err);
/* Makes the folder of a new container, with its configuration in it.  -EEXIST: there is one. */
int container_make(int root, const char *id, const char *bundle, const char *config, struct container *ret,
                   struct nsrun_error *err);
/* Opens one, and waits for its lock where is_locked.  -ENOENT: there is none. */
int container_open(int root, const char *id, bool is_locked, struct container *ret, struct nsrun_error *err);
int container_lock(const struct container *c);
void container_unlock(const struct container *c);
/* Writes down the process. */
int container_save(struct container *c, struct nsrun_error *err);
int container_remove(int root, struct container *c, struct nsrun_error *err);
/* A pidfd of the container's process.  -ESRCH: it has ended. */
int container_open_process(const struct container *c);

/* The state as config.md has it, on one line or indented; owned by the caller. */
int container_describe(const struct container *c, bool is_indented, char **ret, struct nsrun_error *err);
const char *container_status_name(enum container_status status);

/* hooks.c: runs the hooks of that name, with the state as their standard input.  The first that fails is an
 * error. */
int hooks_run(const struct container *c, const char *name, struct nsrun_error *err);
