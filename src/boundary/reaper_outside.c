/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "reaper_outside.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>

#include "base/causes.h"
#include "decimal.h"
#include "exec.h"

/* How long outside_end() tries while it finds somebody, and how many looks in a row must find nobody: few
 * where all that was listed could be looked at, many where some of it had ended by then, as it may have
 * forked before. */
#define END_PATIENCE_MS 5000
/* What one look counts of that at most: that a look was slow says nothing of whom it has found. */
#define LOOK_MOST_MS 500
#define CLEAN_LOOKS  2
#define UNSURE_LOOKS 30
/* How long a command may be on its way to its exec when it is to end already. */
#define EXEC_PATIENCE_MS 5000

/* The inode of a process's uts namespace, as "uts:[4026531838]" tells; 0: it has none any more; -errno. */
static int64_t read_mark(int proc, const char *path) {
        char text[64];
        ssize_t n = sys_readlinkat(proc, path, text, sizeof(text) - 1);

        if (n < 0)
                return n;
        text[n] = '\0';
        return startswith(text, "uts:[") ? strtoll(text + 5, NULL, 10) : -EBADMSG;
}

/* Whether the session's pid 1 has exited: then it has no memory any more (proc_pid_statm(5)). */
static bool has_session_ended(const struct init *init) {
        char path[64], text[64] = "";
        _cleanup_close_ int fd = -EBADF;

        strcat(number_format(path, (uint64_t)init->session_pid), "/statm");
        fd = sys_open(init->proc_fd, path, O_RDONLY, 0);
        return fd < 0 || sys_read(fd, text, sizeof(text) - 1) <= 0 || startswith(text, "0 ");
}

int outside_explain(int r, const char *id, bool has_ended, struct nsrun_error *err) {
        /* ENOMEM: the session's pid 1 is dead, and no process can be started in its namespace. */
        if (r == -ESRCH || r == -ENOMEM || (r == -EPERM && has_ended))
                return error_set(err, NSRUN_STAGE_NAMESPACE, -ESRCH, id, "the session has ended", NULL);
        if (r == -EAGAIN)
                return error_set(
                        err, NSRUN_STAGE_NAMESPACE, r, id, "the session has no room for another process",
                        "what earlier commands left behind counts: --kill-leftovers ends that with them");
        /* The kernel itself says EBADF here. */
        if (error_is_filtered(r) && sys_setns(-1, 0) == r)
                return error_set(err, NSRUN_STAGE_NAMESPACE, r, id, "the session can't be entered",
                                 FILTER_HINT("setns"));
        return error_set(err, NSRUN_STAGE_NAMESPACE, r, id, "the session can't be entered",
                         r == -EPERM    ? "it is entered from outside any sandbox alone, by its own user"
                         : r == -EINVAL ? "Linux 5.8 or later is needed"
                                        : NULL);
}

int outside_enter(struct reaper *p, uint64_t namespaces, const char *id) {
        int r = sys_setns(p->init.session_fd, namespaces);
        int64_t mark;

        if (r < 0)
                return outside_explain(r, id, has_session_ended(&p->init), &p->error);
        /* ENOSPC: the user has as many as the kernel allows.  Then the command's session tells. */
        r = sys_unshare(CLONE_NEWUTS);
        if (r < 0 && r != -ENOSPC)
                return error_is_filtered(r)
                               ? error_cause(&p->error, NSRUN_ERROR_FILTER_UNSHARE, r, NULL)
                               : error_cause_with(&p->error, NSRUN_ERROR_FILTER_UNSHARE, r, NULL, NULL);
        mark = read_mark(p->init.proc_fd, "self/ns/uts");
        if (mark <= 0)
                return error_set(&p->error, NSRUN_STAGE_NAMESPACE, mark < 0 ? (int)mark : -ENOENT, "/proc",
                                 "the reaper can't find itself",
                                 "nsrun needs a mounted /proc of its own pid namespace");
        p->mark = r < 0 ? 0 : (uint64_t)mark;
        p->init.namespaces.uts = (uint64_t)mark;
        return r < 0 ? report_degraded(p->init.report_fd, p->init.refuses_degraded, DEGRADED_LEFTOVERS, NULL,
                                       NULL, &p->error)
                     : 0;
}

/* ------------------------------------------------------- whose a process is */

bool outside_read_stat(int proc, pid_t pid, struct outside_stat *ret) {
        char path[64], text[512], *end;
        _cleanup_close_ int fd = -EBADF;
        ssize_t n;

        strcat(number_format(path, (uint64_t)pid), "/stat");
        fd = sys_open(proc, path, O_RDONLY | O_NONBLOCK, 0);
        n = fd < 0 ? fd : sys_read(fd, text, sizeof(text) - 1);
        if (n <= 0)
                return false;
        text[n] = '\0';
        /* The program's name, before the state, may have any character in it. */
        end = strrchr(text, ')');
        if (!end || end[1] != ' ' || !end[2])
                return false;
        ret->state = end[2];
        ret->parent = strtol(end + 3, &end, 10);
        ret->group = strtol(end, &end, 10);
        ret->session = strtol(end, NULL, 10);
        return true;
}

struct threads {
        int folder;
        uint64_t mark;
        bool is_found;
};

static void look_for_mark(void *data, int tid) {
        struct threads *threads = data;
        char path[64];

        strcat(number_format(path, (uint64_t)tid), "/ns/uts");
        threads->is_found |= read_mark(threads->folder, path) == (int64_t)threads->mark;
}

/* A process whose first thread has ended has no namespaces by that. */
static bool has_marked_thread(const struct reaper *p, pid_t pid) {
        struct threads threads = {.mark = p->mark};
        char path[64];

        strcat(number_format(path, (uint64_t)pid), "/task");
        threads.folder = sys_open(p->init.proc_fd, path, O_RDONLY | O_DIRECTORY, 0);
        if (threads.folder < 0)
                return false;
        (void)number_each(threads.folder, look_for_mark, &threads);
        (void)sys_close(threads.folder);
        return threads.is_found;
}

/* A process that nobody may look into (EACCES) is told by its session, while the command is the reaper's
 * child, so that its number is nobody else's. */
static bool is_of_command(const struct reaper *p, pid_t pid, bool *ret_has_ended) {
        struct outside_stat stat;
        char path[64];
        int64_t mark;

        *ret_has_ended = false;
        if (pid == getpid())
                return false;
        strcat(number_format(path, (uint64_t)pid), "/ns/uts");
        mark = read_mark(p->init.proc_fd, path);
        if (p->mark != 0 && mark > 0)
                return (uint64_t)mark == p->mark;
        if (p->mark != 0 && mark == -ENOENT) {
                *ret_has_ended = !has_marked_thread(p, pid);
                return !*ret_has_ended;
        }
        if (p->command <= 0 || !outside_read_stat(p->init.proc_fd, pid, &stat))
                return false;
        return (p->init.terminal == INIT_TERMINAL_SESSION && stat.session == p->command) ||
               (p->init.terminal == INIT_TERMINAL_OWN && stat.session == getpid());
}

bool outside_has(const struct reaper *p, pid_t pid) {
        bool has_ended;

        return is_of_command(p, pid, &has_ended);
}

/* ------------------------------------------------------------------ signals */

struct signalling {
        const struct reaper *reaper;
        int signal;
        bool of_children; /* to the reaper's children alone */
        size_t n_found, n_vanished;
        uint64_t ended; /* the sum of the numbers of those that have ended and that nobody has reaped */
};

static bool is_child(const struct reaper *p, pid_t pid) {
        struct outside_stat stat;

        return outside_read_stat(p->init.proc_fd, pid, &stat) && stat.parent == getpid() &&
               stat.state != 'Z';
}

/* Whether nobody but the command has started what is in that group: the reaper's own session is the caller's
 * terminal's, which others may be in, unless the command has a terminal of its own. */
static bool is_group_of_command(const struct reaper *p, const struct outside_stat *stat) {
        if (stat->session == getsid(0))
                return p->init.terminal == INIT_TERMINAL_OWN && stat->group != getpgrp();
        return stat->group > 1 && stat->session > 0;
}

/* Kills the process group of one that the command has started, in one step of the kernel's, which no member
 * can outrun by forking. */
static void kill_group(const struct reaper *p, pid_t pid) {
        struct outside_stat stat;

        if (outside_read_stat(p->init.proc_fd, pid, &stat) && is_group_of_command(p, &stat) &&
            outside_has(p, pid))
                (void)sys_kill((pid_t)-stat.group, SIGKILL);
}

/* The pidfd comes first: whatever was looked at under that number after it, nobody but the process that had
 * the number then gets the signal. */
static void signal_if_ours(void *data, int pid) {
        struct signalling *s = data;
        _cleanup_close_ int pidfd = sys_pidfd_open(pid);
        bool has_ended = false;

        if (pidfd < 0 ||
            !(s->of_children ? is_child(s->reaper, pid) : is_of_command(s->reaper, pid, &has_ended))) {
                s->n_vanished += pidfd < 0 || sys_pidfd_send_signal(pidfd, 0) == -ESRCH;
                s->ended += has_ended ? (uint64_t)pid : 0;
                return;
        }
        s->n_found++;
        if (s->signal == SIGKILL && !s->of_children)
                kill_group(s->reaper, pid);
        (void)sys_pidfd_send_signal(pidfd, s->signal);
        if (s->signal == SIGTERM)
                (void)sys_pidfd_send_signal(pidfd, SIGCONT);
}

static void signal_each(struct signalling *s) {
        if (lseek(s->reaper->init.proc_fd, 0, SEEK_SET) >= 0)
                (void)number_each(s->reaper->init.proc_fd, signal_if_ours, s);
}

void outside_signal(const struct reaper *p, int signal) {
        signal_each(&(struct signalling){.reaper = p, .signal = signal});
}

void outside_end(const struct reaper *p) {
        int n_clean = 0, n_unsure = 0;
        uint64_t ended = 0;
        uint64_t spent = 0;

        /* In one step, all that kept to the command's process group. */
        if (p->command > 0)
                (void)sys_kill(-p->command, SIGKILL);
        while (n_clean < CLEAN_LOOKS && n_unsure < UNSURE_LOOKS) {
                struct signalling look = {.reaper = p, .signal = SIGKILL};
                uint64_t begin = sys_now_ms(), took;

                signal_each(&look);
                took = sys_now_ms() - begin;
                spent += took < LOOK_MOST_MS ? took : LOOK_MOST_MS;
                /* One that has ended since the last look may have forked before, as one that is gone may;
                 * where the session's pid 1 is slow to reap there are many such. */
                n_clean = look.n_found == 0 && look.n_vanished == 0 && look.ended == ended ? n_clean + 1 : 0;
                n_unsure = look.n_found == 0 ? n_unsure + 1 : 0;
                ended = look.ended;
                /* On a busy machine looks are slow, and most of them unsure: that is no failure. */
                if (look.n_found == 0 || spent < END_PATIENCE_MS)
                        continue;
                report_note(p->init.report_fd,
                            "not all that the command had started could be ended: 'nsrun session kill' ends "
                            "the session with it",
                            NULL);
                return;
        }
}

void outside_end_children(const struct reaper *p) {
        uint64_t begin = sys_now_ms();

        while (init_has_others() && sys_now_ms() - begin < END_PATIENCE_MS) {
                signal_each(&(struct signalling){.reaper = p, .signal = SIGKILL, .of_children = true});
                (void)sys_poll(NULL, 0, 1);
        }
}

/* -------------------------------------------------------------- the command */

/* Waits until the command is on its own.  Any command of the session may have stopped it: whoever then wants
 * the reaper to do something, or the stop itself (SIGCHLD), ends the command. */
static void await_exec(struct reaper *p, pid_t command) {
        struct pollfd fds[] = {
                {.fd = p->init.control_fd, .events = POLLIN},
                {.fd = p->init.outlives_supervisor ? -1 : p->init.supervisor_fd, .events = POLLIN},
                {.fd = p->signal_fd, .events = POLLIN}};

        if (sys_await_gone(&p->busy, fds, ARRAY_SIZE(fds), -1) == 0)
                return;
        if (sys_await_gone(&p->busy, NULL, 0, EXEC_PATIENCE_MS) != 0)
                (void)sys_kill(command, SIGKILL);
        (void)sys_await_gone(&p->busy, NULL, 0, -1);
}

pid_t outside_start(struct reaper *p) {
        pid_t command =
                sys_clone_beside(exec_command, p, p->stack_top, p->init.listener_socket >= 0, &p->busy);

        if (command > 0)
                await_exec(p, command);
        return command;
}
