/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An interactive shell with job control on a pty, what is typed there, and what it shows.  Nothing is waited
 * for but text on the terminal, which never stands in what was typed before. */
#pragma once

#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>

#include "harness.h"
#include "session.h"

#define PROMPT "outer> "

/* Typed between double quotes, after a trap that sets `c`: a shell that a signal finds on its way into a
 * read runs its trap when that read has ended. */
#define UNTIL_CAUGHT "while test -z \\$c; do :; done"

/* The session that commands join, where the test is about that. */
static char *session;

struct terminal {
        int fd;
        pid_t shell;
        char text[65536]; /* all that was printed so far, without carriage returns */
        size_t n, seen;   /* up to here it has been waited for */
};

static int64_t now(void) {
        struct timespec t;

        assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &t), 0);
        return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* False when the last process has let go of the terminal. */
static bool read_more(struct terminal *t, int64_t end) {
        struct pollfd p = {.fd = t->fd, .events = POLLIN};
        int64_t left = end - now();
        char part[4096];
        ssize_t n;

        if (left <= 0 || poll(&p, 1, (int)left) <= 0)
                fail_msg("nothing more comes; the terminal shows:\n%s",
                         t->text + (t->n > 700 ? t->n - 700 : 0));
        n = read(t->fd, part, sizeof(part));
        if (n <= 0)
                return false;
        for (ssize_t i = 0; i < n; i++)
                if (part[i] != '\r' && t->n + 1 < sizeof(t->text))
                        t->text[t->n++] = part[i];
        t->text[t->n] = '\0';
        return true;
}

static void expect_text(struct terminal *t, const char *text) {
        int64_t end = now() + (int64_t)deadline_seconds * 1000;

        for (;;) {
                const char *found = strstr(t->text + t->seen, text);

                if (found) {
                        t->seen = (size_t)(found - t->text) + strlen(text);
                        return;
                }
                if (!read_more(t, end))
                        fail_msg("the terminal ended without \"%s\":\n%s", text, t->text);
        }
}

static void type(const struct terminal *t, const char *text) {
        assert_int_equal(write(t->fd, text, strlen(text)), strlen(text));
}

static void type_line(const struct terminal *t, const char *line) {
        type(t, line);
        type(t, "\n");
}

/* What $? was, seen at the prompt. */
static void expect_last_status(struct terminal *t, int status) {
        _cleanup_free_ char *text = text_of("last=%d.\n", status);

        type_line(t, "echo last=$?.");
        expect_text(t, text);
        expect_text(t, PROMPT);
}

/* The shell gets what is typed, and nobody else. */
static void expect_typing_works(struct terminal *t) {
        type_line(t, "echo typed-$((40+2)).");
        expect_text(t, "typed-42.\n");
        expect_text(t, PROMPT);
}

/* With $nsrun as the way to start it, and one file descriptor for all three streams. */
static void open_terminal(const struct site *s, struct terminal *t) {
        _cleanup_free_ char *command = session ? text_of("%s run --session %s", program(), session)
                                               : text_of("%s run --project %s", program(), s->project);

        if (!has_program("bash"))
                skip_because("bash is missing: nobody to do job control");
        *t = (struct terminal){.fd = -EBADF};
        (void)fflush(NULL);
        t->shell = forkpty(&t->fd, NULL, NULL, NULL);
        assert_true(t->shell >= 0);
        if (t->shell == 0) {
                if (chdir(s->root) < 0 || setenv("nsrun", command, 1) < 0 || setenv("PS1", PROMPT, 1) < 0 ||
                    setenv("TERM", "dumb", 1) < 0 || unsetenv("PROMPT_COMMAND") < 0)
                        _exit(123);
                (void)execlp("bash", "bash", "--norc", "--noprofile", "--noediting", "-i", (char *)NULL);
                _exit(122);
        }
        assert_int_equal(fcntl(t->fd, F_SETFD, FD_CLOEXEC), 0);
        expect_text(t, PROMPT);
        /* A word that a command prints when it runs. */
        type_line(t, "ready='echo re''ady.'");
        expect_text(t, PROMPT);
}

/* The shell ends by itself, with status 0, and no job holds the terminal. */
static void close_terminal(struct terminal *t) {
        int64_t end = now() + (int64_t)deadline_seconds * 1000;
        int status = 0;

        type_line(t, "exit 0");
        while (read_more(t, end))
                ;
        assert_int_equal(waitpid(t->shell, &status, 0), t->shell);
        assert_int_equal(status, 0);
        assert_null(strstr(t->text, "no job control"));
        (void)close(t->fd);
}

static int joining_setup(void **state) {
        if (site_setup(state) < 0)
                return -1;
        session = START(*state, "--no-new-session");
        return 0;
}

static nsrun_unused int joining_teardown(void **state) {
        _cleanup_outcome_ struct outcome o = {0};

        SESSION((const struct site *)*state, &o, "kill", session);
        free(session);
        session = NULL;
        expect_status(&o, 0);
        collect_orphans();
        is_isolated = is_nested = false;
        return site_teardown(state);
}

static nsrun_unused int joining_nested_setup(void **state) {
        is_isolated = is_nested = true;
        return joining_setup(state);
}

/* Alone, in a session, and in one whose commands have pid namespaces of their own. */
#define TEST_EVERYWHERE(name)                                            \
        TEST_WITH(name, site_setup, site_teardown);                      \
        TEST_AGAIN(name, joined, joining_setup, joining_teardown)        \
        TEST_AGAIN(name, nested, joining_nested_setup, joining_teardown) \
        static void name(nsrun_unused void **state)
