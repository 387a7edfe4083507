/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a policy came to at one moment: every path canonical, nsrun's own rules added, conflicts
 * settled or refused.  Made by policy_resolve() alone, and const for plan/. */
#pragma once

#include "base/name_list.h"
#include "disk/exposed.h"
#include "policy/policy.h"

/* One path of the host that the sandbox sees. */
struct resolved_rule {
        enum policy_access access;
        enum policy_origin origin;
        enum plan_origin giver; /* POLICY_BY_DEFAULT: which of nsrun's own it is */
        const char *option;     /* who asked for it, for messages: static, or one of the policy's labels */
        char *source;           /* canonical; a folder that the run makes first may be missing */
        char *target;           /* normalised */
        char **aliases;         /* the target as each asker spelled it, where that differs: symlinks */
        char *spelled; /* the source as the user spelled it, absolute but not normalised, if that differs; or
                          NULL */
        unsigned rank; /* of two rules of one origin the one of the higher rank wins */
        bool is_directory;
        bool is_link; /* the source is a symlink, which is shown as one */
        char **stubs; /* names in a writable folder that don't exist and that nothing inside can make; with a
                         slash at the end where it is a folder's.  NULL: none */
        bool is_git_dir; /* the source of a rule with stubs is a git dir, or in one */
};

/* A file or folder of the host that the sandbox must not show. */
struct resolved_hidden {
        char *path; /* canonical */
        bool is_directory;
        uint64_t dev, inode;  /* stat(2)'s */
        uint64_t n_names;     /* how many hard links the file has */
        uint64_t n_elsewhere; /* how many of these are not among what is hidden: outside what is exposed */
};

/* One row of the toolchains' table that is on this host, or that a variable asks for. */
struct resolved_toolchain {
        const char *tool;
        char *path;           /* as the table or the variable has it */
        const char *variable; /* that names the place; or NULL */
        enum policy_access access;
        char *why; /* why it isn't shown; NULL: it is */
};

/* A file of the user's settings of a tool, as the sandbox has it. */
struct resolved_settings {
        char *path;
        char *text;
};

/* What a grant (grants.h) shows.  It gives way where a rule shows the host's folder around it; but not in
 * the sandbox's own XDG_RUNTIME_DIR. */
enum shown_kind {
        SHOWN_DEVICE,    /* the host's device node `source` */
        SHOWN_FILE,      /* the host's file or socket `source`, read-only (a socket can be connected to) */
        SHOWN_SOCKET,    /* a socket at which somebody on the host's side listens: `text` says who */
        SHOWN_PRESENT,   /* what the host has at `target`, read-only */
        SHOWN_TEXT,      /* a file with `text` */
        SHOWN_LINK,      /* a symlink that says `text` */
        SHOWN_OWN_FOLDER /* an empty folder of the user's */
};
struct resolved_shown {
        enum shown_kind kind;
        char *source; /* canonical, or NULL */
        char *target;
        char *text; /* or NULL */
};

/* What of the host's files the sandbox shows: filled rule by rule, then by protect/. */
struct resolved_files {
        struct resolved_rule *rules;
        size_t n_rules;
        struct policy_link *links; /* paths normalised */
        size_t n_links;
        char **folders;             /* that are there, empty where nothing else is */
        struct policy_tmpfs *tmpfs; /* paths normalised, all sizes said; no two with one path */
        size_t n_tmpfs;
        struct resolved_rule tmp;    /* the host's folder for /tmp, target unset; source NULL: none */
        const char *own_home;        /* the source of --home's rule, or NULL */
        bool has_scratch;            /* /tmp is the scratch folder of the run directory */
        enum policy_proc proc;       /* never UNSAID */
        bool has_whole_proc;         /* a new /proc has nothing covered: nobody here could write there */
        enum policy_backing backing; /* of overlays; never AUTO */
        uint64_t overlay_size;       /* bytes that all overlays together can hold in memory */
        char **ephemeral; /* folders that are a tmpfs of their own inside, with rules beneath them */
        char **carried;   /* of the overlays of --agent's folders what comes to the host: struct nsrun_plan's
                           */
        char **writable;  /* The host's folders that this command may write to, or that an earlier one may
                             have written to: the project, --tmp's folder and the sources of writable rules.
                             Filled when all rules are known. */
        char **exposes; /* lines for exposed_add(): what this run adds to what earlier ones let be written */
        struct resolved_hidden *hidden; /* sorted by path_compare(); none lies in another */
        size_t n_hidden;
};

/* Protected names, as what looks at them before and after the run has them. */
struct resolved_protection {
        char **names;       /* "FOLDER//GLOB": a name that may not be made or changed; no "//" in FOLDER */
        char **present;     /* "FOLDER//NAME": of these names those that are there; of a symlink
                               "FOLDER//NAME//TEXT" */
        char **private;     /* canonical: of these files the command gets a version of its own */
        char **kept;        /* those of them that the host hasn't, folders that are kept aside */
        char **git_dirs;    /* git dirs in which the command may write, canonical */
        char **git_links;   /* "PATH -> TEXT": the symlinks in them */
        bool links_are_cut; /* that list is not complete */
};

/* What git needs inside. */
struct resolved_git {
        char *dir;               /* the project's git dir, where the command may write to it; or NULL */
        char *common_dir;        /* a worktree's common git dir; or NULL */
        char *hooks;             /* the user's core.hooksPath; NULL: none */
        bool hooks_are_users;    /* no command could write the file that says so */
        char *repositorys_hooks; /* the repository's; NULL: none */
        bool has_repository;     /* the project is in one */
        bool is_plain;           /* the project's .git is a folder: nobody has to look again */
        bool has_none;           /* nor where neither the project nor a folder above has one */
        char **included;         /* files that the user's configuration of git includes: absolute paths */
        char **programs;         /* values of its keys that name a program */
        char *settings;          /* of the user's; NULL: none */
        char **lacks;     /* what of the user's git inside, or of protection, goes without, a note each */
        char *ignores;    /* the text of the user's own list of names that git ignores; NULL: none */
        char **identity;  /* "GIT_AUTHOR_NAME=…" and so on, from the host's git configuration */
        char **worktrees; /* the .git files of linked worktrees, as the repositories name them */
        char **trees;     /* of worktrees' folders those in the common git dir, the project's too */
};

/* What of the network can be reached, with --net=allow. */
struct resolved_net {
        char **rules;            /* net/rules.h's lines, that of a proxy without its password */
        char *via;               /* that line with it; NULL: there is no proxy */
        char **keys, **key_uses; /* of --key, as in the plan */
        char *key_values;
        char **key_copies;    /* variables of the caller's with a key in them: they are withheld */
        char **key_variables; /* "NAME=PLACEHOLDER", and "VARIABLE=ADDRESS" by which programs are led there
                               */
        char **git_addresses; /* the same for git, in pairs: the address, and the URL that it stands for */
        char **lacks;         /* a note each: what of keys is inside, and what is kept from there for them */
};

struct resolved_environment {
        struct variables variables; /* the command's, but for PWD */
        char **left_out;            /* names of inherited variables that are withheld, sorted */
        char **secrets;             /* of these, those that look like a secret, but not with --clean-env */
};

/* Toolchains and the settings of tools. */
struct resolved_tools {
        struct resolved_toolchain *toolchains; /* the configuration's rows, then the table's */
        size_t n_toolchains;
        char **unseen; /* what the environment points at that isn't visible inside, a line for each variable
                        */
        struct resolved_settings *settings; /* of npm and pip */
        size_t n_settings;
};

struct resolved_grants {
        struct resolved_shown *shown; /* what they show */
        size_t n_shown;
        char **variables;     /* those that they set, "NAME=VALUE" */
        char **gives;         /* what they give away, a line each */
        char *ssh_agent;      /* the host's socket, canonical; NULL: without --ssh-agent */
        char *browser;        /* the host's program that opens links; NULL: without --browser */
        char *programs_first; /* a folder inside that PATH begins with; or NULL */
        char **dbus;          /* what desktop/dbus_proxy.h's process is told; NULL: without --dbus */
        char *wayland;        /* the compositor's socket, if it makes a security context */
};

/* With the instance profile. */
struct resolved_instance {
        char *root;       /* canonical, perhaps not made yet */
        char *workspace;  /* the same of its workspace, if one is named; else NULL */
        char **variables; /* "HOME=…" and so on */
};

/* Each struct in it is filled by a room or a file of its own name, which has a const view of all others. */
/* nsrun's own folders: of run directories, of what is known of earlier runs, of sessions' records. */
enum {
        OWN_RUNDIRS,
        OWN_EXPOSED,
        OWN_SESSIONS,
        OWN_FOLDERS
};

struct resolved {
        const struct nsrun_policy *policy; /* what was asked; it outlives this struct */
        char *const *argv;                 /* the command; NULL: a session's sandbox */
        const char *const *unset, *const *usual;
        const char *terminal;
        bool is_session;
        bool starts_here;
        char *plain; /* why there is no sandbox, in words for the user; of all below cwd, project,
                        environment, uid and gid are set then.  NULL: there is a sandbox */

        char *cwd;                   /* nsrun's working directory; NULL: the kernel can't name it */
        char **sockets;              /* sockets of container engines, by sockets_list() */
        char *home;                  /* where $HOME leads; NULL: the sandbox makes no home folder */
        char *home_link;             /* $HOME itself, if that is a symlink or behind one; or NULL */
        char *guarded;               /* the user's home, whose secrets no rule may hand out: `home`, or
                                        passwd's where $HOME is none that a sandbox can have; canonical */
        struct name_list home_names; /* what the host has there */
        uid_t uid;                   /* the host's */
        gid_t gid;
        uid_t inner_uid; /* what those are in the sandbox's user namespace */
        gid_t inner_gid;
        char *project;        /* canonical; NULL: none */
        struct exposed known; /* what earlier runs let commands write */
        char *seccomp;        /* a shipped policy's name, "none", or a file's canonical path */

        char *own[OWN_FOLDERS]; /* canonical, whether they are there or not; NULL: the environment names none
                                 */
        struct resolved_files files;
        struct resolved_protection protection;
        struct resolved_git git;
        struct resolved_net net;
        struct resolved_environment environment;
        struct resolved_tools tools;
        struct resolved_grants grants;
        struct resolved_instance instance;
};

void resolved_clear(struct resolved *s);
#define _cleanup_resolved_ _cleanup_(resolved_clear)

void resolved_rule_clear(struct resolved_rule *rule);
void resolved_toolchain_clear(struct resolved_toolchain *t);
void resolved_shown_clear(struct resolved_shown *shown);
