/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The logs of a session's detached commands: what they print, and how they are.  Each is a file of the
 * session's record, where no command of the session sees it; its keeper (job_keeper.c) alone writes it.  It
 * has the last LOG_KEPT bytes, and is as long as that from its beginning. */
#pragma once

#include "plan/record.h"

#define LOG_KEPT  ((size_t)256 * 1024)
#define LOGS_MOST 32

/* A log's head. */
struct log_state {
        uint64_t magic;
        struct record_process keeper; /* which ends the command when it gets a SIGTERM */
        uint64_t total;               /* bytes that were printed */
        int64_t started_s;            /* CLOCK_REALTIME, seconds */
        int32_t pid;                  /* the command's, inside; 0: not known */
        int32_t status;               /* wait(2)'s, once it has ended */
        uint32_t has_ended;           /* the command has ended */
        uint32_t is_over;             /* and nobody can print any more */
        char command[1024];           /* its beginning, a NUL behind it */
        char notes[2048];             /* what nsrun says of it when it has ended: lines, a NUL behind them */
};

struct log {
        int fd;
        char name[16]; /* "job1": no number, as processes have them */
        struct log_state state;
};

#define LOG_INIT             \
        (struct log) {       \
                .fd = -EBADF \
        }
void log_close(struct log *log);
#define _cleanup_log_ _cleanup_(log_close)

bool log_is_name(const char *name);
/* In the keeper.  Makes a log in the folder of a record; the oldest of a command that has ended is removed
 * where there are LOGS_MOST.  -EAGAIN: so many commands run. */
int log_make(const struct record_folder *f, const char *command, struct log *ret, struct nsrun_error *err);
void log_add(struct log *log, const char *bytes, size_t n);
void log_save(struct log *log);
/* Adds a line to the notes, if there is room: log_save() writes them. */
void log_note(struct log *log, const char *line);
void log_remove(const struct record_folder *f, const char *name);

/* -ENOENT: there is no such log. */
int log_open(const struct record_folder *f, const char *name, struct log *ret, struct nsrun_error *err);
/* Reads the state anew.  0, or -errno. */
int log_load(struct log *log);
/* Up to `size` bytes from *at on, which it moves on; what was overwritten is skipped, and counted in
 * *ret_skipped.  0: there are no more yet. */
ssize_t log_read(struct log *log, uint64_t *at, char *to, size_t size, uint64_t *ret_skipped);
/* Whether its keeper lives, so that more may come. */
bool log_is_kept(const struct log *log);
/* The names of a record's logs, the oldest first; NULL: none.  -errno. */
int logs_list(const struct record_folder *f, char ***ret);
