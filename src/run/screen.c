/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See screen.h. */
#include "screen.h"

enum {
        GROUND,
        ESCAPE,
        CHARSET, /* "ESC (" */
        CONTROL, /* "ESC [" */
        TEXT,    /* of a title and its like, up to BEL or "ESC \" */
        TEXT_ESCAPE,
};

/* DEC's private modes (CSI ? NUMBER h and l), in the order in which they are set back. */
static const struct {
        unsigned number;
        bool is_default_on;
} modes[] = {
        {1, false},    {7, true},     {9, false},    {1000, false}, {1001, false},
        {1002, false}, {1003, false}, {1004, false}, {1005, false}, {1006, false},
        {1007, true},  {1015, false}, {1016, false}, {2004, false}, {2026, false},
        {25, true},    {47, false},   {1047, false}, {1049, false},
};
_Static_assert(ARRAY_SIZE(modes) <= 32, "a bit for each");

static void screen_set_mode(struct screen *s, unsigned number, bool is_on) {
        for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
                if (modes[i].number == number)
                        s->modes = is_on != modes[i].is_default_on ? s->modes | UINT32_C(1) << i
                                                                   : s->modes & ~(UINT32_C(1) << i);
}

/* The sequence is complete with its last letter. */
static void take_sequence(struct screen *s, char last) {
        const char *at = s->sequence;

        if (last == 'm' && *at != '>' && *at != '?')
                s->has_attributes = *at != '\0' && !streq(at, "0");
        if (*at == '>' && last == 'u' && s->keyboard < 99)
                s->keyboard++;
        if (*at == '<' && last == 'u' && s->keyboard > 0)
                s->keyboard--;
        if (startswith(at, ">4") && last == 'm')
                s->has_other_keys = at[2] == ';' && at[3] != '0' && at[3] != '\0';
        if (*at != '?' || (last != 'h' && last != 'l'))
                return;
        do {
                char *end;
                unsigned long number = strtoul(++at, &end, 10);

                screen_set_mode(s, (unsigned)number, last == 'h');
                at = end;
        } while (*at == ';');
}

static int after_escape(struct screen *s, char byte) {
        switch (byte) {
        case '[':
                s->n = 0;
                return CONTROL;
        case '(':
                return CHARSET;
        case ']':
        case 'P':
        case 'X':
        case '^':
        case '_':
                return TEXT;
        case '=':
                s->has_keypad = true;
                return GROUND;
        case '>':
                s->has_keypad = false;
                return GROUND;
        case 'c':
                *s = (struct screen){0};
                return GROUND;
        case '\033':
                return ESCAPE;
        default:
                return GROUND;
        }
}

static int in_control(struct screen *s, char byte) {
        if (byte >= '@' && byte <= '~') {
                s->sequence[s->n] = '\0';
                take_sequence(s, byte);
                return GROUND;
        }
        if (byte == '\033')
                return ESCAPE;
        /* What is longer is none that matters; its end is looked for all the same. */
        if (byte >= ' ' && s->n + 1 < sizeof(s->sequence))
                s->sequence[s->n++] = byte;
        return CONTROL;
}

void screen_watch(struct screen *s, const char *bytes, size_t n) {
        for (size_t i = 0; i < n; i++) {
                char byte = bytes[i];

                switch (s->state) {
                case GROUND:
                        if (byte == '\033')
                                s->state = ESCAPE;
                        else if (byte == '\016' || byte == '\017')
                                s->has_shift = byte == '\016';
                        break;
                case ESCAPE:
                        s->state = after_escape(s, byte);
                        break;
                case CHARSET:
                        s->has_charset = byte != 'B';
                        s->state = GROUND;
                        break;
                case CONTROL:
                        s->state = in_control(s, byte);
                        break;
                case TEXT:
                        s->state = byte == '\033' ? TEXT_ESCAPE : byte == '\a' ? GROUND : TEXT;
                        break;
                default:
                        s->state = byte == '\\' ? GROUND : after_escape(s, byte);
                        break;
                }
        }
}

size_t screen_reset(struct screen *s, char to[SCREEN_RESET_MOST]) {
        size_t n = 0;

#define ADD(...) n += (size_t)snprintf(to + n, SCREEN_RESET_MOST - n, __VA_ARGS__)
        /* CAN ends what was left unfinished, ST a title. */
        if (s->state != GROUND)
                ADD("\030\033\\");
        for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
                if (s->modes & UINT32_C(1) << i)
                        ADD("\033[?%u%c", modes[i].number, modes[i].is_default_on ? 'h' : 'l');
        if (s->keyboard > 0)
                ADD("\033[<%uu", s->keyboard);
        if (s->has_other_keys)
                ADD("\033[>4m");
        if (s->has_keypad)
                ADD("\033>");
        if (s->has_charset)
                ADD("\033(B");
        if (s->has_shift)
                ADD("\017");
        if (s->has_attributes)
                ADD("\033[m");
#undef ADD
        *s = (struct screen){0};
        return n;
}
