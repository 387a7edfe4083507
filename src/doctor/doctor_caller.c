/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What this process has of its caller, and every run in turn: resource limits, signals, the terminal; and
 * the null device, which stands in for streams that the caller didn't give. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <termios.h>

#include "base/programs.h"
#include "base/stream.h"
#include "doctor.h"

/* The least that nsrun, and a command of any size, get along with. */
static void look_at_limits(struct doctor *d) {
        static const struct {
                int resource;
                uint64_t least;
                const char *text, *fix;
        } all[] = {
                {RLIMIT_NOFILE, 256, "fewer than 256 open files are allowed", "ulimit -n 1024"},
                {RLIMIT_NPROC, 64, "fewer than 64 processes are allowed", "ulimit -u 1024"},
                {RLIMIT_FSIZE, 1 << 20, "files may not have 1 MiB", "ulimit -f unlimited"},
                {RLIMIT_STACK, 1 << 20, "stacks may not have 1 MiB", "ulimit -s 8192"},
                {RLIMIT_AS, 256 << 20, "address spaces may not have 256 MiB", "ulimit -v unlimited"},
        };
        bool is_low = false;

        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
                struct sys_rlimit own;

                /* Of open files, what commands get: nsrun's own are raised. */
                if ((all[i].resource != RLIMIT_NOFILE || !program_files_before(&own)) &&
                    sys_prlimit(all[i].resource, NULL, &own) < 0)
                        continue;
                if (own.soft >= all[i].least)
                        continue;
                is_low = true;
                doctor_add(d, "limits", DOCTOR_DEGRADED, all[i].text, all[i].fix);
        }
        if (!is_low)
                doctor_say(d, "limits", "open files, processes, sizes and memory are enough");
}

static void look_at_null(struct doctor *d) {
        struct nsrun_error error = {0};
        _cleanup_close_ int fd = null_open(O_RDWR, &error);
        struct stat st;

        if (fd >= 0 && sys_fstat(fd, &st) >= 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)) {
                doctor_say(d, "/dev/null", "can be opened");
                return;
        }
        if (fd >= 0)
                (void)error_set(&error, NSRUN_STAGE_SUPERVISE, 0, "/dev/null", "this is not the null device",
                                "sudo rm -f /dev/null; sudo mknod -m 666 /dev/null c 1 3");
        (void)doctor_add_error(d, "/dev/null", DOCTOR_DEGRADED, &error);
}

static const struct {
        int number;
        const char *name;
} told_signals[] = {{SIGHUP, "HUP"},   {SIGINT, "INT"},   {SIGQUIT, "QUIT"}, {SIGPIPE, "PIPE"},
                    {SIGALRM, "ALRM"}, {SIGTERM, "TERM"}, {SIGCHLD, "CHLD"}, {SIGTSTP, "TSTP"},
                    {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}};

/* The names of those that `is_one` says yes to, with commas; the caller frees it, NULL for want of memory.
 */
static char *list_signals(const sigset_t *set, bool (*is_one)(const sigset_t *set, int number)) {
        _cleanup_strbuf_ struct strbuf list = {0};

        strbuf_add(&list, "");
        for (size_t i = 0; i < ARRAY_SIZE(told_signals); i++)
                if (is_one(set, told_signals[i].number)) {
                        if (list.length > 0)
                                strbuf_add(&list, ",");
                        strbuf_add(&list, told_signals[i].name);
                }
        return strbuf_finish(&list);
}

static bool is_signal_blocked(const sigset_t *set, int number) {
        return sigismember(set, number) == 1;
}

static bool is_signal_ignored(nsrun_unused const sigset_t *set, int number) {
        struct sigaction action;

        return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* A command has none blocked, and ignores what the caller ignores. */
static void look_at_signals(struct doctor *d) {
        _cleanup_free_ char *blocked = NULL, *ignored = NULL, *text = NULL, *fix = NULL;
        sigset_t own;
        int r = sys_sigmask(SIG_SETMASK, NULL, &own);

        blocked = r < 0 ? NULL : list_signals(&own, is_signal_blocked);
        ignored = list_signals(NULL, is_signal_ignored);
        if (!blocked || !ignored) {
                d->has_failed |= r >= 0;
                return;
        }
        if (is_signal_ignored(NULL, SIGINT) || is_signal_ignored(NULL, SIGTERM)) {
                text = str_concat("the caller ignores ", ignored, ", and so does a command");
                fix = str_concat("env --default-signal=", ignored, " nsrun ...");
                if (text && fix)
                        doctor_add(d, "signals", DOCTOR_DEGRADED, text, fix);
                d->has_failed |= !text || !fix;
        } else if (*ignored) {
                doctor_say(d, "signals", "the caller ignores %s, and so does a command", ignored);
        } else if (*blocked) {
                doctor_say(d, "signals", "the caller blocks %s, a command blocks none", blocked);
        } else {
                doctor_say(d, "signals", "none is blocked or ignored");
        }
}

/* Which of the standard streams is a terminal; NULL: none. */
static const char *find_terminal_stream(int *ret_fd) {
        static const char *const names[] = {"standard input", "standard output", "standard error"};

        for (int fd = 0; fd <= 2; fd++)
                if (isatty(fd)) {
                        *ret_fd = fd;
                        return names[fd];
                }
        return NULL;
}

/* ^C and ^Z go to the foreground of the session whose terminal it is. */
static void look_at_terminal(struct doctor *d) {
        int fd = -1;
        const char *name = find_terminal_stream(&fd);
        pid_t session = name ? tcgetsid(fd) : -1;

        if (!name)
                doctor_say(d, "terminal", "none");
        else if (session != getsid(0))
                doctor_add(d, "terminal", DOCTOR_DEGRADED,
                           "it isn't this session's own: ^C and ^Z don't reach what runs",
                           "setsid --ctty --wait nsrun ...");
        else if (tcgetpgrp(fd) != getpgrp())
                doctor_say(d, "terminal", "%s is one, and nsrun is in its background", name);
        else
                doctor_say(d, "terminal", "%s is one, and nsrun is in its foreground", name);
}

void doctor_look_at_caller(struct doctor *d) {
        look_at_limits(d);
        look_at_signals(d);
        look_at_terminal(d);
        look_at_null(d);
}
