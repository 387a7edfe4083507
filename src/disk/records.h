/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where sessions' records are: $XDG_RUNTIME_DIR/nsrun/sessions, else below nsrun's cache folder,
 * 0700.  Each is a folder, whose lock the session's monitor holds for life.  A record whose lock
 * nobody holds is stale, and the next nsrun that looks removes it.  What is in a record is
 * plan/record.h's. */
#pragma once

#include <time.h>

#include "base/error.h"

struct record_folder {
        char *id;
        int base_fd;     /* the folder of all records */
        int dir_fd;      /* this record's folder */
        int lock_fd;     /* its maker's lock on it; else -EBADF */
        int activity_fd; /* a file that each running command locks (shared); its mtime is when a command last
                            began or ended, and it holds the moment of records_sweep() */
};

#define RECORD_FOLDER_INIT                                                                    \
        (struct record_folder) {                                                              \
                .base_fd = -EBADF, .dir_fd = -EBADF, .lock_fd = -EBADF, .activity_fd = -EBADF \
        }

/* The canonical path of the folder of all records, which need not exist.  -ENOENT: the environment
 * names no folder for it. */
int records_find_base(char **ret, struct nsrun_error *err);
/* All of nsrun's own folders: that of run directories, that of exposed_find_base(), and this one.  One that
 * the environment doesn't name, or that can't be looked at, is left as it is.  -ENOMEM. */
int records_find_folders(char **ret_runs, char **ret_state, char **ret_records);
/* Refuses a session's name: -EINVAL with *err filled. */
int records_refuse_name(const char *name, struct nsrun_error *err);
/* Makes and locks the folder of a new record.  If `name` is NULL eight letters are chosen.
 * -EEXIST: a session has that name.  Stage SUPERVISE. */
int records_make(const char *name, struct record_folder *ret, struct nsrun_error *err);
/* Writes the record.  Readers see it as it was before, or all of it. */
int records_write(const struct record_folder *f, const char *bytes, size_t n, struct nsrun_error *err);
/* Opens the record of a running session.  -ENOENT: no session has that name.  Stage SUPERVISE. */
int records_open(const char *name, struct record_folder *ret, struct nsrun_error *err);
/* Reads what records_write() wrote.  The caller frees *ret. */
int records_read(const struct record_folder *f, char **ret, size_t *ret_n, struct nsrun_error *err);
/* What a session's end has to say is a line each in a file of the record: records_tell() adds one, for the
 * record's maker.  Who ends the session opens the file before, and reads it when the record is gone; the
 * caller frees *ret, a vector, NULL if nothing was said. */
int records_tell(const struct record_folder *f, const char *line);
int records_open_told(const struct record_folder *f, struct nsrun_error *err);
int records_read_told(int fd, char ***ret);
/* The names of all running sessions, sorted, which the caller frees; removes stale records. */
int records_list(char ***ret, struct nsrun_error *err);
/* Removes the record and closes its descriptors; for its maker. */
void records_remove(struct record_folder *f);
void records_close(struct record_folder *f);
#define _cleanup_records_ _cleanup_(records_close)

/* Keeps commands from joining from here on, since the session is about to end, and says why: that is told
 * whoever asks for the session within a day, unless there is one of its name again.  NULL: a person ends it.
 * What was said first holds.  With if_idle it fails with -EWOULDBLOCK, and changes nothing, while a command
 * runs. */
int records_end(const struct record_folder *f, bool if_idle, const char *why);
/* That of the session that is or was called so; NULL: it goes on, or nothing was said.  The caller frees it.
 */
char *records_why(const char *id);
/* records_hold() says that a command runs, for as long as the record is open; -ESRCH: the session
 * is about to end.  records_touch() says of a record's activity_fd that a command began or ended now. */
int records_hold(const struct record_folder *f, struct nsrun_error *err);
void records_touch(int activity_fd);
/* Says that all that came to be before `until` was looked through for what a command mustn't leave; and when
 * that was said last, or else when the record was made.  Between two commands processes of theirs go on.
 * -errno: it couldn't be written, and what was said before holds. */
int records_sweep(int activity_fd, const struct timespec *until);
struct timespec records_last_sweep(const struct record_folder *f);
/* For how many seconds no command has run; 0 while one runs. */
uint64_t records_idle_seconds(const struct record_folder *f);
