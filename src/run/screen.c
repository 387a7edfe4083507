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
        {38, 0},    /* another terminal, a Tektronix 4014, and */
        {2, IS_ON}, /* off: a VT52, which both know other sequences */
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
#define OTHER_TERMINALS UINT64_C(3) /* the first two's bits */

/* Of so many numbers of a sequence every emulator knows. */
#define NUMBERS_LEAST 16

/* Whether emulators may read differently what comes.  It then sets modes, and none back. */
static bool is_unsure(const struct screen *s) {
        return s->is_text || s->is_doubtful || s->has_printer || s->modes & OTHER_TERMINALS;
}

static uint64_t mode_bit(unsigned number) {
        for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
                if (modes[i].number == number && !(modes[i].flags & OF_ECMA))
                        return UINT64_C(1) << i;
        return 0;
}

static void screen_set_mode(struct screen *s, unsigned number, bool is_ecma, bool is_on) {
        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
                bool is_left = is_on != !!(modes[i].flags & IS_ON);

                /* Some emulators' numbers have 16 bits. */
                if (modes[i].number != (number & UINT16_MAX) || !!(modes[i].flags & OF_ECMA) != is_ecma)
                        continue;
                if (is_left)
                        s->modes |= UINT64_C(1) << i;
                else if (!is_unsure(s))
                        s->modes &= ~(UINT64_C(1) << i);
                s->asks |= is_left && modes[i].flags & IS_LOUD;
        }
}

/* Sets it, or sets it back. */
static void screen_mark(const struct screen *s, bool *what, bool is_left) {
        if (is_left || !is_unsure(s))
                *what = is_left;
}

/* What is kept with the cursor's place comes back with that. */
static void screen_save(struct screen *s) {
        s->saved_attributes |= s->has_attributes;
        s->saved_charset |= s->has_charset;
        s->saved_shift |= s->has_shift;
        s->saved_modes |= s->modes & mode_bit(6);
}

static void screen_restore(struct screen *s) {
        s->has_attributes |= s->saved_attributes;
        s->has_charset |= s->saved_charset;
        s->has_shift |= s->saved_shift;
        s->modes |= s->saved_modes;
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
        case 'R': /* colours */
                return s->intermediate == '#';
        case '|':
                return true;
        default:
                return false;
        }
}

static void take_modes(struct screen *s, char last) {
        for (size_t i = 0; i < s->n_numbers; i++) {
                bool has_place = s->marker == '?' && (s->numbers[i] == 1048 || s->numbers[i] == 1049);

                s->is_doubtful |= i == NUMBERS_LEAST;
                if (has_place && last == 'h')
                        screen_save(s);
                screen_set_mode(s, s->numbers[i], s->marker == '\0', last == 'h');
                if (has_place && last == 'l')
                        screen_restore(s);
        }
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
        if (s->marker == '<' && !is_unsure(s))
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
        else if (!is_unsure(s))
                s->other_keys &= ~(1U << kind);
}

/* The sequence is complete with its last letter. */
static void take_sequence(struct screen *s, char last) {
        bool is_plain = s->marker == '\0' && s->intermediate == '\0';

        s->asks |= is_asking(s, last);
        s->is_doubtful |= s->intermediate != '\0' && last >= 'a' && last != 'q' && last != 'z';
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
        if (last == 's' && is_plain)
                screen_save(s);
        if (last == 'u' && is_plain)
                screen_restore(s);
        if (last == 'z' && s->intermediate == '\'') {
                screen_mark(s, &s->has_locator, s->numbers[0] != 0);
                s->asks |= s->numbers[0] != 0;
        }
        s->has_status |= (last == '}' || last == '~') && s->intermediate == '$';
        s->has_printer |= last == 'i' && s->marker == '\0' && s->numbers[0] == 5;
}

static void begin_numbers(struct screen *s) {
        s->marker = s->intermediate = '\0';
        s->has_begun = false;
        s->numbers[0] = 0;
        s->n_numbers = 1;
}

/* Modulo 2^32, as in emulators that look at no more. */
static void take_digit(struct screen *s, char byte) {
        unsigned *at = &s->numbers[s->n_numbers - 1];

        *at = *at * 10 + (unsigned)(byte - '0');
        s->is_doubtful |= *at > UINT16_MAX;
}

static int in_control(struct screen *s, char byte) {
        if (byte >= '@' && byte <= '~') {
                take_sequence(s, byte);
                return GROUND;
        }
        /* One marker at the beginning, and one intermediate at the end, or emulators disagree. */
        s->is_doubtful |= s->intermediate != '\0' || byte == ':' || (byte >= '<' && s->has_begun);
        s->has_begun = true;
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
        s->is_nested = s->is_text;
        s->c1_of_text = s->c1;
        s->has_images |= opener == '_';
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
        s->asks |= s->opener != ']' || byte == '?' || s->numbers[0] == 99 || s->numbers[0] > 119;
        if (s->opener == ']' && s->n_text == 1 && byte == 'P')
                s->has_palette = true;
}

static void end_text(struct screen *s, bool is_sure) {
        unsigned number = s->numbers[0];

        s->is_text &= !is_sure;
        /* What began in the midst of another is a part of that to some. */
        if (s->is_nested) {
                s->has_link = s->has_colours = true;
                return;
        }
        if (s->opener != ']' || s->n_text == 0)
                return;
        if ((number == 4 || number == 5 || (number >= 10 && number <= 19)) &&
            !(s->n_text > 1 && s->text[1] == '?'))
                s->has_colours = true;
        if (number == 8)
                screen_mark(s, &s->has_link, s->n_text != 2 || memcmp(s->text, ";;", 2) != 0);
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
                end_text(s, s->c1 == 0 || (s->c1 == s->c1_of_text && !s->is_nested));
                return GROUND;
        case '7':
                screen_save(s);
                return GROUND;
        case '8':
                screen_restore(s);
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
        if (byte >= ' ' && byte <= '/') {
                s->is_doubtful = true;
                return ESCAPE_MORE;
        }
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
                s->is_doubtful = false;
                s->c1 = 0;
                break;
        case '\a':
                if (s->state != TEXT || s->opener != ']')
                        break;
                end_text(s, !s->is_nested);
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
        s->is_doubtful |= s->state != TEXT;
        if (byte <= 0x9f && (!is_continued || s->lead == 0xc2)) {
                s->c1 = is_continued ? 2 : 1;
                s->state = after_escape(s, (char)(byte - 0x40));
        }
        if (!is_continued)
                s->lead = byte;
        return true;
}

void screen_watch(struct screen *s, const char *bytes, size_t n) {
        for (size_t i = 0; i < n; i++) {
                char byte = bytes[i];

                /* Bytes of others' UTF-8 are taken for C1's control characters. */
                s->has_controls |= byte == '\033' || ((unsigned char)byte & 0xe0) == 0x80;
                if (s->state == GROUND)
                        s->is_doubtful = false;
                if (take_character(s, (unsigned char)byte))
                        continue;
                if (byte < ' ' || byte == '\177') {
                        s->is_doubtful |= s->state != GROUND && s->state != TEXT;
                        take_control_character(s, byte);
                } else if (s->state == ESCAPE)
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
                if (modes[i].number == 38)
                        back_add(b, "\033\003\033\\");
                /* The first may be what it has waited for since "ESC Y". */
                else if (modes[i].number == 2 && flags & IS_ON)
                        back_add(b, "\033<\033<");
                else
                        back_add(b, "\033[%s%u%c", flags & OF_ECMA ? "" : "?", modes[i].number,
                                 flags & IS_ON ? 'h' : 'l');
                if (flags & AT_START)
                        back_add(b, "\033[999;1H");
        }
}

static void back_rest(const struct screen *s, bool has_origin, struct setting_back *b) {
        const struct {
                bool is_left;
                const char *text;
        } rest[] = {
                {s->has_status, "\033[0$}\033[0$~"},
                {has_origin, "\033[?6l\033[999;1H"},
                {s->has_keyboard_flags, "\033[=0;1u"},
                {s->has_keypad, "\033>"},
                {s->has_charset || s->modes & OTHER_TERMINALS, "\033(B"},
                {s->has_shift, "\017"},
                {s->has_coding, "\033%G"},
                {s->has_margins, "\0337\033[r\0338"},
                {s->has_attributes, "\033[m"},
                {s->has_cursor, "\033[0 q"},
                {s->has_tabs, "\033[?5W"},
                {s->has_locator, "\033[0'z"},
                {s->has_link, "\033]8;;\033\\"},
                {s->has_colours, "\033]104\033\\\033]110\033\\\033]111\033\\\033]112\033\\"},
                {s->has_palette, "\033]R\033\\"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rest); i++)
                if (rest[i].is_left)
                        back_add(b, "%s", rest[i].text);
}

size_t screen_reset(struct screen *s, char to[SCREEN_RESET_MOST]) {
        bool is_other_screen = s->modes & (mode_bit(47) | mode_bit(1047) | mode_bit(1049));
        struct setting_back b = {.to = to};

        if (s->has_printer)
                back_add(&b, "\033[4i");
        /* CAN ends what was left unfinished, ST a title. */
        if (s->state != GROUND || s->is_text)
                back_add(&b, "\030\033\\");
        /* Each screen has its own. */
        if (is_other_screen && s->keyboard > 0)
                back_add(&b, "\033[<%uu", s->keyboard);
        back_modes(s, &b);
        if (is_other_screen)
                screen_restore(s);
        if (s->keyboard > 0)
                back_add(&b, "\033[<%uu", s->keyboard);
        for (unsigned i = 0; i < 8; i++)
                if (s->other_keys & 1U << i)
                        back_add(&b, "\033[>%um", i);
        back_rest(s, is_other_screen && s->saved_modes, &b);
        *s = (struct screen){0};
        return b.n;
}

size_t screen_clear(struct screen *s, char to[SCREEN_RESET_MOST]) {
        static const char rest[] =
                "\030\033\\\033[?6l\033[?69l\033[?7h\033[4l\033[m\033(B\017\033[r\033[999H\033[J";
        bool has_controls = s->has_controls, asks = s->asks, has_images = s->has_images;
        struct setting_back b = {.to = to};

        b.n = screen_reset(s, to);
        /* Those of kitty's protocol lie above what is written. */
        if (has_images)
                back_add(&b, "\033\\\033_Gq=2,a=d\033\\");
        if (has_controls)
                back_add(&b, "%s", rest);
        s->asks = asks;
        return b.n;
}
