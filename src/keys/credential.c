/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a key is spelled in a request. */
#include <errno.h>
#include <stdlib.h>

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

int credential_spellings(struct key_port *port) {
        int r = mask_add(&port->mask, strdup(port->value));

        for (size_t i = 0; i < port->n_uses && r >= 0; i++) {
                if (port->uses[i].form == KEY_IN_BASIC)
                        r = mask_add(&port->mask, spell_basic(&port->uses[i], port->value));
                if (port->uses[i].form == KEY_IN_QUERY)
                        r = mask_add(&port->mask, spell_encoded(port->value));
        }
        return r;
}

char *credential_header(const struct key_use *use, const char *value) {
        size_t before = strcspn(use->text, "*");
        char *spelled, *line;

        if (use->form == KEY_IN_HEADER)
                return str_format("%s: %.*s%s%s", use->field, (int)before, use->text, value,
                                  use->text + before + 1);
        spelled = spell_basic(use, value);
        line = spelled ? str_concat(use->field, ": Basic ", spelled) : NULL;
        if (spelled)
                explicit_bzero(spelled, strlen(spelled));
        free(spelled);
        return line;
}

char *credential_target(const struct key_use *use, const char *value, const char *target) {
        _cleanup_strbuf_ struct strbuf b = {0};
        _cleanup_free_ char *coded = spell_encoded(value);
        size_t n = strcspn(target, "?"), field = strlen(use->field);
        const char *at = target[n] ? target + n + 1 : target + n;

        if (!coded)
                return NULL;
        strbuf_add_bytes(&b, target, n);
        strbuf_addf(&b, "?%s=%s", use->field, coded);
        while (*at) {
                size_t length = strcspn(at, "&");

                if (length > 0 &&
                    (strncmp(at, use->field, field) != 0 || (at[field] && !strchr("=&", at[field])))) {
                        strbuf_add(&b, "&");
                        strbuf_add_bytes(&b, at, length);
                }
                at += length + (at[length] == '&');
        }
        explicit_bzero(coded, strlen(coded));
        return strbuf_finish(&b);
}
