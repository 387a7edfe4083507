/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --ask: what a watched command doesn't find and the host has is put to a person while the call waits.  What
 * is shown is what was asked about, whatever the command's memory holds by then: the kernel looks the call's
 * path up once more, under what is mounted now. */
#pragma once

#include "seccomp/watch.h"
#include "widen.h"

#define FILE_QUESTIONS_MOST 32U  /* of a run */
#define FILE_PATH_MOST      512U /* bytes of a path that is asked about, as it is shown */

enum file_answer {
        FILE_NO,      /* nor what else is in that folder, where there is one in the question */
        FILE_YES,     /* as a struct file_wish says */
        FILE_NEVER,   /* no, and nothing else is asked */
        FILE_NOT_NOW, /* no, since nobody can be asked at this moment */
        FILE_UNASKED, /* likewise: nobody has seen the question, which doesn't count */
};

/* What is to be shown, and how. */
struct file_wish {
        char option[8];                /* "ro", "rw" or "overlay", as of `nsrun grant` */
        bool is_always;                /* it is saved for the project, too */
        char path[FILE_PATH_MOST + 1]; /* a folder around what was asked about; that itself, as is "" */
};
#define FILE_WISH_INIT         \
        (struct file_wish) {   \
                .option = "ro" \
        }

struct file_question {
        char path[FILE_PATH_MOST + 1];   /* absolute, of a file or a folder */
        char folder[FILE_PATH_MOST + 1]; /* around a file: it may be shown instead; or "" */
        char program[40];                /* "cc (pid 42)", as that calls itself, fit to print */
        enum watched_how how;            /* WATCHED_LOOK, WATCHED_READ, WATCHED_WRITE or WATCHED_EXEC */
        size_t home;                     /* as many bytes of the path are the home; 0: it isn't in there */
        bool is_folder, is_last;
};

struct file_questions;

/* Whether anything could be shown for an answer. */
int file_questions_judge(const struct nsrun_plan *plan, struct nsrun_error *err);
/* Of the sandbox with that pid 1, for a command of that plan, which must outlive *ret; `is_of_writing`:
 * about what is to be written, too.  -ENOMEM. */
int file_questions_new(const struct nsrun_plan *plan, pid_t init, bool is_of_writing,
                       struct file_questions **ret);
/* Returns NULL. */
struct file_questions *file_questions_free(struct file_questions *q);
/* struct watch's `hold`: the call waits for an answer, if somebody is to be asked. */
bool file_questions_hold(void *questions, int root_fd, const struct seccomp_notif *call, const char *path,
                         enum watched_how how, const char *program);
/* Whether something was refused since too many paths were looked at. */
bool file_questions_look_no_more(const struct file_questions *q);
/* The question that is to be put first, until it is answered.  False: there is none. */
bool file_questions_first(const struct file_questions *q, struct file_question *ret);
/* Whether a call still waits for the answer to that one: its process may have been killed. */
bool file_questions_wait(const struct file_questions *q, int listener);
/* Forgets questions that nothing waits for any more: another command's answer may have shown what they are
 * about. */
void file_questions_look_again(struct file_questions *q, int listener);
/* Answers that one, shows what is to be shown, and lets the calls of that listener go on which wait for it.
 * -errno with *err filled: it isn't shown; what more was wished than the question offers may have been a
 * mistake, and it is put again, some times.  1 with *err filled: it is shown, and isn't saved.  *notes gets
 * lines. */
int file_questions_answer(struct file_questions *q, int listener, enum file_answer answer,
                          const struct file_wish *wish, char ***notes, struct nsrun_error *err);
