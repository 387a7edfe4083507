/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a bubblewrap command line asks for, as one struct: filled by bwrap_parse(), read by
 * build.c, which makes a plan of it, and run.c.  Nothing of nsrun's own policy comes in:
 * what the caller wrote is what it gets. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "base/str.h"

enum bwrap_op_kind {
        BWRAP_BIND,
        BWRAP_BIND_FD,
        BWRAP_REMOUNT_RO,
        BWRAP_OVERLAY,     /* lowers, source is the upper folder, work */
        BWRAP_TMP_OVERLAY, /* lowers */
        BWRAP_RO_OVERLAY,  /* lowers, at least two */
        BWRAP_PROC,
        BWRAP_DEV,
        BWRAP_TMPFS,
        BWRAP_MQUEUE,
        BWRAP_DIR,
        BWRAP_FILE,      /* fd's contents become a file */
        BWRAP_BIND_DATA, /* fd's contents become a file that is bound */
        BWRAP_SYMLINK,   /* source is its text */
        BWRAP_CHMOD,
};

struct bwrap_op {
        enum bwrap_op_kind kind;
        const char *option; /* as it was spelled, "--ro-bind"; static text */
        char *source;       /* as it was given */
        char *target;
        char *work;
        char **lowers;          /* --overlay-src's, in the order given: the last is the uppermost */
        char **overlay_options; /* --overlay-opt's, "index=off" and so on; NULL: none */
        int fd;                 /* or -1 */
        bool is_read_only;      /* --ro-bind, --ro-bind-fd, --ro-bind-data */
        bool is_device;         /* --dev-bind: device files work */
        bool is_optional;       /* -try: left out where the source is missing */
        bool makes_source;      /* -create: a source that is missing is made */
        bool has_perms;
        mode_t perms;  /* --perms' for the next operation; --chmod's */
        uint64_t size; /* --size' for a tmpfs in bytes; 0: not given */
};

struct bwrap_config {
        /* Who asks: anyone but root gets a user namespace without a word, and may so have any id. */
        pid_t parent; /* when the program began: --die-with-parent is about this one */
        uid_t caller_uid;
        gid_t caller_gid;

        struct bwrap_op *ops; /* in the order given */
        size_t n_ops;

        bool unshare_user, unshare_user_try, unshare_ipc, unshare_pid, unshare_net, unshare_uts;
        bool unshare_cgroup, unshare_cgroup_try;
        bool disable_userns, assert_userns_disabled;
        int userns_fd, userns2_fd, pidns_fd, netns_fd; /* -1: not given */
        bool has_uid, has_gid;
        uid_t uid;
        gid_t gid;
        char *hostname;
        char *chdir;
        char **env;  /* what the command gets, but for PWD: --clearenv, --setenv and --unsetenv applied in
                        order */
        char **argv; /* the command; argv[0] is what is executed */
        char *argv0; /* --argv0: what it is told as its own name; or NULL */
        char **lock_files;
        int *sync_fds; /* kept open as long as the sandbox runs */
        size_t n_sync_fds;
        int *seccomp_fds; /* in the order in which they are installed */
        size_t n_seccomp_fds;
        char *seccomp_policy;                                              /* --seccomp-policy; or NULL */
        int block_fd, userns_block_fd, info_fd, json_status_fd, report_fd; /* -1: not given */
        char *exec_label, *file_label;                                     /* SELinux' */
        bool new_session, die_with_parent, as_pid_1;
        char **protect, **hide; /* paths inside */
        bool scopes_sockets;    /* --scope-abstract-unix-sockets */
        bool is_no_boundary;    /* --not-a-security-boundary, which changes nothing here */
        /* --cap-add and --cap-drop in their order: the command gets (start & caps_kept) | caps_added,
         * bit n for capability n, where `start` is what root has, and nothing for anyone else.
         * ALL sets every bit, beyond the kernel's last capability too. */
        uint64_t caps_kept, caps_added;
        bool has_level_prefix;
        char **warnings; /* "Only the last --chdir option will take effect", one line each, without "bwrap: "
                          */
        /* Nothing is to be run where one of these is set; lacks_command: usage, on standard error. */
        bool wants_help, wants_version, lacks_command;
};

/* -1 for the descriptors, environ copied, the caller's ids.  -ENOMEM. */
int bwrap_config_init(struct bwrap_config *config);
void bwrap_config_clear(struct bwrap_config *config);
#define _cleanup_bwrap_config_ _cleanup_(bwrap_config_clear)

/* Reads argv[1] and what follows.  On failure *err's `what` is the whole message as bubblewrap says it,
 * without "bwrap: " (cut at its size), and *config has the warnings that come before it.  Reads and
 * closes --args' descriptors; opens and changes nothing else, and does not look whether the other
 * descriptors are open.  0, or -EINVAL, -ENOMEM or read(2)'s. */
int bwrap_parse(int argc, char *const *argv, struct bwrap_config *config, struct nsrun_error *err);
/* "usage: ARGV0 [OPTIONS...] [--] COMMAND [ARGS...]" and every option, from the parser's table.
 * NULL for want of memory. */
char *bwrap_help(const char *program);
/* "bubblewrap 0.13.1 (nsrun VERSION)", without a newline: whose command line this is. */
char *bwrap_version(void);
