/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One file of git's configuration, when a command has changed its version of it. */
#pragma once

#include "git_merge.h"
#include "kept_by.h"

#define GIT_CONFIG_REASON "git-config" /* struct kept's */

struct git_config_carry {
        const char *rundir; /* a folder that no command sees */
        const char *path;   /* of the host's file */
        struct kept_by *kept_by;
        const char *taken;                /* git_config_take()'s */
        const char *base, *seen, *inside; /* what the command got of the host's; that with what was kept
                                             aside, or what it had at the last look; what it has now */
        size_t n_base, n_seen, n_inside;
        bool wants_base;
        char *new_base; /* the result, if it is wanted, `base` with what was carried, for the caller to free;
                         * NULL: as it was
                         */
        size_t n_new_base;
        char *remotes; /* the result: words about those that were carried, for the caller to free; or NULL */
};

/* What is kept of a configuration, as changes of the host's file: those that it hasn't, by their keys. */
struct git_review {
        struct git_list kept, host;
        char *text; /* the host's file */
        size_t n_text;
        struct git_change *changes;
        size_t n;
};

/* Reads it: `kept` is kept_open()'s folder, `path` the host's file; of it the changes of these keys, which
 * may be NULL: all.  -ENOKEY: one of them isn't changed. */
int git_review(int kept, const char *path, char *const *keys, struct git_review *ret);
void git_review_clear(struct git_review *review);
#define _cleanup_git_review_ _cleanup_(git_review_clear)
/* Makes it so on the host.  `folder`: git_config_carry's rundir.  *ret_is_all: nothing else is kept there.
 */
int git_review_accept(const char *folder, int kept, const char *path, char *const *keys, bool *ret_is_all);

/* What a command is given: the host's file without the keys of which something was kept, and that behind it;
 * or NULL.  `folder`: git_config_carry's rundir. */
int git_config_give(const char *folder, const char *host, size_t n_host, const char *kept, char **ret,
                    size_t *ret_n);
/* Somebody has put another file in place of the host's, with what is `inside` by now: takes out what no
 * command may bring there, and keeps it aside with what is kept.  *ret_taken (NULL: nothing) is what that
 * was, and *ret_words what is to be said, for the caller to free.  -EAGAIN: the file is another by now;
 * -EBUSY. */
int git_config_take(struct git_config_carry *g, char **ret_taken, char **ret_words);
/* Carries to the host what may be; keeps the rest aside in place of what was.  *ret_words is what is to be
 * said, for the caller to free; NULL: nothing. */
int git_config_carry(struct git_config_carry *g, char **ret_words);
/* versions.c: the host's file as it is. */
int version_read_host(const char *path, char **ret, size_t *ret_n);
