/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --cap-add and --cap-drop: names of capabilities, and what a row of them comes to.  Sets none. */
#include <linux/capability.h>
#include <strings.h>

#include "options.h"

/* In the kernel's order; Linux 5.9 has had all of them. */
static const char *const names[] = {
        "chown",
        "dac_override",
        "dac_read_search",
        "fowner",
        "fsetid",
        "kill",
        "setgid",
        "setuid",
        "setpcap",
        "linux_immutable",
        "net_bind_service",
        "net_broadcast",
        "net_admin",
        "net_raw",
        "ipc_lock",
        "ipc_owner",
        "sys_module",
        "sys_rawio",
        "sys_chroot",
        "sys_ptrace",
        "sys_pacct",
        "sys_admin",
        "sys_boot",
        "sys_nice",
        "sys_resource",
        "sys_time",
        "sys_tty_config",
        "mknod",
        "lease",
        "audit_write",
        "audit_control",
        "setfcap",
        "mac_override",
        "mac_admin",
        "syslog",
        "wake_alarm",
        "block_suspend",
        "audit_read",
        "perfmon",
        "bpf",
        "checkpoint_restore",
};

_Static_assert(ARRAY_SIZE(names) == 41 && CAP_SYS_ADMIN == 21 && CAP_AUDIT_READ == 37,
               "the names stand at the kernel's numbers");

/* The bits that "CAP_KILL" (in any case), a number or "ALL" stands for; 0 for any other word. */
static uint64_t bits_of(const char *name) {
        unsigned long number;
        char *end;

        if (strcasecmp(name, "all") == 0)
                return UINT64_MAX;
        if (*name >= '0' && *name <= '9') {
                errno = 0;
                number = strtoul(name, &end, 0);
                return errno != 0 || *end || number > 63 ? 0 : UINT64_C(1) << number;
        }
        if (strncasecmp(name, "cap_", 4) != 0)
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (strcasecmp(name + 4, names[i]) == 0)
                        return UINT64_C(1) << i;
        return 0;
}

int bwrap_capability(struct bwrap_parser *p, const struct bwrap_option *option, const char *const *values) {
        uint64_t bits = bits_of(values[0]);

        if (bits == 0)
                return bwrap_refuse(p, -EINVAL, "unknown cap: %s", values[0]);
        if (streq(option->name, "--cap-add")) {
                p->config->caps_added |= bits;
        } else {
                p->config->caps_kept &= ~bits;
                p->config->caps_added &= ~bits;
        }
        return 0;
}
