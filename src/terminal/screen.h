/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What gives a terminal back whose emulator a program may have set to anything: another screen, the mouse's
 * reports, a hidden cursor.  It is one sequence, which changes nothing where nothing was set.  What the
 * program prints is no further understood than that it is plain, or quiet: what no terminal answers. */
#pragma once

#include "base/str.h"

struct screen {
        char sequence[64];  /* that is on its way, behind its ESC; its text of a title isn't kept */
        size_t n;           /* bytes of it, and 1 for its ESC; 0: there is none */
        unsigned char last; /* byte */
        bool has_controls;  /* anything but text has come */
        bool has_images;    /* kitty's protocol may have been spoken */
        bool asks;          /* something was printed that a terminal may answer, as if it were typed */
};

/* Takes note of what was written to the terminal. */
void screen_watch(struct screen *s, const char *bytes, size_t n);
/* What sets everything back. */
const char *screen_sequence(void);
/* The same if it may be needed, or "".  Forgets what has come, but whether it asks. */
const char *screen_reset(struct screen *s);
/* Puts into `to` the same, and what besides could keep the next lines from being seen as they are written:
 * margins that hold one line, pictures, text below.  They come at the screen's end. */
#define SCREEN_CLEAR_MOST 512
void screen_clear(struct screen *s, char to[SCREEN_CLEAR_MOST]);
