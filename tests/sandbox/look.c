/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command for the sandbox that prints what it sees and what it may, in one
 * write and always in the same words, so that two runs can be compared.  Each
 * argument is a path that it tries to make a file at.  Exits with 7: no other part
 * of a run has that status. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/macro.h"

#define MOST_LINES 4096

static char *lines[MOST_LINES];
static size_t n_lines;

static int compare(const void *a, const void *b) {
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static void print_sorted(const char *what) {
        qsort(lines, n_lines, sizeof(lines[0]), compare);
        for (size_t i = 0; i < n_lines; i++)
                (void)printf("%s %s\n", what, lines[i]);
        n_lines = 0;
}

static void add(const char *line) {
        if (n_lines < MOST_LINES)
                lines[n_lines++] = strdup(line);
}

static void print_folder(const char *what, const char *path) {
        DIR *dir = opendir(path);
        struct dirent *entry;

        if (!dir) {
                (void)printf("%s: %s\n", path, strerror(errno));
                return;
        }
        while ((entry = readdir(dir)))
                if (!streq(entry->d_name, ".") && !streq(entry->d_name, ".."))
                        add(entry->d_name);
        (void)closedir(dir);
        print_sorted(what);
}

static void print_status(void) {
        static const char *const wanted[] = {
                "CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:", "NoNewPrivs:", "Seccomp:"};
        FILE *f = fopen("/proc/self/status", "re");
        char line[512];

        while (f && fgets(line, sizeof(line), f))
                for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
                        if (startswith(line, wanted[i]))
                                (void)fputs(line, stdout);
        if (f)
                (void)fclose(f);
        (void)printf("no_new_privs %d, pid %d, own session %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
                     (int)getpid(), getsid(0) == getpid());
}

/* The six letters that every run has of its own. */
static void forget_rundir(char *path) {
        char *name = strstr(path, "/workspace-");

        if (name && strlen(name) >= 17)
                memset(name + 11, 'X', 6);
}

/* Where, how and what kind: no ids, no devices, nothing that differs between two
 * runs of the same plan. */
static void print_mounts(void) {
        FILE *f = fopen("/proc/self/mountinfo", "re");
        char line[8192], target[4096], options[512], kind[64], text[5000];

        while (f && fgets(line, sizeof(line), f)) {
                const char *rest = strstr(line, " - ");

                if (!rest || sscanf(line, "%*s %*s %*s %*s %4095s %511s", target, options) != 2 ||
                    sscanf(rest, " - %63s", kind) != 1)
                        continue;
                forget_rundir(target);
                (void)snprintf(text, sizeof(text), "%s %s %s", target, options, kind);
                add(text);
        }
        if (f)
                (void)fclose(f);
        print_sorted("mount");
}

static void print_limits(void) {
        struct rlimit files = {0}, core = {0}, processes = {0};

        (void)getrlimit(RLIMIT_NOFILE, &files);
        (void)getrlimit(RLIMIT_CORE, &core);
        (void)getrlimit(RLIMIT_NPROC, &processes);
        (void)printf("limits %ju:%ju %ju:%ju %ju:%ju\n", (uintmax_t)files.rlim_cur,
                     (uintmax_t)files.rlim_max, (uintmax_t)core.rlim_cur, (uintmax_t)core.rlim_max,
                     (uintmax_t)processes.rlim_cur, (uintmax_t)processes.rlim_max);
}

static void try_path(const char *path) {
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        (void)printf("write %s: %s\n", path, fd < 0 ? strerror(errno) : "done");
        if (fd >= 0)
                (void)close(fd);
}

int main(int argc, char **argv) {
        static char buffer[1 << 20];
        char text[4096] = "";

        (void)setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
        print_status();
        print_folder("root", "/");
        print_folder("fd", "/proc/self/fd");
        print_mounts();
        print_limits();
        (void)gethostname(text, sizeof(text) - 1);
        (void)printf("host %s\n", text);
        (void)printf("folder %s\n", getcwd(text, sizeof(text)) ? text : strerror(errno));
        for (int i = 1; i < argc; i++)
                try_path(argv[i]);
        return fflush(stdout) == 0 ? 7 : 8;
}
