/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where nsrun's own other programs are: where they were installed, or in a build folder. */
#pragma once

/* The environment's NSRUN_INIT, NSRUN_MONITOR and NSRUN_NET replace the paths. */
const char *program_init(void);
const char *program_net(void);
const char *program_monitor(void);
