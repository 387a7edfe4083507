/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files that the caller opened for reading and a command gets as its standard streams.  Whoever has a
 * descriptor of a file may open that file anew through /proc/self/fd, for writing too, or give it another
 * mode, if the file itself allows it.  So a command gets one that was opened by a read-only mount. */
#pragma once

#include <sys/stat.h>

#include "base/error.h"

/* One of the three as it was looked at. */
struct stream_seen {
        struct stat st;
        int flags; /* F_GETFL's; or -errno: it can't be looked at, or (-EBADF) isn't open */
};

struct reopened {
        int stdio[3];  /* as in struct launch_params, with files opened anew in their places */
        int caller[3]; /* the caller's own descriptors of these files; or -1 */
};

#define REOPENED_INIT                                                                   \
        (struct reopened) {                                                             \
                .stdio = {-EBADF, -EBADF, -EBADF}, .caller = { -EBADF, -EBADF, -EBADF } \
        }

/* Opens anew what is a plain file that was opened for reading alone.  `given`: three descriptors, each -1
 * for the caller's own 0, 1 or 2; NULL: the caller's own; `seen`: what they are.  Returns how many files
 * were opened.  A deleted file is left as it is: nobody will find it any more.  Without a usable user
 * namespace it fails as a launch would (launch_explain_namespaces()); -EXDEV: the file isn't where its path
 * leads from here. */
int reopen_streams(const int *given, const struct stream_seen seen[3], struct reopened *ret,
                   struct nsrun_error *err);

/* When the command has ended: sets the caller's descriptors to where the command has come in the files,
 * closes these, and leaves a REOPENED_INIT behind. */
void reopened_end(struct reopened *r);
