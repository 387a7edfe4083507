/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decimal text, and folders that have it for names, for the child: where stdio is not safe. */
#include <fcntl.h>
#include <sys/syscall.h>

#include "base/sys.h"
#include "decimal.h"

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

/* getdents64(2)'s */
struct directory_entry {
        uint64_t inode;
        int64_t offset;
        unsigned short length;
        unsigned char type;
        char name[];
};

int names_each(int folder, bool (*take)(void *data, int folder, const char *name), void *data) {
        _Alignas(struct directory_entry) char buffer[4096];
        long got;

        while ((got = syscall(SYS_getdents64, folder, buffer, sizeof(buffer))) > 0)
                for (long at = 0; at < got;) {
                        const struct directory_entry *entry = (const void *)(buffer + at);

                        at += entry->length;
                        if (!streq(entry->name, ".") && !streq(entry->name, "..") &&
                            !take(data, folder, entry->name))
                                return 0;
                }
        return got < 0 ? -errno : 0;
}

struct numbers {
        void (*take)(void *data, int number);
        void *data;
};

static bool take_number(void *data, nsrun_unused int folder, const char *name) {
        const struct numbers *numbers = data;
        const char *digit = name;
        int number = 0;

        for (; *digit >= '0' && *digit <= '9'; digit++)
                number = number * 10 + (*digit - '0');
        if (*digit == '\0')
                numbers->take(numbers->data, number);
        return true;
}

int number_each(int folder, void (*take)(void *data, int number), void *data) {
        struct numbers numbers = {.take = take, .data = data};

        return names_each(folder, take_number, &numbers);
}
