/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nsrun's own other programs: where they were installed, or in a build folder. */
#pragma once

/* NSRUN_INIT and NSRUN_MONITOR in the environment name others. */
const char *program_init(void);
const char *program_monitor(void);
