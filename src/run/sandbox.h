/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What every start from the library has in common. */
#pragma once

/* The installed nsrun-init; NSRUN_INIT names another one (a build folder's). */
const char *sandbox_init_path(void);
