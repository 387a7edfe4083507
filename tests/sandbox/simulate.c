/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a program on a host that this one isn't, for scripts/check-hosts:
 *
 *     simulate REPORT STEPS PROGRAM [ARG...]
 *
 * Makes user, mount and pid namespaces, takes the steps in them ("tmpfs /dev; close 0"; tests/hosts/README
 * has the list), and runs the program there without a capability, unless the first step is "root".  What the
 * program leaves behind, processes and mounts, is written to the file REPORT, a line each.  Ends with the
 * program's status; 119: a step can't be taken, which standard error says. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/macro.h"

#define MOST_WORDS 64

static char *prefix[MOST_WORDS]; /* words before the program's */
static size_t n_prefix;
static const char *deny; /* the program of that name */

static _Noreturn void give_up(const char *what) {
        (void)fprintf(stderr, "simulate: %s: %s\n", what, strerror(errno));
        _exit(119);
}

static void check(int r, const char *what) {
        if (r < 0)
                give_up(what);
}

/* A word of a table, or a number. */
struct name {
        const char *name;
        long value;
};

static long look_up(const struct name *names, size_t n, const char *word) {
        char *end;
        long value;

        for (size_t i = 0; i < n; i++)
                if (streq(names[i].name, word))
                        return names[i].value;
        value = strtol(word, &end, 0);
        if (*end) {
                errno = EINVAL;
                give_up(word);
        }
        return value;
}
#define LOOK_UP(names, word) look_up(names, ARRAY_SIZE(names), word)

static void write_text(const char *path, int flags, const char *text) {
        int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0644);

        if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd) < 0)
                give_up(path);
}

static void map_ids(unsigned uid, unsigned gid, bool is_root) {
        char map[64];

        write_text("/proc/self/setgroups", 0, "deny");
        (void)snprintf(map, sizeof(map), "%u %u 1", is_root ? 0 : uid, uid);
        write_text("/proc/self/uid_map", 0, map);
        (void)snprintf(map, sizeof(map), "%u %u 1", is_root ? 0 : gid, gid);
        write_text("/proc/self/gid_map", 0, map);
}

/* ----------------------------------------------------------------------------- the steps */

static void step_mount(char **w) {
        check(mount(w[1], w[2], w[1], 0, w[3]), w[2]);
}

/* overlay LOWER UPPER WORK TARGET */
static void step_overlay(char **w) {
        char options[4096];

        (void)snprintf(options, sizeof(options), "userxattr,lowerdir=%s,upperdir=%s,workdir=%s", w[1], w[2],
                       w[3]);
        check(mount("overlay", w[4], "overlay", 0, options), w[4]);
}

static void step_bind(char **w) {
        check(mount(w[1], w[2], NULL, MS_BIND | (streq(w[0], "rbind") ? MS_REC : 0UL), NULL), w[2]);
}

static void step_tmpfs(char **w) {
        check(mount("tmpfs", w[1], "tmpfs", 0, w[2] ? w[2] : "mode=0755"), w[1]);
}

static void step_umount(char **w) {
        check(umount2(w[1], MNT_DETACH), w[1]);
}

/* flags PATH FLAG...: of a mount, which is made of the path first where there is none. */
static void step_flags(char **w) {
        static const struct name flags[] = {
                {"ro", MS_RDONLY}, {"nodev", MS_NODEV}, {"noexec", MS_NOEXEC}, {"nosuid", MS_NOSUID}};
        unsigned long all = 0;

        for (size_t i = 2; w[i]; i++)
                all |= (unsigned long)LOOK_UP(flags, w[i]);
        if (mount(NULL, w[1], NULL, MS_REMOUNT | MS_BIND | all, NULL) == 0)
                return;
        check(mount(w[1], w[1], NULL, MS_BIND | MS_REC, NULL), w[1]);
        check(mount(NULL, w[1], NULL, MS_REMOUNT | MS_BIND | all, NULL), w[1]);
}

static void step_mkdir(char **w) {
        for (size_t i = 1; w[i]; i++)
                check(mkdir(w[i], 0755), w[i]);
}

/* mkdirs PATH...: with what is missing above them. */
static void step_mkdirs(char **w) {
        for (size_t i = 1; w[i]; i++) {
                for (char *slash = w[i]; (slash = strchr(slash + 1, '/'));) {
                        *slash = '\0';
                        if (mkdir(w[i], 0755) < 0 && errno != EEXIST)
                                give_up(w[i]);
                        *slash = '/';
                }
                if (mkdir(w[i], 0755) < 0 && errno != EEXIST)
                        give_up(w[i]);
        }
}

/* file PATH [WORD...] */
static void step_file(char **w) {
        char text[4096] = "";

        for (size_t i = 2; w[i]; i++) {
                if (strlen(text) + strlen(w[i]) + 2 > sizeof(text))
                        give_up("a text that is too long");
                strcat(text, w[i]);
                strcat(text, w[i + 1] ? " " : "\n");
        }
        write_text(w[1], O_CREAT | O_TRUNC, text);
}

static void step_write(char **w) {
        write_text(w[1], 0, w[2]);
}

static void step_link(char **w) {
        check(symlink(w[1], w[2]), w[2]);
}

static void step_rm(char **w) {
        check(remove(w[1]), w[1]);
}

static void step_chmod(char **w) {
        check(chmod(w[2], (mode_t)strtoul(w[1], NULL, 8)), w[2]);
}

static void step_pivot(char **w) {
        check(chdir(w[1]), w[1]);
        check((int)syscall(SYS_pivot_root, ".", "."), "pivot_root");
        check(umount2(".", MNT_DETACH), "the old root");
        check(chdir("/"), "/");
}

static void step_chroot(char **w) {
        check(chroot(w[1]), w[1]);
        check(chdir("/"), "/");
}

static void step_cd(char **w) {
        check(chdir(w[1]), w[1]);
}

static void step_umask(char **w) {
        (void)umask((mode_t)strtoul(w[1], NULL, 8));
}

static void step_env(char **w) {
        char *is = strchr(w[1], '=');

        if (!is)
                check(unsetenv(w[1]), w[1]);
        else {
                *is = '\0';
                check(setenv(w[1], is + 1, 1), w[1]);
        }
}

/* limit NAME SOFT [HARD] */
static void step_limit(char **w) {
        static const struct name limits[] = {{"as", RLIMIT_AS},         {"core", RLIMIT_CORE},
                                             {"cpu", RLIMIT_CPU},       {"data", RLIMIT_DATA},
                                             {"fsize", RLIMIT_FSIZE},   {"memlock", RLIMIT_MEMLOCK},
                                             {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC},
                                             {"stack", RLIMIT_STACK},   {"sigpending", RLIMIT_SIGPENDING}};
        struct rlimit limit = {.rlim_cur = strtoul(w[2], NULL, 10)};

        limit.rlim_max = w[3] ? strtoul(w[3], NULL, 10) : limit.rlim_cur;
        check(setrlimit((__rlimit_resource_t)LOOK_UP(limits, w[1]), &limit), w[1]);
}

static void step_close(char **w) {
        for (size_t i = 1; w[i]; i++)
                check(close(atoi(w[i])), w[i]);
}

static const struct name signals[] = {{"CHLD", SIGCHLD}, {"HUP", SIGHUP},   {"INT", SIGINT},
                                      {"PIPE", SIGPIPE}, {"TERM", SIGTERM}, {"XFSZ", SIGXFSZ}};

static void step_block(char **w) {
        sigset_t set;

        (void)sigemptyset(&set);
        if (streq(w[1], "all"))
                (void)sigfillset(&set);
        else
                (void)sigaddset(&set, (int)LOOK_UP(signals, w[1]));
        check(sigprocmask(SIG_BLOCK, &set, NULL), w[1]);
}

static void step_ignore(char **w) {
        (void)signal((int)LOOK_UP(signals, w[1]), SIG_IGN);
}

/* uncap CAPABILITY...: a container's root without them. */
static void step_uncap(char **w) {
        static const struct name capabilities[] = {{"setfcap", CAP_SETFCAP},
                                                   {"sys_admin", CAP_SYS_ADMIN},
                                                   {"setuid", CAP_SETUID},
                                                   {"setpcap", CAP_SETPCAP},
                                                   {"dac_override", CAP_DAC_OVERRIDE}};

        for (size_t i = 1; w[i]; i++) {
                if (!streq(w[i], "all")) {
                        check(prctl(PR_CAPBSET_DROP, LOOK_UP(capabilities, w[i]), 0, 0, 0), w[i]);
                        continue;
                }
                for (int c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; c++)
                        check(prctl(PR_CAPBSET_DROP, c, 0, 0, 0), w[i]);
        }
}

static void step_nnp(nsrun_unused char **w) {
        check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
}

/* unshare KIND...: "user" has the same ids, "unmapped" none. */
static void step_unshare(char **w) {
        static const struct name kinds[] = {
                {"user", CLONE_NEWUSER}, {"unmapped", CLONE_NEWUSER}, {"mnt", CLONE_NEWNS},
                {"pid", CLONE_NEWPID},   {"net", CLONE_NEWNET},       {"ipc", CLONE_NEWIPC},
                {"uts", CLONE_NEWUTS},   {"cgroup", CLONE_NEWCGROUP}, {"time", 0x80}};
        unsigned uid = geteuid(), gid = getegid();

        for (size_t i = 1; w[i]; i++) {
                check(unshare((int)LOOK_UP(kinds, w[i])), w[i]);
                if (streq(w[i], "user"))
                        map_ids(uid, gid, false);
        }
}

static void step_nest(char **w) {
        for (int n = atoi(w[1]); n > 0; n--)
                step_unshare((char *[]){w[0], (char[]){"user"}, NULL});
}

static void add_word(char *word) {
        if (n_prefix == MOST_WORDS) {
                errno = E2BIG;
                give_up("the program's words");
        }
        prefix[n_prefix++] = word;
}

/* deny ERRNO CALL[,CALL...] */
static void step_deny(char **w) {
        static const struct name errors[] = {{"EPERM", EPERM},   {"ENOSYS", ENOSYS}, {"EACCES", EACCES},
                                             {"EINVAL", EINVAL}, {"EAGAIN", EAGAIN}, {"ENOSPC", ENOSPC},
                                             {"ENOMEM", ENOMEM}, {"EMFILE", EMFILE}, {"ENODEV", ENODEV}};
        static char numbers[8][16];
        static size_t n;

        if (n == ARRAY_SIZE(numbers))
                give_up("too many filters");
        (void)snprintf(numbers[n], sizeof(numbers[n]), "%ld", LOOK_UP(errors, w[1]));
        add_word((char *)(uintptr_t)deny);
        add_word(numbers[n++]);
        add_word(w[2]);
}

/* sudo WORD...: what an administrator types on this host. */
static void step_sudo(char **w) {
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct data[2];
        int status = 0, out[2]; /* what it says of itself is nobody's */
        pid_t pid;

        check(pipe2(out, O_CLOEXEC), w[0]);
        check(pid = fork(), w[0]);
        if (pid == 0) {
                check((int)syscall(SYS_capget, &header, data), "capabilities");
                for (size_t i = 0; i < ARRAY_SIZE(data); i++)
                        data[i].inheritable = data[i].permitted;
                check((int)syscall(SYS_capset, &header, data), "capabilities");
                for (int c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; c++)
                        (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, c, 0, 0);
                check(setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1), "PATH");
                check(dup2(out[1], 1), "standard output");
                (void)execvp(w[1], w + 1);
                give_up(w[1]);
        }
        check(waitpid(pid, &status, 0), w[1]);
        (void)close(out[0]);
        (void)close(out[1]);
        errno = ECANCELED;
        if (status != 0)
                give_up(w[1]);
}

/* Rules about files, with which nobody mounts. */
static void step_landlock(char **w) {
        struct landlock_ruleset_attr rules = {.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK};
        int fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);

        check(fd, w[0]);
        check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), w[0]);
        check((int)syscall(SYS_landlock_restrict_self, fd, 0), w[0]);
        check(close(fd), w[0]);
}

static void step_under(char **w) {
        for (size_t i = 1; w[i]; i++)
                add_word(w[i]);
}

static const struct {
        const char *name;
        void (*take)(char **words);
        int fewest; /* words, the name counted */
} steps[] = {
        {"bind", step_bind, 3},
        {"rbind", step_bind, 3},
        {"tmpfs", step_tmpfs, 2},
        {"mount", step_mount, 3},
        {"overlay", step_overlay, 5},
        {"umount", step_umount, 2},
        {"flags", step_flags, 3},
        {"mkdir", step_mkdir, 2},
        {"mkdirs", step_mkdirs, 2},
        {"file", step_file, 2},
        {"write", step_write, 3},
        {"link", step_link, 3},
        {"rm", step_rm, 2},
        {"chmod", step_chmod, 3},
        {"pivot", step_pivot, 2},
        {"chroot", step_chroot, 2},
        {"cd", step_cd, 2},
        {"umask", step_umask, 2},
        {"env", step_env, 2},
        {"limit", step_limit, 3},
        {"close", step_close, 2},
        {"block", step_block, 2},
        {"ignore", step_ignore, 2},
        {"uncap", step_uncap, 2},
        {"nnp", step_nnp, 1},
        {"unshare", step_unshare, 2},
        {"nest", step_nest, 2},
        {"deny", step_deny, 3},
        {"under", step_under, 2},
        {"sudo", step_sudo, 2},
        {"landlock", step_landlock, 1},
};

static void take_step(char *text) {
        char *words[MOST_WORDS + 1] = {0}, *rest = text;
        int n = 0;

        for (char *word; (word = strsep(&rest, " \t"));)
                if (*word && n < MOST_WORDS)
                        words[n++] = word;
        if (n == 0 || streq(words[0], "root"))
                return;
        for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
                if (streq(words[0], steps[i].name) && n >= steps[i].fewest) {
                        steps[i].take(words);
                        return;
                }
        errno = EINVAL;
        give_up(words[0]);
}

/* ------------------------------------------------------------------------- what is left */

static size_t count_mounts(int proc) {
        int fd = openat(proc, "1/mountinfo", O_RDONLY | O_CLOEXEC);
        char buffer[4096];
        size_t n = 0;
        ssize_t got;

        check(fd, "mountinfo");
        while ((got = read(fd, buffer, sizeof(buffer))) > 0)
                for (ssize_t i = 0; i < got; i++)
                        n += buffer[i] == '\n';
        (void)close(fd);
        return n;
}

static void name_processes(int proc, FILE *report) {
        DIR *dir = fdopendir(dup(proc));

        if (!dir)
                give_up("/proc");
        rewinddir(dir);
        for (struct dirent *d; (d = readdir(dir));) {
                char path[300], line[200] = "";
                int fd;

                if (strtol(d->d_name, NULL, 10) <= 1)
                        continue;
                (void)snprintf(path, sizeof(path), "%s/cmdline", d->d_name);
                fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
                for (ssize_t i = 0, n = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1); i + 1 < n; i++)
                        line[i] = line[i] ? line[i] : ' ';
                (void)fprintf(report, "process: %s\n", line);
        }
        (void)closedir(dir);
}

/* Waits for what the program has left, for a minute at most: a sandbox's processes end with its supervisor,
 * but not in the same instant. */
static void look_for_processes(int proc, FILE *report) {
        for (int i = 0; i < 3000; i++) {
                pid_t pid;

                while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
                        ;
                if (pid < 0)
                        return;
                (void)usleep(20000);
        }
        name_processes(proc, report);
}

/* ------------------------------------------------------------------------------ processes */

static _Noreturn void be_program(char *text, char **argv, int ready, int go) {
        char byte;

        for (char *step; (step = strsep(&text, ";"));)
                take_step(step);
        for (; *argv; argv++)
                add_word(*argv);
        (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        if (write(ready, "", 1) != 1 || read(go, &byte, 1) != 1)
                _exit(119);
        (void)execvp(prefix[0], prefix);
        give_up(prefix[0]);
}

/* Pid 1 of the host. */
static _Noreturn void be_host(char *text, char **argv, FILE *report) {
        int proc, ready[2], go[2], status = 0;
        size_t n_mounts;
        char byte;
        pid_t pid;

        check(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "the parent's death");
        check(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL), "/proc");
        check(proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "/proc");
        check(pipe2(ready, O_CLOEXEC), "a pipe");
        check(pipe2(go, O_CLOEXEC), "a pipe");
        check(pid = fork(), "a process");
        if (pid == 0)
                be_program(text, argv, fcntl(ready[1], F_DUPFD_CLOEXEC, 100),
                           fcntl(go[0], F_DUPFD_CLOEXEC, 100));
        (void)close(ready[1]);
        if (read(ready[0], &byte, 1) == 1) {
                n_mounts = count_mounts(proc);
                if (write(go[1], "", 1) != 1)
                        give_up("the program");
        } else
                n_mounts = SIZE_MAX;
        check(waitpid(pid, &status, 0), "the program");
        look_for_processes(proc, report);
        if (n_mounts != SIZE_MAX && count_mounts(proc) != n_mounts)
                (void)fprintf(report, "mounts: %zu, %zu before\n", count_mounts(proc), n_mounts);
        (void)fflush(report);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int main(int argc, char **argv) {
        bool is_root = argc > 3 && strncmp(argv[2], "root", 4) == 0;
        unsigned uid = geteuid(), gid = getegid();
        FILE *report;
        int status;
        pid_t pid;

        errno = EINVAL;
        if (argc < 4)
                give_up("usage: simulate REPORT STEPS PROGRAM [ARG...]");
        deny = getenv("DENY");
        report = fopen(argv[1], "ae");
        if (!deny || !report)
                give_up(argv[1]);
        check(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID), "namespaces");
        map_ids(uid, gid, is_root);
        check(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "a private tree");
        check(pid = fork(), "a process");
        if (pid == 0)
                be_host(argv[2], argv + 3, report);
        check(waitpid(pid, &status, 0), "the host");
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
