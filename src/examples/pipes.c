/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs a command in a sandbox of a project, with pipes of this program's as its input and output.
 *
 *     pipes PROJECT INPUT COMMAND [ARGUMENT…]
 *
 * Prints the command's output, each line with "| " before it, and ends as the command did. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <nsrun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Prints a failure in one line, which says where, why and what to do about it. */
static int complain(const struct nsrun_error *error) {
        char *line = nsrun_error_format(error);

        (void)fprintf(stderr, "pipes: %s: %s\n", nsrun_stage_name(error->stage),
                      line ? line : "out of memory");
        free(line);
        return 125;
}

static struct nsrun_sandbox *start_piped(const char *project, const char *const *argv, const int stdio[2],
                                         struct nsrun_error *error) {
        struct nsrun_start_options options = NSRUN_START_OPTIONS_INIT;
        struct nsrun_policy *policy = NULL;
        struct nsrun_plan *plan = NULL;
        struct nsrun_sandbox *sandbox = NULL;
        int r;

        /* stdio[2] stays -1: the command's standard error is this program's. */
        options.stdio[0] = stdio[0];
        options.stdio[1] = stdio[1];
        r = nsrun_policy_new(&policy);
        if (r >= 0)
                r = nsrun_policy_set(policy, "project", project, error);
        if (r >= 0)
                r = nsrun_policy_set(policy, "net", "none", error);
        if (r >= 0)
                r = nsrun_policy_set_command(policy, argv, error);
        if (r >= 0)
                r = nsrun_plan_new(policy, &plan, error);
        if (r >= 0)
                r = nsrun_start(plan, &options, &sandbox, error);
        /* A running sandbox needs neither plan nor policy any more. */
        (void)nsrun_plan_free(plan);
        (void)nsrun_policy_free(policy);
        return sandbox;
}

/* Reads until the last process that has the pipe's other end open has closed it. */
static void print_lines(int fd) {
        FILE *f = fdopen(fd, "r");
        char *line = NULL;
        size_t size = 0;

        while (f && getline(&line, &size, f) >= 0)
                (void)printf("| %s", line);
        free(line);
        if (f)
                (void)fclose(f);
}

int main(int argc, char **argv) {
        struct nsrun_error error = {0};
        struct nsrun_sandbox *sandbox;
        struct nsrun_exit end;
        int in[2], out[2], r;

        if (argc < 4) {
                (void)fprintf(stderr, "usage: pipes PROJECT INPUT COMMAND [ARGUMENT...]\n");
                return 125;
        }
        if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0) {
                perror("pipes");
                return 125;
        }
        /* The input is short enough for the pipe's buffer, so that the write doesn't wait for a
         * reader. */
        if (write(in[1], argv[2], strlen(argv[2])) < 0)
                perror("pipes");
        sandbox = start_piped(argv[1], (const char *const *)argv + 3, (const int[]){in[0], out[1]}, &error);
        /* The command has copies of these ends: while they are open here as well neither side sees
         * the other close its own. */
        (void)close(in[0]);
        (void)close(in[1]);
        (void)close(out[1]);
        if (!sandbox)
                return complain(&error);
        print_lines(out[0]);
        r = nsrun_sandbox_wait(sandbox, &end, &error);
        (void)nsrun_sandbox_free(sandbox);
        if (r < 0)
                return complain(&error);
        return end.signal ? 128 + end.signal : end.code;
}
