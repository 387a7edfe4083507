/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The nsrun program's side of a run: waits for the command, passes signals on, stops and continues
 * as the command does, and reports how it ended. */
#include "supervise.h"

#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "base/loop.h"
#include "base/sys.h"
#include "deadline.h"
#include "explain/missing_program.h"
#include "explain/watch.h"
#include "failure_reasons.h"
#include "status_fd.h"
#include "terminal/asking.h"
#include "terminal/modes.h"

struct supervised {
        struct run run;
        struct pty *pty;     /* the command's own terminal; or NULL */
        bool wants_terminal; /* the caller's is to be taken for it, as soon as no question is open there */
        const struct supervise_params *params;
        const struct nsrun_plan *plan;
        int signal_fd;
        int terminal_fd; /* the program's terminal, of which the command's process group is the foreground;
                            or -1 */
        bool was_asked_to_stop;
        bool was_hung_up; /* a shell, by a SIGTERM for nsrun */
        struct deadline deadline;
        struct asking asking;
        struct nsrun_error *err;
};

/* The signals that are passed on to the command: all that a person or a program may send.  Faults
 * of nsrun's own (SIGSEGV…) stay deadly, and the terminal's SIGTTIN and SIGTTOU stop nsrun as they
 * stop any job. */
static void passed_on(sigset_t *set) {
        static const int own[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGTRAP, SIGSYS, SIGABRT,
                                  SIGCHLD, SIGTTIN, SIGTTOU, SIGPROF, SIGXCPU, SIGXFSZ};

        (void)sigfillset(set);
        for (size_t i = 0; i < ARRAY_SIZE(own); i++)
                (void)sigdelset(set, own[i]);
}

/* Calls that wait for a person end, so that what was sent is seen by who has asked; and where nobody can be
 * asked. */
static void drop_file_questions(struct supervised *s) {
        question_drop_file(&s->asking);
        run_drop_files(&s->run);
}

static int take_signals(void *data, nsrun_unused short revents) {
        struct supervised *s = data;
        struct signalfd_siginfo info;

        while (sys_read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
                int signal = (int)info.ssi_signo;

                /* SIGPIPE comes of nsrun's own write to a closed pipe, and doesn't concern the
                 * command. */
                if (signal == SIGPIPE)
                        continue;
                s->was_asked_to_stop |= signal == SIGTSTP;
                if (signal == SIGINT || signal == SIGQUIT || signal == SIGTERM || signal == SIGHUP ||
                    signal == SIGTSTP)
                        drop_file_questions(s);
                if (s->pty && signal == SIGWINCH) {
                        pty_resize(s->pty);
                        continue;
                }
                if (s->pty && signal == SIGCONT && s->pty->is_active)
                        s->wants_terminal = true;
                /* An interactive shell ignores SIGTERM; and a SIGHUP that comes just before bash reads bash
                 * sees when that read has ended. */
                if (signal == SIGTERM && s->params->is_shell) {
                        s->was_hung_up = true;
                        pty_end_input(s->pty);
                        signal = SIGHUP;
                }
                (void)launch_signal(&s->run.launch, signal);
        }
        return 0;
}

/* Warns that a status line couldn't be written.  The command has started, so that nsrun's exit
 * status is the command's, whatever became of --status-fd's reader. */
static void warn_unless_told(int r) {
        if (r < 0)
                (void)fprintf(stderr, "nsrun: the status can't be written to --status-fd: %s\n",
                              error_words(-r));
}

static void give_terminal(const struct supervised *s, pid_t group) {
        if (s->terminal_fd >= 0 && group > 0)
                (void)sys_ioctl(s->terminal_fd, TIOCSPGRP, &group);
}

static pid_t terminal_group(int fd) {
        pid_t group = -1;

        return sys_ioctl(fd, TIOCGPGRP, &group) < 0 ? -1 : group;
}

/* Stops nsrun after the command has stopped, if the user asked for that (^Z): the shell that runs
 * nsrun shall see a stopped job, and its "fg" continues both.  A stop of the command's own making
 * doesn't stop nsrun, which must go on receiving signals. */
static void stop_too(struct supervised *s, int signal) {
        pid_t group = -1;

        if (!s->was_asked_to_stop && s->terminal_fd < 0)
                return;
        s->was_asked_to_stop = false;
        /* In an orphaned process group, where no shell could say "fg", the kernel ignores ^Z and
         * hangs up a background process that uses the terminal: nsrun does the same to the command. */
        if (getsid(getppid()) != getsid(0)) {
                if (signal == SIGTTIN || signal == SIGTTOU)
                        (void)launch_signal(&s->run.launch, SIGHUP);
                (void)launch_signal(&s->run.launch, SIGCONT);
                return;
        }
        if (s->terminal_fd >= 0)
                group = terminal_group(s->terminal_fd);
        give_terminal(s, getpgrp());
        (void)sys_kill(getpid(), SIGSTOP);
        if (s->terminal_fd >= 0 && terminal_group(s->terminal_fd) == getpgrp())
                give_terminal(s, group);
}

/* The same where the command has a terminal of its own: the kernel has stopped its process group there, and
 * nobody else than nsrun in the caller's.  All of the caller's job is stopped, as by a ^Z that the caller's
 * terminal had seen; what comes next is the shell's SIGCONT. */
static void stop_with_terminal(struct supervised *s) {
        if (!s->was_asked_to_stop && !s->pty->is_raw)
                return;
        s->was_asked_to_stop = false;
        if (getsid(getppid()) != getsid(0)) {
                (void)launch_signal(&s->run.launch, SIGCONT);
                return;
        }
        /* What it has printed before its stop sets the emulator back, as a person's programs do. */
        pty_drain(s->pty);
        pty_leave_terminal(s->pty);
        (void)sys_kill(0, SIGSTOP);
        s->wants_terminal = true;
}

static void tell_started(const struct supervised *s, const struct launch_report *report) {
        int fd = s->params->status_fd;

        if (fd >= 0)
                warn_unless_told(status_started(fd, s->plan, &s->run.launch, report,
                                                cgroup_pids_by(&s->run.cgroup, s->plan), s->run.degraded));
}

static void print_note(const char *kind, const struct nsrun_error *note) {
        _cleanup_free_ char *path = str_visible(note->path), *hint = str_visible(note->hint),
                            *what = str_visible(note->what), *line = NULL;
        bool is_remedy = note->stage == NSRUN_STAGE_NETWORK || note->stage == NSRUN_STAGE_SUPERVISE;
        _cleanup_strbuf_ struct strbuf b = {0};

        strbuf_addf(&b, "nsrun: %s: %s", kind, what ? what : "?");
        if (*note->path)
                strbuf_addf(&b, ": %s", path ? path : "?");
        if (is_remedy && *note->hint)
                strbuf_addf(&b, "; %s", hint ? hint : "?");
        line = strbuf_finish(&b);
        (void)fprintf(stderr, "%s\n", line ? line : "nsrun: out of memory");
}

/* Prints a note.  What the environment points at in vain is left out, which --verbose prints with the plan,
 * and so is what is degraded and changes nothing that a command does: the `started` line has it. */
static int tell_note(void *data, const struct nsrun_error *note) {
        const struct supervised *s = data;
        const struct degraded *row = degraded_find(note);

        if (row && row->is_quiet && !s->params->is_verbose)
                return 0;
        if (note->stage != NSRUN_STAGE_PLAN)
                print_note(s->plan->plain ? "warning" : "note", note);
        if (s->params->status_fd >= 0 && !(row && row->is_quiet))
                warn_unless_told(status_note(s->params->status_fd, note));
        return 0;
}

/* ------------------------------------------------------------------- the wait */

/* Ends the command and all that it started when its time is up. */
static int take_deadline(void *data, nsrun_unused short revents) {
        struct supervised *s = data;
        int signal = deadline_is_over(&s->deadline) ? deadline_press(&s->deadline, s->err) : 0;

        if (signal == SIGTERM)
                (void)launch_terminate_all(&s->run.launch);
        else if (signal == SIGKILL)
                (void)launch_signal(&s->run.launch, SIGKILL);
        return signal < 0 ? signal : 0;
}

static int take_appeared(void *data, nsrun_unused short revents) {
        struct supervised *s = data;

        run_take_appeared(&s->run);
        return 0;
}

static int take_denial(void *data, short revents) {
        struct supervised *s = data;

        run_take_denial(&s->run, revents);
        return 0;
}

static int take_typed_answer(void *data, nsrun_unused short revents) {
        struct supervised *s = data;

        question_take_line(&s->asking);
        return 0;
}

/* nsrun-net, and its filters of the SSH agent and of links, have something to ask; the filters wait while
 * another question is open. */
static int take_asked_name(void *data, nsrun_unused short revents) {
        struct supervised *s = data;

        question_take(&s->asking, s->run.network.life_fd);
        return 0;
}

static int take_asked_key(void *data, nsrun_unused short revents) {
        struct supervised *s = data;

        if (!s->asking.is_open)
                question_take_key(&s->asking, s->run.desktop.life_fd);
        return 0;
}

static int take_asked_link(void *data, nsrun_unused short revents) {
        struct supervised *s = data;

        if (!s->asking.is_open)
                question_take_link(&s->asking, s->run.desktop.links_fd);
        return 0;
}

static int take_report(void *data, nsrun_unused short revents) {
        struct supervised *s = data;
        struct launch_report report;
        int r = run_take_report(&s->run, &report, s->err);

        if (r <= 0)
                return r < 0 ? r : 1;
        if (report.kind == LAUNCH_STARTED)
                tell_started(s, &report);
        if (report.kind == LAUNCH_STARTED && s->pty)
                s->wants_terminal = true;
        if (report.kind == LAUNCH_STOPPED && s->pty)
                stop_with_terminal(s);
        else if (report.kind == LAUNCH_STOPPED)
                stop_too(s, report.status);
        return 0;
}

static int pass_typed(void *data, nsrun_unused short revents) {
        struct supervised *s = data;
        int signal = pty_take_input(s->pty);

        if (signal != 0)
                (void)launch_signal(&s->run.launch, signal);
        return 0;
}

static int pass_printed(void *data, nsrun_unused short revents) {
        struct supervised *s = data;

        if (pty_put_output(s->pty) != 0)
                (void)launch_signal(&s->run.launch, SIGHUP);
        return 0;
}

static int exchange(void *data, short revents) {
        struct supervised *s = data;

        pty_exchange(s->pty, revents);
        return 0;
}

/* While a person is asked (--net=ask) nothing that the command prints is shown, and nothing that is typed is
 * the command's. */
static void await_terminal(struct loop *l, struct supervised *s) {
        struct pty_events wanted;

        if (!s->pty || s->asking.is_open)
                return;
        pty_keep_end(s->pty);
        if (s->wants_terminal || pty_waits_behind(s->pty)) {
                s->wants_terminal = false;
                pty_take_terminal(s->pty);
        }
        wanted = pty_wanted(s->pty);
        loop_add(l, wanted.input ? s->pty->input : -1, POLLIN, pass_typed);
        loop_add(l, wanted.output ? s->pty->output : -1, POLLOUT, pass_printed);
        loop_add(l, wanted.master ? s->pty->master : -1, wanted.master, exchange);
        l->patience_ms = pty_patience(s->pty);
}

static int answer_file(void *data, enum file_answer answer, const struct file_wish *wish,
                       struct nsrun_error *err) {
        return run_answer_file(&((struct supervised *)data)->run, answer, wish, err);
}

static int take_asked_file(void *data, nsrun_unused short revents) {
        run_take_asked(&((struct supervised *)data)->run);
        return 0;
}

static void log_answered(void *data, const char *about, const char *what, const char *answer) {
        run_log_answer(&((struct supervised *)data)->run, about, what, answer);
}

/* Until pid 1 has reported how the command ended, or its pipe ends, which means that pid 1 is gone: after
 * the report of the command's end no other follows, and there is nobody to pass signals on to. */
static int tell_supervised(struct loop *l, void *data) {
        struct supervised *s = data;
        const struct asking *a = &s->asking;
        struct file_question file;
        bool asks = a->tty >= 0, is_free;

        if (s->run.has_exited)
                return 1;
        if (asks && !a->is_open && s->run.files && file_questions_first(s->run.files, &file)) {
                question_take_file(&s->asking, &file);
                if (!a->is_open)
                        drop_file_questions(s);
        }
        is_free = asks && !a->is_open;
        await_terminal(l, s);
        run_await_asker(&s->run, &l->patience_ms);
        loop_add(l, s->signal_fd, POLLIN, take_signals);
        loop_add(l, s->deadline.fd, POLLIN, take_deadline);
        loop_add(l, denials_fd(&s->run.launch, s->run.listener), POLLIN, take_denial);
        loop_add(l, protected_fd(&s->run.protected), POLLIN, take_appeared);
        loop_add(l, s->run.asked_fd, POLLIN, take_asked_file);
        loop_add(l, a->is_open ? a->tty : -1, POLLIN, take_typed_answer);
        /* A name waits while a question about a file is open. */
        loop_add(l,
                 asks && !a->has_ended && (is_free || a->about != ASKED_FILE) ? s->run.network.life_fd : -1,
                 POLLIN, take_asked_name);
        loop_add(l, is_free && !a->has_no_keys ? s->run.desktop.life_fd : -1, POLLIN, take_asked_key);
        loop_add(l, is_free && !a->has_no_links ? s->run.desktop.links_fd : -1, POLLIN, take_asked_link);
        loop_add(l, s->run.launch.report_fd, POLLIN, take_report);
        return 0;
}

/* ----------------------------------------------------------- what is told behind it */

/* Writes --report's lines.  The command has run, so that a failure only gives a warning. */
static void tell_denials(const struct supervised *s) {
        struct nsrun_error err = {0};

        if (denials_write(s->run.denials, s->params->report_fd, &err) < 0 ||
            (denials_watched(s->run.denials) &&
             watch_write(denials_watched(s->run.denials), s->params->report_fd, &err) < 0))
                (void)fprintf(stderr, "nsrun: %s: %s\n", err.what, error_words(err.error));
}

/* And those of the network, as lines of --report and events of --status-fd. */
static void tell_used(const struct supervised *s) {
        struct nsrun_error err = {0};

        if (network_report(&s->run.network, s->params->report_fd, false, &err) < 0 ||
            network_report(&s->run.network, s->params->status_fd, true, &err) < 0)
                (void)fprintf(stderr, "nsrun: %s: %s\n", err.what, error_words(err.error));
}

static void tell_killed(const struct supervised *s, int signal) {
        const struct launch *l = &s->run.launch;

        (void)fprintf(stderr, "nsrun: %s was killed by signal %d, and %s with it\n",
                      l->is_join || s->run.is_plain ? "the command's reaper" : "the sandbox's pid 1", signal,
                      s->run.session.pid > 0 ? "the session" : "the command");
}

/* Runs the plan, from the launch to the command's end; *ret is the command's wait(2) status. */
static int run_plan(struct supervised *s, const struct run_params *params, int *ret) {
        struct run *run = &s->run;
        int r, init_status;

        r = run_begin(s->plan, params, run, s->err);
        s->asking.answer_file = answer_file;
        s->asking.answered = log_answered;
        s->asking.data = s;
        s->asking.is_session = s->plan->join;
        s->asking.opener.program = s->plan->browser;
        s->asking.init = s->plan->join ? s->plan->join->init.pid : run->launch.pid;
        s->asking.reaper = run->launch.pid;
        if (r >= 0 && s->params->timeout > 0)
                r = deadline_begin(&s->deadline, s->params->timeout, s->err);
        if (r >= 0)
                r = loop_run(tell_supervised, s);
        if (r < 0)
                r = error_set(s->err, NSRUN_STAGE_SUPERVISE, r, NULL, "nsrun can't wait", NULL);
        question_end(&s->asking);
        if (s->pty)
                pty_finish(s->pty);
        if (r < 0)
                return r;
        init_status = run_wait(run);
        if (!run->has_exited && !WIFSIGNALED(init_status))
                return error_set(s->err, NSRUN_STAGE_SUPERVISE, -EIO, NULL, "pid 1 ended without a report",
                                 NULL);
        if (!run->has_exited)
                run->status = init_status;
        run->timed_out = s->deadline.was_told;
        if (run->timed_out)
                (void)fprintf(stderr,
                              s->deadline.was_forced ? "nsrun: " DEADLINE_TOLD "\n"
                                                     : "nsrun: " DEADLINE_TOLD_GENTLY "\n",
                              s->params->timeout);
        else if (!run->has_exited)
                tell_killed(s, WTERMSIG(init_status));
        if (run->denials && s->params->report_fd >= 0)
                tell_denials(s);
        tell_used(s);
        if (s->params->explains)
                warn_unless_told(reasons_tell(run, s->plan, s->params->status_fd));
        if (s->params->watched)
                s->params->watched(s->params->data, run);
        if (s->params->status_fd >= 0)
                warn_unless_told(status_exited(s->params->status_fd, run->status,
                                               run_ran_out_of_memory(run, false), run->timed_out));
        *ret = run->status;
        return 0;
}

/* Refuses to start a command if the JSON lines that are asked for can't be written to `fd`. */
static int check_output_fd(int fd, const char *option, struct nsrun_error *err) {
        struct stat st;
        int r = fd < 0 ? 0 : sys_fstat(fd, &st);

        return r < 0 ? error_setf(err, NSRUN_STAGE_USAGE, r, NULL, NULL, "%s names no open descriptor",
                                  option)
                     : 0;
}

/* The descriptor (0 to 2) of nsrun's controlling terminal, if nsrun is in its foreground; else -1. */
static int find_terminal(void) {
        for (int fd = 0; fd <= 2; fd++)
                if (terminal_group(fd) == getpgrp())
                        return fd;
        return -1;
}

/* Blocks the signals that are passed on, which s->signal_fd gives from here on. */
static int take_over_signals(struct supervised *s) {
        struct sigaction standard = {.sa_handler = SIG_DFL};
        /* nsrun takes the terminal back while it is in the background: an unblocked SIGTTOU would
         * stop it. */
        const sigset_t terminal_output = SIGNALS(SIGTTOU);
        sigset_t set;

        /* If a careless parent left SIGCHLD ignored, the kernel would discard the child's status. */
        (void)sigaction(SIGCHLD, &standard, NULL);
        passed_on(&set);
        (void)sys_sigmask(SIG_BLOCK, &terminal_output, NULL);
        return s->signal_fd = signals_open(set, s->err);
}

/* A session's command without a terminal, or one that shares it, leaves the questions to others. */
static int begin_asking(struct supervised *s, bool *ret_can_ask) {
        int r;

        if (!s->plan->join)
                return question_begin(&s->asking,
                                      s->params->asks              ? ASKED_FILE
                                      : plan_asks(s->plan)         ? ASKED_NAME
                                      : plan_asks_of_keys(s->plan) ? ASKED_KEY
                                                                   : ASKED_LINK,
                                      s->err);
        r = s->plan->new_session ? question_begin(&s->asking, ASKED_NAME, NULL) : -ENXIO;
        *ret_can_ask = r >= 0;
        return 0;
}

/* Which of the command's streams is the terminal of its own. */
static int find_own_terminal(const struct pty *pty) {
        int fd = 0;

        while (fd < 2 && pty->stdio[fd] < 0)
                fd++;
        return fd;
}

int supervise(struct nsrun_plan *plan, const struct supervise_params *params, int *ret_status,
              struct nsrun_error *err) {
        struct supervised s = {.run = RUN_INIT,
                               .params = params,
                               .plan = plan,
                               .signal_fd = -EBADF,
                               .pty = params->pty,
                               .terminal_fd = plan->new_session || params->pty ? -1 : find_terminal(),
                               .deadline = DEADLINE_INIT,
                               .asking = ASKING_INIT,
                               .err = err};
        const bool watches = params->explains || params->watched;
        struct standard_state standard = {0};
        struct run_params run_params = {
                .launch = {.stdio = s.pty ? s.pty->stdio : NULL,
                           .has_own_terminal = s.pty,
                           .pass_fds = params->pass_fds,
                           .n_pass_fds = params->n_pass_fds,
                           .terminal_fd = s.pty ? find_own_terminal(s.pty) : s.terminal_fd,
                           .wants_started = params->status_fd >= 0 || s.pty,
                           .wants_denials = params->report_fd >= 0 || watches,
                           .watches = watches,
                           .dies_with_thread = true,
                           .command_line = params->command_line,
                           .command_line_size = params->command_line_size},
                .owns_pass_fds = true,
                .watched_by = params->watched_by,
                .reads_prints = params->explains,
                .can_ask = true,
                .asks_files = params->asks,
                .can_ask_of_keys = true,
                .may_move = true,
                .note = tell_note,
                .data = &s,
        };
        int r, status = 0;

        r = check_output_fd(params->status_fd, "--status-fd", err);
        if (r >= 0)
                r = check_output_fd(params->report_fd, "--report", err);
        if (r >= 0 &&
            (params->asks || plan_asks(plan) || plan_asks_of_keys(plan) || plan_asks_of_links(plan)))
                r = begin_asking(&s, &run_params.can_ask);
        run_params.asks_files_here = s.asking.tty >= 0;
        s.asking.screen = s.pty ? &s.pty->screen : NULL;
        if (r >= 0)
                r = take_over_signals(&s);
        if (r < 0) {
                question_end(&s.asking);
                return r;
        }
        standard_save(&standard);
        r = run_plan(&s, &run_params, &status);
        question_end(&s.asking);
        run_end(&s.run);
        give_terminal(&s, getpgrp());
        standard_restore(&standard);
        close_fdp(&s.signal_fd);
        deadline_end(&s.deadline);
        if (r < 0) {
                explain_missing_program(plan, err);
                supervise_report_failure(params->status_fd, err);
                return r;
        }
        *ret_status = s.deadline.was_told   ? EXIT_TIMED_OUT
                      : s.was_hung_up       ? 128 + SIGTERM
                      : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                            : WEXITSTATUS(status);
        return 0;
}

void supervise_report_failure(int status_fd, const struct nsrun_error *err) {
        if (status_fd >= 0)
                (void)status_failed(status_fd, err);
}

int supervise_failure_status(const struct nsrun_error *err) {
        if (err->stage != NSRUN_STAGE_EXEC)
                return 125;
        if (err->error == ENOENT || err->error == ENOTDIR)
                return 127;
        return 126;
}
