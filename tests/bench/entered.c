/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* entered UID SYMBOLS PROGRAM [WORD...]: runs PROGRAM as that user and prints which of its functions were
 * entered: "0 NAME" by the process that was started, "1 NAME" by those that it cloned, until they execute
 * another program.  SYMBOLS has lines of an address and a name.  For scripts/start-order, as root (pid 1 of
 * a sandbox can't be written to by its user), on x86-64. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define BREAKPOINT 0xccUL

struct entry {
        unsigned long address;
        char name[160];
        unsigned long byte; /* the first of its code */
};

static struct entry entries[65536];
static size_t n_entries;
static unsigned long base;

static int compare(const void *a, const void *b) {
        const struct entry *one = a, *other = b;

        return one->address < other->address ? -1 : one->address > other->address;
}

static void fail(const char *what) {
        perror(what);
        exit(1);
}

static void write_byte(pid_t pid, unsigned long address, unsigned long byte) {
        unsigned long word = (unsigned long)ptrace(PTRACE_PEEKTEXT, pid, base + address, 0);

        if (ptrace(PTRACE_POKETEXT, pid, base + address, (word & ~0xffUL) | byte) < 0)
                fail("POKETEXT");
}

static void read_symbols(const char *path) {
        FILE *f = fopen(path, "r");

        while (f && n_entries < sizeof(entries) / sizeof(*entries) &&
               fscanf(f, "%lx %159s", &entries[n_entries].address, entries[n_entries].name) == 2)
                n_entries++;
        if (!f || n_entries == 0)
                fail(path);
        fclose(f);
        qsort(entries, n_entries, sizeof(*entries), compare);
}

static void find_base(pid_t pid, const char *program) {
        char path[64], line[512];
        FILE *f;

        snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
        f = fopen(path, "r");
        while (f && base == 0 && fgets(line, sizeof(line), f))
                if (strstr(line, program))
                        base = strtoul(line, NULL, 16);
        if (base == 0)
                fail(path);
        fclose(f);
}

static void entered(pid_t pid, bool is_first) {
        struct user_regs_struct registers;
        struct entry key = {0}, *found;

        ptrace(PTRACE_GETREGS, pid, 0, &registers);
        key.address = (unsigned long)registers.rip - 1 - base;
        found = bsearch(&key, entries, n_entries, sizeof(*entries), compare);
        if (!found)
                return;
        while (found > entries && found[-1].address == key.address)
                found--;
        write_byte(pid, key.address, found->byte);
        registers.rip--;
        ptrace(PTRACE_SETREGS, pid, 0, &registers);
        for (; found < entries + n_entries && found->address == key.address; found++)
                printf("%d %s\n", !is_first, found->name);
}

int main(int argc, char **argv) {
        pid_t first, pid;
        bool has_child = false;
        int status;

        if (argc < 4)
                return 2;
        read_symbols(argv[2]);
        first = fork();
        if (first == 0) {
                uid_t user = (uid_t)atoi(argv[1]);

                if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0 || setgid(user) < 0 ||
                    setuid(user) < 0) /* root traces */
                        fail("TRACEME, setuid");
                execv(argv[3], argv + 3);
                fail(argv[3]);
        }
        waitpid(first, &status, 0);
        if (!WIFSTOPPED(status))
                return 1;
        ptrace(PTRACE_SETOPTIONS, first, 0,
               PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC);
        find_base(first, argv[3]);
        for (size_t i = 0; i < n_entries; i++)
                entries[i].byte =
                        (unsigned long)ptrace(PTRACE_PEEKTEXT, first, base + entries[i].address, 0) & 0xff;
        for (size_t i = 0; i < n_entries; i++)
                write_byte(first, entries[i].address, BREAKPOINT);
        ptrace(PTRACE_CONT, first, 0, 0);
        while ((pid = waitpid(-1, &status, __WALL)) > 0) {
                int stop = WSTOPSIG(status), event = status >> 16;
                unsigned long child;

                if (!WIFSTOPPED(status))
                        continue;
                /* Whatever the first has entered already. */
                if ((event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK) && !has_child) {
                        has_child = true;
                        ptrace(PTRACE_GETEVENTMSG, pid, 0, &child);
                        waitpid((pid_t)child, &status, __WALL);
                        for (size_t i = 0; i < n_entries; i++)
                                write_byte((pid_t)child, entries[i].address, BREAKPOINT);
                        ptrace(PTRACE_CONT, (pid_t)child, 0, 0);
                }
                if (event == PTRACE_EVENT_EXEC) {
                        ptrace(PTRACE_DETACH, pid, 0, 0);
                        continue;
                }
                if (event == 0 && stop == SIGTRAP)
                        entered(pid, pid == first);
                ptrace(PTRACE_CONT, pid, 0, event == 0 && stop != SIGTRAP && stop != SIGSTOP ? stop : 0);
        }
        return 0;
}
