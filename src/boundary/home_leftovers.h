/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a command left in the sandbox's own home: pid 1 looks, since nobody else can, and the supervisor, who
 * knows the plan, tells (sweep/home_report.h). */
#pragma once

#include "init.h"

/* Reports (LAUNCH_DROPPED) paths in the home that may be worth telling, if there is a file more in it than
 * when it was made. */
void dropped_report(const struct init *init);
