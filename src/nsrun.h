/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libnsrun: start a command in a sandbox made of raw Linux namespaces.
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
 *     nsrun_policy_set_command(policy, argv);
 *     nsrun_plan_new(policy, &plan, &error);
 *     nsrun_start(plan, &sandbox, &error);
 *     nsrun_sandbox_wait(sandbox, &end, &error);
 *
 * Every function that can fail returns 0 or a negative errno, and fills *error
 * (which may be NULL) once, where the failure is understood: zero it before the
 * first call.  Outputs are untouched on failure.  The library never prints, exits or
 * aborts, and leaves the caller's signals, working directory, umask and
 * environment alone.  Objects are not locked: one thread at a time uses one
 * object; different threads may use different ones.  */
#ifndef NSRUN_H
#define NSRUN_H

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a failure happened. */
enum nsrun_stage {
        NSRUN_STAGE_NONE = 0,  /* nothing failed */
        NSRUN_STAGE_USAGE,     /* an option or a value that makes no sense */
        NSRUN_STAGE_POLICY,    /* what was asked for is refused */
        NSRUN_STAGE_WORKSPACE, /* the cache folder or its umbrella */
        NSRUN_STAGE_PLAN,      /* memory, or reading the host */
        NSRUN_STAGE_NAMESPACE, /* the kernel gives no namespaces */
        NSRUN_STAGE_IDMAP,     /* the user and group maps */
        NSRUN_STAGE_MOUNT,     /* a bind, a tmpfs, a mount point */
        NSRUN_STAGE_OVERLAY,   /* an overlay */
        NSRUN_STAGE_PROC,      /* /proc */
        NSRUN_STAGE_NETWORK,   /* loopback */
        NSRUN_STAGE_HARDENING, /* capabilities, no_new_privs */
        NSRUN_STAGE_EXEC,      /* the command itself */
        NSRUN_STAGE_SUPERVISE, /* waiting for it */
};

/* What failed, in words for a person.  Zero-initialise it. */
struct nsrun_error {
        enum nsrun_stage stage;
        int error;       /* errno, positive; 0 where there is none */
        char path[1024]; /* the path it is about, or "" */
        char what[512];  /* what failed */
        char hint[1024]; /* what to do about it, or "" */
};

/* One line, without a newline and without a program's name, control bytes made
 * visible: "what: path: strerror; hint".  The caller frees it; NULL for want of memory. */
char *nsrun_error_format(const struct nsrun_error *error);

/* "0.1.0" */
const char *nsrun_version(void);

/* What is asked for. */
struct nsrun_policy;

/* A policy as `nsrun run` has it with no option at all.  -ENOMEM. */
int nsrun_policy_new(struct nsrun_policy **ret);
/* Returns NULL; NULL is fine. */
struct nsrun_policy *nsrun_policy_free(struct nsrun_policy *policy);
/* The command line's options by their long names without dashes ("ro", "net",
 * "new-session"); value is NULL where the option takes none.  nsrun(1) lists
 * them with their units.  Strings are copied.
 * -EINVAL: no such option, or a value it can't take.  -ENOMEM. */
int nsrun_policy_set(struct nsrun_policy *policy, const char *option, const char *value,
                     struct nsrun_error *error);
/* argv[0] is looked up in the sandbox's PATH.  Copied.  -EINVAL: empty. */
int nsrun_policy_set_command(struct nsrun_policy *policy, const char *const *argv,
                             struct nsrun_error *error);
/* What the command inherits from, instead of the caller's environ.  Copied. */
int nsrun_policy_set_environ(struct nsrun_policy *policy, const char *const *environment);

/* What will be done: an ordered list. */
struct nsrun_plan;

enum nsrun_format {
        NSRUN_FORMAT_TEXT,
        NSRUN_FORMAT_JSON,  /* one object; -EOPNOTSUPP where json-c is missing */
        NSRUN_FORMAT_BWRAP, /* an equivalent bubblewrap command, quoted for a shell */
};

/* Checks the policy and makes the plan.  Reads the host and changes nothing.
 * The errors are those of nsrun(1), "Refusals": -EPERM, -EINVAL, -ENOENT,
 * -ELOOP and what the kernel says of a path. */
int nsrun_plan_new(struct nsrun_policy *policy, struct nsrun_plan **ret, struct nsrun_error *error);
struct nsrun_plan *nsrun_plan_free(struct nsrun_plan *plan);
/* *ret is the caller's to free. */
int nsrun_plan_format(const struct nsrun_plan *plan, enum nsrun_format format, char **ret,
                      struct nsrun_error *error);

/* A running command and its sandbox. */
struct nsrun_sandbox;

struct nsrun_exit {
        int code;   /* exit status, or -1 where a signal ended it */
        int signal; /* the signal, or 0 */
};

/* Starts the plan's command with the caller's fds 0, 1 and 2 and returns once it has been
 * exec'ed.  The command dies with the calling process (not: thread).  Any
 * failure is returned here, nothing is left behind, and the command never ran: -ENOENT and
 * -EACCES with stage EXEC where it is not found or not executable. */
int nsrun_start(const struct nsrun_plan *plan, struct nsrun_sandbox **ret, struct nsrun_error *error);
/* What was left to be decided during the start and how that came out, one line each
 * as nsrun_error_format() makes it: with "proc" set to "auto" that /proc has the
 * processes alone, for instance.  Complete when nsrun_start() returns.  Ends with NULL,
 * and is never NULL itself.  Owned by the sandbox. */
const char *const *nsrun_sandbox_notes(const struct nsrun_sandbox *sandbox);
/* Readable (poll) when the sandbox has ended.  Owned by the sandbox. */
int nsrun_sandbox_pidfd(const struct nsrun_sandbox *sandbox);
/* Sends a signal to the command; SIGKILL ends the whole sandbox.  -ESRCH: it has ended. */
int nsrun_sandbox_kill(const struct nsrun_sandbox *sandbox, int signal);
/* Waits until the command and everything it started are gone.  -EIO: the sandbox was killed from outside. */
int nsrun_sandbox_wait(struct nsrun_sandbox *sandbox, struct nsrun_exit *ret, struct nsrun_error *error);
/* Kills what still runs, waits, removes what was on disk.  Returns NULL; NULL is fine. */
struct nsrun_sandbox *nsrun_sandbox_free(struct nsrun_sandbox *sandbox);

#ifdef __cplusplus
}
#endif

#endif
