/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Symlinks in the paths that a user names, and whether somebody else may have put them there: a command of
 * an earlier run, the author of a repository, another user. */
#pragma once

#include "exposed.h"

/* Why a symlink isn't followed. */
enum reach {
        REACH_NOBODY,  /* nobody but the user could have made it: it is followed */
        REACH_NOW,     /* it lies in a folder that this run lets a command write */
        REACH_GIT,     /* it lies in a git work tree */
        REACH_EARLIER, /* it lies in a folder that a command of an earlier run could write */
        REACH_OTHERS,  /* it lies in a folder that other users may write */
        REACH_UNKNOWN, /* what earlier runs could write can't be known */
};

/* Follows `spelled`, an absolute path that leads to `canonical`, and calls `found` for each symlink on the
 * way, with its own path, of which only the last name is a symlink.  0, or what `found` returned that isn't
 * 0; -EAGAIN: it leads elsewhere, so that the links are being changed; -ENOMEM. */
int reach_each_link(const char *spelled, const char *canonical, int (*found)(void *data, const char *link),
                    void *data);

/* Who but the user may have put the symlink `link` there, which is on the way to `source` (canonical).  A
 * link that doesn't lead out of its git work tree, or of the folder that the command could write, is
 * followed.  `home` is the user's, or NULL.  -ENOMEM, -EAGAIN. */
int reach_of_link(const char *link, const char *source, const char *home, const struct exposed *known,
                  enum reach *ret);

/* Whether another user can reach what lies in `folder`, canonical: no folder above it keeps all but this
 * user and root out.  One in a folder of `writable` counts for nothing: commands may change its mode. */
bool reach_has_others(const char *folder, char *const *writable);

/* Refuses what `what` names ("--ro") because of the symlink, which leads to `source`: -EPERM, in one line
 * that says where the link lies, where it leads, and what to write instead. */
int reach_refuse(enum reach reach, const char *what, const char *link, const char *source,
                 struct nsrun_error *err);
/* Refuses `spelled`, a path that may be relative and leads to `source`, for any symlink on the way that
 * isn't followed; reads what earlier runs could write. */
int reach_check(const char *what, const char *spelled, const char *source, const char *home,
                struct nsrun_error *err);
/* Refuses a path that leads elsewhere than it did a moment before. */
int reach_refuse_changed(const char *what, const char *spelled, struct nsrun_error *err);
