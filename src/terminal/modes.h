/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state of the caller's standard streams that a command may change for good: a terminal's modes, and
 * O_NONBLOCK, which lies in what both have open. */
#pragma once

#include <stdbool.h>
#include <termios.h>

struct standard_state {
        int flags[3];         /* fcntl(2)'s of 0, 1 and 2; -1: it isn't open */
        int terminal_fd;      /* the first of them that is a terminal; or -1 */
        struct termios modes; /* of that */
};

void standard_save(struct standard_state *ret);
/* Sets back what was changed, but not the modes of a terminal in whose background the caller is: they are
 * another job's then. */
void standard_restore(const struct standard_state *before);
/* Compared by what a terminal's modes say: what lies between and behind a struct's members isn't of them. */
bool standard_same_modes(const struct termios *a, const struct termios *b);
