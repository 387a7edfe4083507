/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See screen.h.  The parser is that of the VT500's, as emulators have it: control characters count within a
 * sequence, too, ESC begins one anywhere, CAN and SUB end one, and C1's characters are sequences of one
 * character. */
#include "screen.h"

#include <stdarg.h>

enum {
        GROUND,
        ESCAPE,
        ESCAPE_MORE, /* "ESC (" and its like, whose last character comes */
        CONTROL,     /* "ESC [" */
        TEXT,        /* of a title and its like, up to BEL or "ESC \" */
};

#define IS_LOUD  0x1 /* it makes the terminal send what nobody typed */
#define IS_ON    0x2 /* by default */
#define OF_ECMA  0x4 /* CSI NUMBER h and l; else DEC's private modes, CSI ? NUMBER h and l */
#define AT_START 0x8 /* setting it back puts the cursor at the screen's start */

/* In the order in which they are set back. */
static const struct {
        unsigned number, flags;
} modes[] = {
        {2, IS_ON}, /* off: a VT52, which knows other sequences */
        {2, OF_ECMA},    {4, OF_ECMA},    {12, OF_ECMA | IS_ON},
        {20, OF_ECMA},   {1, 0},          {5, 0},
        {6, AT_START},   {7, IS_ON},      {8, IS_ON},
        {9, IS_LOUD},    {45, 0},         {66, 0},
        {67, 0},         {69, 0},         {1000, IS_LOUD},
        {1001, IS_LOUD}, {1002, IS_LOUD}, {1003, IS_LOUD},
        {1004, IS_LOUD}, {1005, 0},       {1006, 0},
        {1007, IS_ON},   {1015, 0},       {1016, 0},
        {1051, 0},       {1052, 0},       {1053, 0},
        {1060, 0},       {1061, 0},       {2004, 0},
        {2026, 0},       {2031, IS_LOUD}, {2048, IS_LOUD},
        {9001, 0},       {25, IS_ON},     {47, 0},
        {1047, 0},       {1049, 0},
};
_Static_assert(ARRAY_SIZE(modes) <= 64, "a bit for each");

static void screen_set_mode(struct screen *s, unsigned number, bool is_ecma, bool is_on) {
        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
                bool is_left = is_on != !!(modes[i].flags & IS_ON);

                if (modes[i].number != number || !!(modes[i].flags & OF_ECMA) != is_ecma)
                        continue;
                if (is_left)
                        s->modes |= UINT64_C(1) << i;
                else if (!s->is_text)
                        s->modes &= ~(UINT64_C(1) << i);
                s->asks |= is_left && modes[i].flags & IS_LOUD;
        }
}

/* Sets it, or sets it back. */
static void screen_mark(const struct screen *s, bool *what, bool is_left) {
        if (is_left || !s->is_text)
                *what = is_left;
}

/* ----------------------------------------------------------- CSI's sequences */

static bool is_asking(const struct screen *s, char last) {
        switch (last) {
        case 'c': /* what it is */
        case 'n': /* how it is, where the cursor is */
        case 'x':
        case 't': /* the window */
        case 'y': /* checksums of what it shows */
                return true;
        case 'p': /* modes */
        case 'u':
        case 'v':
        case 'w':
                return s->intermediate != '\0' || s->marker == '?';
        case 'q':
                return s->marker == '>';
        case 'm':
        case 'S':
        case 'g':
                return s->marker == '?';
        case '|':
                return true;
        default:
                return false;
        }
}

static void take_modes(struct screen *s, char last) {
        for (size_t i = 0; i < s->n_numbers; i++)
                screen_set_mode(s, s->numbers[i], s->marker == '\0', last == 'h');
}

/* What was saved of a mode ("CSI ? NUMBER s") may be that it is on. */
static void take_restored(struct screen *s) {
        for (size_t i = 0; i < s->n_numbers; i++)
                for (size_t k = 0; k < ARRAY_SIZE(modes); k++)
                        if (modes[k].number == s->numbers[i] && !(modes[k].flags & OF_ECMA))
                                screen_set_mode(s, s->numbers[i], false, !(modes[k].flags & IS_ON));
}

static void take_keyboard(struct screen *s) {
        unsigned n = s->numbers[0] > 0 ? s->numbers[0] : 1;

        if (s->marker == '>' && s->keyboard < 99)
                s->keyboard++;
        if (s->marker == '<' && !s->is_text)
                s->keyboard -= n < s->keyboard ? n : s->keyboard;
        if (s->marker == '=')
                screen_mark(s, &s->has_keyboard_flags, s->numbers[0] != 0);
}

static void take_attributes(struct screen *s) {
        unsigned kind = s->numbers[0];

        if (s->marker == '\0' && s->intermediate == '\0')
                screen_mark(s, &s->has_attributes, s->n_numbers > 1 || s->numbers[0] != 0);
        if (s->marker != '>' || kind > 7)
                return;
        if (s->n_numbers > 1 && s->numbers[1] != 0)
                s->other_keys |= 1U << kind;
        else if (!s->is_text)
                s->other_keys &= ~(1U << kind);
}

/* The sequence is complete with its last letter. */
static void take_sequence(struct screen *s, char last) {
        bool is_plain = s->marker == '\0' && s->intermediate == '\0';

        s->asks |= is_asking(s, last);
        if ((last == 'h' || last == 'l') && (s->marker == '?' || is_plain))
                take_modes(s, last);
        if (last == 'r' && s->marker == '?')
                take_restored(s);
        if (last == 'r' && is_plain)
                screen_mark(s, &s->has_margins, s->n_numbers > 1 || s->numbers[0] > 1);
        if (last == 'u')
                take_keyboard(s);
        if (last == 'm')
                take_attributes(s);
        if (last == 'q' && s->intermediate == ' ')
                screen_mark(s, &s->has_cursor, s->numbers[0] != 0);
        s->has_tabs |= last == 'g' && is_plain;
}

static void begin_numbers(struct screen *s) {
        s->marker = s->intermediate = '\0';
        s->numbers[0] = 0;
        s->n_numbers = 1;
}

static void take_digit(struct screen *s, char byte) {
        unsigned *at = &s->numbers[s->n_numbers - 1];

        if (*at < 1000000)
                *at = *at * 10 + (unsigned)(byte - '0');
}

static int in_control(struct screen *s, char byte) {
        if (byte >= '@' && byte <= '~') {
                take_sequence(s, byte);
                return GROUND;
        }
        if (byte >= '0' && byte <= '9')
                take_digit(s, byte);
        else if ((byte == ';' || byte == ':') && s->n_numbers < SCREEN_NUMBERS)
                s->numbers[s->n_numbers++] = 0;
        else if (byte >= '<' && byte <= '?')
                s->marker = byte;
        else if (byte >= ' ' && byte <= '/')
                s->intermediate = byte;
        return CONTROL;
}

/* ---------------------------------------------------------- texts: OSC, DCS ... */

static int begin_text(struct screen *s, char opener) {
        begin_numbers(s);
        s->opener = opener;
        s->is_text = true;
        s->n_text = 0;
        return TEXT;
}

/* A text of an operating system's command: its number, and how it goes on. */
static void in_text(struct screen *s, char byte) {
        if (s->n_text == 0 && byte >= '0' && byte <= '9')
                take_digit(s, byte);
        else if (s->n_text < sizeof(s->text))
                s->text[s->n_text++] = byte;
        /* Emulators answer some of these; of an OSC those that ask. */
        s->asks |= s->opener != ']' || byte == '?';
        if (s->opener == ']' && s->n_text == 1 && byte == 'P')
                s->has_palette = true;
}

static void end_text(struct screen *s) {
        unsigned number = s->numbers[0];

        s->is_text = false;
        if (s->opener != ']' || s->n_text == 0)
                return;
        if ((number == 4 || number == 5 || (number >= 10 && number <= 19)) &&
            !(s->n_text > 1 && s->text[1] == '?'))
                s->has_colours = true;
        if (number == 8)
                s->has_link = s->n_text != 2 || memcmp(s->text, ";;", 2) != 0;
}

/* ------------------------------------------------------------ other sequences */

static int after_escape(struct screen *s, char byte) {
        switch (byte) {
        case '[':
                begin_numbers(s);
                return CONTROL;
        case ']':
        case 'P':
        case 'X':
        case '^':
        case '_':
                return begin_text(s, byte);
        case '\\':
                end_text(s);
                return GROUND;
        case '=':
                s->has_keypad = true;
                return GROUND;
        case '>':
                screen_mark(s, &s->has_keypad, false);
                return GROUND;
        case 'n': /* the other sets of characters */
        case 'o':
                s->has_shift = true;
                return GROUND;
        case 'H':
                s->has_tabs = true;
                return GROUND;
        case 'Z':
                s->asks = true;
                return GROUND;
        default:
                s->intermediate = byte;
                return byte >= ' ' && byte <= '/' ? ESCAPE_MORE : GROUND;
        }
}

static int after_more(struct screen *s, char byte) {
        if (byte >= ' ' && byte <= '/')
                return ESCAPE_MORE;
        if (s->intermediate == '(' || s->intermediate == ',')
                screen_mark(s, &s->has_charset, s->intermediate == ',' || byte != 'B');
        if (s->intermediate == '%')
                screen_mark(s, &s->has_coding, byte != 'G');
        return GROUND;
}

/* A control character, wherever it stands. */
static void take_control_character(struct screen *s, char byte) {
        switch (byte) {
        case '\016':
        case '\017':
                if (s->state != TEXT)
                        screen_mark(s, &s->has_shift, byte == '\016');
                break;
        case '\005': /* ENQ */
                s->asks = true;
                break;
        case '\030': /* CAN, SUB */
        case '\032':
                s->state = GROUND;
                break;
        case '\033':
                s->state = ESCAPE;
                break;
        case '\a':
                if (s->state != TEXT || s->opener != ']')
                        break;
                end_text(s);
                s->state = GROUND;
                break;
        default:
                break;
        }
}

/* Whether the byte belongs to a character of UTF-8; one of C1's is taken for what it is. */
static bool take_character(struct screen *s, unsigned char byte) {
        bool is_continued = s->left > 0 && byte >= 0x80 && byte <= 0xbf;

        if (byte < 0x80) {
                s->left = 0;
                return false;
        }
        if (is_continued)
                s->left--;
        else
                s->left = byte < 0xc2 ? 0 : byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : byte < 0xf5 ? 3 : 0;
        if (byte <= 0x9f && (!is_continued || s->lead == 0xc2))
                s->state = after_escape(s, (char)(byte - 0x40));
        if (!is_continued)
                s->lead = byte;
        return true;
}

void screen_watch(struct screen *s, const char *bytes, size_t n) {
        for (size_t i = 0; i < n; i++) {
                char byte = bytes[i];

                /* Bytes of others' UTF-8 are taken for C1's control characters. */
                s->has_controls |= byte == '\033' || ((unsigned char)byte & 0xe0) == 0x80;
                if (take_character(s, (unsigned char)byte))
                        continue;
                if (byte < ' ' || byte == '\177')
                        take_control_character(s, byte);
                else if (s->state == ESCAPE)
                        s->state = after_escape(s, byte);
                else if (s->state == ESCAPE_MORE)
                        s->state = after_more(s, byte);
                else if (s->state == CONTROL)
                        s->state = in_control(s, byte);
                else if (s->state == TEXT)
                        in_text(s, byte);
        }
}

/* ------------------------------------------------------------------ set back */

struct setting_back {
        char *to;
        size_t n;
};

static nsrun_printf(2, 3) void back_add(struct setting_back *b, const char *format, ...) {
        va_list ap;
        int n;

        va_start(ap, format);
        n = vsnprintf(b->to + b->n, SCREEN_RESET_MOST - b->n, format, ap);
        va_end(ap);
        b->n += n > 0 ? (size_t)n : 0;
}

static void back_modes(const struct screen *s, struct setting_back *b) {
        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
                unsigned flags = modes[i].flags;

                if (!(s->modes & UINT64_C(1) << i))
                        continue;
                if (modes[i].number == 2 && flags & IS_ON)
                        back_add(b, "\033<");
                else
                        back_add(b, "\033[%s%u%c", flags & OF_ECMA ? "" : "?", modes[i].number,
                                 flags & IS_ON ? 'h' : 'l');
                if (flags & AT_START)
                        back_add(b, "\033[999;1H");
        }
}

size_t screen_reset(struct screen *s, char to[SCREEN_RESET_MOST]) {
        const struct {
                bool is_left;
                const char *text;
        } rest[] = {
                {s->has_keyboard_flags, "\033[=0;1u"},
                {s->has_keypad, "\033>"},
                {s->has_charset, "\033(B"},
                {s->has_shift, "\017"},
                {s->has_coding, "\033%G"},
                {s->has_margins, "\0337\033[r\0338"},
                {s->has_attributes, "\033[m"},
                {s->has_cursor, "\033[0 q"},
                {s->has_tabs, "\033[?5W"},
                {s->has_link, "\033]8;;\033\\"},
                {s->has_colours, "\033]104\033\\\033]110\033\\\033]111\033\\\033]112\033\\"},
                {s->has_palette, "\033]R\033\\"},
        };
        struct setting_back b = {.to = to};

        /* CAN ends what was left unfinished, ST a title. */
        if (s->state != GROUND || s->is_text)
                back_add(&b, "\030\033\\");
        back_modes(s, &b);
        if (s->keyboard > 0)
                back_add(&b, "\033[<%uu", s->keyboard);
        for (unsigned i = 0; i < 8; i++)
                if (s->other_keys & 1U << i)
                        back_add(&b, "\033[>%um", i);
        for (size_t i = 0; i < ARRAY_SIZE(rest); i++)
                if (rest[i].is_left)
                        back_add(&b, "%s", rest[i].text);
        *s = (struct screen){0};
        return b.n;
}

size_t screen_clear(struct screen *s, char to[SCREEN_RESET_MOST]) {
        static const char rest[] =
                "\030\033\\\033[?6l\033[?69l\033[?7h\033[4l\033[m\033(B\017\033[r\033[999H\033[J";
        bool has_controls = s->has_controls, asks = s->asks;
        struct setting_back b = {.to = to};

        b.n = screen_reset(s, to);
        if (has_controls)
                back_add(&b, "%s", rest);
        s->asks = asks;
        return b.n;
}
