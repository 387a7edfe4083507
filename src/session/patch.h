/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A patch of an overlay's changes, or their count, by the host's git: in a sandbox of its own that shows no
 * file of the user's and has no network.  Both sides reach it as a stream, so that it opens no file that a
 * command has written, and reads nobody's configuration and attributes. */
#pragma once

#include "changes/changes.h"

/* `form` is NSRUN_DIFF_PATCH or NSRUN_DIFF_STAT, `target` the overlay's place.  What git can't be told comes
 * first, a line each.  Where the sandbox has no git the list is printed instead, and a line that says so.
 * -ESTALE: not what the digest is of; -EIO: the stream's error, or git failed; what nsrun_start() says. */
int patch_print(FILE *to, enum nsrun_diff form, const char *target, const struct changes_layer *layer,
                const struct changes *c, char *const *paths, struct nsrun_error *err);
