/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun-bwrap, the program that speaks bubblewrap's command line: answers what needs no sandbox
 * and hands the rest to bwrap_run(). */
#include <fcntl.h>
#include <sys/resource.h>

#include "base/causes.h"
#include "report.h"
#include "run.h"

/* bubblewrap's for every failure of its own. */
#define EXIT_BWRAP 1

/* A standard descriptor that is closed would be given to the next file that is opened.  Unlike
 * nsrun's, the command is to see it closed, as the caller left it: O_CLOEXEC. */
static int hold_standard_fds(void) {
        for (int fd = 0; fd <= 2; fd++)
                if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
                        return -errno;
        return 0;
}

static int print_help_text(int fd, const char *text, const char *end) {
        bool is_written = text && dprintf(fd, "%s%s", text, end) >= 0;

        return is_written ? 0 : EXIT_BWRAP;
}

static int bwrap_main_answer(const struct bwrap_config *config, const char *program) {
        _cleanup_free_ char *text = config->wants_version ? bwrap_version() : bwrap_help(program);

        if (!config->lacks_command)
                return print_help_text(STDOUT_FILENO, text, config->wants_version ? "\n" : "");
        (void)print_help_text(STDERR_FILENO, text, "");
        return EXIT_BWRAP;
}

int main(int argc, char **argv) {
        const char *program = argc > 0 ? argv[0] : "bwrap";
        _cleanup_bwrap_config_ struct bwrap_config config = {0};
        struct nsrun_error err = {0};
        struct rlimit stack;
        int r;

        if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < STACK_LEAST) {
                (void)fprintf(stderr, "bwrap: %s: %s\n", causes[NSRUN_ERROR_SMALL_STACK].what,
                              error_limit_hint(RLIMIT_STACK, STACK_LEAST));
                return EXIT_BWRAP;
        }
        r = hold_standard_fds();
        if (r < 0) {
                (void)fprintf(stderr, "bwrap: /dev/null can't be opened: %s\n", error_words(-r));
                return EXIT_BWRAP;
        }
        if (argc > 0) {
                bwrap_arguments = argv[0];
                bwrap_arguments_size = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) - argv[0]);
        }
        r = bwrap_config_init(&config);
        if (r < 0)
                (void)error_oom(&err);
        else
                r = bwrap_parse(argc, argv, &config, &err);
        bwrap_report_warnings(&config);
        if (r < 0) {
                bwrap_report(&config, BWRAP_ERROR, err.what);
                return EXIT_BWRAP;
        }
        if (config.wants_help || config.wants_version || config.lacks_command)
                return bwrap_main_answer(&config, program);
        return bwrap_run(&config, program);
}
