/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The start of nsrun-http.  The token goes by a socket: no command sees it in an argument, a variable or a
 * file.
 */
#include "http_start.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/str.h"

static int draw_token(struct http_start *s) {
        unsigned char lot[(HTTP_TOKEN_SIZE - 1) / 2];

        if (getrandom(lot, sizeof(lot), 0) != (ssize_t)sizeof(lot))
                return -EIO;
        str_hex(lot, sizeof(lot), s->token);
        return 0;
}

int http_open_port(const char *address, struct http_start *ret, struct nsrun_error *err) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        const char *digits = startswith(address, "127.0.0.1:");
        _cleanup_close_ int fd = -EBADF;
        socklen_t n = sizeof(at);
        uint64_t port;
        int r = 0;

        if (!digits || str_parse_number(digits, false, &port) < 0 || port > UINT16_MAX)
                return error_set(err, NSRUN_STAGE_USAGE, UNSAID(-EINVAL), address,
                                 "--http: neither 127.0.0.1:PORT nor a socket's path with a slash in it",
                                 NULL);
        at.sin_port = htons((uint16_t)port);
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) < 0 ||
            bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, SOMAXCONN) < 0 ||
            getsockname(fd, (struct sockaddr *)&at, &n) < 0)
                r = -errno;
        if (r >= 0)
                r = draw_token(ret);
        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, address, "--http: the port can't be had",
                                 NULL);
        ret->port = ntohs(at.sin_port);
        return TAKE_FD(fd);
}

static int http_spawn(int fd, int control, struct nsrun_error *err) {
        char *const argv[] = {(char *)(uintptr_t) "nsrun-http", NULL}, *const env[] = {NULL};
        _cleanup_close_ int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        _cleanup_close_ int high = fcntl(fd, F_DUPFD_CLOEXEC, 10),
                            high_control = fcntl(control, F_DUPFD_CLOEXEC, 10);
        const int fds[] = {high, high_control};
        const int streams[] = {null_fd, null_fd, STDERR_FILENO};
        pid_t pid;
        int r = null_fd < 0 || high < 0 || high_control < 0
                        ? -errno
                        : spawn_apart(&(struct spawn){.program = program_http(),
                                                      .argv = argv,
                                                      .env = env,
                                                      .folder = "/",
                                                      .null_fd = null_fd,
                                                      .streams = streams,
                                                      .fds = fds,
                                                      .n_fds = ARRAY_SIZE(fds)},
                                      &pid);

        return r < 0 ? error_set(err, NSRUN_STAGE_SUPERVISE, r, program_http(),
                                 "nsrun-http can't be executed",
                                 "install nsrun completely; it is built where libevent is")
                     : 0;
}

int http_begin(int fd, const struct http_start *start, int *ret_control, struct nsrun_error *err) {
        _cleanup_close_ int own = -EBADF, other = -EBADF;
        int pair[2], r = sys_socketpair(pair);

        if (r < 0)
                return error_set(err, NSRUN_STAGE_SUPERVISE, r, NULL, "nsrun-http can't be spoken to", NULL);
        own = pair[0];
        other = pair[1];
        r = http_spawn(fd, other, err);
        if (r < 0)
                return r;
        if (send(own, start, sizeof(*start), MSG_NOSIGNAL) != sizeof(*start))
                return error_set(err, NSRUN_STAGE_SUPERVISE, -errno, NULL, "nsrun-http can't be spoken to",
                                 NULL);
        if (start->port > 0)
                (void)fprintf(stderr, "nsrun: token: %s\n", start->token);
        *ret_control = TAKE_FD(own);
        return 0;
}
