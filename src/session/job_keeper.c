/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The keeper of a detached command.  The command has the writing end of a pipe and no file: it can neither
 * fill the disk nor change what it has printed. */
#include "job_keeper.h"

#include <limits.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/programs.h"
#include "host/socket_table.h"
#include "monitor.h"
#include "run/deadline.h"
#include "run/run.h"

_Static_assert(sizeof(struct detached_answer) <= PIPE_BUF, "an answer must be one atomic write");

#define CHUNK ((size_t)64 * 1024)
/* Milliseconds between two looks at the port. */
#define LOOK_MS 50

enum port_state {
        PORT_FREE,   /* nobody listens there */
        PORT_OURS,   /* a process of the session */
        PORT_OTHERS, /* another process of the host, whose network the session has */
};

struct keeper {
        struct nsrun_plan *plan;
        struct run run;
        struct log log;
        struct deadline deadline;
        int output_fd;
        int signal_fd;
        int cancel_fd; /* readable: whoever waits has given up */
        int session_fd;
        unsigned timeout, port;
        const char *text;
        size_t n_text;
        enum port_state port_state;
        bool is_waiting; /* for the port or the text */
        bool is_found;
        bool has_answered; /* for good: nobody reads more */
        bool was_ended;    /* by a signal, the deadline or who waited */
        bool timed_out;
        bool is_at_end; /* of the output */
        char *chunk;    /* the last bytes before, as many as the text could begin in, and CHUNK new ones */
        size_t n_before;
        struct nsrun_error error;
};

static void keeper_answer(struct keeper *k, enum detached_answer_kind kind,
                          const struct nsrun_error *error) {
        struct detached_answer a = {.kind = kind,
                                    .pid = k->log.state.pid,
                                    .has_ended = k->log.state.has_ended,
                                    .status = k->log.state.status,
                                    .is_others = k->port_state == PORT_OTHERS};

        if (k->has_answered)
                return;
        memcpy(a.name, k->log.name, sizeof(a.name));
        if (error)
                a.error = *error;
        (void)sys_write(MONITOR_FD_ANSWER, &a, sizeof(a));
        if (kind == DETACHED_NOTE)
                return;
        k->has_answered = true;
        (void)close(MONITOR_FD_ANSWER);
}

/* Notes go to whoever waits; later ones to who reads the log, and to who ends the session. */
static int keeper_note(void *data, const struct nsrun_error *note) {
        struct keeper *k = data;
        _cleanup_free_ char *line = NULL;

        if (!k->has_answered) {
                keeper_answer(k, DETACHED_NOTE, note);
                return 0;
        }
        line = nsrun_error_format(note);
        if (line) {
                log_note(&k->log, line);
                (void)records_tell(&k->plan->join->folder, line);
        }
        return 0;
}

/* ---------------------------------------------------------------- the start */

static int keeper_read_plan(struct keeper *k, char **argv) {
        int r = monitor_read_plan(&k->plan, &k->error);

        if (r >= 0)
                r = plan_join_again(k->plan, argv[DETACHED_ARG_SESSION], &k->error);
        if (r < 0)
                return r;
        k->plan->join->kills_leftovers = *argv[DETACHED_ARG_KILLS_LEFTOVERS];
        k->session_fd = record_open_process(&k->plan->join->init);
        return k->session_fd >= 0 ? 0
                                  : error_set(&k->error, NSRUN_STAGE_SUPERVISE, -ESRCH,
                                              argv[DETACHED_ARG_SESSION], "the session has ended", NULL);
}

struct listeners {
        unsigned port;
        uint64_t *inodes;
        size_t n;
};

static int note_listener(void *data, const struct socket_row *row) {
        struct listeners *l = data;

        if (!row->is_listening || !row->is_at_localhost || row->port != l->port)
                return 0;
        if (ARRAY_GROW(l->inodes, l->n) < 0)
                return -ENOMEM;
        l->inodes[l->n++] = row->inode;
        return 0;
}

/* Who listens on the port of localhost in the session's network.  Where that is the host's a socket is the
 * session's that a process in its user namespace has, which no process of the host is in. */
static int port_look(const struct keeper *k, enum port_state *ret) {
        const struct plan_join *join = k->plan->join;
        struct listeners l = {.port = k->port};
        char folder[32], user[32];
        int r;

        (void)snprintf(folder, sizeof(folder), "/proc/%d/net", (int)join->init.pid);
        (void)snprintf(user, sizeof(user), "user:[%" PRIu64 "]", join->namespace_inodes[0]);
        r = socket_table_each(folder, "tcp", NULL, note_listener, &l);
        if (r >= 0)
                r = socket_table_each(folder, "tcp6", NULL, note_listener, &l);
        if (r >= 0 && l.n > 0 && !(join->namespaces & CLONE_NEWNET))
                r = socket_find_owner(l.inodes, l.n, &(struct socket_owners){"user", user, false, SIZE_MAX});
        else if (r >= 0)
                r = l.n > 0;
        if (r >= 0)
                *ret = l.n == 0 ? PORT_FREE : r > 0 ? PORT_OURS : PORT_OTHERS;
        free(l.inodes);
        return r < 0 ? r : 0;
}

/* Who has the port already would be taken for the command. */
static int refuse_taken_port(struct keeper *k) {
        enum port_state state;
        int r = k->port > 0 ? port_look(k, &state) : 0;

        if (r < 0)
                return error_set(&k->error, NSRUN_STAGE_SUPERVISE, r, NULL,
                                 "who listens on the session's ports can't be read",
                                 "nsrun needs a mounted /proc to start from");
        if (k->port == 0 || state == PORT_FREE)
                return 0;
        return error_setf(&k->error, NSRUN_STAGE_SUPERVISE, -EADDRINUSE, NULL,
                          state == PORT_OURS ? "end that one first, or take another port"
                                             : "take another port",
                          "a process %s listens on port %u already",
                          state == PORT_OURS ? "of the session" : "outside of the session", k->port);
}

static int open_output(struct keeper *k, int stdio[3]) {
        _cleanup_close_ int null = sys_open(AT_FDCWD, "/dev/null", O_RDONLY | O_NOCTTY, 0);
        int ends[2], r = null < 0 ? null : sys_pipe(ends);

        if (r < 0)
                return r;
        k->output_fd = ends[0];
        stdio[0] = TAKE_FD(null);
        stdio[1] = stdio[2] = ends[1];
        return fcntl(k->output_fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

/* The command's pid as the session has it.  0: it can't be told, or it has ended.  In a pid namespace of its
 * own the reaper knows that one's number alone. */
static int pid_inside(const struct keeper *k, int pid) {
        char parent[32], text[4096];
        const char *pids;

        if (k->plan->join->isolates_commands)
                return k->plan->join->is_nested ? 0 : pid;
        (void)snprintf(parent, sizeof(parent), "\nPPid:\t%d\n", (int)k->run.launch.pid);
        if (read_process_file(pid, "status", text, sizeof(text)) < 0 || !strstr(text, parent))
                return 0;
        pids = strstr(text, "\nNSpid:");
        if (!pids)
                return 0;
        pids += strcspn(pids + 1, "\n");
        while (*pids >= '0' && *pids <= '9')
                pids--;
        return (int)strtol(pids + 1, NULL, 10);
}

static int keeper_launch(struct keeper *k) {
        const sigset_t pipe = SIGNALS(SIGPIPE);
        int stdio[3] = {-EBADF, -EBADF, -EBADF}, r;
        struct launch_report report = {.status = 0};
        struct run_params params = {
                .launch = {.stdio = stdio,
                           .terminal_fd = -1,
                           .lingers = true,
                           .wants_started = true,
                           .init_path = program_init()},
                .may_move = true,
                .note = keeper_note,
                .data = k,
        };

        /* Not ignored, as the command then would, too. */
        (void)sys_sigmask(SIG_BLOCK, &pipe, NULL);
        r = k->signal_fd = signals_open(SIGNALS(SIGTERM, SIGINT, SIGHUP), &k->error);
        if (r >= 0)
                r = open_output(k, stdio);
        if (r < 0)
                (void)error_set(&k->error, NSRUN_STAGE_SUPERVISE, r, NULL,
                                "no descriptors to watch the command with", NULL);
        if (r >= 0)
                r = run_begin(k->plan, &params, &k->run, &k->error);
        close_fdp(&stdio[0]);
        close_fdp(&stdio[1]);
        if (r >= 0)
                r = run_await_start(&k->run, &report, &k->error);
        if (r >= 0)
                k->log.state.pid = pid_inside(k, report.status);
        return r;
}

static int keeper_start(struct keeper *k, char **argv) {
        int r = keeper_read_plan(k, argv);
        size_t n;

        if (r >= 0)
                r = refuse_taken_port(k);
        if (r < 0)
                return r;
        k->chunk = malloc(k->n_text + CHUNK);
        if (!k->chunk)
                return error_oom(&k->error);
        /* What an agent calls its command stands before bash's own name, the last word (agent/probe.c). */
        n = strv_length(k->plan->argv);
        r = log_make(&k->plan->join->folder, n > 1 ? k->plan->argv[n - 2] : "", &k->log, &k->error);
        if (r < 0)
                return r;
        r = keeper_launch(k);
        if (r >= 0)
                r = deadline_begin(&k->deadline, k->timeout, &k->error);
        if (r < 0) {
                log_remove(&k->plan->join->folder, k->log.name);
                k->log.name[0] = '\0';
                return r;
        }
        log_save(&k->log);
        return 0;
}

/* ----------------------------------------------------------------- the wait */

/* 1: got some; 0: there is none now, or the output has ended. */
static int keep_output(struct keeper *k) {
        ssize_t n = sys_read(k->output_fd, k->chunk + k->n_before, CHUNK);
        size_t all;

        if (n <= 0) {
                k->is_at_end |= n != -EAGAIN && n != -EINTR;
                return 0;
        }
        log_add(&k->log, k->chunk + k->n_before, (size_t)n);
        if (!k->is_waiting || k->n_text == 0)
                return 1;
        all = k->n_before + (size_t)n;
        k->is_found |= memmem(k->chunk, all, k->text, k->n_text) != NULL;
        k->n_before = all < k->n_text ? all : k->n_text - 1;
        memmove(k->chunk, k->chunk + all - k->n_before, k->n_before);
        return 1;
}

/* What the pipe holds when the command has ended: a process outside that got its writing end may go on for
 * ever. */
static void keep_rest(struct keeper *k) {
        int left = 0;

        if (sys_ioctl(k->output_fd, FIONREAD, &left) < 0)
                return;
        for (uint64_t end = k->log.state.total + (uint64_t)left; k->log.state.total < end;)
                if (keep_output(k) == 0)
                        return;
}

static void keeper_end_command(struct keeper *k) {
        int signal;

        /* Whoever waited has gone on, and with him the clock. */
        if (!k->was_ended && k->deadline.fd < 0 && deadline_begin(&k->deadline, 1, NULL) < 0)
                return;
        k->was_ended = true;
        signal = deadline_press(&k->deadline, NULL);
        if (signal == SIGTERM)
                (void)launch_terminate_all(&k->run.launch);
        else
                (void)launch_signal(&k->run.launch, SIGKILL);
}

static int keeper_take_report(void *data, nsrun_unused short revents) {
        struct keeper *k = data;
        struct launch_report report;
        int r = run_take_report(&k->run, &report, &k->error);

        if (r > 0 && !k->run.has_exited)
                return 0;
        /* A reaper that was killed has reported nothing: what it kept was killed, too. */
        k->log.state.status = k->run.has_exited ? k->run.status : SIGKILL;
        k->run.has_exited = true;
        k->log.state.has_ended = 1;
        log_save(&k->log);
        keep_rest(k);
        return 0;
}

static void keep_looking(struct keeper *k) {
        if (k->is_waiting && k->port > 0 && port_look(k, &k->port_state) >= 0)
                k->is_found |= k->port_state == PORT_OURS;
        if (!k->is_waiting || !k->is_found || k->was_ended)
                return;
        k->is_waiting = false;
        deadline_end(&k->deadline);
        keeper_answer(k, DETACHED_RUNS, NULL);
}

static int keeper_take_output(void *data, nsrun_unused short revents) {
        (void)keep_output(data);
        return 0;
}

static int keeper_take_signal(void *data, nsrun_unused short revents) {
        struct keeper *k = data;
        struct signalfd_siginfo info;

        if (sys_read(k->signal_fd, &info, sizeof(info)) > 0 && !k->was_ended)
                keeper_end_command(k);
        return 0;
}

static int keeper_take_deadline(void *data, nsrun_unused short revents) {
        struct keeper *k = data;

        if (deadline_is_over(&k->deadline)) {
                k->timed_out |= !k->was_ended;
                keeper_end_command(k);
        }
        return 0;
}

/* Without a byte the other end was closed: the command goes on. */
static int keeper_take_cancel(void *data, short revents) {
        struct keeper *k = data;

        if (revents & POLLIN && !k->was_ended)
                keeper_end_command(k);
        k->cancel_fd = -1;
        return 0;
}

static int keeper_take_session_end(void *data, nsrun_unused short revents) {
        struct keeper *k = data;

        k->is_at_end = true;
        return 0;
}

static int keeper_take_appeared(void *data, nsrun_unused short revents) {
        run_take_appeared(&((struct keeper *)data)->run);
        return 0;
}

/* Until the command has ended and nobody has its output open, or nobody shall have. */
static int tell_kept(struct loop *l, void *data) {
        struct keeper *k = data;
        bool has_exited = k->run.has_exited;

        keep_looking(k);
        if (has_exited && (k->is_at_end || k->is_waiting || k->was_ended || k->plan->join->kills_leftovers))
                return 1;
        loop_add(l, k->is_at_end ? -1 : k->output_fd, POLLIN, keeper_take_output);
        loop_add(l, has_exited ? -1 : k->run.launch.report_fd, POLLIN, keeper_take_report);
        loop_add(l, k->signal_fd, POLLIN, keeper_take_signal);
        loop_add(l, k->deadline.fd, POLLIN, keeper_take_deadline);
        loop_add(l, protected_fd(&k->run.protected), POLLIN, keeper_take_appeared);
        loop_add(l, k->cancel_fd, POLLIN, keeper_take_cancel);
        loop_add(l, has_exited ? k->session_fd : -1, POLLIN, keeper_take_session_end);
        l->patience_ms = k->is_waiting && k->port > 0 ? LOOK_MS : -1;
        return 0;
}

/* Nothing is left of a command that was ended, or that wasn't what was waited for.  run_wait() doesn't wait
 * for a reaper that is pid 1 of its command's namespace. */
static void keeper_kill_rest(const struct keeper *k) {
        (void)launch_signal(&k->run.launch, SIGKILL);
        (void)loop_await(k->run.launch.pidfd, POLLIN, -1);
}

static void keep_command(struct keeper *k) {
        if (!k->is_waiting) {
                deadline_end(&k->deadline);
                keeper_answer(k, DETACHED_RUNS, NULL);
        }
        (void)loop_run(tell_kept, k);
        if (k->is_waiting || k->was_ended)
                keeper_kill_rest(k);
        else
                launch_release(&k->run.launch);
        (void)run_wait(&k->run);
        keep_rest(k);
        k->log.state.is_over = 1;
        log_save(&k->log);
        keeper_answer(k, k->timed_out ? DETACHED_TIMED_OUT : DETACHED_ENDED, NULL);
}

int detached_main(int argc, char **argv) {
        struct keeper k = {.run = RUN_INIT,
                           .log = LOG_INIT,
                           .deadline = DEADLINE_INIT,
                           .output_fd = -EBADF,
                           .signal_fd = -EBADF,
                           .session_fd = -EBADF,
                           .cancel_fd = MONITOR_FD_OWNER};
        int r;

        if (argc != DETACHED_N_ARGS)
                return 125;
        k.timeout = (unsigned)strtoul(argv[DETACHED_ARG_TIMEOUT], NULL, 10);
        k.port = (unsigned)strtoul(argv[DETACHED_ARG_PORT], NULL, 10);
        k.text = argv[DETACHED_ARG_TEXT];
        k.n_text = strlen(k.text);
        k.is_waiting = k.port > 0 || k.n_text > 0;
        r = keeper_start(&k, argv);
        if (r >= 0)
                keep_command(&k);
        else
                keeper_answer(&k, DETACHED_FAILED, &k.error);
        run_end(&k.run);
        deadline_end(&k.deadline);
        log_close(&k.log);
        close_fdp(&k.output_fd);
        close_fdp(&k.signal_fd);
        close_fdp(&k.session_fd);
        free(k.chunk);
        plan_free(k.plan);
        return r < 0 ? 125 : 0;
}
