/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "process_files.h"

#include "base/file.h"
#include "base/sys.h"

int process_file_read(int folder, const char *path, size_t most, char **ret, size_t *ret_n) {
        _cleanup_close_ int fd = sys_open(folder, path, O_RDONLY, 0);
        _cleanup_free_ char *text = fd < 0 ? NULL : malloc(most + 1);
        size_t n = 0;
        int r;

        if (!text)
                return fd < 0 ? fd : -ENOMEM;
        r = read_full(fd, text, most, &n);
        if (r < 0)
                return r;
        text[n] = '\0';
        if (ret_n)
                *ret_n = n;
        *ret = TAKE_PTR(text);
        return 0;
}

/* The program's name, the second field, may have any character in it. */
int process_stat_read(int folder, const char *path, struct process_stat *ret) {
        _cleanup_free_ char *text = NULL;
        int r = process_file_read(folder, path, 4096, &text, NULL);
        char *name = r < 0 ? NULL : strchr(text, '('), *at = r < 0 ? NULL : strrchr(text, ')');

        if (r < 0)
                return r;
        if (!name || !at || at[1] != ' ' || !at[2])
                return -EBADMSG;
        *at = '\0';
        *ret = (struct process_stat){.state = at[2]};
        (void)snprintf(ret->name, sizeof(ret->name), "%s", name + 1);
        at += 3;
        for (int field = 4; field <= 22; field++) {
                unsigned long long number = strtoull(at, &at, 10);

                if (field == 4)
                        ret->parent = (pid_t)number;
                else if (field >= 14 && field <= 17)
                        ret->ticks += number;
                else if (field == 20)
                        ret->n_threads = number;
                else if (field == 22)
                        ret->start = number;
        }
        return 0;
}

uint64_t process_memory_read(int folder, const char *path) {
        _cleanup_free_ char *text = NULL;
        char *at;

        if (process_file_read(folder, path, 128, &text, NULL) < 0)
                return 0;
        (void)strtoull(text, &at, 10);
        return strtoull(at, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t process_age(uint64_t start) {
        uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK), ticks;
        struct timespec now = {0};

        (void)clock_gettime(CLOCK_BOOTTIME, &now);
        ticks = (uint64_t)now.tv_sec * per_second + (uint64_t)now.tv_nsec * per_second / 1000000000;
        return ticks > start ? (ticks - start) / per_second : 0;
}
