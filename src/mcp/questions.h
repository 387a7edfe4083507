/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Questions that were handed to a client as a call's result, which makes the call again with the answer
 * (since 2026-07-28).  The client hands back a number drawn by lot: it says nothing, and stands for one
 * question, once.  What the question was stays here. */
#pragma once

#include "base/sha256.h"

enum {
        QUESTIONS_MOST = 64,      /* wait for an answer; another one takes the oldest one's place */
        QUESTION_STATE_SIZE = 65, /* 256 bits in hexadecimal */
};

struct questions;

/* In memory that processes forked from this one share; NULL for want of it. */
struct questions *questions_new(void);
void questions_free(struct questions *q);
/* Remembers a question by a digest of all that it is about.  -ENOMEM, -EIO. */
int questions_add(struct questions *q, const unsigned char digest[SHA256_SIZE],
                  char ret_state[QUESTION_STATE_SIZE]);
/* Forgets the question of a state.  False: there is none. */
bool questions_take(struct questions *q, const char *state, unsigned char ret_digest[SHA256_SIZE]);
