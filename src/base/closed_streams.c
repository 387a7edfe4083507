/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See closed_streams.h.  Each number is held by an empty file in memory, which is known by its inode. */
#include "closed_streams.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned n_holders;
static ino_t held[3]; /* 0: none */

static ino_t inode_of(int fd) {
        struct stat st;

        return fstat(fd, &st) < 0 ? 0 : st.st_ino;
}

void closed_streams_hold(void) {
        (void)pthread_mutex_lock(&lock);
        for (int i = 0; n_holders == 0 && i <= 2; i++) {
                int fd = fcntl(i, F_GETFD) < 0 ? sys_memfd("nsrun-closed") : -EBADF;

                /* Another thread's may have got the number. */
                if (fd == i)
                        held[i] = inode_of(fd);
                else if (fd >= 0)
                        (void)close(fd);
        }
        n_holders++;
        (void)pthread_mutex_unlock(&lock);
}

void closed_streams_release(void) {
        (void)pthread_mutex_lock(&lock);
        n_holders--;
        for (int i = 0; n_holders == 0 && i <= 2; i++) {
                if (held[i] && inode_of(i) == held[i])
                        (void)close(i);
                held[i] = 0;
        }
        (void)pthread_mutex_unlock(&lock);
}

bool closed_streams_has(int fd) {
        bool is_held;

        (void)pthread_mutex_lock(&lock);
        is_held = fd >= 0 && fd <= 2 && held[fd];
        (void)pthread_mutex_unlock(&lock);
        return is_held;
}
