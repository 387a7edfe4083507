/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What was asked for, as one struct: filled by options (options.c), configurations and a library's
 * caller, and const for everybody else.  What it comes to is in resolved.h. */
#pragma once

#include "base/names.h"
#include "base/str.h"
#include "boundary/operation.h"
#include "expose.h"
#include "variables.h"

/* The working directory in the sandbox of a run with --no-project. */
#define POLICY_NO_PROJECT_DIR "/workspace"

enum policy_net {
        POLICY_NET_HOST,
        POLICY_NET_NONE,
        POLICY_NET_ALLOW /* what rules name, and nothing else */
};
enum policy_backing {
        POLICY_BACKING_DISK,
        POLICY_BACKING_TMPFS,
        POLICY_BACKING_AUTO /* overlay_backing.c decides; no plan has it */
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
        POLICY_TMP_SCRATCH, /* /tmp is the scratch folder of the run directory */
        POLICY_TMP_FOLDER
};

/* Who asked for a rule.  Of two rules for one target the one whose origin stands first here stays;
 * the README has the reasons. */
enum policy_origin {
        POLICY_BY_OPTION,
        POLICY_BY_CONFIG,     /* a configuration, or an expose path */
        POLICY_BY_WORKSPACE,  /* the workspace, for a writable root */
        POLICY_BY_DEFAULT,    /* nsrun itself: the project, git dirs, what a command line names */
        POLICY_BY_TOOLCHAINS, /* nsrun's list of toolchain folders */
        POLICY_BY_READABLE    /* the workspace, for a root that is read-only */
};
/* Whether the rule is one of nsrun's own, which are left out where their source is missing. */
static inline bool policy_is_default(enum policy_origin origin) {
        return origin == POLICY_BY_DEFAULT || origin == POLICY_BY_TOOLCHAINS;
}

/* One path of the host that the sandbox is to see. */
struct policy_rule {
        enum policy_access access;
        enum policy_origin origin;
        char *source;     /* the host's path as the user gave it */
        bool of_project;  /* `source` is relative to the project */
        bool is_optional; /* left out where its source is missing */
        unsigned rank;    /* of two rules of a configuration the one of the higher rank wins */
        char *target;     /* the path inside as the user gave it; NULL: the same as the source's */
        const char
                *option; /* who asked, "--ro", "the workspace", …: static, or one of the policy's labels */
};

/* A row that a configuration adds to the toolchains' table. */
struct policy_toolchain {
        char *path;     /* absolute */
        char *variable; /* that names another place; or NULL */
        bool is_cache;  /* an overlay, else read-only */
        const char *label;
};

#define AGENT_MOVES_MOST 2

/* A variable that names another place: the folder is `below` its value ("": the value itself). */
struct agent_move {
        const char *variable, *below;
};

/* A folder or file of an agent's: agents.inc says what each access means. */
struct agent_folder {
        enum policy_access access;
        const char *path; /* absolute, "~/…", or else of the project; with a slash at the end of a writable
                             one: a folder */
        struct agent_move moved[AGENT_MOVES_MOST];
        const char *const *members; /* of a file of JSON those that are state, "a/b"; "@" is the project's
                                       path. NULL: all of it is what `access` says */
};

/* A row of the table of agents (agents.h).  Lists end with NULL, or are NULL. */
struct agent_entry {
        const char *name, *what;
        const struct agent_folder *folders; /* the first without a path ends them; or NULL */
        const char *const *keys;            /* the first of these variables that is set is passed */
        const char *const *hosts;           /* what --net=allow lets be reached beside the rules given */
        bool can_be_led;                    /* by a key's variable (keys/use.h): its key stays outside */
        struct {
                const char *variable, *path, *member, *value;
        } needs; /* the member of its settings, and what a key wants there, below the home or the variable's
                    folder, or in the project, without which it isn't led; or NULL */
        bool is_nested; /* it brings a sandbox of its own: --seccomp=nested unless said */
        bool is_of_config;
};

/* A row that a configuration adds, of what it owns. */
struct policy_agent {
        struct agent_entry entry;
        char *name;
        struct agent_folder *folders;
        size_t n_folders;
        char **keys, **hosts;
};

struct policy_link {
        char *text;
        char *path;
};

/* An empty tmpfs inside. */
struct policy_tmpfs {
        char *path;
        uint64_t size; /* bytes; 0: the policy's tmpfs_size */
};

#define POLICY_SAME_ID UINT64_MAX

/* Limits of what the command may use up. */
#define POLICY_UNLIMITED UINT64_MAX
struct policy_rlimit {
        bool is_set;
        uint64_t soft, hard; /* POLICY_UNLIMITED equals the kernel's RLIM_INFINITY */
};
struct policy_limits {
        struct policy_rlimit rlimits[RLIMITS_COUNT]; /* indexed by RLIMIT_* */
        uint64_t memory;                             /* bytes; for memory, pids and cpu 0 means no bound */
        uint64_t pids;                               /* processes and threads, pid 1 not counted */
        uint64_t cpu;                                /* thousandths of a CPU */
};

/* What of the host's desktop one word shows (grants.h). */
enum grant_kind {
        GRANT_KVM,
        GRANT_FUSE,
        GRANT_GPU,
        GRANT_SOUND,
        GRANT_DISPLAY,
        GRANT_SSH_AGENT,
        GRANT_GPG_AGENT,
        GRANT_DBUS,
        GRANT_BROWSER,
        GRANTS_COUNT
};
extern const char *const policy_grants[GRANTS_COUNT]; /* the options' names (values.c) */

/* Stands between a toolchain's folder and the variable that names another. */
#define CONFIG_OR_VARIABLE " or $"

/* One thing that was said, for `nsrun config show`. */
struct policy_said {
        char *key;   /* an option's name, or a configuration's key */
        char *value; /* "" where there is none */
        char *from;  /* "--net", or "FILE:LINE:COLUMN" */
};

struct nsrun_policy {
        char *project;   /* NULL: found from the working directory */
        bool no_project; /* the working directory is an empty tmpfs */
        bool no_sandbox; /* nothing confines the command: no_sandbox.c */
        struct policy_rule *rules;
        size_t n_rules;
        struct policy_link *links;
        size_t n_links;
        struct policy_tmpfs *tmpfs; /* in the order given; paths as the user gave them */
        size_t n_tmpfs;
        struct policy_toolchain *toolchains;
        size_t n_toolchains;
        struct policy_agent *agents;
        size_t n_agents;
        char *agent; /* whose folders, key and hosts the sandbox has; NULL: nobody's */

        enum policy_tmp tmp_kind;
        char *tmp;           /* the host's folder that is /tmp inside; NULL: none */
        uint64_t tmpfs_size; /* bytes that each writable tmpfs can hold */
        enum policy_net net;
        bool net_asks;  /* with POLICY_NET_ALLOW: a person is asked about names that no rule covers */
        char **network; /* the rules of POLICY_NET_ALLOW by options: net/rules.h's lines, or "@LIST" */
        char **network_config; /* and those of the configuration */
        char **keys;           /* of --key */
        char **key_uses;       /* of --key-use */
        char *net_via; /* the proxy's URL, with its password; "env"; or NULL or "none": there is none */
        enum policy_proc proc;
        enum policy_backing backing;
        enum policy_landlock landlock;
        char *seccomp;      /* a shipped policy's name, "none", or a file; NULL: "default" */
        bool seccomp_log;   /* the kernel logs the calls that are denied */
        bool strict_policy; /* a seccomp policy that names a call which nsrun doesn't know is refused */
        struct policy_limits limits;
        char **ssh_agent; /* values of --ssh-agent: keys, "ask", "all" */
        char **dbus;      /* values of --dbus */
        unsigned grants;  /* a bit for each of enum grant_kind */
        bool new_session;
        bool clean_env;
        char *hostname;         /* NULL: the host's */
        uint64_t uid, gid;      /* the user's inside; POLICY_SAME_ID: the host's */
        char *own_home;         /* what HOME shows: a folder, or "name:NAME"; NULL: the sandbox's own */
        char *chdir;            /* absolute, or relative to the project; NULL: the project */
        struct variables env;   /* --env: "NAME=VALUE", or "NAME" to let it be inherited */
        struct variables unset; /* --unsetenv: names, none of which is in `env` too */
        char **argv;            /* the command */
        char **given;           /* names of the options that were set, for what is refused with --session */

        char **protect;         /* globs of names that are protected beside nsrun's own list, relative */
        char **no_protect;      /* globs of names that are not */
        bool protects_strictly; /* those that don't exist can't be made */
        bool is_wide;           /* learn_view.h */
        bool is_logged;         /* what is run is written down */
        bool refuses_degraded;  /* what can be had in a lesser way alone is refused */
        char **hide;            /* globs of names that are hidden, as walk_normalise() takes them */

        char *session;          /* the session to join, which decides all but the command; NULL: none */
        bool isolates_commands; /* of a session: its commands can't signal or trace each other */
        bool kills_leftovers;   /* what the command leaves behind in the session is killed when it ends */

        char **host_environ; /* the environment to inherit from; NULL: environ */

        /* The configuration that was read: its canonical path, and the absolute one by which it was
         * named. */
        char *config;
        char *config_spelled;
        const char *config_label; /* while a configuration's value is set: "FILE:LINE:COLUMN: key" */
        unsigned config_rank;     /* of the rules that a configuration adds now */
        char **profiles;      /* names of profiles that --profile chose, for the configuration; NULL: none */
        char *config_project; /* the project, canonical, whose sections the configuration had; NULL: none */
        bool is_for_agent; /* it is for commands of an agent: the configuration may have a profile for these
                            */
        bool has_project_sections; /* the configuration has sections for projects */
        struct policy_said *said;  /* what options and the configuration said, in order, if `keeps_said` */
        size_t n_said;
        bool keeps_said;
        bool checks_sections; /* a configuration's profiles and sections are all applied: it is only checked
                               */
        bool no_config;       /* nsrun_policy_find_config() does nothing */
        char **labels;        /* "FILE:LINE:COLUMN: key": which rules' `option` points to */
        size_t n_labels;

        enum policy_profile profile;
        char *instance;           /* the instance root as the user gave it, or NULL */
        char *instance_workspace; /* its workspace as the user gave it; NULL: in its usual place */
        enum policy_isolation isolation;
        const char *isolation_label; /* what set `isolation`, for messages, or NULL */
        struct expose_list expose;   /* the expose paths, in the order given */

        /* nsrun_policy_set_workspace() was called: of the user's toolchains and git dirs the
         * sandbox shows only what the workspace's roots hold. */
        bool has_workspace;
        bool allows_all;      /* the workspace is nsrun_workspace_new_allow_all()'s */
        bool has_toolchains;  /* nsrun_toolchains_add() was called: toolchains are shown as without a
                                 workspace */
        char **workspace_env; /* "NAME=VALUE" */
        bool is_env_explicit; /* workspace_env wins over what is inherited; else it is a committer's name,
                                 for git */
};

void policy_clear_rule(struct policy_rule *rule);
void policy_clear_link(struct policy_link *link);
/* Adds a copy of a rule; `option` stays the caller's.  -ENOMEM. */
int policy_add_copy(struct nsrun_policy *p, const struct policy_rule *rule);
/* The same of a rule that has no more to it than this. */
int policy_add_rule(struct nsrun_policy *p, enum policy_origin origin, enum policy_access access,
                    const char *source, const char *target, const char *option);
/* Adds a row to the toolchains' table.  Copies the strings, but for `label`.  `variable` may be NULL. */
int policy_add_toolchain(struct nsrun_policy *p, const char *path, const char *variable, bool is_cache,
                         const char *label);
/* Adds a row of this name, to be filled, to the table of agents.  NULL: no memory. */
struct policy_agent *policy_add_agent(struct nsrun_policy *p, const char *name);
/* Adds one of its folders.  The agent takes `path`. */
int policy_add_agent_folder(struct policy_agent *agent, enum policy_access access, char *path);
int policy_add_link(struct nsrun_policy *p, const char *text, const char *path);
int policy_add_tmpfs(struct nsrun_policy *p, const char *path, uint64_t size);
/* Before a configuration is read: its agent_profile counts. */
void policy_set_for_agent(struct nsrun_policy *p);
/* Sets the instance profile: the instance at `root`, isolated, with this workspace (may be NULL) and
 * these expose paths.  The policy takes all three. */
void policy_set_instance(struct nsrun_policy *p, char *root, char *workspace, struct expose_list *expose);

/* Notes what was said, if the policy keeps that.  -ENOMEM. */
int policy_note(struct nsrun_policy *p, const char *key, const char *value, const char *from);

/* Whether --env or --unsetenv names the variable. */
static inline bool policy_sets(const struct nsrun_policy *p, const char *name) {
        return variables_find(&p->env, name, strlen(name));
}
static inline bool policy_unsets(const struct nsrun_policy *p, const char *name) {
        return variables_find(&p->unset, name, strlen(name));
}

/* Keeps a text for as long as the policy lives.  The policy takes `label`; NULL if memory runs out. */
const char *policy_keep_label(struct nsrun_policy *p, char *label);

static inline bool policy_is_instance(const struct nsrun_policy *p) {
        return p->profile == POLICY_PROFILE_INSTANCE;
}

/* Whether isolation is off: nsrun_plan_new() refuses such a policy ("isolation is disabled"). */
static inline bool policy_is_plain(const struct nsrun_policy *p) {
        return p->profile == POLICY_PROFILE_INSTANCE && p->isolation == POLICY_ISOLATION_OFF;
}

/* Whether a sandbox of that policy asks a person at the terminal, which then isn't the command's. */
bool policy_asks(const struct nsrun_policy *p);
