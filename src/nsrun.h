/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libnsrun: a command in a sandbox of raw Linux namespaces.  cc x.c $(pkg-config --cflags --libs nsrun)
 *
 *     struct nsrun_policy *policy = NULL;
 *     struct nsrun_plan *plan = NULL;
 *     struct nsrun_sandbox *sandbox = NULL;
 *     struct nsrun_error error = {0};
 *     struct nsrun_exit end;
 *     const char *const argv[] = {"make", "-j4", NULL};
 *
 *     nsrun_policy_new(&policy);
 *     nsrun_policy_set(policy, "project", "/home/u/src/x", &error);
 *     nsrun_policy_set_command(policy, argv, &error);
 *     nsrun_plan_new(policy, &plan, &error);
 *     nsrun_start(plan, NULL, &sandbox, &error);
 *     nsrun_sandbox_wait(sandbox, &end, &error);
 *
 * Every function that can fail returns 0 or a negative errno, and fills *error (which may be NULL) once,
 * where the failure is understood: zero it before the first call.  Outputs are untouched on failure.  The
 * library never prints, exits or aborts, and leaves the caller's signals, working directory, umask and
 * environment alone.  Objects are not locked: one thread at a time uses one object; different threads may
 * use different ones.
 *
 * What a program that was compiled with this header may rely on, as long as the library's soname is the
 * same: no function goes away or changes its arguments, no number or name in an enum changes (later releases
 * add some at the end), and what was refused for safety stays refused.  Words in messages may change;
 * stages, errnos and the fields of JSON don't.
 *
 * A struct whose first member is `size` may get more members at its end.  Initialise it with its macro
 * (NSRUN_BASH_OPTIONS_INIT and so on), which sets the size that was compiled: to an older program's struct
 * the members that it lacks are zero, and a newer program's is taken as long as what the library doesn't
 * know in it is zero (else -E2BIG, stage USAGE).  A size that can't be one, such as 0, is -EINVAL, stage
 * USAGE.  Structs without a size that a caller makes (nsrun_error, nsrun_exit, nsrun_expose_path) stay as
 * they are; those that the library makes may grow at their end. */
#ifndef NSRUN_H
#define NSRUN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The release that this header is from, as numbers for #if; nsrun_version() is the one that runs. */
#define NSRUN_VERSION_MAJOR 1
#define NSRUN_VERSION_MINOR 0
#define NSRUN_VERSION_PATCH 0

/* "1.0.0": the library's release, in static storage. */
const char *nsrun_version(void);

/* Where a failure happened. */
enum nsrun_stage {
        NSRUN_STAGE_NONE = 0,  /* nothing failed */
        NSRUN_STAGE_USAGE,     /* an option or a value that makes no sense */
        NSRUN_STAGE_POLICY,    /* what was asked for is refused */
        NSRUN_STAGE_WORKSPACE, /* the cache folder or its run directory */
        NSRUN_STAGE_PLAN,      /* memory, or reading the host */
        NSRUN_STAGE_NAMESPACE, /* the kernel gives no namespaces */
        NSRUN_STAGE_IDMAP,     /* the user and group maps */
        NSRUN_STAGE_MOUNT,     /* a bind, a tmpfs, a mount point */
        NSRUN_STAGE_OVERLAY,   /* an overlay */
        NSRUN_STAGE_PROC,      /* /proc */
        NSRUN_STAGE_NETWORK,   /* loopback, nsrun-net */
        NSRUN_STAGE_HARDENING, /* capabilities, no_new_privs */
        NSRUN_STAGE_EXEC,      /* the command itself */
        NSRUN_STAGE_SUPERVISE, /* waiting for it */
};

/* clang-format off */
/* Which failure it is, for programs, with nsrun_error_name()'s word for each: both stay, and new ones come at
 * the end.  Of NSRUN_ERROR_OTHER stage and errno tell all there is to tell.  An error's words may change. */
enum nsrun_error_id { /* causes on the host (nsrun-hosts(7)), what --strict refuses, steps of a start, no project */
        NSRUN_ERROR_OTHER, NSRUN_ERROR_USERNS_CLONE, NSRUN_ERROR_MAX_USER, NSRUN_ERROR_APPARMOR, NSRUN_ERROR_MAX_MNT,
        NSRUN_ERROR_MAX_PID, NSRUN_ERROR_MAX_IPC, NSRUN_ERROR_MAX_UTS, NSRUN_ERROR_MAX_NET,
        NSRUN_ERROR_NAMESPACES_USED_UP, NSRUN_ERROR_OUTER_LIMIT, NSRUN_ERROR_NO_USERNS, NSRUN_ERROR_NO_PROC_TO_TELL,
        NSRUN_ERROR_UNMAPPED, NSRUN_ERROR_CHROOT, NSRUN_ERROR_OTHERS_PIDS, NSRUN_ERROR_FILTER_USERNS,
        NSRUN_ERROR_FILTER_MOUNTS, NSRUN_ERROR_MODULE, NSRUN_ERROR_NAMESPACES_REFUSED, NSRUN_ERROR_PROCESSES_USED_UP,
        NSRUN_ERROR_PIDS_USED_UP, NSRUN_ERROR_MEMORY_USED_UP, NSRUN_ERROR_SETFCAP, NSRUN_ERROR_NO_PROC_FOR_IDS,
        NSRUN_ERROR_READ_ONLY_PROC, NSRUN_ERROR_UNDUMPABLE, NSRUN_ERROR_NO_PROC_FOR_MOUNTS, NSRUN_ERROR_NO_PIDFD,
        NSRUN_ERROR_FILTER_PIDFD, NSRUN_ERROR_FILTER_PIVOT, NSRUN_ERROR_INITRAMFS, NSRUN_ERROR_FILTER_UMOUNT,
        NSRUN_ERROR_FILTER_MOVE, NSRUN_ERROR_FILTER_UNSHARE, NSRUN_ERROR_FILTER_MEMFD, NSRUN_ERROR_FILTER_SOCKETS,
        NSRUN_ERROR_FILTER_MOUNT_CALLS, NSRUN_ERROR_NO_MOUNT_CALLS, NSRUN_ERROR_PROC_MASKED,
        NSRUN_ERROR_NO_PROC_SUBSET, NSRUN_ERROR_NO_OVERLAYFS, NSRUN_ERROR_OVERLAY_REFUSED,
        NSRUN_ERROR_OVERLAY_OVER_MOUNTS, NSRUN_ERROR_OVERLAY_OVER_OVERLAYS, NSRUN_ERROR_OVERLAY_IN_CACHE,
        NSRUN_ERROR_OVERLAY_DISK_FULL, NSRUN_ERROR_NO_SECCOMP, NSRUN_ERROR_FILTER_SECCOMP, NSRUN_ERROR_NO_LANDLOCK,
        NSRUN_ERROR_FILTER_LANDLOCK, NSRUN_ERROR_LANDLOCK_OFF, NSRUN_ERROR_LANDLOCK_REFUSED,
        NSRUN_ERROR_FILTER_RESTRICT, NSRUN_ERROR_NO_NULL, NSRUN_ERROR_CLOSED_NULL, NSRUN_ERROR_NODEV_NULL,
        NSRUN_ERROR_CACHE_UNMADE, NSRUN_ERROR_CACHE_WRITABLE, NSRUN_ERROR_CACHE_FOREIGN, NSRUN_ERROR_NO_CGROUP,
        NSRUN_ERROR_CGROUP_CROWDED, NSRUN_ERROR_CGROUP_REFUSED, NSRUN_ERROR_SMALL_STACK, NSRUN_ERROR_OUTER_FILTER,
        NSRUN_ERROR_OUTER_STRICT, NSRUN_ERROR_OUTER_ROOT, NSRUN_ERROR_OUTER_PROC, NSRUN_ERROR_DEGRADED_LANDLOCK,
        NSRUN_ERROR_DEGRADED_CGROUP_NAMESPACE, NSRUN_ERROR_DEGRADED_COUNTERS, NSRUN_ERROR_DEGRADED_PROC_SUBSET,
        NSRUN_ERROR_DEGRADED_PROC_NONE, NSRUN_ERROR_DEGRADED_CACHE_IN_MEMORY, NSRUN_ERROR_DEGRADED_CACHE_READ_ONLY,
        NSRUN_ERROR_DEGRADED_CACHE_EMPTY, NSRUN_ERROR_DEGRADED_PIDS, NSRUN_ERROR_DEGRADED_LEFTOVERS, NSRUN_ERROR_BIND,
        NSRUN_ERROR_MOUNT_POINT_KIND, NSRUN_ERROR_MOUNT_IN_ROOT, NSRUN_ERROR_SYMLINK, NSRUN_ERROR_USERNS_LEFT,
        NSRUN_ERROR_IDS, NSRUN_ERROR_NAMESPACES_UNUSABLE, NSRUN_ERROR_HOSTNAME, NSRUN_ERROR_DEGRADED_GIT_CONFIG,
        NSRUN_ERROR_NO_ANSWER, NSRUN_ERROR_PROJECT_DENIED, NSRUN_ERROR_SELINUX, NSRUN_ERROR_COUNT
};
/* clang-format on */
/* What failed, in words for a person.  Zero-initialise it. */
struct nsrun_error {
        enum nsrun_stage stage;
        int error;       /* errno, positive; 0 where there is none */
        char path[1024]; /* the path it is about, or "" */
        char what[512];  /* what failed */
        char hint[1020]; /* what to do about it, or "" */
        enum nsrun_error_id id;
};

/* One line, without a newline and without a program's name, control bytes made
 * visible: "what: path: strerror; hint".  The caller frees it; NULL for want of memory. */
char *nsrun_error_format(const struct nsrun_error *error);

/* "mount", "policy", …: the stage in a word, as nsrun-run(1)'s --status-fd has it; "unknown" for a number
 * that is none.  In static storage. */
const char *nsrun_stage_name(enum nsrun_stage stage);

/* "no-overlayfs", "proc-masked", …: the failure in a word; "other" for one that has none of its own, and for
 * a number that is none.  In static storage. */
const char *nsrun_error_name(enum nsrun_error_id id);

/* -------- nsrun_workspace: where an agent may read and write -------- */

/* Where an agent may read and write: what its file tools on the host are checked
 * against, and what its sandboxes see, so that the two agree.
 *
 *     nsrun_workspace_new("/home/u/src/x", &workspace, &error);
 *     nsrun_workspace_add_readable(workspace, "/home/u/data", &error);
 *     nsrun_workspace_set_temp(workspace, 1, &error);
 *     nsrun_workspace_open(workspace, NSRUN_READ, "lib/x.c", O_RDONLY, 0, &fd, &error);
 *     nsrun_policy_set_workspace(policy, workspace, &error);
 *
 * The behaviour is that of Workspace::Filesystem in pikuri, a Ruby toolkit for agents. */
struct nsrun_workspace;

enum nsrun_access {
        NSRUN_READ,  /* in every root */
        NSRUN_WRITE, /* in the writable ones */
};

/* A workspace with one root, its project: writable, and where relative paths begin.
 * `project` is absolute or relative to the working directory, is looked up now and
 * once, and must be a folder.  Nothing is made on disk, and no git is started.
 * -ENOENT, -ENOTDIR and what else the kernel says of the path.  -EPERM: a system root
 * (/, /etc, /usr, /tmp …), a home folder ($HOME, any child of /home) or a folder that holds one: no
 * perimeter, but a guard against a slip.  -ENOMEM.  Stage POLICY. */
int nsrun_workspace_new(const char *project, struct nsrun_workspace **ret, struct nsrun_error *error);
/* Removes its run directory, and the temp with it.  exit(3) and unloading the library do that too for what
 * was not freed; what a killed process left goes with a later nsrun_sweep() or run directory.  In a process
 * that was forked since, the folder stays.  Returns NULL; NULL is fine. */
struct nsrun_workspace *nsrun_workspace_free(struct nsrun_workspace *workspace);
/* A workspace whose file tools may read and write everything, for a host that confines nothing:
 * `project`, any folder, is where relative paths begin.  No policy takes it (see
 * nsrun_policy_set_workspace()).  Errors as of nsrun_workspace_new(), but for -EPERM. */
int nsrun_workspace_new_allow_all(const char *project, struct nsrun_workspace **ret,
                                  struct nsrun_error *error);
/* One more root: a folder or file that exists, looked up now.  Of nested roots the
 * innermost decides; one that is added twice is writable if it was so once.  What the
 * kernel says of the path; -EPERM: a system root as a writable one, or a symlink on the way that somebody
 * else may have planted (nsrun-protect(7), SYMLINKS); -ENOMEM.  Stage POLICY. */
int nsrun_workspace_add_readable(struct nsrun_workspace *workspace, const char *path,
                                 struct nsrun_error *error);
int nsrun_workspace_add_writable(struct nsrun_workspace *workspace, const char *path,
                                 struct nsrun_error *error);
/* Hides names in all roots, by a glob as --hide's (nsrun-protect(7), HIDDEN NAMES) or an absolute path: what
 * leads there, whether anything is there or not, is refused with -EPERM, also to write, and no folder can be
 * moved that may hold such a name; the names stay in nsrun_workspace_list().  A glob for folders hides a
 * file of the name, too; another hard link of a hidden file isn't known here.  nsrun_policy_set_workspace()
 * takes the globs along.  -EINVAL: that is no glob; -ENOMEM.  Stage POLICY. */
int nsrun_workspace_hide(struct nsrun_workspace *workspace, const char *glob, struct nsrun_error *error);
/* Makes the temp, an empty folder of the run directory and a writable root, unless there is
 * one.  With alias_tmp_to_temp (0 or 1; the last call counts) /tmp means the temp in
 * nsrun_workspace_resolve() and _open(), as it does in a sandbox; a policy takes no temp without it.
 * -ENOSPC and what else the kernel says of the cache folder; -EPERM: others may write
 * to it.  Stage WORKSPACE. */
int nsrun_workspace_set_temp(struct nsrun_workspace *workspace, int alias_tmp_to_temp,
                             struct nsrun_error *error);
/* Canonical paths, owned by the workspace.  The temp's is NULL where none was set. */
const char *nsrun_workspace_project(const struct nsrun_workspace *workspace);
const char *nsrun_workspace_temp(const struct nsrun_workspace *workspace);
/* The roots, canonical: those that may be read, which is all, and those that may be written; the project
 * comes first.  *ret ends with NULL and is the workspace's until a root is added or it is freed.  -ENOMEM.
 */
int nsrun_workspace_readable(struct nsrun_workspace *workspace, const char *const **ret,
                             struct nsrun_error *error);
int nsrun_workspace_writable(struct nsrun_workspace *workspace, const char *const **ret,
                             struct nsrun_error *error);
/* 1: /tmp means the temp, as nsrun_workspace_set_temp() was asked to.  0: it means the host's. */
int nsrun_workspace_has_tmp_alias(const struct nsrun_workspace *workspace);
/* The workspace's own folder, $XDG_CACHE_HOME/nsrun/workspace-XXXXXX (else below
 * ~/.cache), 0700 and made at first need: for whatever is to go when it does.  No
 * sandbox sees it.  *ret is owned by the workspace.  Errors as above. */
int nsrun_workspace_rundir(struct nsrun_workspace *workspace, const char **ret, struct nsrun_error *error);
/* The environment for what runs in the workspace: "NAME=VALUE", ends with NULL, copied
 * and used as it is.  NULL instead of a list: git's identity, again.  -EINVAL: an entry of another
 * form (stage USAGE).  -ENOMEM. */
int nsrun_workspace_set_env(struct nsrun_workspace *workspace, const char *const *environment,
                            struct nsrun_error *error);
/* That list; else, looked up by the first call and then kept, the identity that git
 * has at the project, with includeIf for gitdir and hasconfig: GIT_AUTHOR_NAME, GIT_AUTHOR_EMAIL,
 * GIT_COMMITTER_NAME and GIT_COMMITTER_EMAIL, as far as there is one.  Reads git's
 * files, starts no program, and opens nothing that the project names.  *ret ends with NULL, is never NULL
 * itself, and is the workspace's until nsrun_workspace_set_env() or _free().  -ENOMEM. */
int nsrun_workspace_env(struct nsrun_workspace *workspace, const char *const **ret,
                        struct nsrun_error *error);
/* The canonical host path that `path` leads to, where that is allowed: *ret is the caller's to free.  It
 * need not exist: a missing tail is kept, for whoever makes its folders first.  ".." after a symlink is the
 * parent of what that leads to, and a symlink leads through nothing that a sandbox hasn't got.  -EPERM: it
 * leads out of the roots, or to one that may only be read.  -ENOENT: an empty path.  -ELOOP, -ENAMETOOLONG,
 * -EACCES: as the kernel would say.  -EINVAL: no such access.  Stage POLICY.
 *
 * The answer is a string, and a process in a sandbox may put a symlink in its way: to open it, use
 * nsrun_workspace_open(). */
int nsrun_workspace_resolve(const struct nsrun_workspace *workspace, enum nsrun_access access,
                            const char *path, char **ret, struct nsrun_error *error);
/* Opens it, in one walk beneath the root that follows no symlink, so that nothing that
 * happens meanwhile leads out.  `flags` and `mode` are open(2)'s; O_CLOEXEC, O_NOCTTY
 * and O_NONBLOCK are added.  *ret_fd is the caller's to close.  -EINVAL: flags that write, to
 * read with.  -EAGAIN: the path kept changing.  Else as above, and open(2)'s. */
int nsrun_workspace_open(const struct nsrun_workspace *workspace, enum nsrun_access access, const char *path,
                         int flags, mode_t mode, int *ret_fd, struct nsrun_error *error);

/* What file tools do with files, as safe from swapped paths as nsrun_workspace_open(): the folder is
 * found as nsrun_workspace_resolve() says, opened in one walk beneath its root, and what is done is done to
 * a name in it.  The last part of a path is meant itself, and not where a symlink of that name leads, unless
 * a function says otherwise; a slash at the end means nothing.  Errors of all: those of
 * nsrun_workspace_resolve(), for a change with NSRUN_WRITE; -EINVAL: the path ends with "." or "..", or is
 * "/"; -EAGAIN: the path kept changing; and what the kernel says of the folder and of the call.  Stage
 * POLICY.
 *
 * A root is not renamed, replaced or removed, and neither is a folder that holds another root: -EBUSY. */

/* nsrun_workspace_open() with NSRUN_WRITE and O_CREAT, and folders that are missing on the way are made
 * (0777 less the umask).  Follows a symlink at the end. */
int nsrun_workspace_create(const struct nsrun_workspace *workspace, const char *path, int flags, mode_t mode,
                           int *ret_fd, struct nsrun_error *error);
/* Makes a folder, `mode` less the umask.  With makes_parents those that are missing above it, too, and one
 * that is there is fine, also where a symlink leads to it. */
int nsrun_workspace_mkdir(const struct nsrun_workspace *workspace, const char *path, mode_t mode,
                          int makes_parents, struct nsrun_error *error);
/* Both ends may be in different roots, both writable; -EXDEV: on different file systems.  Without
 * `replaces` what is at `to` stays: -EEXIST. */
int nsrun_workspace_rename(const struct nsrun_workspace *workspace, const char *from, const char *to,
                           int replaces, struct nsrun_error *error);
/* Removes what is no folder; removes an empty folder. */
int nsrun_workspace_unlink(const struct nsrun_workspace *workspace, const char *path,
                           struct nsrun_error *error);
int nsrun_workspace_rmdir(const struct nsrun_workspace *workspace, const char *path,
                          struct nsrun_error *error);
/* Makes a symlink.  Its text may be any: following it is judged when somebody does. */
int nsrun_workspace_symlink(const struct nsrun_workspace *workspace, const char *text, const char *path,
                            struct nsrun_error *error);
/* A symlink's text, for the caller to free.  -EINVAL: it is none. */
int nsrun_workspace_readlink(const struct nsrun_workspace *workspace, const char *path, char **ret,
                             struct nsrun_error *error);
/* stat(2) where `follows` is 1, lstat(2) where it is 0. */
int nsrun_workspace_stat(const struct nsrun_workspace *workspace, const char *path, int follows,
                         struct stat *ret, struct nsrun_error *error);
/* Called for an entry of a folder: its name, of whatever bytes, and its type, S_IFREG and the like, or 0
 * where that can't be known.  0: go on; another number ends the listing. */
typedef int (*nsrun_workspace_entry)(void *data, const char *name, mode_t type);
/* Calls `each` for the entries of a folder but "." and "..", in the folder's own order, and keeps none of
 * them. Follows a symlink at the end.  0, or what `each` returned, or an error as above. */
int nsrun_workspace_list(const struct nsrun_workspace *workspace, const char *path,
                         nsrun_workspace_entry each, void *data, struct nsrun_error *error);

/* Removes the run directories of those who died without: at once where a lock shows it, and after seven days
 * where there is none.  Never that of a living process, whatever its age.  For a host's start; making a run
 * directory does it, too.  0 also where there is nothing.  -ENOENT: no HOME names a cache folder; -EPERM:
 * others own it or may write; what the kernel says of it.  Stage WORKSPACE. */
int nsrun_sweep(struct nsrun_error *error);

/* The folders of toolchains that are there now, absolute, in the order of `nsrun toolchains`: those that are
 * for reading (/usr, ~/.rustup), and the caches that a toolchain writes to (~/.npm, ~/.cargo/registry), at
 * their usual places: what a variable (CARGO_HOME) or a configuration moves or adds, runs alone show.  One
 * that a symlink below the home folder leads to is left out: a command may have planted it, which runs find
 * out.  Ends with NULL (*ret is NULL for none): each and the list are the caller's to free.  -ENOMEM. */
int nsrun_toolchains_readable(char ***ret, struct nsrun_error *error);
int nsrun_toolchains_overlay(char ***ret, struct nsrun_error *error);

/* -------- nsrun_policy: what is asked for -------- */

/* What is asked for. */
struct nsrun_policy;

/* A policy as `nsrun run` has it with no option at all.  -ENOMEM. */
int nsrun_policy_new(struct nsrun_policy **ret);
/* Returns NULL; NULL is fine. */
struct nsrun_policy *nsrun_policy_free(struct nsrun_policy *policy);
/* The command line's options by their long names without dashes ("ro", "net",
 * "new-session"); value is NULL where the option takes none.  nsrun-run(1) lists
 * them with their units.  Strings are copied.  "limit" may be set once for each of its names.
 * -EINVAL: no such option, or a value it can't take.  -ENOMEM.
 *
 * "no-sandbox" is for a host whose user has switched the sandbox off: the same calls start the same commands
 * with all files, the network and the rights of the caller, on a host that lets no sandbox be made, too;
 * descriptors, deadlines, signals and waiting are as ever, and so are "project", "chdir", "new-session",
 * "limit" and what is for the environment, of which nothing is withheld.  All else that was set is refused
 * by nsrun_plan_new() and whatever makes a plan (-EINVAL, stage USAGE), and so are a session, an instance
 * and a workspace's temp as /tmp.  nsrun_sandbox_is_confined(), the notes, struct nsrun_bash_result, its
 * text and its JSON, a plan's text and JSON, and nsrun_bash_describe() say so.  Nothing else leads to it but
 * an isolation that isn't enabled: no configuration, no variable, no missing feature of the host. */
int nsrun_policy_set(struct nsrun_policy *policy, const char *option, const char *value,
                     struct nsrun_error *error);
/* argv[0] is looked up in the sandbox's PATH.  Copied.  -EINVAL: empty. */
int nsrun_policy_set_command(struct nsrun_policy *policy, const char *const *argv,
                             struct nsrun_error *error);
/* What the command inherits from, instead of the caller's environ.  Copied. */
int nsrun_policy_set_environ(struct nsrun_policy *policy, const char *const *environment);
/* Applies the configuration file that `nsrun run` would find: the user's, else the system's, else
 * none.  The option "config" names one.  nsrun.conf(5) has form and rules.
 * -EINVAL: what it says; -EPERM: others may write to it, or, from nsrun_plan_new(), a command might; -EFBIG;
 * open(2)'s.  Stage POLICY. */
int nsrun_policy_find_config(struct nsrun_policy *policy, struct nsrun_error *error);

/* Runs of the policy see just this workspace's roots, each where it is and with its access, and but for the
 * system's own folders no toolchains (see nsrun_toolchains_add()) and no git dirs that are not in them; the
 * temp at /tmp and at its own path; and nsrun_workspace_env(): a list that was set goes before what is
 * inherited, git's identity after it.  Takes the place of "project", "tmp" and of an earlier workspace;
 * options may add to it, and go before it: "overlay" over a root that is readable, "rw" over one, "ro" over
 * a writable one.  Another folder at a root's place ("bind") is refused.  The workspace is read now and not
 * kept; its temp must live as long as the runs.
 * -EPERM: a temp without its alias, or a workspace that allows everything (stage POLICY); a policy in which
 * "no-sandbox" was set before takes both.  -ENOMEM: the policy is good for nsrun_policy_free() alone. */
int nsrun_policy_set_workspace(struct nsrun_policy *policy, struct nsrun_workspace *workspace,
                               struct nsrun_error *error);
/* Both lists of toolchains become readable roots of the workspace, for its file tools; and runs of the
 * policy see them as those without a workspace do, the first list read-only and overlays over the second,
 * whichever root the workspace has there, but a writable one.  Either may be NULL; call it before or after
 * nsrun_policy_set_workspace().  The errors of nsrun_toolchains_readable() and
 * nsrun_workspace_add_readable(). */
int nsrun_toolchains_add(struct nsrun_workspace *workspace, struct nsrun_policy *policy,
                         struct nsrun_error *error);

/* -------- nsrun_plan: what will be done -------- */

struct nsrun_plan;

enum nsrun_format {
        NSRUN_FORMAT_TEXT,
        NSRUN_FORMAT_JSON,  /* one object */
        NSRUN_FORMAT_BWRAP, /* an equivalent bubblewrap command, quoted for a shell */
};

/* Checks the policy and makes the plan of what it asks for, as the host is now and from the current
 * folder: the policy stays as it is, and may be planned any number of times, by several threads at once.
 * Reads the host and changes nothing.
 * The errors are those of nsrun-protect(7), NEVER EXPOSED: -EPERM, -EINVAL, -ENOENT,
 * -ELOOP and what the kernel says of a path. */
int nsrun_plan_new(const struct nsrun_policy *policy, struct nsrun_plan **ret, struct nsrun_error *error);
struct nsrun_plan *nsrun_plan_free(struct nsrun_plan *plan);
/* *ret is the caller's to free. */
int nsrun_plan_format(const struct nsrun_plan *plan, enum nsrun_format format, char **ret,
                      struct nsrun_error *error);

/* -------- nsrun_sandbox: a running command -------- */

struct nsrun_sandbox;

struct nsrun_exit {
        int code;   /* exit status, or -1 where a signal ended it */
        int signal; /* the signal, or 0 */
};

/* What the command is given.  Begin with NSRUN_START_OPTIONS_INIT. */
struct nsrun_start_options {
        size_t size;         /* sizeof(struct nsrun_start_options) */
        int stdio[3];        /* what becomes the command's descriptors 0, 1 and 2; -1: the caller's own */
        const int *pass_fds; /* more of the caller's, from 3 on, which the command gets under the same
                                numbers */
        size_t n_pass_fds;
        /* With "net" set to "ask": whether the command may reach a name that no rule covers, at ports 80 and
         * 443 until it ends.  `program` says which process asks, as that calls itself: "npm (pid 42)"; both
         * are fit to print.  Called by nsrun_sandbox_wait(), in its thread: until then questions wait, and
         * a program's resolver gives up after two minutes.  Each name is asked about once, 32 of them at
         * most.  1: yes; else no.  NULL: nobody can be asked, and nsrun_start() refuses such a plan.  In a
         * session an answer is for all of it, and with NULL others are asked, or nobody. */
        int (*ask)(const char *name, const char *program, void *data);
        void *data;
        /* Whether what the command doesn't find and the host has is shown, read-only, while its call waits:
         * `path`, or around a file `folder` (or NULL); 32 times, by nsrun_start(), too, after which calls
         * wait for nsrun_sandbox_wait().  1: the path; 2: the folder; less than 0: no more questions; else
         * no, nor for the rest of the folder.  The plan must outlive the sandbox: -EPERM where nothing can
         * be granted with it, -EINVAL where it has no sandbox of its own. */
        int (*ask_file)(const char *path, const char *folder, const char *program, void *data);
};
#define NSRUN_START_OPTIONS_INIT                                                    \
        {                                                                           \
                .size = sizeof(struct nsrun_start_options), .stdio = { -1, -1, -1 } \
        }

/* Starts the plan's command and returns once it has been exec'ed.  `options` may be NULL: it has the
 * caller's descriptors 0, 1 and 2 and no other then.  Descriptors stay the caller's, who may close its own
 * copies when this returns: nothing of nsrun's keeps one open, and the end of a pipe is seen when the
 * command has ended and what it left behind.  Until the sandbox is gone the process has a file in memory
 * open for it, with the plan, which `nsrun inspect` reads.  The command dies with the calling process (not:
 * thread).  Any failure is returned here, nothing is left behind, and the command never ran: -EBADF, stage
 * USAGE, for a descriptor that is not open; -EISDIR and -EPERM, stage POLICY, for one that leads out of the
 * sandbox (a folder, one opened with O_PATH, a container engine's socket); -ENOENT and -EACCES with stage
 * EXEC where it is not found or not executable; -ESTALE with stage WORKSPACE where a plan with a scratch
 * folder was made for another cache folder; -EOPNOTSUPP with stage HARDENING where a limit needs a cgroup
 * that can't be made. */
int nsrun_start(const struct nsrun_plan *plan, const struct nsrun_start_options *options,
                struct nsrun_sandbox **ret, struct nsrun_error *error);
/* What was left to be decided during the start and how that came out, one line each
 * as nsrun_error_format() makes it: with "proc" set to "auto" that /proc has the
 * processes alone, for instance, or that "limit" "pids=…" is RLIMIT_NPROC's to keep.  Complete when
 * nsrun_start() returns, but for what the command left in git dirs and under protected names, which is
 * looked for when the sandbox is gone: nsrun_sandbox_wait() adds that.  Ends with NULL, and is never NULL
 * itself. Owned by the sandbox, until it was waited for or freed. */
const char *const *nsrun_sandbox_notes(const struct nsrun_sandbox *sandbox);
/* What this host denies, and the sandbox has in a lesser way: for each a name of nsrun-hosts(7) and, where
 * it is about a path, a space and the path ("cache-read-only /home/u/.npm").  With "strict" such a start is
 * refused instead: -EOPNOTSUPP, stage POLICY.  Complete when nsrun_start() returns; in a session, the
 * session's are among them.  Ends with NULL, and is never NULL itself.  The sandbox's until it is freed. */
const char *const *nsrun_sandbox_degraded(const struct nsrun_sandbox *sandbox);
/* Such an entry in words: "no overlay can be had for this cache: it is read-only: /home/u/.npm".  The caller
 * frees it; NULL for want of memory, or for another release's name. */
char *nsrun_degraded_format(const char *entry);
/* 1; or 0: there is none ("no-sandbox", or the isolation isn't enabled), as the first note says, too. */
int nsrun_sandbox_is_confined(const struct nsrun_sandbox *sandbox);
/* Readable (poll) when the sandbox has ended.  Owned by the sandbox. */
int nsrun_sandbox_pidfd(const struct nsrun_sandbox *sandbox);
/* Sends a signal to the command; SIGKILL ends the whole sandbox.  -ESRCH: it has ended. */
int nsrun_sandbox_kill(const struct nsrun_sandbox *sandbox, int signal);
/* Gives the running sandbox what "ro", "overlay", of a file "rw", "allow" or "publish" does at a start;
 * until a path, "--allow HOST", "--publish PORT" or with NULL all is revoked, but for what is open at a
 * path; notes of the sandbox's say more.  -EPERM and others, stage POLICY: it can't be had; -ENOENT: nothing
 * of that was granted; -EINVAL, stage USAGE: another option, or no sandbox of its own. */
int nsrun_grant(struct nsrun_sandbox *sandbox, const char *option, const char *value,
                struct nsrun_error *error);
int nsrun_revoke(struct nsrun_sandbox *sandbox, const char *path, struct nsrun_error *error);
/* Waits until the command and everything it started are gone.  -EIO: the sandbox was killed from outside. */
int nsrun_sandbox_wait(struct nsrun_sandbox *sandbox, struct nsrun_exit *ret, struct nsrun_error *error);
/* Kills what still runs, waits, removes what was on disk.  Returns NULL; NULL is fine. */
struct nsrun_sandbox *nsrun_sandbox_free(struct nsrun_sandbox *sandbox);

/* -------- nsrun_bash: an agent's bash command -------- */

/* An agent's bash command, from the question to the text that goes to its model:
 *
 *     nsrun_policy_set_workspace(policy, workspace, &error);
 *     r = nsrun_bash(policy, "make test", NULL, &result, &error);
 *     nsrun_bash_format(r ? NULL : &result, r ? &error : NULL, NSRUN_FORMAT_TEXT, &text, NULL, NULL);
 */
#define NSRUN_BASH_TIMEOUT      120
#define NSRUN_BASH_TIMEOUT_MOST 600

struct nsrun_bash_options {
        size_t size;
        int timeout;             /* seconds, 1 to NSRUN_BASH_TIMEOUT_MOST */
        const char *description; /* a short label for the prompt; or NULL */
        /* Asked before the command starts, with all that is to be shown: control bytes, tabs,
         * bidirectional and zero-width characters in it are visible, long runs of spaces are counted,
         * and no line has more than 72 columns.  1: yes; 0: no; -errno: nobody could be asked.
         * NULL: nobody is asked. */
        int (*confirm)(const char *prompt, void *data);
        /* The output as it comes, all of it and as it is; or NULL.  Runs in the calling thread, and
         * the command waits for it. */
        void (*output)(const char *bytes, size_t n, void *data);
        void *data;          /* of all functions here */
        int wants_report;    /* 1: tell of the calls that seccomp denied */
        int cancel_fd;       /* readable (an eventfd, say): end the command as at its deadline; 0: none */
        const int *pass_fds; /* as in struct nsrun_start_options */
        size_t n_pass_fds;
        int detaches; /* 1: in a session, start it in the background: the call returns when it runs */
        unsigned int until_port; /* with that: return when something listens on this TCP port of localhost;
                                    0: none */
        const char *until_text;  /* or when it has printed this, 1 to 4096 bytes; NULL: none */
        /* As in struct nsrun_start_options, but less than 0 decides nothing; and: it was started. */
        int (*ask)(const char *name, const char *program, void *data);
        void (*started)(void *data);
};
#define NSRUN_BASH_OPTIONS_INIT \
        { .size = sizeof(struct nsrun_bash_options), .timeout = NSRUN_BASH_TIMEOUT }

struct nsrun_bash_result {
        size_t size;
        int status;           /* the command's exit status; -1 where a signal ended it */
        int signal;           /* that signal; else 0 */
        int timed_out;        /* 1: the deadline came */
        int oom_killed;       /* 1: the kernel killed something for want of memory meanwhile */
        int timeout;          /* seconds, as asked for */
        uint64_t duration_ms; /* on CLOCK_MONOTONIC */
        char *command;        /* as it was given */
        char *output;         /* both outputs in their order, without what was omitted; a NUL is behind it */
        size_t output_size;   /* the marker of what was omitted counted in */
        uint64_t bytes_total; /* that the command wrote */
        uint64_t bytes_omitted; /* of these: all but the first and last 15 KiB, and no half characters */
        char *report;           /* a JSON array as nsrun-run(1) has it; NULL: not asked for */
        char **notes;    /* as nsrun_sandbox_notes(), those of the environment (secrets withheld, say) where
                            the command failed; and what is odd about a seccomp policy; or NULL */
        int no_sandbox;  /* 1: the policy has "no-sandbox", and nothing confined the command */
        char **dropped;  /* paths left in the sandbox's own home, which is gone; of those in hidden folders
                            the ones that people make on purpose; a note says so, too; or NULL */
        char *detached;  /* with "detaches": the name of its log, for nsrun_session_log(); else NULL */
        char *session;   /* and the session's id */
        int pid;         /* its pid in the session; 0: not known */
        int is_ready;    /* 1: it was started, and what was waited for has come */
        int is_running;  /* 1: it runs; status and signal are -1 and 0 then */
        char **degraded; /* as nsrun_sandbox_degraded(); or NULL */
        char **reasons;  /* of a command that failed: what the sandbox refused of what its output names, and
                            the option that would allow it, at most ten lines; or NULL */
};
#define NSRUN_BASH_RESULT_INIT \
        { .size = sizeof(struct nsrun_bash_result) }

/* Runs `bash -c COMMAND` in a sandbox of the policy, at the root of its project, with nothing to read and
 * with its two outputs in one pipe, and returns when it has ended and nobody holds that pipe any more.  At
 * the deadline, which counts no time of a suspended machine, all processes get SIGTERM, and five seconds
 * later SIGKILL; the call succeeds then, too.  What the command left behind without holding the pipe is
 * killed when the call returns.  The policy's own command is not looked at, and BASH_ENV and ENV are never
 * passed; variables that keep pagers, editors and prompts from waiting for a person (TERM=dumb, PAGER=cat
 * and others, see nsrun-bash(1)) replace inherited ones that the policy's "env" and "unsetenv" don't name.
 * `options` may be NULL: no question, NSRUN_BASH_TIMEOUT.  On success *ret is the caller's to clear.
 *
 * Refused in this order: -EINVAL: an empty command, a timeout out of bounds, or a policy with "chdir";
 * -ECANCELED: confirm() said no; what it said where nobody could be asked (stage USAGE).
 * -ECANCELED with stage SUPERVISE: cancel_fd.
 *
 * With "detaches" the command goes on in the background, also after the caller's end, until it ends or the
 * session does.  Its output goes to a log of the session's, and what there is of it by then to *ret;
 * output() isn't called.  If it ends before what was waited for, or the deadline comes, the call succeeds
 * with is_ready 0, and all that the command has started is killed.  -EINVAL: without a session, with
 * pass_fds or wants_report, or both to wait for; -EADDRINUSE, stage SUPERVISE: somebody listens on the port
 * already, and nothing was started; -EAGAIN: 32 such commands run in the session.  Else as nsrun_plan_new()
 * and nsrun_start(). */
int nsrun_bash(const struct nsrun_policy *policy, const char *command,
               const struct nsrun_bash_options *options, struct nsrun_bash_result *ret,
               struct nsrun_error *error);
/* Whether this host carries the policy, bash included, for a host's start, before the first command: makes a
 * sandbox of it, in which bash does nothing, and removes it again.  Executes nothing of the project's.  The
 * error is the first thing that is in the way, with what to do about it: those of nsrun_plan_new() and
 * nsrun_start(); -EACCES, stage POLICY: commands couldn't read the project; -EIO, stage EXEC: that bash ends
 * with another status than 0.  nsrun_bash(), sessions and nsrun_isolation_preflight() use the same words. */
int nsrun_probe(const struct nsrun_policy *policy, struct nsrun_error *error);
/* What a model has to know of the tool, as TEXT without a final newline, or as JSON: one object with the
 * tool's name, its description and the JSON schema of its parameters (command, description, timeout).  It is
 * true of this policy: whether there is a network, where writes are kept, what becomes of /tmp and of
 * background processes, in a session or for each command alone; and of `options`, which may be NULL: their
 * timeout is the default, and with a confirm() the user is asked.  Makes the policy's plan.  *ret is the
 * caller's to free.  -EINVAL: another format, or a policy with "chdir"; else as nsrun_plan_new(). */
int nsrun_bash_describe(const struct nsrun_policy *policy, const struct nsrun_bash_options *options,
                        enum nsrun_format format, char **ret, struct nsrun_error *error);
/* Frees what is in it and zeroes it but for its size: it can be filled again. */
void nsrun_bash_result_clear(struct nsrun_bash_result *result);
/* What `nsrun bash` prints, as TEXT or JSON, without a final newline: of a result; or, where `failure` isn't
 * NULL, of that ("Error: …").  *ret is the caller's to free, and may hold NULs: *ret_size (which may
 * be NULL) is its length.  -EINVAL: another format.  -ENOMEM. */
int nsrun_bash_format(const struct nsrun_bash_result *result, const struct nsrun_error *failure,
                      enum nsrun_format format, char **ret, size_t *ret_size, struct nsrun_error *error);

/* -------- nsrun_session: one sandbox for many commands -------- */

/* Sessions: one sandbox, any number of commands in it, at once and one after the other.  They
 * share the overlays, /tmp and the processes they left running; they may signal these, unless the session's
 * policy has "isolate-commands". A command is a policy like any other, with "session" set to the id and
 * nothing else but "env", "unsetenv", "chdir" and "kill-leftovers":
 *
 *     nsrun_session_start(policy, &options, &id, NULL, &error);
 *     nsrun_policy_set(other, "session", id, &error);
 *     nsrun_policy_set_command(other, argv, &error);
 *     nsrun_plan_new(other, &plan, &error);
 *     nsrun_start(plan, NULL, &sandbox, &error);
 *     nsrun_session_stop(id, &error);
 *
 * A process of its own keeps the session (nsrun-monitor); the caller may end before it. */
struct nsrun_session_options {
        size_t size;
        const char *name; /* what to call it: 1 to 64 letters, digits, '.', '_' and '-'; NULL: any */
        unsigned int idle_timeout; /* seconds without a command after which it ends; 0: never */
        pid_t owner;               /* it ends when this process does; 0: none */
};
#define NSRUN_SESSION_OPTIONS_INIT \
        { .size = sizeof(struct nsrun_session_options) }

/* Makes the sandbox; the policy has no command, and stays as it is.  /tmp is a scratch folder (see "tmp")
 * unless the policy says otherwise.  `options` may be NULL.  *ret_id is the caller's to free, and so are
 * *ret_notes (which may be NULL): what was left to the start and how that came out, as
 * nsrun_sandbox_notes(), each and the list.  The errors of nsrun_plan_new() and nsrun_start(); -EEXIST,
 * stage SUPERVISE: there is a session of that name; -EINVAL, stage USAGE: a name that can't be one, or a
 * policy with "session"; -ESRCH: no such owner; -EPERM: others own the folder of
 * sessions or may write to it. */
int nsrun_session_start(const struct nsrun_policy *policy, const struct nsrun_session_options *options,
                        char **ret_id, char ***ret_notes, struct nsrun_error *error);
/* The ids of the caller's sessions that live, sorted, NULL at the end (*ret is NULL for none): each and the
 * list are the caller's to free.  Removes what dead ones left. */
int nsrun_session_list(char ***ret, struct nsrun_error *error);

/* What a session's commands may do to each other's processes. */
enum nsrun_commands {
        NSRUN_COMMANDS_SHARED,   /* as those of one user: signal and trace them */
        NSRUN_COMMANDS_UNTRACED, /* signal them; Landlock, which keeps the host's abstract sockets away,
                                    keeps them from more */
        NSRUN_COMMANDS_ISOLATED, /* neither: "isolate-commands" */
};

struct nsrun_session_info {
        char *id;
        char *project;             /* NULL: none */
        char *rundir;              /* its folder on the host; NULL: none */
        pid_t monitor, init;       /* in the caller's pid namespace */
        long long started;         /* seconds since 1970 */
        unsigned long long idle;   /* seconds for which no command has run; 0 where one does */
        unsigned int idle_timeout; /* seconds; 0: none */
        pid_t owner;               /* 0: none */
        int is_nested;             /* 1: each command in a pid namespace of its own */
        enum nsrun_commands commands;
        char *root;      /* what it is about: its project, or the first folder that was asked for; or NULL */
        char **degraded; /* as nsrun_sandbox_degraded(); NULL: nothing */
};

/* *ret is for nsrun_session_info_free().  -ENOENT, stage SUPERVISE: no such session. */
int nsrun_session_show(const char *id, struct nsrun_session_info **ret, struct nsrun_error *error);
/* Returns NULL; NULL is fine. */
struct nsrun_session_info *nsrun_session_info_free(struct nsrun_session_info *info);

/* What a session takes just now.  Made by the caller. */
struct nsrun_session_usage {
        size_t size;
        size_t n_commands;         /* that run: what earlier ones left behind isn't counted */
        size_t n_processes;        /* of all commands; nsrun's own aren't counted */
        unsigned long long memory; /* bytes that these have resident, what they share counted for each */
        unsigned long long cgroup_memory; /* bytes that the kernel counts for the session; 0: it doesn't */
        unsigned long long disk; /* bytes that its folder on the host takes: what its overlays changed,
                                    and /tmp */
        int is_disk_more; /* 1: it takes more, of which some can't be read or lies behind 10,000 files */
};
#define NSRUN_SESSION_USAGE_INIT \
        { .size = sizeof(struct nsrun_session_usage) }
/* -ENOENT, stage SUPERVISE: no such session; -ESRCH: it has ended meanwhile. */
int nsrun_session_usage(const char *id, struct nsrun_session_usage *ret, struct nsrun_error *error);

/* A process of a session.  Its name and its command line are what it says of itself: any bytes. */
struct nsrun_session_process {
        pid_t pid;     /* in the session's pid namespace, also where its command has one of its own */
        pid_t parent;  /* as above; 1: nsrun's pid 1, which adopts orphans; 0: it has no number there */
        pid_t command; /* the oldest process that lives of those that the same command started, itself
                          perhaps; 0: unknown */
        char state;    /* as proc_pid_stat(5) has it: R, S, D, T, Z */
        unsigned long long age;    /* seconds */
        unsigned long long memory; /* bytes that it has resident */
        char *name;                /* the kernel's for it, 15 bytes at most for a program */
        char *command_line;        /* its first 4095 bytes, each NUL a space; "": it has none */
};
/* The session's processes but for nsrun's own, NULL at the end, by their numbers.  *ret is for
 * nsrun_session_processes_free().  -ENOENT, stage SUPERVISE: no such session; -ESRCH: it has ended. */
int nsrun_session_processes(const char *id, struct nsrun_session_process ***ret, struct nsrun_error *error);
/* Returns NULL; NULL is fine. */
struct nsrun_session_process **nsrun_session_processes_free(struct nsrun_session_process **list);
/* Sends a signal to the process that has the number `pid` in the session or, where `name` isn't NULL, to all
 * that the kernel calls exactly that or whose argv[0] is that behind its last slash; never to one of nsrun's
 * own, nor to one that isn't the session's.  *ret_n (ret_n may be NULL) is how many it was sent to, one at
 * least.  -ESRCH, stage SUPERVISE: there is none, or the session has ended meanwhile; -EPERM: `pid` is
 * nsrun's own; -ENOENT: no such session; -EINVAL, stage USAGE: no such signal, no name, a number below 1. */
int nsrun_session_signal(const char *id, pid_t pid, const char *name, int signal, size_t *ret_n,
                         struct nsrun_error *error);

/* Lets a port of the session be reached on the host while the session lives, as "publish" of its policy
 * and nsrun_grant() do: "[ADDRESS:]PORT[:INSIDE]".  -EINVAL, stage USAGE: it is none; stage POLICY: no "net"
 * "allow", or a rule takes the port inside; -E2BIG: the session publishes 64; -EEXIST: that, too;
 * -EADDRINUSE, -EACCES and the like, stage NETWORK: the host's port can't be had; -ECONNREFUSED and others:
 * its nsrun-net has ended; -ENOENT, stage SUPERVISE: no such session. */
int nsrun_session_publish(const char *id, const char *port, struct nsrun_error *error);
/* What is published, by either way, as "ADDRESS:PORT:INSIDE", NULL at the end (*ret is NULL for none): each
 * and the array are the caller's to free(3).  Fails as above. */
int nsrun_session_published(const char *id, char ***ret, struct nsrun_error *error);

/* Of a session with "net" "ask": answers for all its commands about names that no rule covers, until the
 * session's network ends, and returns 0 then.  `ask` is that of struct nsrun_start_options, but that a yes
 * is until the session ends, and a no, too.  It is called about programs of commands that nobody answers for
 * who joined them: those of nsrun_start() with `ask`, and of 'nsrun run' at a terminal, have somebody.  64
 * can be asked at once, each about 32 names.  -EINVAL, stage POLICY: nobody is asked in that session;
 * -ECONNREFUSED and others, stage NETWORK: its nsrun-net has ended, or 64 are asked; -ENOENT, stage
 * SUPERVISE: no such session. */
int nsrun_session_ask(const char *id, int (*ask)(const char *name, const char *program, void *data),
                      void *data, struct nsrun_error *error);
/* What was answered in the session, by whoever was asked: "allow NAME" and "deny NAME", in the order in
 * which they were wanted, NULL at the end (*ret is NULL for none): each and the array are the caller's to
 * free(3). Fails as nsrun_session_published() does. */
int nsrun_session_answers(const char *id, char ***ret, struct nsrun_error *error);

/* How a session's changes are written. */
enum nsrun_diff {
        NSRUN_DIFF_LIST,  /* a line each: "M path", as nsrun-session(1) has it */
        NSRUN_DIFF_JSON,  /* one object */
        NSRUN_DIFF_STAT,  /* lines added and removed, as git counts them */
        NSRUN_DIFF_PATCH, /* for `git apply` in the overlay's folder */
};
/* What the session's overlays changed: of those that were asked for ("overlay") or, with `paths` (ends with
 * NULL; NULL or empty: no choice), of what lies at and beneath these: absolute as in the sandbox, or
 * relative to its project.  Written to `fd` while commands may go on changing it.  -ENOENT: no such session;
 * a path in no overlay, or an empty one; a session without an overlay.  -EOPNOTSUPP: overlays in memory.
 * STAT and PATCH are git's, in a sandbox of its own, with the errors of nsrun_start(); without git: the
 * list. */
int nsrun_session_diff(const char *id, enum nsrun_diff form, const char *const *paths, int fd,
                       struct nsrun_error *error);
/* The same, and a digest of what a commit with these paths would do now, for nsrun_session_commit_digest();
 * in JSON it is the key "digest", too.  *ret_digest is the caller's to free: 64 hexadecimal digits. -ESTALE:
 * commands changed what was being looked at, again and again; a file that can't be read is an error here. */
int nsrun_session_diff_digest(const char *id, enum nsrun_diff form, const char *const *paths, int fd,
                              char **ret_digest, struct nsrun_error *error);

/* Which of a session's changes are meant. */
struct nsrun_session_choice {
        size_t size;
        const char *const *paths; /* as above, or NULL */
        int with_ignored;         /* also what git ignores */
        int is_forced;            /* of a commit: what the host has changed since is overwritten */
        const char *digest;       /* of a commit: it takes exactly what this is of; NULL: what there is */
        int by_person;            /* a person named `paths`, at a terminal, no program and no model */
};
#define NSRUN_SESSION_CHOICE_INIT \
        { .size = sizeof(struct nsrun_session_choice) }
/* As nsrun_session_diff_digest().  `choice` and ret_digest may be NULL.  Unless with_ignored is set, in this
 * function and in the others, what git ignores (gitignore(5)) is only counted by a diff, and left in the
 * session by a commit, with a note; but what `paths` names by its own path, or by that of an ignored folder
 * above, is meant.  The rules are those that the host has: those that the session changed count once they
 * are committed.  What is tracked, in .git, or a name that nsrun protects, is never ignored. */
int nsrun_session_diff_choice(const char *id, enum nsrun_diff form,
                              const struct nsrun_session_choice *choice, int fd, char **ret_digest,
                              struct nsrun_error *error);

/* Clear it, after a failure too. */
struct nsrun_session_outcome {
        size_t size;
        size_t n_applied;
        char **notes;     /* what was done otherwise than asked ("x: the setuid bit is dropped"), or NULL */
        char **conflicts; /* paths that the host has changed since the session began, or NULL */
};
#define NSRUN_SESSION_OUTCOME_INIT \
        { .size = sizeof(struct nsrun_session_outcome) }
/* Frees what is in it and zeroes it but for its size. */
void nsrun_session_outcome_clear(struct nsrun_session_outcome *outcome);
/* Makes the host's files as the overlays show them: each path is old or new at any moment.  Paths as above.
 * -ESTALE: the host has changed some since the session began, told by their ctime, and nothing was done;
 * with is_forced they are overwritten; or another folder is there.  Devices, sockets, new fifos and what
 * programs on the host obey are left out (but if by_person names it), setid bits dropped, with a note;
 * of several overlays each line names its own. -ENOENT: a path selects no change.  -EINTR: a signal that the
 * caller blocks (SIGHUP, SIGINT, SIGTERM) is pending, and nothing was done.  `ret` may be NULL. */
int nsrun_session_commit(const char *id, const char *const *paths, int is_forced,
                         struct nsrun_session_outcome *ret, struct nsrun_error *error);
/* The same for exactly what a digest is of.  -ECANCELED: the session, or what the host has at these paths,
 * is in another state, or other paths were asked for; nothing was done.  -EINVAL: that is no digest. */
int nsrun_session_commit_digest(const char *id, const char *const *paths, int is_forced, const char *digest,
                                struct nsrun_session_outcome *ret, struct nsrun_error *error);
/* All of that, of a choice, which may be NULL. */
int nsrun_session_commit_choice(const char *id, const struct nsrun_session_choice *choice,
                                struct nsrun_session_outcome *ret, struct nsrun_error *error);
/* The other way round: the overlays show what the host has, also of what git ignores. */
int nsrun_session_discard(const char *id, const char *const *paths, struct nsrun_session_outcome *ret,
                          struct nsrun_error *error);
/* Ends all that runs in it, SIGTERM first and SIGKILL five seconds later, or at once; and returns when all
 * that it had, processes and folders, is gone.  -ENOENT: no such session. */
int nsrun_session_stop(const char *id, struct nsrun_error *error);
int nsrun_session_kill(const char *id, struct nsrun_error *error);
/* Stops it, or with is_kill kills it, and stores in *ret_notes (which may be NULL) what was put right when
 * it ended, such as a protected name that its last process made: as nsrun_sandbox_notes(), each and the list
 * to be freed, or NULL.  The errors are nsrun_session_stop()'s. */
int nsrun_session_end(const char *id, int is_kill, char ***ret_notes, struct nsrun_error *error);

/* The session's detached commands and their logs (see nsrun_bash()), the oldest first, as `nsrun session
 * logs` prints them: TEXT, or one JSON object.  *ret is the caller's to free.  -ENOENT: no such session. */
int nsrun_session_logs(const char *id, enum nsrun_format format, char **ret, struct nsrun_error *error);
/* Writes the log `name` to `fd`: its last 256 KiB, as printed, or for a terminal with nothing that it obeys.
 * With `follows` until nobody can print any more.  -ENOENT: no such session or log; write(2)'s. */
int nsrun_session_log(const char *id, const char *name, int follows, int fd, struct nsrun_error *error);
/* Ends a detached command and all that it has started, SIGTERM first and SIGKILL five seconds later, and
 * returns when it is gone; its log stays.  -ENOENT: no such session or log; -ESRCH: it has ended. */
int nsrun_session_end_detached(const char *id, const char *name, struct nsrun_error *error);

/* -------- nsrun_isolation: the commands of an agent host, each in its instance -------- */

/* Isolation: the commands of an agent host, each in a sandbox that shows the host's instance
 * folder, what the configuration exposes, and what the command line names.
 *
 *     struct nsrun_isolation_config config = NSRUN_ISOLATION_CONFIG_INIT;
 *
 *     config.enabled = 1;
 *     nsrun_isolation_new(&isolation);
 *     nsrun_isolation_configure(isolation, &config);
 *     nsrun_isolation_preflight(isolation, &error);
 *     nsrun_policy_set_command(policy, argv, &error);
 *     nsrun_isolation_start(isolation, policy, NULL, &sandbox, &error);
 *
 * The behaviour is that of pkg/isolation in picoclaw, an agent in Go, function by function, but that
 * the state is an object: a library has no process-wide one.  nsrun.conf(5), INSTANCES,
 * has what is shown and what is not.  Nothing falls back to no isolation. */
struct nsrun_isolation;

/* A host path for an isolated command. */
struct nsrun_expose_path {
        const char *source; /* on the host; absolute */
        const char *target; /* inside; absolute.  NULL or "": the source */
        const char *mode;   /* "ro" or "rw" */
};

struct nsrun_isolation_config {
        size_t size;
        int enabled;      /* 0 or 1; 0 at first, as it is there */
        const char *root; /* the instance root; NULL: $NSRUN_HOME, else ~/.nsrun */
        const struct nsrun_expose_path *expose_paths;
        size_t n_expose_paths;
        /* An absolute path, shown and made as the root is; it takes the current folder's place where the
         * policy has no "project".  NULL: ROOT/workspace, which changes nothing. */
        const char *workspace;
};
#define NSRUN_ISOLATION_CONFIG_INIT \
        { .size = sizeof(struct nsrun_isolation_config) }

/* One that is not enabled.  -ENOMEM. */
int nsrun_isolation_new(struct nsrun_isolation **ret);
/* Returns NULL; NULL is fine.  Sandboxes that were started by it live on. */
struct nsrun_isolation *nsrun_isolation_free(struct nsrun_isolation *isolation);
/* For what is started from now on.  Copied, and judged by _preflight() and _start().  -ENOMEM; -EINVAL and
 * -E2BIG: its size. */
int nsrun_isolation_configure(struct nsrun_isolation *isolation,
                              const struct nsrun_isolation_config *config);
/* What was configured, normalised, to as much of *ret as its size says.  Its pointers are the isolation's,
 * until it is configured anew. */
void nsrun_isolation_current(const struct nsrun_isolation *isolation, struct nsrun_isolation_config *ret);
/* 1: Linux is what this library is for.  Whether this host lets sandboxes be made is _preflight()'s to say.
 */
int nsrun_isolation_is_supported(void);
/* Gets one line of JSON for each start, without a newline, before the command runs: "linux isolation
 * mount plan", at level "debug", with root, command, working_dir, and mounts with source,
 * target and mode (ro, rw or overlay).  Called by the thread that starts. */
typedef void (*nsrun_log)(void *data, const char *line);
/* NULL: no log.  `data` is passed on as it is. */
void nsrun_isolation_set_log(struct nsrun_isolation *isolation, nsrun_log log, void *data);

/* The configured root, else $NSRUN_HOME, else ~/.nsrun: canonical, for the caller to free; it
 * need not exist.  -EINVAL: relative ("." too), or unknown; -EPERM: a home, a system folder, or one that
 * holds a home.  Stage POLICY.  -ENOMEM. */
int nsrun_isolation_resolve_root(const struct nsrun_isolation *isolation, char **ret,
                                 struct nsrun_error *error);
/* What HOME, TMPDIR, XDG_CONFIG_HOME, XDG_CACHE_HOME and XDG_STATE_HOME are inside. */
struct nsrun_user_env {
        const char *home, *tmp, *config, *cache, *state;
};
/* *ret is one block for the caller to free.  -ENOMEM. */
int nsrun_isolation_user_env(const char *root, struct nsrun_user_env **ret);
/* The folders that an instance has, the root among them; ends with NULL.  One block.  -ENOMEM. */
int nsrun_isolation_instance_dirs(const char *root, char ***ret);
/* Makes them, 0755 less the umask, and follows no symlink: an earlier command may have planted one.  A
 * workspace elsewhere is made by _preflight() and each start.
 * -EINVAL: relative; -ELOOP, -ENOTDIR: something else is there; what else mkdir(2) says.  Stage
 * WORKSPACE. */
int nsrun_isolation_prepare_root(const char *root, struct nsrun_error *error);
/* Puts the five variables into the policy's environment, as the option "env" would.  -ENOMEM. */
int nsrun_isolation_apply_user_env(struct nsrun_policy *policy, const char *root);

/* Lists of expose paths.  What is returned is one block for the caller to free, strings and all.
 * -ENOMEM.
 * _default_: the root, writable, and the least of the system; the sandbox's own view has more. _normalize_:
 * paths are cleaned, an empty target becomes the source. _merge_: by target; a later one takes an earlier
 * one's place. _build_mount_plan: the defaults with the overrides merged in. */
int nsrun_isolation_default_expose_paths(const char *root, struct nsrun_expose_path **ret, size_t *ret_n);
int nsrun_isolation_normalize_expose_path(const struct nsrun_expose_path *item,
                                          struct nsrun_expose_path **ret);
int nsrun_isolation_merge_expose_paths(const struct nsrun_expose_path *defaults, size_t n_defaults,
                                       const struct nsrun_expose_path *overrides, size_t n_overrides,
                                       struct nsrun_expose_path **ret, size_t *ret_n);
int nsrun_isolation_build_mount_plan(const char *root, const struct nsrun_expose_path *overrides,
                                     size_t n_overrides, struct nsrun_expose_path **ret, size_t *ret_n);
/* -EINVAL: an item without a source, with a path that is not absolute, with a mode that is neither
 * "ro" nor "rw", or a target that is there twice.  Stage POLICY. */
int nsrun_isolation_validate_expose_paths(const struct nsrun_expose_path *items, size_t n,
                                          struct nsrun_error *error);
/* Always -EOPNOTSUPP, "unsupported configuration": access rules are for Windows alone. */
int nsrun_isolation_build_access_rules(const char *root, const struct nsrun_expose_path *overrides,
                                       size_t n_overrides, struct nsrun_error *error);

/* What can be known before a command is there: the root, its folders and its workspace (made), the expose
 * paths, whether the working directory can be a command's (a service's "/" can't: give it another, or
 * configure a workspace), and that a sandbox can be had, by making one.  0 at once where it is not enabled.
 * The errors of nsrun_plan_new() and nsrun_start(). */
int nsrun_isolation_preflight(const struct nsrun_isolation *isolation, struct nsrun_error *error);
/* Makes a policy one of this instance, where it is enabled: for nsrun_plan_new().  */
int nsrun_isolation_prepare_command(const struct nsrun_isolation *isolation, struct nsrun_policy *policy,
                                    struct nsrun_error *error);
/* Prepares, plans, logs and starts; nsrun_sandbox_wait(), _kill() and _free() are for what it returns. Where
 * it is not enabled the command runs with no sandbox, as with the policy's "no-sandbox" but that nothing is
 * refused and that it begins in the working directory unless the policy has a "project". */
int nsrun_isolation_start(const struct nsrun_isolation *isolation, struct nsrun_policy *policy,
                          const struct nsrun_start_options *options, struct nsrun_sandbox **ret,
                          struct nsrun_error *error);
/* The same, and waits for its end. */
int nsrun_isolation_run(const struct nsrun_isolation *isolation, struct nsrun_policy *policy,
                        const struct nsrun_start_options *options, struct nsrun_exit *ret,
                        struct nsrun_error *error);

#ifdef __cplusplus
}
#endif

#endif
