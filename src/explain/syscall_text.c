/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tables of the calls whose arguments a report names in words. */
#include "syscall_text.h"

struct value_name {
        uint64_t value;
        const char *name;
};

static const struct value_name families[] = {
        {0, "AF_UNSPEC"},     {1, "AF_UNIX"},    {2, "AF_INET"}, {10, "AF_INET6"}, {15, "AF_KEY"},
        {16, "AF_NETLINK"},   {17, "AF_PACKET"}, {21, "AF_RDS"}, {29, "AF_CAN"},   {30, "AF_TIPC"},
        {31, "AF_BLUETOOTH"}, {38, "AF_ALG"},    {39, "AF_NFC"}, {40, "AF_VSOCK"}, {43, "AF_SMC"},
        {44, "AF_XDP"},       {45, "AF_MCTP"},   {0, NULL},
};

static const struct value_name netlink_protocols[] = {
        {0, "NETLINK_ROUTE"},
        {4, "NETLINK_SOCK_DIAG"},
        {9, "NETLINK_AUDIT"},
        {12, "NETLINK_NETFILTER"},
        {15, "NETLINK_KOBJECT_UEVENT"},
        {16, "NETLINK_GENERIC"},
        {0, NULL},
};

/* Values that are flags: all that are set are named. */
static const struct value_name clone_flags[] = {
        {0x00000080, "CLONE_NEWTIME"}, {0x00020000, "CLONE_NEWNS"},  {0x02000000, "CLONE_NEWCGROUP"},
        {0x04000000, "CLONE_NEWUTS"},  {0x08000000, "CLONE_NEWIPC"}, {0x10000000, "CLONE_NEWUSER"},
        {0x20000000, "CLONE_NEWPID"},  {0x40000000, "CLONE_NEWNET"}, {0, NULL},
};

static const struct value_name requests[] = {
        {0x5412, "TIOCSTI"},
        {0x541c, "TIOCLINUX"},
        {0, NULL},
};

static const struct value_name keyctl_commands[] = {
        {0, "KEYCTL_GET_KEYRING_ID"},
        {1, "KEYCTL_JOIN_SESSION_KEYRING"},
        {6, "KEYCTL_DESCRIBE"},
        {8, "KEYCTL_LINK"},
        {10, "KEYCTL_SEARCH"},
        {11, "KEYCTL_READ"},
        {0, NULL},
};

static const struct value_name bpf_commands[] = {
        {0, "BPF_MAP_CREATE"}, {5, "BPF_PROG_LOAD"}, {7, "BPF_OBJ_GET"}, {18, "BPF_BTF_LOAD"}, {0, NULL},
};

static const struct {
        const char *syscall;
        unsigned argument;
        const char *label;
        const struct value_name *names;
        bool is_flags;
} interesting[] = {
        {"socket", 0, "family", families, false},
        {"socketpair", 0, "family", families, false},
        {"clone", 0, "flags", clone_flags, true},
        {"unshare", 0, "flags", clone_flags, true},
        {"setns", 1, "flags", clone_flags, true},
        {"ioctl", 1, "request", requests, false},
        {"keyctl", 0, "command", keyctl_commands, false},
        {"bpf", 0, "command", bpf_commands, false},
        {"ptrace", 0, "request", NULL, false},
        {"prctl", 0, "option", NULL, false},
        {"personality", 0, "persona", NULL, false},
};

static void decode_add(char text[128], const char *word) {
        size_t n = strlen(text);

        (void)snprintf(text + n, 128 - n, "%s%s", n > 0 ? "|" : "", word);
}

static void name_flags(char text[128], const struct value_name *names, uint64_t value) {
        char rest[24];

        text[0] = '\0';
        for (; names->name; names++)
                if (value & names->value) {
                        decode_add(text, names->name);
                        value &= ~names->value;
                }
        (void)snprintf(rest, sizeof(rest), "0x%jx", (uintmax_t)value);
        if (value != 0 || text[0] == '\0')
                decode_add(text, rest);
}

static void name_value(char text[128], const struct value_name *names, uint64_t value) {
        for (; names && names->name; names++)
                if (names->value == value) {
                        (void)snprintf(text, 128, "%s", names->name);
                        return;
                }
        (void)snprintf(text, 128, value < 1024 ? "%ju" : "0x%jx", (uintmax_t)value);
}

size_t decode_arguments(const char *syscall, const uint64_t arguments[6],
                        struct decoded_argument ret[DECODED_MOST]) {
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_SIZE(interesting) && n == 0; i++) {
                /* These arguments are ints: the kernel looks at the low 32 bits alone. */
                uint32_t value = (uint32_t)arguments[interesting[i].argument];

                if (!streq(interesting[i].syscall, syscall))
                        continue;
                ret[n].label = interesting[i].label;
                if (interesting[i].is_flags)
                        name_flags(ret[n].text, interesting[i].names, value);
                else
                        name_value(ret[n].text, interesting[i].names, value);
                n++;
        }
        if (n > 0 && streq(syscall, "socket") && streq(ret[0].text, "AF_NETLINK")) {
                ret[n].label = "protocol";
                name_value(ret[n].text, netlink_protocols, (uint32_t)arguments[2]);
                n++;
        }
        return n;
}
