/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* DNS as RFC 1035 has it, as much as a stub resolver needs: one question, no compression in it, and answers
 * that fit into the smallest packet. */
#include "wire.h"

#define HEAD     12U
#define TTL      30U /* seconds */
#define CLASS_IN 1U

static uint16_t get16(const uint8_t *at) {
        return (uint16_t)(at[0] << 8 | at[1]);
}

static size_t put16(uint8_t *to, size_t n, unsigned value) {
        to[n] = (uint8_t)(value >> 8);
        to[n + 1] = (uint8_t)value;
        return n + 2;
}

/* Reads the name at `*at`.  False: it has a pointer or another kind of label, or no end.  A byte that no
 * host's name has makes *is_name false. */
static bool read_name(const uint8_t *bytes, size_t n, size_t *at, char *to, bool *is_name) {
        size_t length = 0, i = *at;

        *is_name = true;
        while (i < n && bytes[i] != 0) {
                size_t label = bytes[i++];

                if (label > 63 || label > n - i || length + (length > 0) + label > NET_NAME_MOST)
                        return false;
                if (length > 0)
                        to[length++] = '.';
                for (size_t end = i + label; i < end; i++) {
                        uint8_t c = bytes[i];

                        if (c >= 'A' && c <= 'Z')
                                c = (uint8_t)(c - 'A' + 'a');
                        *is_name &= (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
                        to[length++] = (char)c;
                }
        }
        to[length] = '\0';
        *at = i + 1;
        return i < n;
}

int dns_read_query(const uint8_t *bytes, size_t n, struct dns_query *ret) {
        struct dns_query query = {.question_end = HEAD};
        bool is_name;
        size_t at = HEAD;

        *ret = query;
        /* An answer is never answered: two servers would talk for ever. */
        if (n < HEAD || n > DNS_QUERY_MOST || (bytes[2] & 0x80))
                return -EBADMSG;
        if ((bytes[2] >> 3 & 15) != 0)
                return DNS_UNKNOWN;
        if (get16(bytes + 4) != 1 || !read_name(bytes, n, &at, query.name, &is_name) || n - at < 4)
                return DNS_MALFORMED;
        if (!is_name)
                query.name[0] = '\0';
        query.type = get16(bytes + at);
        query.question_end = at + 4;
        *ret = query;
        return get16(bytes + at + 2) == CLASS_IN ? DNS_OK : DNS_NO_NAME;
}

static size_t put_address(uint8_t *to, size_t n, const struct net_address *a) {
        size_t length = a->is_v6 ? 16 : 4;

        n = put16(to, n, 0xc000U | HEAD); /* the question's name */
        n = put16(to, n, a->is_v6 ? DNS_TYPE_AAAA : DNS_TYPE_A);
        n = put16(to, n, CLASS_IN);
        n = put16(to, n, 0);
        n = put16(to, n, TTL);
        n = put16(to, n, (unsigned)length);
        memcpy(to + n, a->bytes, length);
        return n + length;
}

size_t dns_write_answer(const uint8_t *bytes, const struct dns_query *query, enum dns_code code,
                        const struct net_address *v4, const struct net_address *v6,
                        uint8_t to[DNS_ANSWER_MOST]) {
        bool wants_v4 = query->type == DNS_TYPE_A || query->type == DNS_TYPE_ANY,
             wants_v6 = query->type == DNS_TYPE_AAAA || query->type == DNS_TYPE_ANY;
        size_t n = query->question_end;
        unsigned n_answers = 0;

        /* The question is at most 255 bytes of name and 4 of type and class. */
        memcpy(to, bytes, n);
        if (code == DNS_OK && v4 && wants_v4) {
                n = put_address(to, n, v4);
                n_answers++;
        }
        if (code == DNS_OK && v6 && wants_v6) {
                n = put_address(to, n, v6);
                n_answers++;
        }
        /* It is an answer, of one who is authoritative, and recursion can be had; RD stays as it was. */
        to[2] = (uint8_t)((bytes[2] & 0x79) | 0x84);
        to[3] = (uint8_t)(0x80 | code);
        (void)put16(to, 4, query->question_end > HEAD ? 1 : 0);
        (void)put16(to, 6, n_answers);
        (void)put16(to, 8, 0);
        (void)put16(to, 10, 0);
        return n;
}
