/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See aside.h. */
#include "aside.h"

#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Of a name as long as they come the new one has the beginning alone. */
#define ASIDE_BASE_MOST (NAME_MAX - (int)strlen(".aside-4294967295"))

int aside_open_folder(int folder) {
        char self[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
        struct stat st;

        if (fstat(folder, &st) < 0)
                return -errno;
        (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", folder);
        return (st.st_mode & 0700) == 0700 || chmod(self, (st.st_mode & 07777) | 0700) == 0 ? 0 : -errno;
}

int aside_move(int parent, const char *base, const char *dot, char **ret) {
        bool was_opened = false;

        for (unsigned i = 0; i < 40;) {
                _cleanup_free_ char *aside = NULL;
                unsigned number = i;

                /* The command may have taken the low ones. */
                if ((i >= 20 && getrandom(&number, sizeof(number), 0) < 0) ||
                    asprintf(&aside, "%s%.*s.aside-%u", dot, ASIDE_BASE_MOST - (int)strlen(dot), base,
                             number) < 0) {
                        aside = NULL;
                        return -ENOMEM;
                }
                if (syscall(SYS_renameat2, parent, base, parent, aside, RENAME_NOREPLACE) == 0) {
                        *ret = TAKE_PTR(aside);
                        return 0;
                }
                if (errno == EEXIST) {
                        i++;
                        continue;
                }
                if (errno != EACCES || was_opened)
                        return -errno;
                if (aside_open_folder(parent) < 0)
                        return -EACCES;
                was_opened = true;
        }
        return -EEXIST;
}
