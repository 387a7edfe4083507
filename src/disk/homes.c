/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See homes.h. */
#include "homes.h"

#include "base/path.h"
#include "base/str.h"

bool home_is_name(const char *name) {
        static const char may[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

        return *name && *name != '.' && *name != '-' && strlen(name) <= 64 && !name[strspn(name, may)];
}

char *named_home_path(const char *user_home, const char *data, const char *name) {
        bool has_data = data && path_is_absolute(data);

        return str_format("%s/%s%s%s", has_data ? data : user_home,
                          has_data ? "nsrun/homes" : ".local/share/nsrun/homes", name ? "/" : "",
                          name ? name : "");
}
