/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --ask of a session's commands that have no terminal: their questions about files are put to who runs
 * `nsrun session ask`.  That one listens in the folder of the session's record, which no command sees, and
 * has the commands' nsruns in, one after the other: each has its turn, puts one question, gets the answer,
 * and says what came of it. */
#pragma once

#include "widen/widen_ask.h"

#define FILE_ASKED_MOST 256U /* questions about files, of one who is asked */

/* "cat (pid 42) wants to read '/p', which isn't exposed", fit to print; NULL for want of memory. */
char *file_question_words(const struct file_question *q);
/* What could be taken for more than a path is in quotes.  NULL for want of memory. */
char *file_question_path(const char *path);

/* Reads the words behind a yes: "rw" or "overlay", "always", and the path that was asked about, or a folder
 * around it, which begins with / or ~/ and is in quotes where the question's has blanks.  What *ret has
 * already stays.  False, with *ret_wrong a line for free(3), or NULL: they are none. */
bool file_wish_read(char *words, const struct file_question *q, struct file_wish *ret, char **ret_wrong);
/* "yes", "yes rw" or "yes overlay". */
const char *file_wish_word(const struct file_wish *wish);

/* Who is asked. */
struct file_asker {
        int listener; /* below 0: nobody is asked any more */
        int fd;       /* of whose turn it is; below 0: nobody's */
        unsigned n_asked;
};
#define FILE_ASKER_INIT                          \
        (struct file_asker) {                    \
                .listener = -EBADF, .fd = -EBADF \
        }

/* Listens in that folder, beside others. */
int file_asker_begin(int folder, struct file_asker *a);
/* Has the next one in. */
void file_asker_take_turn(struct file_asker *a);
/* Its question.  False: there is none, and it isn't its turn any more. */
bool file_asker_read(struct file_asker *a, struct file_question *ret);
/* struct asking's answer_file: ends its turn; FILE_NEVER: and all others'. */
int file_asker_answer(void *asker, enum file_answer answer, const struct file_wish *wish,
                      struct nsrun_error *err);
void file_asker_end(struct file_asker *a);

/* Who asks: a descriptor.  -EAGAIN: too many wait there; another -errno: nobody is asked. */
int file_asking_join(int folder);
/* Whether who is asked has been stopped, as by ^Z, and so hears nothing. */
bool file_asking_is_stopped(int fd);
/* What has come by it: an enum file_answer, FILE_UNASKED: its turn; -EPIPE: who is asked has gone.  *ret is
 * whole. */
int file_asking_hear(int fd, struct file_wish *ret);
int file_asking_put(int fd, const struct file_question *q);
/* What came of the answer: `r`, and if that is negative `why`. */
void file_asking_tell(int fd, int r, const struct nsrun_error *why);
