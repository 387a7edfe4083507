/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the user wants, as one struct.  Filled by options (options.c) or a
 * library's caller, checked and made absolute by policy_resolve(), then read by
 * plan/.  Validation and refusals live in this folder and only here. */
#pragma once

#include "base/error.h"
#include "base/macro.h"
#include "base/rlimits.h"
#include "base/str.h"
#include "expose.h"

/* The working directory of a run with --no-project. */
#define POLICY_NO_PROJECT_DIR "/workspace"

enum policy_net {
        POLICY_NET_HOST,
        POLICY_NET_NONE
};
enum policy_proc {
        POLICY_PROC_NEW,
        POLICY_PROC_AUTO,
        POLICY_PROC_SUBSET,
        POLICY_PROC_BIND,
        POLICY_PROC_NONE
};
enum policy_backing {
        POLICY_BACKING_DISK,
        POLICY_BACKING_TMPFS
};
enum policy_landlock {
        POLICY_LANDLOCK_AUTO,
        POLICY_LANDLOCK_REQUIRE,
        POLICY_LANDLOCK_OFF
};
enum policy_profile {
        POLICY_PROFILE_CODE,
        POLICY_PROFILE_INSTANCE
};
enum policy_isolation {
        POLICY_ISOLATION_UNSAID,
        POLICY_ISOLATION_ON,
        POLICY_ISOLATION_OFF
};
enum policy_access {
        POLICY_RO,
        POLICY_RW,
        POLICY_OVERLAY
};

/* One path of the host that the sandbox sees. */
struct policy_rule {
        enum policy_access access;
        char *source; /* as given; canonical after policy_resolve() */
        char *target; /* NULL as given means "where the source is"; normalised after */
        char *alias;  /* after: how the user spelled the target where that differs; a symlink */
        const char
                *option; /* who asked: "--ro", "the project", "toolchains"; static text, or one of labels */
        char *spelled;   /* after: the source as given, absolute, where a symlink is on its way; or NULL */
        bool is_default; /* nsrun's own: an explicit rule for the same target replaces it */
        bool is_config;  /* a configuration's, or an expose path: an option's for the same target replaces it
                          */
        bool is_derived; /* made anew by each resolve */
        bool is_to_be_made; /* the source is a folder that the run makes first */
        bool is_directory;  /* after */
};

struct policy_link {
        char *text;
        char *path; /* normalised after */
};

/* What the command may use up.  Plain data. */
#define POLICY_UNLIMITED UINT64_MAX
struct policy_rlimit {
        bool is_set;
        uint64_t soft, hard; /* POLICY_UNLIMITED is the kernel's RLIM_INFINITY */
};
struct policy_limits {
        struct policy_rlimit rlimits[RLIMITS_COUNT]; /* by RLIMIT_* */
        uint64_t memory;                             /* bytes; these three: 0 for no bound */
        uint64_t pids;                               /* processes and threads, pid 1 not counted */
        uint64_t cpu;                                /* thousandths of a CPU */
};

struct nsrun_policy {
        char *project;       /* as given or NULL for "find it"; canonical after; NULL after for no_project */
        char *project_alias; /* after: how it was spelled, where that differs; kept for a second resolve */
        bool no_project;     /* an empty working directory on a tmpfs instead */
        struct policy_rule *rules;
        size_t n_rules;
        struct policy_link *links;
        size_t n_links;

        char *tmp;           /* a host folder for /tmp, canonical after, or NULL for a tmpfs */
        char *tmp_alias;     /* after: as project_alias */
        bool has_playground; /* /tmp is a folder of the run's umbrella; tmp is NULL then */
        uint64_t tmpfs_size; /* bytes, the bound of each writable tmpfs */
        enum policy_net net;
        enum policy_proc proc;
        enum policy_backing backing;
        enum policy_landlock landlock;
        char *seccomp;    /* one of nsrun's policies, "none", or a file, canonical after; NULL: "default" */
        bool seccomp_log; /* the kernel logs what is denied */
        bool strict_policy; /* a call in the file that nsrun doesn't know is refused */
        struct policy_limits limits;
        bool new_session;
        bool clean_env;
        char *hostname; /* NULL: as the host's */
        char *chdir;    /* as given: absolute, or relative to the project; NULL: the project */
        char **env;     /* "NAME=VALUE" or "NAME" (bring back), in the order given */
        char **unset;   /* names; none of them is in `env` too */
        char **argv;    /* the command */
        char **given;   /* the names of the options that were set */

        bool is_session;      /* of a session, which has no command of its own */
        char *session;        /* a session to run in: all but the command is its, and nothing is resolved */
        bool kills_leftovers; /* what the command leaves behind in the session ends with it */

        char **host_environ; /* what is inherited; NULL: environ */

        /* The configuration that was read, canonical, and its absolute path as it was spelled. */
        char *config;
        char *config_spelled;
        bool no_config; /* nsrun_policy_find_config() is not to look for one */
        char **labels;  /* "FILE:LINE:COLUMN: key": who asked, for messages */
        size_t n_labels;

        enum policy_profile profile;
        char *instance; /* the instance root as given, or NULL */
        enum policy_isolation isolation;
        const char *isolation_label; /* who said so, or NULL */
        struct expose_list expose;   /* what the isolation exposes, in the order given */

        /* Of nsrun_policy_set_workspace(): no toolchains of the user's and no git dirs but its roots. */
        bool has_workspace;
        char **workspace_env; /* "NAME=VALUE" */
        bool is_env_explicit; /* it goes before what is inherited; else it is git's identity */

        /* Filled by policy_resolve(). */
        char *home;          /* $HOME inside, normalised, or NULL for none of its own */
        char **final_env;    /* what the command gets, but for PWD */
        char **left_out;     /* names that were inherited and are withheld, sorted */
        char **identity;     /* "GIT_AUTHOR_NAME=…" and so on: what git on the host says */
        char **ephemeral;    /* folders that are a tmpfs of their own inside, with rules beneath them */
        char **held;         /* names in those that nothing inside may take: empty, and can't be replaced */
        char *instance_root; /* of the instance profile: canonical, and perhaps not there yet; else NULL */
        char **instance_env; /* "HOME=…" and so on */
        uid_t uid;
        gid_t gid;
};

void policy_clear_rule(struct policy_rule *rule);
/* Copies its strings. */
int policy_add_rule(struct nsrun_policy *p, enum policy_access access, const char *source,
                    const char *target, const char *option);
/* One of nsrun's own, where the source is: it is left out where that is missing. */
int policy_add_default(struct nsrun_policy *p, enum policy_access access, const char *source,
                       const char *option);
int policy_add_link(struct nsrun_policy *p, const char *text, const char *path);

/* Keeps a text for as long as the policy lives, and takes it over; NULL for want of memory. */
const char *policy_keep_label(struct nsrun_policy *p, char *label);

/* Finds the project, makes every path canonical, merges nsrun's own defaults
 * (toolchains, see workspace/toolchains.h), decides the environment and refuses
 * what must be refused.  Changes nothing on the host.  Idempotent. */
int policy_resolve(struct nsrun_policy *p, struct nsrun_error *err);

/* session.c: the same for a command in a session: -EPERM for what the session has decided. */
int policy_resolve_session(const struct nsrun_policy *p, struct nsrun_error *err);
/* The part of it that fills home, uid and gid.  -ENOMEM. */
int policy_find_home(struct nsrun_policy *p);
/* Whether nsrun_plan_new() would refuse for "isolation is disabled". */
static inline bool policy_is_plain(const struct nsrun_policy *p) {
        return p->profile == POLICY_PROFILE_INSTANCE && p->isolation == POLICY_ISOLATION_OFF;
}

/* environment.c: the documented list of what is withheld.  Returns the reason
 * ("secret", "unreachable") or NULL where `name` may pass. */
const char *policy_env_withheld(const char *name);
