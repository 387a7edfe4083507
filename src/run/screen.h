/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The modes of a terminal emulator that a program's output has switched on: another screen, the mouse's
 * reports, a hidden cursor.  A program that was killed, or that means harm, leaves them to whoever has the
 * terminal next.  This is no emulator: of all sequences only those are understood that leave such a mode, or
 * that a terminal answers. */
#pragma once

#include "base/str.h"

#define SCREEN_NUMBERS 256 /* of one sequence; emulators take no more */

struct screen {
        int state;          /* of the parser */
        unsigned char lead; /* of a character of UTF-8, of which */
        unsigned left;      /* so many bytes are to come */
        /* The sequence that is on its way. */
        char marker,
                intermediate; /* '?' and its like before the numbers; ' ', '$' ... behind them; or NUL */
        unsigned numbers[SCREEN_NUMBERS];
        size_t n_numbers;
        bool has_begun;   /* something has come behind "ESC [" */
        bool is_doubtful; /* emulators read it differently */
        char c1;          /* whether it began with ESC (0), or a character of C1 (1), in UTF-8 (2) */
        /* The text of a title or its like that is on its way. */
        char text[4]; /* how it begins, behind its number */
        size_t n_text;
        char opener; /* ']', 'P' ... */
        char c1_of_text;
        bool is_nested; /* it began in the midst of another */
        bool is_text;   /* nothing has ended it for sure: what emulators disagree about sets modes, and none
                           back */
        /* What is to be set back. */
        uint64_t modes;      /* bit N: the Nth of the modes is not as it is by default */
        unsigned keyboard;   /* how often the keyboard's protocol was pushed */
        unsigned other_keys; /* bit N: xterm's modification of keys of kind N */
        bool has_keyboard_flags, has_keypad, has_charset, has_shift, has_coding, has_attributes, has_margins,
                has_cursor, has_colours, has_palette, has_link, has_tabs, has_locator, has_status,
                has_printer, has_images;
        /* Of these what was kept with a cursor's place. */
        bool saved_attributes, saved_charset, saved_shift;
        uint64_t saved_modes;
        bool has_controls; /* anything but text has come */
        bool asks;         /* something was printed that a terminal answers, as if it were typed */
};

/* Takes note of what is about to be written to the terminal. */
void screen_watch(struct screen *s, const char *bytes, size_t n);
/* How many bytes screen_reset() writes, at most. */
#define SCREEN_RESET_MOST 1024
/* Puts into `to` what sets everything back, and forgets it; the number of bytes, 0: there is nothing. */
size_t screen_reset(struct screen *s, char to[SCREEN_RESET_MOST]);
/* The same, and what besides could keep the next lines from being seen as they are written: margins that
 * hold one line, lines that don't wrap, characters that are inserted, text below.  They come at the screen's
 * end. */
size_t screen_clear(struct screen *s, char to[SCREEN_RESET_MOST]);
