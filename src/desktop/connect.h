/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A connection with the socket at a canonical path; a symlink on the way was put there since, and is
 * refused. -errno. */
int desktop_connect(const char *path);
/* The socket itself, opened with O_PATH in the same way: it can be connected to by /proc/self/fd. */
int desktop_place(const char *path);
