/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The probes: each tries one kind of access by system calls and prints how it
 * went, one line a call, "what: result". */
#include "probe.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pty.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>

static void say(const char *what, int r) {
        (void)printf("%s: %s\n", what, r < 0 ? strerror(errno) : "ok");
}

/* Opens and lets go again. */
static void try_open(const char *path, int flags) {
        int fd = open(path, flags | O_CLOEXEC, 0600);

        say(path, fd);
        if (fd >= 0)
                (void)close(fd);
}

/* Some files of /proc can be opened by all and read by few.  The end of a pipe would hold up who reads it.
 */
static void try_read(const char *path) {
        int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        char byte;

        say(path, fd < 0 ? fd : (int)read(fd, &byte, 1));
        if (fd >= 0)
                (void)close(fd);
}

static void probe_open(const char *path) {
        try_open(path, O_RDONLY);
}

static void probe_write(const char *path) {
        try_open(path, O_WRONLY);
}

static void probe_create(const char *path) {
        try_open(path, O_WRONLY | O_CREAT | O_EXCL);
}

static void probe_kill(const char *pid) {
        say("kill", kill(atoi(pid), 0));
}

static void probe_mount(nsrun_unused const char *argument) {
        say("mount", mount("none", "/tmp", "tmpfs", 0, NULL));
        say("bind", mount("/usr", "/tmp", NULL, MS_BIND, NULL));
        say("remount", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
        say("umount", umount2("/proc", MNT_DETACH));
        say("chroot", chroot("/usr"));
        say("mknod", mknod("/tmp/sda", S_IFBLK | 0600, makedev(8, 0)));
        say("sethostname", sethostname("x", 1));
        say("setuid", setresuid((uid_t)-1, 12345, (uid_t)-1));
}

/* A user namespace of the command's own brings all capabilities back, in there: the
 * sandbox's mounts are locked against them (mount_namespaces(7)). */
static void probe_nested(nsrun_unused const char *argument) {
        say("unshare", unshare(CLONE_NEWUSER | CLONE_NEWNS));
        say("tmpfs", mount("none", "/tmp", "tmpfs", 0, NULL));
        say("usr", mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, NULL));
        say("root", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, NULL));
        say("sys", umount2("/proc/sys", MNT_DETACH));
        say("proc", umount2("/proc", MNT_DETACH));
        say("null", umount2("/dev/null", MNT_DETACH));
        say("home", umount2(getenv("HOME"), MNT_DETACH));
        say("/", umount2("/", MNT_DETACH));
        try_open("/x", O_WRONLY | O_CREAT);
        try_open("/usr/x", O_WRONLY | O_CREAT);
        try_open("/proc/sys/kernel/hostname", O_WRONLY);
}

static void probe_pid1(const char *pid) {
        static const char *const files[] = {"environ", "mem",  "maps", "auxv",    "syscall",
                                            "stack",   "io",   "root", "cwd/usr", "exe",
                                            "fd/0",    "fd/1", "fd/3", "fd/5",    "task/1/mem"};
        pid_t to = atoi(pid);
        char byte, *path;
        struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)0x400000, 1};

        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                path = text_of("/proc/%s/%s", pid, files[i]);
                try_read(path);
                free(path);
        }
        say("ptrace", (int)ptrace(PTRACE_SEIZE, to, NULL, NULL));
        say("vm_readv", (int)process_vm_readv(to, &here, 1, &there, 1, 0));
}

/* The open descriptors, but for the folder's own. */
static void probe_descriptors(nsrun_unused const char *argument) {
        DIR *folder = opendir("/proc/self/fd");

        assert_non_null(folder);
        for (int fd = 0; fd < 1024; fd++)
                if (fd != dirfd(folder) && fcntl(fd, F_GETFD) >= 0)
                        (void)printf("%d ", fd);
        (void)closedir(folder);
}

static void probe_processes(nsrun_unused const char *argument) {
        DIR *folder = opendir("/proc");

        assert_non_null(folder);
        for (struct dirent *entry; (entry = readdir(folder));)
                if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
                        (void)printf("%s ", entry->d_name);
        (void)closedir(folder);
}

static void probe_session(nsrun_unused const char *argument) {
        (void)printf("own session: %s\n", getsid(0) == getpid() ? "yes" : "no");
        try_open("/dev/tty", O_RDWR);
}

/* A terminal made inside: the child on its far side tells that it is one. */
static void probe_pty(nsrun_unused const char *argument) {
        char text[64] = "";
        int terminal;
        pid_t pid;

        pid = forkpty(&terminal, NULL, NULL, NULL);
        if (pid == 0) {
                int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);

                (void)dprintf(fd, "%s", isatty(fd) && ttyname(0) ? ttyname(0) : "no");
                _exit(0);
        }
        say("forkpty", pid);
        say("read", (int)read(terminal, text, sizeof(text) - 1));
        (void)printf("name: %s\n", text);
        (void)waitpid(pid, NULL, 0);
}

static void probe_devices(nsrun_unused const char *argument) {
        char bytes[8] = "aaaaaaa";
        int fd;

        fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
        say("zero", fd < 0 ? fd : (int)read(fd, bytes, sizeof(bytes)));
        (void)printf("bytes: %d %d\n", bytes[0], bytes[7]);
        fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
        say("full", fd < 0 ? fd : (int)write(fd, bytes, sizeof(bytes)));
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        say("null", fd < 0 ? fd : (int)write(fd, bytes, sizeof(bytes)));
        fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
        say("urandom", fd < 0 ? fd : (int)read(fd, bytes, sizeof(bytes)));
        say("shm", open("/dev/shm/x", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        say("new", open("/dev/x", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
}

/* Whether somebody listens at 127.0.0.1:PORT. */
static void probe_connect(const char *port) {
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        say("connect", fd < 0 ? fd : connect(fd, (const struct sockaddr *)&to, sizeof(to)));
}

/* Loopback carries a connection to ourselves; which other interfaces are up. */
static void probe_network(nsrun_unused const char *argument) {
        struct sockaddr_in to = {.sin_family = AF_INET};
        socklen_t n = sizeof(to);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        char *port;

        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        say("bind", bind(fd, (const struct sockaddr *)&to, n));
        say("listen", listen(fd, 1));
        (void)getsockname(fd, (struct sockaddr *)&to, &n);
        port = text_of("%u", (unsigned)ntohs(to.sin_port));
        probe_connect(port);
        free(port);
        for (unsigned i = 1; i < 64; i++) {
                struct ifreq request = {0};

                if (if_indextoname(i, request.ifr_name) && ioctl(fd, SIOCGIFFLAGS, &request) == 0 &&
                    (request.ifr_flags & IFF_UP))
                        (void)printf("up: %s\n", request.ifr_name);
        }
}

static void probe_memory(const char *key) {
        say("segment", shmget((key_t)strtol(key, NULL, 10), 0, 0));
}

/* All processes that can be seen, this one's reaper too. */
static unsigned count_processes(void) {
        DIR *dir = opendir("/proc");
        struct dirent *entry;
        unsigned n = 0;

        while (dir && (entry = readdir(dir)))
                n += entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
        if (dir)
                (void)closedir(dir);
        return n;
}

/* A fork bomb of MOST forks, each a session of its own that forks again and ignores what it
 * can.  None of them ends by itself.  One after the other: two forks at a time may hinder
 * each other below the bound. */
/* Takes inotify instances until no more are to be had, tells how many, and keeps them while it waits to be
 * ended. */
static void probe_inotify(const char *wait) {
        int n = 0;

        while (inotify_init1(IN_CLOEXEC) >= 0)
                n++;
        (void)printf("%d %s\n", n, strerrorname_np(errno));
        (void)fflush(stdout);
        while (*wait)
                (void)pause();
}

static void probe_bomb(const char *most) {
        int ends[2], pid = pipe2(ends, O_CLOEXEC);
        char byte;

        for (int n = atoi(most); n > 0 && pid >= 0; n--) {
                pid = fork();
                if (pid == 0) {
                        (void)setsid();
                        (void)signal(SIGTERM, SIG_IGN);
                        (void)signal(SIGHUP, SIG_IGN);
                        if (fork() != 0)
                                (void)write(ends[1], "x", 1);
                        for (;;)
                                (void)pause();
                }
                if (pid > 0 && read(ends[0], &byte, 1) != 1)
                        _exit(98);
        }
        say("fork", pid);
        if (pid < 0)
                (void)printf("processes: %u\n", count_processes());
}

void probe_main(int argc, char **argv) {
        static const struct {
                const char *name;
                void (*run)(const char *argument);
        } probes[] = {
                {"bomb", probe_bomb},       {"connect", probe_connect},
                {"create", probe_create},   {"descriptors", probe_descriptors},
                {"devices", probe_devices}, {"kill", probe_kill},
                {"inotify", probe_inotify}, {"memory", probe_memory},
                {"mount", probe_mount},     {"nested", probe_nested},
                {"network", probe_network}, {"open", probe_open},
                {"pid1", probe_pid1},       {"processes", probe_processes},
                {"pty", probe_pty},         {"session", probe_session},
                {"write", probe_write},
        };

        if (argc < 3 || !streq(argv[1], "probe"))
                return;
        for (size_t i = 0; i < ARRAY_SIZE(probes); i++)
                if (streq(argv[2], probes[i].name)) {
                        probes[i].run(argc > 3 ? argv[3] : NULL);
                        (void)fflush(stdout);
                        _exit(0);
                }
        _exit(99);
}

void run_probe(const struct site *s, struct outcome *ret, const char *const *options, const char *name,
               const char *argument) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL);
        _cleanup_free_ char *bind = text_of("%s:/probe:ro", self);
        _cleanup_free_ const char **words =
                words_of(OPTIONS("--bind", bind), options, OPTIONS("--", "/probe", "probe", name, argument));

        run_nsrun(s, ret, words);
        expect_status(ret, 0);
}

void run_control(const struct site *s, struct outcome *ret, const char *name, const char *argument) {
        const char *const argv[] = {"/proc/self/exe", "probe", name, argument, NULL};

        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = s->project}, ret);
        expect_status(ret, 0);
}
