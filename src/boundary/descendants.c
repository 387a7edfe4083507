/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds them in the kernel's list of this process's children.  None of these is reaped meanwhile,
 * so that no pid can be another process's.  On a kernel without that list (CONFIG_PROC_CHILDREN)
 * only the process group is found. */
#include "descendants.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "base/sys.h"

/* Sends all children a signal.  Returns how many could be sent it. */
static size_t signal_children(int signal) {
        _cleanup_close_ int fd = sys_open(AT_FDCWD, "/proc/thread-self/children", O_RDONLY, 0);
        char text[4096];
        size_t found = 0;
        pid_t child = 0;
        ssize_t n;

        while (fd >= 0 && (n = sys_read(fd, text, sizeof(text))) > 0)
                for (ssize_t i = 0; i < n; i++)
                        if (text[i] >= '0' && text[i] <= '9') {
                                child = child * 10 + (text[i] - '0');
                        } else {
                                found += child > 1 && sys_kill(child, signal) >= 0;
                                child = 0;
                        }
        return found;
}

void descendants_signal(pid_t command, int signal) {
        if (command > 1)
                (void)sys_kill(-command, signal);
        (void)signal_children(signal);
}

void descendants_end(pid_t command, int *status) {
        size_t n;

        if (command > 1)
                (void)sys_kill(-command, SIGKILL);
        do {
                n = signal_children(SIGKILL);
                if (n == 0 && command > 1)
                        n = sys_kill(command, SIGKILL) >= 0;
                for (size_t i = 0; i < n; i++) {
                        siginfo_t info = {.si_pid = 0};

                        if (sys_waitid(P_ALL, 0, &info, WEXITED) < 0)
                                return;
                        if (info.si_pid != command)
                                continue;
                        *status = info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8
                                                             : info.si_status & 0x7f;
                        command = 0;
                }
        } while (n > 0);
}
