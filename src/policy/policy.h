/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What was asked for, as one struct: filled by options (options.c), configurations and a
 * library's caller, and const for everybody else.  What it comes to is resolved.h's. */
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

enum policy_tmp {
        POLICY_TMP_UNSAID,
        POLICY_TMP_TMPFS,
        POLICY_TMP_SCRATCH, /* a folder of the run directory */
        POLICY_TMP_FOLDER
};

/* Who asked for a rule.  Of two for one target the former's stays: README has the rule. */
enum policy_origin {
        POLICY_BY_OPTION,
        POLICY_BY_CONFIG,     /* or an expose path */
        POLICY_BY_WORKSPACE,  /* a writable root */
        POLICY_BY_DEFAULT,    /* nsrun itself: the project, git dirs, what a command line names */
        POLICY_BY_TOOLCHAINS, /* nsrun's list of toolchain folders */
        POLICY_BY_READABLE    /* a workspace's root that may only be read */
};
/* nsrun's own rules are left out where their source is missing. */
static inline bool policy_is_default(enum policy_origin origin) {
        return origin == POLICY_BY_DEFAULT || origin == POLICY_BY_TOOLCHAINS;
}

/* One path of the host that the sandbox is to see. */
struct policy_rule {
        enum policy_access access;
        enum policy_origin origin;
        char *source;       /* as given */
        char *target;       /* as given; NULL: where the source is */
        const char *option; /* "--ro", "the workspace", …: static, or one of the policy's labels */
};

struct policy_link {
        char *text;
        char *path;
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
        char *project;   /* NULL: to be found */
        bool no_project; /* an empty working directory on a tmpfs instead */
        struct policy_rule *rules;
        size_t n_rules;
        struct policy_link *links;
        size_t n_links;

        enum policy_tmp tmp_kind;
        char *tmp;           /* the host's folder for /tmp; NULL: none */
        uint64_t tmpfs_size; /* bytes, the bound of each writable tmpfs */
        enum policy_net net;
        enum policy_proc proc;
        enum policy_backing backing;
        enum policy_landlock landlock;
        char *seccomp;      /* one of nsrun's policies, "none", or a file; NULL: "default" */
        bool seccomp_log;   /* the kernel logs what is denied */
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

        /* Of nsrun_policy_set_workspace(): of the user's toolchains and git dirs just what its roots have.
         */
        bool has_workspace;
        bool has_toolchains;  /* the user's toolchains all the same: nsrun_toolchains_add() */
        char **workspace_env; /* "NAME=VALUE" */
        bool is_env_explicit; /* it goes before what is inherited; else it is git's identity */
};

void policy_clear_rule(struct policy_rule *rule);
void policy_clear_link(struct policy_link *link);
/* Copies its strings, but for `option`.  -ENOMEM. */
int policy_add_rule(struct nsrun_policy *p, enum policy_origin origin, enum policy_access access,
                    const char *source, const char *target, const char *option);
int policy_add_link(struct nsrun_policy *p, const char *text, const char *path);
/* Makes it a policy of the instance at `root`, isolated, which exposes these paths: takes both over. */
void policy_set_instance(struct nsrun_policy *p, char *root, struct expose_list *expose);

/* Keeps a text for as long as the policy lives, and takes it over; NULL for want of memory. */
const char *policy_keep_label(struct nsrun_policy *p, char *label);

/* Whether nsrun_plan_new() would refuse for "isolation is disabled". */
static inline bool policy_is_plain(const struct nsrun_policy *p) {
        return p->profile == POLICY_PROFILE_INSTANCE && p->isolation == POLICY_ISOLATION_OFF;
}

/* environment.c: the documented list of what is withheld.  Returns the reason
 * ("secret", "unreachable") or NULL where `name` may pass. */
const char *policy_env_withheld(const char *name);
