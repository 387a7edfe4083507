/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An empty folder in the place of one that was taken away, over which the sandbox goes on seeing that: it
 * works inside, and the host has nothing to obey. */
#pragma once

#include "carry/killed.h"
#include "mount_inside.h"

/* Takes the folder `name` of `parent`, which is `path` on the host and inside, away as killed_take() does.
 * 1: the command goes on with it; 2: and of what it is now there is a copy with KEPT_BY_COPY behind its
 * name, since somebody on the host may have made it.  -EXDEV: it is too large for that.  -errno: nothing was
 * done; -ENOENT: there is none, or another one's placeholder. */
int placeholder_take(struct killed *k, const struct inside *inside, int parent, const char *name,
                     const char *path, char **ret_away);

/* What lies in another sandbox's placeholder, which goes on seeing its own over that, is taken alone; the
 * command finds it no more.  -ENOENT: there is nothing; -errno. */
int placeholder_take_contents(struct killed *k, int parent, const char *name, const char *path,
                              char **ret_away);
