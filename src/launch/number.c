/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decimal text for the child, where stdio is not safe. */
#include <fcntl.h>

#include "internal.h"

char *number_format(char to[24], uint64_t n) {
        char digits[24];
        size_t i = 0, j = 0;

        do
                digits[i++] = (char)('0' + n % 10);
        while ((n /= 10) > 0);
        while (i > 0)
                to[j++] = digits[--i];
        to[j] = '\0';
        return to;
}

pid_t number_of_pidfd(int pidfd) {
        char path[64] = "/proc/self/fdinfo/", text[512], number[24];
        _cleanup_close_ int fd = -EBADF;
        const char *line;
        ssize_t n;

        strcat(path, number_format(number, (uint64_t)pidfd));
        fd = sys_open(AT_FDCWD, path, O_RDONLY, 0);
        n = fd < 0 ? fd : sys_read(fd, text, sizeof(text) - 1);
        if (n < 0)
                return (pid_t)n;
        text[n] = '\0';
        line = strstr(text, "\nPid:");
        return line ? (pid_t)strtol(line + 5, NULL, 10) : -ESRCH;
}
