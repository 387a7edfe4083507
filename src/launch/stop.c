/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A person's ^Z.  The shell that gets the terminal back prints its prompt, and whoever is in a
 * session of its own may go on to read what is typed there: a SIGSTOP has been sent when kill(2)
 * returns, and wakes who waits for input, but strikes when they get their turn. */
#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>

#include "internal.h"

/* How long it is waited for who is to stop, at most; and for who is in an uninterruptible sleep.  That
 * may be the terminal's lock, before a read; or vfork(2) with a child that has stopped, and then it
 * lasts. */
#define PATIENCE_MS      1000
#define DEEP_PATIENCE_MS 50
#define CLEAN_LOOKS      2

struct stopping {
        int proc;
        bool waits_for_deep;
        bool is_somebody_awake;
};

/* The letter of proc_pid_stat(5); '\0' where there is nobody. */
static char state_of(int proc, int pid) {
        char path[64], text[512];
        _cleanup_close_ int fd = -EBADF;
        const char *end;
        ssize_t n;

        strcat(number_format(path, (uint64_t)pid), "/stat");
        fd = sys_open(proc, path, O_RDONLY | O_NONBLOCK, 0);
        n = fd < 0 ? fd : sys_read(fd, text, sizeof(text) - 1);
        if (n <= 0)
                return '\0';
        text[n] = '\0';
        /* The name before it may have anything in it. */
        end = strrchr(text, ')');
        return end && end[1] == ' ' ? end[2] : '\0';
}

static bool is_awake(const struct stopping *stopping, char state) {
        return state == 'R' || state == 'S' || (state == 'D' && stopping->waits_for_deep);
}

static void look_at_thread(void *data, int tid) {
        struct stopping *stopping = data;

        stopping->is_somebody_awake |= is_awake(stopping, state_of(stopping->proc, tid));
}

/* The first thread may have ended long before the others. */
static bool has_thread_awake(const struct stopping *stopping, int pid) {
        struct stopping threads = {.waits_for_deep = stopping->waits_for_deep};
        char path[64];

        strcat(number_format(path, (uint64_t)pid), "/task");
        threads.proc = sys_open(stopping->proc, path, O_RDONLY | O_DIRECTORY, 0);
        if (threads.proc < 0)
                return false;
        (void)number_each(threads.proc, look_at_thread, &threads);
        (void)sys_close(threads.proc);
        return threads.is_somebody_awake;
}

static void look(void *data, int pid) {
        struct stopping *stopping = data;
        char state;

        /* In a session others are, too, whom the signal has not reached, nor can this one. */
        if (stopping->is_somebody_awake || pid == getpid() || sys_kill(pid, 0) < 0)
                return;
        state = state_of(stopping->proc, pid);
        stopping->is_somebody_awake =
                state == 'Z' ? has_thread_awake(stopping, pid) : is_awake(stopping, state);
}

static bool has_stopped(pid_t child) {
        siginfo_t info = {.si_pid = 0};

        return sys_waitid(P_PID, (id_t)child, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) < 0 ||
               info.si_pid != 0;
}

static bool have_all_stopped(const struct launch_child *c, pid_t command, bool waits_for_deep) {
        struct stopping stopping = {.proc = -EBADF, .waits_for_deep = waits_for_deep};
        int r;

        /* /proc is the session's there, and calls everybody otherwise. */
        if (!c->plan->join || !c->plan->join->is_nested)
                stopping.proc = sys_open(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY, 0);
        if (stopping.proc < 0)
                return has_stopped(command);
        r = number_each(stopping.proc, look, &stopping);
        (void)sys_close(stopping.proc);
        return r < 0 || !stopping.is_somebody_awake;
}

/* Who is not stopped yet may wake others (SIGCONT), also one who has been looked at: hence a signal a round,
 * and a second look. */
void stop_all(const struct launch_child *c, pid_t command) {
        struct timespec start, now;
        int64_t passed = 0;
        int n_clean = 0;

        (void)clock_gettime(CLOCK_MONOTONIC, &start);
        (void)sys_kill(-1, SIGSTOP);
        while (passed < PATIENCE_MS) {
                n_clean = have_all_stopped(c, command, passed < DEEP_PATIENCE_MS) ? n_clean + 1 : 0;
                if (n_clean == CLEAN_LOOKS)
                        return;
                if (n_clean == 0)
                        (void)sys_poll(NULL, 0, 1);
                (void)sys_kill(-1, SIGSTOP);
                (void)clock_gettime(CLOCK_MONOTONIC, &now);
                passed = (now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000;
        }
}
