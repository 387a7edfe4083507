/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun_toolchains_*(): the lists of toolchain folders for a library's host. */
#include "host/toolchains.h"

#include "base/error.h"
#include "base/path.h"
#include "base/str.h"
#include "host/user.h"

struct listing {
        enum toolchain_access access;
        const char *home;
        char **paths;
};

static int list_toolchain(void *data, const struct toolchain_entry *entry, const char *path) {
        _cleanup_free_ char *canonical = NULL;
        struct listing *l = data;

        if (entry->access != l->access)
                return 0;
        if (path_canonical(path, &canonical, NULL) < 0 || toolchains_is_linked(l->home, path, canonical))
                return 0;
        return strv_add(&l->paths, path);
}

static int list_toolchains(enum toolchain_access access, char ***ret, struct nsrun_error *err) {
        struct listing l = {.access = access};
        _cleanup_free_ char *home = NULL;

        if (user_find_home(getenv("HOME"), &home) < 0)
                return error_oom(err);
        l.home = home;
        if (toolchains_each(home, list_toolchain, &l) < 0) {
                strv_free(l.paths);
                return error_oom(err);
        }
        *ret = l.paths;
        return 0;
}

nsrun_public int nsrun_toolchains_readable(char ***ret, struct nsrun_error *error) {
        return list_toolchains(TOOLCHAIN_READABLE, ret, error);
}

nsrun_public int nsrun_toolchains_overlay(char ***ret, struct nsrun_error *error) {
        return list_toolchains(TOOLCHAIN_OVERLAY, ret, error);
}
