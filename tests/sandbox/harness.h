/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the sandbox tests share: a scratch tree, running the real program in it,
 * comparing the tree before and after, and finding what a run left behind. */
#pragma once

#include "../test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>

/* A test's own corner of the host.  HOME, XDG_CACHE_HOME and XDG_RUNTIME_DIR name the last
 * three for everything that is run meanwhile. */
struct site {
        char *root;    /* holds the others, and lies where no sandbox shows anything by itself */
        char *project; /* what runs get as --project */
        char *outside; /* what no test may change from inside */
        char *home;
        char *cache;
        char *runtime;
        char *mounts; /* as they were when the test began */
};

/* For cmocka's setup and teardown: *state is a struct site.  The teardown fails
 * the test where a process, a mount, a run directory or a session's record is left. */
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
/* Make folder/name; the folder must be there. */
void make_folder(const char *folder, const char *name);
void make_file(const char *folder, const char *name, const char *text);
void make_link(const char *folder, const char *name, const char *text);
/* The whole of a file, NULL where there is none. */
char *file_text(const char *path);

/* A sanitized program starts ten times slower, and says a word of its own where it
 * has no /proc. */
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
/* ThreadSanitizer has a thread of its own in every program, and unshare(CLONE_NEWUSER) wants one. */
#ifdef __SANITIZE_THREAD__
#define IS_THREAD_SANITIZED 1
#else
#define IS_THREAD_SANITIZED 0
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

/* Whether what goes through hundreds of cases takes some of them: as root, and sanitized.  An
 * ordinary user's run takes all. */
bool takes_samples(void);

/* How long anything is waited for, in seconds; only a hang gets that far. */
extern int deadline_seconds;

/* How something is run.  All but argv may be left zero. */
struct request {
        const char *const *argv;
        const char *cwd;
        int standard_input;           /* 0: /dev/null */
        void (*in_child)(void *data); /* just before exec */
        void *data;
};

struct running {
        pid_t pid;
        int pidfd;
        int out; /* read ends */
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
/* Waits until all holders of its outputs are gone: a process that outlives the run
 * fails the test. */
void finish(struct running *running, struct outcome *ret);
void run(const struct request *request, struct outcome *ret);
void outcome_clear(struct outcome *o);
#define _cleanup_outcome_ _cleanup_(outcome_clear)

/* `nsrun run --project PROJECT ARGUMENT…` from the site's root. */
void run_nsrun(const struct site *s, struct outcome *ret, const char *const *arguments);
#define RUN(site, outcome, ...) run_nsrun(site, outcome, (const char *const[]){__VA_ARGS__, NULL})
/* A shell script inside, with no option at all; and the same on the host. */
void run_inside(const struct site *s, struct outcome *ret, const char *script);
void run_outside(const struct site *s, struct outcome *ret, const char *script);
/* `nsrun` itself. */
const char *program(void);
/* Whether program() runs each command in a session of its own, and whether it is a host of the
 * library (in-session.c, in-library.c). */
bool in_a_session(void);
bool by_the_library(void);
/* What in-library.c says where nsrun tells of the signal. */
#define KILLED_BY_THE_LIBRARY "nsrun: the sandbox was killed\n"
/* The array for run(): the program, "run", "--project", PROJECT, then `arguments`.
 * The caller frees the array alone. */
const char **nsrun_argv(const struct site *s, const char *const *arguments);

/* Fail with all that was printed. */
void expect_status(const struct outcome *o, int status);
void expect_out(const struct outcome *o, const char *text);
void expect_in(const char *text, const char *part);
void expect_not_in(const char *text, const char *part);
/* Status, exactly one line on stderr, nothing on stdout. */
void expect_refusal(const struct outcome *o, int status, const char *line);

/* Everything below `path` as text, sorted: names, inodes, types, modes, owners, times, link
 * texts, hashes of contents. */
char *snapshot(const char *path);
/* Takes a new one, frees `before`, and fails with the lines that differ. */
void expect_unchanged(const char *path, char *before);

/* After nsrun was killed: collects what it left to us, once the kernel has ended it. */
void collect_orphans(void);

/* What is left of runs, in words, or NULL: children of ours or of a dead child,
 * mounts that weren't there, run directories, records of sessions.  A session's monitor is a child
 * of a dead child. */
char *leftovers(const struct site *s);

bool has_program(const char *name);
/* Skips the running test and says why. */
#define skip_because(...)                   \
        do {                                \
                print_message(__VA_ARGS__); \
                print_message("\n");        \
                skip();                     \
        } while (0)
