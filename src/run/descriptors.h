/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Refusals of descriptors that would lead a command out of the sandbox, whoever hands them over. */
#pragma once

#include "launch/launch.h"
#include "launch/reopen.h"

/* Judges the three standard streams and the descriptors that are passed beside them.  -EINVAL
 * (stage USAGE): one of 0 to 2 is passed; -EBADF: one that isn't open; -EISDIR: a folder; -EPERM:
 * an O_PATH descriptor, or a socket of a container engine.  Stage POLICY; not without a sandbox
 * (`is_plain`).  What the streams are is in `ret`, but without a sandbox.
 */
int descriptors_check(const struct launch_params *params, bool is_plain, struct stream_seen ret[3],
                      struct nsrun_error *err);
