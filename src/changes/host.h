/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether the host's side has changed since a session began, and the session's record of what
 * its own commits did there.
 *
 * Nothing can note a file's state at the moment it is copied up: the kernel tells nobody,
 * and a look afterwards comes too late.  So it is told by time.  An inode whose ctime lies
 * before the session's first moment (changes_moment()) is as it was then, and so as it was
 * at every copy-up: ctime is set by the kernel at each change of content, mode, owner,
 * attributes and links, and at each rename, and utimensat(2) can't set it back as it can
 * mtime.  What has a later ctime counts as changed, unless it is just what a commit of this
 * session left there: the record knows that by device, inode, size, mtime and ctime.
 *
 * A folder's ctime moves with every entry.  Its mode is compared with the one that a commit
 * vouched for before it worked in it; a folder with a new ctime and an old mtime was moved or
 * had its mode changed, and then nothing beneath is what it was at that path.  (A folder moved
 * here *and* written in since can't be told from one that was only written in.)
 *
 * A file of several names changes its ctime when a commit replaces or removes one of
 * them.  From then on such a file is known by size and mtime alone.
 *
 * All this trusts the clock: where root sets it back, or a server's differs, changes may be
 * missed or seen where there are none. */
#pragma once

#include <sys/stat.h>
#include <time.h>

#include "base/macro.h"

struct host_file; /* of the record */

struct host {
        struct timespec since;
        struct host_file *files;
        size_t n;
        size_t n_settled; /* the first ones: sorted, one to an inode */
        char *stage;      /* the folder in which an unfinished commit made things ready, or NULL */
};

/* Reads the record in the folder; none is an empty one.  -EBADMSG: it isn't one. */
int host_load(int record_fd, const struct timespec *since, struct host *ret);
/* Replaces the record at one stroke. */
int host_save(int record_fd, const struct host *h);
void host_clear(struct host *h);
#define _cleanup_host_ _cleanup_(host_clear)

/* Whether what has this stat changed since the session began. */
bool host_has_changed(const struct host *h, const struct stat *st);
/* Whether a commit of this session left it there. */
bool host_is_ours(const struct host *h, const struct stat *st);
/* Of a folder: whether it seems to have been put there as a whole. */
bool host_has_moved(const struct host *h, const struct stat *folder);
/* Of a folder: whether entries may have come or gone. */
bool host_has_new_entries(const struct host *h, const struct stat *folder);
/* Whether anything in the tree beneath root has: 1, 0, or -errno. */
int host_tree_has_changed(const struct host *h, int root, const char *path);

/* Writes down that this is what the session knows: a file by size, mtime and ctime, a folder by its
 * mode, and its entries by ctime.  Not final: the ctime is going to change, by the commit
 * that is under way, and isn't looked at. */
int host_remember(struct host *h, const struct stat *st, bool is_final);
/* What has been remembered counts from here on. */
void host_settle(struct host *h);
