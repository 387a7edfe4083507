/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of capabilities. */
#include "capabilities.h"

#include <linux/capability.h>
#include <strings.h>

#include "macro.h"

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

int capability_find(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (strcasecmp(name, names[i]) == 0)
                        return (int)i;
        return -1;
}
