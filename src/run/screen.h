/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The modes of a terminal emulator that a program's output has switched on: another screen, the mouse's
 * reports, a hidden cursor.  A program that was killed, or that means harm, leaves them to whoever has the
 * terminal next.  This is no emulator: of all sequences only those are understood that leave such a mode. */
#pragma once

#include "base/str.h"

struct screen {
        int state;         /* of the parser */
        char sequence[32]; /* what has come of a control sequence, without "ESC [" */
        size_t n;
        uint32_t modes;    /* bit N: the Nth of the modes is not as it is by default */
        unsigned keyboard; /* how often the keyboard's protocol was pushed */
        bool has_other_keys, has_keypad, has_charset, has_shift, has_attributes;
};

/* Takes note of what is about to be written to the terminal. */
void screen_watch(struct screen *s, const char *bytes, size_t n);
/* How many bytes screen_reset() writes, at most. */
#define SCREEN_RESET_MOST 512
/* Puts into `to` what sets everything back, and forgets it; the number of bytes, 0: there is nothing. */
size_t screen_reset(struct screen *s, char to[SCREEN_RESET_MOST]);
