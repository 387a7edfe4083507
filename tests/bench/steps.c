/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tells which instructions of a program two processes executed: the first, and those that it cloned, up to
 * an execve(2) of theirs.  layout.py makes src/layout.ld of it.
 *
 *   steps FILE PROGRAM [ARG...]
 *
 * FILE gets a line for each: "0 OFFSET" of the first process, "1 OFFSET" of the others, from where the
 * kernel put the program.  A million steps take seconds on an idle machine. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGEST (1UL << 24)

static unsigned char seen[2][LARGEST];
static unsigned long base;

static _Noreturn void fail(const char *what) {
        perror(what);
        exit(1);
}

/* The program is the first file that is mapped. */
static void find_base(pid_t pid) {
        char text[512];
        FILE *f;

        (void)snprintf(text, sizeof(text), "/proc/%d/maps", (int)pid);
        f = fopen(text, "re");
        if (!f)
                fail(text);
        while (fgets(text, sizeof(text), f) && !strchr(text, '/'))
                ;
        base = strtoul(text, NULL, 16);
        (void)fclose(f);
}

static void note_step(pid_t pid, bool is_first) {
#ifdef __x86_64__
        struct user_regs_struct registers;

        if (ptrace(PTRACE_GETREGS, pid, NULL, &registers) == 0 && registers.rip - base < LARGEST)
                seen[!is_first][registers.rip - base] = 1;
#else
        (void)pid;
        (void)is_first;
        fail("an x86-64 processor is needed");
#endif
}

static void take_step(pid_t pid, int status, bool is_first) {
        int event = status >> 16, signal = WSTOPSIG(status);

        if (event == PTRACE_EVENT_EXEC && !is_first) {
                (void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
                return;
        }
        if (event == PTRACE_EVENT_EXEC)
                find_base(pid);
        if (event == 0 && signal == SIGTRAP)
                note_step(pid, is_first);
        if (event || signal == SIGTRAP || signal == SIGSTOP)
                signal = 0;
        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, (void *)(long)signal) < 0 && errno != ESRCH)
                fail("ptrace");
}

int main(int argc, char **argv) {
        pid_t first, pid;
        int status;
        FILE *f;

        if (argc < 3)
                return 2;
        first = fork();
        if (first == 0) {
                (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
                (void)raise(SIGSTOP);
                (void)execv(argv[2], argv + 2);
                _exit(127);
        }
        if (first < 0 || waitpid(first, &status, 0) < 0 ||
            ptrace(PTRACE_SETOPTIONS, first, NULL,
                   (void *)(PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                            PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)) < 0 ||
            ptrace(PTRACE_CONT, first, NULL, NULL) < 0)
                fail("ptrace");
        while ((pid = waitpid(-1, &status, __WALL)) > 0)
                if (WIFSTOPPED(status))
                        take_step(pid, status, pid == first);
        f = fopen(argv[1], "we");
        if (!f)
                fail(argv[1]);
        for (int i = 0; i < 2; i++)
                for (unsigned long at = 0; at < LARGEST; at++)
                        if (seen[i][at])
                                (void)fprintf(f, "%d %lx\n", i, at);
        return fclose(f) == 0 ? 0 : 1;
}
