/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --ask, --net=ask, --ssh-agent ask, --browser: questions read, shown at a terminal, and answered.  The
 * process that was started by the person asks; nothing of the sandbox's is believed but that it wants the
 * name. */
#pragma once

#include <termios.h>

#include "desktop/browser.h"
#include "desktop/link_opener.h"
#include "launch/launch.h"
#include "net/question.h"
#include "screen.h"
#include "widen/widen_ask.h"

/* Whether a plan needs somebody to ask about names; about signatures; and about links. */
bool plan_asks(const struct nsrun_plan *plan);
bool plan_asks_of_keys(const struct nsrun_plan *plan);
bool plan_asks_of_links(const struct nsrun_plan *plan);
/* Has the nsrun-net of a session ask by *ret_fd, which the caller closes when it can't answer any more.
 * `folder` is that of the session's record.  -errno: nobody is asked in this session, or its network has
 * ended. */
int question_join(int folder, int *ret_fd);

/* Reads what nsrun-net asks, and has a program's own function answer it.  Less than 0 of that is no, too;
 * where ret_is_undecided isn't NULL it is set to true, and nothing is decided.  -errno: nsrun-net asks no
 * more. */
int question_call(int fd, pid_t init, pid_t reaper,
                  int (*ask)(const char *name, const char *program, void *data), void *data,
                  bool *ret_is_undecided);

enum asked_about {
        ASKED_NAME,
        ASKED_KEY,
        ASKED_LINK,
        ASKED_FILE,
};

struct asking {
        int tty;
        bool is_session;   /* a yes is for all commands of the session */
        bool has_ended;    /* nsrun-net asks nothing any more */
        bool has_no_keys;  /* nobody asks about signatures any more */
        bool has_no_links; /* nor about links */
        bool is_open;      /* a question is shown, */
        enum asked_about about;
        int fd;       /* that came by this */
        pid_t init;   /* a process in the sandbox's network */
        pid_t reaper; /* what descends from it needs no name; 0: nothing does */
        unsigned n_asked;
        struct net_question question; /* of a link the number, and the host as its name */
        char link[LINK_MOST + 1];
        struct opener opener;
        struct file_question file;
        struct file_wish wish; /* what the answer to that is */
        /* Answers the question about a file: as file_questions_answer(). */
        int (*answer_file)(void *data, enum file_answer answer, const struct file_wish *wish,
                           struct nsrun_error *err);
        /* Called with each question's answer, or NULL: "file", "/p", "yes"; "none", if the question has
         * ended. */
        void (*answered)(void *data, const char *about, const char *what, const char *answer);
        void *data;
        char code[3];                   /* two digits, which only who sees the terminal knows */
        char line[FILE_PATH_MOST + 64]; /* what is typed */
        size_t n;
        struct termios before;
        bool has_before;
        struct screen *screen; /* what the command has made of the terminal's emulator, if it could */
};
#define ASKING_INIT           \
        (struct asking) {     \
                .tty = -EBADF \
        }

/* Opens nsrun's terminal.  Refuses where there is none; `about` says why it is wanted. */
int question_begin(struct asking *a, enum asked_about about, struct nsrun_error *err);
/* nsrun-net has something to ask. */
void question_take(struct asking *a, int fd);
/* The SSH agent's filter has, and no question is open. */
void question_take_key(struct asking *a, int fd);
/* The filter of links has, and no question is open. */
void question_take_link(struct asking *a, int fd);
/* A call waits for an answer about a file, and no question is open. */
void question_take_file(struct asking *a, const struct file_question *file);
/* Takes the question about a file from the terminal, if one is open: the caller answers it. */
void question_drop_file(struct asking *a);
/* The person has typed. */
void question_take_line(struct asking *a);
/* Writes to the terminal.  False: it takes nothing, for two seconds. */
bool question_write(const struct asking *a, const char *text);
void question_end(struct asking *a);
