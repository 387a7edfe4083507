/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the sandbox tests share: a scratch tree, running the real program in it, comparing the tree
 * before and after, and finding what a run left behind. */
#pragma once

#include "../test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>

/* The folders of one test.  HOME, XDG_CACHE_HOME, XDG_RUNTIME_DIR and XDG_STATE_HOME name the last four
 * of them for everything that the test runs. */
struct site {
        char *root;    /* holds the other folders, at a place that no sandbox shows by itself */
        char *project; /* the --project of runs */
        char *outside; /* a folder in which nothing may change from inside */
        char *home;
        char *cache;
        char *runtime;
        char *state;
        char *mounts; /* the mount table when the test began */
};

/* cmocka's setup and teardown: *state is a struct site.  The teardown fails the test if a process,
 * a mount, a run directory or a session's record is left. */
int site_setup(void **state);
int site_teardown(void **state);
#undef TEST
#define TEST(name) TEST_WITH(name, site_setup, site_teardown)

/* folder/name, for the caller to free. */
char *path_of(const char *folder, const char *name);
/* printf, for the caller to free. */
char *text_of(const char *format, ...) nsrun_printf(1, 2);
/* A copy of `text` with `with` wherever `mark` is. */
char *replaced(const char *text, const char *mark, const char *with);
/* Make folder/name, and the folders in between; the folder must be there. */
void make_folder(const char *folder, const char *name);
void make_file(const char *folder, const char *name, const char *text);
void make_link(const char *folder, const char *name, const char *text);
/* The whole of a file, NULL where there is none. */
char *file_text(const char *path);

/* A sanitized program starts ten times slower, and prints a warning of its own if it has no /proc. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#if __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#endif
/* ThreadSanitizer starts a thread in every program, and unshare(CLONE_NEWUSER) fails in a program
 * with threads. */
#ifdef __SANITIZE_THREAD__
#define IS_THREAD_SANITIZED 1
#else
#define IS_THREAD_SANITIZED 0
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

/* Whether a test of hundreds of cases takes some of them only: as root, and in sanitized builds. */
bool takes_samples(void);

/* Of a run's system calls, each of which is made to fail with `error` once: every how manyth. */
unsigned fault_step(int error);

/* How long anything is waited for, in seconds; only a hang gets that far. */
extern int deadline_seconds;

/* For what has no descriptor that could be polled: rests for a moment between two looks.  False once
 * deadline_seconds have passed since the first call with the same *since, which begins as 0. */
bool keep_waiting(int64_t *since);

/* What a test gives a command that has something to do before its deadline, in seconds: the first that is
 * long enough.  So it takes a second where nothing else runs, and proves the same where much does. */
extern const char *const deadlines[3];

/* Whether the command is to be run again, with deadlines[*i]: its deadline came before it had printed
 * `mark`, and there is a longer one. */
static inline bool was_too_short(const char *printed, const char *mark, size_t *i) {
        return !strstr(printed, mark) && *i + 1 < ARRAY_SIZE(deadlines) && ++*i > 0;
}

/* How a program is run.  All but argv may be left zero. */
struct request {
        const char *const *argv;
        const char *cwd;
        int standard_input;           /* 0: /dev/null */
        void (*in_child)(void *data); /* called in the child just before the exec */
        void *data;
};

struct running {
        pid_t pid;
        int pidfd;
        int out; /* the reading ends of its outputs */
        int err;
};

struct outcome {
        int status; /* the exit status, or 1000 plus the signal that ended it */
        char *out;
        char *err;
};

void spawn(const struct request *request, struct running *ret);
/* One line of the running program's standard output, with its newline; fails the
 * test after a long while. */
char *read_line(int fd);
/* The same, which is to be that. */
void await_line(int fd, const char *expected);
/* Waits until no process has the program's outputs open: a process that outlives the run fails the
 * test. */
void finish(struct running *running, struct outcome *ret);
void run(const struct request *request, struct outcome *ret);
void outcome_clear(struct outcome *o);
#define _cleanup_outcome_ _cleanup_(outcome_clear)

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_OPTIONS   ((const char *const[]){NULL})
/* The words of each list, one behind the other.  The caller frees the array, not the words. */
const char **join_words(const char *const *const *lists);
#define words_of(...) join_words((const char *const *const[]){__VA_ARGS__, NULL})
/* `nsrun WORD…` from a folder, and from the project. */
void run_words(const char *cwd, struct outcome *ret, const char *const *words);
#define NSRUN_IN(cwd, outcome, ...) run_words(cwd, outcome, OPTIONS(__VA_ARGS__))
#define NSRUN(site, outcome, ...)   NSRUN_IN((site)->project, outcome, __VA_ARGS__)
/* `nsrun run --project PROJECT ARGUMENT…` from the site's root. */
void run_nsrun(const struct site *s, struct outcome *ret, const char *const *arguments);
#define RUN(site, outcome, ...) run_nsrun(site, outcome, (const char *const[]){__VA_ARGS__, NULL})
/* Runs a shell script in a sandbox without any option; and the same script on the host. */
void run_inside(const struct site *s, struct outcome *ret, const char *script);
void run_outside(const struct site *s, struct outcome *ret, const char *script);
/* Until the coarse clock has passed this moment: what was written in the tick in which a run begins is taken
 * for that run's.  That the coarse clock has gone on is not enough: it lags by up to a tick, and since Linux
 * 6.13 a file that was looked at gets the fine clock's time. */
static inline void await_tick(void) {
        struct timespec begun, now;

        (void)clock_gettime(CLOCK_REALTIME, &begun);
        do
                (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
        while (now.tv_sec < begun.tv_sec || (now.tv_sec == begun.tv_sec && now.tv_nsec <= begun.tv_nsec));
}
/* The path of the `nsrun` that is tested. */
const char *program(void);
/* Whether program() runs each command in a session of its own, and whether it is a host of the
 * library (in-session.c, in-library.c). */
bool in_a_session(void);
bool by_the_library(void);
/* The line that in-library.c prints when its sandbox was killed, where nsrun names the signal. */
#define KILLED_BY_THE_LIBRARY "nsrun: the sandbox was killed\n"
/* The argv for run(): the program, "run", "--project", PROJECT, then `arguments`.  The caller frees
 * the array, not the strings. */
const char **nsrun_argv(const struct site *s, const char *const *arguments);

/* Fails, with all that the program printed, unless it ended with `status`. */
void expect_status(const struct outcome *o, int status);
void expect_out(const struct outcome *o, const char *text);
void expect_in(const char *text, const char *part);
void expect_not_in(const char *text, const char *part);
/* Expects the status, exactly one line on standard error, and nothing on standard output. */
void expect_refusal(const struct outcome *o, int status, const char *line);
/* The same of a refusal of which the host is the cause: then a second line points at doctor, but not from a
 * host of the library. */
void expect_host_refusal(const struct outcome *o, int status, const char *line);
#define SEE_DOCTOR "\nnsrun: see nsrun doctor"

/* What a refusal says of a seccomp filter around nsrun. */
#define FILTER_REFUSES(call)                                                                    \
        "a seccomp filter, as containers and services have one, refuses " call                  \
        ": start the container with a profile that allows it (docker, podman: --security-opt "  \
        "seccomp=unconfined; Kubernetes: a seccompProfile of type Unconfined), or the service " \
        "with it in SystemCallFilter="
#define FILTER_REFUSES_THEM(what, service)                                                         \
        "a seccomp filter, as containers and services have one, refuses " what                     \
        ": Operation not permitted; start the container with a profile that allows them (docker, " \
        "podman: --security-opt seccomp=unconfined; Kubernetes: a seccompProfile of type "         \
        "Unconfined), or the service " service
#define FILTER_REFUSES_NAMESPACES FILTER_REFUSES_THEM("user namespaces", "without RestrictNamespaces=")
/* What follows it where parts of /proc are masked. */
#define MASKED_TOO                                                                                           \
        "; parts of its /proc are masked, too: add docker's --security-opt systempaths=unconfined (podman: " \
        "unmask=ALL; Kubernetes: procMount: Unmasked), or choose --proc=bind (which shows the host's processes) or --proc=none"
#define FILTER_REFUSES_MOUNTS \
        FILTER_REFUSES_THEM("mounts in a user namespace", "with @mount in SystemCallFilter=")
/* Whether a refusal is one line, but for the one that points at doctor. */
static inline bool is_one_line(const char *text) {
        const char *end = strchr(text, '\n');

        return startswith(text, "nsrun: ") && text[7] != '\n' && end &&
               (end[1] == '\0' || streq(end, SEE_DOCTOR "\n"));
}

/* Everything below `path` as text, sorted: names, inodes, types, modes, owners, times, link
 * texts, hashes of contents. */
char *snapshot(const char *path);
/* Takes a new snapshot, frees `before`, and fails with the lines that differ. */
void expect_unchanged(const char *path, char *before);
/* Prints the lines of one text that the other hasn't. */
void print_missing(const char *sign, const char *text, const char *other);

/* After nsrun was killed: collects the processes that it left to this subreaper, once the kernel
 * has ended them. */
void collect_orphans(void);

/* What runs have left, in words, or NULL: children of this process or of a dead child, new mounts,
 * run directories, records of sessions.  A session's monitor counts as a child of a dead child. */
char *leftovers(const struct site *s);

bool has_program(const char *name);
/* Whether this kernel's Landlock has scopes: ABI 6, Linux 6.12. */
static inline bool has_scopes(void) {
        return syscall(SYS_landlock_create_ruleset, NULL, (size_t)0,
                       1U /* LANDLOCK_CREATE_RULESET_VERSION */) >= 6;
}
/* Skips the running test and says why. */
#define skip_because(...)                   \
        do {                                \
                print_message(__VA_ARGS__); \
                print_message("\n");        \
                skip();                     \
        } while (0)
/* The same where the machine has no way into the kernel for programs of 32 bits, found without nsrun: no
 * package and no setting mends that, and scripts/check tells it and goes on.  Whatever else is missing is a
 * skip. */
#define skip_as_lacking(...) skip_because("lacking: " __VA_ARGS__)
