/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun_toolchains_*(): the lists of toolchain folders for a library's host. */
#include "host/toolchains.h"

#include "base/path.h"
#include "base/str.h"
#include "host/user.h"

struct listing {
        enum toolchain_access access;
        const char *home;
        char **paths;
};

static int list_toolchain(void *data, const struct toolchain_place *place) {
        _cleanup_free_ char *canonical = NULL;
        struct listing *l = data;
        unsigned mode = 0;

        if (place->entry->access != l->access || place->state != TOOLCHAIN_FOUND)
                return 0;
        if (path_canonical(place->path, &canonical, &mode) < 0 ||
            toolchains_is_linked(l->home, place->path, canonical))
                return 0;
        if (!S_ISDIR(mode) || strv_contains(l->paths, place->path))
                return 0;
        return strv_add(&l->paths, place->path);
}

/* What a variable moves elsewhere is left to policies, which judge such a place before they show it. */
static const char *no_variable(nsrun_unused const void *data, nsrun_unused const char *name) {
        return NULL;
}

static int list_toolchains(enum toolchain_access access, char ***ret, struct nsrun_error *err) {
        struct listing l = {.access = access};
        struct toolchain_host host = {.variable = no_variable};
        _cleanup_free_ char *home = NULL;

        if (user_find_home(getenv("HOME"), &home) < 0)
                return error_oom(err);
        l.home = host.home = home;
        if (toolchains_each(&host, list_toolchain, &l) < 0) {
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
