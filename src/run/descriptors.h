/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a command's descriptors must not be, whoever names them: a way out of the sandbox. */
#pragma once

#include "launch/launch.h"

/* Looks at the three standard streams and at what is passed beside them.  -EINVAL (stage USAGE): one of 0 to
 * 2 is passed; -EBADF: one that isn't open; -EISDIR: a folder; -EPERM: an O_PATH descriptor, or a socket
 * of a container engine.  Stage POLICY. */
int descriptors_check(const struct launch_params *params, struct nsrun_error *err);
