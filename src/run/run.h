/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One launch with all that surrounds it: its run directory, its cgroup, the watch for OOM kills,
 * the questions about denied calls, its reports.  Used by the nsrun program (supervise.c), the
 * library (sandbox.c), an agent's command (agent/command.c) and a session's monitor.  Changes no
 * signals and no globals. */
#pragma once

#include "carry/agent_state.h"
#include "carry/versions.h"
#include "desktop.h"
#include "explain/denials.h"
#include "head_moved.h"
#include "history/history.h"
#include "launch/reopen.h"
#include "network.h"
#include "oom.h"
#include "run_directory.h"
#include "sweep/gitdirs.h"
#include "sweep/hidden_replaced.h"
#include "sweep/home_report.h"
#include "sweep/overlay_marks.h"
#include "sweep/protected_links.h"
#include "widen/widen_ask.h"

struct run;
struct run_params {
        /* What the caller decides of the launch.  run_begin() fills in the run directory, the
         * cgroup and the limit of processes. */
        struct launch_params launch;
        bool owns_pass_fds; /* run_begin() closes the passed descriptors as soon as the command has its own
                             */
        int journal_dir;    /* network_begin()'s, where has_journal_dir */
        bool has_journal_dir;
        const struct nsrun_plan
                *watched_by;  /* by which plan a watched call is of interest; NULL: the run's own */
        bool reads_prints;    /* what a watched command prints on its standard error is kept (printed.h) */
        const char *session;  /* which session's sandbox it is; NULL: none's */
        bool notes_later;     /* the caller makes run_note_environment()'s notes, where it wants them */
        bool can_ask;         /* asking.h's questions about names are read and answered, */
        bool can_ask_of_keys; /* and its questions about keys, and those about links */
        bool asks_files;      /* struct run's `files` are asked about, */
        bool asks_to_read;    /* but not what is to be written, */
        bool asks_files_here; /* by the caller, at its terminal; else by asked_files.h, */
        /* which calls this first, with `ask_data`, if it isn't NULL and the command hasn't ended;
         * FILE_UNASKED: it can't ask. */
        enum file_answer (*ask_file)(struct run *run, const struct file_question *q, struct file_wish *wish,
                                     void *data);
        void *ask_data;
        bool may_move;           /* cgroup_prepare()'s may_move */
        bool watches_all_memory; /* OOM kills are watched for also where the run has no cgroup with a memory
                                    limit */
        /* Called with each choice that was left to the start, and how it came out: 0 or -errno.
         * NULL: the notes are kept as lines in struct run's `notes`. */
        int (*note)(void *data, const struct nsrun_error *note);
        /* Called with the cause before nsrun itself kills what it can't keep from the command; or NULL. */
        void (*ends)(void *data, const struct nsrun_error *why);
        void *data;
};

struct run {
        struct launch launch;
        struct rundir rundir;
        struct cgroup cgroup;
        struct oom_watch memory;
        struct gitdirs gitdirs;
        struct kept_by *kept_by;
        struct protected_names protected;
        struct marks marks;
        struct head_moved head;
        struct carried carried;
        struct versions versions;
        struct dropped dropped;
        struct network network;
        struct desktop desktop;
        struct history history;
        struct reopened streams;
        char **hidden;        /* as hidden_begin() has them */
        uint64_t n_processes; /* the bound on processes by RLIMIT_NPROC; 0: none */
        struct denials *denials;
        struct file_questions *files; /* NULL: nobody is asked */
        bool asks_files_here;         /* asked_files.h has these: */
        enum file_answer (*ask_file)(struct run *run, const struct file_question *q, struct file_wish *wish,
                                     void *data);
        void *ask_data;
        int record_fd; /* the folder of the joined session's record, which is the plan's; or -EBADF */
        int asked_fd;  /* by which a question is put, or a turn waited for; or -EBADF */
        bool is_put, has_told_unseen, has_told_many, has_told_last;
        uint64_t look_ms; /* when who is asked is looked at again, of sys_now_ms() */
        int listener; /* the descriptor that gives the kernel's questions about denied calls; or -EBADF */
        int shown;    /* shown_begin()'s descriptor; or -errno */
        struct killed killed; /* in the run directory `record_path`, the plan's or its own; */
        char *record_path;    /* or NULL: it has none */
        char **degraded;      /* base/degraded.h's entries: the plan's, and what its launch has found */
        char **notes;         /* one line for each note, by nsrun_error_format(); NULL: there is none */
        int (*note)(void *data, const struct nsrun_error *note);
        void (*ends)(void *data, const struct nsrun_error *why);
        void *data;
        char *joined;                  /* the session's id; or NULL */
        struct record_process session; /* Pid 1 of the joined session, which is killed if this command's
                                          reaper is; pid 0: it isn't. */
        bool is_plain;                 /* there is no sandbox */
        struct launch_held held;       /* of a sandbox of its own; for who grants, too */
        int home;        /* --home's folder, locked while it is shown (cli/home.c); or -EBADF */
        bool has_failed; /* its launch has */
        bool has_exited; /* the command has ended */
        bool timed_out;  /* at its deadline */
        bool is_alone;   /* and nothing is alive in the sandbox but its pid 1 */
        bool is_gone;    /* the sandbox is gone, or in a session the command's reaper */
        int status;      /* the command's, as wait(2) has it */
        int reaped;      /* and that of pid 1 or the reaper */
};

#define RUN_INIT                                                                                         \
        (struct run) {                                                                                   \
                .launch = LAUNCH_INIT, .rundir = RUNDIR_INIT, .cgroup = CGROUP_INIT,                     \
                .memory = OOM_WATCH_INIT, .versions = VERSIONS_INIT, .streams = REOPENED_INIT,           \
                .network = NETWORK_INIT, .desktop = DESKTOP_INIT, .listener = -EBADF, .shown = -EBADF,   \
                .record_fd = -EBADF, .asked_fd = -EBADF, .killed = KILLED_INIT, .history = HISTORY_INIT, \
                .home = -EBADF, .held = LAUNCH_HELD_INIT, .is_gone = true                                \
        }

/* Makes what the plan needs on disk and of cgroups, and launches it.  What goes wrong in the child
 * is reported by run_take_report().  After a failure nothing is left, and run_end() has nothing to
 * do. */
int run_begin(const struct nsrun_plan *plan, const struct run_params *params, struct run *ret,
              struct nsrun_error *err);

/* Tells a note, or keeps it.  -errno where it can't be. */
int run_take_note(struct run *run, const struct nsrun_error *note, struct nsrun_error *err);

/* asked_files.c: has questions asked about files of the plan's command.  -ENOMEM. */
int run_begin_files(struct run *run, const struct nsrun_plan *plan, const struct run_params *params);
/* Answers the first question about a file, and notes what there is to say of it; has what
 * waits answered, or puts it, or refuses it where nobody is there (run_take_denial() does; where a terminal
 * is asked that asks); something has come by asked_fd; refuses what is asked now. */
int run_answer_file(struct run *run, enum file_answer answer, const struct file_wish *wish,
                    struct nsrun_error *err);
void run_ask_files(struct run *run);
void run_take_asked(struct run *run);
/* For who waits in ask_file, again and again: waits a little while other calls go on.  False: no call waits
 * for the answer any more, or pid 1 has something to report. */
bool run_waits_for_file(struct run *run);
void run_drop_files(struct run *run);
/* Before a wait: who is asked may have been stopped, and others are to be asked. */
void run_await_asker(struct run *run, int *patience_ms);

/* start_notes.c: that the command has no version of its own of what it would have one of; and, with
 * `n_processes` set, what a plan without a boundary, a bound by RLIMIT_NPROC and a nsrun that the command
 * may replace have to say. */
int run_note_no_version(struct run *run, const struct nsrun_plan *plan, struct nsrun_error *err);
int run_note_start(struct run *run, const struct nsrun_plan *plan, struct nsrun_error *err);
/* Notes what the command doesn't get of the environment, and what that points at which the command doesn't
 * find.  run_begin() does, unless it is told not to. */
int run_note_environment(struct run *run, const struct nsrun_plan *plan, struct nsrun_error *err);

/* Waits for one report and reads it.  1: *ret is a report, and no failure; 0: pid 1 is gone, and no
 * report follows; -errno with *err filled: the launch has failed, or its reports can't be read. */
int run_take_report(struct run *run, struct launch_report *ret, struct nsrun_error *err);

/* Waits until the command has been exec'ed, or a session's sandbox is built; *ret (may be NULL) is
 * the report of that.  Needs launch_params' wants_started. */
int run_await_start(struct run *run, struct launch_report *ret, struct nsrun_error *err);

/* For questions about denied calls: the function to call with the events that poll(2) gave for
 * denials_fd(). */
void run_take_denial(struct run *run, int events);

/* The same for protected names that the command makes, and those that the host replaces, by protected_fd();
 * and for these alone (POLLPRI), by protected_covers_fd(), as protected_cover() has them. */
void run_take_appeared(struct run *run);
void run_cover_again(struct run *run, bool has_changed);

/* Whether the kernel killed a process of the run for want of memory.  To be asked once, before
 * run_end().  If others share the counter the answer is yes only where `was_killed`: SIGKILL has
 * ended the command. */
bool run_ran_out_of_memory(struct run *run, bool was_killed);

/* Waits until the sandbox is gone; in a session, until the command's reaper is, unless it stays for
 * what the command left behind.  Returns the wait(2) status of pid 1 or the reaper; 0 if it can't
 * be known. */
int run_wait(struct run *run);

/* Writes down what a person was asked, and the answer, where the run is logged. */
void run_log_answer(struct run *run, const char *about, const char *what, const char *answer);

/* Kills all that still runs in the sandbox and waits for it; all notes have been made then. */
void run_kill(struct run *run);

/* The same; then removes the run directory and the cgroup.  Does nothing to a RUN_INIT, which it leaves
 * behind. */
void run_end(struct run *run);
