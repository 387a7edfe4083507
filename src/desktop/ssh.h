/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The SSH agent's protocol (draft-ietf-sshm-ssh-agent), as far as a filter reads it: what a request wants,
 * and which keys an answer has.  Pure; every byte of a request is hostile, and an agent's answers are
 * bounded and checked, too. */
#pragma once

#include "base/macro.h"

#define SSH_MESSAGE_MOST (256U * 1024)            /* bytes of a message behind its length, as in OpenSSH */
#define SSH_COMMENT_MOST 190U                     /* bytes of a comment as it is shown */
#define SSH_SHOWN_MOST   (SSH_COMMENT_MOST + 54U) /* with " (SHA256:…)" */

/* Types of messages. */
#define SSH_FAILURE            5
#define SSH_REQUEST_IDENTITIES 11
#define SSH_IDENTITIES_ANSWER  12
#define SSH_SIGN_REQUEST       13
#define SSH_SIGN_RESPONSE      14

enum ssh_wants {
        SSH_WANTS_KEYS,
        SSH_WANTS_SIGNATURE,
        SSH_WANTS_OTHER /* which is refused: keys added or removed, the agent locked, extensions; nonsense */
};

struct ssh_bytes {
        const uint8_t *at;
        size_t n;
};

/* A request of n bytes; of SSH_WANTS_SIGNATURE *ret_key is the key. */
enum ssh_wants ssh_read_request(const uint8_t *message, size_t n, struct ssh_bytes *ret_key);
/* Writes to `to`, which has room for n bytes, the answer's list of keys without those that aren't wanted.
 * `wanted`: "SHA256:…" as ssh-add -l prints it, or a key's comment; NULL: all.  -EBADMSG: no such answer. */
int ssh_filter_keys(char *const *wanted, const uint8_t *answer, size_t n, uint8_t *to, size_t *ret_n);
/* Whether the list has that key, and it is wanted; what a person may know it by: its comment, which anybody
 * can have chosen, made fit to print, and its fingerprint. */
bool ssh_has_key(char *const *wanted, const uint8_t *answer, size_t n, struct ssh_bytes key,
                 char ret_shown[SSH_SHOWN_MOST + 1]);
/* The index of the first of `wanted` that no key of the list answers to; -1: each has one. */
int ssh_find_missing(char *const *wanted, const uint8_t *answer, size_t n);
