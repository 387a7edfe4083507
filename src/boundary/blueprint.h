/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All that comes in through the boundary's one door: a flat record of bytes, of one version and of a bounded
 * size, that says what is built and what runs in it.  The process that was cloned and nsrun-init, which is
 * given it on a descriptor, open the same bytes by the same function; it believes none of them before it
 * has looked at all.  Nothing else of whoever made the record is seen here. */
#pragma once

#include "init.h"
#include "network.h"
#include "operation.h"

/* More bytes than this are no record.  A command's arguments and environment have 6 MiB at most, operations
 * far less; files that bubblewrap's --file makes may be of any size. */
#define BLUEPRINT_MOST (UINT32_C(1) << 30)

enum boundary_life {
        BOUNDARY_SANDBOX, /* of its own, or a session's */
        BOUNDARY_JOIN,    /* a command that joins a session */
        BOUNDARY_PLAIN,   /* no sandbox: a reaper on the host */
        BOUNDARY_GRANT,   /* what a running sandbox is shown besides */
        BOUNDARY_RAW,     /* raw/ */
};

/* The record's fixed part: numbers alone.  Whoever clones fills in what only the clone decides
 * (`namespaces`, `is_within`, `joins_cgroup`) when all the rest is written. */
struct boundary_facts {
        struct init init; /* first: its first members tell the version */
        enum boundary_life life;
        uint64_t namespaces; /* CLONE_NEW*: the namespaces that the clone made */
        bool is_within;      /* an nsrun around this one bounds what commands use up */
        bool joins_cgroup;   /* the child joins the cgroup itself, since it couldn't be started in it */
        int stdio[3];        /* the descriptors that become 0, 1 and 2; -EBADF: the caller's stay */
        int init_fd;         /* O_PATH of nsrun-init; -EBADF: the child stays this program */
        int init_data_fd;    /* a memfd for the record, for nsrun-init */
        int rundir_fd;       /* where layers are made, and a scratch folder waits; or -1 */
        int cgroup_procs_fd; /* the cgroup's cgroup.procs; or -EBADF */
        uint64_t cgroup_dev, cgroup_inode; /* what stat(2) says of its folder */
        int network_socket;                /* struct boundary_network's */
        struct net_address network_own[2];
        uint64_t
                n_lists; /* bytes that the lists of the opened record take; filled in by whoever writes it */
        int ssh_socket, display_socket, browser_socket, dbus_socket; /* of PLAN_SOCKET; or -EBADF */
        int versions_socket; /* the command's private versions are in memory, in a folder that is sent here;
                                or -EBADF: in the run directory, if there is one */
        uint64_t
                n_processes; /* the bound of RLIMIT_NPROC, refused if the kernel wouldn't keep it; 0: none */
        uint64_t root_size;  /* bytes of the root tmpfs */
        bool dies_with_thread; /* PR_SET_PDEATHSIG */
        bool is_session;
        bool is_strict;                  /* no process inside may make a mount namespace */
        bool layers_on_disk;             /* in the run directory; else in memory */
        int grant_user_fd, grant_socket; /* BOUNDARY_GRANT: the sandbox's; where what is built is sent */
        bool scopes_init;              /* pid 1 is in the Landlock domain, too, so that all here share one */
        char uid_map[48], gid_map[48]; /* of the clone's user namespace */
        struct boundary_raw raw;
};

/* The record, opened: the texts are in its bytes, the lists in memory of its own. */
struct blueprint {
        struct boundary_facts facts;
        char *file;     /* what is executed: argv[0], or another name for it */
        char *cwd;      /* the working directory, absolute in the new root */
        char *hostname; /* NULL, as all texts here: none */
        char *home;     /* the tmpfs that is the home */
        char *rundir;   /* the run directory's path in the plan, its last letters still to be chosen */
        char *rundir_path;
        char *init_path;      /* for messages, as the next two */
        char *processes_hint; /* what else could bound processes */
        char *session;        /* the id of the session that is joined */
        char *grant;          /* of BOUNDARY_GRANT: the target of which what is built is shown */
        char *cgroup_path;    /* of the cgroup that PLAN_CGROUP shows */
        char *file_label;     /* SELinux labels, of what raw/ mounts and of the command */
        char *exec_label;
        char **argv;
        char **env;
        char **directories; /* raw/: the first of these that can be entered is the working directory */
        char **pwd;         /* "PWD=…", one for each of them */
        char **lock_files;  /* raw/: paths inside of files that the reaper locks for its life */
        struct sock_fprog *filters; /* in the order of their installation */
        size_t n_filters;
        int *passed; /* descriptors that the command gets under the same numbers */
        size_t n_passed;
        struct net_range *routes;
        size_t n_routes;
        struct net_socket *sockets;
        size_t n_sockets;
        struct plan_op *ops;
        size_t n_ops;
        int *held; /* the last in the record: descriptors that the reaper only keeps open, and -EBADF for
                      each that the child has yet to open */
        size_t n_held;
        /* Of an open record. */
        void *lists;
        size_t lists_size;
};

/* Puts the fixed part into written bytes. */
void blueprint_settle(char *bytes, const struct boundary_facts *facts);
/* Looks at all n bytes and opens them; *ret lives no longer than they.  Makes nothing but a mapping: safe
 * between clone and exec.  0; -ENOMEM; -EPROTO: another version's; -EBADMSG: no record, or one that can't
 * be. */
int blueprint_open(char *bytes, size_t n, struct blueprint *ret);
void blueprint_close(struct blueprint *b);
