/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file tool of an agent: reads and writes in a workspace, and nowhere else.
 *
 *     files PROJECT read PATH
 *     files PROJECT write PATH TEXT
 *
 * PATH is what the agent gave, relative to the project or absolute.  This program never joins it to another
 * path: the library opens just what it has checked, whatever a command in a sandbox does meanwhile. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <nsrun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_file(const struct nsrun_workspace *workspace, const char *path, struct nsrun_error *error) {
        char bytes[4096];
        ssize_t n;
        int fd, r;

        r = nsrun_workspace_open(workspace, NSRUN_READ, path, O_RDONLY, 0, &fd, error);
        if (r < 0)
                return r;
        while ((n = read(fd, bytes, sizeof(bytes))) > 0)
                (void)fwrite(bytes, 1, (size_t)n, stdout);
        (void)close(fd);
        return n < 0 ? -1 : 0;
}

static int write_file(const struct nsrun_workspace *workspace, const char *path, const char *text,
                      struct nsrun_error *error) {
        ssize_t n;
        int fd, r;

        r = nsrun_workspace_open(workspace, NSRUN_WRITE, path, O_WRONLY | O_CREAT | O_TRUNC, 0644, &fd,
                                 error);
        if (r < 0)
                return r;
        n = write(fd, text, strlen(text));
        (void)close(fd);
        return n < 0 ? -1 : 0;
}

int main(int argc, char **argv) {
        struct nsrun_workspace *workspace = NULL;
        struct nsrun_error error = {0};
        char *line;
        int r;

        if (!(argc == 4 && strcmp(argv[2], "read") == 0) && !(argc == 5 && strcmp(argv[2], "write") == 0)) {
                (void)fprintf(stderr, "usage: files PROJECT read PATH | write PATH TEXT\n");
                return 125;
        }
        r = nsrun_workspace_new(argv[1], &workspace, &error);
        if (r >= 0)
                r = nsrun_workspace_add_readable(workspace, "/usr/include", &error);
        if (r >= 0)
                r = argc == 4 ? read_file(workspace, argv[3], &error)
                              : write_file(workspace, argv[3], argv[4], &error);
        (void)nsrun_workspace_free(workspace);
        if (r < 0) {
                /* The text of a refusal, for the agent. */
                line = nsrun_error_format(&error);
                (void)printf("Error: %s\n", line ? line : "out of memory");
                free(line);
        }
        return r < 0;
}
