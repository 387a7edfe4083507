/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "screen.h"

/* Whatever is on its way ends with CAN and ST, a Tektronix 4014 with ESC ETX, a VT52 with ESC <, of which
 * the first may be what it waits for since ESC Y; then printing. */
#define SCREEN_BEGIN "\033\003\030\033\\\033<\033<\033[4i"
/* Who leaves the other screen gets the cursor to where it was when that was entered last, which may be long
 * ago: it is entered before, which changes nothing where it is shown already.  The cursor stays when the
 * margins are set back, too. */
#define SCREEN_LEAVE "\033[?1049h\033[?1049l\0337\033[r\0338"
/* Keyboards of kitty's protocol, of which each screen has its own; xterm's modified keys; a locator; and the
 * soft reset, without which an origin in the margins and a cursor's form are left. */
#define KEYBOARD "\033[<99u\033[=0;1u"
#define SOFT     KEYBOARD "\033[>4m\033[0'z\033[!p"
/* The mouse, the focus, pastes and other reports; lines that wrap, a cursor, no insertion; the keypad, sets
 * of characters, attributes, a link. */
#define SCREEN_END                                                                                       \
        "\033[?1;5;9;45;69;1000;1001;1002;1003;1004;1005;1006;1015;1016l\033[?2004;2026;2031;2048;9001l" \
        "\033[?7;25h\033[2;4;20l\033[12h\033>\033(B\017\033[m\033]8;;\033\\"

const char *screen_sequence(void) {
        const char *term = getenv("TERM");

        /* Before Linux 5.11 the console prints the last letter of what has a marker that it doesn't know. */
        return term && streq(term, "linux") ? SCREEN_BEGIN SCREEN_LEAVE SCREEN_END
                                            : SCREEN_BEGIN KEYBOARD SCREEN_LEAVE SOFT SCREEN_END;
}

const char *screen_reset(struct screen *s) {
        bool has_controls = s->has_controls;

        *s = (struct screen){.asks = s->asks};
        return has_controls ? screen_sequence() : "";
}

void screen_clear(struct screen *s, char to[SCREEN_CLEAR_MOST]) {
        bool has_controls = s->has_controls, has_images = s->has_images;

        (void)snprintf(to, SCREEN_CLEAR_MOST, "%s%s%s", screen_reset(s),
                       has_images ? "\033_Gq=2,a=d\033\\" : "",
                       has_controls ? "\033[?6l\033[r\033[999H\033[J" : "");
}

/* ---------------------------------------------------------------- what comes */

/* Colours, the cursor's place, what is erased; some modes. */
static bool is_quiet_control(const struct screen *s, char last) {
        static const char *const modes[] = {"[?1", "[?7", "[?12", "[?25", "[?1049", "[?2004", "[?2026"};

        if (s->sequence[1] != '?')
                return strspn(s->sequence + 1, "0123456789;:") == strlen(s->sequence + 1) &&
                       strchr("@ABCDEFGHIJKLMPSTXZ`abdefghlmrsu", last);
        return (last == 'h' || last == 'l') && STR_IS_ANY(s->sequence, modes);
}

/* Titles, folders, links, and marks of a shell's prompts. */
static bool is_quiet_text(const struct screen *s) {
        static const char *const numbers[] = {"]0", "]1", "]2", "]7", "]8", "]133"};

        return STR_IS_ANY(s->sequence, numbers);
}

/* Takes a byte behind ESC.  What isn't known for quiet asks. */
static void screen_take(struct screen *s, char byte) {
        bool is_first = s->n == 1, is_control = s->sequence[0] == '[';
        bool is_over = is_first ? byte != '[' && byte != ']' : is_control ? byte >= '@' : byte == ';';

        /* Control characters don't end what ESC has begun. */
        if (is_first && (byte < ' ' || byte > '~'))
                return;
        if (is_first) {
                s->has_images |= byte == '_';
                s->asks |= strchr("PXZ^_", byte) != NULL;
        } else if (is_over) {
                s->asks |= !(is_control ? is_quiet_control(s, byte) : is_quiet_text(s));
        } else if (byte < ' ' || byte > '~' || s->n == sizeof(s->sequence)) {
                s->asks = is_over = true;
        }
        if (!is_over)
                s->sequence[s->n++ - 1] = byte;
        else
                s->n = 0;
        s->sequence[s->n > 0 ? s->n - 1 : 0] = '\0';
}

void screen_watch(struct screen *s, const char *bytes, size_t n) {
        for (size_t i = 0; i < n; i++) {
                unsigned char byte = (unsigned char)bytes[i];
                bool is_high = byte >= 0x80 && byte <= 0x9f;
                /* C1's characters are sequences by themselves: a byte, or in UTF-8. */
                bool is_c1 = is_high && (s->last < 0x80 || s->last == 0xc2);

                s->last = byte;
                /* Those of others' UTF-8 are C1's to an emulator that takes bytes for characters. */
                s->has_controls |= byte == '\033' || byte == '\016' || is_high;
                s->has_images |= is_c1 && byte == 0x9f;
                s->asks |= is_c1 || byte == '\005';
                if (byte == '\033') {
                        s->n = 1;
                        s->sequence[0] = '\0';
                } else if (s->n > 0) {
                        screen_take(s, bytes[i]);
                }
        }
}
