/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The names of errors that programs inside a sandbox print: the same with every libc and in every
 * language. */
#pragma once

#include "base/macro.h"

/* The error's name; "ok" for 0. */
static inline const char *error_word(int number) {
        static const struct {
                int number;
                const char *word;
        } words[] = {
                {0, "ok"},
                {EACCES, "EACCES"},
                {EAFNOSUPPORT, "EAFNOSUPPORT"},
                {EBADF, "EBADF"},
                {EINVAL, "EINVAL"},
                {EIO, "EIO"},
                {ENOENT, "ENOENT"},
                {ENOSYS, "ENOSYS"},
                {ENOTTY, "ENOTTY"},
                {ENXIO, "ENXIO"},
                {EPERM, "EPERM"},
                {EPROTONOSUPPORT, "EPROTONOSUPPORT"},
                {EROFS, "EROFS"},
                {ESOCKTNOSUPPORT, "ESOCKTNOSUPPORT"},
                {ESRCH, "ESRCH"},
                {ETXTBSY, "ETXTBSY"},
                {EXDEV, "EXDEV"},
        };
        static char other[32];

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (words[i].number == number)
                        return words[i].word;
        (void)snprintf(other, sizeof(other), "errno %d", number);
        return other;
}
