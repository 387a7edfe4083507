/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun, as a host of the library would be it: takes nsrun's place in suites that know nothing of
 * libraries.  `run` is a policy, a plan and a start by the public functions, from a process with a
 * second thread and an open folder that nobody closes at an exec.  With NSRUN_IN_SESSIONS=1 it is a
 * session that the library starts, a command that joins it and the session's end.  `session
 * start`, `stop` and `kill` are the library's, too.  What only the program has (--status-fd, the
 * other actions) is handed to nsrun ($NSRUN_REAL). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nsrun.h"

static struct nsrun_sandbox *running;
static volatile sig_atomic_t early_signal;

static _Noreturn void hand_over(char **argv) {
        const char *real = getenv("NSRUN_REAL");

        if (real)
                (void)execv(real, argv);
        (void)fprintf(stderr, "in-library: NSRUN_REAL: %s\n", strerror(errno));
        exit(125);
}

/* As nsrun says it, with nsrun's status. */
static int report_failure(const struct nsrun_error *error) {
        char *line = nsrun_error_format(error);

        (void)fprintf(stderr, "nsrun: %s\n", line ? line : "out of memory");
        free(line);
        if (error->stage != NSRUN_STAGE_EXEC)
                return 125;
        return error->error == ENOENT || error->error == ENOTDIR ? 127 : 126;
}

/* ------------------------------------------------------------------ the host */

static void *sit(void *unused) {
        for (;;)
                (void)pause();
        return unused;
}

/* Signals are the first thread's. */
static void become_a_host(void) {
        int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        sigset_t all, before;
        pthread_t thread;

        (void)sigfillset(&all);
        if (folder < 0 || fcntl(folder, F_DUPFD, 20) < 0 ||
            pthread_sigmask(SIG_SETMASK, &all, &before) != 0 ||
            pthread_create(&thread, NULL, sit, NULL) != 0 ||
            pthread_sigmask(SIG_SETMASK, &before, NULL) != 0) {
                (void)fputs("in-library: no host\n", stderr);
                exit(125);
        }
        (void)close(folder);
}

static void pass_on(int signal) {
        if (running)
                (void)nsrun_sandbox_kill(running, signal);
        else
                early_signal = signal;
}

/* What was ignored stays so, for the command too. */
static void catch_signals(void) {
        static const int passed[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT};

        for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
                struct sigaction action;

                if (sigaction(passed[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL)
                        (void)signal(passed[i], pass_on);
        }
}

/* ---------------------------------------------------------------- the options */

/* Applies the option at argv[*at] and leaves *at behind it. */
static int apply(struct nsrun_policy *policy, char **argv, int *at, struct nsrun_error *error) {
        char *name = strdup(argv[*at] + 2), *value;
        struct nsrun_error other = {0};
        int r;

        if (!name)
                return -ENOMEM;
        value = strchr(name, '=');
        if (value)
                *value++ = '\0';
        r = nsrun_policy_set(policy, name, value, &other);
        if (r < 0 && !value && argv[*at + 1] && strcmp(other.what, "this option needs a value") == 0) {
                other = (struct nsrun_error){0};
                r = nsrun_policy_set(policy, name, argv[++*at], &other);
        }
        ++*at;
        if (r < 0)
                *error = other;
        free(name);
        return r;
}

/* Whether argv[at] is one that only the program has. */
static int is_programs_own(const char *word) {
        static const char *const names[] = {"--status-fd", "--report", "--verbose",
                                            "--debug",     "--help",   "--version"};

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                size_t n = strlen(names[i]);

                if (strncmp(word, names[i], n) == 0 && (word[n] == '=' || word[n] == '\0'))
                        return 1;
        }
        return word[0] == '-' && word[1] != '-';
}

static int is_option(const char *word, const char *name) {
        size_t n = strlen(name);

        return strncmp(word, name, n) == 0 && (word[n] == '=' || word[n] == '\0');
}

/* The options from argv[*at] to "--" or to the end; "--chdir" is for `command`'s policy.  *at is
 * then the command. */
static int apply_all(struct nsrun_policy *policy, struct nsrun_policy *command, char **argv, int *at,
                     struct nsrun_error *error) {
        int r = nsrun_policy_find_config(policy, error);

        while (r >= 0 && argv[*at] && strcmp(argv[*at], "--") != 0 && argv[*at][0] == '-')
                r = apply(is_option(argv[*at], "--chdir") ? command : policy, argv, at, error);
        if (r >= 0 && argv[*at] && strcmp(argv[*at], "--") == 0)
                ++*at;
        return r;
}

/* ------------------------------------------------------------------ a command */

static void print_notes(const char *const *notes) {
        for (; notes && *notes; notes++)
                (void)fprintf(stderr, "nsrun: note: %s\n", *notes);
}

/* Where the sandbox itself was killed nsrun has the status of that signal.  The command may run, and
 * whoever kills it know that, while the host still waits for the news. */
static int report_end(int r, const struct nsrun_error *error) {
        if (r != -EIO || strncmp(error->what, "the sandbox was killed", 22) != 0)
                return report_failure(error);
        (void)fputs("nsrun: the sandbox was killed\n", stderr);
        return 128 + SIGKILL;
}

/* Runs the policy's command: its status, or one of nsrun's own. */
static int run_policy(struct nsrun_policy *policy, char **command) {
        struct nsrun_sandbox *sandbox = NULL;
        struct nsrun_plan *plan = NULL;
        struct nsrun_error error = {0};
        struct nsrun_exit end = {0};
        int r;

        catch_signals();
        r = nsrun_policy_set_command(policy, (const char *const *)command, &error);
        if (r >= 0)
                r = nsrun_plan_new(policy, &plan, &error);
        if (r >= 0)
                r = nsrun_start(plan, NULL, &sandbox, &error);
        (void)nsrun_plan_free(plan);
        if (r < 0)
                return report_end(r, &error);
        print_notes(nsrun_sandbox_notes(sandbox));
        running = sandbox;
        if (early_signal)
                (void)nsrun_sandbox_kill(sandbox, early_signal);
        r = nsrun_sandbox_wait(sandbox, &end, &error);
        running = NULL;
        (void)nsrun_sandbox_free(sandbox);
        if (r < 0)
                return report_end(r, &error);
        return end.signal ? 128 + end.signal : end.code;
}

/* ------------------------------------------------------------------- sessions */

static int start_session(struct nsrun_policy *policy, const struct nsrun_session_options *options,
                         char **ret_id) {
        struct nsrun_error error = {0};
        char **notes = NULL;

        if (nsrun_session_start(policy, options, ret_id, &notes, &error) < 0)
                return report_failure(&error);
        print_notes((const char *const *)notes);
        for (char **note = notes; note && *note; note++)
                free(*note);
        free(notes);
        return 0;
}

/* What a run has by default and a session hasn't: /tmp in memory, and variables that say nothing of
 * where the host's records lie. */
static int be_like_a_run(struct nsrun_policy *policy, struct nsrun_policy *command,
                         struct nsrun_error *error) {
        const char *runtime = getenv("XDG_RUNTIME_DIR");
        int r;

        r = nsrun_policy_set(policy, "tmp", "tmpfs", error);
        if (r >= 0)
                r = nsrun_policy_set_environ(policy, (const char *const *)environ);
        if (r >= 0)
                r = nsrun_policy_set_environ(command, (const char *const *)environ);
        if (r >= 0 && runtime && access(runtime, W_OK) < 0)
                (void)unsetenv("XDG_RUNTIME_DIR");
        return r;
}

/* It ends with this process, if nothing ends it before. */
static int run_in_session(struct nsrun_policy *policy, struct nsrun_policy *command, char **words) {
        struct nsrun_session_options options = NSRUN_SESSION_OPTIONS_INIT;
        struct nsrun_error error = {0};
        char *id = NULL;
        int status;

        options.owner = getpid();
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        status = start_session(policy, &options, &id);
        if (status == 0) {
                status = nsrun_policy_set(command, "session", id, &error) < 0 ? report_failure(&error)
                                                                              : run_policy(command, words);
                if (nsrun_session_kill(id, &error) < 0)
                        (void)fputs("in-library: the session has ended by itself\n", stderr);
        }
        free(id);
        /* The monitor would be a dead child of whoever watches us. */
        while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
                ;
        return status;
}

static int run_main(char **argv) {
        struct nsrun_policy *policy = NULL, *command = NULL;
        const char *joins = getenv("NSRUN_IN_SESSIONS");
        int in_session = joins && *joins, at, status;
        struct nsrun_error error = {0};

        for (at = 2; argv[at] && strcmp(argv[at], "--") != 0; at++) {
                if (is_programs_own(argv[at]))
                        hand_over(argv);
                if (is_option(argv[at], "--session"))
                        in_session = 0;
        }
        if (!argv[at])
                hand_over(argv);
        become_a_host();
        if (nsrun_policy_new(&policy) < 0 || nsrun_policy_new(&command) < 0)
                return 125;
        at = 2;
        if ((in_session && be_like_a_run(policy, command, &error) < 0) ||
            apply_all(policy, in_session ? command : policy, argv, &at, &error) < 0)
                status = report_failure(&error);
        else
                status = in_session ? run_in_session(policy, command, argv + at)
                                    : run_policy(policy, argv + at);
        (void)nsrun_policy_free(policy);
        (void)nsrun_policy_free(command);
        return status;
}

/* `session start`: "--name" and its like are no policy's. */
static int session_start_main(char **argv) {
        struct nsrun_policy *policy = NULL;
        struct nsrun_error error = {0};
        char *id = NULL;
        int at = 3, status;

        for (int i = 3; argv[i]; i++)
                if (is_programs_own(argv[i]) || is_option(argv[i], "--name") ||
                    is_option(argv[i], "--owner") || is_option(argv[i], "--idle-timeout"))
                        hand_over(argv);
        become_a_host();
        if (nsrun_policy_new(&policy) < 0)
                return 125;
        status = apply_all(policy, policy, argv, &at, &error) < 0 ? report_failure(&error)
                                                                  : start_session(policy, NULL, &id);
        if (status == 0)
                (void)printf("%s\n", id);
        free(id);
        (void)nsrun_policy_free(policy);
        return status;
}

int main(int argc, char **argv) {
        const char *word = argc > 1 ? argv[1] : "", *action = argc > 2 ? argv[2] : "";
        struct nsrun_error error = {0};

        if (strcmp(word, "run") == 0)
                return run_main(argv);
        if (strcmp(word, "session") == 0 && strcmp(action, "start") == 0)
                return session_start_main(argv);
        if (argc != 4 || strcmp(word, "session") != 0)
                hand_over(argv);
        if (strcmp(action, "stop") == 0)
                return nsrun_session_stop(argv[3], &error) < 0 ? report_failure(&error) : 0;
        if (strcmp(action, "kill") == 0)
                return nsrun_session_kill(argv[3], &error) < 0 ? report_failure(&error) : 0;
        hand_over(argv);
}
