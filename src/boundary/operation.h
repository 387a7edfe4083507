/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operations of which a sandbox's tree is built, in the order of their list.  Whoever makes the list
 * (plan/, bwrap/, oci/) decides what may be in it; here each is carried out as it stands. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

enum policy_proc {
        POLICY_PROC_UNSAID, /* resolve.c decides; no plan has it */
        POLICY_PROC_NEW,
        POLICY_PROC_AUTO,
        POLICY_PROC_SUBSET,
        POLICY_PROC_BIND,
        POLICY_PROC_NONE
};

/* By whose wish a sandbox shows something of the host's: of a rule, and of an operation; plan/verify.c
 * judges by it, and nobody here. */
enum plan_origin {
        PLAN_BY_NOBODY,    /* it shows nothing of the host's, or nobody has said */
        PLAN_BY_SYSTEM,    /* the base view, read-only */
        PLAN_BY_PROJECT,   /* the project's folder */
        PLAN_BY_WRITABLE,  /* the user, who wants it to be written */
        PLAN_BY_READABLE,  /* the user, to be read, or to be written to an overlay */
        PLAN_BY_ARGUMENT,  /* the command line of an instance */
        PLAN_BY_TABLE,     /* a row for a toolchain or an agent, read-only or an overlay */
        PLAN_BY_AGENT,     /* an agent's row: its folder, an overlay, or one of the project's, read-only */
        PLAN_BY_STATE,     /* an agent's row: state in such a folder, writable */
        PLAN_BY_GIT,       /* the project's git dir, outside of the project */
        PLAN_BY_INSTANCE,  /* the instance's root or workspace */
        PLAN_BY_RUNDIR,    /* the run's own scratch folder */
        PLAN_BY_GRANT,     /* --kvm and its like */
        PLAN_BY_PROTECTED, /* a protected name, read-only */
        PLAN_BY_PIN,       /* a folder in a writable one, mounted on itself */
        PLAN_BY_COMMAND,   /* a raw plan's command line or configuration */
};

enum plan_op_kind {
        PLAN_DIR,     /* a folder on one of the plan's own tmpfs: target, mode */
        PLAN_FILE,    /* a small synthetic file on one of the plan's own tmpfs: target, text, mode */
        PLAN_SYMLINK, /* a symlink on one of the plan's own tmpfs: target, text (where it leads) */
        PLAN_BIND,    /* source (host) at target */
        PLAN_OVERLAY, /* source (host) as lower, slug's upper and work, at target */
        PLAN_TMPFS,   /* target, mode, size */
        PLAN_PROC,    /* target, proc */
        PLAN_COVER,   /* a path of the new tree bound over itself, read-only; skipped where it is missing */
        PLAN_DEVPTS,  /* target */
        PLAN_CGROUP,  /* the run's own cgroup, read-only, at target */
        PLAN_HIDE,    /* an empty folder or an unreadable file at target; source: what the host has there */
        PLAN_SOCKET,  /* a socket at target, which a process on the host's side listens at */
        /* From here on: only in raw plans. */
        PLAN_DATA,       /* a file that holds text, bound at target */
        PLAN_MQUEUE,     /* target */
        PLAN_CHMOD,      /* target, mode */
        PLAN_REMOUNT_RO, /* the mount at target */
        PLAN_PROTECT,    /* target over itself, read-only, with all that is mounted beneath it */
        PLAN_FILESYSTEM, /* one of the type that source names, with text as its options, at target */
        PLAN_MASK,       /* an empty folder or /dev/null over target; skipped where nothing is there */
        PLAN_SYSCTL,     /* a path beneath /proc/sys, of the new namespaces: it becomes text */
};

/* Where the sandbox has a private version of what it may not change on the host: a folder in the run
 * directory, or in memory instead of it, and its place inside. */
#define PLAN_PRIVATE_FOLDER "private"
#define PLAN_PRIVATE        "/.nsrun"
/* The name at the sandbox's root of a symlink to a version there, for the text of its operation: ".nsrun-3"
 * for "/.nsrun/3-config". */
#define PRIVATE_LINK_SIZE (sizeof(PLAN_PRIVATE) + 8)
static inline void private_link_name(const char *text, char to[PRIVATE_LINK_SIZE]) {
        const char *number = text + sizeof(PLAN_PRIVATE);
        size_t n = strspn(number, "0123456789");

        strcpy(to, ".nsrun-");
        strncat(to, number, n < 8 ? n : 7);
}

/* Whether `text` is that of the symlink that stands in the place of a file called `name`. */
static inline bool private_is_link(const char *text, const char *name) {
        size_t n = strlen(PLAN_PRIVATE "/"), digits;

        if (strncmp(text, PLAN_PRIVATE "/", n) != 0)
                return false;
        digits = strspn(text + n, "0123456789");
        return digits > 0 && text[n + digits] == '-' && strcmp(text + n + digits + 1, name) == 0;
}

/* The layer, in the same place, of the overlay that stands in the place of a protected folder; of which
 * one, counted as those. */
#define PLAN_PRIVATE_LAYER "private-"

/* Whose a PLAN_SOCKET is: its text. */
#define PLAN_SOCKET_SSH     "ssh-agent"
#define PLAN_SOCKET_WAYLAND "wayland"
#define PLAN_SOCKET_DBUS    "dbus"
#define PLAN_SOCKET_BROWSER "browser"
/* What pid 1 reads of the D-Bus proxy's socket when that listens; an errno if it never will. */
#define DBUS_PROXY_READY 'x'

struct plan_op {
        enum plan_op_kind kind;
        enum plan_origin origin; /* of what it shows of the host's */
        char *target;            /* absolute in the new root, normalised, no symlink in it */
        char *source;            /* canonical host path */
        mode_t mode;
        uint64_t size; /* bytes, of PLAN_TMPFS, PLAN_DATA and a raw plan's PLAN_FILE; of the tmpfs for a
                          PLAN_OVERLAY's layers, and for PLAN_PRIVATE, where they are in memory */
        char *text; /* PLAN_FILE's bytes, PLAN_SYMLINK's text, PLAN_OVERLAY's slug, or a raw plan's options
                       of overlayfs; of a PLAN_BIND what stands in source's place: a symlink with this text,
                       of a folder an overlay with this layer, or, with no place for it, source itself,
                       read-only */
        bool was_asked_for; /* PLAN_OVERLAY: the user named it, nsrun didn't choose it */
        bool can_be_empty; /* PLAN_OVERLAY that nsrun chose: its mount point is made, and nothing lies on it;
                              PLAN_BIND with a layer: nothing is mounted where that isn't there */
        uint64_t base_dev; /* PLAN_OVERLAY of a session or a grant: stat(2)'s of source before; 0: any */
        uint64_t base_ino;
        uint64_t merged_dev; /* and those of the mounted overlay itself */
        uint64_t merged_ino;
        bool is_read_only;  /* PLAN_BIND; PLAN_TMPFS, once all mount points on it are made */
        bool is_device;     /* PLAN_BIND: a device node, not nodev */
        bool is_directory;  /* PLAN_BIND, PLAN_HIDE: the mount point is a folder, else a file */
        bool is_copied;     /* PLAN_BIND: of a small file the bytes do, which cost less than a mount */
        bool is_link;       /* PLAN_BIND: source and target are symlinks, which are not followed */
        char **stubs;       /* PLAN_BIND: names in source that don't exist and that nothing can make; with a
                               slash at the end where it is a folder's.  NULL: none */
        bool is_git_dir;    /* PLAN_BIND with stubs: source is a git dir, or in one, where stubs are empty;
                               elsewhere files of theirs can't be opened */
        bool is_in_rundir;  /* PLAN_BIND: source is the scratch folder of the plan's run directory, or its
                               private one, which is left out where there is no run directory */
        bool makes_target;  /* the mount point is on a tmpfs of the plan's and is made */
        bool makes_on_host; /* PLAN_BIND: target is the host's, in the instance or --home's, and the run
                               makes what is missing of it */
        char **layers;      /* PLAN_OVERLAY: one more lower folder over source, if it is there; of a raw
                               plan all of them, the uppermost last */
        char *work;         /* PLAN_OVERLAY of a raw plan: its work folder (source: the upper) */
        bool is_own_link; /* PLAN_BIND of a raw plan: source is a link of the child's own in /proc/self/ns */
        mode_t parent_mode; /* of a raw plan: of the folders that are made on the way to target */
        int source_fd; /* PLAN_BIND of a raw plan, where has_source_fd: the file that source must lead to */
        bool has_source_fd;
        bool is_optional;  /* PLAN_COVER of a raw plan: covers only what the command could write to */
        bool is_ephemeral; /* PLAN_OVERLAY of a raw plan: its upper folder lies on a tmpfs made for it */
        bool is_hiding;    /* PLAN_TMPFS, PLAN_HIDE: skipped if it would hide nothing of the host */
        uint64_t inode;    /* PLAN_HIDE: stat(2)'s of what it hides, where that is shown as it is; else 0 */
        unsigned long mount_flags; /* MS_* of PLAN_FILESYSTEM */
        uint64_t attributes;       /* MOUNT_ATTR_* of a raw plan's PLAN_BIND, besides what every bind has */
        unsigned long propagation; /* MS_*, PLAN_BIND of a raw plan; 0: its root's */
        bool is_shallow;           /* PLAN_BIND of a raw plan: without what is mounted beneath source */
        enum policy_proc proc;     /* PLAN_PROC; PLAN_COVER: SUBSET where it covers nothing in a full /proc;
                                      PLAN_BIND, PLAN_HIDE: AUTO where a full /proc alone has the file */
};

/* The members in their order, and of which form each is: in the record that the boundary is given
 * (members.h), and in a session's (plan/record.c). */
#define OP_MEMBERS(M)                    \
        M(NUMBER, NUMBER, kind)          \
        M(NOTHING, NUMBER, origin)       \
        M(TEXT, TEXT, target)            \
        M(TEXT, TEXT, source)            \
        M(NUMBER, NUMBER, mode)          \
        M(NUMBER, NUMBER, size)          \
        M(BYTES, TEXT, text)             \
        M(BOOL, BOOL, was_asked_for)     \
        M(BOOL, BOOL, can_be_empty)      \
        M(NUMBER, OVERLAYS, base_dev)    \
        M(NUMBER, OVERLAYS, base_ino)    \
        M(NOTHING, OVERLAYS, merged_dev) \
        M(NOTHING, OVERLAYS, merged_ino) \
        M(BOOL, BOOL, is_read_only)      \
        M(BOOL, BOOL, is_device)         \
        M(BOOL, BOOL, is_directory)      \
        M(BOOL, BOOL, is_copied)         \
        M(BOOL, BOOL, is_link)           \
        M(TEXTS, TEXTS, stubs)           \
        M(BOOL, BOOL, is_git_dir)        \
        M(BOOL, BOOL, is_in_rundir)      \
        M(BOOL, BOOL, makes_target)      \
        M(NOTHING, BOOL, makes_on_host)  \
        M(TEXTS, TEXTS, layers)          \
        M(TEXT, NOTHING, work)           \
        M(BOOL, NOTHING, is_own_link)    \
        M(NUMBER, NOTHING, parent_mode)  \
        M(NUMBER, NOTHING, source_fd)    \
        M(BOOL, NOTHING, has_source_fd)  \
        M(BOOL, NOTHING, is_optional)    \
        M(BOOL, NOTHING, is_ephemeral)   \
        M(BOOL, BOOL, is_hiding)         \
        M(NUMBER, NUMBER, inode)         \
        M(NUMBER, NOTHING, mount_flags)  \
        M(NUMBER, NOTHING, attributes)   \
        M(NUMBER, NOTHING, propagation)  \
        M(BOOL, NOTHING, is_shallow)     \
        M(NUMBER, NUMBER, proc)

#define HIDDEN_WAS_MOVED      "a hidden name was moved while the sandbox was being built"
#define HIDDEN_WAS_MOVED_HINT "start again"
