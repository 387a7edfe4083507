/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where sessions are written down: $XDG_RUNTIME_DIR/nsrun/sessions, else the cache
 * folder's, 0700; one folder each, whose lock the session's monitor holds for life.  A
 * record without a holder of its lock is stale, and whoever comes by removes it.  What is
 * in a record is plan/record.h's. */
#pragma once

#include "base/error.h"

struct record_folder {
        char *id;
        int base_fd;     /* the folder of all records */
        int dir_fd;      /* this one */
        int lock_fd;     /* its lock; of a maker: held exclusively */
        int activity_fd; /* held shared by every command that runs; its mtime is when one last began or ended
                          */
};

#define RECORD_FOLDER_INIT                                                                    \
        (struct record_folder) {                                                              \
                .base_fd = -EBADF, .dir_fd = -EBADF, .lock_fd = -EBADF, .activity_fd = -EBADF \
        }

/* Where records are or will be, canonical.  -ENOENT: nobody names a folder. */
int records_find_base(char **ret, struct nsrun_error *err);
/* -EINVAL, with *err filled. */
int records_refuse_name(const char *name, struct nsrun_error *err);
/* Makes and locks the folder of a new record; `name` may be NULL: eight letters are
 * chosen.  -EEXIST: there is such a session.  Stage SUPERVISE. */
int records_make(const char *name, struct record_folder *ret, struct nsrun_error *err);
/* Writes the record: whole, or as it was. */
int records_write(const struct record_folder *f, const char *bytes, size_t n, struct nsrun_error *err);
/* Opens one that lives.  -ENOENT: there is none.  Stage SUPERVISE. */
int records_open(const char *name, struct record_folder *ret, struct nsrun_error *err);
/* What records_write() wrote; the caller's. */
int records_read(const struct record_folder *f, char **ret, size_t *ret_n, struct nsrun_error *err);
/* The names of those that live, sorted; removes the stale ones.  The caller's. */
int records_list(char ***ret, struct nsrun_error *err);
/* Removes it and closes all; the maker's. */
void records_remove(struct record_folder *f);
void records_close(struct record_folder *f);
#define _cleanup_records_ _cleanup_(records_close)

/* From here on nobody holds it any more, and it goes soon; the monitor's.  if_idle: -EWOULDBLOCK, and all
 * is as it was, where somebody holds it. */
int records_end(const struct record_folder *f, bool if_idle);
/* Says that a command runs, for as long as the record is open; -ESRCH: it is too late.  And that one began
 * or ended now. */
int records_hold(const struct record_folder *f, struct nsrun_error *err);
void records_touch(const struct record_folder *f);
/* For how many seconds nothing has run; 0 where something does. */
uint64_t records_idle_seconds(const struct record_folder *f);
