/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of sessions share: starting one, running commands in it, ending it.  The session's
 * monitor becomes a child of the test, a subreaper: collect_orphans() waits for it. */
#pragma once

#include <fnmatch.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "harness.h"

/* Whether sessions are started with --isolate-commands, and, in another run of the tests, without Landlock
 * besides, so that commands have pid namespaces of their own. */
static bool is_isolated, is_nested;

/* Without Landlock's scopes (ABI 6, Linux 6.12) isolated commands are nested, whatever is asked for. */
static inline int isolated_setup(void **state) {
        is_isolated = true;
        is_nested = !has_scopes();
        return site_setup(state);
}

static inline int isolated_teardown(void **state) {
        is_isolated = is_nested = false;
        return site_teardown(state);
}

static inline int nested_setup(void **state) {
        is_isolated = is_nested = true;
        return site_setup(state);
}

static inline int nested_teardown(void **state) {
        is_isolated = is_nested = false;
        return site_teardown(state);
}

/* NSRUN_TEST_MODES=all: whether the tests of sessions run in each way of isolating commands, as in
 * scripts/check-everything. */
static inline bool is_in_each_mode(void) {
        const char *modes = getenv("NSRUN_TEST_MODES");

        return modes && streq(modes, "all");
}

/* A promise about whole sessions, which all ways of isolating commands have in common. */
#define TEST_OF_SESSIONS(name)                                                        \
        TEST_WITH(name, site_setup, site_teardown);                                   \
        TEST_AGAIN_IF(is_in_each_mode(), name, nested, nested_setup, nested_teardown) \
        static void name(nsrun_unused void **state)

/* One about what confines a joining command, or about processes, by which the ways differ. */
#define TEST_IN_BOTH_MODES(name)                                \
        TEST_WITH(name, site_setup, site_teardown);             \
        TEST_AGAIN(name, nested, nested_setup, nested_teardown) \
        static void name(nsrun_unused void **state)

#define TEST_IN_ALL_MODES(name)                                                             \
        TEST_WITH(name, site_setup, site_teardown);                                         \
        TEST_AGAIN_IF(is_in_each_mode(), name, isolated, isolated_setup, isolated_teardown) \
        TEST_AGAIN(name, nested, nested_setup, nested_teardown)                             \
        static void name(nsrun_unused void **state)

/* A test's size: `normal`, or `all` with NSRUN_TEST_LONG=1. */
static inline int size_of_test(int normal, int all) {
        return is_long() ? all : normal;
}

/* `nsrun session WORD…` */
static inline void run_session(const struct site *s, struct outcome *ret, const char *const *words) {
        _cleanup_free_ const char **argv = words_of(OPTIONS("session"), words);

        run_words(s->root, ret, argv);
}
#define SESSION(site, outcome, ...) run_session(site, outcome, OPTIONS(__VA_ARGS__))

/* The same, typed at a terminal. */
static inline void session_typed(const struct site *s, struct outcome *ret, const char *const *words) {
        _cleanup_free_ const char **argv = words_of(OPTIONS(program(), "session"), words);
        int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave;

        assert_int_equal(grantpt(master) + unlockpt(master), 0);
        slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
        assert_true(slave >= 0);
        outcome_clear(ret);
        run(&(struct request){.argv = argv, .cwd = s->root, .standard_input = slave}, ret);
        assert_int_equal(close(master) + close(slave), 0);
}
#define SESSION_TYPED(site, outcome, ...) session_typed(site, outcome, OPTIONS(__VA_ARGS__))

/* `nsrun session start --project PROJECT OPTION…`, for the caller to free. */
static inline const char **start_argv(const struct site *s, const char *const *options) {
        return words_of(OPTIONS(program(), "session", "start", "--project", s->project),
                        is_isolated ? OPTIONS("--isolate-commands") : NO_OPTIONS,
                        is_nested ? OPTIONS("--landlock=off") : NO_OPTIONS, options);
}

/* Runs it.  The caller frees the id. */
static inline char *start_session(const struct site *s, const char *const *options) {
        _cleanup_free_ const char **argv = start_argv(s, options);
        _cleanup_outcome_ struct outcome o = {0};

        run(&(struct request){.argv = argv, .cwd = s->root}, &o);
        expect_status(&o, 0);
        assert_string_equal(o.err, "");
        assert_true(strlen(o.out) > 1 && o.out[strlen(o.out) - 1] == '\n');
        o.out[strlen(o.out) - 1] = '\0';
        return strdup(o.out);
}
#define START(site, ...)  start_session(site, OPTIONS(__VA_ARGS__))
#define START_PLAIN(site) start_session(site, (const char *const[]){NULL})

/* `nsrun run --session ID ARGUMENT…` */
static inline void spawn_joined(const struct site *s, const char *id, struct running *ret,
                                const char *const *arguments) {
        _cleanup_free_ const char **argv = words_of(OPTIONS(program(), "run", "--session", id), arguments);

        spawn(&(struct request){.argv = argv, .cwd = s->root}, ret);
}
#define SPAWN_JOINED(site, id, running, ...) spawn_joined(site, id, running, OPTIONS(__VA_ARGS__))

static inline void run_joined(const struct site *s, const char *id, struct outcome *ret,
                              const char *const *arguments) {
        struct running running;

        outcome_clear(ret);
        spawn_joined(s, id, &running, arguments);
        finish(&running, ret);
}
#define JOIN(site, id, outcome, ...) run_joined(site, id, outcome, OPTIONS(__VA_ARGS__))
/* Runs a shell script in a session. */
#define JOIN_SCRIPT(site, id, outcome, script) JOIN(site, id, outcome, "--", "sh", "-c", script)

static inline void expect_good_join(const struct site *s, const char *id, const char *script,
                                    const char *out) {
        _cleanup_outcome_ struct outcome o = {0};

        JOIN_SCRIPT(s, id, &o, script);
        expect_status(&o, 0);
        expect_out(&o, out);
        assert_string_equal(o.err, "");
}

/* A number that `nsrun session show --json` gives. */
static inline long session_number(const struct site *s, const char *id, const char *key) {
        _cleanup_free_ char *name = text_of("\"%s\":", key);
        _cleanup_outcome_ struct outcome o = {0};
        const char *found;
        long number = -1;

        SESSION(s, &o, "show", "--json", id);
        expect_status(&o, 0);
        found = strstr(o.out, name);
        if (!found || sscanf(found + strlen(name), "%ld", &number) != 1)
                fail_msg("no %s in: %s", key, o.out);
        return number;
}

static inline int open_pidfd(pid_t pid) {
        int fd = (int)syscall(SYS_pidfd_open, pid, 0);

        assert_true(fd >= 0);
        return fd;
}

/* A pidfd of the session's "monitor" or "init". */
static inline int session_pidfd(const struct site *s, const char *id, const char *key) {
        return open_pidfd((pid_t)session_number(s, id, key));
}

static inline void send_signal(int pidfd, int signal) {
        assert_int_equal(syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0), 0);
}

static inline void expect_end_of(int pidfd, const char *what) {
        struct pollfd end = {.fd = pidfd, .events = POLLIN};

        if (poll(&end, 1, deadline_seconds * 1000) != 1)
                fail_msg("%s does not end", what);
}

static inline bool has_ended(int pidfd) {
        struct pollfd end = {.fd = pidfd, .events = POLLIN};

        return poll(&end, 1, 0) == 1;
}

/* Ends a session by `how`, "stop" or "kill".  The site's teardown checks that nothing is left. */
#define UNCOMMITTED(n) "nsrun: note: " n " in the session's overlays w* not committed, and * gone\n"

static inline void end_session(const struct site *s, const char *id, const char *how) {
        _cleanup_outcome_ struct outcome o = {0};

        SESSION(s, &o, how, id);
        expect_status(&o, 0);
        expect_out(&o, "");
        /* Most commit nothing of what their commands wrote to overlays, which is told. */
        if (*o.err && fnmatch(UNCOMMITTED("*"), o.err, 0) != 0)
                fail_msg("%s", o.err);
        collect_orphans();
}

/* Lists sessions, which removes the records of killed monitors, and starts one, which removes their
 * run directories. */
static inline void sweep(const struct site *s) {
        _cleanup_outcome_ struct outcome o = {0};
        _cleanup_free_ char *id = NULL;

        SESSION(s, &o, "list");
        expect_status(&o, 0);
        expect_out(&o, "");
        id = START_PLAIN(s);
        end_session(s, id, "stop");
}

static inline void expect_nothing_left(const struct site *s) {
        _cleanup_free_ char *left = leftovers(s);

        if (left)
                fail_msg("left behind: %s", left);
}

#define NO_SESSION(id)                \
        "nsrun: no such session: " id \
        ": No such file or directory; 'nsrun session list' shows those there are"

static inline void pause_until_killed(nsrun_unused void *data) {
        for (;;)
                (void)pause();
}

/* In the child: a helper ends with the test, also when that fails. */
static inline void die_with_test(nsrun_unused void *data) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                _exit(119);
}
