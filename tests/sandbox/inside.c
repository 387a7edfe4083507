/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A command for the sandbox that says how things are where it runs, one fact a line, so
 * that two launchers can be compared.  Linked statically: the root may be empty but for it.
 * Each argument is a path to describe.  Exits with 7: no other part of a run has that
 * status.  It judges nothing. */
#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "base/macro.h"

#define MOST_LINES 8192

static char *lines[MOST_LINES];
static size_t n_lines;

/* By the first word, then as they were added: of mounts on top of each other, the order tells. */
struct entry {
        char *text;
        size_t place;
};

static int compare(const void *a, const void *b) {
        const struct entry *x = a, *y = b;
        size_t n = strcspn(x->text, " "), m = strcspn(y->text, " ");
        int r = strncmp(x->text, y->text, n < m ? n : m);

        if (r == 0 && n != m)
                r = n < m ? -1 : 1;
        return r ? r : (x->place > y->place) - (x->place < y->place);
}

static void add(const char *line) {
        if (n_lines < MOST_LINES)
                lines[n_lines++] = strdup(line);
}

static void print_sorted(const char *what) {
        static struct entry entries[MOST_LINES];

        for (size_t i = 0; i < n_lines; i++)
                entries[i] = (struct entry){.text = lines[i], .place = i};
        qsort(entries, n_lines, sizeof(entries[0]), compare);
        for (size_t i = 0; i < n_lines; i++)
                (void)printf("%s %s\n", what, entries[i].text);
        n_lines = 0;
}

static const char *word(int r) {
        return r < 0 ? strerror(errno) : "ok";
}

/* "shared:12 master:3": the words without the numbers, which say nothing. */
static void propagation(const char *fields, const char *end, char *ret, size_t size) {
        ret[0] = '\0';
        for (const char *at = fields; at && at < end; at = strchr(at + 1, ' ')) {
                size_t n = strcspn(at + 1, ": ");

                if (n > 0 && at + 1 + n <= end)
                        (void)snprintf(ret + strlen(ret), size - strlen(ret), " %.*s", (int)n, at + 1);
        }
}

/* Path, propagation, flags, file system, its options where they are the launcher's own, and the
 * folder of the file system; a tmpfs' folders are the launcher's private matter. */
static void print_mounts(void) {
        static const char *const private_ones[] = {"tmpfs", "devpts", "mqueue", "proc", "overlay"};
        FILE *f = fopen("/proc/self/mountinfo", "re");
        static char line[16384], root[4096], target[4096], text[32768];
        char options[512], kind[64], super[8192], spread[128];

        while (f && fgets(line, sizeof(line), f)) {
                const char *rest = strstr(line, " - "), *fields = line;
                bool is_private = false;

                if (!rest || sscanf(line, "%*s %*s %*s %4095s %4095s %511s", root, target, options) != 3 ||
                    sscanf(rest, " - %63s %*s %8191s", kind, super) != 2)
                        continue;
                for (int i = 0; i < 6 && fields; i++)
                        fields = strchr(fields + 1, ' ');
                propagation(fields, rest, spread, sizeof(spread));
                for (size_t i = 0; i < ARRAY_SIZE(private_ones); i++)
                        is_private = is_private || streq(kind, private_ones[i]);
                (void)snprintf(text, sizeof(text), "%s %s %s%s root %s%s%s", target, options, kind, spread,
                               streq(kind, "tmpfs") || streq(kind, "devtmpfs") ? "-" : root,
                               is_private ? " " : "", is_private ? super : "");
                add(text);
        }
        if (f)
                (void)fclose(f);
        print_sorted("mount");
}

static void print_status(void) {
        static const char *const wanted[] = {
                "Uid:",    "Gid:",    "Groups:", "NoNewPrivs:", "Seccomp:", "CapInh:", "CapPrm:",
                "CapEff:", "CapBnd:", "CapAmb:", "SigBlk:",     "SigIgn:",  "Umask:",  "Threads:"};
        FILE *f = fopen("/proc/self/status", "re");
        char line[512];

        while (f && fgets(line, sizeof(line), f))
                for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
                        if (startswith(line, wanted[i]))
                                (void)fputs(line, stdout);
        if (f)
                (void)fclose(f);
        (void)printf("uid %u gid %u\n", getuid(), getgid());
        (void)printf("pid %d parent %d\n", (int)getpid(), (int)getppid());
        (void)printf("leads its session %d, its group %d\n", getsid(0) == getpid(), getpgrp() == getpid());
        (void)printf("no_new_privs %d seccomp %d dumpable %d securebits %d\n",
                     prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_SECCOMP, 0, 0, 0, 0),
                     prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), prctl(PR_GET_SECUREBITS, 0, 0, 0, 0));
        for (int i = 0; i < 64; i++)
                if (prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 0)
                        (void)printf("bounding set lacks %d\n", i);
}

static void print_file(const char *path) {
        FILE *f = fopen(path, "re");
        char line[512];

        if (!f)
                (void)printf("%s: %s\n", path, strerror(errno));
        while (f && fgets(line, sizeof(line), f)) {
                line[strcspn(line, "\n")] = '\0';
                (void)printf("%s: ", path);
                for (char *rest = line, *part; (part = strsep(&rest, " \t"));)
                        if (*part)
                                (void)printf("%s ", part);
                (void)printf("\n");
        }
        if (f)
                (void)fclose(f);
}

static void print_namespaces(void) {
        static const char *const names[] = {"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"};
        char path[64], text[128];

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                ssize_t n;

                (void)snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
                n = readlink(path, text, sizeof(text) - 1);
                text[n > 0 ? n : 0] = '\0';
                (void)printf("namespace %s\n", text);
        }
}

static void print_fds(void) {
        char path[64], text[4096], line[4200];

        for (int fd = 0; fd < 1024; fd++) {
                int flags = fcntl(fd, F_GETFD);
                ssize_t n;

                if (flags < 0)
                        continue;
                (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
                n = readlink(path, text, sizeof(text) - 1);
                text[n > 0 ? n : 0] = '\0';
                if (strchr(text, '['))
                        *strchr(text, '[') = '\0';
                (void)snprintf(line, sizeof(line), "%d -> %s", fd, text);
                (void)printf("fd %s\n", line);
        }
}

static void print_network(void) {
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        struct if_nameindex *all = if_nameindex();

        for (struct if_nameindex *i = all; i && i->if_index; i++) {
                struct ifreq request = {0};
                char line[64];

                (void)snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", i->if_name);
                (void)ioctl(fd, SIOCGIFFLAGS, &request);
                (void)snprintf(line, sizeof(line), "%s %s", i->if_name,
                               request.ifr_flags & IFF_UP ? "up" : "down");
                add(line);
        }
        print_sorted("interface");
        if (all)
                if_freenameindex(all);
        (void)close(fd);
}

/* As processes are called in /proc. */
static bool is_number(const char *name) {
        return strspn(name, "0123456789") == strlen(name);
}

static void print_processes(void) {
        DIR *dir = opendir("/proc");
        struct dirent *entry;

        while (dir && (entry = readdir(dir)))
                if (is_number(entry->d_name))
                        add(entry->d_name);
        if (dir)
                (void)closedir(dir);
        print_sorted("process");
}

/* What it may try that leaves nothing behind. */
static void print_abilities(void) {
        int status = 0;
        pid_t pid;

        (void)fflush(stdout);
        pid = fork();
        if (pid == 0)
                _exit(unshare(CLONE_NEWUSER) < 0 ? errno : 0);
        (void)waitpid(pid, &status, 0);
        (void)printf("a user namespace: %s\n", WEXITSTATUS(status) ? strerror(WEXITSTATUS(status)) : "ok");
        (void)printf("open /proc/sys/kernel/domainname: %s\n",
                     word(open("/proc/sys/kernel/domainname", O_WRONLY | O_CLOEXEC)));
        (void)printf("open /proc/sysrq-trigger: %s\n",
                     word(open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC)));
}

static void print_folder(const char *path) {
        DIR *dir = opendir(path);
        char probe[4200];
        struct dirent *entry;

        (void)snprintf(probe, sizeof(probe), "%s/inside-was-here", streq(path, "/") ? "" : path);
        (void)printf("make in %s: %s\n", path, word(mkdir(probe, 0700)));
        (void)rmdir(probe);
        if (!dir)
                (void)printf("list %s: %s\n", path, strerror(errno));
        while (dir && (entry = readdir(dir)))
                if (!streq(entry->d_name, ".") && !streq(entry->d_name, "..") && !is_number(entry->d_name))
                        add(entry->d_name);
        if (dir)
                (void)closedir(dir);
        (void)snprintf(probe, sizeof(probe), "in %s", path);
        print_sorted(probe);
}

static void print_content(const char *path, mode_t mode) {
        char text[128];
        int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        ssize_t n;

        (void)printf("read %s: ", path);
        if (fd < 0)
                (void)printf("%s\n", strerror(errno));
        else if (!S_ISREG(mode))
                (void)printf("ok\n");
        else {
                n = read(fd, text, sizeof(text) - 1);
                for (ssize_t i = 0; i < n; i++)
                        (void)putchar(text[i] == '\n' ? '|' : text[i]);
                (void)putchar('\n');
        }
        (void)printf("write %s: %s\n", path, word(open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)));
}

static void describe(const char *path) {
        char link[4096] = "";
        struct stat st;

        if (lstat(path, &st) < 0) {
                (void)printf("path %s: %s\n", path, strerror(errno));
                return;
        }
        if (S_ISLNK(st.st_mode) && readlink(path, link, sizeof(link) - 1) < 0)
                (void)snprintf(link, sizeof(link), "?");
        (void)printf("path %s mode %o owner %u:%u", path, st.st_mode, st.st_uid, st.st_gid);
        if (S_ISREG(st.st_mode))
                (void)printf(" size %jd", (intmax_t)st.st_size);
        if (S_ISCHR(st.st_mode))
                (void)printf(" device %u:%u", major(st.st_rdev), minor(st.st_rdev));
        (void)printf("%s%s\n", *link ? " -> " : "", link);
        if (S_ISDIR(st.st_mode))
                print_folder(path);
        else if (!S_ISLNK(st.st_mode))
                print_content(path, st.st_mode);
}

int main(int argc, char **argv) {
        static char buffer[1 << 21];
        struct utsname names;
        char cwd[4096];

        (void)setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
        (void)printf("name %s\n", argv[0]);
        print_fds();
        print_status();
        for (char **e = environ; *e; e++)
                add(*e);
        print_sorted("environment");
        (void)printf("folder %s\n", getcwd(cwd, sizeof(cwd)) ? cwd : strerror(errno));
        (void)uname(&names);
        (void)printf("host %s\n", names.nodename);
        print_namespaces();
        print_file("/proc/self/uid_map");
        print_file("/proc/self/gid_map");
        print_file("/proc/self/setgroups");
        print_network();
        print_processes();
        print_abilities();
        print_mounts();
        describe("/");
        for (int i = 1; i < argc; i++)
                describe(argv[i]);
        return fflush(stdout) == 0 ? 7 : 8;
}
