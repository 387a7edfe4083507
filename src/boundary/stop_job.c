/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A person's ^Z.  The shell that gets the terminal back prints its prompt, and a command in a session of its
 * own could go on reading what is typed there: when kill(2) returns, SIGSTOP has been sent and wakes a
 * process that waits for input, but stops it only when that is scheduled. */
#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>

#include "decimal.h"
#include "reaper_outside.h"

/* How long stop_all() waits for processes to stop, at most; and for one in an uninterruptible sleep.  Such a
 * sleep may be for the terminal's lock, before a read; or that of vfork(2), and with a child that has
 * stopped that lasts. */
#define PATIENCE_MS      1000
#define DEEP_PATIENCE_MS 50
#define CLEAN_LOOKS      2

struct stopping {
        const struct reaper *reaper;
        int proc;
        bool waits_for_deep;
        bool is_somebody_awake;
};

/* A process's state, the letter of proc_pid_stat(5); '\0' where there is no such process. */
static char state_of(int proc, int pid) {
        struct outside_stat stat;

        return outside_read_stat(proc, pid, &stat) ? stat.state : '\0';
}

static bool is_awake(const struct stopping *stopping, char state) {
        return state == 'R' || state == 'S' || (state == 'D' && stopping->waits_for_deep);
}

static void look_at_thread(void *data, int tid) {
        struct stopping *stopping = data;

        stopping->is_somebody_awake |= is_awake(stopping, state_of(stopping->proc, tid));
}

/* Whether a process's other threads are awake: its first one is a zombie ('Z') if it has ended
 * before them. */
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

        /* EPERM: it is a process of another command of the session. */
        if (stopping->is_somebody_awake || pid == getpid() ||
            (stopping->reaper->init.is_outside ? !outside_has(stopping->reaper, pid) : sys_kill(pid, 0) < 0))
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

static bool have_all_stopped(const struct reaper *p, bool waits_for_deep) {
        struct stopping stopping = {.reaper = p, .proc = -EBADF, .waits_for_deep = waits_for_deep};
        int r;

        /* The processes of a nested command have other numbers in the session's /proc. */
        if (p->init.is_outside)
                stopping.proc = sys_open(p->init.proc_fd, ".", O_RDONLY | O_DIRECTORY, 0);
        else if (!p->init.is_nested)
                stopping.proc = sys_open(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY, 0);
        if (stopping.proc < 0)
                return has_stopped(p->command);
        r = number_each(stopping.proc, look, &stopping);
        (void)sys_close(stopping.proc);
        return r < 0 || !stopping.is_somebody_awake;
}

/* A process that isn't stopped yet may wake others (SIGCONT), also one that has been looked at already:
 * hence a signal in each round, and a second look. */
static void send_stop(const struct reaper *p) {
        if (p->init.is_outside)
                outside_signal(p, SIGSTOP);
        else
                (void)sys_kill(-1, SIGSTOP);
}

void stop_all(const struct reaper *p) {
        uint64_t begin = sys_now_ms(), passed = 0;
        int n_clean = 0;

        if (p->init.is_plain) {
                (void)sys_kill(-p->command, SIGSTOP);
                return;
        }
        send_stop(p);
        while (passed < PATIENCE_MS) {
                n_clean = have_all_stopped(p, passed < DEEP_PATIENCE_MS) ? n_clean + 1 : 0;
                if (n_clean == CLEAN_LOOKS)
                        return;
                if (n_clean == 0)
                        (void)sys_poll(NULL, 0, 1);
                send_stop(p);
                passed = sys_now_ms() - begin;
        }
}
