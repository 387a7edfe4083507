/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clock of a deadline. */
#include "deadline.h"

#include <sys/timerfd.h>

#include "base/sys.h"

/* Sets the clock.  It is CLOCK_MONOTONIC: nobody can set that one, and it stands still while the machine is
 * suspended, when commands don't run either (CLOCK_BOOTTIME doesn't). */
static int set_timer(int fd, unsigned seconds, struct nsrun_error *err) {
        const struct itimerspec spec = {.it_value = {.tv_sec = (time_t)seconds}};

        return timerfd_settime(fd, 0, &spec, NULL) >= 0 ? 0
                                                        : error_set(err, NSRUN_STAGE_SUPERVISE, -errno, NULL,
                                                                    "the deadline can't be set", NULL);
}

int deadline_begin(struct deadline *d, unsigned seconds, struct nsrun_error *err) {
        *d = (struct deadline){.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
        return set_timer(d->fd, seconds, err);
}

bool deadline_is_over(struct deadline *d) {
        uint64_t times;

        return sys_read(d->fd, &times, sizeof(times)) == (ssize_t)sizeof(times);
}

int deadline_press(struct deadline *d, struct nsrun_error *err) {
        int r;

        if (d->was_told) {
                d->was_forced = true;
                return SIGKILL;
        }
        d->was_told = true;
        r = set_timer(d->fd, DEADLINE_GRACE_SECONDS, err);
        return r < 0 ? r : SIGTERM;
}

void deadline_end(struct deadline *d) {
        close_fdp(&d->fd);
}
