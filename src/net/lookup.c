/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names looked up by the C library, in threads, since that waits.  One lookup serves all who want the name,
 * and those who come a moment later.  The threads touch nothing but their job; the first one begins with the
 * first job, so that a sandbox which reaches nobody doesn't pay for it. */
#include <netdb.h>
#include <pthread.h>
#include <sys/epoll.h>

#include "helper.h"

#define THREADS      4
#define LOOKUPS_MOST 512U
#define FRESH_MS     5000U /* for how long an answer is taken again */
#define FAILED_MS    1000U
#define LOOK_MS      1000

struct waiter {
        struct flow *flow;
        struct waiter *next;
};

struct lookup {
        char name[NET_NAME_MOST + 1];
        struct net_address addresses[LOOKUP_ADDRESSES];
        size_t n;
        bool is_done;
        bool is_told; /* its waiters are being told */
        uint64_t done_at;
        struct waiter *waiters;
        struct lookup *next;     /* of all; the loop's */
        struct lookup *next_job; /* under the mutex */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wanted = PTHREAD_COND_INITIALIZER;
static struct lookup *jobs, **jobs_end = &jobs, *finished;
static int wake_fd = -EBADF;
static size_t n_threads, n_busy; /* the loop's: threads, and lookups that they have or will */

static void lookup_resolve(struct lookup *l) {
        const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
        struct addrinfo *list = NULL;

        if (getaddrinfo(l->name, NULL, &hints, &list) != 0)
                return;
        for (const struct addrinfo *i = list; i && l->n < LOOKUP_ADDRESSES; i = i->ai_next) {
                union net_sockaddr a;
                uint16_t port;

                if (i->ai_addrlen > sizeof(a))
                        continue;
                memcpy(&a, i->ai_addr, i->ai_addrlen);
                l->n += net_address_from(&a, &l->addresses[l->n], &port);
        }
        freeaddrinfo(list);
}

static void *lookup_thread(nsrun_unused void *data) {
        (void)pthread_mutex_lock(&mutex);
        for (;;) {
                struct lookup *l = jobs;

                if (!l) {
                        (void)pthread_cond_wait(&wanted, &mutex);
                        continue;
                }
                jobs = l->next_job;
                if (!jobs)
                        jobs_end = &jobs;
                (void)pthread_mutex_unlock(&mutex);
                lookup_resolve(l);
                (void)pthread_mutex_lock(&mutex);
                l->next_job = finished;
                finished = l;
                (void)sys_write(wake_fd, &(const uint64_t){1}, sizeof(uint64_t));
        }
        return NULL;
}

static int add_thread(void) {
        pthread_attr_t attributes;
        pthread_t thread;
        int r = pthread_attr_init(&attributes);

        if (r != 0)
                return -r;
        r = pthread_attr_setstacksize(&attributes, 512U << 10);
        if (r == 0)
                r = pthread_create(&thread, &attributes, lookup_thread, NULL);
        (void)pthread_attr_destroy(&attributes);
        n_threads += r == 0;
        return -r;
}

/* Where there is no thread, and none can be had, the lookup has failed. */
static void add_job(struct lookup *l) {
        l->n = 0;
        if (n_busy >= n_threads && n_threads < THREADS && add_thread() < 0 && n_threads == 0) {
                l->is_done = true;
                l->done_at = sys_now_ms();
                return;
        }
        n_busy++;
        (void)pthread_mutex_lock(&mutex);
        l->is_done = false;
        l->next_job = NULL;
        *jobs_end = l;
        jobs_end = &l->next_job;
        (void)pthread_cond_signal(&wanted);
        (void)pthread_mutex_unlock(&mutex);
}

static void take_finished(struct helper *h) {
        struct lookup *l, *next;

        (void)pthread_mutex_lock(&mutex);
        l = finished;
        finished = NULL;
        (void)pthread_mutex_unlock(&mutex);
        for (; l; l = next) {
                struct waiter *waiter;

                next = l->next_job;
                n_busy--;
                l->is_done = true;
                l->done_at = sys_now_ms();
                /* Who is told may look up another name, for which this one isn't to make room. */
                l->is_told = true;
                while ((waiter = l->waiters)) {
                        struct flow *f = waiter->flow;

                        l->waiters = waiter->next;
                        free(waiter);
                        relay_resolved(h, f, l->addresses, l->n);
                }
                l->is_told = false;
        }
}

static void lookup_ready(struct helper *h, struct watch *w, nsrun_unused uint32_t events) {
        uint64_t n;

        (void)sys_read(w->fd, &n, sizeof(n));
        take_finished(h);
}

/* A thread that couldn't wake the loop has finished all the same. */
int lookup_turn(struct helper *h) {
        if (n_busy > 0)
                take_finished(h);
        return n_busy > 0 ? LOOK_MS : -1;
}

int lookup_start(struct helper *h) {
        int r = wake_fd = sys_eventfd();

        if (r < 0)
                return r;
        h->looked_up = (struct watch){wake_fd, lookup_ready};
        return helper_watch(h, &h->looked_up, EPOLLIN);
}

static bool is_fresh(const struct lookup *l) {
        return sys_now_ms() - l->done_at < (l->n > 0 ? FRESH_MS : FAILED_MS);
}

/* The lookup of a name, a new one if need be; NULL: too many are under way. */
static struct lookup *find_lookup(struct helper *h, const char *name) {
        struct lookup **unused = NULL, *l;

        for (struct lookup **at = &h->lookups; *at; at = &(*at)->next) {
                if (streq((*at)->name, name))
                        return *at;
                if ((*at)->is_done && !(*at)->waiters && !(*at)->is_told)
                        unused = at;
        }
        if (h->n_lookups >= LOOKUPS_MOST && !unused)
                return NULL;
        if (h->n_lookups >= LOOKUPS_MOST) {
                l = *unused;
                *unused = l->next;
                memset(l, 0, sizeof(*l));
        } else {
                l = calloc(1, sizeof(*l));
                if (!l)
                        return NULL;
                h->n_lookups++;
        }
        (void)snprintf(l->name, sizeof(l->name), "%s", name);
        l->next = h->lookups;
        h->lookups = l;
        add_job(l);
        return l;
}

int lookup_name(struct helper *h, const char *name, struct flow *f) {
        struct lookup *l = find_lookup(h, name);
        struct waiter *waiter;

        if (!l)
                return -EAGAIN;
        if (l->is_done && !is_fresh(l))
                add_job(l);
        if (l->is_done) {
                relay_resolved(h, f, l->addresses, l->n);
                return 0;
        }
        waiter = malloc(sizeof(*waiter));
        if (!waiter)
                return -ENOMEM;
        *waiter = (struct waiter){f, l->waiters};
        l->waiters = waiter;
        return 0;
}

void lookup_forget(struct helper *h, const struct flow *f) {
        for (struct lookup *l = h->lookups; l; l = l->next)
                for (struct waiter **at = &l->waiters; *at; at = &(*at)->next) {
                        struct waiter *waiter = *at;

                        if (waiter->flow != f)
                                continue;
                        *at = waiter->next;
                        free(waiter);
                        return;
                }
}
