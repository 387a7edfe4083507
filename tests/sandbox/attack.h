/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What one process of a session tries with another, and the sessions that the tests of that start. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "harness.h"

#define RELEASE 62 /* INIT_SIGNAL_RELEASE */

/* How sessions are started: their commands are told apart by Landlock's scopes or by pid namespaces, or
 * aren't told apart. */
enum {
        ISOLATED,
        NESTED,
        SHARED,
        SHARED_WITHOUT_LANDLOCK,
        SHARED_WITHOUT_NETWORK,
};
static const char *const modes[][2] = {
        [ISOLATED] = {"--landlock=auto", "--isolate-commands"},
        [NESTED] = {"--landlock=off", "--isolate-commands"},
        [SHARED] = {"--landlock=auto", NULL},
        [SHARED_WITHOUT_LANDLOCK] = {"--landlock=off", NULL},
        [SHARED_WITHOUT_NETWORK] = {"--net=none", NULL},
};

static inline void tell(const char *what, long result) {
        (void)printf("%s: %s\n", what, result < 0 ? strerrorname_np(errno) : "ok");
}

static inline void tell_open(pid_t pid, const char *name, int flags) {
        _cleanup_free_ char *path = text_of("/proc/%d/%s", (int)pid, name);
        _cleanup_close_ int fd = open(path, flags | O_CLOEXEC);

        tell(name, fd);
}

/* Nothing that would end the target. */
static inline void attack(pid_t pid) {
        const struct rlimit limit = {1, 1};
        const struct iovec own = {(void *)(uintptr_t)&limit, 1}, its = {(void *)(uintptr_t)&limit, 1};
        const union sigval value = {0};
        int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

        tell("kill", kill(pid, SIGCONT));
        tell("queue", sigqueue(pid, RELEASE, value));
        tell("pidfd", pidfd < 0 ? -1 : syscall(SYS_pidfd_send_signal, pidfd, SIGCONT, NULL, 0));
        tell("getfd", pidfd < 0 ? -1 : syscall(SYS_pidfd_getfd, pidfd, 1, 0));
        tell("write", process_vm_writev(pid, &own, 1, &its, 1, 0));
        tell("prlimit", prlimit(pid, RLIMIT_CORE, &limit, NULL));
        tell_open(pid, "mem", O_RDWR);
        tell_open(pid, "environ", O_RDONLY);
        tell_open(pid, "root", O_PATH);
        tell_open(pid, "cwd", O_PATH);
        tell_open(pid, "exe", O_RDONLY);
        tell_open(pid, "ns/mnt", O_RDONLY);
        tell("ptrace", ptrace(PTRACE_SEIZE, pid, NULL, NULL));
}

static inline char *start_session(const struct site *s, const char *const mode[2], const char *seccomp) {
        _cleanup_free_ char *self = realpath("/proc/self/exe", NULL), *bind = text_of("%s:/probe:ro", self);
        _cleanup_outcome_ struct outcome o = {0};
        char *id;

        NSRUN_IN(s->root, &o, "session", "start", "--project", s->project, "--bind", bind, seccomp, mode[0],
                 mode[1]);
        expect_status(&o, 0);
        id = strndup(o.out, strcspn(o.out, "\n"));
        assert_non_null(id);
        return id;
}

static inline void kill_session(const struct site *s, const char *id) {
        _cleanup_outcome_ struct outcome o = {0};

        NSRUN_IN(s->root, &o, "session", "kill", id);
        expect_status(&o, 0);
}

/* The monitor is a child of ours by now. */
static inline void end_session(const struct site *s, const char *id) {
        kill_session(s, id);
        collect_orphans();
}

static inline void run_in(const struct site *s, const char *id, struct outcome *o, const char *what,
                          const char *argument) {

        outcome_clear(o);
        NSRUN_IN(s->root, o, "run", "--session", id, "--", "/probe", what, argument);
}

static inline void spawn_in(const struct site *s, const char *id, struct running *ret, const char *what,
                            bool kills_leftovers) {
        const char *const argv[] = {
                program(), "run",    "--session", id, kills_leftovers ? "--kill-leftovers" : "--new-session",
                "--",      "/probe", what,        "", NULL};

        spawn(&(struct request){.argv = argv, .cwd = s->root}, ret);
}

/* The one child of a waiting nsrun. */
/* The reaper is nsrun's one child, once the process that entered the session before it has been waited for.
 * Until then the list has two, or lacks one: proc(5) makes no promise while children come and go. */
static inline pid_t reaper_of(pid_t nsrun) {
        _cleanup_free_ char *path = text_of("/proc/%d/task/%d/children", (int)nsrun, (int)nsrun);

        for (;;) {
                _cleanup_free_ char *text = file_text(path);
                int only, another;

                assert_non_null(text);
                if (sscanf(text, "%d %d", &only, &another) == 1)
                        return (pid_t)only;
                sched_yield();
        }
}

static inline bool is_alive(const struct running *r) {
        struct pollfd p = {.fd = r->pidfd, .events = POLLIN};

        return poll(&p, 1, 0) == 0;
}

nsrun_unused static const char all_ok[] =
        "kill: ok\nqueue: ok\npidfd: ok\ngetfd: ok\nwrite: ok\nprlimit: EPERM\nmem: ok\n"
        "environ: ok\nroot: ok\ncwd: ok\nexe: ok\nns/mnt: ok\nptrace: ok\n";
nsrun_unused static const char denied[] =
        "kill: EPERM\nqueue: EPERM\npidfd: EPERM\ngetfd: EPERM\nwrite: EPERM\n"
        "prlimit: EPERM\nmem: EACCES\nenviron: EACCES\nroot: EACCES\ncwd: EACCES\n"
        "exe: EACCES\nns/mnt: EACCES\nptrace: EPERM\n";
