/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "modes.h"

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void standard_save(struct standard_state *ret) {
        ret->terminal_fd = -1;
        for (int fd = 0; fd <= 2; fd++) {
                ret->flags[fd] = fcntl(fd, F_GETFL);
                if (ret->terminal_fd < 0 && ret->flags[fd] >= 0 && tcgetattr(fd, &ret->modes) == 0)
                        ret->terminal_fd = fd;
        }
}

/* One that isn't the caller's controlling terminal has no background. */
static bool is_in_background(int fd) {
        pid_t group = tcgetpgrp(fd);

        return group >= 0 && group != getpgrp();
}

bool standard_same_modes(const struct termios *a, const struct termios *b) {
        return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag && a->c_cflag == b->c_cflag &&
               a->c_lflag == b->c_lflag && memcmp(a->c_cc, b->c_cc, sizeof(a->c_cc)) == 0;
}

void standard_restore(const struct standard_state *before) {
        int fd = before->terminal_fd;
        struct termios now = {0};

        for (int i = 0; i <= 2; i++) {
                int flags = before->flags[i] < 0 ? -1 : fcntl(i, F_GETFL);

                if (flags >= 0 && ((flags ^ before->flags[i]) & O_NONBLOCK))
                        (void)fcntl(i, F_SETFL, (flags & ~O_NONBLOCK) | (before->flags[i] & O_NONBLOCK));
        }
        if (fd >= 0 && !is_in_background(fd) && tcgetattr(fd, &now) == 0 &&
            !standard_same_modes(&now, &before->modes))
                (void)tcsetattr(fd, TCSADRAIN, &before->modes);
}
