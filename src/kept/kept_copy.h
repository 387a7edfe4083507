/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A copy of what a command wrote, within kept.h's bounds. */
#pragma once

#include <sys/types.h>

#include "base/macro.h"

/* Copies the entry `name` of the folder `from` to the name `as` in the folder `to`: a file in place of the
 * one that is there, whole or not at all, a folder's entries into the one that is there.  What is new has
 * the bits of `mode` that it had, "rw" for its owner, and a file that replaces one no more for others than
 * that has. kept_put()'s promises and errors, -EISDIR, -ENOTDIR and -ELOOP: there is something of another
 * kind.  A file keeps the time of its last change.  After a failure a part may be there. */
enum kept_copied {
        KEPT_COPIED,
        KEPT_COPIED_WHOLE, /* -EINVAL: it has what is no file, folder or symlink, or a hard link */
        KEPT_COPIED_LARGE, /* much more, where a rename(2) can't do */
        KEPT_COPIED_SMALL, /* whole; a few small files, which takes no time */
};
int kept_copy(enum kept_copied how, int from, const char *name, int to, const char *as, mode_t mode);

/* Whether an entry of the folder `from`, with all in it, is in the entry `as` of `with` too, within the
 * bounds: by contents and by what the owner may.  Devices are nothing. */
bool kept_is_within(int from, const char *name, int with, const char *as);
/* The same where a symlink, wherever it leads from there, is never the same. */
bool kept_is_within_plain(int from, const char *name, int with, const char *as);

/* Whether an overlay's mark on an upper folder says that nothing of the one beneath shows. */
bool kept_is_opaque(int folder);
