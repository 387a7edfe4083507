/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See closed_streams.h.  Each number is held by an empty file in memory, which is known by its inode. */
#include "closed_streams.h"

#include <fcntl.h>
#include <pthread.h>

#include "sys.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned n_holders;
static struct stat held[3]; /* st_ino 0: none */

static bool is_held(int fd) {
        struct stat st;

        return held[fd].st_ino && sys_fstat(fd, &st) >= 0 && st.st_ino == held[fd].st_ino &&
               st.st_dev == held[fd].st_dev;
}

static void drop(void) {
        for (int i = 0; i <= 2; i++) {
                if (is_held(i))
                        (void)sys_close(i);
                held[i].st_ino = 0;
        }
}

static int hold(int stream) {
        int fd = sys_memfd("nsrun-closed");
        int r = fd == stream ? sys_fstat(fd, &held[stream]) : fd;

        /* Another of the caller's threads may have got the stream's number. */
        if (fd >= 0 && (fd != stream || r < 0))
                (void)sys_close(fd);
        return r < 0 ? r : 0;
}

int closed_streams_hold(struct nsrun_error *err) {
        struct pollfd streams[] = {{.fd = 0}, {.fd = 1}, {.fd = 2}};
        bool is_unsure;
        int r = 0;

        (void)pthread_mutex_lock(&lock);
        /* One call tells of all that they are open; of one with O_PATH it doesn't. */
        is_unsure = sys_poll(streams, ARRAY_SIZE(streams), 0) < 0;
        for (int i = 0; i <= 2 && r >= 0; i++)
                if ((is_unsure || (streams[i].revents & POLLNVAL)) && fcntl(i, F_GETFD) < 0)
                        r = hold(i);
        if (r >= 0)
                n_holders++;
        else if (n_holders == 0)
                drop();
        (void)pthread_mutex_unlock(&lock);
        return r < 0 ? error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL,
                                 "the standard streams that are closed can't be kept so",
                                 FILTER_HINT_FOR(r, "memfd_create"))
                     : 0;
}

void closed_streams_release(void) {
        (void)pthread_mutex_lock(&lock);
        if (--n_holders == 0)
                drop();
        (void)pthread_mutex_unlock(&lock);
}

bool closed_streams_has(int fd) {
        bool r;

        (void)pthread_mutex_lock(&lock);
        r = fd >= 0 && fd <= 2 && is_held(fd);
        (void)pthread_mutex_unlock(&lock);
        return r;
}
