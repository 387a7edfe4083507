/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command that runs in a session in the background, detached from whoever started it.  Its keeper is
 * nsrun-monitor in another role: a process on the host's side that launches the command as any other of the
 * session, writes its log, and stays until the command has ended and nobody prints any more.  A SIGTERM for
 * the keeper ends the command as a deadline does.  Here is the protocol between it and who starts it; the
 * descriptors are monitor.h's. */
#pragma once

#include "log.h"

/* What argv[0] of the keeper is. */
#define DETACHED_NAME "nsrun-detached"

/* The longest text that can be waited for, in bytes. */
#define DETACHED_TEXT_MOST 4096

/* The keeper's arguments. */
enum {
        DETACHED_ARG_NAME,
        DETACHED_ARG_SESSION,
        DETACHED_ARG_KILLS_LEFTOVERS, /* "1" or "" */
        DETACHED_ARG_TIMEOUT,         /* seconds */
        DETACHED_ARG_PORT,            /* decimal; 0: none is waited for */
        DETACHED_ARG_TEXT,            /* "": none is waited for */
        DETACHED_N_ARGS
};

enum detached_answer_kind {
        DETACHED_NOTE = 1,
        DETACHED_FAILED,   /* there is no command, and no log */
        DETACHED_RUNS,     /* what was waited for has come */
        DETACHED_ENDED,    /* before that; nothing of it is left */
        DETACHED_TIMED_OUT /* before that; nothing of it is left */
};

/* An answer, which is one write(2).  After all but NOTE no other follows. */
struct detached_answer {
        enum detached_answer_kind kind;
        char name[16];            /* the log's */
        int pid;                  /* the command's, inside; 0: not known */
        bool has_ended;           /* RUNS: it printed the text and has ended */
        int status;               /* where it has ended: wait(2)'s */
        bool is_others;           /* a process outside of the session listens on the port */
        struct nsrun_error error; /* NOTE, FAILED */
};

struct detached_request {
        unsigned timeout;
        unsigned port;    /* 0: none */
        const char *text; /* NULL: none */
        int cancel_fd;    /* once it is readable the command is ended; -1: none */
};

/* Starts a joining plan's command, and waits for what was asked for.  0 with *ret: the command was started,
 * whatever became of it.  -ECANCELED: by cancel_fd.  `notes` gets lines. */
int detached_start(const struct nsrun_plan *plan, const struct detached_request *request,
                   struct detached_answer *ret, char ***notes, struct nsrun_error *err);

/* The keeper's main(). */
int detached_main(int argc, char **argv);
