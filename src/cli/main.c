/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun, the program: makes sure of fds 0, 1 and 2 and hands over to a
 * subcommand. */
#include <fcntl.h>

#include <sys/resource.h>

#include "base/causes.h"
#include "base/loop.h"
#include "base/programs.h"
#include "base/stream.h"
#include "net/proxy.h"
#include "shell.h"

/* A closed standard fd would be given to the next file that is opened, and
 * that file to the command.  Not O_CLOEXEC: the command gets these. */
static int open_standard_fds(void) {
        struct pollfd fds[] = {{.fd = 0}, {.fd = 1}, {.fd = 2}};
        int r = sys_poll(fds, ARRAY_SIZE(fds), 0);

        if (r < 0)
                return r;
        for (int fd = 0; fd <= 2; fd++)
                if ((fds[fd].revents & POLLNVAL) && open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd)
                        return -errno;
        return 0;
}

/* Under a umask that takes rights from the owner nsrun would make files and folders that it can't open
 * itself, some for good. */
static int check_umask(struct nsrun_error *err) {
        mode_t mask = umask(0);

        (void)umask(mask);
        return (mask & S_IRWXU) == 0
                       ? 0
                       : error_setf(err, NSRUN_STAGE_USAGE, UNSAID(-EACCES), NULL, "umask 022",
                                    "the umask %04o takes from the owner what nsrun needs of the files and "
                                    "folders that it makes",
                                    (unsigned)mask);
}

/* What a small stack, or files that may not grow, would end without a word. */
static int check_limits(struct nsrun_error *err) {
        const sigset_t set = SIGNALS(SIGXFSZ);
        struct rlimit stack;

        /* Writes then fail with EFBIG.  The command has no signal blocked. */
        (void)sigprocmask(SIG_BLOCK, &set, NULL);
        if (getrlimit(RLIMIT_STACK, &stack) < 0 || stack.rlim_cur >= STACK_LEAST)
                return 0;
        return error_cause_with(err, NSRUN_ERROR_SMALL_STACK, UNSAID(-ENOMEM), NULL,
                                error_limit_hint(RLIMIT_STACK, STACK_LEAST));
}

/* Other users of the host see a command line, and so does a command with the host's /proc. */
static void hide_passwords(char **argv) {
        static const char option[] = "--net-via";

        for (; *argv; argv++)
                if (streq(*argv, option) && argv[1])
                        net_proxy_hide(argv[1]);
                else if (startswith(*argv, option))
                        net_proxy_hide(*argv);
}

static bool follows_subcommand(char *const *argv) {
        for (argv++; *argv; argv++)
                if (**argv != '-')
                        return command_find(*argv) != NULL;
        return false;
}

int main(int argc, char **argv) {
        _cleanup_strv_ char **arguments = NULL;
        const struct command *command;
        struct nsrun_error err = {0};
        int r;

        if (check_limits(&err) < 0 || check_umask(&err) < 0)
                return option_fail(&err);
        r = open_standard_fds();
        if (r < 0) {
                (void)null_fail(r, &err);
                return option_fail(&err);
        }
        if (argc > 0) {
                program_arguments = argv[0];
                program_arguments_size = (size_t)(argv[argc - 1] - argv[0]) + strlen(argv[argc - 1]) + 1;
        }
        if (argc > 0 && sh_is_called(argv[0]))
                return sh_main(argv);
        if (argc < 2) {
                (void)option_usage_error(NULL, NULL, "no subcommand", &err);
                return option_fail(&err);
        }
        if (streq(argv[1], "--help") || streq(argv[1], "-h"))
                return help_print_all();
        if (streq(argv[1], "--version") || streq(argv[1], "-V"))
                return argv[2] && streq(argv[2], "--json") ? help_print_version_json()
                                                           : help_print_version();
        command = command_find(argv[1]);
        if (!command) {
                if (argv[1][0] != '-')
                        /* As sudo(8) and env(1) take a command. */
                        (void)command_refuse(argv[1], "unknown subcommand",
                                             "a command stands behind 'nsrun run --'", &err);
                else
                        (void)option_usage_error(NULL, argv[1],
                                                 follows_subcommand(argv)
                                                         ? "options stand behind the subcommand"
                                                         : "unknown option",
                                                 &err);
                return option_fail(&err);
        }
        /* A command that joins a session may leave the memory of argv wiped (launch/join.c). */
        if (strv_copy(argv, &arguments) < 0) {
                (void)error_oom(&err);
                return option_fail(&err);
        }
        hide_passwords(argv);
        program_raise_files();
        return command->run(command, arguments + 1);
}
