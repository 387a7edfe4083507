/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Refusals of which the host is the cause, and not what was asked for: one table, by which whoever finds
 * such a cause refuses, and of which causes.awk makes nsrun-hosts(7). */
#pragma once

#include "error.h"

/* What a refusal by a filter says besides where parts of /proc are masked, which would be the next one. */
#define PROC_MASKED_TOO                                                                                      \
        "; parts of its /proc are masked, too: add docker's --security-opt systempaths=unconfined (podman: " \
        "unmask=ALL; Kubernetes: procMount: Unmasked), or choose --proc=none"

/* Bytes of stack for CAUSE_SMALL_STACK; with two thirds of it nsrun ran into its end every other time. */
#define STACK_LEAST ((rlim_t)96 * 1024)

enum cause_id {
        CAUSE_USERNS_CLONE,
        CAUSE_MAX_USER,
        CAUSE_APPARMOR,
        CAUSE_MAX_MNT,
        CAUSE_MAX_PID,
        CAUSE_MAX_IPC,
        CAUSE_MAX_UTS,
        CAUSE_MAX_NET,
        CAUSE_NAMESPACES_USED_UP,
        CAUSE_OUTER_LIMIT,
        CAUSE_NO_USERNS,
        CAUSE_NO_PROC_TO_TELL,
        CAUSE_UNMAPPED,
        CAUSE_CHROOT,
        CAUSE_OTHERS_PIDS,
        CAUSE_FILTER_USERNS,
        CAUSE_FILTER_MOUNTS,
        CAUSE_MODULE,
        CAUSE_NAMESPACES_REFUSED,
        CAUSE_PROCESSES_USED_UP,
        CAUSE_PIDS_USED_UP,
        CAUSE_MEMORY_USED_UP,
        CAUSE_SETFCAP,
        CAUSE_NO_PROC_FOR_IDS,
        CAUSE_READ_ONLY_PROC,
        CAUSE_UNDUMPABLE,
        CAUSE_NO_PROC_FOR_MOUNTS,
        CAUSE_NO_PIDFD,
        CAUSE_FILTER_PIDFD,
        CAUSE_FILTER_PIVOT,
        CAUSE_INITRAMFS,
        CAUSE_FILTER_UMOUNT,
        CAUSE_FILTER_MOVE,
        CAUSE_FILTER_UNSHARE,
        CAUSE_FILTER_MEMFD,
        CAUSE_FILTER_SOCKETS,
        CAUSE_FILTER_MOUNT_CALLS,
        CAUSE_NO_MOUNT_CALLS,
        CAUSE_PROC_MASKED,
        CAUSE_NO_PROC_SUBSET,
        CAUSE_NO_OVERLAYFS,
        CAUSE_OVERLAY_REFUSED,
        CAUSE_OVERLAY_OVER_MOUNTS,
        CAUSE_OVERLAY_OVER_OVERLAYS,
        CAUSE_OVERLAY_IN_CACHE,
        CAUSE_OVERLAY_DISK_FULL,
        CAUSE_NO_SECCOMP,
        CAUSE_FILTER_SECCOMP,
        CAUSE_NO_LANDLOCK,
        CAUSE_FILTER_LANDLOCK,
        CAUSE_LANDLOCK_OFF,
        CAUSE_LANDLOCK_REFUSED,
        CAUSE_FILTER_RESTRICT,
        CAUSE_NO_NULL,
        CAUSE_CLOSED_NULL,
        CAUSE_NODEV_NULL,
        CAUSE_CACHE_UNMADE,
        CAUSE_CACHE_WRITABLE,
        CAUSE_CACHE_FOREIGN,
        CAUSE_NO_CGROUP,
        CAUSE_CGROUP_CROWDED,
        CAUSE_CGROUP_REFUSED,
        CAUSE_SMALL_STACK,
        CAUSE_OUTER_FILTER,
        CAUSE_OUTER_STRICT,
        CAUSE_OUTER_ROOT,
        CAUSE_OUTER_PROC,
        N_CAUSES
};

struct cause {
        enum nsrun_stage stage;
        const char *when; /* what is so on such a host, for the man page: a sentence */
        const char *what; /* the refusal's words */
        const char *fix;  /* what mends it; where that depends on more, the refusal has a fix of its own */
        const char
                *test; /* the test that makes such a host; NULL: no test can, where the kernel isn't such */
};

extern const struct cause causes[N_CAUSES];

/* error_set() with the row's stage and words: safe where that is. */
int error_cause(struct nsrun_error *err, enum cause_id id, int r, const char *path);
/* The row whose words the error's words are, or end in; NULL: the host isn't the cause. */
const struct cause *error_find_cause(const struct nsrun_error *err);
