/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which questions wait for a client's answer. */
#include "questions.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "base/str.h"

struct questions {
        pthread_mutex_t lock;
        size_t n; /* questions that there ever were */
        struct {
                char state[QUESTION_STATE_SIZE]; /* "": none waits here */
                unsigned char digest[SHA256_SIZE];
        } waiting[QUESTIONS_MOST];
};

struct questions *questions_new(void) {
        struct questions *q =
                mmap(NULL, sizeof(*q), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        pthread_mutexattr_t attributes;

        if (q == MAP_FAILED || pthread_mutexattr_init(&attributes) != 0)
                return NULL;
        (void)pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        (void)pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        (void)pthread_mutex_init(&q->lock, &attributes);
        (void)pthread_mutexattr_destroy(&attributes);
        return q;
}

void questions_free(struct questions *q) {
        if (q)
                (void)munmap(q, sizeof(*q));
}

/* A process that was killed as it held the lock has left one question half written at most, which nobody was
 * told of. */
static void questions_lock(struct questions *q) {
        if (pthread_mutex_lock(&q->lock) == EOWNERDEAD)
                (void)pthread_mutex_consistent(&q->lock);
}

int questions_add(struct questions *q, const unsigned char digest[SHA256_SIZE],
                  char ret_state[QUESTION_STATE_SIZE]) {
        unsigned char lot[(QUESTION_STATE_SIZE - 1) / 2];
        size_t at;

        if (getrandom(lot, sizeof(lot), 0) != (ssize_t)sizeof(lot))
                return -EIO;
        str_hex(lot, sizeof(lot), ret_state);
        questions_lock(q);
        at = q->n++ % QUESTIONS_MOST;
        memcpy(q->waiting[at].digest, digest, SHA256_SIZE);
        memcpy(q->waiting[at].state, ret_state, QUESTION_STATE_SIZE);
        (void)pthread_mutex_unlock(&q->lock);
        return 0;
}

bool questions_take(struct questions *q, const char *state, unsigned char ret_digest[SHA256_SIZE]) {
        bool is_known = false;

        if (!state || strlen(state) != QUESTION_STATE_SIZE - 1)
                return false;
        questions_lock(q);
        for (size_t i = 0; i < QUESTIONS_MOST && !is_known; i++)
                if (streq(q->waiting[i].state, state)) {
                        memcpy(ret_digest, q->waiting[i].digest, SHA256_SIZE);
                        q->waiting[i].state[0] = '\0';
                        is_known = true;
                }
        (void)pthread_mutex_unlock(&q->lock);
        return is_known;
}
