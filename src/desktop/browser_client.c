/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The program inside that programs start to have a link opened: it hands the link over and waits for what
 * comes of it.  Exit statuses are those of xdg-open(1). */
#include <sys/un.h>

#include "base/str.h"
#include "base/sys.h"
#include "browser.h"

#define STATUS_USAGE  1
#define STATUS_FAILED 4

static const char *client_name(const char *argv0) {
        const char *slash = strrchr(argv0, '/');

        return slash ? slash + 1 : argv0;
}

bool browser_is_client(const char *argv0) {
        static const char *const names[] = {BROWSER_PROGRAM, BROWSER_OTHERS};

        for (size_t i = 0; argv0 && i < ARRAY_SIZE(names); i++)
                if (streq(client_name(argv0), names[i]))
                        return true;
        return false;
}

/* What the filter answers; 0: nobody does. */
static char hand_over(const char *link) {
        _cleanup_close_ int fd = sys_socket(AF_UNIX, SOCK_STREAM, 0);
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        char line[LINK_MOST + 2], answer = 0;
        size_t n = strlen(link);

        (void)snprintf(at.sun_path, sizeof(at.sun_path), "/run/user/%u/" BROWSER_FOLDER "/" BROWSER_SOCKET,
                       (unsigned)getuid());
        memcpy(line, link, n);
        line[n++] = '\n';
        if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 ||
            send(fd, line, n, MSG_NOSIGNAL) != (ssize_t)n || recv(fd, &answer, 1, 0) != 1)
                return 0;
        return answer;
}

int browser_client_main(int argc, char **argv) {
        const char *name = client_name(argv[0]), *why;
        char host[LINK_HOST_MOST + 1], answer;

        if (argc != 2 || argv[1][0] == '-') {
                (void)fprintf(stderr, "usage: %s LINK (nsrun asks whether it may be opened on the host)\n",
                              name);
                return STATUS_USAGE;
        }
        if (link_is_openable(argv[1], host)) {
                answer = hand_over(argv[1]);
                if (answer == BROWSER_OPENED)
                        return 0;
                why = answer == BROWSER_REFUSED ? "the person at nsrun's terminal doesn't open it"
                                                : "nsrun can't be asked";
        } else
                why = "nsrun opens links of http and https alone, without quotes, blanks, and a user before the "
                      "host";
        (void)fprintf(stderr, "%s: %s\n", name, why);
        return STATUS_FAILED;
}
