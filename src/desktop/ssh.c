/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ssh.h"

#include "base/sha256.h"

#define FINGERPRINT_SIZE 51 /* "SHA256:", 43 characters, the NUL */

static uint32_t ssh_u32(const uint8_t *at) {
        return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void ssh_put_u32(uint8_t *to, uint32_t n) {
        for (int i = 0; i < 4; i++)
                to[i] = (uint8_t)(n >> (24 - 8 * i));
}

/* Takes a string off the front: its length, and so many bytes. */
static bool take_string(struct ssh_bytes *rest, struct ssh_bytes *ret) {
        uint32_t n;

        if (rest->n < 4)
                return false;
        n = ssh_u32(rest->at);
        if (n > rest->n - 4)
                return false;
        *ret = (struct ssh_bytes){rest->at + 4, n};
        rest->at += 4 + n;
        rest->n -= 4 + n;
        return true;
}

enum ssh_wants ssh_read_request(const uint8_t *message, size_t n, struct ssh_bytes *ret_key) {
        struct ssh_bytes rest = {message + 1, n - 1}, data;

        if (n == 1 && message[0] == SSH_REQUEST_IDENTITIES)
                return SSH_WANTS_KEYS;
        if (n == 0 || message[0] != SSH_SIGN_REQUEST)
                return SSH_WANTS_OTHER;
        /* The key, what is to be signed, flags: and nothing behind them. */
        return take_string(&rest, ret_key) && take_string(&rest, &data) && rest.n == 4 ? SSH_WANTS_SIGNATURE
                                                                                       : SSH_WANTS_OTHER;
}

static void fingerprint(struct ssh_bytes key, char to[FINGERPRINT_SIZE]) {
        static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        unsigned char digest[SHA256_SIZE + 1] = {0};
        struct sha256 s;
        char *at = to + strlen(strcpy(to, "SHA256:"));

        sha256_begin(&s);
        sha256_add(&s, key.at, key.n);
        sha256_end(&s, digest);
        /* 32 bytes are 42 letters, and one more of which the last byte has 4 bits. */
        for (size_t i = 0; i < 43; i++) {
                size_t bit = 6 * i, byte = bit / 8;
                unsigned two = (unsigned)digest[byte] << 8 | digest[byte + 1];

                *at++ = letters[two >> (10 - bit % 8) & 63];
        }
        *at = '\0';
}

static bool ssh_is_wanted(const char *wanted, struct ssh_bytes key, struct ssh_bytes comment) {
        char text[FINGERPRINT_SIZE];

        if (strlen(wanted) == comment.n && memcmp(wanted, comment.at, comment.n) == 0)
                return true;
        if (!startswith(wanted, "SHA256:"))
                return false;
        fingerprint(key, text);
        return streq(wanted, text);
}

static bool ssh_is_any_wanted(char *const *wanted, struct ssh_bytes key, struct ssh_bytes comment) {
        bool is_any = !wanted;

        for (char *const *w = wanted; w && *w && !is_any; w++)
                is_any = ssh_is_wanted(*w, key, comment);
        return is_any;
}

/* The list of an answer: how many keys it promises. */
static bool open_list(const uint8_t *answer, size_t n, struct ssh_bytes *ret_rest, uint32_t *ret_n_keys) {
        if (n < 5 || answer[0] != SSH_IDENTITIES_ANSWER)
                return false;
        *ret_n_keys = ssh_u32(answer + 1);
        *ret_rest = (struct ssh_bytes){answer + 5, n - 5};
        return true;
}

int ssh_filter_keys(char *const *wanted, const uint8_t *answer, size_t n, uint8_t *to, size_t *ret_n) {
        struct ssh_bytes rest, key, comment;
        uint32_t n_keys, kept = 0;
        size_t at = 5;

        if (!open_list(answer, n, &rest, &n_keys))
                return -EBADMSG;
        for (uint32_t i = 0; i < n_keys; i++) {
                const uint8_t *begin = rest.at;

                if (!take_string(&rest, &key) || !take_string(&rest, &comment))
                        return -EBADMSG;
                if (!ssh_is_any_wanted(wanted, key, comment))
                        continue;
                memcpy(to + at, begin, (size_t)(rest.at - begin));
                at += (size_t)(rest.at - begin);
                kept++;
        }
        to[0] = SSH_IDENTITIES_ANSWER;
        ssh_put_u32(to + 1, kept);
        *ret_n = at;
        return 0;
}

/* Whoever added the key has chosen its comment: what isn't plain ASCII can't draw on a terminal. */
static void show_comment(struct ssh_bytes comment, char to[SSH_COMMENT_MOST + 1]) {
        size_t n = comment.n < SSH_COMMENT_MOST ? comment.n : SSH_COMMENT_MOST;

        for (size_t i = 0; i < n; i++)
                to[i] = (char)(comment.at[i] >= ' ' && comment.at[i] <= '~' ? comment.at[i] : '?');
        to[n] = '\0';
}

bool ssh_has_key(char *const *wanted, const uint8_t *answer, size_t n, struct ssh_bytes key,
                 char ret_shown[SSH_SHOWN_MOST + 1]) {
        char text[SSH_COMMENT_MOST + 1], digest[FINGERPRINT_SIZE];
        struct ssh_bytes rest, found, comment;
        uint32_t n_keys;

        if (!open_list(answer, n, &rest, &n_keys))
                return false;
        for (uint32_t i = 0; i < n_keys && take_string(&rest, &found) && take_string(&rest, &comment); i++) {
                if (found.n != key.n || memcmp(found.at, key.at, key.n) != 0)
                        continue;
                if (!ssh_is_any_wanted(wanted, found, comment))
                        continue;
                show_comment(comment, text);
                fingerprint(key, digest);
                (void)snprintf(ret_shown, SSH_SHOWN_MOST + 1, "%s (%s)", text, digest);
                return true;
        }
        return false;
}

int ssh_find_missing(char *const *wanted, const uint8_t *answer, size_t n) {
        for (int i = 0; wanted && wanted[i]; i++) {
                struct ssh_bytes rest, key, comment;
                uint32_t n_keys;
                bool has_one = false;

                if (!open_list(answer, n, &rest, &n_keys))
                        return i;
                for (uint32_t k = 0; k < n_keys && !has_one; k++) {
                        if (!take_string(&rest, &key) || !take_string(&rest, &comment))
                                break;
                        has_one = ssh_is_wanted(wanted[i], key, comment);
                }
                if (!has_one)
                        return i;
        }
        return -1;
}
