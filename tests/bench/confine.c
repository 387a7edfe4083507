/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "confine.h"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seccomp/shipped.h"

/* Older kernel headers have neither the calls of Landlock nor its scopes. */
#define CALL_LANDLOCK_CREATE_RULESET 444
#define CALL_LANDLOCK_RESTRICT_SELF  446
#define SCOPES                       UINT64_C(3) /* abstract sockets and signals */

_Noreturn void bench_fail(const char *what) {
        perror(what);
        _exit(125);
}

int bench_check(long r, const char *what) {
        if (r < 0)
                bench_fail(what);
        return (int)r;
}

void confine_drop(void) {
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[2] = {{0}};

        for (unsigned long capability = 0; prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; capability++)
                ;
        bench_check(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "ambient");
        bench_check(syscall(SYS_capset, &header, none), "capset");
        bench_check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
        bench_check(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "dumpable");
}

void confine_scope(void) {
        const uint64_t attributes[] = {0, 0, SCOPES};
        int ruleset = bench_check(syscall(CALL_LANDLOCK_CREATE_RULESET, attributes, sizeof(attributes), 0),
                                  "landlock_create_ruleset");

        bench_check(syscall(CALL_LANDLOCK_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self");
        close(ruleset);
}

void confine_filter(const char *policy) {
        struct sock_fprog program = {0};

        for (size_t i = 0; i < n_seccomp_shipped; i++)
                if (strcmp(seccomp_shipped[i].name, policy) == 0)
                        program = (struct sock_fprog){.len = (unsigned short)seccomp_shipped[i].n,
                                                      .filter = (void *)seccomp_shipped[i].code};
        bench_check(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), policy);
}

int bench_status(int status) {
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
