/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loopback.  The kernel adds 127.0.0.1 and ::1 itself when "lo" comes up. */
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/sys.h"
#include "harden.h"

int network_loopback(struct nsrun_error *err) {
        _cleanup_close_ int fd = -EBADF;
        struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
        int r;

        fd = sys_socket(AF_INET, SOCK_DGRAM, 0);
        if (fd < 0)
                return error_set(err, NSRUN_STAGE_NETWORK, fd, NULL, "no socket to bring loopback up with",
                                 NULL);
        r = sys_ioctl(fd, SIOCSIFFLAGS, &request);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_NETWORK, r, NULL, "loopback can't be brought up", NULL);
        return 0;
}
