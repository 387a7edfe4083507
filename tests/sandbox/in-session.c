/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun, but for what `run` means: a session with the same options, the command in it, and the
 * session's end.  Takes nsrun's place in suites that know nothing of sessions, and leaves as
 * little behind as nsrun does.  Everything else is handed to nsrun ($NSRUN_REAL). */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *real;
static volatile sig_atomic_t runner;
static sigset_t mask; /* as the caller had it */

static void die(const char *what) {
        (void)fprintf(stderr, "in-session: %s: %s\n", what, strerror(errno));
        exit(125);
}

static void pass_on(int signal) {
        if (runner > 0)
                (void)kill(runner, signal);
}

/* Its standard output goes to *out where there is one. */
static pid_t start(const char **argv, int *out) {
        int fds[2] = {-1, -1};
        pid_t pid;

        if (out && pipe(fds) < 0)
                die("pipe");
        argv[0] = real;
        pid = fork();
        if (pid < 0)
                die("fork");
        if (pid == 0) {
                if (out && (dup2(fds[1], 1) < 0 || close(fds[0]) < 0 || close(fds[1]) < 0))
                        _exit(125);
                (void)sigprocmask(SIG_SETMASK, &mask, NULL);
                (void)execv(real, (char *const *)(void *)argv);
                _exit(125);
        }
        if (out) {
                (void)close(fds[1]);
                *out = fds[0];
        }
        return pid;
}

static int wait_for(pid_t pid) {
        int status;

        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        die("waitpid");
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The monitors are ours by now: they would be dead children of whoever watches us. */
static void leave(int status) {
        while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
                ;
        exit(status);
}

/* The id, without its newline; or ends with nsrun's own status. */
static void start_session(const char **argv, char id[80]) {
        int out, status;
        pid_t pid = start(argv, &out);
        size_t n = 0;
        ssize_t got;

        while (n < 79 && (got = read(out, id + n, 79 - n)) > 0)
                n += (size_t)got;
        (void)close(out);
        status = wait_for(pid);
        if (status != 0)
                leave(status);
        id[n] = '\0';
        id[strcspn(id, "\n")] = '\0';
}

/* Options that are of the run and not of a policy; with their value where they have one. */
static int run_option(char *const *at) {
        static const char *const names[] = {"--status-fd", "--report"};

        if (strcmp(*at, "-v") == 0 || strcmp(*at, "--verbose") == 0)
                return 1;
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                size_t n = strlen(names[i]);

                if (strncmp(*at, names[i], n) == 0 && ((*at)[n] == '=' || (*at)[n] == '\0'))
                        return (*at)[n] == '=' ? 1 : 2;
        }
        return 0;
}

int main(int argc, char **argv) {
        const char **starts = calloc((size_t)argc + 5, sizeof(*starts)),
                   **runs = calloc((size_t)argc + 5, sizeof(*runs));
        static const int passed[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP};
        const char *ends[] = {NULL, "session", "kill", NULL, NULL};
        int n_starts = 1, n_runs = 1, at = 2, status;
        sigset_t all;
        char id[80];

        (void)sigprocmask(SIG_SETMASK, NULL, &mask);
        real = getenv("NSRUN_REAL");
        if (!real || !starts || !runs)
                die("NSRUN_REAL");
        while (at < argc && strcmp(argv[at], "--") != 0)
                at++;
        /* Without a command there is nothing to be done in a session. */
        if (argc < 2 || strcmp(argv[1], "run") != 0 || at + 1 >= argc) {
                (void)execv(real, argv);
                die(real);
        }
        starts[n_starts++] = "session";
        starts[n_starts++] = "start";
        runs[n_runs++] = "run";
        runs[n_runs++] = "--session";
        runs[n_runs++] = id;
        for (at = 2; strcmp(argv[at], "--") != 0; at++) {
                int n = run_option(argv + at);

                if (n == 0)
                        starts[n_starts++] = argv[at];
                for (int i = 0; i < n; i++)
                        runs[n_runs++] = argv[at + i];
                at += n > 1;
        }
        while (at < argc)
                runs[n_runs++] = argv[at++];
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        start_session(starts, id);
        /* No signal comes between the start and the handlers. */
        (void)sigfillset(&all);
        (void)sigprocmask(SIG_SETMASK, &all, NULL);
        runner = start(runs, NULL);
        for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
                (void)signal(passed[i], pass_on);
        (void)sigprocmask(SIG_SETMASK, &mask, NULL);
        status = wait_for(runner);
        runner = 0;
        ends[3] = id;
        if (wait_for(start(ends, NULL)) != 0)
                (void)fprintf(stderr, "in-session: the session has ended by itself\n");
        leave(status);
}
