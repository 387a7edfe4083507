/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan: the ordered list of operations that a launch carries out, and nothing
 * else.  Made from a resolved policy by plan_build(), which reads the host and
 * changes nothing.  What is printed is what runs. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "disk/records.h"
#include "policy/resolved.h"
#include "seccomp/load.h"

/* A process that can't be taken for another one: a number in pidfs' eyes (6.9), else the
 * time of its start. */
struct record_process {
        pid_t pid;
        uint64_t pidfd_inode; /* 0: not unique on this kernel */
        uint64_t start_time;  /* clock ticks since boot, /proc/PID/stat's 22nd field */
};

enum plan_op_kind {
        PLAN_DIR,     /* a folder on one of the plan's own tmpfs: target, mode */
        PLAN_FILE,    /* a small synthetic file there: target, text, mode */
        PLAN_SYMLINK, /* a symlink there: text -> target */
        PLAN_BIND,    /* source (host) at target */
        PLAN_OVERLAY, /* source (host) as lower, slug's upper and work, at target */
        PLAN_TMPFS,   /* target, mode, size */
        PLAN_PROC,    /* target, proc */
        PLAN_COVER,   /* a path of the new tree bound over itself, read-only; skipped where it is missing */
        PLAN_DEVPTS,  /* target */
        /* Of raw plans alone. */
        PLAN_DATA,       /* text is a file of its own, bound at target */
        PLAN_MQUEUE,     /* target */
        PLAN_CHMOD,      /* target, mode */
        PLAN_REMOUNT_RO, /* the mount at target */
};

struct plan_op {
        enum plan_op_kind kind;
        char *target; /* absolute in the new root, normalised, no symlink in it */
        char *source; /* canonical host path */
        char *text;   /* PLAN_FILE's bytes, PLAN_SYMLINK's text, PLAN_OVERLAY's slug */
        mode_t mode;
        uint64_t size;      /* bytes, PLAN_TMPFS */
        bool was_asked_for; /* PLAN_OVERLAY: by a rule of the user's */
        uint64_t base_dev;  /* PLAN_OVERLAY of a session: stat(2)'s of source when it began */
        uint64_t base_ino;
        uint64_t merged_dev; /* and of the overlay itself, at target */
        uint64_t merged_ino;
        bool is_read_only; /* PLAN_BIND */
        bool is_device;    /* PLAN_BIND: a device node, not nodev */
        bool is_directory; /* PLAN_BIND: what kind of mount point it needs */
        bool is_in_rundir; /* PLAN_BIND: source is the scratch folder of nsrun_plan's run directory */
        bool makes_target; /* the mount point lies on a tmpfs of ours and is made; else it must exist */
        char **layers;     /* PLAN_OVERLAY of a raw plan: lower folders, the uppermost last */
        char *work;        /* and its work folder; source is the upper one, or NULL for neither */
        int source_fd;     /* PLAN_BIND of a raw plan: what source must still be, where has_source_fd */
        bool has_source_fd;
        bool is_optional;  /* PLAN_COVER of a raw plan: only what could be written to */
        bool is_ephemeral; /* PLAN_OVERLAY of a raw plan: its upper folder is on a tmpfs of its own */
        bool is_hiding;    /* PLAN_TMPFS over a folder of the host: skipped where there is none, unless
                              something lies on it */
        enum policy_proc proc;
};

/* A raw plan is somebody else's: its operations are taken as they come, in any order.
 * Targets are resolved when their turn comes, beneath the new root, where symlinks are followed;
 * what is missing on the way is made (0755).  Made by bwrap/ alone. */
struct plan_raw {
        uint64_t namespaces; /* CLONE_NEW* */
        uint64_t optional;   /* of these, those that may be missing */
        uid_t outer_uid;     /* mapped to plan->uid, where there is a user namespace */
        gid_t outer_gid;
        bool has_reaper;         /* a process of ours stays with the command; else it is the command */
        bool keeps_capabilities; /* all that there are; else those of `capabilities` */
        bool keeps_through_exec; /* also as a user other than root: ambient */
        uint64_t capabilities;   /* bit n: CAP_n */
        bool disables_userns;    /* nothing inside may make a user namespace */
        bool asserts_no_userns;
        int start_fd;        /* readable: the set-up may begin; these four or -1 */
        int userns2_fd;      /* the user namespace to enter at last */
        int userns_block_fd; /* readable: somebody else has written the id maps */
        int block_fd;        /* readable: the command may start */
        char **directories;  /* the first that can be entered is the working directory */
        bool needs_first_directory;
        char **pwd;                 /* "PWD=…" for each of them */
        char *file;                 /* what is executed; argv[0] is what it is told */
        char **lock_files;          /* inside; locked by the reaper */
        struct sock_fprog *filters; /* in the order of their installation */
        size_t n_filters;
        char *file_label; /* SELinux' label of what is made in the new root, or NULL */
        char *exec_label; /* SELinux' label of the command, or NULL */
};

/* Where a plan's command goes when it isn't alone: a session that runs already.  The
 * operations are those that made it. */
struct plan_join {
        struct record_folder folder;
        struct record_process init; /* pid 1, whose namespaces are entered */
        uint64_t namespaces;        /* CLONE_NEW*: those it doesn't share with the host */
        uint64_t namespace_inodes[6];
        bool is_nested;       /* in a pid namespace of its own: nothing else tells commands apart */
        bool kills_leftovers; /* what the command leaves behind ends with it */
        char *cgroup;         /* the session's folder; NULL: none */
        char *stored;         /* its record, of which the operations are read where somebody asks */
        size_t n_stored;
        uint64_t n_processes; /* as launch_params */
};

struct nsrun_plan {
        struct plan_op *ops;
        size_t n_ops;
        uint64_t root_size; /* bytes, the root tmpfs */
        enum policy_net net;
        enum policy_backing backing;
        char *seccomp_name; /* a policy of nsrun's own, "none", or a file's path */
        struct seccomp_loaded seccomp;
        bool seccomp_log;
        enum policy_landlock landlock;
        int landlock_abi; /* of the kernel; 0: none */
        bool is_scoped;   /* Landlock keeps abstract sockets and signals inside */
        struct policy_limits limits;
        bool new_session;
        bool has_overlays;
        char *rundir; /* NULL; or where the run's run directory will be, its last six letters still to be
                           chosen: paths beneath it are sources and targets of binds and folders */
        bool has_terminal;
        char *hostname;
        char *cwd; /* absolute inside */
        char **argv;
        char **env;
        char **left_out;
        uid_t uid; /* host ids, mapped to themselves */
        gid_t gid;
        char *instance;         /* the root of the instance profile, whose folders the run makes; or NULL */
        char *project;          /* for messages; NULL for none */
        char *git_dir;          /* outside the project, and writable; or NULL */
        char *git_common_dir;   /* of a worktree; or NULL */
        bool is_session;        /* no command: those come by other plans */
        struct plan_join *join; /* NULL: a sandbox of its own */
        struct plan_raw *raw;   /* NULL: one of nsrun's own plans */
};

/* Resolves a policy, and makes the plan of what it asks for.  0, or -errno with *err filled. */
int plan_make(const struct policy_request *request, struct nsrun_plan **ret, struct nsrun_error *err);
/* The plan of a sandbox of its own. */
int plan_build(const struct resolved *s, struct nsrun_plan **ret, struct nsrun_error *err);
/* join.c: the plan of a command in the session that the policy names. */
int plan_build_join(const struct resolved *s, struct nsrun_plan **ret, struct nsrun_error *err);
/* Makes sure that a joining plan has its operations, which a launch has no need of. */
int plan_load_operations(struct nsrun_plan *plan, struct nsrun_error *err);
void plan_free(struct nsrun_plan *plan);
/* Whether a run of it puts anything on disk. */
static inline bool plan_needs_rundir(const struct nsrun_plan *plan) {
        return plan->rundir || (plan->has_overlays && plan->backing == POLICY_BACKING_DISK);
}
static inline void plan_freep(struct nsrun_plan **plan) {
        plan_free(*plan);
}
#define _cleanup_plan_ _cleanup_(plan_freep)

/* print.c, print_json.c, print_bwrap.c: the whole text, owned by the caller. */
int plan_print_text(const struct nsrun_plan *plan, char **ret, struct nsrun_error *err);
/* The line that a host logs: the root, the command, and what is mounted where. */
int plan_print_log(const struct nsrun_plan *plan, char **ret, struct nsrun_error *err);
int plan_print_json(const struct nsrun_plan *plan, char **ret, struct nsrun_error *err);
/* An argv for bubblewrap 0.11, one shell-quoted line. */
int plan_print_bwrap(const struct nsrun_plan *plan, char **ret, struct nsrun_error *err);
