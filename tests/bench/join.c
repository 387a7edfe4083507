/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The floor under a command in a session: one setns(2) into all the namespaces of a
 * process, a fork and an exec, in a static program.  Without a POLICY it drops nothing
 * and filters nothing; with one it confines as nsrun does, with a process that waits
 * between: what the kernel takes for that.  join PID POLICY|"" COMMAND [ARG...] */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine.h"

#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

static void enter(const char *pid) {
        int pidfd = bench_check(syscall(SYS_pidfd_open, atoi(pid), 0), "pidfd_open");

        bench_check(setns(pidfd, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
                                         CLONE_NEWCGROUP),
                    "setns");
        (void)close(pidfd);
}

static int wait_for(pid_t child) {
        int status = 0;

        if (child < 0 || waitpid(child, &status, 0) != child)
                bench_fail("fork");
        return bench_status(status);
}

static _Noreturn void run_confined(char **argv) {
        pid_t child;

        enter(argv[1]);
        confine_drop();
        child = vfork();
        if (child == 0) {
                (void)setsid();
                confine_scope();
                confine_filter(argv[2]);
                (void)execv(argv[3], argv + 3);
                _exit(127);
        }
        _exit(wait_for(child));
}

int main(int argc, char **argv) {
        pid_t child;

        if (argc < 4)
                return 125;
        if (!*argv[2])
                enter(argv[1]);
        child = fork();
        if (child == 0) {
                if (*argv[2])
                        run_confined(argv);
                (void)execv(argv[3], argv + 3);
                bench_fail(argv[3]);
        }
        return wait_for(child);
}
