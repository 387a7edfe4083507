/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asking on /dev/tty, whatever the standard streams are, and asking a program, without a shell. */
#include "confirm.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <termios.h>

#include "base/sys.h"

static int write_all(int fd, const char *text) {
        for (size_t left = strlen(text); left > 0;) {
                ssize_t n = sys_write(fd, text, left);

                if (n == -EINTR)
                        continue;
                if (n < 0)
                        return (int)n;
                text += n;
                left -= (size_t)n;
        }
        return 0;
}

/* The first line, in lower case; what doesn't fit is no answer that we know. */
static int read_answer(int fd, char to[8]) {
        size_t length = 0;
        char byte = '\0';

        while (byte != '\n') {
                ssize_t n = sys_read(fd, &byte, 1);

                if (n == -EINTR)
                        continue;
                if (n < 0)
                        return (int)n;
                if (n == 0)
                        break;
                if (byte == '\n' || length == 7)
                        continue;
                to[length++] = byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
        }
        to[length] = '\0';
        return 0;
}

int confirm_on_terminal(const char *prompt) {
        _cleanup_close_ int fd = sys_open(AT_FDCWD, "/dev/tty", O_RDWR | O_NOCTTY, 0);
        char answer[8];
        int r;

        if (fd < 0)
                return fd;
        /* What was typed before the question is no answer to it. */
        (void)tcflush(fd, TCIFLUSH);
        r = write_all(fd, prompt);
        if (r >= 0)
                r = read_answer(fd, answer);
        if (r < 0)
                return r;
        return streq(answer, "y") || streq(answer, "yes");
}

int confirm_by_program(const struct confirmer *confirmer, const char *prompt) {
        _cleanup_close_ int fd = sys_memfd("prompt");
        char *const argv[] = {(char *)(uintptr_t)confirmer->program, NULL};
        posix_spawn_file_actions_t actions;
        siginfo_t info;
        pid_t pid;
        int r;

        r = fd < 0 ? fd : write_all(fd, prompt);
        if (r < 0)
                return r;
        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        r = -posix_spawn_file_actions_init(&actions);
        if (r < 0)
                return r;
        r = -posix_spawn_file_actions_adddup2(&actions, fd, 0);
        if (r == 0)
                r = -posix_spawn_file_actions_adddup2(&actions, 2, 1);
        if (r == 0)
                r = confirmer->path ? -posix_spawn(&pid, confirmer->path, &actions, NULL, argv, environ)
                                    : -posix_spawnp(&pid, confirmer->program, &actions, NULL, argv, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
        if (r < 0)
                return r;
        do
                r = sys_waitid(P_PID, (id_t)pid, &info, WEXITED);
        while (r == -EINTR);
        if (r < 0)
                return r;
        return info.si_code == CLD_EXITED && info.si_status == 0;
}
