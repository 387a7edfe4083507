/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copying between the caller's release of a public struct and the library's own. */
#include "sized.h"

#include "base/error.h"

/* No struct will be larger, and no uninitialised size is likely to be smaller. */
#define MOST_BYTES 4096U

static size_t size_of(const void *sized) {
        size_t size;

        memcpy(&size, sized, sizeof(size));
        return size;
}

int sized_check(const void *from, const char *name, struct nsrun_error *err) {
        size_t size = size_of(from);

        if (size >= sizeof(size) && size <= MOST_BYTES)
                return 0;
        return error_setf(err, NSRUN_STAGE_USAGE, -EINVAL, NULL, "initialise it with its NSRUN_..._INIT",
                          "%s: its first member, size, is %zu", name, size);
}

int sized_take(void *to, size_t to_size, const void *from, const char *name, struct nsrun_error *err) {
        size_t size = size_of(from), n = size < to_size ? size : to_size;
        int r = sized_check(from, name, err);

        if (r < 0)
                return r;
        for (size_t i = to_size; i < size; i++)
                if (((const char *)from)[i] != 0)
                        return error_setf(err, NSRUN_STAGE_USAGE, -E2BIG, NULL,
                                          "leave it zero, or use a newer libnsrun",
                                          "%s: a field is set that libnsrun %s doesn't know", name,
                                          nsrun_version());
        memset(to, 0, to_size);
        memcpy(to, from, n);
        memcpy(to, &to_size, sizeof(to_size));
        return 0;
}

void sized_move(void *to, void *from) {
        size_t a = size_of(to), b = size_of(from), n = a < b ? a : b;

        if (n <= sizeof(n))
                return;
        memcpy((char *)to + sizeof(n), (char *)from + sizeof(n), n - sizeof(n));
        memset((char *)from + sizeof(n), 0, n - sizeof(n));
}
