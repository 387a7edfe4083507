/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host's side of a run with --net=allow: nsrun-net, started before the sandbox and ended after it, and
 * what it refused. */
#pragma once

#include "launch/launch.h"
#include "net/journal.h"

/* nsrun-keys, of a run with --key (keys.c). */
struct keys {
        int pidfd;
        int life_fd; /* when it is closed nsrun-keys ends */
};
#define KEYS_INIT                                  \
        (struct keys) {                            \
                .pidfd = -EBADF, .life_fd = -EBADF \
        }

struct network {
        struct launch_network launch; /* for the sandbox's pid 1 */
        char **lines;                 /* the plan's rules, and what they are */
        struct net_rules rules;
        struct net_layout layout;
        int pidfd; /* nsrun-net's */
        struct keys keys;
        int life_fd; /* when it is closed nsrun-net ends; of a session's command: it asks that one no more */
        int control; /* nsrun-net's socket for what control.h says, O_PATH; or -EBADF */
        const struct net_journal *journal;
        uint64_t n_seen;           /* events of the journal that are older than the run */
        struct net_tally *tallies; /* what was counted before it */
        uint32_t n_tallies;
        uint64_t n_others;
};

#define NETWORK_INIT                                                                                 \
        (struct network) {                                                                           \
                .launch = {.socket = -EBADF}, .pidfd = -EBADF, .life_fd = -EBADF, .keys = KEYS_INIT, \
                .control = -EBADF                                                                    \
        }

/* What nsrun-net is started with, in the order of its descriptors. */
struct given {
        int above; /* the descriptors lie here from the number on that nsrun-net has none of */
        int fds[NET_PUBLISHES_MOST + 6];
        size_t n;
        const char *program, *name; /* NULL: nsrun-net, */
};
void given_clear(struct given *g);
/* Takes over a descriptor, or the error that stands for it. */
int give(struct given *g, int fd);
/* One end of a pair of sockets. */
int give_pair(struct given *g, int *ret_other);
/* A file in memory with these lines; `via` (may be NULL) takes the place of the line that begins so. */
int give_lines(struct given *g, const char *name, char *const *lines, const char *via);
/* Starts nsrun-net with these, from SPAWN_FIRST_FD on; `role` is its word where it does something else than
 * networks, or NULL; `words` are those behind it.  The caller has it ended, and waits for *ret_pidfd. */
int network_spawn(const char *role, char *const *words, const struct given *g, int *ret_pidfd,
                  struct nsrun_error *err);
/* keys.c: reads the plan's keys where they are, and starts nsrun-keys with them; nsrun-net, of `g`, is given
 * the socket to it. */
int keys_begin(const struct nsrun_plan *plan, struct given *g, struct keys *ret, struct nsrun_error *err);
void keys_end(struct keys *k);
/* Starts nsrun-net if the plan wants it, and fills in params->network.  A session's journal is made in
 * `journal_dir`, the folder of its record, so that its commands find it; else -1. */
int network_begin(const struct nsrun_plan *plan, int journal_dir, struct network *n,
                  struct launch_params *params, struct nsrun_error *err);
/* The sandbox's pid 1 has its own descriptors now. */
void network_launched(struct network *n);
/* 1 with a note: what was refused since the beginning.  0: nothing; -ENOMEM.  Once. */
int network_tell(struct network *n, struct nsrun_error *ret_note);
/* network_report.c: writes a line for each host that was connected to or refused since the beginning, as
 * {"host":"…","port":N,"verdict":"…",…}; with is_event as an event of --status-fd. */
int network_report(const struct network *n, int fd, bool is_event, struct nsrun_error *err);
/* Lists "HOST:PORT" of what was connected to since the beginning, and of what was refused.  -ENOMEM. */
int network_used(const struct network *n, char ***ret_hosts, char ***ret_refused);
/* What nsrun-net has written, whatever that is, as text that is fit to print: of these characters; NULL: of
 * all that ASCII prints. */
#define NETWORK_HOST    "abcdefghijklmnopqrstuvwxyz0123456789.-_: "
#define NETWORK_COUNTED NETWORK_HOST "ABCDEFGHIJKLMNOPQRSTUVWXYZ,"
void network_copy(const char *from, size_t size, const char *allowed, char *to);
/* Ends nsrun-net, and waits for that. */
void network_end(struct network *n);
