/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For --explain and `nsrun learn`: what the command asks for by paths, learned while its calls wait.  The
 * kernel reads the path once more after the answer, and the command may have changed it meanwhile: so
 * nothing here decides what a command may do, every call goes on as if nobody had looked, some once a person
 * was asked (--ask), and what was seen is told to people alone. */
#pragma once

#include "access_list.h"
#include "stderr_tap.h"

#define WATCH_UNREAD                                                                     \
        "what the command asked for can't be read here: of 32-bit programs nothing is, " \
        "and of others not where kernel.yama.ptrace_scope is 3"

struct watch {
        struct asked_list asked;
        struct printed printed;
        int root_fd;       /* the sandbox's root folder; -EBADF until it is known */
        int numbers[64];   /* of watched_calls[], -1 where the architecture has none */
        bool is_learning;  /* a path that was there once stays so */
        uint64_t n_read;   /* how many calls could be read */
        unsigned failures; /* in a row, of the listener */
        /* Called with a call whose one path isn't there: true, and the answer is the function's to give; or
         * NULL. */
        bool (*hold)(void *data, int root_fd, const struct seccomp_notif *call, const char *path,
                     enum watched_how how, const char *program);
        void *data;
};

/* Refuses a plan whose command can't be watched: what names and maps files is looked at, whatever the
 * command does, and each call has somebody to answer it. */
int watch_judge(const struct nsrun_plan *plan, struct nsrun_error *err);

/* `plan` decides what is of interest, and must outlive the watch.  -ENOMEM. */
int watch_new(const struct nsrun_plan *plan, bool is_learning, struct watch **ret);
/* Frees it and returns NULL.  `watch` may be NULL. */
struct watch *watch_free(struct watch *watch);
/* Takes a call that the filter allows: looks, and lets it go on.  -errno as of the listener. */
int watch_take(struct watch *watch, int listener, const struct seccomp_notif *question);
/* Writes a line of JSON for each path that was asked for and not had:
 * {"path":"…","how":"read","there":false,"count":N,"pid":N,"comm":"…"}. */
int watch_write(const struct watch *watch, int fd, struct nsrun_error *err);
