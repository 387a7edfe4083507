/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan: the ordered list of operations that a launch carries out, and nothing else.  Made by
 * plan_make() from a policy, reading the host and changing nothing; the plan that is
 * printed is the one that runs. */
#pragma once

#include "boundary/identity.h"
#include "disk/records.h"
#include "resolve/resolve.h"
#include "seccomp/load.h"

/* A process, told apart from a later one with the same pid by its pidfd's inode (unique on pidfs,
 * since 6.9), or else by the time of its start. */
struct record_process {
        pid_t pid;
        uint64_t pidfd_inode; /* 0: the kernel's pidfds have no unique inode */
        uint64_t start_time;  /* clock ticks since boot, the 22nd field of /proc/PID/stat */
};

/* What a plan has besides when bwrap/ made it of bubblewrap's command line or oci/ of a container's
 * configuration, a raw plan: its operations are carried out in the order in which they come.  A target is
 * resolved when its operation's turn comes, beneath the new root, where symlinks are followed; folders that
 * are missing on the way are made. */
struct plan_raw {
        uint64_t namespaces; /* CLONE_NEW* */
        uint64_t optional;   /* those of `namespaces` that the launch goes without where they can't be had */
        struct boundary_raw setup;     /* but for `uid` and `has_root_outside`, which follow from the plan */
        struct init_identity identity; /* but for what follows from the plan: ids and their maps,
                                          `makes_userns`, `new_session` */
        char **directories;            /* the first of these that can be entered is the working directory */
        char **pwd;                    /* "PWD=…", one for each of `directories` */
        char *file;                    /* the file that is executed; argv[0] need not name it */
        char **lock_files;             /* paths inside of files that the reaper locks for its life */
        int *held_fds;                 /* the reaper keeps these open for its life */
        size_t n_held_fds;
        struct sock_fprog *filters; /* seccomp filters, in the order in which they are installed */
        size_t n_filters;
        uint64_t scopes;  /* of the Landlock domain that the command enters (boundary/harden.h); 0: none */
        char *file_label; /* SELinux label of what is mounted in the new root, or NULL */
        char *exec_label; /* SELinux label of the command, or NULL */
        bool refuses_magic_links; /* no command may be nsrun's own program, through /proc/self/exe */
};

/* What a plan has besides when its command joins a session that runs already.  The plan's
 * operations are then those that the session was made with. */
struct plan_join {
        struct record_folder folder;
        struct record_process init; /* the session's pid 1, whose namespaces are entered */
        uint64_t namespaces; /* CLONE_NEW*: the namespaces that the session doesn't share with the host */
        uint64_t namespace_inodes[6];
        bool isolates_commands; /* commands can't signal or trace each other */
        bool is_nested;         /* for that the command gets a pid namespace: without Landlock scopes */
        bool kills_leftovers;   /* processes that the command leaves behind are killed when it ends */
        char *cgroup;           /* the session's cgroup folder; NULL: it has none */
        char *stored;           /* the session's record, for plan_load_operations() */
        size_t n_stored;
        uint64_t n_processes; /* the session's bound on processes (RLIMIT_NPROC); 0: none */
        char *rundir;         /* the session's run directory; NULL: it has none */
};

struct nsrun_plan {
        struct plan_op *ops;
        size_t n_ops;
        uint64_t root_size; /* bytes of the root tmpfs */
        enum policy_net net;
        enum policy_net asked_net; /* what was asked for, said apart from what came of it */
        enum policy_proc asked_proc;
        char **network; /* the rules of POLICY_NET_ALLOW: net/rules.h's lines, as they may be shown */
        char *via;   /* the proxy's line with its password, for nsrun-net alone; NULL: there is no proxy */
        char **keys; /* NAME=SOURCE of --key */
        char **key_uses;  /* and a port of the sandbox's with a use each: keys/use.h */
        char *key_values; /* lines "NAME KEY" of those that the caller's environment had, for nsrun-keys
                             alone */
        enum policy_backing backing;
        char *seccomp_name; /* a shipped policy's name, "none", or a policy file's path */
        struct seccomp_loaded seccomp;
        bool seccomp_log;
        enum policy_landlock landlock;
        int landlock_abi; /* the version of the kernel's Landlock; 0: it has none, or --landlock=off */
        bool is_scoped;   /* Landlock keeps abstract sockets and signals inside */
        struct policy_limits limits;
        bool has_own_limits; /* no core files, and half of what is counted for the whole user, unless a limit
                                says otherwise */
        bool new_session;
        bool has_overlays;
        bool is_strict; /* protected names that don't exist can't be made */
        bool has_stubs;
        char *rundir; /* The path that the run directory will have, its last six letters still to be chosen,
                         or NULL.  Paths beneath it are sources and targets of binds and folders. */
        char *hostname;
        char *cwd; /* the working directory, absolute in the new root */
        char **argv;
        char **env;
        char **left_out;
        char **unseen;   /* what the environment points at that isn't visible inside, a line each */
        char **lacks;    /* of git: as in struct resolved */
        char **secrets;  /* as in struct resolved */
        char **granted;  /* what it was granted while it runs, an option each, for a plan that is shown */
        char **gives;    /* what --kvm and its like give away, a line each */
        char *ssh_agent; /* the host's socket of the SSH agent, canonical; NULL: without --ssh-agent */
        char **ssh_keys; /* its values */
        char *browser;   /* the host's program that opens links; NULL: without --browser */
        char **dbus;     /* what desktop/dbus_proxy.h's process is told; NULL: without --dbus */
        char *wayland;   /* the compositor's socket, canonical, that makes a security context; or NULL */
        uid_t uid;       /* the user's in the user namespace, if one is made */
        gid_t gid;
        uid_t host_uid; /* what those stand for on the host */
        gid_t host_gid;
        char *instance;       /* the instance profile's root folder, or NULL */
        char *workspace;      /* the instance's workspace, where it is not in its usual place; or NULL */
        char *own_home;       /* the host's folder that --home shows as the home, or NULL */
        char *home;           /* the user's, and where it is inside; NULL: there is none */
        uint64_t home_files;  /* files and folders that the operations make there, on a tmpfs, its root
                                 counted; 0:  it is none */
        char *project;        /* the project's folder, for messages; NULL: no project */
        char *git_dir;        /* the project's git dir, where the command may write to it; or NULL */
        char *git_common_dir; /* the common git dir of a worktree; or NULL */
        char **git_dirs;      /* git dirs that are swept when the command has ended: as in struct resolved */
        char **git_links;     /* the symlinks in them: as in struct resolved */
        char **git_trees;     /* folders in the common git dir that aren't git's: as in struct resolved */
        bool links_are_cut;
        char **private;               /* as in struct resolved: each is inside at PLAN_PRIVATE/NUMBER-NAME */
        char **protected;             /* what is looked at before and after the run, as in struct resolved */
        char **present;               /* as in struct resolved, too */
        char **protect, **no_protect; /* the policy's, for a session's commits */
        char **carried; /* of the overlay over FOLDER what comes to the host: "FOLDER//GLOB", a folder where
                           it ends in a slash, or "FOLDER//NAME//FILE//MEMBER,MEMBER" of FILE's JSON */
        char **exposes; /* lines for exposed_add(), before the command starts */
        char **hide;    /* the globs of --hide */
        char **hidden;  /* "INODE:BIRTH:PATH" of what they name, a file's time of birth in nanoseconds; with
                           '!' before it where an overlay shows it, in which it may not be moved either */
        bool isolates_commands; /* of a session: they can't signal or trace each other */
        bool is_session;        /* makes a session's sandbox: argv is empty, commands join later */
        bool is_logged;         /* --log */
        bool refuses_degraded;  /* --strict: what can be had in a lesser way alone is a refusal */
        char **degraded; /* what is had in a lesser way, as far as it is known: base/degraded.h's entries */
        char *untold;    /* why more of it may be; NULL: nobody has tried, or all is known */
        char *plain;     /* why there is no sandbox, in words, and so no operations; NULL: there is one */
        struct plan_join *join; /* NULL: the plan makes a sandbox of its own */
        struct plan_raw *raw;   /* NULL: the plan is one of nsrun's own, not of a bubblewrap command line */
};

/* The members in their order, and of which form each is: for a session's record (record.c), in which the
 * operations come last, and for plan_free(). */
#define PLAN_MEMBERS(M)            \
        M(NOTHING, ops)            \
        M(NOTHING, n_ops)          \
        M(NUMBER, root_size)       \
        M(NUMBER, net)             \
        M(NUMBER, asked_net)       \
        M(NUMBER, asked_proc)      \
        M(TEXTS, network)          \
        M(SECRET, via)             \
        M(TEXTS, keys)             \
        M(TEXTS, key_uses)         \
        M(SECRET, key_values)      \
        M(NUMBER, backing)         \
        M(TEXT, seccomp_name)      \
        M(FILTER, seccomp)         \
        M(BOOL, seccomp_log)       \
        M(NUMBER, landlock)        \
        M(NUMBER, landlock_abi)    \
        M(BOOL, is_scoped)         \
        M(LIMITS, limits)          \
        M(BOOL, has_own_limits)    \
        M(BOOL, new_session)       \
        M(BOOL, has_overlays)      \
        M(BOOL, is_strict)         \
        M(BOOL, has_stubs)         \
        M(TEXT, rundir)            \
        M(TEXT, hostname)          \
        M(TEXT, cwd)               \
        M(TEXTS, argv)             \
        M(TEXTS, env)              \
        M(TEXTS, left_out)         \
        M(UNSTORED_TEXTS, unseen)  \
        M(UNSTORED_TEXTS, lacks)   \
        M(TEXTS, secrets)          \
        M(UNSTORED_TEXTS, granted) \
        M(TEXTS, gives)            \
        M(TEXT, ssh_agent)         \
        M(TEXTS, ssh_keys)         \
        M(TEXT, browser)           \
        M(TEXTS, dbus)             \
        M(TEXT, wayland)           \
        M(NUMBER, uid)             \
        M(NUMBER, gid)             \
        M(NUMBER, host_uid)        \
        M(NUMBER, host_gid)        \
        M(TEXT, instance)          \
        M(TEXT, workspace)         \
        M(TEXT, own_home)          \
        M(TEXT, home)              \
        M(NOTHING, home_files)     \
        M(TEXT, project)           \
        M(TEXT, git_dir)           \
        M(TEXT, git_common_dir)    \
        M(TEXTS, git_dirs)         \
        M(TEXTS, git_links)        \
        M(TEXTS, git_trees)        \
        M(BOOL, links_are_cut)     \
        M(TEXTS, private)          \
        M(TEXTS, protected)        \
        M(TEXTS, present)          \
        M(TEXTS, protect)          \
        M(TEXTS, no_protect)       \
        M(TEXTS, hide)             \
        M(TEXTS, hidden)           \
        M(TEXTS, carried)          \
        M(TEXTS, exposes)          \
        M(BOOL, isolates_commands) \
        M(BOOL, is_session)        \
        M(BOOL, is_logged)         \
        M(BOOL, refuses_degraded)  \
        M(TEXTS, degraded)         \
        M(UNSTORED_TEXT, untold)   \
        M(UNSTORED_TEXT, plain)    \
        M(NOTHING, join)           \
        M(NOTHING, raw)

/* Makes the plan of what a policy came to.  0, or -errno with *err filled. */
int plan_from(const struct resolved *s, struct nsrun_plan **ret, struct nsrun_error *err);
/* policy_resolve() and that. */
int plan_make(const struct policy_request *request, struct nsrun_plan **ret, struct nsrun_error *err);
/* Where a command starts, for join.c too: the policy's "chdir", else the current folder if it is to be that
 * and lies in the project, else the project, or `otherwise` without one.  -ENOMEM. */
int plan_find_start(const struct resolved *s, const char *project, const char *otherwise, char **ret);
/* join.c: makes the plan of a command that joins the session which the policy names. */
int plan_build_join(const struct resolved *s, struct nsrun_plan **ret, struct nsrun_error *err);
/* Gives a joining plan that was stored as bytes its way into the session `id` again; whether leftovers are
 * killed is the caller's to say. */
int plan_join_again(struct nsrun_plan *plan, const char *id, struct nsrun_error *err);
/* Reads a joining plan's operations from the session's record, if they aren't read yet.  A launch
 * doesn't need them; the printers do. */
int plan_load_operations(struct nsrun_plan *plan, struct nsrun_error *err);
/* raw_exposed.c: what a raw plan's command may write is written down, before it starts. */
int plan_raw_remember(const struct nsrun_plan *plan, bool is_container, struct nsrun_error *err);
void plan_free(struct nsrun_plan *plan);
/* hidden.c: which file or folder of the host is at `path` now, in the words of struct nsrun_plan's `hidden`,
 * without the mark.  Two that are the same are one.  `inode`: what the inode is said to be; 0: what it is.
 * NULL for want of memory. */
char *hidden_identity(const char *path, uint64_t inode);
/* plan.c: whether a run of the plan needs a run directory: for overlays' layers, a scratch folder, or stubs;
 * or to tell other runs of the protected symlinks that the command may replace (sweep/protected_links.h). */
bool plan_needs_rundir(const struct nsrun_plan *plan);
static inline void plan_freep(struct nsrun_plan **plan) {
        plan_free(*plan);
}
#define _cleanup_plan_ _cleanup_(plan_freep)

/* The printers (print.c, print_json.c, print_bwrap.c).  *ret is the whole text; the caller frees
 * it. */
int plan_print_text(const struct nsrun_plan *plan, char **ret, struct nsrun_error *err);
/* One line for a host's log: the root, the command, and what is mounted where. */
int plan_print_log(const struct nsrun_plan *plan, char **ret, struct nsrun_error *err);
int plan_print_json(const struct nsrun_plan *plan, char **ret, struct nsrun_error *err);
/* An argv for bubblewrap 0.11, as one shell-quoted line. */
int plan_print_bwrap(const struct nsrun_plan *plan, char **ret, struct nsrun_error *err);
