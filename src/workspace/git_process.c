/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starting git in a library's host: no signal handler, working directory or
 * descriptor of the host's is touched, and its child is waited for by pidfd. */
#include "git_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/path.h"
#include "base/str.h"
#include "base/sys.h"

enum {
        DEADLINE_MS = 2000,
        OUTPUT_MAX = 64 << 10,
};

const char *git_process_variable(char *const *environment, const char *name) {
        size_t n = strlen(name);

        STRV_FOREACH (entry, environment)
                if (strncmp(*entry, name, n) == 0 && (*entry)[n] == '=')
                        return *entry + n + 1;
        return NULL;
}

static bool is_untrusted(const char *path, char *const *untrusted) {
        STRV_FOREACH (folder, untrusted)
                if (path_is_beneath(path, *folder))
                        return true;
        return false;
}

/* 1: this folder has it; 0: not; -ENOMEM. */
static int look_in(const char *folder, char *const *untrusted, char **ret) {
        _cleanup_free_ char *path = path_join(folder, "git"), *canonical = NULL;
        unsigned mode;
        int r;

        if (!path)
                return -ENOMEM;
        if (access(path, X_OK) < 0)
                return 0;
        r = path_canonical(path, &canonical, &mode);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        /* Neither the file nor the name that leads to it may be the command's. */
        if (!S_ISREG(mode) || is_untrusted(canonical, untrusted) || is_untrusted(path, untrusted))
                return 0;
        *ret = TAKE_PTR(path);
        return 1;
}

int git_process_find(char *const *environment, char *const *untrusted, char **ret) {
        const char *path = git_process_variable(environment, "PATH");
        int r = 0;

        while (path && *path && r == 0) {
                size_t n = strcspn(path, ":");

                if (path_is_absolute(path)) {
                        _cleanup_free_ char *folder = strndup(path, n);

                        r = folder ? look_in(folder, untrusted, ret) : -ENOMEM;
                }
                path += n + (path[n] == ':');
        }
        return r > 0 ? 0 : r < 0 ? r : -ENOENT;
}

/* What tells git where its user's configuration is, and nothing that makes it
 * trace, page, ask or look at another repository. */
static int make_environment(char *const *host, char ***ret) {
        static const char *const passed[] = {"HOME=", "XDG_CONFIG_HOME=", "GIT_CONFIG_"};
        static const char *const fixed[] = {"LC_ALL=C", "PATH=/nonexistent", "GIT_TERMINAL_PROMPT=0",
                                            "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat"};
        _cleanup_strv_ char **made = NULL;
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(fixed) && r >= 0; i++)
                r = strv_add(&made, fixed[i]);
        STRV_FOREACH (entry, host)
                for (size_t i = 0; i < ARRAY_SIZE(passed) && r >= 0; i++)
                        if (startswith(*entry, passed[i]))
                                r = strv_add(&made, *entry);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(made);
        return 0;
}

static int add_actions(posix_spawn_file_actions_t *actions, int out) {
        int r;

        r = posix_spawn_file_actions_adddup2(actions, out, 1);
        if (r == 0)
                r = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
        if (r == 0)
                r = posix_spawn_file_actions_addopen(actions, 2, "/dev/null", O_WRONLY, 0);
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 34)
        /* What a host forgot to mark is no business of git's. */
        if (r == 0)
                r = posix_spawn_file_actions_addclosefrom_np(actions, 3);
#endif
#endif
        return -r;
}

/* A host's blocked and ignored signals are its own. */
static int set_signals(posix_spawnattr_t *attributes) {
        sigset_t none, all;
        int r;

        (void)sigemptyset(&none);
        (void)sigfillset(&all);
        r = posix_spawnattr_setsigmask(attributes, &none);
        if (r == 0)
                r = posix_spawnattr_setsigdefault(attributes, &all);
        if (r == 0)
                r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        return -r;
}

static int spawn(char *const *argv, char *const *environment, int out, pid_t *ret) {
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        int r;

        if (posix_spawn_file_actions_init(&actions) != 0)
                return -ENOMEM;
        if (posix_spawnattr_init(&attributes) != 0) {
                (void)posix_spawn_file_actions_destroy(&actions);
                return -ENOMEM;
        }
        r = add_actions(&actions, out);
        if (r == 0)
                r = set_signals(&attributes);
        if (r == 0)
                r = -posix_spawn(ret, argv[0], &actions, &attributes, argv, environment);
        (void)posix_spawnattr_destroy(&attributes);
        (void)posix_spawn_file_actions_destroy(&actions);
        return r;
}

static int64_t now_ms(void) {
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Everything up to the end of the pipe, which comes when git does. */
static int read_until(int fd, int64_t deadline, char *to, size_t size, size_t *ret) {
        size_t n = 0;

        for (;;) {
                struct pollfd readable = {.fd = fd, .events = POLLIN};
                int64_t left = deadline - now_ms();
                ssize_t r;

                if (left <= 0)
                        return -ETIME;
                r = sys_poll(&readable, 1, (int)left);
                if (r == -EINTR || r == 0)
                        continue;
                if (r > 0)
                        r = sys_read(fd, to + n, size - n);
                if (r < 0)
                        return (int)r;
                if (r == 0)
                        break;
                n += (size_t)r;
                if (n == size)
                        return -EFBIG;
        }
        *ret = n;
        return 0;
}

/* Waits for the child's end until the deadline, then kills it.  0: it ended well. */
static int reap(pid_t pid, int pidfd, bool has_failed, int64_t deadline) {
        struct pollfd end = {.fd = pidfd, .events = POLLIN};
        int64_t left = deadline - now_ms();
        siginfo_t info = {.si_code = 0};
        int r;

        if (pidfd >= 0 && (has_failed || left <= 0 || sys_poll(&end, 1, (int)left) <= 0))
                (void)sys_pidfd_send_signal(pidfd, SIGKILL);
        if (pidfd < 0) /* no descriptor left: it is still our child, and its number its own */
                (void)sys_kill(pid, SIGKILL);
        r = pidfd >= 0 ? sys_waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED)
                       : sys_waitid(P_PID, (id_t)pid, &info, WEXITED);
        if (r == -ECHILD) /* the host has its children reaped by themselves */
                return 0;
        return r < 0 ? r : info.si_code == CLD_EXITED && info.si_status == 0 ? 0 : -ENODATA;
}

static int run(char *const *argv, char *const *environment, char *to, size_t size, size_t *ret) {
        int64_t deadline = now_ms() + DEADLINE_MS;
        _cleanup_close_ int pidfd = -EBADF;
        int pipe_fds[2], r, ended;
        pid_t pid;

        r = sys_pipe(pipe_fds);
        if (r < 0)
                return r;
        r = spawn(argv, environment, pipe_fds[1], &pid);
        close_fdp(&pipe_fds[1]);
        if (r == 0) {
                pidfd = sys_pidfd_open(pid);
                r = pidfd < 0 && pidfd != -ESRCH ? pidfd : read_until(pipe_fds[0], deadline, to, size, ret);
                ended = pidfd == -ESRCH ? 0 : reap(pid, pidfd, r < 0, deadline);
                r = r < 0 ? r : ended;
        }
        close_fdp(&pipe_fds[0]);
        return r;
}

int git_process_config(const char *git, const char *folder, char *const *environment, const char *pattern,
                       char **ret, size_t *ret_length) {
        const char *const argv[] = {git,      "--no-pager",   "-C",    folder, "config",
                                    "--null", "--get-regexp", pattern, NULL};
        _cleanup_strv_ char **made = NULL;
        _cleanup_free_ char *out = malloc(OUTPUT_MAX + 1);
        size_t n = 0;
        int r;

        if (!out || make_environment(environment, &made) < 0)
                return -ENOMEM;
        r = run((char *const *)(uintptr_t)argv, made, out, OUTPUT_MAX, &n);
        if (r < 0)
                return r;
        out[n] = '\0';
        *ret = TAKE_PTR(out);
        *ret_length = n;
        return 0;
}
