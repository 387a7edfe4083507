/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All of nsrun's programs but nsrun-http and nsrun-keys as one file, which scripts/static ships: which of
 * them it is, is said by the name that it is called by.  It starts itself for what installed programs start
 * a helper for, so that no file that lies beside it is ever trusted. */
#define main one_cli
#include "cli/main.c"
#undef main
#define main one_bwrap
#include "bwrap/main.c"
#undef main
#define main one_oci
#include "oci/main.c"
#undef main
#define main one_monitor
#include "session/nsrun-monitor.c"
#undef main
#define main one_init
#include "launch/nsrun-init.c"
#undef main
#define main one_net
#include "net/nsrun-net.c"
#undef main

#include <linux/limits.h>
#include <sys/prctl.h>

#include "session/job_keeper.h"

static const struct {
        const char *name;
        int (*main)(int argc, char **argv);
} programs[] = {{"nsrun-bwrap", one_bwrap},     {"bwrap", one_bwrap},         {"nsrun-oci", one_oci},
                {"nsrun-monitor", one_monitor}, {DETACHED_NAME, one_monitor}, {"nsrun-init", one_init},
                {"nsrun-net", one_net}};

int main(int argc, char **argv) {
        static char own[PATH_MAX];
        const char *called = argc > 0 ? argv[0] : "", *slash = strrchr(called, '/');

        if (sys_readlinkat(AT_FDCWD, "/proc/self/exe", own, sizeof(own) - 1) > 0)
                programs_are_one_file(own);
        called = slash ? slash + 1 : called;
        if (browser_is_client(called))
                return one_init(argc, argv);
        for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
                if (streq(called, programs[i].name)) {
                        (void)prctl(PR_SET_NAME, called);
                        return programs[i].main(argc, argv);
                }
        return one_cli(argc, argv);
}
