/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bash tool of an agent: each line of the input is a command that a model asked for, and what is
 * printed is what the model would get back.
 *
 *     agent PROJECT <commands
 *
 * All commands run in one session: they share /tmp and what they leave running, and the sandbox is made
 * once. */
#define _GNU_SOURCE
#include <nsrun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Stands for asking a person.  It allows everything but sudo. */
static int confirm_command(const char *prompt, void *data) {
        (void)data;
        return strstr(prompt, "$ sudo ") == NULL;
}

static int start_session(const char *project, char **ret_id, struct nsrun_error *error) {
        struct nsrun_session_options options = NSRUN_SESSION_OPTIONS_INIT;
        struct nsrun_policy *policy = NULL;
        int r;

        /* If this program dies, however that happens, the session ends with it. */
        options.owner = getpid();
        options.idle_timeout = 600;
        r = nsrun_policy_new(&policy);
        if (r >= 0)
                r = nsrun_policy_set(policy, "project", project, error);
        if (r >= 0)
                r = nsrun_session_start(policy, &options, ret_id, NULL, error);
        (void)nsrun_policy_free(policy);
        return r;
}

/* Prints a refusal as well: it is a text for the model, whose next command may be a better one. */
static void run_command(const char *id, const char *command) {
        struct nsrun_bash_options options = NSRUN_BASH_OPTIONS_INIT;
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        struct nsrun_error error = {0};
        struct nsrun_policy *policy = NULL;
        char *text = NULL;
        size_t n = 0;
        int r;

        options.timeout = 60;
        options.confirm = confirm_command;
        r = nsrun_policy_new(&policy);
        if (r >= 0)
                r = nsrun_policy_set(policy, "session", id, &error);
        if (r >= 0)
                r = nsrun_bash(policy, command, &options, &result, &error);
        if (nsrun_bash_format(&result, r < 0 ? &error : NULL, NSRUN_FORMAT_TEXT, &text, &n, NULL) >= 0) {
                (void)fwrite(text, 1, n, stdout);
                (void)putchar('\n');
        }
        free(text);
        nsrun_bash_result_clear(&result);
        (void)nsrun_policy_free(policy);
}

int main(int argc, char **argv) {
        struct nsrun_error error = {0};
        char *id = NULL, *command = NULL;
        size_t size = 0;
        ssize_t n;
        int r;

        if (argc != 2) {
                (void)fprintf(stderr, "usage: agent PROJECT <commands\n");
                return 125;
        }
        r = start_session(argv[1], &id, &error);
        while (r >= 0 && (n = getline(&command, &size, stdin)) > 0) {
                if (command[n - 1] == '\n')
                        command[n - 1] = '\0';
                run_command(id, command);
        }
        if (r >= 0)
                r = nsrun_session_stop(id, &error);
        free(command);
        free(id);
        if (r < 0) {
                char *line = nsrun_error_format(&error);

                (void)fprintf(stderr, "agent: %s\n", line ? line : "out of memory");
                free(line);
        }
        return r < 0 ? 125 : 0;
}
