/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a key is spelled in a request. */
#include <ctype.h>

#include "base/str.h"
#include "server.h"

static char *base64(const char *text) {
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        size_t n = strlen(text);
        char *coded = calloc(1, (n + 2) / 3 * 4 + 1), *to = coded;

        for (size_t i = 0; to && i < n; i += 3) {
                uint32_t bits = (uint32_t)(unsigned char)text[i] << 16;

                if (i + 1 < n)
                        bits |= (uint32_t)(unsigned char)text[i + 1] << 8;
                if (i + 2 < n)
                        bits |= (uint32_t)(unsigned char)text[i + 2];
                *to++ = digits[bits >> 18];
                *to++ = digits[bits >> 12 & 63];
                *to++ = i + 1 < n ? digits[bits >> 6 & 63] : '=';
                *to++ = i + 2 < n ? digits[bits & 63] : '=';
        }
        return coded;
}

/* As a user's password (RFC 7617). */
static char *spell_basic(const struct key_use *use, const char *value) {
        char *both = str_concat(use->text, ":", value), *coded = both ? base64(both) : NULL;

        if (both)
                explicit_bzero(both, strlen(both));
        free(both);
        return coded;
}

/* In a query. */
static char *spell_encoded(const char *value) {
        char *coded = evhttp_encode_uri(value), *own = coded ? strdup(coded) : NULL;

        free(coded);
        return own;
}

/* The same with small hexadecimal digits. */
static char *spell_encoded_small(const char *value) {
        char *coded = spell_encoded(value);

        for (char *at = coded ? strchr(coded, '%') : NULL; at; at = strchr(at + 1, '%')) {
                at[1] = (char)tolower((unsigned char)at[1]);
                at[2] = (char)tolower((unsigned char)at[2]);
        }
        return coded;
}

/* As some write it in JSON. */
static char *spell_escaped(const char *value) {
        struct strbuf b = {0};

        for (; *value; value++) {
                if (*value == '/')
                        strbuf_add(&b, "\\");
                strbuf_add_bytes(&b, value, 1);
        }
        return strbuf_finish(&b);
}

int credential_spellings(struct key_port *port) {
        /* Letters, digits, hyphens and underscores are spelled so everywhere but in Basic. */
        size_t n_public = key_value_public(port->value);
        int r = mask_add(&port->mask, strdup(port->value), n_public);

        if (r >= 0)
                r = mask_add(&port->mask, spell_encoded(port->value), n_public);
        if (r >= 0)
                r = mask_add(&port->mask, spell_encoded_small(port->value), n_public);
        if (r >= 0)
                r = mask_add(&port->mask, spell_escaped(port->value), n_public);
        for (size_t i = 0; i < port->n_uses && r >= 0; i++) {
                const struct key_use *use = &port->uses[i];
                char *basic = use->form == KEY_IN_BASIC ? spell_basic(use, port->value) : NULL;

                /* Its end may be left out. */
                if (basic)
                        basic[strcspn(basic, "=")] = '\0';
                if (use->form == KEY_IN_BASIC)
                        r = mask_add(&port->mask, basic, (strlen(use->text) + 1 + n_public) * 8 / 6);
        }
        return r;
}

char *credential_value(const struct key_use *use, const char *value) {
        size_t before = strcspn(use->text, "*");
        char *spelled, *whole;

        if (use->form == KEY_IN_HEADER)
                return str_format("%.*s%s%s", (int)before, use->text, value, use->text + before + 1);
        spelled = spell_basic(use, value);
        whole = spelled ? str_concat("Basic ", spelled, "") : NULL;
        if (spelled)
                explicit_bzero(spelled, strlen(spelled));
        free(spelled);
        return whole;
}

/* Whether a part of a query is that field, however its name is spelled. */
static bool is_query_field(const char *part, size_t n, const char *field) {
        _cleanup_free_ char *name = strndup(part, strcspn(part, "=&") < n ? strcspn(part, "=&") : n);
        size_t length = 0;
        char *plain = name ? evhttp_uridecode(name, 1, &length) : NULL;
        /* What can't be read is left out. */
        bool is = !plain || (length == strlen(field) && memcmp(plain, field, length) == 0);

        free(plain);
        return is;
}

char *credential_target(const struct key_use *use, const char *value, const char *target) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *coded = spell_encoded(value);
        size_t n = strcspn(target, "?");
        const char *at = target[n] ? target + n + 1 : target + n;

        if (!coded)
                return NULL;
        strbuf_add_bytes(&b, target, n);
        strbuf_addf(&b, "?%s=%s", use->field, coded);
        while (*at) {
                size_t length = strcspn(at, "&");

                if (length > 0 && !is_query_field(at, length, use->field)) {
                        strbuf_add(&b, "&");
                        strbuf_add_bytes(&b, at, length);
                }
                at += length + (at[length] == '&');
        }
        explicit_bzero(coded, strlen(coded));
        return strbuf_finish(&b);
}
