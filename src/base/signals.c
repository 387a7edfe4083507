/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Signals by name or number. */
#include "signals.h"

#include <signal.h>
#include <strings.h>

#include "str.h"

static const struct {
        const char *name;
        int number;
} signals[] = {
        {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT},     {"ABRT", SIGABRT}, {"KILL", SIGKILL},
        {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"PIPE", SIGPIPE},     {"ALRM", SIGALRM}, {"TERM", SIGTERM},
        {"CONT", SIGCONT}, {"STOP", SIGSTOP}, {"TSTP", SIGTSTP},     {"TTIN", SIGTTIN}, {"TTOU", SIGTTOU},
        {"URG", SIGURG},   {"CHLD", SIGCHLD}, {"WINCH", SIGWINCH},   {"IO", SIGIO},     {"SEGV", SIGSEGV},
        {"BUS", SIGBUS},   {"FPE", SIGFPE},   {"ILL", SIGILL},       {"TRAP", SIGTRAP}, {"SYS", SIGSYS},
        {"XCPU", SIGXCPU}, {"XFSZ", SIGXFSZ}, {"VTALRM", SIGVTALRM}, {"PROF", SIGPROF}, {"PWR", SIGPWR},
};

int signal_parse(const char *text) {
        uint64_t number;

        if (str_parse_number(text, false, &number) >= 0)
                return number >= 1 && number <= 64 ? (int)number : 0;
        if (strncasecmp(text, "SIG", 3) == 0)
                text += 3;
        for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
                if (strcasecmp(text, signals[i].name) == 0)
                        return signals[i].number;
        return 0;
}
