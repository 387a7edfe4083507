/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a bubblewrap command line under a program that speaks it, in a tree that is the same
 * each time, and puts all that can be seen of it into lines.  Compares nothing itself. */
#pragma once

#include "harness.h"

/* What tests/sandbox/inside ends with; a case that names no status expects it. */
#define INSIDE_STATUS 7
#define STATUS_0      (-1)

enum bwrap_user {
        BY_ANYBODY,
        BY_ROOT,
        BY_A_USER
};

/* A command line as words with one space between.  In it
 *
 *     @          the tree; path_of the site's project
 *     ''         an empty word
 *     ^          where "--ro-bind INSIDE /inside --proc /proc" goes; in front where there is none
 *     !          as the first word: the words are all, nothing is put in front or behind
 *     INSIDE     the program tests/sandbox/inside on the host
 *     SELF       the program that is run
 *
 * and these, each of which becomes the number of a descriptor, from 20 up:
 *
 *     %r:TEXT    one to read TEXT from; "," stands for NUL, "~" for a space
 *     %w         one to write to; what was written is in the report
 *     %o:PATH    PATH opened with O_PATH     %f:PATH    PATH opened to be read
 *     %bpf:NAME  a filter that makes getppid, getsid or seccomp fail
 *     %userns    a user namespace with our own ids
 *     %closed    the end of a pipe whose other end is closed
 *
 * Without "--" the command is /inside with the paths of `look`. */
struct bwrap_case {
        const char *args;
        const char *look;
        int status;       /* the expected exit status; 0: INSIDE_STATUS */
        int user_status;  /* the expected exit status of an ordinary user, if that differs; else 0 */
        const char *cwd;  /* NULL: "/" */
        const char *home; /* NULL: "/home" */
        enum bwrap_user by;
        bool keeps_tree; /* the case runs in the tree as the test made it, which isn't reported */
        bool same_words; /* the messages on standard error must be the same, too */
};

/* nsrun-bwrap, and Debian's bubblewrap 0.8.0: NULL where it is not installed. */
const char *our_bwrap(void);
const char *judging_bwrap(void);

bool case_is_for_us(const struct bwrap_case *c);
int expected_status(const struct bwrap_case *c);

/* Makes the tree (its folders, files and links) anew. */
void make_tree(const struct site *s);

/* Runs a case and reports what can be seen of it: "status N", what it printed, its messages as
 * "error …", what came through descriptors, and the tree afterwards as "tree …".  The caller frees
 * the report. */
char *bwrap_report(const struct site *s, const char *program, const struct bwrap_case *c);
/* The same with `deny ENOSYS CALLS` in front, if `calls` isn't NULL. */
char *bwrap_report_denied(const struct site *s, const char *program, const char *calls,
                          const struct bwrap_case *c);

/* In the child: the descriptor at 30, without close-on-exec. */
static inline void keep_30(void *data) {
        if (dup2(*(const int *)data, 30) < 0)
                _exit(117);
}
