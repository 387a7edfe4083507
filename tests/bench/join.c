/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The floor under a command in a session: one setns(2) into all the namespaces of a
 * process, a fork and an exec, in a static program.  It drops nothing and filters
 * nothing.  join PID COMMAND [ARG...] */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

static _Noreturn void fail(const char *what) {
        perror(what);
        _exit(125);
}

int main(int argc, char **argv) {
        int pidfd, status = 0;
        pid_t child;

        if (argc < 3)
                return 125;
        pidfd = (int)syscall(SYS_pidfd_open, atoi(argv[1]), 0);
        if (pidfd < 0)
                fail("pidfd_open");
        if (setns(pidfd, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
                                 CLONE_NEWCGROUP) < 0)
                fail("setns");
        child = fork();
        if (child == 0) {
                (void)execv(argv[2], argv + 2);
                fail(argv[2]);
        }
        if (child < 0 || waitpid(child, &status, 0) != child)
                fail("fork");
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
