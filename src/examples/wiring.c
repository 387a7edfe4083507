/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An agent's file tools and its commands on the same folders: a workspace with a temp folder and the user's
 * toolchains, a session whose caches are overlays, and two commands that share what they wrote.
 *
 *     wiring PROJECT COMMAND COMMAND FILE
 *
 * Runs both commands, prints what each printed, then what the file tool reads at FILE. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <nsrun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Makes the toolchains readable for the file tools.  Commands see the caches among them as
 * overlays: what they write there lasts as long as the session. */
static int set_up(struct nsrun_workspace *workspace, struct nsrun_policy *policy,
                  struct nsrun_error *error) {
        int r;

        r = nsrun_workspace_set_temp(workspace, 1, error);
        if (r >= 0)
                r = nsrun_toolchains_add(workspace, policy, error);
        if (r >= 0)
                r = nsrun_policy_set_workspace(policy, workspace, error);
        return r;
}

static int run_in_session(const char *id, const char *command, struct nsrun_error *error) {
        struct nsrun_bash_result result = NSRUN_BASH_RESULT_INIT;
        struct nsrun_policy *policy = NULL;
        int r;

        r = nsrun_policy_new(&policy);
        if (r >= 0)
                r = nsrun_policy_set(policy, "session", id, error);
        if (r >= 0)
                r = nsrun_bash(policy, command, NULL, &result, error);
        if (r >= 0)
                (void)fwrite(result.output, 1, result.output_size, stdout);
        nsrun_bash_result_clear(&result);
        (void)nsrun_policy_free(policy);
        return r;
}

/* Reads a file as an agent's read tool does: by the workspace's function, never by joining strings. */
static int read_by_tool(struct nsrun_workspace *workspace, const char *path, struct nsrun_error *error) {
        char text[4096];
        ssize_t n;
        int fd, r;

        r = nsrun_workspace_open(workspace, NSRUN_READ, path, O_RDONLY, 0, &fd, error);
        if (r < 0)
                return r;
        while ((n = read(fd, text, sizeof(text))) > 0)
                (void)fwrite(text, 1, (size_t)n, stdout);
        (void)close(fd);
        return 0;
}

int main(int argc, char **argv) {
        struct nsrun_session_options options = NSRUN_SESSION_OPTIONS_INIT;
        struct nsrun_workspace *workspace = NULL;
        struct nsrun_policy *policy = NULL;
        struct nsrun_error error = {0};
        char *id = NULL;
        int r;

        if (argc != 5) {
                (void)fprintf(stderr, "usage: wiring PROJECT COMMAND COMMAND FILE\n");
                return 125;
        }
        options.owner = getpid();
        r = nsrun_policy_new(&policy);
        if (r >= 0)
                r = nsrun_workspace_new(argv[1], &workspace, &error);
        if (r >= 0)
                r = set_up(workspace, policy, &error);
        if (r >= 0)
                r = nsrun_session_start(policy, &options, &id, NULL, &error);
        for (int i = 2; i < 4 && r >= 0; i++)
                r = run_in_session(id, argv[i], &error);
        if (r >= 0)
                r = read_by_tool(workspace, argv[4], &error);
        if (id)
                (void)nsrun_session_stop(id, r < 0 ? NULL : &error);
        free(id);
        (void)nsrun_policy_free(policy);
        (void)nsrun_workspace_free(workspace);
        if (r < 0) {
                char *line = nsrun_error_format(&error);

                (void)fprintf(stderr, "wiring: %s\n", line ? line : "out of memory");
                free(line);
        }
        return r < 0 ? 125 : 0;
}
