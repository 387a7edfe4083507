/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of capabilities, signals and resource limits, in tables.  Nothing here asks the kernel. */
#include "names.h"

#include <linux/capability.h>
#include <signal.h>
#include <strings.h>
#include <sys/resource.h>

#include "str.h"

/* In the kernel's order; Linux 5.9 has had all of them. */
static const char capability_names[][20] = {
        // clang-format off
        "chown", "dac_override", "dac_read_search", "fowner", "fsetid", "kill", "setgid", "setuid",
        "setpcap", "linux_immutable", "net_bind_service", "net_broadcast", "net_admin", "net_raw",
        "ipc_lock", "ipc_owner", "sys_module", "sys_rawio", "sys_chroot", "sys_ptrace", "sys_pacct",
        "sys_admin", "sys_boot", "sys_nice", "sys_resource", "sys_time", "sys_tty_config", "mknod",
        "lease", "audit_write", "audit_control", "setfcap", "mac_override", "mac_admin", "syslog",
        "wake_alarm", "block_suspend", "audit_read", "perfmon", "bpf", "checkpoint_restore",
        // clang-format on
};

_Static_assert(ARRAY_SIZE(capability_names) == 41 && CAP_SYS_ADMIN == 21 && CAP_AUDIT_READ == 37,
               "the names stand at the kernel's numbers");

int capability_find(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(capability_names); i++)
                if (strcasecmp(name, capability_names[i]) == 0)
                        return (int)i;
        return -1;
}

static const struct {
        char name[8];
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

const struct rlimit_kind rlimit_kinds[RLIMITS_COUNT] = {
        {"as", RLIMIT_AS, true},
        {"core", RLIMIT_CORE, true},
        {"cputime", RLIMIT_CPU, false},
        {"data", RLIMIT_DATA, true},
        {"fsize", RLIMIT_FSIZE, true},
        {"locks", 10 /* RLIMIT_LOCKS: its header is the kernel's alone */, false},
        {"memlock", RLIMIT_MEMLOCK, true},
        {"msgqueue", RLIMIT_MSGQUEUE, true},
        {"nice", RLIMIT_NICE, false},
        {"nofile", RLIMIT_NOFILE, false},
        {"nproc", RLIMIT_NPROC, false},
        {"rss", RLIMIT_RSS, true},
        {"rtprio", RLIMIT_RTPRIO, false},
        {"rttime", RLIMIT_RTTIME, false},
        {"sigpending", RLIMIT_SIGPENDING, false},
        {"stack", RLIMIT_STACK, true},
};

const char *rlimit_name(int resource) {
        for (size_t i = 0; i < RLIMITS_COUNT; i++)
                if (rlimit_kinds[i].resource == resource)
                        return rlimit_kinds[i].name;
        return "?";
}
