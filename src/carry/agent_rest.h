/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an agent wrote to the overlay over its folder and the host doesn't get: in the next run of the
 * project it is there again, a layer over the host's folder (rundir_rest()).  Outside a sandbox a person
 * alone reads it (cli/review.c). */
#pragma once

#include <time.h>

#include "base/macro.h"

/* After so many days without a run it is dropped. */
#define REST_DAYS 30

/* The layer at `path` before a run: an open folder, without those files at its top of which the folder
 * `host` has newer ones; *ret_when is its state.  -ENOENT: there is none. */
int rest_begin(const char *path, const char *host, struct timespec *ret_when);
/* Moves all of the upper folder `upper` in `from` to the layer at `path`, which was as `when` says (NULL:
 * there was none), name by name and with overlayfs's marks: a name that is removed stays removed.  -ESTALE:
 * another run has added to it meanwhile, and nothing is moved. */
int rest_keep(const char *path, const struct timespec *when, int from, const char *upper);

/* The entries at the top of a project's layers that the host hasn't the same, by the paths that they would
 * have there.  -ENOMEM. */
int rest_list(const char *project, char ***ret);
/* Opens the folder, in a layer, of what would be at `path`; *ret_name, in it, is what there is.  -ENOENT. */
int rest_open(const char *project, const char *path, const char **ret_name);
