/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pid 1 of a sandbox, or the reaper of a command that has joined a session: it starts the command, passes
 * signals on, reaps, and reports the end.  What it needs is decided before the clone and is plain data, so
 * that nsrun-init can be given it as bytes.  It knows no plan. */
#pragma once

#include "base/names.h"
#include "base/str.h"
#include "base/sys.h"
#include "identity.h"
#include "report.h"

/* Which session and process group the command has, seen from the caller's terminal. */
enum init_terminal {
        INIT_TERMINAL_SESSION, /* it has a session of its own (setsid(2)) */
        INIT_TERMINAL_GROUP,   /* a process group of its own in the caller's session */
        INIT_TERMINAL_CALLER,  /* the caller's own session and group: nothing is changed */
        INIT_TERMINAL_OWN,     /* a terminal of its own, of which the reaper's session is: so the command's
                                  process group has a parent in its session, and ^Z stops it */
};

/* What becomes of processes that the command has started when the command ends. */
enum init_leftovers {
        INIT_LEFTOVERS_KILL,   /* killed before the end is reported */
        INIT_LEFTOVERS_LEAVE,  /* they live on in the session; killed if CONTROL_END came before */
        INIT_LEFTOVERS_LINGER, /* they live on, and this process stays until they are gone */
        INIT_LEFTOVERS_REAP, /* as LINGER, and the report of the command's end says whether there are any */
};

/* One of the command's rlimits. */
struct init_limit {
        int resource;
        struct sys_rlimit value;
};

/* What a reaper needs.  Plain data, whose first three members let another version of nsrun-init
 * recognise it and report that. */
struct init {
        uint32_t size;       /* of the record's fixed part (blueprint.h) */
        uint32_t version;    /* INIT_VERSION */
        int report_fd;       /* write end */
        int supervisor_fd;   /* pidfd of the process that started the launch */
        int control_fd;      /* the control channel; of a raw plan -EBADF */
        int lock_fd;         /* the run directory's lock, open for as long as the mounts live; or -1 */
        int listener_socket; /* where the listener of denied calls is sent, if it is wanted; else -EBADF */
        int layers_fd;       /* the folder of overlays' layers that are in memory; or -EBADF */
        int home_fd; /* the sandbox's own home, to be looked at when the command has ended; or -EBADF */
        uint64_t home_files; /* how many files and folders the plan makes there, itself counted */
        int terminal_fd;     /* 0, 1 or 2: the terminal, given to the command's process group; or -1 */
        enum init_terminal terminal;
        enum init_leftovers leftovers;
        bool has_command;   /* false for a session's pid 1: it ends on CONTROL_RELEASE, once alone */
        bool wants_started; /* the start is reported (LAUNCH_STARTED) */
        bool has_own_stdio; /* 0, 1 and 2 are copies for the command, closed when the command has them */
        bool is_plain;      /* there is no sandbox: descendants.h instead of kill(-1) */
        bool is_nested;     /* pid 1 of a pid namespace below the session's, whose /proc has other numbers
                               for its processes; stays for those who live on */
        bool is_outside;    /* not in the session's pid namespace: reaper_outside.h */
        bool kills_when_released; /* CONTROL_RELEASE ends leftovers, too */
        bool kills_on_failure;    /* this process's own end doesn't end what the command has started */
        bool outlives_supervisor;
        bool refuses_degraded;     /* what can be had in a lesser way alone is a refusal */
        bool command_dies_with_it; /* PR_SET_PDEATHSIG for the command, if no pid namespace ends it */
        uint64_t command_scopes;   /* of a Landlock domain that the command enters (harden.h); 0: none */
        bool refuses_magic_links;  /* no command may be nsrun itself, through /proc/self/exe */
        bool runs_scripts;         /* a file without "#!" is a shell script */
        bool sheds_inherited; /* once the command runs, all descriptors but this process's own are closed */
        mode_t umask;         /* the caller's, for the command */
        sigset_t mask;        /* the command's */
        struct launch_namespaces namespaces; /* for the report of the start */
        unsigned filter_flags;               /* SECCOMP_FILTER_FLAG_* */
        bool sends_listener;                 /* the command itself sends its root folder and the listener */
        bool filters_by_prctl;               /* of a raw plan, whose first filter may allow no other call */
        uint32_t n_limits;                   /* number of rlimits that are set right before the exec */
        struct init_limit limits[RLIMITS_COUNT];
        /* For a process that has yet to enter a session (enter.h). */
        int session_fd;  /* a pidfd of the session's pid 1; or -EBADF */
        int session_pid; /* and its number */
        int reaper_socket;
        uint64_t session_namespaces;
        bool session_is_scoped;        /* the reaper enters a Landlock domain */
        int proc_fd;                   /* the host's /proc, where is_outside; or -EBADF */
        struct init_identity identity; /* of a raw plan */
};

/* How many members of struct init are descriptors that nsrun-init gets. */
#define INIT_DESCRIPTORS 12

/* How many descriptors a reaper has of its own, at most. */
#define INIT_OWN (INIT_DESCRIPTORS + 2)

/* Raised with every change of the record, and of struct launch_report. */
#define INIT_VERSION 12U

/* A reaper: the process that goes by a struct init. */
struct reaper {
        struct init init;
        char *const *argv;
        char *const *env;
        const char *file;                 /* the file that is executed: argv[0], or another name for it */
        const struct sock_fprog *filters; /* in the order of their installation */
        size_t n_filters;
        const int *passed;
        size_t n_passed;
        int *held; /* descriptors that are only kept open; with room for INIT_OWN more */
        size_t n_held;
        const char *directory; /* which the command enters first; NULL: its reaper has */
        char *stack_top;       /* the command's, between vfork and exec */
        char **shell_argv;     /* room for "/bin/sh", a script and argv[1…] */
        /* The reaper's state while it runs. */
        pid_t command; /* 0: none, or it has ended */
        int signal_fd;
        int listener;   /* the command's seccomp listener, a number in their shared table; or -EBADF */
        int exec_error; /* the errno of the vforked child's exec */
        bool has_sent_listener; /* the vforked child has */
        bool is_alone;          /* no process that the command has started is alive */
        bool must_end;          /* leftovers end, too; a session's pid 1 ends once it is alone */
        uint64_t mark; /* where init.is_outside: the inode of the command's uts namespace; 0: it has none */
        volatile pid_t busy; /* where init.is_outside: not 0 while the command shares this memory */
        char exec_path[4096];
        struct nsrun_error error;
};

/* What is counted up in control_fd.  END: all that a joined command has started is to end.  TERMINATE: every
 * process is to get a SIGTERM.  RELEASE: a joined command's reaper is waited for no more; a session's pid 1
 * is to end when it is alone.  No signals: a reaper that is pid 1 of its namespace can be sent these from
 * inside, and any command may fill the user's signal queue (RLIMIT_SIGPENDING), after which nothing tells
 * who sent a signal, or none that carries a value gets through. */
#define CONTROL_END       UINT64_C(1)
#define CONTROL_TERMINATE (UINT64_C(1) << 16)
#define CONTROL_RELEASE   (UINT64_C(1) << 32)

/* Lives the rest of this process's life when everything is built: starts the command, reaps,
 * reports. */
_Noreturn void init_finish(struct reaper *p);
/* Collects what has ended.  Whether any child of this process lives: what the command has started. */
bool init_has_others(void);

/* stop_job.c: SIGSTOP for all that runs here; returns when none of them can read from the terminal any
 * more, or after a second. */
void stop_all(const struct reaper *p);
