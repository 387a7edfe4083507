/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asking on /dev/tty, whatever the standard streams are, and asking a program, without a shell. */
#include "confirm.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>

#include "base/file.h"
#include "base/loop.h"
#include "base/programs.h"

/* The first line, in lower case; what doesn't fit is no answer that we know.  1; 0: the input ends before
 * the line does; -errno. */
static int read_answer(int fd, char to[CONFIRM_ANSWER_SIZE]) {
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
                if (byte == '\n' || length == CONFIRM_ANSWER_SIZE - 1)
                        continue;
                to[length++] = byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
        }
        to[length] = '\0';
        return byte == '\n';
}

int confirm_open_terminal(void) {
        return sys_open(AT_FDCWD, "/dev/tty", O_RDWR | O_NOCTTY, 0);
}

int confirm_ask(int fd, const char *prompt, char answer[CONFIRM_ANSWER_SIZE]) {
        int r;

        /* What was typed before the question is no answer to it. */
        (void)tcflush(fd, TCIFLUSH);
        r = write_full(fd, prompt, strlen(prompt));
        return r < 0 ? r : read_answer(fd, answer);
}

int confirm_on_terminal(const char *prompt) {
        _cleanup_close_ int fd = confirm_open_terminal();
        char answer[CONFIRM_ANSWER_SIZE];
        int r = fd < 0 ? fd : confirm_ask(fd, prompt, answer);

        return r < 0 ? r : streq(answer, "y") || streq(answer, "yes");
}

/* In the fork's child, which ends with nsrun.  Says by `failure_fd`, which an exec closes, why there was
 * none. */
static _Noreturn void confirm_become(const struct confirmer *confirmer, pid_t parent, int prompt_fd,
                                     int failure_fd) {
        char *const argv[] = {(char *)(uintptr_t)confirmer->program, NULL};
        const sigset_t own = SIGNALS(SIGXFSZ);
        int r = sys_prctl(PR_SET_PDEATHSIG, SIGTERM, 0);

        /* Blocked in nsrun itself (main.c). */
        (void)sys_sigmask(SIG_UNBLOCK, &own, NULL);
        if (r >= 0 && getppid() != parent)
                _exit(125);
        if (r >= 0)
                r = sys_dup_to(prompt_fd, 0);
        if (r >= 0)
                r = sys_dup_to(2, 1);
        if (r >= 0) {
                (void)execv(confirmer->path, argv);
                r = -errno;
        }
        (void)sys_write(failure_fd, &r, sizeof(r));
        _exit(125);
}

/* pipe2(2), with both ends above 2 where a closed standard stream had left its number free. */
static int open_pipe(int *ret_read, int *ret_write) {
        int ends[2], r;

        r = sys_pipe(ends);
        if (r < 0)
                return r;
        *ret_read = ends[0];
        *ret_write = ends[1];
        return fd_lift(ret_write);
}

/* The pid, or -errno. */
static pid_t confirm_start(const struct confirmer *confirmer, int prompt_fd) {
        _cleanup_close_ int failure = -EBADF, told = -EBADF;
        pid_t pid, parent = getpid();
        siginfo_t info;
        ssize_t n;
        int r, why;

        r = open_pipe(&failure, &told);
        if (r < 0)
                return r;
        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0)
                program_restore_files();
        if (pid == 0)
                confirm_become(confirmer, parent, prompt_fd, told);
        close_fdp(&told);
        do
                n = sys_read(failure, &why, sizeof(why));
        while (n == -EINTR);
        if (n == (ssize_t)sizeof(why)) {
                (void)sys_waitid(P_PID, (id_t)pid, &info, WEXITED);
                return why;
        }
        return pid;
}

int confirm_by_program(const struct confirmer *confirmer, const char *prompt) {
        _cleanup_close_ int fd = sys_memfd("prompt");
        siginfo_t info;
        pid_t pid;
        int r = fd < 0 ? fd : write_full(fd, prompt, strlen(prompt));

        if (r < 0)
                return r;
        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        pid = confirm_start(confirmer, fd);
        if (pid < 0)
                return pid;
        do
                r = sys_waitid(P_PID, (id_t)pid, &info, WEXITED);
        while (r == -EINTR);
        return r < 0 ? r : info.si_code == CLD_EXITED && info.si_status == 0;
}
